/* What the rules of a task have in common: finding it, judging the fence, leaving a state, telling of it.
 * One file a family of commands uses these: create, claim, note, outcome, operate, queue, depend, due. */
#ifndef PAWL_CORE_TASK_RULE_H
#define PAWL_CORE_TASK_RULE_H

#include "core/step.h"

/* Every rule has this form. It may stop at any point once step->set.is_short: what it returns then does not
 * count. An error leaves nothing behind: pawl_step_run undoes what was changed. */
typedef enum pawl_code pawl_rule(struct pawl_step *step, struct pawl_command *command);

pawl_rule pawl_rule_create;
pawl_rule pawl_rule_queue;
pawl_rule pawl_rule_start;
pawl_rule pawl_rule_claim;
pawl_rule pawl_rule_renew;
pawl_rule pawl_rule_stopped;
pawl_rule pawl_rule_progress;
pawl_rule pawl_rule_checkpoint;
pawl_rule pawl_rule_log;
pawl_rule pawl_rule_complete;
pawl_rule pawl_rule_fail;
pawl_rule pawl_rule_release;
pawl_rule pawl_rule_update;
pawl_rule pawl_rule_pause;
pawl_rule pawl_rule_resume;
pawl_rule pawl_rule_cancel;
pawl_rule pawl_rule_resolve;
pawl_rule pawl_rule_redrive;
pawl_rule pawl_rule_queue_set;
pawl_rule pawl_rule_consumer_open;
pawl_rule pawl_rule_acknowledge;
pawl_rule pawl_rule_acknowledge_through;
pawl_rule pawl_rule_retain;
pawl_rule pawl_rule_compact;
pawl_rule pawl_rule_import;
pawl_rule pawl_rule_define;
pawl_rule pawl_rule_undefine;
pawl_rule pawl_rule_workflow_start;
pawl_rule pawl_rule_workflow_operate;
pawl_rule pawl_rule_due;
pawl_rule pawl_rule_continue;
/* After a piece of the engine's own work has ended CORRUPT and is undone: puts it off. */
void pawl_own_put_off(struct pawl_step *step, const struct pawl_command *command);
pawl_rule pawl_rule_recover;

/* Keeps the outcome of a command that was refused as LEASE_LOST beside its task. */
pawl_rule pawl_rule_late;
pawl_rule pawl_rule_update_late; /* the same of an update */

/* The loaded entry of a task by id or key, after what was due of it; its row is not NULL on PAWL_OK. */
enum pawl_code pawl_task_find(struct pawl_step *step, struct pawl_command *command, struct pawl_str id,
                              struct pawl_entry **out);
enum pawl_code pawl_task_find_key(struct pawl_step *step, struct pawl_command *command, int64_t key,
                                  struct pawl_entry **out);

/* Finds the task of a command and looks at its expected version. */
enum pawl_code pawl_task_find_own(struct pawl_step *step, struct pawl_command *command,
                                  struct pawl_entry **out);

/* The same, then judges the fence if there is one. *is_done: the command says again what was accepted under its
 * epoch, and there is nothing left to do. */
enum pawl_code pawl_task_find_fenced(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_entry **out, bool *is_done);

/* Whether the command may touch the task as its worker: a fence must be the current one; without a fence
 * the task must not be RUNNING. */
enum pawl_code pawl_task_guard(struct pawl_step *step, struct pawl_command *command,
                               const struct pawl_task_row *task);

/* What a worker's word about the end of its attempt comes to, for telling a repeat from another word. */
int64_t pawl_outcome_digest(struct pawl_str owner, enum pawl_outcome_kind kind, struct pawl_str body,
                            int64_t number);

/* Whether the command says again what was accepted under its epoch: then it is PAWL_OK without
 * a write. Accept keeps what makes a later repeat known. */
bool pawl_outcome_is_repeat(const struct pawl_command *command, const struct pawl_task_row *task);
void pawl_outcome_accept(struct pawl_task_row *task, const struct pawl_command *command);

