# What a command says of its own task.
. "$(dirname "$0")/lib.sh"

progress()
{
    add --id p
    work -- sh -c 'pawl task progress 42.5 && pawl task get "$PAWL_TASK_ID" >seen && pawl task progress 50%'
    grep -q '"progress":42.5,"progress_epoch":1,' "$folder/seen"
    run task progress p 10; refuses 4 STATE p
    run task progress 10; refuses 2 INVALID 'name the task'
    run task progress p much; refuses 2 INVALID '`much` is no percentage'
}
test_that "progress needs no id inside a command" progress

quiet()
{
    add --id q
    work -- sh -c 'pawl task progress 1; pawl task log hello; pawl task checkpoint 1 "{}"; pawl task retry-after 1s; echo out'
    run task result q; prints '"out"'
}
test_that "progress, log, checkpoint and retry-after print nothing: the result is what the command prints" quiet

log_lines()
{
    add --id l
    work -- sh -c 'pawl task log "one line"; printf "two\nthree\n" | pawl task log -'
    run task logs l -o table; prints "$(printf 'one line\ntwo\nthree')"
    run task logs l; lines 3
}
test_that "log adds its text, or the lines of standard input" log_lines

checkpoints()
{
    add --id c --max-retries 1 --retry-delay 0
    work -- sh -c 'cat "$PAWL_TASK" >>tasks; pawl task checkpoint 3 "{\"at\":17}"; [ "$PAWL_ATTEMPT" = 2 ]'
    state c COMPLETED
    sed -n 1p tasks | grep -q '"attempt":1,.*"checkpoint":null'
    sed -n 2p tasks | grep -q '"attempt":2,.*"checkpoint":{"at":17},"checkpoint_step":3'
    add --id m --hold
    run task checkpoint m 1 '{}'; exits 0; prints ''
    run task checkpoint m 2 '{}' -o name; exits 0; shows '^[0-9a-f-]{36}$'
    run task checkpoint m 3 '{}' -o json; exits 0; shows '^\{"id":"[0-9a-f-]{36}","step":3\}$'
    add --id n
    work -- sh -c 'pawl task checkpoint 1 "{}" -o name'
    run task result n; shows '^"?[0-9a-f-]{36}"?$'
    run task checkpoint c x '{}'; refuses 2 INVALID 'step: `x`'
    run task checkpoint c 1 '{'; refuses 2 INVALID 'state: '
}
test_that "the next attempt finds the checkpoint in its task" checkpoints

retry_after()
{
    add --id r --retry-delay 1s
    work -- sh -c 'pawl task retry-after 2h; exit 75'
    run task get r; has state '"QUEUED"'
    local created next
    created=$(member created_at_ms) next=$(member next_retry_at_ms)
    [ $((next - created)) -ge 7200000 ] || complain "two hours were wanted: $created $next"
    run task retry-after 1s; refuses 2 INVALID 'only inside a command'
    add --id s --max-retries 2
    work -- sh -c 'pawl task retry-after 0; echo x >>tries; exit 1'
    state s DEAD_LETTER
    equals 3 "$(wc -l <tries)"
}
test_that "retry-after replaces the delay of the next retry, and 0 is none" retry_after

over_socket()
{
    add --id s --retry-delay 1s
    # There is no such store: whatever needs it fails.
    work --worker-id w1 --lease 30s -- sh -c 'export PAWL_DB=/nowhere/at.all; stat -c %a "$PAWL_SOCKET" "${PAWL_SOCKET%/*}" >modes
        pawl task progress 42.5% && pawl task log "one
two" && printf "three\nfour\n" | pawl task log - && pawl task checkpoint 3 "{\"at\":
17}" && pawl task lease >seen && pawl task retry-after 2h
        pawl task get s && exit 1; exit 75'
    equals '600 700' "$(xargs <modes)"
    grep -qE '^\{"id":"s","owner":"w1","epoch":1,"lease_ms":30000,"left_ms":[0-9]{1,5},"lease_end_at_ms":[0-9]{13},"control":null\}$' seen || complain "$(cat seen)"
    run task get s; has state '"QUEUED"'; shows '"progress":42.5,'
    [ $(($(member next_retry_at_ms) - $(member created_at_ms))) -ge 7200000 ] || complain "two hours were wanted"
    run task logs s -o table; shows '^one$' '^two$' '^three$' '^four$'
    add --id t
    work -- sh -c 'env -u PAWL_SOCKET pawl task progress 50 && PAWL_SOCKET=/nowhere/at.all pawl task log hello; pawl task get t >seen'
    grep -q '"progress":50,' seen
    run task logs t -o table; prints hello
}
test_that "over the worker's socket no store is needed, and without it the store is asked" over_socket

over_socket_wrong()
{
    add --id w
    work -- sh -c 'trap "" TERM; pawl task progress much 2>1; echo $? >>1; pawl task checkpoint 1 "{" 2>2; echo $? >>2; pawl task release --delay 1h; pawl task progress 5 2>3; echo $? >>3'
    grep -q "INVALID: .much. is no percentage" 1; grep -qx 2 1
    grep -q 'INVALID: state: ' 2
    grep -q '^pawl: LEASE_LOST: ' 3; grep -qx 4 3
}
test_that "what is wrong is told over the socket as without it" over_socket_wrong

from_other_languages()
{
    command -v python3 >/dev/null || skips "no python3 to try the example of docs/worker-socket.md"
    sed -n '/^```python$/,/^```$/{//!p}' "$here/../../docs/worker-socket.md" >talk.py
    equals 5 "$(wc -l <talk.py)"
    add --id p
    work -- sh -c 'python3 talk.py; pawl task get p >seen'
    grep -q '"progress":40,' seen
    run task result p; prints '"ok"'
}
test_that "the example in Python speaks to the worker" from_other_languages

