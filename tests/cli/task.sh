# Looking at tasks and operating on them.
. "$(dirname "$0")/lib.sh"

t_095()
{
    add --title 'Bake bread'
    run task list -o table; exits 0; shows "^$id +QUEUED .* Bake bread$"
    run task cancel "$id" -o table; exits 0; prints "$id CANCELLED"
    run task list -o table; shows "^$id +CANCELLED "
}
test_that "T-095 the command line lists the id, shows the title, and reports CANCELLED after cancel" t_095

# ---- List --------------------------------------------------------------------------------------------

d_037()
{
    add
    run task list --status RUNNIG; refuses 2 INVALID 'did you mean RUNNING'
    run task list --status runnig; refuses 2 INVALID 'did you mean RUNNING'
    run task list --status nonsense; refuses 2 INVALID '`nonsense` is no state; the states are PENDING, QUEUED, RUNNING, PAUSED, RECOVERY_PENDING, COMPLETED, FAILED, CANCELLED and DEAD_LETTER'
    run task list --status QUEUED,; refuses 2 INVALID 'is no state'
    run task get nobody; refuses 3 NOT_FOUND nobody
    run task cancel nobody; refuses 3 NOT_FOUND nobody
}
test_that "D-37 a bad status filter is INVALID and an unknown id NOT_FOUND, each with its code" d_037

by_state()
{
    add --id a; add --id b --hold; add --id c; run task cancel c
    run task list --status QUEUED -o name; prints a
    run task list -s PENDING,CANCELLED -o name; equals 'b c' "$(sort "$folder/out" | xargs)"
    run task list -s pending,Cancelled -o name; equals 'b c' "$(sort "$folder/out" | xargs)"
    run task list -s PENDING -s QUEUED -o name; equals 'a b' "$(sort "$folder/out" | xargs)"
    run task list -o name; equals 'a b c' "$(sort "$folder/out" | xargs)"
}
test_that "--status takes several states, in any case, with commas or repeated" by_state

ready()
{
    add --id low --priority LOW; add --id high --priority HIGH
    add --id later --delay 1h; add --id held --hold
    run task list --ready -o name; prints "$(printf 'high\nlow')"
}
test_that "--ready lists what can be claimed, in the order of claims" ready

blocked()
{
    add --id first; add --id second --depends-on first; add --id third
    run task cancel first
    run task list --blocked -o name; exits 0; prints second
    run task get second; has blocked_by '"first"'
}
test_that "--blocked lists what a dependency blocks for good" blocked

by_queue()
{
    add --id a --queue mail; add --id b
    run task list --queue mail -o name; prints a
    run task list -q nothing -o name; exits 0; prints ''
}
test_that "--queue lists one queue" by_queue

paging()
{
    local i
    for i in 1 2 3 4 5; do echo "{\"id\":\"p$i\"}"; done | "$PAWL_BIN" task add --jsonl -o name >/dev/null
    run task list --ready --limit 2 -o json; exits 0; shows '"id":"p1"' '"id":"p2"'; hides '"id":"p3"'
    local cursor
    cursor=$(member cursor)
    [ -n "$cursor" ] || complain "a cursor was wanted"
    run task list --ready --limit 2 --cursor "$cursor" -o name; prints "$(printf 'p3\np4')"
    says '^there are more: --cursor .*, or --all$'
    run task list --ready --limit 2 --all -o name; prints "$(printf 'p1\np2\np3\np4\np5')"
    run task list --ready --limit 2 --all -o json; lines 7; shows '^\],"cursor":null\}$'
    run task list --limit 5 --ready -o table; lines 6
    run task list --cursor nonsense; refuses 2 INVALID ''
}
test_that "pages go on from their cursor, and --all follows it" paging

# ---- Get ---------------------------------------------------------------------------------------------

shape()
{
    add --id s --queue q --title t --goal g --input '{"n":129.90}' --metadata '{"m":1}' --key k
    run task get s; exits 0; lines 1
    shows '^\{"id":"s","queue":"q","state":"QUEUED","title":"t","priority":20,"progress":0,"progress_epoch":0,"retries":0,"recoveries":0,"max_retries":3,"version":[0-9]+,"epoch":0,"owner":null,"lease_end_at_ms":null,"lease_ms":0,"next_retry_at_ms":null,"timeout_ms":0,"created_at_ms":[0-9]+,"updated_at_ms":[0-9]+,"started_at_ms":null,"finished_at_ms":null,"control":null,"control_reason":null,"control_deadline_at_ms":null,"recovery_note":null,"recovery_look_at_ms":null,"open_dependencies":0,"blocked_by":null,"correlation_id":"[^"]+","key":"k","error":null,"goal":"g","input":\{"n":129.90\},"metadata":\{.*"m":1.*\},"result":null,"depends_on":\[\],"why":".+"\}$'
}
test_that "the JSON of a task has the names of the fields of pawl.h, and payloads as they came" shape

