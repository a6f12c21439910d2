/* Definitions of tasks and of workflows. */
#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "core/workflow/definition_check.h"
#include "net/conductor/define.h"

/* Operators that this build runs; of all others one is warned when they are registered. */
#define RUNS(type) (UINT64_C(1) << PAWL_NODE_##type)
static const uint64_t types_run = RUNS(SIMPLE) | RUNS(USER_DEFINED) | RUNS(DYNAMIC) | RUNS(SWITCH) |
                                  RUNS(FORK_JOIN) | RUNS(JOIN) | RUNS(SET_VARIABLE) |
                                  RUNS(TERMINATE) | RUNS(WAIT) | RUNS(HUMAN) | RUNS(NOOP);

/* ---- What is registered, for the checks ---- */

struct source {
    struct pawl_reader *reader;
    struct pawl_arena *keep;
    enum pawl_code code; /* of a read that failed */
    struct pawl_error *err;
};

/* A task's definition as it is kept; what cannot be read of it keeps its default. */
static enum pawl_code parse_task(const struct pawl_definition_row *row, struct pawl_arena *keep,
                                 struct pawl_task_definition *out, struct pawl_error *err)
{
    struct pawl_json *object = NULL;
    struct pawl_faulty ignored = {0};
    enum pawl_code code = pawl_json_parse(row->body, keep, &object, err);
    if (code == PAWL_INVALID) code = err->code = PAWL_CORRUPT;
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "task definition %.*s", PAWL_STR_ARG(row->name));
        return code;
    }
    pawl_faults_init(&ignored.faults, keep);
    struct pawl_fault_place place = pawl_faulty_place(&ignored);
    pawl_task_definition_read(object, &place, out);
    return PAWL_OK;
}

static enum pawl_lookup find_task(void *self, struct pawl_str name,
                                  const struct pawl_task_definition **out)
{
    struct source *source = self;
    struct pawl_definition_row row;
    struct pawl_error err = {0};
    struct pawl_task_definition *found = pawl_arena_take(source->keep, sizeof *found);
    if (found == NULL) return PAWL_LOOKUP_NONE; /* keep tells */
    enum pawl_code code = pawl_read_definition(source->reader, PAWL_DEFINITION_TASK, name, 0,
                                               source->keep, &row, &err);
    if (code == PAWL_OK) code = parse_task(&row, source->keep, found, &err);
    if (code == PAWL_OK) {
        *out = found;
        return PAWL_LOOKUP_FOUND;
    }
    if (code != PAWL_NOT_FOUND) {
        source->code = code;
        *source->err = err;
    }
    return PAWL_LOOKUP_NONE;
}

static enum pawl_lookup find_latest(void *self, struct pawl_str workflow, int32_t *out)
{
    struct source *source = self;
    struct pawl_definition_row row;
    if (pawl_read_definition(source->reader, PAWL_DEFINITION_WORKFLOW, workflow,
                             PAWL_VERSION_LATEST, source->keep, &row, NULL) != PAWL_OK) {
        return PAWL_LOOKUP_NONE;
    }
    *out = (int32_t)row.version;
    return PAWL_LOOKUP_FOUND;
}

/* ---- Registering ---- */

static enum pawl_code define_task(const struct pawl_json *object, struct pawl_reader *reader,
                                  struct pawl_arena *keep, struct pawl_arena *scratch,
                                  struct pawl_faulty *faulty, struct pawl_definition_new *out,
                                  struct pawl_error *err)
{
    static const struct pawl_definition_rules rules = {0};
    struct pawl_task_definition definition;
    struct pawl_fault_place place = pawl_faulty_place(faulty);
    (void)reader;
    (void)keep;
    (void)scratch;
    (void)err;
    pawl_task_definition_read(object, &place, &definition);
    pawl_task_definition_check(&definition, &rules, &place);
    *out = (struct pawl_definition_new){PAWL_DEFINITION_TASK, definition.name, 0, object->raw};
    return PAWL_OK;
}

static enum pawl_code define_workflow(const struct pawl_json *object, struct pawl_reader *reader,
                                      struct pawl_arena *keep, struct pawl_arena *scratch,
                                      struct pawl_faulty *faulty, struct pawl_definition_new *out,
                                      struct pawl_error *err)
{
    struct source of = {.reader = reader, .keep = keep, .err = err};
    const struct pawl_definition_source source = {&of, find_task, find_latest};
    const struct pawl_definition_rules rules = {
        .source = &source,
        .types_missing = ~types_run,
        .lacks_javascript = true,
        .self = scratch,
        .inputs = pawl_definition_check_inputs,
    };
    struct pawl_definition *definition = NULL;
    enum pawl_code code = pawl_definition_read(object, keep, &faulty->faults, &definition, err);
    if (code != PAWL_OK) return code;
    enum pawl_lookup found = pawl_definition_check(definition, &rules, scratch, &faulty->faults);
    pawl_assert(found == PAWL_LOOKUP_FOUND); /* our source always knows */
    code = pawl_arena_code(scratch);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room to check the definition");
    *out = (struct pawl_definition_new){PAWL_DEFINITION_WORKFLOW, definition->name,
                                        definition->version, object->raw};
    return of.code;
}

