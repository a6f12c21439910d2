/* The definition of a task: how often it is tried, how long it may take, how many may run at once.
 * Read from and written as Conductor's TaskDef. */
#ifndef PAWL_CORE_WORKFLOW_TASK_DEFINITION_H
#define PAWL_CORE_WORKFLOW_TASK_DEFINITION_H

#include "core/workflow/field.h"

enum pawl_retry_logic {
    PAWL_RETRY_FIXED,
    PAWL_RETRY_EXPONENTIAL_BACKOFF,
    PAWL_RETRY_LINEAR_BACKOFF,
};

enum pawl_timeout_policy {
    PAWL_TIMEOUT_RETRY, /* of tasks alone */
    PAWL_TIMEOUT_TIME_OUT_WF,
    PAWL_TIMEOUT_ALERT_ONLY,
};

/* Numbers that may be absent are PAWL_NOT_GIVEN then; what is text as it came is JSON, or empty. */
struct pawl_task_definition {
    struct pawl_str name;
    struct pawl_str description;
    int64_t retry_count; /* tries after the first */
    int64_t retry_logic; /* enum pawl_retry_logic */
    int64_t retry_delay_s;
    int64_t backoff_scale_factor; /* of LINEAR_BACKOFF */
    int64_t retry_delay_s_max;    /* 0 = no cap */
    int64_t backoff_jitter_ms;
    int64_t timeout_policy;     /* enum pawl_timeout_policy */
    int64_t timeout_s;          /* of one attempt, from its first claim; 0 = none */
    int64_t response_timeout_s; /* 0 = none; the server's own definitions alone have that */
    int64_t poll_timeout_s;     /* may be absent */
    int64_t total_timeout_s;    /* over all attempts; 0 = none */
    int64_t concurrent_max;     /* may be absent; 0 = no limit */
    int64_t rate_max;           /* starts in a window; 0 = no limit */
    int64_t rate_window_s;
    struct pawl_texts input_keys;
    struct pawl_texts output_keys;
    struct pawl_str input_template;
    struct pawl_texts runtime_metadata; /* names of secrets and of the environment */
    struct pawl_str isolation_group_id;
    struct pawl_str execution_name_space;
    struct pawl_str owner_email;
    struct pawl_str base_type;
    int64_t has_status_listener; /* 0 or 1 */
    struct pawl_str input_schema;
    struct pawl_str output_schema;
    int64_t enforces_schema; /* 0 or 1 */
    struct pawl_str owner_app;
    struct pawl_str created_by; /* the server's to set, as the next three */
    struct pawl_str updated_by;
    int64_t created_at_ms;
    int64_t updated_at_ms;
};

/* Seconds of a definition as milliseconds: none below 0, and PAWL_DEFINED_SECONDS_MAX at most. */
int64_t pawl_defined_ms(int64_t seconds);

/* A definition with all defaults. */
void pawl_task_definition_init(struct pawl_task_definition *definition, struct pawl_str name);

/* From an object. What cannot be read is a fault, and keeps its default; see pawl_fields_read for
 * what is borrowed. */
void pawl_task_definition_read(const struct pawl_json *object, const struct pawl_fault_place *place,
                               struct pawl_task_definition *out);

/* As an object. */
void pawl_task_definition_write(const struct pawl_task_definition *definition,
                                struct pawl_json_writer *w);

#endif
