/* Workflows and their tasks in Conductor's form. */
#ifndef PAWL_NET_CONDUCTOR_WORKFLOW_JSON_H
#define PAWL_NET_CONDUCTOR_WORKFLOW_JSON_H

#include "net/conductor/task_json.h"
#include "store/read_workflow.h"

struct pawl_json;

/* The definition that a workflow runs by, so that its tasks can be shown with their places in it. */
struct pawl_shown_definition {
    struct pawl_str workflow_name;
    const struct pawl_definition *definition; /* NULL: it was not read, or cannot be */
    const struct pawl_json *json;
};

/* Parses the snapshot of a view; what cannot be read leaves the definition NULL. */
void pawl_shown_definition_read(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                                struct pawl_shown_definition *out);

/* A task of a workflow. */
struct pawl_shown_task pawl_shown_task_recorded(const struct pawl_record_view *record,
                                                const struct pawl_shown_definition *of);

/* Workflow. tasks are those of the view; of its definition the text as it is. */
void pawl_shown_workflow_write(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                               struct pawl_json_writer *w);
/* The members that Workflow and WorkflowRun share: input, output, variables, tasks. */
void pawl_shown_workflow_put_tasks(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                                   struct pawl_json_writer *w);

/* Reads a workflow whole, with its payloads, and with all of its tasks if asked for.
 *
 *   fails  PAWL_NOT_FOUND
 *          PAWL_TOO_LARGE  it does not fit in keep, or has more than PAWL_CONDUCTOR_TASKS_MAX tasks
 */
enum pawl_code pawl_shown_workflow_read(struct pawl_reader *reader, struct pawl_str id,
                                        bool with_tasks, struct pawl_arena *keep,
                                        struct pawl_workflow_view *out,
                                        struct pawl_error *err) PAWL_MUST_USE;

#endif
