# Suites of Conductor's SDKs; sourced by suite.sh of each, which says how its SDK is installed (install_sdk, with the
# commands of $tools) and how a file runs with it (run_file). A suite prints `pass CASE` or `fail CASE: why` for each of
# its cases. On a machine without the tools the cases are skipped. So they are where the SDK of PAWL_SDK_VERSION cannot
# be had below PAWL_SDK_HOME, unless PAWL_REQUIRE_SDKS=1 makes that a failure.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../cli/served.sh"
# shellcheck disable=SC2034 # suites use what is set here
suite=$(cd "$(dirname "$0")" && pwd)
home=${PAWL_SDK_HOME:-}
version=${PAWL_SDK_VERSION:-}

# One at a time, since several suites may want the same.
install_locked()
{
    mkdir -p "$home" || return 1
    (flock 8 && install_sdk) 8>"$home/lock"
}

need_sdk()
{
    local tool
    for tool in $tools; do
        command -v "$tool" >/dev/null || skips "$sdk_name $version needs $tool, which is not on this machine"
    done
    install_locked >install.log 2>&1 && return
    if [ "${PAWL_REQUIRE_SDKS:-}" = 1 ]; then
        install_locked >install.log 2>&1 && return # a registry may falter
        complain "no SDK: $(tail -n 3 install.log)"
    fi
    skips "$sdk_name $version cannot be had here: $(grep -im1 error install.log || tail -n 1 install.log)"
}

run_with_sdk() # FILE ARGUMENT...
{
    ran=$* status=0
    run_file "$@" >"$folder/out" 2>"$folder/err" || status=$?
}

# All cases of a suite at once, before the first of them: SDKs take long to start, and most cases wait.
run_suite() # FILE RESULTS
{
    [ -e "$2" ] && return
    need_sdk
    start_server
    run_with_sdk "$1" "http://127.0.0.1:$port"
    cp "$folder/out" "$2"
    stop_server
    exits 0
}

worked() # FILE CASE
{
    local said=$folder/../suite
    run_suite "$1" "$said"
    grep -qx "pass $2" "$said" || complain "$(grep "^fail $2: " "$said" || echo "the suite did not come to it")"
}
