# What the objects of the build keep to: the core is pure, no layer of the library has global state.
. tests/checks/lib.sh

cc=${CC:-cc}
facts=${PAWL_BUILD:-build/dev}/checks

objects() # LAYER...
{
    for layer in "$@"; do
        [ ! -e "$facts/objects.$layer" ] || cat "$facts/objects.$layer"
    done
}

compiled() # NAME TEXT: makes $tmp/NAME.o
{
    printf '%s\n' "$2" | "$cc" -O1 -fPIC -x c -c -o "$tmp/$1.o" - || exit 2
}

# shellcheck disable=SC2046 # paths without blanks
pure() { tools/check_pure $(objects core) -- $(objects base); }
# shellcheck disable=SC2046
no_globals() { tools/check_globals $(objects base core store engine supervisor); }

holds "the core needs neither clock, chance, memory nor I/O" pure
compiled base 'int pawl_base_add(int a) { return a + 1; }'
compiled good '#include <string.h>
int pawl_base_add(int a);
int pawl_core_good(char *to, const char *from, size_t len);
int pawl_core_good(char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
    return pawl_base_add((int)strlen(to));
}'
holds "an object that moves bytes and calls the base is pure" \
    tools/check_pure "$tmp/good.o" -- "$tmp/base.o"
bites "a call of our own that the layers below do not have is found" \
    tools/check_pure "$tmp/good.o" -- "$tmp/good.o"
compiled clock '#include <time.h>
long pawl_core_bad(void);
long pawl_core_bad(void) { return (long)time(0); }'
bites "an object that reads the clock is found" tools/check_pure "$tmp/good.o" "$tmp/clock.o" -- "$tmp/base.o"
compiled memory '#include <stdlib.h>
void *pawl_core_bad(void);
void *pawl_core_bad(void) { return malloc(3); }'
bites "an object that asks for memory is found" tools/check_pure "$tmp/memory.o" -- "$tmp/base.o"

unreadable()
{
    tools/check_pure "$tmp/none.o" -- "$tmp/base.o"
    [ $? -eq 2 ] && ! tools/check_globals "$tmp/none.o"
}
holds "an object that is not there does not pass" unreadable

holds "no object of the library has a variable at file scope" no_globals
compiled constant 'static const char *const names[] = {"a", "b"};
const int table[3] = {1, 2, 3};
const char *pawl_x(int i);
const char *pawl_x(int i) { return names[i]; }'
holds "constant tables are no global state" tools/check_globals "$tmp/constant.o"
compiled data 'int counter = 1;'
bites "a variable with a value is found" tools/check_globals "$tmp/constant.o" "$tmp/data.o"
compiled bss 'int pawl_x(void); int pawl_x(void) { static int calls; return ++calls; }'
bites "a static local that changes is found" tools/check_globals "$tmp/bss.o"
compiled thread '_Thread_local int last;'
bites "a variable of a thread is found" tools/check_globals "$tmp/thread.o"

finish
