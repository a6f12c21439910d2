# pawl worker run: a command for each task.
. "$(dirname "$0")/lib.sh"

# ---- What the command gets ---------------------------------------------------------------------------

given()
{
    add --id g --queue mail --title T --goal G --priority 33 --input '{"n":1.50}' --metadata '{"m":[1]}'
    work mail --worker-id w1 -- sh -c 'cat >stdin; cat "$PAWL_TASK" >file; env | grep ^PAWL_ >names; stat -c %a "$PAWL_TASK" >mode'
    cmp stdin file
    equals 600 "$(cat mode)"
    grep -qF '{"id":"g","queue":"mail","attempt":1,"epoch":1,"priority":33,"title":"T","goal":"G","input":{"n":1.50},"metadata":{' file ||
        complain "another task was given: $(cat file)"
    grep -qF '"m":[1]' file
    grep -q '"checkpoint":null}$' file
    local want
    for want in PAWL_TASK_ID=g PAWL_QUEUE=mail PAWL_ATTEMPT=1 PAWL_EPOCH=1 PAWL_WORKER_ID=w1 "PAWL_DB=$PAWL_DB"; do
        grep -qxF "$want" names || complain "$want was wanted: $(cat names)"
    done
    [ -z "$(find "$folder" -name 'pawl-worker-*')" ] || complain "the worker left its folder behind"
}
test_that "the command gets its task on standard input, in a private file, and by name in the environment" given

where()
{
    mkdir elsewhere
    add --id w
    work --cwd elsewhere --env A=1 --env HOME=/nowhere --db "$near_db" -- \
        sh -c 'pwd; echo "$A $HOME"; pawl task get w -o name'
    run task result w --raw; prints "$(printf '%s\n1 /nowhere\nw' "$folder/elsewhere")"
    run worker run --env B -- true; refuses 2 INVALID '`B` is not NAME=VALUE'
}
test_that "--cwd and --env say where and with what it runs, and the store is found from there" where

several_queues()
{
    add --id a --queue one; add --id b --queue two; add --id c
    work one two -- true
    state a COMPLETED; state b COMPLETED; state c QUEUED
    work -- true
    state c COMPLETED
}
test_that "a worker takes the queues it names, else default" several_queues

# ---- What comes of it --------------------------------------------------------------------------------

prints_result() # PROGRAM WANTED_JSON
{
    add
    work -- sh -c "$1"
    run task result "$id"; exits 0; prints "$2"
}

results()
{
    prints_result 'echo "{\"a\": 1.50}"' '{"a": 1.50}'
    prints_result 'printf "\n [1,\n2] \n"' '[1, 2]'
    prints_result 'echo hello; echo world' '"hello\nworld"'
    prints_result 'true' 'null'
    prints_result 'echo' 'null'
    prints_result 'printf "\\377\\376"' '{"base64":"//4="}'
    prints_result 'printf "a\\0b\n"' '{"base64":"YQBiCg=="}'
    prints_result 'echo "{\"a\":1,\"a\":2}"' '"{\"a\":1,\"a\":2}"'
}
test_that "the result is what was printed: JSON, else its text, else base64" results

results_back()
{
    add --id t; work -- sh -c 'printf "two\nlines\n\n"'
    run task result t -r; prints "$(printf 'two\nlines')"
    head -c 100000 /dev/urandom >bytes
    add --id b; work -- cat "$folder/bytes"
    run task result b; shows '^\{"base64":"[A-Za-z0-9+/=]+"\}$'
    run task result b --raw; exits 0; cmp bytes "$folder/out"
}
test_that "result -r gives back the text, and the very bytes, that were printed" results_back

result_cut()
{
    add --id big
    work --quiet -- sh -c 'head -c 1100000 /dev/zero | tr "\0" x'
    says ' level=warn event=worker.result_cut task=big epoch=1 bytes_kept=1048576$'
    run task result big -r; exits 0; equals 1048576 "$(wc -c <"$folder/out")"; says 'was cut'
    run task result big; exits 0
    shows '^\{"text":"x+","cut":true\}$'
    equals $((1048576 + 23)) "$(wc -c <"$folder/out")"
}
test_that "a result beyond 1 MiB is cut and marked, and the worker says so" result_cut

