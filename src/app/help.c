#include "app/help.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/man.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

enum {
    PAGE_COLUMNS = 80,
    NAME_COLUMNS = 20,   /* of a command in a list */
    OPTION_COLUMNS = 30, /* of an option in a list */
};

/* What an exit status means, where no code says it. */
static const struct {
    int32_t status;
    const char *text;
} exits[] = {
    {0, "done; finding nothing too"},
    {1, "the work itself failed: `task wait` and `task result`, of a task that did not complete"},
    {2, "usage, or a bad request"},
    {3, "not found"},
    {4, "conflict, not from this state, lease lost or held, not ready"},
    {5, "refused"},
    {6, "the store cannot now"},
    {7, "timed out waiting"},
    {8, "part of a batch failed"},
    {130, "interrupted"},
};

/* Prints words, breaking lines before the last column; at is the column the first one begins in. */
static void print_wrapped(FILE *file, const char *text, size_t indent, size_t at)
{
    const char *word = text;
    bool is_first = true;
    while (*word != '\0') {
        size_t len = strcspn(word, " \n");
        size_t columns = pawl_utf8_points((struct pawl_str){word, len});
        if (!is_first && at + 1 + columns > PAGE_COLUMNS) {
            (void)fprintf(file, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!is_first) {
            (void)fputc(' ', file);
            at++;
        }
        (void)fwrite(word, 1, len, file);
        at += columns;
        is_first = false;
        word += len;
        if (*word == '\n') {
            (void)fprintf(file, "\n%*s", (int)indent, "");
            at = indent;
            is_first = true;
            word++;
        }
        while (*word == ' ') word++;
    }
    (void)fputc('\n', file);
}

/* A name in a column of its own, then what it is. */
static void print_entry(FILE *file, const char *name, size_t name_columns, const char *text)
{
    size_t columns = pawl_utf8_points(pawl_str_of(name));
    size_t indent = 2 + name_columns;
    (void)fprintf(file, "  %s", name);
    if (columns + 2 > name_columns) {
        (void)fprintf(file, "\n%*s", (int)indent, "");
    } else {
        (void)fprintf(file, "%*s", (int)(name_columns - columns), "");
    }
    print_wrapped(file, text, indent, indent);
}

static void print_options(FILE *file, const struct pawl_cli_option *options)
{
    for (const struct pawl_cli_option *at = options; at->name != NULL; at++) {
        if (at->is_hidden) continue;
        char name[128];
        char letter[8] = "    ";
        if (at->letter != 0) (void)snprintf(letter, sizeof letter, "-%c, ", at->letter);
        (void)snprintf(name, sizeof name, "%s--%s%s%s", letter, at->name,
                       at->value != NULL ? " " : "", at->value != NULL ? at->value : "");
        print_entry(file, name, OPTION_COLUMNS, at->help);
    }
}

static void print_commands(FILE *file, const char *group)
{
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        bool fits =
            group == NULL ? at->group == NULL : at->group != NULL && strcmp(at->group, group) == 0;
        if (!fits) continue;
        char name[64];
        (void)snprintf(name, sizeof name, "%s%s%s", group != NULL ? group : "",
                       group != NULL ? " " : "", at->name);
        print_entry(file, name, NAME_COLUMNS, at->summary);
    }
}

const struct pawl_help_value pawl_help_values[] = {
    {"T", "a duration: 250ms, 30s, 1.5s, 5m, 1h30m, 7d; a number alone is seconds"},
    {"AGE", "a duration with its unit, since what is older is removed: 30d, 12h, 90s"},
    {"TIME",
     "an instant: 2026-11-30T17:45:00Z, 2026-11-30T17:45+02:00, 2026-11-30 (midnight, UTC), "
     "or milliseconds since 1970"},
    {NULL, NULL},
};

bool pawl_help_takes_value(const struct pawl_cli_command *command, const char *name)
{
    if (command == NULL) return true;
    if (strcmp(command->arguments, name) == 0) return true;
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != NULL; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (at->value != NULL && strcmp(at->value, name) == 0) return true;
        }
    }
    return false;
}

/* Those of a command; all for NULL. */
static void print_values(FILE *file, const struct pawl_cli_command *command)
{
    bool has_title = false;
    for (const struct pawl_help_value *at = pawl_help_values; at->name != NULL; at++) {
        if (!pawl_help_takes_value(command, at->name)) continue;
        if (!has_title) (void)fprintf(file, "\nValues\n");
        has_title = true;
        print_entry(file, at->name, 6, at->text);
    }
}

