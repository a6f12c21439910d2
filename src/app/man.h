/* The manual pages, made from the table of commands: pawl(1), and one for each group. */
#ifndef PAWL_APP_MAN_H
#define PAWL_APP_MAN_H

#include <stdio.h>

struct pawl_cli_group;

/* The page in mdoc(7): of a group, or of the program for NULL. Its date is that of
 * SOURCE_DATE_EPOCH, else today. */
void pawl_man_print(FILE *file, const struct pawl_cli_group *group);

#endif
