/* Many processes on one SQLite file: nobody errs, nobody starves, every task ends once.
 *
 * Four busy processes add, claim and complete without a pause; a fifth, the visitor, does the same and
 * measures each command. PAWL_CROWD_SECONDS says how long (`make prove`: 60, and then the visitor's 99th
 * percentile is judged too: on a machine that others share it says little in a short run). */
#include "pawl.h"
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_COUNT = 4, SAMPLES_MAX = 1 << 20, P99_MS_MAX = 50, JUDGED_SECONDS_MIN = 60 };

struct visit { /* what a process tells its parent */
    int64_t added;
    int64_t completed;
    int64_t samples;
    double p50_ms;
    double p99_ms;
    double max_ms;
    char error[PAWL_ERROR_TEXT_BYTES_MAX + 1];
};

struct crowd_member {
    struct pawl *pawl;
    struct pawl_arena *keep;
    struct pawl_error err;
    char worker[32];
    struct visit visit;
    double *ms; /* of each command */
};

static struct pawl_str text(const char *c)
{
    return (struct pawl_str){c, strlen(c)};
}

static double now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static bool timed(struct crowd_member *member, double start_ms, enum pawl_code code)
{
    if (member->visit.samples < SAMPLES_MAX) {
        member->ms[member->visit.samples++] = now_ms() - start_ms;
    }
    if (code == PAWL_OK) return true;
    (void)snprintf(member->visit.error, sizeof member->visit.error, "%.20s: %.400s",
                   pawl_code_name(code), member->err.text);
    return false;
}

