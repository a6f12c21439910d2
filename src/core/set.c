#include "core/set.h"

#include "base/assert.h"
#include "base/str.h"
#include "core/task/gate.h"

#include <string.h>

/* What a command did to one entry, so that it can be put back. */
struct pawl_undo {
    struct pawl_undo *next;
    struct pawl_entry *entry;
    struct pawl_entry before; /* flags and row pointer */
    void *content;            /* copy of *before.row, when it was changed in place */
    size_t content_bytes;
};

void pawl_set_init(struct pawl_set *set, struct pawl_arena *arena)
{
    *set = (struct pawl_set){.arena = arena};
    pawl_map_init(&set->entries, arena);
}

bool pawl_append_add(struct pawl_append *list, struct pawl_arena *arena, void *item)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : list->room * 2;
        void **items = pawl_arena_take_array(arena, room, sizeof *items);
        if (items == NULL) return false;
        if (list->count > 0) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->room = room;
    }
    ((void **)list->items)[list->count++] = item;
    return true;
}

static size_t row_bytes(enum pawl_look look)
{
    switch (look) {
    case PAWL_LOOK_TASK: return sizeof(struct pawl_task_row);
    case PAWL_LOOK_QUEUE: return sizeof(struct pawl_queue_row);
    case PAWL_LOOK_WORKER: return sizeof(struct pawl_worker_row);
    case PAWL_LOOK_CONSUMER: return sizeof(struct pawl_consumer_row);
    case PAWL_LOOK_CONTINUATION: return sizeof(struct pawl_continuation_row);
    case PAWL_LOOK_PAYLOAD: return sizeof(struct pawl_str);
    case PAWL_LOOK_WORKFLOW: return sizeof(struct pawl_workflow_row);
    case PAWL_LOOK_RECORD: return sizeof(struct pawl_record_row);
    case PAWL_LOOK_GATE: return sizeof(struct pawl_gate_row);
    default: return 0; /* not changed in place */
    }
}

/* The map's text key: the text, and after it what tells two lists of one number apart. */
static struct pawl_str entry_text(struct pawl_set *set, struct pawl_str text, int64_t after)
{
    if (after == 0) return text;
    pawl_assert(text.len == 0);
    char *bytes = pawl_arena_take(set->arena, sizeof after);
    if (bytes == NULL) return text;
    memcpy(bytes, &after, sizeof after);
    return (struct pawl_str){bytes, sizeof after};
}

/* The entry, made empty if it is new. */
static struct pawl_entry *entry_at(struct pawl_set *set, enum pawl_look look, int64_t number,
                                   struct pawl_str text, int64_t after)
{
    struct pawl_str key = entry_text(set, text, after);
    void **slot = pawl_map_put(&set->entries, (uint32_t)look, number, key);
    if (slot != NULL && *slot == NULL) {
        struct pawl_entry *made = pawl_arena_take(set->arena, sizeof *made);
        if (made != NULL) {
            made->look = look;
            made->number = number;
            made->text = text;
            made->after = after;
        }
        *slot = made;
    }
    if (slot == NULL || *slot == NULL) {
        set->is_full = true;
        return NULL;
    }
    return *slot;
}

struct pawl_entry *pawl_set_look(struct pawl_set *set, enum pawl_look look, int64_t number,
                                 struct pawl_str text, int64_t after, int32_t limit)
{
    struct pawl_entry *entry = entry_at(set, look, number, text, after);
    if (entry == NULL || entry->is_loaded) return entry;
    if (limit > entry->limit) entry->limit = limit;
    if (!entry->is_wanted) {
        entry->is_wanted = pawl_append_add(&set->wanted, set->arena, entry);
        if (!entry->is_wanted) set->is_full = true;
    }
    set->is_short = true;
    return entry;
}

struct pawl_entry *pawl_set_task(struct pawl_set *set, int64_t key)
{
    return pawl_set_look(set, PAWL_LOOK_TASK, key, (struct pawl_str){0}, 0, 0);
}

int64_t pawl_set_key(struct pawl_set *set, enum pawl_look look, struct pawl_str text)
{
    const struct pawl_entry *entry = pawl_set_look(set, look, 0, text, 0, 0);
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? 0 : *(const int64_t *)entry->row;
}

const void *pawl_set_known(const struct pawl_set *set, enum pawl_look look, int64_t number,
                           struct pawl_str text)
{
    void **slot = pawl_map_at(&set->entries, look, number, text);
    const struct pawl_entry *entry = slot == NULL ? NULL : *slot;
    return entry == NULL || !entry->is_loaded ? NULL : entry->row;
}

static bool journal(struct pawl_set *set, struct pawl_entry *entry, size_t content_bytes)
{
    struct pawl_undo *undo = pawl_arena_take(set->arena, sizeof *undo);
    void *content = content_bytes == 0 ? NULL : pawl_arena_take(set->arena, content_bytes);
    if (undo == NULL || (content_bytes > 0 && content == NULL)) {
        set->is_full = true;
        return false;
    }
    *undo = (struct pawl_undo){set->undo, entry, *entry, content, content_bytes};
    if (content != NULL) memcpy(content, entry->row, content_bytes);
    set->undo = undo;
    return true;
}

/* An entry stays in the list of the changed once it is there; save skips those that were undone. */
static void mark_changed(struct pawl_set *set, struct pawl_entry *entry)
{
    entry->is_changed = true;
    if (entry->next_changed != NULL || set->changed_last == entry) return;
    if (set->changed_last == NULL) {
        set->changed = entry;
    } else {
        set->changed_last->next_changed = entry;
    }
    set->changed_last = entry;
}

