#include "app/arguments.h"

#include "app/cli.h"
#include "app/commands.h"
#include "wire/nearest.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "core/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct reader {
    struct pawl_arguments *out;
    struct pawl_given *given;
    char **argv;
    int argc;
    int at;            /* the argument being read */
    const char *group; /* named, and its command not yet */
    struct pawl_error *err;
};

/* ---- Which command --------------------------------------------------------------------------- */

static enum pawl_code refuse_word(struct reader *r, const char *word)
{
    struct pawl_nearest nearest = pawl_nearest_to(pawl_str_of(word));
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        bool fits = r->group == NULL ? at->group == NULL
                                     : at->group != NULL && strcmp(at->group, r->group) == 0;
        if (!fits) {
            /* a word of a group, and the group was left out */
            if (r->group == NULL && at->group != NULL && strcmp(at->name, word) == 0) {
                return pawl_error_set(r->err, PAWL_INVALID,
                                      "there is no command `pawl %s`; did you mean `pawl %s %s`?",
                                      word, at->group, word);
            }
            continue;
        }
        bool takes_away = (at->takes & PAWL_TAKES_AWAY) != 0;
        (takes_away ? pawl_nearest_offer_warily : pawl_nearest_offer)(&nearest, at->name);
    }
    if (r->group == NULL) {
        for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
            pawl_nearest_offer(&nearest, at->name);
        }
    }
    const char *space = r->group == NULL ? "" : " ";
    const char *group = r->group == NULL ? "" : r->group;
    if (nearest.word == NULL) {
        return pawl_error_set(r->err, PAWL_INVALID,
                              "there is no command `pawl %s%s%s`; see `pawl help%s%s`", group,
                              space, word, space, group);
    }
    return pawl_error_set(r->err, PAWL_INVALID,
                          "there is no command `pawl %s%s%s`; did you mean `pawl %s%s%s`?", group,
                          space, word, group, space, nearest.word);
}

static enum pawl_code take_command_word(struct reader *r, const char *word)
{
    const struct pawl_cli_command *command = pawl_cli_command_find(r->group, word);
    if (command != NULL) {
        r->out->command = command;
        r->out->group = NULL;
        return PAWL_OK;
    }
    const struct pawl_cli_group *group = r->group == NULL ? pawl_cli_group_find(word) : NULL;
    if (group == NULL) return refuse_word(r, word);
    r->group = group->name;
    r->out->group = group;
    return PAWL_OK;
}

/* ---- Options --------------------------------------------------------------------------------- */

static enum pawl_code refuse_option(struct reader *r, struct pawl_str name)
{
    struct pawl_nearest nearest = pawl_nearest_to(name);
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(r->out->command, sets);
    for (size_t i = 0; sets[i] != NULL; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (!at->is_hidden) pawl_nearest_offer(&nearest, at->name);
        }
    }
    const struct pawl_cli_command *command = r->out->command;
    const char *group = command != NULL && command->group != NULL ? command->group : "";
    const char *space = group[0] != '\0' ? " " : "";
    const char *last = command != NULL ? command->name : "pawl";
    if (nearest.word == NULL) {
        return pawl_error_set(r->err, PAWL_INVALID, "%s%s%s has no option --%.*s; see --help",
                              group, space, last, PAWL_STR_ARG(name));
    }
    return pawl_error_set(r->err, PAWL_INVALID, "%s%s%s has no option --%.*s; did you mean --%s?",
                          group, space, last, PAWL_STR_ARG(name), nearest.word);
}

/* An empty value comes from a variable that is not set, and would be taken for the default; only
 * text for people may be empty. */
static bool may_be_empty(const struct pawl_cli_option *option)
{
    return option->value == NULL || strcmp(option->value, "TEXT") == 0;
}

static enum pawl_code put(struct reader *r, const struct pawl_cli_option *option,
                          struct pawl_str value)
{
    if (value.len == 0 && !may_be_empty(option)) {
        return pawl_error_set(r->err, PAWL_INVALID, "--%s is empty; it takes %s", option->name,
                              option->value);
    }
    if (strcmp(option->name, "help") == 0) r->out->wants_help = true;
    for (size_t i = 0; i < r->out->given_count && !option->repeats && option->value != NULL; i++) {
        if (r->given[i].option == option) {
            return pawl_error_set(r->err, PAWL_INVALID, "--%s is given twice", option->name);
        }
    }
    r->given[r->out->given_count++] = (struct pawl_given){option, value};
    return PAWL_OK;
}

