# Workers, their commands, clients and whoever recovers are killed with -9, over and over, under load: every
# acknowledged task ends exactly once, and nothing runs twice at a time.
#
# PAWL_KILL_ROUNDS (50) says how often, PAWL_KILL_SEED (1) which choices are made; what was done is
# added to the file PAWL_KILL_FIGURES. A round adds some tasks, lets
# the load go on for a moment, and kills somebody.
. "$(dirname "$0")/../cli/lib.sh"

rounds=${PAWL_KILL_ROUNDS:-50}
workers=()
recoverer=

start_worker() # INDEX
{
    "$PAWL_BIN" worker run load --quiet --slots 2 --lease 300ms --grace 100ms --worker-id "w$1" -- \
        bash "$here/../kill_loop/command.sh" 2>>"said$1" </dev/null &
    workers[$1]=$!
}

start_recoverer()
{
    "$PAWL_BIN" events --follow -o jsonl >/dev/null 2>>recoverer </dev/null &
    recoverer=$!
}

# Adds five tasks, and keeps the ids of those that were acknowledged.
start_client() # ROUND
{
    local i
    for i in 1 2 3 4 5; do
        echo "{\"id\":\"t$1-$i\",\"queue\":\"load\",\"max_retries\":1000,\"retry_delay_ms\":1,\"priority\":$((RANDOM % 100))}"
    done >"asks$1"
    "$PAWL_BIN" task add --jsonl <"asks$1" >"answers$1" 2>>client &
    client=$!
}

pause_for() # MILLISECONDS: the load goes on
{
    read -r -t "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))" <>never || :
}

kill_one() # PID: and waits until it has gone
{
    kill -KILL "$1" 2>/dev/null || :
    wait "$1" 2>/dev/null || :
}

kill_command()
{
    local all=(running/*) choice=$RANDOM pid
    pid=$(cat "${all[choice % ${#all[@]}]}" 2>/dev/null) || return 0
    # The number may be somebody else's by now.
    grep -qzxF "KILL_LOOP=$folder" "/proc/$pid/environ" 2>/dev/null || return 0
    kill -KILL "$pid" 2>/dev/null || :
}

one_round() # NUMBER
{
    local victim=$((RANDOM % 3))
    start_client "$1"
    case $((RANDOM % 6)) in
    0) pause_for $((RANDOM % 30)); kill_one $client ;;
    1) pause_for $((RANDOM % 400)); kill_one "${workers[victim]}"; start_worker $victim ;;
    2) pause_for $((RANDOM % 400)); kill_command ;;
    3) pause_for $((RANDOM % 400)); kill_command; kill_one "${workers[victim]}"; kill_command; start_worker $victim ;;
    4) pause_for $((RANDOM % 600)); kill_one $recoverer; start_recoverer ;;
    5) # everybody
        pause_for $((RANDOM % 400))
        for victim in 0 1 2; do kill_one "${workers[victim]}"; done
        kill_one $recoverer
        for victim in 0 1 2; do start_worker $victim; done
        start_recoverer
        ;;
    esac
    wait $client 2>/dev/null || :
}

# Kills what is left when the case ends early, too: by the ids we have.
end_all()
{
    local pid
    for pid in "${workers[@]}" $recoverer; do kill -KILL "$pid" 2>/dev/null || :; done
}

# Three deaths while a row is tried set it aside, as if it had caused them; here it may have been us. Then an operator
# gives that task back, as docs/keeping.md says. What many rounds leave takes its time: it is waited for as long as
# some of it ends.
wait_for() # IDS
{
    local before=0 ended
    aside=0
    while :; do
        # shellcheck disable=SC2086 # ids
        run task wait --timeout 60s -o name $1
        [ "$status" -ne 0 ] || return 0
        deadly=$(sed -n 's/.*CORRUPT: task \([^ ]*\) .* its due work has killed its process.*/\1/p' "$folder/err" |
            head -n 1)
        if [ -n "$deadly" ]; then
            run fsck --repair --let-out "$deadly"; exits 0
            aside=$((aside + 1))
            [ $aside -le 10 ] || complain "row after row is set aside"
            continue
        fi
        ended=$(wc -l <"$folder/out")
        [ "$ended" -gt "$before" ] || exits 0
        before=$ended
    done
}

kill_loop()
{
    local i aside=0
    RANDOM=${PAWL_KILL_SEED:-1}
    export KILL_LOOP=$folder
    mkdir locks running
    mkfifo never
    : >cries; : >ended
    for i in 0 1 2; do start_worker $i; done
    start_recoverer
    trap end_all EXIT
    for ((i = 1; i <= rounds; i++)); do one_round $i; done

    # From here nobody is killed. What is acknowledged ends.
    local acked
    acked=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' answers*)
    wait_for "$acked"
    equals '' "$(cat cries)"
    for i in 0 1 2; do
        kill -TERM "${workers[i]}"
        status=0
        wait "${workers[i]}" || status=$?
        equals 0 $status
    done
    workers=()
    kill_one "$recoverer"
    recoverer=

    run events -o jsonl; exits 0
    cp "$folder/out" events
    grep '"type":"task_completed"' events | sed 's/.*"task_id":"\([^"]*\)".*/\1/' | sort >completed
    equals '' "$(uniq -d completed)"
    equals '' "$(echo "$acked" | sort | comm -23 - completed)"
    equals '' "$(sort -u ended | comm -23 completed -)" # each has done its work
    run task list --all -o name -s QUEUED,RUNNING,RECOVERY_PENDING,DEAD_LETTER; prints ''
    run fsck; exits 0
    echo "seed ${PAWL_KILL_SEED:-1}, $rounds rounds: $(wc -l <completed) tasks, $(wc -l <ended) times done," \
        "$(grep -c '"type":"task_recovery_pending"' events) leases lost, $aside rows set aside and taken back" >>"${PAWL_KILL_FIGURES:-/dev/null}"
}
test_that "workers, commands, clients and whoever recovers are killed with -9: every task ends once, and nothing runs twice at a time" kill_loop

finish
