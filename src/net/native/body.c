#include "net/native/body.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "net/exchange.h"
#include "wire/nearest.h"
#include "wire/words.h"

#include <string.h>

/* What a value of each kind is, for the sentence that refuses another. */
static const char *const wanted[] = {
    [PAWL_BODY_TEXT] = "a text",
    [PAWL_BODY_NAME] = "a text that is not empty",
    [PAWL_BODY_RAW] = "a value",
    [PAWL_BODY_BOOL] = "true or false",
    [PAWL_BODY_INT64] = "a whole number that is not negative",
    [PAWL_BODY_EPOCH] = "a whole number from 1 on",
    [PAWL_BODY_INT32] = "a whole number from 0 to 2147483647",
    [PAWL_BODY_DOUBLE] = "a number",
    [PAWL_BODY_MS] = "a number of milliseconds, or a text such as \"5m\",",
    [PAWL_BODY_DELAY] = "a number of milliseconds, or a text such as \"5m\",",
    [PAWL_BODY_INSTANT] = "milliseconds since 1970, or a text such as \"2026-11-30T17:45:00Z\",",
    [PAWL_BODY_PRIORITY] = "0 to 99, LOW, MEDIUM, HIGH or CRITICAL",
    [PAWL_BODY_RETRIES] = "a number from 0 to 1000",
    [PAWL_BODY_BACKOFF] = "exponential, linear or fixed",
    [PAWL_BODY_STATE] = "the name of a state",
    [PAWL_BODY_ARRAY] = "an array",
    [PAWL_BODY_OBJECT] = "an object",
};
static_assert(PAWL_RETRIES_MAX == 1000, "a sentence above names it");

struct reading {
    const struct pawl_json *value;
    struct pawl_arena *keep;
    char *out; /* of this value */
};

/* ---- Kinds: false is the wrong kind -----------------------------------------------------------
 */

#define PUT(type, value) memcpy(r->out, &(type){value}, sizeof(type))

static bool read_text(const struct reading *r, bool may_be_empty)
{
    struct pawl_str text;
    if (!pawl_json_text(r->value, r->keep, &text)) return false;
    if (text.len == 0 && !may_be_empty) return false;
    memcpy(r->out, &text, sizeof text);
    return true;
}

static bool read_bool(const struct reading *r)
{
    bool value = false;
    if (!pawl_json_bool(r->value, &value)) return false;
    PUT(bool, value);
    return true;
}

static bool read_int64(const struct reading *r, int64_t min, int64_t max, int64_t *number)
{
    return pawl_json_int64(r->value, number) && *number >= min && *number <= max;
}

static bool read_ms(const struct reading *r, int64_t *ms)
{
    struct pawl_str text;
    bool is_read = pawl_json_int64(r->value, ms) ||
                   (pawl_json_text(r->value, r->keep, &text) && pawl_duration_parse(text, ms));
    return is_read && *ms >= 0;
}

/* A number as it is written, or the inside of a text. */
static bool number_or_text(const struct reading *r, struct pawl_str *text)
{
    *text = r->value->raw;
    return r->value->kind == PAWL_JSON_NUMBER || pawl_json_text(r->value, r->keep, text);
}

static bool read_number(const struct reading *r, enum pawl_body_kind kind)
{
    int64_t number = 0;
    bool is_small = kind == PAWL_BODY_INT32;
    int64_t max = kind == PAWL_BODY_RETRIES ? PAWL_RETRIES_MAX : is_small ? INT32_MAX : INT64_MAX;
    if (!read_int64(r, kind == PAWL_BODY_EPOCH ? 1 : 0, max, &number)) return false;
    if (kind == PAWL_BODY_RETRIES) {
        PUT(int32_t, pawl_retries_as_given(number));
    } else if (is_small) {
        PUT(int32_t, (int32_t)number); /* in range */
    } else {
        PUT(int64_t, number);
    }
    return true;
}

