/* JOIN: waits for the references of its joinOn, or, without any, for the flow of each branch of its
 * fork. All it asks is answered by counters in its record, which change with what is joined:
 *
 *   join_pending    references that are not over; one whose failure is still tried again is not
 *   join_branches   branches whose flow has not come to the JOIN
 *   join_failed     over, and badly; join_cancelled of them CANCELED
 *   join_optional   over COMPLETED_WITH_ERRORS
 *
 * When every flow has come, a reference that never got a record (a case not taken) counts as over.
 */
#include "core/workflow/decision.h"

#include "base/str.h"
#include "core/workflow/overlay.h"

static const struct pawl_str none = {0};

static const struct pawl_node *fork_of(const struct pawl_decision *d, int32_t node)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    int32_t at = d->definition->lists[n->list].first;
    while (at != PAWL_NOWHERE && d->definition->nodes[at].next != node)
        at = d->definition->nodes[at].next;
    if (at == PAWL_NOWHERE || d->definition->nodes[at].type != PAWL_NODE_FORK_JOIN) return NULL;
    return &d->definition->nodes[at];
}

/* What is joined: the references of joinOn, or the last node of each branch of the fork before it.
 */
struct members {
    const struct pawl_decision *d;
    const struct pawl_node *join;
    const struct pawl_node *fork; /* of an empty joinOn */
    int64_t count;
};

static struct members members_of(const struct pawl_decision *d, int32_t node)
{
    struct members m = {.d = d, .join = &d->definition->nodes[node]};
    m.count = m.join->join_on.count;
    if (m.count > 0) return m;
    m.fork = fork_of(d, node);
    m.count = m.fork == NULL ? 0 : m.fork->list_count;
    return m;
}

static struct pawl_str member(const struct members *m, int64_t at)
{
    if (m->fork == NULL) return m->join->join_on.items[at];
    int32_t last = m->d->definition->lists[m->fork->first_list + at].last;
    return last == PAWL_NOWHERE ? none : m->d->definition->nodes[last].reference;
}

/* ---- Counting ---- */

static bool is_over(const struct pawl_record_row *record)
{
    return pawl_record_status_is_terminal(record->status) && record->is_decided;
}

static void count(struct pawl_record_row *join, const struct pawl_record_row *record, int32_t by)
{
    if (pawl_record_status_is_bad(record->status)) join->join_failed += by;
    if (record->status == PAWL_RECORD_CANCELED) join->join_cancelled += by;
    if (record->status == PAWL_RECORD_COMPLETED_WITH_ERRORS) join->join_optional += by;
}

void pawl_join_count(struct pawl_decision *d, const struct pawl_record_row *record, int32_t by)
{
    const struct pawl_node *n = &d->definition->nodes[record->node];
    for (int32_t at = n->first_join; at != PAWL_NOWHERE; at = d->definition->joins[at].next) {
        const struct pawl_node *join = &d->definition->nodes[d->definition->joins[at].join];
        struct pawl_entry *entry = pawl_record_latest(d, join->reference);
        if (d->step->set.is_short) return;
        if (entry == NULL ||
            pawl_record_status_is_terminal(((const struct pawl_record_row *)entry->row)->status)) {
            continue; /* it is made later, and looks then; or is over itself */
        }
        struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
        row->join_pending -= by;
        count(row, record, by);
        pawl_todo_push(d, PAWL_TODO_RUN, row->task, 0);
    }
}

void pawl_join_reach(struct pawl_decision *d, struct pawl_entry *entry, int64_t from)
{
    const struct pawl_record_row *join = entry->row;
    if (pawl_record_status_is_terminal(join->status) || join->join_branches == 0) return;
    struct members m = members_of(d, join->node);
    struct pawl_entry *last = from == 0 ? NULL : pawl_record_find(d->step, from);
    bool is_last = join->join_branches == 1;
    int32_t dropped = 0;
    for (int64_t i = 0; is_last && m.fork == NULL && i < m.count; i++) {
        const struct pawl_entry *joined = pawl_record_latest(d, member(&m, i));
        if (joined == NULL) dropped++;
    }
    if (d->step->set.is_short) return;
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->join_branches--;
    row->join_pending -= dropped;
    if (m.fork != NULL && last != NULL) count(row, last->row, 1);
    pawl_todo_push(d, PAWL_TODO_RUN, row->task, 0);
}

/* ---- Making ---- */

static struct pawl_str input_of(struct pawl_decision *d, int32_t node, struct pawl_str input)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "joinOn");
    pawl_json_begin_array(&w);
    for (int64_t i = 0; i < n->join_on.count; i++) pawl_json_put_text(&w, n->join_on.items[i]);
    pawl_json_end_array(&w);
    pawl_json_end_object(&w);
    return pawl_overlay(input, pawl_json_writer_done(&w), d->step->set.arena);
}

struct pawl_entry *pawl_join_make(struct pawl_decision *d, int32_t node, int32_t branches)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, none, &input)) return NULL;
    struct pawl_record_row counted = {.join_pending = (int32_t)n->join_on.count,
                                      .join_branches = branches};
    for (int64_t i = 0; i < n->join_on.count; i++) { /* what ran before the fork, or was skipped */
        const struct pawl_entry *joined = pawl_record_latest(d, n->join_on.items[i]);
        if (joined == NULL || !is_over(joined->row)) continue;
        counted.join_pending--;
        count(&counted, joined->row, 1);
    }
    if (d->step->set.is_short) return NULL;
    struct pawl_entry *entry =
        pawl_record_make(d, &(struct pawl_record_new){.node = node,
                                                      .definition = n->task_definition,
                                                      .id = pawl_record_mint(d->step),
                                                      .type = PAWL_STR("JOIN"),
                                                      .input = input_of(d, node, input),
                                                      .status = PAWL_RECORD_IN_PROGRESS,
                                                      .is_placed_later = branches > 0});
    if (entry == NULL) return NULL;
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->join_pending = counted.join_pending;
    row->join_branches = counted.join_branches;
    row->join_failed = counted.join_failed;
    row->join_cancelled = counted.join_cancelled;
    row->join_optional = counted.join_optional;
    return entry;
}

