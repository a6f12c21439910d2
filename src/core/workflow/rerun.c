/* A rerun from a task. What follows the task in the flow is gone, but never what runs beside it,
 * nor the JOINs around both, which wait again.
 *
 * It is a new run, and the records that stay go over to it; the others are left to the old one, and
 * removed with it. Then the flow is gone through once more: what has ended well ends again, without
 * being run, and so comes to what is there, counts for its JOINs, and begins what is missing. The
 * task itself is run again, and with it whatever else has ended badly. */
#include "core/workflow/again.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"
#include "core/workflow/registry.h"

enum place { PLACE_BESIDE, PLACE_BEHIND, PLACE_JOIN_AROUND }; /* of a node, seen from the task's */

struct rerun {
    struct pawl_decision *d;
    struct pawl_entry *target;
    const struct pawl_rows *all; /* keys of the records of the run before */
    unsigned char *places;       /* of each node */
    struct pawl_entry **newest;  /* of each node: its newest record that stays; NULL = none */
};

static struct pawl_entry *entry_at(const struct rerun *r, size_t i)
{
    return pawl_record_find(r->d->step, ((const int64_t *)r->all->rows)[i]);
}

static const struct pawl_node *node_of(const struct rerun *r, const struct pawl_record_row *record)
{
    return &r->d->definition->nodes[record->node];
}

/* ---- What stays ---- */

static void mark_behind(struct rerun *r, int32_t target)
{
    const struct pawl_definition *definition = r->d->definition;
    for (int32_t at = target; at != PAWL_NOWHERE;) {
        const struct pawl_node *n = &definition->nodes[at];
        for (int32_t next = n->next; next != PAWL_NOWHERE; next = definition->nodes[next].next)
            r->places[next] = PLACE_BEHIND;
        int32_t owner = definition->lists[n->list].owner;
        bool is_branch =
            owner != PAWL_NOWHERE && definition->nodes[owner].type == PAWL_NODE_FORK_JOIN;
        at = is_branch ? definition->nodes[owner].next : owner;
        if (is_branch && at != PAWL_NOWHERE) r->places[at] = PLACE_JOIN_AROUND;
    }
    for (int32_t i = 0; i < definition->node_count;
         i++) { /* what is inside has the higher numbers */
        int32_t owner = definition->lists[definition->nodes[i].list].owner;
        bool is_inside =
            owner != PAWL_NOWHERE && (owner == target || r->places[owner] == PLACE_BEHIND);
        if (is_inside) r->places[i] = PLACE_BEHIND;
    }
}

/* A JOIN without a place yet is made anew by its fork. */
static bool stays(const struct rerun *r, const struct pawl_record_row *record)
{
    const struct pawl_record_row *target = r->target->row;
    if (record->seq < 0 || r->places[record->node] == PLACE_BEHIND) return false;
    return record->node != target->node || record->seq <= target->seq;
}

static void find_newest(struct rerun *r)
{
    for (size_t i = 0; i < r->all->count; i++) {
        struct pawl_entry *entry = entry_at(r, i);
        const struct pawl_record_row *record = entry->row;
        struct pawl_entry **newest = &r->newest[record->node];
        bool is_newest =
            *newest == NULL || ((const struct pawl_record_row *)(*newest)->row)->seq < record->seq;
        if (stays(r, record) && is_newest) *newest = entry;
    }
}

/* ---- What becomes of it ---- */

static bool has_ended_well(const struct rerun *r, const struct pawl_entry *entry)
{
    const struct pawl_record_row *record = entry->row;
    bool is_well = record->status == PAWL_RECORD_COMPLETED ||
                   record->status == PAWL_RECORD_COMPLETED_WITH_ERRORS;
    return is_well && entry != r->target && r->places[record->node] != PLACE_JOIN_AROUND;
}

static bool is_passed_over(const struct rerun *r, const struct pawl_entry *entry)
{
    return ((const struct pawl_record_row *)entry->row)->status == PAWL_RECORD_SKIPPED &&
           entry != r->target;
}

