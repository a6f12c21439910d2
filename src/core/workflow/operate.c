/* What operators do with a workflow. docs/workflows.md has the table of what each state allows. */
#include "core/workflow/decision.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/again.h"
#include "core/workflow/overlay.h"

static bool is_terminal(const struct pawl_decision *d)
{
    return pawl_workflow_state_is_terminal(d->workflow->state);
}

static enum pawl_code refuse(struct pawl_decision *d, enum pawl_code code, const char *verb)
{
    return pawl_error_set(&d->command->err, code, "cannot %s workflow %.*s: it is %s", verb,
                          PAWL_STR_ARG(d->workflow->id),
                          pawl_workflow_state_name(d->workflow->state));
}

/* ---- Pause and resume ---- */

static enum pawl_code pause(struct pawl_decision *d)
{
    if (d->workflow->state == PAWL_WORKFLOW_PAUSED) return PAWL_OK;
    if (is_terminal(d)) return refuse(d, PAWL_STATE, "pause");
    pawl_decision_begin(d);
    d->workflow->state = PAWL_WORKFLOW_PAUSED;
    return PAWL_OK;
}

/* What has ended meanwhile is decided, in the order of its end's records. */
static bool decide_undecided(struct pawl_decision *d, int64_t after)
{
    const struct pawl_rows *ended = pawl_records_list(d, PAWL_RECORDS_UNDECIDED, after);
    if (ended == NULL) return false;
    for (size_t i = ended->count; i > 0; i--) {
        pawl_todo_push(d, PAWL_TODO_ENDED, ((const int64_t *)ended->rows)[i - 1],
                       PAWL_FLOW_SUCCESSOR);
    }
    if (!ended->is_cut) return false;
    (void)pawl_continuation_add(d->step,
                                &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_UNDECIDED,
                                                                .task = d->workflow->key,
                                                                .cursor = ended->last});
    return true;
}

void pawl_workflow_undecided_slice(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_continuation_row *row)
{
    struct pawl_decision d;
    if (pawl_decision_open(step, command, row->task, &d) != PAWL_OK) return;
    if (d.workflow->state != PAWL_WORKFLOW_RUNNING)
        return; /* whoever resumes it again finds them */
    pawl_decision_begin(&d);
    (void)decide_undecided(&d, row->cursor);
    if (!step->set.is_short) (void)pawl_decide(&d);
}

static enum pawl_code resume(struct pawl_decision *d)
{
    if (d->workflow->state != PAWL_WORKFLOW_PAUSED) return refuse(d, PAWL_STATE, "resume");
    pawl_decision_begin(d);
    d->workflow->state = PAWL_WORKFLOW_RUNNING;
    d->workflow->retried_at_ms = d->step->now_ms;
    (void)decide_undecided(d, 0);
    return d->step->set.is_short ? PAWL_BUSY : pawl_decide(d);
}

/* ---- Terminate ---- */

static enum pawl_code terminate(struct pawl_decision *d, const struct pawl_workflow_operate *ask)
{
    if (d->workflow->state == PAWL_WORKFLOW_TERMINATED) return PAWL_OK;
    if (d->workflow->state == PAWL_WORKFLOW_COMPLETED) return refuse(d, PAWL_STATE, "terminate");
    pawl_decision_begin(d);
    if (is_terminal(d)) {
        d->workflow->state = PAWL_WORKFLOW_TERMINATED;
        if (ask->reason.len > 0)
            pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_REASON,
                                      ask->reason);
        return PAWL_OK;
    }
    pawl_workflow_end(
        d, &(struct pawl_workflow_end){.state = PAWL_WORKFLOW_TERMINATED,
                                       .reason = ask->reason,
                                       .runs_failure_workflow = ask->triggers_failure_workflow});
    return PAWL_OK;
}

/* ---- Skip ---- */

