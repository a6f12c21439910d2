/* Runs one command: reads the command line, prepares what its line in the table asks for, calls the
 * handler, and turns what came of it into an exit status. */
#include "app/cli.h"

#include "app/commands.h"
#include "app/help.h"
#include "app/location.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "client/client.h"
#include "core/limits.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int pawl_cli_fail(struct pawl_cli *cli)
{
    pawl_assert(cli->err.code != PAWL_OK);
    (void)fflush(cli->out.file); /* rows first, then what stopped them; main asks for its errors */
    /* it may quote what was given; logs are read on terminals too */
    struct pawl_str text = pawl_text_clean(cli->keep, pawl_str_of(cli->err.text));
    (void)fprintf(stderr, "pawl: %s: %.*s\n", pawl_code_name(cli->err.code), PAWL_STR_ARG(text));
    int status = pawl_code_exit(cli->err.code);
    cli->err = (struct pawl_error){0};
    return status;
}

/* Who stays does what comes due; a one-shot command leaves it. */
static bool has_timers(const struct pawl_cli *cli)
{
    uint32_t takes = cli->arguments.command->takes;
    if ((takes & PAWL_TAKES_WATCH) != 0 && pawl_given(cli, "watch")) return true;
    if ((takes & PAWL_FOLLOWS) != 0 && pawl_given(cli, "follow")) return true;
    return (takes & PAWL_HAS_TIMERS) != 0;
}

/* Who only looks may be cut off at any instruction: nothing is to be given back. */
static bool may_be_cut(const struct pawl_cli *cli)
{
    return cli->signal_fd >= 0 && !has_timers(cli);
}

/* Those that end us, on this thread: the handle's own never hear them. */
static void let_signals(int how)
{
    sigset_t signals;
    (void)sigemptyset(&signals); /* these fail only for bad numbers */
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(how, &signals, NULL);
}

static void be_cut(int signal)
{
    (void)signal;
    _exit(PAWL_EXIT_INTERRUPTED);
}

/* Who only passes by does not know how long a consumer may stay away: such commands drop none. */
static enum pawl_code find_consumer_keep(struct pawl_cli *cli, int64_t *keep_ms)
{
    *keep_ms = PAWL_RETAIN_MS_MAX;
    if ((cli->arguments.command->takes & PAWL_TAKES_KEEP) == 0) return PAWL_OK;
    *keep_ms = pawl_given_above_0(cli, "consumer-keep", pawl_given_age_ms(cli, "consumer-keep"));
    return pawl_given_code(cli);
}

/* ---- A server ------------------------------------------------------------------------------- */

static enum pawl_code refuse_server(struct pawl_cli *cli, const char *what)
{
    bool is_given = pawl_given(cli, "server");
    return pawl_error_set(&cli->err, PAWL_INVALID, "%s: %s works on a store: name it by --db",
                          is_given ? "--server" : "PAWL_SERVER", what);
}

/* "`pawl task list`" */
static const char *command_text(struct pawl_cli *cli)
{
    const struct pawl_cli_command *command = cli->arguments.command;
    const char *text = pawl_arena_c_text(
        cli->keep, pawl_arena_format(cli->keep, "`pawl %s%s%s`",
                                     command->group != NULL ? command->group : "",
                                     command->group != NULL ? " " : "", command->name));
    return text != NULL ? text : "it";
}

enum pawl_code pawl_cli_find_server(struct pawl_cli *cli, struct pawl_str *out)
{
    const char *db = getenv("PAWL_DB");
    struct pawl_str server = pawl_given_text(cli, "server");
    bool has_db = pawl_given(cli, "db");
    *out = (struct pawl_str){0};
    if (pawl_given(cli, "server")) {
        if (has_db) {
            return pawl_error_set(&cli->err, PAWL_INVALID,
                                  "--server and --db: a server is asked, or a store is opened");
        }
    } else {
        if (!has_db) server = pawl_str_of(getenv("PAWL_SERVER"));
        if (server.len == 0) return PAWL_OK;
        if (db != NULL && db[0] != '\0') {
            return pawl_error_set(&cli->err, PAWL_INVALID,
                                  "PAWL_SERVER and PAWL_DB are both set: say --server or --db");
        }
    }
    if ((cli->arguments.command->takes & PAWL_ASKS_SERVER) == 0) {
        return refuse_server(cli, command_text(cli));
    }
    *out = server;
    return PAWL_OK;
}

