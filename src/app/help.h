/* Help, made from the table of commands. */
#ifndef PAWL_APP_HELP_H
#define PAWL_APP_HELP_H

#include <stdio.h>

struct pawl_cli_command;
struct pawl_cli_group;

/* The page of a command, else of a group, else of the program. */
void pawl_help_print(FILE *file, const struct pawl_cli_command *command,
                     const struct pawl_cli_group *group);

#endif
