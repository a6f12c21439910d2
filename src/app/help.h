/* Help, made from the table of commands; and what help and the manual pages (man.h) say besides. */
#ifndef PAWL_APP_HELP_H
#define PAWL_APP_HELP_H

#include "pawl.h"

#include <stdio.h>

struct pawl_cli_command;
struct pawl_cli_group;

/* The page of a command, else of a group, else of the program. */
void pawl_help_print(FILE *file, const struct pawl_cli_command *command,
                     const struct pawl_cli_group *group);

/* Whether an option or argument of the command is called so; of any command for NULL. */
bool pawl_help_takes_value(const struct pawl_cli_command *command, const char *name);

/* What values are written like, by what help calls them. Ends with a name of NULL. */
struct pawl_help_value {
    const char *name;
    const char *text;
};
extern const struct pawl_help_value pawl_help_values[];

/* What an exit status means, with the codes that give it. */
enum { PAWL_HELP_EXIT_BYTES_MAX = 255 };
struct pawl_help_exit {
    int32_t status;
    char text[PAWL_HELP_EXIT_BYTES_MAX + 1];
};

/* Those in order; false when at is beyond the last. */
bool pawl_help_exit(size_t at, struct pawl_help_exit *out);

#endif
