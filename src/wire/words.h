/* Words and marks as people and programs write them: on the command line, in JSON and over HTTP alike. */
#ifndef PAWL_WIRE_WORDS_H
#define PAWL_WIRE_WORDS_H

#include "pawl.h"

/* Lowercase words for the enumerations that have no names of their own. */
const char *pawl_control_name(enum pawl_control control); /* NULL for none */
const char *pawl_backoff_name(enum pawl_backoff backoff);
const char *pawl_dependency_policy_name(enum pawl_dependency_policy policy);
/* In any case. */
bool pawl_backoff_parse(struct pawl_str name, enum pawl_backoff *out);
bool pawl_dependency_policy_parse(struct pawl_str name, enum pawl_dependency_policy *out);
/* The name of a state, in any case. */
bool pawl_state_parse(struct pawl_str name, enum pawl_task_state *out);
/* A number, or LOW, MEDIUM, HIGH, CRITICAL in any case; as struct pawl_task_new has it. */
bool pawl_priority_parse(struct pawl_str text, int32_t *out);

/* A number of retries or a delay as struct pawl_retry has it, where zero means the default and what
 * is none has a value of its own. */
int32_t pawl_retries_as_given(int64_t max_retries);
int64_t pawl_delay_as_given(int64_t delay_ms);

#endif
