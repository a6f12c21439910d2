# Queues and dead letters.
. "$(dirname "$0")/lib.sh"

pause_resume()
{
    add --id a
    run queue pause default; exits 0; prints ''
    run queue list; has is_paused true
    work -- true
    state a QUEUED
    run task get a; shows '"why":"[^"]*paused'
    run queue resume default; exits 0
    work -- true
    state a COMPLETED
}
test_that "a paused queue gives nothing out until it is resumed" pause_resume

several()
{
    run queue pause one two; exits 0
    run queue list -o name; prints "$(printf 'one\ntwo')"
    run queue list -o table; lines 3; shows '^NAME +PAUSED +LEASE' '^one +paused '
    run queue pause ''; exits 2
}
test_that "several queues can be paused at once, and are made if new" several

set_defaults()
{
    run queue set mail --lease 5m --max-retries 1 --retry-delay 10s --backoff fixed; exits 0; prints ''
    run queue list
    shows '^\{"name":"mail","is_paused":false,"lease_ms":300000,"retry":\{"max_retries":1,"backoff":"fixed","delay_ms":10000,"delay_ms_max":null,"jitter_ms":0\},"ready":0,"deferred":0,"running":0,"oldest_ready_at_ms":null\}$'
    run queue set mail --retry-jitter 1s; exits 0
    run queue list; has max_retries 1; has jitter_ms 1000; has lease_ms 300000
    run queue set mail --lease 0; exits 0
    run queue list; has lease_ms null; has max_retries 1
    run queue pause plain
    run queue list -o table; shows '^mail +- +- +1 +10s +- +fixed$' '^plain +paused +- +- +- +- +-$'
    run queue set mail; refuses 2 INVALID 'say what to set'
    run queue set mail --backoff odd; refuses 2 INVALID 'exponential, linear and fixed'
}
test_that "set changes what it names and leaves the rest" set_defaults

defaults_count()
{
    run queue set mail --max-retries 0 --lease 7s; exits 0
    add --id a --queue mail
    run task get a; has max_retries 0
    run worker run mail --once -- sh -c 'pawl task lease >lease; exit 1'; exits 0
    grep -q '"lease_ms":7000,' lease
    state a DEAD_LETTER
}
test_that "tasks and claims that say nothing take the defaults of the queue" defaults_count

stats()
{
    add --id a; add --id b; add --id c --delay 1h; add --queue other
    run queue stats default; lines 1; has ready 2; has deferred 1; has running 0
    shows '"oldest_ready_at_ms":[0-9]{13}'
    run queue stats; lines 2
    run queue stats -o table; shows '^NAME +PAUSED +READY +DEFERRED +RUNNING +OLDEST READY$' '^default +- +2 +1 +0 +2'
    run queue stats -o json; shows '^\{"queues":\[$'
    run queue stats nothing; refuses 3 NOT_FOUND 'no queue nothing'
    run queue stats -w --count 1; exits 0; lines 2
}
test_that "stats counts what is ready, deferred and running" stats

# ---- Dead letters ------------------------------------------------------------------------------------

dead_list()
{
    kill_task --id d1 --queue q1 --title one
    add --id alive
    run dead list -o name; prints d1
    run dead list -o table; lines 2; shows '^ID +QUEUE +FAILED TRIES +DIED +ERROR$' '^d1 +q1 +1/1 .* exit status 1: no luck$'
    run dead list; has state '"DEAD_LETTER"'; has error '"exit status 1: no luck"'
    run dead list --queue q2 -o name; prints ''
    run task list --dead -o name; prints d1
    run dead show d1 -o table; shows '^error +exit status 1: no luck$'
}
# A dead letter of a queue of its own.
kill_task() # ARGUMENT...
{
    local queue=default argument previous=
    for argument in "$@"; do
        [ "$previous" != --queue ] || queue=$argument
        previous=$argument
    done
    add --max-retries 0 "$@"
    work "$queue" -- sh -c 'echo "${SAY:-no luck}" >&2; exit 1'
    state "$id" DEAD_LETTER
}
test_that "dead list shows dead letters and their errors" dead_list

redrive_ids()
{
    kill_task --id a; kill_task --id b; kill_task --id c
    run dead redrive a b -o table; exits 0; prints "$(printf 'a QUEUED\nb QUEUED')"
    run task get a; has retries 0
    run dead redrive c --queue default; refuses 2 INVALID 'ids or a filter'
    run dead redrive; refuses 2 INVALID '--all'
    state c DEAD_LETTER
}
test_that "redrive by id queues these again" redrive_ids

redrive_filter()
{
    kill_task --id a --queue one
    SAY='disk full' kill_task --id b --queue two
    kill_task --id c --queue two
    run dead redrive --error 'disk full'; exits 0; prints '{"count":1,"continuing":false}'
    state b QUEUED
    run dead redrive --queue two -o table; exits 0; prints '1 redriven'
    state c QUEUED; state a DEAD_LETTER
    run dead redrive --before 2001-01-01; exits 0; prints '{"count":0,"continuing":false}'
    run dead redrive --max 5; exits 0; prints '{"count":1,"continuing":false}'
    run dead redrive --all; exits 0; prints '{"count":0,"continuing":false}'
}
test_that "redrive by filter queues what it matches and says how many" redrive_filter

discard()
{
    kill_task --id a
    run dead discard a --reason 'not worth it' -o table; exits 0; prints 'a CANCELLED'
    run dead list -o name; prints ''
    run task get a --history; shows '"action":"cancelled".*not worth it'
}
test_that "discard cancels a dead letter with its reason" discard

only_dead()
{
    add --id queued; add --id held --hold; add --id done; run task complete done
    add --id gone; run task cancel gone
    add --id paused; run task pause paused
    local one
    for one in queued held done gone paused; do
        run dead discard "$one"; refuses 4 STATE "task $one is [A-Z]+: only what is DEAD_LETTER or FAILED can be discarded"
        run dead redrive "$one"; refuses 4 STATE "task $one is [A-Z]+: only what is DEAD_LETTER or FAILED can be redriven"
    done
    state queued QUEUED; state held PENDING; state paused PAUSED
    run dead discard nobody; refuses 3 NOT_FOUND nobody
    run task pause queued; kill_task --id d; local version
    run task get d; version=$(member version)
    run dead discard d --expected-version $((version + 1)); refuses 4 CONFLICT d
    run dead redrive d --expected-version $((version + 1)); refuses 4 CONFLICT d
    run dead discard queued d -o name; exits 8; prints d
    run task resume queued
}
test_that "discard and redrive by id refuse what has not died" only_dead

running_alive()
{
    add --id r
    work -- sh -c 'pawl dead discard r 2>said; echo $? >status'
    equals 4 "$(cat status)"
    grep -q 'task r is RUNNING' said
    state r COMPLETED
}
test_that "discard does not ask a running task to cancel" running_alive

finish
