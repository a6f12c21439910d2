# Tests of the real program; sourced by the files of cases.
#
#   . tests/cli/lib.sh
#   test_that "an empty store lists nothing" empty_list
#   empty_list() { run task list; exits 0; prints ''; }
#   finish
#
# Each case runs by itself in an empty folder with a store of its own; the first check that does not hold
# ends it. A case never sleeps to be on the safe side: it waits for a task, for a line of a fifo, or for a
# process to end. PAWL_BIN names the program. PAWL_CLI_STORE=postgres has the stores in the server of
# PAWL_TEST_POSTGRES (tools/with_postgres), a schema each. PAWL_CLI_STORE=server has what a server can be asked
# (asks_server) asked of one, over the store of the case. With --list the sentences are printed and
# nothing is run; --only TEXT runs those whose sentence has TEXT.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks/field.sh"
# shellcheck disable=SC2034 # the files of cases use what is set here

program=${PAWL_TEST_PROGRAM:-cli_$(basename "$0" .sh)}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=no
only=
case ${1:-} in
--list) list=yes ;;
--only) only=$2 ;;
esac
sentences=()
functions=()

test_that() # SENTENCE FUNCTION
{
    sentences+=("$1")
    functions+=("$2")
}

# ---- In a case ---------------------------------------------------------------------------------------

# Why a case has failed, for the end of all: where it was, and what was wrong there.
say_why() # FILE TEXT
{
    local i=0
    # The innermost call that stands in the file of cases.
    while [ "${BASH_SOURCE[i + 1]:-$0}" != "$0" ]; do i=$((i + 1)); done
    {
        echo "${0##*/}:${BASH_LINENO[i]}: $2"
        echo "  ran: ${ran:-nothing}; status ${status:-none}"
        head -c 200 "$folder/out" 2>/dev/null | sed 's/^/  out: /'
        head -c 300 "$folder/err" 2>/dev/null | sed 's/^/  err: /'
    } >"$folder.$1"
}

complain() # TEXT...
{
    say_why why "$*"
    printf '%s\n' "$*" "--- ran: ${ran:-nothing}; status ${status:-none}; standard output:" \
        "$(head -c 4000 "$folder/out" 2>/dev/null)" "--- standard error:" \
        "$(head -c 4000 "$folder/err" 2>/dev/null)"
    exit 1
}

skips() # REASON: what the case needs is not here
{
    echo "$*"
    exit 77
}

run() # ARGUMENT...: runs the program; its input is that of run
{
    ran="pawl $*"
    status=0
    if [ "${PAWL_CLI_STORE:-}" = server ] && asks_server "$@"; then
        PAWL_DB='' PAWL_SERVER=unix:$folder/server "$PAWL_BIN" "$@" >"$folder/out" 2>"$folder/err" || status=$?
    else
        "$PAWL_BIN" "$@" >"$folder/out" 2>"$folder/err" || status=$?
    fi
}

# What a server can be asked; the rest is done to its store, beside it.
asks_server() # ARGUMENT...
{
    case " $* " in *" --db "*) return 1 ;; esac
    [[ "${1:-} ${2:-}" =~ ^(events\ ?.*|task\ (add|list|get|logs|result|wait|queue|pause|resume|retry|cancel|complete|fail|resolve)|queue\ .*|dead\ .*)$ ]]
}

# Only a store opened by the command itself shows it.
needs_own_store() # REASON
{
    [ "${PAWL_CLI_STORE:-}" != server ] || skips "$*"
}

exits() # STATUS
{
    [ "$status" -eq "$1" ] || complain "status $1 was wanted"
}

prints() # TEXT: the whole of standard output
{
    [ "$(cat "$folder/out")" = "$1" ] || complain "this was to be printed: $1"
}

shows() # REGEX...: each is found in standard output
{
    local regex
    for regex in "$@"; do
        grep -qE -e "$regex" "$folder/out" || complain "this was to be shown: $regex"
    done
}

hides() # REGEX...: none is found in standard output
{
    local regex
    for regex in "$@"; do
        ! grep -qE -e "$regex" "$folder/out" || complain "this was not to be shown: $regex"
    done
}

says() # REGEX...: each is found on standard error
{
    local regex
    for regex in "$@"; do
        grep -qE -e "$regex" "$folder/err" || complain "this was to be said: $regex"
    done
}

refuses() # STATUS CODE REGEX: one line of error, nothing else
{
    exits "$1"
    says "^pawl: $2: .*$3"
    prints ''
}

has() # KEY JSON: a member of one line of JSON, as it stands there
{
    grep -qF -e "\"$1\":$2,"$'\n'"\"$1\":$2}" "$folder/out" || complain "this member was wanted: \"$1\":$2"
}

equals() # WANT GOT
{
    [ "$1" = "$2" ] || complain "$1 was wanted, and it was $2"
}

lines() # COUNT: of standard output
{
    equals "$1" "$(wc -l <"$folder/out")"
}

member() # KEY: the text or number of the first member with this key
{
    sed -n "s/.*[{,]\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$folder/out" | head -n 1
}

add() # ARGUMENT...: adds a task; $id is its id
{
    run task add -o name "$@"
    exits 0
    id=$(cat "$folder/out")
}