why()
{
    add --id w --delay 1h
    run task get w -o table; shows '^why +.'
    run task cancel w; run task get w -o table; shows '^why +it was cancelled at '
    run task get w; shows '"why":"it was cancelled at '
    kill_task --id d
    run task get d; shows '"why":"it is a dead letter since [^"]*; a person has to resume it"'
}
test_that "get says why a task waits, and how it has ended" why

tries()
{
    add --id f --retry-delay 1h
    run task list -o table; shows '^ID +STATE +QUEUE +PRIO +FAILED TRIES ' '^f +QUEUED +default +20 +0/4 '
    work -- sh -c 'pawl task list -o table >running; exit 1'
    grep -qE '^f +RUNNING +default +20 +0/4 ' running || complain "$(cat running)"
    run task list -o table; shows '^f +QUEUED +default +20 +1/4 '
    run task get f -o table; shows '^failed tries +1 of 4$'
    add --id d; work -- sh -c 'exit 65'
    run task list --dead -o table; shows '^d +DEAD_LETTER +default +20 +1/4 '
    run dead list -o table; shows '^ID +QUEUE +FAILED TRIES +DIED' '^d +default +1/4 '
    add --id n --max-retries 0; work -- sh -c 'exit 1'
    run task list -o table; shows '^n +DEAD_LETTER +default +20 +1/1 '
}
test_that "tries that failed are counted against all there may be, whatever the state" tries

# ---- Timers ------------------------------------------------------------------------------------------

why_due()
{
    needs_own_store 'a server runs timers'
    add --id d --delay 50ms
    until run task get d && grep -q 'has passed' "$folder/out"; do :; done
    shows '"why":"it is deferred until [^"]*Z, which has passed; it becomes ready when a worker, or another program that runs timers, opens the store"'
    run task list --ready -o name; prints ''
    add --id f --retry-delay 50ms --priority HIGH
    "$PAWL_BIN" worker run --once -- false 2>/dev/null
    until run task get f && grep -q 'has passed' "$folder/out"; do :; done
    shows '"why":"attempt 1 failed; it is deferred until '
}
why_lease()
{
    needs_own_store 'a server runs timers'
    lose_worker --id l
    until run task get l && grep -q 'its lease ended' "$folder/out"; do :; done
    shows '"state":"RUNNING"' '"why":"worker [^"]* was at attempt 1 of 4; its lease ended at [^"]*Z; it is taken back when a worker, or another program that runs timers, opens the store"'
    run task get l -o table; shows '^why +.*its lease ended at'
}
test_that "why says of what is overdue that nobody runs timers: a delay, a retry" why_due
test_that "why says of what is overdue that nobody runs timers: the end of a lease" why_lease

wait_runs_timers()
{
    lose_worker --id w --max-retries 0
    run task wait w -o table; exits 1; prints 'w DEAD_LETTER'
}
test_that "wait takes back what a dead worker held" wait_runs_timers

logs_run_timers()
{
    lose_worker --id w --max-retries 0
    run task logs w -f; exits 0
    state w DEAD_LETTER
}
test_that "logs -f takes back what a dead worker held" logs_run_timers

watch_runs_timers()
{
    local command status number=0
    for command in 'task list' 'task get first' 'queue list' 'queue stats' 'dead list' 'dead show first'; do
        [ $number -gt 0 ] || add --id first --hold
        number=$((number + 1))
        add --id "w$number" --delay 20ms
        # shellcheck disable=SC2086 # words
        "$PAWL_BIN" $command -w >watched 2>said &
        local watcher=$!
        until run task list --ready -o name && grep -qx "w$number" "$folder/out"; do :; done
        status=0
        kill -INT $watcher
        wait $watcher || status=$?
        equals 130 $status
    done
}
test_that "every command with --watch does what comes due" watch_runs_timers

details()
{
    add --id d
    work -- sh -c 'pawl task checkpoint 7 "[1,2]"; echo done'
    run task get d --history --checkpoints --late; exits 0; lines 1
    shows '"history":\[\{"position":1,"id":"[0-9a-f-]{36}","task_id":"d","queue":"default","sequence":1,"at_ms":[0-9]+,"type":"task_created"'
    shows '"type":"task_completed","action":"completed"' '"success":true,"duration_ms":[0-9]+'
    shows '"checkpoints":\[\{"id":"[0-9a-f-]{36}","step":7,"at_ms":[0-9]+,"epoch":1,"state":\[1,2\]\}\]'
    shows '"late_results":\[\]\}$'
    run task get d --history --checkpoints -o table; shows '^History$' 'task_started' '^Checkpoints$' '\[1,2\]'
}
test_that "--history, --checkpoints and --late add what they name" details

