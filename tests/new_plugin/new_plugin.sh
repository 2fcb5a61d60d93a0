#!/bin/sh
# new_plugin.sh BUILD SCRATCH SOURCE [COMPILER FLAGS]
#
# Adding a layer touches only plugins/NAME and shaders/NAME. In a copy of SOURCE, `lamina new-plugin` creates a layer;
# checksums show that no other file changed; the copy's build finds the layer; and the layer passes `lamina check`. Only
# this plugin is compiled: the command and its other plugins are those of BUILD.
set -eu
build=$1 scratch=$2 source=$3 flags=${4:-}
unset LAMINA_PLUGIN_PATH
lamina=$build/bin/lamina copy=$scratch/copy
rm -rf "$scratch"
mkdir -p "$copy"
for part in CMakeLists.txt base c cli cmake include plugins python runtime serve shaders; do cp -R "$source/$part" "$copy/"; done

sums() { (cd "$copy" && find . -type f -exec sha256sum {} + | sort); }
expect_status() { # STATUS TEXT COMMAND...: the command exits with the status and prints the text on stderr
    wanted=$1 text=$2 status=0
    shift 2
    said=$("$@" 2>&1 >/dev/null) || status=$?
    case $status:$said in
        "$wanted:"*"$text"*) ;;
        *) printf 'expected status %s and: %s\nfound status %s and: %s\n' "$wanted" "$text" "$status" "$said" >&2; exit 1 ;;
    esac
}

sums >"$scratch/before"
cd "$copy/runtime/api" # any folder of the tree will do
"$lamina" new-plugin row_scale >"$scratch/made"
sums >"$scratch/after"
comm -23 "$scratch/before" "$scratch/after" >"$scratch/changed"
[ ! -s "$scratch/changed" ] || { echo "these files were changed:" >&2; cat "$scratch/changed" >&2; exit 1; }
comm -13 "$scratch/before" "$scratch/after" | sed 's/^[0-9a-f]*  //' | sort >"$scratch/added"
cat >"$scratch/expected" <<'END'
./plugins/row_scale/CMakeLists.txt
./plugins/row_scale/README.md
./plugins/row_scale/row_scale.cpp
./shaders/row_scale/row_scale.comp
END
diff "$scratch/expected" "$scratch/added"
sed "s|^$copy|.|" "$scratch/made" | sort | diff "$scratch/expected" -

expect_status 2 'nothing is overwritten' "$lamina" new-plugin row_scale
sums | diff "$scratch/after" -
cd /
expect_status 2 '--out-of-tree DIR' "$lamina" new-plugin column_scale

cmake -G Ninja -S "$copy" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release -DLAMINA_TESTS=OFF \
    -DCMAKE_CXX_FLAGS="$flags" >"$scratch/configure.log"
cmake --build "$scratch/build" --target lamina_plugin_row_scale
plugins=$scratch/build/lib/lamina/plugins
status=0
"$lamina" check row_scale --plugin-dir "$plugins" --device cpu || status=$?
[ $status -eq 7 ] # there its reference runs, so that nothing can be checked
status=0
"$lamina" check row_scale --plugin-dir "$plugins" --device vulkan:0 || status=$?
[ $status -eq 0 ] || [ $status -eq 4 ] # 4: this machine has no such device
"$lamina" check row_scale --plugin-dir "$plugins" --device interpreter
