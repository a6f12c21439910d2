# Suites of Conductor's SDKs; sourced by suite.sh of each, which says how its SDK is installed (install_sdk) and how
# a file runs with it (run_file). A suite prints `pass CASE` or `fail CASE: why` for each of its cases. Where the SDK
# of PAWL_SDK_VERSION cannot be had below PAWL_SDK_HOME the cases are skipped, or fail with PAWL_REQUIRE_SDKS=1.
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
    install_locked >install.log 2>&1 && return
    [ "${PAWL_REQUIRE_SDKS:-}" != 1 ] || complain "no SDK: $(tail -n 3 install.log)"
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
    stop_server
    exits 0
    mv "$folder/out" "$2"
}

worked() # FILE CASE
{
    local said=$folder/../suite
    run_suite "$1" "$said"
    grep -qx "pass $2" "$said" || complain "$(grep "^fail $2: " "$said")"
}