static enum pawl_code find_token(struct pawl_cli *cli, struct pawl_str *out)
{
    struct pawl_str path = pawl_given_text(cli, "token-file");
    *out = pawl_str_of(getenv("PAWL_TOKEN"));
    if (path.len == 0) return PAWL_OK;
    char *name = pawl_arena_c_text(cli->keep, path);
    FILE *file = name != NULL ? fopen(name, "re") : NULL;
    if (file == NULL) {
        return pawl_error_set(&cli->err, PAWL_INVALID, "--token-file: cannot open %.*s: %s",
                              PAWL_STR_ARG(path), strerror(errno));
    }
    enum pawl_code code = pawl_file_read(file, name, cli->keep, out, &cli->err);
    (void)fclose(file);
    if (code != PAWL_OK) return code;
    const char *end = out->len > 0 ? memchr(out->ptr, '\n', out->len) : NULL;
    if (end != NULL) out->len = (size_t)(end - out->ptr);
    *out = pawl_str_trim(*out);
    if (out->len > 0) return PAWL_OK;
    return pawl_error_set(&cli->err, PAWL_INVALID, "--token-file: %s has no token in its first line",
                          name);
}

static enum pawl_code open_server(struct pawl_cli *cli, struct pawl_str server)
{
    struct pawl_str token;
    enum pawl_code code = find_token(cli, &token);
    if (code == PAWL_OK) code = pawl_client_open(&cli->client, server, token, &cli->err);
    if (code != PAWL_OK) return code;
    cli->calls = &pawl_calls_remote;
    cli->asked = pawl_client_handle(cli->client);
    if (may_be_cut(cli)) let_signals(SIG_UNBLOCK);
    return PAWL_OK;
}

enum pawl_code pawl_cli_open(struct pawl_cli *cli, const struct pawl_options *options)
{
    return pawl_cli_open_for(cli, options,
                             (cli->arguments.command->takes & PAWL_CREATES_STORE) != 0);
}

enum pawl_code pawl_cli_open_for(struct pawl_cli *cli, const struct pawl_options *options,
                                 bool creates)
{
    struct pawl_options with = PAWL_OPTIONS_INIT;
    struct pawl_str server;
    if (options != NULL) with = *options;
    enum pawl_code code = pawl_cli_find_server(cli, &server);
    if (code != PAWL_OK) return code;
    if (server.len > 0) return open_server(cli, server);
    code =
        pawl_location_find(pawl_given_text(cli, "db"), creates, cli->keep, &cli->store, &cli->err);
    if (code != PAWL_OK) return code;
    with.store = cli->store;
    with.must_exist = !creates;
    with.no_timers = !has_timers(cli);
    with.to_the_end = with.no_timers;
    code = find_consumer_keep(cli, &with.consumer_keep_ms);
    if (code != PAWL_OK) return code;
    code = pawl_open(&cli->pawl, &with, &cli->err);
    cli->calls = &pawl_calls_local;
    cli->asked = cli->pawl;
    if (code == PAWL_OK && may_be_cut(cli)) let_signals(SIG_UNBLOCK);
    if (code != PAWL_NOT_FOUND) return code;
    return pawl_error_set(&cli->err, code, "%s; `pawl task add` makes it", cli->err.text);
}

void pawl_cli_tell_continuing(const struct pawl_cli *cli)
{
    if (!cli->continuing) return;
    (void)fprintf(stderr,
                  "pawl: done, but not all that follows for others: a worker goes on with it\n");
}

enum pawl_code pawl_cli_begin(struct pawl_cli *cli)
{
    enum pawl_code code = pawl_given_code(cli);
    return code == PAWL_OK ? pawl_cli_open(cli, NULL) : code;
}

