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

lease()
{
    add --id l
    work --worker-id w1 --lease 30s -- sh -c 'pawl task lease; pawl task lease --renew --lease 2m'
    run task result l --raw
    shows '^\{"id":"l","owner":"w1","epoch":1,"lease_ms":30000,"lease_end_at_ms":[0-9]{13},"control":null\}$'
    shows '^\{"id":"l","owner":"w1","epoch":1,"lease_ms":[0-9]+,"lease_end_at_ms":[0-9]{13},"control":null\}$'
    equals 2 "$(sort -u "$folder/out" | wc -l)"
    run task lease l; refuses 4 STATE 'nobody holds it'
    run task lease l --renew; refuses 2 INVALID '--renew needs --owner and --epoch'
    run task lease l --renew --owner w1 --epoch 1; refuses 4 LEASE_LOST l
    run task lease l --owner w1; refuses 2 INVALID '--owner and --epoch go together'
}
test_that "lease shows the lease and renews it" lease

release()
{
    add --id r
    work --worker-id w1 --lease 400ms -- sh -c 'pawl task release --delay 1h; exec sleep 1000'
    run task get r; has state '"QUEUED"'; has retries 0; shows '"next_retry_at_ms":[0-9]{13},'
    run task release r; refuses 2 INVALID 'needs --owner and --epoch'
    run task release r --owner w1 --epoch 2; refuses 4 LEASE_LOST r
}
test_that "release gives the task back uncounted, and the command is ended" release

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
