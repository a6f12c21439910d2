#include "core/workflow/decision.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

static const struct pawl_str none = {0};

static const struct pawl_node_rules *const rules[PAWL_NODE_TYPE_COUNT] = {
    [PAWL_NODE_SIMPLE] = &pawl_node_worker,
    [PAWL_NODE_USER_DEFINED] = &pawl_node_worker,
    [PAWL_NODE_DYNAMIC] = &pawl_node_worker,
    [PAWL_NODE_SWITCH] = &pawl_node_switch,
    [PAWL_NODE_FORK_JOIN] = &pawl_node_fork,
    [PAWL_NODE_JOIN] = &pawl_node_join,
    [PAWL_NODE_SET_VARIABLE] = &pawl_node_set_variable,
    [PAWL_NODE_TERMINATE] = &pawl_node_terminate,
    [PAWL_NODE_WAIT] = &pawl_node_wait,
    [PAWL_NODE_HUMAN] = &pawl_node_human,
    [PAWL_NODE_NOOP] = &pawl_node_noop,
};

const struct pawl_node_rules *pawl_node_rules(enum pawl_node_type type)
{
    return rules[type];
}

enum pawl_code pawl_decision_open(struct pawl_step *step, struct pawl_command *command,
                                  int64_t workflow, struct pawl_decision *out)
{
    *out = (struct pawl_decision){.step = step, .command = command};
    out->entry = pawl_set_look(&step->set, PAWL_LOOK_WORKFLOW, workflow, none, 0, 0);
    if (out->entry == NULL || !out->entry->is_loaded) return PAWL_BUSY;
    out->workflow = out->entry->row;
    if (out->workflow == NULL && out->entry->is_bad) {
        return pawl_error_set(&command->err, PAWL_CORRUPT, "the workflow's row cannot be read");
    }
    if (out->workflow == NULL)
        return pawl_error_set(&command->err, PAWL_NOT_FOUND, "no such workflow");
    struct pawl_entry *snapshot =
        pawl_set_look(&step->set, PAWL_LOOK_SNAPSHOT, out->workflow->snapshot, none, 0, 0);
    if (snapshot == NULL || !snapshot->is_loaded) return PAWL_BUSY;
    const struct pawl_snapshot_row *row = snapshot->row;
    if (row == NULL || row->definition == NULL) {
        return pawl_error_set(&command->err, PAWL_CORRUPT,
                              "workflow %.*s: the definition that it began with cannot be read",
                              PAWL_STR_ARG(out->workflow->id));
    }
    out->definition = row->definition;
    return PAWL_OK;
}

void pawl_decision_begin(struct pawl_decision *d)
{
    d->workflow = pawl_set_change(&d->step->set, d->entry);
    d->workflow->version++;
    d->workflow->updated_at_ms = d->step->now_ms;
}

void pawl_todo_push(struct pawl_decision *d, enum pawl_todo_kind kind, int64_t task, int32_t node)
{
    if (d->todo_count == d->todo_room) {
        size_t room = d->todo_room == 0 ? 8 : d->todo_room * 2;
        struct pawl_todo *grown = pawl_step_take(d->step, room * sizeof *grown);
        if (grown == NULL) return;
        for (size_t i = 0; i < d->todo_count; i++) grown[i] = d->todo[i];
        d->todo = grown;
        d->todo_room = room;
    }
    d->todo[d->todo_count++] = (struct pawl_todo){kind, node, task};
}

static bool is_stopped(const struct pawl_decision *d)
{
    return d->step->set.is_short || d->step->set.is_full;
}

static void go_on(struct pawl_decision *d, int64_t task, int32_t node, int32_t next)
{
    if (next == PAWL_FLOW_SUCCESSOR) next = d->definition->nodes[node].successor;
    if (next >= 0) pawl_todo_push(d, PAWL_TODO_REACH, task, next);
}

/* A JOIN that is there counts who comes; what ran or was skipped before its turn is stepped over.
 */
static void reach(struct pawl_decision *d, int32_t node, int64_t from)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    bool may_be_there = n->type == PAWL_NODE_JOIN || d->workflow->ahead > 0;
    struct pawl_entry *latest = may_be_there ? pawl_record_latest(d, n->reference) : NULL;
    if (is_stopped(d)) return;
    const struct pawl_record_row *record = latest == NULL ? NULL : latest->row;
    if (record != NULL && n->type == PAWL_NODE_JOIN) {
        pawl_join_reach(d, latest, from);
        return;
    }
    if (record != NULL && record->status == PAWL_RECORD_SKIPPED) {
        d->workflow->ahead--;
        go_on(d, record->task, node, PAWL_FLOW_SUCCESSOR);
        return;
    }
    if (record != NULL) return; /* its own end goes on */
    const struct pawl_node_rules *type = pawl_node_rules(n->type);
    if (type == NULL) {
        pawl_workflow_fail(d, pawl_arena_format(d->step->set.arena,
                                                "task %.*s: this server does not run the type %.*s",
                                                PAWL_STR_ARG(n->reference),
                                                PAWL_STR_ARG(n->type_name)));
        return;
    }
    type->map(d, node);
}

