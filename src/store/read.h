/* Reads of people and consumers: pages of tasks, history, logs. A reader has a connection of its own, read
 * only; one read transaction serves one page and never outlives the call. One call at a time on a reader:
 * the handle has a lock. All rows come back in `keep` and in the terms of pawl.h. */
#ifndef PAWL_STORE_READ_H
#define PAWL_STORE_READ_H

#include "store/store.h"

struct pawl_reader;

enum pawl_code pawl_reader_open(struct pawl_reader **out, const struct pawl_store_options *options,
                                struct pawl_error *err);
void pawl_reader_close(struct pawl_reader *reader); /* takes NULL */

enum pawl_code pawl_read_task(struct pawl_reader *reader, struct pawl_str id, bool with_payload,
                              struct pawl_arena *keep, struct pawl_task *out, struct pawl_error *err);
enum pawl_code pawl_read_list(struct pawl_reader *reader, const struct pawl_list *ask,
                              struct pawl_arena *keep, struct pawl_page *out, struct pawl_error *err);
enum pawl_code pawl_read_history(struct pawl_reader *reader, struct pawl_str id, int64_t after_sequence,
                                 int32_t limit, struct pawl_arena *keep, struct pawl_events *out,
                                 struct pawl_error *err);
enum pawl_code pawl_read_checkpoints(struct pawl_reader *reader, struct pawl_str id,
                                     struct pawl_arena *keep, struct pawl_checkpoints *out,
                                     struct pawl_error *err);
enum pawl_code pawl_read_checkpoint(struct pawl_reader *reader, struct pawl_str id,
                                    struct pawl_str checkpoint_id, struct pawl_arena *keep,
                                    struct pawl_checkpoint *out, struct pawl_error *err);
enum pawl_code pawl_read_logs(struct pawl_reader *reader, struct pawl_str id, int64_t after_number,
                              int32_t limit, struct pawl_arena *keep, struct pawl_log_lines *out,
                              struct pawl_error *err);
enum pawl_code pawl_read_late(struct pawl_reader *reader, struct pawl_str id, struct pawl_arena *keep,
                              struct pawl_late_results *out, struct pawl_error *err);
enum pawl_code pawl_read_queues(struct pawl_reader *reader, struct pawl_arena *keep,
                                struct pawl_queues *out, struct pawl_error *err);
enum pawl_code pawl_read_events(struct pawl_reader *reader, int64_t after_position, int32_t limit,
                                struct pawl_arena *keep, struct pawl_events *out,
                                struct pawl_error *err);
/* What lies after the consumer's cursor and is not acknowledged; PAWL_NOT_FOUND if it is not known yet. */
enum pawl_code pawl_read_consumer(struct pawl_reader *reader, struct pawl_str name, int32_t limit,
                                  struct pawl_arena *keep, struct pawl_events *out,
                                  struct pawl_error *err);
/* The store as a whole, and what has been done since a position; see pawl.h. */
enum pawl_code pawl_read_health(struct pawl_reader *reader, struct pawl_arena *keep, struct pawl_health *out,
                                struct pawl_error *err);
enum pawl_code pawl_read_tally(struct pawl_reader *reader, int64_t after_position, struct pawl_arena *keep,
                               struct pawl_tally *out, struct pawl_error *err);
/* A definition, of a version or PAWL_VERSION_LATEST (tasks and event handlers: 0).
 *
 *   fails  PAWL_NOT_FOUND  "No such workflow definition: …" */
enum pawl_code pawl_read_definition(struct pawl_reader *reader, enum pawl_definition_kind kind,
                                    struct pawl_str name, int64_t version, struct pawl_arena *keep,
                                    struct pawl_definition_row *out, struct pawl_error *err) PAWL_MUST_USE;

struct pawl_definition_ask {
    enum pawl_definition_kind kind;
    struct pawl_str name; /* empty = all names */
    bool is_latest;       /* of each name the highest version alone */
    bool with_body;       /* else the rows have none */
};
struct pawl_definition_rows {
    struct pawl_definition_row *rows; /* by name and version */
    size_t count;
};
/* All that there are.
 *
 *   fails  PAWL_TOO_LARGE  they do not fit in keep */
enum pawl_code pawl_read_definitions(struct pawl_reader *reader, const struct pawl_definition_ask *ask,
                                     struct pawl_arena *keep, struct pawl_definition_rows *out,
                                     struct pawl_error *err) PAWL_MUST_USE;
/* One sentence: why the task is not being worked on (pawl_task_why). */
enum pawl_code pawl_read_why(struct pawl_reader *reader, struct pawl_str id, struct pawl_arena *keep,
                             struct pawl_str *out, struct pawl_error *err);

/* Renders a committed row for listeners and pages: ids, texts, detail. store_id and the position make the
 * event's id. */
void pawl_event_render(const struct pawl_event_row *row, struct pawl_str store_id,
                       struct pawl_str task_id, struct pawl_str queue, struct pawl_str title,
                       struct pawl_str correlation_id, struct pawl_arena *keep,
                       struct pawl_event *out);
/* The id of an event, and the position that an id names (0 if it is no event's of this store; whether such
 * an event exists, with that very instant, is for the caller to look up). */
struct pawl_str pawl_event_id(struct pawl_str store_id, int64_t position, int64_t at_ms,
                              struct pawl_arena *keep);
int64_t pawl_event_id_position(struct pawl_str store_id, struct pawl_str id);

#endif
