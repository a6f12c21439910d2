/* JSON, read in one pass.
 *
 * A loop reads one value a turn: scalars whole, of a container the opening bracket. Behind a value
 * it closes what is to be closed and steps over the comma. Open containers lie on a stack of
 * frames, their keys on a stack of keys above each other:
 *
 *   {"a": 1, "b": {"c": 2, "d": [        frames:  object    object    array
 *                                        keys:    a b       c d
 *
 * A new key is compared with those of its own frame. From the 17th key on a frame's keys are also
 * in a hash table, which all frames share: a frame's keys come and go in the order of a stack, so
 * that clearing their slots in reverse leaves the table as it was before them.
 *
 * pawl_json_check and pawl_json_parse are the same pass, the first without nodes. */
#include "base/json.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_string.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    KEYS_COMPARED_MAX = 16, /* of one object; more are hashed */
    KEYS_FIRST = 64,        /* kept without asking the arena */
    SLOTS_FIRST = 128,
    KEY_SHOWN_BYTES_MAX = 64, /* in an error */
    NO_LEVELS = -1,
};

struct key {
    uint32_t at; /* where its characters begin in the text, behind the quote */
    uint32_t hash;
};

struct frame {
    struct pawl_json *node; /* NULL where no nodes are made */
    struct pawl_json *newest;
    uint32_t first_key; /* index of its first key on the stack */
    bool is_object;
};

struct scan {
    const char *start;
    const char *end;
    struct pawl_arena *arena;
    struct pawl_error *err;
    enum pawl_code code;

    struct frame *frames; /* PAWL_JSON_DEPTH_MAX of them */
    int32_t depth;
    bool was_opened; /* the last value read is a container that is still open */

    struct pawl_json *root;
    struct pawl_str key; /* of the value that comes next */
    int32_t levels;      /* nodes are made for values at depth 0 to levels */

    struct key *keys; /* the stack of keys; keys_own at first */
    uint32_t key_count;
    uint32_t key_capacity;
    uint32_t *slots; /* index of a key + 1; 0 = free */
    uint32_t slot_count;
    uint32_t slots_used;
    uint64_t hash_key[2];
    struct key keys_own[KEYS_FIRST];
};

/* ---- Errors: all return NULL, as a position that is none ------------------------------------ */

static const char *no_memory(struct scan *scan)
{
    scan->code = pawl_arena_code(scan->arena);
    (void)pawl_error_set(scan->err, scan->code, "the JSON text needs more memory than %s",
                         scan->code == PAWL_TOO_LARGE ? "its budget" : "there is");
    return NULL;
}

/* Says what is wrong at a place. Lines and columns count from 1, columns in characters. */
PAWL_PRINTF(3, 4)
static const char *fail(struct scan *scan, const char *at, const char *format, ...)
{
    uint32_t line = 1;
    const char *line_start = scan->start;
    for (const char *c = scan->start; c < at; c++) {
        if (*c != '\n') continue;
        line++;
        line_start = c + 1;
    }
    struct pawl_str before = {line_start, (size_t)(at - line_start)};

    char what[PAWL_ERROR_TEXT_BYTES_MAX + 1];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args); /* cut is fine */
    va_end(args);
    scan->code = pawl_error_set(scan->err, PAWL_INVALID, "line %u, column %zu: %s", (unsigned)line,
                                pawl_utf8_points(before) + 1, what);
    return NULL;
}

/* "..., not X", with what stands there. */
static const char *fail_expected(struct scan *scan, const char *at, const char *expected)
{
    if (at == scan->end) return fail(scan, at, "%s was expected, but the text ends", expected);
    uint32_t point;
    struct pawl_str rest = {at, (size_t)(scan->end - at)};
    size_t len = pawl_utf8_decode(rest, &point);
    if (len == 0 || point < ' ' || point == 0x7F || point == 0xFEFF) {
        return fail(scan, at, "%s was expected, not the byte 0x%02x", expected,
                    (unsigned)(unsigned char)*at);
    }
    return fail(scan, at, "%s was expected, not '%.*s'", expected, (int)len, at);
}

/* ---- Strings, numbers, words ---------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_blanks(const struct scan *scan, const char *at)
{
    static const char eight[] = "        ";
    while (at < scan->end && is_blank(*at)) {
        at++;
        while (scan->end - at >= 8 && memcmp(at, eight, 8) == 0) at += 8; /* indented text */
    }
    return at;
}

