#include "wire/words.h"

#include "base/array.h"
#include "base/number.h"
#include "base/str.h"

#include <strings.h>

static const char *const control_names[] = {
    [PAWL_CONTROL_PAUSE] = "pause",
    [PAWL_CONTROL_CANCEL] = "cancel",
};
static const char *const backoff_names[] = {
    [PAWL_BACKOFF_EXPONENTIAL] = "exponential",
    [PAWL_BACKOFF_LINEAR] = "linear",
    [PAWL_BACKOFF_FIXED] = "fixed",
};
static const char *const policy_names[] = {
    [PAWL_DEPENDENCY_BLOCK] = "block",
    [PAWL_DEPENDENCY_CANCEL] = "cancel",
    [PAWL_DEPENDENCY_IGNORE] = "ignore",
};
static const struct {
    const char *name;
    int32_t priority;
} priority_marks[] = {{"LOW", 10}, {"MEDIUM", 20}, {"HIGH", 30}, {"CRITICAL", 40}};

const char *pawl_control_name(enum pawl_control control)
{
    return (size_t)control < PAWL_COUNT_OF(control_names) ? control_names[control] : NULL;
}

const char *pawl_backoff_name(enum pawl_backoff backoff)
{
    return (size_t)backoff < PAWL_COUNT_OF(backoff_names) ? backoff_names[backoff] : NULL;
}

const char *pawl_dependency_policy_name(enum pawl_dependency_policy policy)
{
    return (size_t)policy < PAWL_COUNT_OF(policy_names) ? policy_names[policy] : NULL;
}

static bool is_word(struct pawl_str written, const char *word)
{
    struct pawl_str name = pawl_str_of(word);
    return name.len == written.len && strncasecmp(name.ptr, written.ptr, name.len) == 0;
}

static bool find_name(const char *const *names, size_t count, struct pawl_str name, size_t *at)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_word(name, names[i])) continue;
        *at = i;
        return true;
    }
    return false;
}

bool pawl_backoff_parse(struct pawl_str name, enum pawl_backoff *out)
{
    size_t at = 0;
    if (!find_name(backoff_names, PAWL_COUNT_OF(backoff_names), name, &at)) return false;
    *out = (enum pawl_backoff)at;
    return true;
}

bool pawl_dependency_policy_parse(struct pawl_str name, enum pawl_dependency_policy *out)
{
    size_t at = 0;
    if (!find_name(policy_names, PAWL_COUNT_OF(policy_names), name, &at)) return false;
    *out = (enum pawl_dependency_policy)at;
    return true;
}

bool pawl_state_parse(struct pawl_str name, enum pawl_task_state *out)
{
    for (int32_t i = PAWL_TASK_PENDING; i <= PAWL_TASK_DEAD_LETTER; i++) {
        if (!is_word(name, pawl_task_state_name((enum pawl_task_state)i))) continue;
        *out = (enum pawl_task_state)i;
        return true;
    }
    return false;
}

bool pawl_priority_parse(struct pawl_str text, int32_t *out)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(priority_marks); i++) {
        if (!is_word(text, priority_marks[i].name)) continue;
        *out = priority_marks[i].priority;
        return true;
    }
    int64_t number = 0;
    if (!pawl_int64_parse(text, 0, PAWL_PRIORITY_MAX, &number)) return false;
    *out = number == 0 ? PAWL_PRIORITY_LOWEST : (int32_t)number;
    return true;
}

int32_t pawl_retries_as_given(int64_t max_retries)
{
    return max_retries == 0 ? PAWL_RETRIES_NONE : (int32_t)max_retries;
}

int64_t pawl_delay_as_given(int64_t delay_ms)
{
    return delay_ms == 0 ? PAWL_DELAY_NONE : delay_ms;
}
