/* What tasks, events and queues look like: their JSON and their rows. */
#ifndef PAWL_APP_SHOW_H
#define PAWL_APP_SHOW_H

#include "app/listing.h"
#include "base/json_writer.h"
#include "pawl.h"

struct pawl_cli;

/* Lowercase words for the enumerations that have no names of their own. */
const char *pawl_control_name(enum pawl_control control); /* NULL for none */
const char *pawl_backoff_name(enum pawl_backoff backoff);
/* In any case. */
bool pawl_backoff_parse(struct pawl_str name, enum pawl_backoff *out);
bool pawl_dependency_policy_parse(struct pawl_str name, enum pawl_dependency_policy *out);
/* The name of a state, in any case. */
bool pawl_state_parse(struct pawl_str name, enum pawl_task_state *out);
/* A number, or LOW, MEDIUM, HIGH, CRITICAL in any case; as struct pawl_task_new has it. */
bool pawl_priority_parse(struct pawl_str text, int32_t *out);

/* The states that --status names, as bits; 0 = none given. */
enum pawl_code pawl_given_states(struct pawl_cli *cli, uint32_t *states) PAWL_MUST_USE;

/* Key and value; null for what is not given: an empty text, 0 for an instant. */
void pawl_show_text(struct pawl_json_writer *w, const char *key, struct pawl_str text);
void pawl_show_instant(struct pawl_json_writer *w, const char *key, int64_t at_ms);

/* The members of a task, into an object that is open; those of the payload only if asked for. */
void pawl_show_task_json(struct pawl_json_writer *w, const struct pawl_task *task,
                         bool with_payload);
/* "RUNNING", "RUNNING, asked to cancel". */
struct pawl_str pawl_show_state(struct pawl_arena *arena, const struct pawl_task *task);

/* How many tries have failed, and how many there may be: "1/4". */
struct pawl_str pawl_show_tries(struct pawl_arena *arena, const struct pawl_task *task,
                                const char *between);

extern const struct pawl_column pawl_task_columns[];
extern const struct pawl_column pawl_dead_columns[]; /* with errors */
/* A row of a listing with one of these two. */
void pawl_show_task(struct pawl_listing *listing, const struct pawl_task *task);

/* A task after a change: its JSON, its id, or "ID STATE". */
void pawl_show_changed(struct pawl_cli *cli, const struct pawl_task *task);

void pawl_show_queue_json(struct pawl_json_writer *w, const struct pawl_queue *queue);

extern const struct pawl_column pawl_event_columns[];
void pawl_show_event_json(struct pawl_json_writer *w, const struct pawl_event *event);
void pawl_show_event(struct pawl_listing *listing, const struct pawl_event *event);

#endif
