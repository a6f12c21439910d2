/* The command line, read by the table of commands.
 *
 *   pawl [OPTION…] GROUP NAME [OPTION or WORD…] [-- WORD…]
 *
 * Options and words may be mixed; `--` ends the options. A value is the next argument or stands
 * behind
 * `=`; one-letter flags can be joined (-wf), and a letter's value may follow it at once (-ojson).
 * getopt_long is not used: it knows one list of options, and here each command has its own. */
#ifndef PAWL_APP_ARGUMENTS_H
#define PAWL_APP_ARGUMENTS_H

#include "pawl.h"

struct pawl_cli;
struct pawl_cli_command;
struct pawl_cli_group;
struct pawl_cli_option;

struct pawl_given {
    const struct pawl_cli_option *option;
    struct pawl_str value; /* empty for a flag */
};

struct pawl_arguments {
    const struct pawl_cli_command *command; /* NULL: only a group, or nothing, was named */
    const struct pawl_cli_group *group;     /* NULL unless command is NULL and a group was named */
    const struct pawl_given *given;
    size_t given_count;
    char **words; /* NUL-terminated texts, ended by a NULL */
    size_t word_count;
    size_t words_before_dashes; /* word_count if there was no `--` */
    bool has_dashes;
    bool wants_help;
    bool wants_version;
};

/* What parse needs room for is taken from keep; words point into argv.
 *
 *   fails  PAWL_INVALID  the sentence names the argument, and what may have been meant */
enum pawl_code pawl_arguments_parse(struct pawl_arguments *out, int argc, char **argv,
                                    struct pawl_arena *keep, struct pawl_error *err) PAWL_MUST_USE;

/* What was given, by the name of the option, which the command must have. The last one, where an
 * option repeats. The first value that is not well formed is kept in the error of the command line,
 * and all that follow give their default: ask pawl_given_code once, before acting. */
bool pawl_given(const struct pawl_cli *cli, const char *name);
struct pawl_str pawl_given_text(const struct pawl_cli *cli, const char *name);
int64_t pawl_given_int64(struct pawl_cli *cli, const char *name, int64_t min, int64_t max,
                         int64_t otherwise);
/* At most ms_max, or PAWL_DELAY_MS_MAX. */
int64_t pawl_given_within_ms(struct pawl_cli *cli, const char *name, int64_t ms_max, int64_t otherwise);
int64_t pawl_given_duration_ms(struct pawl_cli *cli, const char *name, int64_t otherwise);
/* 0, or within the bounds of a lease; 0 if it is not given. */
int64_t pawl_given_lease_ms(struct pawl_cli *cli, const char *name);
/* How old something must be to be removed: a duration with its unit, since a slip is not undone; 0
 * if it is not given. */
int64_t pawl_given_age_ms(struct pawl_cli *cli, const char *name);
/* Gives ms, which was read of this option; a 0 that was given, and would be taken for the default,
 * is refused. */
int64_t pawl_given_above_0(struct pawl_cli *cli, const char *name, int64_t ms);
int64_t pawl_given_instant_ms(struct pawl_cli *cli, const char *name);
/* Text: the value itself, the bytes of FILE for @FILE, those of standard input for -. */
struct pawl_str pawl_given_body(struct pawl_cli *cli, const char *name);
/* The same, which must be JSON. */
struct pawl_str pawl_given_json(struct pawl_cli *cli, const char *name);
/* The values of an option that repeats, in keep. */
const struct pawl_str *pawl_given_all(struct pawl_cli *cli, const char *name, size_t *count);

/* The same readings of a word; what is how errors call it. */
struct pawl_str pawl_body_read(struct pawl_cli *cli, const char *what, struct pawl_str value);
struct pawl_str pawl_json_read(struct pawl_cli *cli, const char *what, struct pawl_str value);
int64_t pawl_duration_read(struct pawl_cli *cli, const char *what, struct pawl_str value, int64_t ms_max);
int64_t pawl_int64_read(struct pawl_cli *cli, const char *what, struct pawl_str value, int64_t min,
                        int64_t max);

struct pawl_str pawl_word(const struct pawl_cli *cli, size_t at);

/* The first thing that was not well formed, or PAWL_OK. */
enum pawl_code pawl_given_code(const struct pawl_cli *cli) PAWL_MUST_USE;

#endif