static void put_task(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {
        .one = define_task, .prefix = "updateTaskDef.taskDefinition", .takes_object = true};
    pawl_define(exchange, self, &how, PAWL_DEFINITION_ANY);
}

static void post_tasks(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {
        .one = define_task, .prefix = "registerTaskDef.taskDefinitions", .takes_array = true};
    pawl_define(exchange, self, &how, PAWL_DEFINITION_ANY);
}

static void post_workflow(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {
        .one = define_workflow, .prefix = "registerWorkflowDef.workflowDef", .takes_object = true};
    bool overwrites = pawl_exchange_bool(exchange, "overwrite", false);
    if (pawl_exchange_has_failed(exchange)) return;
    pawl_define(exchange, self, &how, overwrites ? PAWL_DEFINITION_ANY : PAWL_DEFINITION_ABSENT);
}

static void put_workflows(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {.one = define_workflow,
                                           .prefix = "updateWorkflowDef.workflowDefs",
                                           .takes_array = true,
                                           .answers_names = true};
    pawl_define(exchange, self, &how, PAWL_DEFINITION_ANY);
}

static void validate_workflow(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {.one = define_workflow,
                                           .prefix = "validateWorkflowDef.workflowDef",
                                           .takes_object = true,
                                           .only_checks = true};
    pawl_define(exchange, self, &how, PAWL_DEFINITION_ANY);
}

/* ---- Removing ---- */

static void delete_task(struct pawl_exchange *exchange, void *self)
{
    pawl_undefine(exchange, self, PAWL_DEFINITION_TASK,
                  pawl_exchange_variable(exchange, "tasktype"), 0);
}

static bool version_of(struct pawl_exchange *exchange, int64_t *out)
{
    struct pawl_str text = pawl_exchange_variable(exchange, "version");
    if (pawl_int64_parse(text, INT32_MIN, INT32_MAX, out)) return true;
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID, "version: a number is wanted, not `%.*s`",
                         PAWL_STR_ARG(text));
    pawl_exchange_answer_error(exchange, &err, "version");
    return false;
}

static void delete_workflow(struct pawl_exchange *exchange, void *self)
{
    int64_t version = 0;
    if (!version_of(exchange, &version)) return;
    pawl_undefine(exchange, self, PAWL_DEFINITION_WORKFLOW,
                  pawl_exchange_variable(exchange, "name"), version);
}

/* ---- Reading ---- */

struct looking {
    struct pawl_reading reading; /* first */
    struct pawl_definition_ask ask;
    int64_t version;
    const struct pawl_str *classifiers; /* of workflows; NULL = all */
    size_t classifier_count;
};

static enum pawl_code put_task_definition(const struct pawl_definition_row *row,
                                          struct pawl_arena *keep, struct pawl_json_writer *w,
                                          struct pawl_error *err)
{
    struct pawl_task_definition definition;
    enum pawl_code code = parse_task(row, keep, &definition, err);
    if (code != PAWL_OK) return code;
    definition.created_by = row->created_by;
    definition.updated_by = row->updated_by;
    definition.created_at_ms = row->created_at_ms;
    definition.updated_at_ms = row->updated_at_ms;
    pawl_task_definition_write(&definition, w);
    return PAWL_OK;
}

/* What Conductor sorts workflows by: what the definition says, else whether an agent made it. */
static struct pawl_str classifier_of(const struct pawl_definition *definition,
                                     struct pawl_arena *keep)
{
    struct pawl_json *metadata = NULL;
    struct pawl_str said = {0};
    if (definition->metadata.len == 0 ||
        pawl_json_parse_top(definition->metadata, 1, keep, &metadata, NULL) != PAWL_OK) {
        return PAWL_STR("workflow");
    }
    if (pawl_json_text(pawl_json_member(metadata, PAWL_STR("classifier")), keep, &said) &&
        said.len > 0) {
        return said;
    }
    bool is_agent = pawl_json_member(metadata, PAWL_STR("agent_sdk")) != NULL ||
                    pawl_json_member(metadata, PAWL_STR("agentDef")) != NULL;
    return is_agent ? PAWL_STR("agent") : PAWL_STR("workflow");
}

