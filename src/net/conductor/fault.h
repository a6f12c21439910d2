/* What is wrong with a body, as Conductor tells it: 400 with validationErrors; and the Warning of what
 * is accepted and will not work. */
#ifndef PAWL_NET_CONDUCTOR_FAULT_H
#define PAWL_NET_CONDUCTOR_FAULT_H

#include "core/workflow/field.h"
#include "net/exchange.h"

/* The faults of one object of a body. */
struct pawl_faulty {
    struct pawl_str prefix; /* of their paths: "registerTaskDef.taskDefinitions[0]." */
    struct pawl_faults faults;
};

/* Whether any of them has a fault. */
bool pawl_faulty_any(const struct pawl_faulty *all, size_t count);

/* Answers 400. */
void pawl_faulty_refuse(struct pawl_exchange *exchange, const struct pawl_faulty *all,
                        size_t count);

/* A Warning header for the first one that there is, told how many there are. */
void pawl_faulty_warn(struct pawl_exchange *exchange, const struct pawl_faulty *all, size_t count);

/* The place of an object whose faults get their prefix later. */
struct pawl_fault_place pawl_faulty_place(struct pawl_faulty *faulty);

/* The body of a request, an object, read by a table: false, and answered, if it is none or has a
 * member of the wrong kind. No body is an object without members. */
bool pawl_conductor_body(struct pawl_exchange *exchange, struct pawl_fields fields, void *out,
                         const char *prefix);

#endif
