/* pawl task add --jsonl: tasks from standard input, one a line, answered line by line.
 *
 * Lines that are there are added together, in one transaction; when none is waiting, what came so
 * far is added, so that a program may write a line and read its answer. A batch is all or nothing,
 * so when one fails for what is in it, its lines are tried one by one and only the bad ones fail.
 *
 * "#n" in depends_on is task n of the whole input, from 0. In a batch that is its position there;
 * of earlier ones the id is known by then. */
#include "app/task_add.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/lines.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/code.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "core/check.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    /* A batch waits for one sync of the disk: by 500 its share of each line no longer matters. */
    LINES_MAX = 500,
    /* A line over the store's own limit still fits in alone. */
    BATCH_LINE_BYTES_MAX = PAWL_BATCH_BYTES_MAX / 2,
    LINE_BYTES_MAX = PAWL_BATCH_BYTES_MAX,
};

struct entry {
    struct pawl_task_new task;
    int64_t line;         /* of the input, from 1 */
    int64_t number;       /* of its tasks, from 0 */
    size_t position;      /* in the batch that is sent */
    enum pawl_code code;  /* not PAWL_OK: this line failed */
    struct pawl_str text; /* the sentence */
    struct pawl_added added;
};

struct run {
    struct pawl_cli *cli;
    struct pawl_lines lines;
    struct pawl_arena *ids_arena; /* owned; of every task so far, for "#n" */
    struct pawl_str *ids;
    size_t ids_capacity;
    int64_t line;   /* the last one read */
    int64_t number; /* of the next task */
    struct entry entries[LINES_MAX];
    size_t count;
    size_t bytes;
    struct pawl_str actor;
    int64_t failed_count;
    int64_t added_count;
    enum pawl_code first_failure;
};

/* ---- Reading --------------------------------------------------------------------------------- */

static void entry_fail(struct run *run, struct entry *entry, const struct pawl_error *err)
{
    entry->code = err->code;
    entry->text = pawl_arena_copy(run->cli->scratch, pawl_str_of(err->text));
}

/* What is wrong with one line, without the number it has of itself. */
static void say_not_json(struct pawl_error *err)
{
    static const char first[] = "line 1, ";
    bool has_line = strncmp(err->text, first, sizeof first - 1) == 0;
    const char *text = has_line ? err->text + sizeof first - 1 : err->text;
    (void)pawl_error_set(err, PAWL_INVALID, "not JSON: %s", text);
}

static void read_entry(struct run *run, struct pawl_str text)
{
    struct entry *entry = &run->entries[run->count++];
    struct pawl_arena *scratch = run->cli->scratch;
    *entry = (struct entry){.line = run->line, .number = run->number++};
    run->bytes += text.len;
    struct pawl_error err = {0};
    struct pawl_json *object = NULL;
    struct pawl_str copy = pawl_arena_copy(scratch, text);
    enum pawl_code code = pawl_json_parse_top(copy, 2, scratch, &object, &err);
    if (code == PAWL_INVALID) say_not_json(&err);
    if (code == PAWL_OK) code = pawl_task_from_json(object, scratch, &entry->task, &err);
    if (code != PAWL_OK) {
        entry_fail(run, entry, &err);
    } else {
        if (entry->task.actor.len == 0) entry->task.actor = run->actor;
    }
}

/* What is there, at least one line unless the input ends. */
static enum pawl_code read_batch(struct run *run)
{
    run->count = 0;
    run->bytes = 0;
    while (run->count < LINES_MAX && run->bytes < BATCH_LINE_BYTES_MAX) {
        struct pawl_str line;
        bool has = false;
        enum pawl_code code =
            pawl_lines_take(&run->lines, run->count == 0, &line, &has, &run->cli->err);
        if (code != PAWL_OK) {
            pawl_error_prefix(&run->cli->err, "line %" PRId64, run->line + 1);
            return code;
        }
        if (!has) break;
        run->line++;
        if (pawl_str_trim(line).len > 0) read_entry(run, line);
    }
    return pawl_arena_code(run->cli->scratch);
}

