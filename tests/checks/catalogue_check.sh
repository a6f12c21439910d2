# The catalogue and the tests agree.
. tests/checks/lib.sh

commands() # prints the command of each test that CTest runs, once
{
    "${PAWL_CTEST:-ctest}" --test-dir "${PAWL_BUILD:-build/dev}" -N -V | awk '
        sub(/^[0-9]+: Test command: /, "") { command = $0 }
        /^ *Test +#[0-9]+: / && !/\(Disabled\)/ { print command }' | sort -u
}

names() # prints the names of all tests of the build
{
    commands >"$tmp/commands"
    [ -s "$tmp/commands" ] || return 1
    while read -r command; do
        sh -c "$command --list" </dev/null || { echo "$command: does not list its tests" >&2; return 1; }
    done <"$tmp/commands"
}

agree()
{
    names >"$tmp/names" || return 1
    tools/check_catalogue tests/catalogue.md "$tmp/names"
}

table() # ROW...
{
    printf '%s\n' '| mark | tier | status | promise |' '| --- | --- | --- | --- |' "$@" >"$tmp/catalogue.md"
}

wrong() # SENTENCE ROW...
{
    sentence=$1
    shift
    table "$@"
    bites "$sentence" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
}

holds "each mark of the catalogue that has a test is in the name of one that runs, and no name has another" agree

one='| T-1 | ground | test | x |'
fault='| D-1 | ground | test | x: T-1 |'
printf '%s\n' 'T-1 one is one' 'T-3 D-1 two and three' >"$tmp/names"
table "$one" '| T-2 | ground | struck: no such thing | x |' '| T-3 | later | test | x |' \
    '| T-4 | later | later: with the server | x |' "$fault"
holds "a catalogue whose marks all have tests agrees" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
rest='| T-3 | ground | test | x |'
wrong "a mark without a test is found" "$one" '| T-2 | ground | test | x |' "$rest" "$fault"
wrong "a fault without a test is found" "$one" '| T-2 | ground | struck: x | x |' "$rest" "$fault" \
    '| D-2 | ground | test | x: T-1 |'
wrong "a mark that is cited and has no test is found" "$one" '| T-2 | ground | struck: x | x |' "$rest" \
    '| D-1 | ground | test | x: T-2 |'
wrong "a mark of a name that has no row is found" "$one" "$fault"
wrong "a mark of a name that is said to have no test is found" "$one" '| T-2 | ground | struck: x | x |' \
    '| T-3 | ground | later: x | x |' "$fault"
wrong "a number that is left out is found" "$one" "$rest" "$fault"
wrong "a status that is none is found" "$one" '| T-2 | ground | done | x |' "$rest" "$fault"
wrong "a mark that comes twice is found" "$one" "$one" '| T-2 | ground | struck: x | x |' "$rest" "$fault"
: >"$tmp/names"
wrong "a catalogue without rows is found"

finish
