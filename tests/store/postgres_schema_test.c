/* The schema and the statements as PostgreSQL sees them: that both stores have the same tables, and
 * that no statement walks a table that grows. */
#include "postgres_lab.h"
#include "store/schema_text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 * 1024 };

/* Lines, one a row. */
struct lines {
    char text[TEXT_BYTES_MAX];
    size_t len;
};

static void lines_add(struct lines *lines, const char *line)
{
    int len = snprintf(lines->text + lines->len, sizeof lines->text - lines->len, "%s\n", line);
    CHECK(len > 0 && (size_t)len < sizeof lines->text - lines->len);
    lines->len += (size_t)len;
}

/* The first column of each row. */
static void read_lines(struct postgres_side *side, const char *sql, struct lines *out)
{
    out->len = 0;
    out->text[0] = '\0';
    PGresult *result = side->pq.exec(side->conn, sql);
    if (side->pq.resultStatus(result) != PGRES_TUPLES_OK) {
        FAIL("%s: %s", sql, side->pq.errorMessage(side->conn));
    }
    for (int i = 0; i < side->pq.ntuples(result); i++)
        lines_add(out, side->pq.getvalue(result, i, 0));
    side->pq.clear(result);
}

/* ---- The schema ----------------------------------------------------------------------------- */

static void read_sqlite_lines(const char *sql, struct lines *out)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    CHECK_EQ(SQLITE_OK, sqlite3_open(":memory:", &db));
    for (int i = 0; i < PAWL_SCHEMA_COUNT; i++) {
        CHECK_EQ(SQLITE_OK, sqlite3_exec(db, pawl_schema_sqlite[i], NULL, NULL, NULL));
    }
    CHECK_EQ(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        lines_add(out, (const char *)sqlite3_column_text(statement, 0));
    }
    CHECK_EQ(SQLITE_OK, sqlite3_finalize(statement));
    CHECK_EQ(SQLITE_OK, sqlite3_close(db));
}

TEST("both stores have the same tables and columns, but for node")
{
    static struct lab lab;
    static struct lines want;
    static struct lines got;
    struct postgres_side side;
    lab_open(&lab, &postgres_kind);
    postgres_side_open(&side, lab.target);
    read_sqlite_lines(
        "SELECT m.name || '.' || p.name || ' ' || CASE p.type WHEN 'INTEGER' THEN 'bigint' "
        "WHEN 'REAL' THEN 'double precision' WHEN 'BLOB' THEN 'bytea' ELSE 'text' END || "
        "CASE WHEN p.\"notnull\" OR p.pk THEN ' not null' ELSE '' END "
        "FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table' ORDER BY 1",
        &want);
    read_lines(&side,
               "SELECT table_name || '.' || column_name || ' ' || data_type || "
               "CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END COLLATE \"C\" "
               "FROM information_schema.columns WHERE table_schema = current_schema() "
               "AND table_name <> 'node' ORDER BY 1",
               &got);
    CHECK(want.len > 0);
    CHECK_TEXT(want.text, got.text);
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST("both stores have the same indexes")
{
    static struct lab lab;
    static struct lines want;
    static struct lines got;
    struct postgres_side side;
    lab_open(&lab, &postgres_kind);
    postgres_side_open(&side, lab.target);
    read_sqlite_lines(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name",
        &want);
    read_lines(
        &side,
        "SELECT i.indexname COLLATE \"C\" FROM pg_indexes i WHERE i.schemaname = current_schema() "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname) ORDER BY 1",
        &got);
    CHECK_TEXT(want.text, got.text);
    postgres_side_close(&side);
    lab_close(&lab);
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static const char *const growing[] = {"task",       "worker", "payload",
                                      "dependency", "event",  "acknowledgement",
                                      "checkpoint", "log",    "late",
                                      "tombstone",  "definition"};

/* These look at an index from its start, and end after the first entry or at a bound that they
 * name; what they sort is what they have found. */
static const enum pawl_statement bounded[] = {PAWL_SQL_NEXT_DUE, PAWL_SQL_READ_QUEUES_WAITING,
                                               PAWL_SQL_HEALTH, PAWL_SQL_TALLY};

/* The server finds integer for a parameter of these, which is right as long as they are given a
 * number. */
static const enum pawl_statement narrow[] = {PAWL_SQL_READ_READY_HEADS, PAWL_SQL_READ_EVENT};

static bool is_in(const enum pawl_statement *list, size_t count, enum pawl_statement statement)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == statement) return true;
    }
    return false;
}

static bool is_growing(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(growing); i++) {
        size_t len = strlen(growing[i]);
        if (strncmp(name, growing[i], len) == 0 && (name[len] == ' ' || name[len] == '\0'))
            return true;
    }
    return false;
}

/* What a line of a plan scans, if that is a table that grows. */
static bool scans(const char *line, const char *how)
{
    const char *at = strstr(line, how);
    const char *on = at == NULL ? NULL : strstr(at, " on ");
    return on != NULL && is_growing(on + strlen(" on "));
}

