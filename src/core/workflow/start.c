/* A workflow begins: its snapshot, its row, and the first of its tasks, in one step. */
#include "core/workflow/start.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"
#include "core/workflow/registry.h"
#include "core/workflow/snapshot.h"

#include <string.h>

static const struct pawl_str none = {0};

/* ---- Snapshots ---- */

int64_t pawl_snapshot_need(struct pawl_step *step, const struct pawl_definition *definition)
{
    struct pawl_definition_source source = pawl_registered_source(step);
    struct pawl_snapshot made;
    if (pawl_snapshot_make(definition, &source, step->set.arena, &made) == PAWL_LOOKUP_NEED)
        return 0;
    if (made.text.len == 0) {
        step->set.is_full = true;
        return 0;
    }
    struct pawl_str hash = pawl_snapshot_hash_text(made.hash, step->set.arena);
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_SNAPSHOT_HASH, hash);
    if (key != 0 || step->set.is_short) return key;
    struct pawl_snapshot_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return 0;
    *row = (struct pawl_snapshot_row){.key = pawl_step_key(step), .hash = hash, .text = made.text};
    pawl_snapshot_read(row, step->set.arena);
    pawl_set_put(&step->set, PAWL_LOOK_SNAPSHOT, row->key, none, 0, row);
    pawl_set_know_key(&step->set, PAWL_LOOK_SNAPSHOT_HASH, hash, row->key);
    return row->key;
}

/* ---- Idempotency ---- */

/* The newest workflow with the name and the key; NULL if there is none or the set is short. */
static const struct pawl_workflow_row *keyed(struct pawl_step *step, struct pawl_str both)
{
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_WORKFLOW_KEYED, both);
    if (key == 0) return NULL;
    const struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_WORKFLOW, key, none, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry->row;
}

static struct pawl_str both_of(struct pawl_step *step, struct pawl_str name, struct pawl_str key)
{
    char *text = pawl_step_take(step, name.len + 1 + key.len);
    if (text == NULL) return none;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    memcpy(text + name.len + 1, key.ptr, key.len);
    return (struct pawl_str){text, name.len + 1 + key.len};
}

/* Whether one that exists is the answer. */
static enum pawl_code look_for_key(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_workflow_start *ask, struct pawl_str both,
                                   struct pawl_str *existing)
{
    const struct pawl_workflow_row *there = keyed(step, both);
    if (there == NULL) return PAWL_OK;
    bool is_open = !pawl_workflow_state_is_terminal(there->state);
    if (ask->idempotency == PAWL_IDEMPOTENCY_RETURN_EXISTING) {
        *existing = there->id;
        return PAWL_OK;
    }
    if (ask->idempotency == PAWL_IDEMPOTENCY_FAIL_ON_RUNNING && !is_open) return PAWL_OK;
    return pawl_error_set(&command->err, PAWL_CONFLICT, "idempotencyKey %.*s: workflow %.*s has it",
                          PAWL_STR_ARG(ask->idempotency_key), PAWL_STR_ARG(there->id));
}

/* ---- Beginning ---- */

static void put_payloads(struct pawl_step *step, struct pawl_workflow_row *w,
                         const struct pawl_definition *definition,
                         const struct pawl_workflow_start *ask)
{
    struct pawl_str input = pawl_overlay(definition->input_template, ask->input, step->set.arena);
    pawl_workflow_payload_put(step, w, PAWL_WORKFLOW_PAYLOAD_INPUT, input);
    if (pawl_overlay_is_object(definition->variables)) {
        pawl_workflow_payload_put(step, w, PAWL_WORKFLOW_PAYLOAD_VARIABLES, definition->variables);
    }
    if (ask->domains.len > 0)
        pawl_workflow_payload_put(step, w, PAWL_WORKFLOW_PAYLOAD_DOMAINS, ask->domains);
}

