/* A step's transaction as its files share it: transact.c runs it, own.c has the engine's own work in it. */
#ifndef PAWL_ENGINE_TRANSACTION_H
#define PAWL_ENGINE_TRANSACTION_H

#include "engine/engine.h"

/* What a command of this step has caused, until the commit makes it so. */
struct pawl_caused_here {
    struct pawl_caused_here *next;
    int64_t key;
    struct pawl_request *origin;
};

struct pawl_transaction {
    struct pawl *pawl;
    struct pawl_head head;
    struct pawl_step step;
    struct pawl_requests urgent; /* the engine's own: due rows and continuations; in the step's arena */
    struct pawl_requests work;   /* the first half; on success only what has to run again is left */
    struct pawl_requests claims; /* the second half */
    struct pawl_requests done;
    struct pawl_caused_here *caused;
    struct pawl_requests continued; /* CONTINUE requests that have run */
    bool is_due_read;
    bool has_ready;    /* the ready index was read with the begin */
    size_t own_max;    /* how much of the engine's own work may come along */
    size_t own_skip;
    enum pawl_code aside_code; /* of setting a deadly row aside */
    struct pawl_error aside_err;
    bool with_parked;
    bool had_company;      /* own work or parked claims did come along */
    int64_t began_boot_ms; /* before the step's now was read */
    int64_t took_ms;       /* from then on, without the wait for the turn */
    int64_t commit_ms;     /* of it, the commit */
    size_t late_results;   /* kept by this step */
};

/* What of the engine's own work comes along: what was found out about lost work, continuations this handle has caused,
 * then, where it runs timers, anybody's, then due rows. */
enum pawl_code pawl_own_schedule(struct pawl_transaction *t, struct pawl_error *err);

/* Rows that were loaded and turn out to be due come first, whoever loaded them. */
void pawl_own_schedule_due(struct pawl_transaction *t);

/* A command has run: the continuations made since the first are on its behalf. */
void pawl_own_note_caused(struct pawl_transaction *t, struct pawl_request *request, size_t first);

/* After the commit: what is left of continuations, retention and lost work. */
void pawl_own_settle(struct pawl_transaction *t);

/* Until when a caller waits for what goes on. */
int64_t pawl_continuing_until(const struct pawl *pawl);

/* When retention has something to do again, if that is not known. */
void pawl_own_look_at_retention(struct pawl *pawl);

/* Whether a step would have own work to do. */
bool pawl_own_is_due(const struct pawl *pawl);

#endif