exit_codes()
{
    local code
    for code in 65 78 126 127; do
        add --retry-delay 0; work -- sh -c "exit $code"
        run task get "$id"; has state '"DEAD_LETTER"'; has retries 1; has error "\"exit status $code\""
    done
    for code in 1 2 64 75 99 255; do
        add --retry-delay 1h; work -- sh -c "exit $code"
        run task get "$id"; has state '"QUEUED"'; has retries 1; has error "\"exit status $code\""
    done
}
test_that "65, 78, 126 and 127 fail for good, all others are tried again" exit_codes

signals()
{
    add --id s --retry-delay 1h
    work -- sh -c 'echo dying >&2; kill -SEGV $$'
    run task get s; has state '"QUEUED"'; shows '"error":"signal 11 \(Segmentation fault\): dying"'
}
test_that "a command that a signal ends is tried again, and the signal named" signals

error_text()
{
    add --id e --max-retries 0
    work -- sh -c 'i=0; while [ $i -lt 300 ]; do echo "line $i of many" >&2; i=$((i+1)); done; exit 3'
    run task get e; shows '"error":"exit status 3: .*line 298 of many\\nline 299 of many"'
    hides 'line 100 of many'
}
test_that "the error has the exit status and the last lines of standard error" error_text

retries()
{
    add --id r --max-retries 2 --retry-delay 0
    work -- sh -c 'echo "$PAWL_ATTEMPT $PAWL_EPOCH" >>tries; [ "$PAWL_ATTEMPT" = 3 ]'
    state r COMPLETED
    equals '1 1 2 2 3 3' "$(xargs <tries)"
}
test_that "each try is a new attempt and a new epoch" retries

log()
{
    add --id l
    work -- sh -c 'printf "a\nb\377\nc" >&2'
    says '^a$' '^c$'
    run task logs l -o table; prints "$(printf 'a\nb\xef\xbf\xbd\nc')"
}
test_that "standard error is the log, mended where it is not UTF-8, and passed on" log

long_log()
{
    add --id l
    work -- sh -c 'seq 1 20000 >&2; head -c 100000 /dev/zero | tr "\0" y >&2'
    state l COMPLETED
    run task logs l -o table; exits 0
    shows '^20000$' '^y{1000}'
}
test_that "a command may write more to its log than the store takes at once" long_log

leftovers()
{
    add --id l
    work -- sh -c 'sleep 1000 & echo $! >pid; echo done'
    state l COMPLETED
    # A zombie waits for whoever inherited it, which is not our matter.
    while [ -e "/proc/$(cat pid)" ] && ! grep -q '^State:.Z' "/proc/$(cat pid)/status"; do :; done
}
test_that "what a command leaves running in its process group is killed" leftovers

no_program()
{
    add --id n
    run worker run --once -- no-such-program; refuses 3 NOT_FOUND 'no program no-such-program'
    run worker run --once -- ./nothing; refuses 3 NOT_FOUND './nothing'
    run worker run --once --cwd nowhere -- true; refuses 3 NOT_FOUND 'nowhere'
    run worker run --once; refuses 2 INVALID ''
    run worker run q; refuses 2 INVALID 'behind --'
    run worker run --slots 0 -- true; refuses 2 INVALID 'slots'
    state n QUEUED
    run task get n; has epoch 0
}
test_that "a worker whose command cannot be found claims nothing" no_program

# ---- The machine -------------------------------------------------------------------------------------

folder_gone()
{
    add --id a; add --id b
    work -- sh -c 'rm -rf "${PAWL_TASK%/*}"; cat'
    state a COMPLETED; state b COMPLETED
    run task result b; shows '"id":"b"'
    [ -z "$(find "$folder" -name 'pawl-worker-*')" ] || complain "a folder is left behind"
}
test_that "a worker whose folder was taken away makes another" folder_gone

# Starts a worker that cannot start commands; waits until it has said so twice, and what it waits for grows.
cannot_start() # REGEX ARGUMENT...
{
    local regex=$1
    shift
    "$PAWL_BIN" worker run "$@" 2>said &
    worker=$!
    until grep -qE "level=error event=worker.start_failed task=b again_in_ms=1000 error=\".*$regex" said; do :; done
    until grep -qE "event=worker.start_failed task=b again_in_ms=2000 " said; do :; done
}

then_starts() # what was missing is there again
{
    run task wait b; exits 0
    kill -TERM "$worker"; ended 0
    run task get b; has state '"COMPLETED"'; has retries 0; has recoveries 0
    # A claim for each time that it was tried, and none besides.
    has epoch $(($(grep -c start_failed said) + 1))
}

