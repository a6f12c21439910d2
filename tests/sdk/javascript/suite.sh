# The JavaScript SDK of Conductor against `pawl server`: the cases are functions of suite.mjs. Without its optional
# parts, such as HTTP/2, which it asks for through TLS only.
. "$(dirname "$0")/../lib.sh"
sdk_name=@io-orkes/conductor-javascript
tools="node npm"
sdk=$home/conductor-javascript-$version

install_sdk()
{
    cmp -s "$suite/package-lock.json" "$sdk/package-lock.json" && return
    rm -rf "$sdk" "$sdk.new"
    mkdir "$sdk.new" && cp "$suite/package.json" "$suite/package-lock.json" "$sdk.new" &&
        npm ci --prefix "$sdk.new" --no-audit --no-fund --ignore-scripts --legacy-peer-deps --omit=optional &&
        mv "$sdk.new" "$sdk"
}

run_file() # FILE ARGUMENT...
{
    PAWL_SDK_MODULES=$sdk/node_modules timeout 120 node "$@"
}
executed() { worked "$suite/suite.mjs" executed; }
test_that "javascript: a workflow is executed, and its output comes with the answer" executed
registered() { worked "$suite/suite.mjs" registered; }
test_that "javascript: definitions of tasks and workflows are registered, and come back" registered
retried() { worked "$suite/suite.mjs" retried; }
test_that "javascript: what fails is tried again, as another record" retried
terminal() { worked "$suite/suite.mjs" terminal; }
test_that "javascript: what fails for good is not tried again" terminal
callback() { worked "$suite/suite.mjs" callback; }
test_that "javascript: a worker comes back to a task in progress" callback
extended() { worked "$suite/suite.mjs" extended; }
test_that "javascript: heartbeats hold a task through several times its response time-out" extended
searched() { worked "$suite/suite.mjs" searched; }
test_that "javascript: workflows are found by name, state and correlation id" searched
operated() { worked "$suite/suite.mjs" operated; }
test_that "javascript: workflows are paused, resumed, terminated, retried, restarted and removed" operated
many() { worked "$suite/suite.mjs" many; }
test_that "javascript: a thousand tasks by a worker of concurrency ten, each once" many
finish
