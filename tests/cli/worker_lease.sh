# pawl worker run: supervised leases. What is lost comes back when its work is proved to have stopped.
. "$(dirname "$0")/lib.sh"

# A fifo that what we start can speak into; kept open here, so that it never ends between two speakers.
open_up()
{
    mkfifo up go
    exec 4<>up 5<>go
}

hear() # LINE: waits for it
{
    local line=
    read -r -t 60 line <&4 || complain "$1 was to be heard: $(cat said* 2>/dev/null)"
    equals "$1" "$line"
}

# A worker in the background, whose log is the file said$1; sets $worker.
start_worker() # NUMBER ARGUMENT...
{
    local number=$1
    shift
    "$PAWL_BIN" worker run "$@" 2>"said$number" 4<&- 5<&- &
    worker=$!
}

ended() # STATUS
{
    local got=0
    wait "$worker" || got=$?
    equals "$1" "$got"
}

until_state() # ID STATE: somebody else does what comes due
{
    until "$PAWL_BIN" task get "$1" | grep -q "\"state\":\"$2\""; do :; done
}

until_gone() # PID: a zombie waits for whoever inherited it, which is not our matter
{
    while [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do :; done
}

# When the store gave a claim, by the store.
started_at() # ID EPOCH
{
    run events -o jsonl
    exits 0
    sed -n "s/.*\"task_id\":\"$1\",.*\"at_ms\":\([0-9]*\),\"type\":\"task_started\",.*\"epoch\":$2,.*/\1/p" "$folder/out"
}

# A command that says ready, heeds no SIGTERM, and ends when somebody writes into the fifo `go`.
deaf='trap "" TERM; echo ready >up; read -r x <go; date +%s%3N >first'

locks()
{
    add --id l
    local shell
    for shell in sh bash; do
        add --id "$shell"
        work -- "$shell" -c 'sh -c "readlink /proc/self/fd/100"'
        run task result "$shell" -r; shows '/place$'
    done
    run worker run --once --until-empty -- sh -c 'pawl task get "$PAWL_TASK_ID"'
    [ -z "$(find . -path './pawl.db-locks/*' ! -name place)" ] || complain "$(find .)"
}
test_that "the lock of the execution is descriptor 100 of the command and of its children, and leaves no file of its own" locks

worker_killed()
{
    add --id k --retry-delay 0
    open_up
    start_worker 1 --lease 2s -- sh -c "$deaf"
    hear ready
    local first=$worker
    start_worker 2 --once -- sh -c 'echo >second; echo "$PAWL_EPOCH"'
    kill -KILL "$first"
    until_state k RECOVERY_PENDING
    # The proof is looked for, and does not come.
    until grep -q "its work goes on" said2; do :; done
    [ ! -e second ] || complain "it was given out while its command ran"
    run task resolve k --outcome QUEUED; refuses 4 LEASE_ACTIVE 'force this'
    run task get k; shows '"recovery_note":"its work goes on: worker ' '"recovery_look_at_ms":[0-9]{13},'
    run task get k -o table; shows '^recovery +its work goes on: worker ' '^looked again +[0-9]'
    work --quiet -- true; says '^pawl: 1 recovering: run a worker without --until-empty'
    run doctor; exits 1; shows '"level":"warning","what":"recovery","finding":"task k: its work goes on: worker '
    echo now >&5
    ended 0
    local waited=$(($(started_at k 3) - $(cat first)))
    [ "$waited" -ge 0 ] && [ "$waited" -lt 1000 ] || complain "$waited ms after the command's end"
    run task get k; has state '"COMPLETED"'; has epoch 3; has retries 1; has recoveries 1; shows "\"result\":3"
}
test_that "T-107 with its worker killed a task is given out when its command has ended, and then at once" worker_killed

both_killed()
{
    add --id b --retry-delay 0
    open_up
    start_worker 1 --lease 2s -- sh -c 'trap "" TERM; echo $$ >pid; echo ready >up; read -r x <go'
    hear ready
    local first=$worker end
    start_worker 2 --once -- true
    until grep -q event=worker.started said2; do :; done
    kill -KILL "$first" "$(cat pid)"
    run task get b; has state '"RUNNING"'
    end=$(member lease_end_at_ms)
    ended 0
    local late=$(($(started_at b 3) - end))
    [ "$late" -ge 0 ] && [ "$late" -lt 1000 ] || complain "$late ms after the lease's end"
    run task get b; has state '"COMPLETED"'; has epoch 3; has retries 1
}
test_that "T-036 with worker and command killed a task is given out within a second after the lease's end" both_killed

frozen()
{
    add --id done --priority 2 --retry-delay 0; add --id goes --retry-delay 0
    open_up
    start_worker 1 --slots 2 --lease 2s --worker-id w1 -- bash -c 'told() { echo "term ${EPOCHREALTIME/[.,]}" >up; exit 1; }
        trap told TERM
        echo ready >up
        [ $PAWL_TASK_ID = goes ] || { read -r x <go; echo mine; echo done >up; exit 0; }
        while :; do sleep 0.02; done'
    hear ready; hear ready
    local first=$worker told_us
    freeze "$first"
    add --id three-leases --queue other --delay 6s
    start_worker 2 other -- true # does what comes due
    local other=$worker
    echo now >&5
    hear 'done'
    until_state 'done' RECOVERY_PENDING; until_state goes RECOVERY_PENDING
    run queue pause default; exits 0 # what comes back stays to be looked at
    run task wait three-leases; exits 0
    local continued_us=${EPOCHREALTIME/[.,]}
    kill -CONT "$first"
    read -r -t 60 line told_us <&4; equals term "$line"
    # At once: a worker that went by its renewals would have come to it after a third of the lease, and answers of the store.
    [ $(((told_us - continued_us) / 1000)) -lt 666 ] || complain "told after $((told_us - continued_us)) us"
    until_state 'done' QUEUED; until_state goes QUEUED
    run task get 'done' --late; shows '"late_results":\[\{[^]]*"epoch":1,"owner":"w1","kind":"complete","body":"\\"mine\\""'
    run task get goes --late; shows '"late_results":\[\]'
    run doctor; shows '1 outcomes came from workers that had lost their tasks'
    kill -TERM "$first" "$other"
    ended 0
    worker=$first; ended 0
    grep -q 'worker.outcome_dropped task=done epoch=1 outcome=complete code=LEASE_LOST' said1 || complain "$(cat said1)"
    grep -q 'worker.lease_lost task=goes epoch=1' said1 || complain "$(cat said1)"
}
test_that "T-040 T-039 T-047 a worker stopped for three leases: what had ended is late, what runs is told at once" frozen

no_lock()
{
    add --id n
    export PAWL_LOCKS=$folder/pawl.db-locks
    echo 'no folder' >pawl.db-locks
    start_worker 1 -- true
    until grep -q 'event=worker.claim_failed code=IO .*pawl.db-locks is not a folder' said1; do :; done
    run task get n; has state '"QUEUED"'; has epoch 0
    rm pawl.db-locks
    until_state n COMPLETED
    kill -TERM $worker
    ended 0
}
test_that "where no lock can be had nothing is claimed, until there can" no_lock

no_lock_at_the_end()
{
    add --id n
    export PAWL_LOCKS=$folder/pawl.db-locks
    echo 'no folder' >pawl.db-locks
    run worker run --until-empty -- true; exits 6; says '^pawl: IO: .*pawl.db-locks is not a folder'
    run worker run --once -- true; exits 6; says '^pawl: IO: .*pawl.db-locks is not a folder'
    run task get n; has state '"QUEUED"'; has epoch 0
}
test_that "a worker that is to end does not wait until locks can be had" no_lock_at_the_end

doctor_of_locks()
{
    add --id p
    open_up
    export PAWL_LOCKS=$folder/pawl.db-locks
    run doctor; exits 0
    start_worker 1 -- sh -c "$deaf"
    hear ready
    run doctor; exits 0
    mv pawl.db-locks/place away
    run doctor; exits 1
    shows '"level":"warning","what":"locks","finding":"1 task with the lock in another file than that of [^"]*/pawl.db-locks: '
    mv away pawl.db-locks/place
    run doctor; exits 0
    chmod 777 pawl.db-locks
    run doctor; exits 1
    shows '"level":"error","what":"locks","finding":"no lock of an execution can be had: [^"]*/pawl.db-locks is not a folder of this user alone'
    chmod 700 pawl.db-locks
    echo now >&5
    until_state p COMPLETED
    kill -TERM "$worker"
    ended 0
}
test_that "the doctor looks at the folder of locks, and whether those of running tasks are there" doctor_of_locks

# ---- What a command leaves running -------------------------------------------------------------------

left() # OPTIONS PROGRAM: the program writes pids into the file `pids`; the task completes and they are gone
{
    local pid
    rm -f pids
    add
    # shellcheck disable=SC2086 # words
    work $1 -- bash -c "$2"
    state "$id" COMPLETED
    [ -s pids ]
    for pid in $(cat pids); do
        grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null || [ ! -e "/proc/$pid" ] || complain "$pid lives: $2"
    done
}

escapes()
{
    left '' 'setsid sleep 1000 & echo $! >pids'
    left '' '(setsid sh -c "sleep 1000 & echo \$! >>pids; sleep 1000 & echo \$! >>pids") '
    left '' 'setsid sleep 1000 100>&- & echo $! >pids'
    left '' 'env -i setsid sleep 1000 & echo $! >pids'
    left '' '(setsid sleep 1000 <&- >&- 2>&- & echo $! >pids)'
    left '--grace 100ms' 'setsid sh -c "trap \"\" TERM; echo \$\$ >pids; echo >go; while :; do sleep 0.02; done" & until [ -s pids ]; do :; done'
}
test_that "what a command leaves running in other sessions gets SIGTERM, SIGKILL after the grace, and then its task completes" escapes

escapes_others()
{
    add --id a; add --id b
    mkfifo go
    # The child of one task is nothing to the other.
    work --slots 2 -- bash -c 'if [ $PAWL_TASK_ID = a ]; then setsid sleep 0.3 & echo a >go; wait $!; else read -r x <go; fi'
    state a COMPLETED; state b COMPLETED
    ! grep -E 'level=(warn|error)' "$folder/err"
}
test_that "what another task has running is left alone" escapes_others

# A worker whose command leaves behind what holds the lock and cannot be found: its parent is no part of the task, as far
# as anybody can see, so it is nobody's child of the worker. The files `holder` and `parent` have their pids.
start_uncontained()
{
    open_up
    start_worker 1 --lease 3s --grace 50ms -- bash -c 'setsid bash -c "sleep 1000 & echo \$! >holder; echo held >up; exec env -i sleep 1000 100>&-" &
        echo $! >parent; read -r x <go; echo out'
    hear held
    while grep -q PAWL_TASK_ID "/proc/$(cat parent)/environ"; do :; done
    echo now >&5
}

uncontained()
{
    add --id u; add --id v --queue other
    start_uncontained
    until grep -q ' level=error event=worker.uncontained task=u epoch=1 ' said1; do :; done
    grep -q " pid=$(cat holder) " said1 || complain "$(cat said1)"
    # Its lease is renewed: longer than a lease it is ours.
    local end=0
    run task get u; has state '"RUNNING"'
    end=$(member lease_end_at_ms)
    until run task get u; [ "$(member lease_end_at_ms)" -gt $((end + 3000)) ]; do has state '"RUNNING"'; done
    kill -KILL "$(cat holder)"
    until_state u COMPLETED
    run task get u; has epoch 1; shows '"result":"out"'
    equals 1 "$(grep -c worker.uncontained said1)"
    kill -KILL "$(cat parent)"
    kill -TERM "$worker"
    ended 0
}
test_that "T-046 D-08 a lock held by what cannot be stopped keeps slot and lease, is told once, and the outcome when it ends" uncontained

uncontained_end()
{
    add --id u
    start_uncontained
    until grep -q worker.uncontained said1; do :; done
    kill -TERM "$worker"
    ended 0
    start_worker 2 --once -- echo again
    until grep -q "its work goes on" said2; do :; done
    kill -KILL "$(cat holder)" "$(cat parent)"
    ended 0
    run task get u; has state '"COMPLETED"'; has epoch 3; shows '"result":"again"'
}
test_that "a worker that ends leaves what it cannot stop, and its task comes back when that has ended" uncontained_end

lost_leftover()
{
    add --id l
    open_up
    start_worker 1 --once --lease 1h --grace 100ms -- bash -c 'setsid bash -c "trap \"\" TERM; echo ready >up; while :; do sleep 0.02; done" & echo $! >pid; wait'
    hear ready
    run task cancel l --force; exits 0
    ended 0
    until_gone "$(cat pid)"
    grep -q 'worker.lease_lost task=l epoch=1' said1 || complain "$(cat said1)"
    state l CANCELLED
}
test_that "of a lost task what it left running is stopped too" lost_leftover

finish
