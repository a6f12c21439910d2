/* What a definition must be to be registered. All faults are found at once; what is accepted and
 * will fail at run time is a warning. */
#ifndef PAWL_CORE_WORKFLOW_DEFINITION_CHECK_H
#define PAWL_CORE_WORKFLOW_DEFINITION_CHECK_H

#include "core/workflow/definition.h"

enum pawl_lookup {
    PAWL_LOOKUP_NONE, /* there is no such thing */
    PAWL_LOOKUP_FOUND,
    PAWL_LOOKUP_NEED, /* not known yet: it is being asked for, and the caller has to come again */
};

/* The definitions that are registered. */
struct pawl_definition_source {
    void *self;
    /* *out stays as long as the caller's arenas; written only when found. */
    enum pawl_lookup (*task)(void *self, struct pawl_str name,
                             const struct pawl_task_definition **out);
    enum pawl_lookup (*latest_version)(void *self, struct pawl_str workflow, int32_t *out);
};

/* How strict to be. Zero is what a server is without options. */
struct pawl_definition_rules {
    const struct pawl_definition_source *source; /* NULL: nothing is registered */
    uint64_t types_missing; /* bit n: enum pawl_node_type n does not run in this build, of which one
                               is warned */
    bool lacks_javascript;  /* the same for the evaluator */
    bool is_strict;         /* a fork without its JOIN, joinOn of unknown references, and "__" in a
                             * reference inside a         loop are faults; else one is warned */
    bool needs_owner_email;
    bool needs_plain_names; /* letters, digits, blanks and _<>{}#- alone */

    void *self; /* of the two below, which may be NULL */
    /* Whether a script can be parsed; if not, why. It is not run. */
    bool (*script_parses)(void *self, struct pawl_str script, struct pawl_error *why);
    /* The expressions in the input of a node of the first list. */
    void (*inputs)(void *self, const struct pawl_definition *definition, int32_t node,
                   const struct pawl_fault_place *place);
};

/*   scratch  is given back; not the arena of the faults
 *   returns  PAWL_LOOKUP_NEED if the source has said so: the faults found are not all then, and the
 * check has to be made again; else PAWL_LOOKUP_FOUND */
enum pawl_lookup pawl_definition_check(const struct pawl_definition *definition,
                                       const struct pawl_definition_rules *rules,
                                       struct pawl_arena *scratch,
                                       struct pawl_faults *faults) PAWL_MUST_USE;

/* A hook for `inputs`: expressions are well formed, and name tasks of the definition.
 *
 *   self  struct pawl_arena, for scratch */
void pawl_definition_check_inputs(void *self, const struct pawl_definition *definition, int32_t node,
                                  const struct pawl_fault_place *place);

/* The same for the definition of a task. */
void pawl_task_definition_check(const struct pawl_task_definition *definition,
                                const struct pawl_definition_rules *rules,
                                const struct pawl_fault_place *place);

#endif
