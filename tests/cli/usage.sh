# The command line itself: help, mistakes, where the store is, forms of output.
. "$(dirname "$0")/lib.sh"

# ---- Help --------------------------------------------------------------------------------------------

# Compares what is printed with a file; PAWL_GOLDEN=write writes it anew.
golden() # FILE
{
    if [ "${PAWL_GOLDEN:-}" = write ]; then cp "$folder/out" "$here/golden/$1"; fi
    diff -u "$here/golden/$1" "$folder/out" || complain "golden/$1 is another; PAWL_GOLDEN=write rewrites it"
}

pages() # GROUP FILE: the page of each command of a group
{
    local name
    "$PAWL_BIN" help "$1" >"$folder/pages"
    for name in $(sed -n "s/^  $1 \([a-z-]*\) .*/\1/p" "$folder/pages"); do
        { echo; echo "==== pawl help $1 $name"; "$PAWL_BIN" help "$1" "$name"; } >>"$folder/pages"
    done
    mv "$folder/pages" "$folder/out"
    ran="pawl help $1 …" status=0
    golden "$2"
}

help_program() { run help; exits 0; golden help.txt; }
test_that "pawl help prints the recorded page" help_program
help_task() { pages task help-task.txt; }
test_that "the pages of the task commands are as recorded" help_task
help_queue() { pages queue help-queue.txt; }
test_that "the pages of the queue commands are as recorded" help_queue
help_dead() { pages dead help-dead.txt; }
test_that "the pages of the dead commands are as recorded" help_dead
help_worker() { pages worker help-worker.txt; }
test_that "the pages of the worker commands are as recorded" help_worker
help_token() { pages token help-token.txt; }
test_that "the pages of the token commands are as recorded" help_token
help_besides()
{
    local name
    : >"$folder/pages"
    for name in $("$PAWL_BIN" help | sed -n '/^Besides/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        { echo "==== pawl help $name"; "$PAWL_BIN" help "$name"; echo; } >>"$folder/pages"
    done
    mv "$folder/pages" "$folder/out"
    ran="pawl help …" status=0
    golden help-besides.txt
}
test_that "the pages of the commands of one word are as recorded" help_besides

help_is_whole()
{
    local group
    for group in $("$PAWL_BIN" help | sed -n 's/^  \([a-z]*\) [a-z][a-z-]*  .*/\1/p' | sort -u); do
        grep -q "^==== pawl help $group " "$here/golden/help-$group.txt" || complain "no recorded pages of $group"
    done
}
test_that "each group of commands has its pages recorded" help_is_whole

help_forms()
{
    run help task add; exits 0; cp "$folder/out" page
    run task add --help; exits 0; cmp page "$folder/out"
    run task add --queue x -h; exits 0; cmp page "$folder/out"
    run help task; exits 0; cp "$folder/out" page
    run task --help; exits 0; cmp page "$folder/out"
    run --help; exits 0; shows '^Usage: pawl COMMAND'
}
test_that "--help and -h at any place print the page that help prints" help_forms

bare()
{
    run; exits 2; prints ''; says '^Usage: pawl COMMAND'
    run task; exits 2; prints ''; says '^Usage: pawl task COMMAND'
}
test_that "naming no command prints help on standard error and exits 2" bare

help_values()
{
    run help; shows '^  T     a duration: 250ms, 30s, .*seconds$' '^  TIME  an instant: ' '^  1     the work itself failed: `task wait` and `task result`'
    local page
    for page in 'task add' 'task wait' 'task fail' 'task release' 'task lease' 'task retry-after' 'queue set' 'worker run'; do
        # shellcheck disable=SC2086 # words
        run help $page; shows '^  T     a duration: 250ms, 30s,'
    done
    for page in 'task add' 'dead redrive'; do
        # shellcheck disable=SC2086
        run help $page; shows '^  TIME  an instant: '
    done
    run help task get; hides '^  T '
    local text
    for text in 250ms 30s 1.5s 5m 1h30m 7d 90; do
        run task add --delay "$text"; exits 0
    done
    for text in 2099-11-30T17:45:00Z 2099-11-30T17:45+02:00 2099-11-30 4070908800000; do
        run task add --run-at "$text"; exits 0
    done
}
test_that "help says what durations and instants are written like, and they are" help_values

help_timers()
{
    local page
    for page in 'worker run' 'task cancel' 'task get' 'task add'; do
        # shellcheck disable=SC2086 # words
        "$PAWL_BIN" help $page | tr '\n' ' ' >"$folder/out"
        shows 'run timers: `pawl worker run`, `pawl task wait`, `pawl events -f`, `pawl task logs -f`, `pawl top`, every command with --watch'
    done
}
test_that "help says who runs timers" help_timers

help_unknown() { run help task ad; refuses 2 INVALID 'did you mean `pawl task add`'; }
test_that "help for an unknown command names the nearest one" help_unknown

version()
{
    run version; exits 0; shows '^pawl [0-9]+\.[0-9]+\.[0-9]+$' '^SQLite 3\.[0-9.]+$'
    if printf '3.51.3\n%s\n' "$(sed -n 's/^SQLite //p' "$folder/out")" | sort -CV; then
        lines 2
    else
        shows 'SQLite before 3\.51\.3 can lose a commit' 'run by one process at a time\.$'
    fi
    run --version; exits 0; shows '^pawl [0-9]+\.[0-9]+\.[0-9]+$'
    run version -o json; exits 0; shows '^\{"version":"[0-9.]+","sqlite_version":"3\.[0-9.]+"\}$'
}
test_that "version prints its own and that of SQLite, what that one may lack, and JSON when asked" version

# ---- Mistakes ----------------------------------------------------------------------------------------

unknown()
{
    run tsak list; refuses 2 INVALID 'did you mean `pawl task`'
    run task lits; refuses 2 INVALID 'did you mean `pawl task list`'
    run task xyzzy; refuses 2 INVALID 'see `pawl help task`'
    run zebra; refuses 2 INVALID 'see `pawl help`'
    local word
    for word in add list wait cancel retry logs; do
        run "$word" x; refuses 2 INVALID "did you mean \`pawl task $word\`\?"
    done
    run redrive; refuses 2 INVALID 'did you mean `pawl dead redrive`'
    for word in history restart rectore gd; do
        run "$word"; refuses 2 INVALID 'there is no command'
        case $word in rectore) says 'mean `pawl restore`' ;; gd) says 'mean `pawl gc`' ;; *) says 'see `pawl help`' ;; esac
    done
}
test_that "an unknown command is INVALID and the nearest one is named" unknown

