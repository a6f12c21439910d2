/* Threads: talk_run and what it calls is the talk's own; the rest is called by the worker's. */
#include "worker/talk.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/str.h"
#include "core/limits.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"
#include "worker/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024, /* of one client; then others have their turn */
    LINES_MAX = 64,         /* the same */
    LAST_ROUNDS = 4,        /* once the command has ended */
    ANSWER_BYTES_MAX = 1024,
    ECHO_BYTES_MAX = 60,                /* of what was sent, in the sentence that refuses it */
    ARENA_BYTES_MAX = 64 * 1024 * 1024, /* the check of a checkpoint, which is 10 MiB at most */
};

enum stage {
    IDLE,
    TALKING,
    ENDING, /* the last round */
    OVER,   /* the worker has not looked yet */
};

struct client {
    int fd;      /* -1 = none */
    char *bytes; /* the line that has come in part */
    size_t len;
    size_t capacity;
    size_t unread_len;
    bool has_more;   /* a whole line has come and is not heard yet */
    bool has_ended;  /* it sends nothing any more */
    bool is_deaf;    /* it has no ear for answers */
    bool is_leaving; /* closed when it has read its answers */
    char unread[PAWL_TALK_UNREAD_BYTES_MAX];
};

struct pawl_talk {
    struct pawl_talk_options options;
    pthread_t thread;
    bool has_thread;
    int wake_fd;

    /* the talk thread's, while there is a talk */
    struct pawl_arena *arena;
    struct client clients[PAWL_TALK_CLIENTS_MAX];

    pthread_mutex_t mutex; /* guards what follows */
    enum stage stage;
    bool is_stopping;
    struct pawl_fence fence;
    int64_t lease_ms; /* as granted */
    int64_t ahead_ms; /* the clock of the store minus the boot clock */
    int listen_fd;
    int64_t retry_after_ms;
    double progress;
};

/* What a round works with: read under the mutex, the same for the whole talk. */
struct round {
    enum stage stage;
    bool is_stopping;
    struct pawl_fence fence;
    int64_t lease_ms;
    int64_t ahead_ms;
    int listen_fd;
};

/* ---- The words ------------------------------------------------------------------------------- */

struct said {
    struct pawl_talk *talk;
    const struct round *round;
    struct pawl_str rest; /* behind the word */
    struct pawl_str json; /* of the answer; may be empty */
    struct pawl_error err;
};

/* The next word of the rest, which spaces end. */
static struct pawl_str take_word(struct pawl_str *rest)
{
    struct pawl_str word = *rest;
    while (word.len > 0 && word.ptr[0] == ' ') word = (struct pawl_str){word.ptr + 1, word.len - 1};
    const char *space = word.len > 0 ? memchr(word.ptr, ' ', word.len) : NULL;
    size_t len = space == NULL ? word.len : (size_t)(space - word.ptr);
    *rest = (struct pawl_str){word.ptr + len, word.len - len};
    return (struct pawl_str){word.ptr, len};
}

/* A word as a sentence may have it. */
static struct pawl_str echo(const struct said *said, struct pawl_str word)
{
    if (word.len > ECHO_BYTES_MAX) word.len = ECHO_BYTES_MAX;
    return pawl_text_mend(word, said->talk->arena);
}

static enum pawl_code refuse(struct said *said, const char *field, struct pawl_str word,
                             const char *what)
{
    return pawl_error_set(&said->err, PAWL_INVALID, "%s: `%.*s` is no %s", field,
                          PAWL_STR_ARG(echo(said, word)), what);
}

static struct pawl_change change_of(const struct said *said)
{
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &said->round->fence;
    return change;
}

static enum pawl_code say_progress(struct said *said)
{
    struct pawl_talk *talk = said->talk;
    struct pawl_str word = take_word(&said->rest);
    struct pawl_str number = word;
    double percent = 0;
    if (pawl_str_ends(number, PAWL_STR("%"))) number.len--;
    if (!pawl_double_parse(number, &percent)) return refuse(said, "percent", word, "number");
    struct pawl_change change = change_of(said);
    enum pawl_code code = pawl_task_progress(talk->options.pawl, said->round->fence.task_id,
                                             percent, &change, &said->err);
    if (code != PAWL_OK) return code;
    pthread_mutex_lock(&talk->mutex);
    talk->progress = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    pthread_mutex_unlock(&talk->mutex);
    pawl_fd_ring(talk->options.heard_fd);
    return PAWL_OK;
}

