#include "worker/board.h"

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_DEFAULT = 80, ROWS_DEFAULT = 24 };

struct line {
    size_t len;
    char text[PAWL_BOARD_LINE_BYTES_MAX];
};

struct pawl_board {
    pthread_mutex_t mutex; /* guards what follows, and standard error while it is written to */
    int32_t slot_count;
    int32_t drawn; /* lines that stand there now */
    bool has_changed;
    struct line lines[];
};

enum pawl_code pawl_board_open(struct pawl_board **out, int32_t slots, struct pawl_error *err)
{
    struct pawl_board *board = calloc(1, sizeof *board + (size_t)slots * sizeof board->lines[0]);
    if (board == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for %d lines", slots);
    board->slot_count = slots;
    pthread_mutex_init(&board->mutex, NULL);
    *out = board;
    return PAWL_OK;
}

/* Leaves the cursor where the first line was. */
static void take_away(struct pawl_board *board)
{
    if (board->drawn > 0) (void)fprintf(stderr, "\033[%dA\r\033[J", (int)board->drawn);
    board->drawn = 0;
}

/* At most half the screen; each line shorter than it, so that none is two. */
static void put_lines(struct pawl_board *board)
{
    struct winsize size = {0};
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    int32_t columns = is_known && size.ws_col > 1 ? size.ws_col : COLUMNS_DEFAULT;
    int32_t rows = is_known && size.ws_row > 1 ? size.ws_row : ROWS_DEFAULT;
    int32_t left = 0;
    for (int32_t i = 0; i < board->slot_count; i++) {
        const struct line *line = &board->lines[i];
        if (line->len == 0) continue;
        if (board->drawn >= rows / 2) {
            left++;
            continue;
        }
        struct pawl_str text =
            pawl_utf8_cut_points((struct pawl_str){line->text, line->len}, (size_t)columns - 1);
        (void)fprintf(stderr, "%.*s\n", PAWL_STR_ARG(text));
        board->drawn++;
    }
    if (left > 0) {
        (void)fprintf(stderr, "and %d more\n", (int)left);
        board->drawn++;
    }
    board->has_changed = false;
}

void pawl_board_close(struct pawl_board *board)
{
    if (board == NULL) return;
    take_away(board);
    pthread_mutex_destroy(&board->mutex);
    free(board);
}

void pawl_board_begin(struct pawl_board *board)
{
    if (board == NULL) return;
    pthread_mutex_lock(&board->mutex);
    take_away(board);
}

void pawl_board_end(struct pawl_board *board)
{
    if (board == NULL) return;
    put_lines(board);
    pthread_mutex_unlock(&board->mutex);
}

void pawl_board_set(struct pawl_board *board, int32_t slot, struct pawl_str text)
{
    struct line *line = &board->lines[slot];
    if (text.len > sizeof line->text) text.len = sizeof line->text;
    pthread_mutex_lock(&board->mutex);
    bool is_same =
        text.len == line->len && (text.len == 0 || memcmp(text.ptr, line->text, text.len) == 0);
    if (!is_same) {
        line->len = text.len;
        for (size_t i = 0; i < text.len; i++) { /* nothing that could speak to the terminal */
            unsigned char byte = (unsigned char)text.ptr[i];
            line->text[i] = byte < 0x20 || byte == 0x7F ? '?' : text.ptr[i];
        }
        board->has_changed = true;
    }
    pthread_mutex_unlock(&board->mutex);
}

void pawl_board_draw(struct pawl_board *board)
{
    pthread_mutex_lock(&board->mutex);
    if (board->has_changed) {
        take_away(board);
        put_lines(board);
    }
    pthread_mutex_unlock(&board->mutex);
}
