/* Manual pages in mdoc(7), from the words that help prints. All that is not plain ASCII is written
 * as an escape, so that any roff reads it. Sentences begin on lines of their own, as mdoc wants. */
#include "app/man.h"

#include "app/commands.h"
#include "app/help.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Text ------------------------------------------------------------------------------------ */

static bool is_of_a_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* One character; a hyphen breaks lines and a minus does not. Returns its bytes. */
static size_t put_point(FILE *file, const char *text, bool is_literal)
{
    uint32_t point = 0;
    size_t len = pawl_utf8_decode(pawl_str_of(text), &point);
    if (len > 1) {
        (void)fprintf(file, "\\[u%04" PRIX32 "]", point);
    } else if (*text == '\\') {
        (void)fputs("\\e", file);
    } else if (*text == '^') {
        (void)fputs("\\(ha", file);
    } else if (*text == '~') {
        (void)fputs("\\(ti", file);
    } else if (*text == '-' && is_literal) {
        (void)fputs("\\-", file);
    } else {
        (void)fputc(*text, file);
    }
    return len > 0 ? len : 1;
}

/* A word of a macro's line, taken as it stands. */
static void put_word(FILE *file, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) at += put_point(file, text + at, true);
}

/* Paragraphs of prose, and what closes them. What stands in backquotes is to be typed. Lines are
 * broken at spaces, after a sentence or when they are long; where, means nothing to the reader. */
static void put_text(FILE *file, const char *text, const char *end)
{
    enum { LINE_BYTES = 60 };
    bool is_typed = false;
    bool is_option = false;
    size_t line_bytes = 0;
    char last = '\n';
    while (*text != '\0') {
        char c = *text;
        bool breaks = c == ' ' && (line_bytes >= LINE_BYTES || (last == '.' && !is_typed));
        if (c == ' ' || is_typed) is_option = false;
        if (c == '-' && !is_of_a_word(last)) is_option = true;
        if (last == '\n' && (c == '.' || c == '\'')) (void)fputs("\\&", file);
        line_bytes++;
        if (c == '\n' || breaks) {
            (void)fputs(breaks ? "\n" : "\n.Pp\n", file);
            c = '\n';
            line_bytes = 0;
            text++;
        } else if (c == '`') {
            is_typed = !is_typed;
            (void)fputs(is_typed ? "\\fB" : "\\fR", file);
            text++;
        } else {
            text += put_point(file, text, is_typed || is_option);
        }
        last = c;
    }
    (void)fprintf(file, "%s\n", end);
}

/* ---- Parts of pages -------------------------------------------------------------------------- */

static void put_head(FILE *file, const char *name, const char *summary)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    time_t now = time(NULL);
    int64_t epoch = 0;
    const char *given = getenv("SOURCE_DATE_EPOCH");
    if (given != NULL && pawl_int64_parse(pawl_str_of(given), 0, INT32_MAX, &epoch)) {
        now = (time_t)epoch;
    }
    struct tm day = {0};
    (void)gmtime_r(&now, &day);
    (void)fprintf(file, ".Dd %s %d, %d\n.Dt ", months[day.tm_mon], day.tm_mday, day.tm_year + 1900);
    for (const char *at = name; *at != '\0'; at++) {
        (void)fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, file);
    }
    (void)fprintf(file, " 1\n.Os Pawl " PAWL_VERSION_TEXT "\n.Sh NAME\n.Nm %s\n.Nd ", name);
    put_text(file, summary, "");
}

/* "[ID] STEP STATE", as help writes arguments. */
static void put_arguments(FILE *file, const char *arguments)
{
    static const char dots[] = "…";
    while (*arguments != '\0') {
        size_t len = strcspn(arguments, " ");
        const char *next = arguments + len;
        bool is_optional = arguments[0] == '[';
        if (is_optional) {
            arguments++;
            len -= 2;
        }
        size_t dots_len = sizeof dots - 1;
        bool repeats =
            len > dots_len && strncmp(next - (is_optional ? 1 : 0) - dots_len, dots, dots_len) == 0;
        if (repeats) len -= dots_len;
        bool is_dashes = strncmp(arguments, "--", len) == 0;
        (void)fprintf(file, ".%s%s ", is_optional ? "Op " : "", is_dashes ? "Fl" : "Ar");
        put_word(file, is_dashes ? "-" : arguments, is_dashes ? 1 : len);
        (void)fprintf(file, "%s\n", repeats ? " ..." : "");
        arguments = next + strspn(next, " ");
    }
}

static void put_usage(FILE *file, const struct pawl_cli_command *command)
{
    (void)fprintf(file, ".Nm pawl %s%s", command->group != NULL ? command->group : "",
                  command->group != NULL ? " " : "");
    put_word(file, command->name, strlen(command->name));
    (void)fputs("\n.Op Ar OPTION ...\n", file);
    put_arguments(file, command->arguments);
}

static void put_options(FILE *file, const struct pawl_cli_option *options)
{
    (void)fputs(".Bl -tag -width Ds\n", file);
    for (const struct pawl_cli_option *at = options; at->name != NULL; at++) {
        if (at->is_hidden) continue;
        (void)fputs(".It ", file);
        if (at->letter != 0) (void)fprintf(file, "Fl %c , ", at->letter);
        (void)fputs("Fl \\-", file);
        put_word(file, at->name, strlen(at->name));
        if (at->value != NULL) (void)fprintf(file, " Ar %s", at->value);
        (void)fputc('\n', file);
        put_text(file, at->help, "");
    }
    (void)fputs(".El\n", file);
}