static bool is_join_begun(const struct rerun *r, const struct pawl_entry *entry)
{
    return node_of(r, entry->row)->type == PAWL_NODE_JOIN && !has_ended_well(r, entry) &&
           !is_passed_over(r, entry);
}

static void move(struct rerun *r)
{
    struct pawl_workflow_row *w = r->d->workflow;
    w->ahead = 1; /* from here on the flow looks what is there */
    for (size_t i = 0; i < r->all->count; i++) {
        struct pawl_entry *entry = entry_at(r, i);
        if (!stays(r, entry->row)) continue;
        bool is_newest = r->newest[((const struct pawl_record_row *)entry->row)->node] == entry;
        pawl_record_move(r->d, entry, is_newest);
        struct pawl_record_row *record = entry->row;
        if (record->seq >= w->next_seq) {
            w->next_seq = record->seq + 1;
            w->last = record->task;
        }
        if (is_newest && is_passed_over(r, entry)) {
            w->ahead++;
        } else if (is_newest) {
            record->is_decided = false;
            if (!is_join_begun(r, entry)) w->open++; /* a JOIN is counted as it is begun */
        }
    }
}

static void begin_joins(struct rerun *r)
{
    for (int32_t i = 0; i < r->d->definition->node_count; i++) {
        struct pawl_entry *entry = r->newest[i];
        if (entry != NULL && is_join_begun(r, entry)) pawl_join_again(r->d, entry);
    }
}

/* Where the flow has gone on from it. */
static int32_t next_of(struct rerun *r, const struct pawl_record_row *record)
{
    struct pawl_decision *d = r->d;
    enum pawl_node_type type = node_of(r, record)->type;
    if (type == PAWL_NODE_FORK_JOIN) return PAWL_FLOW_ENDS;
    if (type != PAWL_NODE_SWITCH) return PAWL_FLOW_SUCCESSOR;
    struct pawl_entry *task = pawl_record_task(d->step, record);
    struct pawl_str chosen = {0};
    struct pawl_json *output;
    if (task == NULL) return PAWL_FLOW_ENDS;
    struct pawl_str text = pawl_payload_look(d->step, task->row, PAWL_PAYLOAD_RESULT);
    bool is_told = pawl_json_parse(text, d->step->set.arena, &output, NULL) == PAWL_OK &&
                   pawl_json_text(pawl_json_member(output, PAWL_STR("selectedCase")),
                                  d->step->set.arena, &chosen);
    return is_told ? pawl_switch_next(d, record->node, chosen) : PAWL_FLOW_ENDS;
}

static void end_again(struct rerun *r)
{
    for (size_t i = r->all->count; i > 0; i--) { /* a stack */
        struct pawl_entry *entry = entry_at(r, i - 1);
        const struct pawl_record_row *record = entry->row;
        if (r->newest[record->node] != entry || !has_ended_well(r, entry)) continue;
        if (node_of(r, record)->type == PAWL_NODE_FORK_JOIN) pawl_fork_branch(r->d, record->node);
    }
    for (size_t i = r->all->count; i > 0; i--) {
        struct pawl_entry *entry = entry_at(r, i - 1);
        const struct pawl_record_row *record = entry->row;
        if (r->newest[record->node] != entry || !has_ended_well(r, entry)) continue;
        pawl_todo_push(r->d, PAWL_TODO_ENDED, record->task, next_of(r, record));
    }
}

/* What is run again: the task, and whatever else has ended badly, or not at all. */
static void run_again(struct rerun *r)
{
    const struct pawl_record_row *target = r->target->row;
    bool is_join = node_of(r, target)->type == PAWL_NODE_JOIN;
    if (!is_join) pawl_todo_push(r->d, PAWL_TODO_AGAIN, target->task, 0);
    for (int32_t i = r->d->definition->node_count; i > 0; i--) {
        struct pawl_entry *entry = r->newest[i - 1];
        bool is_run = entry != NULL && entry != r->target && !has_ended_well(r, entry) &&
                      !is_passed_over(r, entry) &&
                      r->d->definition->nodes[i - 1].type != PAWL_NODE_JOIN;
        if (!is_run) continue;
        pawl_todo_push(r->d, PAWL_TODO_AGAIN, ((const struct pawl_record_row *)entry->row)->task,
                       0);
    }
}

