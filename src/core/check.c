#include "core/check.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/workflow/definition.h"

#include <inttypes.h>
#include <string.h>

static const struct pawl_str none = {0};

/* ---- Fields ---- */

/* A length without bytes is a slip of the caller's; whoever went on with it would read nowhere. */
static enum pawl_code check_there(const char *field, struct pawl_str text, struct pawl_error *err)
{
    if (text.len == 0 || text.ptr != NULL) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: has a length and no bytes", field);
}

static enum pawl_code check_size(const char *field, struct pawl_str text, size_t bytes_max,
                                 struct pawl_error *err)
{
    enum pawl_code code = check_there(field, text, err);
    if (code != PAWL_OK || text.len <= bytes_max) return code;
    return pawl_error_set(err, PAWL_TOO_LARGE, "%s: %zu bytes; at most %zu", field, text.len, bytes_max);
}

/* Text for people: UTF-8 without NUL. */
static enum pawl_code check_text(const char *field, struct pawl_str text, size_t bytes_max,
                                 struct pawl_error *err)
{
    enum pawl_code code = check_size(field, text, bytes_max, err);
    if (code != PAWL_OK) return code;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\0') return pawl_error_set(err, PAWL_INVALID, "%s: holds a NUL", field);
    }
    if (pawl_utf8_is_valid(text)) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: is not UTF-8", field);
}

enum pawl_code pawl_check_name(const char *field, struct pawl_str name, size_t bytes_max,
                               struct pawl_error *err)
{
    if (name.len == 0) return pawl_error_set(err, PAWL_INVALID, "%s: is empty", field);
    enum pawl_code code = check_there(field, name, err);
    if (code != PAWL_OK) return code;
    if (name.len > bytes_max) {
        return pawl_error_set(err, PAWL_INVALID, "%s: %zu bytes; at most %zu", field, name.len,
                              bytes_max);
    }
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] >= 0x20 && name.ptr[i] != 0x7f) continue;
        return pawl_error_set(err, PAWL_INVALID, "%s: holds a control character", field);
    }
    if (!pawl_utf8_is_valid(name)) return pawl_error_set(err, PAWL_INVALID, "%s: is not UTF-8", field);
    if (pawl_str_trim(name).len == name.len) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: begins or ends with a blank", field);
}

static enum pawl_code check_json(const char *field, struct pawl_str text, size_t bytes_max,
                                 struct pawl_arena *scratch, struct pawl_error *err)
{
    if (text.len == 0) return PAWL_OK;
    enum pawl_code code = check_size(field, text, bytes_max, err);
    if (code != PAWL_OK) return code;
    struct pawl_arena_mark mark = pawl_arena_mark(scratch);
    code = pawl_json_check(text, scratch, err);
    pawl_arena_rewind(scratch, mark);
    if (code != PAWL_OK) pawl_error_prefix(err, "%s", field);
    return code;
}

enum pawl_code pawl_check_range(const char *field, int64_t value, int64_t min, int64_t max,
                                struct pawl_error *err)
{
    if (value >= min && value <= max) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: %" PRId64 " is not from %" PRId64 " to %" PRId64, field,
                          value, min, max);
}

static bool is_id_char(char c, bool is_first)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
    return !is_first && (c == '.' || c == '_' || c == '-' || c == ':');
}

/* Ids that end so name an attempt on Conductor's wire. */
static bool is_attempt_id(struct pawl_str id)
{
    static const struct pawl_str mark = PAWL_STR_INIT("-attempt-");
    size_t digits = 0;
    while (digits < id.len && id.ptr[id.len - 1 - digits] >= '0' && id.ptr[id.len - 1 - digits] <= '9') {
        digits++;
    }
    return digits > 0 && pawl_str_ends((struct pawl_str){id.ptr, id.len - digits}, mark);
}

static enum pawl_code check_new_id(struct pawl_str id, struct pawl_error *err)
{
    enum pawl_code code = check_there("id", id, err);
    if (code != PAWL_OK) return code;
    if (id.len > PAWL_TASK_ID_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "id: %zu bytes; at most %d", id.len,
                              PAWL_TASK_ID_BYTES_MAX);
    }
    for (size_t i = 0; i < id.len; i++) {
        if (is_id_char(id.ptr[i], i == 0)) continue;
        return pawl_error_set(err, PAWL_INVALID,
                              "id: letters, digits and . _ : - after a letter or digit, please");
    }
    if (!is_attempt_id(id)) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "id: ids that end in -attempt-N are reserved");
}

bool pawl_correlation_id_is(struct pawl_str id)
{
    enum { CORRELATION_ID_BYTES_MAX = 128 };
    if (id.len == 0 || id.len > CORRELATION_ID_BYTES_MAX) return false;
    for (size_t i = 0; i < id.len; i++) {
        if (!is_id_char(id.ptr[i], i == 0)) return false;
    }
    return true;
}

enum pawl_code pawl_check_queue_name(struct pawl_str name, struct pawl_error *err)
{
    return pawl_check_name("queue", name, PAWL_QUEUE_NAME_BYTES_MAX, err);
}

