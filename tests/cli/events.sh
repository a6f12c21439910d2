# pawl events: what has happened, and consumers.
. "$(dirname "$0")/lib.sh"

read_all()
{
    add --id a
    run task cancel a
    run events; exits 0; lines 3
    shows '^\{"position":1,"id":"[0-9a-f-]{36}","task_id":"a","queue":"default","sequence":1,"at_ms":[0-9]{13},"type":"task_created",.*"state":"PENDING","epoch":0,"version":[0-9]+,"progress":0,"retries":0,"next_retry_at_ms":null,"success":true,"duration_ms":0,"actor":"tester",'
    shows '"type":"task_queued"' '"type":"task_cancelled"'
    run events --after 2; lines 1; shows '^\{"position":3,.*"type":"task_cancelled"'
    run events --limit 2; lines 2
    run events -o json; shows '^\{"events":\[$' '^\]\}$'
    run events -o table; lines 4; shows '^POSITION +AT +TASK +TYPE +STATE +DETAIL' '^ +1 .* a +task_created +PENDING'
    run events -o name; lines 3; shows '^[0-9a-f-]{36}$'
    run events --after 99; exits 0; prints ''
}
test_that "events are read in the order of their positions, also after one and up to a number" read_all

follow()
{
    add --id a
    mkfifo pipe
    "$PAWL_BIN" events -f --after 2 >pipe 2>said &
    local follower=$! line status=0
    exec 3<pipe
    "$PAWL_BIN" task pause a >/dev/null
    read -r line <&3; [[ $line == *'"type":"task_paused"'* ]]
    "$PAWL_BIN" task resume a >/dev/null
    read -r line <&3; [[ $line == *'"type":"task_queued"'* ]]
    kill -INT $follower
    wait $follower || status=$?
    equals 130 $status
}
test_that "-f goes on with what happens and ends with an interrupt and 130" follow

follow_runs_timers()
{
    lose_worker --id w --max-retries 0
    mkfifo pipe
    "$PAWL_BIN" events -f >pipe 2>said &
    local follower=$! line=
    exec 3<pipe
    until [[ $line == *'"type":"task_dead_lettered"'* ]]; do read -r line <&3; done
    kill -INT $follower
    wait $follower || equals 130 $?
}
test_that "-f does what comes due" follow_runs_timers

consumer()
{
    add --id a
    run events --consumer mailer; exits 0; lines 2
    run events --consumer mailer; lines 2
    run events --consumer mailer --ack; lines 2
    run events --consumer mailer; exits 0; prints ''
    run task cancel a
    run events --consumer mailer --ack; lines 1; shows '"type":"task_cancelled"'
    run events --consumer other; lines 3
    run events --consumer third --ack --limit 1; lines 1; shows '"position":1,'
    run events --consumer third --ack; lines 2
}
test_that "a consumer gets each event again until it acknowledges it" consumer

acknowledge_one()
{
    add --id a
    run events --consumer c -o name; lines 2
    local first
    first=$(head -n 1 "$folder/out")
    run events --consumer c --ack-id "$first"; exits 0; prints "{\"id\":\"$first\",\"is_first\":true}"
    run events --consumer c --ack-id "$first"; exits 0; prints "{\"id\":\"$first\",\"is_first\":false}"
    run events --consumer c; lines 1; shows '"type":"task_queued"'
}
test_that "an event acknowledged by its id does not come again" acknowledge_one

cut_off()
{
    local i follower line status=0
    for ((i = 0; i < 400; i++)); do echo '{}'; done >tasks
    "$PAWL_BIN" task add --jsonl <tasks >/dev/null
    mkfifo stuck
    "$PAWL_BIN" events -o jsonl >stuck 2>said &
    follower=$!
    exec 3<stuck
    read -r line <&3 # the rest is more than a pipe takes: it is stuck now, or will be
    kill -TERM $follower
    wait $follower || status=$?
    exec 3<&-
    equals 130 $status
}
test_that "a listing that nobody reads ends with a signal" cut_off

consumer_follow()
{
    add --id a
    mkfifo pipe
    "$PAWL_BIN" events -f --consumer c --ack >pipe 2>said &
    local follower=$! line status=0
    exec 3<pipe
    read -r line <&3; [[ $line == *'"type":"task_created"'* ]]
    read -r line <&3; [[ $line == *'"type":"task_queued"'* ]]
    "$PAWL_BIN" task cancel a >/dev/null
    read -r line <&3; [[ $line == *'"type":"task_cancelled"'* ]]
    kill -TERM $follower
    wait $follower || status=$?
    equals 130 $status
}
test_that "a consumer can follow" consumer_follow

stays_away()
{
    # Two events a try: enough for its history to be cut.
    add --id a --max-retries 170 --retry-delay 0
    run events --consumer gone -n 1; exits 0
    run worker run --consumer-keep 0 -- true; refuses 2 INVALID 'consumer-keep: 0 has no meaning'
    run worker run --consumer-keep soon -- true; refuses 2 INVALID 'consumer-keep: `soon` is no duration'
    work --quiet --consumer-keep 1h -- false
    run events --consumer gone --ack; exits 0; lines $((3 + 2 * 170 + 1))
    run task resume a; exits 0
    work --quiet --consumer-keep 1ms -- false
    says 'event=consumer.dropped consumer=gone '
}
test_that "a worker drops the consumers that stay away longer than --consumer-keep" stays_away

unwritten()
{
    add --id a
    ran="pawl events --consumer c --ack >/dev/full" status=0
    "$PAWL_BIN" events --consumer c --ack >/dev/full 2>"$folder/err" || status=$?
    exits 6
    run events --consumer c; lines 2
}
test_that "what could not be written is not acknowledged" unwritten

mistakes()
{
    add
    run events --ack; refuses 2 INVALID 'only a --consumer'
    run events --ack-id x; refuses 2 INVALID 'only a --consumer'
    run events --consumer c --after 1; refuses 2 INVALID 'its own position'
    run events --consumer ''; refuses 2 INVALID 'empty'
    run events --consumer c -f; refuses 2 INVALID 'needs --ack'
}
test_that "options that do not go together are INVALID" mistakes

finish
