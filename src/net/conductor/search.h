/* Searches. There is no index: all rows are looked at, newest first, a page a read, so that what
 * has just been committed is found. What needs more than the row is read for a row only if it is
 * asked for. What kind of row it is, is the caller's (search_workflow.c, search_task.c). */
#ifndef PAWL_NET_CONDUCTOR_SEARCH_H
#define PAWL_NET_CONDUCTOR_SEARCH_H

#include "base/map.h"
#include "net/conductor/conductor.h"
#include "net/conductor/query.h"
#include "net/reading.h"
#include "store/read_workflow.h"

struct pawl_search;

struct pawl_search_kind {
    size_t bytes; /* of what begins with the search */
    const struct pawl_query_field *fields;
    size_t field_count;
    const size_t *free_fields; /* what freeText looks at */
    size_t free_count;
    size_t time_field; /* what it is ordered by, newest first, if nobody says */
    bool is_distinct;  /* one hit for each id */
    /* What the row that is looked at holds. */
    struct pawl_query_value (*value)(void *self, size_t field);
    /* Gives the rows, newest first, to pawl_search_look, until it is full. */
    enum pawl_code (*walk)(struct pawl_search *search, struct pawl_error *err);
    /* Writes one result, or nothing if it was removed since. */
    enum pawl_code (*put)(struct pawl_search *search, struct pawl_str id,
                          struct pawl_json_writer *w, struct pawl_error *err);
    void (*close)(struct pawl_search *search); /* NULL = nothing to close */
};

struct pawl_search {
    struct pawl_reading reading; /* first */
    const struct pawl_conductor *conductor;
    const struct pawl_search_kind *kind;
    struct pawl_str query_text;
    struct pawl_str free_text; /* empty = all */
    struct pawl_query *query;
    struct pawl_query_sort sorts[PAWL_QUERY_SORTS_MAX];
    size_t sort_count;
    int64_t start;
    int64_t size;

    /* while it runs */
    struct pawl_reader *reader;
    struct pawl_arena *keep;    /* until the answer */
    struct pawl_arena *pages;   /* of the page of rows that is looked at */
    struct pawl_arena *scratch; /* of the row, or of the result */
    struct pawl_map ids;        /* of a distinct kind */
    struct pawl_search_hit *hits;
    size_t hit_count;
    size_t hit_room;
    bool is_full; /* it looks at no more */
};

/* Answers the exchange with what is found. */
void pawl_search_run(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                     const struct pawl_search_kind *kind);

/* Looks at the row that kind->value tells of, whose result is put by this id. */
enum pawl_code pawl_search_look(struct pawl_search *search, struct pawl_str id,
                                struct pawl_error *err);

/* What a summary has of times and texts: nothing where there is none. */
void pawl_search_put_time(struct pawl_json_writer *w, const char *key, int64_t at_ms);
void pawl_search_put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text);

/* Results that are workflows, also those of searches by their tasks. */
enum pawl_code pawl_search_put_summary(struct pawl_search *search, struct pawl_str id,
                                       struct pawl_json_writer *w, struct pawl_error *err);
enum pawl_code pawl_search_put_whole(struct pawl_search *search, struct pawl_str id,
                                     struct pawl_json_writer *w, struct pawl_error *err);

extern const struct pawl_search_kind pawl_search_summaries; /* of workflows */
extern const struct pawl_search_kind pawl_search_workflows;
extern const struct pawl_search_kind pawl_search_task_summaries;
extern const struct pawl_search_kind pawl_search_tasks;
extern const struct pawl_search_kind pawl_search_summaries_by_tasks; /* of workflows */
extern const struct pawl_search_kind pawl_search_workflows_by_tasks;

#endif