/* FAILED, CANCELLED, DEAD_LETTER: ended, and not as those who wait for it hope. */
bool pawl_task_has_ended_badly(const struct pawl_task_row *task);

/* Whether a fence is the current one: state, owner, epoch and lease end. Loads the owner (may be short). */
bool pawl_fence_holds(struct pawl_step *step, const struct pawl_fence *fence,
                      const struct pawl_task_row *task);

/* PAWL_STATE with the sentence "cannot <verb> task X: it is <STATE>". */
enum pawl_code pawl_state_error(struct pawl_command *command, const struct pawl_task_row *task,
                                const char *verb);

/* The key of a worker by id; 0 if there is none (or the set is short). */
int64_t pawl_worker_key(struct pawl_step *step, struct pawl_str id);
/* The id of a worker by key; empty if not loaded. */
struct pawl_str pawl_worker_id(struct pawl_step *step, int64_t key);

/* Counts a committed mutation: whatever a reader can see changing raises the version, but for a lease end that
 * is renewed. */
void pawl_task_touch(struct pawl_step *step, struct pawl_task_row *task);

/* Appends the event of a transition, last of all: it tells the row as it is now. note is cut to its limit.
 * Returns it, or NULL without memory. */
struct pawl_event_new *pawl_event_add(struct pawl_step *step, struct pawl_task_row *task,
                                      enum pawl_event_type type, enum pawl_event_cause cause,
                                      struct pawl_str actor, struct pawl_str note);
/* The actor of a command: its fence's owner, else who it says. */
struct pawl_str pawl_command_actor(const struct pawl_command *command);

void pawl_payload_put(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind,
                      struct pawl_str body);
void pawl_payload_drop(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind);
/* The body; empty if there is none or it is not loaded yet (is_short). */
struct pawl_str pawl_payload_look(struct pawl_step *step, const struct pawl_task_row *task,
                                  enum pawl_payload_kind kind);

/* Takes away all that belongs to a lease, requests to its holder included. */
void pawl_lease_clear(struct pawl_step *step, struct pawl_task_row *task);
/* The end of a lease of this length: it never outlives the attempt. */
int64_t pawl_lease_end(const struct pawl_step *step, const struct pawl_task_row *task, int64_t lease_ms);

/* Recovery (recover.c). The lease of a RUNNING task is over: its loss is made durable, and what can be proved at
 * once is. may be short. */
void pawl_lease_fence(struct pawl_step *step, struct pawl_entry *entry, enum pawl_event_cause cause);
/* A RECOVERY_PENDING task is due for a look. May be short. */
void pawl_recovery_look(struct pawl_step *step, struct pawl_entry *entry);

/* When a request to the holder of a RUNNING task is overdue; 0 = there is none, or it was told to be. */
int64_t pawl_request_due(const struct pawl_task_row *task);
/* When the engine has to look at a RUNNING task again. */
int64_t pawl_lease_due(const struct pawl_task_row *task);

/* A QUEUED task is offered: ranked if nothing of its own stands against it, else armed for the end of its
 * deferral, or left to its dependencies. The caller touches it. */
void pawl_task_offer(struct pawl_step *step, struct pawl_task_row *task);
/* It is COMPLETED: all of it is done, and this claim has done it. */
void pawl_task_complete_progress(struct pawl_task_row *task);
/* Nobody is to be offered it, and nothing is due of it. */
void pawl_task_withdraw(struct pawl_task_row *task);

/* Enters a terminal state, which is already set: withdrawn, finished, told of, then its dependents told. */
void pawl_task_finish(struct pawl_step *step, struct pawl_entry *entry, enum pawl_event_type type,
                      enum pawl_event_cause cause, struct pawl_str actor, struct pawl_str note);

/* Leaves FAILED or DEAD_LETTER, or RUNNING by force: every old fence is dead. */
void pawl_task_raise_epoch(struct pawl_task_row *task);

