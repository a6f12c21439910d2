#!/bin/bash
# An idle worker makes no query: the system calls of `pawl worker run` between two events show no read of the
# database, its log or its shared memory. Then a task is added, and the worker starts it at once.
. "$(dirname "$0")/../checks/lib.sh"

idle_worker_reads_nothing()
{
    command -v strace >/dev/null || return 1
    local db=$tmp/idle.db trace=$tmp/trace
    "$PAWL_BIN" queue set mail --lease 30s --db "$db" >/dev/null || return 1
    strace -f -y -o "$trace" -e trace=read,pread64,fcntl,pwrite64,openat,poll,mmap,fdatasync \
        "$PAWL_BIN" worker run mail --db "$db" --quiet -- true 2>/dev/null &
    local tracer=$! quiet=0 before after
    # it is idle when nothing has been written to the trace for a second; then a second more is watched
    for _ in $(seq 100); do
        before=$(stat -c %s "$trace" 2>/dev/null || echo 0)
        sleep 0.5 # what is watched is that nothing happens
        after=$(stat -c %s "$trace" 2>/dev/null || echo 0)
        if [ "$before" = "$after" ] && [ "$after" -gt 0 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        [ $quiet -lt 4 ] || break
    done
    local idle_lines touched
    idle_lines=$(wc -l <"$trace")
    "$PAWL_BIN" task add -q mail --db "$db" -o name >"$tmp/id" || return 1
    "$PAWL_BIN" task wait "$(cat "$tmp/id")" --db "$db" --timeout 20s >/dev/null || return 1
    pkill -TERM -P "$tracer" 2>/dev/null
    wait "$tracer"
    touched=$(tail -n +$((idle_lines + 1)) "$trace" | grep -c 'idle.db')
    echo "    $quiet quiet half seconds; after the task was added $touched calls touch the store"
    [ $quiet -ge 4 ] && [ "$touched" -gt 0 ]
}

started_within() # MS: from the event that says queued to the one that says started
{
    local db=$tmp/quick.db worst=0 gap i id
    "$PAWL_BIN" queue set mail --lease 30s --db "$db" >/dev/null || return 1
    "$PAWL_BIN" worker run mail --db "$db" --quiet -- true 2>/dev/null &
    local worker=$!
    for i in $(seq 10); do
        id=$("$PAWL_BIN" task add -q mail --db "$db" -o name) || return 1
        "$PAWL_BIN" task wait "$id" --db "$db" --timeout 20s >/dev/null || return 1
    done
    kill -TERM "$worker"
    wait "$worker"
    gaps=$("$PAWL_BIN" events --db "$db" -o jsonl | awk '
        { match($0, /"at_ms":[0-9]+/); at = substr($0, RSTART + 8, RLENGTH - 8) }
        /"type":"task_queued"/ { queued = at }
        /"type":"task_started"/ { print at - queued }' | sort -n)
    worst=$(tail -n 1 <<<"$gaps")
    gap=$(sed -n 5p <<<"$gaps")
    [ -z "${PAWL_IDLE_ALL:-}" ] || gap=$worst
    echo "    ten tasks, from queued to started, in ms: $(xargs <<<"$gaps"); the slowest $worst"
    [ "$gap" -le "$1" ]
}

if command -v strace >/dev/null; then
    holds "an idle worker reads nothing of the database between events" idle_worker_reads_nothing
else
    skips "an idle worker reads nothing of the database between events" "there is no strace here"
fi
# Beside other tests the machine has other things to do now and then; alone (tools/prove) all ten are judged.
holds "added work is started within 20 ms, at the median of ten" started_within 20
finish