bool pawl_cli_sleep(struct pawl_cli *cli, int64_t ms)
{
    pawl_assert(cli->signal_fd >= 0);
    pawl_assert(ms >= 0 && ms <= INT32_MAX);
    struct pollfd poll_fd = {.fd = cli->signal_fd, .events = POLLIN};
    if (may_be_cut(cli)) let_signals(SIG_BLOCK);
    bool is_interrupted = poll(&poll_fd, 1, (int)ms) == 1;
    if (may_be_cut(cli) && !is_interrupted) let_signals(SIG_UNBLOCK);
    return is_interrupted;
}

enum pawl_code pawl_file_read(FILE *file, const char *name, struct pawl_arena *keep,
                              struct pawl_str *out, struct pawl_error *err)
{
    size_t capacity = 16 * 1024;
    size_t len = 0;
    char *bytes = pawl_arena_take(keep, capacity);
    while (bytes != NULL) {
        size_t got = fread(bytes + len, 1, capacity - len, file);
        len += got;
        if (got == 0) break;
        if (len > PAWL_BATCH_BYTES_MAX) {
            return pawl_error_set(err, PAWL_TOO_LARGE, "%s has more than %d bytes", name,
                                  PAWL_BATCH_BYTES_MAX);
        }
        if (len == capacity) {
            bytes = pawl_arena_resize(keep, bytes, capacity, 2 * capacity);
            capacity *= 2;
        }
    }
    if (bytes == NULL) return pawl_error_set(err, pawl_arena_code(keep), "%s is too large", name);
    if (ferror(file) != 0) {
        return pawl_error_set(err, PAWL_IO, "cannot read %s: %s", name, strerror(errno));
    }
    *out = (struct pawl_str){bytes, len};
    return PAWL_OK;
}

/* ---- Who speaks ------------------------------------------------------------------------------ */

struct pawl_str pawl_cli_own_task(void)
{
    return pawl_str_of(getenv("PAWL_TASK_ID"));
}

bool pawl_cli_tells_changes(const struct pawl_cli *cli)
{
    return pawl_cli_own_task().len == 0 || pawl_given(cli, "output");
}

struct pawl_str pawl_cli_actor(const struct pawl_cli *cli)
{
    struct pawl_str actor = pawl_given_text(cli, "actor");
    if (actor.len == 0) actor = pawl_str_of(getenv("PAWL_ACTOR"));
    if (actor.len > 0) return actor;
    const struct passwd *user = getpwuid(geteuid());
    return user != NULL ? pawl_arena_copy(cli->keep, pawl_str_of(user->pw_name))
                        : pawl_arena_format(cli->keep, "uid %ld", (long)geteuid());
}

static void find_fence(struct pawl_cli *cli, struct pawl_str task_id, struct pawl_fence *fence,
                       struct pawl_change *change)
{
    struct pawl_str owner = pawl_given_text(cli, "owner");
    int64_t epoch = pawl_given_int64(cli, "epoch", 0, INT64_MAX, 0);
    if (pawl_given(cli, "owner") != pawl_given(cli, "epoch") && cli->err.code == PAWL_OK) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "--owner and --epoch go together");
    }
    if (!pawl_given(cli, "owner")) {
        if (!pawl_str_equal(task_id, pawl_cli_own_task())) return;
        owner = pawl_str_of(getenv("PAWL_WORKER_ID"));
        if (owner.len == 0) return;
        if (!pawl_int64_parse(pawl_str_of(getenv("PAWL_EPOCH")), 0, INT64_MAX, &epoch)) return;
    }
    *fence = (struct pawl_fence){.task_id = task_id, .owner = owner, .epoch = epoch};
    change->fence = fence;
}

