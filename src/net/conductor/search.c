#include "net/conductor/search.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "net/limits.h"

#include <stdlib.h>

struct pawl_search_hit {
    const struct pawl_search *search;
    struct pawl_str id;
    const struct pawl_query_value *values; /* of the fields that are sorted by */
};

/* ---- Finding ---- */

static bool has_free_text(struct pawl_search *search)
{
    const struct pawl_search_kind *kind = search->kind;
    if (search->free_text.len == 0) return true;
    for (size_t i = 0; i < kind->free_count; i++) {
        if (pawl_query_has(kind->value(search, kind->free_fields[i]).text, search->free_text))
            return true;
    }
    return false;
}

/* What lies beside a row is read once, and not again for each comparison. */
static void add_hit(struct pawl_search *search, struct pawl_str id)
{
    struct pawl_arena *keep = search->keep;
    if (search->hit_count == search->hit_room) {
        size_t room = search->hit_room == 0 ? 64 : search->hit_room * 2;
        struct pawl_search_hit *hits = pawl_arena_resize(
            keep, search->hits, search->hit_room * sizeof *hits, room * sizeof *hits);
        if (hits == NULL) return; /* the arena says so */
        search->hits = hits;
        search->hit_room = room;
    }
    struct pawl_query_value *values =
        pawl_arena_take_array(keep, search->sort_count, sizeof *values);
    for (size_t i = 0; i < search->sort_count && values != NULL; i++) {
        values[i] = search->kind->value(search, search->sorts[i].field);
        values[i].text = pawl_arena_copy(keep, values[i].text);
    }
    search->hits[search->hit_count++] =
        (struct pawl_search_hit){search, pawl_arena_copy(keep, id), values};
    search->is_full = search->hit_count == PAWL_CONDUCTOR_HITS_MAX;
}

enum pawl_code pawl_search_look(struct pawl_search *search, struct pawl_str id,
                                struct pawl_error *err)
{
    bool is_known = search->kind->is_distinct && pawl_map_at(&search->ids, 0, 0, id) != NULL;
    bool is_hit = !is_known && pawl_query_holds(search->query, search, search->kind->value) &&
                  has_free_text(search);
    if (is_hit) {
        size_t before = search->hit_count;
        add_hit(search, id);
        if (search->kind->is_distinct && search->hit_count > before)
            (void)pawl_map_put(&search->ids, 0, 0, search->hits[before].id);
    }
    pawl_arena_reset(search->scratch);
    enum pawl_code code = pawl_arena_code(search->keep);
    return code == PAWL_OK ? code : pawl_error_set(err, code, "no room for what is found");
}

/* ---- Order ---- */

static int by_sorts(const void *one, const void *other)
{
    const struct pawl_search_hit *a = one;
    const struct pawl_search_hit *b = other;
    for (size_t i = 0; i < a->search->sort_count; i++) {
        const struct pawl_query_sort *sort = &a->search->sorts[i];
        const struct pawl_query_value *left = &a->values[i];
        const struct pawl_query_value *right = &b->values[i];
        int order = a->search->kind->fields[sort->field].is_number
                        ? (left->number > right->number) - (left->number < right->number)
                        : pawl_str_compare(left->text, right->text);
        if (order != 0) return sort->is_descending ? -order : order;
    }
    return pawl_str_compare(a->id, b->id);
}

/* ---- Answers ---- */

void pawl_search_put_time(struct pawl_json_writer *w, const char *key, int64_t at_ms)
{
    char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    if (at_ms == 0) return;
    pawl_instant_format(at_ms, text);
    pawl_json_put_member_text(w, key, pawl_str_of(text));
}

void pawl_search_put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

static enum pawl_code put_page(struct pawl_search *search, struct pawl_json_writer *w,
                               struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    pawl_arena_reset(search->pages);
    pawl_json_put_key(w, "results");
    pawl_json_begin_array(w);
    for (size_t i = (size_t)search->start;
         i < search->hit_count && (int64_t)i < search->start + search->size && code == PAWL_OK;
         i++) {
        code = search->kind->put(search, search->hits[i].id, w, err);
        pawl_arena_reset(search->scratch);
    }
    pawl_json_end_array(w);
    return code;
}