static bool read_word(const struct reading *r, enum pawl_body_kind kind)
{
    struct pawl_str text;
    if (!number_or_text(r, &text)) return false;
    if (kind == PAWL_BODY_PRIORITY) {
        int32_t priority = 0;
        if (!pawl_priority_parse(text, &priority)) return false;
        PUT(int32_t, priority);
        return true;
    }
    if (kind == PAWL_BODY_INSTANT) {
        int64_t at_ms = 0;
        if (!pawl_instant_parse(text, &at_ms)) return false;
        PUT(int64_t, at_ms);
        return true;
    }
    if (kind == PAWL_BODY_BACKOFF) {
        enum pawl_backoff backoff = PAWL_BACKOFF_EXPONENTIAL;
        if (!pawl_backoff_parse(text, &backoff)) return false;
        PUT(enum pawl_backoff, backoff);
        return true;
    }
    enum pawl_task_state state = PAWL_TASK_PENDING;
    if (!pawl_state_parse(text, &state)) return false;
    PUT(enum pawl_task_state, state);
    return true;
}

static bool read_container(const struct reading *r, enum pawl_json_kind kind)
{
    if (r->value->kind != kind) return false;
    PUT(const struct pawl_json *, r->value);
    return true;
}

static bool read_value(const struct reading *r, enum pawl_body_kind kind)
{
    int64_t ms = 0;
    double number = 0;
    switch (kind) {
    case PAWL_BODY_TEXT:
        return read_text(r, true);
    case PAWL_BODY_NAME:
        return read_text(r, false);
    case PAWL_BODY_RAW:
        memcpy(r->out, &r->value->raw, sizeof r->value->raw);
        return true;
    case PAWL_BODY_BOOL:
        return read_bool(r);
    case PAWL_BODY_INT64:
    case PAWL_BODY_EPOCH:
    case PAWL_BODY_INT32:
    case PAWL_BODY_RETRIES:
        return read_number(r, kind);
    case PAWL_BODY_DOUBLE:
        if (!pawl_json_double(r->value, &number)) return false;
        PUT(double, number);
        return true;
    case PAWL_BODY_MS:
    case PAWL_BODY_DELAY:
        if (!read_ms(r, &ms)) return false;
        PUT(int64_t, kind == PAWL_BODY_DELAY ? pawl_delay_as_given(ms) : ms);
        return true;
    case PAWL_BODY_INSTANT:
    case PAWL_BODY_PRIORITY:
    case PAWL_BODY_BACKOFF:
    case PAWL_BODY_STATE:
        return read_word(r, kind);
    case PAWL_BODY_ARRAY:
        return read_container(r, PAWL_JSON_ARRAY);
    case PAWL_BODY_OBJECT:
        return read_container(r, PAWL_JSON_OBJECT);
    }
    return false;
}

/* ---- Objects ----------------------------------------------------------------------------------
 */

static enum pawl_code refuse(const struct pawl_body_key *key, struct pawl_arena *keep,
                             struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(keep);
    if (code != PAWL_OK) return pawl_error_set(err, code, "%s: no room for it", key->key);
    return pawl_error_set(err, PAWL_INVALID, "%s: %s is wanted", key->key, wanted[key->kind]);
}

static enum pawl_code read_member(const struct pawl_json *member, const struct pawl_body_key *keys,
                                  size_t count, struct pawl_arena *keep, void *out,
                                  struct pawl_error *err)
{
    struct pawl_str key = member->key;
    if (!pawl_json_key(member, keep, &key)) key = member->key;
    struct pawl_nearest nearest = pawl_nearest_to(key);
    for (size_t i = 0; i < count; i++) {
        pawl_nearest_offer(&nearest, keys[i].key);
        if (!pawl_str_equal(key, pawl_str_of(keys[i].key))) continue;
        bool may_be_null = keys[i].kind == PAWL_BODY_RAW && keys[i].is_needed;
        if (member->kind == PAWL_JSON_NULL && !may_be_null) return PAWL_OK;
        struct reading r = {.value = member, .keep = keep, .out = (char *)out + keys[i].at};
        return read_value(&r, keys[i].kind) ? PAWL_OK : refuse(&keys[i], keep, err);
    }
    if (nearest.word == NULL) {
        return pawl_error_set(err, PAWL_INVALID, "%.*s: there is no such key", PAWL_STR_ARG(key));
    }
    return pawl_error_set(err, PAWL_INVALID, "%.*s: there is no such key; did you mean `%s`?",
                          PAWL_STR_ARG(key), nearest.word);
}