/* The value that follows in the next argument. */
static enum pawl_code put_with_next(struct reader *r, const struct pawl_cli_option *option)
{
    if (r->at + 1 >= r->argc) {
        return pawl_error_set(r->err, PAWL_INVALID, "--%s needs a value: %s", option->name,
                              option->value);
    }
    r->at++;
    return put(r, option, pawl_str_of(r->argv[r->at]));
}

static enum pawl_code take_long(struct reader *r, const char *text)
{
    const char *equals = strchr(text, '=');
    struct pawl_str name = pawl_str_of(text);
    if (equals != NULL) name.len = (size_t)(equals - text);
    if (r->out->command == NULL && pawl_str_equal(name, PAWL_STR("version"))) {
        r->out->wants_version = true;
        return PAWL_OK;
    }
    const struct pawl_cli_option *option = pawl_cli_option_find(r->out->command, name);
    if (option == NULL) return refuse_option(r, name);
    if (option->value == NULL) {
        if (equals == NULL) return put(r, option, PAWL_STR(""));
        return pawl_error_set(r->err, PAWL_INVALID, "--%s takes no value", option->name);
    }
    if (equals != NULL) return put(r, option, pawl_str_of(equals + 1));
    return put_with_next(r, option);
}

static enum pawl_code take_letters(struct reader *r, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct pawl_cli_option *option =
            pawl_cli_option_find_letter(r->out->command, *letters);
        if (option == NULL) {
            return pawl_error_set(r->err, PAWL_INVALID, "there is no option -%c; see --help",
                                  *letters);
        }
        if (option->value != NULL && letters[1] != '\0') {
            return put(r, option, pawl_str_of(letters + (letters[1] == '=' ? 2 : 1)));
        }
        enum pawl_code code =
            option->value != NULL ? put_with_next(r, option) : put(r, option, PAWL_STR(""));
        if (code != PAWL_OK || option->value != NULL) return code;
    }
    return PAWL_OK;
}

static enum pawl_code check_word_count(struct reader *r)
{
    const struct pawl_cli_command *command = r->out->command;
    if (command == NULL || r->out->wants_help) return PAWL_OK;
    const char *group = command->group != NULL ? command->group : "";
    const char *space = command->group != NULL ? " " : "";
    const char *before = command->arguments[0] != '\0' ? " " : "";
    size_t count = r->out->word_count;
    if (count < (size_t)command->words_min) {
        return pawl_error_set(r->err, PAWL_INVALID, "something is missing; usage: pawl %s%s%s%s%s",
                              group, space, command->name, before, command->arguments);
    }
    if (command->words_max >= 0 && count > (size_t)command->words_max) {
        return pawl_error_set(r->err, PAWL_INVALID, "`%s` is one too many; usage: pawl %s%s%s%s%s",
                              r->out->words[command->words_max], group, space, command->name,
                              before, command->arguments);
    }
    return PAWL_OK;
}

enum pawl_code pawl_arguments_parse(struct pawl_arguments *out, int argc, char **argv,
                                    struct pawl_arena *keep, struct pawl_error *err)
{
    size_t room = argc > 0 ? (size_t)argc : 1;
    struct pawl_arguments result = {0};
    /* A run of joined letters holds more options than arguments, but each of them once. */
    size_t letters = 0;
    for (int i = 1; i < argc; i++) letters += argv[i][0] == '-' ? strlen(argv[i]) : 0;
    struct reader r = {.out = &result, .argv = argv, .argc = argc, .err = err};
    r.given = pawl_arena_take_array(keep, room + letters, sizeof *r.given);
    result.words = pawl_arena_take_array(keep, room + 1, sizeof *result.words);
    if (r.given == NULL || result.words == NULL) {
        return pawl_error_set(err, pawl_arena_code(keep), "the command line is too long");
    }
    result.given = r.given;

    for (r.at = 1; r.at < argc; r.at++) {
        char *text = argv[r.at];
        enum pawl_code code = PAWL_OK;
        if (result.has_dashes || text[0] != '-' || text[1] == '\0') {
            if (result.command == NULL) {
                code = take_command_word(&r, text);
            } else {
                result.words[result.word_count++] = text;
            }
        } else if (strcmp(text, "--") == 0) {
            result.has_dashes = true;
            result.words_before_dashes = result.word_count;
        } else if (text[1] == '-') {
            code = take_long(&r, text + 2);
        } else {
            code = take_letters(&r, text + 1);
        }
        if (code != PAWL_OK) return code;
    }
    if (!result.has_dashes) result.words_before_dashes = result.word_count;
    enum pawl_code code = check_word_count(&r);
    if (code != PAWL_OK) return code;
    *out = result;
    return PAWL_OK;
}

