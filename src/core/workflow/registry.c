#include "core/workflow/registry.h"

#include "base/str.h"
#include "core/task/rule.h"
#include "core/workflow/registered.h"

static struct pawl_str no_path(void *self, struct pawl_arena *arena)
{
    (void)self;
    (void)arena;
    return (struct pawl_str){0};
}

const struct pawl_task_definition *pawl_registered_task(struct pawl_step *step,
                                                        struct pawl_str name)
{
    const struct pawl_task_definition *known =
        pawl_set_known(&step->set, PAWL_LOOK_TASK_DEFINITION, 0, name);
    if (known != NULL) return known;
    const struct pawl_definition_row *row =
        pawl_registered_get(step, PAWL_DEFINITION_TASK, name, 0);
    struct pawl_json *object;
    struct pawl_faults faults;
    if (row == NULL || pawl_json_parse(row->body, step->set.arena, &object, NULL) != PAWL_OK)
        return NULL;
    struct pawl_task_definition *made = pawl_step_take(step, sizeof *made);
    if (made == NULL) return NULL;
    pawl_faults_init(&faults, step->set.arena);
    struct pawl_fault_place place = {.path = no_path, .faults = &faults};
    pawl_task_definition_read(object, &place, made);
    pawl_set_know(&step->set, PAWL_LOOK_TASK_DEFINITION, 0, name, made);
    return made;
}

const struct pawl_definition *pawl_registered_workflow(struct pawl_step *step, struct pawl_str name,
                                                       int64_t version)
{
    const struct pawl_definition_row *row = pawl_registered_get(
        step, PAWL_DEFINITION_WORKFLOW, name, version == 0 ? PAWL_VERSION_LATEST : version);
    struct pawl_faults faults;
    struct pawl_definition *definition = NULL;
    if (row == NULL) return NULL;
    pawl_faults_init(&faults, step->set.arena);
    enum pawl_code code =
        pawl_definition_parse(row->body, step->set.arena, &faults, &definition, NULL);
    return code == PAWL_OK && definition->node_count > 0 ? definition : NULL;
}

static enum pawl_lookup find_task(void *self, struct pawl_str name,
                                  const struct pawl_task_definition **out)
{
    struct pawl_step *step = self;
    bool was_short = step->set.is_short;
    step->set.is_short = false;
    const struct pawl_task_definition *found = pawl_registered_task(step, name);
    bool is_needed = step->set.is_short;
    step->set.is_short = was_short || is_needed;
    if (is_needed) return PAWL_LOOKUP_NEED;
    if (found == NULL) return PAWL_LOOKUP_NONE;
    *out = found;
    return PAWL_LOOKUP_FOUND;
}

static enum pawl_lookup find_latest(void *self, struct pawl_str workflow, int32_t *out)
{
    struct pawl_step *step = self;
    bool was_short = step->set.is_short;
    step->set.is_short = false;
    const struct pawl_definition_row *row =
        pawl_registered_get(step, PAWL_DEFINITION_WORKFLOW, workflow, PAWL_VERSION_LATEST);
    bool is_needed = step->set.is_short;
    step->set.is_short = was_short || is_needed;
    if (is_needed) return PAWL_LOOKUP_NEED;
    if (row == NULL) return PAWL_LOOKUP_NONE;
    *out = (int32_t)row->version;
    return PAWL_LOOKUP_FOUND;
}

struct pawl_definition_source pawl_registered_source(struct pawl_step *step)
{
    return (struct pawl_definition_source){
        .self = step, .task = find_task, .latest_version = find_latest};
}
