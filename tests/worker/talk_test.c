/* The worker's socket, with clients that behave and clients that do not. */
#include "worker/talk.h"

#include "engine/stores.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define W PAWL_STR("w")
enum { LEASE_MS = 60 * 1000 };
static const int64_t AHEAD_MS = INT64_C(1700000000000); /* hours behind any wall clock of today */

struct scene {
    struct lab *lab;
    struct pawl_fence fence;
    struct pawl_keeper *keeper;
    struct pawl_talk *talk;
    int heard_fd;
    char path[108];
};

static void open_scene(struct scene *scene, struct lab *lab)
{
    lab_open_real(lab);
    *scene = (struct scene){.lab = lab, .heard_fd = eventfd(0, EFD_NONBLOCK)};
    (void)lab_add(lab, NEW());
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W, .lease_ms = LEASE_MS));
    CHECK_EQ(1, claimed.count);
    scene->fence = claimed.grants[0].fence;
    CHECK_OK(pawl_keeper_open(&scene->keeper, lab->pawl, lab->pawl, W, 1, scene->heard_fd, NULL, &lab->err),
             &lab->err);
    pawl_keeper_hold(scene->keeper, 0, &scene->fence, LEASE_MS, pawl_clock_boot_ms(), INT64_MAX);
    struct pawl_talk_options options = {
        .pawl = lab->pawl, .keeper = scene->keeper, .slot = 0, .heard_fd = scene->heard_fd};
    CHECK_OK(pawl_talk_open(&scene->talk, &options, &lab->err), &lab->err);
    (void)snprintf(scene->path, sizeof scene->path, "%.90s/talk", lab->folder);
    int listen_fd = pawl_talk_listen(scene->path);
    CHECK(listen_fd >= 0);
    pawl_talk_begin(scene->talk, &scene->fence, LEASE_MS, AHEAD_MS, listen_fd);
}

/* Ends the talk, and gives what the command asked for. */
static int64_t end_talk(struct scene *scene)
{
    int64_t retry_after_ms = 0;
    pawl_talk_end(scene->talk);
    while (!pawl_talk_is_over(scene->talk, &retry_after_ms)) {
        struct pollfd heard = {.fd = scene->heard_fd, .events = POLLIN};
        CHECK_EQ(1, poll(&heard, 1, 60 * 1000));
        pawl_fd_clear(scene->heard_fd);
    }
    return retry_after_ms;
}

static void close_scene(struct scene *scene)
{
    pawl_talk_close(scene->talk);
    pawl_keeper_close(scene->keeper);
    CHECK_EQ(0, unlink(scene->path));
    CHECK_EQ(0, close(scene->heard_fd));
}

static int client(struct scene *scene)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, scene->path, strlen(scene->path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, connect(fd, (const struct sockaddr *)&address, sizeof address));
    return fd;
}

static void put(int fd, const char *bytes)
{
    size_t len = strlen(bytes);
    CHECK_EQ((int64_t)len, (int64_t)send(fd, bytes, len, MSG_NOSIGNAL));
}

/* One line of answer. */
static const char *hear(int fd)
{
    static char line[2048];
    size_t len = 0;
    for (;;) {
        CHECK(len < sizeof line);
        ssize_t got = recv(fd, line + len, 1, 0);
        CHECK_EQ(1, got);
        if (line[len] == '\n') break;
        len++;
    }
    line[len] = '\0';
    return line;
}

static void check_says(int fd, const char *line, const char *want)
{
    put(fd, line);
    CHECK_TEXT(want, hear(fd));
}

/* The number behind a key. */
static int64_t member(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    CHECK(at != NULL);
    return strtoll(at + strlen(key), NULL, 10);
}