lease()
{
    add --id l
    work --worker-id w1 --lease 30s -- sh -c 'pawl task lease; pawl task lease --renew --lease 2m'
    run task result l --raw
    shows '^\{"id":"l","owner":"w1","epoch":1,"lease_ms":30000,"left_ms":[0-9]{1,5},"lease_end_at_ms":[0-9]{13},"control":null\}$'
    shows '^\{"id":"l","owner":"w1","epoch":1,"lease_ms":[0-9]+,"left_ms":[0-9]+,"lease_end_at_ms":[0-9]{13},"control":null\}$'
    equals 2 "$(sort -u "$folder/out" | wc -l)"
    add --id t
    work --worker-id w1 --lease 30s -- sh -c 'pawl task lease -o table; PAWL_SOCKET= pawl task lease -o table; pawl task get t -o table'
    run task result t --raw
    equals 2 "$(grep -cE '^t epoch 1 held by w1, (30|29(\.[0-9]+)?|28(\.[0-9]+)?|2[0-7](\.[0-9]+)?)s of 30s left, ends 20[0-9TZ:.-]+$' "$folder/out")"
    shows '^lease +30s$'
    run task lease l; refuses 4 STATE 'nobody holds it'
    run task lease l --renew; refuses 2 INVALID '--renew needs --owner and --epoch'
    run task lease l --renew --owner w1 --epoch 1; refuses 4 LEASE_LOST l
    run task lease l --owner w1; refuses 2 INVALID '--owner and --epoch go together'
}
test_that "lease shows the lease and renews it" lease

release()
{
    add --id r
    work --worker-id w1 --lease 2s -- sh -c 'pawl task release --delay 1h; exec sleep 1000'
    run task get r; has state '"QUEUED"'; has retries 0; shows '"next_retry_at_ms":[0-9]{13},'
    run task release r; refuses 2 INVALID 'needs --owner and --epoch'
    run task release r --owner w1 --epoch 2; refuses 4 LEASE_LOST r
}
test_that "release gives the task back uncounted, and the command is ended" release

by_itself()
{
    add --id c; add --id f --retry-delay 1h; add --id g; add --id l
    work --worker-id w1 -- sh -c 'case $PAWL_TASK_ID in
        c) pawl task complete c --result 7; exit 0 ;;
        f) pawl task fail f --error mine; exit 3 ;;
        g) pawl task fail g --final; exit 0 ;;
        l) pawl task release --delay 1h; exit 1 ;;
        esac'
    cp "$folder/err" log
    local id
    for id in c f g l; do
        grep -q "level=info event=worker.task_ended task=$id epoch=1 outcome=by_itself\$" log || complain "$(cat log)"
        run task get "$id" --late; shows '"late_results":\[\]'
    done
    ! grep -E 'level=(warn|error)' log
    run task result c; prints 7
    state f QUEUED; state g DEAD_LETTER; state l QUEUED
}
test_that "a command that has ended its task itself is no warning, and leaves no late result" by_itself

by_itself_and_on()
{
    add --id c
    # The lease is lost while the command goes on: it is stopped, and that is in order.
    work --lease 2s -- sh -c 'pawl task complete c --result 1; exec sleep 1000'
    says 'level=info event=worker.task_ended task=c epoch=1 outcome=by_itself$'
    ! grep -E 'level=(warn|error)' "$folder/err"
    run task result c; prints 1
    add --id r --max-retries 0
    # Released, and taken at once by this worker's other slot.
    work --slots 2 --lease 2s -- sh -c '[ $PAWL_EPOCH = 1 ] || exit 0; pawl task release; exec sleep 1000'
    says 'level=info event=worker.task_ended task=r epoch=1 outcome=by_itself$' 'task=r epoch=2 outcome=complete$'
    ! grep -E 'level=(warn|error)' "$folder/err"
}
test_that "a command that has ended its task and goes on is stopped, and that is no warning" by_itself_and_on

changes_are_silent()
{
    add --id other --hold; add --id a
    work -- sh -c 'pawl task queue other; pawl task pause other; pawl task resume other; pawl task cancel other; echo out; pawl task get other -o name'
    run task result a -r; prints "$(printf 'out\nother')"
    add --id b
    # Its own task last: then its worker may stop it.
    work -- sh -c 'pawl task cancel other -o name >asked; pawl task complete b >said'
    equals '' "$(cat said)"; equals other "$(cat asked)"
    add --id c
    work -- sh -c 'pawl task fail c --final >said'
    equals '' "$(cat said)"
    run task cancel other; lines 1
}
test_that "inside a command a change prints nothing unless a form is asked for" changes_are_silent

fences()
{
    add --id f
    work --worker-id w1 -- true
    for verb in 'progress f 1' 'checkpoint f 1 {}' 'log f hello'; do
        # shellcheck disable=SC2086 # words
        run task $verb --owner w1 --epoch 7; refuses 4 LEASE_LOST f
    done
    run task get f --late; shows '"late_results":\[\]'
}
test_that "a wrong fence is LEASE_LOST" fences

other_task()
{
    add --id o1; add --id o2 --priority LOW
    work -- sh -c '[ "$PAWL_TASK_ID" = o2 ] || pawl task complete o2 --result 1'
    run task get o2; has state '"COMPLETED"'; shows '"result":1'
}
test_that "the fence in the environment is for its own task only" other_task

finish