unknown_option()
{
    run task add --qeue x; refuses 2 INVALID 'task add has no option --qeue; did you mean --queue'
    run task add --wobble; refuses 2 INVALID 'no option --wobble; see --help'
    run task list -z; refuses 2 INVALID 'no option -z'
    run --queue x task list; refuses 2 INVALID 'no option --queue'
    [ ! -e "$PAWL_DB" ]
}
test_that "an unknown option is INVALID, the nearest one is named, and no store is made" unknown_option

option_values()
{
    run task add --queue; refuses 2 INVALID '--queue needs a value'
    run task add --hold=yes; refuses 2 INVALID '--hold takes no value'
    run task add --queue a --queue b; refuses 2 INVALID '--queue is given twice'
    run task list --limit 0; refuses 2 INVALID 'limit: `0` is no whole number from 1 to 1000'
    run task list --limit 5x; refuses 2 INVALID 'limit: `5x`'
    run task wait x --timeout soon; refuses 2 INVALID 'timeout: `soon` is no duration'
    run task add --run-at 9999-12-31; refuses 2 INVALID 'run-at: `9999-12-31` is beyond the year 9998'
    run task add --run-at tomorrow; refuses 2 INVALID 'run-at: `tomorrow` is no instant'
    run task list -o yaml; refuses 2 INVALID 'table, wide, json, jsonl and name'
    run task list --color blue; refuses 2 INVALID 'auto, always and never'
    [ ! -e "$PAWL_DB" ]
}
test_that "a value that is missing or not well formed is INVALID and no store is made" option_values

