#include "net/conductor/conductor.h"

#include "net/conductor/polls.h"
#include "net/conductor/waits.h"
#include "net/limits.h"

void pawl_conductor_tables(struct pawl_conductor *conductor,
                           struct pawl_route_table tables[PAWL_CONDUCTOR_TABLES])
{
    tables[0] = pawl_conductor_metadata(conductor);
    tables[1] = pawl_conductor_events(conductor);
    tables[2] = pawl_conductor_polls(conductor);
    tables[3] = pawl_conductor_updates(conductor);
    tables[4] = pawl_conductor_tasks(conductor);
    tables[5] = pawl_conductor_starts(conductor);
    tables[6] = pawl_conductor_workflows(conductor);
    tables[7] = pawl_conductor_controls(conductor);
    tables[8] = pawl_conductor_executes(conductor);
    tables[9] = pawl_conductor_searches(conductor);
    tables[10] = pawl_conductor_trials(conductor);
}

enum pawl_code pawl_conductor_open(struct pawl_conductor *conductor, struct pawl *pawl,
                                   struct pawl_readers *readers, struct pawl_error *err)
{
    *conductor = (struct pawl_conductor){
        .pawl = pawl, .readers = readers, .lease_grace_ms = PAWL_CONDUCTOR_LEASE_GRACE_MS};
    enum pawl_code code = pawl_polls_open(&conductor->polls, err);
    return code == PAWL_OK ? pawl_waits_open(&conductor->waits, pawl, err) : code;
}

void pawl_conductor_close(struct pawl_conductor *conductor)
{
    pawl_waits_close(conductor->waits);
    pawl_polls_close(conductor->polls);
}
