# A server to ask, for the files of cases that need one; sourced behind lib.sh.

# A server in the background on a free port; sets $server, $port. Its log is the file log.
start_server() # ARGUMENT...
{
    local line=
    mkfifo ready
    "$PAWL_BIN" server --listen 127.0.0.1:0 "$@" >ready 2>log &
    server=$!
    read -r -t 60 line <ready || complain "no word of the server: $(cat log)"
    [[ $line =~ ^listening\ on\ http:.*:([0-9]+) ]] || complain "no address: $line"
    port=${BASH_REMATCH[1]}
    rm ready
}

get() # PATH [HEADER]: its answer is what run printed
{
    local header=
    [ -z "${2:-}" ] || header=$2$'\r\n'
    ran="GET $1" status=0
    exec 6<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$1" "$header" >&6
    tr -d '\r' <&6 >"$folder/out"
    exec 6>&-
}

post() # PATH BODY [HEADER]
{
    local header=
    [ -z "${3:-}" ] || header=$3$'\r\n'
    ran="POST $1" status=0
    exec 6<>"/dev/tcp/127.0.0.1/$port"
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s' "$1" "${#2}" "$header" "$2" >&6
    tr -d '\r' <&6 >"$folder/out"
    exec 6>&-
}

ends() # STATUS
{
    local got=0
    wait "$server" || got=$?
    equals "$1" "$got"
}

stop_server()
{
    kill -TERM "$server"
    ends 0
}