/* The row, not yet decided; NULL while short or full. */
static struct pawl_workflow_row *make(struct pawl_step *step,
                                      const struct pawl_definition *definition,
                                      const struct pawl_workflow_start *ask)
{
    int64_t snapshot = pawl_snapshot_need(step, definition);
    struct pawl_workflow_row *w = pawl_step_take(step, sizeof *w);
    struct pawl_notice *notice = pawl_step_take(step, sizeof *notice);
    if (step->set.is_short || step->set.is_full) return NULL;
    int64_t key = pawl_step_key(step);
    *w = (struct pawl_workflow_row){
        .key = key,
        .id = ask->id.len > 0 ? ask->id : pawl_record_mint(step),
        .name = definition->name,
        .definition_version = (int32_t)definition->version,
        .snapshot = snapshot,
        .state = PAWL_WORKFLOW_RUNNING,
        .priority = ask->priority,
        .run = key,
        .version = 1,
        .created_at_ms = step->now_ms,
        .updated_at_ms = step->now_ms,
        .next_seq = 1,
        .correlation_id = ask->correlation_id,
        .idempotency_key = ask->idempotency_key,
        .depth = ask->depth,
    };
    pawl_set_put(&step->set, PAWL_LOOK_WORKFLOW, key, none, 0, w);
    pawl_set_know_key(&step->set, PAWL_LOOK_WORKFLOW_ID, w->id, key);
    put_payloads(step, w, definition, ask);
    *notice = (struct pawl_notice){PAWL_NOTICE_WORKFLOW_STARTED, .text = w->id, .name = w->name};
    pawl_set_append(&step->set, PAWL_APPEND_NOTICE, notice);
    return w;
}

static enum pawl_code decide_first(struct pawl_step *step, struct pawl_command *command,
                                   int64_t workflow)
{
    struct pawl_decision d;
    enum pawl_code code = pawl_decision_open(step, command, workflow, &d);
    if (code != PAWL_OK) return code;
    pawl_todo_push(&d, PAWL_TODO_REACH, 0, d.definition->lists[0].first);
    return pawl_decide(&d);
}

enum pawl_code pawl_workflow_begin(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_workflow_start *ask,
                                   struct pawl_workflow_started *out)
{
    const struct pawl_definition *definition = ask->definition;
    if (definition == NULL) definition = pawl_registered_workflow(step, ask->name, ask->version);
    if (ask->id.len > 0) (void)pawl_set_key(&step->set, PAWL_LOOK_WORKFLOW_ID, ask->id);
    if (step->set.is_short) return PAWL_BUSY;
    if (definition == NULL) {
        return pawl_error_set(&command->err, PAWL_NOT_FOUND,
                              "No such workflow definition: %.*s, version %d",
                              PAWL_STR_ARG(ask->name), ask->version);
    }
    if (ask->id.len > 0 && pawl_set_key(&step->set, PAWL_LOOK_WORKFLOW_ID, ask->id) != 0) {
        return pawl_error_set(&command->err, PAWL_CONFLICT, "id: %.*s is in use",
                              PAWL_STR_ARG(ask->id));
    }
    struct pawl_str both = none;
    struct pawl_str existing = none;
    if (ask->idempotency_key.len > 0) {
        both = both_of(step, definition->name, ask->idempotency_key);
        enum pawl_code code = look_for_key(step, command, ask, both, &existing);
        if (code != PAWL_OK || step->set.is_short) return code == PAWL_OK ? PAWL_BUSY : code;
    }
    if (existing.len > 0) {
        *out = (struct pawl_workflow_started){.id = existing, .existed = true};
        return PAWL_OK;
    }
    const struct pawl_workflow_row *w = make(step, definition, ask);
    if (w == NULL) return PAWL_BUSY;
    if (both.len > 0) pawl_set_know_key(&step->set, PAWL_LOOK_WORKFLOW_KEYED, both, w->key);
    enum pawl_code code = decide_first(step, command, w->key);
    *out = (struct pawl_workflow_started){.id = w->id};
    return code;
}

enum pawl_code pawl_rule_workflow_start(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_workflow_started started = {0};
    enum pawl_code code = pawl_workflow_begin(step, command, command->ask.start, &started);
    if (code != PAWL_OK || step->set.is_short) return code;
    *command->out.started = (struct pawl_workflow_started){
        .id = pawl_reply_copy(command, started.id), .existed = started.existed};
    return pawl_reply_code(command);
}
