/* Runs whose people play workflows instead of single tasks: they register definitions, start,
 * claim, update, pause, resume, retry, restart and terminate; and an oracle of its own for what is
 * stored of workflows. Engines, disk, clocks and faults are those of every run. */
#ifndef PAWL_TESTS_SIM_FLOW_H
#define PAWL_TESTS_SIM_FLOW_H

#include "sim.h"

struct flows *flow_open(struct sim *sim);
void flow_close(struct flows *flows);

/* One or more calls, sent to this engine. */
void flow_act(struct sim *sim, struct engine *engine);
/* Everybody behaves; whether there was anything to do. */
bool flow_work(struct sim *sim, struct engine *engine);
/* After a step: what was answered, and whether what is stored may be so. */
void flow_judge(struct sim *sim);
void flow_judge_end(struct sim *sim);

#endif
