#include "core/workflow/task_definition.h"

#include "base/array.h"
#include "core/limits.h"

static const struct pawl_str retry_logics[] = {
    [PAWL_RETRY_FIXED] = PAWL_STR_INIT("FIXED"),
    [PAWL_RETRY_EXPONENTIAL_BACKOFF] = PAWL_STR_INIT("EXPONENTIAL_BACKOFF"),
    [PAWL_RETRY_LINEAR_BACKOFF] = PAWL_STR_INIT("LINEAR_BACKOFF"),
    {0},
};

static const struct pawl_str timeout_policies[] = {
    [PAWL_TIMEOUT_RETRY] = PAWL_STR_INIT("RETRY"),
    [PAWL_TIMEOUT_TIME_OUT_WF] = PAWL_STR_INIT("TIME_OUT_WF"),
    [PAWL_TIMEOUT_ALERT_ONLY] = PAWL_STR_INIT("ALERT_ONLY"),
    {0},
};

#define FIELD(json_key, member, field_kind, default_value)                                       \
    {                                                                                            \
        .key = PAWL_STR_INIT(json_key), .initial = (default_value),                              \
        .offset = offsetof(struct pawl_task_definition, member), .kind = PAWL_FIELD_##field_kind \
    }
#define WORD(json_key, member, all_words, default_value)                                  \
    {                                                                                     \
        .key = PAWL_STR_INIT(json_key), .words = (all_words), .initial = (default_value), \
        .offset = offsetof(struct pawl_task_definition, member), .kind = PAWL_FIELD_WORD  \
    }

/* clang-format off */
static const struct pawl_field items[] = {
    FIELD("name",                        name,                 TEXT,        0),
    FIELD("description",                 description,          TEXT,        0),
    FIELD("retryCount",                  retry_count,          INT,         3),
    WORD ("retryLogic",                  retry_logic,          retry_logics, PAWL_RETRY_FIXED),
    FIELD("retryDelaySeconds",           retry_delay_s,        INT,         60),
    FIELD("backoffScaleFactor",          backoff_scale_factor, INT,         1),
    FIELD("maxRetryDelaySeconds",        retry_delay_s_max,    INT,         0),
    FIELD("backoffJitterMs",             backoff_jitter_ms,    INT,         0),
    WORD ("timeoutPolicy",               timeout_policy,       timeout_policies, PAWL_TIMEOUT_TIME_OUT_WF),
    FIELD("timeoutSeconds",              timeout_s,            LONG,        0),
    FIELD("responseTimeoutSeconds",      response_timeout_s,   LONG,        3600),
    FIELD("pollTimeoutSeconds",          poll_timeout_s,       INT_OR_NONE, 0),
    FIELD("totalTimeoutSeconds",         total_timeout_s,      LONG,        0),
    FIELD("concurrentExecLimit",         concurrent_max,       INT_OR_NONE, 0),
    FIELD("rateLimitPerFrequency",       rate_max,             INT,         0),
    FIELD("rateLimitFrequencyInSeconds", rate_window_s,        INT,         1),
    FIELD("inputKeys",                   input_keys,           TEXTS,       0),
    FIELD("outputKeys",                  output_keys,          TEXTS,       0),
    FIELD("inputTemplate",               input_template,       MAP,         0),
    FIELD("runtimeMetadata",             runtime_metadata,     TEXTS,       0),
    FIELD("isolationGroupId",            isolation_group_id,   TEXT,        0),
    FIELD("executionNameSpace",          execution_name_space, TEXT,        0),
    FIELD("ownerEmail",                  owner_email,          TEXT,        0),
    FIELD("baseType",                    base_type,            TEXT,        0),
    FIELD("taskStatusListenerEnabled",   has_status_listener,  BOOL,        1),
    FIELD("inputSchema",                 input_schema,         MAP_OR_NONE, 0),
    FIELD("outputSchema",                output_schema,        MAP_OR_NONE, 0),
    FIELD("enforceSchema",               enforces_schema,      BOOL,        0),
    FIELD("ownerApp",                    owner_app,            TEXT,        0),
    FIELD("createdBy",                   created_by,           TEXT,        0),
    FIELD("updatedBy",                   updated_by,           TEXT,        0),
    FIELD("createTime",                  created_at_ms,        LONG,        0),
    FIELD("updateTime",                  updated_at_ms,        LONG,        0),
};
/* clang-format on */

static const struct pawl_fields fields = {items, PAWL_COUNT_OF(items)};

int64_t pawl_defined_ms(int64_t seconds)
{
    if (seconds < 0) return 0;
    return (seconds < PAWL_DEFINED_SECONDS_MAX ? seconds : PAWL_DEFINED_SECONDS_MAX) * 1000;
}

void pawl_task_definition_init(struct pawl_task_definition *definition, struct pawl_str name)
{
    pawl_fields_init(fields, definition);
    definition->name = name;
}

void pawl_task_definition_read(const struct pawl_json *object, const struct pawl_fault_place *place,
                               struct pawl_task_definition *out)
{
    pawl_fields_read(fields, object, out, place, NULL, NULL);
}

void pawl_task_definition_write(const struct pawl_task_definition *definition,
                                struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    pawl_fields_write(fields, definition, w);
    pawl_json_end_object(w);
}
