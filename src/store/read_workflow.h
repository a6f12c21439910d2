/* Workflows and their records as people see them. One read transaction serves one call. */
#ifndef PAWL_STORE_READ_WORKFLOW_H
#define PAWL_STORE_READ_WORKFLOW_H

#include "core/workflow/workflow.h"
#include "store/read.h"

struct pawl_record_view {
    struct pawl_record_row
        row; /* row.status is as of now: IN_PROGRESS while a worker holds the task */
    struct pawl_str task_id;
    struct pawl_str predecessor_id; /* of the attempt before; empty = none */
    struct pawl_str workflow_id;
    struct pawl_str workflow_name;
    struct pawl_str
        queue; /* its name, domain and all; core's pawl_record_type makes the type of it */
    struct pawl_str owner; /* who holds it; empty = nobody */
    int32_t claims;
    int32_t priority;
    int64_t epoch;
    int64_t response_ms;
    int64_t started_at_ms;
    int64_t updated_at_ms;
    int64_t finished_at_ms;
    int64_t lease_end_at_ms;
    struct pawl_str correlation_id;
    struct pawl_str input; /* JSON; empty without payloads, as the next two */
    struct pawl_str output;
    struct pawl_str reason;
};

struct pawl_record_page {
    const struct pawl_record_view *items; /* in keep, by seq */
    size_t count;
    bool is_cut; /* there may be more, beyond the last one's seq */
};

struct pawl_workflow_view {
    struct pawl_workflow_row row;
    struct pawl_str definition;     /* JSON: the snapshot that it runs by; empty without payloads */
    struct pawl_str failed_task_id; /* of the task that ended it; empty = none */
    struct pawl_str payloads[PAWL_WORKFLOW_PAYLOAD_COUNT]; /* empty where there is none */
    struct pawl_record_page tasks; /* the first of its run, if they were asked for */
};

struct pawl_workflow_ask {
    bool with_payloads;
    int32_t tasks_max; /* 0 = none */
};

/* A workflow by its id.
 *
 *   fails  PAWL_NOT_FOUND "No such workflow: …"; PAWL_CORRUPT */
enum pawl_code pawl_read_workflow(struct pawl_reader *reader, struct pawl_str id,
                                  const struct pawl_workflow_ask *ask, struct pawl_arena *keep,
                                  struct pawl_workflow_view *out, struct pawl_error *err);

/* Its records beyond a seq (0 = from the first), at most limit. */
enum pawl_code pawl_read_records(struct pawl_reader *reader, struct pawl_str workflow_id,
                                 int64_t after_seq, int32_t limit, bool with_payloads,
                                 struct pawl_arena *keep, struct pawl_record_page *out,
                                 struct pawl_error *err);

/* The record of a task.
 *
 *   fails  PAWL_NOT_FOUND "No such task: …": or it is no workflow's */
enum pawl_code pawl_read_record(struct pawl_reader *reader, struct pawl_str task_id,
                                struct pawl_arena *keep, struct pawl_record_view *out,
                                struct pawl_error *err);

/* Records of all workflows, of their present runs, newest first, before this task key (0 = from the
 * newest): without payloads. */
enum pawl_code pawl_read_records_newest(struct pawl_reader *reader, int64_t before, int32_t limit,
                                        struct pawl_arena *keep, struct pawl_record_page *out,
                                        struct pawl_error *err);

struct pawl_workflow_list {
    struct pawl_str correlation_id; /* all with it; else */
    struct pawl_str name;           /* those of this name that run or are paused; else all, newest first */
    int64_t after;                  /* beyond this row key, or, newest first, before it; 0 = from the first */
    int32_t limit;                  /* 0 = 100 */
};

struct pawl_workflow_page {
    const struct pawl_workflow_row *items; /* in keep, oldest first */
    size_t count;
    bool is_cut; /* there may be more, beyond the last one's key */
};
enum pawl_code pawl_read_workflows(struct pawl_reader *reader, const struct pawl_workflow_list *ask,
                                   struct pawl_arena *keep, struct pawl_workflow_page *out,
                                   struct pawl_error *err);

#endif
