/* The body of a request: a JSON object, read by a table of its keys.
 *
 * What is wrong with it is told as the checks of core tell it: a sentence that begins with the
 * field, from the outside in ("outcomes[3]: owner: a text is wanted"). pawl_body_field finds it
 * again, so that each answer can name the field by itself too. */
#ifndef PAWL_NET_NATIVE_BODY_H
#define PAWL_NET_NATIVE_BODY_H

#include "base/json.h"
#include "pawl.h"

struct pawl_exchange;

enum pawl_body_kind {
    PAWL_BODY_TEXT,     /* struct pawl_str */
    PAWL_BODY_NAME,     /* struct pawl_str, not empty */
    PAWL_BODY_RAW,      /* struct pawl_str: any JSON, as it came */
    PAWL_BODY_BOOL,     /* bool */
    PAWL_BODY_INT64,    /* int64_t; negative ones are refused */
    PAWL_BODY_EPOCH,    /* int64_t from 1 on */
    PAWL_BODY_INT32,    /* int32_t; negative ones are refused */
    PAWL_BODY_DOUBLE,   /* double */
    PAWL_BODY_MS,       /* int64_t: a number, or a text such as "5m" */
    PAWL_BODY_DELAY,    /* the same, where none has a value of its own: PAWL_DELAY_NONE */
    PAWL_BODY_INSTANT,  /* int64_t: a number, or a text such as "2026-11-30T17:45:00Z" */
    PAWL_BODY_PRIORITY, /* int32_t: 0 to 99, or a name of four */
    PAWL_BODY_RETRIES,  /* int32_t: where none has a value of its own: PAWL_RETRIES_NONE */
    PAWL_BODY_BACKOFF,  /* enum pawl_backoff */
    PAWL_BODY_STATE,    /* enum pawl_task_state */
    PAWL_BODY_ARRAY,    /* const struct pawl_json * */
    PAWL_BODY_OBJECT,   /* const struct pawl_json * */
};

struct pawl_body_key {
    const char *key;
    enum pawl_body_kind kind;
    size_t at; /* of the value in the struct that is filled */
    bool is_needed;
};

/* Fills *out by the table. What is null is as if it were not there, and stays as it was; only a
 * needed PAWL_BODY_RAW may be null. Texts are slices of the object or lie in keep.
 *
 *   fails  PAWL_INVALID  no object, an unknown key, a value of the wrong kind, one that is missing;
 *                        names it
 *          PAWL_TOO_LARGE, PAWL_NO_MEMORY  of keep */
enum pawl_code pawl_body_fill(const struct pawl_json *object, const struct pawl_body_key *keys,
                              size_t count, struct pawl_arena *keep, void *out,
                              struct pawl_error *err) PAWL_MUST_USE;

/* Whether the object has something under this key that is not null. */
bool pawl_body_has(const struct pawl_json *object, const char *key);

/* The body of a request with nodes for so many levels; no body is an object without keys. NULL, and
 * answered, if it is no JSON. */
const struct pawl_json *pawl_body_of(struct pawl_exchange *exchange, int32_t levels);

/* The same where nothing can be meant by no body: an empty one is refused, as what its client has lost. */
const struct pawl_json *pawl_body_wanted(struct pawl_exchange *exchange, int32_t levels);

/* The field that a sentence begins with ("outcomes[3].owner"), in keep; NULL if it names none. */
const char *pawl_body_field(const struct pawl_error *err, struct pawl_arena *keep);

#endif