static enum pawl_code skip(struct pawl_decision *d, const struct pawl_workflow_operate *ask)
{
    int32_t node = pawl_definition_find(d->definition, ask->reference);
    if (d->workflow->state != PAWL_WORKFLOW_RUNNING) return refuse(d, PAWL_STATE, "skip a task of");
    if (node == PAWL_NOWHERE) {
        return pawl_error_set(&d->command->err, PAWL_INVALID,
                              "reference: workflow %.*s has no task %.*s",
                              PAWL_STR_ARG(d->workflow->id), PAWL_STR_ARG(ask->reference));
    }
    const struct pawl_entry *there = pawl_record_latest(d, ask->reference);
    if (d->step->set.is_short) return PAWL_BUSY;
    if (there != NULL) {
        return pawl_error_set(&d->command->err, PAWL_STATE,
                              "cannot skip task %.*s: it has begun, or was skipped",
                              PAWL_STR_ARG(ask->reference));
    }
    pawl_decision_begin(d);
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_entry *entry =
        pawl_record_make(d, &(struct pawl_record_new){
                                .node = node,
                                .id = pawl_record_mint(d->step),
                                .type = pawl_node_type_is_polled(n->type) ? n->name : n->type_name,
                                .input = ask->task_input.len > 0 ? ask->task_input : PAWL_STR("{}"),
                                .status = PAWL_RECORD_IN_PROGRESS});
    if (entry == NULL) return PAWL_BUSY;
    pawl_record_end(d, entry,
                    &(struct pawl_record_end){.status = PAWL_RECORD_SKIPPED,
                                              .output = ask->task_output.len > 0 ? ask->task_output
                                                                                 : PAWL_STR("{}")});
    struct pawl_record_row *record = pawl_set_change(&d->step->set, entry);
    record->is_decided = true;
    d->workflow->open--;
    d->workflow->ahead++;
    pawl_join_count(d, record, 1);
    return pawl_decide(d);
}

/* ---- Callbacks ---- */

static bool reset_callbacks(struct pawl_decision *d, int64_t after)
{
    const struct pawl_rows *open = pawl_records_list(d, PAWL_RECORDS_OPEN, after);
    if (open == NULL) return false;
    for (size_t i = 0; i < open->count; i++) {
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)open->rows)[i]);
        (void)pawl_record_task(d->step, entry->row);
    }
    if (d->step->set.is_short) return false;
    for (size_t i = 0; i < open->count; i++) {
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)open->rows)[i]);
        struct pawl_entry *task = pawl_record_task(d->step, entry->row);
        const struct pawl_record_row *record = entry->row;
        bool waits = task != NULL && record->callback_after_s > 0 &&
                     ((const struct pawl_task_row *)task->row)->state == PAWL_TASK_QUEUED;
        if (waits) pawl_record_offer(d, entry, 0);
    }
    if (open->is_cut) {
        (void)pawl_continuation_add(d->step,
                                    &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_CALLBACKS,
                                                                    .task = d->workflow->key,
                                                                    .cursor = open->last});
    }
    return true;
}

void pawl_workflow_callbacks_slice(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_continuation_row *row)
{
    struct pawl_decision d;
    if (pawl_decision_open(step, command, row->task, &d) != PAWL_OK || is_terminal(&d)) return;
    pawl_decision_begin(&d);
    (void)reset_callbacks(&d, row->cursor);
}

static enum pawl_code reset(struct pawl_decision *d)
{
    if (is_terminal(d)) return refuse(d, PAWL_STATE, "reset the callbacks of");
    pawl_decision_begin(d);
    return reset_callbacks(d, 0) ? PAWL_OK : PAWL_BUSY;
}

/* ---- Signal ---- */

/* The first that waits, in the order in which they were made: a WAIT, or if there is none a HUMAN.
 */
static struct pawl_entry *find_waiting(struct pawl_decision *d)
{
    struct pawl_entry *human = NULL;
    int64_t after = 0;
    for (;;) {
        const struct pawl_rows *open = pawl_records_list(d, PAWL_RECORDS_OPEN, after);
        if (open == NULL) return NULL;
        for (size_t i = 0; i < open->count; i++) {
            struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)open->rows)[i]);
            const struct pawl_record_row *record = entry->row;
            enum pawl_node_type type = d->definition->nodes[record->node].type;
            if (type == PAWL_NODE_WAIT) return entry;
            if (type == PAWL_NODE_HUMAN && human == NULL) human = entry;
        }
        if (!open->is_cut) return human;
        after = open->last;
    }
}

