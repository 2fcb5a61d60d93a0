#!/bin/sh
# packages.sh BUILD SCRATCH SOURCE COMPILER
#
# Makes the Debian packages of BUILD, unpacks them into SCRATCH/root, and uses what is there: the command, its manual,
# the server, and the library by pkg-config. scripts/packages builds them for Debian's own places; here they are under
# /usr as BUILD has them (lib, not lib/x86_64-linux-gnu).
set -eu
build=$1 scratch=$2 source=$3 compiler=$4
unset LAMINA_PLUGIN_PATH
rm -rf "$scratch"
mkdir -p "$scratch"

for tool in dpkg-shlibdeps file; do
    command -v $tool >/dev/null || { echo "SKIPPED: packages: there is no $tool (Debian: dpkg-dev file)"; exit 77; }
done
cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }

. "$source/tests/expect.sh"
package() { echo "$scratch/packages/$1"_*.deb; }

version=$(sed -n 's/^project(Lamina VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
library=liblamina${version%.*}
expect "lamina $version" "$build/bin/lamina" --version
expect "$library (= $version-1~" dpkg-deb -f "$(package lamina)" Depends
expect libc6 dpkg-deb -f "$(package lamina)" Depends # found by dpkg-shlibdeps
expect 'lamina-plugins (>= ' dpkg-deb -f "$(package "$library")" Depends
for opened in libspirv-cross libsndfile libsentencepiece libpng16 libjpeg libwebp; do
    expect $opened dpkg-deb -f "$(package "$library")" Depends
done
expect "liblamina ${version%.*} $library" dpkg-deb -I "$(package "$library")" shlibs
expect 'libvulkan1, mesa-vulkan-drivers | vulkan-icd' dpkg-deb -f "$(package "$library")" Recommends
expect libhwy dpkg-deb -f "$(package lamina-plugins)" Depends
expect "$library (= $version-1~" dpkg-deb -f "$(package liblamina-dev)" Depends
expect all dpkg-deb -f "$(package lamina-models)" Architecture
for deb in "$scratch"/packages/*.deb; do # one package must not hold another's files
    dpkg-deb -c "$deb" | sed -n 's|^[^d].* \./|/|p' | sed 's/ -> .*//' >>"$scratch/files"
    dpkg-deb -x "$deb" "$scratch/root"
done
[ -z "$(sort "$scratch/files" | uniq -d)" ] || { echo "in two packages:"; sort "$scratch/files" | uniq -d; exit 1; }
for file in bin/lamina lib/liblamina.so lib/liblamina.so.${version%.*} lib/lamina/plugins/lamina_linear.so \
    lib/lamina/liblamina_serve.so "lib/lamina/liblamina_sndfile-${version%.*}.so" lib/pkgconfig/lamina.pc lib/cmake/Lamina/LaminaConfig.cmake \
    include/lamina/lamina.hpp share/lamina/shaders/common share/lamina/models/g2p/model.json \
    share/bash-completion/completions/lamina share/fish/vendor_completions.d/lamina.fish \
    share/doc/lamina/copyright share/doc/lamina/changelog.gz "share/doc/$library/copyright"; do
    [ -e "$scratch/root/usr/$file" ] || { echo "no package holds /usr/$file" >&2; exit 1; }
done

# Every command that --help lists has a manual page, and troff has nothing to say about any.
lamina=$scratch/root/usr/bin/lamina manual=$scratch/root/usr/share/man/man1
for command in $("$lamina" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-][a-z-]*\) .*/\1/p') plot-pe; do
    zcat -f "$manual/lamina-$command.1"* | grep -q "^lamina-$command " || { echo "no page for $command"; exit 1; }
done
if command -v groff >/dev/null; then
    for page in "$manual"/*; do
        warnings=$(zcat -f "$page" | groff -man -Tutf8 -ww 2>&1 >/dev/null)
        [ -z "$warnings" ] || { printf '%s:\n%s\n' "$page" "$warnings" >&2; exit 1; }
    done
else
    echo "groff is not installed: manual pages are not checked"
fi

# The command finds its library, plugins and server where they are.
g2p=$scratch/root/usr/share/lamina/models/g2p
expect "vulkan$(printf '\t')V " "$lamina" run "$g2p" vulkan --device cpu
expect "$scratch/root/usr/bin/../lib/lamina/plugins/lamina_softmax.so" "$lamina" doctor --device cpu
spm=$source/tests/unit/tokenizer/fixtures/spm.model
expect '' "$lamina" tokenize "$spm" hello
rm "$scratch/root/usr/lib/lamina/liblamina_sentencepiece-${version%.*}.so" # as if a package were damaged
# shellcheck disable=SC2016 # variables of that shell
expect "Lamina's library liblamina_sentencepiece-${version%.*}.so is missing: install Lamina again" \
    sh -c '"$1" tokenize "$2" hello 2>&1 || true' - "$lamina" "$spm"
"$lamina" serve "$g2p" --device cpu --port 0 --quiet >"$scratch/url" &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 600); do [ -s "$scratch/url" ] && break; sleep 0.1; done
expect '{"ready":true}' python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1] + "/v2/health/ready").read().decode())' "$(cat "$scratch/url")"
kill $server
trap - EXIT
wait $server

# A program that knows nothing but pkg-config.
cat >"$scratch/words.cpp" <<'PROGRAM'
#include <lamina/lamina.hpp>
#include <iostream>
int main(int, char **arguments) {
    const lamina::Runtime runtime;
    lamina::Session session = runtime.session(runtime.load(arguments[1]), runtime.device("cpu"));
    std::cout << session.generate({"vulkan"}).front() << '\n';
}
PROGRAM
export PKG_CONFIG_PATH="$scratch/root/usr/lib/pkgconfig"
expect "$version" pkg-config --modversion lamina
# shellcheck disable=SC2046 # options are words
"$compiler" -o "$scratch/words" "$scratch/words.cpp" $(pkg-config --cflags --libs lamina)
expect 'V AH1 L K AH0 N' env LD_LIBRARY_PATH="$scratch/root/usr/lib" "$scratch/words" "$g2p"