enum pawl_code pawl_body_fill(const struct pawl_json *object, const struct pawl_body_key *keys,
                              size_t count, struct pawl_arena *keep, void *out,
                              struct pawl_error *err)
{
    if (object->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "a JSON object is wanted");
    }
    for (const struct pawl_json *at = pawl_json_first(object); at != NULL;
         at = pawl_json_next(at)) {
        enum pawl_code code = read_member(at, keys, count, keep, out, err);
        if (code != PAWL_OK) return code;
    }
    for (size_t i = 0; i < count; i++) {
        if (!keys[i].is_needed) continue;
        bool has = keys[i].kind == PAWL_BODY_RAW
                       ? pawl_json_member(object, pawl_str_of(keys[i].key)) != NULL
                       : pawl_body_has(object, keys[i].key);
        if (!has) return pawl_error_set(err, PAWL_INVALID, "%s: is missing", keys[i].key);
    }
    return PAWL_OK;
}

bool pawl_body_has(const struct pawl_json *object, const char *key)
{
    const struct pawl_json *member = pawl_json_member(object, pawl_str_of(key));
    return member != NULL && member->kind != PAWL_JSON_NULL;
}

const struct pawl_json *pawl_body_of(struct pawl_exchange *exchange, int32_t levels)
{
    static const struct pawl_json no_keys = {.kind = PAWL_JSON_OBJECT};
    if (exchange->request->body.len == 0) return &no_keys;
    return pawl_exchange_body_json(exchange, levels);
}

const struct pawl_json *pawl_body_wanted(struct pawl_exchange *exchange, int32_t levels)
{
    struct pawl_error err = {0};
    if (exchange->request->body.len > 0) return pawl_exchange_body_json(exchange, levels);
    (void)pawl_error_set(&err, PAWL_INVALID, "body: a JSON object is wanted");
    pawl_exchange_answer_error(exchange, &err, "body");
    return NULL;
}

/* ---- Fields of sentences ----------------------------------------------------------------------
 */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How long the step at the start of text is: "owner", "outcomes[3]"; 0 if ": " does not follow. */
static size_t step_len(const char *text)
{
    size_t len = 0;
    while (is_letter(text[len])) len++;
    if (len > 0 && text[len] == '[') {
        len++;
        while (is_digit(text[len])) len++;
        if (text[len++] != ']') return 0;
    }
    return text[len] == ':' && text[len + 1] == ' ' ? len : 0;
}

/* "member #3: queue: …" is how core names a member of a batch of tasks. */
static const char *skip_member(const char *text, struct pawl_arena *keep, struct pawl_str *field)
{
    static const char member[] = "member #";
    size_t start = sizeof member - 1;
    size_t len = start;
    if (strncmp(text, member, start) != 0) return text;
    while (is_digit(text[len])) len++;
    if (len == start || text[len] != ':' || text[len + 1] != ' ') return text;
    *field = pawl_arena_format(keep, "tasks[%.*s]", (int)(len - start), text + start);
    return text + len + 2;
}

const char *pawl_body_field(const struct pawl_error *err, struct pawl_arena *keep)
{
    static const char fence[] = "fence: "; /* its parts are fields of their own */
    struct pawl_str field = {0};
    for (const char *at = skip_member(err->text, keep, &field); step_len(at) > 0;) {
        size_t len = step_len(at);
        if (strncmp(at, fence, sizeof fence - 1) != 0) {
            field = field.len == 0
                        ? pawl_arena_format(keep, "%.*s", (int)len, at)
                        : pawl_arena_format(keep, "%.*s.%.*s", PAWL_STR_ARG(field), (int)len, at);
        }
        at += len + 2;
    }
    return field.ptr;
}
