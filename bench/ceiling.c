/* What the disk and the database allow: the row changes of a life cycle by the product's own statements, in groups
 * of a given size, on one connection, without an engine. A group holds as many creates as claims as
 * completions, like a step of many callers. Prints one line:
 *
 *   ceiling <commands a group> <seconds> <life cycles> <per second> <CPU us a life cycle>
 *
 * Use: ceiling STORE COMMANDS_A_GROUP SECONDS [CALLERS]. The library must have created the store.
 *
 * With CALLERS, so many threads wait for their answers: each command is handed over by one of them, who sleeps until
 * its group is committed. Of an engine that is all there is, so that the difference is what any answer to a sleeping
 * caller costs. */
#include "rows.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

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

/* ---- Callers ---- */

enum { CALLERS_MAX = 1024 };

struct caller {
    pthread_t thread;
    sem_t answered;
};

static struct {
    struct caller all[CALLERS_MAX];
    int count;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct caller *waiting[CALLERS_MAX]; /* who has handed a command over, first come first */
    int first, waiting_count;
    bool is_over;
} callers = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

static void *call(void *argument)
{
    struct caller *self = argument;
    for (;;) {
        (void)pthread_mutex_lock(&callers.lock);
        bool is_over = callers.is_over;
        callers.waiting[(callers.first + callers.waiting_count++) % CALLERS_MAX] = self;
        (void)pthread_cond_signal(&callers.arrived);
        (void)pthread_mutex_unlock(&callers.lock);
        if (is_over) return NULL;
        (void)sem_wait(&self->answered);
    }
}

static void callers_start(int count)
{
    callers.count = count;
    for (int i = 0; i < count; i++) {
        (void)sem_init(&callers.all[i].answered, 0, 0);
        if (pthread_create(&callers.all[i].thread, NULL, call, &callers.all[i]) != 0) exit(1);
    }
}

/* Waits until a group of commands has been handed over, and takes it. */
static int callers_take(struct caller **taken, int commands)
{
    int wanted = commands < callers.count ? commands : callers.count;
    (void)pthread_mutex_lock(&callers.lock);
    while (callers.waiting_count < wanted) (void)pthread_cond_wait(&callers.arrived, &callers.lock);
    for (int i = 0; i < wanted; i++) taken[i] = callers.waiting[(callers.first + i) % CALLERS_MAX];
    callers.first = (callers.first + wanted) % CALLERS_MAX;
    callers.waiting_count -= wanted;
    (void)pthread_mutex_unlock(&callers.lock);
    return wanted;
}

static void callers_stop(void)
{
    (void)pthread_mutex_lock(&callers.lock);
    callers.is_over = true;
    (void)pthread_mutex_unlock(&callers.lock);
    for (int i = 0; i < callers.count; i++) (void)sem_post(&callers.all[i].answered);
    for (int i = 0; i < callers.count; i++) (void)pthread_join(callers.all[i].thread, NULL);
}

/* ---- Groups: a transaction each, with its callers where there are some ---- */

static struct caller *group[CALLERS_MAX];
static int group_count;

static void group_begin(struct rows *rows, int commands)
{
    if (callers.count > 0) group_count = callers_take(group, commands);
    rows_begin(rows);
}

static void group_commit(struct rows *rows)
{
    rows_commit(rows);
    for (int i = 0; i < group_count; i++) (void)sem_post(&group[i]->answered);
}

static void group_next(struct rows *rows, int commands)
{
    group_commit(rows);
    group_begin(rows, commands);
}

int main(int argc, char **argv)
{
    if (argc < 4 || (argc > 4 && (atoi(argv[4]) < 1 || atoi(argv[4]) > CALLERS_MAX / 2))) {
        fprintf(stderr, "use: ceiling STORE COMMANDS_A_GROUP SECONDS [CALLERS]\n");
        return 2;
    }
    double commands = atof(argv[2]);
    double seconds = atof(argv[3]);
    bool is_single = commands < 3; /* a create, then a completion, then a claim, each by itself */
    static struct rows rows;
    int64_t done = 0;
    double owed[2] = {0}; /* creates, claims: thirds that are not whole numbers are made up for later */
    rows_open(&rows, argv[1], "bench");
    if (argc > 4) callers_start(atoi(argv[4]));
    double start = now_s();
    double cpu_start = cpu_us();
    while (now_s() - start < seconds) {
        int part[2];
        for (int i = 0; i < 2; i++) {
            owed[i] += is_single ? 1 : commands / 3;
            part[i] = (int)owed[i];
            owed[i] -= part[i];
        }
        group_begin(&rows, (int)commands);
        rows_create(&rows, part[0]);
        if (is_single) group_next(&rows, 1);
        rows_complete(&rows);
        done += rows.claimed_count;
        if (is_single && rows.claimed_count > 0) group_next(&rows, 1);
        rows_claim(&rows, part[1]);
        group_commit(&rows);
    }
    callers_stop();
    double took = now_s() - start;
    printf("ceiling %.1f %.2f %lld %.0f %.1f\n", commands, took, (long long)done, (double)done / took,
           (cpu_us() - cpu_start) / (double)(done > 0 ? done : 1));
    rows_close(&rows);
    return 0;
}
