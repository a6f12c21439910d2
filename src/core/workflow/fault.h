/* What is wrong with something that came from outside: all of it at once, each fault with the place
 * it was found at, as a client is to see it (validationErrors). A warning is what is accepted and
 * will fail later. */
#ifndef PAWL_CORE_WORKFLOW_FAULT_H
#define PAWL_CORE_WORKFLOW_FAULT_H

#include "pawl.h"

struct pawl_fault {
    struct pawl_str path;    /* "tasks[2].forkTasks[0][1].name" */
    struct pawl_str message; /* a sentence that names the field */
    struct pawl_str value;   /* the JSON of a scalar that is wrong, or empty */
    struct pawl_fault *next;
    bool is_warning;
};

struct pawl_faults {
    struct pawl_arena *arena; /* borrowed; texts and faults live here */
    struct pawl_fault *first; /* in the order found */
    struct pawl_fault *last;
    int32_t count; /* all that were found; PAWL_FAULTS_KEPT of both together are in the list */
    int32_t warning_count; /* the same for warnings */
    int32_t kept;
};

void pawl_faults_init(struct pawl_faults *faults, struct pawl_arena *arena);

/* The next one to fill, counted already; NULL if enough are kept or the arena has failed. */
struct pawl_fault *pawl_fault_add(struct pawl_faults *faults, bool is_warning);

#endif
