# What operators use: gc, doctor, top.
. "$(dirname "$0")/lib.sh"

# ---- gc ----------------------------------------------------------------------------------------------

remove_old()
{
    add --id a --key k; work -- true
    add --id b
    run task cancel b; exits 0
    add --id c
    run gc --older-than 1h; exits 0; has removed 0
    run gc --older-than 0s --dry-run; exits 0; has removed 2; has is_dry true
    run gc --older-than 0s --status cancelled; exits 0; has removed 1
    run gc --older-than 0s -o table; exits 0; prints '1 removed'
    run task get a; refuses 3 NOT_FOUND 'a ended as COMPLETED and was removed'
    run task get b; refuses 3 NOT_FOUND 'b ended as CANCELLED and was removed'
    run task add --id a; refuses 4 CONFLICT 'a is in use'
    run task add --id a --key k -o name; exits 0; prints a
    state c QUEUED
    run events -o jsonl; hides '"task_id":"a"'
}
test_that "D-61 gc removes what ended long ago, by state, or only counts it" remove_old

stays()
{
    kill_task --id a
    run task add --id b --depends-on a; exits 0
    run gc --older-than 0s; exits 0; has removed 0; has waiting 1
    run task cancel b; exits 0
    run events --consumer slow --limit 1; exits 0
    run gc --older-than 0s -o table; exits 0; prints '0 removed'; says 'consumer slow has not passed'
    run events --consumer slow --ack; exits 0
    run gc --older-than 0s; exits 0; has removed 2; has held_by null
}
test_that "B7 gc leaves what others wait for and what consumers have not passed" stays

misuse_gc()
{
    run gc; refuses 2 INVALID 'say how old'
    add --id a
    run gc --compact --dry-run --older-than 1h; refuses 2 INVALID 'dry-run'
    run gc --max 3; refuses 2 INVALID 'older-than'
    run gc --compact --status FAILED; refuses 2 INVALID 'older-than'
    run gc --older-than soon; refuses 2 INVALID 'older-than'
    run gc --older-than 1h --status RUNNING; refuses 2 INVALID 'states'
    run gc --older-than 1h --status none; refuses 2 INVALID 'no state'
}
test_that "gc says what it cannot do, and why" misuse_gc

compact()
{
    needs_own_store 'the server keeps the file open'
    head -c 2000000 /dev/zero | tr '\0' 1 >large
    add --id a --input @large
    run task cancel a; exits 0
    if [ "${PAWL_CLI_STORE:-}" = postgres ]; then
        run gc --older-than 0s --compact; refuses 2 UNSUPPORTED 'autovacuum'
        return
    fi
    local before
    before=$(stat -c %s "$PAWL_DB")
    run gc --older-than 0s --compact; exits 0; has removed 1
    [ "$(member freed_bytes)" -gt 1900000 ] || complain 'more was to be given back'
    [ "$(stat -c %s "$PAWL_DB")" -lt $((before - 1900000)) ] || complain "the file was to be smaller than $before"
    run gc --compact; exits 0; has freed_bytes 0
}
test_that "gc --compact makes the file smaller; PostgreSQL says what does it there" compact

retain()
{
    add --id a; add --id b
    run task cancel a; exits 0
    work --retain 1ms -- true
    run task get a; refuses 3 NOT_FOUND 'a ended as CANCELLED'
    run worker run --retain never -- true; refuses 2 INVALID 'retain'
}
test_that "a worker with --retain removes what has ended" retain

# ---- doctor ------------------------------------------------------------------------------------------

finding() # WHAT LEVEL REGEX
{
    shows "^\{\"level\":\"$2\",\"what\":\"$1\",\"finding\":\"[^\"]*$3"
}

healthy()
{
    add --id a
    run doctor; exits 0; finding store note 'schema [0-9]'
    hides '"level":"(warning|error)"'
    run doctor -o table; exits 0; shows '^LEVEL +WHAT +FINDING$' '^note +store +schema'
    run doctor -o json; exits 0; shows '^\{"findings":\['
}
test_that "the doctor finds nothing wrong with a store that is well" healthy

unwell()
{
    kill_task --id a
    add --id b --depends-on a
    add --id c --queue shut
    run queue pause shut; exits 0
    run doctor; exits 1
    finding dead warning '1 task failed for good, or out of tries'
    finding blocked warning '1 task blocked by one that ended badly'
    finding queue warning 'queue shut is paused with 1 task ready'
    shows '"advice":"pawl queue resume shut"'
}
test_that "the doctor names what waits for a person, and what to do" unwell

