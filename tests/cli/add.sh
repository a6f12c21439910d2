# Adding tasks: by options, and line by line.
. "$(dirname "$0")/lib.sh"

options()
{
    run task add --id o --queue mail --goal 'Send it' --title T --priority 7 --max-retries 5 --timeout 90s \
        --metadata '{"who":"me"}' --correlation-id corr --key key1 --input '[1]'
    exits 0
    run task get o
    has queue '"mail"'; has goal '"Send it"'; has title '"T"'; has priority 7; has max_retries 5
    has timeout_ms 90000; has correlation_id '"corr"'; has key '"key1"'; shows '"input":\[1\]' '"who":"me"'
}
warns_of_dependencies()
{
    add --id gone
    run task cancel gone; exits 0
    run task add --id waits --depends-on gone -o name; exits 0; prints waits
    says '^pawl: the task was added, but it depends on task gone, which is CANCELLED and can no longer complete by itself$'
    run task add --id goes --depends-on gone --dependency-policy cancel -o name; exits 0
    says '^pawl: the task was added, but it was cancelled at '
    add --id fine
    run task add --depends-on fine; exits 0; ! [ -s "$folder/err" ]
}
test_that "adding a task that waits for a cancelled one is told of" warns_of_dependencies

test_that "each option of add ends up in the task" options

priorities()
{
    add --priority LOW; run task get "$id"; has priority 10
    add --priority medium; run task get "$id"; has priority 20
    add --priority HIGH; run task get "$id"; has priority 30
    add -p CRITICAL; run task get "$id"; has priority 40
    add -p 0; run task get "$id"; has priority 0
    add -p 99; run task get "$id"; has priority 99
    run task add -p 100; refuses 2 INVALID 'priority: `100`'
    run task add -p URGENT; refuses 2 INVALID 'priority: `URGENT`'
}
test_that "priorities are 0 to 99 or their names" priorities

inputs()
{
    echo '{"from":"file"}' >in.json
    add --input @in.json; run task get "$id"; shows '"input":\{"from":"file"\}'
    add --input - <in.json; run task get "$id"; shows '"input":\{"from":"file"\}'
    run task add --input @missing.json; refuses 3 NOT_FOUND 'cannot read missing.json'
    run task add --input '{"a":1,"a":2}'; refuses 2 INVALID 'input: '
    run task add --input 'hello'; refuses 2 INVALID 'input: not JSON: '
    echo hello | "$PAWL_BIN" task add --input - 2>said || true; grep -q 'input: not JSON: ' said
    run task add --metadata '[]'; refuses 2 INVALID ''
}
test_that "input is JSON from the command line, a file or standard input" inputs

keys()
{
    run task add --id k1 --key order-1 --input 1; exits 0; prints '{"id":"k1","existed":false}'
    run task add --id k1 --key order-1 --input 1; exits 0; prints '{"id":"k1","existed":true}'
    run task add --id k1 --key order-1 --input 2; refuses 4 CONFLICT ''
    run task add --id k1; refuses 4 CONFLICT k1
    run task list -o name; prints k1
}
test_that "the same key and content give the first task again, other content is a CONFLICT" keys

dependencies()
{
    add --id a; add --id b --depends-on a
    run task get b; has open_dependencies 1; shows '"depends_on":\["a"\]'
    run task list --ready -o name; prints a
    run task complete a
    run task list --ready -o name; prints b
    run task add --depends-on ghost; refuses 2 INVALID ghost
    run task add --id c --depends-on ghost --allow-missing-dependencies; exits 0
    run task add --dependency-policy maybe; refuses 2 INVALID 'block, cancel and ignore'
}
test_that "a task waits for those it depends on" dependencies

policies()
{
    add --id p; add --id q --depends-on p --dependency-policy cancel
    add --id r --depends-on p --dependency-policy ignore
    run task cancel p; exits 0
    state q CANCELLED
    run task list --ready -o name; prints r
}
test_that "the policy says what becomes of a task whose dependency was cancelled" policies

later()
{
    add --id l --delay 1h; run task list --ready -o name; prints ''
    run task get l; shows '"next_retry_at_ms":[0-9]{13},'
    add --id m --run-at 2099-01-01T00:00:00Z; run task get m; shows '"next_retry_at_ms":4070908(799|800)[0-9]{3},'
    add --id n --run-at 2001-01-01; run task list --ready -o name; prints n
}
test_that "--delay and --run-at keep a task from being given out" later