enum pawl_code pawl_check_retry(const struct pawl_retry *retry, struct pawl_error *err)
{
    enum pawl_code code = pawl_check_range("max_retries", retry->max_retries, -1, PAWL_RETRIES_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("backoff", retry->backoff, 0, PAWL_BACKOFF_FIXED, err);
    if (code == PAWL_OK) code = pawl_check_range("delay_ms", retry->delay_ms, -1, PAWL_DELAY_MS_MAX, err);
    if (code == PAWL_OK) {
        code = pawl_check_range("delay_ms_max", retry->delay_ms_max, 0, PAWL_DELAY_MS_MAX / 2, err);
    }
    if (code == PAWL_OK) {
        code = pawl_check_range("jitter_ms", retry->jitter_ms, 0, PAWL_DELAY_MS_MAX / 2, err);
    }
    return code;
}

/* ---- Create ---- */

struct pawl_str pawl_title_derive(struct pawl_str title, struct pawl_str goal, struct pawl_arena *arena)
{
    struct pawl_str given = pawl_str_trim(title);
    if (given.len > 0) return given;
    struct pawl_str start = pawl_utf8_cut_points(goal, PAWL_TITLE_FROM_GOAL_POINTS);
    bool is_cut = start.len < goal.len;
    struct pawl_str derived =
        pawl_arena_format(arena, "%.*s%s", PAWL_STR_ARG(start), is_cut ? "..." : "");
    if (derived.ptr == NULL) return none;
    /* a title is one line */
    char *text = pawl_arena_take(arena, derived.len + 1);
    if (text == NULL) return none;
    for (size_t i = 0; i < derived.len; i++) {
        char c = derived.ptr[i];
        text[i] = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    }
    return (struct pawl_str){text, derived.len};
}

static int64_t body_digest(const struct pawl_task_new *ask)
{
    static const uint64_t key[2] = {UINT64_C(0x7061776c2d626f64), UINT64_C(0x792d646967657374)};
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add(&hasher, ask->queue);
    pawl_hasher_add(&hasher, ask->input);
    pawl_hasher_add(&hasher, ask->goal);
    pawl_hasher_add(&hasher, ask->title);
    pawl_hasher_add(&hasher, ask->metadata);
    const int64_t numbers[] = {ask->priority,
                               ask->hold,
                               ask->retry.max_retries,
                               ask->retry.backoff,
                               ask->retry.delay_ms,
                               ask->retry.delay_ms_max,
                               ask->retry.jitter_ms,
                               ask->run_at_ms,
                               ask->delay_ms,
                               ask->timeout_ms,
                               ask->dependency_policy};
    for (size_t i = 0; i < PAWL_COUNT_OF(numbers); i++) pawl_hasher_add_int64(&hasher, numbers[i]);
    for (size_t i = 0; i < ask->depends_on_count; i++) pawl_hasher_add(&hasher, ask->depends_on[i]);
    return (int64_t)pawl_hasher_end(&hasher);
}

/* metadata: an object; the correlation id in it, if it has a usable one. */
static enum pawl_code check_metadata(struct pawl_str text, struct pawl_arena *scratch,
                                     struct pawl_str *correlation_id, struct pawl_error *err)
{
    if (text.len == 0) return PAWL_OK;
    enum pawl_code code = check_size("metadata", text, PAWL_METADATA_BYTES_MAX, err);
    if (code != PAWL_OK) return code;
    struct pawl_json *root;
    code = pawl_json_parse_top(text, 1, scratch, &root, err);
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "metadata");
        return code;
    }
    if (root->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "metadata: is not an object");
    }
    const struct pawl_json *named = pawl_json_member(root, PAWL_STR("correlation_id"));
    if (named == NULL || named->kind == PAWL_JSON_NULL) return PAWL_OK;
    struct pawl_str id = none;
    if (pawl_json_text(named, scratch, &id) && pawl_correlation_id_is(id)) {
        *correlation_id = id;
        return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_INVALID, "metadata: correlation_id is not one");
}