static enum pawl_code search_all(struct pawl_search *search, struct pawl_json_writer *w,
                                 struct pawl_error *err)
{
    enum pawl_code code =
        pawl_query_of(search->query_text, search->kind->fields, search->kind->field_count,
                      search->keep, &search->query, err);
    if (code == PAWL_OK) code = search->kind->walk(search, err);
    if (code != PAWL_OK) return code;
    if (search->hit_count > 1)
        qsort(search->hits, search->hit_count, sizeof *search->hits, by_sorts);
    pawl_json_begin_object(w);
    pawl_json_put_member_int64(w, "totalHits", (int64_t)search->hit_count);
    code = put_page(search, w, err);
    pawl_json_end_object(w);
    return code;
}

static enum pawl_code put(struct pawl_reading *reading, struct pawl_reader *reader,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_search *search = (struct pawl_search *)reading;
    search->reader = reader;
    search->keep = reading->exchange->arena;
    pawl_map_init(&search->ids, search->keep);
    enum pawl_code code = pawl_arena_open(&search->scratch, 0);
    if (code == PAWL_OK) code = pawl_arena_open(&search->pages, 0);
    if (code == PAWL_OK) {
        code = search_all(search, w, err);
    } else {
        (void)pawl_error_set(err, code, "no room to search");
    }
    if (search->kind->close != NULL) search->kind->close(search);
    pawl_arena_close(search->pages);
    pawl_arena_close(search->scratch);
    return code;
}

/* Parts between bars, in one parameter or in several. */
static bool take_sorts(struct pawl_search *search, struct pawl_exchange *exchange)
{
    struct pawl_error err = {0};
    size_t count = 0;
    const struct pawl_str *texts = pawl_exchange_list(exchange, "sort", &count);
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && texts != NULL && code == PAWL_OK; i++) {
        code = pawl_query_sort_of(texts[i], search->kind->fields, search->kind->field_count,
                                  search->sorts, &search->sort_count, &err);
    }
    if (code != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, "sort");
        return false;
    }
    if (search->sort_count == 0) {
        search->sorts[search->sort_count++] =
            (struct pawl_query_sort){search->kind->time_field, true};
    }
    return true;
}

void pawl_search_run(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                     const struct pawl_search_kind *kind)
{
    struct pawl_search *search = pawl_reading_begin(exchange, kind->bytes, put);
    if (search == NULL) return;
    struct pawl_str free_text = pawl_exchange_text(exchange, "freeText");
    search->conductor = conductor;
    search->kind = kind;
    search->start = pawl_exchange_int64(exchange, "start", 0, INT32_MAX, 0);
    search->size = pawl_exchange_int64(exchange, "size", 0, PAWL_CONDUCTOR_SIZE_MAX, 100);
    search->query_text = pawl_exchange_text(exchange, "query");
    if (!pawl_str_equal(free_text, PAWL_STR("*"))) search->free_text = free_text;
    if (pawl_exchange_has_failed(exchange) || !take_sorts(search, exchange)) return;
    pawl_reading_add(&search->reading, conductor->readers);
}

/* clang-format off */
#define SEARCH(name, kind)                                              \
    static void name(struct pawl_exchange *exchange, void *self)        \
    {                                                                   \
        pawl_search_run(exchange, self, &(kind));                       \
    }
SEARCH(search_summaries, pawl_search_summaries)
SEARCH(search_workflows, pawl_search_workflows)
SEARCH(search_summaries_by_tasks, pawl_search_summaries_by_tasks)
SEARCH(search_workflows_by_tasks, pawl_search_workflows_by_tasks)
SEARCH(search_task_summaries, pawl_search_task_summaries)
SEARCH(search_tasks, pawl_search_tasks)

static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/workflow/search", PAWL_ROLE_VIEWER, "Searches workflows: summaries", search_summaries, 0},
    {PAWL_VERB_GET, "/api/workflow/search-v2", PAWL_ROLE_VIEWER, "Searches workflows", search_workflows, 0},
    {PAWL_VERB_GET, "/api/workflow/search-by-tasks", PAWL_ROLE_VIEWER, "Searches workflows by their tasks: summaries", search_summaries_by_tasks, 0},
    {PAWL_VERB_GET, "/api/workflow/search-by-tasks-v2", PAWL_ROLE_VIEWER, "Searches workflows by their tasks", search_workflows_by_tasks, 0},
    {PAWL_VERB_GET, "/api/tasks/search", PAWL_ROLE_VIEWER, "Searches tasks of workflows: summaries", search_task_summaries, 0},
    {PAWL_VERB_GET, "/api/tasks/search-v2", PAWL_ROLE_VIEWER, "Searches tasks of workflows", search_tasks, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_searches(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
