/* An exchange that asks the engine: a handler begins an ask, fills its command, hands it over, and
 * is through. The answer comes on the engine's thread. All of it lives in the exchange's arena. */
#ifndef PAWL_NET_ASK_H
#define PAWL_NET_ASK_H

#include "base/json_writer.h"
#include "engine/engine.h"
#include "net/exchange.h"

struct pawl_ask {
    struct pawl *pawl;
    struct pawl_exchange *exchange;
    struct pawl_request request;
    /* On the engine's thread, after PAWL_OK: answers the exchange. */
    void (*answer)(struct pawl_ask *ask);
    bool continuing; /* of request.continuing */
    char checkpoint_id[PAWL_CHECKPOINT_ID_BYTES + 1]; /* of a checkpoint */
};

/* In the exchange's arena, with `bytes` of which the first are the ask; NULL, and answered, without
 * memory. Below /v1 also when the query has a parameter that nobody has asked for. */
void *pawl_ask_begin(struct pawl_exchange *exchange, struct pawl *pawl, size_t bytes,
                     enum pawl_command_kind kind, void (*answer)(struct pawl_ask *ask));

/* Checks the command and hands it over, or answers with what is wrong with it. A claim is dropped
 * when its client leaves. */
void pawl_ask_hand(struct pawl_ask *ask);
/* The same for a command that has been checked. */
void pawl_ask_hand_checked(struct pawl_ask *ask);

/* Answers with an error, which names its field. */
void pawl_ask_refuse(struct pawl_exchange *exchange, const struct pawl_error *err);

/* ---- Grants, which must not be lost with their answer ---- */

/* How much is left of a lease that was granted to a command which had waited so long. */
int64_t pawl_ask_left_ms(const struct pawl_ask *ask, const struct pawl_grant *grant,
                         int64_t waited_ms);

/* Gives grants back whose answer will not be written. */
void pawl_ask_give_back(struct pawl *pawl, const struct pawl_grant *grants, size_t count);

/* Answers with what was written, and sees to it that the grants are given back at once, uncounted,
 * if the answer does not reach its client: a lease that nobody knows of would have to end. The
 * grants live in the exchange's arena. */
void pawl_ask_answer_grants(struct pawl_exchange *exchange, struct pawl *pawl,
                            const struct pawl_grant *grants, size_t count,
                            struct pawl_json_writer *w);

#endif
