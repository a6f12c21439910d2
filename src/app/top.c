/* pawl top: what goes on, as long as one looks.
 *
 * The store is read when something was committed, at most a few times a second, and not at all
 * while nothing is. Between, once a second, the same figures are drawn again, for their ages go on.
 * A thread waits for commits and rings; the rest is one loop. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/patience.h"
#include "app/screen.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAW_EVERY_MS = 1000,
    READ_EVERY_MS = 250, /* however much is committed */
    RATE_OVER_MS = 10 * 1000,
    SAMPLES_MAX = 64, /* more than there can be of RATE_OVER_MS */
    RUNNING_SHOWN = 200,
};

struct sample {
    int64_t at_ms; /* monotonic */
    struct pawl_tally total;
};

struct top {
    struct pawl_cli *cli;
    struct pawl_queues queues; /* in cli->scratch, with the tasks */
    struct pawl_page running;
    struct pawl_tally total;
    struct sample samples[SAMPLES_MAX]; /* oldest first */
    size_t sample_count;
    int64_t read_at_ms;
    struct pawl_error trouble; /* of a store that does not answer, and may again */
};

struct bell {
    struct pawl *pawl;
    int fd;
    pthread_t thread;
};

/* clang-format off */
static const struct pawl_column queue_columns[] = {
    {"QUEUE", false, false}, {"PAUSED", false, false}, {"READY", true, false}, {"RUNNING", true, false},
    {"DEFERRED", true, false}, {"OLDEST READY", false, false}, {NULL, false, false},
};
static const struct pawl_column task_columns[] = {
    {"RUNNING", false, false}, {"QUEUE", false, false}, {"OWNER", false, false}, {"LEASE LEFT", true, false},
    {"DONE", true, false}, {"STARTED", false, false}, {"TITLE", false, false}, {NULL, false, false},
};
/* clang-format on */

static int64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The bell ----------------------------------------------------------------------------------
 */

static void *wait_for_commits(void *self)
{
    struct bell *bell = self;
    uint64_t seen = 0;
    uint64_t one = 1;
    /* ends when nobody is to wait any more */
    for (;;) {
        uint64_t before = seen;
        if (pawl_changes_wait(bell->pawl, &seen, PAWL_WAIT_MS_MAX, NULL) != PAWL_OK) return NULL;
        if (seen != before) (void)!write(bell->fd, &one, sizeof one);
    }
}

