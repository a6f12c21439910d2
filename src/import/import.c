#include "import/import.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "engine/import.h"

#include <inttypes.h>
#include <string.h>

/* ---- The first reading ----------------------------------------------------------------------- */

static void count_task(struct pawl_import_report *report, const struct pawl_import_task *task)
{
    report->state_counts[task->state]++;
    if (task->state == PAWL_TASK_RUNNING) {
        bool is_spent = task->retries >= task->max_retries;
        ++*(task->is_remote ? &report->unsettled_count
            : is_spent      ? &report->spent_count
                            : &report->handed_back_count);
    }
    report->checkpoint_count += (int64_t)task->checkpoint_count;
    report->event_count += (int64_t)task->event_count;
}

static enum pawl_code memory(struct pawl_importer *importer, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(importer->arena);
    if (code == PAWL_TOO_LARGE) {
        return pawl_error_set(err, code,
                              "%s: the ids and dependencies of its tasks take more than %" PRId64
                              " MiB: import it in parts",
                              importer->file.path, PAWL_IMPORT_KEPT_BYTES_MAX / 1024 / 1024);
    }
    if (code != PAWL_OK)
        return pawl_error_set(err, code, "no memory to read %s", importer->file.path);
    return PAWL_OK;
}

/* The same for the memory of a record. */
static enum pawl_code record_memory(const struct pawl_importer *importer,
                                    const struct pawl_arena *keep,
                                    const struct pawl_old_record *record, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(keep);
    if (code == PAWL_TOO_LARGE) {
        return pawl_error_set(err, code, "%s: the record %.*s takes more than %d MiB",
                              importer->file.path, PAWL_STR_ARG(record->name),
                              PAWL_IMPORT_RECORD_BYTES_MAX / 1024 / 1024);
    }
    if (code != PAWL_OK)
        return pawl_error_set(err, code, "no memory for a task of %s", importer->file.path);
    return PAWL_OK;
}

/* What could not be read, or makes no sense: nothing is wrong with a file that somebody writes to
 * meanwhile. */
static enum pawl_code explain(struct pawl_importer *importer, enum pawl_code code,
                              struct pawl_error *err)
{
    if (code == PAWL_OK) return code;
    if (pawl_arena_code(importer->arena) != PAWL_OK) return memory(importer, err);
    enum pawl_code same = pawl_import_file_check_same(&importer->file, NULL);
    return same == PAWL_OK ? code : pawl_import_file_check_same(&importer->file, err);
}

static enum pawl_code read_record(struct pawl_importer *importer, int64_t number,
                                  struct pawl_import_report *report, struct pawl_arena *keep,
                                  struct pawl_old_record *record, struct pawl_error *err)
{
    *record = (struct pawl_old_record){0};
    enum pawl_code code = importer->old.read(importer->old.self, number, report, keep, record, err);
    if (pawl_arena_code(keep) != PAWL_OK) return record_memory(importer, keep, record, err);
    return explain(importer, code, err);
}

static enum pawl_code read_one(struct pawl_importer *importer, int64_t number,
                               struct pawl_arena *keep, struct pawl_error *err)
{
    struct pawl_old_record record;
    struct pawl_import_task task;
    struct pawl_import_report *report = &importer->report;
    enum pawl_code code = read_record(importer, number, report, keep, &record, err);
    if (code != PAWL_OK) return code;
    bool is_good = pawl_old_record_decode(&record, importer->name, report, keep, &task);
    code = record_memory(importer, keep, &record, err);
    if (code != PAWL_OK || !is_good) return code;
    count_task(report, &task);
    pawl_import_order_add(&importer->order, &task, number, report);
    return memory(importer, err);
}

static enum pawl_code read_all(struct pawl_importer *importer, struct pawl_error *err)
{
    struct pawl_arena *keep;
    int64_t count = importer->old.count;
    enum pawl_code code = pawl_import_order_init(&importer->order, count, importer->arena, err);
    if (code != PAWL_OK) return explain(importer, code, err);
    code = pawl_arena_open(&keep, PAWL_IMPORT_RECORD_BYTES_MAX);
    if (code != PAWL_OK)
        return pawl_error_set(err, code, "no memory to read %s", importer->file.path);
    importer->report.task_count = count;
    for (int64_t i = 0; i < count && code == PAWL_OK; i++) {
        pawl_arena_reset(keep);
        code = read_one(importer, i, keep, err);
    }
    pawl_arena_close(keep);
    if (code != PAWL_OK) return code;
    pawl_import_order_make(&importer->order, &importer->report);
    code = memory(importer, err);
    if (code != PAWL_OK || importer->report.refused.count == 0) return code;
    const struct pawl_import_remark *first = importer->report.refused.first;
    return pawl_error_set(err, PAWL_INVALID,
                          "%s: %" PRId64 " complaint%s, nothing is imported; the first: %.*s: %.*s",
                          importer->file.path, importer->report.refused.count,
                          importer->report.refused.count == 1 ? "" : "s", PAWL_STR_ARG(first->task), PAWL_STR_ARG(first->text));
}

