# Sourced by tests.
# shellcheck shell=sh

expect() { # TEXT COMMAND...: the command succeeds, and its output contains the text
    text=$1
    shift
    found=$("$@") || { echo "failed: $*" >&2; exit 1; }
    case $found in
        *"$text"*) ;;
        *) printf '%s: expected %s, found:\n%s\n' "$*" "$text" "$found" >&2; exit 1 ;;
    esac
}
