#include "app/watch.h"

#include "app/cli.h"
#include "app/patience.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
    /* Soon enough to be called at once, and no load worth speaking of. */
    LOOK_EVERY_MS = 250,
};

struct look {
    char *text; /* malloc'd by open_memstream */
    size_t len;
};

static bool looks_equal(const struct look *a, const struct look *b)
{
    return a->text != NULL && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* The next line and its end, or false when there is none left. */
static bool next_line(struct pawl_str *rest, struct pawl_str *line)
{
    if (rest->len == 0) return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end != NULL ? (size_t)(end - rest->ptr) + 1 : rest->len;
    *line = (struct pawl_str){rest->ptr, len};
    *rest = (struct pawl_str){rest->ptr + len, rest->len - len};
    return true;
}

/* Lines of the look that the one before did not have. */
static void write_new_lines(struct pawl_cli *cli, FILE *file, const struct look *before,
                            const struct look *look)
{
    struct pawl_map known;
    pawl_map_init(&known, cli->scratch);
    struct pawl_str rest = {before->text, before->len};
    struct pawl_str line;
    while (next_line(&rest, &line)) {
        (void)pawl_map_put(&known, 0, 0, line); /* failing, it is written again */
    }
    rest = (struct pawl_str){look->text, look->len};
    while (next_line(&rest, &line)) {
        if (pawl_map_at(&known, 0, 0, line) == NULL) (void)fwrite(line.ptr, 1, line.len, file);
    }
}

/* As many lines as the terminal is high, so that nothing runs up into what was there before; what is
 * left out is counted. The last row stays for the cursor. */
static void write_screen(FILE *file, const struct look *look)
{
    struct winsize size = {0};
    bool is_known = ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_row > 2 && size.ws_col > 0;
    size_t room = is_known ? (size_t)size.ws_row - 1 : SIZE_MAX;
    size_t rows = 0;
    size_t fit_len = 0; /* of what leaves a row for the count */
    size_t left_count = 0;
    struct pawl_str rest = {look->text, look->len};
    struct pawl_str line;
    while (next_line(&rest, &line)) {
        size_t points = pawl_utf8_points(line);
        rows += is_known && points > size.ws_col ? (points + size.ws_col - 1) / size.ws_col : 1;
        if (rows < room) {
            fit_len += line.len;
        } else {
            left_count++;
        }
    }
    (void)fputs("\033[H\033[2J", file);
    (void)fwrite(look->text, 1, rows <= room ? look->len : fit_len, file);
    if (rows > room) (void)fprintf(file, "… %zu lines more\n", left_count);
}

static void write_look(struct pawl_cli *cli, FILE *file, const struct look *before,
                       const struct look *look)
{
    if (looks_equal(before, look)) return;
    bool is_whole = cli->out.form == PAWL_FORM_JSON;
    if (cli->out.is_terminal && !is_whole) {
        write_screen(file, look);
    } else if (is_whole) {
        (void)fwrite(look->text, 1, look->len, file);
    } else {
        write_new_lines(cli, file, before, look);
    }
    (void)fflush(file); /* asked for when the program ends */
}

int pawl_watch(struct pawl_cli *cli, enum pawl_code (*draw)(struct pawl_cli *cli, void *self),
               void *self)
{
    FILE *file = cli->out.file;
    if (!pawl_given(cli, "watch")) {
        enum pawl_code code = draw(cli, self);
        return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
    }
    int64_t count = pawl_given_int64(cli, "count", 1, INT64_MAX, INT64_MAX);
    struct look before = {0};
    struct pawl_patience patience = {0};
    bool is_interrupted = false;
    enum pawl_code code = PAWL_OK;
    for (int64_t i = 0; i < count && code == PAWL_OK && !is_interrupted; i++) {
        struct look look = {0};
        pawl_arena_reset(cli->scratch);
        cli->out.file = open_memstream(&look.text, &look.len);
        if (cli->out.file == NULL) {
            code = pawl_error_set(&cli->err, PAWL_NO_MEMORY, "no memory to look");
            break;
        }
        code = draw(cli, self);
        if (fclose(cli->out.file) != 0 && code == PAWL_OK) {
            code = pawl_error_set(&cli->err, PAWL_NO_MEMORY, "no memory to look");
        }
        cli->out.file = file;
        if (code != PAWL_OK) {
            free(look.text); /* a part of a look, perhaps: what is shown stays */
            if (pawl_patience_lasts(cli, &patience, code, &is_interrupted)) code = PAWL_OK;
            i--;
            continue;
        }
        pawl_patience_end(&patience);
        write_look(cli, file, &before, &look);
        free(before.text);
        before = look;
        if (i + 1 < count && code == PAWL_OK) is_interrupted = pawl_cli_sleep(cli, LOOK_EVERY_MS);
    }
    free(before.text);
    cli->out.file = file;
    if (code != PAWL_OK && !is_interrupted) return pawl_cli_fail(cli);
    return is_interrupted ? PAWL_EXIT_INTERRUPTED : 0;
}
