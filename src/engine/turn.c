#include "engine/turn.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/ofd.h"
#include "engine/env.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE_BYTE = 0, TURN_BYTE = 1 };

/* Where the number of knocks is in the file. */
static const off_t knocks_at = 8;

/* A file that loses its name, to another one or to nobody, tells of its count of names while it is open. */
static const uint32_t place_events = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

enum waiting {
    WAITING_FOR_NOTHING, /* the engine may try the locks itself */
    WAITING_FOR_TURN,    /* the waiter blocks in the kernel; the locks are its business */
    WAITING_IS_OVER,     /* the waiter has taken the turn, for whoever wants it */
    WAITING_HAS_FAILED
};

struct pawl_turn {
    char *path; /* owned */
    char *db_path;      /* owned */
    struct stat db;     /* the file that was there when the handle was opened */
    bool has_bell;
    int fd;
    int inotify_fd;
    int late_fd; /* eventfd: the waiter has the turn */
    bool holds;
    bool is_suspect; /* something has happened to the files themselves, or nobody would tell */

    bool has_waiter;
    pthread_t waiter;
    pthread_mutex_t lock; /* guards `waiting` */
    pthread_cond_t asked;
    pthread_cond_t answered;
    enum waiting waiting;
};

/* The turnstile: 0, then 1, give back 0. Returns 0 or an errno. */
PAWL_MAY_BE_ENDED static int pass_turnstile(int fd, bool waits)
{
    int fault = pawl_ofd_lock(fd, QUEUE_BYTE, 1, waits);
    if (fault != 0) return fault;
    fault = pawl_ofd_lock(fd, TURN_BYTE, 1, waits);
    pawl_ofd_unlock(fd, QUEUE_BYTE, 1);
    return fault;
}

PAWL_MAY_BE_ENDED static void unlock(void *lock)
{
    (void)pthread_mutex_unlock(lock);
}

/* Waits on the engine's behalf: the kernel's queue is the only fair one, and it knows no time-out. Blocking
 * in fcntl is a cancellation point; nothing is held there that would be lost. */
PAWL_MAY_BE_ENDED static void *wait_for_turns(void *argument)
{
    struct pawl_turn *turn = argument;
    for (;;) {
        (void)pthread_mutex_lock(&turn->lock);
        pthread_cleanup_push(unlock, &turn->lock);
        while (turn->waiting != WAITING_FOR_TURN) (void)pthread_cond_wait(&turn->asked, &turn->lock);
        pthread_cleanup_pop(1);

        int fault = pass_turnstile(turn->fd, true);

        int could_cancel;
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &could_cancel);
        (void)pthread_mutex_lock(&turn->lock);
        turn->waiting = fault == 0 ? WAITING_IS_OVER : WAITING_HAS_FAILED;
        (void)pthread_cond_signal(&turn->answered);
        (void)pthread_mutex_unlock(&turn->lock);
        uint64_t one = 1;
        (void)!write(turn->late_fd, &one, sizeof one); /* a full counter is readable all the same */
        (void)pthread_setcancelstate(could_cancel, NULL);
    }
    return NULL;
}

static enum pawl_code io_error(struct pawl_error *err, const char *what, const char *path)
{
    return pawl_error_set(err, PAWL_IO, "%s %s: %s", what, path, strerror(errno));
}

