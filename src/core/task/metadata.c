#include "core/task/metadata.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/uuid.h"

#include <inttypes.h>

/* Numbers made up once; what follows from them is shown and compared, so they stay. */
static const uint64_t hash_keys[2][2] = {
    {UINT64_C(0x636f7272656c6174), UINT64_C(0x696f6e2d69642d31)},
    {UINT64_C(0x636f7272656c6174), UINT64_C(0x696f6e2d69642d32)},
};

struct pawl_str pawl_correlation_id(struct pawl_str task_id, struct pawl_str given,
                                    struct pawl_arena *keep)
{
    if (given.len != 0) return pawl_arena_copy(keep, given);
    uint8_t bytes[16];
    uint64_t high = pawl_hash64(hash_keys[0], task_id);
    uint64_t low = pawl_hash64(hash_keys[1], task_id);
    if (pawl_uuid_parse(task_id, bytes)) {
        high = low = 0;
        for (size_t i = 0; i < 8; i++) high = high << 8 | bytes[i];
        for (size_t i = 8; i < 16; i++) low = low << 8 | bytes[i];
    }
    return pawl_arena_format(keep, "%016" PRIx64 "%016" PRIx64, high, low);
}

/* text with the bytes of it that `old` is replaced: what stands around them stays as it came. */
static struct pawl_str splice(struct pawl_str text, struct pawl_str old, struct pawl_str new,
                              struct pawl_arena *keep)
{
    size_t before = (size_t)(old.ptr - text.ptr);
    struct pawl_str head = {text.ptr, before};
    struct pawl_str tail = {old.ptr + old.len, text.len - before - old.len};
    return pawl_arena_format(keep, "%.*s%.*s%.*s", PAWL_STR_ARG(head), PAWL_STR_ARG(new),
                             PAWL_STR_ARG(tail));
}

/* Most tasks have no metadata of their own. */
static enum pawl_code show_id_alone(struct pawl_str correlation_id, struct pawl_arena *keep,
                                    struct pawl_str *out, struct pawl_error *err)
{
    struct pawl_json_writer shown;
    pawl_json_writer_init(&shown, keep);
    pawl_json_begin_object(&shown);
    pawl_json_put_member_text(&shown, "correlation_id", correlation_id);
    pawl_json_end_object(&shown);
    *out = pawl_json_writer_done(&shown);
    if (out->len > 0) return PAWL_OK;
    return pawl_error_set(err, pawl_arena_code(keep), "no room to show metadata");
}

enum pawl_code pawl_metadata_show(struct pawl_str metadata, struct pawl_str correlation_id,
                                  struct pawl_arena *scratch, struct pawl_arena *keep,
                                  struct pawl_str *out, struct pawl_error *err)
{
    if (metadata.len == 0) return show_id_alone(correlation_id, keep, out, err);
    struct pawl_json *object;
    enum pawl_code code = pawl_json_parse_top(metadata, 1, scratch, &object, err);
    if (code != PAWL_OK) return code;
    if (object->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "metadata is no JSON object");
    }
    const struct pawl_json *member = pawl_json_member(object, PAWL_STR("correlation_id"));
    if (member != NULL && member->kind != PAWL_JSON_NULL) {
        *out = metadata;
        return PAWL_OK;
    }
    struct pawl_json_writer value;
    pawl_json_writer_init(&value, scratch);
    pawl_json_put_text(&value, correlation_id);
    struct pawl_str quoted = pawl_json_writer_done(&value);
    struct pawl_str old = member != NULL ? member->raw : (struct pawl_str){0};
    if (member == NULL) {
        old = (struct pawl_str){object->raw.ptr + object->raw.len - 1, 0};
        quoted = pawl_arena_format(scratch, "%s\"correlation_id\":%.*s",
                                   object->child_count > 0 ? "," : "", PAWL_STR_ARG(quoted));
    }
    struct pawl_str shown = splice(metadata, old, quoted, keep);
    code = pawl_arena_code(scratch);
    if (code == PAWL_OK) code = pawl_arena_code(keep);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room to show metadata");
    *out = shown;
    return PAWL_OK;
}