static enum pawl_code bell_open(struct bell *bell, struct pawl *pawl, struct pawl_error *err)
{
    *bell = (struct bell){.pawl = pawl, .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (bell->fd < 0) return pawl_error_set(err, PAWL_IO, "no descriptor: %s", strerror(errno));
    if (pthread_create(&bell->thread, NULL, wait_for_commits, bell) == 0) return PAWL_OK;
    (void)close(bell->fd);
    return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread");
}

static void bell_close(struct bell *bell)
{
    pawl_stop_waiting(bell->pawl);
    (void)pthread_join(bell->thread, NULL);
    (void)close(bell->fd);
}

static bool bell_has_rung(const struct bell *bell)
{
    uint64_t count;
    return read(bell->fd, &count, sizeof count) == (ssize_t)sizeof count;
}

/* ---- Reading -----------------------------------------------------------------------------------
 */

static void add(struct pawl_tally *total, const struct pawl_tally *more)
{
    total->position = more->position;
    total->events += more->events;
    total->added += more->added;
    total->claimed += more->claimed;
    total->completed += more->completed;
    total->failed += more->failed;
    total->lost += more->lost;
}

/* What no rate is made from any more goes. */
static void sample(struct top *top, int64_t now_ms)
{
    size_t old = 0;
    while (old + 1 < top->sample_count && now_ms - top->samples[old + 1].at_ms >= RATE_OVER_MS)
        old++;
    if (old == 0 && top->sample_count == SAMPLES_MAX) old = 1;
    top->sample_count -= old;
    memmove(top->samples, top->samples + old, top->sample_count * sizeof top->samples[0]);
    top->samples[top->sample_count++] = (struct sample){now_ms, top->total};
}

static enum pawl_code read_events(struct top *top)
{
    struct pawl_cli *cli = top->cli;
    struct pawl_tally tally;
    int64_t after = top->sample_count == 0 ? -1 : top->total.position;
    do {
        enum pawl_code code = pawl_events_tally(cli->pawl, after, cli->scratch, &tally, &cli->err);
        if (code != PAWL_OK) return code;
        add(&top->total, &tally);
        after = tally.position;
    } while (tally.events >= PAWL_TALLY_EVENTS_MAX);
    sample(top, monotonic_ms());
    return PAWL_OK;
}

static enum pawl_code read_all(struct top *top)
{
    struct pawl_cli *cli = top->cli;
    struct pawl_list ask = PAWL_LIST_INIT;
    ask.states = UINT32_C(1) << PAWL_TASK_RUNNING;
    ask.limit = RUNNING_SHOWN;
    top->read_at_ms = monotonic_ms();
    pawl_arena_reset(cli->scratch);
    enum pawl_code code = pawl_queue_list(cli->pawl, cli->scratch, &top->queues, &cli->err);
    if (code == PAWL_OK)
        code = pawl_task_list(cli->pawl, &ask, cli->scratch, &top->running, &cli->err);
    return code == PAWL_OK ? read_events(top) : code;
}

/* ---- Showing -----------------------------------------------------------------------------------
 */

static double rate(const struct top *top, int64_t now_ms, int64_t before, int64_t now)
{
    int64_t over_ms = now_ms - top->samples[0].at_ms;
    if (over_ms > RATE_OVER_MS) over_ms = RATE_OVER_MS;
    return over_ms < READ_EVERY_MS ? 0.0 : (double)(now - before) * 1000.0 / (double)over_ms;
}

/* The newest sample that is as old as what a rate is made from, else the oldest there is. */
static const struct pawl_tally *total_before(const struct top *top, int64_t now_ms)
{
    size_t at = 0;
    while (at + 1 < top->sample_count && now_ms - top->samples[at + 1].at_ms >= RATE_OVER_MS) at++;
    return &top->samples[at].total;
}

static void show_rates(const struct top *top, FILE *file)
{
    int64_t now_ms = monotonic_ms();
    const struct pawl_tally *before = total_before(top, now_ms);
    const struct pawl_tally *now = &top->total;
    (void)fprintf(file,
                  "a second: %.1f added, %.1f claimed, %.1f completed, %.1f attempts failed, %.1f "
                  "leases lost\n",
                  rate(top, now_ms, before->added, now->added),
                  rate(top, now_ms, before->claimed, now->claimed),
                  rate(top, now_ms, before->completed, now->completed),
                  rate(top, now_ms, before->failed, now->failed),
                  rate(top, now_ms, before->lost, now->lost));
}

static void show_queues(struct pawl_cli *cli, const struct top *top, struct pawl_arena *arena)
{
    struct pawl_listing listing;
    pawl_listing_begin(&listing, &cli->out, arena, "queues", queue_columns);
    for (size_t i = 0; i < top->queues.count; i++) {
        const struct pawl_queue *queue = &top->queues.queues[i];
        const struct pawl_cell cells[] = {
            {queue->name, NULL},
            {queue->is_paused ? PAWL_STR("paused") : PAWL_STR(""), NULL},
            {pawl_arena_format(arena, "%" PRId64, queue->ready), NULL},
            {pawl_arena_format(arena, "%" PRId64, queue->running), NULL},
            {pawl_arena_format(arena, "%" PRId64, queue->deferred), NULL},
            {pawl_time_text(&cli->out, arena, queue->oldest_ready_at_ms), NULL},
        };
        pawl_listing_cells(&listing, cells);
    }
    pawl_listing_flush(&listing);
}

static struct pawl_str left_text(struct pawl_arena *arena, int64_t left_ms)
{
    if (left_ms == 0) return PAWL_STR("over");
    return pawl_arena_format(arena, "%.1fs", (double)left_ms / 1000.0);
}

static void show_running(struct pawl_cli *cli, const struct top *top, struct pawl_arena *arena)
{
    struct pawl_listing listing;
    pawl_listing_begin(&listing, &cli->out, arena, "tasks", task_columns);
    for (size_t i = 0; i < top->running.count; i++) {
        const struct pawl_task *task = &top->running.tasks[i];
        const struct pawl_cell cells[] = {
            {task->id, pawl_state_color(&cli->out, task->state)},
            {task->queue, NULL},
            {task->owner, NULL},
            {left_text(arena, task->lease_left_ms), NULL},
            {pawl_arena_format(arena, "%.0f%%", task->progress), NULL},
            {pawl_time_text(&cli->out, arena, task->started_at_ms), NULL},
            {task->title, NULL},
        };
        pawl_listing_cells(&listing, cells);
    }
    pawl_listing_flush(&listing);
    if (top->running.cursor.len > 0) (void)fprintf(cli->out.file, "… and more\n");
}

static void show_tables(struct pawl_cli *cli, const struct top *top, struct pawl_arena *arena)
{
    FILE *file = cli->out.file;
    show_queues(cli, top, arena);
    (void)fputc('\n', file);
    show_running(cli, top, arena);
}

static void show_json(struct pawl_cli *cli, const struct top *top)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "queues");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < top->queues.count; i++) pawl_show_queue_json(&w, &top->queues.queues[i]);
    pawl_json_end_array(&w);
    pawl_json_put_key(&w, "running");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < top->running.count; i++) {
        pawl_json_begin_object(&w);
        pawl_show_task_json(&w, &top->running.tasks[i], false);
        pawl_json_end_object(&w);
    }
    pawl_json_end_array(&w);
    pawl_json_put_member_int64(&w, "position", top->total.position);
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
}

