/* What the disk and SQLite allow: the row changes of a life cycle by the product's own statements, in groups
 * of a given size, on one connection, without an engine. A group holds as many creates as claims as
 * completions, like a step of many callers. Prints one line:
 *
 *   ceiling <commands a group> <seconds> <life cycles> <per second>
 *
 * Use: ceiling STORE COMMANDS_A_GROUP SECONDS [QUEUE]. The library must have created the store. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

enum { GROUP_MAX = 1000 };

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "use: ceiling STORE COMMANDS_A_GROUP SECONDS [QUEUE]\n");
        return 2;
    }
    double commands = atof(argv[2]);
    double seconds = atof(argv[3]);
    struct rows rows;
    static struct rows_claimed running[GROUP_MAX];
    int running_count = 0;
    int64_t done = 0;
    double owed[3] = {0}; /* thirds of a group that are not whole numbers are made up for later */
    rows_open(&rows, argv[1], argc > 4 ? argv[4] : "bench");
    double start = now_s();
    while (now_s() - start < seconds) {
        int part[3];
        for (int i = 0; i < 3; i++) {
            /* a group of one is a create, then a claim, then a completion */
            owed[i] += commands >= 3 ? commands / 3 : 1;
            part[i] = (int)owed[i];
            owed[i] -= part[i];
        }
        if (commands >= 3) rows_begin(&rows);
        for (int i = 0; i < part[0]; i++) {
            if (commands < 3) rows_begin(&rows);
            (void)rows_create(&rows);
            if (commands < 3) rows_commit(&rows);
        }
        if (commands < 3) rows_begin(&rows);
        for (int i = 0; i < running_count; i++) rows_complete(&rows, &running[i]);
        done += running_count;
        if (commands < 3 && running_count > 0) {
            rows_commit(&rows);
            rows_begin(&rows);
        }
        running_count = rows_claim(&rows, part[1] < GROUP_MAX ? part[1] : GROUP_MAX, running);
        rows_commit(&rows);
    }
    double took = now_s() - start;
    printf("ceiling %.1f %.2f %lld %.0f\n", commands, took, (long long)done, (double)done / took);
    rows_close(&rows);
    return 0;
}
