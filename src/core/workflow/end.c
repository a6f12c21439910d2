/* The end of a workflow: its output, the names of what has failed, what is open cancelled, and the
 * failure workflow. */
#include "core/workflow/decision.h"

#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"

static const struct pawl_str none = {0};

static bool is_stopped(const struct pawl_decision *d)
{
    return d->step->set.is_short || d->step->set.is_full;
}

void pawl_workflow_fail(struct pawl_decision *d, struct pawl_str sentence)
{
    pawl_workflow_end(d, &(struct pawl_workflow_end){.state = PAWL_WORKFLOW_FAILED,
                                                     .reason = sentence,
                                                     .runs_failure_workflow = true});
}

/* ---- Names of what has failed ----
 *
 * {"references": […], "names": […], "reasons": […]}: of those that were not tried again. */

static void put_list(struct pawl_json_writer *w, const struct pawl_json *before, const char *key,
                     struct pawl_str text)
{
    const struct pawl_json *list = pawl_json_member(before, pawl_str_of(key));
    pawl_json_put_key(w, key);
    pawl_json_begin_array(w);
    for (const struct pawl_json *item = pawl_json_first(list); item != NULL; item = item->next) {
        pawl_json_put_raw(w, item->raw);
    }
    pawl_json_put_text(w, text);
    pawl_json_end_array(w);
}

void pawl_workflow_note_failed(struct pawl_decision *d, const struct pawl_record_row *record,
                               const struct pawl_task_row *task)
{
    const struct pawl_node *n = &d->definition->nodes[record->node];
    struct pawl_str before =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_FAILED);
    struct pawl_str reason = pawl_payload_look(d->step, task, PAWL_PAYLOAD_ERROR);
    bool is_named = record->status == PAWL_RECORD_FAILED ||
                    record->status == PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR;
    if (is_stopped(d) || !is_named || before.len > PAWL_WORKFLOW_FAILED_BYTES_MAX) return;
    struct pawl_json *tree = NULL;
    if (before.len > 0 && pawl_json_parse(before, d->step->set.arena, &tree, NULL) != PAWL_OK)
        tree = NULL;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    put_list(&w, tree, "references", record->reference);
    put_list(&w, tree, "names", n->name);
    put_list(&w, tree, "reasons", pawl_utf8_cut_points(reason, PAWL_REASON_POINTS));
    pawl_json_end_object(&w);
    pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_FAILED,
                              pawl_json_writer_done(&w));
}

/* What a workflow says that fails at its end for what it was let go on with. */
static struct pawl_str joined_reasons(struct pawl_decision *d)
{
    struct pawl_json *tree;
    struct pawl_str failed =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_FAILED);
    struct pawl_str all = PAWL_STR("tasks have failed");
    if (failed.len == 0 || pawl_json_parse(failed, d->step->set.arena, &tree, NULL) != PAWL_OK)
        return all;
    const struct pawl_json *reasons = pawl_json_member(tree, PAWL_STR("reasons"));
    const struct pawl_json *references =
        pawl_json_first(pawl_json_member(tree, PAWL_STR("references")));
    const char *between = ": ";
    for (const struct pawl_json *item = pawl_json_first(reasons); item != NULL; item = item->next) {
        struct pawl_str reason;
        struct pawl_str reference;
        if (!pawl_json_text(item, d->step->set.arena, &reason)) reason = none;
        if (!pawl_json_text(references, d->step->set.arena, &reference)) reference = none;
        if (references != NULL) references = references->next;
        if (all.len > PAWL_ERROR_BYTES_MAX) break;
        all = pawl_arena_format(d->step->set.arena, "%.*s%s%.*s: %.*s", PAWL_STR_ARG(all), between,
                                PAWL_STR_ARG(reference), PAWL_STR_ARG(reason));
        between = "; ";
    }
    return all;
}

/* ---- Output ---- */

static struct pawl_str last_output(struct pawl_decision *d)
{
    struct pawl_entry *record =
        d->workflow->last == 0 ? NULL : pawl_record_find(d->step, d->workflow->last);
    struct pawl_entry *task = record == NULL ? NULL : pawl_record_task(d->step, record->row);
    struct pawl_str output =
        task == NULL ? none : pawl_payload_look(d->step, task->row, PAWL_PAYLOAD_RESULT);
    return output.len == 0 ? PAWL_STR("{}") : output;
}

