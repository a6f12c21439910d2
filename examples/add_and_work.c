/* Adds a task, takes it under a lease, completes it: a whole life in one program. */
#include <pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error err;

static void must(enum pawl_code code)
{
    if (code == PAWL_OK) return;
    exit(fprintf(stderr, "%s: %s\n", pawl_code_name(code), err.text) > 0);
}

int main(int argc, char **argv)
{
    const struct pawl_str input = {"{\"to\":\"ada\"}", 12}, worker = {"w-1", 3}, sent = {"1", 1};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_change change = PAWL_CHANGE_INIT;
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_added added;
    struct pawl_claimed claimed;
    options.store.ptr = argc > 1 ? argv[1] : "tasks.db";
    options.store.len = strlen(options.store.ptr);
    ask.input = input;
    claim.worker_id = worker;
    must(pawl_open(&pawl, &options, &err));
    must(pawl_arena_open(&keep, 0));
    must(pawl_task_add(pawl, &ask, keep, &added, &err));
    must(pawl_task_claim(pawl, &claim, keep, &claimed, &err));
    change.fence = &claimed.grants[0].fence; /* the right to this task, until the lease ends */
    must(pawl_task_complete(pawl, added.id, sent, &change, &err));
    printf("completed %.*s\n", (int)claimed.grants[0].input.len, claimed.grants[0].input.ptr);
    pawl_arena_close(keep);
    pawl_close(pawl);
    return 0;
}
