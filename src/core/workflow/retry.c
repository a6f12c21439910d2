/* Whether what has failed is tried again, and when. */
#include "core/workflow/decision.h"

#include "base/str.h"
#include "core/workflow/overlay.h"

static bool is_tried_again(enum pawl_node_type type)
{
    switch (type) {
    case PAWL_NODE_DECISION:
    case PAWL_NODE_SWITCH:
    case PAWL_NODE_FORK_JOIN:
    case PAWL_NODE_FORK_JOIN_DYNAMIC:
    case PAWL_NODE_JOIN:
    case PAWL_NODE_EXCLUSIVE_JOIN:
    case PAWL_NODE_DO_WHILE:
        return false;
    default:
        return true;
    }
}

static enum pawl_workflow_state state_after(enum pawl_record_status status)
{
    return status == PAWL_RECORD_CANCELED    ? PAWL_WORKFLOW_TERMINATED
           : status == PAWL_RECORD_TIMED_OUT ? PAWL_WORKFLOW_TIMED_OUT
                                             : PAWL_WORKFLOW_FAILED;
}

static int64_t times(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0) return 0;
    return a > INT32_MAX / b ? INT32_MAX : a * b;
}

int64_t pawl_attempt_delay_s(const struct pawl_task_definition *definition, int32_t attempt)
{
    int64_t delay_s = definition->retry_delay_s;
    switch (definition->retry_logic) {
    case PAWL_RETRY_LINEAR_BACKOFF:
        delay_s = times(times(delay_s, definition->backoff_scale_factor), (int64_t)attempt + 1);
        break;
    case PAWL_RETRY_EXPONENTIAL_BACKOFF:
        delay_s = times(delay_s, attempt >= 31 ? INT32_MAX : INT64_C(1) << attempt);
        break;
    default:
        break;
    }
    int64_t max_s = definition->retry_delay_s_max;
    return max_s > 0 && delay_s > max_s ? max_s : delay_s;
}

struct pawl_failure_verdict pawl_failure_judge(struct pawl_decision *d,
                                               const struct pawl_record_row *record,
                                               const struct pawl_task_row *task)
{
    const struct pawl_node *n = &d->definition->nodes[record->node];
    const struct pawl_task_definition *definition = pawl_record_definition(d, record, task);
    int64_t limit = n->retry_count != PAWL_NOT_GIVEN ? n->retry_count
                    : definition != NULL             ? definition->retry_count
                                                     : 0;
    bool is_retried = record->status != PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR &&
                      record->status != PAWL_RECORD_CANCELED && is_tried_again(n->type) &&
                      record->attempt < limit;
    int64_t total_ms = definition == NULL ? 0 : pawl_defined_ms(definition->total_timeout_s);
    bool is_spent = total_ms > 0 && d->step->now_ms - record->first_scheduled_at_ms >= total_ms;
    struct pawl_failure_verdict verdict = {.state = state_after(record->status)};
    if (is_retried && !is_spent) {
        verdict.kind = PAWL_FAILURE_RETRIED;
        if (d->retry_after_ms != 0) {
            verdict.jitter_ms = d->retry_after_ms > 0 ? d->retry_after_ms : 0;
        } else if (definition != NULL) {
            verdict.delay_s = pawl_attempt_delay_s(definition, record->attempt);
            if (definition->backoff_jitter_ms > 0) {
                verdict.jitter_ms = (int64_t)(pawl_step_random(d->step) %
                                              (uint64_t)(definition->backoff_jitter_ms + 1));
            }
        }
        return verdict;
    }
    verdict.kind = n->is_optional                  ? PAWL_FAILURE_OPTIONAL
                   : n->is_permissive && !is_spent ? PAWL_FAILURE_PERMISSIVE
                                                   : PAWL_FAILURE_ENDS;
    return verdict;
}

void pawl_record_retry(struct pawl_decision *d, struct pawl_entry *entry, int64_t delay_s,
                       int64_t jitter_ms)
{
    struct pawl_step *step = d->step;
    const struct pawl_record_row *before = entry->row;
    const struct pawl_node *n = &d->definition->nodes[before->node];
    struct pawl_entry *task_entry = pawl_record_task(step, before);
    if (task_entry == NULL) return;
    const struct pawl_task_row *task = task_entry->row;
    struct pawl_str was = pawl_payload_look(step, task, PAWL_PAYLOAD_INPUT);
    struct pawl_str reason = pawl_payload_look(step, task, PAWL_PAYLOAD_ERROR);
    const struct pawl_entry *queue =
        pawl_set_look(&step->set, PAWL_LOOK_QUEUE, task->queue, (struct pawl_str){0}, 0, 0);
    if (queue == NULL || step->set.is_short || queue->row == NULL) return;
    const struct pawl_task_definition *definition = pawl_record_definition(d, before, task);
    struct pawl_str id = pawl_record_mint(step);
    struct pawl_str input;
    bool is_worker = pawl_node_type_is_polled(n->type);
    if (step->set.is_short) return;
    if (!pawl_record_input(d, before->node, is_worker ? definition : NULL, id, &input)) return;
    struct pawl_record_row *old = pawl_set_change(&step->set, entry);
    bool was_open = !old->is_decided;
    old->is_superseded = true;
    old->is_decided = true;
    if (was_open) d->workflow->open--;
    struct pawl_str name = ((const struct pawl_queue_row *)queue->row)->name;
    struct pawl_entry *made = pawl_record_make(
        d, &(struct pawl_record_new){.node = old->node,
                                     .definition = definition,
                                     .id = id,
                                     .type = pawl_record_type(n, name, old->domain),
                                     .domain = old->domain,
                                     .input = pawl_overlay(was, input, step->set.arena),
                                     .status = is_worker ? PAWL_RECORD_SCHEDULED
                                                         : PAWL_RECORD_IN_PROGRESS,
                                     .before = old,
                                     .delay_s = delay_s,
                                     .jitter_ms = jitter_ms});
    if (made == NULL) return;
    struct pawl_entry *fresh = pawl_record_task(step, made->row);
    if (fresh != NULL && reason.len > 0) {
        pawl_payload_put(step, pawl_set_change(&step->set, fresh), PAWL_PAYLOAD_ERROR, reason);
    }
    if (!is_worker)
        pawl_todo_push(d, PAWL_TODO_RUN, ((const struct pawl_record_row *)made->row)->task, 0);
}
