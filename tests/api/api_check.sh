# The library as its users meet it: pawl.h in their language, the .so or the .a, nothing else.
. tests/checks/lib.sh

build=${PAWL_BUILD:-build/dev}
cc=${CC:-cc}
warnings='-Wall -Wextra -Wpedantic -Werror'

runs() # COMPILER LANGUAGE STANDARD LIBRARY...
{
    compiler=$1
    language=$2
    standard=$3
    shift 3
    rm -rf "$tmp/user" "$tmp/store"
    mkdir "$tmp/store"
    # shellcheck disable=SC2086 # a list of flags
    "$compiler" -x "$language" "-std=$standard" $warnings -Iinclude tests/api/user.c -x none \
        -o "$tmp/user" "$@" && LD_LIBRARY_PATH=$build "$tmp/user" "$tmp/store/tasks.db"
}

holds "a C99 program compiles without a warning, links libpawl.so and runs" \
    runs "$cc" c c99 "-L$build" -lpawl
holds "a C99 program links libpawl.a and runs" \
    runs "$cc" c c99 "$build/libpawl.a" -lsqlite3 -lpthread -lm -ldl
for compiler in g++ clang++; do
    sentence="a C++17 program compiles without a warning with $compiler, links libpawl.so and runs"
    if command -v $compiler >/dev/null; then holds "$sentence" runs $compiler c++ c++17 "-L$build" -lpawl
    else skips "$sentence" "there is no $compiler"
    fi
done

# What the library may need beside itself: SQLite and the C library. What is loaded on first use
# (libpq) does not show here.
needs_little() # FILE.so
{
    LC_ALL=C readelf -d -W "$1" | awk '
        /\(NEEDED\)/ {
            gsub(/.*\[|\].*/, "")
            seen++
            if ($0 ~ /^(libsqlite3|libc|libm|libpthread|libdl|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$/) next
            print "needs " $0
            failed = 1
        }
        END { exit failed || seen == 0 }'
}

# Every pawl_ symbol that an object of the archive asks for is in the archive.
is_whole() # FILE.a
{
    nm -g "$1" 2>/dev/null | awk '
        NF == 2 && $1 == "U" && $2 ~ /^pawl_/ { needed[$2] = 1 }
        NF == 3 { defined[$3] = 1; seen++ }
        END {
            for (name in needed) if (!(name in defined)) { print "asks for " name; failed = 1 }
            exit failed || seen == 0
        }'
}

# None of the layers above is in it, whatever their functions are called: imports, the wire, a server, workers, the
# program.
is_core() # FILE.a
{
    find "$build" -regex ".*/src/\(import\|wire\|net\|worker\|app\)/.*\.o" \
        -exec nm -g --defined-only {} + | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/above"
    grep -qx main "$tmp/above" && grep -q '^pawl_router_' "$tmp/above" || {
        echo "no layers above are built"
        return 1
    }
    ! nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -Fx -f "$tmp/above"
}

holds "T-096 libpawl.so needs SQLite and the C library, no server, no command line, no executor" \
    needs_little "$build/libpawl.so"
holds "T-096 libpawl.a is whole in itself" is_whole "$build/libpawl.a"
holds "T-096 libpawl.a holds nothing of the layers above the engine" is_core "$build/libpawl.a"

echo 'void pawl_above(void); void pawl_here(void) { pawl_above(); }' >"$tmp/x.c"
"$cc" -c -fPIC -o "$tmp/x.o" "$tmp/x.c" && ar rc "$tmp/x.a" "$tmp/x.o" || exit 2
bites "an object that asks for a layer above is found" is_whole "$tmp/x.a"
echo 'int main(void) { return 0; }' >"$tmp/x.c"
"$cc" -c -fPIC -o "$tmp/x.o" "$tmp/x.c" && rm "$tmp/x.a" && ar rc "$tmp/x.a" "$tmp/x.o" || exit 2
bites "an object of the program is found" is_core "$tmp/x.a"
echo 'void pawl_router_describe(void) {}' >"$tmp/x.c"
"$cc" -c -fPIC -o "$tmp/x.o" "$tmp/x.c" && rm "$tmp/x.a" && ar rc "$tmp/x.a" "$tmp/x.o" || exit 2
bites "an object of the server is found" is_core "$tmp/x.a"
"$cc" -shared -fPIC -o "$tmp/libother.so" "$tmp/x.c" &&
    "$cc" -shared -fPIC -Wl,--no-as-needed -o "$tmp/libx.so" "$tmp/x.c" -L"$tmp" -lother || exit 2
bites "a library that is needed beyond those is found" needs_little "$tmp/libx.so"

finish
