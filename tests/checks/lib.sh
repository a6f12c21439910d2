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
. tests/checks/field.sh

list=no
[ "${1:-}" = --list ] && list=yes
program=${PAWL_TEST_PROGRAM:-$(basename "$0" .sh)}
failures=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp" "$tmp.said"' EXIT

result() # pass|fail|skip SENTENCE
{
    echo "$1: $2"
    why=
    if [ "$1" = fail ]; then
        failures=$((failures + 1))
        why=$(printf '\t'; as_field <"$tmp.said")
    fi
    [ -z "${PAWL_TEST_RESULTS:-}" ] || printf '%s\t%s\t%s%s\n' "$1" "$program" "$2" "$why" >>"$PAWL_TEST_RESULTS"
}

holds() # SENTENCE COMMAND...
{
    sentence=$1
    shift
    if [ $list = yes ]; then echo "$sentence"; return; fi
    "$@" >"$tmp.said" 2>&1
    status=$?
    cat "$tmp.said"
    if [ $status -eq 0 ]; then result pass "$sentence"; else result fail "$sentence"; fi
}

bites() # SENTENCE COMMAND...
{
    sentence=$1
    shift
    if [ $list = yes ]; then echo "$sentence"; return; fi
    "$@" >"$tmp.said" 2>&1
    status=$?
    if [ $status -eq 1 ]; then
        result pass "$sentence"
    else
        echo "status $status, and 1 was wanted" >>"$tmp.said"
        cat "$tmp.said"
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