temporary_gone()
{
    mkdir tmp; add --id a; add --id b
    TMPDIR=$folder/tmp cannot_start "cannot make a folder in $folder/tmp: No such file" -- sh -c 'rm -rf "$TMPDIR"'
    mkdir tmp
    then_starts
}
test_that "a worker that has no place for the inputs of tasks waits, longer each time, and charges no task" temporary_gone

temporary_full()
{
    [ "$(id -u)" = 0 ] || skips "only the superuser can mount a disk of a megabyte"
    mkdir tmp
    mount -t tmpfs -o size=64k none tmp 2>/dev/null || skips "no disk can be mounted here"
    trap 'umount -l "$folder/tmp"' EXIT
    head -c 60000 /dev/zero >tmp/much
    add --id b --input "\"$(head -c 50000 /dev/zero | tr '\0' x)\""
    TMPDIR=$folder/tmp cannot_start 'No space left on device' -- true
    rm tmp/much
    then_starts
}
test_that "a worker whose temporary disk is full does the same" temporary_full

program_gone()
{
    printf '#!/bin/sh\nrm "$0"\n' >do; chmod +x do
    add --id a; add --id b
    cannot_start 'cannot run ./do: No such file' -- ./do
    printf '#!/bin/sh\n' >next; chmod +x next; mv next do
    then_starts
    run task get a; has state '"COMPLETED"'
}
test_that "a program that is gone is no failure of the task" program_gone

gone_at_the_end()
{
    mkdir place; add --id a; add --id b
    run worker run --until-empty --cwd place -- rmdir "$folder/place"; exits 6; says '^pawl: IO: cannot go to place: No such file'
    state a COMPLETED
    run task get b; has state '"QUEUED"'; has retries 0
    printf '#!/no/interpreter\n' >do; chmod +x do
    run worker run --once -- ./do; exits 6; says '^pawl: IO: cannot run ./do: '
    run task get b; has state '"QUEUED"'; has retries 0
}
test_that "a worker that is to end does not wait until commands can be started again" gone_at_the_end

swept()
{
    add --id a --input '"secret"'
    start_stubborn 0
    kill -KILL "$worker"; ended 137
    hear term
    [ -s "$(echo pawl-worker-??????/task-0.json)" ] || complain "nothing was left: $(ls)"
    local i
    for ((i = 10; i < 60; i++)); do mkdir pawl-worker-dead$i; echo x >pawl-worker-dead$i/task-0.json; done
    mkdir pawl-worker-longername elsewhere
    echo precious >elsewhere/task-0.json
    ln -s elsewhere pawl-worker-linked
    ln -s "$folder/elsewhere/task-0.json" pawl-worker-dead10/task-1.json
    echo mine >pawl-worker-dead20/letter
    if [ "$(id -u)" = 0 ]; then mkdir pawl-worker-theirs; chown 65534 pawl-worker-theirs; fi
    # Several at once, and one that works.
    rm -f up
    add --id b --queue slow
    start_stubborn 0 slow --once
    local workers=()
    for i in 1 2 3 4; do "$PAWL_BIN" worker run none --until-empty -- true 2>"swept$i" & workers+=($!); done
    for i in "${workers[@]}"; do wait "$i"; done
    equals 'elsewhere/task-0.json' "$(echo elsewhere/*)"
    [ -L pawl-worker-linked ] || complain "a link was removed"
    [ -d pawl-worker-longername ] || complain "a folder of another name was removed"
    equals letter "$(ls pawl-worker-dead20)"
    [ "$(id -u)" != 0 ] || [ -d pawl-worker-theirs ] || complain "another user's folder was removed"
    find . -path './pawl-worker-*' -name 'task-0.json' >left
    equals 1 "$(wc -l <left)"
    grep -q secret "$(cat left)" && complain "the input of the dead one is left"
    # Each was swept by one of the five: the dead worker's, and 49 that nothing but its own was in.
    # What a worker has made and not yet locked may be taken for a dead one's: it makes another, and it counts.
    local swept
    swept=$(cat said swept? | sed -n 's/.*event=worker.swept folders=//p' | awk '{ n += $1 } END { print n }')
    [ "$swept" -ge 50 ] && [ "$swept" -le 60 ] || complain "50 were to be swept, and it was $swept"
    kill -TERM "$worker"; kill -TERM "$worker"; ended 0
}
test_that "what dead workers have left is swept by the next, of this user only, and no link is followed" swept

