/* The JSON of what the store holds: the same on the command line and over HTTP. Names are those of pawl.h, times are in
 * milliseconds, and there is null where there is nothing. */
#ifndef PAWL_WIRE_SHOW_H
#define PAWL_WIRE_SHOW_H

#include "base/json_writer.h"
#include "pawl.h"

/* Key and value; null for what is not given: an empty text, 0 for an instant. */
void pawl_show_text(struct pawl_json_writer *w, const char *key, struct pawl_str text);
void pawl_show_instant(struct pawl_json_writer *w, const char *key, int64_t at_ms);

/* The members of a task, into an object that is open; those of the payload only if asked for. */
void pawl_show_task_json(struct pawl_json_writer *w, const struct pawl_task *task,
                         bool with_payload);
void pawl_show_event_json(struct pawl_json_writer *w, const struct pawl_event *event);
/* Key and value: all of them. */
void pawl_show_events_json(struct pawl_json_writer *w, const struct pawl_events *events);
void pawl_show_queue_json(struct pawl_json_writer *w, const struct pawl_queue *queue);

#endif