static enum pawl_code give_signal(struct pawl_decision *d, const struct pawl_workflow_operate *ask)
{
    if (is_terminal(d)) return PAWL_OK; /* nobody waits */
    struct pawl_entry *waiting = find_waiting(d);
    if (d->step->set.is_short) return PAWL_BUSY;
    if (waiting == NULL) return PAWL_OK;
    struct pawl_entry *task;
    enum pawl_code code = pawl_task_find_key(
        d->step, d->command, ((const struct pawl_record_row *)waiting->row)->task, &task);
    if (code != PAWL_OK) return code;
    struct pawl_str id = ((const struct pawl_task_row *)task->row)->id;
    struct pawl_record_word word = {.status = ask->status,
                                    .output = ask->task_output,
                                    .merges_output = true,
                                    .reason = ask->reason};
    bool is_ignored = false;
    code = pawl_record_hear(d->step, d->command, task, &word, &is_ignored);
    if (code == PAWL_OK && !d->step->set.is_short)
        d->command->out.operated->task_id = pawl_reply_copy(d->command, id);
    return code;
}

/* ---- Variables ---- */

static enum pawl_code set_variables(struct pawl_decision *d,
                                    const struct pawl_workflow_operate *ask)
{
    if (is_terminal(d)) return refuse(d, PAWL_STATE, "set variables of");
    struct pawl_str before =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_VARIABLES);
    if (d->step->set.is_short) return PAWL_BUSY;
    struct pawl_str after = pawl_overlay(before, ask->variables, d->step->set.arena);
    if (after.len > PAWL_VARIABLES_BYTES_MAX) {
        return pawl_error_set(&d->command->err, PAWL_TOO_LARGE,
                              "variables: %zu bytes together; at most %d", after.len,
                              PAWL_VARIABLES_BYTES_MAX);
    }
    pawl_decision_begin(d);
    pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_VARIABLES, after);
    return PAWL_OK;
}

/* ---- Decide ---- */

/* All is decided as it happens: there is nothing left to do. What was cut off by damage is looked
 * at all the same. */
static enum pawl_code decide(struct pawl_decision *d)
{
    if (d->workflow->state != PAWL_WORKFLOW_RUNNING || d->workflow->open > 0) return PAWL_OK;
    pawl_decision_begin(d);
    return pawl_decide(d);
}

static enum pawl_code run(struct pawl_decision *d, const struct pawl_workflow_operate *ask)
{
    switch (ask->verb) {
    case PAWL_WORKFLOW_PAUSE:
        return pause(d);
    case PAWL_WORKFLOW_RESUME:
        return resume(d);
    case PAWL_WORKFLOW_TERMINATE:
        return terminate(d, ask);
    case PAWL_WORKFLOW_SKIP:
        return skip(d, ask);
    case PAWL_WORKFLOW_RESET_CALLBACKS:
        return reset(d);
    case PAWL_WORKFLOW_DECIDE:
        return decide(d);
    case PAWL_WORKFLOW_SIGNAL:
        return give_signal(d, ask);
    case PAWL_WORKFLOW_SET_VARIABLES:
        return set_variables(d, ask);
    case PAWL_WORKFLOW_RETRY:
        return pawl_workflow_retry(d);
    case PAWL_WORKFLOW_RESTART:
        return pawl_workflow_restart(d, ask);
    case PAWL_WORKFLOW_RERUN:
        return pawl_workflow_rerun(d, ask);
    case PAWL_WORKFLOW_REMOVE:
        return pawl_workflow_remove(d, ask);
    }
    return pawl_error_set(&d->command->err, PAWL_MISUSE, "verb: is none");
}

enum pawl_code pawl_rule_workflow_operate(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_decision d;
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_WORKFLOW_ID, command->task_id);
    if (step->set.is_short) return PAWL_BUSY;
    if (key == 0) {
        return pawl_error_set(&command->err, PAWL_NOT_FOUND, "No such workflow: %.*s",
                              PAWL_STR_ARG(command->task_id));
    }
    enum pawl_code code = pawl_decision_open(step, command, key, &d);
    if (code != PAWL_OK) return code;
    *command->out.operated = (struct pawl_workflow_operated){0};
    code = run(&d, command->ask.operate);
    if (code != PAWL_OK || step->set.is_short) return code;
    command->out.operated->state = d.workflow->state;
    return pawl_reply_code(command);
}