/* ---- Its input ---- */

/* What is given takes the place of what it had. A SWITCH keeps what is not given, and a DYNAMIC
 * task its name, by which it has its queue. */
static void put_input(struct rerun *r, struct pawl_str given)
{
    struct pawl_step *step = r->d->step;
    const struct pawl_node *n = node_of(r, r->target->row);
    struct pawl_entry *task = pawl_record_task(step, r->target->row);
    if (task == NULL || given.len == 0) return;
    struct pawl_str before = pawl_payload_look(step, task->row, PAWL_PAYLOAD_INPUT);
    struct pawl_json *object;
    if (step->set.is_short) return;
    if (n->type == PAWL_NODE_SWITCH) given = pawl_overlay(before, given, step->set.arena);
    bool has_name = n->type == PAWL_NODE_DYNAMIC && before.len > 0 &&
                    pawl_json_parse(before, step->set.arena, &object, NULL) == PAWL_OK;
    const struct pawl_json *name =
        has_name ? pawl_json_member(object, n->dynamic_name_param) : NULL;
    if (name != NULL) {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, step->set.arena);
        pawl_json_begin_object(&w);
        pawl_json_put_key_str(&w, n->dynamic_name_param);
        pawl_json_put_raw(&w, name->raw);
        pawl_json_end_object(&w);
        given = pawl_overlay(given, pawl_json_writer_done(&w), step->set.arena);
    }
    pawl_payload_put(step, pawl_set_change(&step->set, task), PAWL_PAYLOAD_INPUT, given);
}

static enum pawl_code find_target(struct pawl_decision *d, struct pawl_str id,
                                  struct pawl_entry **out)
{
    int64_t key = pawl_set_key(&d->step->set, PAWL_LOOK_TASK_ID, id);
    struct pawl_entry *entry = key == 0 ? NULL : pawl_record_find(d->step, key);
    if (d->step->set.is_short) return PAWL_BUSY;
    if (entry == NULL || ((const struct pawl_record_row *)entry->row)->run != d->workflow->run) {
        return pawl_error_set(&d->command->err, PAWL_INVALID,
                              "task_id: workflow %.*s has no task %.*s",
                              PAWL_STR_ARG(d->workflow->id), PAWL_STR_ARG(id));
    }
    *out = entry;
    return PAWL_OK;
}

enum pawl_code pawl_workflow_rerun_from(struct pawl_decision *d,
                                        const struct pawl_workflow_operate *ask)
{
    struct pawl_set *set = &d->step->set;
    size_t node_count = (size_t)d->definition->node_count;
    struct rerun r = {.d = d};
    enum pawl_code code = find_target(d, ask->task_id, &r.target);
    if (code != PAWL_OK) return code;
    r.all = pawl_records_list(d, PAWL_RECORDS_ALL, 0);
    if (r.all == NULL) return PAWL_BUSY;
    if (r.all->is_cut) {
        return pawl_error_set(&d->command->err, PAWL_TOO_LARGE,
                              "task_id: workflow %.*s has more than %d tasks; it can be rerun from "
                              "its start alone",
                              PAWL_STR_ARG(d->workflow->id), PAWL_RERUN_RECORDS_MAX);
    }
    r.places = pawl_step_take(d->step, node_count);
    r.newest = pawl_step_take(d->step, node_count * sizeof(struct pawl_entry *));
    if (set->is_full) return PAWL_NO_MEMORY;
    mark_behind(&r, ((const struct pawl_record_row *)r.target->row)->node);
    find_newest(&r);
    put_input(&r, ask->task_input);
    pawl_workflow_run_begin(d);
    move(&r);
    begin_joins(&r);
    pawl_todo_push(d, PAWL_TODO_REACH, 0, d->definition->lists[0].first);
    end_again(&r);
    run_again(&r);
    return set->is_short || set->is_full ? PAWL_BUSY : pawl_decide(d);
}