/* RUNNING or RECOVERY_PENDING goes back to the queue after delay_ms, or where a pending request sends it
 * (to PAUSED or CANCELLED). The lease is cleared. Returns the state it went to; the caller tells of QUEUED,
 * this function of the others. */
enum pawl_task_state pawl_task_return(struct pawl_step *step, struct pawl_entry *entry, int64_t delay_ms,
                                      enum pawl_mover by);

/* Charges a failed attempt (retries is already raised) and sends the task on: back with a delay, or to the
 * dead letters. error is kept. */
void pawl_task_fail_attempt(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str error,
                            bool is_final, int64_t retry_after_ms, enum pawl_mover by,
                            enum pawl_event_cause cause, struct pawl_str actor);

/* The same for a RECOVERY_PENDING task whose worker has vanished, as far as it goes to the dead letters: false then. True:
 * it is charged, and still to be given back. */
bool pawl_task_charge_crash(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str owner);

/* The same for one whose time was up: charged, and sent on. The owner must be loaded. */
void pawl_task_charge_timeout(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str owner);

/* QUEUED from FAILED, DEAD_LETTER or PAUSED; shared by resume and redrive. */
void pawl_task_resume_row(struct pawl_step *step, struct pawl_entry *entry,
                          const struct pawl_resume *how, enum pawl_event_cause cause,
                          struct pawl_str actor, struct pawl_str reason);

/* Dependents. told: tells the dependents of a task what has become of it, at once or by a continuation. */
void pawl_dependents_tell(struct pawl_step *step, struct pawl_entry *entry);
/* The same by a continuation alone. */
void pawl_dependents_tell_later(struct pawl_step *step, int64_t task, int64_t cursor);
/* One slice of it; returns the cursor to go on from, 0 when through. May be short. */
int64_t pawl_dependents_slice(struct pawl_step *step, struct pawl_entry *entry, int64_t after);

/* Joins those that have waited for a task's id to the task, now that it is there. */
void pawl_awaited_found(struct pawl_step *step, struct pawl_task_row *task, const struct pawl_rows *awaited);

/* Wants what a new task names: see pawl_step_want. */
void pawl_create_want(struct pawl_step *step, const struct pawl_task_new *ask);

/* What stays of a removed task with this id, or with this idempotency key; NULL if there is none (or the set is
 * short). */
const struct pawl_tombstone_row *pawl_tombstone_find(struct pawl_step *step, struct pawl_str id);
const struct pawl_tombstone_row *pawl_tombstone_find_key(struct pawl_step *step, struct pawl_str idempotency_key);

/* One slice of the removal of what was too much for the slice that removed a task. Returns whether there is
 * more. */
bool pawl_remains_slice(struct pawl_step *step, int64_t task);

/* A consumer that has stayed away for long holds back the events of everybody: it is dropped. Returns whether
 * it was. */
bool pawl_consumer_drop(struct pawl_step *step, const struct pawl_consumer_row *slowest);

/* Joins all that wait for the id of a new task to it: those in the table (the rest by a continuation), and
 * those from earlier in this step. Its AWAITED look is loaded. */
void pawl_awaited_meet(struct pawl_step *step, struct pawl_task_row *task);

/* A new dependency of a task; on = 0 awaits a task with the id on_id. An open one is counted. */
void pawl_dependency_add(struct pawl_step *step, struct pawl_task_row *task, size_t number, int64_t on,
                         struct pawl_str on_id, bool is_open);

/* A new continuation, due now; returns its key. */
int64_t pawl_continuation_add(struct pawl_step *step, const struct pawl_continuation_row *row);

/* Arena memory of the step; a failure is sticky in the set. */
void *pawl_step_take(struct pawl_step *step, size_t bytes);

/* Copies to the caller's arena; a failure shows in its code. */
struct pawl_str pawl_reply_copy(struct pawl_command *command, struct pawl_str text);
enum pawl_code pawl_reply_code(struct pawl_command *command);

#endif
