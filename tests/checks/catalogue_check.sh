# The catalogue and the tests agree.
. tests/checks/lib.sh

facts=${PAWL_BUILD:-build/dev}/checks

names() # prints the names of all tests of the build
{
    while read -r program; do
        $program --list </dev/null || return 1
    done <"$facts/programs"
}

agree()
{
    names >"$tmp/names" || return 1
    tools/check_catalogue tests/catalogue.md "$tmp/names"
}

table() # ROW...
{
    printf '%s\n' '| mark | tier | status | promise |' '| --- | --- | --- | --- |' "$@" >"$tmp/catalogue.md"
    printf '%s\n' 'T-001 one is one' 'T-002 T-004 two and four' >"$tmp/names"
}

sentence="each mark of the catalogue that has a test is in a test's name"
if [ -e tests/catalogue.md ]; then holds "$sentence" agree
else skips "$sentence" "there is no tests/catalogue.md yet"
fi

table '| T-001 | ground | test | x |' '| T-003 | ground | struck: no such thing | x |' \
    '| T-004 | later | test | x |' '| T-005 | later | later: with the server | x |'
holds "a catalogue whose marks all have tests agrees" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
table '| T-001 | ground | test | x |' '| T-003 | ground | test | x |'
bites "a mark without a test is found" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
table '| T-001 | ground | done | x |'
bites "a status that is none is found" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
table '| T-001 | ground | test | x |' '| T-001 | ground | test | x |'
bites "a mark that comes twice is found" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"
table
bites "a catalogue without rows is found" tools/check_catalogue "$tmp/catalogue.md" "$tmp/names"

finish