newlines()
{
    printf '{\n  "a": [1,\r\n 2]\n}' >in.json
    add --id n --input @in.json
    run task get n; exits 0; lines 1; shows '"input":\{   "a": \[1,   2\] \}'
}
test_that "line breaks between the tokens of a payload do not break the line it is printed on" newlines

# ---- On a terminal -----------------------------------------------------------------------------------

on_terminal() # COLUMNS ROWS ARGUMENT...: what is shown, without carriage returns
{
    command -v script >/dev/null || skips 'script is not installed'
    ran="pawl ${*:3} on a terminal" status=0
    TERM=xterm script -qfec "stty cols $1 rows $2; exec '$PAWL_BIN' ${*:3}" seen </dev/null >/dev/null 2>&1 || status=$?
    exits 0
    sed '1d; $d' seen | tr -d '\r' >"$folder/out"
}

narrow()
{
    add --queue default --title 'a title of more than twenty letters'
    on_terminal 80 24 task list --color never
    shows '^ID +STATE +QUEUE +TITLE$' '  a title of more than'
    hides '.{81}'
    on_terminal 140 24 task list --color never
    shows '^ID +STATE +QUEUE +PRIO +FAILED TRIES +DONE +CREATED +TITLE$' 'twenty letters$'
    on_terminal 80 24 task list --color never -o wide
    shows 'LEASE END'
}
test_that "a narrow terminal leaves out columns before the title is a letter" narrow

watch_low()
{
    local i
    for i in 1 2 3 4 5 6 7 8; do add --id "low$i"; done
    on_terminal 80 6 task list --color never -w --count 1
    shows 'low8 ' 'low6 ' '^… 5 lines more$'
    hides 'low5 ' '\[3J'
    on_terminal 80 12 task list --color never -w --count 1
    shows 'low1 '
    hides 'lines more'
}
test_that "list -w shows what fits on the terminal, and leaves alone what was there before" watch_low

# ---- Watch -------------------------------------------------------------------------------------------

watch_changes()
{
    add --id w1
    mkfifo pipe
    "$PAWL_BIN" task list -w -o jsonl >pipe 2>said &
    local watcher=$! line status=0
    exec 3<pipe
    read -r line <&3; [[ $line == *'"id":"w1"'*'"state":"QUEUED"'* ]]
    "$PAWL_BIN" task pause w1 >/dev/null
    read -r line <&3; [[ $line == *'"id":"w1"'*'"state":"PAUSED"'* ]]
    "$PAWL_BIN" task add --id w2 >/dev/null
    read -r line <&3; [[ $line == *'"id":"w2"'* ]]
    kill -INT $watcher
    wait $watcher || status=$?
    equals 130 $status
}
test_that "list -w writes what has changed and ends with an interrupt and 130" watch_changes

watch_get()
{
    add --id g1
    mkfifo pipe
    "$PAWL_BIN" task get g1 -w >pipe 2>said &
    local watcher=$! line status=0
    exec 3<pipe
    read -r line <&3; [[ $line == *'"state":"QUEUED"'* ]]
    "$PAWL_BIN" task complete g1 >/dev/null
    read -r line <&3; [[ $line == *'"state":"COMPLETED"'* ]]
    kill -INT $watcher
    wait $watcher || status=$?
    equals 130 $status
}
test_that "get -w writes the task anew when it has changed" watch_get

watch_count() { add --id c; run task list -w --count 2 -o name; exits 0; prints c; }
test_that "a watch of a given count ends by itself" watch_count

# ---- Logs, result, wait ------------------------------------------------------------------------------

logs()
{
    add --id l
    work -- sh -c 'echo one >&2; echo two >&2'
    run task logs l -o table; exits 0; prints "$(printf 'one\ntwo')"
    run task logs l; exits 0; shows '^\{"number":[0-9]+,"at_ms":[0-9]+,"epoch":1,"text":"one'
    run task logs l -o json; exits 0; shows '^\{"lines":\[$' '^\]\}$'
    add --id m
    run task log m first; exits 0; prints ''
    run task log m second; exits 0
    run task logs m; lines 2
    run task logs m --after "$(member number)" -o table; prints second
    run task log l late; refuses 4 STATE l
    run task logs nobody; refuses 3 NOT_FOUND nobody
}
test_that "logs shows what a task has logged, also after a number" logs

