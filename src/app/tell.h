/* The other end of worker/talk.h: a command that runs inside `pawl worker run` tells its worker,
 * which needs no store. */
#ifndef PAWL_APP_TELL_H
#define PAWL_APP_TELL_H

#include "app/cli.h"

struct pawl_tell {
    int fd; /* -1: there is no worker to tell */
};

/* Connects, if this is about the command's own task, no other right or store was named, and a
 * worker listens. Else false: the store has to be asked. */
bool pawl_tell_open(struct pawl_tell *tell, struct pawl_cli *cli, struct pawl_str task_id);
void pawl_tell_close(struct pawl_tell *tell);

/* Says a word and what belongs to it, and waits for the answer; its JSON, if it has any, is in
 * cli->scratch. Each line of rest is a message of its own if is_lines, else line breaks become
 * spaces. Fails as the store does; PAWL_IO if the worker does not answer. */
enum pawl_code pawl_tell_say(struct pawl_tell *tell, struct pawl_cli *cli, const char *word,
                             struct pawl_str rest, bool is_lines,
                             struct pawl_str *json) PAWL_MUST_USE;

#endif
