/* The checks are a table: what is said, what to do, whether it can be mended. A page is read into
 * the arena first and judged then, so that a question that one row raises can be asked in the same
 * transaction.
 *
 * Mended is only what follows from other rows: counts, places in indexes, fields that a state
 * forbids. Each mending looks again, in the transaction that writes, and by the same code; so it
 * does nothing if somebody was faster. What would need a guess (a lost row, which of two
 * contradicting fields is right) is only told. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/handle.h"
#include "store/sqlite_copy.h"

#include <inttypes.h>

/* ---- The checks ---- */

const struct pawl_fsck_about pawl_fsck_checks[] = {
#define X(name, text, mending, advice) [PAWL_CHECK_##name] = {text, PAWL_MEND_BY_##mending, advice},
    CHECKS(X)
#undef X
};

static int64_t boot_now(const struct pawl_fsck_pass *f)
{
    const struct pawl_env *env = f->ask->options->env;
    return env->boot_ms(env->self);
}

struct pawl_fsck_found *pawl_fsck_note(struct pawl_fsck_pass *f, enum pawl_fsck_check check,
                                       int64_t key, struct pawl_str task_id, struct pawl_str text)
{
    struct pawl_fsck_found *found = pawl_arena_take(f->arena, sizeof *found);
    if (found == NULL) return &f->none;
    *found = (struct pawl_fsck_found){.check = check, .key = key, .task_id = task_id, .text = text};
    *f->last = found;
    f->last = &found->next;
    return found;
}

/* ---- A page ---- */

enum pawl_code pawl_fsck_row_came(struct pawl_fsck_walk *walk, int64_t key, int64_t part)
{
    struct pawl_fsck_pass *f = walk->f;
    walk->after = key;
    walk->after_part = part;
    walk->count++;
    f->done.rows++;
    /* PostgreSQL has answered the whole page by now */
    walk->is_cut = !f->db->driver->is_postgres &&
                   boot_now(f) - f->began_boot_ms >= PAWL_FSCK_PAGE_MS_MAX * 3 / 4;
    return walk->is_cut ? (enum pawl_code)PAGE_IS_CUT : PAWL_OK;
}

static enum pawl_code ask_page(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_value values[4];
    size_t count = 0;
    values[count++] = walk->has_text ? pawl_text(walk->after_text) : pawl_int(walk->after);
    if (walk->has_parts) values[count++] = pawl_int(walk->after_part);
    values[count++] = pawl_int(f->page_rows);
    if (walk->statement == PAWL_SQL_FSCK_TASKS) {
        values[count++] = pawl_int(PAWL_LOG_ROW_BYTES);
        values[count++] = pawl_text(PAWL_STR(PAWL_SET_ASIDE_DEADLY));
    }
    enum pawl_code code =
        pawl_db_send(f->db, walk->statement, values, count, walk->on_row, walk, err);
    if (code == PAWL_OK) code = pawl_db_flush(f->db, err);
    return walk->is_cut && code == (enum pawl_code)PAGE_IS_CUT ? PAWL_OK : code;
}

/* The next page is to last about half of what it may. */
static void fit_page(struct pawl_fsck_pass *f)
{
    int64_t took_ms = boot_now(f) - f->began_boot_ms;
    if (took_ms > PAWL_FSCK_PAGE_MS_MAX / 2 && f->page_rows > 1) f->page_rows /= 2;
    if (took_ms < PAWL_FSCK_PAGE_MS_MAX / 4 && f->page_rows < PAWL_FSCK_PAGE_ROWS_MAX) {
        f->page_rows *= 2;
    }
}

enum pawl_code pawl_fsck_arena_code(const struct pawl_fsck_pass *f, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(f->arena);
    return code == PAWL_OK ? code : pawl_error_set(err, code, "no memory for a page of fsck");
}

/* ---- Head ---- */

