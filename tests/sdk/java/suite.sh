# The Java SDK of Conductor against `pawl server`: the cases are methods of Suite.java, which the newest JDK of the
# machine compiles as it runs them. What Maven has fetched is kept below PAWL_SDK_HOME.
. "$(dirname "$0")/../lib.sh"
sdk_name=conductor-client
sdk=$home/conductor-java-$version
oldest=21 # of JDKs, for this SDK

find_jdk()
{
    local at number
    for at in ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/*; do
        [ -x "$at/bin/javac" ] || continue
        number=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$at/release")
        [ "${number:-0}" -lt $oldest ] || echo "$number $at"
    done 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

JAVA_HOME=$(find_jdk)
export JAVA_HOME
tools="mvn sha256sum ${JAVA_HOME:-jdk-$oldest}${JAVA_HOME:+/bin/java}"

install_sdk()
{
    cmp -s "$suite/jars.lock" "$sdk/jars.lock" && return
    rm -rf "$sdk" "$sdk.new"
    mkdir "$sdk.new" && cp "$suite/jars.lock" "$sdk.new" && grep -q "<version>$version</version>" "$suite/pom.xml" &&
        timeout 400 mvn -B -q -f "$suite/pom.xml" "-Dmaven.repo.local=$home/maven" dependency:copy-dependencies \
            "-DoutputDirectory=$sdk.new" &&
        (cd "$sdk.new" && sha256sum -c --quiet jars.lock) && mv "$sdk.new" "$sdk"
}

run_file() # FILE ARGUMENT...
{
    timeout 120 "$JAVA_HOME/bin/java" -cp "$sdk/*" "$@"
}
standalone() { worked "$suite/Suite.java" standalone; }
test_that "java: a worker works tasks without a workflow" standalone
registered() { worked "$suite/Suite.java" registered; }
test_that "java: definitions of tasks and workflows are registered, come back, and are taken away" registered
executed() { worked "$suite/Suite.java" executed; }
test_that "java: a workflow is executed, and its output comes with the answer" executed
composed() { worked "$suite/Suite.java" composed; }
test_that "java: a workflow of the builder forks, joins, chooses and keeps a variable" composed
signalled() { worked "$suite/Suite.java" signalled; }
test_that "java: waits end by reference and by signal" signalled
retried() { worked "$suite/Suite.java" retried; }
test_that "java: what fails is tried again, as another record" retried
terminal() { worked "$suite/Suite.java" terminal; }
test_that "java: what fails for good is not tried again" terminal
callback() { worked "$suite/Suite.java" callback; }
test_that "java: a worker comes back to a task in progress" callback
extended() { worked "$suite/Suite.java" extended; }
test_that "java: heartbeats hold a task through several times its response time-out" extended
searched() { worked "$suite/Suite.java" searched; }
test_that "java: workflows are found by name, state and correlation id" searched
operated() { worked "$suite/Suite.java" operated; }
test_that "java: workflows are paused, resumed, terminated, retried, restarted and removed" operated
many() { worked "$suite/Suite.java" many; }
test_that "java: a thousand tasks by a worker of ten threads, each once, each update bringing the next" many
finish