TEST_EACH_STORE("a command says progress, log, checkpoint and retry-after, and asks for its lease")
{
    struct scene scene;
    open_scene(&scene, lab);
    int fd = client(&scene);
    check_says(fd, "progress 42.5\n", "ok");
    check_says(fd, "progress 43%\r\n", "ok");
    check_says(fd, "log  two  words \n", "ok");
    put(fd, "checkpoint 3 {\"at\":17}\n");
    char saved[256];
    (void)snprintf(saved, sizeof saved, "%s", hear(fd));
    check_says(fd, "retry-after 2m\n", "ok");
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    put(fd, "lease\n");
    const char *lease = hear(fd);
    CHECK(strstr(lease, "ok {\"id\":\"") == lease);
    CHECK(strstr(lease, "\"owner\":\"w\",\"epoch\":1,\"lease_ms\":60000,\"left_ms\":") != NULL);
    CHECK(strstr(lease, "\"control\":null}") != NULL);
    /* by the clock of the store, whatever the machine's wall clock says */
    int64_t store_now_ms = member(lease, "\"lease_end_at_ms\":") - member(lease, "\"left_ms\":");
    CHECK(store_now_ms >= asked_boot_ms + AHEAD_MS);
    CHECK(store_now_ms <= pawl_clock_boot_ms() + AHEAD_MS);
    CHECK(pawl_talk_progress(scene.talk) == 43);
    CHECK_EQ(0, close(fd));
    CHECK_EQ(120 * 1000, end_talk(&scene));

    CHECK(lab_get(lab, scene.fence.task_id).progress == 43);
    struct pawl_log_lines lines;
    CHECK_OK(pawl_task_logs(lab->pawl, scene.fence.task_id, 0, 10, lab->keep, &lines, &lab->err),
             &lab->err);
    CHECK_EQ(1, lines.count);
    CHECK_STR(" two  words ", lines.lines[0].text);
    struct pawl_checkpoint checkpoint;
    CHECK_OK(pawl_task_restore(lab->pawl, scene.fence.task_id, NO_TEXT, lab->keep, &checkpoint,
                               &lab->err),
             &lab->err);
    CHECK_EQ(3, checkpoint.step);
    char want[256];
    (void)snprintf(want, sizeof want, "ok {\"id\":\"%.*s\",\"step\":3}", PAWL_STR_ARG(checkpoint.id));
    CHECK_TEXT(want, saved);
    CHECK_STR("{\"at\":17}", checkpoint.state);
    close_scene(&scene);
}

TEST_EACH_STORE("what is wrong is answered by an error that names it, and the talk goes on")
{
    static const struct {
        const char *line;
        const char *want;
    } rows[] = {
        {"progress much\n", "error INVALID percent: `much` is no number"},
        {"progress\n", "error INVALID percent: `` is no number"},
        {"checkpoint x {}\n", "error INVALID step: `x` is no number"},
        {"checkpoint -1 {}\n", "error INVALID step: `-1` is no number"},
        {"retry-after soon\n",
         "error INVALID time: `soon` is no duration such as 250ms, 30s, 5m or 1h30m"},
        {"retry-after 400d\n", "error INVALID time: `400d` is more than 366 days"},
        {"sing\n", "error INVALID word: `sing` is none of progress, log, checkpoint, retry-after, "
                   "lease"},
        {"\n", "error INVALID word: `` is none of progress, log, checkpoint, retry-after, lease"},
    };
    struct scene scene;
    open_scene(&scene, lab);
    int fd = client(&scene);
    for (size_t i = 0; i < COUNT_OF(rows); i++) check_says(fd, rows[i].line, rows[i].want);
    put(fd, "checkpoint 1 {\"a\":\n");
    CHECK(strstr(hear(fd), "error INVALID state: ") != NULL);
    check_says(fd, "progress 1\n", "ok");
    CHECK_EQ(0, close(fd));
    CHECK_EQ(-1, end_talk(&scene));
    close_scene(&scene);
}

TEST_EACH_STORE("who has lost the task is told so, and so is the keeper")
{
    struct scene scene;
    open_scene(&scene, lab);
    int fd = client(&scene);
    CHECK_OK(pawl_task_cancel(lab->pawl, scene.fence.task_id, true, NULL, &lab->err), &lab->err);
    put(fd, "progress 1\n");
    CHECK(strstr(hear(fd), "error LEASE_LOST ") != NULL);
    CHECK(pawl_keeper_look(scene.keeper, 0).is_lost);
    put(fd, "lease\n");
    CHECK(strstr(hear(fd), "error LEASE_LOST ") != NULL);
    CHECK_EQ(0, close(fd));
    (void)end_talk(&scene);
    close_scene(&scene);
}

