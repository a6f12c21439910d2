#include "workflows.h"

#include "base/arena.h"
#include "core/workflow/definition.h"

#include <stdio.h>
#include <string.h>

const char *wf_text(struct lab *lab, struct pawl_str text)
{
    return pawl_arena_format(lab->keep, "%.*s", PAWL_STR_ARG(text)).ptr;
}

/* ' becomes ". */
static struct pawl_str json(struct lab *lab, const char *text)
{
    char *copy = pawl_arena_c_text(lab->keep, pawl_str_of(text));
    for (char *c = copy; *c != '\0'; c++) {
        if (*c == '\'') *c = '"';
    }
    return pawl_str_of(copy);
}

const struct pawl_definition *wf_definition(struct lab *lab, const char *tasks, const char *more)
{
    struct pawl_faults faults;
    struct pawl_definition *definition = NULL;
    struct pawl_str text = pawl_arena_format(lab->keep, "{'name':'w','tasks':[%s]%s%s}", tasks,
                                             more == NULL ? "" : ",", more == NULL ? "" : more);
    pawl_faults_init(&faults, lab->keep);
    CHECK_OK(pawl_definition_parse(json(lab, text.ptr), lab->keep, &faults, &definition, &lab->err),
             &lab->err);
    CHECK_EQ(0, faults.count);
    return definition;
}

struct pawl_str wf_start(struct lab *lab, const char *tasks, const char *more, const char *input)
{
    struct pawl_workflow_started started = {0};
    struct pawl_workflow_start ask = {.definition = wf_definition(lab, tasks, more),
                                      .input = json(lab, input == NULL ? "{}" : input)};
    CHECK_OK(pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err), &lab->err);
    return started.id;
}

struct pawl_workflow_view wf_get(struct lab *lab, struct pawl_str id)
{
    struct pawl_workflow_view view;
    struct pawl_workflow_ask ask = {.with_payloads = true, .tasks_max = 1000};
    CHECK_OK(pawl_workflow_get(lab->pawl, id, &ask, lab->keep, &view, &lab->err), &lab->err);
    return view;
}

const char *wf_state(struct lab *lab, struct pawl_str id)
{
    struct pawl_workflow_view view = wf_get(lab, id);
    struct pawl_str text =
        pawl_arena_format(lab->keep, "%s", pawl_workflow_state_name(view.row.state));
    for (size_t i = 0; i < view.tasks.count; i++) {
        const struct pawl_record_view *task = &view.tasks.items[i];
        CHECK_EQ((int64_t)i + 1, task->row.seq);
        text = pawl_arena_format(lab->keep, "%.*s %.*s:%s", PAWL_STR_ARG(text),
                                 PAWL_STR_ARG(task->row.reference),
                                 pawl_record_status_name(task->row.status));
    }
    return text.ptr;
}

struct pawl_record_view wf_record(struct lab *lab, struct pawl_str id, int64_t seq)
{
    struct pawl_workflow_view view = wf_get(lab, id);
    CHECK(seq >= 1 && (size_t)seq <= view.tasks.count);
    return view.tasks.items[seq - 1];
}

struct pawl_record_view wf_latest(struct lab *lab, struct pawl_str id, const char *reference)
{
    struct pawl_workflow_view view = wf_get(lab, id);
    for (size_t i = view.tasks.count; i > 0; i--) {
        const struct pawl_record_view *task = &view.tasks.items[i - 1];
        if (pawl_str_equal(task->row.reference, pawl_str_of(reference))) return *task;
    }
    CHECK_TEXT(reference, "has a record");
    return (struct pawl_record_view){0};
}

const char *wf_output(struct lab *lab, struct pawl_str id)
{
    struct pawl_workflow_view view = wf_get(lab, id);
    return wf_text(lab, view.payloads[PAWL_WORKFLOW_PAYLOAD_OUTPUT]);
}

const char *wf_reason(struct lab *lab, struct pawl_str id)
{
    struct pawl_workflow_view view = wf_get(lab, id);
    return wf_text(lab, view.payloads[PAWL_WORKFLOW_PAYLOAD_REASON]);
}

struct pawl_str wf_poll(struct lab *lab, const char *type)
{
    struct pawl_str queue = pawl_str_of(type);
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("w")));
    return claimed.count == 0 ? NO_TEXT : claimed.grants[0].fence.task_id;
}

struct pawl_updated wf_update(struct lab *lab, struct pawl_str task, enum pawl_update_status status,
                              const char *output, const char *reason)
{
    struct pawl_updated updated = {0};
    struct pawl_update ask = {.status = status,
                              .output = output == NULL ? NO_TEXT : json(lab, output),
                              .reason = pawl_str_of(reason),
                              .worker_id = PAWL_STR("w")};
    CHECK_OK(pawl_task_update(lab->pawl, task, &ask, lab->keep, &updated, &lab->err), &lab->err);
    return updated;
}

void wf_complete(struct lab *lab, const char *type, const char *output)
{
    struct pawl_str task = wf_poll(lab, type);
    CHECK(task.len > 0);
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, output, NULL);
}

void wf_fail(struct lab *lab, const char *type, const char *reason)
{
    struct pawl_str task = wf_poll(lab, type);
    CHECK(task.len > 0);
    (void)wf_update(lab, task, PAWL_UPDATE_FAILED, NULL, reason);
}

enum pawl_code wf_operate(struct lab *lab, struct pawl_str id,
                          const struct pawl_workflow_operate *ask)
{
    struct pawl_workflow_operated operated;
    return pawl_workflow_operate(lab->pawl, id, ask, lab->keep, &operated, &lab->err);
}

static void hear(void *self, const struct pawl_fsck_finding *finding)
{
    (void)self;
    (void)fprintf(stderr, "fsck: %s %.*s: %.*s\n", finding->check, PAWL_STR_ARG(finding->task_id),
                  PAWL_STR_ARG(finding->text));
}

void wf_check(struct lab *lab)
{
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    struct pawl_fsck_done done = {0};
    ask.store = pawl_str_of(lab->target);
    ask.found = hear;
    ask.env = &lab->world.env;
    CHECK_OK(pawl_fsck(&ask, &done, &lab->err), &lab->err);
    CHECK_EQ(0, done.found);
}
