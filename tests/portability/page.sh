#!/bin/sh
# docs/portability.md is what portability_table prints. Usage: page.sh TABLE PAGE. Skipped (77) where RADV is absent or of
# another version than the page's: it is about that one.
set -u
made=$(mktemp) && trap 'rm -f "$made"' EXIT
version() { sed -n 's/^## AMD, compiled by RADV of //p' "$1"; }
"$1" >"$made" || { echo 'SKIPPED: portability_table cannot run here'; exit 77; }
if [ "$(version "$made")" != "$(version "$2")" ]; then
    echo "SKIPPED: the page is about $(version "$2"), here is $(version "$made")"
    exit 77
fi
diff "$2" "$made" || { echo "the page is stale: build/bin/portability_table > docs/portability.md" >&2; exit 1; }
