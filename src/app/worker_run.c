/* pawl worker run: from options to a worker. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/queues_from.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/log.h"
#include "base/str.h"
#include "core/check.h"
#include "worker/board.h"
#include "worker/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Where the log goes: to standard error, above the lines of the slots if there are any. */
struct sink {
    struct pawl_log log;
    struct pawl_board *board;
};

/* A line of the log goes out whole, whichever thread it comes from: stdio locks the stream. */
static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    const struct sink *sink = self;
    char now[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    if (level > sink->log.level_max) return;
    pawl_instant_format(pawl_wall_ms(), now);
    pawl_board_begin(sink->board);
    (void)fprintf(stderr, "time=%s %.*s\n", now, PAWL_STR_ARG(line));
    pawl_board_end(sink->board);
}

static struct pawl_str make_worker_id(struct pawl_arena *keep)
{
    char host[64 + 1] = "";
    uint32_t random = 0;
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    (void)!getrandom(&random, sizeof random, 0); /* these few bytes always come */
    return pawl_arena_format(keep, "%s:%ld:%08" PRIx32, host[0] != '\0' ? host : "host",
                             (long)getpid(), random);
}

/* Our own environment with what --env adds or replaces. */
static char **make_environment(struct pawl_cli *cli)
{
    size_t own_count = 0;
    size_t set_count = 0;
    const struct pawl_str *set = pawl_given_all(cli, "env", &set_count);
    while (environ[own_count] != NULL) own_count++;
    char **all = pawl_arena_take_array(cli->keep, own_count + set_count + 1, sizeof *all);
    if (all == NULL) return NULL;
    for (size_t i = 0; i < own_count; i++) all[i] = environ[i];
    size_t count = own_count;
    for (size_t i = 0; i < set_count; i++) {
        const char *equals = memchr(set[i].ptr, '=', set[i].len);
        if (equals == NULL || equals == set[i].ptr) {
            (void)pawl_error_set(&cli->err, PAWL_INVALID, "--env: `%.*s` is not NAME=VALUE",
                                 PAWL_STR_ARG(set[i]));
            return all;
        }
        size_t name_len = (size_t)(equals - set[i].ptr) + 1;
        size_t at = 0;
        while (at < count && strncmp(all[at], set[i].ptr, name_len) != 0) at++;
        all[at] = pawl_arena_c_text(cli->keep, set[i]);
        if (at == count) count++;
    }
    return all;
}

/* QUEUE… and COMMAND… are told apart by the dashes. */
static enum pawl_code take_words(struct pawl_cli *cli, struct pawl_worker_pool *pool)
{
    const struct pawl_arguments *arguments = &cli->arguments;
    size_t queue_count =
        arguments->has_dashes ? arguments->words_before_dashes : arguments->word_count;
    bool has_command = arguments->word_count > queue_count;
    bool has_file = pawl_given(cli, "queues-from");
    if (has_file && queue_count > 0) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "--queues-from names the queues: none can be named besides");
    }
    if (has_file && pawl_given(cli, "once")) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "--once and --queues-from do not go together");
    }
    if (!has_file && !has_command) {
        return pawl_error_set(&cli->err, PAWL_INVALID, "name the command to run behind --");
    }
    struct pawl_str *queues = pawl_arena_take_array(cli->keep, queue_count, sizeof *queues);
    if (queues == NULL) {
        return pawl_error_set(&cli->err, pawl_arena_code(cli->keep), "too many queues");
    }
    for (size_t i = 0; i < queue_count; i++) {
        queues[i] = pawl_word(cli, i);
        enum pawl_code code = pawl_check_queue_name(queues[i], &cli->err);
        if (code != PAWL_OK) return code;
    }
    pool->queues = queues;
    pool->queue_count = queue_count;
    pool->argv = has_command ? arguments->words + queue_count : NULL;
    return PAWL_OK;
}

static void take_options(struct pawl_cli *cli, struct pawl_worker_options *options)
{
    options->lease_ms = pawl_given_above_0(cli, "lease", pawl_given_lease_ms(cli, "lease"));
    options->grace_ms = pawl_given_duration_ms(cli, "grace", PAWL_WORKER_GRACE_MS_DEFAULT);
    options->timeout_ms =
        pawl_given_above_0(cli, "timeout", pawl_given_duration_ms(cli, "timeout", 0));
    options->is_once = pawl_given(cli, "once");
    options->is_until_empty = pawl_given(cli, "until-empty");
    options->worker_id = pawl_given_text(cli, "worker-id");
    if (options->worker_id.len == 0) options->worker_id = make_worker_id(cli->keep);
    if (cli->err.code == PAWL_OK) {
        (void)pawl_check_name("worker-id", options->worker_id, PAWL_WORKER_ID_BYTES_MAX, &cli->err);
    }
    struct pawl_str cwd = pawl_given_text(cli, "cwd");
    options->cwd = cwd.len > 0 ? cwd.ptr : NULL; /* of argv, so it ends with a zero */
    options->environment = make_environment(cli);
}

/* ---- What is left at the end -------------------------------------------------------------------
 */

enum {
    /* Of each queue: an end is not to wait for a count. */
    LEFT_PAGES_MAX = 10,
};

struct left {
    int64_t deferred;
    int64_t first_at_ms; /* of them */
    int64_t recovering;
    bool is_more; /* than was looked at */
};