static enum pawl_code say_log(struct said *said)
{
    struct pawl_change change = change_of(said);
    struct pawl_str text = said->rest;
    if (text.len > 0) text = (struct pawl_str){text.ptr + 1, text.len - 1}; /* the space */
    if (text.len > PAWL_LOG_LINE_BYTES_MAX) {
        return pawl_error_set(&said->err, PAWL_TOO_LARGE, "text: has %zu bytes, more than %d",
                              text.len, PAWL_LOG_LINE_BYTES_MAX);
    }
    text = pawl_text_mend(text, said->talk->arena);
    return pawl_task_log(said->talk->options.pawl, said->round->fence.task_id, text, &change,
                         &said->err);
}

static enum pawl_code say_checkpoint(struct said *said)
{
    struct pawl_change change = change_of(said);
    struct pawl_str word = take_word(&said->rest);
    int64_t step = 0;
    if (!pawl_int64_parse(word, 0, INT32_MAX, &step)) return refuse(said, "step", word, "number");
    struct pawl_str state = pawl_str_trim(said->rest);
    enum pawl_code code = pawl_json_check(state, said->talk->arena, &said->err);
    if (code != PAWL_OK) {
        pawl_error_prefix(&said->err, "state");
        return code;
    }
    char id[PAWL_CHECKPOINT_ID_BYTES + 1];
    change.checkpoint_id = id;
    code = pawl_task_checkpoint(said->talk->options.pawl, said->round->fence.task_id, (int32_t)step,
                                state, &change, &said->err);
    if (code != PAWL_OK) return code;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, said->talk->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", pawl_str_of(id));
    pawl_json_put_member_int64(&w, "step", step);
    pawl_json_end_object(&w);
    said->json = pawl_json_writer_done(&w);
    return PAWL_OK;
}

static enum pawl_code say_retry_after(struct said *said)
{
    struct pawl_str word = take_word(&said->rest);
    int64_t ms = 0;
    if (!pawl_duration_parse(word, &ms)) {
        return refuse(said, "time", word, "duration such as 250ms, 30s, 5m or 1h30m");
    }
    if (ms > PAWL_DELAY_MS_MAX) { /* said now: with the outcome it would be too late to ask again */
        return pawl_error_set(&said->err, PAWL_INVALID, "time: `%.*s` is more than 366 days", PAWL_STR_ARG(word));
    }
    pthread_mutex_lock(&said->talk->mutex);
    said->talk->retry_after_ms = ms;
    pthread_mutex_unlock(&said->talk->mutex);
    return PAWL_OK;
}

static enum pawl_code say_lease(struct said *said)
{
    struct pawl_talk *talk = said->talk;
    const struct round *round = said->round;
    struct pawl_kept kept = pawl_keeper_look(talk->options.keeper, talk->options.slot);
    int64_t end_boot_ms = kept.stop_at_boot_ms;
    if (!kept.is_cut) end_boot_ms += pawl_lease_margin_ms(round->lease_ms);
    int64_t left_ms = end_boot_ms - pawl_clock_boot_ms();
    if (kept.is_lost || left_ms <= 0) {
        return pawl_error_set(&said->err, PAWL_LEASE_LOST,
                              "the lease of task %.*s is no longer yours",
                              PAWL_STR_ARG(round->fence.task_id));
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, talk->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", round->fence.task_id);
    pawl_json_put_member_text(&w, "owner", round->fence.owner);
    pawl_json_put_member_int64(&w, "epoch", round->fence.epoch);
    pawl_json_put_member_int64(&w, "lease_ms", round->lease_ms);
    pawl_json_put_member_int64(&w, "left_ms", left_ms);
    pawl_json_put_member_int64(&w, "lease_end_at_ms", end_boot_ms + round->ahead_ms);
    if (kept.control == PAWL_CONTROL_NONE) {
        pawl_json_put_member_null(&w, "control");
    } else {
        pawl_json_put_member_text(&w, "control",
                                  kept.control == PAWL_CONTROL_PAUSE ? PAWL_STR("pause")
                                                                     : PAWL_STR("cancel"));
    }
    pawl_json_end_object(&w);
    said->json = pawl_json_writer_done(&w);
    return PAWL_OK;
}

static const struct word {
    struct pawl_str name;
    enum pawl_code (*say)(struct said *said);
} words[] = {
    {PAWL_STR_INIT("progress"), say_progress},     {PAWL_STR_INIT("log"), say_log},
    {PAWL_STR_INIT("checkpoint"), say_checkpoint}, {PAWL_STR_INIT("retry-after"), say_retry_after},
    {PAWL_STR_INIT("lease"), say_lease},
};

static enum pawl_code say(struct said *said)
{
    struct pawl_str word = take_word(&said->rest);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (pawl_str_equal(word, words[i].name)) return words[i].say(said);
    }
    return pawl_error_set(&said->err, PAWL_INVALID,
                          "word: `%.*s` is none of progress, log, checkpoint, retry-after, lease",
                          PAWL_STR_ARG(echo(said, word)));
}

