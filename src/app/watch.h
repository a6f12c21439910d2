/* Looking again and again (-w).
 *
 * On a terminal the screen is drawn anew when something changed; elsewhere only what is new is
 * written: the lines that were not there at the look before, or the whole in the form json. */
#ifndef PAWL_APP_WATCH_H
#define PAWL_APP_WATCH_H

#include "pawl.h"

struct pawl_cli;

/* Calls draw, which writes to cli->out.file: once, or with -w until SIGINT or SIGTERM. cli->scratch
 * is reset before each look. Gives the exit status. */
int pawl_watch(struct pawl_cli *cli, enum pawl_code (*draw)(struct pawl_cli *cli, void *self),
               void *self);

#endif
