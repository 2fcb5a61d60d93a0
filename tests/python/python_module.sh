#!/bin/sh
# python_module.sh BUILD SCRATCH SOURCE PYTHON [PYTEST OPTIONS]
#
# Builds the wheel for PYTHON with the Lamina of BUILD, which is installed into SCRATCH/prefix, and runs python/tests
# with it in an empty virtual environment. $LAMINA_PYTHON_PACKAGES names more packages for it, which the tests of some
# examples need: "langchain-core llama-index-core".
set -eu
build=$1 scratch=$2 source=$3 python=$4
shift 4
unset LAMINA_PLUGIN_PATH
mkdir -p "$scratch"

skip() {
    echo "SKIPPED: python module: $1"
    [ -n "${LAMINA_REQUIRE_PYTHON:-}" ] && exit 1
    exit 77
}
attempt() { # COMMAND...: its output is shown if it fails
    "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }
}

"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    skip "$python has no headers (Debian: python3-dev)"
rm -rf "$scratch/tools" "$scratch/empty" "$scratch/wheel"
attempt "$python" -m venv "$scratch/tools" || skip "$python has no venv (Debian: python3-venv)"
pip() { environment=$1; shift; attempt "$scratch/$environment/bin/python" -m pip -q --disable-pip-version-check "$@"; }
pip tools install nanobind typing_extensions || skip 'PyPI cannot be reached'

# All of Lamina, as `pip install .` has it: configured, and every file has a rule.
cmake -G Ninja -S "$source" -B "$scratch/whole" -DLAMINA_PYTHON=ON -DLAMINA_TESTS=OFF \
    -DPython_EXECUTABLE="$scratch/tools/bin/python" -Dnanobind_DIR="$("$scratch/tools/bin/python" -m nanobind --cmake_dir)" \
    >"$scratch/whole.log" 2>&1 || { cat "$scratch/whole.log"; exit 1; }
attempt cmake --build "$scratch/whole" --target lamina_python -- -n

# The module alone, for the Lamina that is built already.
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
pip tools wheel "$source" --no-deps -w "$scratch/wheel" --config-settings=cmake.source-dir=python \
    --config-settings=cmake.define.Lamina_ROOT="$scratch/prefix" --config-settings=build-dir="$scratch/module"
rm -rf "$scratch/prefix" # the wheel must do without

attempt "$python" -m venv "$scratch/empty"
# shellcheck disable=SC2086 # a list of packages
pip empty install "$scratch"/wheel/lamina-*.whl pytest mypy jsonschema tqdm ${LAMINA_PYTHON_PACKAGES:-}
cd "$source/python/tests"
LAMINA_COMMAND=$build/bin/lamina LAMINA_MODELS=$build/real-models LAMINA_WRONG_PLUGINS=$build/tests/trust/plugins \
    XDG_CACHE_HOME=$scratch/cache PYTHONDONTWRITEBYTECODE=1 \
    "$scratch/empty/bin/python" -m pytest -p no:cacheprovider -q "$@" .
