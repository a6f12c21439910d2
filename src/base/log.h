/* Structured log events: a dotted name that never changes, then typed fields, as one line of
 * logfmt.
 *
 *   pawl_log_write(log, PAWL_LOG_WARN, "lease.expired", PAWL_TEXT("task", task_id),
 *                  PAWL_INT("late_ms", now_ms - lease.end_at_ms));
 *
 *   level=warn event=lease.expired task=t-1 late_ms=250
 *
 * No time stands in the line: base has no clock, and journals and the sink have theirs. Where lines
 * go is the sink's business. A log is a value its owner hands down; there is no global one. */
#ifndef PAWL_BASE_LOG_H
#define PAWL_BASE_LOG_H

#include "pawl.h"

enum {
    /* A line is built on the stack. What does not fit is cut, and the line ends in "cut=true". */
    PAWL_LOG_TEXT_BYTES_MAX = 2048,
};

struct pawl_log {
    void (*write)(void *self, enum pawl_log_level level, struct pawl_str line); /* no newline */
    void *self;
    enum pawl_log_level level_max; /* what is more talkative is dropped */
};

enum pawl_log_field_kind { PAWL_LOG_FIELD_END, PAWL_LOG_FIELD_TEXT, PAWL_LOG_FIELD_INT };

struct pawl_log_field {
    const char *key; /* a plain word: a-z, 0-9, '_' */
    struct pawl_str text;
    int64_t number;
    enum pawl_log_field_kind kind;
};

#define PAWL_TEXT(key, str)   pawl_log_field_text(key, str)
#define PAWL_INT(key, number) pawl_log_field_int(key, number)

/* pawl_log_write(const struct pawl_log *log, enum pawl_log_level level, const char *event,
 * fields...)
 *
 * log may be NULL or without write. Values are quoted when they need it; control characters are
 * escaped, invalid UTF-8 becomes U+FFFD, so that a value can forge neither a field nor a line. The
 * macro adds the field that ends the list. */
#define pawl_log_write(...) pawl_log_write_fields(__VA_ARGS__, pawl_log_field_end())

static inline struct pawl_log_field pawl_log_field_text(const char *key, struct pawl_str str)
{
    return (struct pawl_log_field){.key = key, .text = str, .kind = PAWL_LOG_FIELD_TEXT};
}

static inline struct pawl_log_field pawl_log_field_int(const char *key, int64_t number)
{
    return (struct pawl_log_field){.key = key, .number = number, .kind = PAWL_LOG_FIELD_INT};
}

static inline struct pawl_log_field pawl_log_field_end(void)
{
    return (struct pawl_log_field){.kind = PAWL_LOG_FIELD_END};
}

/* Reads struct pawl_log_field until the one of kind END. */
void pawl_log_write_fields(const struct pawl_log *log, enum pawl_log_level level, const char *event,
                           ...);

/* "error", "warn", "info", "debug". */
const char *pawl_log_level_name(enum pawl_log_level level);

#endif