static enum pawl_code on_head(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    enum { KEYS_FROM = 3, KEYS_TO = 15, COLUMN_NOW, COLUMN_WALL_OFFSET, COLUMN_GENERATION };
    struct pawl_fsck_head *is = self;
    (void)err;
    *is = (struct pawl_fsck_head){
        .is_found = true,
        .position = pawl_db_int64(row, 0),
        .next_key = pawl_db_int64(row, 1),
        .newest_position = pawl_db_int64(row, 2),
        .now_ms = pawl_db_int64(row, COLUMN_NOW),
        .wall_offset_ms = pawl_db_int64(row, COLUMN_WALL_OFFSET),
        .generation = pawl_db_int64(row, COLUMN_GENERATION),
    };
    for (int32_t column = KEYS_FROM; column <= KEYS_TO; column++) {
        int64_t key = pawl_db_int64(row, column);
        if (key > is->largest_key) is->largest_key = key;
    }
    return PAWL_OK;
}

enum pawl_code pawl_fsck_read_head(struct pawl_db *db, struct pawl_fsck_head *out,
                                   struct pawl_error *err)
{
    *out = (struct pawl_fsck_head){0};
    enum pawl_code code = pawl_db_send(db, PAWL_SQL_FSCK_HEAD, NULL, 0, on_head, out, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code == PAWL_OK && !out->is_found) {
        code = pawl_error_set(err, PAWL_CORRUPT, "the row of head is missing: restore a backup");
    }
    return code;
}

/* What no step goes by; the same bounds. */
static bool judge_range(struct pawl_fsck_pass *f, const struct pawl_fsck_head *is)
{
    const struct {
        const char *name;
        int64_t value;
        int64_t min;
        int64_t max;
    } numbers[] = {
        {"position", is->position, 0, PAWL_NUMBER_MAX / 2},
        {"next_key", is->next_key, 1, PAWL_ROW_KEY_MAX},
        {"now_ms", is->now_ms, 0, PAWL_INSTANT_MS_MAX},
        {"wall_offset_ms", is->wall_offset_ms, -PAWL_INSTANT_MS_MAX, PAWL_INSTANT_MS_MAX},
        {"generation", is->generation, 0, PAWL_NUMBER_MAX / 2},
    };
    bool is_right = true;
    for (size_t i = 0; i < PAWL_COUNT_OF(numbers); i++) {
        if (numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max) continue;
        is_right = false;
        (void)pawl_fsck_note(f, PAWL_CHECK_HEAD, 1, (struct pawl_str){0},
                             TEXT(f, "head says that %s is %" PRId64 ", which it never is", numbers[i].name,
                                  numbers[i].value));
    }
    return is_right;
}

/* A day: a clock that is set right now and then is not told of. Of PostgreSQL now is the server's own. */
static void judge_clock(struct pawl_fsck_pass *f, const struct pawl_fsck_head *is)
{
    const struct pawl_env *env = f->ask->options->env;
    if (f->db->driver->clock != NULL) return;
    int64_t ahead_ms = is->now_ms - env->wall_ms(env->self);
    if (ahead_ms < PAWL_FSCK_AHEAD_MS) return;
    char text[PAWL_DURATION_TEXT_BYTES_MAX + 1];
    pawl_duration_format(ahead_ms, text);
    (void)pawl_fsck_note(f, PAWL_CHECK_CLOCK, 1, (struct pawl_str){0},
                         TEXT(f, "the clock of the store is %s ahead of this machine's", text));
}

static void judge_head(struct pawl_fsck_pass *f, const struct pawl_fsck_head *is)
{
    if (!judge_range(f, is)) return;
    judge_clock(f, is);
    if (is->position < is->newest_position) {
        (void)pawl_fsck_note(f, PAWL_CHECK_POSITION, 1, (struct pawl_str){0},
                             TEXT(f,
                                  "the newest event has position %" PRId64
                                  ", and head says %" PRId64
                                  ": the next events would find their places taken",
                                  is->newest_position, is->position));
    }
    if (is->next_key <= is->largest_key) {
        (void)pawl_fsck_note(f, PAWL_CHECK_NEXT_KEY, 1, (struct pawl_str){0},
                             TEXT(f,
                                  "the largest key is %" PRId64
                                  ", and the next one is to be %" PRId64
                                  ": new rows would find their places taken",
                                  is->largest_key, is->next_key));
    }
}

/* ---- The whole ---- */

