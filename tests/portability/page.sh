#!/bin/sh
# Checks that docs/portability.md is what portability_table prints. Usage: page.sh TABLE PAGE. Skipped (77) if RADV is
# missing or not the version that the page was made with. Fails if it is missing and LAMINA_REQUIRE_DRIVERS names radv.
set -u
made=$(mktemp) && trap 'rm -f "$made"' EXIT
version() { sed -n 's/^## AMD, compiled by RADV of //p' "$1"; }
if ! "$1" >"$made"; then
    case ",${LAMINA_REQUIRE_DRIVERS:-}," in *,radv,*) exit 1 ;; esac
    echo 'SKIPPED: portability_table cannot run here'
    exit 77
fi
if [ "$(version "$made")" != "$(version "$2")" ]; then
    echo "SKIPPED: the page is about $(version "$2"), here is $(version "$made")"
    exit 77
fi
diff "$2" "$made" || { echo "the page is stale: build/bin/portability_table > docs/portability.md" >&2; exit 1; }