/* What is wrong with a plan; NULL if nothing is. The line is left in *where. */
static const char *plan_fault(struct lines *plan, bool is_bounded, const char **where)
{
    for (char *line = plan->text, *next; *line != '\0'; line = next) {
        next = strchr(line, '\n') + 1;
        next[-1] = '\0';
        *where = line;
        if (scans(line, "Seq Scan")) return "a table that grows is scanned";
        if (scans(line, "Bitmap Heap Scan")) return "a bitmap has no order";
        bool is_sort =
            strstr(line, "->  Sort") != NULL || strstr(line, "->  Incremental Sort") != NULL;
        if (is_sort && !is_bounded) {
            return "rows are sorted instead of read in order";
        }
        bool has_start =
            strncmp(next + strspn(next, " "), "Index Cond:", strlen("Index Cond:")) == 0;
        if (scans(line, " using ") && !has_start && !is_bounded)
            return "an index is walked from its start";
    }
    return NULL;
}

static int32_t count_parameters(const char *sql)
{
    int32_t count = 0;
    for (const char *at = strchr(sql, '$'); at != NULL; at = strchr(at + 1, '$')) {
        int32_t number = 0;
        for (const char *digit = at + 1; *digit >= '0' && *digit <= '9'; digit++) {
            number = number * 10 + (*digit - '0');
        }
        if (number > count) count = number;
    }
    return count;
}

static bool has_plan(const char *sql)
{
    static const char *const words[] = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (sql != NULL && strncmp(sql, words[i], strlen(words[i])) == 0) return true;
    }
    return false;
}

/* What is prepared: each statement, and its form for many where it has one. */
struct prepared {
    enum pawl_statement statement;
    const char *sql;
    char name[64];
};

/* The next one that has a plan; false after the last. Starts with *at 0. */
static bool next_prepared(int *at, struct prepared *out)
{
    while (*at < 2 * PAWL_SQL_COUNT) {
        bool is_many = *at % 2 == 1;
        out->statement = (enum pawl_statement)(*at / 2);
        out->sql = is_many ? pawl_sql_many[out->statement] : pawl_sql_postgres[out->statement];
        (void)snprintf(out->name, sizeof out->name, "%s%s", pawl_sql_name[out->statement],
                       is_many ? " many" : "");
        ++*at;
        if (has_plan(out->sql)) return true;
    }
    return false;
}

/* The statement as prepared, its parameters NULL. */
static const char *execute_text(const struct prepared *prepared)
{
    static char text[1024];
    int32_t count = count_parameters(prepared->sql);
    int len = snprintf(text, sizeof text, "EXPLAIN (COSTS OFF) EXECUTE \"%s\"", prepared->name);
    for (int32_t i = 0; i < count; i++) {
        len += snprintf(text + len, sizeof text - (size_t)len, "%sNULL", i == 0 ? "(" : ", ");
    }
    if (count > 0) (void)snprintf(text + len, sizeof text - (size_t)len, ")");
    return text;
}

static void prepare_all(struct postgres_side *side)
{
    struct prepared prepared;
    for (int at = 0; next_prepared(&at, &prepared);) {
        static char text[16 * 1024];
        (void)snprintf(text, sizeof text, "PREPARE \"%s\" AS %s", prepared.name, prepared.sql);
        (void)postgres_side_sql(side, text);
    }
    (void)postgres_side_sql(side, "EXECUTE \"SESSION_SET\"('off')");
}

static void check_plans(struct postgres_side *side)
{
    static struct lines plan;
    struct prepared prepared;
    for (int at = 0; next_prepared(&at, &prepared);) {
        read_lines(side, execute_text(&prepared), &plan);
        bool is_bounded = is_in(bounded, COUNT_OF(bounded), prepared.statement);
        const char *where = NULL;
        const char *fault = plan_fault(&plan, is_bounded, &where);
        if (fault != NULL) FAIL("%s: %s: %s", prepared.name, fault, where);
    }
}

