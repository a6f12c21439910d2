# The simulator bites: four of the planted bugs, quickly. All of them: tests/sim/check_bugs.
. tests/checks/lib.sh

found() { env -u PAWL_TEST_RESULTS SEEDS=300 tests/sim/check_bugs "$@"; }

holds "the simulator finds a fence that ignores the epoch, answers before the commit, lost dependents, and work that is given out while it goes on" \
    found 01 07 09 23
finish
