#!/bin/sh
# wheel.sh FOLDER: in a fresh Debian (scripts/fresh-root), installs the wheel of FOLDER that fits its Python, beside nothing
# but a Vulkan driver, and tries it.
set -eu
scripts/install-dependencies run python
python3 -m venv /opt/empty
/opt/empty/bin/pip install -q --only-binary :all: --find-links "$1" lamina
/opt/empty/bin/python tests/python/wheel.py