empty_values()
{
    local command
    for command in 'task add --queue' 'task add --id' 'task add --key' 'task add --correlation-id' 'task add --depends-on' \
        'task add --actor' 'task add --input' 'task list --queue' 'task list --status' 'task list --cursor' 'dead redrive --queue' \
        'dead redrive --error' 'fsck --repair --let-out' 'events --consumer' 'events --consumer c --ack-id' 'task lease x --owner' \
        'worker run --worker-id' 'worker run --cwd' 'worker run --queues-from' 'worker run --env' 'gc --older-than' 'task list --db'; do
        # shellcheck disable=SC2086 # words
        run $command ''; refuses 2 INVALID "${command##* } is empty; it takes [A-Z]+"
    done
    run task add -q ''; refuses 2 INVALID '--queue is empty'
    run task add --queue=; refuses 2 INVALID '--queue is empty'
    [ ! -e "$PAWL_DB" ]
    printf '%s\n' '{"queue":""}' '{"id":""}' '{"key":""}' '{"correlation_id":""}' >tasks
    run task add --jsonl <tasks; exits 2; lines 4; shows '"queue: a text that is not empty is wanted"' '"id: a' '"key: a' '"correlation_id: a'
    run task add --id t --title '' --goal ''; exits 0
    run task pause t --reason ''; exits 0
    run queue pause ''; refuses 2 INVALID 'queue: is empty'
    run worker run '' -- true; refuses 2 INVALID 'queue: is empty'
    run worker run -- ''; refuses 3 NOT_FOUND 'there is no program'
    run worker run -- /; refuses 3 NOT_FOUND 'there is no program /'
}
test_that "a name that is empty is refused and never taken for the default; only text for people may be empty" empty_values

zeros()
{
    run worker run --lease 0 -- true; refuses 2 INVALID 'lease: 0 has no meaning'
    run worker run --timeout 0s -- true; refuses 2 INVALID 'timeout: 0 has no meaning'
    run worker run --retain 0 -- true; refuses 2 INVALID 'retain: 0 has no meaning'
    run worker run --retain 1d --events-keep 0 -- true; refuses 2 INVALID 'events-keep: 0 has no meaning'
    run worker run --slots 0 -- true; refuses 2 INVALID 'slots: `0`'
    run task add --retry-delay-max 0; refuses 2 INVALID 'retry-delay-max: 0 has no meaning'
    run task lease x --renew --owner o --epoch 1 --lease 0; refuses 2 INVALID 'lease: 0 has no meaning'
    run worker run --lease 1ms -- true; refuses 2 INVALID 'lease: `1ms` is not from 100ms to 7d'
    run worker run --lease 8d -- true; refuses 2 INVALID 'lease: `8d` is not from 100ms to 7d'
    run queue set q --lease 99ms; refuses 2 INVALID 'lease: `99ms` is not from'
    [ ! -e "$PAWL_DB" ]
}
too_long()
{
    run task add --delay 367d; refuses 2 INVALID 'delay: `367d` is longer than 366d'
    run task add --timeout 367d; refuses 2 INVALID 'timeout: `367d` is longer than 366d'
    run task add --retry-delay 367d; refuses 2 INVALID 'retry-delay: `367d` is longer than 366d'
    run task add --retry-delay-max 184d; refuses 2 INVALID 'retry-delay-max: `184d` is longer than 183d'
    run task add --retry-jitter 184d; refuses 2 INVALID 'retry-jitter: `184d` is longer than 183d'
    run queue set q --retry-jitter 184d; refuses 2 INVALID 'retry-jitter: `184d` is longer than 183d'
    run task fail x --retry-after 367d; refuses 2 INVALID 'retry-after: `367d` is longer than 366d'
    run task wait x --timeout 106751991167d; refuses 2 INVALID 'timeout: `106751991167d` is longer than 366d'
    run worker run --grace 367d -- true; refuses 2 INVALID 'grace: `367d` is longer than 366d'
    run worker run --retain 36601d -- true; refuses 2 INVALID 'retain: `36601d` is longer than 36600d'
    run task add --delay 500us; refuses 2 INVALID 'delay: `500us` is no duration such as 250ms'
    run task add --delay 0.5us; refuses 2 INVALID 'delay: `0.5us` is no duration such as 250ms'
    [ ! -e "$PAWL_DB" ]
}
test_that "a duration that is too long, or none, is refused by the option's name" too_long

