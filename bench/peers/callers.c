/* Load on a queue's server by one thread over many connections: on `pawl server` by its own
 * interface, or on beanstalkd by its protocol. A job is 200 bytes and says when it was made. Each
 * connection waits for the answer before its next call. Prints one line:
 *
 *   <jobs> <seconds from the first to the last that was finished> <ms from made to taken: median>
 * <99 of 100>
 *
 * Use: callers pawl|beanstalkd SOCKET HOW NUMBER
 *
 *   live SECONDS     32 connections add, 32 take and finish; each call does one thing to one job
 *   batches SECONDS  4 add, 4 take and finish; 100 jobs a call, finished and taken in one
 *   drain COUNT      so many are added before; 64 finish a job and take the next in one call
 *   pickup COUNT     one is added every 10 ms; 16 wait for it */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    CALLERS_MAX = 64,
    JOB_BYTES = 200,
    BATCH = 100,
    ANSWER_BYTES_MAX = 1 << 20, /* of BATCH jobs with all that is told of them */
    CALL_BYTES_MAX = 1 << 16,
    PICKUP_EVERY_MS = 10,
    WAIT_MS = 5000,
};

struct job {
    char id[40];
    long long epoch;
};

struct caller {
    int fd;
    bool adds;
    bool has_asked;
    int count; /* jobs of the call under way that are added or finished */
    struct job jobs[BATCH];
    int job_count; /* in hand */
    char *call;
    size_t call_len;
    char *answer;
    size_t answer_len;
    int answers_due; /* beanstalkd: lines of the call under way */
};

/* How a server is spoken to. Calls are written to caller->call; read takes what has come as a whole
 * answer and fills the jobs in hand, or says that it is not whole. */
struct tongue {
    void (*add)(struct caller *caller, int count);
    void (*take)(struct caller *caller); /* waits for one */
    void (*finish)(struct caller *caller,
                   bool and_take); /* what is in hand; and_take waits for nothing */
    bool (*read)(struct caller *caller);
};

static struct {
    const struct tongue *tongue;
    struct caller callers[CALLERS_MAX];
    int caller_count;
    int taken_max; /* by a call */
    bool chains;
    long added, finished, wanted;
    double until_s, first_s, last_s;
    double *waited_ms;
    long waited_count, waited_max;
} load;

static double now_s(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
    exit(1);
}

__attribute__((format(printf, 2, 3))) static void say(struct caller *caller, const char *format,
                                                      ...)
{
    va_list list;
    va_start(list, format);
    int len =
        vsnprintf(caller->call + caller->call_len, CALL_BYTES_MAX - caller->call_len, format, list);
    va_end(list);
    if (len < 0 || caller->call_len + (size_t)len >= CALL_BYTES_MAX)
        give_up("the call is too long");
    caller->call_len += (size_t)len;
}

/* A job was given to a caller. */
static struct job *take_in_hand(struct caller *caller, const char *id, size_t id_len,
                                const char *body)
{
    const char *made = strstr(body, "\"at\":");
    double at = now_s();
    if (made == NULL || id_len >= sizeof caller->jobs[0].id || caller->job_count == BATCH)
        give_up("no job: %s", body);
    if (load.first_s == 0) load.first_s = at;
    if (load.waited_count < load.waited_max)
        load.waited_ms[load.waited_count++] = (at - strtod(made + strlen("\"at\":"), NULL)) * 1e3;
    struct job *job = &caller->jobs[caller->job_count++];
    memcpy(job->id, id, id_len);
    job->id[id_len] = '\0';
    return job;
}

static void say_job(struct caller *caller)
{
    static const char pad[JOB_BYTES + 1] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    size_t before = caller->call_len;
    say(caller, "{\"at\":%.6f,\"pad\":\"", now_s());
    say(caller, "%.*s\"}", (int)(JOB_BYTES - 2 - (caller->call_len - before)), pad);
}

/* ---- Pawl ---- */

