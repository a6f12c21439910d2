/* When a record is due, and what is due of it. A claim and a renewal arm a task without its record,
 * so a due time may be early: what is found then is looked at, and armed anew. The time-out of the
 * workflow itself is in the due time of each of its open tasks, and of those that wait to be
 * decided: so no other timer is needed. */
#include "core/workflow/decision.h"

#include "base/error.h"
#include "base/str.h"

enum what {
    WHAT_NOTHING,
    WHAT_WORKFLOW,
    WHAT_TOTAL,
    WHAT_ATTEMPT,
    WHAT_POLL,
    WHAT_RESPONSE,
    WHAT_READY
};

struct timers {
    int64_t at_ms[WHAT_READY + 1]; /* 0 = none */
};

int64_t pawl_workflow_deadline(const struct pawl_workflow_row *workflow,
                               const struct pawl_definition *definition)
{
    bool is_timed =
        definition->timeout_s > 0 && definition->timeout_policy == PAWL_TIMEOUT_TIME_OUT_WF;
    if (!is_timed || pawl_workflow_state_is_terminal(workflow->state)) return 0;
    int64_t from_ms =
        workflow->retried_at_ms > 0 ? workflow->retried_at_ms : workflow->created_at_ms;
    return from_ms + pawl_defined_ms(definition->timeout_s);
}

static struct timers timers_of(struct pawl_decision *d, const struct pawl_record_row *record,
                               const struct pawl_task_row *task)
{
    const struct pawl_task_definition *definition = pawl_record_definition(d, record, task);
    bool is_terminal = pawl_record_status_is_terminal(record->status);
    bool is_queued = task->state == PAWL_TASK_QUEUED;
    struct timers timers = {{0}};
    if (!is_terminal || !record->is_decided)
        timers.at_ms[WHAT_WORKFLOW] = pawl_workflow_deadline(d->workflow, d->definition);
    if (is_terminal) return timers;
    if (definition != NULL && definition->timeout_policy != PAWL_TIMEOUT_ALERT_ONLY) {
        if (definition->total_timeout_s > 0) {
            timers.at_ms[WHAT_TOTAL] =
                record->first_scheduled_at_ms + pawl_defined_ms(definition->total_timeout_s);
        }
        if (task->timeout_ms > 0 && task->started_at_ms > 0) {
            timers.at_ms[WHAT_ATTEMPT] = task->started_at_ms + task->timeout_ms;
        }
        bool is_polled =
            definition->poll_timeout_s != PAWL_NOT_GIVEN && definition->poll_timeout_s > 0;
        if (is_polled && is_queued) {
            /* a delay of the definition or of a retry counts once, that of a callback beside it */
            int64_t callback_s = task->started_at_ms > 0 ? record->callback_after_s : 0;
            timers.at_ms[WHAT_POLL] =
                record->scheduled_at_ms +
                (record->start_delay_s + callback_s + definition->poll_timeout_s) * 1000;
        }
    }
    if (task->state == PAWL_TASK_RUNNING) timers.at_ms[WHAT_RESPONSE] = task->lease_end_at_ms;
    bool is_deferred = task->rank == PAWL_RANK_NONE && task->state != PAWL_TASK_RUNNING;
    if (is_deferred) timers.at_ms[WHAT_READY] = task->ready_at_ms;
    return timers;
}

void pawl_record_arm(struct pawl_decision *d, const struct pawl_record_row *record,
                     struct pawl_task_row *task)
{
    struct timers timers = timers_of(d, record, task);
    task->due_at_ms = 0;
    for (int what = WHAT_WORKFLOW; what <= WHAT_READY; what++) {
        int64_t at_ms = timers.at_ms[what];
        if (at_ms != 0 && (task->due_at_ms == 0 || at_ms < task->due_at_ms))
            task->due_at_ms = at_ms;
    }
}

/* The first that is over, in the order in which they count. */
static enum what what_is_over(const struct timers *timers, int64_t now_ms)
{
    for (int what = WHAT_WORKFLOW; what <= WHAT_READY; what++) {
        if (timers->at_ms[what] != 0 && timers->at_ms[what] <= now_ms) return (enum what)what;
    }
    return WHAT_NOTHING;
}

static struct pawl_str sentence(struct pawl_decision *d, enum what what)
{
    const char *text =
        what == WHAT_TOTAL     ? "all attempts together took longer than totalTimeoutSeconds"
        : what == WHAT_ATTEMPT ? "the attempt took longer than timeoutSeconds"
        : what == WHAT_POLL    ? "no worker asked for it within pollTimeoutSeconds"
                               : "its worker was silent for longer than responseTimeoutSeconds";
    return pawl_arena_format(d->step->set.arena, "%s", text);
}

