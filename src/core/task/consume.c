/* Consumers of the events: named cursors, with acknowledgement one by one on top. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

static const struct pawl_str none = {0};

static struct pawl_entry *consumer_entry(struct pawl_step *step, struct pawl_str name)
{
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_CONSUMER, 0, name, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry;
}

enum pawl_code pawl_rule_consumer_open(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_str name = command->ask.acknowledge.consumer;
    struct pawl_entry *entry = consumer_entry(step, name);
    if (entry == NULL || entry->row != NULL) return PAWL_OK;
    struct pawl_entry *oldest = pawl_set_look(&step->set, PAWL_LOOK_EVENTS, 0, none, 0, 1);
    if (oldest == NULL || !oldest->is_loaded) return PAWL_BUSY;
    const struct pawl_rows *events = oldest->row;
    bool is_any = events->count > 0;
    struct pawl_consumer_row *consumer = pawl_step_take(step, sizeof *consumer);
    if (consumer == NULL) return PAWL_NO_MEMORY;
    *consumer = (struct pawl_consumer_row){
        .key = pawl_step_key(step),
        .name = name,
        .cursor = is_any ? ((const int64_t *)events->rows)[0] - 1 : step->head_position,
        .seen_at_ms = step->now_ms};
    pawl_set_put(&step->set, PAWL_LOOK_CONSUMER, 0, name, 0, consumer);
    return PAWL_OK;
}

static enum pawl_code no_such_consumer(struct pawl_command *command)
{
    return pawl_error_set(&command->err, PAWL_NOT_FOUND, "no such consumer: %.*s",
                          PAWL_STR_ARG(command->ask.acknowledge.consumer));
}

static bool is_acknowledged(struct pawl_step *step, int64_t consumer, int64_t position)
{
    struct pawl_entry *known = pawl_set_look(&step->set, PAWL_LOOK_ACK, consumer, none, position, 0);
    return known != NULL && known->is_loaded && known->row != NULL;
}

/* Up to where every event that there is after the cursor is acknowledged, with `position` counting as such.
 * Positions without an event are passed: retention and restores leave them. May be short. */
static int64_t acknowledged_through(struct pawl_step *step, const struct pawl_consumer_row *consumer,
                                    int64_t position)
{
    int64_t through = consumer->cursor;
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_EVENTS, consumer->cursor, none, 0,
                                            PAWL_ACKNOWLEDGED_LOOKS_MAX);
    if (list == NULL || !list->is_loaded) return through;
    const struct pawl_rows *rows = list->row;
    const int64_t *events = rows->rows;
    /* of most that come out of order the first event says all */
    if (rows->count == 0) return through;
    bool is_first = events[0] == position || is_acknowledged(step, consumer->key, events[0]);
    if (step->set.is_short || !is_first) return through;
    for (size_t i = 0; i < rows->count; i++) (void)is_acknowledged(step, consumer->key, events[i]);
    if (step->set.is_short) return through;
    for (size_t i = 0; i < rows->count; i++) {
        if (events[i] != position && !is_acknowledged(step, consumer->key, events[i])) break;
        through = events[i];
    }
    return through;
}

/* The cursor takes the place of the acknowledgements up to it. */
static void move_cursor(struct pawl_step *step, struct pawl_entry *entry, int64_t position)
{
    struct pawl_consumer_row *consumer = pawl_set_change(&step->set, entry);
    consumer->cursor = position;
    consumer->seen_at_ms = step->now_ms;
    struct pawl_ack *prune = pawl_step_take(step, sizeof *prune);
    if (prune == NULL) return;
    *prune = (struct pawl_ack){consumer->key, position};
    pawl_set_append(&step->set, PAWL_APPEND_ACK_PRUNE, prune);
}

/* Written now and then: who only acknowledges out of order is there all the same. */
static void sign_of_life(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_consumer_row *consumer = entry->row;
    if (step->now_ms - consumer->seen_at_ms < PAWL_CONSUMER_SEEN_EVERY_MS) return;
    ((struct pawl_consumer_row *)pawl_set_change(&step->set, entry))->seen_at_ms = step->now_ms;
}

enum pawl_code pawl_rule_acknowledge(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry = consumer_entry(step, command->ask.acknowledge.consumer);
    if (entry == NULL) return PAWL_BUSY;
    if (entry->row == NULL) return no_such_consumer(command);
    const struct pawl_consumer_row *consumer = entry->row;
    int64_t position = command->ask.acknowledge.position;
    *command->out.is_first = false;
    if (position <= consumer->cursor) return PAWL_OK;
    struct pawl_entry *event =
        pawl_set_look(&step->set, PAWL_LOOK_EVENT, position, none, 0, 0);
    struct pawl_entry *known =
        pawl_set_look(&step->set, PAWL_LOOK_ACK, consumer->key, none, position, 0);
    if (step->set.is_short || event == NULL || known == NULL) return PAWL_BUSY;
    if (event->row == NULL || known->row != NULL) return PAWL_OK;
    if (((const struct pawl_event_row *)event->row)->at_ms != command->ask.acknowledge.at_ms) {
        return PAWL_OK; /* an id that only looks like one of ours */
    }
    int64_t through = acknowledged_through(step, consumer, position);
    if (step->set.is_short) return PAWL_BUSY;
    if (through > consumer->cursor) move_cursor(step, entry, through);
    if (through < position) {
        struct pawl_ack *ack = pawl_step_take(step, sizeof *ack);
        if (ack == NULL) return PAWL_NO_MEMORY;
        *ack = (struct pawl_ack){consumer->key, position};
        pawl_set_append(&step->set, PAWL_APPEND_ACK, ack);
        pawl_set_know_after(&step->set, PAWL_LOOK_ACK, consumer->key, position, &ack->position);
        sign_of_life(step, entry);
    }
    *command->out.is_first = true;
    return PAWL_OK;
}

enum pawl_code pawl_rule_acknowledge_through(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry = consumer_entry(step, command->ask.acknowledge.consumer);
    if (entry == NULL) return PAWL_BUSY;
    if (entry->row == NULL) return no_such_consumer(command);
    const struct pawl_consumer_row *before = entry->row;
    int64_t position = command->ask.acknowledge.position;
    if (position > step->head_position) {
        return pawl_error_set(&command->err, PAWL_INVALID,
                              "position: there is no event %lld yet; the newest is %lld",
                              (long long)position, (long long)step->head_position);
    }
    if (position <= before->cursor) return PAWL_OK; /* never back */
    move_cursor(step, entry, position);
    return PAWL_OK;
}