static bool is_wanted(const struct looking *looking, const struct pawl_definition *definition,
                      struct pawl_arena *keep)
{
    if (looking->classifiers == NULL) return true;
    struct pawl_str is = classifier_of(definition, keep);
    for (size_t i = 0; i < looking->classifier_count; i++) {
        if (pawl_str_equal(looking->classifiers[i], is)) return true;
    }
    return false;
}

static enum pawl_code put_workflow_definition(const struct looking *looking,
                                              const struct pawl_definition_row *row,
                                              struct pawl_arena *keep, struct pawl_json_writer *w,
                                              struct pawl_error *err)
{
    struct pawl_definition *definition = NULL;
    struct pawl_faults ignored;
    pawl_faults_init(&ignored, keep);
    enum pawl_code code = pawl_definition_parse(row->body, keep, &ignored, &definition, err);
    if (code == PAWL_INVALID) code = err->code = PAWL_CORRUPT;
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "workflow definition %.*s", PAWL_STR_ARG(row->name));
        return code;
    }
    if (!is_wanted(looking, definition, keep)) return PAWL_OK;
    definition->created_by = row->created_by;
    definition->updated_by = row->updated_by;
    definition->created_at_ms = row->created_at_ms;
    definition->updated_at_ms = row->updated_at_ms;
    pawl_definition_write(definition, w);
    return PAWL_OK;
}

static enum pawl_code put_any(const struct looking *looking, const struct pawl_definition_row *row,
                              struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_arena *keep = looking->reading.exchange->arena;
    if (row->kind == PAWL_DEFINITION_TASK) return put_task_definition(row, keep, w, err);
    return put_workflow_definition(looking, row, keep, w, err);
}

static enum pawl_code put_one(struct pawl_reading *reading, struct pawl_reader *reader,
                              struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_definition_row row;
    enum pawl_code code =
        pawl_read_definition(reader, looking->ask.kind, looking->ask.name, looking->version,
                             reading->exchange->arena, &row, err);
    return code == PAWL_OK ? put_any(looking, &row, w, err) : code;
}

static enum pawl_code put_list(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_definition_rows rows = {0};
    enum pawl_code code =
        pawl_read_definitions(reader, &looking->ask, reading->exchange->arena, &rows, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_array(w);
    for (size_t i = 0; i < rows.count && code == PAWL_OK; i++) {
        code = put_any(looking, &rows.rows[i], w, err);
    }
    pawl_json_end_array(w);
    return code;
}

static enum pawl_code put_names(struct pawl_reading *reading, struct pawl_reader *reader,
                                struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_definition_rows rows = {0};
    enum pawl_code code =
        pawl_read_definitions(reader, &looking->ask, reading->exchange->arena, &rows, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_array(w);
    for (size_t i = 0; i < rows.count; i++) pawl_json_put_text(w, rows.rows[i].name);
    pawl_json_end_array(w);
    return PAWL_OK;
}

/* WorkflowDefSummary */
static void put_summary(struct pawl_json_writer *w, const struct pawl_definition_row *row)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "name", row->name);
    pawl_json_put_member_int64(w, "version", row->version);
    pawl_json_put_member_int64(w, "createTime", row->created_at_ms);
    if (row->updated_at_ms != 0) {
        pawl_json_put_member_int64(w, "updateTime", row->updated_at_ms);
    }
    pawl_json_end_object(w);
}

static enum pawl_code put_versions(struct pawl_reading *reading, struct pawl_reader *reader,
                                   struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_definition_rows rows = {0};
    enum pawl_code code =
        pawl_read_definitions(reader, &looking->ask, reading->exchange->arena, &rows, err);
    if (code != PAWL_OK) return code;
    bool has_names = looking->ask.name.len == 0;
    if (has_names) pawl_json_begin_object(w);
    if (!has_names) pawl_json_begin_array(w);
    for (size_t i = 0; i < rows.count; i++) {
        const struct pawl_definition_row *row = &rows.rows[i];
        bool is_first = i == 0 || !pawl_str_equal(rows.rows[i - 1].name, row->name);
        bool is_last = i + 1 == rows.count || !pawl_str_equal(rows.rows[i + 1].name, row->name);
        if (has_names && is_first) {
            pawl_json_put_key_str(w, row->name);
            pawl_json_begin_array(w);
        }
        put_summary(w, row);
        if (has_names && is_last) pawl_json_end_array(w);
    }
    if (!has_names) pawl_json_end_array(w);
    if (has_names) pawl_json_end_object(w);
    return PAWL_OK;
}