static void time_out(struct pawl_decision *d, struct pawl_entry *entry,
                     struct pawl_entry *task_entry, enum what what)
{
    const struct pawl_record_row *record = entry->row;
    const struct pawl_task_row *task = task_entry->row;
    const struct pawl_task_definition *definition = pawl_record_definition(d, record, task);
    struct pawl_str owner = pawl_worker_id(d->step, task->owner);
    if (d->step->set.is_short) return;
    if (owner.len > 0)
        ((struct pawl_record_row *)pawl_set_change(&d->step->set, entry))->worker = owner;
    pawl_task_raise_epoch(pawl_set_change(&d->step->set, task_entry));
    struct pawl_str why = sentence(d, what);
    pawl_record_end(d, entry,
                    &(struct pawl_record_end){.status = PAWL_RECORD_TIMED_OUT,
                                              .reason = why,
                                              .cause = PAWL_CAUSE_TIMED_OUT,
                                              .actor = owner});
    bool ends_workflow = what != WHAT_RESPONSE && definition != NULL &&
                         definition->timeout_policy == PAWL_TIMEOUT_TIME_OUT_WF &&
                         d->workflow->state == PAWL_WORKFLOW_RUNNING;
    if (!ends_workflow) {
        pawl_todo_push(d, PAWL_TODO_ENDED, record->task, PAWL_FLOW_SUCCESSOR);
        return;
    }
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->is_decided = true;
    d->workflow->open--;
    pawl_workflow_end(
        d, &(struct pawl_workflow_end){
               .state = PAWL_WORKFLOW_TIMED_OUT,
               .reason = pawl_arena_format(
                   d->step->set.arena, "task %.*s (%.*s) ended TIMED_OUT: %.*s",
                   PAWL_STR_ARG(task->id), PAWL_STR_ARG(row->reference), PAWL_STR_ARG(why)),
               .failed = row->task,
               .runs_failure_workflow = true});
}

static void end_workflow(struct pawl_decision *d)
{
    struct pawl_str why =
        pawl_arena_format(d->step->set.arena, "the workflow took longer than timeoutSeconds (%lld)",
                          (long long)d->definition->timeout_s);
    pawl_workflow_end(d, &(struct pawl_workflow_end){.state = PAWL_WORKFLOW_TIMED_OUT,
                                                     .reason = why,
                                                     .runs_failure_workflow = true});
}

enum pawl_code pawl_record_due(struct pawl_step *step, struct pawl_command *command,
                               struct pawl_entry *task_entry)
{
    struct pawl_decision d;
    const struct pawl_task_row *task = task_entry->row;
    enum pawl_code code = pawl_decision_open(step, command, task->workflow, &d);
    if (code == PAWL_NOT_FOUND) return PAWL_CORRUPT; /* nobody can tell what is due of it */
    if (code != PAWL_OK) return code;
    struct pawl_entry *entry = pawl_record_find(step, task->key);
    if (step->set.is_short) return PAWL_BUSY;
    if (entry == NULL) {
        return pawl_error_set(&command->err, PAWL_CORRUPT, "task %.*s: its record is missing",
                              PAWL_STR_ARG(task->id));
    }
    const struct pawl_record_row *record = entry->row;
    struct timers timers = timers_of(&d, record, task);
    if (step->set.is_short) return PAWL_BUSY;
    enum what what = what_is_over(&timers, step->now_ms);
    const struct pawl_node_rules *type = pawl_node_rules(d.definition->nodes[record->node].type);
    switch (what) {
    case WHAT_WORKFLOW:
        pawl_decision_begin(&d);
        end_workflow(&d);
        break;
    case WHAT_TOTAL:
    case WHAT_ATTEMPT:
    case WHAT_POLL:
    case WHAT_RESPONSE:
        pawl_decision_begin(&d);
        time_out(&d, entry, task_entry, what);
        break;
    case WHAT_READY:
        if (task->state == PAWL_TASK_QUEUED) {
            pawl_task_offer(step, pawl_set_change(&step->set, task_entry));
        } else if (type != NULL &&
                   type->run != NULL) { /* a paused workflow decides later what follows */
            pawl_decision_begin(&d);
            type->run(&d, entry);
        }
        break;
    case WHAT_NOTHING:
        break;
    }
    code = pawl_decide(&d);
    if (code != PAWL_OK) return code;
    if (task->due_at_ms != 0 && task->due_at_ms <= step->now_ms) {
        pawl_record_arm(&d, record, pawl_set_change(&step->set, task_entry));
    }
    return PAWL_OK;
}
