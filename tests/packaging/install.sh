# Installed, the library is found by pkg-config and by CMake, and taken away again.
. tests/checks/lib.sh

build=${PAWL_BUILD:-build/dev}
cc=${CC:-cc}
prefix=$tmp/prefix
warnings='-Wall -Wextra -Wpedantic -Werror'

installs()
{
    cmake --install "$build" --prefix "$prefix" >"$tmp/log" || { cat "$tmp/log"; return 1; }
    libdir=$(dirname "$(find "$prefix" -name libpawl.a)")
    export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
}

version=$(sed -n 's/^#define PAWL_VERSION_TEXT "\(.*\)"/\1/p' include/pawl.h)
major=${version%%.*}
minor=${version#*.}
minor=${minor%%.*}

# The programs and files that are promised are there, and the program runs from there.
has_all()
{
    for file in bin/pawl include/pawl.h share/man/man1/pawl.1 share/man/man1/pawl-worker.1 share/man/man3/pawl.3 \
        share/bash-completion/completions/pawl share/zsh/site-functions/_pawl \
        share/fish/vendor_completions.d/pawl.fish lib/systemd/system/pawl-worker@.service \
        lib/systemd/system/pawl-server.service share/doc/pawl/examples/server.conf \
        lib/sysusers.d/pawl.conf; do
        [ -s "$prefix/$file" ] || { echo "there is no $file"; return 1; }
    done
    grep -q "^ExecStart=$prefix/bin/pawl worker run " "$prefix/lib/systemd/system/pawl-worker@.service" &&
        grep -q "^ExecStart=$prefix/bin/pawl server " "$prefix/lib/systemd/system/pawl-server.service" &&
        [ "$("$prefix/bin/pawl" version | head -n 1)" = "pawl $version" ] &&
        [ "$(readlink "$libdir/libpawl.so")" = "libpawl.so.$major" ] &&
        readelf -d "$libdir/libpawl.so" | grep -qF "[libpawl.so.$major]"
}

# Each function that the page of the library names is in the header.
names_functions()
{
    sed -n 's/^\.Fn \(pawl_[a-z_]*\).*/\1/p' man/pawl.3 >"$tmp/functions"
    [ -s "$tmp/functions" ] && while read -r function; do
        grep -q "[ *]$function(" include/pawl.h || { echo "$function is not in pawl.h"; return 1; }
    done <"$tmp/functions"
    ! command -v mandoc >/dev/null ||
        ! mandoc -T lint -W style man/pawl.3 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db'
}

# Each page that the header names is there, and each page that such a page leads to.
has_docs()
{
    docs=$prefix/share/doc/pawl
    [ -d "$docs" ] || docs=$(dirname "$(find "$prefix" -name store.md)")
    grep -o 'docs/[a-z-]*\.md' include/pawl.h | sort -u >"$tmp/named"
    [ -s "$tmp/named" ] && while read -r page; do
        [ -s "$docs/${page#docs/}" ] || { echo "$page is not installed"; return 1; }
    done <"$tmp/named"
    (cd "$docs" && grep -o '](\([a-z0-9/-]*\.md\)' ./*.md | sed 's/.*](//' | sort -u) >"$tmp/named"
    [ -s "$tmp/named" ] && while read -r page; do
        [ -s "$docs/$page" ] || { echo "$page is not installed"; return 1; }
    done <"$tmp/named"
}

works() # PROGRAM
{
    rm -f "$tmp"/tasks.db*
    [ "$("$1" "$tmp/tasks.db")" = 'completed {"to":"ada"}' ]
}

shared()
{
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$cc" -std=c99 $warnings -o "$tmp/user" examples/add_and_work.c $(pkg-config --cflags --libs pawl) &&
        readelf -d "$tmp/user" | grep -q 'NEEDED.*libpawl' && works "$tmp/user"
}

static()
{
    # shellcheck disable=SC2046,SC2086
    "$cc" -std=c99 $warnings -o "$tmp/user" examples/add_and_work.c $(pkg-config --cflags pawl) \
        $(pkg-config --static --libs pawl | sed 's/-lpawl/-l:libpawl.a/') &&
        ! readelf -d "$tmp/user" | grep -q 'NEEDED.*libpawl' && works "$tmp/user"
}

cxx()
{
    # shellcheck disable=SC2046,SC2086
    g++ -x c++ -std=c++17 $warnings -o "$tmp/user" examples/add_and_work.c -x none \
        $(pkg-config --cflags --libs pawl) && works "$tmp/user"
}

has_versions()
{
    [ "$(pkg-config --modversion pawl)" = "$version" ] && pkg-config --atleast-version="$version" pawl &&
        ! pkg-config --atleast-version="$major.$((minor + 1))" pawl
}

# A project of somebody else; what gives it the library is $1.
project() # LINE...
{
    rm -rf "$tmp/project"
    mkdir "$tmp/project"
    cp examples/add_and_work.c "$tmp/project/user.c"
    cp examples/add_and_work.c "$tmp/project/user.cc"
    {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo "project(user VERSION 7.1 LANGUAGES $languages)"
        printf '%s\n' "$@"
    } >"$tmp/project/CMakeLists.txt"
    cmake -G "${generator:-Ninja}" -S "$tmp/project" -B "$tmp/project/build" \
        "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc" >"$tmp/log" 2>&1
}

finds()
{
    languages='C CXX'
    project "find_package(pawl $major.$minor REQUIRED)" \
        'add_executable(user user.c)' 'set_target_properties(user PROPERTIES C_STANDARD 99)' \
        'target_link_libraries(user PRIVATE pawl::pawl)' \
        'add_executable(alone user.c)' 'target_link_libraries(alone PRIVATE pawl::static)' \
        'add_executable(cxx user.cc)' 'target_compile_features(cxx PRIVATE cxx_std_17)' \
        'target_link_libraries(cxx PRIVATE pawl::pawl)' &&
        cmake --build "$tmp/project/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
    for user in user alone cxx; do works "$tmp/project/build/$user" || return 1; done
    readelf -d "$tmp/project/build/user" | grep -q 'NEEDED.*libpawl' &&
        ! readelf -d "$tmp/project/build/alone" | grep -q 'NEEDED.*libpawl'
}

refuses_versions()
{
    languages=C
    ! project "find_package(pawl $major.$((minor + 1)) REQUIRED)" &&
        grep -q "version: $version" "$tmp/log"
}

# In the tree of another project: only the library is built, with the flags of nobody else.
embeds()
{
    languages=C
    project "add_subdirectory($PWD pawl EXCLUDE_FROM_ALL)" \
        'add_executable(user user.c)' 'target_link_libraries(user PRIVATE pawl::pawl)' \
        'if(TARGET pawl_program)' 'message(FATAL_ERROR "the program is not wanted")' 'endif()' &&
        cmake --build "$tmp/project/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
    works "$tmp/project/build/user" && ! grep -q warning: "$tmp/log"
}

# Under DESTDIR, as packagers do; somebody else's files stay.
uninstalls()
{
    DESTDIR=$tmp/root cmake --install "$build" >"$tmp/log" || { cat "$tmp/log"; return 1; }
    manifest=$build/install_manifest.txt
    : >"$tmp/root/$(dirname "$(head -n 1 "$manifest")")/theirs"
    [ "$(find "$tmp/root" -type f -o -type l | wc -l)" -gt 15 ] && tools/uninstall "$build" "$tmp/root" >"$tmp/said" && grep -q "^[0-9]* files taken away" "$tmp/said" || return 1
    ! tools/uninstall "$build" "$tmp/root" 2>"$tmp/said" && grep -q "nothing of the last install" "$tmp/said" || return 1
    find "$tmp/root" -type f -o -type l >"$tmp/left"
    [ "$(wc -l <"$tmp/left")" -eq 1 ] && grep -q '/theirs$' "$tmp/left" &&
        [ -z "$(find "$tmp/root" -type d -name pawl)" ]
}

if [ $list = no ]; then installs || exit 2; fi
holds "what is installed is all there, and the program runs from there" has_all
holds "the manual page of the library names functions of the header" names_functions
holds "the pages that the header names are installed, and those that they lead to" has_docs
if command -v pkg-config >/dev/null; then
    holds "pkg-config tells the version" has_versions
    holds "with pkg-config a C99 program links the shared library and runs" shared
    holds "with pkg-config a C99 program links the static library and runs" static
    sentence="with pkg-config a C++17 program links the library and runs"
    if command -v g++ >/dev/null; then holds "$sentence" cxx; else skips "$sentence" "there is no g++"; fi
else
    for sentence in "pkg-config tells the version" \
        "with pkg-config a C99 program links the shared library and runs" \
        "with pkg-config a C99 program links the static library and runs" \
        "with pkg-config a C++17 program links the library and runs"; do
        skips "$sentence" "there is no pkg-config"
    done
fi
sentence="find_package gives pawl::pawl and pawl::static to C and C++"
if command -v g++ >/dev/null; then holds "$sentence" finds; else skips "$sentence" "there is no g++"; fi
holds "find_package refuses a version that may have another interface" refuses_versions
holds "add_subdirectory gives pawl::pawl, and builds the library alone" embeds
holds "uninstall takes away what install brought, and nothing else" uninstalls

finish
