/* What keeping many leases costs: so many tasks are claimed and detached from their handlers, and
 * their leases kept. Then nothing else happens, and the processor time of the whole process is the
 * keeper's and its engine's. Prints one line:
 *
 *   leases <count> <every ms> <seconds> <processor time, percent of a core> <left in hand>
 *
 * Use: leases STORE COUNT EVERY_MS SECONDS. Leases are three times as long as the interval. */
#include "pawl.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000, SLOTS = 256 };

static void must(enum pawl_code code, const struct pawl_error *err)
{
    if (code == PAWL_OK) return;
    fprintf(stderr, "%s: %s\n", pawl_code_name(code), err->text);
    exit(1);
}

static double wall_s(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double processor_s(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static enum pawl_work_end detach(void *self, struct pawl_work *work)
{
    (void)work;
    atomic_fetch_add((atomic_long *)self, 1);
    return PAWL_WORK_DETACHED;
}

static void add_tasks(struct pawl *pawl, struct pawl_arena *keep, long count)
{
    static struct pawl_task_new asks[BATCH];
    static struct pawl_added added[BATCH];
    struct pawl_error err;
    for (int i = 0; i < BATCH; i++) asks[i] = (struct pawl_task_new)PAWL_TASK_NEW_INIT;
    for (long done = 0; done < count; done += BATCH) {
        size_t batch = count - done < BATCH ? (size_t)(count - done) : BATCH;
        pawl_arena_reset(keep);
        must(pawl_task_add_batch(pawl, asks, batch, keep, added, &err), &err);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    long count = strtol(argv[2], NULL, 10);
    long every_ms = strtol(argv[3], NULL, 10);
    unsigned seconds = (unsigned)strtol(argv[4], NULL, 10);
    struct pawl_error err;
    struct pawl *pawl;
    struct pawl_arena *keep;
    struct pawl_supervisor *supervisor;
    struct pawl_in_hands hands;
    atomic_long detached = 0;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_supervisor_options how = PAWL_SUPERVISOR_OPTIONS_INIT;
    options.store = (struct pawl_str){argv[1], strlen(argv[1])};
    how.handler = detach;
    how.self = &detached;
    how.slots = SLOTS;
    how.detached_max = (int32_t)count;
    how.lease_ms = 3 * every_ms;
    must(pawl_open(&pawl, &options, &err), &err);
    must(pawl_arena_open(&keep, 0), &err);
    add_tasks(pawl, keep, count);
    must(pawl_supervisor_start(pawl, &how, &supervisor, &err), &err);
    while (atomic_load(&detached) < count) (void)usleep(100 * 1000);
    (void)usleep(500 * 1000); /* what came with the last ones settles */

    double began_s = wall_s();
    double used_s = processor_s();
    (void)sleep(seconds);
    double took_s = wall_s() - began_s;
    used_s = processor_s() - used_s;
    pawl_arena_reset(keep);
    must(pawl_supervisor_list(supervisor, keep, &hands, &err), &err);
    printf("leases %ld %ld %.0f %.1f %zu\n", count, every_ms, took_s, 100 * used_s / took_s,
           hands.count);
    (void)fflush(stdout);
    _exit(hands.count == (size_t)count && atomic_load(&detached) == count
              ? 0
              : 1); /* giving all back takes long */
}