/* On the page of a command the options of all commands are names only. */
static void print_common_line(FILE *file)
{
    (void)fprintf(file, "\nEvery command takes ");
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        bool is_last = at[1].name == NULL;
        (void)fprintf(file, "--%s%s", at->name, is_last ? "" : at[2].name == NULL ? " and " : ", ");
    }
    (void)fprintf(file, "; see `pawl help`.\n");
}

static void print_command_page(FILE *file, const struct pawl_cli_command *command)
{
    (void)fprintf(file, "Usage: pawl %s%s%s [OPTION…]%s%s\n\n",
                  command->group != NULL ? command->group : "", command->group != NULL ? " " : "",
                  command->name, command->arguments[0] != '\0' ? " " : "", command->arguments);
    (void)fprintf(file, "%s.\n", command->summary);
    if (command->notes != NULL) {
        (void)fputc('\n', file);
        print_wrapped(file, command->notes, 0, 0);
    }
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    if (sets[0] != pawl_cli_options_common) (void)fprintf(file, "\nOptions\n");
    for (size_t i = 0; sets[i] != pawl_cli_options_common; i++) print_options(file, sets[i]);
    print_values(file, command);
    print_common_line(file);
}

bool pawl_help_exit(size_t at, struct pawl_help_exit *out)
{
    if (at >= PAWL_COUNT_OF(exits)) return false;
    out->status = exits[at].status;
    size_t len = (size_t)snprintf(out->text, sizeof out->text, "%s", exits[at].text);
    const char *before = ": ";
    for (int32_t code = PAWL_INVALID; code < PAWL_MISUSE; code++) {
        if (pawl_code_exit((enum pawl_code)code) != out->status) continue;
        pawl_assert(len < sizeof out->text);
        len += (size_t)snprintf(out->text + len, sizeof out->text - len, "%s%s", before,
                                pawl_code_name((enum pawl_code)code));
        before = ", ";
    }
    pawl_assert(len < sizeof out->text);
    return true;
}

static void print_exits(FILE *file)
{
    struct pawl_help_exit known;
    for (size_t i = 0; pawl_help_exit(i, &known); i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", known.status);
        print_entry(file, name, 6, known.text);
    }
}

static void print_program_page(FILE *file)
{
    (void)fprintf(file,
                  "Usage: pawl COMMAND [OPTION…]\n\n"
                  "Durable tasks under fenced leases. `pawl help COMMAND` tells more of each.\n");
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        (void)fputc('\n', file);
        print_wrapped(file, at->summary, 0, 0);
        print_commands(file, at->name);
    }
    (void)fprintf(file, "\nBesides\n");
    print_commands(file, NULL);
    (void)fprintf(file, "\nOptions of every command\n");
    print_options(file, pawl_cli_options_common);
    print_values(file, NULL);
    (void)fprintf(file, "\nExit status\n");
    print_exits(file);
}

void pawl_help_print(FILE *file, const struct pawl_cli_command *command,
                     const struct pawl_cli_group *group)
{
    if (command != NULL) {
        print_command_page(file, command);
    } else if (group != NULL) {
        (void)fprintf(file, "Usage: pawl %s COMMAND [OPTION…]\n\n", group->name);
        print_wrapped(file, group->summary, 0, 0);
        (void)fputc('\n', file);
        print_commands(file, group->name);
    } else {
        print_program_page(file);
    }
}

int pawl_cli_help(struct pawl_cli *cli)
{
    char **words = cli->arguments.words;
    const struct pawl_cli_command *command = NULL;
    const struct pawl_cli_group *group = NULL;
    if (cli->arguments.word_count > 0) {
        command = pawl_cli_command_find(NULL, words[0]);
        if (command == NULL) group = pawl_cli_group_find(words[0]);
        if (group != NULL && words[1] != NULL) {
            command = pawl_cli_command_find(group->name, words[1]);
        }
        if ((command == NULL && group == NULL) || (command == NULL && words[1] != NULL)) {
            struct pawl_arguments unused;
            char *argv[] = {words[0], words[0], words[1], NULL};
            /* The parser knows how to say that there is no such command. */
            if (pawl_arguments_parse(&unused, words[1] != NULL ? 3 : 2, argv, cli->keep,
                                     &cli->err) != PAWL_OK) {
                return pawl_cli_fail(cli);
            }
        }
    }
    if (pawl_given(cli, "man")) {
        if (command != NULL && command->group != NULL) group = pawl_cli_group_find(command->group);
        pawl_man_print(cli->out.file, group);
    } else {
        pawl_help_print(cli->out.file, command, group);
    }
    return 0;
}
