/* The schema: numbered files, applied in order, forward only (store/schema/NNNN.*.sql). What is
 * open carries the list it was opened with, so that a test can bring a list of its own. */
#ifndef PAWL_STORE_SCHEMA_H
#define PAWL_STORE_SCHEMA_H

#include <stdint.h>

struct pawl_schema {
    const char *const *sqlite; /* the text of 0001, 0002, ... */
    const char *const *postgres;
    int64_t count; /* the version that the last of them makes */
};

/* Ours. */
extern const struct pawl_schema pawl_schema;

#endif
