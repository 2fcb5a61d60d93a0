#!/bin/sh
# out_of_tree.sh BUILD SCRATCH SOURCE [COMPILER FLAGS]
#
# Installs BUILD into SCRATCH/prefix. Then builds the layers of SOURCE/examples, a layer that `lamina new-plugin` has
# just created, and the program in host/, all using only that prefix. Each layer must pass its own tests and `lamina
# check`; one of them runs in a model, with the installed library and with the installed command.
set -eu
build=$1 scratch=$2 source=$3 flags=${4:-}
unset LAMINA_PLUGIN_PATH
rm -rf "$scratch"
mkdir -p "$scratch"
here=$source/tests/out_of_tree

cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
lamina=$scratch/prefix/bin/lamina
"$lamina" new-plugin row_scale --out-of-tree "$scratch/source/row_scale" --quiet

configure() { # FOLDER: a project that finds Lamina only by its prefix
    cmake -G Ninja -S "$1" -B "$scratch/$(basename "$1")" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror $flags"
    cmake --build "$scratch/$(basename "$1")"
}
configure "$source/examples/causal_conv"
configure "$source/examples/lora_linear"
configure "$source/examples/rms_norm_activation"
configure "$scratch/source/row_scale"
configure "$here/host"
configure "$source/examples/encoder_decoder"

. "$source/tests/expect.sh"

# Programs in C: one that the command has made, and one that pkg-config finds the library for.
"$lamina" new-app some_words "$scratch/source/some_words" --quiet
cmake -G Ninja -S "$scratch/source/some_words" -B "$scratch/some_words" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror $flags"
cmake --build "$scratch/some_words"
expect 'V AH1 L K AH0 N' sh -c "echo vulkan | '$scratch/some_words/some_words' '$scratch/prefix/share/lamina/models/g2p' cpu"
package=$(find "$scratch/prefix" -name lamina_c.pc)
# shellcheck disable=SC2046 # options
cc -std=c11 $flags -o "$scratch/c_test" "$source/tests/c/c_test.c" \
    $(PKG_CONFIG_PATH=$(dirname "$package") pkg-config --cflags --libs lamina_c) \
    -Wl,-rpath,"$(dirname "$(dirname "$package")")"
"$scratch/c_test" "$scratch/prefix/share/lamina/models/g2p"

# A program that only links needs no compiler of kernels. A layer without a build type is optimized, and without Catch2
# only its test is left out.
if grep LAMINA_GLSLANG "$scratch/host/CMakeCache.txt" >&2; then exit 1; fi
expect 'The test of row_scale is left out' cmake -G Ninja -S "$scratch/source/row_scale" -B "$scratch/plain" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
expect ' -O2 ' cat "$scratch/plain/compile_commands.json"

expect '"layer_norm"' "$lamina" plugins --json
# The server is a library of its own, and is found beside the command.
mkfifo "$scratch/address"
"$lamina" serve "$scratch/prefix/share/lamina/models/g2p" --port 0 --device cpu >"$scratch/address" &
read -r address <"$scratch/address"
kill $!
wait $!
expect http://127.0.0.1: echo "$address"
vulkan=0
"$lamina" run "$scratch/prefix/share/lamina/models/g2p" a --device vulkan:0 >"$scratch/vulkan.log" 2>&1 || vulkan=$?
for layer in causal_conv lora_linear rms_norm_activation row_scale; do
    plugins=$scratch/$layer/lib/lamina/plugins
    expect "$layer" "$lamina" plugins "$layer" --plugin-dir "$plugins"
    status=0
    "$lamina" check "$layer" --plugin-dir "$plugins" --device cpu || status=$?
    [ $status -eq 7 ] || { echo "nothing of $layer is checked on cpu, but the status is $status" >&2; exit 1; }
    if [ $vulkan -eq 4 ]; then
        echo "no Vulkan device: $layer is not checked on one" # its tests would fail, because nothing is checked
    else
        "$lamina" check "$layer" --plugin-dir "$plugins" --device vulkan:0
        ctest --test-dir "$scratch/$layer" --output-on-failure
    fi
done

# All checks above would also pass if nothing were compared. So this kernel leaves out the last column, which both must
# report.
if [ $vulkan -ne 4 ]; then
    shader=$scratch/source/row_scale/shaders/row_scale.comp
    sed 's/if (i >= size) return;/if (i >= size || i % cols == cols - 1u) return;/' "$shader" >"$scratch/wrong.comp"
    cp "$scratch/wrong.comp" "$shader"
    cmake --build "$scratch/row_scale"
    ! ctest --test-dir "$scratch/row_scale" >"$scratch/wrong.log" || { echo "its test passes a wrong kernel" >&2; exit 1; }
    status=0
    "$lamina" check row_scale --plugin-dir "$scratch/row_scale/lib/lamina/plugins" --device vulkan:0 \
        >"$scratch/wrong.log" 2>&1 || status=$?
    [ $status -eq 7 ] || { echo "lamina check ends with $status on a wrong kernel; expected 7" >&2; exit 1; }
fi

# A model with a layer that is not part of Lamina, and its input: an .npy file with the numbers 3 and 4, little-endian.
plugins=$scratch/lora_linear/lib/lamina/plugins
{
    printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
    printf '\000\000\100\100\000\000\200\100'
} >"$scratch/x.npy"
expect 'cpu: 0.6 0.8' "$scratch/host/host" "$plugins" "$here/host" "$scratch/x.npy"
# A fusion, in a model that does not name it: silu of 3 and 4 over their root mean square.
if [ $vulkan -ne 4 ]; then
    fused="--input x=$scratch/x.npy --device vulkan:0 --plugin-dir $scratch/rms_norm_activation/lib/lamina/plugins"
    for how in '--variant rms_norm_activation=baseline' --no-fusion; do
        expect 0.594 "$lamina" run "$here/fused" $fused $how
        status=0
        "$lamina" profile "$here/fused" $fused $how | grep rms_norm_activation || status=$?
        [ "$how $status" != '--no-fusion 0' ] || { echo "--no-fusion runs a fusion" >&2; exit 1; }
        [ "$how" = --no-fusion ] || [ $status -eq 0 ] || { echo "the fusion does not run" >&2; exit 1; }
    done
fi
expect "probabilities (2, 3, 6), a row sums to 1" "$scratch/encoder_decoder/encoder_decoder"
expect ' 0.8 ' "$lamina" run "$here/host" --input "x=$scratch/x.npy" --plugin-dir "$plugins" --device cpu
expect "vulkan$(printf '\t')V " "$lamina" run "$scratch/prefix/share/lamina/models/g2p" --device cpu vulkan
