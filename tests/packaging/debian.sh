# The Debian packages of this build: what is in them, that they install and run, that they are the
# same bytes each time; and the unit that runs workers.
. tests/checks/lib.sh

build=${PAWL_BUILD:-build/dev}
unit=lib/systemd/system/pawl-worker@.service
server_unit=lib/systemd/system/pawl-server.service

# Twice, in other surroundings: the packages are the same.
builds()
{
    packaging/debian/build "$build" "$tmp/one" >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
    (
        umask 077
        export LC_ALL=C.UTF-8 TZ=Asia/Tokyo TMPDIR="$tmp"
        packaging/debian/build "$build" "$tmp/two"
    ) >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
    [ "$(find "$tmp/one" -name '*.deb' | wc -l)" -eq 3 ] || return 1
    for package in "$tmp"/one/*.deb; do cmp "$package" "$tmp/two/${package##*/}" || return 1; done
}

has_version()
{
    grep -q "^pawl ($(sed -n 's/^#define PAWL_VERSION_TEXT "\(.*\)"/\1/p' include/pawl.h)-" packaging/debian/changelog &&
        [ "$(dpkg-deb -f "$tmp"/one/pawl_*.deb Version)" = "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" ]
}

holds_files() # PACKAGE PATH...: relative to /
{
    package=$(echo "$tmp/one/$1"_*.deb)
    shift
    dpkg-deb -c "$package" | sed 's/.* \.\///; s/ -> .*//' >"$tmp/files"
    for path in "$@"; do
        grep -qxE "$path" "$tmp/files" || { echo "$package has no $path"; return 1; }
    done
}

is_split()
{
    holds_files pawl usr/bin/pawl "usr/$unit" usr/lib/sysusers.d/pawl.conf etc/pawl/workers/ \
        'usr/share/man/man1/pawl\.1\.gz' 'usr/share/man/man1/pawl-task\.1\.gz' \
        usr/share/bash-completion/completions/pawl usr/share/zsh/vendor-completions/_pawl \
        usr/share/fish/vendor_completions.d/pawl.fish usr/share/doc/pawl/examples/mail.conf &&
        ! grep -E 'libpawl|pawl\.h' "$tmp/files" &&
        holds_files libpawl0 'usr/lib/.*libpawl\.so\.0' 'usr/lib/.*libpawl\.so\.0\.[0-9.]+' &&
        ! grep -E '\.so$|\.a$|\.h$|bin/' "$tmp/files" &&
        holds_files libpawl-dev usr/include/pawl.h 'usr/lib/.*libpawl\.so' 'usr/lib/.*libpawl\.a' \
            'usr/lib/.*pkgconfig/pawl\.pc' 'usr/lib/.*cmake/pawl/pawlConfig\.cmake' \
            'usr/share/man/man3/pawl\.3\.gz' 'usr/share/doc/libpawl-dev/examples/.*\.c' \
            usr/share/doc/libpawl-dev/store.md usr/share/doc/libpawl-dev/leases.md &&
        ! grep -E 'doc/pawl/' "$tmp/files"
}

# Who uses the library depends on this version of its interface, and each package on what it needs.
depends()
{
    dpkg-deb -f "$tmp"/one/pawl_*.deb Depends | grep -q 'libc6 (>= .*libsqlite3-0 (>= 3\.40)' &&
        dpkg-deb -f "$tmp"/one/libpawl-dev_*.deb Depends | grep -q '^libpawl0 (= .*libsqlite3-dev' &&
        dpkg-deb --ctrl-tarfile "$tmp"/one/libpawl0_*.deb | tar -xO ./shlibs |
        grep -qx 'libpawl 0 libpawl0 (>= 0\.[0-9.]*), libpawl0 (<< 0\.[0-9]*~)'
}

