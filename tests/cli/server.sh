# pawl server: its start, what it says of itself, its end. What it answers on the wire is in tests/net.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/served.sh"

speaks()
{
    add
    start_server
    get /health; shows '^HTTP/1.1 200 OK' '"healthy":true'
    get /api/health; shows '"healthy":true'
    get /ready; shows '^HTTP/1.1 200 OK' '"ready":true'
    get /v1/version; shows '^Content-Type: application/json$' "\"version\":\"$("$PAWL_BIN" version -o name | sed 's/^pawl //')\""
    get /api/version; shows '^Content-Type: text/plain;charset=UTF-8$' '^[0-9]+\.[0-9]+\.[0-9]+'
    get /v1/openapi.json; shows '"openapi":"3\.0\.3"' '"/ready":\{"get"'
    get /nothing; shows '^HTTP/1.1 404' '"code":"NOT_FOUND"'
    stop_server
}
test_that "the server says where it listens, how it is, and what can be asked" speaks

counts()
{
    kill_task
    start_server
    get /health
    get /metrics
    shows '^pawl_store_up 1$' '^pawl_tasks_dead_letters 1$' \
        '^pawl_http_requests_total\{verb="GET",route="/health",status="200"\} 1$' '^pawl_http_connections 1$' \
        '^pawl_queue_ready\{queue="default"\} 0$' '^pawl_queues 1$' '^pawl_events_total\{type="task_created",action=""\} 0$' \
        '^pawl_workflows_ended_total\{state="COMPLETED"\} 0$' '^pawl_step_ms_bucket\{le="\+Inf"\} '
    stop_server
}
test_that "the metrics count requests and tell of the store" counts

does_what_is_due()
{
    add --delay 50ms
    start_server --retain 1ms
    run worker run --once -- true; exits 0 # it waits for the task to come due
    until ! "$PAWL_BIN" task get "$id" >/dev/null 2>&1; do :; done
    stop_server
}
test_that "the server does what comes due, retention too" does_what_is_due

says_what_it_did()
{
    start_server --verbose
    get /health
    get /nothing
    stop_server
    ran="pawl server --verbose" status=0
    cp log "$folder/err"
    says 'level=debug event=http.request request=[0-9a-f-]+ verb=GET path=/health status=200' \
        'level=info event=http.request .*path=/nothing status=404 code=NOT_FOUND' 'event=server.draining' \
        'event=server.stopped .*connections=0'
}
test_that "the log has each request with its id, and the end" says_what_it_did

works()
{
    start_server
    post /v1/tasks '{"id":"h","input":{"n":9007199254740993}}'
    shows '^HTTP/1.1 20[01]' '"id":"h","existed":false'
    run task get h; has state '"QUEUED"' # the same store
    post /v1/tasks/claim '{"worker_id":"w"}'
    shows '^HTTP/1.1 200' '"input":\{"n":9007199254740993\}' '"epoch":1'
    post /v1/tasks/h/complete '{"owner":"w","epoch":1,"result":"done"}'
    shows '^HTTP/1.1 200'
    post /v1/tasks/h/complete '{"owner":"w","epoch":2,"result":"other"}'
    shows '^HTTP/1.1 409' '"code":"LEASE_LOST"'
    get /v1/tasks/h; shows '"state":"COMPLETED"' '"result":"done"'
    stop_server
}
test_that "a task is added, worked on and looked at over HTTP" works

waits_over_http()
{
    start_server
    # A claim that waits is answered, empty, when the server drains.
    post /v1/tasks/claim '{"worker_id":"w","wait_ms":60000}' &
    local waiting=$!
    until get /metrics && grep -qE '^pawl_http_connections 2$' "$folder/out"; do :; done
    stop_server
    wait "$waiting"
    shows '^HTTP/1.1 200' '"grants":\[\]'
}
test_that "a claim that waits is answered when the server drains" waits_over_http

