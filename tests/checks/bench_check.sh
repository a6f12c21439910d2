# The programs that measure: what they write are the product's rows, and its engine goes on from them.
. tests/checks/lib.sh

builds_on() # STORE
{
    "$build/bench/lifecycle" "$1" 1 '#2' && "$build/bench/fill" "$1" 3 2 &&
        "$build/bench/ceiling" "$1" 6 0.2 && "$build/bench/ceiling" "$1" 1 0.1 && "$build/bench/ceiling" "$1" 6 0.1 8 &&
        "$build/bench/lifecycle" "$1" 2 '#3' && "$build/pawl" fsck --db "$1"
}

build=$PAWL_BUILD
holds "the rows of the ceiling program are the product's, on SQLite" builds_on "$tmp/bench.db"
if [ -n "${PAWL_TEST_POSTGRES:-}" ]; then
    holds "the rows of the ceiling program are the product's, on PostgreSQL" \
        builds_on "$PAWL_TEST_POSTGRES&options=-csearch_path%3Dbench_$$"
else
    skips "the rows of the ceiling program are the product's, on PostgreSQL" "PAWL_TEST_POSTGRES names no server"
fi
finish