static enum pawl_code check_fields(const struct pawl_task_new *ask, struct pawl_arena *scratch,
                                   struct pawl_member *member, struct pawl_error *err)
{
    enum pawl_code code = ask->id.len == 0 ? PAWL_OK : check_new_id(ask->id, err);
    if (code == PAWL_OK && ask->queue.len > 0) code = pawl_check_queue_name(ask->queue, err);
    if (code == PAWL_OK) code = check_text("goal", ask->goal, PAWL_GOAL_BYTES_MAX, err);
    if (code == PAWL_OK) {
        code = check_text("title", ask->title, PAWL_TITLE_POINTS_MAX * PAWL_UTF8_BYTES_MAX, err);
    }
    if (code == PAWL_OK && pawl_utf8_points(pawl_str_trim(ask->title)) > PAWL_TITLE_POINTS_MAX) {
        code = pawl_error_set(err, PAWL_TOO_LARGE, "title: more than %d characters",
                              PAWL_TITLE_POINTS_MAX);
    }
    if (code == PAWL_OK) code = check_json("input", ask->input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    if (code == PAWL_OK) code = check_there("correlation_id", ask->correlation_id, err);
    if (code == PAWL_OK && ask->correlation_id.len > 0) {
        member->correlation_id = ask->correlation_id;
        if (!pawl_correlation_id_is(ask->correlation_id)) {
            code = pawl_error_set(err, PAWL_INVALID,
                                  "correlation_id: at most 128 letters, digits and . _ : -");
        }
    }
    if (code == PAWL_OK) {
        code = check_metadata(ask->metadata, scratch, &member->correlation_id, err);
    }
    if (code == PAWL_OK && ask->key.len > 0) {
        code = pawl_check_name("key", ask->key, PAWL_KEY_BYTES_MAX, err);
    }
    if (code == PAWL_OK) {
        code = pawl_check_range("priority", ask->priority, PAWL_PRIORITY_LOWEST, PAWL_PRIORITY_MAX, err);
    }
    if (code == PAWL_OK) code = pawl_check_retry(&ask->retry, err);
    if (code == PAWL_OK) code = pawl_check_range("run_at_ms", ask->run_at_ms, 0, PAWL_INSTANT_MS_MAX - PAWL_DELAY_MS_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("delay_ms", ask->delay_ms, 0, PAWL_DELAY_MS_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("timeout_ms", ask->timeout_ms, 0, PAWL_DELAY_MS_MAX, err);
    if (code == PAWL_OK) {
        code = pawl_check_range("dependency_policy", ask->dependency_policy, 0, PAWL_DEPENDENCY_IGNORE, err);
    }
    if (code == PAWL_OK) code = check_text("actor", ask->actor, PAWL_REASON_BYTES_MAX, err);
    return code;
}

/* Which member of the batch a dependency names: by "#n", or by the id a member chose; -1 for none. */
static enum pawl_code find_member(struct pawl_str name, size_t count, struct pawl_map *ids, int32_t *out,
                                  struct pawl_error *err)
{
    *out = -1;
    if (name.len > 1 && name.ptr[0] == '#') {
        int64_t number;
        struct pawl_str digits = {name.ptr + 1, name.len - 1};
        if (!pawl_int64_parse(digits, 0, (int64_t)count - 1, &number)) {
            return pawl_error_set(err, PAWL_INVALID, "depends_on: %.*s is no member of this batch",
                                  PAWL_STR_ARG(name));
        }
        *out = (int32_t)number;
        return PAWL_OK;
    }
    bool is_id = name.len > 0 && name.len <= PAWL_TASK_ID_STORED_BYTES_MAX;
    for (size_t i = 0; is_id && i < name.len; i++) is_id = is_id_char(name.ptr[i], i == 0);
    if (!is_id) return pawl_error_set(err, PAWL_INVALID, "depends_on: not an id");
    void **slot = pawl_map_at(ids, 0, 0, name);
    if (slot != NULL) *out = (int32_t)((intptr_t)*slot - 1);
    return PAWL_OK;
}

static enum pawl_code check_dependencies(const struct pawl_task_new *ask, size_t self, size_t count,
                                         struct pawl_map *ids, struct pawl_arena *scratch,
                                         struct pawl_member *member, struct pawl_error *err)
{
    if (ask->depends_on_count > PAWL_DEPENDENCIES_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "depends_on: %zu; at most %d", ask->depends_on_count,
                              PAWL_DEPENDENCIES_MAX);
    }
    int32_t *members = pawl_arena_take_array(scratch, ask->depends_on_count + 1, sizeof *members);
    if (members == NULL) return PAWL_NO_MEMORY;
    struct pawl_map seen;
    pawl_map_init(&seen, scratch);
    for (size_t i = 0; i < ask->depends_on_count; i++) {
        struct pawl_str name = ask->depends_on[i];
        enum pawl_code code = check_there("depends_on", name, err);
        if (code == PAWL_OK) code = find_member(name, count, ids, &members[i], err);
        if (code != PAWL_OK) return code;
        if (members[i] == (int32_t)self || (ask->id.len > 0 && pawl_str_equal(ask->id, name))) {
            return pawl_error_set(err, PAWL_INVALID, "depends_on: a task cannot wait for itself");
        }
        bool is_member = members[i] >= 0;
        void **slot =
            pawl_map_put(&seen, is_member, is_member ? members[i] : 0, is_member ? none : name);
        if (slot == NULL) return PAWL_NO_MEMORY;
        if (*slot != NULL) {
            return pawl_error_set(err, PAWL_INVALID, "depends_on: %.*s is named twice",
                                  PAWL_STR_ARG(name));
        }
        *slot = members;
    }
    member->member_of = members;
    return PAWL_OK;
}

/* Goes from one that is left over to one that it waits for, until one comes again: from there on it is the circle. */
static size_t walk_circle(const struct pawl_member *members, const size_t *open, size_t *path, size_t *place)
{
    size_t len = 0;
    size_t at = 0;
    while (open[at] == 0) at++;
    while (place[at] == 0) {
        path[len++] = at;
        place[at] = len;
        size_t j = 0;
        while (members[at].member_of[j] < 0 || open[members[at].member_of[j]] == 0) j++;
        at = (size_t)members[at].member_of[j];
    }
    size_t before = place[at] - 1;
    memmove(path, path + before, (len - before) * sizeof *path);
    return len - before;
}

/* Takes away, again and again, members that wait for nobody; what is left waits in a circle, or for one. *circle is
 * NULL with 0. */
static size_t find_circle(const struct pawl_member *members, size_t count, struct pawl_arena *scratch,
                          const size_t **circle)
{
    *circle = NULL;
    size_t *open = pawl_arena_take_array(scratch, count, sizeof *open);
    size_t *ready = pawl_arena_take_array(scratch, count, sizeof *ready);
    size_t *first = pawl_arena_take_array(scratch, count + 1, sizeof *first);
    if (open == NULL || ready == NULL || first == NULL) return 0;
    size_t edges = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < members[i].ask->depends_on_count; j++) {
            if (members[i].member_of[j] < 0) continue;
            open[i]++;
            first[members[i].member_of[j] + 1]++;
            edges++;
        }
    }
    if (edges == 0) return 0;
    /* waiters of member m: waiters[first[m]] to waiters[first[m + 1]] */
    size_t *waiters = pawl_arena_take_array(scratch, edges, sizeof *waiters);
    size_t *at = pawl_arena_take_array(scratch, count, sizeof *at);
    size_t *place = pawl_arena_take_array(scratch, count, sizeof *place);
    if (waiters == NULL || at == NULL || place == NULL) return 0;
    for (size_t i = 0; i < count; i++) {
        first[i + 1] += first[i];
        at[i] = first[i];
    }
    size_t ready_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (open[i] == 0) ready[ready_count++] = i;
        for (size_t j = 0; j < members[i].ask->depends_on_count; j++) {
            int32_t on = members[i].member_of[j];
            if (on >= 0) waiters[at[on]++] = i;
        }
    }
    for (size_t done = 0; done < ready_count; done++) {
        for (size_t w = first[ready[done]]; w < first[ready[done] + 1]; w++) {
            if (--open[waiters[w]] == 0) ready[ready_count++] = waiters[w];
        }
    }
    if (ready_count == count) return 0;
    *circle = ready; /* nobody needs it any more */
    return walk_circle(members, open, ready, place);
}

