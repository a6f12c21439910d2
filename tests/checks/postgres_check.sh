# tools/with_postgres: a server of its own that is gone afterwards.
. tests/checks/lib.sh

mkdir -p "$tmp/a b" # paths with blanks work
TMPDIR="$tmp/a b"
export TMPDIR

is_gone() { [ -z "$(ls -A "$TMPDIR")" ]; }

answers()
{
    # shellcheck disable=SC2016 # for the inner shell
    tools/with_postgres sh -c 'test -S "$(ls -d "$TMPDIR"/pawl-pg.*)"/.s.PGSQL.5432 &&
        case $PAWL_TEST_POSTGRES in postgres:///postgres\?host=%2F*a%20b*\&user=postgres) ;; *) exit 9 ;; esac' &&
        is_gone
}

passes_status_on()
{
    tools/with_postgres sh -c 'exit 7'
    [ $? -eq 7 ] && is_gone
}

ends_on_signal()
{
    mkfifo "$tmp/ready"
    tools/with_postgres sh -c "echo >'$tmp/ready'; exec sleep 60" &
    read -r _ <"$tmp/ready"
    kill -TERM $!
    wait $!
    [ $? -eq 143 ] && is_gone
}

chmod 755 "$tmp" # the server's own user has to pass
holds "a command finds its own PostgreSQL server" answers
holds "the status of the command beside the server is passed on" passes_status_on
holds "a signal stops the command, the server, and leaves nothing behind" ends_on_signal

finish
