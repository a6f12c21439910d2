/* What a workflow runs by from its start to its end: its definition as of that instant, with the
 * definitions of its tasks in it, so that later edits do not reach it. Workflows that begin with
 * the same share one by its hash. */
#ifndef PAWL_CORE_WORKFLOW_SNAPSHOT_H
#define PAWL_CORE_WORKFLOW_SNAPSHOT_H

#include "core/workflow/definition_check.h"
#include "core/workflow/workflow.h"

struct pawl_snapshot {
    struct pawl_str text;
    uint64_t hash[2]; /* of the text; the same on every machine, so it may be stored */
};

/* Each task without a definition of its own is given the registered one of its name; without one, a
 * task for workers gets the defaults, and a type that the server runs one without retries and
 * response time-out. A DYNAMIC task stays without: its name is known later. A sub-workflow with a
 * literal name and no version gets the latest one there is.
 *
 *   keep     the text lives here
 *   returns  PAWL_LOOKUP_NEED if the source has said so for something: all has been asked for, and
 * *out is untouched; else PAWL_LOOKUP_FOUND, with an empty text if the arena has failed */
enum pawl_lookup pawl_snapshot_make(const struct pawl_definition *definition,
                                    const struct pawl_definition_source *source,
                                    struct pawl_arena *keep,
                                    struct pawl_snapshot *out) PAWL_MUST_USE;

void pawl_snapshot_hash(struct pawl_str text, uint64_t out[2]);

/* As the store has it: 32 hexadecimal digits, in the arena. */
struct pawl_str pawl_snapshot_hash_text(const uint64_t hash[2], struct pawl_arena *arena);

/* Parses the text of a stored one: row->definition, which lives in the arena and borrows from the
 * text. It stays NULL for a text that is no definition, or if the arena has failed. */
void pawl_snapshot_read(struct pawl_snapshot_row *row, struct pawl_arena *arena);

#endif
