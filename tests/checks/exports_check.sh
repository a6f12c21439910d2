# The library exports what pawl.h declares, and nothing else.
. tests/checks/lib.sh

cc=${CC:-cc}

built() # NAME FUNCTION...: makes $tmp/NAME.so with these functions
{
    so=$tmp/$1.so
    shift
    printf 'void %s(void);\n' "$@" >"$tmp/x.c"
    printf 'void %s(void) {}\n' "$@" >>"$tmp/x.c"
    "$cc" -shared -fPIC -o "$so" "$tmp/x.c" || exit 2
}

holds "libpawl.so exports the functions of pawl.h and nothing else" \
    tools/check_exports "${PAWL_BUILD:-build/dev}/libpawl.so" include/pawl.h

cat >"$tmp/pawl.h" <<'END'
#if 1
#define PAWL_API __attribute__((visibility("default")))
#endif
/* PAWL_API void pawl_comment(void); */
struct x { int y; };
PAWL_API void pawl_one(void) __attribute__((cold));
PAWL_API const char *
pawl_two(int a,
         int (*b)(void));
END
built both pawl_one pawl_two
holds "two lists that agree are found equal" tools/check_exports "$tmp/both.so" "$tmp/pawl.h"
built less pawl_one
bites "a function that is declared and not exported is found" tools/check_exports "$tmp/less.so" "$tmp/pawl.h"
built more pawl_one pawl_two pawl_three
bites "a function that is exported and not declared is found" tools/check_exports "$tmp/more.so" "$tmp/pawl.h"

finish
