# For the tests of the command: source it, then `expect CODE command …`, and look at $work/out and $work/err.
set -u
: "${YOLOPACK:?is the command under test}"
PYTHON=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/ypk-cli.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'FAILED line %s: %s\n' "${BASH_LINENO[1]}" "$*"
    echo "--- stdout"; head -n 20 "$work/out" 2>/dev/null
    echo "--- stderr"; head -n 20 "$work/err" 2>/dev/null
    exit 1
}

# expect CODE COMMAND…: runs it and compares its exit code.
expect() {
    local code=$1 found
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    found=$?
    [ "$found" -eq "$code" ] || fail "exit code $found, expected $code: $*"
}

# says out|err TEXT: that stream has the fixed text.
says() { grep -qF -- "$2" "$work/$1" || fail "no \"$2\" on $1"; }
silent() { [ ! -s "$work/$1" ] || fail "something on $1"; }

# json EXPRESSION: stdout is one JSON document d, for which the Python expression is true.
json() {
    "$PYTHON" -m json.tool "$work/out" >/dev/null || fail "not JSON"
    "$PYTHON" -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$work/out" "$1" ||
        fail "not true of the JSON: $1"
}

# A small data set, made once a test.
make_set() { "$YOLOPACK" synth "$1" --pairs "${2:-12}" --size 160x128 -q >/dev/null || fail "synth"; }
