#include "core/workflow/field.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/number.h"

/* ---- Faults
 * ----------------------------------------------------------------------------------------------------
 */

static void add(const struct pawl_fault_place *place, bool is_warning, struct pawl_str field,
                struct pawl_str value, struct pawl_str message)
{
    struct pawl_fault *fault = pawl_fault_add(place->faults, is_warning);
    if (fault == NULL) return;
    struct pawl_arena *arena = place->faults->arena;
    struct pawl_str path = place->path(place->self, arena);
    if (field.len == 0 && pawl_str_ends(path, PAWL_STR("."))) path.len--;
    fault->path = pawl_arena_format(arena, "%.*s%.*s", PAWL_STR_ARG(path), PAWL_STR_ARG(field));
    fault->message = pawl_arena_format(arena, "%.*s%s%.*s", PAWL_STR_ARG(fault->path),
                                       fault->path.len > 0 ? " " : "", PAWL_STR_ARG(message));
    bool is_scalar = value.len > 0 && value.ptr[0] != '{' && value.ptr[0] != '[';
    if (is_scalar) fault->value = value;
}

void pawl_place_fault(const struct pawl_fault_place *place, struct pawl_str field, struct pawl_str value,
                      struct pawl_str message)
{
    add(place, false, field, value, message);
}

void pawl_place_warning(const struct pawl_fault_place *place, struct pawl_str field,
                        struct pawl_str value, struct pawl_str message)
{
    add(place, true, field, value, message);
}

/* ---- Scalars, leniently
 * ---------------------------------------------------------------------------------------- */

/* A whole number; what a number has behind its point is cut off. */
static bool number_of(const struct pawl_json *value, struct pawl_arena *arena, int64_t *out)
{
    if (value->kind == PAWL_JSON_NULL) {
        *out = 0;
        return true;
    }
    if (value->kind == PAWL_JSON_STRING) {
        struct pawl_str text;
        if (!pawl_json_text(value, arena, &text)) return false;
        text = pawl_str_trim(text);
        if (text.len == 0) {
            *out = 0;
            return true;
        }
        return pawl_int64_parse(text, INT64_MIN + 1, INT64_MAX, out);
    }
    if (pawl_json_int64(value, out)) return *out != PAWL_NOT_GIVEN;
    double number;
    if (!pawl_json_double(value, &number)) return false;
    if (!(number > -9.2e18 && number < 9.2e18)) return false;
    *out = (int64_t)number;
    return true;
}

static bool is_one_of(struct pawl_str text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (pawl_str_equal(text, pawl_str_of(*words))) return true;
    }
    return false;
}

static bool boolean_of(const struct pawl_json *value, struct pawl_arena *arena, int64_t *out)
{
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", "", NULL};
    struct pawl_str text;
    switch (value->kind) {
    case PAWL_JSON_NULL:
    case PAWL_JSON_FALSE:
        *out = 0;
        return true;
    case PAWL_JSON_TRUE:
        *out = 1;
        return true;
    case PAWL_JSON_NUMBER:
        if (!number_of(value, arena, out)) return false;
        *out = *out != 0;
        return true;
    case PAWL_JSON_STRING:
        if (!pawl_json_text(value, arena, &text)) return false;
        text = pawl_str_trim(text);
        if (!is_one_of(text, yes) && !is_one_of(text, no)) return false;
        *out = is_one_of(text, yes);
        return true;
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
        break;
    }
    return false;
}

bool pawl_field_text(const struct pawl_json *value, struct pawl_arena *arena, struct pawl_str *out)
{
    switch (value->kind) {
    case PAWL_JSON_NULL:
        *out = (struct pawl_str){0};
        return true;
    case PAWL_JSON_FALSE:
    case PAWL_JSON_TRUE:
    case PAWL_JSON_NUMBER:
        *out = value->raw;
        return true;
    case PAWL_JSON_STRING:
        return pawl_json_text(value, arena, out);
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
        break;
    }
    return false;
}

bool pawl_field_texts(const struct pawl_json *value, struct pawl_arena *arena,
                      struct pawl_texts *out)
{
    if (value->kind == PAWL_JSON_NULL) {
        *out = (struct pawl_texts){0};
        return true;
    }
    if (value->kind != PAWL_JSON_ARRAY) return false;
    struct pawl_texts texts = {
        .items = pawl_arena_take_array(arena, value->child_count, sizeof *texts.items)};
    if (texts.items == NULL) return true; /* the arena says it */
    for (const struct pawl_json *item = value->first; item != NULL; item = item->next) {
        if (!pawl_field_text(item, arena, &texts.items[texts.count++])) return false;
    }
    *out = texts;
    return true;
}

