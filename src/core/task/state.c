#include "core/task/state.h"

#include "base/array.h"
#include "base/str.h"

#include <assert.h>

enum { W = PAWL_BY_WORKER, O = PAWL_BY_OPERATOR, E = PAWL_BY_ENGINE };

#define X(name, number, terminal) \
    static_assert(PAWL_TASK_##name == (number), #name " has another number in pawl.h");
PAWL_TASK_STATES(X)
#undef X

enum {
#define X(name, number, terminal) TERMINAL_##name = (terminal),
    PAWL_TASK_STATES(X)
#undef X
};

#define X(from, to, by)                                 \
    static_assert(!TERMINAL_##from || !((by) & W), \
                  #from " is terminal, so no worker leaves it for " #to);
PAWL_TASK_MOVES(X)
#undef X

/* 0 means never; otherwise the set of those who may cause it. A pair listed twice does not compile. */
static const unsigned char moves[PAWL_TASK_STATE_COUNT][PAWL_TASK_STATE_COUNT] = {
#define X(from, to, by) [PAWL_TASK_##from][PAWL_TASK_##to] = (by),
    PAWL_TASK_MOVES(X)
#undef X
};

static const char *const names[PAWL_TASK_STATE_COUNT] = {
#define X(name, number, terminal) [number] = #name,
    PAWL_TASK_STATES(X)
#undef X
};

bool pawl_task_move_is_listed(enum pawl_task_state from, enum pawl_task_state to, unsigned by)
{
    return (moves[from][to] & by) != 0;
}

bool pawl_task_state_is(int64_t number)
{
    return number >= 0 && number < PAWL_TASK_STATE_COUNT;
}

const char *pawl_task_state_name(enum pawl_task_state state)
{
    return pawl_task_state_is(state) ? names[state] : "UNKNOWN";
}

bool pawl_task_state_parse(struct pawl_str name, enum pawl_task_state *out)
{
    for (int i = 0; i < PAWL_TASK_STATE_COUNT; i++) {
        if (!pawl_str_equal(name, pawl_str_of(names[i]))) continue;
        *out = (enum pawl_task_state)i;
        return true;
    }
    return false;
}

bool pawl_task_state_is_terminal(enum pawl_task_state state)
{
    switch (state) {
#define X(name, number, terminal) \
    case PAWL_TASK_##name:        \
        return (terminal);
        PAWL_TASK_STATES(X)
#undef X
    }
    return false;
}