/* ---- What was given -------------------------------------------------------------------------- */

static const struct pawl_given *find(const struct pawl_cli *cli, const char *name)
{
    pawl_assert(pawl_cli_option_find(cli->arguments.command, pawl_str_of(name)) != NULL);
    for (size_t i = cli->arguments.given_count; i > 0; i--) {
        const struct pawl_given *given = &cli->arguments.given[i - 1];
        if (strcmp(given->option->name, name) == 0) return given;
    }
    return NULL;
}

bool pawl_given(const struct pawl_cli *cli, const char *name)
{
    return find(cli, name) != NULL;
}

struct pawl_str pawl_given_text(const struct pawl_cli *cli, const char *name)
{
    const struct pawl_given *given = find(cli, name);
    return given != NULL ? given->value : (struct pawl_str){0};
}

enum pawl_code pawl_given_code(const struct pawl_cli *cli)
{
    if (cli->err.code != PAWL_OK) return cli->err.code;
    return pawl_arena_code(cli->keep);
}

/* Keeps the first complaint. */
static struct pawl_error *complaint(struct pawl_cli *cli)
{
    return cli->err.code == PAWL_OK ? &cli->err : NULL;
}

int64_t pawl_int64_read(struct pawl_cli *cli, const char *what, struct pawl_str value, int64_t min,
                        int64_t max)
{
    int64_t number = 0;
    if (pawl_int64_parse(value, min, max, &number)) return number;
    if (max == INT64_MAX) {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID,
                             "%s: `%.*s` is no whole number of at least %" PRId64, what,
                             PAWL_STR_ARG(value), min);
        return min;
    }
    (void)pawl_error_set(complaint(cli), PAWL_INVALID,
                         "%s: `%.*s` is no whole number from %" PRId64 " to %" PRId64, what,
                         PAWL_STR_ARG(value), min, max);
    return min;
}

int64_t pawl_given_int64(struct pawl_cli *cli, const char *name, int64_t min, int64_t max,
                         int64_t otherwise)
{
    const struct pawl_given *given = find(cli, name);
    return given == NULL ? otherwise : pawl_int64_read(cli, name, given->value, min, max);
}

int64_t pawl_duration_read(struct pawl_cli *cli, const char *what, struct pawl_str value, int64_t ms_max)
{
    int64_t ms = 0;
    if (!pawl_duration_parse(value, &ms)) {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID,
                             "%s: `%.*s` is no duration such as 250ms, 30s, 5m or 1h30m", what,
                             PAWL_STR_ARG(value));
    } else if (ms > ms_max) {
        char most[PAWL_DURATION_TEXT_BYTES_MAX + 1];
        pawl_duration_format(ms_max, most);
        (void)pawl_error_set(complaint(cli), PAWL_INVALID, "%s: `%.*s` is longer than %s", what,
                             PAWL_STR_ARG(value), most);
        return 0;
    }
    return ms;
}

int64_t pawl_given_within_ms(struct pawl_cli *cli, const char *name, int64_t ms_max, int64_t otherwise)
{
    const struct pawl_given *given = find(cli, name);
    return given == NULL ? otherwise : pawl_duration_read(cli, name, given->value, ms_max);
}

int64_t pawl_given_duration_ms(struct pawl_cli *cli, const char *name, int64_t otherwise)
{
    return pawl_given_within_ms(cli, name, PAWL_DELAY_MS_MAX, otherwise);
}

int64_t pawl_given_lease_ms(struct pawl_cli *cli, const char *name)
{
    int64_t ms = pawl_given_duration_ms(cli, name, 0);
    if (ms == 0 || (ms >= PAWL_LEASE_MS_MIN && ms <= PAWL_LEASE_MS_MAX)) return ms;
    char least[PAWL_DURATION_TEXT_BYTES_MAX + 1];
    char most[PAWL_DURATION_TEXT_BYTES_MAX + 1];
    pawl_duration_format(PAWL_LEASE_MS_MIN, least);
    pawl_duration_format(PAWL_LEASE_MS_MAX, most);
    (void)pawl_error_set(complaint(cli), PAWL_INVALID, "%s: `%.*s` is not from %s to %s", name,
                         PAWL_STR_ARG(pawl_given_text(cli, name)), least, most);
    return 0;
}

