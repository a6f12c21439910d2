/* The JSON form: one object, whose members are tasks by their ids. The file is mapped and checked
 * as a whole; kept is one node a task, and a task is parsed when it is its turn. */
#include "import/record.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "import/file.h"

struct old_json {
    struct pawl_json **tasks;
};

static struct pawl_old_value value_of(const struct pawl_json *node, struct pawl_arena *keep)
{
    struct pawl_old_value value = {.kind = PAWL_OLD_OTHER};
    switch (node->kind) {
    case PAWL_JSON_NULL:
        value.kind = PAWL_OLD_NONE;
        break;
    case PAWL_JSON_STRING:
        if (pawl_json_text(node, keep, &value.text)) value.kind = PAWL_OLD_TEXT;
        break;
    case PAWL_JSON_NUMBER:
        if (pawl_json_int64(node, &value.number)) {
            value.kind = PAWL_OLD_INT64;
        } else if (pawl_json_double(node, &value.real)) {
            value.kind = PAWL_OLD_DOUBLE;
        }
        break;
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
        value.kind = PAWL_OLD_JSON;
        value.text = node->raw;
        break;
    case PAWL_JSON_FALSE:
    case PAWL_JSON_TRUE:
        break;
    }
    return value;
}

static enum pawl_code read_record(void *self, int64_t number, struct pawl_import_report *report,
                                  struct pawl_arena *keep, struct pawl_old_record *out,
                                  struct pawl_error *err)
{
    const struct old_json *store = self;
    const struct pawl_json *task = store->tasks[number];
    struct pawl_json *root;
    *out = (struct pawl_old_record){.name = task->key};
    if (task->kind != PAWL_JSON_OBJECT) {
        out->fields[PAWL_OLD_ID] = (struct pawl_old_value){.kind = PAWL_OLD_OTHER};
        return PAWL_OK; /* refused for its id, by its key */
    }
    enum pawl_code code = pawl_json_parse_top(task->raw, 1, keep, &root, err);
    if (code != PAWL_OK) return code;
    for (const struct pawl_json *at = pawl_json_first(root); at != NULL; at = pawl_json_next(at)) {
        struct pawl_str key = at->key;
        if (!pawl_json_key(at, keep, &key)) key = at->key;
        enum pawl_old_field field = pawl_old_field_find(key);
        if (field == PAWL_OLD_FIELD_COUNT) {
            pawl_import_ignore_key(report, "task", key);
        } else {
            out->fields[field] = value_of(at, keep);
        }
    }
    return PAWL_OK;
}

static void close_nothing(void *self)
{
    (void)self; /* all of it lies in the arena */
}

enum pawl_code pawl_old_json_open(struct pawl_old_store *store, const struct pawl_import_file *file,
                                  struct pawl_import_report *report, struct pawl_arena *arena,
                                  struct pawl_error *err)
{
    struct pawl_json *root;
    enum pawl_code code = pawl_json_parse_top(file->bytes, 1, arena, &root, err);
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "%s", file->path);
        return code;
    }
    if (root->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "%s is no object of tasks by their ids",
                              file->path);
    }
    struct old_json *self = pawl_arena_take(arena, sizeof *self);
    struct pawl_json **tasks = pawl_arena_take_array(arena, root->child_count + 1, sizeof *tasks);
    if (self == NULL || tasks == NULL)
        return pawl_error_set(err, pawl_arena_code(arena), "no memory for %s", file->path);
    size_t count = 0;
    for (struct pawl_json *at = pawl_json_first(root); at != NULL; at = pawl_json_next(at))
        tasks[count++] = at;
    self->tasks = tasks;
    report->form = PAWL_STR("json");
    *store = (struct pawl_old_store){
        .self = self, .count = (int64_t)count, .read = read_record, .close = close_nothing};
    return PAWL_OK;
}