static int show_once(struct top *top)
{
    struct pawl_cli *cli = top->cli;
    if (pawl_cli_begin(cli) != PAWL_OK || read_all(top) != PAWL_OK) return pawl_cli_fail(cli);
    if (pawl_output_is_table(&cli->out)) {
        show_tables(cli, top, cli->scratch);
    } else {
        show_json(cli, top);
    }
    enum pawl_code code = pawl_arena_code(cli->scratch);
    if (code == PAWL_OK) return 0;
    (void)pawl_error_set(&cli->err, code, "what there is to show takes too much room");
    return pawl_cli_fail(cli);
}

/* ---- The loop ----------------------------------------------------------------------------------
 */

/* Everything is drawn into memory first, so that the screen never flickers. */
static void draw(struct top *top, const struct pawl_screen *screen)
{
    struct pawl_cli *cli = top->cli;
    FILE *file = cli->out.file;
    char *text = NULL;
    size_t len = 0;
    struct pawl_arena *arena;
    if (pawl_arena_open(&arena, 0) != PAWL_OK) return;
    cli->out.file = open_memstream(&text, &len);
    if (cli->out.file != NULL) {
        cli->out.columns = screen->columns;
        (void)fprintf(cli->out.file, "%.*s   q ends\n",
                      PAWL_STR_ARG(pawl_text_clean(arena, cli->store)));
        if (top->trouble.code == PAWL_OK) {
            show_rates(top, cli->out.file);
        } else {
            struct pawl_str why = pawl_text_clean(arena, pawl_str_of(top->trouble.text));
            (void)fprintf(cli->out.file, "waiting until the store answers again: %.*s\n", PAWL_STR_ARG(why));
        }
        (void)fputc('\n', cli->out.file);
        show_tables(cli, top, arena);
        if (fclose(cli->out.file) == 0) pawl_screen_show(screen, (struct pawl_str){text, len});
    }
    free(text);
    cli->out.file = file;
    pawl_arena_close(arena);
}

/* A server that is started anew is waited for; the tables are empty meanwhile. */
static enum pawl_code read_or_bear(struct top *top)
{
    struct pawl_cli *cli = top->cli;
    enum pawl_code code = read_all(top);
    top->trouble = (struct pawl_error){0};
    if (code == PAWL_OK || !pawl_patience_helps(cli, code)) return code;
    top->trouble = cli->err;
    top->queues = (struct pawl_queues){0};
    top->running = (struct pawl_page){0};
    cli->err = (struct pawl_error){0};
    return PAWL_OK;
}

/* Looks until told to end; gives the exit status. */
static int look_on(struct top *top, struct pawl_screen *screen, const struct bell *bell)
{
    bool has_news = true;
    for (;;) {
        bool is_well = top->trouble.code == PAWL_OK;
        int64_t since_ms = monotonic_ms() - top->read_at_ms;
        bool is_time = since_ms >= (is_well ? READ_EVERY_MS : DRAW_EVERY_MS);
        bool reads = (has_news || !is_well) && (top->read_at_ms == 0 || is_time);
        if (reads && read_or_bear(top) != PAWL_OK) return -1;
        if (reads) has_news = false;
        draw(top, screen);
        /* with news it is not the bell that ends the wait, but the time when they may be read */
        int64_t wait_ms = has_news ? READ_EVERY_MS - since_ms : DRAW_EVERY_MS;
        enum pawl_screen_said said =
            pawl_screen_wait(screen, has_news ? -1 : bell->fd, wait_ms > 0 ? wait_ms : 1);
        if (bell_has_rung(bell)) has_news = true;
        if (said == PAWL_SCREEN_QUIT) return 0;
        if (said == PAWL_SCREEN_ENDED) return PAWL_EXIT_INTERRUPTED;
    }
}

static int watch(struct top *top)
{
    struct pawl_cli *cli = top->cli;
    struct pawl_screen screen;
    struct bell bell;
    int status = -1;
    enum pawl_code code = pawl_screen_prepare(&screen, &cli->err);
    if (code == PAWL_OK) code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = bell_open(&bell, cli->pawl, &cli->err);
    if (code == PAWL_OK) {
        if (pawl_screen_open(&screen, &cli->err) == PAWL_OK) status = look_on(top, &screen, &bell);
        bell_close(&bell);
    }
    pawl_screen_close(&screen);
    return status >= 0 ? status : pawl_cli_fail(cli);
}

int pawl_cli_top(struct pawl_cli *cli)
{
    struct top *top = pawl_arena_take(cli->keep, sizeof *top);
    if (top == NULL) return pawl_cli_fail(cli);
    top->cli = cli;
    bool is_live = cli->out.is_terminal && isatty(STDIN_FILENO) == 1 && !pawl_given(cli, "once") &&
                   pawl_output_is_table(&cli->out);
    return is_live ? watch(top) : show_once(top);
}