static void tell(struct pawl_fsck_pass *f)
{
    for (const struct pawl_fsck_found *at = f->first; at != NULL; at = at->next) {
        struct pawl_fsck_finding finding = {
            .check = pawl_fsck_checks[at->check].name,
            .task_id = at->task_id,
            .key = at->key,
            .text = at->text,
            .advice = at->is_repaired ? PAWL_STR("it has been set right")
                                      : pawl_str_of(pawl_fsck_checks[at->check].advice),
            .can_repair = pawl_fsck_checks[at->check].mending != PAWL_MEND_BY_NOTHING,
            .is_repaired = at->is_repaired,
        };
        f->done.found++;
        if (f->ask->found != NULL) f->ask->found(f->ask->self, &finding);
    }
}

static void begin_findings(struct pawl_fsck_pass *f)
{
    pawl_arena_reset(f->arena);
    f->first = NULL;
    f->last = &f->first;
}

static enum pawl_code end_findings(struct pawl_fsck_pass *f, struct pawl_error *err)
{
    enum pawl_code code = pawl_fsck_arena_code(f, err);
    if (code == PAWL_OK && f->ask->store != NULL) code = pawl_fsck_mend(f, err);
    if (code == PAWL_OK) tell(f);
    return code;
}

/* One read transaction: head, then a page of one table. */
static enum pawl_code read_page(struct pawl_fsck_walk *walk,
                                enum pawl_code (*judge)(struct pawl_fsck_walk *,
                                                        struct pawl_error *),
                                struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_fsck_head head;
    walk->count = 0;
    walk->rows = NULL;
    walk->is_cut = false;
    f->began_boot_ms = boot_now(f);
    enum pawl_code code = pawl_db_begin(f->db, false, err);
    if (code != PAWL_OK) return code;
    code = pawl_fsck_read_head(f->db, &head, err);
    f->position = head.position;
    if (code == PAWL_OK && walk->on_row == NULL) judge_head(f, &head);
    if (code == PAWL_OK && walk->on_row != NULL) code = ask_page(walk, err);
    if (code == PAWL_OK && judge != NULL) code = judge(walk, err);
    pawl_db_rollback(f->db);
    int64_t took_ms = boot_now(f) - f->began_boot_ms;
    if (took_ms > f->done.page_ms_max) f->done.page_ms_max = took_ms;
    return code;
}

static enum pawl_code walk_all(struct pawl_fsck_walk *walk,
                               enum pawl_code (*judge)(struct pawl_fsck_walk *,
                                                       struct pawl_error *),
                               struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    enum pawl_code code;
    bool is_end;
    do {
        int64_t asked = f->page_rows;
        begin_findings(f);
        code = read_page(walk, judge, err);
        if (code == PAWL_OK) fit_page(f);
        if (code == PAWL_OK) code = end_findings(f, err);
        is_end = !walk->is_cut && walk->count < asked;
    } while (code == PAWL_OK && !is_end);
    return code;
}

static enum pawl_code check_file(struct pawl_fsck_pass *f, struct pawl_error *err)
{
    struct pawl_error why = {0};
    struct pawl_str path = f->db->driver->path(f->db);
    if (f->db->driver->is_postgres || f->ask->skips_file || f->ask->options->vfs != NULL)
        return PAWL_OK;
    begin_findings(f);
    enum pawl_code code = pawl_sqlite_check(path.ptr, &why);
    if (code == PAWL_CORRUPT) {
        (void)pawl_fsck_note(f, PAWL_CHECK_FILE, 0, (struct pawl_str){0}, pawl_str_of(why.text));
        code = PAWL_OK;
    }
    if (code != PAWL_OK && err != NULL) *err = why;
    return code == PAWL_OK ? end_findings(f, err) : code;
}