# ---- How many ----------------------------------------------------------------------------------------

once()
{
    add --id a; add --id b
    run worker run --once -- true; exits 0
    state a COMPLETED; state b QUEUED
}
test_that "--once runs one task" once

once_waits()
{
    "$PAWL_BIN" worker run --once -- true 2>said &
    local worker=$! status=0
    add --id late
    run task wait late; exits 0
    wait $worker || status=$?
    equals 0 $status
}
test_that "--once waits for a task to come" once_waits

slots()
{
    local i
    for i in 1 2 3; do add --id "s$i"; done
    mkfifo all
    # Each command ends only when all three have begun: a reader needs all three writers.
    "$PAWL_BIN" worker run --until-empty --slots 3 -- sh -c 'echo x >>started; until [ "$(wc -l <started)" = 3 ]; do :; done' 2>said
    for i in 1 2 3; do state "s$i" COMPLETED; done
}
test_that "--slots runs so many at a time" slots

many_slots()
{
    local i
    for ((i = 0; i < 20; i++)); do echo '{}'; done | "$PAWL_BIN" task add --jsonl >/dev/null
    ran="pawl worker run --slots 200, with 256 descriptors" status=0
    (ulimit -n 256; exec "$PAWL_BIN" worker run --slots 200 --until-empty -- true) >"$folder/out" 2>"$folder/err" || status=$?
    refuses 6 LIMIT 'slots: 200 need 1264 descriptors, and there may be 256 \(ulimit -Hn, LimitNOFILE=\)'
    equals 20 "$("$PAWL_BIN" task list -o name --status QUEUED | wc -l)"
    (ulimit -Sn 256; exec "$PAWL_BIN" worker run --slots 200 --until-empty -- sh -c 'ulimit -Sn' 2>/dev/null)
    for i in $("$PAWL_BIN" task list -o name --status COMPLETED); do
        run task result "$i"; prints 256
    done
    equals 20 "$("$PAWL_BIN" task list -o name --status COMPLETED | wc -l)"
}
test_that "a worker takes the descriptors its slots need, or says which limit forbids it; its commands have the old limit" many_slots

released_dependents()
{
    add --id a; add --id b --depends-on a; add --id c --depends-on b
    work --slots 2 -- true
    state c COMPLETED
}
test_that "--until-empty goes on with what a finished task makes ready" released_dependents

many_tasks()
{
    local i
    for ((i = 0; i < 60; i++)); do echo "{\"id\":\"t$i\"}"; done | "$PAWL_BIN" task add --jsonl >/dev/null
    work --slots 8 -- sh -c 'echo "$PAWL_TASK_ID" >>ran'
    run task list -s COMPLETED -o name; lines 60
    equals 60 "$(sort -u ran | wc -l)"; equals 60 "$(wc -l <ran)"
}
test_that "with several slots each task runs once" many_tasks

queues_from()
{
    cat >queues <<'LINES'
# queue slots -- command

one 2 -- echo "$PAWL_WORKER_ID $PAWL_QUEUE"; pawl task queue late
two	-- printf '%s' "two of $PAWL_TASK_ID"
  three
LINES
    add --id a --queue one; add --id b --queue two; add --id c --queue three; add --id d; add --id late --queue two --hold
    work --queues-from queues --worker-id w -- echo otherwise
    run task result a -r; prints 'w/one one'
    run task result b -r; prints 'two of b'
    run task result c -r; prints 'otherwise'
    run task result late -r; prints 'two of late' # made ready by another queue's task
    state d QUEUED
}
test_that "--queues-from gives each queue its slots and its command" queues_from