static bool word_of(const struct pawl_json *value, const struct pawl_str *words,
                    struct pawl_arena *arena, int64_t *out)
{
    struct pawl_str text;
    if (!pawl_json_text(value, arena, &text) || text.len == 0) return false;
    for (int64_t i = 0; words[i].ptr != NULL; i++) {
        if (!pawl_str_equal(text, words[i])) continue;
        *out = i;
        return true;
    }
    return false;
}

/* ---- Reading
 * ---------------------------------------------------------------------------------------------------
 */

static void *member_of(void *object, const struct pawl_field *field)
{
    return (char *)object + field->offset;
}

static const void *member_of_const(const void *object, const struct pawl_field *field)
{
    return (const char *)object + field->offset;
}

static void put_default(const struct pawl_field *field, void *object)
{
    struct pawl_str *text = member_of(object, field);
    struct pawl_texts *texts = member_of(object, field);
    int64_t *number = member_of(object, field);
    switch (field->kind) {
    case PAWL_FIELD_TEXT:
    case PAWL_FIELD_MAP:
    case PAWL_FIELD_MAP_OR_NONE:
    case PAWL_FIELD_ANY:
        *text = (struct pawl_str){0};
        break;
    case PAWL_FIELD_TEXTS:
        *texts = (struct pawl_texts){0};
        break;
    case PAWL_FIELD_INT:
    case PAWL_FIELD_LONG:
    case PAWL_FIELD_BOOL:
    case PAWL_FIELD_WORD:
        *number = field->initial;
        break;
    case PAWL_FIELD_INT_OR_NONE:
    case PAWL_FIELD_BOOL_OR_NONE:
        *number = PAWL_NOT_GIVEN;
        break;
    }
}

static bool put_number(const struct pawl_field *field, const struct pawl_json *value,
                       struct pawl_arena *arena, int64_t *number)
{
    int64_t read;
    if (!number_of(value, arena, &read)) return false;
    if (field->kind != PAWL_FIELD_LONG && (read < INT32_MIN || read > INT32_MAX)) return false;
    *number = read;
    return true;
}

void pawl_fields_init(struct pawl_fields fields, void *object)
{
    for (size_t i = 0; i < fields.count; i++) put_default(&fields.items[i], object);
}

/* What the value must be, or NULL if it is. */
static const char *put_value(const struct pawl_field *field, const struct pawl_json *value,
                             struct pawl_arena *arena, void *object)
{
    struct pawl_str *text = member_of(object, field);
    int64_t *number = member_of(object, field);
    bool is_null = value->kind == PAWL_JSON_NULL;
    switch (field->kind) {
    case PAWL_FIELD_TEXT:
        return pawl_field_text(value, arena, text) ? NULL : "must be a text without zero bytes";
    case PAWL_FIELD_INT:
        return put_number(field, value, arena, number) ? NULL : "must be a number of 32 bits";
    case PAWL_FIELD_LONG:
        return put_number(field, value, arena, number) ? NULL : "must be a number of 64 bits";
    case PAWL_FIELD_INT_OR_NONE:
        if (is_null) return NULL;
        return put_number(field, value, arena, number) ? NULL : "must be a number of 32 bits";
    case PAWL_FIELD_BOOL_OR_NONE:
        if (is_null) return NULL;
        return boolean_of(value, arena, number) ? NULL : "must be true or false";
    case PAWL_FIELD_BOOL:
        return boolean_of(value, arena, number) ? NULL : "must be true or false";
    case PAWL_FIELD_WORD:
        return is_null || word_of(value, field->words, arena, number) ? NULL : "must be one of";
    case PAWL_FIELD_MAP:
    case PAWL_FIELD_MAP_OR_NONE:
        if (is_null) return NULL;
        if (value->kind != PAWL_JSON_OBJECT) return "must be an object";
        *text = value->raw;
        return NULL;
    case PAWL_FIELD_TEXTS:
        return pawl_field_texts(value, arena, member_of(object, field)) ? NULL
                                                                        : "must be a list of texts";
    case PAWL_FIELD_ANY:
        if (!is_null) *text = value->raw;
        return NULL;
    }
    return NULL;
}