/* Steps over an escape. */
static const char *read_escape(struct scan *scan, const char *at)
{
    size_t rest = (size_t)(scan->end - at);
    if (rest >= 2 && at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL) return at + 2;
    if (rest < 2) return scan->end; /* the string is not closed */
    if (at[1] != 'u') return fail(scan, at, "there is no such escape in a string");

    int32_t unit = rest >= 6 ? pawl_json_hex4(at + 2) : -1;
    if (unit < 0) return fail(scan, at, "an escape with \\u needs four hexadecimal digits");
    if (unit < 0xD800 || unit > 0xDFFF) return at + 6;

    bool has_pair = unit < 0xDC00 && rest >= 12 && at[6] == '\\' && at[7] == 'u';
    int32_t low = has_pair ? pawl_json_hex4(at + 8) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(scan, at, "half of a surrogate pair stands alone");
    return at + 12;
}

/* Steps over what is not plain in a string, from a backslash or a byte beyond ASCII on. */
static const char *read_special(struct scan *scan, const char *at)
{
    if (*at == '\\') return read_escape(scan, at);
    if ((unsigned char)*at < 0x80) {
        return fail(scan, at, "a control character (0x%02x) must be escaped in a string",
                    (unsigned)(unsigned char)*at);
    }
    uint32_t point;
    while (at < scan->end && (unsigned char)*at >= 0x80) {
        size_t len = pawl_utf8_decode((struct pawl_str){at, (size_t)(scan->end - at)}, &point);
        if (len == 0) return fail(scan, at, "the text is not valid UTF-8");
        at += len;
    }
    return at;
}

/* From behind a quote to the quote that ends the string. */
static const char *read_string(struct scan *scan, const char *at)
{
    const char *start = at;
    while (at != NULL) {
        at += pawl_json_plain_bytes(at, scan->end);
        if (at == scan->end) return fail(scan, start - 1, "the string is not closed");
        if (*at == '"') return at;
        at = read_special(scan, at);
    }
    return NULL;
}

static bool is_digit_at(const struct scan *scan, const char *at)
{
    return at < scan->end && *at >= '0' && *at <= '9';
}

/* At least one digit. */
static const char *read_digits(struct scan *scan, const char *at)
{
    if (!is_digit_at(scan, at)) return fail_expected(scan, at, "a digit");
    while (is_digit_at(scan, at)) at++;
    return at;
}

static const char *read_number(struct scan *scan, const char *at)
{
    if (*at == '-') at++;
    bool starts_with_zero = at < scan->end && *at == '0';
    const char *start = at;
    at = read_digits(scan, at);
    if (at == NULL) return NULL;
    if (starts_with_zero && at - start > 1) {
        return fail(scan, start, "a number must not begin with a zero");
    }
    if (at < scan->end && *at == '.') at = read_digits(scan, at + 1);
    if (at == NULL) return NULL;
    if (at < scan->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < scan->end && (*at == '+' || *at == '-')) at++;
        at = read_digits(scan, at);
    }
    return at;
}

static const char *read_word(struct scan *scan, const char *at, struct pawl_str word)
{
    struct pawl_str rest = {at, (size_t)(scan->end - at)};
    if (!pawl_str_starts(rest, word)) return fail_expected(scan, at, "a value");
    return at + word.len;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* The raw string of a key on the stack: up to its quote, which is known to be there. */
static struct pawl_str raw_key(const struct scan *scan, uint32_t at)
{
    const char *start = scan->start + at;
    const char *end = start;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return (struct pawl_str){start, (size_t)(end - start)};
}

static uint64_t word_at(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof word);
    return word;
}

/* Tells most keys of a small object apart, fast; which they are depends on the machine. */
static uint32_t quick_hash(struct pawl_str key)
{
    uint64_t first = 0;
    uint64_t last = 0;
    if (key.len >= 8) {
        first = word_at(key.ptr);
        last = word_at(key.ptr + key.len - 8);
    } else {
        for (size_t i = 0; i < key.len; i++) first = first << 8 | (unsigned char)key.ptr[i];
    }
    uint64_t mixed = (first ^ key.len) * UINT64_C(0x9e3779b97f4a7c15) + last;
    return (uint32_t)((mixed * UINT64_C(0xd6e8feb86659fd93)) >> 32);
}

