#!/bin/sh
# gpu_report.sh BUILD SCRATCH SOURCE
#
# Makes a bundle of BUILD in SCRATCH and reports about the device `cpu` from there: every part succeeds or has nothing to
# check, parts that are done are not repeated, and a folder is about one device.
set -eu
build=$1 scratch=$2 source=$3
unset LAMINA_PLUGIN_PATH
rm -rf "$scratch"
mkdir -p "$scratch"
"$source/scripts/bundle" "$scratch/bundle" "$build"
cd "$scratch"

report() { # STATUS ARGUMENT...: what it says goes to `said`
    wanted=$1 status=0
    shift
    bundle/gpu-report "$@" >said 2>&1 || status=$?
    [ $status -eq "$wanted" ] || { echo "gpu-report $*: expected status $wanted, found $status:" >&2; cat said >&2; exit 1; }
}
expect() { # FILE PATTERN
    grep -q -- "$2" "$1" || { echo "$1: expected $2, found:" >&2; cat "$1" >&2; exit 1; }
}

report 2 --device vulkna:0 --out typo
expect said "no device 'vulkna:0'"
report 2 --device cpu absent.gguf
expect said 'no model absent.gguf'

report 1 --device cpu --jobs 2 --out out # 1: not every layer has a kernel for the CPU
if grep -v ': good$' out/summary.txt | grep -v ': NOT RIGHT: nothing to check on cpu'; then exit 1; fi
for part in check-linear compare-g2p bench-g2p profile-g2p report; do expect out/summary.txt "^$part: good$"; done
expect out/report.md '^| linear | cpu_fallback | [1-9][0-9]* | 0 |'                        # passed, failed
expect out/report.md '^| linear | T=256 K=2048 N=8192 weights=q8_0 | cpu_fallback | [1-9]' # runs
expect out/report.md '(report.svg)'
expect out/report.svg '>linear T=1 K=8192 N=2048 weights=q4_k<' # a group of bars
expect out/trace-g2p.json traceEvents

report 1 --device cpu --out out
if grep gpu-report: said; then exit 1; fi
report 2 --device reference --out out
expect said 'out is about cpu; name another folder'