static struct pawl_str why_it_ended(struct pawl_decision *d, const struct pawl_record_row *record,
                                    const struct pawl_task_row *task)
{
    struct pawl_str reason = pawl_payload_look(d->step, task, PAWL_PAYLOAD_ERROR);
    return pawl_arena_format(d->step->set.arena, "task %.*s (%.*s) ended %s%s%.*s",
                             PAWL_STR_ARG(task->id), PAWL_STR_ARG(record->reference),
                             pawl_record_status_name(record->status), reason.len > 0 ? ": " : "",
                             PAWL_STR_ARG(reason));
}

/* A failure that is not tried again, and stops nothing by itself. */
static void let_pass(struct pawl_decision *d, struct pawl_entry *entry, struct pawl_entry *task,
                     bool is_optional)
{
    if (!is_optional) {
        pawl_workflow_note_failed(d, entry->row, task->row);
        if (!is_stopped(d)) d->workflow->permissive++;
        return;
    }
    struct pawl_record_row *record = pawl_set_change(&d->step->set, entry);
    record->status = PAWL_RECORD_COMPLETED_WITH_ERRORS;
    struct pawl_task_row *row = pawl_set_change(&d->step->set, task);
    row->state = PAWL_TASK_COMPLETED;
    row->progress = 100.0;
    row->progress_epoch = row->epoch;
    pawl_task_touch(d->step, row);
    pawl_event_add(d->step, row, PAWL_EVENT_COMPLETED, PAWL_CAUSE_NONE, none, none);
}

static void end_over(struct pawl_decision *d, struct pawl_entry *entry, struct pawl_entry *task,
                     enum pawl_workflow_state state)
{
    const struct pawl_record_row *record = entry->row;
    struct pawl_str reason = why_it_ended(d, record, task->row);
    pawl_workflow_note_failed(d, record, task->row);
    if (is_stopped(d)) return;
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->is_decided = true;
    d->workflow->open--;
    pawl_workflow_end(d, &(struct pawl_workflow_end){.state = state,
                                                     .reason = reason,
                                                     .failed = record->task,
                                                     .runs_failure_workflow = true});
}

/* What follows from the end of a record. Retries come before joins: what is tried again is not
 * over. */
static void ended(struct pawl_decision *d, int64_t key, int32_t next)
{
    struct pawl_entry *entry = pawl_record_find(d->step, key);
    if (entry == NULL || is_stopped(d)) return;
    const struct pawl_record_row *record = entry->row;
    if (record->run != d->workflow->run || record->is_decided) return;
    if (d->workflow->state == PAWL_WORKFLOW_PAUSED)
        return; /* it stays open until somebody goes on */
    struct pawl_entry *task = pawl_record_task(d->step, record);
    if (task == NULL || is_stopped(d)) return;
    if (pawl_record_status_is_bad(record->status)) {
        struct pawl_failure_verdict verdict = pawl_failure_judge(d, record, task->row);
        if (is_stopped(d)) return;
        switch (verdict.kind) {
        case PAWL_FAILURE_RETRIED:
            pawl_record_retry(d, entry, verdict.delay_s, verdict.jitter_ms);
            return;
        case PAWL_FAILURE_ENDS:
            end_over(d, entry, task, verdict.state);
            return;
        case PAWL_FAILURE_OPTIONAL:
        case PAWL_FAILURE_PERMISSIVE:
            let_pass(d, entry, task, verdict.kind == PAWL_FAILURE_OPTIONAL);
            break;
        }
        if (is_stopped(d)) return;
    }
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->is_decided = true;
    d->workflow->open--;
    go_on(d, key, record->node, next);
    pawl_join_count(d, record, 1);
}

static void place(struct pawl_decision *d, int64_t key)
{
    struct pawl_entry *entry = pawl_record_find(d->step, key);
    if (entry == NULL) return;
    struct pawl_record_row *record = pawl_set_change(&d->step->set, entry);
    record->seq = d->workflow->next_seq++;
    d->workflow->last = key;
}

static void run(struct pawl_decision *d, int64_t key)
{
    struct pawl_entry *entry = pawl_record_find(d->step, key);
    if (entry == NULL || is_stopped(d)) return;
    const struct pawl_record_row *record = entry->row;
    if (pawl_record_status_is_terminal(record->status)) return;
    if (d->workflow->state == PAWL_WORKFLOW_PAUSED) return;
    const struct pawl_node_rules *type = pawl_node_rules(d->definition->nodes[record->node].type);
    if (type != NULL && type->run != NULL) type->run(d, entry);
}