/* The hash of what a raw key stands for; false if there was no memory to decode it. Keys with
 * escapes are rare. */
static bool hash_key(struct scan *scan, struct pawl_str raw, bool is_quick, uint32_t *hash)
{
    struct pawl_arena_mark mark = pawl_arena_mark(scan->arena);
    struct pawl_str decoded = raw;
    bool is_literal = pawl_json_is_literal(raw);
    if (!is_literal) {
        char *out = pawl_arena_take(scan->arena, raw.len);
        if (out == NULL) return false;
        decoded = (struct pawl_str){out, pawl_json_decode(raw, out)};
    }
    if (is_quick) {
        *hash = quick_hash(decoded);
    } else {
        /* With the depth, or the same keys at every depth would crowd in the same slots. */
        *hash =
            (uint32_t)pawl_hash64(scan->hash_key, decoded) + (uint32_t)scan->depth * 0x9e3779b9u;
    }
    if (!is_literal) pawl_arena_rewind(scan->arena, mark);
    return true;
}

/* The number of keys a frame has on the stack. */
static uint32_t frame_keys(const struct scan *scan, int32_t depth)
{
    uint32_t end = depth == scan->depth ? scan->key_count : scan->frames[depth].first_key;
    return end - scan->frames[depth - 1].first_key;
}

static void fill_slot(struct scan *scan, uint32_t key_at)
{
    uint32_t at = scan->keys[key_at].hash & (scan->slot_count - 1);
    while (scan->slots[at] != 0) at = (at + 1) & (scan->slot_count - 1);
    scan->slots[at] = key_at + 1;
    scan->slots_used++;
}

/* Keeps a quarter of the slots free for as many keys more. */
static bool reserve_slots(struct scan *scan, uint32_t more)
{
    if (scan->slots_used + more <= scan->slot_count / 4 * 3) return true;
    uint32_t slot_count = scan->slot_count == 0 ? SLOTS_FIRST : scan->slot_count * 2;
    uint32_t *slots = pawl_arena_resize(scan->arena, scan->slots, scan->slot_count * sizeof *slots,
                                        slot_count * sizeof *slots);
    if (slots == NULL) return false;
    memset(slots, 0, slot_count * sizeof *slots);
    scan->slots = slots;
    scan->slot_count = slot_count;
    scan->slots_used = 0;
    for (int32_t depth = 1; depth <= scan->depth; depth++) {
        uint32_t count = frame_keys(scan, depth);
        uint32_t first = scan->frames[depth - 1].first_key;
        if (count <= KEYS_COMPARED_MAX) continue;
        for (uint32_t i = 0; i < count; i++) fill_slot(scan, first + i);
    }
    return true;
}

/* The first 16 keys of a frame, which so far were compared only, go into the table. */
static bool hash_first_keys(struct scan *scan, uint32_t first)
{
    if (!reserve_slots(scan, KEYS_COMPARED_MAX + 1)) return false;
    for (uint32_t at = first; at < first + KEYS_COMPARED_MAX; at++) {
        struct pawl_str raw = raw_key(scan, scan->keys[at].at);
        if (!hash_key(scan, raw, false, &scan->keys[at].hash)) return false;
        fill_slot(scan, at);
    }
    return true;
}

static bool is_same_key(const struct scan *scan, uint32_t at, uint32_t hash, struct pawl_str raw)
{
    if (scan->keys[at].hash != hash) return false;
    return pawl_json_same_text(raw_key(scan, scan->keys[at].at), raw);
}

/* Whether the newest frame, whose keys begin at first, has a key already. */
static bool has_key(const struct scan *scan, uint32_t first, uint32_t hash, struct pawl_str raw)
{
    if (scan->key_count - first < KEYS_COMPARED_MAX) {
        for (uint32_t at = first; at < scan->key_count; at++) {
            if (is_same_key(scan, at, hash, raw)) return true;
        }
        return false;
    }
    uint32_t mask = scan->slot_count - 1;
    for (uint32_t at = hash & mask; scan->slots[at] != 0; at = (at + 1) & mask) {
        uint32_t key_at = scan->slots[at] - 1;
        if (key_at >= first && is_same_key(scan, key_at, hash, raw)) return true;
    }
    return false;
}

