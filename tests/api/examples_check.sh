# The programs of examples/: short, in C that C++ takes too, and what they print is what they say.
. tests/checks/lib.sh

build=${PAWL_BUILD:-build/dev}

says() # PROGRAM STORE WANTED-LINE...
{
    program=$1
    store=$2
    shift 2
    printf '%s\n' "$@" >"$tmp/want"
    "$build/examples/$program" "$tmp/$store" >"$tmp/got" 2>"$tmp/err"
    status=$?
    cat "$tmp/err"
    diff "$tmp/want" "$tmp/got" && [ $status -eq 0 ]
}

is_silent() # PROGRAM STORE
{
    "$build/examples/$1" "$tmp/$2" >"$tmp/got" && [ ! -s "$tmp/got" ]
}

are_short()
{
    ! wc -l examples/*.c | awk '$2 != "total" && $1 > 40' | grep .
}

are_cxx() # COMPILER
{
    for file in examples/*.c; do
        "$1" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$file" || return 1
    done
}

holds "each example is at most 40 lines" are_short
for compiler in g++ clang++; do
    sentence="each example is C++17 too, for $compiler"
    if command -v $compiler >/dev/null; then holds "$sentence" are_cxx $compiler
    else skips "$sentence" "there is no $compiler"
    fi
done
holds "add_and_work adds a task, works and completes it" \
    says add_and_work one.db 'completed {"to":"ada"}'
holds "consumer reads what happened, in order" \
    says consumer one.db 'task_created PENDING' 'task_queued QUEUED' 'task_started RUNNING' \
    'task_completed COMPLETED'
holds "consumer reads nothing twice" is_silent consumer one.db
holds "batch adds tasks of which one waits for the others" \
    says batch two.db 'waits for 2' 'waits for 1' 'waits for 0'
holds "driven waits in a loop of its own until a task is due" says driven three.db 'OK: claimed 1'
holds "supervisor runs a function for a task" says supervisor four.db 'hello "ada", try 1'

finish
