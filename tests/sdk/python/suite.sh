# The Python SDK of Conductor against `pawl server`: the cases are functions of suite.py.
. "$(dirname "$0")/../lib.sh"
sdk_name=conductor-python
tools=python3
venv=$home/python
sdk=$home/conductor-python-$version

pip_install() # ARGUMENT...
{
    "$venv/bin/python" -m pip install --disable-pip-version-check -q --retries 2 "$@"
}

# What all versions need, and beside it the SDK: each is there only when it is whole.
install_sdk()
{
    if ! cmp -s "$suite/requirements.lock" "$venv/requirements.lock"; then
        rm -rf "$venv"
        python3 -m venv "$venv" && pip_install -r "$suite/requirements.lock" &&
            cp "$suite/requirements.lock" "$venv/requirements.lock" || return 1
    fi
    if ! [ -e "$sdk" ]; then
        rm -rf "$sdk.new"
        pip_install --no-deps --target "$sdk.new" "conductor-python==$version" && mv "$sdk.new" "$sdk"
    fi
}

run_file() # FILE ARGUMENT...
{
    PYTHONPATH=$sdk timeout 120 "$venv/bin/python" "$@"
}

greets()
{
    need_sdk
    start_server
    export CONDUCTOR_SERVER_URL=http://127.0.0.1:$port/api
    run_with_sdk "$suite/../../../examples/conductor/greetings.py"
    exits 0
    prints "COMPLETED: Hello Conductor"
    stop_server
}
test_that "python: the greeting worker and workflow of the README print their result" greets
standalone() { worked "$suite/suite.py" standalone; }
test_that "python: a worker works tasks without a workflow" standalone
registered() { worked "$suite/suite.py" registered; }
test_that "python: definitions of tasks and workflows are registered, and come back" registered
executed() { worked "$suite/suite.py" executed; }
test_that "python: a workflow is executed, and its output comes with the answer" executed
retried() { worked "$suite/suite.py" retried; }
test_that "python: what fails is tried again, as another record" retried
terminal() { worked "$suite/suite.py" terminal; }
test_that "python: what fails for good is not tried again" terminal
callback() { worked "$suite/suite.py" callback; }
test_that "python: a worker comes back to a task in progress" callback
asynchronous() { worked "$suite/suite.py" asynchronous; }
test_that "python: a worker that is a coroutine works" asynchronous
extended() { worked "$suite/suite.py" extended; }
test_that "python: T-122 heartbeats hold a task through several times its response time-out" extended
searched() { worked "$suite/suite.py" searched; }
test_that "python: workflows are found by name, state and correlation id" searched
operated() { worked "$suite/suite.py" operated; }
test_that "python: workflows are paused, resumed, terminated, retried, restarted and removed" operated
many() { worked "$suite/suite.py" many; }
test_that "python: a thousand tasks by a worker of ten threads, each once" many
finish
