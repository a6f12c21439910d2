/* How long a program waits until its store is ready for the first claim, and what it holds in memory then.
 * Prints: idle <ms> <resident kB>. Use: idle STORE. */
#include "pawl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

/* Resident memory of this process; what it had before the store was opened is taken off. */
static long resident_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) kb = strtol(line + 6, NULL, 10);
    }
    (void)fclose(file);
    return kb;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    long before_kb = resident_kb();
    double start = now_ms();
    struct pawl *pawl;
    struct pawl_arena *keep;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed;
    struct pawl_str queue = {"nobody", 6};
    options.store = (struct pawl_str){argv[1], strlen(argv[1])};
    claim.queues = &queue;
    claim.queue_count = 1;
    claim.worker_id = (struct pawl_str){"idle", 4};
    if (pawl_arena_open(&keep, 0) != PAWL_OK || pawl_open(&pawl, &options, NULL) != PAWL_OK) return 1;
    if (pawl_task_claim(pawl, &claim, keep, &claimed, NULL) != PAWL_OK) return 1;
    double took = now_ms() - start;
    printf("idle %.2f %ld\n", took, resident_kb() - before_kb);
    pawl_close(pawl);
    pawl_arena_close(keep);
    return 0;
}
