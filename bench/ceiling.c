/* What the disk and the database allow: the row changes of a life cycle by the product's own statements, in groups
 * of a given size, on one connection, without an engine. A group holds as many creates as claims as
 * completions, like a step of many callers. Prints one line:
 *
 *   ceiling <commands a group> <seconds> <life cycles> <per second> <CPU us a life cycle>
 *
 * Use: ceiling STORE COMMANDS_A_GROUP SECONDS [QUEUE]. The library must have created the store. */
#include "rows.h"

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

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "use: ceiling STORE COMMANDS_A_GROUP SECONDS [QUEUE]\n");
        return 2;
    }
    double commands = atof(argv[2]);
    double seconds = atof(argv[3]);
    bool is_single = commands < 3; /* a create, then a completion, then a claim, each by itself */
    static struct rows rows;
    int64_t done = 0;
    double owed[2] = {0}; /* creates, claims: thirds that are not whole numbers are made up for later */
    rows_open(&rows, argv[1], argc > 4 ? argv[4] : "bench");
    double start = now_s();
    double cpu_start = cpu_us();
    while (now_s() - start < seconds) {
        int part[2];
        for (int i = 0; i < 2; i++) {
            owed[i] += is_single ? 1 : commands / 3;
            part[i] = (int)owed[i];
            owed[i] -= part[i];
        }
        rows_begin(&rows);
        rows_create(&rows, part[0]);
        if (is_single) {
            rows_commit(&rows);
            rows_begin(&rows);
        }
        rows_complete(&rows);
        done += rows.claimed_count;
        if (is_single && rows.claimed_count > 0) {
            rows_commit(&rows);
            rows_begin(&rows);
        }
        rows_claim(&rows, part[1]);
        rows_commit(&rows);
    }
    double took = now_s() - start;
    printf("ceiling %.1f %.2f %lld %.0f %.1f\n", commands, took, (long long)done, (double)done / took,
           (cpu_us() - cpu_start) / (double)(done > 0 ? done : 1));
    rows_close(&rows);
    return 0;
}
