/* Adding tasks: what one command line or one line of JSON says. */
#ifndef PAWL_APP_TASK_ADD_H
#define PAWL_APP_TASK_ADD_H

#include "pawl.h"
#include "wire/task_json.h"

struct pawl_cli;

/* `task add --jsonl`: reads standard input to its end; gives the exit status. */
int pawl_task_add_lines(struct pawl_cli *cli);

/* Tells of an added task that it will never become ready by itself; line: of the input, 0 = there is none. */
void pawl_warn_of_dependencies(struct pawl_cli *cli, struct pawl_str id, int64_t line);

/* The answer to one task: its id, or {"id":…,"existed":…}. */
void pawl_show_added(struct pawl_cli *cli, const struct pawl_added *added,
                     struct pawl_arena *arena);

#endif