void *pawl_set_change(struct pawl_set *set, struct pawl_entry *entry)
{
    size_t bytes = row_bytes(entry->look);
    pawl_assert(entry->is_loaded && entry->row != NULL && bytes > 0);
    if (!journal(set, entry, bytes)) return entry->row; /* is_full: the whole command is undone */
    if (entry->look == PAWL_LOOK_TASK && entry->is_stored && entry->saved == NULL) {
        /* content is the row as stored: nothing has changed it yet */
        entry->saved = set->undo->content;
    }
    mark_changed(set, entry);
    return entry->row;
}

void pawl_set_put(struct pawl_set *set, enum pawl_look look, int64_t number, struct pawl_str text,
                  int64_t after, void *row)
{
    struct pawl_entry *entry = entry_at(set, look, number, text, after);
    if (entry == NULL || !journal(set, entry, 0)) return;
    /* a payload is dropped without having been looked at */
    if (look == PAWL_LOOK_PAYLOAD && row == NULL) entry->is_stored = true;
    entry->is_loaded = true;
    entry->row = row;
    mark_changed(set, entry);
}

static void know(struct pawl_set *set, struct pawl_entry *entry, void *row)
{
    if (entry == NULL || !journal(set, entry, 0)) return;
    entry->is_loaded = true;
    entry->row = row;
}

void pawl_set_know(struct pawl_set *set, enum pawl_look look, int64_t number, struct pawl_str text,
                   void *row)
{
    know(set, entry_at(set, look, number, text, 0), row);
}

void pawl_set_know_after(struct pawl_set *set, enum pawl_look look, int64_t number, int64_t after,
                         void *row)
{
    know(set, entry_at(set, look, number, (struct pawl_str){0}, after), row);
}

void pawl_set_know_key(struct pawl_set *set, enum pawl_look look, struct pawl_str text, int64_t key)
{
    int64_t *row = pawl_arena_take(set->arena, sizeof *row);
    if (row == NULL) {
        set->is_full = true;
        return;
    }
    *row = key;
    pawl_set_know(set, look, 0, text, row);
}

void pawl_set_append(struct pawl_set *set, enum pawl_append_kind kind, void *row)
{
    if (row == NULL || !pawl_append_add(&set->appends[kind], set->arena, row)) set->is_full = true;
}

struct pawl_set_mark pawl_set_begin(struct pawl_set *set)
{
    struct pawl_set_mark mark;
    for (int i = 0; i < PAWL_APPEND_KIND_COUNT; i++) mark.counts[i] = set->appends[i].count;
    set->undo = NULL;
    set->is_short = false;
    return mark;
}

void pawl_set_undo(struct pawl_set *set, const struct pawl_set_mark *mark)
{
    for (struct pawl_undo *undo = set->undo; undo != NULL; undo = undo->next) {
        struct pawl_entry *entry = undo->entry;
        struct pawl_entry *next_changed = entry->next_changed;
        bool is_wanted = entry->is_wanted;
        *entry = undo->before;
        entry->next_changed = next_changed; /* it stays in the list, unmarked */
        entry->is_wanted = is_wanted;
        if (undo->content != NULL) {
            /* saved may point at this very content: copy back, do not swap */
            memcpy(entry->row, undo->content, undo->content_bytes);
        }
    }
    for (int i = 0; i < PAWL_APPEND_KIND_COUNT; i++) set->appends[i].count = mark->counts[i];
    set->undo = NULL;
    set->is_short = false;
}

struct pawl_entry *pawl_set_find_changed(const struct pawl_set *set,
                                         bool (*is_wanted)(const struct pawl_entry *entry))
{
    for (const struct pawl_undo *undo = set->undo; undo != NULL; undo = undo->next) {
        if (is_wanted(undo->entry)) return undo->entry;
    }
    return NULL;
}

void pawl_set_answer(struct pawl_set *set, struct pawl_entry *entry, void *row)
{
    entry->is_wanted = false;
    if (entry->is_loaded) return; /* came along with another look */
    entry->is_loaded = true;
    entry->is_stored = row != NULL;
    entry->row = row;
    if (entry->look == PAWL_LOOK_TASK && row != NULL) {
        if (!pawl_append_add(&set->loaded_tasks, set->arena, entry)) set->is_full = true;
    }
}

struct pawl_entry *pawl_set_enter(struct pawl_set *set, enum pawl_look look, int64_t number, void *row)
{
    return pawl_set_enter_text(set, look, number, (struct pawl_str){0}, row);
}

struct pawl_entry *pawl_set_enter_text(struct pawl_set *set, enum pawl_look look, int64_t number,
                                       struct pawl_str text, void *row)
{
    struct pawl_entry *entry = entry_at(set, look, number, text, 0);
    if (entry != NULL && !entry->is_loaded) {
        bool is_wanted = entry->is_wanted;
        pawl_set_answer(set, entry, row);
        entry->is_wanted = is_wanted; /* the store meets it in wanted and finds it loaded */
    }
    return entry;
}

void pawl_set_saved(struct pawl_set *set)
{
    struct pawl_entry *entry = set->changed;
    while (entry != NULL) {
        struct pawl_entry *next = entry->next_changed;
        entry->next_changed = NULL;
        if (entry->is_changed) {
            entry->is_changed = false;
            entry->is_stored = entry->row != NULL;
            entry->saved = NULL;
        }
        entry = next;
    }
    set->changed = NULL;
    set->changed_last = NULL;
    for (int i = 0; i < PAWL_APPEND_KIND_COUNT; i++) {
        if (i != PAWL_APPEND_EVENT && i != PAWL_APPEND_NOTICE) set->appends[i].count = 0;
    }
    set->undo = NULL;
}
