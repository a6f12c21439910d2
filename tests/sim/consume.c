/* Consumers of events: what they read is what there is for them. */
#include "asks.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Consumers ----------------------------------------------------------------------------- */

static bool is_acknowledged(const struct look *look, int64_t consumer, int64_t position)
{
    for (int i = 0; i < look->acknowledgement_count; i++) {
        const struct look_acknowledgement *one = &look->acknowledgements[i];
        if (one->consumer == consumer && one->position == position) return true;
    }
    return false;
}

/* A long history is cut at its beginning. */
static bool is_kept(struct sim *sim, int64_t position)
{
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE position = %" PRId64,
                   position);
    return looker_number(&sim->looker, sql) > 0;
}

/* What a consumer is given is what lies after its cursor and is not acknowledged, without a gap. */
static void check_events(struct sim *sim, struct pawl_str name, int32_t limit,
                         const struct pawl_events *got)
{
    const struct look *look = sim->after;
    const struct look_consumer *consumer = NULL;
    for (int i = 0; i < look->consumer_count; i++) {
        if (pawl_str_equal(look->consumers[i].name, name)) consumer = &look->consumers[i];
    }
    if (consumer == NULL) {
        sim_fault(sim, "a consumer has read and does not exist");
        return;
    }
    size_t count = 0;
    for (int64_t position = consumer->cursor + 1; position <= look->position; position++) {
        if (count == (size_t)limit) break;
        if (is_acknowledged(look, consumer->key, position)) continue;
        bool is_given = count < got->count && got->events[count].position == position;
        if (is_given) {
            count++;
        } else if (is_kept(sim, position)) {
            sim_fault(sim, "consumer %.*s is not given event %" PRId64, PAWL_STR_ARG(name),
                      position);
            return;
        }
    }
    if (count != got->count) {
        sim_fault(sim, "consumer %.*s is given events twice", PAWL_STR_ARG(name));
    }
}

void people_read_events(struct sim *sim, struct engine *engine)
{
    struct pawl_error err = {0};
    struct pawl_events events = {0};
    struct pawl_arena *keep;
    struct pawl_str name = ask_consumer_name(sim);
    int32_t limit = (int32_t)roll(sim, 1, 30);
    if (pawl_arena_open(&keep, 0) != PAWL_OK) abort();
    sim->plan = (struct plan){0};
    sim->move++;
    sim->stepped = NULL; /* a read runs no step, but when the consumer is new */
    sim->had_fault = false;
    sim->was_killed = false;
    sim->boot_low_ms = world_boot_ms(sim);
    sim->boot_id_of_move = sim->boot_id;
    enum pawl_code code = pawl_consumer_read(engine->pawl, name, limit, 0, keep, &events, &err);
    sim->boot_high_ms = world_boot_ms(sim);
    sim->next_boot_ms = -1; /* nobody said */
    sim_tell(sim, "engine %d  consumer %.*s reads: %s, %zu events", engine->number,
             PAWL_STR_ARG(name), pawl_code_name(code), events.count);
    if (code != PAWL_OK) sim_fault(sim, "a consumer cannot read: %s", err.text);
    judge_move(sim);
    if (sim_holds(sim)) check_events(sim, name, limit, &events);
    pawl_arena_close(keep);
}
