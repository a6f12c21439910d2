# The tools that make code and that count.
. tests/checks/lib.sh

cc=${CC:-cc}

sql() # LINE...: the statements file of the next test
{
    printf '%s\n' "$@" >"$tmp/statements.sql"
}

to_c() { awk -f tools/sql_to_c header="$tmp/statements.h" source="$tmp/statements.c" "$tmp/statements.sql"; }

# Makes C of the statements, compiles it, and compares what it prints with the wanted lines.
gives() # LINE...
{
    to_c || return 1
    printf '%s\n' "$@" >"$tmp/want"
    mkdir -p "$tmp/store"
    cp "$tmp/statements.h" "$tmp/store/statements.h"
    cat >"$tmp/main.c" <<'END'
#include "store/statements.h"

#include <stdio.h>

int main(void)
{
    for (int i = 0; i < PAWL_SQL_COUNT; i++) {
        printf("%s\n%s\n%s\n", pawl_sql_name[i], pawl_sql_sqlite[i], pawl_sql_postgres[i]);
    }
    return 0;
}
END
    "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$tmp" -o "$tmp/main" "$tmp/main.c" "$tmp/statements.c" &&
        "$tmp/main" >"$tmp/got" && diff "$tmp/want" "$tmp/got"
}

sql '-- name: A' "-- it's a comment" 'SELECT "x?1" FROM t -- the reader'"'"'s' \
    "WHERE a = ?1 AND b = '?2''\\' AND c = ?12;" '' '-- name: B sqlite' 'SELECT 1' \
    '-- name: B postgres' 'SELECT 2'
holds "statements come out for both stores, with their parameters" gives \
    A 'SELECT "x?1" FROM t' "WHERE a = ?1 AND b = '?2''\\' AND c = ?12" \
    'SELECT "x?1" FROM t' "WHERE a = \$1 AND b = '?2''\\' AND c = \$12" B 'SELECT 1' 'SELECT 2'
sql '-- name: A' 'SELECT 1;' '-- name: A' 'SELECT 2;'
bites "a statement whose name comes twice is refused" to_c
sql '-- name: A sqlite' 'SELECT 1;' '-- name: A' 'SELECT 2;'
bites "a statement that comes twice for one store is refused" to_c
sql '-- name: A sqlite' 'SELECT 1;'
bites "a statement that one store lacks is refused" to_c
sql '-- name: A' 'SELECT 1;' '-- name: B postgres only' 'SELECT 2;'
holds "a statement marked so is for one store only" gives A 'SELECT 1' 'SELECT 1' B '(null)' 'SELECT 2'
sql '-- name: A' '-- postgres: FOR UPDATE' 'SELECT 1;' '-- name: B' 'SELECT 2;'
holds "a line may be for the end of one store's text only" gives \
    A 'SELECT 1' 'SELECT 1' 'FOR UPDATE' B 'SELECT 2' 'SELECT 2'
sql '-- name: A' 'SELECT BYTES(p.body) + BYTES(state) FROM p;'
holds "how many bytes a text has is asked in the words of each store" gives \
    A 'SELECT length(CAST(p.body AS BLOB)) + length(CAST(state AS BLOB)) FROM p' \
    'SELECT octet_length(p.body) + octet_length(state) FROM p'
many_is() # LINE...: the text for many of the first statement
{
    to_c || return 1
    printf '%s\n' "$@" >"$tmp/want"
    sed -n '/pawl_sql_many\[/,/^};/p' "$tmp/statements.c" | sed -n 's/^        "//p' |
        sed 's/\\n"$//; s/",$//' >"$tmp/got"
    diff "$tmp/want" "$tmp/got"
}
sql '-- name: A' '-- postgres: FOR UPDATE' '-- many: 1 text' 'SELECT a' 'FROM t' 'WHERE b = ?1 AND c > ?2;'
holds "a SELECT for many runs for each element, and says whose a row is" many_is \
    'SELECT found.*, given.number' 'FROM generate_series(1, array_length($1::text[], 1)) AS given (number),' \
    '     LATERAL (SELECT a' 'FROM t' \
    'WHERE b = ($1::text[])[given.number] AND c > ($2::bigint[])[given.number]' 'FOR UPDATE) AS found'
sql '-- name: A' '-- many: 2 double precision' 'UPDATE t' 'SET a = ?2' 'WHERE key = ?1;'
holds "an UPDATE for many changes a row for each element" many_is \
    'UPDATE t' 'SET a = ($2::double precision[])[given.number]' \
    'FROM generate_series(1, array_length($1::bigint[], 1)) AS given (number)' \
    'WHERE key = ($1::bigint[])[given.number]'