static enum pawl_code run(struct pawl_fsck_pass *f, struct pawl_error *err)
{
    static const struct {
        enum pawl_statement statement;
        pawl_on_row *on_row;
        enum pawl_code (*judge)(struct pawl_fsck_walk *, struct pawl_error *);
        bool has_parts;
        bool has_text;
    } tables[] = {
        {PAWL_SQL_FSCK_HEAD, NULL, NULL, false, false},
        {PAWL_SQL_FSCK_QUEUES, pawl_fsck_on_queue, NULL, false, false},
        {PAWL_SQL_FSCK_WORKERS, pawl_fsck_on_worker, NULL, false, false},
        {PAWL_SQL_FSCK_GATES, pawl_fsck_on_gate, NULL, false, false},
        {PAWL_SQL_FSCK_TASKS, pawl_fsck_on_task, pawl_fsck_judge_tasks, false, false},
        {PAWL_SQL_FSCK_DEPENDENCIES, pawl_fsck_on_dependency, pawl_fsck_judge_dependencies, true,
         false},
        {PAWL_SQL_FSCK_PAYLOADS, pawl_fsck_on_payload, pawl_fsck_judge_orphans, false, false},
        {PAWL_SQL_FSCK_CHECKPOINTS, pawl_fsck_on_checkpoint, pawl_fsck_judge_orphans, false, false},
        {PAWL_SQL_FSCK_LOGS, pawl_fsck_on_log, pawl_fsck_judge_orphans, false, false},
        {PAWL_SQL_FSCK_LATES, pawl_fsck_on_late, pawl_fsck_judge_orphans, false, false},
        {PAWL_SQL_FSCK_EVENTS, pawl_fsck_on_event, pawl_fsck_judge_orphans, false, false},
        {PAWL_SQL_FSCK_TOMBSTONES, pawl_fsck_on_tombstone, NULL, false, false},
        {PAWL_SQL_FSCK_CONSUMERS, pawl_fsck_on_consumer, NULL, false, false},
        {PAWL_SQL_FSCK_ACKNOWLEDGEMENTS, pawl_fsck_on_acknowledgement, NULL, true, false},
        {PAWL_SQL_FSCK_CONTINUATIONS, pawl_fsck_on_continuation, NULL, false, false},
        {PAWL_SQL_FSCK_DEFINITIONS, pawl_fsck_on_definition, NULL, false, false},
        {PAWL_SQL_FSCK_WORKFLOWS, pawl_fsck_on_workflow, NULL, false, false},
        {PAWL_SQL_FSCK_RECORDS, pawl_fsck_on_record, pawl_fsck_judge_records, false, false},
        {PAWL_SQL_FSCK_IMPORTS, pawl_fsck_on_import, NULL, false, true},
        {PAWL_SQL_FSCK_QUARANTINE, pawl_fsck_on_quarantined, pawl_fsck_judge_quarantined, true,
         true},
    };
    bool has_tables = false;
    enum pawl_code code = check_file(f, err);
    if (code == PAWL_OK) {
        begin_findings(f);
        code = pawl_fsck_check_schema(f, &has_tables, err);
    }
    if (code == PAWL_OK) code = end_findings(f, err);
    if (code == PAWL_OK && !has_tables) return PAWL_OK;
    for (size_t i = 0; i < PAWL_COUNT_OF(tables) && code == PAWL_OK; i++) {
        struct pawl_fsck_walk walk = {
            .f = f,
            .statement = tables[i].statement,
            .on_row = tables[i].on_row,
            .has_parts = tables[i].has_parts,
            .has_text = tables[i].has_text,
            .after = INT64_MIN,
            .after_part = INT64_MIN,
        };
        code = walk_all(&walk, tables[i].judge, err);
    }
    return code;
}

enum pawl_code pawl_fsck_run(const struct pawl_fsck_run *ask, struct pawl_fsck_done *out,
                             struct pawl_error *err)
{
    enum { PAGE_ROWS_FIRST = 64 };
    struct pawl_fsck_pass f = {.ask = ask, .page_rows = PAGE_ROWS_FIRST};
    struct pawl_db_options options = {
        .target = ask->options->target,
        .read_only = true,
        .vfs = ask->options->vfs,
        .schema = ask->options->schema,
        .log = ask->options->log,
    };
    enum pawl_code code = pawl_arena_open(&f.arena, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for fsck");
    code = pawl_db_open(&f.db, &options, err);
    if (code == PAWL_OK) code = run(&f, err);
    if (code == PAWL_OK && ask->let_out.len > 0 && !f.has_let_out) {
        code = pawl_error_set(err, PAWL_NOT_FOUND,
                              "let_out: no task %.*s is set aside because it kills its process",
                              PAWL_STR_ARG(ask->let_out));
    }
    pawl_db_close(f.db);
    pawl_arena_close(f.arena);
    if (code == PAWL_OK) *out = f.done;
    return code;
}
