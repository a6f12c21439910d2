/* pawl task add: one task from options. */
#include "app/task_add.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/retry.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <inttypes.h>

void pawl_show_added(struct pawl_cli *cli, const struct pawl_added *added, struct pawl_arena *arena)
{
    const struct pawl_output *out = &cli->out;
    if (pawl_output_is_table(out) || out->form == PAWL_FORM_NAME) {
        pawl_output_text(out, added->id);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", added->id);
    pawl_json_put_member_bool(&w, "existed", added->existed);
    pawl_json_end_object(&w);
    pawl_output_json_line(out, pawl_json_writer_done(&w));
}

static void refuse(struct pawl_cli *cli, const char *name, struct pawl_str value,
                   const char *wanted)
{
    if (cli->err.code != PAWL_OK) return;
    (void)pawl_error_set(&cli->err, PAWL_INVALID, "%s: `%.*s` is none of %s", name,
                         PAWL_STR_ARG(value), wanted);
}

static void take_task(struct pawl_cli *cli, struct pawl_task_new *task)
{
    task->id = pawl_given_text(cli, "id");
    task->queue = pawl_given_text(cli, "queue");
    task->input = pawl_given_json(cli, "input");
    task->goal = pawl_given_body(cli, "goal");
    task->title = pawl_given_text(cli, "title");
    task->metadata = pawl_given_json(cli, "metadata");
    task->correlation_id = pawl_given_text(cli, "correlation-id");
    task->key = pawl_given_text(cli, "key");
    task->hold = pawl_given(cli, "hold");
    task->run_at_ms = pawl_given_instant_ms(cli, "run-at");
    task->delay_ms = pawl_given_duration_ms(cli, "delay", 0);
    task->timeout_ms = pawl_given_duration_ms(cli, "timeout", 0);
    task->allow_missing_dependencies = pawl_given(cli, "allow-missing-dependencies");
    task->depends_on = pawl_given_all(cli, "depends-on", &task->depends_on_count);
    task->actor = pawl_cli_actor(cli);
    pawl_given_retry(cli, &task->retry);

    struct pawl_str priority = pawl_given_text(cli, "priority");
    if (priority.ptr != NULL && !pawl_priority_parse(priority, &task->priority)) {
        refuse(cli, "priority", priority, "0 to 99, LOW, MEDIUM, HIGH and CRITICAL");
    }
    struct pawl_str policy = pawl_given_text(cli, "dependency-policy");
    if (policy.ptr != NULL && !pawl_dependency_policy_parse(policy, &task->dependency_policy)) {
        refuse(cli, "dependency-policy", policy, "block, cancel and ignore");
    }
}

/* Better known now than found out. What cannot be read is not told. */
void pawl_warn_of_dependencies(struct pawl_cli *cli, struct pawl_str id, int64_t line)
{
    struct pawl_arena_mark mark = pawl_arena_mark(cli->scratch);
    struct pawl_error err = {0};
    struct pawl_task task;
    struct pawl_str why;
    bool is_read = cli->calls->task_get(cli->asked, id, false, cli->scratch, &task, &err) == PAWL_OK;
    bool is_worth_it = is_read && (task.blocked_by.len > 0 || task.state == PAWL_TASK_CANCELLED);
    if (is_worth_it && cli->calls->task_why(cli->asked, id, cli->scratch, &why, &err) == PAWL_OK) {
        why = pawl_text_clean(cli->scratch, why);
        (void)fputs("pawl: ", stderr);
        if (line > 0) (void)fprintf(stderr, "line %" PRId64 ": ", line);
        (void)fprintf(stderr, "the task was added, but %.*s\n", PAWL_STR_ARG(why));
    }
    pawl_arena_rewind(cli->scratch, mark);
}

int pawl_cli_task_add(struct pawl_cli *cli)
{
    if (pawl_given(cli, "jsonl")) return pawl_task_add_lines(cli);
    struct pawl_task_new task = PAWL_TASK_NEW_INIT;
    take_task(cli, &task);
    enum pawl_code code = pawl_cli_begin(cli);
    struct pawl_added added;
    if (code == PAWL_OK) code = cli->calls->task_add(cli->asked, &task, cli->keep, &added, &cli->err);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    pawl_show_added(cli, &added, cli->keep);
    if (task.depends_on_count > 0) pawl_warn_of_dependencies(cli, added.id, 0);
    cli->continuing = added.continuing;
    pawl_cli_tell_continuing(cli);
    return 0;
}