logs_follow()
{
    add --id f
    mkfifo pipe go
    "$PAWL_BIN" task logs f -f -o table >pipe 2>said &
    local follower=$! line status=0
    exec 3<pipe
    "$PAWL_BIN" worker run --until-empty -- sh -c 'echo first >&2; read -r x <'"$folder/go"'; echo last >&2' 2>/dev/null &
    local worker=$!
    read -r line <&3; equals first "$line"
    echo >go
    read -r line <&3; equals last "$line"
    wait $follower || status=$?
    equals 0 $status
    wait $worker
}
test_that "logs -f goes on until the task has ended" logs_follow

result_of()
{
    add --id r
    run task result r; refuses 4 NOT_READY QUEUED
    run task complete r --result '{"a": 1.50}'; exits 0
    run task result r; exits 0; prints '{"a": 1.50}'
    add --id s; run task complete s --result '"a\tb"'
    run task result s --raw; exits 0; prints "$(printf 'a\tb')"
    run task result s; prints '"a\tb"'
    add --id n; run task complete n; run task result n; exits 0; prints null
    add --id b; run task complete b --result '{"base64":"//4A"}'
    run task result b -r; exits 0; printf '\377\376\0' | cmp - "$folder/out"
    run task result b; prints '{"base64":"//4A"}'
    add --id t; run task complete t --result '{"text":"abc","cut":true}'
    run task result t -r; exits 0; printf abc | cmp - "$folder/out"; says 'was cut'
    local result other=0
    for result in '{"base64":"?"}' '{"base64":"//4A","more":1}' '{"text":"abc"}' '{"base64":1}' '{"cut":true}' \
        '{"text":"a","cut":false}' '[1]' 'null'; do
        other=$((other + 1))
        add --id "o$other"; run task complete "o$other" --result "$result"
        run task result "o$other" -r; exits 0; prints "$result"
    done
    kill_task --id dead
    run task result dead; exits 1; prints ''; says '^pawl: DEAD_LETTER: exit status 1: no luck$'
}
test_that "result prints the JSON as it was stored, and fails with the task" result_of

wait_done()
{
    add --id w1; add --id w2
    work -- true
    run task wait w1 w2 -o table; exits 0; prints "$(printf 'w1 COMPLETED\nw2 COMPLETED')"
    run task wait w1; shows '"id":"w1".*"state":"COMPLETED"'
    kill_task --id w3
    run task wait w1 w3; exits 1
    add --id w4; run task cancel w4; run task wait w4; exits 1
}
test_that "wait exits 0 for COMPLETED tasks and 1 when one ended otherwise" wait_done

wait_for_end()
{
    add --id w
    "$PAWL_BIN" task wait w -o name >waited 2>said &
    local waiter=$! status=0
    work -- true
    wait $waiter || status=$?
    equals 0 $status
    equals w "$(cat waited)"
}
test_that "wait returns when the task ends" wait_for_end

wait_as_they_end()
{
    add --id first; add --id second
    mkfifo pipe
    "$PAWL_BIN" task wait first second -o table >pipe 2>said &
    local waiter=$! line status=0
    exec 3<pipe
    "$PAWL_BIN" task complete second >/dev/null
    read -r line <&3; equals 'second COMPLETED' "$line"
    "$PAWL_BIN" task cancel first >/dev/null
    read -r line <&3; equals 'first CANCELLED' "$line"
    wait $waiter || status=$?
    equals 1 $status
    add --id a; add --id b; run task complete a
    run task wait b a --timeout 50ms -o name; exits 7; prints a; says 'task b is still QUEUED$'
    add --id c
    run task wait c b --timeout 50ms; refuses 7 TIMEOUT 'task c is still QUEUED, and 1 more not ended'
    run task wait b nobody; refuses 3 NOT_FOUND nobody
}
test_that "wait prints each task when it ends, whatever the order of their names" wait_as_they_end

wait_timeout()
{
    add --id w
    run task wait w --timeout 50ms; refuses 7 TIMEOUT 'still QUEUED'
    run task wait nobody; refuses 3 NOT_FOUND nobody
}
test_that "wait exits 7 when its time is up" wait_timeout

wait_interrupt()
{
    add --id w
    "$PAWL_BIN" task wait w >out 2>said &
    local waiter=$! status=0
    # From then on it hears signals.
    until [ -n "$(find /proc/$waiter/fd -lname 'anon_inode:*signalfd*' 2>/dev/null)" ]; do :; done
    kill -INT $waiter
    wait $waiter || status=$?
    equals 130 $status
}
test_that "wait ends with an interrupt and 130" wait_interrupt

