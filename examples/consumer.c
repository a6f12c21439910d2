/* Reads what has happened, in order and at least once: a named consumer of the events. */
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
    const char *path = argc > 1 ? argv[1] : "tasks.db";
    const struct pawl_str name = {"audit", 5};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_events page = {NULL, 0, 0};
    struct pawl_error err;
    options.store.ptr = path;
    options.store.len = strlen(path);
    int bad =
        failed(pawl_open(&pawl, &options, &err), &err) || pawl_arena_open(&keep, 0) != PAWL_OK;
    while (!bad) {
        pawl_arena_reset(keep);
        bad = failed(pawl_consumer_read(pawl, name, 100, 0, keep, &page, &err), &err);
        if (bad || page.count == 0) break; /* a service would wait here: the 4th argument */
        for (size_t i = 0; i < page.count; i++) {
            const struct pawl_event *event = &page.events[i];
            printf("%.*s %s\n", (int)event->type.len, event->type.ptr,
                   pawl_task_state_name(event->state));
        }
        bad = failed(pawl_consumer_acknowledge_through(pawl, name, page.position, &err), &err);
    }
    pawl_arena_close(keep);
    pawl_close(pawl);
    return bad;
}