zero_means_none()
{
    add --id z --max-retries 0; run task get z; has max_retries 0
    add --id y --retry-delay 0 --max-retries 2
    work -- false
    run task get y; has state '"DEAD_LETTER"'; has retries 3
}
test_that "0 retries are none, and a delay of 0 is none" zero_means_none

retry_delays()
{
    add --id d --retry-delay 1h --backoff fixed
    work -- false
    state d QUEUED
    run task get d; shows '"next_retry_at_ms":[0-9]{13}'
    run task add --backoff quadratic; refuses 2 INVALID 'exponential, linear and fixed'
}
test_that "a retry waits as its task says" retry_delays

# ---- Lines -------------------------------------------------------------------------------------------

lines_answered()
{
    printf '%s\n' '{"id":"a","queue":"mail"}' '' '{"id":"b","priority":"HIGH","delay_ms":"1h"}' >in
    run task add --jsonl <in; exits 0
    prints "$(printf '{"id":"a","existed":false}\n{"id":"b","existed":false}')"
    run task get b; has priority 30; shows '"next_retry_at_ms":[0-9]{13}'
    printf '{"id":"c"}' | "$PAWL_BIN" task add --jsonl -o name >out2; equals c "$(cat out2)"
}
test_that "--jsonl answers each line by one line, in order" lines_answered

lines_in_a_circle()
{
    cat >in <<'END'
{"id":"first"}
{"id":"x","depends_on":["#2"]}
{"id":"y","depends_on":["#3"]}
{"depends_on":["x","first"]}
{"id":"after","depends_on":["y"]}
{"id":"self","depends_on":["self"]}
{"id":"last","depends_on":["first"]}
END
    run task add --jsonl -o name <in; exits 8; prints $'first\nlast'
    says '^pawl: INVALID: line 2: depends_on: it waits for itself: x waits for y waits for #3 waits for x$'
    says '^pawl: INVALID: line 3: depends_on: it waits for itself: y waits for #3 waits for x waits for y$'
    says '^pawl: INVALID: line 4: depends_on: it waits for itself: #3 waits for x waits for y waits for #3$'
    says 'line 5: .*y'
    says '^pawl: INVALID: line 6: depends_on: it waits for itself: self waits for self$'
    run task list --all -o name; lines 2
}
test_that "--jsonl names the members of a circle of dependencies, and adds all others" lines_in_a_circle

lines_warn_of_dependencies()
{
    add --id gone
    run task cancel gone; exits 0
    echo '{"id":"waits","depends_on":["gone"]}' >in
    echo '{"id":"goes","depends_on":["gone"],"dependency_policy":"cancel"}' >>in
    run task add --jsonl -o name <in; exits 0; prints $'waits\ngoes'
    says '^pawl: line 1: the task was added, but it depends on task gone, which is CANCELLED and can no longer complete by itself$'
    says '^pawl: line 2: the task was added, but it was cancelled at '
}
test_that "--jsonl tells of each line that can never become ready by itself, as one task is told of" lines_warn_of_dependencies

lines_depend()
{
    printf '%s\n' '{"id":"x","depends_on":["#1"]}' '{"id":"y"}' '{"id":"z","depends_on":["#0","y"]}' >in
    run task add --jsonl <in; exits 0; lines 3
    run task get x; shows '"depends_on":\["y"\]'
    run task get z; shows '"depends_on":\["x","y"\]'
    run task list --ready -o name; prints y
}
test_that "\"#n\" is task n of the input, before or after the line that says so" lines_depend

lines_far()
{
    local i
    for ((i = 0; i < 1200; i++)); do echo '{}'; done >in
    echo '{"id":"last","depends_on":["#0","#499","#500","#1199"]}' >>in
    run task add --jsonl -o name <in; exits 0; lines 1201
    local want
    want=$(sed -n '1p;500p;501p;1200p' "$folder/out" | sed 's/.*/"&"/' | paste -sd,)
    run task get last; shows "\"depends_on\":\[$want\]"
    has open_dependencies 4
}
test_that "\"#n\" reaches over any number of lines" lines_far

