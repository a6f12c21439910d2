#include "core/workflow/workflow.h"

#include "base/str.h"
#include "core/limits.h"

static const char *const state_names[PAWL_WORKFLOW_STATE_COUNT] = {
#define X(name, number, terminal) [number] = #name,
    PAWL_WORKFLOW_STATES(X)
#undef X
};

static const char *const status_names[PAWL_RECORD_STATUS_COUNT] = {
#define X(name, number, terminal, successful) [number] = #name,
    PAWL_RECORD_STATUSES(X)
#undef X
};

const char *pawl_workflow_state_name(enum pawl_workflow_state state)
{
    return (unsigned)state < PAWL_WORKFLOW_STATE_COUNT ? state_names[state] : "UNKNOWN";
}

const char *pawl_record_status_name(enum pawl_record_status status)
{
    return (unsigned)status < PAWL_RECORD_STATUS_COUNT ? status_names[status] : "UNKNOWN";
}

bool pawl_workflow_state_parse(struct pawl_str name, enum pawl_workflow_state *out)
{
    for (int i = 0; i < PAWL_WORKFLOW_STATE_COUNT; i++) {
        if (!pawl_str_equal(name, pawl_str_of(state_names[i]))) continue;
        *out = (enum pawl_workflow_state)i;
        return true;
    }
    return false;
}

bool pawl_record_status_parse(struct pawl_str name, enum pawl_record_status *out)
{
    for (int i = 0; i < PAWL_RECORD_STATUS_COUNT; i++) {
        if (!pawl_str_equal(name, pawl_str_of(status_names[i]))) continue;
        *out = (enum pawl_record_status)i;
        return true;
    }
    return false;
}

bool pawl_workflow_state_is_terminal(enum pawl_workflow_state state)
{
    switch (state) {
#define X(name, number, terminal) \
    case PAWL_WORKFLOW_##name:    \
        return (terminal);
        PAWL_WORKFLOW_STATES(X)
#undef X
    }
    return false;
}

bool pawl_record_status_is_terminal(enum pawl_record_status status)
{
    switch (status) {
#define X(name, number, terminal, successful) \
    case PAWL_RECORD_##name:                  \
        return (terminal);
        PAWL_RECORD_STATUSES(X)
#undef X
    }
    return false;
}

bool pawl_record_status_is_bad(enum pawl_record_status status)
{
    switch (status) {
#define X(name, number, terminal, successful) \
    case PAWL_RECORD_##name:                  \
        return (terminal) && !(successful);
        PAWL_RECORD_STATUSES(X)
#undef X
    }
    return false;
}

const char *pawl_workflow_row_fault(const struct pawl_workflow_row *workflow)
{
    if (workflow->key <= 0) return "key is not positive";
    if (workflow->id.len == 0) return "id is empty";
    if (workflow->name.len == 0) return "name is empty";
    if (workflow->run <= 0) return "run is not positive";
    if (workflow->version < 1) return "version is below 1";
    if (workflow->open < 0) return "open is negative";
    if (workflow->permissive < 0) return "permissive is negative";
    if (workflow->ahead < 0) return "ahead is negative";
    if (workflow->next_seq < 1) return "next_seq is below 1";
    if ((workflow->finished_at_ms != 0) != pawl_workflow_state_is_terminal(workflow->state)) {
        return "a finish time is for terminal states alone";
    }
    return NULL;
}

const char *pawl_record_row_fault(const struct pawl_record_row *record)
{
    if (record->task <= 0) return "task is not positive";
    if (record->workflow <= 0 || record->run <= 0) return "workflow or run is not positive";
    if (record->seq == 0) return "seq is 0";
    if (record->node < 0) return "node is negative";
    if (record->reference.len == 0) return "reference is empty";
    if (record->is_decided && !pawl_record_status_is_terminal(record->status)) {
        return "decided before its end";
    }
    if (record->join_pending < 0 || record->join_branches < 0 || record->join_failed < 0 ||
        record->join_cancelled < 0 || record->join_optional < 0) {
        return "a counter of its join is negative";
    }
    return NULL;
}