/* Half as many again. The first keys lie in the scan itself and are copied out. */
static bool grow_keys(struct scan *scan)
{
    uint32_t capacity = scan->key_capacity + scan->key_capacity / 2;
    bool is_own = scan->keys == scan->keys_own;
    struct key *keys =
        pawl_arena_resize(scan->arena, is_own ? NULL : scan->keys,
                          is_own ? 0 : scan->key_capacity * sizeof *keys, capacity * sizeof *keys);
    if (keys == NULL) return false;
    if (is_own) memcpy(keys, scan->keys_own, sizeof scan->keys_own);
    scan->keys = keys;
    scan->key_capacity = capacity;
    return true;
}

/* Puts a key of the newest frame on the stack; NULL if the frame has it already. */
static const char *add_key(struct scan *scan, struct pawl_str raw)
{
    uint32_t first = scan->frames[scan->depth - 1].first_key;
    uint32_t count = scan->key_count - first;
    bool is_quick = count < KEYS_COMPARED_MAX;
    uint32_t hash;
    if (count == KEYS_COMPARED_MAX && !hash_first_keys(scan, first)) return no_memory(scan);
    if (!is_quick && !reserve_slots(scan, 1)) return no_memory(scan);
    if (!hash_key(scan, raw, is_quick, &hash)) return no_memory(scan);

    if (has_key(scan, first, hash, raw)) {
        struct pawl_str shown = pawl_utf8_cut_bytes(raw, KEY_SHOWN_BYTES_MAX);
        return fail(scan, raw.ptr - 1, "the key \"%.*s\" is there twice", PAWL_STR_ARG(shown));
    }
    if (scan->key_count == scan->key_capacity && !grow_keys(scan)) return no_memory(scan);
    scan->keys[scan->key_count] = (struct key){(uint32_t)(raw.ptr - scan->start), hash};
    if (!is_quick) fill_slot(scan, scan->key_count);
    scan->key_count++;
    return raw.ptr;
}

/* Takes the keys of the newest frame off the stack, newest first. */
static void drop_keys(struct scan *scan, uint32_t first)
{
    bool are_hashed = scan->key_count - first > KEYS_COMPARED_MAX;
    while (are_hashed && scan->key_count > first) {
        scan->key_count--;
        uint32_t at = scan->keys[scan->key_count].hash & (scan->slot_count - 1);
        while (scan->slots[at] != scan->key_count + 1) at = (at + 1) & (scan->slot_count - 1);
        scan->slots[at] = 0;
        scan->slots_used--;
    }
    scan->key_count = first;
}

/* A key, its colon and the blanks behind it. */
static const char *read_key(struct scan *scan, const char *at)
{
    if (at == scan->end || *at != '"') return fail_expected(scan, at, "a key in quotes");
    const char *start = at + 1;
    const char *quote = read_string(scan, start);
    if (quote == NULL) return NULL;
    scan->key = (struct pawl_str){start, (size_t)(quote - start)};
    if (add_key(scan, scan->key) == NULL) return NULL;

    at = skip_blanks(scan, quote + 1);
    if (at == scan->end || *at != ':') return fail_expected(scan, at, "a colon");
    return skip_blanks(scan, at + 1);
}

/* ---- Values --------------------------------------------------------------------------------- */

static struct frame *newest_frame(const struct scan *scan)
{
    return scan->depth == 0 ? NULL : &scan->frames[scan->depth - 1];
}

/* Adds the node of a value at the current depth, if nodes are made there; false without memory. */
static bool add_node(struct scan *scan, enum pawl_json_kind kind, struct pawl_str raw,
                     struct pawl_json **out)
{
    struct frame *parent = newest_frame(scan);
    if (parent != NULL && parent->node != NULL) parent->node->child_count++;
    *out = NULL;
    if (scan->depth > scan->levels) return true;

    struct pawl_json *node = pawl_arena_take(scan->arena, sizeof *node);
    if (node == NULL) return false;
    node->kind = kind;
    node->raw = raw;
    *out = node;
    if (parent == NULL) {
        scan->root = node;
        return true;
    }
    if (parent->is_object) node->key = scan->key;
    if (parent->newest == NULL) {
        parent->node->first = node;
    } else {
        parent->newest->next = node;
    }
    parent->newest = node;
    return true;
}