int64_t pawl_given_age_ms(struct pawl_cli *cli, const char *name)
{
    int64_t ms = pawl_given_within_ms(cli, name, PAWL_RETAIN_MS_MAX, 0);
    struct pawl_str value = pawl_given_text(cli, name);
    char last = value.len > 0 ? value.ptr[value.len - 1] : '\0';
    if (ms > 0 && last >= '0' && last <= '9') {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID,
                             "%s: `%.*s` has no unit, as in 30d, 12h or 90s", name,
                             PAWL_STR_ARG(value));
    }
    return ms;
}

int64_t pawl_given_above_0(struct pawl_cli *cli, const char *name, int64_t ms)
{
    if (pawl_given(cli, name) && ms == 0) {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID, "%s: 0 has no meaning; leave it out",
                             name);
    }
    return ms;
}

int64_t pawl_given_instant_ms(struct pawl_cli *cli, const char *name)
{
    const struct pawl_given *given = find(cli, name);
    int64_t at_ms = 0;
    if (given != NULL && !pawl_instant_parse(given->value, &at_ms)) {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID,
                             "%s: `%.*s` is no instant such as 2026-11-30T17:45:00Z", name,
                             PAWL_STR_ARG(given->value));
    }
    if (at_ms > PAWL_INSTANT_MS_MAX - PAWL_DELAY_MS_MAX) {
        (void)pawl_error_set(complaint(cli), PAWL_INVALID, "%s: `%.*s` is beyond the year 9998", name,
                             PAWL_STR_ARG(given->value));
    }
    return at_ms;
}

struct pawl_str pawl_body_read(struct pawl_cli *cli, const char *what, struct pawl_str value)
{
    struct pawl_str body = value;
    struct pawl_error *err = complaint(cli);
    enum pawl_code code = PAWL_OK;
    if (pawl_str_equal(value, PAWL_STR("-"))) {
        code = pawl_file_read(stdin, "standard input", cli->keep, &body, err);
    } else if (pawl_str_starts(value, PAWL_STR("@"))) {
        const char *path = value.ptr + 1;
        FILE *file = fopen(path, "rbe");
        if (file == NULL) {
            code = pawl_error_set(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_IO,
                                  "cannot read %s: %s", path, strerror(errno));
        } else {
            code = pawl_file_read(file, path, cli->keep, &body, err);
            (void)fclose(file); /* it was only read */
        }
    }
    if (code == PAWL_OK) return body;
    pawl_error_prefix(err, "%s", what);
    return (struct pawl_str){0};
}

struct pawl_str pawl_json_read(struct pawl_cli *cli, const char *what, struct pawl_str value)
{
    struct pawl_str body = pawl_body_read(cli, what, value);
    if (cli->err.code != PAWL_OK) return body;
    enum pawl_code code = pawl_json_check(body, cli->keep, &cli->err);
    if (code != PAWL_OK) {
        pawl_error_prefix(&cli->err, code == PAWL_INVALID ? "%s: not JSON" : "%s", what);
    }
    return body;
}

struct pawl_str pawl_given_body(struct pawl_cli *cli, const char *name)
{
    const struct pawl_given *given = find(cli, name);
    return given != NULL ? pawl_body_read(cli, name, given->value) : (struct pawl_str){0};
}

struct pawl_str pawl_given_json(struct pawl_cli *cli, const char *name)
{
    const struct pawl_given *given = find(cli, name);
    return given != NULL ? pawl_json_read(cli, name, given->value) : (struct pawl_str){0};
}

const struct pawl_str *pawl_given_all(struct pawl_cli *cli, const char *name, size_t *count)
{
    (void)find(cli, name); /* asserts the name */
    struct pawl_str *all =
        pawl_arena_take_array(cli->keep, cli->arguments.given_count + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; all != NULL && i < cli->arguments.given_count; i++) {
        const struct pawl_given *given = &cli->arguments.given[i];
        if (strcmp(given->option->name, name) == 0) all[(*count)++] = given->value;
    }
    return all;
}

struct pawl_str pawl_word(const struct pawl_cli *cli, size_t at)
{
    pawl_assert(at < cli->arguments.word_count);
    return pawl_str_of(cli->arguments.words[at]);
}