struct pawl_str pawl_circle_text(const struct pawl_str *names, size_t count, struct pawl_arena *arena)
{
    struct pawl_str text = PAWL_STR("it waits for itself: ");
    for (size_t i = 0; i <= count; i++) {
        if (i == PAWL_CIRCLE_NAMED_MAX && count > PAWL_CIRCLE_NAMED_MAX) {
            return pawl_arena_format(arena, "%.*s, and %zu more", PAWL_STR_ARG(text), count - i);
        }
        text = pawl_arena_format(arena, "%.*s%s%.*s", PAWL_STR_ARG(text), i == 0 ? "" : " waits for ",
                                 PAWL_STR_ARG(names[i % count]));
    }
    return text;
}

static enum pawl_code check_circles(const struct pawl_member *members, size_t count,
                                    struct pawl_arena *scratch, struct pawl_error *err)
{
    const size_t *circle;
    size_t len = find_circle(members, count, scratch, &circle);
    struct pawl_str *names = len == 0 ? NULL : pawl_arena_take_array(scratch, len, sizeof *names);
    if (names == NULL) return PAWL_OK; /* or no memory, which the arena tells */
    for (size_t i = 0; i < len; i++) {
        names[i] = members[circle[i]].ask->id;
        if (names[i].len == 0) names[i] = pawl_arena_format(scratch, "#%zu", circle[i]);
    }
    return pawl_error_set(err, PAWL_INVALID, "member #%zu: depends_on: %.*s", circle[0],
                          PAWL_STR_ARG(pawl_circle_text(names, len, scratch)));
}

static size_t body_bytes(const struct pawl_task_new *ask)
{
    return ask->input.len + ask->goal.len + ask->metadata.len + ask->title.len;
}

