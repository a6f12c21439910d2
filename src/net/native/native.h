/* Pawl's own interface, below /v1 (docs/http-api.md): its tables of routes, a file a resource. */
#ifndef PAWL_NET_NATIVE_NATIVE_H
#define PAWL_NET_NATIVE_NATIVE_H

#include "net/route.h"
#include "pawl.h"

struct pawl_feed;
struct pawl_readers;

/* What the handlers work with; the self of each table. Borrowed as long as a route may be asked. */
struct pawl_native {
    struct pawl *pawl;            /* not driven */
    struct pawl_readers *readers; /* of the same store */
    struct pawl_feed *feed;       /* of the same handle */
};

enum { PAWL_NATIVE_TABLES = 6 };

/* Writes all tables of the interface. */
void pawl_native_tables(struct pawl_native *native,
                        struct pawl_route_table tables[PAWL_NATIVE_TABLES]);

/* One of each file. */
struct pawl_route_table pawl_native_adds(struct pawl_native *native);
struct pawl_route_table pawl_native_changes(struct pawl_native *native);
struct pawl_route_table pawl_native_claims(struct pawl_native *native);
struct pawl_route_table pawl_native_sets(struct pawl_native *native);
struct pawl_route_table pawl_native_looks(struct pawl_native *native);

#endif
