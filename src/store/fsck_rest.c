/* Queues, workers, consumers, continuations, imports, quarantine. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/str.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>
#include <string.h>

enum pawl_code pawl_fsck_on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_queue_row queue;
    (void)err;
    const char *fault = pawl_row_queue(row, walk->f->arena, &queue);
    if (fault != NULL) {
        (void)pawl_fsck_note(walk->f, PAWL_CHECK_QUEUE, queue.key, (struct pawl_str){0},
                             TEXT(walk->f, "queue %.*s: %s", PAWL_STR_ARG(queue.name), fault));
    }
    return pawl_fsck_row_came(walk, queue.key, 0);
}

enum pawl_code pawl_fsck_on_worker(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_worker_row worker;
    (void)err;
    const char *fault = pawl_row_worker(row, walk->f->arena, &worker);
    if (fault != NULL) {
        (void)pawl_fsck_note(walk->f, PAWL_CHECK_WORKER, worker.key, (struct pawl_str){0},
                             TEXT(walk->f, "worker %.*s: %s", PAWL_STR_ARG(worker.id), fault));
    }
    return pawl_fsck_row_came(walk, worker.key, 0);
}

enum pawl_code pawl_fsck_on_gate(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    enum { TASKS = PAWL_ROW_GATE_COLUMNS };
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_gate_row gate;
    (void)err;
    const char *fault = pawl_row_gate(row, f->arena, &gate);
    int64_t wanted = pawl_db_int64(row, TASKS);
    if (fault != NULL || gate.held != wanted) {
        struct pawl_fsck_found *found = pawl_fsck_note(
            f, PAWL_CHECK_GATE, gate.key, (struct pawl_str){0},
            TEXT(f, "the gate of %.*s counts %" PRId64 " tasks in progress and has to count %" PRId64 "%s%s",
                 PAWL_STR_ARG(gate.name), gate.held, wanted, fault == NULL ? "" : "; ",
                 fault == NULL ? "" : fault));
        found->name = gate.name;
    }
    return pawl_fsck_row_came(walk, gate.key, 0);
}

enum pawl_code pawl_fsck_on_consumer(void *self, const struct pawl_db_row *row,
                                     struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_consumer_row consumer;
    (void)err;
    (void)pawl_row_consumer(row, f->arena, &consumer); /* it has no faults */
    if (consumer.cursor > f->position || consumer.cursor < 0) {
        (void)pawl_fsck_note(f, PAWL_CHECK_CURSOR, consumer.key, (struct pawl_str){0},
                             TEXT(f,
                                  "consumer %.*s has read to %" PRId64
                                  ", and the newest event is %" PRId64 ": it would miss what comes",
                                  PAWL_STR_ARG(consumer.name), consumer.cursor, f->position));
    }
    return pawl_fsck_row_came(walk, consumer.key, 0);
}

enum pawl_code pawl_fsck_on_acknowledgement(void *self, const struct pawl_db_row *row,
                                            struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    int64_t consumer = pawl_db_int64(row, 0);
    int64_t position = pawl_db_int64(row, 1);
    int64_t cursor = pawl_db_int64(row, 3);
    (void)err;
    if (pawl_db_is_null(row, 2)) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_ACK_CONSUMER, consumer, (struct pawl_str){0},
            TEXT(f, "event %" PRId64 " is acknowledged by a consumer that is not there", position));
    } else if (position <= cursor) {
        pawl_fsck_note(
            f, PAWL_CHECK_ACK_CURSOR, consumer, (struct pawl_str){0},
            TEXT(f, "event %" PRId64 " is acknowledged twice: the cursor is beyond it", position))
            ->number = cursor;
    }
    return pawl_fsck_row_came(walk, consumer, position);
}

enum pawl_code pawl_fsck_on_continuation(void *self, const struct pawl_db_row *row,
                                         struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_continuation_row rest;
    (void)err;
    const char *fault = pawl_row_continuation(row, f->arena, &rest);
    if (fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_CONTINUATION, rest.key, (struct pawl_str){0},
                             pawl_str_of(fault));
    } else if (rest.left == PAWL_CONTINUATION_PUT_OFF) {
        (void)pawl_fsck_note(f, PAWL_CHECK_CONTINUATION_PUT_OFF, rest.key, (struct pawl_str){0},
                             PAWL_STR("the rest of a decision about a workflow that is damaged"));
    } else if (rest.task != 0 && rest.kind != PAWL_CONTINUE_REMAINS && rest.kind != PAWL_CONTINUE_RUN_REMOVE &&
               pawl_db_is_null(row, PAWL_ROW_CONTINUATION_COLUMNS)) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_CONTINUATION_TASK, rest.key, (struct pawl_str){0},
            TEXT(f, "the rest of a decision about a task that is not there (key %" PRId64 ")",
                 rest.task));
    }
    return pawl_fsck_row_came(walk, rest.key, 0);
}

