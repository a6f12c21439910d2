/* What the end of a command means for its task. Pure: bytes and numbers in, an outcome out.
 *
 *   exit status 0               COMPLETED; standard output is the result
 *   65, 78, 126, 127            failed for good: bad data, bad set-up, cannot be run, not found
 *   75, all others, signals     failed, to be tried again
 *
 * 65, 75 and 78 are EX_DATAERR, EX_TEMPFAIL and EX_CONFIG of sysexits.h; 126 and 127 are the
 * shell's. */
#ifndef PAWL_WORKER_ENDING_H
#define PAWL_WORKER_ENDING_H

#include "pawl.h"

enum {
    /* What a command may print as its result. More belongs in a file or a blob store. */
    PAWL_RESULT_BYTES_MAX = 1024 * 1024,
    /* Of the last lines of standard error, for the error of a task. */
    PAWL_ERROR_TAIL_BYTES_MAX = 2 * 1024,
};

enum pawl_ending_kind {
    PAWL_ENDING_NONE,    /* it never began, or goes on without us: nothing is said */
    PAWL_ENDING_STOPPED, /* the lease is lost, or the attempt's time is up: only that it has stopped
                          */
    PAWL_ENDING_COMPLETE,
    PAWL_ENDING_FAIL,
    PAWL_ENDING_RELEASE, /* given back, uncounted */
    PAWL_ENDING_CANCEL,
    PAWL_ENDING_PAUSE,
};

struct pawl_ending {
    enum pawl_ending_kind kind;
    struct pawl_str text;   /* complete: JSON, empty = none; fail, timed out: the error */
    bool is_final;          /* fail: no retry */
    bool is_timed_out;      /* stopped: the task's own time is up, which the engine charges */
    int64_t retry_after_ms; /* fail: as in struct pawl_failure */
    int32_t exit_status;    /* of the command; 0 if a signal ended it, or it did not run */
    int32_t signal_number;  /* that ended the command; 0 = none */
};

/* The result in what a command printed: itself if it is JSON; else its text, without the line
 * breaks at its end, as a JSON string; {"base64":…} if it is no text: not UTF-8, or with zero
 * bytes. What was cut is marked: {"text":…,"cut":true}. Empty if nothing was printed. */
struct pawl_str pawl_result_make(struct pawl_str printed, bool is_cut, struct pawl_arena *arena);

/* "exit status 3: " or "signal 9 (Killed): ", then the tail. */
struct pawl_str pawl_failure_text(int wait_status, struct pawl_str tail, struct pawl_arena *arena);

/* The last line of an error that is not empty, for a line of a log; a slice of it. */
struct pawl_str pawl_error_excerpt(struct pawl_str error);

/* wait_status is what waitpid gives; retry_after_ms < 0 if the command said nothing. */
struct pawl_ending pawl_ending_of_exit(int wait_status, struct pawl_str printed, bool is_cut,
                                       struct pawl_str tail, int64_t retry_after_ms,
                                       struct pawl_arena *arena);

/* Text from bytes of any kind: each byte that is not UTF-8, and each zero, becomes U+FFFD. */
struct pawl_str pawl_text_mend(struct pawl_str bytes, struct pawl_arena *arena);

const char *pawl_ending_name(enum pawl_ending_kind kind);

#endif