static struct looking *begin(struct pawl_exchange *exchange, pawl_reading_put *read_and_put,
                             enum pawl_definition_kind kind)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, read_and_put);
    if (looking != NULL) looking->ask = (struct pawl_definition_ask){.kind = kind};
    return looking;
}

static void add(struct looking *looking, struct pawl_conductor *conductor)
{
    if (pawl_exchange_has_failed(looking->reading.exchange)) return;
    pawl_reading_add(&looking->reading, conductor->readers);
}

static void get_task(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_one, PAWL_DEFINITION_TASK);
    if (looking == NULL) return;
    looking->ask.name = pawl_exchange_variable(exchange, "tasktype");
    add(looking, self);
}

static void list_tasks(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_list, PAWL_DEFINITION_TASK);
    if (looking == NULL) return;
    looking->ask.with_body = true;
    add(looking, self);
}

static void get_workflow(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_one, PAWL_DEFINITION_WORKFLOW);
    if (looking == NULL) return;
    looking->ask.name = pawl_exchange_variable(exchange, "name");
    looking->version =
        pawl_exchange_int64(exchange, "version", INT32_MIN, INT32_MAX, PAWL_VERSION_LATEST);
    add(looking, self);
}

static void list_workflows(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_list, PAWL_DEFINITION_WORKFLOW);
    if (looking == NULL) return;
    looking->ask.with_body = true;
    looking->classifiers =
        pawl_exchange_list(exchange, "classifier", &looking->classifier_count);
    add(looking, self);
}

static void list_latest(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_list, PAWL_DEFINITION_WORKFLOW);
    if (looking == NULL) return;
    looking->ask.with_body = true;
    looking->ask.is_latest = true;
    add(looking, self);
}

static void list_names(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_names, PAWL_DEFINITION_WORKFLOW);
    if (looking == NULL) return;
    looking->ask.is_latest = true;
    add(looking, self);
}

static void list_names_and_versions(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_versions, PAWL_DEFINITION_WORKFLOW);
    if (looking != NULL) add(looking, self);
}

static void list_versions(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, put_versions, PAWL_DEFINITION_WORKFLOW);
    if (looking == NULL) return;
    looking->ask.name = pawl_exchange_variable(exchange, "name");
    add(looking, self);
}

/* Workers register their own tasks as they start, so it takes no more than a worker's right. */
/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/metadata/taskdefs", PAWL_ROLE_VIEWER, "Task definitions", list_tasks, 0},
    {PAWL_VERB_POST, "/api/metadata/taskdefs", PAWL_ROLE_WORKER, "Creates or replaces task definitions", post_tasks, 0},
    {PAWL_VERB_PUT, "/api/metadata/taskdefs", PAWL_ROLE_WORKER, "Creates or replaces a task definition", put_task, 0},
    {PAWL_VERB_GET, "/api/metadata/taskdefs/{tasktype}", PAWL_ROLE_VIEWER, "A task definition", get_task, 0},
    {PAWL_VERB_DELETE, "/api/metadata/taskdefs/{tasktype}", PAWL_ROLE_OPERATOR, "Removes a task definition", delete_task, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow", PAWL_ROLE_VIEWER, "Workflow definitions, all versions", list_workflows, 0},
    {PAWL_VERB_POST, "/api/metadata/workflow", PAWL_ROLE_OPERATOR, "Creates a workflow definition", post_workflow, 0},
    {PAWL_VERB_PUT, "/api/metadata/workflow", PAWL_ROLE_OPERATOR, "Creates or replaces workflow definitions", put_workflows, 0},
    {PAWL_VERB_POST, "/api/metadata/workflow/validate", PAWL_ROLE_WORKER, "Checks a workflow definition", validate_workflow, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow/latest-versions", PAWL_ROLE_VIEWER, "Workflow definitions, the latest of each", list_latest, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow/names", PAWL_ROLE_VIEWER, "Names of workflows", list_names, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow/names-and-versions", PAWL_ROLE_VIEWER, "Names of workflows with their versions", list_names_and_versions, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow/{name}", PAWL_ROLE_VIEWER, "A workflow definition", get_workflow, 0},
    {PAWL_VERB_GET, "/api/metadata/workflow/{name}/versions", PAWL_ROLE_VIEWER, "Versions of a workflow", list_versions, 0},
    {PAWL_VERB_DELETE, "/api/metadata/workflow/{name}/{version}", PAWL_ROLE_OPERATOR, "Removes a workflow definition", delete_workflow, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_metadata(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