# ---- Changes -----------------------------------------------------------------------------------------

hold()
{
    add --id h --hold
    state h PENDING
    run task queue h -o table; exits 0; prints 'h QUEUED'
    run task queue h; exits 0; has state '"QUEUED"'
}
test_that "queue ends a hold" hold

pause_resume()
{
    add --id p
    run task pause p --reason 'lunch'; exits 0; has state '"PAUSED"'
    run task get p --history; shows '"action":"paused".*lunch'
    run task resume p; exits 0; has state '"QUEUED"'
    run task resume p; refuses 4 STATE p
}
test_that "pause withdraws a task with its reason, and resume queues it again" pause_resume

cancel()
{
    add --id c
    run task cancel c --reason 'no need' --actor Ann; exits 0; has state '"CANCELLED"'
    run task get c --history; shows '"action":"cancelled".*"actor":"Ann".*no need'
    run task cancel c; exits 0
    add --id d; run task complete d; run task cancel d; refuses 4 STATE d
}
test_that "cancel cancels once and keeps who and why; a completed task cannot be" cancel

complete()
{
    add --id c
    echo '[1, 2]' >result.json
    run task complete c --result @result.json; exits 0; has state '"COMPLETED"'
    run task get c; shows '"result":\[1, 2\]'
    add --id d
    run task complete d --result '{bad'; refuses 2 INVALID 'result: '
    state d QUEUED
    run task complete d --result - <result.json; exits 0
}
test_that "complete takes JSON from the command line, a file or standard input, and nothing else" complete

fail_needs_fence()
{
    add --id f
    run task fail f --error x; refuses 4 STATE f
    mkfifo started never
    exec 3<>never # nobody writes to it: the command goes on until its worker hears that the task has ended
    "$PAWL_BIN" worker run --once -- sh -c 'echo >'"$folder/started"'; exec cat '"$folder/never" 2>/dev/null 3<&- &
    local worker=$!
    read -r _ <started
    run task fail f --error x; refuses 4 LEASE_LOST f
    run task complete f; refuses 4 LEASE_LOST f
    local owner
    run task get f; owner=$(member owner)
    run task fail f --error 'by hand' --owner "$owner" --epoch 1 --final; exits 0; has state '"DEAD_LETTER"'
    wait $worker
    exec 3<&-
    state f DEAD_LETTER
    run task get f; has error '"by hand"'
}
test_that "a running task is ended by hand only under its fence" fail_needs_fence

resolve()
{
    kill_task --id r1
    run task resolve r1 --outcome COMPLETED --text '{"ok":true}'; exits 0; has state '"COMPLETED"'
    kill_task --id r2
    run task resolve r2 --outcome QUEUED --force; exits 0; has state '"QUEUED"'
    run task resolve r2 --outcome CANCELLED; refuses 4 STATE r2
    run task resolve r2 --outcome RUNNING; refuses 2 INVALID 'not `RUNNING`'
    run task resolve r2 --outcome CANCELLD; refuses 2 INVALID 'COMPLETED, FAILED, QUEUED and CANCELLED'
    run task resolve r2; refuses 2 INVALID 'outcome'
    kill_task --id r3
    run task resolve r3 --outcome COMPLETED --text 'no json'; refuses 2 INVALID 'text: not JSON: '
    run task resolve r3 --outcome FAILED; refuses 4 STATE 'r3.*FAILED is for RECOVERY_PENDING only'
    run task resolve r3 --outcome completed; exits 0; has state '"COMPLETED"'
}
test_that "resolve decides what became of a dead letter" resolve

retry()
{
    kill_task --id k
    run task retry k --input '{"second":true}'; exits 0; has state '"QUEUED"'
    run task get k; has retries 0; shows '"input":\{"second":true\}'
    kill_task --id m
    run task resume m --keep-retries; exits 0
    run task get m; has retries 1
}
test_that "retry queues a dead letter again, with its retries anew unless they are to be kept" retry

version_condition()
{
    add --id v
    run task pause v --expected-version 99; refuses 4 CONFLICT v
    run task get v; local version; version=$(member version)
    run task pause v --expected-version "$version"; exits 0; has state '"PAUSED"'
}
test_that "--expected-version refuses what has changed since" version_condition

many()
{
    add --id a; add --id b
    run task pause a nobody b -o name; exits 8; prints "$(printf 'a\nb')"; says '^pawl: NOT_FOUND: .*nobody'
    run task pause a b; exits 0; lines 2
    run task pause nobody nothing; exits 3; prints ''
}
test_that "of several ids the rest is done when one fails, and the exit status is 8" many

finish