state() # ID STATE
{
    run task get "$1"
    exits 0
    has state "\"$2\""
}

work() # ARGUMENT...: runs a worker until nothing is ready
{
    run worker run --until-empty "$@"
    exits 0
}

# A dead letter; $id is its id.
kill_task() # ARGUMENT...
{
    add --max-retries 0 "$@"
    work -- sh -c 'echo "no luck" >&2; exit 1'
    state "$id" DEAD_LETTER
}

# A running task whose worker has died, and whose lease will end; $id is its id.
lose_worker() # ARGUMENT...
{
    add "$@"
    status=0
    "$PAWL_BIN" worker run --once --lease 1s -- sh -c 'kill -KILL $PPID' 2>/dev/null || status=$?
    equals 137 "$status"
}

# ---- The run -----------------------------------------------------------------------------------------

record() # pass|fail|skip SENTENCE [FILE]: why it failed
{
    echo "$1: $2"
    [ -z "${PAWL_TEST_RESULTS:-}" ] || printf '%s\t%s\t%s%s\n' "$1" "$program" "$2" \
        "${3:+$(printf '\t'; as_field <"$3")}" >>"$PAWL_TEST_RESULTS"
}

# A server for the store of the case, at the socket `server` of its folder, until the case ends.
serve_store()
{
    local line=
    mkfifo "$folder/served"
    "$PAWL_BIN" server --quiet --listen "unix:$folder/server" >"$folder/served" 2>"$folder/server.log" &
    # shellcheck disable=SC2064 # the process as it is now
    trap "kill $!; wait $!" EXIT
    read -r -t 60 line <"$folder/served" || complain "no word of the server: $(cat "$folder/server.log")"
}

# A store of the case's own: its name for PAWL_DB, and one that holds in its folder only.
make_store()
{
    export PAWL_DB=$folder/pawl.db
    near_db=./pawl.db
    [ "${PAWL_CLI_STORE:-}" != server ] || serve_store
    [ "${PAWL_CLI_STORE:-}" = postgres ] || return 0
    schema=cli_$$_${folder##*/}
    psql -qX "$PAWL_TEST_POSTGRES" -c "CREATE SCHEMA $schema" || exit 1
    PAWL_DB="$PAWL_TEST_POSTGRES&options=-csearch_path%3D$schema"
    near_db=$PAWL_DB
}

# Stops a process, but not within a step on PostgreSQL: the lock it holds then keeps everybody waiting, which is
# another case's business.
freeze() # PID
{
    kill -STOP "$1"
    [ "${PAWL_CLI_STORE:-}" = postgres ] || return 0
    until psql -qX "$PAWL_TEST_POSTGRES" -c "SELECT 1 FROM $schema.head FOR UPDATE NOWAIT" >/dev/null 2>&1; do
        kill -CONT "$1"
        kill -STOP "$1"
    done
}

one_case() # FOLDER FUNCTION
{
    set -eE
    folder=$1
    trap 'say_why command "\`$BASH_COMMAND\` has status $?"' ERR
    mkdir -p "$folder/home"
    cd "$folder"
    # Nothing of whoever runs the tests, and nothing of theirs is touched.
    unset PAWL_TASK_ID PAWL_EPOCH PAWL_WORKER_ID PAWL_SOCKET XDG_DATA_HOME NO_COLOR
    export HOME=$folder/home PAWL_ACTOR=tester TMPDIR=$folder
    make_store
    export PATH=${PAWL_BIN%/*}:$PATH
    "$2"
}

finish()
{
    local i failures=0 all skips=no
    if [ $list = yes ]; then
        printf '%s\n' "${sentences[@]}"
        exit 0
    fi
    [ -x "${PAWL_BIN:-}" ] || { echo "PAWL_BIN names no program"; exit 2; }
    all=$(mktemp -d) || exit 2
    # shellcheck disable=SC2064 # its name as it is now
    trap "rm -rf '$all'" EXIT
    if [ "${PAWL_CLI_STORE:-}" = postgres ]; then
        [ -n "${PAWL_TEST_POSTGRES:-}" ] && command -v psql >/dev/null || skips=yes
    fi
    for i in "${!sentences[@]}"; do
        if [ $skips = yes ]; then
            record skip "${sentences[$i]}"
            continue
        fi
        case ${sentences[$i]} in *"$only"*) ;; *) continue ;; esac
        (one_case "$all/$i" "${functions[$i]}") >"$all/said" 2>&1 </dev/null
        status=$? # errexit does not work in a condition
        if [ $status -eq 0 ]; then
            record pass "${sentences[$i]}"
        elif [ $status -eq 77 ]; then
            cat "$all/said"
            record skip "${sentences[$i]}"
        else
            cat "$all/said"
            # The first of: a complaint, the command that failed, the last words.
            cat "$all/$i.why" 2>/dev/null >"$all/why" || cat "$all/$i.command" 2>/dev/null >"$all/why" ||
                cat "$all/said" >"$all/why"
            record fail "${sentences[$i]}" "$all/why"
            failures=$((failures + 1))
        fi
        rm -rf "${all:?}/$i"
    done
    exit $((failures > 0))
}