/* Sizes and shares as in a store that has run for a while. */
static const char fill_sql[] =
    "INSERT INTO queue SELECT i, 'q' || i, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(0, 9) i;"
    "INSERT INTO worker SELECT i, 'w' || i, '', '', 1, 1, 1, NULL, NULL FROM generate_series(1, "
    "2000) i;"
    "INSERT INTO task (key, id, queue, state, priority, rank, due_at_ms, version, epoch, "
    "max_retries, backoff,"
    " delay_ms, delay_ms_max, jitter_ms, retries, recoveries, crashes_in_row, created_at_ms, "
    "updated_at_ms,"
    " finished_at_ms, progress, progress_epoch, control, sequence, dependency_policy, "
    "open_dependencies,"
    " blocked_by, has_dependents, payloads, checkpoint_count, log_bytes, payload_bytes, "
    "checkpoint_bytes,"
    " idempotency_key)"
    " SELECT i, 't-' || i, i % 10, state, 20, CASE state WHEN 1 THEN i END, CASE state WHEN 2 THEN "
    "i END, 1, 1, 3,"
    " 0, 0, 0, 0, 0, 0, 0, 1, 1, CASE state WHEN 5 THEN i END, 0, 0, 0, 1, 0, 0, CASE i % 1000 "
    "WHEN 7 THEN 1 END,"
    " 0, 0, 0, 0, 0, 0, CASE i % 5 WHEN 0 THEN 'k' || i END"
    " FROM (SELECT i, CASE WHEN i % 100 < 90 THEN 5 WHEN i % 100 < 98 THEN 1 WHEN i % 100 < 99 "
    "THEN 2"
    " ELSE 3 + i / 100 % 6 END AS state FROM generate_series(1, 20000) i) made;"
    "INSERT INTO payload SELECT i * 16, 'x' FROM generate_series(1, 20000) i;"
    "INSERT INTO dependency SELECT i, 0, i - 1, NULL, 1 FROM generate_series(1, 3000) i;"
    "INSERT INTO dependency SELECT i, 1, NULL, 'z' || i, 1 FROM generate_series(1, 30) i;"
    "INSERT INTO event SELECT i, i / 3, i % 3, 1, 1, 1, 1, 1, 0, 0, NULL, NULL, 0, NULL, NULL"
    " FROM generate_series(1, 60000) i;"
    "INSERT INTO consumer SELECT i, 'c' || i, 1, 1 FROM generate_series(1, 30) i;"
    "INSERT INTO acknowledgement SELECT 1, i FROM generate_series(1, 3000) i;"
    "INSERT INTO checkpoint SELECT i, i / 2, 1, 1, 1, 'x' FROM generate_series(1, 3000) i;"
    "INSERT INTO log SELECT i, i / 2, 1, 1, 1, 'x' FROM generate_series(1, 3000) i;"
    "INSERT INTO definition SELECT i, 1 + i % 3, 'n' || i / 3, i % 3, i, 1, NULL, NULL, NULL, '{}'"
    " FROM generate_series(1, 3000) i;"
    "INSERT INTO late SELECT i, i / 2, 1, 1, 'x', 1, 1, 'x' FROM generate_series(1, 3000) i;"
    "ANALYZE;";

TEST("D-19 no statement on PostgreSQL scans, sorts or walks a table that grows, young or full")
{
    static struct lab lab;
    struct postgres_side side;
    lab_open(&lab, &postgres_kind);
    postgres_side_open(&side, lab.target);
    prepare_all(&side);
    check_plans(&side);
    (void)postgres_side_sql(&side, fill_sql);
    check_plans(&side);
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST("a scan, a bitmap, a sort and a walk are found in a plan")
{
    static const struct {
        const char *sql;
        const char *fault; /* a word of it */
    } rows[] = {
        {"EXPLAIN SELECT 1 FROM task WHERE title = 'x'", "scanned"},
        {"SET enable_seqscan = off; EXPLAIN SELECT title FROM task WHERE due_at_ms > 5",
         "bitmap"},
        {"EXPLAIN SELECT 1 FROM task WHERE key < 9 ORDER BY title LIMIT 1", "sorted"},
        {"EXPLAIN SELECT key FROM event JOIN task ON task.key = event.task WHERE position = 1",
         NULL},
        {"EXPLAIN SELECT position FROM event ORDER BY position LIMIT 1", "walked"},
    };
    static struct lab lab;
    static struct lines plan;
    struct postgres_side side;
    lab_open(&lab, &postgres_kind);
    postgres_side_open(&side, lab.target);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *where = NULL;
        read_lines(&side, rows[i].sql, &plan);
        const char *fault = plan_fault(&plan, false, &where);
        if (rows[i].fault == NULL ? fault != NULL
                                  : fault == NULL || strstr(fault, rows[i].fault) == NULL) {
            FAIL("%s: %s", rows[i].sql, fault == NULL ? "nothing found" : fault);
        }
    }
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST("the server finds for every parameter the type that it is given")
{
    static struct lab lab;
    struct postgres_side side;
    lab_open(&lab, &postgres_kind);
    postgres_side_open(&side, lab.target);
    prepare_all(&side);
    struct prepared prepared;
    for (int at = 0; next_prepared(&at, &prepared);) {
        char text[512];
        bool is_many = prepared.sql == pawl_sql_many[prepared.statement];
        (void)snprintf(
            text, sizeof text,
            "SELECT type::text FROM pg_prepared_statements, unnest(parameter_types) AS type "
            "WHERE name = '%s' AND NOT type::text = ANY (CASE WHEN %s "
            "THEN '{bigint[],text[],double precision[]}'::text[] "
            "ELSE '{bigint,text,bytea,double precision}'::text[] END)",
            prepared.name, is_many ? "true" : "false");
        const char *odd = postgres_side_sql(&side, text);
        bool is_narrow = is_in(narrow, COUNT_OF(narrow), prepared.statement);
        if (strcmp(odd, is_narrow ? "integer" : "") != 0) {
            FAIL("%s: a parameter is %s", prepared.name, odd);
        }
    }
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST_MAIN()
