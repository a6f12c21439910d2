#include "core/workflow/overlay.h"

#include "base/arena.h"
#include "base/str.h"

bool pawl_overlay_is_object(struct pawl_str text)
{
    struct pawl_str trimmed = pawl_str_trim(text);
    return trimmed.len > 0 && trimmed.ptr[0] == '{';
}

static const struct pawl_json *read(struct pawl_str text, struct pawl_arena *arena)
{
    struct pawl_json *object;
    if (!pawl_overlay_is_object(text)) return NULL;
    return pawl_json_parse_top(text, 1, arena, &object, NULL) == PAWL_OK ? object : NULL;
}

static void put(struct pawl_json_writer *w, const struct pawl_json *member,
                struct pawl_arena *arena)
{
    struct pawl_str key;
    if (!pawl_json_key(member, arena, &key)) return;
    pawl_json_put_key_str(w, key);
    pawl_json_put_raw(w, member->raw);
}

struct pawl_str pawl_overlay(struct pawl_str under, struct pawl_str over, struct pawl_arena *arena)
{
    const struct pawl_json *below = read(under, arena);
    const struct pawl_json *above = read(over, arena);
    if (above != NULL && (below == NULL || below->child_count == 0)) return above->raw;
    if (below != NULL && (above == NULL || above->child_count == 0)) return below->raw;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    for (const struct pawl_json *m = pawl_json_first(above); m != NULL; m = m->next)
        put(&w, m, arena);
    for (const struct pawl_json *m = pawl_json_first(below); m != NULL; m = m->next) {
        struct pawl_str key;
        if (!pawl_json_key(m, arena, &key) || pawl_json_member(above, key) != NULL) continue;
        put(&w, m, arena);
    }
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}
