# Sourced by the tests that are written in shell.

# The end of a text as the last field of a line of results (tests/test.h).
as_field()
{
    tail -n 12 | tail -c 800 | tr '\t\r' '  ' | awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'
}
