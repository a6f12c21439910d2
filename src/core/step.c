/* Runs one command: picks its rule, and sees to it that a command which stops half-way leaves nothing. */
#include "core/step.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/task/gate.h"
#include "core/task/queue.h"
#include "core/task/rule.h"

static pawl_rule *const rules[] = {
    [PAWL_COMMAND_CREATE] = pawl_rule_create,
    [PAWL_COMMAND_QUEUE] = pawl_rule_queue,
    [PAWL_COMMAND_START] = pawl_rule_start,
    [PAWL_COMMAND_CLAIM] = pawl_rule_claim,
    [PAWL_COMMAND_RENEW] = pawl_rule_renew,
    [PAWL_COMMAND_STOPPED] = pawl_rule_stopped,
    [PAWL_COMMAND_PROGRESS] = pawl_rule_progress,
    [PAWL_COMMAND_CHECKPOINT] = pawl_rule_checkpoint,
    [PAWL_COMMAND_LOG] = pawl_rule_log,
    [PAWL_COMMAND_COMPLETE] = pawl_rule_complete,
    [PAWL_COMMAND_FAIL] = pawl_rule_fail,
    [PAWL_COMMAND_RELEASE] = pawl_rule_release,
    [PAWL_COMMAND_UPDATE] = pawl_rule_update,
    [PAWL_COMMAND_PAUSE] = pawl_rule_pause,
    [PAWL_COMMAND_RESUME] = pawl_rule_resume,
    [PAWL_COMMAND_CANCEL] = pawl_rule_cancel,
    [PAWL_COMMAND_RESOLVE] = pawl_rule_resolve,
    [PAWL_COMMAND_REDRIVE] = pawl_rule_redrive,
    [PAWL_COMMAND_QUEUE_SET] = pawl_rule_queue_set,
    [PAWL_COMMAND_CONSUMER_OPEN] = pawl_rule_consumer_open,
    [PAWL_COMMAND_ACKNOWLEDGE] = pawl_rule_acknowledge,
    [PAWL_COMMAND_ACKNOWLEDGE_THROUGH] = pawl_rule_acknowledge_through,
    [PAWL_COMMAND_RETAIN] = pawl_rule_retain,
    [PAWL_COMMAND_COMPACT] = pawl_rule_compact,
    [PAWL_COMMAND_DEFINE] = pawl_rule_define,
    [PAWL_COMMAND_UNDEFINE] = pawl_rule_undefine,
    [PAWL_COMMAND_IMPORT] = pawl_rule_import,
    [PAWL_COMMAND_WORKFLOW_START] = pawl_rule_workflow_start,
    [PAWL_COMMAND_WORKFLOW_OPERATE] = pawl_rule_workflow_operate,
    [PAWL_COMMAND_DUE] = pawl_rule_due,
    [PAWL_COMMAND_CONTINUE] = pawl_rule_continue,
    [PAWL_COMMAND_RECOVER] = pawl_rule_recover,
};

/* splitmix64, on a state seeded once a step: equal seeds give equal ids, which simulation relies on. */
uint64_t pawl_step_random(struct pawl_step *step)
{
    step->random[0] += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = step->random[0] ^ step->random[1];
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void offer(struct pawl_step *step, struct pawl_ready what)
{
    struct pawl_ready *ready = pawl_step_take(step, sizeof *ready);
    if (ready == NULL) return;
    *ready = what;
    if (!pawl_append_add(&step->ready, step->set.arena, ready)) step->set.is_full = true;
}

void pawl_step_offer(struct pawl_step *step, int64_t queue, bool is_many)
{
    offer(step, (struct pawl_ready){.queue = queue, .is_many = is_many});
}

void pawl_step_offer_gate(struct pawl_step *step, struct pawl_str name, bool is_many)
{
    offer(step, (struct pawl_ready){.gate = name, .is_many = is_many});
}

int64_t pawl_step_key(struct pawl_step *step)
{
    return step->next_key++;
}

void *pawl_step_take(struct pawl_step *step, size_t bytes)
{
    void *ptr = pawl_arena_take(step->set.arena, bytes);
    if (ptr == NULL) step->set.is_full = true;
    return ptr;
}

/* ---- Round 0 ---- */

static void want(struct pawl_step *step, enum pawl_look look, struct pawl_str text)
{
    if (text.len > 0) (void)pawl_set_look(&step->set, look, 0, text, 0, 0);
}

static void want_fence(struct pawl_step *step, const struct pawl_fence *fence)
{
    want(step, PAWL_LOOK_TASK_ID, fence->task_id);
    want(step, PAWL_LOOK_WORKER_ID, fence->owner);
}

static void want_queues(struct pawl_step *step, const struct pawl_claim *ask)
{
    size_t count;
    const struct pawl_str *names = pawl_claim_queues(ask, &count);
    for (size_t i = 0; i < count; i++) {
        (void)pawl_queue_key(step, names[i]);
        (void)pawl_registered_get(step, PAWL_DEFINITION_TASK, pawl_gate_name(names[i]), 0);
    }
}

void pawl_step_want(struct pawl_step *step, const struct pawl_command *command)
{
    want(step, PAWL_LOOK_TASK_ID, command->task_id);
    if (command->has_fence) want(step, PAWL_LOOK_WORKER_ID, command->fence.owner);
    switch ((int)command->kind) {
    case PAWL_COMMAND_CREATE:
        for (size_t i = 0; i < command->ask.create.count; i++) {
            pawl_create_want(step, command->ask.create.members[i].ask);
        }
        break;
    case PAWL_COMMAND_CLAIM:
        want_queues(step, command->ask.claim.ask);
        want(step, PAWL_LOOK_WORKER_ID, command->ask.claim.ask->worker_id);
        break;
    case PAWL_COMMAND_START:
        want(step, PAWL_LOOK_WORKER_ID, command->ask.claim.ask->worker_id);
        break;
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; i < command->ask.renew.count; i++) {
            want_fence(step, &command->ask.renew.fences[i]);
        }
        break;
    default: /* its task is all, or what it needs depends on what is found */
        break;
    }
    step->set.is_short = false;
}