/* FSCK_DEFINITIONS: the columns of pawl_row_definition, the bytes of the body, the generation of head */
enum pawl_code pawl_fsck_on_definition(void *self, const struct pawl_db_row *row,
                                       struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_definition_row is;
    (void)err;
    const char *fault = pawl_row_definition(row, f->arena, &is);
    int64_t body_bytes = pawl_db_int64(row, PAWL_ROW_DEFINITION_COLUMNS);
    int64_t newest = pawl_db_int64(row, PAWL_ROW_DEFINITION_COLUMNS + 1);
    if (fault == NULL && is.kind != PAWL_DEFINITION_WORKFLOW && is.version != 0) {
        fault = "has a version, and is no workflow's";
    }
    if (fault == NULL && body_bytes == 0) fault = "is empty";
    if (fault == NULL && is.generation > newest) {
        fault = "is newer than any that head knows: who keeps something made of it may take the old "
                "for the new";
    }
    if (fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_DEFINITION, is.key, (struct pawl_str){0},
                             TEXT(f, "definition %.*s: %s", PAWL_STR_ARG(is.name), fault));
    }
    return pawl_fsck_row_came(walk, is.key, 0);
}

/* The next page of a table whose key is text begins behind this one. A longer key than there is
 * room for can only be damage: what begins alike is passed over. */
static void text_came(struct pawl_fsck_walk *walk, struct pawl_str key)
{
    bool fits = key.len < sizeof walk->text;
    size_t len = fits ? key.len : sizeof walk->text;
    if (len > 0) memcpy(walk->text, key.ptr, len);
    if (!fits) walk->text[len - 1]++;
    walk->after_text = (struct pawl_str){walk->text, len};
}

enum pawl_code pawl_fsck_on_import(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    enum { DIGEST_BYTES = 32 }; /* of hex */
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_str digest = pawl_row_text(row, 0, f->arena);
    struct pawl_str name = pawl_row_text(row, 1, f->arena);
    bool is_right =
        digest.len == DIGEST_BYTES && pawl_db_int64(row, 2) > 0 && pawl_db_int64(row, 3) >= 0;
    (void)err;
    for (size_t i = 0; i < digest.len && is_right; i++) {
        char c = digest.ptr[i];
        is_right = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    }
    if (!is_right) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_IMPORT, 0, (struct pawl_str){0},
            TEXT(f,
                 "the import of %.*s is noted with a digest, a time or a count of tasks "
                 "that none can have",
                 PAWL_STR_ARG(name)));
    }
    text_came(walk, digest);
    return pawl_fsck_row_came(walk, 0, 0);
}

struct quarantined {
    struct pawl_str table;
    int64_t key;
    struct pawl_str id;
    struct pawl_str reason;
    struct quarantined *next;
};

enum pawl_code pawl_fsck_on_quarantined(void *self, const struct pawl_db_row *row,
                                        struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_arena *arena = walk->f->arena;
    struct quarantined *is = pawl_arena_take(arena, sizeof *is);
    if (is == NULL) return pawl_fsck_arena_code(walk->f, err);
    *is = (struct quarantined){pawl_row_text(row, 0, arena), pawl_db_int64(row, 1),
                               pawl_row_text(row, 2, arena), pawl_row_text(row, 3, arena),
                               walk->rows};
    walk->rows = is;
    text_came(walk, is->table);
    return pawl_fsck_row_came(walk, 0, is->key);
}

enum pawl_code pawl_fsck_judge_quarantined(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    enum pawl_code code = PAWL_OK;
    for (const struct quarantined *is = walk->rows; is != NULL && code == PAWL_OK; is = is->next) {
        struct pawl_fsck_fault fault = {.arena = f->arena};
        bool is_task = pawl_str_equal(is->table, PAWL_STR("task"));
        if (is_task) code = pawl_fsck_read_fault(f->db, is->key, &fault, err);
        if (code != PAWL_OK) break;
        bool is_readable = is_task && fault.is_found && fault.text.len == 0;
        bool is_deadly = is_task && fault.is_found &&
                         pawl_str_equal(is->reason, PAWL_STR(PAWL_SET_ASIDE_DEADLY));
        bool is_over = is_readable && (!is_deadly || pawl_fsck_is_named(f, fault.id));
        f->has_let_out = f->has_let_out || (is_deadly && pawl_fsck_is_named(f, fault.id));
        struct pawl_fsck_found *found =
            pawl_fsck_note(f,
                           is_over     ? PAWL_CHECK_QUARANTINE_OVER
                           : is_deadly ? PAWL_CHECK_QUARANTINE_DEADLY
                                       : PAWL_CHECK_QUARANTINE,
                           is->key, is_deadly || is_over ? fault.id : is->id,
                           is_over ? TEXT(f, "it was set aside (%.*s) and can be read again",
                                          PAWL_STR_ARG(is->reason))
                                   : TEXT(f, "a row of %.*s is set aside: %.*s",
                                          PAWL_STR_ARG(is->table), PAWL_STR_ARG(is->reason)));
        found->name = is->table;
    }
    return code;
}
