/* Registering definitions: read, checked and handed over on a reader's thread, since the checks look
 * at what is registered already. */
#ifndef PAWL_NET_CONDUCTOR_DEFINE_H
#define PAWL_NET_CONDUCTOR_DEFINE_H

#include "core/workflow/registered.h"
#include "net/conductor/conductor.h"
#include "net/conductor/fault.h"
#include "net/reading.h"

struct pawl_defining;

/* Reads one object of the body into *out, and notes what is wrong with it.
 *
 *   scratch  as pawl_definition_check wants it
 *   fails    as the store fails */
typedef enum pawl_code pawl_define_one(const struct pawl_json *object, struct pawl_reader *reader,
                                       struct pawl_arena *keep, struct pawl_arena *scratch,
                                       struct pawl_faulty *faulty, struct pawl_definition_new *out,
                                       struct pawl_error *err);

struct pawl_define {
    enum pawl_definition_must must;
    pawl_define_one *one;
    const char *prefix;      /* of paths: "updateWorkflowDef.workflowDefs" */
    bool takes_object;       /* the body may be one object */
    bool takes_array;        /* or an array of them, at least one */
    bool answers_names;      /* a BulkResponse of names; else nothing */
    bool only_checks;        /* nothing is registered */
};

/* Answers the exchange. how is borrowed for ever; must is told apart, for it may be a parameter's. */
void pawl_define(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                 const struct pawl_define *how, enum pawl_definition_must must);

/* Removes one, and answers. */
void pawl_undefine(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                   enum pawl_definition_kind kind, struct pawl_str name, int64_t version);

#endif
