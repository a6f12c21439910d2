# Backup, restore, fsck.
. "$(dirname "$0")/lib.sh"

sql() { sqlite3 "$PAWL_DB" "$1" || complain "sqlite3 failed"; }

is_postgres() { [ "${PAWL_CLI_STORE:-file}" = postgres ]; }

copies()
{
    add --id a
    if is_postgres; then
        run backup far/copy.db; refuses 2 UNSUPPORTED 'pg_dump'
        run restore far/copy.db --yes; refuses 2 UNSUPPORTED 'pg_restore.*--raise-epochs'
        return
    fi
    run backup far/copy.db; exits 0; has to '"far/copy.db"'; shows '"bytes":[1-9]'
    equals 600 "$(stat -c %a far/copy.db)"
    run backup far/copy.db; refuses 4 CONFLICT 'there is a file far/copy.db already; --replace writes over it'
    run backup far/copy.db --replace -o name; exits 0; prints far/copy.db
    run backup far/copy.db --replace -o table; exits 0; shows '^far/copy.db: [0-9]+ bytes, checked$'
    run backup "$PAWL_DB" --replace; refuses 2 INVALID 'is the store itself'
    run backup; exits 2
    add --id b
    run --db far/copy.db task list -o name; prints a
    # One that has been looked at has a log beside it, which is not that of the next.
    [ -e far/copy.db-wal ] || complain "no log beside the copy: $(ls far)"
    run backup far/copy.db --replace; exits 0
    equals "$(printf 'copy.db\ncopy.db-turn')" "$(ls far)"
}
test_that "T-080 a backup is a store of its own, and replaces nothing unasked" copies

restores()
{
    is_postgres && return
    add --id a
    run backup copy.db; exits 0
    add --id b
    run restore copy.db; refuses 2 INVALID 'say --yes'
    run restore --yes; refuses 2 INVALID 'name the backup'
    run restore copy.db --raise-epochs --yes; refuses 2 INVALID 'name the backup'
    run task list -o name; prints "$(printf 'b\na')"
    run restore copy.db --yes; exits 0; prints '{"from":"copy.db","epochs_raised_by":1048576}'
    run task list -o name; prints a
    run task get a; has epoch 1048576
    printf 'damage' >"$PAWL_DB"
    run task list; refuses 6 CORRUPT ''
    run fsck; refuses 6 CORRUPT ''
    run restore copy.db -y -o table; exits 0; prints 'copy.db: restored, and every epoch is raised by 1048576'
    run fsck; exits 0
    run --db new.db restore copy.db --yes; exits 0
    run --db new.db task list -o name; prints a
}
restores_over_others()
{
    is_postgres && return
    add --id a
    run backup copy.db; exits 0
    echo hello >letter.txt
    run --db letter.txt restore copy.db --yes; refuses 2 UNSUPPORTED 'no Pawl store and is not replaced'
    [ "$(cat letter.txt)" = hello ] || complain "the letter is gone"
    run backup other.db; exits 0 # a store that nobody has opened yet has no turn beside it
    [ ! -e other.db-turn ] || complain "a backup has a turn"
    run --db other.db restore copy.db --yes; exits 0
    : >empty.db
    run --db empty.db restore copy.db --yes; exits 0
}
test_that "a restore replaces a store, damaged or not, and nothing else" restores_over_others
test_that "T-080 a restore brings the backup back, over damage too, only when confirmed" restores

# Runs as another user, whom the kernel refuses what the superuser may.
run_as_nobody() # ARGUMENT...
{
    [ "$(id -u)" = 0 ] || skips "only the superuser can become another user"
    cp "$PAWL_BIN" "$folder/pawl"
    chmod 755 "${folder%/*}" "$folder" "$folder/pawl"
    ran="pawl $* as nobody" status=0
    setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/pawl" "$@" >"$folder/out" 2>"$folder/err" || status=$?
}

not_allowed()
{
    is_postgres && return
    add --id a
    run backup copy.db; exits 0
    mkdir theirs; chmod 777 theirs
    run_as_nobody --db theirs/new.db restore copy.db --yes; refuses 6 IO "cannot read $folder/copy.db: Permission denied"
    chmod 644 copy.db
    cp copy.db theirs/old.db; chmod 444 theirs/old.db
    run_as_nobody --db theirs/old.db restore copy.db --yes; refuses 6 IO "cannot write to $folder/theirs/old.db: Permission denied"
    chmod 666 theirs/old.db; chmod 755 theirs
    run_as_nobody --db theirs/old.db restore copy.db --yes; refuses 6 IO "cannot make files in $folder/theirs: Permission denied"
    equals old.db "$(ls theirs)"
}
test_that "a restore that is not permitted says what may not be read or written" not_allowed

in_use()
{
    is_postgres && return
    add --id a
    run backup copy.db
    mkfifo up
    "$PAWL_BIN" worker run default --quiet -- sh -c 'echo up >up; exec cat hold' >/dev/null 2>&1 &
    worker=$!
    mkfifo hold
    read -r _ <up
    run restore copy.db --yes; refuses 6 BUSY 'stop all workers'
    : >hold
    kill "$worker"; wait "$worker"
    run restore copy.db --yes; exits 0
}
test_that "a restore is refused while a worker has the store open" in_use

raises()
{
    add --id a
    run restore --raise-epochs; refuses 2 INVALID '--yes'
    run restore --raise-epochs --yes; exits 0; prints '{"from":null,"epochs_raised_by":1048576}'
    run task get a; has epoch 1048576
    run restore --raise-epochs --yes -o table; exits 0; prints 'every epoch is raised by 1048576'
}
test_that "the epochs of a store that is back by other means can be raised" raises

clean()
{
    add --id a; add --id b --depends-on a
    work -- true
    run fsck; exits 0; prints ''; says '^[0-9]+ rows, 0 findings, 0 of them repaired$'
    run fsck -o json; exits 0; shows '^\{"findings":\[\],"rows":[0-9]+,"found":0,"repaired":0\}$'
    [ ! -s "$folder/err" ] || complain "the counts were to be said once"
    run fsck -o table; exits 0; says '^[0-9]+ rows, 0 findings, 0 of them repaired$'
    run fsck --repair --skip-file; exits 0
    run fsck --let-out a; refuses 2 INVALID 'let_out'
    run fsck --repair --let-out a; refuses 3 NOT_FOUND 'let_out'
    run --db none.db fsck; refuses 3 NOT_FOUND ''
}
test_that "fsck of a store that is well finds nothing, says how much it has read, and exits 0" clean

damaged()
{
    is_postgres && return
    add --id a; add --id b
    sql "UPDATE task SET rank = NULL WHERE id = 'a'; DELETE FROM event WHERE task = (SELECT key FROM task WHERE id = 'b')"
    run fsck; exits 1; lines 2
    shows '"check":"task.rank","task_id":"a","key":[0-9]+,"text":"[^"]+","advice":"[^"]*--repair[^"]*","can_repair":true,"is_repaired":false'
    shows '"check":"task.history","task_id":"b",.*"can_repair":false'
    run fsck -o table; exits 1; shows '^CHECK +TASK +REPAIR +FINDING$' '^task.rank +a +--repair +it may be claimed now'
    run fsck -o name; exits 1; prints "$(printf 'task.rank\ntask.history')"
    run fsck --repair; exits 1; shows '"check":"task.rank".*"is_repaired":true'
    says 'fsck.repaired.*check=task.rank'
    run fsck -o name; exits 1; prints task.history
    run task list --ready -o name; shows '^a$'
}
test_that "fsck names what is wrong, --repair mends what it can, and the rest exits 1" damaged

finish