test_that "a 0 that would be taken for the default, and a lease out of bounds, are refused by the option's name" zeros

ages()
{
    local option
    for option in retain events-keep consumer-keep; do
        run worker run "--$option" 30 -- true; refuses 2 INVALID "$option: \`30\` has no unit, as in 30d"
    done
    run gc --older-than 30; refuses 2 INVALID 'older-than: `30` has no unit'
    for option in gc 'worker run'; do
        # shellcheck disable=SC2086 # words
        run help $option; shows '^  AGE   a duration with its unit'
    done
    run task add --id t; run task cancel t
    run gc --older-than 0; exits 0; has removed 1
}
test_that "how old something must be to be removed is told with its unit" ages

words()
{
    run task get; refuses 2 INVALID 'usage: pawl task get ID'
    run task get a b; refuses 2 INVALID '`b` is one too many'
    run version now; refuses 2 INVALID '`now` is one too many; usage: pawl version$'
}
test_that "too few and too many words are INVALID and show the usage" words

forms_of_options()
{
    run task add --queue=mail --id a1 -o=name; exits 0; prints a1
    run task add -qmail --id=a2 -oname; exits 0; prints a2
    run -o name task add --id a3; exits 0; prints a3
    run task add --id a4 --title --queue; exits 0
    run task get -- a4; exits 0; has title '"--queue"'
}
test_that "options may be joined to their values, stand before the command, and end at --" forms_of_options

# ---- The store ---------------------------------------------------------------------------------------

default_place()
{
    unset PAWL_DB
    umask 022
    run task add -o name --id d1; exits 0
    [ -f "$HOME/.local/share/pawl/pawl.db" ]
    equals 700 "$(stat -c %a "$HOME/.local/share/pawl")"
    XDG_DATA_HOME=$folder/data run task add -o name --id d2; exits 0
    [ -f "$folder/data/pawl/pawl.db" ]
    run task list -o name; prints d1
}
test_that "the default store is pawl/pawl.db in the data folder, which is made for its owner only" default_place

named_place()
{
    run task add --db other.db -o name --id e1; exits 0
    [ -f other.db ]
    PAWL_DB=other.db run task list -o name; exits 0; prints e1
    run --db ./other.db task list -o name; exits 0; prints e1
    PAWL_DB=nowhere/x.db run --db other.db task list -o name; exits 0; prints e1
}
test_that "--db wins over PAWL_DB, and both over the default" named_place

missing_store()
{
    run task list; refuses 3 NOT_FOUND 'there is no .*pawl.db; `pawl task add` makes it'
    run task get x; refuses 3 NOT_FOUND ''
    [ ! -e "$PAWL_DB" ]
}
test_that "looking into a store that is not there is NOT_FOUND and makes none" missing_store