/* Errors in it are no errors: it is empty then. */
static struct pawl_str output_of(struct pawl_decision *d, const struct pawl_workflow_end *how)
{
    struct pawl_str template = d->definition->output;
    bool has_template = pawl_overlay_is_object(template) &&
                        !pawl_str_equal(pawl_str_trim(template), PAWL_STR("{}"));
    if (how->output.len > 0) return how->output;
    if (!has_template) return last_output(d);
    struct pawl_str output = none;
    enum pawl_code code = PAWL_OK;
    if (!pawl_workflow_resolve(d, template, &output, &code)) return none;
    return output.len == 0 || output.len > PAWL_PAYLOAD_BYTES_MAX ? PAWL_STR("{}") : output;
}

/* ---- What is open ---- */

static bool cancel_open(struct pawl_decision *d)
{
    const struct pawl_rows *open = pawl_records_list(d, PAWL_RECORDS_OPEN, 0);
    if (open == NULL) return false;
    for (size_t i = 0; i < open->count; i++) { /* all are loaded before any is changed */
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)open->rows)[i]);
        struct pawl_entry *task = entry == NULL ? NULL : pawl_record_task(d->step, entry->row);
        if (task == NULL) continue;
        (void)pawl_worker_id(d->step, ((const struct pawl_task_row *)task->row)->owner);
    }
    if (is_stopped(d)) return false;
    for (size_t i = 0; i < open->count; i++) {
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)open->rows)[i]);
        struct pawl_entry *task_entry = pawl_record_task(d->step, entry->row);
        if (task_entry == NULL) continue;
        const struct pawl_task_row *task = task_entry->row;
        struct pawl_str owner = pawl_worker_id(d->step, task->owner);
        if (owner.len > 0) {
            ((struct pawl_record_row *)pawl_set_change(&d->step->set, entry))->worker = owner;
            pawl_task_raise_epoch(pawl_set_change(&d->step->set, task_entry));
        }
        pawl_record_end(d, entry,
                        &(struct pawl_record_end){.status = PAWL_RECORD_CANCELED,
                                                  .cause = PAWL_CAUSE_WORKFLOW});
        struct pawl_record_row *record = pawl_set_change(&d->step->set, entry);
        record->is_decided = true;
        if (record->seq < 0) record->seq = d->workflow->next_seq++;
        if (d->workflow->open > 0) d->workflow->open--; /* it is over, whatever it had counted */
    }
    return open->is_cut;
}

static void go_on_later(struct pawl_decision *d, enum pawl_continuation_kind kind)
{
    (void)pawl_continuation_add(
        d->step, &(struct pawl_continuation_row){.kind = kind, .task = d->workflow->key});
}

bool pawl_workflow_cancel_slice(struct pawl_step *step, struct pawl_command *command,
                                int64_t workflow)
{
    struct pawl_decision d;
    if (pawl_decision_open(step, command, workflow, &d) != PAWL_OK) return false;
    if (!pawl_workflow_state_is_terminal(d.workflow->state)) return false;
    pawl_decision_begin(&d);
    return cancel_open(&d);
}

void pawl_workflow_end(struct pawl_decision *d, const struct pawl_workflow_end *how)
{
    struct pawl_workflow_row *w = d->workflow;
    struct pawl_str output = output_of(d, how);
    struct pawl_str reason = how->reason;
    if (reason.len == 0 && how->state == PAWL_WORKFLOW_FAILED) reason = joined_reasons(d);
    if (is_stopped(d)) return;
    struct pawl_notice *notice = pawl_step_take(d->step, sizeof *notice);
    if (notice == NULL) return;
    *notice = (struct pawl_notice){
        PAWL_NOTICE_WORKFLOW_ENDED, .text = w->id, .name = w->name, .first = (int64_t)how->state};
    pawl_set_append(&d->step->set, PAWL_APPEND_NOTICE, notice);
    w->state = how->state;
    w->finished_at_ms = d->step->now_ms;
    w->failed = how->failed;
    pawl_workflow_payload_put(d->step, w, PAWL_WORKFLOW_PAYLOAD_OUTPUT, output);
    if (reason.len > 0) {
        pawl_workflow_payload_put(d->step, w, PAWL_WORKFLOW_PAYLOAD_REASON,
                                  pawl_utf8_cut_bytes(reason, PAWL_ERROR_BYTES_MAX));
    }
    d->todo_count = 0;
    bool has_open = w->open > 0 || how->state != PAWL_WORKFLOW_COMPLETED;
    if (has_open && cancel_open(d)) go_on_later(d, PAWL_CONTINUE_CANCEL);
    bool fails = how->runs_failure_workflow && d->definition->failure_workflow.len > 0;
    if (fails) go_on_later(d, PAWL_CONTINUE_FAILURE);
}