enum pawl_code pawl_check_create(const struct pawl_task_new *asks, size_t count,
                                 struct pawl_str correlation_id, struct pawl_arena *scratch,
                                 const struct pawl_member **out, struct pawl_error *err)
{
    if (count == 0) return pawl_error_set(err, PAWL_INVALID, "the batch has no members");
    if (count > PAWL_BATCH_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "the batch has %zu members; at most %d", count,
                              PAWL_BATCH_MAX);
    }
    struct pawl_member *members = pawl_arena_take_array(scratch, count, sizeof *members);
    struct pawl_map ids;
    pawl_map_init(&ids, scratch);
    size_t bytes = 0;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; members != NULL && i < count && code == PAWL_OK; i++) {
        bytes += body_bytes(&asks[i]);
        if (asks[i].id.len == 0 || asks[i].id.ptr == NULL) continue; /* check_fields says so */
        void **slot = pawl_map_put(&ids, 0, 0, asks[i].id);
        if (slot == NULL) break;
        if (*slot != NULL) {
            code = pawl_error_set(err, PAWL_CONFLICT, "id: %.*s is named twice in this batch",
                                  PAWL_STR_ARG(asks[i].id));
        }
        *slot = (void *)((intptr_t)i + 1);
    }
    if (code == PAWL_OK && bytes > PAWL_BATCH_BYTES_MAX) {
        code = pawl_error_set(err, PAWL_TOO_LARGE, "the batch has %zu bytes; at most %d", bytes,
                              PAWL_BATCH_BYTES_MAX);
    }
    for (size_t i = 0; members != NULL && i < count && code == PAWL_OK; i++) {
        struct pawl_member *member = &members[i];
        member->ask = &asks[i];
        member->correlation_id = pawl_correlation_id_is(correlation_id) ? correlation_id : none;
        code = check_fields(&asks[i], scratch, member, err);
        if (code == PAWL_OK) {
            code = check_dependencies(&asks[i], i, count, &ids, scratch, member, err);
        }
        if (code == PAWL_OK) {
            member->title = pawl_title_derive(asks[i].title, asks[i].goal, scratch);
            member->body_digest = body_digest(&asks[i]);
        } else if (count > 1) pawl_error_prefix(err, "member #%zu", i);
    }
    if (code == PAWL_OK && members != NULL) code = check_circles(members, count, scratch, err);
    if (pawl_arena_code(scratch) != PAWL_OK) {
        return pawl_error_set(err, pawl_arena_code(scratch), "no memory to check the batch");
    }
    if (code == PAWL_OK) *out = members;
    return code;
}

size_t pawl_check_circle(const struct pawl_task_new *asks, size_t count, struct pawl_arena *scratch,
                         const size_t **circle)
{
    *circle = NULL;
    struct pawl_member *members = pawl_arena_take_array(scratch, count, sizeof *members);
    struct pawl_map ids;
    pawl_map_init(&ids, scratch);
    if (members == NULL) return 0;
    for (size_t i = 0; i < count; i++) {
        void **slot = asks[i].id.len == 0 ? NULL : pawl_map_put(&ids, 0, 0, asks[i].id);
        if (slot != NULL && *slot == NULL) *slot = (void *)((intptr_t)i + 1);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t *member_of = pawl_arena_take_array(scratch, asks[i].depends_on_count + 1, sizeof *member_of);
        if (member_of == NULL) return 0;
        members[i] = (struct pawl_member){.ask = &asks[i], .member_of = member_of};
        for (size_t j = 0; j < asks[i].depends_on_count; j++) {
            (void)find_member(asks[i].depends_on[j], count, &ids, &member_of[j], NULL); /* -1 for what is none */
        }
    }
    return find_circle(members, count, scratch, circle);
}

/* ---- The other commands ---- */

static enum pawl_code check_lease_ms(int64_t lease_ms, struct pawl_error *err)
{
    if (lease_ms == 0) return PAWL_OK;
    return pawl_check_range("lease_ms", lease_ms, PAWL_LEASE_MS_MIN, PAWL_LEASE_MS_MAX, err);
}

