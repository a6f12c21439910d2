/* Conductor's REST face, below /api (docs/conductor.md): its tables of routes, a file a resource.
 * What Conductor's clients send is read as leniently as Conductor reads it, and what differs is
 * said in that page. */
#ifndef PAWL_NET_CONDUCTOR_CONDUCTOR_H
#define PAWL_NET_CONDUCTOR_CONDUCTOR_H

#include "net/route.h"
#include "pawl.h"

struct pawl_polls;
struct pawl_readers;
struct pawl_waits;

/* What the handlers work with; the self of each table. Borrowed as long as a route may be asked. */
struct pawl_conductor {
    struct pawl *pawl;            /* not driven */
    struct pawl_readers *readers; /* of the same store */
    struct pawl_polls *polls;
    struct pawl_waits *waits;
    /* What a lease lasts beyond what it says: these clients renew at four fifths of it. */
    int64_t lease_grace_ms;
};

enum { PAWL_CONDUCTOR_TABLES = 11 };

/* The polls, and the usual grace.
 *
 *   fails  PAWL_NO_MEMORY */
enum pawl_code pawl_conductor_open(struct pawl_conductor *conductor, struct pawl *pawl,
                                   struct pawl_readers *readers,
                                   struct pawl_error *err) PAWL_MUST_USE;
void pawl_conductor_close(struct pawl_conductor *conductor); /* after the server; takes a zeroed one */

/* Writes all tables of the interface. */
void pawl_conductor_tables(struct pawl_conductor *conductor,
                           struct pawl_route_table tables[PAWL_CONDUCTOR_TABLES]);

/* One of each file. */
struct pawl_route_table pawl_conductor_metadata(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_events(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_polls(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_updates(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_tasks(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_starts(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_workflows(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_controls(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_executes(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_searches(struct pawl_conductor *conductor);
struct pawl_route_table pawl_conductor_trials(struct pawl_conductor *conductor);

#endif