/* Opens the file and watches it. */
static enum pawl_code attach(struct pawl_turn *turn, struct pawl_error *err)
{
    turn->fd = open(turn->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (turn->fd < 0) return io_error(err, "cannot open", turn->path);
    if (stat(turn->db_path, &turn->db) != 0) return io_error(err, "cannot look at", turn->db_path);
    if (!turn->has_bell) return PAWL_OK;
    turn->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    bool watches =
        turn->inotify_fd >= 0 &&
        inotify_add_watch(turn->inotify_fd, turn->path, IN_MODIFY | IN_CLOSE_WRITE | place_events) >= 0 &&
        inotify_add_watch(turn->inotify_fd, turn->db_path, place_events) >= 0;
    if (!watches && turn->inotify_fd >= 0) {
        (void)close(turn->inotify_fd);
        turn->inotify_fd = -1;
    }
    return PAWL_OK; /* without one: see pawl_turn_bell_fd */
}

static void detach(struct pawl_turn *turn)
{
    if (turn->fd >= 0) (void)close(turn->fd); /* gives back every lock of this open file */
    if (turn->inotify_fd >= 0) (void)close(turn->inotify_fd);
    turn->fd = -1;
    turn->inotify_fd = -1;
}

/* Ending a thread needs the compiler's unwinder, which libc loads when it is first needed, and ends the whole
 * process if it cannot: better now, where it is an error like any other. */
static bool load_unwinder(void)
{
    return dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL;
}

static bool start_waiter(struct pawl_turn *turn)
{
    if (!load_unwinder()) return false;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&turn->lock, NULL);
    (void)pthread_cond_init(&turn->asked, NULL);
    (void)pthread_cond_init(&turn->answered, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    turn->has_waiter = pthread_create(&turn->waiter, NULL, wait_for_turns, turn) == 0;
    return turn->has_waiter;
}

enum pawl_code pawl_turn_open(struct pawl_turn **out, struct pawl_str db_path, bool has_waiter,
                              bool has_bell, struct pawl_error *err)
{
    static const char suffix[] = "-turn";
    struct pawl_turn *turn = calloc(1, sizeof *turn);
    if (turn == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the turn");
    turn->fd = -1;
    turn->inotify_fd = -1;
    turn->late_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    turn->has_bell = has_bell;
    turn->path = malloc(db_path.len + sizeof suffix);
    turn->db_path = malloc(db_path.len + 1);
    enum pawl_code code = PAWL_OK;
    if (turn->path == NULL || turn->db_path == NULL) {
        code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the turn");
    } else {
        memcpy(turn->path, db_path.ptr, db_path.len);
        memcpy(turn->db_path, db_path.ptr, db_path.len);
        turn->db_path[db_path.len] = '\0';
        memcpy(turn->path + db_path.len, suffix, sizeof suffix);
        code = turn->late_fd < 0 ? io_error(err, "no eventfd for", turn->path) : attach(turn, err);
    }
    if (code == PAWL_OK && has_waiter && !start_waiter(turn)) {
        code = pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread, or there is no libgcc_s");
    }
    if (code != PAWL_OK) {
        pawl_turn_close(turn);
        return code;
    }
    *out = turn;
    return PAWL_OK;
}

void pawl_turn_close(struct pawl_turn *turn)
{
    if (turn == NULL) return;
    if (turn->has_waiter) {
        (void)pthread_cancel(turn->waiter);
        (void)pthread_join(turn->waiter, NULL);
        (void)pthread_mutex_destroy(&turn->lock);
        (void)pthread_cond_destroy(&turn->asked);
        (void)pthread_cond_destroy(&turn->answered);
    }
    detach(turn);
    if (turn->late_fd >= 0) (void)close(turn->late_fd);
    free(turn->path);
    free(turn->db_path);
    free(turn);
}

/* The waiter blocks until it has the turn; we wait for it with a bound. */
static enum pawl_code take_by_waiter(struct pawl_turn *turn, int64_t wait_ms)
{
    struct timespec until = pawl_env_deadline(wait_ms);
    (void)pthread_mutex_lock(&turn->lock);
    if (turn->waiting == WAITING_FOR_NOTHING) {
        turn->waiting = WAITING_FOR_TURN;
        (void)pthread_cond_signal(&turn->asked);
    }
    int waited = 0;
    while (turn->waiting == WAITING_FOR_TURN && waited == 0) {
        waited = pthread_cond_timedwait(&turn->answered, &turn->lock, &until);
    }
    enum pawl_code code = turn->waiting == WAITING_IS_OVER      ? PAWL_OK
                          : turn->waiting == WAITING_HAS_FAILED ? PAWL_IO
                                                                : PAWL_BUSY;
    if (code != PAWL_BUSY) turn->waiting = WAITING_FOR_NOTHING;
    (void)pthread_mutex_unlock(&turn->lock);
    if (code != PAWL_BUSY) {
        uint64_t count;
        (void)!read(turn->late_fd, &count, sizeof count); /* it is taken: nothing is late */
    }
    return code;
}

/* Without a thread of our own: trying, with short pauses. Not fair, but a driven host has one thread. */
static enum pawl_code take_by_trying(struct pawl_turn *turn, int64_t wait_ms)
{
    const struct timespec pause = {.tv_nsec = 500000};
    for (int64_t tries = wait_ms * 2; tries > 0; tries--) {
        int fault = pass_turnstile(turn->fd, false);
        if (fault == 0) return PAWL_OK;
        if (fault != EAGAIN && fault != EACCES) return PAWL_IO;
        (void)nanosleep(&pause, NULL);
    }
    return PAWL_BUSY;
}

static bool is_waiting(struct pawl_turn *turn)
{
    if (!turn->has_waiter) return false;
    (void)pthread_mutex_lock(&turn->lock);
    bool waits = turn->waiting != WAITING_FOR_NOTHING;
    (void)pthread_mutex_unlock(&turn->lock);
    return waits;
}

/* Whether the paths still name the files we hold; somebody may have moved the database and its companions. */
static bool is_same_file(const struct pawl_turn *turn)
{
    struct stat held;
    struct stat named;
    if (fstat(turn->fd, &held) != 0 || stat(turn->path, &named) != 0) return false;
    if (held.st_ino != named.st_ino || held.st_dev != named.st_dev) return false;
    if (stat(turn->db_path, &named) != 0) return false;
    return turn->db.st_ino == named.st_ino && turn->db.st_dev == named.st_dev;
}

enum pawl_code pawl_turn_check(const struct pawl_turn *turn, struct pawl_error *err)
{
    if (is_same_file(turn)) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s or its companion %s has been moved or replaced; open the store anew",
                          turn->db_path, turn->path);
}

bool pawl_turn_take_suspicion(struct pawl_turn *turn)
{
    bool is_suspect = turn->is_suspect;
    turn->is_suspect = false;
    return is_suspect;
}

enum pawl_code pawl_turn_take(struct pawl_turn *turn, int64_t wait_ms, struct pawl_error *err)
{
    pawl_assert(!turn->holds);
    enum pawl_code code = PAWL_BUSY;
    if (!is_waiting(turn) && pass_turnstile(turn->fd, false) == 0) {
        code = PAWL_OK;
    } else if (turn->has_waiter) {
        code = take_by_waiter(turn, wait_ms);
    } else {
        code = take_by_trying(turn, wait_ms);
    }
    if (code == PAWL_BUSY) {
        return pawl_error_set(err, PAWL_BUSY, "another process has held %s for %lld ms", turn->path,
                              (long long)wait_ms);
    }
    if (code != PAWL_OK) return pawl_error_set(err, PAWL_IO, "cannot lock %s", turn->path);
    turn->holds = true;
    code = pawl_turn_check(turn, err);
    if (code != PAWL_OK) {
        turn->is_suspect = true;
        pawl_turn_give(turn);
    }
    return code;
}

void pawl_turn_give(struct pawl_turn *turn)
{
    if (!turn->holds) return;
    pawl_ofd_unlock(turn->fd, TURN_BYTE, 1);
    turn->holds = false;
}

void pawl_turn_settle(struct pawl_turn *turn)
{
    uint64_t count;
    (void)!read(turn->late_fd, &count, sizeof count);
    if (!turn->has_waiter || turn->holds) return;
    (void)pthread_mutex_lock(&turn->lock);
    bool came = turn->waiting == WAITING_IS_OVER;
    if (turn->waiting != WAITING_FOR_TURN) turn->waiting = WAITING_FOR_NOTHING;
    (void)pthread_mutex_unlock(&turn->lock);
    if (came) pawl_ofd_unlock(turn->fd, TURN_BYTE, 1);
}

void pawl_turn_ring(struct pawl_turn *turn, bool knocks)
{
    pawl_assert(turn->holds);
    /* A full disk costs the others their wake-up, not their data. */
    if (knocks) {
        uint64_t count = pawl_turn_knocks(turn) + 1;
        (void)!pwrite(turn->fd, &count, sizeof count, knocks_at);
    } else {
        (void)!pwrite(turn->fd, "", 1, 0);
    }
}

uint64_t pawl_turn_knocks(const struct pawl_turn *turn)
{
    uint64_t count = 0;
    bool is_there = pread(turn->fd, &count, sizeof count, knocks_at) == (ssize_t)sizeof count;
    return is_there ? count : 0;
}

int pawl_turn_bell_fd(const struct pawl_turn *turn)
{
    return turn->inotify_fd;
}

int pawl_turn_late_fd(const struct pawl_turn *turn)
{
    return turn->late_fd;
}

bool pawl_turn_drain(struct pawl_turn *turn)
{
    union { /* inotify(7): as a whole number of events, aligned like one */
        struct inotify_event event;
        char bytes[4096];
    } got;
    bool rang = turn->inotify_fd < 0;
    if (rang) turn->is_suspect = true;
    ssize_t len = 0;
    while (turn->inotify_fd >= 0 && (len = read(turn->inotify_fd, got.bytes, sizeof got.bytes)) > 0) {
        rang = true;
        struct inotify_event event;
        for (size_t at = 0; at < (size_t)len; at += sizeof event + event.len) {
            memcpy(&event, got.bytes + at, sizeof event);
            if ((event.mask & (place_events | IN_IGNORED | IN_Q_OVERFLOW)) != 0) turn->is_suspect = true;
        }
    }
    return rang;
}
