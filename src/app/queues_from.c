#include "app/queues_from.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "core/check.h"
#include "worker/process.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct file {
    struct pawl_cli *cli;
    struct pawl_str path;
    int line; /* from 1 */
    struct pawl_worker_pool *pools;
    size_t count;
    int32_t slots; /* of all */
};

static_assert(PAWL_WORKER_SLOTS_MAX == 1024, "the sentences below name it");

static enum pawl_code refuse(const struct file *file, const char *what, struct pawl_str word)
{
    return pawl_error_set(&file->cli->err, PAWL_INVALID, "%.*s:%d: %s: `%.*s`",
                          PAWL_STR_ARG(file->path), file->line, what, PAWL_STR_ARG(word));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct pawl_str take_word(struct pawl_str *rest)
{
    struct pawl_str word = *rest = pawl_str_trim(*rest);
    word.len = 0;
    while (word.len < rest->len && !is_blank(rest->ptr[word.len])) word.len++;
    *rest = pawl_str_trim((struct pawl_str){rest->ptr + word.len, rest->len - word.len});
    return word;
}

/* What /bin/sh runs. */
static char *const *shell_argv(struct pawl_cli *cli, struct pawl_str command)
{
    char **argv = pawl_arena_take_array(cli->keep, 4, sizeof *argv);
    if (argv == NULL) return NULL;
    argv[0] = pawl_arena_c_text(cli->keep, PAWL_STR("/bin/sh"));
    argv[1] = pawl_arena_c_text(cli->keep, PAWL_STR("-c"));
    argv[2] = pawl_arena_c_text(cli->keep, command);
    argv[3] = NULL;
    return argv;
}

static enum pawl_code check_queue(const struct file *file, struct pawl_str queue)
{
    enum pawl_code code = pawl_check_queue_name(queue, &file->cli->err);
    if (code != PAWL_OK) {
        pawl_error_prefix(&file->cli->err, "%.*s:%d", PAWL_STR_ARG(file->path), file->line);
        return code;
    }
    for (size_t i = 0; i < file->count; i++) {
        if (pawl_str_equal(file->pools[i].queues[0], queue)) {
            return refuse(file, "queue: comes twice", queue);
        }
    }
    if (file->count == PAWL_WORKER_POOLS_MAX) {
        return refuse(file, "queue: is one too many, 64 are the most", queue);
    }
    return PAWL_OK;
}

/* A line that is neither empty nor a comment. */
static enum pawl_code take_line(struct file *file, struct pawl_str line,
                                const struct pawl_worker_pool *otherwise)
{
    struct pawl_cli *cli = file->cli;
    struct pawl_worker_pool pool = *otherwise;
    struct pawl_str *queue = pawl_arena_take_array(cli->keep, 1, sizeof *queue);
    if (queue == NULL) return pawl_error_set(&cli->err, PAWL_NO_MEMORY, "too many queues");
    *queue = take_word(&line);
    pool.queues = queue;
    pool.queue_count = 1;
    enum pawl_code code = check_queue(file, *queue);
    if (code != PAWL_OK) return code;

    struct pawl_str word = take_word(&line);
    if (word.len > 0 && !pawl_str_equal(word, PAWL_STR("--"))) {
        int64_t slots = 0;
        if (!pawl_int64_parse(word, 1, PAWL_WORKER_SLOTS_MAX, &slots)) {
            return refuse(file, "slots: is no number from 1 to 1024", word);
        }
        pool.slots = (int32_t)slots;
        word = take_word(&line);
    }
    bool has_command = pawl_str_equal(word, PAWL_STR("--"));
    if (word.len > 0 && !has_command) return refuse(file, "-- is wanted before a command", word);
    if (has_command && line.len == 0) return refuse(file, "command: is empty behind --", word);
    if (line.len > PAWL_PROCESS_ARGUMENT_BYTES_MAX) {
        return refuse(file, "command: longer than the 131071 bytes that the kernel takes", *queue);
    }
    if (has_command) pool.argv = shell_argv(cli, line);
    if (pool.argv == NULL) return refuse(file, "command: there is none, here or behind --", *queue);
    file->slots += pool.slots;
    if (file->slots > PAWL_WORKER_SLOTS_MAX) {
        return refuse(file, "slots: with those before they are more than 1024", *queue);
    }
    pool.worker_id = pawl_arena_format(cli->keep, "%.*s/%.*s", PAWL_STR_ARG(otherwise->worker_id),
                                       PAWL_STR_ARG(*queue));
    if (pool.worker_id.len > PAWL_WORKER_ID_BYTES_MAX) {
        return refuse(file, "worker id: with the queue it is longer than 128 bytes",
                      pool.worker_id);
    }
    file->pools[file->count++] = pool;
    return PAWL_OK;
}

static enum pawl_code read_all(struct pawl_cli *cli, struct pawl_str path, struct pawl_str *text)
{
    const char *name = pawl_arena_c_text(cli->keep, path);
    /* It may be a pipe whose other end is slow: meanwhile signals end us, as nobody hears them yet.
     */
    sigset_t signals;
    (void)sigemptyset(&signals); /* these fail only for bad numbers */
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
    FILE *stream = name == NULL ? NULL : fopen(name, "re");
    enum pawl_code code = PAWL_OK;
    if (stream == NULL) {
        code = pawl_error_set(&cli->err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_IO,
                              "--queues-from: %.*s: %s", PAWL_STR_ARG(path), strerror(errno));
    } else {
        code = pawl_file_read(stream, name, cli->keep, text, &cli->err);
        (void)fclose(stream); /* nothing was written */
    }
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    return code;
}

enum pawl_code pawl_queues_from(struct pawl_cli *cli, struct pawl_str path,
                                const struct pawl_worker_pool *otherwise,
                                const struct pawl_worker_pool **pools, size_t *count)
{
    struct file file = {.cli = cli, .path = path};
    struct pawl_str text = {0};
    file.pools = pawl_arena_take_array(cli->keep, PAWL_WORKER_POOLS_MAX, sizeof *file.pools);
    if (file.pools == NULL) return pawl_error_set(&cli->err, PAWL_NO_MEMORY, "too many queues");
    enum pawl_code code = read_all(cli, path, &text);
    while (code == PAWL_OK && text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.ptr);
        struct pawl_str line = pawl_str_trim((struct pawl_str){text.ptr, len});
        text = (struct pawl_str){text.ptr + len, text.len - len};
        if (end != NULL) text = (struct pawl_str){text.ptr + 1, text.len - 1};
        file.line++;
        bool is_said = line.len > 0 && line.ptr[0] != '#';
        if (is_said) code = take_line(&file, line, otherwise);
    }
    if (code == PAWL_OK && file.count == 0) {
        code = pawl_error_set(&cli->err, PAWL_INVALID, "%.*s: names no queue", PAWL_STR_ARG(path));
    }
    if (code != PAWL_OK) return code;
    *pools = file.pools;
    *count = file.count;
    return PAWL_OK;
}