queues_from_wrong()
{
    wrong() # LINES REGEX
    {
        printf "$1" >queues
        run worker run --queues-from queues; refuses 2 INVALID "queues$2"
    }
    wrong '\n# nothing\n' ': names no queue'
    wrong 'a -- true\nb x -- true' ':2: slots: is no number from 1 to 1024: `x`'
    wrong 'a 0 -- true' ':1: slots: is no number'
    wrong 'a 1 true' ':1: -- is wanted before a command: `true`'
    wrong 'a 1 --' ':1: command: is empty'
    wrong '\na' ':2: command: there is none, here or behind --: `a`'
    wrong 'a -- true\n\na -- true' ':3: queue: comes twice: `a`'
    wrong 'a 1000 -- true\nb 100 -- true' ':2: slots: with those before they are more than 1024'
    wrong 'a\001b -- true' ':1: queue: holds a control character'
    wrong 'a -- true\n\377 -- true' ':2: queue: is not UTF-8'
    wrong "$(head -c 65 /dev/zero | tr '\0' q) -- true" ':1: queue: 65 bytes; at most 64'
    { echo 'a -- true'; printf 'b -- #'; head -c 131070 /dev/zero | tr '\0' x; } >queues
    add --queue b
    work --queues-from queues; state "$id" COMPLETED
    printf x >>queues
    run worker run --queues-from queues; refuses 2 INVALID 'queues:2: command: longer than the 131071 bytes that the kernel takes: `b`'
    run worker run "$(printf 'a\377')" -- true; refuses 2 INVALID 'queue: is not UTF-8'
    run worker run --worker-id "$(printf 'a\377')" -- true; refuses 2 INVALID 'worker-id: is not UTF-8'
    run worker run --queues-from nowhere -- true; refuses 3 NOT_FOUND 'queues-from: nowhere'
    run worker run q --queues-from queues -- true; refuses 2 INVALID 'none can be named besides'
    run worker run --once --queues-from queues -- true; refuses 2 INVALID 'do not go together'
}
test_that "a bad line of --queues-from is refused by its number, before anything is claimed" queues_from_wrong

lines_of_slots()
{
    command -v script >/dev/null || skips "no script(1) to be a terminal"
    add --id shown --queue mail; add --id other
    open_up
    mkfifo go
    script -qfec "$PAWL_BIN worker run mail --until-empty -- sh -c 'pawl task progress 42; echo hello >&2; echo ready >$folder/up; read -r x <$folder/go'" seen </dev/null >/dev/null 4<&- &
    worker=$!
    hear ready
    until grep -q '\[1\] mail shown [0-9]*s runs 42%' seen; do :; done
    echo >go
    ended 0
    grep -q 'shown | hello' seen
    # The last thing said of the lines is that they are taken away; nothing else of the terminal was touched.
    tr -d '\r' <seen | grep -o "$(printf '\033')\[[0-9?]*[A-Za-z]" | sort -u >codes
    equals "$(printf '\033[1A\n\033[J')" "$(cat codes)"
    sed -n '/event=worker.ended/,$p' seen | grep -q '\[1\]' && complain "a line is left: $(cat seen)"
    state shown COMPLETED
    work --quiet -- true
    ! grep -q '\[1\]' "$folder/err"
}
test_that "on a terminal each slot has a line with its task and its progress, which goes at the end" lines_of_slots

# ---- Being stopped -----------------------------------------------------------------------------------

# A fifo that what we start can speak into; kept open here, so that it never ends between two speakers.
open_up()
{
    mkfifo up
    exec 4<>up
}

hear() # LINE: waits for it
{
    local line=
    read -r -t 60 line <&4 || complain "$1 was to be heard"
    equals "$1" "$line"
}

# Starts a worker whose command says `ready` into the fifo `up`, then waits for good; on SIGTERM it says
# `term` there and exits with the status given. Sets $worker.
start_stubborn() # STATUS ARGUMENT...
{
    local status=$1
    shift
    open_up
    cat >stubborn <<SCRIPT
trap 'echo term >"$folder/up"; exit $status' TERM
echo ready >"$folder/up"
while :; do sleep 0.02; done
SCRIPT
    "$PAWL_BIN" worker run "$@" -- sh "$folder/stubborn" 2>said 4<&- &
    worker=$!
    hear ready
}

ended() # STATUS
{
    local got=0
    wait "$worker" || got=$?
    equals "$1" "$got"
}

lease_kept()
{
    add --id k
    # More than twice the lease, counted by the command itself.
    work --lease 3s -- sh -c 'sleep 7; echo through'
    run task get k; has state '"COMPLETED"'; has epoch 1; shows '"result":"through"'
}
test_that "the lease of a running command is renewed" lease_kept

lease_lost()
{
    add --id l
    start_stubborn 0 --once --lease 1h
    run task cancel l --force; exits 0; has state '"CANCELLED"'
    hear term
    ended 0
    state l CANCELLED
    grep -q 'event=worker.lease_lost task=l' said || complain "$(cat said)"
}
test_that "a command whose lease is lost gets SIGTERM at once, and its outcome is dropped" lease_lost

