#include "net/conductor/fault.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

#include <inttypes.h>

bool pawl_faulty_any(const struct pawl_faulty *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].faults.count > 0) return true;
    }
    return false;
}

static bool is_scalar(struct pawl_str json)
{
    return json.len > 0 && json.ptr[0] != '{' && json.ptr[0] != '[';
}

static void put_fault(struct pawl_json_writer *w, const struct pawl_faulty *of,
                      const struct pawl_fault *fault, struct pawl_arena *keep)
{
    struct pawl_str path = pawl_arena_format(keep, "%.*s%.*s", PAWL_STR_ARG(of->prefix),
                                             PAWL_STR_ARG(fault->path));
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "path", path);
    pawl_json_put_member_text(w, "message", fault->message);
    if (is_scalar(fault->value)) pawl_json_put_member_raw(w, "invalidValue", fault->value);
    pawl_json_end_object(w);
}

/* The first one, and how many others there are: clients show nothing but this. */
static struct pawl_str sentence(const struct pawl_faulty *all, size_t count, bool is_warning,
                                struct pawl_arena *keep)
{
    const struct pawl_fault *first = NULL;
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += is_warning ? all[i].faults.warning_count : all[i].faults.count;
        for (const struct pawl_fault *at = all[i].faults.first; at != NULL && first == NULL;
             at = at->next) {
            if (at->is_warning == is_warning) first = at;
        }
    }
    struct pawl_str text = first != NULL ? first->message : PAWL_STR("there is something wrong");
    if (sum < 2) return text;
    return pawl_arena_format(keep, "%.*s; and %" PRId32 " more", PAWL_STR_ARG(text), sum - 1);
}

void pawl_faulty_refuse(struct pawl_exchange *exchange, const struct pawl_faulty *all, size_t count)
{
    struct pawl_arena *keep = exchange->arena;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, keep);
    pawl_json_begin_object(&w);
    pawl_json_put_member_int64(&w, "status", 400);
    pawl_json_put_member_text(&w, "message", sentence(all, count, false, keep));
    pawl_json_put_key(&w, "validationErrors");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < count; i++) {
        for (const struct pawl_fault *at = all[i].faults.first; at != NULL; at = at->next) {
            if (!at->is_warning) put_fault(&w, &all[i], at, keep);
        }
    }
    pawl_json_end_array(&w);
    pawl_json_put_member_bool(&w, "retryable", false);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(exchange, 400, &w);
}

void pawl_faulty_warn(struct pawl_exchange *exchange, const struct pawl_faulty *all, size_t count)
{
    enum { WARNING_BYTES_MAX = 512 };
    char text[WARNING_BYTES_MAX];
    size_t len = 0;
    bool has_any = false;
    for (size_t i = 0; i < count; i++) has_any = has_any || all[i].faults.warning_count > 0;
    if (!has_any) return;
    struct pawl_str said = sentence(all, count, true, exchange->arena);
    for (size_t i = 0; i < said.len && len < sizeof text; i++) {
        char c = said.ptr[i];
        text[len++] = (char)(c == '"' ? '\'' : c < ' ' || c > '~' ? '?' : c);
    }
    struct pawl_str value =
        pawl_arena_format(exchange->arena, "299 pawl \"%.*s\"", (int)len, text);
    if (value.len > 0) pawl_exchange_header(exchange, "Warning", value);
}

static struct pawl_str no_path(void *self, struct pawl_arena *arena)
{
    (void)self;
    (void)arena;
    return (struct pawl_str){0};
}

struct pawl_fault_place pawl_faulty_place(struct pawl_faulty *faulty)
{
    return (struct pawl_fault_place){.self = faulty, .path = no_path, .faults = &faulty->faults};
}

bool pawl_conductor_body(struct pawl_exchange *exchange, struct pawl_fields fields, void *out,
                         const char *prefix)
{
    struct pawl_error err = {0};
    struct pawl_json *body = NULL;
    struct pawl_str text = pawl_str_trim(exchange->request->body);
    struct pawl_faulty faulty = {.prefix = pawl_str_of(prefix)};
    pawl_faults_init(&faulty.faults, exchange->arena);
    pawl_fields_init(fields, out);
    if (text.len == 0) return true;
    enum pawl_code code = pawl_json_parse_top(text, 2, exchange->arena, &body, &err);
    if (code == PAWL_OK && body->kind != PAWL_JSON_OBJECT) {
        code = pawl_error_set(&err, PAWL_INVALID, "an object is wanted");
    }
    if (code != PAWL_OK) {
        pawl_error_prefix(&err, "body");
        pawl_exchange_answer_error(exchange, &err, "body");
        return false;
    }
    struct pawl_fault_place place = pawl_faulty_place(&faulty);
    pawl_fields_read(fields, body, out, &place, NULL, NULL);
    if (!pawl_faulty_any(&faulty, 1)) return true;
    pawl_faulty_refuse(exchange, &faulty, 1);
    return false;
}
