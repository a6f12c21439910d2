# Tests written in shell; sourced by them. Run by CTest through pawl_script_test().
#
#   . tests/checks/lib.sh
#   holds "the arrows of src point down" tools/check_layers src/layers.txt src
#   bites "an include that points up is found" tools/check_layers "$tmp/layers.txt" "$tmp/src"
#   finish
#
# A command that `holds` must succeed, one that `bites` must fail with status 1. With --list the
# sentences are printed and nothing is run. $tmp is a folder that goes away at the end.
set -u

list=no
[ "${1:-}" = --list ] && list=yes
program=${PAWL_TEST_PROGRAM:-$(basename "$0" .sh)}
failures=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

result() # pass|fail|skip SENTENCE
{
    echo "$1: $2"
    [ "$1" != fail ] || failures=$((failures + 1))
    [ -z "${PAWL_TEST_RESULTS:-}" ] || printf '%s\t%s\t%s\n' "$1" "$program" "$2" >>"$PAWL_TEST_RESULTS"
}

holds() # SENTENCE COMMAND...
{
    sentence=$1
    shift
    if [ $list = yes ]; then echo "$sentence"; return; fi
    if "$@"; then result pass "$sentence"; else result fail "$sentence"; fi
}

bites() # SENTENCE COMMAND...
{
    sentence=$1
    shift
    if [ $list = yes ]; then echo "$sentence"; return; fi
    "$@" >"$tmp/bites.out" 2>&1
    status=$?
    if [ $status -eq 1 ]; then
        result pass "$sentence"
    else
        cat "$tmp/bites.out"
        echo "status $status, and 1 was wanted"
        result fail "$sentence"
    fi
}

skips() # SENTENCE REASON
{
    if [ $list = yes ]; then echo "$1"; return; fi
    echo "$2"
    result skip "$1"
}

finish()
{
    exit $((failures > 0))
}
