/* The rows of definitions: registering, removing, and finding the latest version.
 *
 * The latest version is asked of the store as "the highest below". What this step has put or removed
 * itself lies over the answer: a version that it has removed is passed over, one that it has put is
 * found among what is changed. */
#include "core/workflow/registered.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/task/rule.h"

#include <assert.h>
#include <inttypes.h>

const char *pawl_definition_kind_name(enum pawl_definition_kind kind)
{
    static const char *const names[] = {
        [PAWL_DEFINITION_TASK] = "task definition",
        [PAWL_DEFINITION_WORKFLOW] = "workflow definition",
        [PAWL_DEFINITION_EVENT_HANDLER] = "event handler",
    };
    pawl_assert(kind >= PAWL_DEFINITION_TASK && kind <= PAWL_DEFINITION_KIND_LAST);
    return names[kind];
}

/* ---- Finding ---- */

enum { KINDS_MAX = 16 };
static_assert((int)PAWL_DEFINITION_KIND_LAST < KINDS_MAX, "a kind must fit beside a version");

int64_t pawl_definition_number(enum pawl_definition_kind kind, int64_t version)
{
    return version * KINDS_MAX + (int64_t)kind;
}

void pawl_definition_number_read(int64_t number, int64_t *kind, int64_t *version)
{
    *kind = number % KINDS_MAX;
    if (*kind < 0) *kind += KINDS_MAX; /* of a negative version */
    *version = (number - *kind) / KINDS_MAX;
}

static struct pawl_entry *look(struct pawl_step *step, enum pawl_look what,
                               enum pawl_definition_kind kind, struct pawl_str name,
                               int64_t version)
{
    struct pawl_entry *entry =
        pawl_set_look(&step->set, what, pawl_definition_number(kind, version), name, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry;
}

/* The highest version that this step has put; NULL if it has put none. */
static const struct pawl_definition_row *latest_put(const struct pawl_step *step,
                                                    enum pawl_definition_kind kind,
                                                    struct pawl_str name)
{
    const struct pawl_definition_row *latest = NULL;
    if (step->generation == step->generation_begun) return NULL;
    for (const struct pawl_entry *at = step->set.changed; at != NULL; at = at->next_changed) {
        if (!at->is_changed || at->look != PAWL_LOOK_DEFINITION || at->row == NULL) continue;
        const struct pawl_definition_row *row = at->row;
        if (row->kind != kind || !pawl_str_equal(row->name, name)) continue;
        if (latest == NULL || row->version > latest->version) latest = row;
    }
    return latest;
}

/* The highest version that the store has and this step has not removed. */
static const struct pawl_definition_row *latest_stored(struct pawl_step *step,
                                                       enum pawl_definition_kind kind,
                                                       struct pawl_str name)
{
    int64_t below = PAWL_VERSION_LATEST;
    for (;;) {
        const struct pawl_entry *found =
            look(step, PAWL_LOOK_DEFINITION_BELOW, kind, name, below);
        if (found == NULL || found->row == NULL) return NULL;
        below = *(const int64_t *)found->row;
        const struct pawl_entry *entry = look(step, PAWL_LOOK_DEFINITION, kind, name, below);
        if (entry == NULL || entry->row != NULL) return entry == NULL ? NULL : entry->row;
    }
}

const struct pawl_definition_row *pawl_registered_get(struct pawl_step *step,
                                                      enum pawl_definition_kind kind,
                                                      struct pawl_str name, int64_t version)
{
    if (version != PAWL_VERSION_LATEST) {
        const struct pawl_entry *entry = look(step, PAWL_LOOK_DEFINITION, kind, name, version);
        return entry == NULL ? NULL : entry->row;
    }
    const struct pawl_definition_row *stored = latest_stored(step, kind, name);
    if (step->set.is_short) return NULL;
    const struct pawl_definition_row *put = latest_put(step, kind, name);
    return put != NULL && (stored == NULL || put->version > stored->version) ? put : stored;
}

/* ---- Changing ---- */

/* What was made of it in this step is not it any more, and whoever waits at its gate has to look again. */
static void forget(struct pawl_step *step, const struct pawl_definition_new *is)
{
    if (is->kind != PAWL_DEFINITION_TASK) return;
    pawl_set_know(&step->set, PAWL_LOOK_TASK_DEFINITION, 0, is->name, NULL);
    pawl_step_offer_gate(step, is->name, true);
}

static enum pawl_code refuse(struct pawl_command *command, enum pawl_code code,
                             const struct pawl_definition_new *is, const char *there)
{
    if (is->kind != PAWL_DEFINITION_WORKFLOW) {
        return pawl_error_set(&command->err, code, "%s %s: %.*s", there,
                              pawl_definition_kind_name(is->kind), PAWL_STR_ARG(is->name));
    }
    return pawl_error_set(&command->err, code, "%s workflow definition: %.*s, version %" PRId64,
                          there, PAWL_STR_ARG(is->name), is->version);
}

static enum pawl_code put_one(struct pawl_step *step, struct pawl_command *command,
                              const struct pawl_definition_new *is)
{
    const struct pawl_entry *entry =
        look(step, PAWL_LOOK_DEFINITION, is->kind, is->name, is->version);
    if (entry == NULL) return PAWL_BUSY;
    const struct pawl_definition_row *before = entry->row;
    enum pawl_definition_must must = command->ask.define.must;
    if (before != NULL && must == PAWL_DEFINITION_ABSENT) {
        return refuse(command, PAWL_CONFLICT, is, "there is already a");
    }
    if (before == NULL && must == PAWL_DEFINITION_PRESENT) {
        return refuse(command, PAWL_NOT_FOUND, is, "No such");
    }
    struct pawl_definition_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return PAWL_NO_MEMORY;
    *row = (struct pawl_definition_row){
        .key = before != NULL ? before->key : pawl_step_key(step),
        .kind = is->kind,
        .name = is->name,
        .version = is->version,
        .generation = ++step->generation,
        .created_at_ms = before != NULL ? before->created_at_ms : step->now_ms,
        .updated_at_ms = before != NULL ? step->now_ms : 0,
        .created_by = before != NULL ? before->created_by : command->actor,
        .updated_by = before != NULL ? command->actor : (struct pawl_str){0},
        .body = is->body,
    };
    pawl_set_put(&step->set, PAWL_LOOK_DEFINITION, pawl_definition_number(is->kind, is->version), is->name, 0,
                 row);
    forget(step, is);
    return PAWL_OK;
}

enum pawl_code pawl_rule_define(struct pawl_step *step, struct pawl_command *command)
{
    size_t count = command->ask.define.count;
    const struct pawl_definition_new *items = command->ask.define.items;
    for (size_t i = 0; i < count; i++) { /* all at once */
        (void)look(step, PAWL_LOOK_DEFINITION, items[i].kind, items[i].name, items[i].version);
    }
    if (step->set.is_short) return PAWL_BUSY;
    for (size_t i = 0; i < count; i++) {
        enum pawl_code code = put_one(step, command, &items[i]);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

enum pawl_code pawl_rule_undefine(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_definition_new *is = &command->ask.undefine;
    const struct pawl_entry *entry =
        look(step, PAWL_LOOK_DEFINITION, is->kind, is->name, is->version);
    if (entry == NULL) return PAWL_BUSY;
    if (entry->row == NULL) return refuse(command, PAWL_NOT_FOUND, is, "No such");
    step->generation++;
    pawl_set_put(&step->set, PAWL_LOOK_DEFINITION, pawl_definition_number(is->kind, is->version), is->name, 0,
                 NULL);
    forget(step, is);
    return PAWL_OK;
}
