#include "core/workflow/fault.h"

#include "base/arena.h"
#include "core/limits.h"

void pawl_faults_init(struct pawl_faults *faults, struct pawl_arena *arena)
{
    *faults = (struct pawl_faults){.arena = arena};
}

struct pawl_fault *pawl_fault_add(struct pawl_faults *faults, bool is_warning)
{
    if (is_warning) {
        faults->warning_count++;
    } else {
        faults->count++;
    }
    if (faults->kept == PAWL_FAULTS_KEPT) return NULL;
    struct pawl_fault *fault = pawl_arena_take(faults->arena, sizeof *fault);
    if (fault == NULL) return NULL;
    faults->kept++;
    fault->is_warning = is_warning;
    if (faults->last != NULL) {
        faults->last->next = fault;
    } else {
        faults->first = fault;
    }
    faults->last = fault;
    return fault;
}
