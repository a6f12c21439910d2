# A store whose file is moved, removed or replaced under those who have it open: whoever stays ends with IO.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/served.sh"

start() # ARGUMENT...: in the background, with its words in said
{
    ran="pawl $*"
    "$PAWL_BIN" "$@" >shown 2>said &
    follower=$!
}

ends_with_io()
{
    status=0
    wait "$follower" || status=$?
    cp said "$folder/err"
    exits 6
    says '^pawl: IO: .*pawl\.db.* (has|have) been moved or replaced; open the store anew$'
    [ "$(grep -c '^pawl: IO: ' said)" -eq 1 ] || complain "it was to be said once"
}

has_open() # FILE: the one that was started
{
    find "/proc/$follower/fd" -lname "*/$1" 2>/dev/null | grep -q .
}

# What the other file holds, so that one who reads it is caught.
make_other()
{
    rm -rf other.db*
    PAWL_DB=$folder/other.db run task add --id other -o name
    exits 0
}

take_away() # HOW
{
    case $1 in
    mv) mv pawl.db elsewhere.db ;;
    rm) rm pawl.db ;;
    put) mv other.db pawl.db ;;
    turn) rm pawl.db-turn ;;
    esac
}

idle_worker()
{
    local how
    for how in mv rm put turn; do
        rm -rf pawl.db* elsewhere.db*
        run queue set default --lease 30s; exits 0
        make_other
        start worker run -- true
        until grep -q event=worker.started said; do :; done
        take_away $how
        ends_with_io
        says 'level=error event=store.gone '
        equals 1 "$(grep -c event=store.gone said)"
        ! grep -q event=worker.task_started said || complain "it took a task of another store"
    done
}
test_that "an idle worker whose store is moved, removed or replaced ends with IO at once" idle_worker

busy_worker()
{
    mkfifo up
    add --id b
    start worker run --grace 1m -- sh -c 'trap "echo term >up; exit 0" TERM; echo ready >up; while :; do sleep 0.05; done'
    exec 3<>up
    local line
    read -r line <&3; equals ready "$line"
    take_away mv
    read -r line <&3; equals term "$line"
    ends_with_io
    grep -q 'event=worker.outcome_dropped task=b ' said
    mv elsewhere.db pawl.db
    run task get b; has state '"RUNNING"'
}
test_that "a worker whose store has gone stops its commands as those whose leases are lost" busy_worker

followers()
{
    local command
    add --id x --hold
    for command in 'events -f' 'events -f --consumer c --ack' 'queue list -w' 'queue stats -w' 'task list -w' \
        'task get x -w' 'task logs x -f' 'task wait x'; do
        make_other
        # shellcheck disable=SC2086 # words
        start $command
        until has_open pawl.db-turn; do :; done
        case $command in *logs* | *wait*) ;; *) until [ -s shown ]; do :; done ;; esac
        cp pawl.db keep.db; cp pawl.db-wal keep.db-wal 2>/dev/null || :
        take_away put
        ends_with_io
        ! grep -q other shown || complain "$command has shown another store: $(cat shown)"
        mv keep.db pawl.db; rm -f pawl.db-*; mv keep.db-wal pawl.db-wal 2>/dev/null || :
    done
}
test_that "who follows or watches a store that another has replaced ends with IO, and shows nothing of the other" followers

server()
{
    command -v curl >/dev/null || skips "no curl"
    start_server
    get /ready; shows '"ready":true'
    take_away rm
    status=0
    wait "$server" || status=$?
    cp log "$folder/err"
    exits 6
    says '^pawl: IO: .*moved or replaced' event=server.draining event=server.stopped
}
test_that "a server whose store has gone drains and ends with IO" server

finish
