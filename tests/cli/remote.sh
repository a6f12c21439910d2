# The command line against a server: what is about the server itself. What commands do there is in the other files, run
# with PAWL_CLI_STORE=server.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/served.sh"

test_that "a task is added, listed and paused by --server, and the store has it" by_option
by_option()
{
    start_server
    PAWL_DB='' run task add --server "http://127.0.0.1:$port/" -o name --goal 'a "b"' --id x:y --actor me
    exits 0
    prints x:y
    PAWL_DB='' PAWL_SERVER=http://127.0.0.1:$port run task pause x:y
    exits 0
    run task get x:y
    has state '"PAUSED"'
    has goal '"a \"b\""'
    run events
    shows '"task_created".*"actor":"me"' '"task_paused".*"actor":"tester"'
    stop_server
}

test_that "a socket of this machine is a server too" by_socket
by_socket()
{
    start_server --listen "unix:$folder/s"
    PAWL_DB='' run queue pause mail --server "unix:$folder/s"
    exits 0
    run queue list
    shows '"name":"mail","is_paused":true'
    stop_server
}

test_that "without a server it is IO, which names the address" unreachable
unreachable()
{
    PAWL_DB='' run task list --server "unix:$folder/nobody"
    refuses 6 IO "cannot reach unix:$folder/nobody"
    PAWL_DB='' run task add --server "unix:$folder/nobody"
    refuses 6 IO 'cannot reach'
}

test_that "a command that works on a store says so, by option and by environment" store_alone
store_alone()
{
    local command
    for command in 'backup b' fsck gc 'import f' 'restore f' doctor top 'task log x y' 'worker run -- true' \
        'token list' version server; do
        # shellcheck disable=SC2086 # words
        PAWL_DB='' run --server "unix:$folder/s" $command
        refuses 2 INVALID "--server: .pawl ${command%% *}.* works on a store: name it by --db"
    done
    for command in 'backup b' 'restore -y f' 'gc --compact' 'token list' 'worker run -- true'; do
        # shellcheck disable=SC2086 # words
        PAWL_DB='' PAWL_SERVER=unix:$folder/s run $command
        refuses 2 INVALID "PAWL_SERVER: .pawl ${command%% *}.* works on a store: name it by --db"
    done
    PAWL_DB='' PAWL_SERVER=unix:$folder/s run version
    exits 0
}

test_that "a server and a store at once are refused, and an option beats the environment" both
both()
{
    run --server "unix:$folder/s" --db x.db task list
    refuses 2 INVALID '--server and --db'
    PAWL_SERVER=unix:$folder/s run task list
    refuses 2 INVALID 'PAWL_SERVER and PAWL_DB are both set'
    PAWL_SERVER=unix:$folder/s run task list --db "$PAWL_DB"
    refuses 3 NOT_FOUND 'pawl task add. makes it'
    run task list --server "unix:$folder/s"
    refuses 6 IO 'cannot reach'
    run task list --server=
    refuses 2 INVALID '--server is empty'
}

test_that "tokens come from PAWL_TOKEN or a file, and what they may not is FORBIDDEN" tokens
tokens()
{
    local token
    run token create looks --role viewer
    exits 0
    token=$(grep -oE '[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}' "$folder/out" | head -n 1)
    [ -n "$token" ] || complain "no token"
    printf '%s\nnot this\n' "$token" >token
    start_server
    export PAWL_DB= PAWL_SERVER=http://127.0.0.1:$port
    run task list
    refuses 5 UNAUTHENTICATED ''
    PAWL_TOKEN=$token run task list
    exits 0
    run task list --token-file token
    exits 0
    run task add --token-file token
    refuses 5 FORBIDDEN ''
    PAWL_TOKEN=$token run task list --token-file /dev/null
    refuses 2 INVALID 'no token in its first line'
    run task list --token-file nowhere
    refuses 2 INVALID '--token-file: cannot open nowhere'
    stop_server
}

test_that "a worker's command knows its store and not the worker's server" in_worker
in_worker()
{
    add
    PAWL_SERVER=unix:$folder/nobody run worker run --db "$PAWL_DB" --until-empty -- \
        sh -c 'pawl task progress 50 && echo "${PAWL_SERVER-none}"'
    exits 0
    run task result -r "$id"
    prints none
}

finish