/* Without a fork before it: it waits for what is not over. */
static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_entry *join = pawl_join_make(d, node, 0);
    if (join != NULL)
        pawl_todo_push(d, PAWL_TODO_RUN, ((const struct pawl_record_row *)join->row)->task, 0);
}

/* It waits again for what is tried anew: counted from what it joins, for once. Branches that came
 * have come. */
void pawl_join_reopen(struct pawl_decision *d, struct pawl_entry *entry)
{
    const struct pawl_record_row *before = entry->row;
    struct members m = members_of(d, before->node);
    struct pawl_record_row counted = {.join_pending = m.fork == NULL ? (int32_t)m.count : 0};
    for (int64_t i = 0; m.fork == NULL && i < m.count; i++) {
        const struct pawl_entry *joined = pawl_record_latest(d, member(&m, i));
        if (joined == NULL || !is_over(joined->row)) continue;
        counted.join_pending--;
        count(&counted, joined->row, 1);
    }
    struct pawl_entry *task_entry = pawl_record_task(d->step, before);
    if (d->step->set.is_short || task_entry == NULL) return;
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    row->status = PAWL_RECORD_IN_PROGRESS;
    row->is_decided = false;
    row->join_pending = counted.join_pending;
    row->join_failed = counted.join_failed;
    row->join_cancelled = counted.join_cancelled;
    row->join_optional = counted.join_optional;
    d->workflow->open++;
    pawl_record_reopen(d, row, pawl_set_change(&d->step->set, task_entry));
    pawl_todo_push(d, PAWL_TODO_RUN, row->task, 0);
}

void pawl_join_again(struct pawl_decision *d, struct pawl_entry *entry)
{
    struct pawl_record_row *row = pawl_set_change(&d->step->set, entry);
    const struct pawl_node *fork = fork_of(d, row->node);
    row->join_branches = fork == NULL ? 0 : fork->list_count;
    pawl_join_reopen(d, entry);
}

/* ---- Its end ---- */

struct ending {
    struct pawl_str output;
    struct pawl_str reason;
};

/* The outputs by reference, and why what has failed has: read once, at the end. */
static struct ending gather(struct pawl_decision *d, const struct pawl_record_row *join)
{
    struct pawl_arena *arena = d->step->set.arena;
    struct members m = members_of(d, join->node);
    struct ending ending = {0};
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    for (int64_t i = 0; i < m.count; i++) {
        struct pawl_entry *record =
            member(&m, i).len == 0 ? NULL : pawl_record_latest(d, member(&m, i));
        struct pawl_entry *task = record == NULL ? NULL : pawl_record_task(d->step, record->row);
        if (task == NULL) continue;
        const struct pawl_record_row *row = record->row;
        struct pawl_str output = pawl_payload_look(d->step, task->row, PAWL_PAYLOAD_RESULT);
        if (output.len > 0 && !pawl_str_equal(pawl_str_trim(output), PAWL_STR("{}"))) {
            pawl_json_put_key_str(&w, row->reference);
            pawl_json_put_raw(&w, output);
        }
        bool is_told = pawl_record_status_is_bad(row->status) ||
                       row->status == PAWL_RECORD_COMPLETED_WITH_ERRORS;
        if (!is_told || ending.reason.len > PAWL_ERROR_BYTES_MAX) continue;
        struct pawl_str why = pawl_payload_look(d->step, task->row, PAWL_PAYLOAD_ERROR);
        ending.reason = pawl_arena_format(arena, "%.*s%s%.*s: %.*s", PAWL_STR_ARG(ending.reason),
                                          ending.reason.len > 0 ? " " : "",
                                          PAWL_STR_ARG(row->reference), PAWL_STR_ARG(why));
    }
    pawl_json_end_object(&w);
    ending.output = pawl_json_writer_done(&w);
    return ending;
}

static void run(struct pawl_decision *d, struct pawl_entry *entry)
{
    const struct pawl_record_row *join = entry->row;
    bool is_through =
        join->join_pending <= 0 &&
        (d->definition->nodes[join->node].join_on.count > 0 || join->join_branches == 0);
    if (!is_through || join->seq < 0) return; /* it is looked at again when it has its place */
    struct ending ending = gather(d, join);
    if (d->step->set.is_short) return;
    enum pawl_record_status status =
        join->join_failed > 0 && join->join_cancelled == join->join_failed ? PAWL_RECORD_CANCELED
        : join->join_failed > 0                                            ? PAWL_RECORD_FAILED
        : join->join_optional > 0 ? PAWL_RECORD_COMPLETED_WITH_ERRORS
                                  : PAWL_RECORD_COMPLETED;
    pawl_record_end(d, entry,
                    &(struct pawl_record_end){
                        .status = status, .output = ending.output, .reason = ending.reason});
    pawl_todo_push(d, PAWL_TODO_ENDED, join->task, PAWL_FLOW_SUCCESSOR);
}

const struct pawl_node_rules pawl_node_join = {.map = map, .run = run};
