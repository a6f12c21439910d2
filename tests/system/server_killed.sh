#!/bin/bash
# A PostgreSQL server whose processes are all killed at once, time and again, while commands are given tasks and
# fail. Each command writes down the epoch that it was given: none is ever given twice.
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
# A server of its own, which syncs.
if [ "${1:-}" != --list ] && [ -z "${PAWL_OWN_SERVER:-}" ] && [ -x "$bin/pg_ctl" ]; then
    PAWL_OWN_SERVER=yes PAWL_PG_FAST=0 exec tools/with_postgres bash "$0"
fi
. "$(dirname "$0")/../checks/lib.sh"

rounds=3
tasks=60 # those whose worker was killed are out of the way for a while

as_owner()
{
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# All of it: its children end by themselves when they find that it has gone, and some of them too late.
kill_server() # DATA
{
    local server
    server=$(head -n 1 "$1/postmaster.pid")
    # shellcheck disable=SC2046 # one number a word
    kill -KILL "$server" $(ps -o pid= --ppid "$server") 2>/dev/null
    while kill -0 "$server" 2>/dev/null; do sleep 0.05; done
}

no_epoch_twice()
{
    local data given=$tmp/given i round before worker epoch last
    data=$(sed 's/.*host=\([^&]*\).*/\1/; s/%2F/\//g' <<<"$PAWL_TEST_POSTGRES")/data
    export PAWL_DB="$PAWL_TEST_POSTGRES&options=-csearch_path%3Dkilled" PAWL_LOCKS=$tmp/locks
    : >"$given"
    psql -qX "$PAWL_TEST_POSTGRES" -c 'CREATE SCHEMA killed' || return 1
    for i in $(seq $tasks); do echo "{\"id\":\"t$i\",\"max_retries\":1000,\"retry_delay_ms\":1}"; done |
        "$PAWL_BIN" task add --jsonl >"$tmp/added" || { cat "$tmp/added"; return 1; }
    for round in $(seq $rounds); do
        before=$(wc -l <"$given")
        "$PAWL_BIN" worker run --slots 4 --lease 2s --quiet -- sh -c 'echo "$PAWL_TASK_ID $PAWL_EPOCH" >>"$0"; exit 75' "$given" \
            2>"$tmp/said" &
        worker=$!
        while [ "$(wc -l <"$given")" -lt $((before + 40)) ]; do
            kill -0 $worker || { cat "$tmp/said"; return 1; }
            sleep 0.05
        done
        kill_server "$data"
        kill -KILL $worker
        wait $worker 2>/dev/null
        as_owner "$bin/pg_ctl" -D "$data" -l "${data%/data}/server.log" -w -t 60 start >/dev/null || return 1
    done
    echo "    $(wc -l <"$given") epochs were given, and the server was killed $rounds times"
    sort "$given" | uniq -d | grep . && return 1
    for i in $(seq $tasks); do
        epoch=$("$PAWL_BIN" task get t$i -o json | sed -n 's/.*"epoch":\([0-9]*\).*/\1/p')
        last=$(grep "^t$i " "$given" | cut -d ' ' -f 2 | sort -n | tail -n 1)
        [ "$epoch" -ge "${last:-0}" ] || { echo "t$i has epoch $epoch, and $last was given"; return 1; }
    done
    "$PAWL_BIN" fsck >/dev/null
}

sentence="T-117 no epoch that was answered is issued again by a PostgreSQL server that was killed"
if [ -n "${PAWL_OWN_SERVER:-}" ] && command -v psql >/dev/null; then
    holds "$sentence" no_epoch_twice
else
    skips "$sentence" "no PostgreSQL server of its own can be had here"
fi
finish
