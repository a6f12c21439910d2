#include "core/task/event.h"

#include "base/array.h"
#include "base/str.h"

struct type_texts {
    struct pawl_str type;
    struct pawl_str action;
    bool is_success;
};

static const struct type_texts types[] = {
#define X(name, number, type, action, success) \
    [number] = {PAWL_STR_INIT(type), PAWL_STR_INIT(action), (success)},
    PAWL_EVENT_TYPES(X)
#undef X
};

static const struct pawl_str causes[] = {
#define X(name, number, text) [number] = PAWL_STR_INIT(text),
    PAWL_EVENT_CAUSES(X)
#undef X
};

bool pawl_event_type_is(int64_t number)
{
    return number > 0 && number < (int64_t)PAWL_COUNT_OF(types);
}

struct pawl_str pawl_event_type_text(enum pawl_event_type type)
{
    return pawl_event_type_is(type) ? types[type].type : (struct pawl_str){0};
}

struct pawl_str pawl_event_action_text(enum pawl_event_type type)
{
    return pawl_event_type_is(type) ? types[type].action : (struct pawl_str){0};
}

bool pawl_event_is_success(enum pawl_event_type type)
{
    return pawl_event_type_is(type) && types[type].is_success;
}

struct pawl_str pawl_event_cause_text(enum pawl_event_cause cause)
{
    bool is_known = (size_t)cause < PAWL_COUNT_OF(causes);
    return is_known ? causes[cause] : (struct pawl_str){0};
}
