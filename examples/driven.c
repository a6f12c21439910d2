/* Pawl without threads: a program with a loop of its own calls pawl_step when something is due. */
#define _POSIX_C_SOURCE 200809L
#include <pawl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    const struct pawl_str worker = {"loop", 4};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_added added;
    struct pawl_claimed claimed = {NULL, 0, 0, 0};
    struct timespec now;
    int64_t next_ms = 0;
    options.store.ptr = argc > 1 ? argv[1] : "tasks.db";
    options.store.len = strlen(options.store.ptr);
    options.driven = true;
    ask.delay_ms = 100;
    claim.worker_id = worker;
    enum pawl_code code = pawl_open(&pawl, &options, NULL);
    if (code == PAWL_OK) code = pawl_arena_open(&keep, 0);
    if (code == PAWL_OK) code = pawl_task_add(pawl, &ask, keep, &added, NULL);
    while (code == PAWL_OK && claimed.count == 0) {
        struct pollfd others = {pawl_wait_fd(pawl), POLLIN, 0}; /* other processes */
        code = pawl_step(pawl, &next_ms, NULL);
        clock_gettime(CLOCK_BOOTTIME, &now);
        next_ms -= (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        poll(&others, 1, next_ms < 0 ? 0 : next_ms > 60000 ? 60000 : (int)next_ms);
        if (code == PAWL_OK) code = pawl_task_claim(pawl, &claim, keep, &claimed, NULL);
    }
    pawl_arena_close(keep);
    pawl_close(pawl);
    return printf("%s: claimed %d\n", pawl_code_name(code), (int)claimed.count) < 0 || code != 0;
}
