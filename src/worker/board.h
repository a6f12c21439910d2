/* The last lines of a terminal: one for each slot at work. What is written to standard error goes
 * above them. Nothing of the terminal is switched, so nothing stays switched, however we end.
 * Threads: any. */
#ifndef PAWL_WORKER_BOARD_H
#define PAWL_WORKER_BOARD_H

#include "pawl.h"

struct pawl_board;

enum { PAWL_BOARD_LINE_BYTES_MAX = 160 };

/* Standard error must be a terminal. PAWL_NO_MEMORY. */
enum pawl_code pawl_board_open(struct pawl_board **out, int32_t slots,
                               struct pawl_error *err) PAWL_MUST_USE;
void pawl_board_close(struct pawl_board *board); /* takes the lines away; takes NULL */

/* Between these two others may write whole lines to stderr. Both take NULL. */
void pawl_board_begin(struct pawl_board *board);
void pawl_board_end(struct pawl_board *board);

/* The line of a slot from the next drawing on; empty = it has none. Cut where it is too long. */
void pawl_board_set(struct pawl_board *board, int32_t slot, struct pawl_str line);

/* Draws the lines anew if one of them has changed. */
void pawl_board_draw(struct pawl_board *board);

#endif
