/* Checks of what callers give, made on their own thread before a command is handed over: sizes, alphabets,
 * JSON. What can be refused without looking at stored rows is refused here. The error names the field. */
#ifndef PAWL_CORE_CHECK_H
#define PAWL_CORE_CHECK_H

#include "core/command.h"

/* Checks the asks of a batch and works out its members (in scratch): titles, digests, dependencies on each
 * other, cycles.
 *
 *   fails  PAWL_INVALID, PAWL_TOO_LARGE; the sentence names the field and, in a batch, the member */
enum pawl_code pawl_check_create(const struct pawl_task_new *asks, size_t count,
                                 struct pawl_str correlation_id, struct pawl_arena *scratch,
                                 const struct pawl_member **out, struct pawl_error *err);

/* The members of a batch that wait for each other in a circle, each for the next one and the last for the first; 0 if
 * there is none, or no memory, which scratch tells. Nothing else of them is checked. */
size_t pawl_check_circle(const struct pawl_task_new *asks, size_t count, struct pawl_arena *scratch,
                         const size_t **circle);
/* "it waits for itself: a waits for b waits for a"; PAWL_CIRCLE_NAMED_MAX of them. count > 0 */
struct pawl_str pawl_circle_text(const struct pawl_str *names, size_t count, struct pawl_arena *arena);

enum pawl_code pawl_check_claim(const struct pawl_claim *ask, struct pawl_error *err);

/* Checks everything else of a command by its kind: change, fence, payloads, texts. */
enum pawl_code pawl_check_command(const struct pawl_command *command, struct pawl_arena *scratch,
                                  struct pawl_error *err);

/* Whether a RESOLVE may let the task run again, so that its caller first looks whether its work goes on. */
bool pawl_resolve_needs_look(const struct pawl_command *command);

/* A name: text of one line, not empty, without blanks around it. */
enum pawl_code pawl_check_name(const char *field, struct pawl_str name, size_t bytes_max,
                               struct pawl_error *err);
/* PAWL_INVALID: "field: value is not from min to max". */
enum pawl_code pawl_check_range(const char *field, int64_t value, int64_t min, int64_t max,
                                struct pawl_error *err);
enum pawl_code pawl_check_queue_name(struct pawl_str name, struct pawl_error *err);
enum pawl_code pawl_check_retry(const struct pawl_retry *retry, struct pawl_error *err);

/* Whether a text may be a correlation id. */
bool pawl_correlation_id_is(struct pawl_str id);

/* The title a task is shown with: the given one trimmed, else the start of the goal. */
struct pawl_str pawl_title_derive(struct pawl_str title, struct pawl_str goal,
                                  struct pawl_arena *arena);

#endif