lines_fail()
{
    printf '%s\n' '{"id":"a"}' '{"id":"b","prioritee":3}' '{"id":"c","depends_on":["#1"]}' 'nonsense' \
        '{"id":"a"}' '{"id":"d"}' >in
    run task add --jsonl <in; exits 8; lines 6
    shows '^\{"id":"a","existed":false\}$' '^\{"id":"d","existed":false\}$'
    shows '^\{"line":2,"error":\{"code":"INVALID","text":".*did you mean `priority`'
    shows '^\{"line":3,"error":\{"code":"INVALID","text":".*#1 has not been added'
    shows '^\{"line":4,"error":\{"code":"INVALID","text":"not JSON: column '
    shows '^\{"line":5,"error":\{"code":"CONFLICT"'
    equals '' "$(cat "$folder/err")"
    run task list -o name; equals 'a d' "$(sort "$folder/out" | xargs)"
}
test_that "bad lines are left out, each is told, and the exit status is 8" lines_fail

lines_fail_as_text()
{
    printf '%s\n' '{"id":"a"}' '' 'nonsense' '{"prioritee":3}' '   ' '{"id":"b"}' >in
    local form
    for form in name table; do
        run task add --jsonl -o $form --db "$near_db" <in; exits 8
        says '^pawl: INVALID: line 3: not JSON: column [0-9]+: ' '^pawl: INVALID: line 4: a task has no `prioritee`'
        equals 1 "$(grep -o 'not JSON' "$folder/err" | wc -l)"
        [ $form = table ] || prints "$(printf 'a\nb')"
        sed -i 's/"id":"\([ab]\)"/"id":"\1\1"/' in
    done
}
test_that "where lines are answered by ids, what is wrong is told on standard error, once" lines_fail_as_text

lines_all_fail() { echo '[]' | "$PAWL_BIN" task add --jsonl >out2 2>said || status=$?; equals 2 "$status"; }
test_that "when all lines fail the exit status is that of the first" lines_all_fail

lines_at_once()
{
    local answer
    coproc ADDER { exec "$PAWL_BIN" task add --jsonl -o name 2>/dev/null; }
    echo '{"id":"one"}' >&"${ADDER[1]}"
    read -r answer <&"${ADDER[0]}"; equals one "$answer"
    echo '{"id":"two"}' >&"${ADDER[1]}"
    read -r answer <&"${ADDER[0]}"; equals two "$answer"
    exec {ADDER[1]}>&-
    wait "$ADDER_PID"
}
test_that "a program may write a line and read its answer before it writes the next" lines_at_once

lines_round_trip()
{
    add --id r --queue q --title t --goal g --priority 44 --input '{"a":1}' --metadata '{"b":2}' --timeout 5s
    run task get r; cp "$folder/out" exported
    run --db other.db task add --jsonl <exported; exits 0
    run --db other.db task get r
    has queue '"q"'; has title '"t"'; has goal '"g"'; has priority 44; has timeout_ms 5000
    shows '"input":\{"a":1\}' '"b":2'
}
test_that "what get prints can be added to another store" lines_round_trip

lines_values()
{
    local line
    while read -r line; do
        echo "$line" | "$PAWL_BIN" task add --jsonl >out2 2>said && complain "this was to be refused: $line"
        grep -q '"code":"INVALID"' out2 || complain "INVALID was wanted for $line"
    done <<'LINES'
{"id":7}
{"priority":100}
{"priority":"SOON"}
{"max_retries":-1}
{"hold":"yes"}
{"delay_ms":"soon"}
{"run_at_ms":"tomorrow"}
{"depends_on":"a"}
{"depends_on":[1]}
{"depends_on":["#x"]}
{"depends_on":["#9"]}
{"metadata":[]}
{"backoff":"none"}
{"dependency_policy":1}
{"queue":"a","queue":"b"}
LINES
}
test_that "a value of the wrong kind in a line is INVALID" lines_values

words_in_any_case()
{
    add --id w --backoff Fixed --retry-delay 1h --priority high
    echo '{"id":"v","backoff":"LINEAR","dependency_policy":"Ignore"}' | "$PAWL_BIN" task add --jsonl >out2
    add --dependency-policy CANCEL
}
test_that "words may be written in any case" words_in_any_case

lines_options() { run task add --jsonl --queue x </dev/null; refuses 2 INVALID '--queue does not go with --jsonl'; }
test_that "options of one task do not go with --jsonl" lines_options

finish
