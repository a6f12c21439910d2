#!/bin/bash
# A PostgreSQL server that is stopped and started while programs follow a store: they wait for it, and go on without a
# loss and without telling anything twice.
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
if [ "${1:-}" != --list ] && [ -z "${PAWL_OWN_SERVER:-}" ] && [ -x "$bin/pg_ctl" ]; then
    PAWL_OWN_SERVER=yes exec tools/with_postgres bash "$0"
fi
. "$(dirname "$0")/../checks/lib.sh"

as_owner()
{
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

server() # start|stop
{
    as_owner "$bin/pg_ctl" -D "$data" -l "${data%/data}/server.log" -m fast -w -t 60 "$1" >/dev/null
}

until_all() # COMMAND...: succeeds for each that follows, or one has ended
{
    local i
    for i in "${!followers[@]}"; do
        until "$@" "$i"; do
            kill -0 "${pids[$i]}" 2>/dev/null || { "$@" "$i" && break; say_of "$i" "has ended"; return 1; }
            sleep 0.02
        done
    done
}

say_of() # NUMBER TEXT
{
    echo "${followers[$1]}: $2; out: $(tail -n 3 "$tmp/out$1"); err: $(cat "$tmp/err$1")"
}

has_shown() { [ -s "$tmp/out$1" ] || [[ ${followers[$1]} == "task logs"* || ${followers[$1]} == "task wait"* ]]; }
has_waited() { grep -q '^pawl: waiting until the store answers again$' "$tmp/err$1"; }
goes_on() { grep -q '^pawl: the store answers again$' "$tmp/err$1"; }

events_once() # NUMBER: every event of the store, in order, each once
{
    sed -n 's/.*"position":\([0-9]*\),.*/\1/p' "$tmp/out$1" >"$tmp/seen"
    cmp "$tmp/seen" <("$PAWL_BIN" events -o jsonl | sed -n 's/.*"position":\([0-9]*\),.*/\1/p')
}

go_on()
{
    local i round
    data=$(sed 's/.*host=\([^&]*\).*/\1/; s/%2F/\//g' <<<"$PAWL_TEST_POSTGRES")/data
    export PAWL_DB="$PAWL_TEST_POSTGRES&options=-csearch_path%3Drestarted"
    psql -qX "$PAWL_TEST_POSTGRES" -c 'CREATE SCHEMA restarted' || return 1
    "$PAWL_BIN" task add --id x --hold >/dev/null || return 1
    followers=('events -f -o jsonl' 'events -f --consumer c --ack -o jsonl' 'task list -w -o name' 'queue stats -w'
        'task logs x -f' 'task wait x')
    pids=()
    for i in "${!followers[@]}"; do
        # shellcheck disable=SC2086 # words
        "$PAWL_BIN" ${followers[$i]} >"$tmp/out$i" 2>>"$tmp/err$i" &
        pids+=($!)
    done
    until_all has_shown || return 1
    for round in 1 2; do
        server stop || return 1
        until_all has_waited || return 1
        server start || return 1
        until_all goes_on || return 1
        for i in "${!followers[@]}"; do : >"$tmp/err$i"; done
        "$PAWL_BIN" task add --id "after$round" --hold >/dev/null || return 1
    done
    "$PAWL_BIN" task log x "a line" && "$PAWL_BIN" task complete x >/dev/null || return 1
    wait "${pids[4]}" || { say_of 4 "status $?"; return 1; }
    wait "${pids[5]}" || { say_of 5 "status $?"; return 1; }
    [ "$(grep -c 'a line' "$tmp/out4")" -eq 1 ] || { say_of 4 "the line was to be shown once"; return 1; }
    until events_once 0 >/dev/null && events_once 1 >/dev/null; do
        kill -0 "${pids[0]}" "${pids[1]}" || return 1
        sleep 0.02
    done
    until grep -q after2 "$tmp/out2"; do sleep 0.02; done
    sort "$tmp/out2" | uniq -d | grep . && { say_of 2 "a task was shown twice"; return 1; }
    kill -INT "${pids[@]:0:4}"
    for i in 0 1 2 3; do
        wait "${pids[$i]}"
        [ $? -eq 130 ] || { say_of "$i" "was to end as interrupted"; return 1; }
    done
}

sentence="who follows a store on PostgreSQL outlives its server, without a loss, and tells nothing twice"
if [ -n "${PAWL_OWN_SERVER:-}" ] && command -v psql >/dev/null; then
    holds "$sentence" go_on
else
    skips "$sentence" "no PostgreSQL server of its own can be had here"
fi
finish
