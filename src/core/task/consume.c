/* Consumers of the events: named cursors, with acknowledgement one by one on top. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/str.h"

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
    struct pawl_consumer_row *consumer = pawl_step_take(step, sizeof *consumer);
    if (consumer == NULL) return PAWL_NO_MEMORY;
    *consumer = (struct pawl_consumer_row){
        .key = pawl_step_key(step), .name = name, .cursor = 0, .seen_at_ms = step->now_ms};
    pawl_set_put(&step->set, PAWL_LOOK_CONSUMER, 0, name, 0, consumer);
    return PAWL_OK;
}

static enum pawl_code no_such_consumer(struct pawl_command *command)
{
    return pawl_error_set(&command->err, PAWL_NOT_FOUND, "no such consumer: %.*s",
                          PAWL_STR_ARG(command->ask.acknowledge.consumer));
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
    struct pawl_ack *ack = pawl_step_take(step, sizeof *ack);
    if (ack == NULL) return PAWL_NO_MEMORY;
    *ack = (struct pawl_ack){consumer->key, position};
    pawl_set_append(&step->set, PAWL_APPEND_ACK, ack);
    pawl_set_know_after(&step->set, PAWL_LOOK_ACK, consumer->key, position, &ack->position);
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
    struct pawl_consumer_row *consumer = pawl_set_change(&step->set, entry);
    consumer->cursor = position;
    consumer->seen_at_ms = step->now_ms;
    struct pawl_ack *prune = pawl_step_take(step, sizeof *prune);
    if (prune == NULL) return PAWL_NO_MEMORY;
    *prune = (struct pawl_ack){consumer->key, position};
    pawl_set_append(&step->set, PAWL_APPEND_ACK_PRUNE, prune);
    return PAWL_OK;
}