/* The same record, with the input that it has: its type begins it as it does at first. */
static void run_again(struct pawl_decision *d, int64_t key)
{
    struct pawl_entry *entry = pawl_record_find(d->step, key);
    struct pawl_entry *task = entry == NULL ? NULL : pawl_record_task(d->step, entry->row);
    if (task == NULL) return;
    struct pawl_str input = pawl_payload_look(d->step, task->row, PAWL_PAYLOAD_INPUT);
    if (is_stopped(d)) return;
    int32_t node = ((const struct pawl_record_row *)entry->row)->node;
    d->again = entry;
    d->again_input = input.len > 0 ? input : PAWL_STR("{}");
    pawl_node_rules(d->definition->nodes[node].type)->map(d, node);
    d->again = NULL;
}

/* What is left goes on in a continuation, which the workflow counts as open. */
static void leave(struct pawl_decision *d)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < d->todo_count; i++) {
        pawl_json_put_int64(&w, d->todo[i].kind);
        pawl_json_put_int64(&w, d->todo[i].node);
        pawl_json_put_int64(&w, d->todo[i].task);
    }
    pawl_json_end_array(&w);
    struct pawl_str text = pawl_json_writer_done(&w);
    d->todo_count = 0;
    d->workflow->open++;
    (void)pawl_continuation_add(
        d->step, &(struct pawl_continuation_row){
                     .kind = PAWL_CONTINUE_DECISION,
                     .task = d->workflow->key,
                     .cursor = d->workflow->run,
                     .args = text});
}

static void finish(struct pawl_decision *d)
{
    bool is_over = d->workflow->state == PAWL_WORKFLOW_RUNNING && d->workflow->open == 0;
    if (!is_over) return;
    bool has_failed = d->workflow->permissive > 0;
    pawl_workflow_end(d, &(struct pawl_workflow_end){.state = has_failed ? PAWL_WORKFLOW_FAILED
                                                                         : PAWL_WORKFLOW_COMPLETED,
                                                     .runs_failure_workflow = has_failed});
}

static void do_one(struct pawl_decision *d, struct pawl_todo todo)
{
    switch (todo.kind) {
    case PAWL_TODO_REACH:
        reach(d, todo.node, todo.task);
        break;
    case PAWL_TODO_ENDED:
        ended(d, todo.task, todo.node);
        break;
    case PAWL_TODO_RUN:
        run(d, todo.task);
        break;
    case PAWL_TODO_PLACE:
        place(d, todo.task);
        break;
    case PAWL_TODO_AGAIN:
        run_again(d, todo.task);
        break;
    }
}

/* When something is not loaded the rest is gone through all the same: it is undone as a whole, but
 * what the others need is asked for in the same round. */
enum pawl_code pawl_decide(struct pawl_decision *d)
{
    struct pawl_set *set = &d->step->set;
    while (d->todo_count > 0 && !set->is_full) {
        if (pawl_workflow_state_is_terminal(d->workflow->state)) break;
        if (d->made >= PAWL_DECISION_RECORDS_MAX) {
            leave(d);
            break;
        }
        bool was_short = set->is_short;
        set->is_short = false;
        do_one(d, d->todo[--d->todo_count]);
        set->is_short = set->is_short || was_short;
    }
    if (!is_stopped(d)) finish(d);
    return is_stopped(d) ? PAWL_BUSY : PAWL_OK;
}

/* As leave has written it. */
static void take_up(struct pawl_decision *d, struct pawl_str text)
{
    struct pawl_json *list;
    if (pawl_json_parse_top(text, 1, d->step->set.arena, &list, NULL) != PAWL_OK) return;
    int64_t numbers[3] = {0};
    size_t count = 0;
    for (const struct pawl_json *item = pawl_json_first(list); item != NULL; item = item->next) {
        if (!pawl_json_int64(item, &numbers[count % 3])) return;
        if (++count % 3 == 0) {
            pawl_todo_push(d, (enum pawl_todo_kind)numbers[0], numbers[2], (int32_t)numbers[1]);
        }
    }
}

void pawl_decide_slice(struct pawl_step *step, struct pawl_command *command,
                       const struct pawl_continuation_row *row)
{
    struct pawl_decision d;
    if (pawl_decision_open(step, command, row->task, &d) != PAWL_OK) return;
    if (d.workflow->run != row->cursor) return; /* it was begun anew meanwhile */
    pawl_decision_begin(&d);
    d.workflow->open--;
    if (pawl_workflow_state_is_terminal(d.workflow->state)) return;
    take_up(&d, row->args);
    (void)pawl_decide(&d);
}
