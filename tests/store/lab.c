#include "lab.h"

#include "base/str.h"
#if PAWL_POSTGRES
#include "postgres_lab.h"
#endif

#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARENA_BYTES_MAX = 64 * 1024 * 1024 };

/* ---- Kinds ------------------------------------------------------------------------------------ */

static void sqlite_target(struct lab *lab)
{
    (void)snprintf(lab->target, sizeof lab->target, "%.400s/store.db", lab->folder);
}

const struct lab_kind lab_kinds[] = {
    {"", NULL, sqlite_target, NULL},
#if PAWL_POSTGRES
    {" (postgres)", postgres_need, postgres_target, postgres_remove},
#endif
};
const size_t lab_kind_count = COUNT_OF(lab_kinds);

void lab_add(struct test_case tests[LAB_KINDS_MAX], char names[LAB_KINDS_MAX][256],
             const char *sentence, const char *file, int line, void (*body)(const void *kind))
{
    for (size_t i = 0; i < lab_kind_count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s%s", sentence, lab_kinds[i].label);
        tests[i] = (struct test_case){.name = names[i],
                                      .file = file,
                                      .line = line,
                                      .body_with = body,
                                      .given = &lab_kinds[i]};
        test_add(&tests[i]);
    }
}

/* ---- The world -------------------------------------------------------------------------------- */

static int64_t wall_ms(void *self)
{
    return ((struct lab_world *)self)->wall_ms;
}

static int64_t boot_ms(void *self)
{
    return ((struct lab_world *)self)->boot_ms;
}

static uint64_t random_number(void *self)
{
    struct lab_world *world = self;
    world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return world->random;
}

static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct lab *lab = self;
    (void)level;
    if (lab->log_len + line.len + 2 > sizeof lab->log_text) return;
    memcpy(lab->log_text + lab->log_len, line.ptr, line.len);
    lab->log_len += line.len;
    lab->log_text[lab->log_len++] = '\n';
    lab->log_text[lab->log_len] = '\0';
}

/* ---- Opening ---------------------------------------------------------------------------------- */

void lab_prepare(struct lab *lab, const struct lab_kind *kind)
{
    const char *where = getenv("TMPDIR");
    *lab = (struct lab){.kind = kind};
    if (kind->need != NULL) kind->need(); /* before there is anything to remove */
    (void)snprintf(lab->folder, sizeof lab->folder, "%.400s/pawl-test-XXXXXX",
                   where == NULL ? "/tmp" : where);
    CHECK(mkdtemp(lab->folder) != NULL);
    kind->target(lab);
    lab->world = (struct lab_world){
        .wall_ms = LAB_START_MS,
        .boot_ms = 5000,
        .random = 7,
        .env = {.self = &lab->world,
                .wall_ms = wall_ms,
                .boot_ms = boot_ms,
                .random = random_number,
                .boot_id = PAWL_STR("boot-1"),
                .host_id = PAWL_STR("host-1")},
    };
    lab->log = (struct pawl_log){write_log, lab, PAWL_LOG_DEBUG};
    CHECK_OK(pawl_arena_open(&lab->arena, ARENA_BYTES_MAX), NULL);
    pawl_set_init(&lab->set, lab->arena);
}

enum pawl_code lab_store(struct lab *lab, bool must_exist, struct pawl_store **out)
{
    struct pawl_store_options options = {
        .target = pawl_str_of(lab->target),
        .must_exist = must_exist,
        .env = &lab->world.env,
        .log = &lab->log,
        .vfs = lab->vfs,
    };
    return pawl_store_open(out, &options, &lab->err);
}

void lab_open(struct lab *lab, const struct lab_kind *kind)
{
    lab_prepare(lab, kind);
    CHECK_OK(lab_store(lab, false, &lab->store), &lab->err);
}

void lab_reopen(struct lab *lab)
{
    pawl_store_close(lab->store);
    lab->store = NULL;
    CHECK_OK(lab_store(lab, true, &lab->store), &lab->err);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

void lab_close(struct lab *lab)
{
    pawl_store_close(lab->store);
    if (lab->kind->remove != NULL) lab->kind->remove(lab);
    pawl_arena_close(lab->arena);
    (void)nftw(lab->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void lab_sql(struct lab *lab, const char *sql)
{
    (void)lab_sql_text(lab, sql);
}

const char *lab_sql_text(struct lab *lab, const char *sql)
{
    static char text[256];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    text[0] = '\0';
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab->target, &db));
    CHECK_EQ(SQLITE_OK, sqlite3_busy_timeout(db, 5000));
    CHECK_EQ(SQLITE_OK, sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
    const char *rest = sql;
    while (rest != NULL && rest[0] != '\0') {
        if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK) {
            FAIL("%s: %s", sql, sqlite3_errmsg(db));
        }
        int result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            const unsigned char *got = sqlite3_column_text(statement, 0);
            (void)snprintf(text, sizeof text, "%s", got == NULL ? "" : (const char *)got);
        } else if (result != SQLITE_DONE) {
            FAIL("%s: %s", sql, sqlite3_errmsg(db));
        }
        (void)sqlite3_finalize(statement);
    }
    CHECK_EQ(SQLITE_OK, sqlite3_close(db));
    return text;
}

