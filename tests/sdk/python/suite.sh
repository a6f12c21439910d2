# The Python SDK of Conductor against `pawl server`: the cases are functions of suite.py. PAWL_SDK_VERSION of it is
# installed once, below the folder that PAWL_SDK_HOME names. Where it cannot be had the cases are skipped, or fail
# with PAWL_REQUIRE_SDKS=1.
. "$(dirname "$0")/../../cli/lib.sh"
. "$(dirname "$0")/../../cli/served.sh"
suite=$(cd "$(dirname "$0")" && pwd)
home=${PAWL_SDK_HOME:-}
version=${PAWL_SDK_VERSION:-}
venv=$home/python
sdk=$home/conductor-python-$version

pip_install() # ARGUMENT...
{
    "$venv/bin/python" -m pip install --disable-pip-version-check -q --retries 2 "$@"
}

# What both versions need, and beside it the SDK: each is there only when it is whole.
install_sdk()
{
    mkdir -p "$home" || return 1
    (
        flock 8
        if ! cmp -s "$suite/requirements.lock" "$venv/requirements.lock"; then
            rm -rf "$venv"
            python3 -m venv "$venv" && pip_install -r "$suite/requirements.lock" &&
                cp "$suite/requirements.lock" "$venv/requirements.lock" || return 1
        fi
        if ! [ -e "$sdk" ]; then
            rm -rf "$sdk.new"
            pip_install --no-deps --target "$sdk.new" "conductor-python==$version" && mv "$sdk.new" "$sdk"
        fi
    ) 8>"$home/python.lock"
}

need_sdk()
{
    install_sdk >install.log 2>&1 && return
    [ "${PAWL_REQUIRE_SDKS:-}" != 1 ] || complain "no SDK: $(tail -n 3 install.log)"
    skips "conductor-python $version cannot be had here: $(tail -n 1 install.log)"
}

run_python() # FILE ARGUMENT...
{
    ran=$* status=0
    PYTHONPATH=$sdk timeout 120 "$venv/bin/python" "$@" >"$folder/out" 2>"$folder/err" || status=$?
}

# All of suite.py at once, before the first of its cases: the SDK's processes take long to start, and most cases wait.
run_suite()
{
    [ -e "$1" ] && return
    need_sdk
    start_server
    run_python "$suite/suite.py" "http://127.0.0.1:$port"
    stop_server
    exits 0
    mv "$folder/out" "$1"
}

worked() # CASE
{
    local said=$folder/../suite
    run_suite "$said"
    grep -qx "pass $1" "$said" || complain "$(grep "^fail $1: " "$said")"
}

greets()
{
    need_sdk
    start_server
    export CONDUCTOR_SERVER_URL=http://127.0.0.1:$port/api
    run_python "$suite/../../../examples/conductor/greetings.py"
    exits 0
    prints "COMPLETED: Hello Conductor"
    stop_server
}
test_that "python: the greeting worker and workflow of the README print their result" greets
standalone() { worked standalone; }
test_that "python: a worker works tasks without a workflow" standalone
registered() { worked registered; }
test_that "python: definitions of tasks and workflows are registered, and come back" registered
executed() { worked executed; }
test_that "python: a workflow is executed, and its output comes with the answer" executed
retried() { worked retried; }
test_that "python: what fails is tried again, as another record" retried
terminal() { worked terminal; }
test_that "python: what fails for good is not tried again" terminal
callback() { worked callback; }
test_that "python: a worker comes back to a task in progress" callback
asynchronous() { worked asynchronous; }
test_that "python: a worker that is a coroutine works" asynchronous
extended() { worked extended; }
test_that "python: T-122 heartbeats hold a task through several times its response time-out" extended
searched() { worked searched; }
test_that "python: workflows are found by name, state and correlation id" searched
operated() { worked operated; }
test_that "python: workflows are paused, resumed, terminated, retried, restarted and removed" operated
many() { worked many; }
test_that "python: a thousand tasks by a worker of ten threads, each once" many
finish
