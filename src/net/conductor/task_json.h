/* A task in Conductor's form. One without a workflow is its own: it has its id as workflow id, its
 * type as name and reference. */
#ifndef PAWL_NET_CONDUCTOR_TASK_JSON_H
#define PAWL_NET_CONDUCTOR_TASK_JSON_H

#include "base/json_writer.h"
#include "pawl.h"

/* What an answer to a poll or an update says of the lease. */
struct pawl_shown_lease {
    int64_t epoch;
    int64_t remaining_ms;
    int64_t waited_ms;
};

struct pawl_shown_task {
    struct pawl_str id;
    struct pawl_str type;
    struct pawl_str domain; /* empty = none */
    struct pawl_str name;   /* of its definition */
    struct pawl_str reference;
    struct pawl_str workflow_id;
    struct pawl_str workflow_name; /* empty = none */
    struct pawl_str node; /* JSON of its place in the workflow's definition; empty: it has none */
    struct pawl_str definition; /* JSON of its own definition; empty: null */
    struct pawl_str retried_id; /* the attempt before; empty = none */
    int64_t seq;
    bool is_retried; /* a newer attempt is there */
    int64_t first_started_at_ms;
    int64_t start_delay_s;
    const char *status;
    struct pawl_str input;  /* JSON of any kind; empty = none */
    struct pawl_str output; /* the same */
    struct pawl_str correlation_id;
    struct pawl_str worker_id;
    struct pawl_str reason;
    int32_t attempt; /* from 0 */
    int32_t poll_count;
    int32_t priority;
    int64_t response_timeout_s;
    int64_t callback_after_s;
    int64_t scheduled_at_ms;
    int64_t started_at_ms; /* 0 = not yet, as the rest */
    int64_t ended_at_ms;
    int64_t updated_at_ms;
    bool has_ended;
    const struct pawl_shown_lease *lease; /* NULL: not told */
};

/* Type and domain of a queue; an empty domain where there is none. */
void pawl_queue_split(struct pawl_str queue, struct pawl_str *domain, struct pawl_str *type);

/* As an object. */
void pawl_shown_task_write(const struct pawl_shown_task *task, struct pawl_json_writer *w);

/* A task as it is read, and one as it is granted.
 *
 *   grace_ms  what its lease was given beyond what it says */
struct pawl_shown_task pawl_shown_task_of(const struct pawl_task *task, int64_t grace_ms);
struct pawl_shown_task pawl_shown_task_granted(const struct pawl_grant *grant,
                                               struct pawl_str worker_id, int64_t grace_ms);

#endif
