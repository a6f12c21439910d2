# The programs that measure: what they write are the product's rows, and its engine goes on from them.
. tests/checks/lib.sh

builds_on() # STORE
{
    "$build/bench/lifecycle" "$1" 1 '#2' && "$build/bench/fill" "$1" 3 2 &&
        "$build/bench/ceiling" "$1" 6 0.2 && "$build/bench/ceiling" "$1" 1 0.1 && "$build/bench/ceiling" "$1" 6 0.1 8 &&
        "$build/bench/lifecycle" "$1" 2 '#3' && "$build/pawl" fsck --db "$1"
}

# What it says was finished is all that the store has, and nothing is left.
calls_server()
{
    "$build/pawl" server --quiet --db "$tmp/calls.db" --listen "unix:$tmp/socket" >"$tmp/listening" 2>&1 &
    server=$!
    until [ -S "$tmp/socket" ]; do kill -0 $server || return; sleep 0.01; done
    { "$build/bench/callers" pawl "$tmp/socket" live 0.1 && "$build/bench/callers" pawl "$tmp/socket" batches 0.1 &&
        "$build/bench/callers" pawl "$tmp/socket" drain 300 && "$build/bench/callers" pawl "$tmp/socket" pickup 5; } >"$tmp/calls"
    status=$?
    kill -TERM $server && wait $server && [ $status -eq 0 ] || return
    cat "$tmp/calls" "$tmp/listening"
    finished=$(awk '{ n += $1 } END { print n }' "$tmp/calls")
    [ "$(wc -l <"$tmp/calls")" -eq 4 ] && [ "$(tail -n 1 "$tmp/calls" | cut -d ' ' -f 1)" -eq 5 ] &&
        "$build/pawl" task list --db "$tmp/calls.db" --all -o name | wc -l | grep -qx "$finished" &&
        "$build/pawl" task list --db "$tmp/calls.db" --all -s COMPLETED -o name | wc -l | grep -qx "$finished"
}

build=$PAWL_BUILD
holds "the callers of the server finish what they say they have" calls_server
holds "the rows of the ceiling program are the product's, on SQLite" builds_on "$tmp/bench.db"
if [ -n "${PAWL_TEST_POSTGRES:-}" ]; then
    holds "the rows of the ceiling program are the product's, on PostgreSQL" \
        builds_on "$PAWL_TEST_POSTGRES&options=-csearch_path%3Dbench_$$"
else
    skips "the rows of the ceiling program are the product's, on PostgreSQL" "PAWL_TEST_POSTGRES names no server"
fi
finish