sql '-- name: A' '-- many:' 'INSERT INTO t (a, b)' 'VALUES (?1, abs(?2))' 'ON CONFLICT DO NOTHING;'
holds "an INSERT for many adds a row for each element" many_is \
    'INSERT INTO t (a, b)' 'SELECT ($1::bigint[])[given.number], abs(($2::bigint[])[given.number])' \
    'FROM generate_series(1, array_length($1::bigint[], 1)) AS given (number)' 'ON CONFLICT DO NOTHING'
sql '-- name: A' '-- many:' 'DELETE FROM t WHERE a = ?1;'
bites "a statement that cannot be made for many is refused" to_c
sql '-- name: A' 'SELECT 1; SELECT 2;'
bites "two statements under one name are refused" to_c
sql '-- name: A' 'SELECT ?;'
bites "a parameter without a number is refused" to_c
sql '-- name: A' '-- only a comment'
bites "a name without SQL is refused" to_c
sql '-- name: A' "SELECT 'x;"
bites "an open quote is refused" to_c

# LC_ALL=C: the bytes come out as they are.
schema_to_c() { awk -f tools/file_to_c header="$tmp/schema.h" source="$tmp/schema.c" "$@"; }
schema_is_kept()
{
    schema_to_c "$tmp/0001.sqlite.sql" "$tmp/0001.postgres.sql" || return 1
    mkdir -p "$tmp/store"
    cp "$tmp/schema.h" "$tmp/store/schema_text.h"
    cat >"$tmp/main.c" <<'END'
#include "store/schema_text.h"

#include <stdio.h>

int main(void)
{
    fputs(pawl_schema_sqlite[pawl_schema_count - 1], stdout);
    return 0;
}
END
    "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$tmp" -o "$tmp/main" "$tmp/main.c" "$tmp/schema.c" &&
        "$tmp/main" | cmp - "$tmp/0001.sqlite.sql"
}

awk 'BEGIN { for (i = 0; i < 200; i++) print "-- \"a\\b\" ??/\t" i "; \303\251" }' >"$tmp/0001.sqlite.sql"
echo 'SELECT 1;' >"$tmp/0001.postgres.sql"
cp "$tmp/0001.sqlite.sql" "$tmp/0002.sqlite.sql"
cp "$tmp/0001.sqlite.sql" "$tmp/0003.sqlite.sql"
cp "$tmp/0001.sqlite.sql" "$tmp/first.sql"
holds "a schema file comes out as it is, however long" schema_is_kept
bites "a schema that one store lacks is refused" schema_to_c "$tmp/0001.sqlite.sql"
bites "a gap in the numbers of schemas is refused" schema_to_c "$tmp/0001.sqlite.sql" \
    "$tmp/0001.postgres.sql" "$tmp/0003.sqlite.sql"
bites "a schema file without a number is refused" schema_to_c "$tmp/0001.sqlite.sql" \
    "$tmp/0001.postgres.sql" "$tmp/first.sql"

summary() # WANTED-LINE WANTED-STATUS RESULT...
{
    want_line=$1
    want_status=$2
    shift 2
    : >"$tmp/results"
    for result in "$@"; do printf '%s\tprogram\tname\n' "$result" >>"$tmp/results"; done
    tools/test_summary "$tmp/results" >"$tmp/summary"
    status=$?
    cat "$tmp/summary"
    [ $status -eq "$want_status" ] && [ "$(tail -n 1 "$tmp/summary")" = "$want_line" ]
}

holds "the summary counts" summary "2 passed, 0 failed, 1 skipped" 0 pass skip pass
holds "the summary fails if a test failed" summary "1 passed, 1 failed, 0 skipped" 1 fail pass
holds "the summary fails if nothing ran" summary "0 passed, 0 failed, 0 skipped" 1

# Why a test failed stands after its name, a line of it a line, and of many failures only the first are explained.
explained()
{
    printf 'fail\tp\tone\ta_test.c:7: got\\n  want 1\\n  got  2\npass\tp\ttwo\nfail\tp\tthree\n' >"$tmp/results"
    tools/test_summary "$tmp/results" >"$tmp/summary"
    printf '%s\n' 'failed   p: one' '         a_test.c:7: got' '           want 1' '           got  2' \
        'failed   p: three' '1 passed, 2 failed, 0 skipped' | diff - "$tmp/summary"
}

