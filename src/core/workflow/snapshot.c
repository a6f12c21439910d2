/* The definition is copied with its nodes, the copies are completed, and written as any definition
 * is. Reading a snapshot and making one of it gives the same text, but for sub-workflows that had
 * no version to be given. */
#include "core/workflow/snapshot.h"

#include "base/arena.h"
#include "base/hash.h"

#include <inttypes.h>
#include <string.h>

/* Numbers made up once; the hashes are stored, so they stay. */
static const uint64_t hash_keys[2][2] = {
    {UINT64_C(0x736e617073686f74), UINT64_C(0x6f662d666c6f7731)},
    {UINT64_C(0x736e617073686f74), UINT64_C(0x6f662d666c6f7732)},
};

void pawl_snapshot_hash(struct pawl_str text, uint64_t out[2])
{
    out[0] = pawl_hash64(hash_keys[0], text);
    out[1] = pawl_hash64(hash_keys[1], text);
}

/* The definition of a task that nobody has registered. */
static struct pawl_task_definition *make_definition(const struct pawl_node *node,
                                                    struct pawl_arena *keep)
{
    struct pawl_task_definition *made = pawl_arena_take(keep, sizeof *made);
    if (made == NULL) return NULL;
    pawl_task_definition_init(made, node->name);
    if (!pawl_node_type_is_polled(node->type)) made->retry_count = made->response_timeout_s = 0;
    return made;
}

static enum pawl_lookup complete_task(struct pawl_node *node,
                                      const struct pawl_definition_source *source,
                                      struct pawl_arena *keep)
{
    if (node->task_definition != NULL || node->type == PAWL_NODE_DYNAMIC) return PAWL_LOOKUP_FOUND;
    const struct pawl_task_definition *registered;
    enum pawl_lookup found = source->task(source->self, node->name, &registered);
    if (found == PAWL_LOOKUP_NONE) node->task_definition = make_definition(node, keep);
    if (found == PAWL_LOOKUP_FOUND) {
        node->task_definition = pawl_arena_take(keep, sizeof *node->task_definition);
        if (node->task_definition != NULL) *node->task_definition = *registered;
    }
    return found;
}

static bool has_version(const struct pawl_sub_workflow *sub)
{
    return sub->version.len != 0 && !pawl_str_equal(sub->version, PAWL_STR("0")) &&
           !pawl_str_equal(sub->version, PAWL_STR("\"\"")) &&
           !pawl_str_equal(sub->version, PAWL_STR("\"0\""));
}

static enum pawl_lookup complete_sub_workflow(struct pawl_node *node,
                                              const struct pawl_definition_source *source,
                                              struct pawl_arena *keep)
{
    const struct pawl_sub_workflow *sub = node->sub_workflow;
    if (node->type != PAWL_NODE_SUB_WORKFLOW || sub == NULL) return PAWL_LOOKUP_FOUND;
    bool is_literal = sub->name.len != 0 && !pawl_str_has(sub->name, PAWL_STR("${"));
    if (!is_literal || sub->definition.len != 0 || has_version(sub)) return PAWL_LOOKUP_FOUND;
    int32_t version;
    enum pawl_lookup found = source->latest_version(source->self, sub->name, &version);
    if (found != PAWL_LOOKUP_FOUND) return found;
    struct pawl_sub_workflow *pinned = pawl_arena_take(keep, sizeof *pinned);
    if (pinned == NULL) return found;
    *pinned = *sub;
    pinned->version = pawl_arena_format(keep, "%" PRId32, version);
    node->sub_workflow = pinned;
    return found;
}

enum pawl_lookup pawl_snapshot_make(const struct pawl_definition *definition,
                                    const struct pawl_definition_source *source,
                                    struct pawl_arena *keep, struct pawl_snapshot *out)
{
    struct pawl_definition copy = *definition;
    copy.nodes = pawl_arena_take_array(keep, (size_t)copy.node_count, sizeof *copy.nodes);
    struct pawl_snapshot snapshot = {0};
    if (copy.nodes == NULL) {
        *out = snapshot;
        return PAWL_LOOKUP_FOUND;
    }
    bool needs = false;
    for (int32_t i = 0; i < copy.node_count; i++) {
        copy.nodes[i] = definition->nodes[i];
        if (complete_task(&copy.nodes[i], source, keep) == PAWL_LOOKUP_NEED) needs = true;
        if (complete_sub_workflow(&copy.nodes[i], source, keep) == PAWL_LOOKUP_NEED) needs = true;
    }
    if (needs) return PAWL_LOOKUP_NEED;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, keep);
    pawl_definition_write(&copy, &w);
    snapshot.text = pawl_json_writer_done(&w);
    pawl_snapshot_hash(snapshot.text, snapshot.hash);
    *out = snapshot;
    return PAWL_LOOKUP_FOUND;
}

struct pawl_str pawl_snapshot_hash_text(const uint64_t hash[2], struct pawl_arena *arena)
{
    return pawl_arena_format(arena, "%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
}

void pawl_snapshot_read(struct pawl_snapshot_row *row, struct pawl_arena *arena)
{
    struct pawl_faults faults;
    struct pawl_definition *definition = NULL;
    pawl_faults_init(&faults, arena);
    enum pawl_code code = pawl_definition_parse(row->text, arena, &faults, &definition, NULL);
    if (code == PAWL_OK && faults.count == 0 && definition->node_count > 0) row->definition = definition;
}
