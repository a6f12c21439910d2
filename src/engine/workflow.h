/* Calls about workflows, as the library's own programs make them; each waits for its answer as the
 * calls of pawl.h do. A server hands the same commands over (pawl_engine_hand). */
#ifndef PAWL_ENGINE_WORKFLOW_H
#define PAWL_ENGINE_WORKFLOW_H

#include "core/task/update.h"
#include "core/workflow/ask.h"
#include "store/read_workflow.h"

/* The texts of answers live in keep. For the codes see core/workflow/ask.h and core/task/update.h.
 */
enum pawl_code pawl_workflow_start(struct pawl *pawl, const struct pawl_workflow_start *ask,
                                   struct pawl_arena *keep, struct pawl_workflow_started *out,
                                   struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_workflow_operate(struct pawl *pawl, struct pawl_str workflow_id,
                                     const struct pawl_workflow_operate *ask,
                                     struct pawl_arena *keep, struct pawl_workflow_operated *out,
                                     struct pawl_error *err) PAWL_MUST_USE;
/* task_id may be empty: then the update's reference names the task. */
enum pawl_code pawl_task_update(struct pawl *pawl, struct pawl_str task_id,
                                const struct pawl_update *ask, struct pawl_arena *keep,
                                struct pawl_updated *out, struct pawl_error *err) PAWL_MUST_USE;

/* Reads, on the caller's thread, of what is committed (store/read_workflow.h). */
enum pawl_code pawl_workflow_get(struct pawl *pawl, struct pawl_str id,
                                 const struct pawl_workflow_ask *ask, struct pawl_arena *keep,
                                 struct pawl_workflow_view *out,
                                 struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_workflow_tasks(struct pawl *pawl, struct pawl_str id, int64_t after_seq,
                                   int32_t limit, bool with_payloads, struct pawl_arena *keep,
                                   struct pawl_record_page *out,
                                   struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_workflow_task(struct pawl *pawl, struct pawl_str task_id,
                                  struct pawl_arena *keep, struct pawl_record_view *out,
                                  struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_workflow_list(struct pawl *pawl, const struct pawl_workflow_list *ask,
                                  struct pawl_arena *keep, struct pawl_workflow_page *out,
                                  struct pawl_error *err) PAWL_MUST_USE;

#endif
