#!/bin/sh
# full_disk.sh LAMINA MODEL SCRATCH
#
# On a full disk, a command says so and leaves nothing half written. If only the cache is there, a run succeeds, with a
# message. The disk is a small file system in memory, mounted in a namespace that ends with this script.
set -eu
lamina=$1 model=$2 scratch=$3 disk=$3/disk
if [ $# -eq 3 ]; then
    rm -rf "$scratch"
    mkdir -p "$disk"
    unshare -rm mount -t tmpfs -o size=300k tmpfs "$disk" || { echo 'skipped: here, users may not mount a disk' >&2; exit 77; }
    exec unshare -rm "$0" "$@" mounted
fi
mount -t tmpfs -o size=300k tmpfs "$disk"

expect() { # STATUS TEXT COMMAND...: the command exits with the status and prints the text on stderr, once
    wanted=$1 text=$2 status=0
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    [ $status -eq "$wanted" ] && [ "$(grep -c "$text" "$scratch/err")" = 1 ] && return
    { echo "expected status $wanted and, once: $text"; echo "found status $status and:"; cat "$scratch/err"; } >&2
    exit 1
}
expect_files() { # NAMES: of all files on the disk; that of a cache file without its keys
    found=$(cd "$disk" && find . -type f | sed 's|-[0-9a-f-]*\.json$|.json|' | sort | tr '\n' ' ')
    [ "$found" = "$1" ] || { echo "expected only '$1' on the disk, found '$found'" >&2; exit 1; }
}
run() { env XDG_CACHE_HOME="$disk/cache" "$lamina" run "$model" vulkan --device cpu; }

expect 1 'cannot be written: No space left on device' "$lamina" convert "$model" "$disk/made"
expect_files ''
cat /dev/zero >"$disk/filler" 2>/dev/null || true
expect 1 'cannot be written: No space left on device' "$lamina" plot pe -o "$disk/plot.svg"
expect 1 'cannot write to stdout: No space left on device' sh -c "'$lamina' devices >'$disk/devices'"
rm "$disk/devices"
expect 0 'what was proved is not remembered: .*No space left on device' run
[ "$(cat "$scratch/out")" = "vulkan	V AH1 L K AH0 N" ]
expect_files './filler '
rm "$disk/filler"
expect 0 'lamina: on cpu' run
expect_files './cache/lamina/verdicts-cpu.json '
