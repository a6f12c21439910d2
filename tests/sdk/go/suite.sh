# The Go SDK of Conductor against `pawl server`: the cases are functions of suite.go. What Go has fetched and built is
# kept below PAWL_SDK_HOME, so that only the first build takes its time.
. "$(dirname "$0")/../lib.sh"
sdk_name=conductor-go
tools=go
built=$home/conductor-go-$version
export GOMODCACHE=$home/go/modules GOCACHE=$home/go/cache GOTOOLCHAIN=local

install_sdk()
{
    grep -q "/conductor-go v$version\$" "$suite/go.mod" &&
        cd "$suite" && timeout 400 go build -modcacherw -buildvcs=false -o "$built" .
}

run_file() # FILE ARGUMENT...
{
    timeout 120 "$@"
}
standalone() { worked "$built" standalone; }
test_that "go: a worker works tasks without a workflow" standalone
registered() { worked "$built" registered; }
test_that "go: definitions of tasks and workflows are registered, come back, and are taken away" registered
executed() { worked "$built" executed; }
test_that "go: a workflow is executed, and its output comes with the answer" executed
composed() { worked "$built" composed; }
test_that "go: a workflow of the builder forks, joins, chooses and keeps a variable" composed
retried() { worked "$built" retried; }
test_that "go: what fails is tried again, as another record" retried
terminal() { worked "$built" terminal; }
test_that "go: what fails for good is not tried again" terminal
callback() { worked "$built" callback; }
test_that "go: a worker comes back to a task in progress" callback
held() { worked "$built" held; }
test_that "go: updates in progress hold a task through several times its response time-out" held
searched() { worked "$built" searched; }
test_that "go: workflows are found by name, state and correlation id" searched
operated() { worked "$built" operated; }
test_that "go: workflows are paused, resumed, terminated, retried, restarted and removed" operated
many() { worked "$built" many; }
test_that "go: a thousand tasks by a worker of ten at once, each once" many
finish
