/* Durable life cycles in process: each caller is a thread that adds a task, claims one and completes it, one
 * call after another, as an embedding program would. Prints one line:
 *
 *   lifecycles <callers> <seconds> <count> <per second> <commands a commit>
 *              <CPU us a life cycle>
 *
 * Use: lifecycle STORE CALLERS SECONDS [QUEUE]. "#200" for seconds: so many life cycles a caller instead. The
 * store may hold anything already. */
#include "engine/engine.h" /* to count commits */
#include "pawl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { CALLERS_MAX = 1024, INPUT_BYTES = 200, RESULT_BYTES = 40 };

struct bench {
    struct pawl *pawl;
    struct pawl_str queue;
    atomic_bool is_over;
    int64_t count; /* life cycles a caller; 0 = until it is over */
    char input[INPUT_BYTES + 1];
};

struct caller {
    struct bench *bench;
    pthread_t thread;
    int64_t number;
    int64_t done;
};

static struct pawl_str text(const char *c)
{
    return (struct pawl_str){c, strlen(c)};
}

static void must(enum pawl_code code, const struct pawl_error *err)
{
    if (code == PAWL_OK) return;
    fprintf(stderr, "%s: %s\n", pawl_code_name(code), err->text);
    exit(1);
}

static void run_once(struct caller *caller, struct pawl_str worker_id, struct pawl_arena *keep)
{
    struct bench *bench = caller->bench;
    struct pawl_error err = {PAWL_OK, 0, ""};
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_added added;
    ask.queue = bench->queue;
    ask.input = text(bench->input);
    must(pawl_task_add(bench->pawl, &ask, keep, &added, &err), &err);

    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed;
    claim.queues = &bench->queue;
    claim.queue_count = 1;
    claim.worker_id = worker_id;
    must(pawl_task_claim(bench->pawl, &claim, keep, &claimed, &err), &err);
    if (claimed.count == 0) return;

    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &claimed.grants[0].fence;
    must(pawl_task_complete(bench->pawl, change.fence->task_id, text("{\"answer\":\"forty-two\",\"n\":42}"),
                            &change, &err),
         &err);
    caller->done++;
}

static void *call(void *argument)
{
    struct caller *caller = argument;
    char id[32];
    (void)snprintf(id, sizeof id, "worker-%d", (int)caller->number);
    struct pawl_arena *keep;
    if (pawl_arena_open(&keep, 0) != PAWL_OK) exit(1);
    while (!atomic_load(&caller->bench->is_over) &&
           (caller->bench->count == 0 || caller->done < caller->bench->count)) {
        run_once(caller, text(id), keep);
        pawl_arena_reset(keep);
    }
    pawl_arena_close(keep);
    return NULL;
}

/* User's and system's time of this process so far, all threads; of a server beside it nothing. */
static double cpu_us(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double now_s(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "use: lifecycle STORE CALLERS SECONDS [QUEUE]\n");
        return 2;
    }
    int callers = atoi(argv[2]);
    bool is_counted = argv[3][0] == '#';
    double seconds = is_counted ? 0 : atof(argv[3]);
    if (callers < 1 || callers > CALLERS_MAX) return 2;
    struct bench bench = {.queue = text(argc > 4 ? argv[4] : "bench")};
    bench.count = is_counted ? atoll(argv[3] + 1) : 0;
    (void)snprintf(bench.input, sizeof bench.input, "{\"payload\":\"%0*d\"}", INPUT_BYTES - 14, 7);
    struct pawl_error err = {PAWL_OK, 0, ""};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = text(argv[1]);
    must(pawl_open(&bench.pawl, &options, &err), &err);

    static struct caller all[CALLERS_MAX];
    double start = now_s();
    double cpu_start = cpu_us();
    for (int i = 0; i < callers; i++) {
        all[i] = (struct caller){.bench = &bench, .number = i};
        if (pthread_create(&all[i].thread, NULL, call, &all[i]) != 0) return 1;
    }
    struct timespec pause = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&pause, NULL);
    if (!is_counted) atomic_store(&bench.is_over, true);
    int64_t done = 0;
    for (int i = 0; i < callers; i++) {
        (void)pthread_join(all[i].thread, NULL);
        done += all[i].done;
    }
    double took = now_s() - start;
    double group = 3.0 * (double)done / (double)(bench.pawl->change_count + 1);
    printf("lifecycles %d %.2f %lld %.0f %.1f %.1f\n", callers, took, (long long)done,
           (double)done / took, group, (cpu_us() - cpu_start) / (double)(done > 0 ? done : 1));
    pawl_close(bench.pawl);
    return 0;
}
