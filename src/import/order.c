#include "import/order.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

#include <inttypes.h>
#include <string.h>

enum { WHITE, GRAY, BLACK };

enum pawl_code pawl_import_order_init(struct pawl_import_order *order, int64_t count,
                                      struct pawl_arena *arena, struct pawl_error *err)
{
    *order = (struct pawl_import_order){.arena = arena};
    pawl_map_init(&order->ids, arena);
    if (count > PAWL_IMPORT_TASKS_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "%" PRId64 " tasks; at most %d of one file",
                              count, PAWL_IMPORT_TASKS_MAX);
    }
    order->nodes = pawl_arena_take_array(arena, (size_t)count + 1, sizeof *order->nodes);
    order->order = pawl_arena_take_array(arena, (size_t)count + 1, sizeof *order->order);
    return pawl_arena_code(arena); /* whose arena it is says what for */
}

void pawl_import_order_add(struct pawl_import_order *order, const struct pawl_import_task *task,
                           int64_t number, struct pawl_import_report *report)
{
    struct pawl_str id = pawl_arena_copy(order->arena, task->id);
    void **slot = pawl_map_put(&order->ids, 0, 0, id);
    if (slot == NULL) return; /* the arena remembers */
    if (*slot != NULL) {
        pawl_import_refuse(report, id, "id: two records have it");
        return;
    }
    struct pawl_import_node *node = &order->nodes[order->count++];
    *slot = node;
    *node = (struct pawl_import_node){.id = id, .number = number, .state = task->state};
    node->depends_on =
        pawl_arena_take_array(order->arena, task->depends_on_count + 1, sizeof *node->depends_on);
    node->on = pawl_arena_take_array(order->arena, task->depends_on_count + 1, sizeof *node->on);
    if (node->depends_on == NULL || node->on == NULL) return;
    for (size_t i = 0; i < task->depends_on_count; i++) {
        node->depends_on[i] = pawl_arena_copy(order->arena, task->depends_on[i]);
    }
    node->on_count = (int32_t)task->depends_on_count;
}

static void join(struct pawl_import_order *order, struct pawl_import_node *node,
                 struct pawl_import_report *report)
{
    for (int32_t i = 0; i < node->on_count; i++) {
        void **slot = pawl_map_at(&order->ids, 0, 0, node->depends_on[i]);
        node->on[i] =
            slot == NULL ? -1 : (int32_t)((struct pawl_import_node *)*slot - order->nodes);
        if (slot != NULL) continue;
        pawl_import_remark(report, node->id,
                           "depends_on: %.*s is not in the file: waits for a task with this id",
                           PAWL_STR_ARG(node->depends_on[i]));
    }
}

static bool is_over(enum pawl_task_state state)
{
    return state == PAWL_TASK_COMPLETED || state == PAWL_TASK_CANCELLED;
}

/* Whether one really waits for the other. */
static bool waits(const struct pawl_import_node *node, const struct pawl_import_node *on)
{
    return !is_over(node->state) && on->state != PAWL_TASK_COMPLETED;
}

struct walk {
    struct pawl_import_order *order;
    struct pawl_import_report *report; /* NULL: order alone is looked for */
    int32_t *stack;                    /* from where it started to where it is */
    int32_t depth;
    int32_t made;
};

/* The way has come back to where it was. */
static void refuse_cycle(const struct walk *walk, int32_t from)
{
    const struct pawl_import_node *nodes = walk->order->nodes;
    for (int32_t i = walk->depth - 1; i >= 0; i--) {
        pawl_import_refuse(walk->report, nodes[walk->stack[i]].id,
                           "depends_on: it waits for itself in the end");
        if (walk->stack[i] == from) return;
    }
}

static void enter(struct walk *walk, int32_t at)
{
    walk->order->nodes[at].color = GRAY;
    walk->order->nodes[at].next = 0;
    walk->stack[walk->depth++] = at;
}

/* Depth first, without recursion: a node is put into the order when all that it waits for is there.
 * With a report only true waiting counts, and a circle of it is refused; without one every name
 * counts, and circles are cut. */
static void walk_from(struct walk *walk, int32_t start)
{
    struct pawl_import_node *nodes = walk->order->nodes;
    enter(walk, start);
    while (walk->depth > 0) {
        int32_t at = walk->stack[walk->depth - 1];
        struct pawl_import_node *node = &nodes[at];
        if (node->next == node->on_count) {
            node->color = BLACK;
            walk->depth--;
            walk->order->order[walk->made++] = at;
            continue;
        }
        int32_t on = node->on[node->next++];
        if (on < 0 || (walk->report != NULL && !waits(node, &nodes[on]))) continue;
        if (nodes[on].color == WHITE)
            enter(walk, on);
        else if (nodes[on].color == GRAY && walk->report != NULL)
            refuse_cycle(walk, on);
    }
}

static void walk_all(struct walk *walk)
{
    for (int32_t i = 0; i < walk->order->count; i++) walk->order->nodes[i].color = WHITE;
    walk->made = 0;
    for (int32_t i = 0; i < walk->order->count; i++) {
        if (walk->order->nodes[i].color == WHITE) walk_from(walk, i);
    }
}

void pawl_import_order_make(struct pawl_import_order *order, struct pawl_import_report *report)
{
    struct walk walk = {.order = order, .report = report};
    walk.stack = pawl_arena_take_array(order->arena, (size_t)order->count + 1, sizeof *walk.stack);
    if (walk.stack == NULL) return; /* the arena remembers */
    for (int32_t i = 0; i < order->count; i++) join(order, &order->nodes[i], report);
    walk_all(&walk);
    walk.report = NULL;
    walk_all(&walk);
}