/* ---- Running ---- */

static enum pawl_code out_of_memory(struct pawl_step *step, struct pawl_command *command)
{
    enum pawl_code code = pawl_arena_code(step->set.arena);
    if (code == PAWL_OK) code = PAWL_NO_MEMORY;
    return pawl_error_set(&command->err, code, "the step has no more memory for this command");
}

/* Outcomes are kept beside the task when they come too late; a renewal or a note is not worth it. */
static bool is_worth_keeping(const struct pawl_command *command, enum pawl_code code)
{
    if (command->kind == PAWL_COMMAND_UPDATE) return code == PAWL_LEASE_LOST;
    return code == PAWL_LEASE_LOST && command->has_fence &&
           (command->kind == PAWL_COMMAND_COMPLETE || command->kind == PAWL_COMMAND_FAIL ||
            command->kind == PAWL_COMMAND_RELEASE);
}

static const char *fault_of(const struct pawl_entry *entry)
{
    if (entry->row == NULL) return NULL;
    switch ((int)entry->look) {
    case PAWL_LOOK_WORKFLOW:
        return pawl_workflow_row_fault(entry->row);
    case PAWL_LOOK_RECORD:
        return pawl_record_row_fault(entry->row);
    default:
        return NULL;
    }
}

static bool is_damaged(const struct pawl_entry *entry)
{
    return fault_of(entry) != NULL;
}

/* A counter that does not count what there is goes below 0 some day: that ends the command, before it is written. */
static enum pawl_code check_counters(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_entry *entry = pawl_set_find_changed(&step->set, is_damaged);
    if (entry == NULL) return PAWL_OK;
    const struct pawl_record_row *record = entry->look == PAWL_LOOK_RECORD ? entry->row : NULL;
    int64_t key = record != NULL ? record->workflow : entry->number;
    const struct pawl_workflow_row *workflow = pawl_set_known(&step->set, PAWL_LOOK_WORKFLOW, key, (struct pawl_str){0});
    struct pawl_str id = workflow != NULL ? workflow->id : (struct pawl_str){0};
    struct pawl_str of = record != NULL ? record->reference : (struct pawl_str){0};
    return pawl_error_set(&command->err, PAWL_CORRUPT, "workflow %.*s is damaged: %.*s%s%s; `pawl fsck` counts again",
                          PAWL_STR_ARG(id), PAWL_STR_ARG(of), record != NULL ? ": " : "", fault_of(entry));
}

enum pawl_verdict pawl_step_run(struct pawl_step *step, struct pawl_command *command)
{
    pawl_assert((size_t)command->kind < PAWL_COUNT_OF(rules) && rules[command->kind] != NULL);
    struct pawl_set_mark mark = pawl_set_begin(&step->set);
    struct pawl_step before = *step;
    command->err = (struct pawl_error){0};
    command->goes_on = false;
    command->taken = 0;

    enum pawl_code code = rules[command->kind](step, command);
    bool is_short = step->set.is_short;
    bool is_full = step->set.is_full;
    if (!is_short && !is_full && code == PAWL_OK) code = check_counters(step, command);
    if (!is_short && !is_full && is_worth_keeping(command, code)) {
        pawl_set_undo(&step->set, &mark);
        struct pawl_error told = command->err;
        pawl_rule *keep = command->kind == PAWL_COMMAND_UPDATE ? pawl_rule_update_late : pawl_rule_late;
        (void)keep(step, command); /* best effort: the answer is LEASE_LOST either way */
        command->err = told;
        is_short = step->set.is_short;
        is_full = step->set.is_full;
    } else if (code != PAWL_OK) {
        pawl_set_undo(&step->set, &mark);
        if (!is_short && !is_full && code == PAWL_CORRUPT) pawl_own_put_off(step, command);
        is_full = step->set.is_full;
    }
    if (is_full) code = out_of_memory(step, command);
    if (is_full || is_short) pawl_set_undo(&step->set, &mark);
    if (is_full || is_short || code != PAWL_OK) {
        step->random[0] = before.random[0]; /* the next run makes the same ids */
        step->ready.count = before.ready.count;
        step->claim_bytes_left = before.claim_bytes_left;
        step->caused.count = before.caused.count;
        step->generation = before.generation;
        if (is_full || is_short) step->next_key = before.next_key;
    }
    if (is_short && !is_full) return PAWL_NEED;
    command->code = code;
    return PAWL_DONE;
}