bounded()
{
    local i long
    long=$(printf 'line\\n%.0s' $(seq 40))
    for i in $(seq 30); do printf 'fail\tp\t%s\t%s\n' "$i" "$long"; done >"$tmp/results"
    tools/test_summary "$tmp/results" >"$tmp/summary"
    [ "$(grep -c '^failed ' "$tmp/summary")" = 30 ] && [ "$(grep -c '^         line$' "$tmp/summary")" = $((20 * 12)) ]
}

holds "the summary says why a test failed" explained
holds "the summary of many failures stays short" bounded

# A test in C and one in shell that fail say in the results where, what was wanted, and what it was.
says_why_in_c()
{
    cat >"$tmp/main.c" <<'END'
#include "test.h"

TEST("it adds")
{
    CHECK_EQ(5, 2 + 2);
}

TEST_MAIN()
END
    "$cc" -std=c17 -D_GNU_SOURCE -Iinclude -Isrc -Itests -o "$tmp/main" "$tmp/main.c" tests/test.c -lcmocka -lm || return 1
    rm -f "$tmp/results"
    ! PAWL_TEST_RESULTS=$tmp/results "$tmp/main" || return 1
    cat "$tmp/results"
    [ "$(cat "$tmp/results")" = "$(printf 'fail\tmain\tit adds\t%s/main.c:5: 2 + 2\\n  want 5\\n  got  4' "$tmp")" ]
}

says_why_in_shell()
{
    cat >"$tmp/case.sh" <<END
. $PWD/tests/cli/lib.sh
plain() { :; false; }
test_that "a plain command fails" plain
wanted()
{
    run version
    exits 3
}
test_that "a status is wanted" wanted
finish
END
    printf '#!/bin/sh\necho told\n' >"$tmp/pawl"
    chmod +x "$tmp/pawl"
    rm -f "$tmp/results"
    ! PAWL_BIN=$tmp/pawl PAWL_TEST_PROGRAM=p PAWL_TEST_RESULTS=$tmp/results bash "$tmp/case.sh" || return 1
    cat "$tmp/results"
    grep -qxF "$(printf 'fail\tp\ta plain command fails\t')case.sh:2: \`false\` has status 1\n  ran: nothing; status none" "$tmp/results" &&
        grep -qxF "$(printf 'fail\tp\ta status is wanted\t')case.sh:7: status 3 was wanted\n  ran: pawl version; status 0\n  out: told" "$tmp/results"
}

holds "a test in C says where it failed, what was wanted and what it was" says_why_in_c
holds "a test in shell says so too" says_why_in_shell

counted() # WANTED-LINE COMMAND...: what one command adds to the results
{
    want=$1
    shift
    rm -f "$tmp/counted"
    PAWL_TEST_RESULTS=$tmp/counted tools/counted "it works" "$@"
    cut -f 1 "$tmp/counted" | tr '\n' ' ' | grep -qx "$want "
}

holds "a command that says nothing is counted once" counted pass true
holds "a command that fails is counted as failed" counted fail false
holds "a command with exit status 77 is counted as skipped" counted skip sh -c 'exit 77'
holds "a command that counts for itself is not counted again" counted "pass pass" \
    sh -c 'printf "pass\tp\tx\npass\tp\ty\n" >>"$PAWL_TEST_RESULTS"'

linked() # FLAG...: makes $tmp/linked
{
    cat >"$tmp/main.c" <<'END'
#include <stdio.h>

int main(int argc, char **argv)
{
    char text[100];
    snprintf(text, sizeof text, "%d %s", argc, argv[0]);
    return puts(text) < 0;
}
END
    "$cc" -O2 "$@" -o "$tmp/linked" "$tmp/main.c" || exit 2
}

linked -fPIE -pie -fstack-protector-strong -Wl,-z,relro,-z,now
holds "a hardened program passes as one" tools/check_hardened "$tmp/linked"
linked -fno-pie -no-pie -fstack-protector-strong -Wl,-z,relro,-z,now
bites "a program at a fixed address is found" tools/check_hardened "$tmp/linked"
linked -fPIE -pie -fno-stack-protector -Wl,-z,relro,-z,now
bites "a program without guarded frames is found" tools/check_hardened "$tmp/linked"
linked -fPIE -pie -fstack-protector-strong -Wl,-z,relro,-z,lazy
bites "a program bound lazily is found" tools/check_hardened "$tmp/linked"
linked -fPIE -pie -fstack-protector-strong -Wl,-z,norelro,-z,now
bites "a program with writable relocations is found" tools/check_hardened "$tmp/linked"
linked -fPIE -pie -fstack-protector-strong -Wl,-z,relro,-z,now,-z,execstack
bites "a program with an executable stack is found" tools/check_hardened "$tmp/linked"

finish