static const char *open_container(struct scan *scan, const char *at)
{
    if (scan->depth == PAWL_JSON_DEPTH_MAX) {
        return fail(scan, at, "more than %d arrays and objects inside each other",
                    PAWL_JSON_DEPTH_MAX);
    }
    bool is_object = *at == '{';
    struct pawl_json *node;
    struct pawl_str bracket = {at, 1};
    if (!add_node(scan, is_object ? PAWL_JSON_OBJECT : PAWL_JSON_ARRAY, bracket, &node)) {
        return no_memory(scan);
    }
    scan->frames[scan->depth] =
        (struct frame){.node = node, .first_key = scan->key_count, .is_object = is_object};
    scan->depth++;
    scan->was_opened = true;
    return at + 1;
}

/* at is behind the closing bracket. */
static void close_container(struct scan *scan, const char *at)
{
    struct frame *frame = newest_frame(scan);
    if (frame->is_object) drop_keys(scan, frame->first_key);
    if (frame->node != NULL) frame->node->raw.len = (size_t)(at - frame->node->raw.ptr);
    scan->depth--;
}

/* One value; of a container the opening bracket only. */
static const char *read_value(struct scan *scan, const char *at)
{
    if (at == scan->end) return fail_expected(scan, at, "a value");
    enum pawl_json_kind kind = PAWL_JSON_NUMBER;
    const char *end;
    switch (*at) {
    case '{':
    case '[':
        return open_container(scan, at);
    case '"':
        kind = PAWL_JSON_STRING;
        end = read_string(scan, at + 1);
        if (end != NULL) end++;
        break;
    case 't':
        kind = PAWL_JSON_TRUE;
        end = read_word(scan, at, PAWL_STR("true"));
        break;
    case 'f':
        kind = PAWL_JSON_FALSE;
        end = read_word(scan, at, PAWL_STR("false"));
        break;
    case 'n':
        kind = PAWL_JSON_NULL;
        end = read_word(scan, at, PAWL_STR("null"));
        break;
    default:
        if (*at != '-' && !is_digit_at(scan, at)) return fail_expected(scan, at, "a value");
        end = read_number(scan, at);
        break;
    }
    if (end == NULL) return NULL;
    struct pawl_json *node;
    if (!add_node(scan, kind, (struct pawl_str){at, (size_t)(end - at)}, &node)) {
        return no_memory(scan);
    }
    return end;
}

/* From behind a value to the next one: closes containers that end here and steps over the comma. At
 * depth 0 afterwards, the text's value is complete. */
static const char *read_between(struct scan *scan, const char *at)
{
    bool is_first = scan->was_opened;
    scan->was_opened = false;
    at = skip_blanks(scan, at);
    while (scan->depth > 0 && at < scan->end) {
        bool is_object = newest_frame(scan)->is_object;
        if (*at != (is_object ? '}' : ']')) break;
        close_container(scan, at + 1);
        is_first = false;
        at = skip_blanks(scan, at + 1);
    }
    if (scan->depth == 0 || is_first) return at;
    if (at < scan->end && *at == ',') return skip_blanks(scan, at + 1);
    return fail_expected(scan, at,
                         newest_frame(scan)->is_object ? "a comma or '}'" : "a comma or ']'");
}

static const char *read_document(struct scan *scan)
{
    const char *at = skip_blanks(scan, scan->start);
    do {
        if (scan->depth > 0 && newest_frame(scan)->is_object) at = read_key(scan, at);
        if (at != NULL) at = read_value(scan, at);
        if (at != NULL) at = read_between(scan, at);
    } while (at != NULL && scan->depth > 0);
    if (at != NULL && at != scan->end) return fail_expected(scan, at, "the end of the text");
    return at;
}