missing_folder()
{
    local command
    for command in 'task list' 'task add' 'worker run --until-empty -- true' 'queue pause q'; do
        # shellcheck disable=SC2086 # words
        run --db /no/dir/x.db $command; refuses 3 NOT_FOUND 'there is no folder /no/dir$'
        # shellcheck disable=SC2086
        run --db nowhere/x.db $command; refuses 3 NOT_FOUND "there is no folder $folder/nowhere\$"
    done
    PAWL_DB=nowhere/x.db run task add; refuses 3 NOT_FOUND 'there is no folder'
    echo >file
    run --db file/x.db task add; refuses 3 NOT_FOUND 'cannot open the folder .*/file: Not a directory'
    [ ! -e nowhere ]
}
test_that "a store in a folder that is not there is NOT_FOUND and the folder named" missing_folder

bad_store()
{
    run task list --db mysql://x; refuses 2 INVALID 'a file or postgres://'
    run task list --db ''; refuses 2 INVALID '--db is empty'
    echo 'this is no database, and it is long enough for one' >text.db
    cp text.db copy.db
    run task list --db text.db; [ "$status" -eq 2 ] || [ "$status" -eq 6 ]; prints ''; says '^pawl: [A-Z]+: '
    cmp text.db copy.db
}
test_that "what is no store is refused and left as it is" bad_store

no_file()
{
    mkfifo pipe; mkdir folder
    local path command
    for path in pipe folder /dev/null; do
        for command in 'task list' 'task add' 'worker run --once -- true' 'fsck' 'doctor' 'top --once' 'events -f' 'backup x.db'; do
            # shellcheck disable=SC2086 # words
            run --db $path $command; refuses 2 INVALID "$path is not a file\$"
        done
    done
    run task add --id t
    for path in pipe folder /dev/null; do
        run restore $path --yes; refuses 2 INVALID "$path is not a file\$"
        run backup $path --replace; refuses 2 INVALID "$path is not a file\$"
        run --db $path restore pawl.db --yes; refuses 2 INVALID "$path is not a file\$"
    done
    run task add --input @folder; refuses 6 IO 'input: cannot read folder: Is a directory'
    # What is only read may come from a pipe, and waiting for its other end is no reason to be deaf.
    echo 7 >pipe &
    run task add --id p --input @pipe; exits 0
    run task add --id i --input @/dev/stdin <<<8; exits 0
    echo 'default -- true' >pipe &
    run worker run --until-empty --queues-from pipe; exits 0
    "$PAWL_BIN" worker run --queues-from pipe 2>/dev/null &
    # Of the signals that a worker hears by a descriptor, only that of its children is kept from it yet.
    until grep -q '^SigBlk:.*0000010000$' "/proc/$!/status"; do :; done
    kill -TERM $!
    status=0; wait $! || status=$?
    equals 143 $status
}
test_that "a store, a backup and an import are regular files; anything else is refused before it is opened" no_file

# ---- Forms of output ---------------------------------------------------------------------------------

forms()
{
    run task add --id f1 --title one; exits 0; prints '{"id":"f1","existed":false}'
    run task list; exits 0; lines 1; shows '^\{"id":"f1",.*\}$'
    run task list -o jsonl; lines 1; shows '^\{"id":"f1",.*\}$'
    run task list -o json; shows '^\{"tasks":\[$' '^\{"id":"f1",.*\}$' '^\],"cursor":null\}$'
    run task list -o name; prints f1
    run task list -o table; lines 2; shows '^ID +STATE +QUEUE' '^f1 +QUEUED +default .* one$'
    run task list -o wide; shows 'OWNER' 'NOT BEFORE'
    run task get f1; lines 1; shows '^\{"id":"f1",'
    run task get f1 -o table; shows '^id +f1$' '^state +QUEUED$' '^title +one$'
}
test_that "a pipe gets JSON and lists get a line each; table, wide, json, jsonl and name are there for the asking" forms

empty_lists()
{
    run task add --id g1; run task complete g1
    run task list --ready; exits 0; prints ''
    run task list --ready -o json; exits 0; prints '{"tasks":[],"cursor":null}'
    run task list --ready -o table; exits 0; prints ''
}
test_that "finding nothing exits 0 and prints nothing, or an empty array" empty_lists