/* ---- Clients --------------------------------------------------------------------------------- */

static void leave(struct client *client)
{
    if (client->fd >= 0) (void)close(client->fd);
    free(client->bytes);
    client->fd = -1;
    client->bytes = NULL;
    client->len = client->capacity = client->unread_len = 0;
    client->has_more = client->has_ended = client->is_deaf = client->is_leaving = false;
}

static void flush(struct client *client)
{
    while (client->fd >= 0 && client->unread_len > 0) {
        ssize_t put = send(client->fd, client->unread, client->unread_len, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return;
        if (put <= 0) { /* nobody reads any more; what was sent is heard all the same */
            client->is_deaf = true;
            client->unread_len = 0;
            break;
        }
        client->unread_len -= (size_t)put;
        memmove(client->unread, client->unread + put, client->unread_len);
    }
    if (client->is_leaving) leave(client);
}

static bool has_room(const struct client *client)
{
    return sizeof client->unread - client->unread_len >= ANSWER_BYTES_MAX;
}

/* There is room for it. */
static void answer(struct client *client, enum pawl_code code, const struct said *said)
{
    char *to = client->unread + client->unread_len;
    int len = 0;
    if (code != PAWL_OK) {
        len = snprintf(to, ANSWER_BYTES_MAX, "error %s %s\n", pawl_code_name(code), said->err.text);
    } else if (said->json.len > 0) {
        len = snprintf(to, ANSWER_BYTES_MAX, "ok %.*s\n", PAWL_STR_ARG(said->json));
    } else {
        len = snprintf(to, ANSWER_BYTES_MAX, "ok\n");
    }
    pawl_assert(len > 0 && len < ANSWER_BYTES_MAX);
    for (int i = 0; i < len - 1; i++) { /* a sentence is one line */
        if (to[i] == '\n') to[i] = ' ';
    }
    if (!client->is_deaf) client->unread_len += (size_t)len;
}

static void hear_line(struct pawl_talk *talk, const struct round *round, struct client *client,
                      struct pawl_str line)
{
    struct said said = {.talk = talk, .round = round, .rest = line};
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') said.rest.len--;
    pawl_arena_reset(talk->arena);
    enum pawl_code code = say(&said);
    if (code == PAWL_LEASE_LOST) pawl_keeper_lose(talk->options.keeper, talk->options.slot);
    answer(client, code, &said);
}

/* The length of the first line, without its end; the last one may lack it. SIZE_MAX if there is no
 * whole line. */
static size_t line_len(const struct client *client, size_t from)
{
    size_t len = client->len - from;
    const char *end = len > 0 ? memchr(client->bytes + from, '\n', len) : NULL;
    if (end != NULL) return (size_t)(end - client->bytes) - from;
    return client->has_ended && len > 0 ? len : SIZE_MAX;
}

/* Whole lines, as far as there is room for answers. */
static void hear_lines(struct pawl_talk *talk, const struct round *round, struct client *client)
{
    size_t from = 0;
    size_t len = line_len(client, 0);
    for (int lines = 0; lines < LINES_MAX && len != SIZE_MAX && has_room(client); lines++) {
        hear_line(talk, round, client, (struct pawl_str){client->bytes + from, len});
        from += len;
        if (from < client->len) from++; /* the line's end */
        len = line_len(client, from);
    }
    if (from > 0) memmove(client->bytes, client->bytes + from, client->len - from);
    client->len -= from;
    client->has_more = len != SIZE_MAX;
    client->is_leaving = client->has_ended && !client->has_more;
}

static size_t bytes_held(const struct pawl_talk *talk)
{
    size_t sum = 0;
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) sum += talk->clients[i].capacity;
    return sum;
}

