/* Adds three tasks in one transaction: the third starts when the others have completed. */
#include <pawl.h>

#include <stdio.h>
#include <string.h>

static int failed(enum pawl_code code, const struct pawl_error *err)
{
    if (code != PAWL_OK) fprintf(stderr, "%s: %s\n", pawl_code_name(code), err->text);
    return code != PAWL_OK;
}

int main(int argc, char **argv)
{
    const struct pawl_str first_two[] = {{"#0", 2}, {"#1", 2}}; /* members of the same batch */
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_task_new asks[3] = {PAWL_TASK_NEW_INIT, PAWL_TASK_NEW_INIT, PAWL_TASK_NEW_INIT};
    struct pawl_added added[3];
    struct pawl_task task;
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_error err;
    options.store.ptr = argc > 1 ? argv[1] : "tasks.db";
    options.store.len = strlen(options.store.ptr);
    asks[2].depends_on = first_two;
    asks[2].depends_on_count = 2;
    int bad = failed(pawl_open(&pawl, &options, &err), &err);
    bad = bad || pawl_arena_open(&keep, 0) != PAWL_OK;
    bad = bad || failed(pawl_task_add_batch(pawl, asks, 3, keep, added, &err), &err);
    struct pawl_str none = {NULL, 0};
    for (int i = 0; !bad; i++) {
        bad = failed(pawl_task_get(pawl, added[2].id, false, keep, &task, &err), &err);
        if (!bad) printf("waits for %d\n", task.open_dependencies);
        if (bad || i == 2) break;
        bad = failed(pawl_task_complete(pawl, added[i].id, none, NULL, &err), &err);
    }
    pawl_arena_close(keep);
    pawl_close(pawl);
    return bad;
}