lintian_is_content()
{
    # There is no bug to close. A build for work is not a release, and its libraries lie in lib.
    suppress=initial-upload-closes-no-bugs
    [ -z "$(find "$tmp/root/usr/lib" -maxdepth 1 -name libpawl.a)" ] ||
        suppress=$suppress,arch-dependent-file-not-in-arch-specific-directory,pkg-config-unavailable-for-cross-compilation,hardening-no-bindnow,hardening-no-fortify-functions,hardening-no-relro
    allow=
    [ "$(id -u)" -ne 0 ] || allow=--allow-root
    TMPDIR=$tmp lintian $allow --no-cfg --fail-on error,warning --suppress-tags "$suppress" "$tmp"/one/*.deb
}

# Into a root of its own, whose packages it depends on are elsewhere.
as_root()
{
    if [ "$(id -u)" -eq 0 ]; then "$@"; else fakeroot -- "$@"; fi
}

dpkg_there() # ARGUMENT...
{
    as_root env "PATH=$PATH:/usr/sbin:/sbin" dpkg "--root=$tmp/root" --force-script-chrootless --force-depends \
        "$@" >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
}

installs()
{
    mkdir -p "$tmp/root/var/lib/dpkg/info" "$tmp/root/var/lib/dpkg/updates"
    : >"$tmp/root/var/lib/dpkg/status"
    : >"$tmp/root/var/lib/dpkg/available"
    dpkg_there -i "$tmp"/one/*.deb || return 1
    pawl=$tmp/root/usr/bin/pawl
    libdir=$(dirname "$(find "$tmp/root" -name libpawl.so)")
    "$pawl" version | grep -q '^pawl [0-9.]*$' &&
        "$pawl" task add --db "$tmp/tasks.db" -q mail --id t1 >/dev/null &&
        "${CC:-cc}" -I"$tmp/root/usr/include" -o "$tmp/user" examples/add_and_work.c -L"$libdir" -lpawl &&
        [ "$(LD_LIBRARY_PATH=$libdir "$tmp/user" "$tmp/user.db")" = 'completed {"to":"ada"}' ]
}

makes_user()
{
    grep -q '^pawl:.*:/var/lib/pawl:/usr/sbin/nologin$' "$tmp/root/etc/passwd"
}

removes()
{
    dpkg_there -r libpawl-dev libpawl0 pawl && dpkg_there -P libpawl-dev libpawl0 pawl || return 1
    ! find "$tmp/root" -path "$tmp/root/var/lib/dpkg" -prune -o -name '*pawl*' -print | grep .
}

# The command line of the unit, as systemd makes it of the example: names that start with a dollar
# are words split at spaces.
unit_runs()
{
    sed -n 's/^#*\([A-Z_]*=.*\)/\1/p' packaging/systemd/mail.conf >"$tmp/conf"
    OPTIONS=$(sed -n 's/^OPTIONS=//p' "$tmp/conf")
    QUEUES=$(sed -n 's/^QUEUES=//p' "$tmp/conf")
    COMMAND=cat
    [ -n "$OPTIONS" ] && [ -n "$QUEUES" ] && grep -q '^COMMAND=.' "$tmp/conf" && grep -q '^PAWL_DB=' "$tmp/conf" || return 1
    line=$(sed -n 's/^ExecStart=\/usr\/bin\/pawl //p' "$tmp/root/usr/$unit")
    # shellcheck disable=SC2086 # words; the file is our own
    set -- $(eval "echo $line" | sed 's/%i/mail/; s/%H/host/')
    [ "$1 $2" = 'worker run' ] || return 1
    PAWL_DB=$tmp/tasks.db "$tmp/root/usr/bin/pawl" "$@" 2>"$tmp/log" &
    worker=$!
    PAWL_DB=$tmp/tasks.db "$tmp/root/usr/bin/pawl" task wait t1 --timeout 30s >/dev/null
    status=$?
    kill -TERM $worker
    wait $worker && [ $status -eq 0 ] && grep -q 'worker=mail@host' "$tmp/log" || { cat "$tmp/log"; return 1; }
}

# The command line of the server's unit, as its example says it, with a free port.
server_runs()
{
    line=$(sed -n 's/^ExecStart=\/usr\/bin\/pawl //p' "$tmp/root/usr/$server_unit")
    OPTIONS=$(sed -n 's/^#OPTIONS=//p' packaging/systemd/server.conf | sed 's/--tls-[a-z]* [^ ]*//g; s/[0-9.]*:8443/127.0.0.1:0/')
    [ -n "$OPTIONS" ] && grep -q '^#PAWL_DB=' packaging/systemd/server.conf || return 1
    # shellcheck disable=SC2086 # words; the file is our own
    set -- $(eval "echo $line")
    PAWL_DB=$tmp/served.db "$tmp/root/usr/bin/pawl" "$@" >"$tmp/log" 2>&1 &
    server=$!
    until grep -q '^listening on' "$tmp/log" || ! kill -0 $server 2>/dev/null; do :; done
    kill -TERM $server
    wait $server && grep -q '^listening on' "$tmp/log" || { cat "$tmp/log"; return 1; }
}