/* Makes room for one more read; false if the line, or all of them, have become too long. */
static bool make_room(struct pawl_talk *talk, struct client *client)
{
    if (client->capacity - client->len >= READ_BYTES) return true;
    size_t capacity = client->capacity == 0 ? READ_BYTES : client->capacity * 2;
    if (client->len > PAWL_TALK_LINE_BYTES_MAX) return false;
    if (capacity > PAWL_TALK_LINE_BYTES_MAX + READ_BYTES) {
        capacity = PAWL_TALK_LINE_BYTES_MAX + 2 * READ_BYTES;
    }
    if (bytes_held(talk) - client->capacity + capacity > PAWL_TALK_BYTES_MAX) return false;
    char *bytes = realloc(client->bytes, capacity);
    if (bytes == NULL) return false;
    client->bytes = bytes;
    client->capacity = capacity;
    return true;
}

static void refuse_rest(struct client *client)
{
    struct said said = {0};
    enum pawl_code code = pawl_error_set(
        &said.err, PAWL_TOO_LARGE, "line: longer than %d bytes, or too many long ones at a time",
        PAWL_TALK_LINE_BYTES_MAX);
    client->len = 0;
    client->is_leaving = true;
    answer(client, code, &said);
}

/* More of what it sends; false if that is too long. */
static bool receive(struct pawl_talk *talk, struct client *client)
{
    if (!make_room(talk, client)) return false;
    ssize_t got = recv(client->fd, client->bytes + client->len, READ_BYTES, 0);
    if (got > 0) client->len += (size_t)got;
    client->has_ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return true;
}

static void hear(struct pawl_talk *talk, const struct round *round, struct client *client)
{
    if (client->fd < 0 || client->is_leaving || !has_room(client)) return;
    bool is_too_long = !client->has_more && !client->has_ended && !receive(talk, client);
    if (is_too_long) {
        refuse_rest(client);
    } else {
        hear_lines(talk, round, client);
    }
    flush(client);
}

static struct client *free_client(struct pawl_talk *talk)
{
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) {
        if (talk->clients[i].fd < 0) return &talk->clients[i];
    }
    return NULL;
}

static void let_in(struct pawl_talk *talk, int listen_fd)
{
    struct client *client;
    while ((client = free_client(talk)) != NULL) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return; /* nobody, or one who has gone again */
        client->fd = fd;
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

static struct round look(struct pawl_talk *talk)
{
    pthread_mutex_lock(&talk->mutex);
    struct round round = {
        .stage = talk->stage,
        .is_stopping = talk->is_stopping,
        .fence = talk->fence,
        .lease_ms = talk->lease_ms,
        .ahead_ms = talk->ahead_ms,
        .listen_fd = talk->listen_fd,
    };
    pthread_mutex_unlock(&talk->mutex);
    return round;
}

static void wait_for_news(struct pawl_talk *talk, const struct round *round)
{
    struct pollfd fds[2 + PAWL_TALK_CLIENTS_MAX];
    nfds_t count = 0;
    int wait_ms = -1;
    bool is_talking = round->stage == TALKING;
    fds[count++] = (struct pollfd){.fd = talk->wake_fd, .events = POLLIN};
    /* poll passes over what is negative. */
    bool lets_in = is_talking && free_client(talk) != NULL;
    fds[count++] = (struct pollfd){.fd = lets_in ? round->listen_fd : -1, .events = POLLIN};
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) {
        const struct client *client = &talk->clients[i];
        bool is_heard = client->fd >= 0 && !client->is_leaving && has_room(client);
        short events = is_heard ? POLLIN : 0;
        if (client->unread_len > 0) events |= POLLOUT;
        if (is_heard && client->has_more && is_talking) wait_ms = 0;
        fds[count++] = (struct pollfd){.fd = is_talking ? client->fd : -1, .events = events};
    }
    (void)poll(fds, count, wait_ms); /* interrupted is a reason to look too */
    pawl_fd_clear(talk->wake_fd);
}

static void finish(struct pawl_talk *talk, const struct round *round)
{
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) leave(&talk->clients[i]);
    (void)close(round->listen_fd);
    pthread_mutex_lock(&talk->mutex);
    talk->stage = OVER;
    talk->listen_fd = -1;
    pthread_mutex_unlock(&talk->mutex);
    pawl_fd_ring(talk->options.heard_fd);
}

