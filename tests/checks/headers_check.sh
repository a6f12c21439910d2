# Each header compiles alone, and pawl.h in every language it is for.
. tests/checks/lib.sh

cc=${CC:-cc}
warnings='-Wall -Wextra -Wpedantic -Werror'
libpq=${PAWL_LIBPQ_INCLUDE:-$(pkg-config --variable=includedir libpq 2>/dev/null)}

alone() # HEADER
{
    # Twice, for its guard; the last line is there for headers of macros only.
    # shellcheck disable=SC2086 # a list of flags
    printf '#include "%s"\n#include "%s"\nextern int nothing;\n' "$1" "$1" |
        "$cc" -fsyntax-only -x c -std=c17 -D_GNU_SOURCE $warnings -I. -Iinclude -Isrc \
            -I"${PAWL_BUILD:-build/dev}/generated" -isystem "${libpq:-.}" -
}

all_alone()
{
    bad=0
    for header in $(find src include -name '*.h' | LC_ALL=C sort); do
        alone "$header" || bad=1
    done
    return $bad
}

as() # COMPILER LANGUAGE STANDARD: compiles a file that includes pawl.h twice
{
    printf '#include "pawl.h"\n#include "pawl.h"\n' >"$tmp/twice"
    # shellcheck disable=SC2086
    "$1" -fsyntax-only -x "$2" "-std=$3" $warnings -Iinclude "$tmp/twice"
}

holds "every header compiles alone" all_alone
printf 'struct pawl_x { int64_t y; };\n' >"$tmp/x.h"
bites "a header that needs another one first is found" alone "$tmp/x.h"

for compiler in gcc clang; do
    for standard in c99 c11 c17; do
        sentence="pawl.h compiles as $standard with $compiler"
        if command -v $compiler >/dev/null; then holds "$sentence" as $compiler c $standard
        else skips "$sentence" "there is no $compiler"
        fi
    done
done
for compiler in g++ clang++; do
    sentence="pawl.h compiles as c++17 with $compiler"
    if command -v $compiler >/dev/null; then holds "$sentence" as $compiler c++ c++17
    else skips "$sentence" "there is no $compiler"
    fi
done

finish