controls()
{
    run task add --id h1 --title "$(printf 'a\033[31mb\tc\u202ed')"
    run task list -o table; exits 0; shows ' a\[31mb cd$'
    run task get h1 -o table; shows '^title +a\[31mb cd$'
}
test_that "tables are free of control characters and of marks that turn the direction" controls

quoted()
{
    run "$(printf 'a\033[31mb\nc')"; refuses 2 INVALID 'there is no command `pawl a.31mb c`'
    ! grep -q "$(printf '\033')" "$folder/err" || complain 'an escape came through'
}
test_that "errors are one line, and free of control characters, though they quote some" quoted

colors()
{
    run task add --id c1
    run task complete c1 -o table --color always; shows "$(printf '^c1 \033\\[32mCOMPLETED\033\\[0m')"
    run task list -o table --color always; shows "$(printf ' \033\\[32mCOMPLETED\033\\[0m ')"
    run task list -o table; hides "$(printf '\033')"
    run task list -o table --color never; hides "$(printf '\033')"
}
test_that "colours come on a terminal or when asked for" colors

times()
{
    run task add --id t1
    run task list -o table; shows ' [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z'
    run task get t1; shows '"created_at_ms":[0-9]{13},'
}
test_that "times are RFC 3339 in tables off a terminal and milliseconds in JSON" times

terminal()
{
    command -v script >/dev/null || return 0
    run task add --id t1 --title first --priority HIGH
    script -qec "$PAWL_BIN task list" /dev/null >"$folder/out" 2>&1
    ran='pawl task list on a terminal' status=0
    shows '^ID +STATE' '^t1 +.*QUEUED.* [0-9]+s ago +first'
    script -qec "$PAWL_BIN task get t1" /dev/null >"$folder/out" 2>&1
    shows '^created +[0-9]+s ago'
}
test_that "on a terminal lists are tables and times are relative" terminal

full_disk()
{
    run task add --id t1
    ran="pawl task list >/dev/full" status=0
    "$PAWL_BIN" task list >/dev/full 2>"$folder/err" || status=$?
    exits 6
    says '^pawl: IO: standard output'
}
test_that "output that cannot be written is an error" full_disk

# The store may grow no more; what the case itself writes is shorter.
file_too_large()
{
    ran="pawl task add, with a new store that may have 64 KiB" status=0
    (ulimit -f 64; exec "$PAWL_BIN" task add) >"$folder/out" 2>"$folder/err" || status=$?
    refuses 6 IO 'a file may not grow so large \(ulimit -f, LimitFSIZE=\)'
    add --id before
    head -c 2000000 /dev/zero | tr '\0' 1 >large.json
    ran="pawl task add, with a store that may have 1 MiB" status=0
    (ulimit -f 1024; exec "$PAWL_BIN" task add --id large --input @large.json) >"$folder/out" 2>"$folder/err" || status=$?
    refuses 6 IO 'a file may not grow so large'
    ran="pawl task list, into a file of 64 KiB" status=0
    for ((i = 0; i < 400; i++)); do echo '{}'; done >tasks
    "$PAWL_BIN" task add --jsonl <tasks >/dev/null
    (ulimit -f 64; exec "$PAWL_BIN" task list -o jsonl -n 1000 >"$folder/out" 2>err) || status=$?
    equals '6 pawl: IO: standard output: File too large' "$status $(cat err)"
    run task list -o name -n 1000; lines 401
    add --id after
}
test_that "a file that may not grow is an error like a full disk, not a death by signal" file_too_large

command_signals()
{
    add
    # SIGPIPE is 13, SIGXFSZ 25; what the test itself was started with may be ignored all the same.
    work -- sh -c 'ignored=0x$(sed -n "s/^SigIgn:[^0-9a-f]*//p" /proc/self/status); echo $((ignored & 0x1001000))'
    run task result "$id"; prints 0
}
test_that "what the worker ignores its commands do not" command_signals

finish