void pawl_cli_change(struct pawl_cli *cli, struct pawl_str task_id, struct pawl_fence *fence,
                     struct pawl_change *change)
{
    uint32_t takes = cli->arguments.command->takes;
    *change = (struct pawl_change)PAWL_CHANGE_INIT;
    change->continuing = &cli->continuing;
    if ((takes & PAWL_TAKES_CHANGE) != 0) {
        change->reason = pawl_given_text(cli, "reason");
        change->expected_version = pawl_given_int64(cli, "expected-version", 1, INT64_MAX, 0);
        change->actor = pawl_cli_actor(cli);
    }
    if ((takes & PAWL_TAKES_FENCE) != 0) find_fence(cli, task_id, fence, change);
}

/* ---- The run --------------------------------------------------------------------------------- */

/* Before any thread is started, so that all of them leave these signals alone. */
static enum pawl_code hear_signals(struct pawl_cli *cli)
{
    sigset_t signals;
    (void)sigemptyset(&signals); /* these fail only for bad numbers */
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    cli->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (cli->signal_fd >= 0) {
        const struct sigaction cut = {.sa_handler = be_cut};
        if (may_be_cut(cli)) {
            (void)sigaction(SIGINT, &cut, NULL);
            (void)sigaction(SIGTERM, &cut, NULL);
        }
        return PAWL_OK;
    }
    return pawl_error_set(&cli->err, PAWL_IO, "cannot listen to signals: %s", strerror(errno));
}

static const struct pawl_cli_command *command_asked(const struct pawl_arguments *arguments)
{
    if (arguments->wants_version) return pawl_cli_command_find(NULL, "version");
    return arguments->command;
}

static int run_command(struct pawl_cli *cli)
{
    struct pawl_arguments *arguments = &cli->arguments;
    bool asks_help = arguments->wants_help;
    arguments->command = command_asked(arguments);
    if (asks_help || arguments->command == NULL) {
        /* Nothing to do is a usage error, unless help was what was wanted. */
        FILE *file = asks_help ? stdout : stderr;
        pawl_help_print(file, arguments->command, arguments->group);
        return asks_help ? 0 : pawl_code_exit(PAWL_INVALID);
    }
    if (pawl_given(cli, "server") && (arguments->command->takes & PAWL_ASKS_SERVER) == 0) {
        return refuse_server(cli, command_text(cli)) == PAWL_OK ? 0 : pawl_cli_fail(cli);
    }
    enum pawl_code code =
        pawl_output_choose(&cli->out, pawl_given_text(cli, "output"), pawl_given_text(cli, "color"),
                           (arguments->command->takes & PAWL_IS_LIST) != 0, &cli->err);
    if (code == PAWL_OK && (arguments->command->takes & PAWL_HEARS_SIGNALS) != 0) {
        code = hear_signals(cli);
    }
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    return arguments->command->run(cli);
}

int pawl_cli_run(int argc, char **argv)
{
    struct pawl_cli cli = {.signal_fd = -1};
    enum {
        KEEP_BYTES_MAX =
            256 * 1024 * 1024, /* several payloads of 10 MiB, doubled while they grow */
    };
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
    pawl_output_init(&cli.out, stdout);
    if (pawl_arena_open(&cli.keep, KEEP_BYTES_MAX) != PAWL_OK ||
        pawl_arena_open(&cli.scratch, KEEP_BYTES_MAX) != PAWL_OK) {
        (void)fprintf(stderr, "pawl: NO_MEMORY: no memory to begin\n");
        return pawl_code_exit(PAWL_NO_MEMORY);
    }
    int status = 0;
    enum pawl_code code = pawl_arguments_parse(&cli.arguments, argc, argv, cli.keep, &cli.err);
    if (code == PAWL_OK) {
        status = run_command(&cli);
    } else {
        status = pawl_cli_fail(&cli);
    }

    pawl_close(cli.pawl);
    pawl_client_close(cli.client);
    if (cli.signal_fd >= 0) (void)close(cli.signal_fd);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)pawl_error_set(&cli.err, PAWL_IO, "standard output: %s", strerror(errno));
        status = pawl_cli_fail(&cli);
    }
    pawl_arena_close(cli.scratch);
    pawl_arena_close(cli.keep);
    return status;
}
