/* Definitions as they are kept: one row a kind, name and version, with the JSON as it was registered.
 *
 * Whoever keeps something made of a definition (a parsed one, a snapshot) compares generations: the
 * store has a number that every change of a definition raises (step->generation), and each row has
 * the one it was written with. So equal generations mean equal definitions. */
#ifndef PAWL_CORE_WORKFLOW_REGISTERED_H
#define PAWL_CORE_WORKFLOW_REGISTERED_H

#include "pawl.h"

struct pawl_step;

/* Stored; never renumbered. */
enum pawl_definition_kind {
    PAWL_DEFINITION_TASK = 1,
    PAWL_DEFINITION_WORKFLOW = 2,
    PAWL_DEFINITION_EVENT_HANDLER = 3,
    PAWL_DEFINITION_KIND_LAST = PAWL_DEFINITION_EVENT_HANDLER
};

/* Above each version there can be (32 bits): where a version is asked for, the highest there is. */
#define PAWL_VERSION_LATEST (INT64_C(1) << 31)

struct pawl_definition_row {
    int64_t key; /* of its row; for walks alone */
    enum pawl_definition_kind kind;
    struct pawl_str name;
    int64_t version; /* of a workflow; else 0 */
    int64_t generation;
    int64_t created_at_ms;
    int64_t updated_at_ms; /* 0 = as it was created */
    struct pawl_str created_by; /* empty = nobody said */
    struct pawl_str updated_by;
    struct pawl_str body; /* JSON: an object */
};

/* What is to be registered. */
struct pawl_definition_new {
    enum pawl_definition_kind kind;
    struct pawl_str name;
    int64_t version;
    struct pawl_str body;
};

/* What has to be there already. */
enum pawl_definition_must {
    PAWL_DEFINITION_ANY, /* it is created, or replaced */
    PAWL_DEFINITION_ABSENT,
    PAWL_DEFINITION_PRESENT,
};

/* "task definition", "workflow definition", "event handler". */
const char *pawl_definition_kind_name(enum pawl_definition_kind kind);

/* Kind and version in the one number of a look (core/set.h), and back. */
int64_t pawl_definition_number(enum pawl_definition_kind kind, int64_t version);
void pawl_definition_number_read(int64_t number, int64_t *kind, int64_t *version);

/* The row as this step has it, of a version or the latest; NULL if there is none, or the set is
 * short. */
const struct pawl_definition_row *pawl_registered_get(struct pawl_step *step,
                                                      enum pawl_definition_kind kind,
                                                      struct pawl_str name, int64_t version);

#endif
