#include "app/tell.h"

#include "app/commands.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 1024 };

bool pawl_tell_open(struct pawl_tell *tell, struct pawl_cli *cli, struct pawl_str task_id)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("PAWL_SOCKET");
    tell->fd = -1;
    bool takes_fence = (cli->arguments.command->takes & PAWL_TAKES_FENCE) != 0;
    bool is_other = pawl_given(cli, "db") ||
                    (takes_fence && (pawl_given(cli, "owner") || pawl_given(cli, "epoch")));
    if (path == NULL || is_other || !pawl_str_equal(task_id, pawl_cli_own_task())) return false;
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path) return false;
    memcpy(address.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return false;
    }
    tell->fd = fd;
    return true;
}

void pawl_tell_close(struct pawl_tell *tell)
{
    if (tell->fd >= 0) (void)close(tell->fd);
    tell->fd = -1;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = send(fd, bytes, len, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

/* One line; nothing comes behind it before we speak again. */
static bool receive_answer(int fd, char answer[ANSWER_BYTES_MAX], struct pawl_str *out)
{
    size_t len = 0;
    while (len < ANSWER_BYTES_MAX) {
        ssize_t got = recv(fd, answer + len, ANSWER_BYTES_MAX - len, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        len += (size_t)got;
        if (answer[len - 1] != '\n') continue;
        *out = (struct pawl_str){answer, len - 1};
        return true;
    }
    return false;
}

/* `error CODE sentence` */
static enum pawl_code take_error(struct pawl_cli *cli, struct pawl_str words)
{
    const char *space = words.len > 0 ? memchr(words.ptr, ' ', words.len) : NULL;
    struct pawl_str name = words;
    if (space != NULL) name.len = (size_t)(space - words.ptr);
    for (enum pawl_code code = PAWL_INVALID; code <= PAWL_MISUSE; code++) {
        if (!pawl_str_equal(name, pawl_str_of(pawl_code_name(code)))) continue;
        struct pawl_str text = {words.ptr + name.len, words.len - name.len};
        return pawl_error_set(&cli->err, code, "%.*s", PAWL_STR_ARG(pawl_str_trim(text)));
    }
    return pawl_error_set(&cli->err, PAWL_IO, "the worker answers what is not understood");
}

static enum pawl_code say_line(struct pawl_tell *tell, struct pawl_cli *cli, const char *word,
                               struct pawl_str line, struct pawl_str *json)
{
    char bytes[ANSWER_BYTES_MAX];
    struct pawl_str answer;
    bool is_said = send_all(tell->fd, word, strlen(word)) && send_all(tell->fd, " ", 1) &&
                   send_all(tell->fd, line.ptr, line.len) && send_all(tell->fd, "\n", 1);
    /* One that refuses a long line stops reading it, and says why. */
    if (!receive_answer(tell->fd, bytes, &answer)) {
        return pawl_error_set(&cli->err, PAWL_IO, "the worker does not answer%s",
                              is_said ? "" : " or listen");
    }
    if (pawl_str_starts(answer, PAWL_STR("error "))) {
        return take_error(cli, (struct pawl_str){answer.ptr + 6, answer.len - 6});
    }
    if (!pawl_str_starts(answer, PAWL_STR("ok"))) return take_error(cli, answer);
    if (json != NULL) {
        *json = pawl_arena_copy(cli->scratch, (struct pawl_str){answer.ptr + 2, answer.len - 2});
    }
    return PAWL_OK;
}

static struct pawl_str without_breaks(struct pawl_cli *cli, struct pawl_str text)
{
    char *bytes = pawl_arena_take(cli->scratch, text.len + 1);
    if (bytes == NULL) return text;
    for (size_t i = 0; i < text.len; i++) bytes[i] = text.ptr[i] == '\n' ? ' ' : text.ptr[i];
    return (struct pawl_str){bytes, text.len};
}

enum pawl_code pawl_tell_say(struct pawl_tell *tell, struct pawl_cli *cli, const char *word,
                             struct pawl_str rest, bool is_lines, struct pawl_str *json)
{
    if (!is_lines) return say_line(tell, cli, word, without_breaks(cli, rest), json);
    for (;;) {
        const char *end = rest.len > 0 ? memchr(rest.ptr, '\n', rest.len) : NULL;
        struct pawl_str line = rest;
        if (end != NULL) line.len = (size_t)(end - rest.ptr);
        enum pawl_code code = say_line(tell, cli, word, line, json);
        if (code != PAWL_OK || end == NULL) return code;
        rest = (struct pawl_str){end + 1, rest.len - line.len - 1};
    }
}
