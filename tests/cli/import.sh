# pawl import: the tasks of an older task manager. What becomes of each field is in tests/import.
. "$(dirname "$0")/lib.sh"

old() # writes old.json
{
    cat >old.json <<'JSON'
{"task-1": {"id": "task-1", "title": "One", "status": "COMPLETED", "result": "good", "metadata": {"a": 1}, "colour": 1},
 "task-2": {"id": "task-2", "status": "QUEUED", "depends_on": ["task-1"], "next_retry_at": "soon"},
 "task-3": {"id": "task-3", "status": "RUNNING", "lease_epoch": 3}}
JSON
}

imports()
{
    old
    local before
    before=$(cksum old.json)
    run import old.json; exits 0; lines 1
    has imported true; has tasks 3; has handed_back 1; has form '"json"'
    shows '"ignored_keys":\{"task.colour":1\},"refused":\[\],"changed":\[\{"task":"task-2","text":"next_retry_at: ' 
    equals "$before" "$(cksum old.json)"
    state task-1 COMPLETED; has title '"One"'
    state task-2 QUEUED
    run task result task-1; prints '"good"'
    work -- true
    state task-2 COMPLETED; state task-3 COMPLETED; has epoch 5
    run events --limit 1; shows '"type":"task_created".*"imported":true'
    run import old.json; exits 4; says '^pawl: CONFLICT: .*has been imported already: 3 tasks of old.json'
    has imported false
}
test_that "T-029 a JSON store is imported, is left as it was, and a second import of it is refused" imports

long_ids()
{
    local long
    long=a$(printf '.%.0s' {1..126})
    echo "{\"1\": {\"id\": \"${long}1\", \"status\": \"QUEUED\"}, \"2\": {\"id\": \"${long}2\", \"status\": \"QUEUED\"}}" >old.json
    run import old.json; exits 0
    add --id after --depends-on "${long}1"
    work -- true
    state "${long}1" COMPLETED; state "${long}2" COMPLETED; state after COMPLETED
}
test_that "imported ids of 128 bytes are worked on as any other" long_ids

trial()
{
    old
    run import old.json --dry-run; exits 0; has imported false; has tasks 3
    [ "${PAWL_CLI_STORE:-}" = postgres ] || equals no "$([ -e pawl.db ] && echo yes || echo no)"
    add --id task-2
    run import old.json --dry-run --json -o table; exits 4
    shows '"refused":\[\{"task":"task-2","text":"id: is in use in the store"\}\]'
    run task list -o name; lines 1
    run import old.json; exits 4
    run task list -o name; lines 1
}
test_that "--dry-run tells all that an import would, and keeps nothing" trial

as_text()
{
    old
    run import old.json -o table; exits 0
    prints '3 tasks in old.json: 1 QUEUED 1 RUNNING 1 COMPLETED; 0 checkpoints, 0 events
1 RUNNING: queued again, a retry charged
ignored task.colour: not known here, 1 times
changed task-2: next_retry_at: "soon" is no instant: none
imported'
}
test_that "the report can be read by people" as_text

refused()
{
    echo '{"a": {"id": "a"}, "b": {"id": "b", "status": "LOST"}, "c": {}}' >bad.json
    run import bad.json -o table; exits 2
    says '^pawl: INVALID: bad.json: 2 complaints, nothing is imported; the first: b: status: "LOST" is none$'
    shows '^refused b: status: "LOST" is none$' '^refused c: id: is missing$' '^nothing was imported$'
    [ "${PAWL_CLI_STORE:-}" = postgres ] || equals no "$([ -e pawl.db ] && echo yes || echo no)"
    run import absent.json; refuses 3 NOT_FOUND 'absent.json'
    run import .; refuses 2 INVALID 'is not a file'
    mkfifo pipe
    run import pipe; refuses 2 INVALID 'pipe is not a file'
    run import; exits 2
}
test_that "T-029 one record that cannot be read refuses the whole and is named" refused

at_open()
{
    old
    local before
    before=$(cksum old.json)
    run task list --db old.json; refuses 2 UNSUPPORTED 'pawl import'
    run task add --db old.json; refuses 2 UNSUPPORTED 'pawl import'
    equals "$before" "$(cksum old.json)"
    equals old.json "$(ls old.json*)"
}
test_that "an older store named by --db is refused unchanged, with a sentence that names pawl import" at_open

many() # COUNT BYTES: so many tasks with a goal of so many bytes, each waiting for the next
{
    awk -v count="$1" -v bytes="$2" 'BEGIN {
        goal = sprintf("%" bytes "s", ""); gsub(/ /, "g", goal)
        for (i = 0; i < count; i++)
            printf "%s\"t%d\":{\"id\":\"t%d\",\"status\":\"QUEUED\",\"goal\":\"%s\",\"depends_on\":[%s]}", \
                i ? ",\n" : "{", i, i, goal, i + 1 < count ? "\"t" i + 1 "\"" : ""
        print "}"
    }' >many.json
}

bounded()
{
    many 20000 4000
    # a sanitizer has more data than that of its own
    local limit=40000
    grep -q __asan_init "$PAWL_BIN" && limit=unlimited
    grep -q __tsan_init "$PAWL_BIN" && limit=unlimited
    ulimit -d $limit
    run import many.json; exits 0; has tasks 20000
    run task list --ready -o name; prints t19999
}
test_that "80 MB of tasks are imported in 40 MB" bounded

full()
{
    [ "${PAWL_CLI_STORE:-}" != postgres ] || return 0
    command -v sqlite3 >/dev/null || skips 'sqlite3 is not installed'
    # more than SQLite keeps in memory, so that the disk is full before the commit
    sqlite3 many.sqlite3 "CREATE TABLE tasks (id TEXT, status TEXT, goal TEXT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        INSERT INTO tasks SELECT 't' || i, 'QUEUED', printf('%.3000c', 'g') FROM n;
        PRAGMA user_version = 3"
    add --id first
    status=0
    (trap '' XFSZ; ulimit -f 1000; exec "$PAWL_BIN" import many.sqlite3 >"$folder/out" 2>"$folder/err") || status=$?
    exits 6; says '^pawl: IO: '
    run task list -o name --all; prints first
    run import many.sqlite3; exits 0
    run task list -o name --all; lines 6001
}
no_room_for_a_copy()
{
    many 1 4000
    status=0
    (trap '' XFSZ; ulimit -f 1; exec "$PAWL_BIN" import many.json >/dev/null 2>"$folder/err") || status=$?
    exits 6; says '^pawl: IO: cannot copy many.json: '
}
test_that "a JSON file that there is no room to copy is not imported, and says so" no_room_for_a_copy

test_that "an import for which there is no room leaves the store as it was" full

finish