TEST_EACH_STORE("what was sent before the end is heard, though nobody waits for the answer")
{
    struct scene scene;
    open_scene(&scene, lab);
    int fd = client(&scene);
    put(fd,
        "retry-after 7s\nprogress 9"); /* the last one lacks its end, but for that of the stream */
    CHECK_EQ(0, close(fd));
    CHECK_EQ(7000, end_talk(&scene));
    CHECK(lab_get(lab, scene.fence.task_id).progress == 9);
    close_scene(&scene);
}

/* Fills the connection with lines until it takes no more. */
static void flood(int fd)
{
    static const char lines[] = "lease\nlease\nlease\nlease\nlease\nlease\nlease\nlease\n";
    while (send(fd, lines, sizeof lines - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
    CHECK_EQ(EAGAIN, errno);
}

TEST_EACH_STORE("a client that floods and never reads, and one that sends half a line, hold up "
                "nobody")
{
    struct scene scene;
    open_scene(&scene, lab);
    int flooding = client(&scene);
    int half = client(&scene);
    flood(flooding);
    put(half, "progress 1");
    int good = client(&scene);
    check_says(good, "progress 2\n", "ok");
    CHECK_EQ(-1, end_talk(&scene));
    CHECK_EQ(0, close(flooding) + close(half) + close(good));
    close_scene(&scene);
}

TEST_EACH_STORE("beyond PAWL_TALK_CLIENTS_MAX a connection waits until another has gone")
{
    int fds[PAWL_TALK_CLIENTS_MAX];
    struct scene scene;
    open_scene(&scene, lab);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = client(&scene);
        check_says(fds[i], "progress 1\n", "ok");
    }
    int late = client(&scene);
    char byte;
    put(late, "progress 2\n");
    check_says(fds[0], "progress 3\n", "ok"); /* a whole round went by */
    CHECK_EQ(-1, recv(late, &byte, 1, MSG_DONTWAIT));
    CHECK_EQ(0, close(fds[0]));
    CHECK_TEXT("ok", hear(late));
    for (size_t i = 1; i < COUNT_OF(fds); i++) CHECK_EQ(0, close(fds[i]));
    CHECK_EQ(0, close(late));
    (void)end_talk(&scene);
    close_scene(&scene);
}

TEST_EACH_STORE("the largest checkpoint is taken; a longer line is refused and its connection "
                "closed")
{
    struct scene scene;
    open_scene(&scene, lab);
    struct pawl_str state = lab_json(lab, PAWL_PAYLOAD_BYTES_MAX);
    int fd = client(&scene);
    put(fd, "checkpoint 1 ");
    for (size_t at = 0; at < state.len;) {
        ssize_t sent = send(fd, state.ptr + at, state.len - at, MSG_NOSIGNAL);
        CHECK(sent > 0);
        at += (size_t)sent;
    }
    put(fd, "\n");
    CHECK(strstr(hear(fd), "ok {\"id\":\"") != NULL);
    char piece[64 * 1024];
    memset(piece, 'x', sizeof piece);
    size_t sent = 0;
    while (sent <= PAWL_TALK_LINE_BYTES_MAX + 4 * sizeof piece) {
        ssize_t got = send(fd, piece, sizeof piece, MSG_NOSIGNAL);
        if (got < 0) break; /* it is closed already */
        sent += (size_t)got;
    }
    CHECK(sent > PAWL_PAYLOAD_BYTES_MAX);
    CHECK(strstr(hear(fd), "error TOO_LARGE line: longer than ") != NULL);
    CHECK_EQ(0, close(fd));

    fd = client(&scene);
    put(fd, "log ");
    memset(piece, 'y', sizeof piece);
    CHECK_EQ((int64_t)sizeof piece, (int64_t)send(fd, piece, sizeof piece, MSG_NOSIGNAL));
    check_says(fd, "\n", "ok");
    put(fd, "log z");
    CHECK_EQ((int64_t)sizeof piece, (int64_t)send(fd, piece, sizeof piece, MSG_NOSIGNAL));
    put(fd, "\n");
    CHECK(strstr(hear(fd), "error TOO_LARGE text: has 65537 bytes") != NULL);
    CHECK_EQ(0, close(fd));
    (void)end_talk(&scene);
    close_scene(&scene);
}

TEST_EACH_STORE("an address that is too long is refused")
{
    char path[200];
    (void)lab;
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    CHECK_EQ(-1, pawl_talk_listen(path));
    CHECK_EQ(ENAMETOOLONG, errno);
}

TEST_MAIN()