drains()
{
    start_server
    exec 7<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /health HTTP/1.1\r\n' >&7
    get /ready # it has seen the first half by then, or takes it for the same
    kill -TERM "$server"
    until ! (exec 8<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    printf 'Host: localhost\r\n\r\n' >&7
    tr -d '\r' <&7 >"$folder/out"
    ran="a request that had begun" status=0
    shows '^HTTP/1.1 200 OK' '^Connection: close'
    ends 0
}
test_that "SIGTERM: nobody is let in any more, and what has begun is finished" drains

tells_its_health()
{
    run token create t --role viewer; exits 0
    start_server
    get /v1/queues; shows '^HTTP/1.1 401'
    get /health; shows '^HTTP/1.1 200' '"healthy":true'
    get /ready; shows '^HTTP/1.1 200' '"ready":true'
    exec 7<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /ready HTTP/1.1\r\n' >&7
    get /health # it has seen the first half by then
    kill -TERM "$server"
    until ! (exec 8<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    printf 'Host: localhost\r\n\r\n' >&7
    tr -d '\r' <&7 >"$folder/out"
    ran="asked whether it is ready while it ends" status=0
    shows '^HTTP/1.1 503' 'the server is stopping'
    ends 0
}
test_that "T-090 health and ready need no token, and a server that ends is not ready" tells_its_health

hurries()
{
    start_server --drain 1h
    exec 7<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /health HTTP/1.1\r\n' >&7
    get /ready
    kill -INT "$server"
    until grep -q server.draining log; do :; done
    kill -INT "$server"
    ends 0
}
test_that "a second signal ends it at once" hurries

refused()
{
    run server --listen 0.0.0.0:0
    refuses 2 INVALID 'others reach 0\.0\.0\.0:0.*--insecure'
    run server --listen 127.0.0.1:0 --tls-cert some.crt
    refuses 2 INVALID 'tls-cert and --tls-key go together'
    run server --listen 127.0.0.1:0 --tls-cert /no/such.crt --tls-key /no/such.key
    refuses 2 INVALID '--tls-cert: /no/such.crt'
    run server --listen 127.0.0.1:0 --retain 30
    refuses 2 INVALID 'retain'
    run server --listen nowhere
    refuses 2 INVALID '--listen: .nowhere. is no HOST:PORT'
    run server --loops 17
    refuses 2 INVALID 'loops'
    run server extra
    exits 2
    start_server
    run server --listen "127.0.0.1:$port"
    refuses 4 CONFLICT "cannot listen on 127\.0\.0\.1:$port"
    stop_server
}
test_that "addresses that are none, are taken, or are open to all are refused" refused

knows_its_names()
{
    start_server --allow-host pawl.example.org
    local name
    for name in pawl.example.org:80 localhost 127.0.0.1; do
        exec 6<>"/dev/tcp/127.0.0.1/$port"
        printf 'GET /health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' $name >&6
        grep -q '^HTTP/1.1 200' <&6 || complain "$name is not known"
    done
    exec 6<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /health HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n' >&6
    grep -q '^HTTP/1.1 403' <&6 || complain "example.org is known"
    exec 6>&-
    stop_server
}
test_that "it answers under its own names and those that --allow-host adds" knows_its_names

tells_systemd()
{
    command -v perl >/dev/null || skips "there is no perl to listen as systemd does"
    mkfifo told
    perl -MSocket -e '
        socket(S, PF_UNIX, SOCK_DGRAM, 0) && bind(S, pack_sockaddr_un("notify")) or die "$!";
        $| = 1; print "listens\n";
        for (1 .. 2) { recv(S, my $word, 100, 0); print "$word\n"; }' >told &
    exec 9<told
    local line=
    read -r -t 60 line <&9
    equals listens "$line"
    NOTIFY_SOCKET=$PWD/notify start_server
    read -r -t 60 line <&9
    equals READY=1 "$line"
    kill -TERM "$server"
    read -r -t 60 line <&9
    equals STOPPING=1 "$line"
    ends 0
    wait
}
test_that "systemd is told when it is ready and when it stops" tells_systemd

finish
