/* Adding tasks: what one command line or one line of JSON says. */
#ifndef PAWL_APP_TASK_ADD_H
#define PAWL_APP_TASK_ADD_H

#include "base/json.h"
#include "pawl.h"

struct pawl_cli;

/* A task from one JSON object. Texts are slices of the object or lie in keep; depends_on as
 * written.
 *
 *   fails  PAWL_INVALID  an unknown key, or a value of the wrong kind; names it */
enum pawl_code pawl_task_from_json(const struct pawl_json *object, struct pawl_arena *keep,
                                   struct pawl_task_new *out, struct pawl_error *err) PAWL_MUST_USE;

/* `task add --jsonl`: reads standard input to its end; gives the exit status. */
int pawl_task_add_lines(struct pawl_cli *cli);

/* The answer to one task: its id, or {"id":…,"existed":…}. */
void pawl_show_added(struct pawl_cli *cli, const struct pawl_added *added,
                     struct pawl_arena *arena);

#endif