/* The body is written behind a head that leaves room for its length. */
static size_t begin_post(struct caller *caller, const char *path)
{
    say(caller, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", path);
    say(caller, "%10d\r\n\r\n", 0);
    return caller->call_len;
}

static void end_post(struct caller *caller, size_t body_at)
{
    char length[16];
    (void)snprintf(length, sizeof length, "%10zu", caller->call_len - body_at);
    memcpy(caller->call + body_at - strlen("\r\n\r\n") - 10, length, 10);
}

static void pawl_add(struct caller *caller, int count)
{
    size_t body = begin_post(caller, count == 1 ? "/v1/tasks" : "/v1/tasks/batch");
    if (count > 1) say(caller, "{\"tasks\":[");
    for (int i = 0; i < count; i++) {
        say(caller, "%s{\"queue\":\"jobs\",\"input\":", i > 0 ? "," : "");
        say_job(caller);
        say(caller, "}");
    }
    if (count > 1) say(caller, "]}");
    end_post(caller, body);
}

static void pawl_take(struct caller *caller)
{
    size_t body = begin_post(caller, "/v1/tasks/claim");
    say(caller, "{\"queues\":[\"jobs\"],\"worker_id\":\"w\",\"max\":%d,\"wait_ms\":%d}",
        load.taken_max, WAIT_MS);
    end_post(caller, body);
}

static void pawl_finish(struct caller *caller, bool and_take)
{
    if (!and_take) {
        char path[80];
        (void)snprintf(path, sizeof path, "/v1/tasks/%s/complete", caller->jobs[0].id);
        size_t body = begin_post(caller, path);
        say(caller, "{\"owner\":\"w\",\"epoch\":%lld}", caller->jobs[0].epoch);
        end_post(caller, body);
        return;
    }
    size_t body = begin_post(caller, "/v1/outcomes");
    say(caller, "{\"outcomes\":[");
    for (int i = 0; i < caller->job_count; i++) {
        const struct job *job = &caller->jobs[i];
        say(caller, "%s{\"task_id\":\"%s\",\"owner\":\"w\",\"epoch\":%lld,\"kind\":\"complete\"}",
            i > 0 ? "," : "", job->id, job->epoch);
    }
    say(caller, "],\"claim\":{\"queues\":[\"jobs\"],\"worker_id\":\"w\",\"max\":%d}}",
        load.taken_max);
    end_post(caller, body);
}

static bool pawl_read(struct caller *caller)
{
    char *end = strstr(caller->answer, "\r\n\r\n");
    if (end == NULL) return false;
    const char *length = strstr(caller->answer, "Content-Length: ");
    if (strncmp(caller->answer, "HTTP/1.1 20", 11) != 0 || length == NULL || length > end)
        give_up("answer: %s", caller->answer);
    char *body = end + 4;
    size_t body_len = (size_t)strtoul(length + strlen("Content-Length: "), NULL, 10);
    if ((size_t)(caller->answer + caller->answer_len - body) < body_len) return false;

    caller->job_count = 0;
    const char *at = strstr(body, "\"grants\":[");
    for (const char *outcome = body; (outcome = strstr(outcome, "\"code\":\"")) != NULL; outcome++)
        if (strncmp(outcome, "\"code\":\"OK\"", 11) != 0) give_up("outcome: %s", body);
    while (at != NULL && (at = strstr(at, "{\"id\":\"")) != NULL) {
        const char *id = at + strlen("{\"id\":\"");
        const char *epoch = strstr(id, "\"epoch\":");
        if (epoch == NULL) give_up("grant: %s", body);
        struct job *job = take_in_hand(caller, id, strcspn(id, "\""), id);
        job->epoch = strtoll(epoch + strlen("\"epoch\":"), NULL, 10);
        at = id;
    }
    return true;
}

static const struct tongue pawl = {pawl_add, pawl_take, pawl_finish, pawl_read};

/* ---- beanstalkd: a call is as many lines as it takes, sent at once ---- */

static void beanstalkd_add(struct caller *caller, int count)
{
    for (int i = 0; i < count; i++) {
        say(caller, "put 0 0 600 %d\r\n", JOB_BYTES);
        say_job(caller);
        say(caller, "\r\n");
    }
    caller->answers_due = count;
}

static void reserve_more(struct caller *caller, int count)
{
    for (int i = 0; i < count; i++) say(caller, "reserve-with-timeout 0\r\n");
    caller->answers_due += count;
}

static void beanstalkd_take(struct caller *caller)
{
    say(caller, "reserve\r\n");
    caller->answers_due = 1;
    reserve_more(caller, load.taken_max - 1);
}

static void beanstalkd_finish(struct caller *caller, bool and_take)
{
    for (int i = 0; i < caller->job_count; i++) say(caller, "delete %s\r\n", caller->jobs[i].id);
    caller->answers_due = caller->job_count;
    caller->job_count = 0;
    if (and_take) reserve_more(caller, load.taken_max);
}

static bool beanstalkd_read(struct caller *caller)
{
    char *at = caller->answer;
    while (caller->answers_due > 0) {
        char *end = strstr(at, "\r\n");
        if (end == NULL) break;
        end += 2;
        if (strncmp(at, "RESERVED ", 9) == 0) {
            if (strlen(end) < JOB_BYTES + 2) break;
            (void)take_in_hand(caller, at + 9, strcspn(at + 9, " "), end);
            end += JOB_BYTES + 2;
        } else if (strncmp(at, "INSERTED", 8) != 0 && strncmp(at, "DELETED", 7) != 0 &&
                   strncmp(at, "TIMED_OUT", 9) != 0) {
            give_up("answer: %s", at);
        }
        caller->answers_due--;
        at = end;
    }
    caller->answer_len = strlen(at);
    memmove(caller->answer, at, caller->answer_len + 1);
    return caller->answers_due == 0;
}

static const struct tongue beanstalkd = {beanstalkd_add, beanstalkd_take, beanstalkd_finish,
                                         beanstalkd_read};

/* ---- The run ---- */

static void send_call(struct caller *caller)
{
    for (size_t sent = 0; sent < caller->call_len;) {
        ssize_t len = write(caller->fd, caller->call + sent, caller->call_len - sent);
        if (len < 0 && errno != EINTR) give_up("write: %s", strerror(errno));
        if (len > 0) sent += (size_t)len;
    }
    caller->call_len = 0;
    caller->answer_len = 0;
    caller->answer[0] = '\0';
    caller->has_asked = true;
}

static void add(struct caller *caller, int count)
{
    caller->count = count;
    load.tongue->add(caller, count);
    send_call(caller);
}

static void take_or_finish(struct caller *caller)
{
    caller->count = caller->job_count;
    if (caller->job_count == 0)
        load.tongue->take(caller);
    else
        load.tongue->finish(caller, load.chains);
    send_call(caller);
}

static void connect_callers(const char *path, int adding, int taking)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path) give_up("the socket's path is too long");
    memcpy(to.sun_path, path, strlen(path) + 1);
    for (int i = 0; i < adding + taking; i++) {
        struct caller *caller = &load.callers[load.caller_count++];
        caller->adds = i < adding;
        caller->call = malloc(CALL_BYTES_MAX);
        caller->answer = malloc(ANSWER_BYTES_MAX);
        caller->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (caller->call == NULL || caller->answer == NULL || caller->fd < 0 ||
            connect(caller->fd, (struct sockaddr *)&to, sizeof to) != 0)
            give_up("connect: %s", strerror(errno));
    }
}

