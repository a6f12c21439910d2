#include "client/calls.h"

const struct pawl_calls pawl_calls_local = {
#define X(name) .name = pawl_##name,
    PAWL_CALLS(X)
#undef X
};