/* ---- "#n" ------------------------------------------------------------------------------------ */

static enum pawl_code remember_id(struct run *run, const struct entry *entry)
{
    size_t number = (size_t)entry->number;
    if (number >= run->ids_capacity) {
        size_t capacity = run->ids_capacity == 0 ? 1024 : 2 * run->ids_capacity;
        struct pawl_str *ids = pawl_arena_resize(
            run->ids_arena, run->ids, run->ids_capacity * sizeof *ids, capacity * sizeof *ids);
        if (ids == NULL) {
            return pawl_error_set(&run->cli->err, pawl_arena_code(run->ids_arena),
                                  "too many lines");
        }
        run->ids = ids;
        run->ids_capacity = capacity;
    }
    /* Empty for one that failed. */
    run->ids[number] = entry->code == PAWL_OK ? pawl_arena_copy(run->ids_arena, entry->added.id)
                                              : (struct pawl_str){0};
    return pawl_arena_code(run->ids_arena);
}

/* Writes what entry's dependency means now. Entries from first on are those of a batch; with count
 * 0, only tasks that have been added can be meant. */
static enum pawl_code resolve_one(struct run *run, int64_t first, size_t count,
                                  struct pawl_str written, struct pawl_str *out,
                                  struct pawl_error *err)
{
    int64_t number = 0;
    *out = written;
    if (!pawl_str_starts(written, PAWL_STR("#"))) return PAWL_OK;
    if (!pawl_int64_parse((struct pawl_str){written.ptr + 1, written.len - 1}, 0, INT32_MAX,
                          &number)) {
        return pawl_error_set(err, PAWL_INVALID, "depends_on: `%.*s` is no number of a task",
                              PAWL_STR_ARG(written));
    }
    if (number < first && run->ids[number].len > 0) {
        *out = run->ids[number];
        return PAWL_OK;
    }
    if (number >= first && number < first + (int64_t)count) {
        const struct entry *other = &run->entries[number - run->entries[0].number];
        *out = pawl_arena_format(run->cli->scratch, "#%zu", other->position);
        if (other->code == PAWL_OK) return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_INVALID, "depends_on: task %.*s has not been added",
                          PAWL_STR_ARG(written));
}

