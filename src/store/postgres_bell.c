/* LISTEN and NOTIFY. Not in the transaction of the step: a NOTIFY takes a lock of the whole server
 * at commit and holds it until that is on disk. */
#include "store/postgres_bell.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { RECONNECT_MS = 1000 };

static void watch(const struct pawl_bell *bell, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    /* cannot fail but for want of kernel memory; then the bell is silent, which hints may be */
    (void)epoll_ctl(bell->watch_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Makes the descriptor readable then; 0 = at once. */
static void wake_after(const struct pawl_bell *bell, int64_t ms)
{
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000 + 1)},
    };
    (void)timerfd_settime(bell->timer_fd, 0, &when, NULL); /* fails for wrong arguments only */
}

enum pawl_code pawl_bell_open(struct pawl_bell *bell, struct pawl_db *db,
                              const struct pawl_libpq *pq, const char *target,
                              struct pawl_error *err)
{
    *bell =
        (struct pawl_bell){.db = db, .pq = pq, .target = target, .watch_fd = -1, .timer_fd = -1};
    bell->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    bell->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (bell->watch_fd < 0 || bell->timer_fd < 0) {
        enum pawl_code code =
            pawl_error_set(err, PAWL_IO, "no descriptor for the bell: %s", strerror(errno));
        pawl_bell_close(bell);
        return code;
    }
    watch(bell, bell->timer_fd);
    wake_after(bell, 0);
    return PAWL_OK;
}

void pawl_bell_close(struct pawl_bell *bell)
{
    if (bell->db == NULL) return;
    pawl_link_close(&bell->link);
    if (bell->watch_fd >= 0) (void)close(bell->watch_fd);
    if (bell->timer_fd >= 0) (void)close(bell->timer_fd);
    *bell = (struct pawl_bell){0};
}

static void connect_bell(struct pawl_bell *bell)
{
    struct pawl_link_session session = {0};
    struct pawl_db_ask listen = {.statement = PAWL_SQL_BELL_LISTEN};
    struct pawl_error err;
    enum pawl_code code =
        pawl_link_open(&bell->link, bell->db, bell->pq, bell->target, &session, &err);
    if (code == PAWL_OK) code = pawl_link_ask(&bell->link, &listen, &err);
    if (code == PAWL_OK) code = pawl_link_flush(&bell->link, &err);
    if (code == PAWL_OK) {
        watch(bell, bell->pq->socket(bell->link.conn));
        bell->knocks++;
        return;
    }
    pawl_link_close(&bell->link);
    wake_after(bell, RECONNECT_MS);
    pawl_log_write(bell->db->log, PAWL_LOG_WARN, "store.bell_lost",
                   PAWL_TEXT("why", pawl_str_of(err.text)));
}

/* Whether there was one of somebody else's. */
static bool take_notifications(struct pawl_bell *bell, int64_t own_pid)
{
    bool is_heard = false;
    PGnotify *note;
    while ((note = bell->pq->notifies(bell->link.conn)) != NULL) {
        bool is_others = note->be_pid != bell->link.backend_pid && note->be_pid != own_pid;
        if (is_others) is_heard = true;
        if (is_others && note->extra[0] != '\0') bell->knocks++;
        bell->pq->freemem(note);
    }
    return is_heard;
}

static bool has_link(const struct pawl_bell *bell)
{
    return bell->link.conn != NULL && !bell->link.is_lost;
}

bool pawl_bell_drain(struct pawl_bell *bell, int64_t own_pid)
{
    uint64_t ticks;
    bool is_time = read(bell->timer_fd, &ticks, sizeof ticks) > 0;
    bool is_heard = bell->is_heard;
    bell->is_heard = false;
    if (has_link(bell) && pawl_link_is_alive(&bell->link)) {
        return take_notifications(bell, own_pid) || is_heard;
    }
    /* Lost just now, or time to try again. Closing the old socket takes it out of the watch. */
    if (bell->link.conn == NULL && !is_time) return is_heard;
    connect_bell(bell);
    return true;
}

void pawl_bell_ring(struct pawl_bell *bell, struct pawl_link *own, bool knocks)
{
    enum pawl_statement how = knocks ? PAWL_SQL_BELL_KNOCK : PAWL_SQL_BELL_RING;
    if (knocks) bell->knocks++;
    if (!has_link(bell)) {
        pawl_link_hint(own, how);
        return;
    }
    /* A store that is never idle drains late: what has come must not pile up meanwhile. */
    if (pawl_link_is_alive(&bell->link) && take_notifications(bell, own->backend_pid)) {
        bell->is_heard = true;
        wake_after(bell, 0);
    }
    pawl_link_hint(&bell->link, how);
}