/* levels: see struct scan. */
static enum pawl_code scan_text(struct pawl_str text, int32_t levels, struct pawl_arena *arena,
                                struct pawl_json **root, struct pawl_error *err)
{
    if (text.len > PAWL_JSON_TEXT_BYTES_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "a JSON text of %zu bytes; at most %u are read",
                              text.len, (unsigned)PAWL_JSON_TEXT_BYTES_MAX);
    }
    struct frame frames[PAWL_JSON_DEPTH_MAX]; /* each is set when its container opens */
    struct scan scan;                         /* not cleared, for keys_own: half a kilobyte */
    scan.start = text.len > 0 ? text.ptr : "";
    scan.end = scan.start + text.len;
    scan.arena = arena;
    scan.err = err;
    scan.code = PAWL_OK;
    scan.frames = frames;
    scan.depth = 0;
    scan.was_opened = false;
    scan.root = NULL;
    scan.key = (struct pawl_str){0};
    scan.levels = levels;
    scan.keys = scan.keys_own;
    scan.key_count = 0;
    scan.key_capacity = KEYS_FIRST;
    scan.slots = NULL;
    scan.slot_count = 0;
    scan.slots_used = 0;
    pawl_hash_process_key(scan.hash_key);
    (void)read_document(&scan); /* its failure is in scan.code */
    *root = scan.root;
    return scan.code;
}

enum pawl_code pawl_json_check(struct pawl_str text, struct pawl_arena *scratch,
                               struct pawl_error *err)
{
    struct pawl_arena_mark mark = pawl_arena_mark(scratch);
    struct pawl_json *root;
    enum pawl_code code = scan_text(text, NO_LEVELS, scratch, &root, err);
    pawl_arena_rewind(scratch, mark);
    return code;
}

enum pawl_code pawl_json_parse(struct pawl_str text, struct pawl_arena *arena,
                               struct pawl_json **out, struct pawl_error *err)
{
    return pawl_json_parse_top(text, PAWL_JSON_DEPTH_MAX, arena, out, err);
}

enum pawl_code pawl_json_parse_top(struct pawl_str text, int32_t levels, struct pawl_arena *arena,
                                   struct pawl_json **out, struct pawl_error *err)
{
    pawl_assert(levels >= 0);
    struct pawl_json *root;
    enum pawl_code code = scan_text(text, levels, arena, &root, err);
    if (code == PAWL_OK) *out = root;
    return code;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

struct pawl_json *pawl_json_first(const struct pawl_json *container)
{
    return container == NULL ? NULL : container->first;
}

struct pawl_json *pawl_json_next(const struct pawl_json *member)
{
    return member == NULL ? NULL : member->next;
}

struct pawl_json *pawl_json_member(const struct pawl_json *object, struct pawl_str key)
{
    if (object == NULL || object->kind != PAWL_JSON_OBJECT) return NULL;
    struct pawl_json *member = object->first;
    while (member != NULL && !pawl_json_stands_for(member->key, key)) member = member->next;
    return member;
}

static bool decode(struct pawl_str raw, struct pawl_arena *arena, struct pawl_str *out)
{
    if (pawl_json_is_literal(raw)) {
        *out = raw;
        return true;
    }
    char *ptr = pawl_arena_take(arena, raw.len);
    if (ptr == NULL) return false;
    struct pawl_str text = {ptr, pawl_json_decode(raw, ptr)};
    if (memchr(text.ptr, '\0', text.len) != NULL) return false;
    *out = text;
    return true;
}

bool pawl_json_text(const struct pawl_json *node, struct pawl_arena *arena, struct pawl_str *out)
{
    if (node == NULL || node->kind != PAWL_JSON_STRING) return false;
    struct pawl_str inside = {node->raw.ptr + 1, node->raw.len - 2};
    return decode(inside, arena, out);
}

bool pawl_json_key(const struct pawl_json *node, struct pawl_arena *arena, struct pawl_str *out)
{
    if (node == NULL || node->key.ptr == NULL) return false;
    return decode(node->key, arena, out);
}

bool pawl_json_int64(const struct pawl_json *node, int64_t *out)
{
    if (node == NULL || node->kind != PAWL_JSON_NUMBER) return false;
    return pawl_int64_parse(node->raw, INT64_MIN, INT64_MAX, out);
}

bool pawl_json_double(const struct pawl_json *node, double *out)
{
    if (node == NULL || node->kind != PAWL_JSON_NUMBER) return false;
    return pawl_double_parse(node->raw, out);
}

bool pawl_json_bool(const struct pawl_json *node, bool *out)
{
    if (node == NULL) return false;
    if (node->kind != PAWL_JSON_TRUE && node->kind != PAWL_JSON_FALSE) return false;
    *out = node->kind == PAWL_JSON_TRUE;
    return true;
}
