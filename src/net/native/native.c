#include "net/native/native.h"

#include "net/native/feed.h"

void pawl_native_tables(struct pawl_native *native,
                        struct pawl_route_table tables[PAWL_NATIVE_TABLES])
{
    tables[0] = pawl_native_adds(native);
    tables[1] = pawl_native_changes(native);
    tables[2] = pawl_native_claims(native);
    tables[3] = pawl_native_sets(native);
    tables[4] = pawl_native_looks(native);
    tables[5] = pawl_native_feeds(native);
}
