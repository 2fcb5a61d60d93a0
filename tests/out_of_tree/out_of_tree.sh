#!/bin/sh
# out_of_tree.sh BUILD SCRATCH SOURCE [COMPILER FLAGS]
#
# Installs BUILD into SCRATCH/prefix; builds the layer in SOURCE/rms_norm and the program in SOURCE/host against that
# prefix alone; then lists the layer with the installed command, runs it on the CPU through the installed library, and
# runs the model that was installed.
set -eu
build=$1 scratch=$2 source=$3 flags=${4:-}
unset LAMINA_PLUGIN_PATH
rm -rf "$scratch"
mkdir -p "$scratch"

cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"

configure() { # NAME: a project that knows of Lamina by its prefix only
    cmake -G Ninja -S "$source/$1" -B "$scratch/$1" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror $flags"
    cmake --build "$scratch/$1"
}
configure rms_norm
configure host

expect() { # TEXT COMMAND...: the command succeeds, and prints the text among other things
    text=$1
    shift
    found=$("$@") || { echo "failed: $*" >&2; exit 1; }
    case $found in
        *"$text"*) ;;
        *) printf 'expected %s, found:\n%s\n' "$text" "$found" >&2; exit 1 ;;
    esac
}
lamina=$scratch/prefix/bin/lamina
plugins=$scratch/rms_norm/lib/lamina/plugins
expect '"layer_norm"' "$lamina" plugins --json
expect '"rms_norm"' "$lamina" plugins --json --plugin-dir "$plugins"
expect 'root mean square' "$lamina" plugins rms_norm --plugin-dir "$plugins"
expect 'cpu: 0.6 0.8' "$scratch/host/host" "$plugins" "$source/host"
expect "vulkan$(printf '\t')V " "$lamina" run "$scratch/prefix/share/lamina/models/g2p" --device cpu vulkan