static void hear_all(struct pawl_talk *talk, const struct round *round)
{
    let_in(talk, round->listen_fd);
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) {
        flush(&talk->clients[i]);
        hear(talk, round, &talk->clients[i]);
    }
}

static void *talk_run(void *self)
{
    struct pawl_talk *talk = self;
    for (;;) {
        struct round round = look(talk);
        if (round.is_stopping) return NULL;
        int rounds = round.stage == TALKING ? 1 : round.stage == ENDING ? LAST_ROUNDS : 0;
        while (rounds-- > 0) hear_all(talk, &round);
        if (round.stage == ENDING) {
            finish(talk, &round);
            continue;
        }
        wait_for_news(talk, &round);
    }
}

/* ---- The worker's thread --------------------------------------------------------------------- */

enum pawl_code pawl_talk_open(struct pawl_talk **out, const struct pawl_talk_options *options,
                              struct pawl_error *err)
{
    struct pawl_talk *talk = calloc(1, sizeof *talk);
    if (talk == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to listen");
    talk->options = *options;
    talk->listen_fd = -1;
    for (size_t i = 0; i < PAWL_TALK_CLIENTS_MAX; i++) talk->clients[i].fd = -1;
    pthread_mutex_init(&talk->mutex, NULL);
    talk->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (talk->wake_fd >= 0 && pawl_arena_open(&talk->arena, ARENA_BYTES_MAX) == PAWL_OK) {
        talk->has_thread = pthread_create(&talk->thread, NULL, talk_run, talk) == 0;
    }
    if (!talk->has_thread) {
        pawl_talk_close(talk);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory or thread to listen");
    }
    (void)pthread_setname_np(talk->thread, "pawl-talk"); /* a name is for people */
    *out = talk;
    return PAWL_OK;
}

void pawl_talk_close(struct pawl_talk *talk)
{
    if (talk == NULL) return;
    if (talk->has_thread) {
        pthread_mutex_lock(&talk->mutex);
        pawl_assert(talk->stage == IDLE);
        talk->is_stopping = true;
        pthread_mutex_unlock(&talk->mutex);
        pawl_fd_ring(talk->wake_fd);
        (void)pthread_join(talk->thread, NULL);
    }
    if (talk->wake_fd >= 0) (void)close(talk->wake_fd);
    pthread_mutex_destroy(&talk->mutex);
    pawl_arena_close(talk->arena);
    free(talk);
}

int pawl_talk_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, len);
    (void)unlink(path); /* of a task before, if it could not be removed */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    /* The folder is private already; the mode says it once more. */
    bool is_listening = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                        chmod(path, 0600) == 0 && listen(fd, PAWL_TALK_CLIENTS_MAX) == 0;
    if (is_listening) return fd;
    int failure = errno;
    (void)close(fd);
    errno = failure;
    return -1;
}

void pawl_talk_begin(struct pawl_talk *talk, const struct pawl_fence *fence, int64_t lease_ms,
                     int64_t ahead_ms, int listen_fd)
{
    pthread_mutex_lock(&talk->mutex);
    pawl_assert(talk->stage == IDLE);
    talk->stage = TALKING;
    talk->fence = *fence;
    talk->lease_ms = lease_ms;
    talk->ahead_ms = ahead_ms;
    talk->listen_fd = listen_fd;
    talk->retry_after_ms = -1;
    talk->progress = -1;
    pthread_mutex_unlock(&talk->mutex);
    pawl_fd_ring(talk->wake_fd);
}

void pawl_talk_end(struct pawl_talk *talk)
{
    pthread_mutex_lock(&talk->mutex);
    pawl_assert(talk->stage == TALKING);
    talk->stage = ENDING;
    pthread_mutex_unlock(&talk->mutex);
    pawl_fd_ring(talk->wake_fd);
}

bool pawl_talk_is_over(struct pawl_talk *talk, int64_t *retry_after_ms)
{
    pthread_mutex_lock(&talk->mutex);
    bool is_over = talk->stage == OVER;
    if (is_over) {
        *retry_after_ms = talk->retry_after_ms;
        talk->stage = IDLE;
    }
    pthread_mutex_unlock(&talk->mutex);
    return is_over;
}

double pawl_talk_progress(struct pawl_talk *talk)
{
    pthread_mutex_lock(&talk->mutex);
    double progress = talk->stage == TALKING ? talk->progress : -1;
    pthread_mutex_unlock(&talk->mutex);
    return progress;
}
