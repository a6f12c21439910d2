/* What expressions see of a workflow: its own row and payloads, and the newest record of each
 * reference. Only what a path names is asked for. */
#include "core/workflow/decision.h"

#include "base/str.h"

static const struct pawl_str none = {0};

/* A payload as a tree, for as long as it is this text. */
struct parsed {
    struct pawl_str text;
    const struct pawl_json *tree;
};

/* ---- Payloads of a workflow ---- */

static int64_t payload_key(const struct pawl_workflow_row *workflow,
                           enum pawl_workflow_payload kind)
{
    return workflow->key * PAWL_PAYLOAD_KINDS_MAX + kind;
}

struct pawl_str pawl_workflow_payload_look(struct pawl_step *step,
                                           const struct pawl_workflow_row *workflow,
                                           enum pawl_workflow_payload kind)
{
    if ((workflow->payloads & (1u << kind)) == 0) return none;
    const struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_PAYLOAD, payload_key(workflow, kind), none, 0, 0);
    return entry == NULL || !entry->is_loaded || entry->row == NULL
               ? none
               : *(const struct pawl_str *)entry->row;
}

void pawl_workflow_payload_put(struct pawl_step *step, struct pawl_workflow_row *workflow,
                               enum pawl_workflow_payload kind, struct pawl_str body)
{
    struct pawl_str *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return;
    *row = body;
    workflow->payloads |= 1u << kind;
    pawl_set_put(&step->set, PAWL_LOOK_PAYLOAD, payload_key(workflow, kind), none, 0, row);
}

void pawl_workflow_payload_drop(struct pawl_step *step, struct pawl_workflow_row *workflow,
                                enum pawl_workflow_payload kind)
{
    if ((workflow->payloads & (1u << kind)) == 0) return;
    workflow->payloads &= ~(1u << kind);
    pawl_set_put(&step->set, PAWL_LOOK_PAYLOAD, payload_key(workflow, kind), none, 0, NULL);
}

/* ---- Values ---- */

static const struct pawl_json *parse(struct pawl_step *step, struct pawl_str text)
{
    struct pawl_json *tree;
    if (text.len == 0) return NULL;
    return pawl_json_parse(text, step->set.arena, &tree, NULL) == PAWL_OK ? tree : NULL;
}

/* The same text is parsed once a step. */
static const struct pawl_json *tree_of(struct pawl_step *step, int64_t payload,
                                       struct pawl_str text)
{
    const struct parsed *known = pawl_set_known(&step->set, PAWL_LOOK_PARSED, payload, none);
    if (known != NULL && known->text.ptr == text.ptr && known->text.len == text.len)
        return known->tree;
    struct parsed *made = pawl_step_take(step, sizeof *made);
    if (made == NULL) return NULL;
    *made = (struct parsed){text, parse(step, text)};
    pawl_set_know(&step->set, PAWL_LOOK_PARSED, payload, none, made);
    return made->tree;
}

static const struct pawl_json *text_value(struct pawl_step *step, struct pawl_str text)
{
    struct pawl_json_writer w;
    if (text.len == 0) return NULL;
    pawl_json_writer_init(&w, step->set.arena);
    pawl_json_put_text(&w, text);
    return parse(step, pawl_json_writer_done(&w));
}

static const struct pawl_json *number_value(struct pawl_step *step, int64_t number)
{
    return parse(step, pawl_arena_format(step->set.arena, "%lld", (long long)number));
}

static const struct pawl_json *workflow_value(struct pawl_decision *d, struct pawl_str field)
{
    static const struct {
        struct pawl_str name;
        enum pawl_workflow_payload kind;
    } payloads[] = {
        {PAWL_STR_INIT("input"), PAWL_WORKFLOW_PAYLOAD_INPUT},
        {PAWL_STR_INIT("output"), PAWL_WORKFLOW_PAYLOAD_OUTPUT},
        {PAWL_STR_INIT("variables"), PAWL_WORKFLOW_PAYLOAD_VARIABLES},
    };
    const struct pawl_workflow_row *w = d->workflow;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        if (!pawl_str_equal(field, payloads[i].name)) continue;
        struct pawl_str text = pawl_workflow_payload_look(d->step, w, payloads[i].kind);
        return text.len == 0 ? NULL : tree_of(d->step, payload_key(w, payloads[i].kind), text);
    }
    if (pawl_str_equal(field, PAWL_STR("reasonForIncompletion"))) {
        return text_value(d->step,
                          pawl_workflow_payload_look(d->step, w, PAWL_WORKFLOW_PAYLOAD_REASON));
    }
    if (pawl_str_equal(field, PAWL_STR("workflowId"))) return text_value(d->step, w->id);
    if (pawl_str_equal(field, PAWL_STR("workflowType"))) return text_value(d->step, w->name);
    if (pawl_str_equal(field, PAWL_STR("correlationId")))
        return text_value(d->step, w->correlation_id);
    if (pawl_str_equal(field, PAWL_STR("version")))
        return number_value(d->step, w->definition_version);
    if (pawl_str_equal(field, PAWL_STR("schemaVersion")))
        return number_value(d->step, d->definition->schema_version);
    if (pawl_str_equal(field, PAWL_STR("status"))) {
        return text_value(d->step, pawl_str_of(pawl_workflow_state_name(w->state)));
    }
    return NULL; /* parents come with sub-workflows */
}

