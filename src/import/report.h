/* What an import has found: counts, records that cannot be read, values that became something else.
 * Every such record and value is named; so the report grows with their number, and with nothing
 * else. */
#ifndef PAWL_IMPORT_REPORT_H
#define PAWL_IMPORT_REPORT_H

#include "base/map.h"
#include "base/printf.h"
#include "core/task/state.h"

struct pawl_import_remark {
    struct pawl_str task; /* its id, else what it is called in the file */
    struct pawl_str text; /* "field: what is the matter" */
    struct pawl_import_remark *next;
};

struct pawl_import_remarks { /* in the order in which they were made */
    struct pawl_import_remark *first;
    struct pawl_import_remark *last;
    int64_t count;
};

struct pawl_import_report {
    struct pawl_arena *arena; /* borrowed; no budget */
    struct pawl_str form;     /* "json" or "sqlite" */
    int64_t schema;           /* of the sqlite form, as the file says; 0 = it says nothing */
    struct pawl_str digest;
    int64_t task_count;                          /* records in the file */
    int64_t state_counts[PAWL_TASK_STATE_COUNT]; /* as they were */
    int64_t handed_back_count;                   /* RUNNING, queued again */
    int64_t spent_count;     /* RUNNING, and that was the last try: dead letters */
    int64_t unsettled_count; /* RUNNING elsewhere, left to a person */
    int64_t checkpoint_count;
    int64_t event_count;
    struct pawl_import_remarks refused; /* any: nothing is imported */
    struct pawl_import_remarks changed; /* values that became something else, or were left out */
    struct pawl_map ignored_keys;       /* "tasks.colour" -> int64_t, how often */
};

void pawl_import_report_init(struct pawl_import_report *report, struct pawl_arena *arena);

/* Adds a remark about a task. report may be NULL: then nobody wants to hear it again. */
void pawl_import_refuse(struct pawl_import_report *report, struct pawl_str task, const char *format,
                        ...) PAWL_PRINTF(3, 4);
void pawl_import_remark(struct pawl_import_report *report, struct pawl_str task, const char *format,
                        ...) PAWL_PRINTF(3, 4);
/* A key that nobody knows, in one of the file's kinds of objects. */
void pawl_import_ignore_key(struct pawl_import_report *report, const char *of, struct pawl_str key);

#endif
