#include "engine/import.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/engine.h"

#include <inttypes.h>

struct importing {
    struct pawl *pawl;
    const struct pawl_import_row *file; /* NULL after the first piece */
    const struct pawl_import_source *source;
    struct pawl_arena *keep; /* of the source */
    struct pawl_head head;
    int64_t taken_count;
};

static void begin_step(struct importing *importing, struct pawl_step *step)
{
    struct pawl *pawl = importing->pawl;
    const struct pawl_env *env = pawl->env;
    pawl_arena_reset(pawl->arena);
    *step = (struct pawl_step){.now_ms = importing->head.now_ms,
                               .wall_offset_ms = importing->head.wall_offset_ms,
                               .random = {env->random(env->self), env->random(env->self)},
                               .next_key = importing->head.next_key,
                               .lease_ms = pawl->lease_ms,
                               .head_position = importing->head.position};
    pawl_set_init(&step->set, pawl->arena);
}

/* Runs the command of one piece: loaded for in rounds, as any other. */
static enum pawl_code run_piece(struct importing *importing, struct pawl_step *step,
                                struct pawl_command *command, struct pawl_error *err)
{
    for (int round = 0; round < PAWL_STEP_ROUNDS_MAX; round++) {
        if (pawl_step_run(step, command) == PAWL_DONE) {
            if (command->code != PAWL_OK) *err = command->err;
            return command->code;
        }
        enum pawl_code code = pawl_store_load(importing->pawl->store, &step->set, err);
        if (code != PAWL_OK) return code;
    }
    return pawl_error_set(err, PAWL_IO, "internal: an import that is never loaded");
}

static void tell_taken(struct importing *importing, const struct pawl_import_task *tasks,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tasks[i].is_taken) continue;
        importing->taken_count++;
        importing->source->taken(importing->source->self, tasks[i].id);
    }
}

static enum pawl_code one_piece(struct importing *importing, bool *is_end, struct pawl_error *err)
{
    struct pawl_command command = {.kind = PAWL_COMMAND_IMPORT};
    struct pawl_import_task *tasks = NULL;
    size_t count = 0;
    struct pawl_step step;
    pawl_arena_reset(importing->keep);
    enum pawl_code code =
        importing->source->next(importing->source->self, importing->keep, &tasks, &count, err);
    if (code != PAWL_OK) return code;
    *is_end = count == 0;
    if (count == 0 && importing->file == NULL) return PAWL_OK;
    command.ask.import.file = importing->file;
    command.ask.import.tasks = tasks;
    command.ask.import.count = count;
    begin_step(importing, &step);
    code = run_piece(importing, &step, &command, err);
    if (code != PAWL_OK) return code;
    importing->file = NULL;
    importing->head.next_key = step.next_key;
    tell_taken(importing, tasks, count);
    if (importing->taken_count > 0)
        return PAWL_OK; /* nothing of it will be kept: only the rest is looked at */
    return pawl_store_save_all(importing->pawl->store, &step.set, &importing->head, err);
}

static enum pawl_code all_pieces(struct importing *importing, struct pawl_error *err)
{
    bool is_end = false;
    enum pawl_code code = PAWL_OK;
    while (code == PAWL_OK && !is_end) code = one_piece(importing, &is_end, err);
    if (code != PAWL_OK || importing->taken_count == 0) return code;
    return pawl_error_set(err, PAWL_CONFLICT,
                          "id: %" PRId64 " of the tasks have an id that is in use here",
                          importing->taken_count);
}

static enum pawl_code run_transaction(struct importing *importing, bool is_trial,
                                      struct pawl_error *err)
{
    struct pawl_store *store = importing->pawl->store;
    struct pawl_step empty;
    enum pawl_code code = pawl_store_begin(store, &importing->head, err);
    if (code != PAWL_OK) return code;
    code = all_pieces(importing, err);
    if (code != PAWL_OK || is_trial) {
        pawl_store_rollback(store);
        return code;
    }
    begin_step(importing, &empty);
    return pawl_store_commit(store, &empty.set, &importing->head, err);
}

/* As a step does it, but for what only other steps need. */
static enum pawl_code take_turn(struct importing *importing, bool is_trial, struct pawl_error *err)
{
    struct pawl *pawl = importing->pawl;
    if (pawl->turn != NULL) {
        enum pawl_code code = pawl_turn_take(pawl->turn, PAWL_TURN_WAIT_MS_MAX, err);
        if (code != PAWL_OK) return code;
    }
    enum pawl_code code = run_transaction(importing, is_trial, err);
    if (code == PAWL_OK && !is_trial) pawl_store_checkpoint(pawl->store);
    pawl->next_due_at_ms = 0; /* it has armed what it has armed */
    pawl->next_retain_at_ms = 0;
    pawl->retained = (struct pawl_finished){0}; /* and has brought what ended long ago */
    if (pawl->turn != NULL) {
        if (!is_trial && (code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME))
            pawl_turn_ring(pawl->turn, false);
        pawl_turn_give(pawl->turn);
    }
    return code;
}

enum pawl_code pawl_import(struct pawl *pawl, const struct pawl_import_row *file,
                           const struct pawl_import_source *source, bool is_trial,
                           struct pawl_error *err)
{
    if (!pawl->is_driven)
        return pawl_error_set(err, PAWL_MISUSE, "an import needs a driven handle");
    struct importing importing = {.pawl = pawl, .file = file, .source = source};
    enum pawl_code code =
        pawl_arena_open(&importing.keep,
                        2 * PAWL_IMPORT_RECORD_BYTES_MAX); /* a piece ends before its last record */
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for an import");
    code = pawl_engine_enter(pawl, err);
    if (code == PAWL_OK) {
        (void)pthread_mutex_lock(
            &pawl->driving); /* fails for its own holder alone, and that is a hook */
        code = take_turn(&importing, is_trial, err);
        (void)pthread_mutex_unlock(&pawl->driving);
        pawl_engine_leave(pawl);
    }
    pawl_arena_close(importing.keep);
    return code;
}
