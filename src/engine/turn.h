/* The turn: which process may write to a SQLite file now, and the bell that tells the others.
 *
 * Beside the database lies `<db>-turn`. A step holds byte 1 of it by an open-file-description lock; who waits
 * queues on byte 0: take 0, then 1, give back 0. Who has just had a turn finds byte 0 taken by the one that
 * waits, and comes after it: SQLite's own busy handler has no such order and starves visitors.
 *
 * After a commit a byte, or the number of knocks, is written to the file while the turn is still held; others watch
 * it by inotify and look again at what is due and ready. The kernel closes the file of a killed process: that rings
 * too.
 *
 *   threads   the engine's, except for the waiter, which blocks in the kernel on the engine's behalf so that
 *             waiting has a bound; it takes the lock on the same open file, so it is the engine's all the same */
#ifndef PAWL_ENGINE_TURN_H
#define PAWL_ENGINE_TURN_H

#include "pawl.h"

struct pawl_turn;

/* db_path is the database's. has_waiter: whether a thread may be started for waiting; without one take()
 * tries again and again until its bound. has_bell: whether to listen; the number of listeners a user may have is
 * small (fs.inotify.max_user_instances), and when they are used up the bell is done without, see bell_fd. */
enum pawl_code pawl_turn_open(struct pawl_turn **out, struct pawl_str db_path, bool has_waiter,
                              bool has_bell, struct pawl_error *err);
void pawl_turn_close(struct pawl_turn *turn); /* takes NULL; gives the turn back */

/* Takes the turn, waiting at most wait_ms of real time.
 *
 *   fails  PAWL_BUSY  somebody else holds it still; should it come later it is kept for the next take, or
 *                     given back by pawl_turn_settle */
enum pawl_code pawl_turn_take(struct pawl_turn *turn, int64_t wait_ms, struct pawl_error *err);
void pawl_turn_give(struct pawl_turn *turn);

/* Whether the paths still name the files that were opened; any thread.
 *
 *   fails  PAWL_IO  they do not: the handle is of no use any more */
enum pawl_code pawl_turn_check(const struct pawl_turn *turn, struct pawl_error *err);
/* Whether there is a reason to check, since this was asked last: told by the bell when it is drained, and by a take
 * that found other files. Without a bell there always is one. */
bool pawl_turn_take_suspicion(struct pawl_turn *turn);

/* Gives back a turn that came too late for the take that asked for it. */
void pawl_turn_settle(struct pawl_turn *turn);

/* Tells the other processes, and with a knock that holders of leases are to look (engine.h); only while the turn is
 * held. */
void pawl_turn_ring(struct pawl_turn *turn, bool knocks);
/* A number that changes with each knock. */
uint64_t pawl_turn_knocks(const struct pawl_turn *turn);

/* Readable when somebody has rung, or when a late turn has to be settled. Without a bell the first is -1: then
 * one has to look now and then, and drain always says that somebody may have rung. */
int pawl_turn_bell_fd(const struct pawl_turn *turn);
int pawl_turn_late_fd(const struct pawl_turn *turn);
/* Empties the bell; whether somebody had rung (ourselves included). */
bool pawl_turn_drain(struct pawl_turn *turn);

#endif