overdue()
{
    [ "${PAWL_CLI_STORE:-}" != postgres ] || skips 'the instants of a file are moved with sqlite3'
    command -v sqlite3 >/dev/null || skips 'sqlite3 is not installed'
    lose_worker --id a
    sqlite3 "$PAWL_DB" 'UPDATE task SET due_at_ms = due_at_ms - 60000'
    run doctor; exits 1; finding timers error '1 task overdue by up to [0-9]+(s|m)'
    add --id b --queue lonely
    sqlite3 "$PAWL_DB" "UPDATE task SET rank = rank - 600000 WHERE id = 'b'"
    run doctor; exits 1; finding queue warning 'nobody works on queue lonely: 1 task ready, the oldest for 10m'
    sqlite3 "$PAWL_DB" "INSERT INTO quarantine VALUES ('task', 77, 'x', '', 'broken', 1)"
    run doctor; exits 1; finding quarantine error '1 rows were set aside'
    sqlite3 "$PAWL_DB" "INSERT INTO consumer VALUES (900, 'far', 0, 1); UPDATE head SET position = 100001"
    run doctor; exits 1; finding consumer warning 'consumer far is 100001 events behind'
}
test_that "the doctor finds what is overdue, starved, set aside and far behind" overdue

# Two workers of one name, of queues of their own: which of them claims is in the case's hand.
sharing()
{
    "$PAWL_BIN" worker run --worker-id w a -- true >/dev/null 2>&1 & first=$!
    "$PAWL_BIN" worker run --worker-id w b -- true >/dev/null 2>&1 & second=$!
    for queue in a b a b; do
        add -q $queue
        run task wait "$id"; exits 0
    done
    kill -TERM $first $second
    wait $first $second
    run doctor; exits 1
    finding worker warning 'process [0-9]+ on .* and process [0-9]+ on .* both claim as worker w, last .* ago'
    add -q c; run worker run --worker-id only --until-empty c -- true; exits 0
    add -q c; run worker run --worker-id only --until-empty c -- true; exits 0
    run doctor; exits 1; hides 'worker only'
}
test_that "the doctor names ids that two workers share" sharing

files()
{
    [ "${PAWL_CLI_STORE:-}" != postgres ] || skips 'there are no files'
    add --id a
    chmod 644 "$PAWL_DB"
    run doctor; exits 1; finding permissions warning '.*is open to others'; shows '"advice":"chmod 600 [^"]*pawl.db"'
    chmod 600 "$PAWL_DB"
    run doctor; exits 0
    run doctor --db "$folder/none.db"; refuses 3 NOT_FOUND 'there is no'
    head -c 8192 /dev/urandom >broken.db
    run doctor --db "$folder/broken.db"; exits 1; finding store error 'not a database'
}
test_that "the doctor looks at the files, and at what cannot be opened" files

# ---- top ---------------------------------------------------------------------------------------------

look_once()
{
    add --id a; add --id b --queue mail
    run task start a --owner w 2>/dev/null
    run worker run --once -- sh -c 'pawl top --once -o table >top; pawl top >top.json'; exits 0
    grep -qE '^QUEUE +PAUSED +READY +RUNNING' top || complain 'no queues'
    grep -qE '^default +- +0 +1 ' top || complain "the queue of the running task: $(cat top)"
    grep -qE '^a +default +[^ ]+ +[0-9.]+s +0% ' top || complain "the running task: $(cat top)"
    grep -qE '^\{"queues":\[\{"name":"default".*"running":\[\{"id":"a"' top.json || complain 'as JSON'
}
test_that "top shows queues and what runs, once, where there is no terminal" look_once

until_seen() # FILE REGEX
{
    local i
    for i in $(seq 400); do
        ! grep -qaE "$2" "$1" 2>/dev/null || return 0
        read -rt 0.05 <>"$folder/never" || : # a pause without a process
    done
    complain "$2 was to be seen: $(tail -c 600 "$1" | tr '\033' '^')"
}

live() # starts top on a terminal; $screen has what it shows, descriptor 3 is its keyboard
{
    command -v script >/dev/null || skips 'script is not installed'
    mkfifo keys never
    screen=$folder/screen
    TERM=xterm script -qfec "stty cols 100 rows 20; echo \$\$ >pid; exec '$PAWL_BIN' top" "$screen" <keys >/dev/null 2>&1 &
    job=$!
    exec 3>keys
    until_seen "$screen" 'q ends'
}

left() # STATUS: it has ended so, and the terminal is as it was
{
    status=0
    wait "$job" || status=$?
    exec 3>&-
    equals "$1" "$status"
    tail -c 200 "$screen" | grep -qaF $'\033[?25h\033[?1049l' || complain "the screen was to be left: $(tail -c 300 "$screen")"
}

keys()
{
    add --id a
    live
    add --id b --queue news
    until_seen "$screen" '^news +- +1 '
    work news -- true
    until_seen "$screen" '[1-9]\.?[0-9]* completed|0\.[1-9] completed'
    printf x >&3
    printf q >&3
    left 0
}
test_that "top draws anew when something was committed, and q leaves the terminal as it was" keys

signals()
{
    add --id a
    live
    kill -TERM "$(cat pid)"
    left 130
}
test_that "top leaves the terminal as it was when it is told to end" signals

crashes()
{
    add --id a
    live
    kill -SEGV "$(cat pid)"
    left 139
}
test_that "top leaves the terminal as it was when it crashes" crashes

finish