enum pawl_code pawl_importer_open(struct pawl_importer *importer, const char *path,
                                  struct pawl_error *err)
{
    *importer = (struct pawl_importer){.file = {.fd = -1, .copy_fd = -1}};
    enum pawl_code code = pawl_arena_open(
        &importer->arena, PAWL_IMPORT_KEPT_BYTES_MAX); /* grows with the number of tasks alone */
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to import %s", path);
    pawl_import_report_init(&importer->report, importer->arena);
    const char *slash = strrchr(path, '/');
    importer->name = pawl_str_of(slash == NULL ? path : slash + 1);
    if (!pawl_utf8_is_valid(importer->name))
        importer->name = PAWL_STR("a file"); /* it is stored as text */
    code = pawl_import_file_open(&importer->file, path, err);
    if (code != PAWL_OK) return code;
    importer->report.digest = pawl_str_of(importer->file.digest);
    code = (importer->file.is_sqlite ? pawl_old_sqlite_open : pawl_old_json_open)(
        &importer->old, &importer->file, &importer->report, importer->arena, err);
    if (code != PAWL_OK) return explain(importer, code, err);
    importer->is_open = true;
    code = read_all(importer, err);
    return code;
}

void pawl_importer_close(struct pawl_importer *importer)
{
    if (importer->is_open) importer->old.close(importer->old.self);
    pawl_import_file_close(&importer->file);
    pawl_arena_close(importer->arena);
}

/* ---- The second ------------------------------------------------------------------------------ */

static size_t bytes_of(const struct pawl_import_task *task)
{
    size_t bytes = task->goal.len + task->metadata.len + task->result.len + task->error.len;
    for (size_t i = 0; i < task->checkpoint_count; i++) bytes += task->checkpoints[i].state.len;
    return bytes;
}

static enum pawl_code next_piece(void *self, struct pawl_arena *keep,
                                 struct pawl_import_task **tasks, size_t *count,
                                 struct pawl_error *err)
{
    struct pawl_importer *importer = self;
    const struct pawl_import_order *order = &importer->order;
    struct pawl_import_task *made =
        pawl_arena_take_array(keep, PAWL_IMPORT_TASKS_AT_ONCE, sizeof *made);
    size_t made_count = 0;
    size_t bytes = 0;
    enum pawl_code code = PAWL_OK;
    while (made != NULL && importer->next < order->count &&
           made_count < PAWL_IMPORT_TASKS_AT_ONCE && bytes < PAWL_IMPORT_BYTES_AT_ONCE) {
        struct pawl_old_record record;
        const struct pawl_import_node *node = &order->nodes[order->order[importer->next++]];
        code = read_record(importer, node->number, NULL, keep, &record, err);
        if (code != PAWL_OK) return code;
        bool is_good =
            pawl_old_record_decode(&record, importer->name, NULL, keep, &made[made_count]);
        is_good = is_good && pawl_str_equal(made[made_count].id, node->id);
        if (!is_good && pawl_arena_code(keep) == PAWL_OK) {
            return pawl_error_set(err, PAWL_CONFLICT, "%s was changed while it was read",
                                  importer->file.path);
        }
        bytes += bytes_of(&made[made_count++]);
    }
    code = pawl_arena_code(keep);
    if (code != PAWL_OK)
        return pawl_error_set(err, code, "no memory for the tasks of %s", importer->file.path);
    *tasks = made;
    *count = made_count;
    return made_count > 0 ? PAWL_OK : pawl_import_file_check_same(&importer->file, err);
}

static void note_taken(void *self, struct pawl_str id)
{
    struct pawl_importer *importer = self;
    pawl_import_refuse(&importer->report, id, "id: is in use in the store");
}

enum pawl_code pawl_importer_run(struct pawl_importer *importer, struct pawl *pawl, bool is_trial,
                                 struct pawl_error *err)
{
    struct pawl_import_source source = {.self = importer, .next = next_piece, .taken = note_taken};
    struct pawl_import_row row = {.digest = importer->report.digest,
                                  .name = importer->name,
                                  .task_count = importer->report.task_count};
    importer->next = 0;
    return pawl_import(pawl, &row, &source, is_trial, err);
}
