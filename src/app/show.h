/* What tasks and events look like on the command line: their rows, and their JSON as one. */
#ifndef PAWL_APP_SHOW_H
#define PAWL_APP_SHOW_H

#include "app/listing.h"
#include "pawl.h"
#include "wire/show.h"
#include "wire/words.h"

struct pawl_cli;

/* The states that --status names, as bits; 0 = none given. */
enum pawl_code pawl_given_states(struct pawl_cli *cli, uint32_t *states) PAWL_MUST_USE;

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

extern const struct pawl_column pawl_event_columns[];
void pawl_show_event(struct pawl_listing *listing, const struct pawl_event *event);

#endif
