# pawl token, and a server that asks for tokens.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/served.sh"

# Makes a token; sets $key_id, $key_secret, $token.
make_token() # NAME ROLE
{
    run token create "$1" --role "$2" -o json; exits 0
    key_id=$(member key_id) key_secret=$(member key_secret) token=$(member token)
    equals "$key_id.$key_secret" "$token"
}

# Asks until the answer has this status: tokens are read anew now and then.
until_status() # STATUS PATH [HEADER]
{
    until get "$2" "${3:-}"; head -n 1 "$folder/out" | grep -q "^HTTP/1.1 $1 "; do :; done
}

makes_and_forgets()
{
    run token list; refuses 3 NOT_FOUND 'pawl'
    make_token ci worker
    equals 16 ${#key_id}
    equals 64 ${#key_secret}
    run token create ci --role viewer; refuses 4 CONFLICT 'token ci'
    run token create other; refuses 2 INVALID 'role: viewer, worker, operator or admin'
    run token create other --role none; refuses 2 INVALID 'role'
    run token create ' x' --role admin; refuses 2 INVALID 'name'
    run token list; lines 1; has name '"ci"'; has role '"worker"'; has key_id "\"$key_id\""; hides "$key_secret"
    run token list -o table; shows '^NAME +ROLE +KEY ID' "^ci +worker +$key_id"; hides "$key_secret"
    [ ! -e pawl.db ] || ! grep -qa "$key_secret" pawl.db* || complain "the secret is in the store"
    run token create more --role admin -o name; exits 0; shows '^[0-9a-f]{16}\.[0-9a-f]{64}$'
    run token revoke ci; exits 0; prints ''
    run token revoke ci; refuses 3 NOT_FOUND 'no token ci'
    run token list -o name; prints more
}
test_that "a token is made, listed and revoked, and its secret is shown once and kept nowhere" makes_and_forgets

asks_for_tokens()
{
    make_token looks viewer; local viewer=$token
    make_token works worker; local worker=$token
    start_server --verbose
    get /health; shows '^HTTP/1.1 200'
    get /v1/queues; shows '^HTTP/1.1 401' '^WWW-Authenticate: Bearer' 'this needs a token'
    get /v1/queues "X-Authorization: $viewer"; shows '^HTTP/1.1 200'
    get /v1/queues "Authorization: Bearer $viewer"; shows '^HTTP/1.1 200'
    post /v1/tasks '{}' "X-Authorization: $viewer"; shows '^HTTP/1.1 403' 'needs the role worker; the token has viewer'
    post /v1/tasks '{}' "X-Authorization: $worker"; shows '^HTTP/1.1 200'
    local wrong
    for wrong in "${viewer%.*}" "${viewer%.*}." ".${viewer#*.}" "${viewer%.*}.${worker#*.}" "${viewer}0" x; do
        get /v1/queues "X-Authorization: $wrong"; shows '^HTTP/1.1 401' 'the token is not known'
    done
    stop_server
    ! grep -q "${viewer#*.}" log || complain "the secret is in the log"
}
test_that "T-086 a request needs a token, and the right that its token has" asks_for_tokens

follows_the_store()
{
    start_server
    get /v1/queues; shows '^HTTP/1.1 200' # nobody needs one yet
    post /api/token '{"keyId":"a","keySecret":"b"}'; shows '^HTTP/1.1 404'
    make_token first viewer; local first="X-Authorization: $token"
    until_status 401 /v1/queues
    until_status 200 /v1/queues "$first"
    make_token second viewer; local second="X-Authorization: $token"
    until_status 200 /v1/queues "$second"
    get /v1/queues "$first"; shows '^HTTP/1.1 200'
    run token revoke first; exits 0
    until_status 401 /v1/queues "$first"
    get /v1/queues "$second"; shows '^HTTP/1.1 200'
    run token revoke second; exits 0
    until_status 401 /v1/queues "$second"
    get /v1/queues; shows '^HTTP/1.1 401' # it is closed, not open to everybody
    stop_server
}
test_that "T-087 tokens that are made and revoked are known to a server that runs, several at once" follows_the_store

gives_tokens()
{
    make_token sdk worker
    start_server --verbose
    post /api/token "{\"keyId\":\"$key_id\",\"keySecret\":\"$key_secret\"}"
    shows '^HTTP/1.1 200'
    local given
    given=$(member token)
    get /v1/queues "X-Authorization: $given"; shows '^HTTP/1.1 200'
    # never INVALID_TOKEN here: clients would fetch a token to ask for a token
    post /api/token "{\"keyId\":\"$key_id\",\"keySecret\":\"wrong\"}"
    shows '^HTTP/1.1 401' '"status":401' '"error":"INVALID_CREDENTIALS"'; hides wrong "$key_secret"
    post /api/token "{\"keyId\":\"$key_id\"}"; shows '^HTTP/1.1 400' 'keySecret: a text is wanted'; hides INVALID_TOKEN
    post /api/token "{\"keyId\":7,\"keySecret\":\"x\"}"; shows '^HTTP/1.1 400' 'keyId: a text is wanted'
    get /api/nothing; shows '^HTTP/1.1 401' '"error":"INVALID_TOKEN"'
    stop_server
    ! grep -q "$key_secret" log || complain "the secret is in the log"
}
test_that "a client of Conductor changes its key and secret into a token" gives_tokens

listens_beyond()
{
    run server --listen 0.0.0.0:0; refuses 2 INVALID 'pawl token create'
    make_token any viewer
    mkfifo ready
    "$PAWL_BIN" server --listen 0.0.0.0:0 >ready 2>log &
    server=$!
    local line=
    read -r -t 60 line <ready || complain "no word of the server: $(cat log)"
    [[ $line =~ ^listening\ on\ .*0\.0\.0\.0: ]] || complain "no address: $line"
    stop_server
}
test_that "T-088 an address that others reach is listened on once there is a token" listens_beyond

finish