asked_to_cancel()
{
    add --id c
    start_stubborn 1 --once --lease 1h
    run task cancel c --reason 'changed my mind'; exits 0
    hear term
    ended 0
    run task get c; has state '"CANCELLED"'; has epoch 1
}
test_that "a running task that is to be cancelled is stopped at once, and then cancelled by its holder" asked_to_cancel

asked_to_pause()
{
    add --id p
    start_stubborn 75 --once --lease 1h
    run task pause p; exits 0
    hear term
    ended 0
    run task get p; has state '"PAUSED"'; has retries 0
}
test_that "a running task that is to be paused is stopped at once, and then paused by its holder" asked_to_pause

finishes_all_the_same()
{
    local verb
    for verb in pause cancel; do
        add --id "$verb"
        rm -f up
        start_stubborn 0 --once --lease 1h
        run task "$verb" "$verb"; exits 0
        hear term
        ended 0
        run task get "$verb"; has state '"COMPLETED"'; has epoch 1; has retries 0
        grep -q " event=worker.task_ended task=$verb epoch=1 outcome=complete\$" said || complain "$(cat said)"
    done
}
test_that "a command that ends with exit status 0 completes its task, whatever it was asked" finishes_all_the_same

ends_before_it_hears()
{
    add --id e
    mkfifo go
    open_up
    "$PAWL_BIN" worker run --once --lease 1m -- sh -c 'echo $$ >pid; echo ready >'"$folder/up"'; read -r x <'"$folder/go"'; echo ok' 2>said &
    worker=$!
    hear ready
    freeze "$worker"
    run task cancel e; exits 0
    echo >go
    until grep -q '^State:.Z' "/proc/$(cat pid)/status"; do :; done
    kill -CONT "$worker"
    ended 0
    run task get e; has state '"COMPLETED"'; shows '"result":"ok"'
}
test_that "a command that ends with exit status 0 before its worker hears of a request completes its task" ends_before_it_hears

killed_after_grace()
{
    add --id g --retry-delay 1h
    open_up
    "$PAWL_BIN" worker run --once --timeout 3s --grace 100ms -- \
        sh -c 'trap "" TERM; echo ready >'"$folder/up"'; while :; do sleep 0.02; done' 2>said &
    worker=$!
    hear ready
    ended 0
    run task get g; has state '"QUEUED"'; has error '"timed out after 3000 ms"'
}
test_that "a command that does not heed SIGTERM is killed after the grace" killed_after_grace

no_grace()
{
    add --id g
    open_up
    "$PAWL_BIN" worker run --grace 0 -- \
        sh -c 'trap "" TERM; echo ready >'"$folder/up"'; while :; do sleep 0.02; done' 2>said 4<&- &
    worker=$!
    hear ready
    kill -TERM "$worker"
    ended 0
    run task get g; has state '"QUEUED"'; has retries 0
}
test_that "with --grace 0 a command is killed at once" no_grace

timeout_of_task()
{
    add --id t --timeout 3s --max-retries 0
    start_stubborn 0 --once
    hear term
    ended 0
    # The engine may have ended the attempt already, and not yet have seen that the command has ended: whoever comes next
    # does. No outcome is dropped, and none comes late.
    work -- false
    run task get t; has state '"DEAD_LETTER"'; shows '"error":"[^"]*timed out after 3000 ms'; has epoch 2
    grep -qE ' level=warn event=worker.task_ended task=t epoch=1 outcome=(fail exit_status=0 error=".*timed out after 3000 ms" state=DEAD_LETTER|timed_out exit_status=0 error=".*" state=(DEAD_LETTER|RECOVERY_PENDING))$' said ||
        complain "$(cat said)"
    ! grep -q dropped said
    run task get t --late; shows '"late_results":\[\]'
    add --id own --max-retries 0
    rm -f up
    start_stubborn 0 --once --timeout 3s
    hear term
    ended 0
    state own DEAD_LETTER
}
test_that "a time-out stops the command and fails the attempt, however the command ends" timeout_of_task

drain_lets_end()
{
    add --id d; add --id e
    mkfifo go
    open_up
    "$PAWL_BIN" worker run --grace 1m -- sh -c 'echo ready >'"$folder/up"'; read -r x <'"$folder/go"'; echo ok' 2>said &
    worker=$!
    hear ready
    kill -TERM $worker
    until grep -q event=worker.draining said; do :; done
    echo >go
    ended 0
    state d COMPLETED; state e QUEUED
}
test_that "on SIGTERM a worker lets its commands end, takes no more, and exits 0" drain_lets_end

