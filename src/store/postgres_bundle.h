/* Values on their way to PostgreSQL: of a statement asked once, or of many asks of it at once. They
 * are gathered as they will be sent, a column of each parameter, so that a bundle of many needs no
 * other form than an array a parameter. */
#ifndef PAWL_STORE_POSTGRES_BUNDLE_H
#define PAWL_STORE_POSTGRES_BUNDLE_H

#include "store/db.h"

enum {
    /* The widest statement writes a task; rows have fewer columns than this. */
    PAWL_BUNDLE_VALUES_MAX = 64,

    /* A bundle that has grown so large is sent. An element of an array of texts is found by walking
     * to it, so that more asks would cost more than they save; and one ask may be larger by itself.
     */
    PAWL_BUNDLE_ASKS_MAX = 128,
    PAWL_BUNDLE_BYTES_MAX = 1024 * 1024,
};

struct pawl_bundle_column {
    char *bytes; /* owned */
    size_t len;
    size_t room;
    uint32_t type; /* of its values, by pg_type.dat; 0 = all are NULL so far */
    bool has_null;
};

/* Zeroed is empty. */
struct pawl_bundle {
    struct pawl_bundle_column columns[PAWL_BUNDLE_VALUES_MAX];
    size_t width;  /* values an ask */
    int32_t count; /* asks */
    size_t bytes;
};

/* Parallel arrays, as libpq takes them; borrowed from the bundle until it changes. */
struct pawl_bundle_parameters {
    const char *values[PAWL_BUNDLE_VALUES_MAX];
    int lengths[PAWL_BUNDLE_VALUES_MAX];
    int formats[PAWL_BUNDLE_VALUES_MAX];
    uint32_t types[PAWL_BUNDLE_VALUES_MAX]; /* 0 = as the server finds it */
};

/* Adds one ask. All asks of a bundle have as many values, and a column's are of one kind or NULL.
 * The bytes are copied. After a failure the bundle is empty.
 *
 *   fails  PAWL_NO_MEMORY */
enum pawl_code pawl_bundle_add(struct pawl_bundle *bundle, const struct pawl_value *values,
                               size_t count, struct pawl_error *err) PAWL_MUST_USE;

/* The values of a bundle of one. */
void pawl_bundle_one(const struct pawl_bundle *bundle, struct pawl_bundle_parameters *out);

/* Each parameter an array with an element an ask; a column without any value is NULL as a whole,
 * and so is any element of it. */
void pawl_bundle_many(struct pawl_bundle *bundle, struct pawl_bundle_parameters *out);

/* One more parameter, of type bigint: number as it is sent. Borrowed. */
void pawl_bundle_append(struct pawl_bundle_parameters *out, int at, const char *number, int len);

void pawl_bundle_reset(struct pawl_bundle *bundle); /* keeps the memory, unless it is much */
void pawl_bundle_free(struct pawl_bundle *bundle);

#endif