static bool live_once(struct crowd_member *member)
{
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_added added;
    ask.input = text("{\"n\":1}");
    double start = now_ms();
    if (!timed(member, start, pawl_task_add(member->pawl, &ask, member->keep, &added, &member->err))) {
        return false;
    }
    member->visit.added++;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed;
    claim.worker_id = text(member->worker);
    start = now_ms();
    if (!timed(member, start,
               pawl_task_claim(member->pawl, &claim, member->keep, &claimed, &member->err))) {
        return false;
    }
    if (claimed.count == 0) return true; /* others were faster */
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &claimed.grants[0].fence;
    start = now_ms();
    if (!timed(member, start,
               pawl_task_complete(member->pawl, change.fence->task_id, text("1"), &change,
                                  &member->err))) {
        return false;
    }
    member->visit.completed++;
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(struct crowd_member *member)
{
    struct visit *visit = &member->visit;
    if (visit->samples == 0) return;
    qsort(member->ms, (size_t)visit->samples, sizeof *member->ms, by_size);
    visit->p50_ms = member->ms[visit->samples / 2];
    visit->p99_ms = member->ms[visit->samples * 99 / 100];
    visit->max_ms = member->ms[visit->samples - 1];
}

/* A process of the crowd; tells what it saw and ends. */
static void live(const char *path, int number, double seconds, int out)
{
    static struct crowd_member member;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = text(path);
    member.ms = malloc(SAMPLES_MAX * sizeof *member.ms);
    (void)snprintf(member.worker, sizeof member.worker, "worker-%d", number);
    bool goes_on = member.ms != NULL && pawl_arena_open(&member.keep, 0) == PAWL_OK;
    if (goes_on) {
        goes_on = timed(&member, now_ms(), pawl_open(&member.pawl, &options, &member.err));
        member.visit.samples = 0;
    }
    double end = now_ms() + seconds * 1e3;
    while (goes_on && now_ms() < end) {
        goes_on = live_once(&member);
        pawl_arena_reset(member.keep);
    }
    sum_up(&member);
    pawl_close(member.pawl);
    ssize_t wrote = write(out, &member.visit, sizeof member.visit);
    _exit(wrote == (ssize_t)sizeof member.visit ? 0 : 1);
}

/* Completes what is left, so that everything that was added has ended. */
static int64_t finish_rest(struct pawl *pawl, struct pawl_arena *keep)
{
    int64_t done = 0;
    for (;;) {
        struct pawl_claim claim = PAWL_CLAIM_INIT;
        struct pawl_claimed claimed;
        claim.worker_id = text("sweeper");
        claim.max = 100;
        CHECK_EQ(PAWL_OK, pawl_task_claim(pawl, &claim, keep, &claimed, NULL));
        if (claimed.count == 0) return done;
        for (size_t i = 0; i < claimed.count; i++) {
            struct pawl_change change = PAWL_CHANGE_INIT;
            change.fence = &claimed.grants[i].fence;
            CHECK_EQ(PAWL_OK,
                     pawl_task_complete(pawl, change.fence->task_id, text("1"), &change, NULL));
            done++;
        }
        pawl_arena_reset(keep);
    }
}

/* Counts task_completed events; *twice is set when a task has two. */
static int64_t count_completions(struct pawl *pawl, struct pawl_arena *keep, bool *twice)
{
    int64_t position = 0;
    int64_t count = 0;
    for (;;) {
        struct pawl_events events;
        CHECK_EQ(PAWL_OK, pawl_events_read(pawl, position, PAWL_BATCH_MAX, keep, &events, NULL));
        if (events.count == 0) return count;
        for (size_t i = 0; i < events.count; i++) {
            struct pawl_str type = events.events[i].type;
            bool is_completion =
                type.len == strlen("task_completed") && memcmp(type.ptr, "task_completed", type.len) == 0;
            if (!is_completion) continue;
            count++;
            /* created, queued, started, completed: a second one would have a later number */
            if (events.events[i].sequence != 4) *twice = true;
        }
        position = events.position;
        pawl_arena_reset(keep);
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

TEST("five processes on one file: no error, nobody starves, every task ends once")
{
    char folder[512];
    char path[sizeof folder + 16];
    const char *where = getenv("TMPDIR");
    const char *asked = getenv("PAWL_CROWD_SECONDS");
    double seconds = asked != NULL ? strtod(asked, NULL) : 5;
    (void)snprintf(folder, sizeof folder, "%.400s/pawl-crowd-XXXXXX", where == NULL ? "/tmp" : where);
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/crowd.db", folder);

    int ends[BUSY_COUNT + 1][2];
    for (int i = 0; i <= BUSY_COUNT; i++) {
        CHECK_EQ(0, pipe(ends[i]));
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) live(path, i, seconds, ends[i][1]);
        (void)close(ends[i][1]);
    }
    struct visit all = {0};
    struct visit visitor = {0};
    for (int i = 0; i <= BUSY_COUNT; i++) {
        CHECK_EQ((int64_t)sizeof visitor, read(ends[i][0], &visitor, sizeof visitor));
        (void)close(ends[i][0]);
        CHECK_TEXT("", visitor.error);
        CHECK(visitor.completed > 0); /* nobody starves altogether */
        all.added += visitor.added;
        all.completed += visitor.completed;
    }
    while (wait(NULL) > 0 || errno == EINTR) {
    }
    printf("    %.0f s: %lld tasks; the visitor's %lld commands: p50 %.2f ms, p99 %.2f ms, max %.1f ms\n",
           seconds, (long long)all.added, (long long)visitor.samples, visitor.p50_ms, visitor.p99_ms,
           visitor.max_ms);
    if (seconds >= JUDGED_SECONDS_MIN) CHECK(visitor.p99_ms < P99_MS_MAX);

    struct pawl *pawl;
    struct pawl_arena *keep;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = text(path);
    CHECK_EQ(PAWL_OK, pawl_arena_open(&keep, 0));
    CHECK_EQ(PAWL_OK, pawl_open(&pawl, &options, NULL));
    all.completed += finish_rest(pawl, keep);
    bool twice = false;
    CHECK_EQ(all.added, all.completed);
    CHECK_EQ(all.added, count_completions(pawl, keep, &twice));
    CHECK(!twice);
    pawl_close(pawl);
    pawl_arena_close(keep);
    CHECK_EQ(0, nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS));
}

TEST_MAIN()