drain_stops()
{
    add --id d
    start_stubborn 1 --grace 100ms
    kill -INT "$worker"
    hear term
    ended 0
    run task get d; has state '"QUEUED"'; has retries 0
}
test_that "a command that goes on is stopped after the grace, and its task given back uncounted" drain_stops

drain_completes()
{
    add --id d
    start_stubborn 0 --grace 100ms
    kill -TERM "$worker"
    hear term
    ended 0
    run task get d; has state '"COMPLETED"'; has retries 0
}
test_that "a command that finishes after its worker has stopped it completes its task" drain_completes

drain_at_once()
{
    add --id d
    start_stubborn 1 --grace 10m
    kill -TERM "$worker"
    until grep -q event=worker.draining said; do :; done
    kill -TERM "$worker"
    ended 0
    run task get d; has state '"QUEUED"'; has retries 0
}
test_that "a second signal stops everything at once" drain_at_once

drain_idle()
{
    "$PAWL_BIN" worker run -- true 2>said &
    worker=$!
    until grep -q event=worker.started said; do :; done
    kill -TERM $worker
    ended 0
    grep -q event=worker.ended said
}
test_that "an idle worker ends on SIGTERM" drain_idle

killed_worker()
{
    add --id k --retry-delay 0
    start_stubborn 0 --lease 2s
    kill -KILL "$worker"
    ended 137
    # The parent-death signal.
    hear term
    # Another worker gets the task when the lease is over; that the command has crashed counts.
    run worker run --once -- sh -c 'echo "$PAWL_ATTEMPT $PAWL_EPOCH"'; exits 0
    run task get k; has state '"COMPLETED"'; has retries 1; has recoveries 1
}
test_that "when the worker is killed its command gets SIGTERM, and another worker gets the task" killed_worker

tells_left()
{
    run worker run --until-empty -- true; exits 0; ! grep -q '^pawl:' "$folder/err"
    add --id other --queue other --delay 1h
    run worker run --until-empty -- true; exits 0; ! grep -q '^pawl:' "$folder/err"
    add --id later --delay 2h
    add --id retried --retry-delay 1h
    add --id waits --depends-on later
    work --quiet -- false
    says "^pawl: 2 deferred until $(date -u +%Y)-[^ ]*Z and later: run a worker without --until-empty, which waits for what is left\$"
    work --quiet other none -- true
    says '^pawl: 1 deferred until [^ ]*Z: run a worker without --until-empty'
}
test_that "--until-empty tells what it leaves of its queues, and of no other" tells_left

quiet()
{
    add --id q
    work --quiet -- true
    equals '' "$(cat "$folder/err")"
    add --id r
    work -- true
    local time='^time=[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z level=info event='
    says "${time}worker.started .*queues=default slots=" "${time}worker.task_ended task=r .*outcome=complete" "${time}worker.ended"
    ! grep -v '^time=' "$folder/err"
}
test_that "a worker says what it does as logfmt with the time, and with --quiet only what went wrong" quiet

failures_said()
{
    local time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z'
    add --id r --retry-delay 1h
    work --quiet -- sh -c 'echo first >&2; echo "no luck" >&2; exit 3'
    says "^time=$time level=warn event=worker.task_ended task=r epoch=1 outcome=fail exit_status=3 error=\"no luck\" retry_at=$time\$"
    local at
    at=$(sed -n 's/.*retry_at=//p' "$folder/err")
    run task get r -o table; shows "^not before +$at\$"
    add --id d
    work --quiet -- sh -c 'exit 65'
    says ' task=d epoch=1 outcome=fail exit_status=65 error="exit status 65" state=DEAD_LETTER$'
    add --id k --max-retries 0
    work --quiet -- sh -c 'kill -SEGV $$'
    says ' task=k epoch=1 outcome=fail signal=11 error="signal 11 \(Segmentation fault\)" state=DEAD_LETTER$'
    add --id long --max-retries 0
    work --quiet -- sh -c 'head -c 1000 /dev/zero | tr "\0" y >&2; exit 1'
    says ' task=long epoch=1 outcome=fail exit_status=1 error="exit status 1: y{185}" state=DEAD_LETTER$'
}
test_that "a failure is a warning that says how, why, and when it is tried again" failures_said

finish