unit_reads() # what systemd says of them, their program named as it lies here
{
    for one in "$unit" "$server_unit"; do
        sed "s|=/usr/bin/pawl |=$tmp/root/usr/bin/pawl |" "$tmp/root/usr/$one" >"$tmp/${one##*/}"
        systemd-analyze verify --man=no "$tmp/${one##*/}" >"$tmp/log" 2>&1
        status=$?
        cat "$tmp/log"
        [ $status -eq 0 ] && [ ! -s "$tmp/log" ] || return 1
    done
}

unit_is_hard()
{
    for one in "$unit" "$server_unit"; do
        systemd-analyze security --no-pager --offline=yes --threshold=15 "$tmp/root/usr/$one" >"$tmp/log" 2>&1 ||
            { cat "$tmp/log"; return 1; }
    done
}

unit_that_is_soft()
{
    sed '/^ProtectSystem=/d; /^NoNewPrivileges=/d' "$tmp/root/usr/$unit" >"$tmp/soft@.service"
    systemd-analyze security --no-pager --offline=yes --threshold=15 "$tmp/soft@.service" >/dev/null 2>&1
}

if [ $list = no ]; then
    for tool in dpkg-deb dpkg-gencontrol dpkg-shlibdeps; do
        command -v $tool >/dev/null && continue
        skips "the Debian packages of this build" "there is no $tool (dpkg-dev)"
        finish
    done
fi
holds "the Debian packages are the same bytes, whoever builds them where and when" builds
holds "their version is that of the header" has_version
holds "the program, the library and what is needed to build with it are packages of their own" is_split
holds "the packages depend on what they need" depends
sentence="the packages install into a root of their own, and what they bring runs"
if [ "$(id -u)" -eq 0 ] || command -v fakeroot >/dev/null; then holds "$sentence" installs
else
    skips "$sentence" "neither root nor fakeroot"
    finish
fi
sentence="the package makes the user that workers run as"
if command -v systemd-sysusers >/dev/null; then holds "$sentence" makes_user; else skips "$sentence" "there is no systemd-sysusers"; fi
sentence="lintian finds no error and gives no warning"
if command -v lintian >/dev/null; then holds "$sentence" lintian_is_content; else skips "$sentence" "there is no lintian"; fi
holds "the unit's command line, made of the example, is a worker" unit_runs
holds "the command line of the server's unit, made of the example, serves" server_runs
if command -v systemd-analyze >/dev/null; then
    holds "systemd reads the units without a complaint" unit_reads
    holds "systemd rates the exposure of each at 1.5 or lower" unit_is_hard
    bites "a unit without its bounds is found" unit_that_is_soft
else
    skips "systemd reads the units without a complaint" "there is no systemd-analyze"
    skips "systemd rates the exposure of each at 1.5 or lower" "there is no systemd-analyze"
fi
holds "purged, nothing of the packages is left" removes

finish