static enum pawl_code count_left(struct pawl_cli *cli, struct pawl_str queue, struct left *left)
{
    struct pawl_list ask = PAWL_LIST_INIT;
    ask.queue = queue;
    ask.states = UINT32_C(1) << PAWL_TASK_QUEUED | UINT32_C(1) << PAWL_TASK_RECOVERY_PENDING;
    ask.limit = PAWL_BATCH_MAX;
    for (int32_t i = 0; i < LEFT_PAGES_MAX; i++) {
        struct pawl_page page;
        enum pawl_code code = pawl_task_list(cli->pawl, &ask, cli->scratch, &page, NULL);
        if (code != PAWL_OK) return code;
        for (size_t at = 0; at < page.count; at++) {
            const struct pawl_task *task = &page.tasks[at];
            int64_t at_ms = task->next_retry_at_ms;
            if (task->state == PAWL_TASK_RECOVERY_PENDING) {
                left->recovering++;
            } else if (at_ms != 0 && task->open_dependencies == 0) {
                left->deferred++;
                if (left->first_at_ms == 0 || at_ms < left->first_at_ms) left->first_at_ms = at_ms;
            }
        }
        if (page.cursor.len == 0) return PAWL_OK;
        ask.cursor = page.cursor;
    }
    left->is_more = true;
    return PAWL_OK;
}

/* An end that is no end of the work is told, --quiet or not; if the store cannot be read now, nothing is,
 * and the work is done all the same. */
static void tell_left(struct pawl_cli *cli, const struct pawl_worker_options *options)
{
    struct left left = {0};
    pawl_arena_reset(cli->scratch);
    for (size_t i = 0; i < options->pool_count; i++) {
        const struct pawl_worker_pool *pool = &options->pools[i];
        enum pawl_code code = PAWL_OK;
        if (pool->queue_count == 0) code = count_left(cli, PAWL_STR("default"), &left);
        for (size_t at = 0; at < pool->queue_count && code == PAWL_OK; at++) {
            code = count_left(cli, pool->queues[at], &left);
        }
        if (code != PAWL_OK) return;
    }
    if (left.deferred == 0 && left.recovering == 0) return;
    char first[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    pawl_instant_format(left.first_at_ms, first);
    pawl_board_begin(options->board); /* the engine logs still */
    (void)fprintf(stderr, "pawl: %s", left.is_more ? "at least " : "");
    if (left.deferred > 0) {
        (void)fprintf(stderr, "%" PRId64 " deferred until %s%s", left.deferred, first,
                      left.deferred > 1 ? " and later" : "");
    }
    if (left.recovering > 0) {
        (void)fprintf(stderr, "%s%" PRId64 " recovering", left.deferred > 0 ? ", " : "",
                      left.recovering);
    }
    (void)fprintf(stderr, ": run a worker without --until-empty, which waits for what is left\n");
    pawl_board_end(options->board);
}

int pawl_cli_worker_run(struct pawl_cli *cli)
{
    struct sink sink = {.log = {.write = write_log, .self = &sink}};
    bool is_quiet = pawl_given(cli, "quiet");
    sink.log.level_max = is_quiet ? PAWL_LOG_WARN : PAWL_LOG_INFO;
    struct pawl_worker_pool pool = {0};
    struct pawl_worker_options options = {
        .pools = &pool,
        .pool_count = 1,
        .signal_fd = cli->signal_fd,
        .is_terminal = isatty(STDERR_FILENO) == 1,
        .log = &sink.log,
    };
    struct pawl_options with = PAWL_OPTIONS_INIT;
    with.log = write_log;
    with.log_self = &sink;
    with.retain_ms = pawl_given_above_0(cli, "retain", pawl_given_age_ms(cli, "retain"));
    with.events_keep_ms =
        pawl_given_above_0(cli, "events-keep", pawl_given_age_ms(cli, "events-keep"));

    /* Children are heard of through a descriptor; a reader that went away is an error, not a death.
     * Both before any thread is started. */
    sigset_t child;
    (void)sigemptyset(&child); /* these fail only for bad numbers */
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);

    enum pawl_code code = take_words(cli, &pool);
    if (code == PAWL_OK) {
        take_options(cli, &options);
        pool.slots = (int32_t)pawl_given_int64(cli, "slots", 1, PAWL_WORKER_SLOTS_MAX, 1);
        pool.worker_id = options.worker_id;
        code = pawl_given_code(cli);
    }
    if (code == PAWL_OK && pawl_given(cli, "queues-from")) {
        code = pawl_queues_from(cli, pawl_given_text(cli, "queues-from"), &pool, &options.pools,
                                &options.pool_count);
    }
    int32_t slots = 0;
    for (size_t i = 0; i < options.pool_count; i++) slots += options.pools[i].slots;
    if (code == PAWL_OK && options.is_terminal && !is_quiet) {
        code = pawl_board_open(&options.board, slots, &cli->err);
    }
    sink.board = options.board;
    if (code == PAWL_OK) code = pawl_cli_open(cli, &with);
    if (code == PAWL_OK) {
        options.pawl = cli->pawl;
        options.store = cli->store;
        code = pawl_worker_run(&options, &cli->err);
    }
    if (code == PAWL_OK && options.is_until_empty) tell_left(cli, &options);
    /* The engine logs until it is closed. */
    pawl_close(cli->pawl);
    cli->pawl = NULL;
    pawl_board_close(options.board);
    return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
}
