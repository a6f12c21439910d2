# A disk that fills while 1 000 tasks are under way, and is freed again: nothing acknowledged is lost, and work goes
# on by itself. The store is on a small file system of its own, which the test mounts where nobody else sees it. On
# PostgreSQL that is a tablespace of a server of the test's own; the server's log is elsewhere, since when that finds no
# room the server ends, which is no matter of ours.
if [ -z "${PAWL_FULL_DISK:-}" ] && [ "${1:-}" != --list ]; then
    PAWL_FULL_DISK=$(mktemp -d) || exit 2
    export PAWL_FULL_DISK
    trap 'rmdir "$PAWL_FULL_DISK"' EXIT
    ways=('--mount' '--user --map-root-user --mount')
    beside=(bash)
    if [ "${PAWL_CLI_STORE:-}" = postgres ]; then
        ways=('--mount') # as the root of a user namespace no server can be started
        beside=(tools/with_postgres bash)
    fi
    for how in "${ways[@]}"; do
        # shellcheck disable=SC2086 # words
        unshare $how mount -t tmpfs -o size=1m none "$PAWL_FULL_DISK" 2>/dev/null || continue
        # shellcheck disable=SC2016,SC2086
        unshare $how bash -c 'mount -t tmpfs -o size=24m none "$PAWL_FULL_DISK" && "$@"' - "${beside[@]}" "$0" "$@"
        exit
    done
    PAWL_FULL_DISK=none bash "$0" "$@"
    exit
fi
. "$(dirname "$0")/../cli/lib.sh"

make_store()
{
    export PAWL_DB=$PAWL_FULL_DISK/pawl.db
    [ "${PAWL_CLI_STORE:-}" = postgres ] && [ "$PAWL_FULL_DISK" != none ] || return 0
    chmod 755 "$PAWL_FULL_DISK"
    mkdir -m 700 "$PAWL_FULL_DISK/space"
    chown postgres "$PAWL_FULL_DISK/space"
    psql -qX "$PAWL_TEST_POSTGRES" -c "CREATE TABLESPACE small LOCATION '$PAWL_FULL_DISK/space'" -c 'CREATE SCHEMA small'
    PAWL_DB="$PAWL_TEST_POSTGRES&options=-csearch_path%3Dsmall%20-cdefault_tablespace%3Dsmall"
}

fills()
{
    [ "$PAWL_FULL_DISK" != none ] || skips "no file system can be mounted here; for PostgreSQL only root can"
    local i worker
    for ((i = 1; i <= 1000; i++)); do
        echo "{\"id\":\"d$i\",\"input\":\"$(printf '%0500d' $i)\",\"retry_delay_ms\":1,\"max_retries\":1000}"
    done | "$PAWL_BIN" task add --jsonl >answers
    equals 1000 "$(grep -c '"existed":false' answers)"
    "$PAWL_BIN" worker run --until-empty --slots 4 -- sh -c 'echo "$PAWL_TASK_ID" >>ran; head -c 2000 /dev/zero | tr "\0" x' 2>said &
    worker=$!
    until [ -e ran ] && [ "$(wc -l <ran)" -ge 100 ]; do :; done

    ! cat /dev/zero >"$PAWL_FULL_DISK/filler" 2>full
    grep -q 'No space left' full
    # It is felt: something is refused. What is refused now was never acknowledged.
    until grep -qE 'level=(warn|error)' said; do
        kill -0 $worker || complain "the worker has ended"
        cat /dev/zero >>"$PAWL_FULL_DISK/filler" 2>/dev/null || :
    done
    head -c 200000 /dev/zero | tr '\0' 1 >large
    run task add --id refused --input @large
    exits 6
    rm "$PAWL_FULL_DISK/filler"

    status=0
    wait $worker || status=$?
    equals 0 $status
    run task list --all -o name -s COMPLETED; lines 1000
    run task list --all -o name; lines 1000
    run events -o jsonl; exits 0
    equals 1000 "$(grep -c '"type":"task_completed"' "$folder/out")"
    run fsck; exits 0
    equals 1000 "$(sort -u ran | wc -l)"
}
test_that "a disk that fills under 1 000 tasks and is freed again loses nothing acknowledged, and work goes on by itself" fills

finish
