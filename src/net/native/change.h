/* What can be said of one task: which keys each word takes, and the command it becomes. Said alone
 * (change.c), or many at once (outcomes.c). */
#ifndef PAWL_NET_NATIVE_CHANGE_H
#define PAWL_NET_NATIVE_CHANGE_H

#include "core/command.h"
#include "net/native/body.h"

struct pawl_said {
    struct pawl_str task_id; /* outcomes */
    struct pawl_str kind;    /* outcomes */
    struct pawl_str owner;
    int64_t epoch;
    int64_t expected_version;
    struct pawl_str actor;
    struct pawl_str reason;
    double percent;
    int32_t step;
    struct pawl_str state;
    struct pawl_str line;
    struct pawl_str result;
    struct pawl_str error;
    bool is_final;
    int64_t retry_after_ms;
    int64_t delay_ms;
    struct pawl_str input;
    bool keep_retries;
    bool is_forced;
    enum pawl_task_state outcome;
    struct pawl_str text;
};

#define PAWL_SAID_KEY(key, kind, field, is_needed)                          \
    {                                                                       \
        key, PAWL_BODY_##kind, offsetof(struct pawl_said, field), is_needed \
    }

/* Who says it, and under which conditions. */
/* clang-format off */
#define PAWL_SAID_BY                                                       \
    PAWL_SAID_KEY("owner", NAME, owner, false),                            \
    PAWL_SAID_KEY("epoch", EPOCH, epoch, false),                           \
    PAWL_SAID_KEY("expected_version", INT64, expected_version, false),     \
    PAWL_SAID_KEY("actor", TEXT, actor, false),                            \
    PAWL_SAID_KEY("reason", TEXT, reason, false)
#define PAWL_SAID_COMPLETE PAWL_SAID_KEY("result", RAW, result, false)
#define PAWL_SAID_FAIL                                                     \
    PAWL_SAID_KEY("error", TEXT, error, false),                            \
    PAWL_SAID_KEY("final", BOOL, is_final, false),                         \
    PAWL_SAID_KEY("retry_after_ms", DELAY, retry_after_ms, false)
#define PAWL_SAID_RELEASE PAWL_SAID_KEY("delay_ms", MS, delay_ms, false)
/* clang-format on */

/* Fills a command with what was said of a task.
 *
 *   fails  PAWL_INVALID  owner without epoch, epoch without owner; a release with neither */
enum pawl_code pawl_said_fill(const struct pawl_said *said, enum pawl_command_kind kind,
                              struct pawl_str task_id, struct pawl_command *command,
                              struct pawl_error *err) PAWL_MUST_USE;

#endif
