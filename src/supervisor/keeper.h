/* Keeps the leases of the tasks in hand: one thread that does nothing else, so that no busy handler
 * delays a renewal, and with a handle of its own, so that no slow commit does.
 *
 *   0          1/3         2/3     margin   end
 *   |-----------|-----------|-----------|----|
 *   asked     renew       (renew)     stop
 *
 * A lease counts from before the request that granted or renewed it left, on a clock that goes on
 * while the machine sleeps: it can only be longer than we think. When the first is due, those that
 * soon will be are renewed along, PAWL_BATCH_MAX in a call. Each try is given up after a quarter of
 * the time that is left until the margin, min(lease / 4, max(1 s, lease / 10)) before the end, and
 * the next one comes then; one that fails at once is waited for no longer than that. Then the work must be stopped, whatever the store says later; doing that is for
 * whoever looks.
 *
 * What an operator wants of a holder is told by each renewal, and sooner when he is knocked at: then
 * all leases in hand are looked at, with a pause of many times what that has taken before the next
 * time. Renewals go first. */
#ifndef PAWL_SUPERVISOR_KEEPER_H
#define PAWL_SUPERVISOR_KEEPER_H

#include "base/log.h"
#include "pawl.h"

struct pawl_keeper;

/* Opens another handle on the same store, which does nothing by itself. The caller's to close. */
enum pawl_code pawl_keeper_handle(struct pawl **out, const struct pawl *pawl,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* Starts the thread.
 *
 *   pawl      renews
 *   hears     is knocked at; may be the same
 *   slots     how many leases there can be; they are named by their slot
 *   heard_fd  an event descriptor, rung when a lease has changed
 *   owner, log  borrowed until close
 *   fails     PAWL_NO_MEMORY */
enum pawl_code pawl_keeper_open(struct pawl_keeper **out, struct pawl *pawl, struct pawl *hears,
                                struct pawl_str owner, int32_t slots, int heard_fd,
                                const struct pawl_log *log, struct pawl_error *err) PAWL_MUST_USE;
void pawl_keeper_close(struct pawl_keeper *keeper); /* takes NULL */

/* How often leases are renewed from now on; 0 = at a third of their length, and so where it is too
 * seldom for a lease. */
void pawl_keeper_pace(struct pawl_keeper *keeper, int64_t renew_every_ms);

/* Begins to keep a lease of lease_ms that was asked for at asked_boot_ms; ends to. Any thread.
 *
 *   attempt_end_boot_ms  when the attempt's time is up, INT64_MAX for never: a lease that is cut
 * there has no margin, since nothing prolongs it */
void pawl_keeper_hold(struct pawl_keeper *keeper, int32_t slot, const struct pawl_fence *fence,
                      int64_t lease_ms, int64_t asked_boot_ms, int64_t attempt_end_boot_ms);
void pawl_keeper_drop(struct pawl_keeper *keeper, int32_t slot);

/* Somebody was told that the lease is lost. */
void pawl_keeper_lose(struct pawl_keeper *keeper, int32_t slot);

struct pawl_kept {
    bool is_lost; /* the store said so */
    enum pawl_control control;
    int64_t stop_at_boot_ms; /* the margin begins: without a renewal, stop */
    bool is_cut; /* and then it is the attempt's time that is up, not the lease that is lost */
};

struct pawl_kept pawl_keeper_look(struct pawl_keeper *keeper, int32_t slot);

/* Slots whose lease was lost, or whose control has changed, one by one; false when there is none
 * left. */
bool pawl_keeper_news(struct pawl_keeper *keeper, int32_t *slot);

/* ---- The arithmetic ---- */

/* min(lease / 4, max(1 s, lease / 10)) */
int64_t pawl_lease_margin_ms(int64_t lease_ms);

/* wanted_ms, or a third of the lease where that is 0 or does not leave the margin. */
int64_t pawl_lease_renew_every_ms(int64_t lease_ms, int64_t wanted_ms);

/* What is known of a lease of which left_ms were left when the request that was sent at
 * asked_boot_ms was answered. lease_ms is its length as granted. */
struct pawl_kept pawl_lease_count(int64_t asked_boot_ms, int64_t left_ms, int64_t lease_ms,
                                  int64_t attempt_end_boot_ms);

/* How often it is renewed. What is left of a lease that is cut grows no more: its length as granted
 * sets the pace. */
int64_t pawl_lease_pace_ms(const struct pawl_kept *kept, int64_t left_ms, int64_t lease_ms,
                           int64_t wanted_ms);

/* When to renew what was asked for at asked_boot_ms, INT64_MAX for not any more: a lease that is
 * cut is renewed to learn what operators want, and as often as before. */
int64_t pawl_lease_renew_at(const struct pawl_kept *kept, int64_t asked_boot_ms, int64_t every_ms);

/* How long a try may take: a quarter of what is left. */
int64_t pawl_lease_try_ms(int64_t now_boot_ms, int64_t stop_at_boot_ms);

/* How long after the begin of a try that has failed the next one comes: the same, and a second at most. */
int64_t pawl_lease_try_again_ms(int64_t now_boot_ms, int64_t stop_at_boot_ms);

#endif
