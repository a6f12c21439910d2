/* The terminal as a screen of its own, and back: whatever ends the program, but for SIGKILL, leaves
 * the terminal as it was. Keys come one by one; signals come through a descriptor. */
#ifndef PAWL_APP_SCREEN_H
#define PAWL_APP_SCREEN_H

#include "pawl.h"

enum pawl_screen_said {
    PAWL_SCREEN_NOTHING,
    PAWL_SCREEN_RESIZED, /* or come back from a stop: draw anew */
    PAWL_SCREEN_QUIT,    /* q, or end of input */
    PAWL_SCREEN_ENDED,   /* SIGINT, SIGTERM, SIGHUP, SIGQUIT */
};

struct pawl_screen {
    int signal_fd;
    bool is_on;
    int32_t columns;
    int32_t rows;
};

/* Blocks the signals; before any thread is started. */
enum pawl_code pawl_screen_prepare(struct pawl_screen *screen,
                                   struct pawl_error *err) PAWL_MUST_USE;
/* Switches standard output to the screen, and keys to come without a line's end. */
enum pawl_code pawl_screen_open(struct pawl_screen *screen, struct pawl_error *err) PAWL_MUST_USE;
void pawl_screen_close(struct pawl_screen *screen); /* takes one that is not open */

/* Shows the text from the top left corner on, cut to the screen, with nothing left of what was
 * there. */
void pawl_screen_show(const struct pawl_screen *screen, struct pawl_str text);

/* Waits at most so long, or until other_fd can be read, or somebody says something. */
enum pawl_screen_said pawl_screen_wait(struct pawl_screen *screen, int other_fd, int64_t wait_ms);

#endif