enum pawl_code pawl_check_claim(const struct pawl_claim *ask, struct pawl_error *err)
{
    enum pawl_code code = pawl_check_name("worker_id", ask->worker_id, PAWL_WORKER_ID_BYTES_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("max", ask->max, 0, PAWL_BATCH_MAX, err);
    if (code == PAWL_OK) {
        code = pawl_check_range("queues", (int64_t)ask->queue_count, 0, PAWL_CLAIM_QUEUES_MAX, err);
    }
    for (size_t i = 0; code == PAWL_OK && i < ask->queue_count; i++) {
        code = pawl_check_queue_name(ask->queues[i], err);
    }
    if (code == PAWL_OK) {
        code = pawl_check_range("priority_min", ask->priority_min, 0, PAWL_PRIORITY_MAX, err);
    }
    if (code == PAWL_OK) code = check_lease_ms(ask->lease_ms, err);
    if (code == PAWL_OK) code = pawl_check_range("wait_ms", ask->wait_ms, 0, PAWL_WAIT_MS_MAX, err);
    if (code == PAWL_OK && ask->request_id.len > 0) {
        code = pawl_check_name("request_id", ask->request_id, PAWL_KEY_BYTES_MAX, err);
    }
    return code;
}

static enum pawl_code check_fence(const struct pawl_fence *fence, struct pawl_error *err)
{
    if (fence->task_id.len == 0) return pawl_error_set(err, PAWL_INVALID, "fence: task_id is empty");
    enum pawl_code code = check_there("fence: task_id", fence->task_id, err);
    if (code == PAWL_OK) code = pawl_check_name("fence: owner", fence->owner, PAWL_WORKER_ID_BYTES_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("fence: epoch", fence->epoch, 1, INT64_MAX, err);
    return code;
}

static enum pawl_code check_renew(const struct pawl_command *command, struct pawl_error *err)
{
    if (command->ask.renew.count > PAWL_BATCH_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "%zu renewals; at most %d at once",
                              command->ask.renew.count, PAWL_BATCH_MAX);
    }
    enum pawl_code code = check_lease_ms(command->ask.renew.lease_ms, err);
    for (size_t i = 0; code == PAWL_OK && i < command->ask.renew.count; i++) {
        code = check_fence(&command->ask.renew.fences[i], err);
    }
    return code;
}

static enum pawl_code check_failure(const struct pawl_failure *failure, struct pawl_error *err)
{
    enum pawl_code code = check_text("error", failure->error, PAWL_ERROR_BYTES_MAX, err);
    if (code != PAWL_OK) return code;
    return pawl_check_range("retry_after_ms", failure->retry_after_ms, -1, PAWL_DELAY_MS_MAX, err);
}

static enum pawl_code check_resolve(const struct pawl_command *command, struct pawl_arena *scratch,
                                    struct pawl_error *err)
{
    struct pawl_str text = command->ask.resolve.text;
    switch (command->ask.resolve.outcome) {
    case PAWL_TASK_COMPLETED:
        return check_json("result", text, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    case PAWL_TASK_FAILED:
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_CANCELLED:
        return check_text("text", text, PAWL_ERROR_BYTES_MAX, err);
    case PAWL_TASK_PENDING:
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_PAUSED:
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_DEAD_LETTER:
        break;
    }
    return pawl_error_set(err, PAWL_INVALID,
                          "outcome: COMPLETED, FAILED, QUEUED or CANCELLED, please");
}

static enum pawl_code check_queue_set(const struct pawl_queue_set *ask, struct pawl_error *err)
{
    enum pawl_code code = pawl_check_queue_name(ask->name, err);
    if (code == PAWL_OK) code = pawl_check_range("pause", ask->pause, 0, 2, err);
    if (code == PAWL_OK && ask->set_lease) code = check_lease_ms(ask->lease_ms, err);
    if (code == PAWL_OK && ask->set_retry) code = pawl_check_retry(&ask->retry, err);
    return code;
}

static enum pawl_code check_redrive(const struct pawl_redrive *ask, struct pawl_arena *scratch,
                                    struct pawl_error *err)
{
    enum pawl_code code = ask->queue.len == 0 ? PAWL_OK : pawl_check_queue_name(ask->queue, err);
    if (code == PAWL_OK) code = check_text("error_has", ask->error_has, PAWL_REASON_BYTES_MAX, err);
    if (code == PAWL_OK) code = pawl_check_range("max", ask->max, 0, INT64_MAX, err);
    if (code == PAWL_OK) {
        code = check_json("input", ask->resume.input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK) code = check_text("actor", ask->actor, PAWL_REASON_BYTES_MAX, err);
    if (code == PAWL_OK) code = check_text("reason", ask->reason, PAWL_REASON_BYTES_MAX, err);
    return code;
}

static enum pawl_code check_definition(const struct pawl_definition_new *is, struct pawl_error *err)
{
    size_t bytes_max = is->kind == PAWL_DEFINITION_TASK ? PAWL_QUEUE_NAME_BYTES_MAX
                                                        : PAWL_DEFINITION_NAME_BYTES_MAX;
    enum pawl_code code =
        pawl_check_range("kind", is->kind, PAWL_DEFINITION_TASK, PAWL_DEFINITION_KIND_LAST, err);
    if (code == PAWL_OK) code = pawl_check_name("name", is->name, bytes_max, err);
    if (code == PAWL_OK) code = pawl_check_range("version", is->version, INT32_MIN, INT32_MAX, err);
    return code;
}

static enum pawl_code check_logs(const struct pawl_update *update, struct pawl_error *err)
{
    if (update->log_count > PAWL_BATCH_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "logs: %zu lines; at most %d", update->log_count,
                              PAWL_BATCH_MAX);
    }
    for (size_t i = 0; i < update->log_count; i++) {
        enum pawl_code code = check_text("log", update->logs[i], PAWL_LOG_LINE_BYTES_MAX, err);
        if (code == PAWL_OK) continue;
        pawl_error_prefix(err, "logs[%zu]", i);
        return code;
    }
    return PAWL_OK;
}

static enum pawl_code check_update(const struct pawl_update *update, struct pawl_arena *scratch,
                                   struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    if (!update->extends_lease) {
        code = pawl_check_range("status", update->status, PAWL_UPDATE_IN_PROGRESS, PAWL_UPDATE_CANCELED, err);
    }
    if (code == PAWL_OK) code = check_json("output", update->output, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    if (code == PAWL_OK) code = check_text("reason", update->reason, PAWL_ERROR_BYTES_MAX, err);
    if (code == PAWL_OK) {
        code = pawl_check_range("callback_after_ms", update->callback_after_ms, 0, PAWL_DELAY_MS_MAX, err);
    }
    if (code == PAWL_OK && update->worker_id.len > 0) {
        code = pawl_check_name("worker_id", update->worker_id, PAWL_WORKER_ID_BYTES_MAX, err);
    }
    if (code == PAWL_OK) code = pawl_check_range("epoch", update->epoch, 0, INT64_MAX, err);
    return code == PAWL_OK ? check_logs(update, err) : code;
}

/* The bodies have been read as definitions by whoever registers them, so here they are looked at no more than any
 * JSON. */
static enum pawl_code check_define(const struct pawl_command *command, struct pawl_arena *scratch,
                                   struct pawl_error *err)
{
    size_t count = command->ask.define.count;
    size_t bytes = 0;
    if (count == 0) return pawl_error_set(err, PAWL_INVALID, "definitions: there are none");
    if (count > PAWL_BATCH_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "definitions: %zu; at most %d", count, PAWL_BATCH_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pawl_definition_new *is = &command->ask.define.items[i];
        enum pawl_code code = check_definition(is, err);
        if (code == PAWL_OK && is->body.len == 0) code = pawl_error_set(err, PAWL_INVALID, "body: is empty");
        if (code == PAWL_OK) code = check_json("body", is->body, PAWL_DEFINITION_BYTES_MAX, scratch, err);
        if (code == PAWL_OK && pawl_str_trim(is->body).ptr[0] != '{') {
            code = pawl_error_set(err, PAWL_INVALID, "body: is no object");
        }
        if (code != PAWL_OK) {
            pawl_error_prefix(err, "definitions[%zu]", i);
            return code;
        }
        bytes += is->body.len;
    }
    if (bytes <= PAWL_BATCH_BYTES_MAX) return PAWL_OK;
    return pawl_error_set(err, PAWL_TOO_LARGE, "definitions: %zu bytes together; at most %d", bytes,
                          PAWL_BATCH_BYTES_MAX);
}

static enum pawl_code check_object(const char *field, struct pawl_str text, size_t bytes_max,
                                   struct pawl_arena *scratch, struct pawl_error *err)
{
    enum pawl_code code = check_json(field, text, bytes_max, scratch, err);
    if (code != PAWL_OK || text.len == 0 || pawl_str_trim(text).ptr[0] == '{') return code;
    return pawl_error_set(err, PAWL_INVALID, "%s: must be a JSON object", field);
}

static enum pawl_code check_workflow_start(const struct pawl_workflow_start *ask,
                                           struct pawl_arena *scratch, struct pawl_error *err)
{
    struct pawl_str name = ask->definition != NULL ? ask->definition->name : ask->name;
    enum pawl_code code = pawl_check_name("name", name, PAWL_DEFINITION_NAME_BYTES_MAX, err);
    if (code == PAWL_OK && ask->definition != NULL && ask->definition->node_count == 0) {
        code = pawl_error_set(err, PAWL_INVALID, "tasks: there are none");
    }
    if (code == PAWL_OK) code = pawl_check_range("version", ask->version, 0, INT32_MAX, err);
    if (code == PAWL_OK && ask->id.len > 0) {
        code = pawl_check_name("id", ask->id, PAWL_TASK_ID_BYTES_MAX, err);
    }
    if (code == PAWL_OK) {
        code = check_object("input", ask->input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK) {
        code = check_text("correlation_id", ask->correlation_id, PAWL_KEY_BYTES_MAX, err);
    }
    if (code == PAWL_OK) code = pawl_check_range("priority", ask->priority, 0, PAWL_PRIORITY_MAX, err);
    if (code == PAWL_OK) {
        code = check_object("domains", ask->domains, PAWL_METADATA_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK && ask->idempotency_key.len > 0) {
        code = pawl_check_name("idempotency_key", ask->idempotency_key, PAWL_KEY_BYTES_MAX, err);
    }
    return code;
}

static enum pawl_code check_workflow_operate(const struct pawl_workflow_operate *ask,
                                             struct pawl_arena *scratch, struct pawl_error *err)
{
    enum pawl_code code =
        pawl_check_range("verb", ask->verb, PAWL_WORKFLOW_PAUSE, PAWL_WORKFLOW_SET_VARIABLES, err);
    bool names_task = ask->verb == PAWL_WORKFLOW_SKIP;
    if (code == PAWL_OK && names_task && ask->reference.len == 0) {
        code = pawl_error_set(err, PAWL_INVALID, "reference: is empty");
    }
    if (code == PAWL_OK) code = check_text("reason", ask->reason, PAWL_ERROR_BYTES_MAX, err);
    if (code == PAWL_OK) {
        code = check_text("correlation_id", ask->correlation_id, PAWL_KEY_BYTES_MAX, err);
    }
    if (code == PAWL_OK) {
        code = check_object("task_input", ask->task_input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK) {
        code = check_object("task_output", ask->task_output, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK) {
        code = check_object("workflow_input", ask->workflow_input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    if (code == PAWL_OK) {
        code = check_object("variables", ask->variables, PAWL_VARIABLES_BYTES_MAX, scratch, err);
    }
    return code;
}

/* What only this kind of command carries. */
static enum pawl_code check_own(const struct pawl_command *command, struct pawl_arena *scratch,
                                struct pawl_error *err)
{
    switch (command->kind) {
    case PAWL_COMMAND_CLAIM:
    case PAWL_COMMAND_START:
        return pawl_check_claim(command->ask.claim.ask, err);
    case PAWL_COMMAND_RENEW:
        return check_renew(command, err);
    case PAWL_COMMAND_PROGRESS:
        if (command->ask.percent - command->ask.percent == 0.0) return PAWL_OK; /* NaN, infinities */
        return pawl_error_set(err, PAWL_INVALID, "percent: is not a finite number");
    case PAWL_COMMAND_CHECKPOINT: {
        enum pawl_code code = pawl_check_range("step", command->ask.checkpoint.step, 0, INT32_MAX, err);
        if (code != PAWL_OK) return code;
        if (command->ask.checkpoint.state.len == 0) {
            return pawl_error_set(err, PAWL_INVALID, "state: is empty");
        }
        return check_json("state", command->ask.checkpoint.state, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    }
    case PAWL_COMMAND_LOG:
        return check_text("line", command->ask.line, PAWL_LOG_LINE_BYTES_MAX, err);
    case PAWL_COMMAND_COMPLETE:
        return check_json("result", command->ask.result, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    case PAWL_COMMAND_FAIL:
        return check_failure(&command->ask.failure, err);
    case PAWL_COMMAND_UPDATE:
        return check_update(command->ask.update, scratch, err);
    case PAWL_COMMAND_RELEASE:
        if (!command->has_fence) {
            return pawl_error_set(err, PAWL_MISUSE, "release: only a holder can, with its fence");
        }
        return pawl_check_range("delay_ms", command->ask.delay_ms, 0, PAWL_DELAY_MS_MAX, err);
    case PAWL_COMMAND_RESUME:
        return check_json("input", command->ask.resume.input, PAWL_PAYLOAD_BYTES_MAX, scratch, err);
    case PAWL_COMMAND_RESOLVE:
        return check_resolve(command, scratch, err);
    case PAWL_COMMAND_REDRIVE:
        return check_redrive(command->ask.redrive, scratch, err);
    case PAWL_COMMAND_QUEUE_SET:
        return check_queue_set(command->ask.queue_set, err);
    case PAWL_COMMAND_CONSUMER_OPEN:
    case PAWL_COMMAND_ACKNOWLEDGE:
    case PAWL_COMMAND_ACKNOWLEDGE_THROUGH:
        return pawl_check_name("consumer", command->ask.acknowledge.consumer, PAWL_QUEUE_NAME_BYTES_MAX, err);
    case PAWL_COMMAND_DEFINE:
        return check_define(command, scratch, err);
    case PAWL_COMMAND_UNDEFINE:
        return check_definition(&command->ask.undefine, err);
    case PAWL_COMMAND_WORKFLOW_START:
        return check_workflow_start(command->ask.start, scratch, err);
    case PAWL_COMMAND_WORKFLOW_OPERATE:
        return check_workflow_operate(command->ask.operate, scratch, err);
    case PAWL_COMMAND_CREATE: /* pawl_check_create */
    case PAWL_COMMAND_QUEUE:
    case PAWL_COMMAND_PAUSE:
    case PAWL_COMMAND_CANCEL:
    case PAWL_COMMAND_RETAIN: /* by its one caller */
    case PAWL_COMMAND_COMPACT:
    case PAWL_COMMAND_STOPPED:
    case PAWL_COMMAND_IMPORT: /* its source has checked it */
    case PAWL_COMMAND_DUE:
    case PAWL_COMMAND_CONTINUE:
    case PAWL_COMMAND_RECOVER:
        break;
    }
    return PAWL_OK;
}

enum pawl_code pawl_check_command(const struct pawl_command *command, struct pawl_arena *scratch,
                                  struct pawl_error *err)
{
    enum pawl_code code = check_there("task_id", command->task_id, err);
    if (code == PAWL_OK && command->has_fence) {
        code = check_fence(&command->fence, err);
        if (code == PAWL_OK && !pawl_str_equal(command->fence.task_id, command->task_id)) {
            code = pawl_error_set(err, PAWL_INVALID, "fence: it is for another task");
        }
    }
    if (code == PAWL_OK) {
        code = pawl_check_range("expected_version", command->expected_version, 0, INT64_MAX, err);
    }
    if (code == PAWL_OK) code = check_text("actor", command->actor, PAWL_REASON_BYTES_MAX, err);
    if (code == PAWL_OK) code = check_text("reason", command->reason, PAWL_REASON_BYTES_MAX, err);
    if (code == PAWL_OK) code = check_own(command, scratch, err);
    return code;
}

bool pawl_resolve_needs_look(const struct pawl_command *command)
{
    enum pawl_task_state to = command->ask.resolve.outcome;
    /* FAILED can be resumed later, by somebody who does not look any more */
    return (to == PAWL_TASK_QUEUED || to == PAWL_TASK_FAILED) && !command->is_forced;
}