static const struct pawl_json *queue_value(struct pawl_decision *d,
                                           const struct pawl_record_row *record,
                                           const struct pawl_task_row *task)
{
    const struct pawl_entry *queue =
        pawl_set_look(&d->step->set, PAWL_LOOK_QUEUE, task->queue, none, 0, 0);
    if (queue == NULL || !queue->is_loaded || queue->row == NULL) return NULL;
    return text_value(d->step, pawl_record_type(&d->definition->nodes[record->node],
                                                ((const struct pawl_queue_row *)queue->row)->name,
                                                record->domain));
}

static const struct pawl_json *payload_value(struct pawl_decision *d,
                                             const struct pawl_task_row *task,
                                             enum pawl_payload_kind kind)
{
    struct pawl_str text = pawl_payload_look(d->step, task, kind);
    return text.len == 0 ? NULL : tree_of(d->step, task->key * PAWL_PAYLOAD_KINDS_MAX + kind, text);
}

/* A field of a record by the kind of what stands there. */
static const struct pawl_json *record_value(struct pawl_decision *d,
                                            const struct pawl_record_row *r,
                                            const struct pawl_task_row *t, struct pawl_str field)
{
    const struct pawl_node *n = &d->definition->nodes[r->node];
    const struct {
        struct pawl_str name;
        int64_t number;
    } numbers[] = {
        {PAWL_STR("retryCount"), r->attempt},
        {PAWL_STR("pollCount"), t->claims},
        {PAWL_STR("scheduledTime"), r->scheduled_at_ms},
        {PAWL_STR("startTime"), t->started_at_ms},
        {PAWL_STR("endTime"), t->finished_at_ms},
        {PAWL_STR("callbackAfterSeconds"), r->callback_after_s},
        {PAWL_STR("iteration"), 0},
    };
    const struct {
        struct pawl_str name;
        struct pawl_str text;
    } texts[] = {
        {PAWL_STR("status"), pawl_str_of(pawl_record_status_name(pawl_record_status_now(r, t)))},
        {PAWL_STR("referenceTaskName"), r->reference},
        {PAWL_STR("correlationId"), d->workflow->correlation_id},
        {PAWL_STR("taskDefName"), n->name},
        {PAWL_STR("workflowInstanceId"), d->workflow->id},
        {PAWL_STR("taskId"), t->id},
        {PAWL_STR("workerId"), r->worker},
    };
    if (pawl_str_equal(field, PAWL_STR("output"))) return payload_value(d, t, PAWL_PAYLOAD_RESULT);
    if (pawl_str_equal(field, PAWL_STR("input"))) return payload_value(d, t, PAWL_PAYLOAD_INPUT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (pawl_str_equal(field, numbers[i].name)) return number_value(d->step, numbers[i].number);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (pawl_str_equal(field, texts[i].name)) return text_value(d->step, texts[i].text);
    }
    if (pawl_str_equal(field, PAWL_STR("taskType"))) return queue_value(d, r, t);
    if (pawl_str_equal(field, PAWL_STR("reasonForIncompletion"))) {
        return text_value(d->step, pawl_payload_look(d->step, t, PAWL_PAYLOAD_ERROR));
    }
    return NULL;
}

static const struct pawl_json *look(struct pawl_decision *d, struct pawl_str root,
                                    struct pawl_str field)
{
    if (pawl_str_equal(root, PAWL_STR("workflow"))) return workflow_value(d, field);
    if (pawl_definition_find(d->definition, root) == PAWL_NOWHERE) return NULL;
    const struct pawl_entry *record = pawl_record_latest(d, root);
    const struct pawl_entry *task = record == NULL ? NULL : pawl_record_task(d->step, record->row);
    return task == NULL ? NULL : record_value(d, record->row, task->row, field);
}

/* What is missing in the set counts for this one root alone: others that are there are found all
 * the same. */
static enum pawl_found get(void *self, struct pawl_str root, struct pawl_str field,
                           const struct pawl_json **value)
{
    struct pawl_workflow_scope *scope = self;
    struct pawl_set *set = &scope->d->step->set;
    bool was_short = set->is_short;
    struct pawl_str kept_root =
        pawl_arena_copy(set->arena, root); /* the set keeps what it is asked */
    set->is_short = false;
    const struct pawl_json *found = look(scope->d, kept_root, field);
    bool is_missing = set->is_short;
    set->is_short = was_short || is_missing;
    if (is_missing) return PAWL_FOUND_NOT_LOADED;
    if (found == NULL) return PAWL_FOUND_NOTHING;
    *value = found;
    return PAWL_FOUND_VALUE;
}

void pawl_workflow_scope_init(struct pawl_workflow_scope *scope, struct pawl_decision *d,
                              struct pawl_str task_id)
{
    scope->d = d;
    scope->scope = (struct pawl_scope){.self = scope, .get = get, .task_id = task_id};
}

bool pawl_workflow_resolve(struct pawl_decision *d, struct pawl_str template, struct pawl_str *out,
                           enum pawl_code *code)
{
    struct pawl_workflow_scope scope;
    struct pawl_json_writer w;
    bool is_needed = false;
    pawl_workflow_scope_init(&scope, d, none);
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_arena_reset(d->step->scratch);
    *code = pawl_template_resolve(template, &scope.scope, d->step->scratch, &w, &is_needed, NULL);
    if (d->step->set.is_short || d->step->set.is_full) return false;
    *out = *code == PAWL_OK ? pawl_json_writer_done(&w) : none;
    return true;
}