/* Gives the task with its dependencies as they are to be sent. */
static enum pawl_code resolve(struct run *run, int64_t first, size_t count,
                              const struct entry *entry, struct pawl_task_new *out,
                              struct pawl_error *err)
{
    size_t depends_on_count = entry->task.depends_on_count;
    struct pawl_str *ids = pawl_arena_take_array(run->cli->scratch, depends_on_count, sizeof *ids);
    if (ids == NULL) return pawl_error_set(err, pawl_arena_code(run->cli->scratch), "no memory");
    for (size_t i = 0; i < depends_on_count; i++) {
        enum pawl_code code =
            resolve_one(run, first, count, entry->task.depends_on[i], &ids[i], err);
        if (code != PAWL_OK) return code;
    }
    *out = entry->task;
    out->depends_on = ids;
    return PAWL_OK;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* Whether a batch failed for what is in it, so that others of its lines may do. */
static bool is_about_content(enum pawl_code code)
{
    switch (code) {
    case PAWL_INVALID:
    case PAWL_NOT_FOUND:
    case PAWL_CONFLICT:
    case PAWL_STATE:
    case PAWL_TOO_LARGE:
    case PAWL_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

static struct entry *entry_at(struct run *run, size_t position)
{
    size_t i = 0;
    while (run->entries[i].code != PAWL_OK || run->entries[i].position != position) i++;
    return &run->entries[i];
}

/* Those that wait for each other, by their own ids or their numbers in the input. */
static bool fail_circle(struct run *run, const struct pawl_task_new *asks, size_t count)
{
    struct pawl_arena *scratch = run->cli->scratch;
    const size_t *circle;
    size_t len = pawl_check_circle(asks, count, scratch, &circle);
    struct entry **entries = len == 0 ? NULL : pawl_arena_take_array(scratch, len, sizeof *entries);
    struct pawl_str *names = len == 0 ? NULL : pawl_arena_take_array(scratch, 2 * len, sizeof *names);
    if (entries == NULL || names == NULL) return false;
    for (size_t i = 0; i < len; i++) {
        entries[i] = entry_at(run, circle[i]);
        names[i] = entries[i]->task.id;
        if (names[i].len == 0) names[i] = pawl_arena_format(scratch, "#%" PRId64, entries[i]->number);
        names[len + i] = names[i];
    }
    for (size_t i = 0; i < len; i++) { /* each from itself on */
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_INVALID, "depends_on: %.*s",
                             PAWL_STR_ARG(pawl_circle_text(names + i, len, scratch)));
        entry_fail(run, entries[i], &err);
    }
    return true;
}

/* The lines that can be sent, after those that depend on bad ones, or on themselves, were found bad too. */
static size_t prepare(struct run *run, struct pawl_task_new *asks)
{
    int64_t first = run->entries[0].number;
    for (;;) {
        size_t count = 0;
        bool has_new_failure = false;
        for (size_t i = 0; i < run->count; i++) {
            if (run->entries[i].code == PAWL_OK) run->entries[i].position = count++;
        }
        for (size_t i = 0; i < run->count; i++) {
            struct entry *entry = &run->entries[i];
            if (entry->code != PAWL_OK) continue;
            struct pawl_error err = {0};
            if (resolve(run, first, run->count, entry, &asks[entry->position], &err) == PAWL_OK) {
                continue;
            }
            entry_fail(run, entry, &err);
            has_new_failure = true;
        }
        if (!has_new_failure) has_new_failure = fail_circle(run, asks, count);
        if (!has_new_failure) return count;
    }
}

static enum pawl_code add_one_by_one(struct run *run)
{
    struct pawl_cli *cli = run->cli;
    for (size_t i = 0; i < run->count; i++) {
        struct entry *entry = &run->entries[i];
        if (entry->code == PAWL_OK) {
            struct pawl_error err = {0};
            struct pawl_task_new task;
            enum pawl_code code = resolve(run, entry->number, 0, entry, &task, &err);
            if (code == PAWL_OK) {
                code = cli->calls->task_add(cli->asked, &task, cli->scratch, &entry->added, &err);
            }
            if (code == PAWL_OK) cli->continuing = entry->added.continuing || cli->continuing;
            if (code != PAWL_OK && !is_about_content(code)) {
                cli->err = err;
                pawl_error_prefix(&cli->err, "line %" PRId64, entry->line);
                return code;
            }
            if (code != PAWL_OK) entry_fail(run, entry, &err);
        }
        enum pawl_code code = remember_id(run, entry);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

static enum pawl_code add_batch(struct run *run)
{
    struct pawl_cli *cli = run->cli;
    struct pawl_task_new *asks = pawl_arena_take_array(cli->scratch, run->count, sizeof *asks);
    struct pawl_added *added = pawl_arena_take_array(cli->scratch, run->count, sizeof *added);
    if (asks == NULL || added == NULL) {
        return pawl_error_set(&cli->err, pawl_arena_code(cli->scratch), "no room for a batch");
    }
    size_t count = prepare(run, asks);
    if (count > 0) {
        enum pawl_code code =
            cli->calls->task_add_batch(cli->asked, asks, count, cli->scratch, added, &cli->err);
        if (code != PAWL_OK && is_about_content(code)) {
            cli->err = (struct pawl_error){0};
            return add_one_by_one(run);
        }
        if (code != PAWL_OK) {
            pawl_error_prefix(&cli->err, "line %" PRId64, run->entries[0].line);
            return code;
        }
    }
    for (size_t i = 0; i < run->count; i++) {
        struct entry *entry = &run->entries[i];
        if (entry->code == PAWL_OK) entry->added = added[entry->position];
        if (entry->code == PAWL_OK) cli->continuing = entry->added.continuing || cli->continuing;
        enum pawl_code code = remember_id(run, entry);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

/* ---- Answering ------------------------------------------------------------------------------- */

/* In the answer where that is JSON, else on standard error: a line of text answers no more than an
 * id. */
static void show_failure(struct run *run, const struct entry *entry)
{
    const struct pawl_output *out = &run->cli->out;
    if (!pawl_output_is_table(out) && out->form != PAWL_FORM_NAME) {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, run->cli->scratch);
        pawl_json_begin_object(&w);
        pawl_json_put_member_int64(&w, "line", entry->line);
        pawl_json_put_key(&w, "error");
        pawl_json_begin_object(&w);
        pawl_json_put_member_text(&w, "code", pawl_str_of(pawl_code_name(entry->code)));
        pawl_json_put_member_text(&w, "text", entry->text);
        pawl_json_end_object(&w);
        pawl_json_end_object(&w);
        pawl_output_json_line(out, pawl_json_writer_done(&w));
        return;
    }
    (void)pawl_error_set(&run->cli->err, entry->code, "line %" PRId64 ": %.*s", entry->line,
                         PAWL_STR_ARG(entry->text));
    (void)pawl_cli_fail(run->cli); /* the exit status is that of the whole */
}

static void answer(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct entry *entry = &run->entries[i];
        if (entry->code == PAWL_OK) {
            pawl_show_added(run->cli, &entry->added, run->cli->scratch);
            if (entry->task.depends_on_count > 0) {
                pawl_warn_of_dependencies(run->cli, entry->added.id, entry->line);
            }
            run->added_count++;
            continue;
        }
        show_failure(run, entry);
        if (run->failed_count++ == 0) run->first_failure = entry->code;
    }
    (void)fflush(run->cli->out.file); /* asked for when the program ends */
}

static enum pawl_code add_all(struct run *run)
{
    for (;;) {
        pawl_arena_reset(run->cli->scratch);
        enum pawl_code code = read_batch(run);
        if (code != PAWL_OK || run->count == 0) return code;
        code = add_batch(run);
        if (code != PAWL_OK) return code;
        answer(run);
    }
}

int pawl_task_add_lines(struct pawl_cli *cli)
{
    for (size_t i = 0; i < cli->arguments.given_count; i++) {
        const char *name = cli->arguments.given[i].option->name;
        static const char *const allowed[] = {"jsonl", "actor", "db", "server", "token-file", "output", "color"};
        bool is_allowed = false;
        for (size_t j = 0; j < sizeof allowed / sizeof allowed[0]; j++) {
            if (strcmp(name, allowed[j]) == 0) is_allowed = true;
        }
        if (is_allowed) continue;
        (void)pawl_error_set(&cli->err, PAWL_INVALID,
                             "--%s does not go with --jsonl: say it in the lines", name);
        return pawl_cli_fail(cli);
    }
    struct run *run = pawl_arena_take(cli->keep, sizeof *run);
    enum pawl_code code = run == NULL ? pawl_arena_code(cli->keep) : pawl_cli_begin(cli);
    if (run == NULL) (void)pawl_error_set(&cli->err, code, "no memory to begin");
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    run->cli = cli;
    run->actor = pawl_cli_actor(cli);
    pawl_lines_init(&run->lines, STDIN_FILENO, LINE_BYTES_MAX, cli->keep);
    code = pawl_arena_open(&run->ids_arena, SIZE_MAX);
    if (code != PAWL_OK) (void)pawl_error_set(&cli->err, code, "no memory to begin");
    if (code == PAWL_OK) code = add_all(run);
    pawl_arena_close(run->ids_arena);
    if (code != PAWL_OK) {
        if (cli->err.code == PAWL_OK) {
            (void)pawl_error_set(&cli->err, code, "the lines took too much room");
        }
        return pawl_cli_fail(cli);
    }
    pawl_cli_tell_continuing(cli);
    if (run->failed_count == 0) return 0;
    return run->added_count > 0 ? PAWL_EXIT_PART_FAILED : pawl_code_exit(run->first_failure);
}
