/* pawl queue: list, stats, pause, resume, set. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/each.h"
#include "app/retry.h"
#include "app/show.h"
#include "app/watch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <inttypes.h>

/* clang-format off */
static const struct pawl_column list_columns[] = {
    {"NAME", false, false}, {"PAUSED", false, false}, {"LEASE", true, false},
    {"RETRIES", true, false}, {"DELAY", true, false}, {"LONGEST", true, false},
    {"JITTER", true, true}, {"BACKOFF", false, false},
    {NULL, false, false},
};
static const struct pawl_column stats_columns[] = {
    {"NAME", false, false}, {"PAUSED", false, false}, {"READY", true, false},
    {"DEFERRED", true, false}, {"RUNNING", true, false}, {"OLDEST READY", false, false}, {NULL, false, false},
};
/* clang-format on */

static struct pawl_str queue_json(struct pawl_arena *arena, const struct pawl_queue *queue)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_show_queue_json(&w, queue);
    return pawl_json_writer_done(&w);
}

static struct pawl_str number_text(struct pawl_arena *arena, int64_t number)
{
    return pawl_arena_format(arena, "%" PRId64, number);
}

static struct pawl_str retries_text(struct pawl_arena *arena, int32_t max_retries)
{
    if (max_retries == 0) return PAWL_STR("");
    return number_text(arena, max_retries == PAWL_RETRIES_NONE ? 0 : max_retries);
}

static struct pawl_str delay_text(struct pawl_arena *arena, int64_t delay_ms)
{
    return delay_ms == PAWL_DELAY_NONE ? PAWL_STR("0s") : pawl_duration_text(arena, delay_ms);
}

static struct pawl_str backoff_text(enum pawl_backoff backoff)
{
    bool is_default = backoff == (enum pawl_backoff)0;
    return is_default ? PAWL_STR("") : pawl_str_of(pawl_backoff_name(backoff));
}

static void show_queue(struct pawl_listing *listing, const struct pawl_queue *queue)
{
    const struct pawl_output *out = listing->out;
    struct pawl_arena *arena = listing->arena;
    struct pawl_str paused = queue->is_paused ? PAWL_STR("paused") : PAWL_STR("");
    if (out->form == PAWL_FORM_NAME) {
        pawl_listing_name(listing, queue->name);
    } else if (!pawl_output_is_table(out)) {
        pawl_listing_json(listing, queue_json(arena, queue));
    } else if (listing->columns == list_columns) {
        const struct pawl_cell cells[] = {
            {queue->name, NULL},
            {paused, NULL},
            {pawl_duration_text(arena, queue->lease_ms), NULL},
            {retries_text(arena, queue->retry.max_retries), NULL},
            {delay_text(arena, queue->retry.delay_ms), NULL},
            {pawl_duration_text(arena, queue->retry.delay_ms_max), NULL},
            {pawl_duration_text(arena, queue->retry.jitter_ms), NULL},
            {backoff_text(queue->retry.backoff), NULL},
        };
        pawl_listing_cells(listing, cells);
    } else {
        const struct pawl_cell cells[] = {
            {queue->name, NULL},
            {paused, NULL},
            {number_text(arena, queue->ready), NULL},
            {number_text(arena, queue->deferred), NULL},
            {number_text(arena, queue->running), NULL},
            {pawl_time_text(out, arena, queue->oldest_ready_at_ms), NULL},
        };
        pawl_listing_cells(listing, cells);
    }
}

static const struct pawl_queue *find_queue(const struct pawl_queues *queues, struct pawl_str name)
{
    for (size_t i = 0; i < queues->count; i++) {
        if (pawl_str_equal(queues->queues[i].name, name)) return &queues->queues[i];
    }
    return NULL;
}

static enum pawl_code draw(struct pawl_cli *cli, const struct pawl_column *columns)
{
    struct pawl_queues queues;
    struct pawl_listing listing;
    enum pawl_code code = cli->calls->queue_list(cli->asked, cli->scratch, &queues, &cli->err);
    if (code != PAWL_OK) return code;
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "queues", columns);
    size_t name_count = cli->arguments.word_count;
    for (size_t i = 0; name_count == 0 && i < queues.count; i++) {
        show_queue(&listing, &queues.queues[i]);
    }
    for (size_t i = 0; i < name_count; i++) {
        const struct pawl_queue *queue = find_queue(&queues, pawl_word(cli, i));
        if (queue == NULL) {
            return pawl_error_set(&cli->err, PAWL_NOT_FOUND, "there is no queue %s",
                                  cli->arguments.words[i]);
        }
        show_queue(&listing, queue);
    }
    pawl_listing_end(&listing, PAWL_STR(""));
    code = pawl_arena_code(cli->scratch);
    return code == PAWL_OK ? code
                           : pawl_error_set(&cli->err, code, "the queues take too much room");
}

static enum pawl_code draw_list(struct pawl_cli *cli, void *self)
{
    (void)self;
    return draw(cli, list_columns);
}

static enum pawl_code draw_stats(struct pawl_cli *cli, void *self)
{
    (void)self;
    return draw(cli, stats_columns);
}

int pawl_cli_queue_list(struct pawl_cli *cli)
{
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    return pawl_watch(cli, draw_list, NULL);
}

int pawl_cli_queue_stats(struct pawl_cli *cli)
{
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    return pawl_watch(cli, draw_stats, NULL);
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* pause is as in struct pawl_queue_set. */
static int set_pause(struct pawl_cli *cli, int32_t pause)
{
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    int64_t done_count = 0;
    int64_t failed_count = 0;
    int first_failure = 0;
    for (size_t i = 0; i < cli->arguments.word_count; i++) {
        struct pawl_queue_set ask = PAWL_QUEUE_SET_INIT;
        ask.name = pawl_word(cli, i);
        ask.pause = pause;
        if (cli->calls->queue_set(cli->asked, &ask, &cli->err) == PAWL_OK) {
            done_count++;
            continue;
        }
        int status = pawl_cli_fail(cli);
        if (failed_count++ == 0) first_failure = status;
    }
    return pawl_each_status(done_count, failed_count, first_failure);
}

int pawl_cli_queue_pause(struct pawl_cli *cli)
{
    return set_pause(cli, 1);
}

int pawl_cli_queue_resume(struct pawl_cli *cli)
{
    return set_pause(cli, 2);
}

static enum pawl_code set_queue(struct pawl_cli *cli)
{
    struct pawl_queue_set ask = PAWL_QUEUE_SET_INIT;
    struct pawl_queues queues;
    ask.name = pawl_word(cli, 0);
    ask.set_lease = pawl_given(cli, "lease");
    ask.lease_ms = pawl_given_lease_ms(cli, "lease");
    ask.set_retry = pawl_given_any_retry(cli);
    pawl_given_retry(cli, &ask.retry); /* before the store is opened: whether it is well formed */
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = cli->calls->queue_list(cli->asked, cli->scratch, &queues, &cli->err);
    if (code != PAWL_OK) return code;
    const struct pawl_queue *before = find_queue(&queues, ask.name);
    if (before != NULL) {
        ask.retry = before->retry;
        pawl_given_retry(cli, &ask.retry);
    }
    return cli->calls->queue_set(cli->asked, &ask, &cli->err);
}

int pawl_cli_queue_set(struct pawl_cli *cli)
{
    if (!pawl_given_any_retry(cli) && !pawl_given(cli, "lease")) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "say what to set; see `pawl help queue set`");
        return pawl_cli_fail(cli);
    }
    return set_queue(cli) == PAWL_OK ? 0 : pawl_cli_fail(cli);
}