/* ---- Steps ------------------------------------------------------------------------------------ */

enum pawl_code lab_try_begin(struct lab *lab)
{
    pawl_arena_reset(lab->arena);
    pawl_set_init(&lab->set, lab->arena);
    return pawl_store_begin(lab->store, &lab->head, &lab->err);
}

void lab_begin(struct lab *lab)
{
    CHECK_OK(lab_try_begin(lab), &lab->err);
}

void lab_load(struct lab *lab)
{
    CHECK_OK(pawl_store_load(lab->store, &lab->set, &lab->err), &lab->err);
    CHECK_EQ(0, lab->set.wanted.count);
}

enum pawl_code lab_try_commit(struct lab *lab)
{
    CHECK(!lab->set.is_full);
    enum pawl_code code = pawl_store_save(lab->store, &lab->set, &lab->err);
    if (code != PAWL_OK) {
        pawl_store_rollback(lab->store);
        return code;
    }
    return pawl_store_commit(lab->store, &lab->set, &lab->head, &lab->err);
}

void lab_commit(struct lab *lab)
{
    CHECK_OK(lab_try_commit(lab), &lab->err);
}

void *lab_take(struct lab *lab, const void *row, size_t bytes)
{
    void *copy = pawl_arena_take(lab->arena, bytes);
    CHECK(copy != NULL);
    memcpy(copy, row, bytes);
    return copy;
}

struct pawl_entry *lab_look(struct lab *lab, enum pawl_look look, int64_t number, const char *text,
                            int64_t after, int32_t limit)
{
    struct pawl_str key = pawl_arena_copy(lab->arena, pawl_str_of(text));
    struct pawl_entry *entry = pawl_set_look(&lab->set, look, number, key, after, limit);
    CHECK(entry != NULL);
    lab_load(lab);
    CHECK(entry->is_loaded);
    CHECK(!entry->is_wanted);
    return entry;
}

struct pawl_task_row *lab_task(struct lab *lab, int64_t key)
{
    return lab_look(lab, PAWL_LOOK_TASK, key, NULL, 0, 0)->row;
}

struct pawl_rows *lab_rows(struct lab *lab, enum pawl_look look, int64_t number, int64_t after,
                           int32_t limit)
{
    struct pawl_rows *rows = lab_look(lab, look, number, NULL, after, limit)->row;
    CHECK(rows != NULL);
    return rows;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

struct pawl_task_row lab_task_row(int64_t key, int64_t queue)
{
    return (struct pawl_task_row){
        .key = key,
        .queue = queue,
        .state = PAWL_TASK_QUEUED,
        .priority = 20,
        .rank = pawl_rank_make(20, LAB_START_MS),
        .version = 1,
        .retry = {3, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 0},
        .created_at_ms = LAB_START_MS,
        .updated_at_ms = LAB_START_MS,
        .sequence = 1,
    };
}

struct pawl_task_row *lab_put_task(struct lab *lab, int64_t key, int64_t queue)
{
    struct pawl_task_row row = lab_task_row(key, queue);
    row.id = pawl_arena_format(lab->arena, "t-%" PRId64, key);
    struct pawl_task_row *task = LAB_TAKE(lab, row);
    pawl_set_put(&lab->set, PAWL_LOOK_TASK, key, (struct pawl_str){0}, 0, task);
    return task;
}

void lab_put_queue(struct lab *lab, int64_t key, const char *name)
{
    struct pawl_queue_row row = {.key = key,
                                 .name = pawl_arena_copy(lab->arena, pawl_str_of(name))};
    pawl_set_put(&lab->set, PAWL_LOOK_QUEUE, key, (struct pawl_str){0}, 0, LAB_TAKE(lab, row));
}

void lab_put_event(struct lab *lab, int64_t task, int64_t sequence)
{
    struct pawl_event_new event = {.row = {.task = task,
                                           .sequence = sequence,
                                           .type = PAWL_EVENT_QUEUED,
                                           .at_ms = LAB_START_MS,
                                           .state = PAWL_TASK_QUEUED,
                                           .version = 1}};
    pawl_set_append(&lab->set, PAWL_APPEND_EVENT, LAB_TAKE(lab, event));
}