static void put_values(FILE *file, bool (*is_wanted)(const void *about, const char *name),
                       const void *about)
{
    bool has_title = false;
    for (const struct pawl_help_value *at = pawl_help_values; at->name != NULL; at++) {
        if (!is_wanted(about, at->name)) continue;
        if (!has_title) (void)fputs(".Sh VALUES\n.Bl -tag -width TIME\n", file);
        has_title = true;
        (void)fprintf(file, ".It Ar %s\n", at->name);
        put_text(file, at->text, "");
    }
    if (has_title) (void)fputs(".El\n", file);
}

/* A command with all that help has of it. */
static void put_command(FILE *file, const struct pawl_cli_command *command)
{
    (void)fprintf(file, ".Ss pawl %s%s", command->group != NULL ? command->group : "",
                  command->group != NULL ? " " : "");
    put_word(file, command->name, strlen(command->name));
    (void)fputc('\n', file);
    put_text(file, command->summary, ".");
    if (command->notes != NULL) {
        (void)fputs(".Pp\n", file);
        put_text(file, command->notes, "");
    }
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != pawl_cli_options_common; i++) put_options(file, sets[i]);
}

static bool is_of(const struct pawl_cli_command *command, const struct pawl_cli_group *group)
{
    if (group == NULL) return command->group == NULL;
    return command->group != NULL && strcmp(command->group, group->name) == 0;
}

/* ---- The pages ------------------------------------------------------------------------------- */

static bool is_value_of_group(const void *about, const char *name)
{
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_of(at, about) && pawl_help_takes_value(at, name)) return true;
    }
    return false;
}

static void print_group(FILE *file, const struct pawl_cli_group *group)
{
    char name[64];
    (void)snprintf(name, sizeof name, "pawl-%s", group->name);
    put_head(file, name, group->summary);
    (void)fputs(".Sh SYNOPSIS\n", file);
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_of(at, group)) put_usage(file, at);
    }
    (void)fputs(".Sh DESCRIPTION\n", file);
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_of(at, group)) put_command(file, at);
    }
    (void)fputs(".Pp\nThe options of every command are in\n.Xr pawl 1 ,\nand so is what exit "
                "statuses mean.\n",
                file);
    put_values(file, is_value_of_group, group);
    (void)fputs(".Sh SEE ALSO\n.Xr pawl 1\n", file);
}

static void put_group_list(FILE *file, const struct pawl_cli_group *group)
{
    (void)fputs(".Pp\n", file);
    put_text(file, group->summary, "");
    (void)fprintf(file, ".Pq Xr pawl-%s 1 :\n.Bl -tag -width Ds -compact\n", group->name);
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (!is_of(at, group)) continue;
        (void)fprintf(file, ".It Nm pawl %s ", group->name);
        put_word(file, at->name, strlen(at->name));
        (void)fputc('\n', file);
        put_text(file, at->summary, "");
    }
    (void)fputs(".El\n", file);
}

static bool is_value(const void *about, const char *name)
{
    (void)about;
    return pawl_help_takes_value(NULL, name);
}

static void put_exits(FILE *file)
{
    (void)fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", file);
    struct pawl_help_exit known;
    for (size_t i = 0; pawl_help_exit(i, &known); i++) {
        (void)fprintf(file, ".It %d\n", known.status);
        put_text(file, known.text, "");
    }
    (void)fputs(".El\n", file);
}

/* The pages are named in the order of the alphabet; NULL after the last. */
static const char *group_after(const char *name)
{
    const char *next = NULL;
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        if (strcmp(at->name, name) > 0 && (next == NULL || strcmp(at->name, next) < 0)) {
            next = at->name;
        }
    }
    return next;
}

static void print_program(FILE *file)
{
    put_head(file, "pawl", "durable tasks under fenced leases");
    (void)fputs(".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n", file);
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (at->group == NULL) put_usage(file, at);
    }
    (void)fputs(".Sh DESCRIPTION\n", file);
    put_text(file,
             "Work that takes long and may die half-way is handed over as tasks. They are kept "
             "on disk, each is given to one worker at a time under a lease, and taken back "
             "when that worker is gone.",
             "");
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        put_group_list(file, at);
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (at->group == NULL) put_command(file, at);
    }
    (void)fputs(".Sh OPTIONS\nEvery command takes these.\n", file);
    put_options(file, pawl_cli_options_common);
    put_values(file, is_value, NULL);
    put_exits(file);
    (void)fputs(".Sh SEE ALSO\n", file);
    for (const char *name = ""; (name = group_after(name)) != NULL;) {
        (void)fprintf(file, ".Xr pawl-%s 1 ,\n", name);
    }
    (void)fputs(".Xr pawl 3\n", file);
}

void pawl_man_print(FILE *file, const struct pawl_cli_group *group)
{
    if (group != NULL) {
        print_group(file, group);
    } else {
        print_program(file);
    }
}
