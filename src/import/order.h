/* The order in which the tasks of a file are brought in: dependencies first, so that each finds
 * those it waits for. Kept of a task are its id, its place and the ids it names. */
#ifndef PAWL_IMPORT_ORDER_H
#define PAWL_IMPORT_ORDER_H

#include "core/command.h"
#include "import/report.h"

struct pawl_import_node {
    struct pawl_str id;
    int64_t number; /* of the record */
    enum pawl_task_state state;
    struct pawl_str *depends_on;
    int32_t *on; /* their nodes; -1 = not in the file */
    int32_t on_count;
    int32_t next; /* of the walk */
    uint8_t color;
};

struct pawl_import_order {
    struct pawl_arena *arena; /* borrowed */
    struct pawl_map ids;      /* id -> node + 1 */
    struct pawl_import_node *nodes;
    int32_t count;
    int32_t *order; /* nodes, those without dependencies first */
};

/* Room for so many. fails  PAWL_TOO_LARGE beyond PAWL_IMPORT_TASKS_MAX; those of the arena, without
 * a sentence */
enum pawl_code pawl_import_order_init(struct pawl_import_order *order, int64_t count,
                                      struct pawl_arena *arena,
                                      struct pawl_error *err) PAWL_MUST_USE;

/* Keeps what the order needs of a task. Its id is refused if another one has it. */
void pawl_import_order_add(struct pawl_import_order *order, const struct pawl_import_task *task,
                           int64_t number, struct pawl_import_report *report);

/* Joins the names to their tasks, refuses tasks that wait for themselves in the end, and makes the
 * order. */
void pawl_import_order_make(struct pawl_import_order *order, struct pawl_import_report *report);

#endif