/* "must be one of FIXED, LINEAR_BACKOFF" */
static struct pawl_str say(const struct pawl_field *field, const char *what,
                           struct pawl_arena *arena)
{
    struct pawl_str said = pawl_str_of(what);
    if (field->kind != PAWL_FIELD_WORD) return said;
    const char *between = " ";
    for (const struct pawl_str *word = field->words; word->ptr != NULL; word++) {
        if (word->len == 0) continue;
        said = pawl_arena_format(arena, "%.*s%s%.*s", PAWL_STR_ARG(said), between,
                                 PAWL_STR_ARG(*word));
        between = ", ";
    }
    return said;
}

static const struct pawl_field *find(struct pawl_fields fields, struct pawl_str key)
{
    for (size_t i = 0; i < fields.count; i++) {
        if (pawl_str_equal(fields.items[i].key, key)) return &fields.items[i];
    }
    return NULL;
}

void pawl_fields_read(struct pawl_fields fields, const struct pawl_json *object, void *out,
                      const struct pawl_fault_place *place,
                      void (*other)(void *self, struct pawl_str key, const struct pawl_json *value),
                      void *self)
{
    pawl_assert(object->kind == PAWL_JSON_OBJECT);
    struct pawl_arena *arena = place->faults->arena;
    pawl_fields_init(fields, out);
    for (const struct pawl_json *value = object->first; value != NULL; value = value->next) {
        struct pawl_str key;
        if (!pawl_json_key(value, arena, &key)) continue; /* none of ours has a zero byte */
        const struct pawl_field *field = find(fields, key);
        if (field == NULL) {
            if (other != NULL) other(self, key, value);
            continue;
        }
        const char *wrong = put_value(field, value, arena, out);
        if (wrong != NULL) {
            pawl_place_fault(place, field->key, value->raw, say(field, wrong, arena));
        }
    }
}

/* ---- Writing
 * ---------------------------------------------------------------------------------------------------
 */

static void put_texts(struct pawl_json_writer *w, const struct pawl_texts *texts)
{
    pawl_json_begin_array(w);
    for (int64_t i = 0; i < texts->count; i++) {
        if (texts->items[i].ptr == NULL) {
            pawl_json_put_null(w);
        } else {
            pawl_json_put_text(w, texts->items[i]);
        }
    }
    pawl_json_end_array(w);
}

/* Whether a member is there to be written. */
static bool is_written(const struct pawl_field *field, const void *object)
{
    const struct pawl_str *text = member_of_const(object, field);
    const int64_t *number = member_of_const(object, field);
    switch (field->kind) {
    case PAWL_FIELD_TEXT:
    case PAWL_FIELD_MAP_OR_NONE:
    case PAWL_FIELD_ANY:
        return text->ptr != NULL;
    case PAWL_FIELD_INT_OR_NONE:
    case PAWL_FIELD_BOOL_OR_NONE:
        return *number != PAWL_NOT_GIVEN;
    case PAWL_FIELD_WORD:
        return field->words[*number].len != 0;
    case PAWL_FIELD_INT:
    case PAWL_FIELD_LONG:
    case PAWL_FIELD_BOOL:
    case PAWL_FIELD_MAP:
    case PAWL_FIELD_TEXTS:
        break;
    }
    return true;
}

static void put_field(const struct pawl_field *field, const void *object,
                      struct pawl_json_writer *w)
{
    const struct pawl_str *text = member_of_const(object, field);
    const int64_t *number = member_of_const(object, field);
    pawl_json_put_key_str(w, field->key);
    switch (field->kind) {
    case PAWL_FIELD_TEXT:
        pawl_json_put_text(w, *text);
        break;
    case PAWL_FIELD_INT:
    case PAWL_FIELD_LONG:
    case PAWL_FIELD_INT_OR_NONE:
        pawl_json_put_int64(w, *number);
        break;
    case PAWL_FIELD_BOOL:
    case PAWL_FIELD_BOOL_OR_NONE:
        pawl_json_put_bool(w, *number != 0);
        break;
    case PAWL_FIELD_WORD:
        pawl_json_put_text(w, field->words[*number]);
        break;
    case PAWL_FIELD_MAP:
    case PAWL_FIELD_MAP_OR_NONE:
    case PAWL_FIELD_ANY:
        pawl_json_put_raw(w, text->len != 0 ? *text : PAWL_STR("{}"));
        break;
    case PAWL_FIELD_TEXTS:
        put_texts(w, member_of_const(object, field));
        break;
    }
}

void pawl_fields_write(struct pawl_fields fields, const void *object, struct pawl_json_writer *w)
{
    for (size_t i = 0; i < fields.count; i++) {
        if (is_written(&fields.items[i], object)) put_field(&fields.items[i], object, w);
    }
}