/* Whether a whole answer has come. */
static bool hear(struct caller *caller)
{
    size_t room = ANSWER_BYTES_MAX - 1 - caller->answer_len;
    ssize_t len = read(caller->fd, caller->answer + caller->answer_len, room);
    if (len <= 0) give_up("the server has hung up, or answers too much");
    caller->answer_len += (size_t)len;
    caller->answer[caller->answer_len] = '\0';
    if (!load.tongue->read(caller)) return false;
    caller->has_asked = false;
    return true;
}

/* Adds load.wanted before anybody takes. */
static void fill(struct caller *caller)
{
    while (load.added < load.wanted) {
        add(caller, BATCH);
        while (!hear(caller)) {
        }
        load.added += BATCH;
    }
}

static void run(bool paced, int batch)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    double next_s = now_s();
    for (int i = 0; i < load.caller_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &load.callers[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, load.callers[i].fd, &event) != 0) give_up("epoll");
        if (!load.callers[i].adds)
            take_or_finish(&load.callers[i]);
        else if (!paced)
            add(&load.callers[i], batch);
    }
    while (load.finished < load.added || load.added < load.wanted || now_s() < load.until_s) {
        struct epoll_event events[CALLERS_MAX];
        double left_s = next_s - now_s();
        struct caller *pacer = &load.callers[0];
        if (paced && left_s <= 0 && load.added < load.wanted && !pacer->has_asked) {
            add(pacer, 1);
            next_s += PICKUP_EVERY_MS / 1e3;
            left_s = next_s - now_s();
        }
        int timeout_ms = !paced || load.added >= load.wanted ? WAIT_MS
                         : left_s <= 0                       ? 0
                                                             : (int)(left_s * 1e3) + 1;
        int count = epoll_wait(epoll, events, CALLERS_MAX, timeout_ms);
        for (int i = 0; i < count; i++) {
            struct caller *caller = events[i].data.ptr;
            if (!hear(caller)) continue;
            if (caller->adds) {
                load.added += caller->count;
                if (!paced && now_s() < load.until_s) add(caller, batch);
                continue;
            }
            load.finished += caller->count;
            if (caller->count > 0) load.last_s = now_s();
            take_or_finish(caller);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    load.tongue = strcmp(argv[1], "pawl") == 0 ? &pawl : &beanstalkd;
    const char *how = argv[3];
    double number = strtod(argv[4], NULL);
    load.taken_max = 1;
    load.waited_max = 1 << 20;
    load.waited_ms = malloc((size_t)load.waited_max * sizeof *load.waited_ms);
    if (load.waited_ms == NULL) give_up("no memory");
    bool is_drain = strcmp(how, "drain") == 0;
    bool is_pickup = strcmp(how, "pickup") == 0;
    bool is_batches = strcmp(how, "batches") == 0;
    if (is_drain || is_pickup)
        load.wanted = (long)number;
    else
        load.until_s = now_s() + number;
    load.chains = is_drain || is_batches;
    if (is_drain) {
        connect_callers(argv[2], 1, 0);
        fill(&load.callers[0]);
        load.caller_count = 0;
        connect_callers(argv[2], 0, 64);
    } else if (is_batches) {
        load.taken_max = BATCH;
        connect_callers(argv[2], 4, 4);
    } else if (is_pickup) {
        connect_callers(argv[2], 1, 16);
    } else {
        connect_callers(argv[2], 32, 32);
    }
    run(is_pickup, is_batches ? BATCH : 1);
    if (load.waited_count == 0) give_up("nothing was taken");
    qsort(load.waited_ms, (size_t)load.waited_count, sizeof *load.waited_ms, by_size);
    printf("%ld %.3f %.3f %.3f\n", load.finished, load.last_s - load.first_s,
           load.waited_ms[load.waited_count / 2], load.waited_ms[load.waited_count * 99 / 100]);
    return 0;
}
