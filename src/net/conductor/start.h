/* Beginning workflows, alone or to wait for what comes of them. */
#ifndef PAWL_NET_CONDUCTOR_START_H
#define PAWL_NET_CONDUCTOR_START_H

#include "core/workflow/ask.h"
#include "net/ask.h"
#include "net/conductor/conductor.h"
#include "net/conductor/fault.h"

struct pawl_starting {
    struct pawl_ask ask; /* first */
    struct pawl_workflow_start start;
    struct pawl_workflow_started started;
};

/* Reads a StartWorkflowRequest: false, and answered, if something is wrong. */
bool pawl_start_read(struct pawl_exchange *exchange, struct pawl_workflow_start *out);

/* Reads a StartWorkflowRequest and begins the ask of it; NULL, and answered, if something is wrong.
 * name and version of the path, where they are given (version 0: the latest), come before its own.
 *
 *   bytes   of the whole, of which the first are the starting
 *   answer  on the engine's thread, after PAWL_OK */
void *pawl_starting_begin(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                          size_t bytes, struct pawl_str name, const int32_t *version,
                          void (*answer)(struct pawl_ask *ask));

/* The body as an array of texts, 1 to PAWL_BATCH_MAX: false, and answered, if it is none. */
bool pawl_conductor_ids(struct pawl_exchange *exchange, const struct pawl_str **out, size_t *count);

/* The body as one JSON object, as it came; {} without one: false, and answered, if it is none. */
bool pawl_conductor_object(struct pawl_exchange *exchange, struct pawl_str *out);

#endif
