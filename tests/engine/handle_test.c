/* The handle itself: opening, closing under way, driving, several on one store, misuse. */
#include "base/arena.h"
#include "core/limits.h"
#include "stores.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define W PAWL_STR("w")

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* ---- Opening ---- */

TEST_SQLITE("a store that must exist is NOT_FOUND and is not created")
{
    struct pawl_options options = lab_options(lab);
    options.must_exist = true;
    struct pawl *pawl = NULL;
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_open(&pawl, &options, &lab->err));
    CHECK(pawl == NULL);
    CHECK(strstr(lab->err.text, "store.db") != NULL);
    struct stat status;
    CHECK(stat(lab->target, &status) != 0);
}

TEST_EACH_STORE("a store that is there is opened with must_exist")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    pawl_close(lab->pawl);
    struct pawl_options options = lab_options(lab);
    options.must_exist = true;
    lab->pawl = lab_handle(lab, &options);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

TEST_SQLITE("a path in a folder that is not there fails with a sentence that names it")
{
    struct pawl_options options = lab_options(lab);
    options.store = PAWL_STR("/no/such/folder/store.db");
    struct pawl *pawl = NULL;
    enum pawl_code code = pawl_open(&pawl, &options, &lab->err);
    CHECK(code == PAWL_IO || code == PAWL_NOT_FOUND);
    CHECK(strstr(lab->err.text, "/no/such/folder") != NULL);
    CHECK(pawl == NULL);
}

TEST_SQLITE("options are checked: size, store, lease")
{
    struct pawl *pawl = NULL;
    struct pawl_options options = lab_options(lab);
    CHECK_REFUSED(PAWL_MISUSE, pawl_open(NULL, &options, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_open(&pawl, NULL, &lab->err));
    options.size = 0;
    CHECK_REFUSED(PAWL_MISUSE, pawl_open(&pawl, &options, &lab->err));
    options = lab_options(lab);
    options.store = NO_TEXT;
    CHECK_REFUSED(PAWL_INVALID, pawl_open(&pawl, &options, &lab->err));
    options.store = (struct pawl_str){NULL, 5};
    CHECK_REFUSED(PAWL_INVALID, pawl_open(&pawl, &options, &lab->err));
    options.store = (struct pawl_str){"a\0b", 3};
    CHECK_REFUSED(PAWL_INVALID, pawl_open(&pawl, &options, &lab->err));
    options = lab_options(lab);
    options.lease_ms = PAWL_LEASE_MS_MIN - 1;
    CHECK_REFUSED(PAWL_INVALID, pawl_open(&pawl, &options, &lab->err));
    options.lease_ms = PAWL_LEASE_MS_MIN;
    pawl = lab_handle(lab, &options);
    pawl_close(pawl);
    pawl_close(NULL);
}

TEST_EACH_STORE("a wall clock before 1970 or beyond the year 9998 is refused at open; later it "
                "moves no calendar")
{
    static const int64_t bad[] = {-1, INT64_MIN, INT64_MAX, PAWL_INSTANT_MS_MAX,
                                  PAWL_INSTANT_MS_MAX - PAWL_DELAY_MS_MAX + 1};
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_options options = lab_options(lab);
    struct pawl *pawl = NULL;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        atomic_store(&lab->world.wall_ms, bad[i]);
        CHECK_REFUSED(PAWL_INVALID, pawl_open(&pawl, &options, &lab->err));
        CHECK(strstr(lab->err.text, "wall clock: ") != NULL);
        CHECK(pawl == NULL);
    }
    if (lab->store == LAB_SQLITE) CHECK(access(lab->target, F_OK) != 0);
    atomic_store(&lab->world.wall_ms, wall_ms);
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.run_at_ms = wall_ms + 400000000000));
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&lab->world.wall_ms, bad[i]);
        lab_settle(lab, lab->pawl);
        CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
        CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    }
    atomic_store(&lab->world.wall_ms, INT64_MAX); /* every calendar time has come */
    lab_settle(lab, lab->pawl);
    CHECK_EQ(lab->store == LAB_SQLITE ? 1 : 0, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

/* ---- Misuse ---- */

static enum pawl_code on_nothing(struct lab *lab, int call)
{
    struct pawl_error *err = &lab->err;
    struct pawl_str id = PAWL_STR("x");
    struct pawl_arena *keep = lab->keep;
    struct pawl_added added;
    struct pawl_claimed claimed;
    struct pawl_grant grant;
    struct pawl_fence fence = {id, W, 1};
    struct pawl_renewal renewal;
    struct pawl_task task;
    struct pawl_str text;
    struct pawl_page page;
    struct pawl_events events;
    struct pawl_checkpoint checkpoint;
    struct pawl_checkpoints checkpoints;
    struct pawl_log_lines lines;
    struct pawl_late_results late;
    struct pawl_queues queues;
    int64_t count;
    bool is_first;
    switch (call) {
    case 0:
        return pawl_task_add(NULL, NEW(), keep, &added, err);
    case 1:
        return pawl_task_claim(NULL, CLAIM(.worker_id = W), keep, &claimed, err);
    case 2:
        return pawl_task_start(NULL, id, CLAIM(.worker_id = W), keep, &grant, err);
    case 3:
        return pawl_lease_renew(NULL, &fence, 1, 0, &renewal, err);
    case 4:
        return pawl_task_progress(NULL, id, 1, NULL, err);
    case 5:
        return pawl_task_checkpoint(NULL, id, 1, PAWL_STR("1"), NULL, err);
    case 6:
        return pawl_task_log(NULL, id, id, NULL, err);
    case 7:
        return pawl_task_complete(NULL, id, NO_TEXT, NULL, err);
    case 8:
        return pawl_task_fail(NULL, id, NULL, NULL, err);
    case 9:
        return pawl_task_release(NULL, id, 0, CHANGE(.fence = &fence), err);
    case 10:
        return pawl_task_queue(NULL, id, NULL, err);
    case 11:
        return pawl_task_pause(NULL, id, NULL, err);
    case 12:
        return pawl_task_cancel(NULL, id, false, NULL, err);
    case 13:
        return pawl_task_resume(NULL, id, NULL, NULL, err);
    case 14:
        return pawl_task_resolve(NULL, id, PAWL_TASK_QUEUED, NO_TEXT, NULL, err);
    case 15:
        return pawl_dead_redrive(NULL, REDRIVE(.max = 0), &count, err);
    case 16:
        return pawl_task_get(NULL, id, false, keep, &task, err);
    case 17:
        return pawl_task_why(NULL, id, keep, &text, err);
    case 18:
        return pawl_task_list(NULL, LIST(.limit = 0), keep, &page, err);
    case 19:
        return pawl_task_history(NULL, id, 0, 0, keep, &events, err);
    case 20:
        return pawl_task_restore(NULL, id, NO_TEXT, keep, &checkpoint, err);
    case 21:
        return pawl_task_checkpoints(NULL, id, keep, &checkpoints, err);
    case 22:
        return pawl_task_logs(NULL, id, 0, 0, keep, &lines, err);
    case 23:
        return pawl_task_late_results(NULL, id, keep, &late, err);
    case 24:
        return pawl_queue_list(NULL, keep, &queues, err);
    case 25:
        return pawl_queue_set(NULL, QUEUE_SET(.name = id), err);
    case 26:
        return pawl_events_read(NULL, 0, 0, keep, &events, err);
    case 27:
        return pawl_consumer_read(NULL, id, 0, 0, keep, &events, err);
    case 28:
        return pawl_consumer_acknowledge_through(NULL, id, 0, err);
    case 29:
        return pawl_consumer_acknowledge(NULL, id, id, &is_first, err);
    case 30:
        return pawl_step(NULL, &count, err);
    default:
        return PAWL_OK;
    }
}

TEST_SQLITE("without a handle every call is MISUSE, with and without an error to fill")
{
    for (int call = 0; call <= 30; call++) {
        if (on_nothing(lab, call) != PAWL_MISUSE) FAIL("call %d", call);
        CHECK(lab->err.text[0] != '\0');
    }
    CHECK_EQ(-1, pawl_wait_fd(NULL));
}

TEST_SQLITE("options without their size are MISUSE, and nothing happens")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    int64_t version = lab_get(lab, id).version;
    struct pawl *pawl = lab->pawl;
    struct pawl_error *err = &lab->err;
    struct pawl_added added;
    struct pawl_claimed claimed;
    struct pawl_grant grant;
    struct pawl_page page;
    int64_t count;
    CHECK_REFUSED(PAWL_MISUSE,
                  pawl_task_add(pawl, &(struct pawl_task_new){0}, lab->keep, &added, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_claim(pawl, &(struct pawl_claim){.worker_id = W},
                                               lab->keep, &claimed, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_start(pawl, id, &(struct pawl_claim){.worker_id = W},
                                               lab->keep, &grant, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_pause(pawl, id, &(struct pawl_change){0}, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_fail(pawl, id, &(struct pawl_failure){0}, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_resume(pawl, id, &(struct pawl_resume){0}, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_dead_redrive(pawl, &(struct pawl_redrive){0}, &count, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_list(pawl, &(struct pawl_list){0}, lab->keep, &page, err));
    CHECK_REFUSED(PAWL_MISUSE,
                  pawl_queue_set(pawl, &(struct pawl_queue_set){.name = PAWL_STR("q")}, err));
    CHECK_EQ(version, lab_get(lab, id).version);
}

/* The same options as another version of the header would have made them. */
struct task_of_later {
    struct pawl_task_new known;
    int64_t color;
};

TEST_SQLITE("B16 options of an older header are read as far as they go, the rest is the default")
{
    lab_open(lab);
    struct pawl_added added[3];
    size_t older = offsetof(struct pawl_task_new, delay_ms);
    struct pawl_task_new ask = {.size = older, .priority = 7, .delay_ms = 5000, .hold = true};
    check_ok(lab, pawl_task_add(lab->pawl, &ask, lab->keep, added, &lab->err));
    struct pawl_task task = lab_get(lab, added[0].id);
    CHECK_EQ(7, task.priority);
    CHECK_EQ(PAWL_TASK_PENDING, task.state);
    CHECK_EQ(0, task.next_retry_at_ms);

    /* members of a batch lie as close together as its caller knows them */
    unsigned char *batch = pawl_arena_take(lab->keep, 3 * older);
    for (int i = 0; i < 3; i++) {
        ask.priority = 10 + i;
        memcpy(batch + (size_t)i * older, &ask, older);
    }
    check_ok(lab,
             pawl_task_add_batch(lab->pawl, (const void *)batch, 3, lab->keep, added, &lab->err));
    for (int i = 0; i < 3; i++) CHECK_EQ(10 + i, lab_get(lab, added[i].id).priority);

    struct pawl_claim claim = {
        .size = offsetof(struct pawl_claim, max), .worker_id = W, .max = 9999};
    struct pawl_claimed claimed;
    lab_add(lab, NEW());
    lab_add(lab, NEW());
    check_ok(lab, pawl_task_claim(lab->pawl, &claim, lab->keep, &claimed, &lab->err));
    CHECK_EQ(1, claimed.count);
    struct pawl_list list = {.size = offsetof(struct pawl_list, limit), .limit = -5};
    struct pawl_page page;
    check_ok(lab, pawl_task_list(lab->pawl, &list, lab->keep, &page, &lab->err));
    CHECK_EQ(6, page.count);
    struct pawl_options options = lab_options(lab);
    options.size = offsetof(struct pawl_options, lease_ms);
    options.lease_ms = -1;
    pawl_close(lab_handle(lab, &options));
}

TEST_SQLITE(
    "B16 options of a newer header are taken if what is new is zero, else INVALID names the byte")
{
    lab_open(lab);
    struct task_of_later asks[2] = {{.known = {.size = sizeof asks[0], .priority = 5}},
                                    {.known = {.size = sizeof asks[0], .priority = 6}}};
    struct pawl_added added[2];
    check_ok(lab, pawl_task_add_batch(lab->pawl, &asks[0].known, 2, lab->keep, added, &lab->err));
    CHECK_EQ(6, lab_get(lab, added[1].id).priority);
    asks[1].color = 1;
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add_batch(lab->pawl, &asks[0].known, 2, lab->keep, added, &lab->err));
    char byte[32];
    (void)snprintf(byte, sizeof byte, "at byte %zu", offsetof(struct task_of_later, color));
    CHECK(strstr(lab->err.text, byte) != NULL);
    CHECK_EQ(2, lab_list(lab, LIST(0)).count);
    asks[1].known.size = sizeof asks[0].known; /* one that is not like the others */
    CHECK_REFUSED(PAWL_MISUSE,
                  pawl_task_add_batch(lab->pawl, &asks[0].known, 2, lab->keep, added, &lab->err));
    struct {
        struct pawl_change known;
        void *later;
    } change = {.known = {.size = sizeof change}, .later = lab};
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_cancel(lab->pawl, added[0].id, false, &change.known, &lab->err));
    change.later = NULL;
    check_ok(lab, pawl_task_cancel(lab->pawl, added[0].id, false, &change.known, &lab->err));
    change.known.size = PAWL_OPTIONS_BYTES_MAX + 1; /* no size: nothing is read there */
    CHECK_REFUSED(PAWL_MISUSE,
                  pawl_task_cancel(lab->pawl, added[1].id, false, &change.known, &lab->err));
}

TEST_SQLITE("a length without bytes is INVALID, a list without members and a world without clocks MISUSE, by their names")
{
#define REFUSES_AS(code, field, call)                                             \
    do {                                                                          \
        CHECK_REFUSED((code), (call));                                            \
        if (strncmp(lab->err.text, field, strlen(field)) != 0) FAIL("%s", lab->err.text); \
    } while (0)
#define REFUSES(field, call) REFUSES_AS(PAWL_INVALID, field, call)
    const struct pawl_str nothing = {NULL, 5};
    const struct pawl_listener deaf = {0};
    const struct pawl_env no_world = {0};
    struct pawl *pawl = NULL;
    struct pawl_options options = lab_options(lab);
    options.listener_count = 1;
    REFUSES_AS(PAWL_MISUSE, "listeners: ", pawl_open(&pawl, &options, &lab->err));
    options.listeners = &deaf;
    REFUSES_AS(PAWL_MISUSE, "listeners[0]: ", pawl_open(&pawl, &options, &lab->err));
    options = lab_options(lab);
    options.env = &no_world;
    REFUSES_AS(PAWL_MISUSE, "env: ", pawl_open(&pawl, &options, &lab->err));
    options = lab_options(lab);
    options.correlation_id = nothing;
    REFUSES("correlation_id: ", pawl_open(&pawl, &options, &lab->err));
    CHECK(pawl == NULL);

    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.priority = 20));
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_added added;
    struct pawl_task task;
    struct pawl_claimed claimed;
    struct pawl_renewal renewal;
    REFUSES("id: ", pawl_task_add(lab->pawl, NEW(.id = nothing), lab->keep, &added, &lab->err));
    REFUSES("queue: ", pawl_task_add(lab->pawl, NEW(.queue = nothing), lab->keep, &added, &lab->err));
    REFUSES("key: ", pawl_task_add(lab->pawl, NEW(.key = nothing), lab->keep, &added, &lab->err));
    REFUSES("input: ", pawl_task_add(lab->pawl, NEW(.input = nothing), lab->keep, &added, &lab->err));
    REFUSES("goal: ", pawl_task_add(lab->pawl, NEW(.goal = nothing), lab->keep, &added, &lab->err));
    REFUSES("title: ", pawl_task_add(lab->pawl, NEW(.title = nothing), lab->keep, &added, &lab->err));
    REFUSES("metadata: ", pawl_task_add(lab->pawl, NEW(.metadata = nothing), lab->keep, &added, &lab->err));
    REFUSES("correlation_id: ", pawl_task_add(lab->pawl, NEW(.correlation_id = nothing), lab->keep, &added, &lab->err));
    REFUSES("actor: ", pawl_task_add(lab->pawl, NEW(.actor = nothing), lab->keep, &added, &lab->err));
    REFUSES_AS(PAWL_MISUSE, "depends_on: ",
               pawl_task_add(lab->pawl, NEW(.depends_on_count = 1), lab->keep, &added, &lab->err));
    REFUSES("depends_on: ", pawl_task_add(lab->pawl, NEW(.depends_on = &nothing, .depends_on_count = 1), lab->keep,
                                          &added, &lab->err));
    REFUSES("worker_id: ", pawl_task_claim(lab->pawl, CLAIM(.worker_id = nothing), lab->keep, &claimed, &lab->err));
    REFUSES("queue", pawl_task_claim(lab->pawl, CLAIM(.worker_id = PAWL_STR("w"), .queues = &nothing, .queue_count = 1),
                                     lab->keep, &claimed, &lab->err));
    REFUSES("request_id: ", pawl_task_claim(lab->pawl, CLAIM(.worker_id = PAWL_STR("w"), .request_id = nothing),
                                            lab->keep, &claimed, &lab->err));
    REFUSES("task_id: ", pawl_task_get(lab->pawl, nothing, false, lab->keep, &task, &lab->err));
    REFUSES("task_id: ", pawl_task_cancel(lab->pawl, nothing, false, NULL, &lab->err));
    REFUSES("result: ", pawl_task_complete(lab->pawl, id, nothing, CHANGE(.fence = &fence), &lab->err));
    REFUSES("error: ", pawl_task_fail(lab->pawl, id, FAILURE(.error = nothing), CHANGE(.fence = &fence), &lab->err));
    REFUSES("reason: ", pawl_task_cancel(lab->pawl, id, false, CHANGE(.reason = nothing), &lab->err));
    REFUSES("line: ", pawl_task_log(lab->pawl, id, nothing, CHANGE(.fence = &fence), &lab->err));
    fence.owner = nothing;
    REFUSES("fence: owner", pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    fence.task_id = nothing;
    REFUSES("fence: task_id", pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
#undef REFUSES
#undef REFUSES_AS
}

TEST_SQLITE("pointers that are needed and not given are MISUSE")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl *pawl = lab->pawl;
    struct pawl_arena *keep = lab->keep;
    struct pawl_error *err = &lab->err;
    struct pawl_added added;
    struct pawl_claimed claimed;
    struct pawl_grant grant;
    struct pawl_task task;
    struct pawl_events events;
    struct pawl_renewal renewal;
    struct pawl_fence fence = {id, W, 1};
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_add(pawl, NULL, keep, &added, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_add(pawl, NEW(), NULL, &added, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_add(pawl, NEW(), keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_add(pawl, NEW(.depends_on_count = 1), keep, &added, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_claim(pawl, NULL, keep, &claimed, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_claim(pawl, CLAIM(.worker_id = W), NULL, &claimed, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_claim(pawl, CLAIM(.worker_id = W), keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_claim(pawl, CLAIM(.worker_id = W, .queue_count = 1), keep,
                                               &claimed, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_start(pawl, id, NULL, keep, &grant, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_start(pawl, id, CLAIM(.worker_id = W), keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_lease_renew(pawl, NULL, 1, 0, &renewal, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_lease_renew(pawl, &fence, 1, 0, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_release(pawl, id, 0, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_release(pawl, id, 0, CHANGE(.actor = W), err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_get(pawl, id, false, NULL, &task, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_get(pawl, id, false, keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_list(pawl, NULL, keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_consumer_read(pawl, W, 0, 0, keep, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_consumer_read(pawl, W, 0, 0, NULL, &events, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_dead_redrive(pawl, NULL, NULL, err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_queue_set(pawl, NULL, err));
    check_ok(lab, pawl_lease_renew(pawl, NULL, 0, 0, NULL, err)); /* none is none */
    CHECK_REFUSED(PAWL_INVALID, pawl_task_queue(pawl, NO_TEXT, NULL, err));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_task_queue(pawl, W, NULL, NULL));
    CHECK_TEXT("created queued", lab_told(lab, id));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

TEST_SQLITE("pawl_step is for driven handles")
{
    lab_open_real(lab);
    CHECK_REFUSED(PAWL_MISUSE, pawl_step(lab->pawl, NULL, &lab->err));
}

TEST_EACH_STORE("what fails leaves its outputs alone")
{
    lab_open(lab);
    struct pawl_added added = {.existed = true};
    struct pawl_claimed claimed = {.count = 7};
    struct pawl_grant grant = {.attempt = 7};
    struct pawl_renewal renewal = {.lease_ms = 7};
    struct pawl_task task = {.version = 7};
    struct pawl_fence fence = {W, W, 0};
    int64_t count = 7;
    bool is_first = true;
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add(lab->pawl, NEW(.priority = 500), lab->keep, &added, &lab->err));
    CHECK(added.existed && added.id.len == 0);
    CHECK_REFUSED(PAWL_INVALID, pawl_task_claim(lab->pawl, CLAIM(.max = -1, .worker_id = W),
                                                lab->keep, &claimed, &lab->err));
    CHECK_EQ(7, claimed.count);
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_task_start(lab->pawl, W, CLAIM(.worker_id = W), lab->keep,
                                                  &grant, &lab->err));
    CHECK_EQ(7, grant.attempt);
    CHECK_REFUSED(PAWL_INVALID, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    CHECK_EQ(7, renewal.lease_ms);
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_task_get(lab->pawl, W, true, lab->keep, &task, &lab->err));
    CHECK_EQ(7, task.version);
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_dead_redrive(lab->pawl, REDRIVE(.max = -1), &count, &lab->err));
    CHECK_EQ(7, count);
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_consumer_acknowledge(lab->pawl, W, W, &is_first, &lab->err));
    CHECK(is_first);
    CHECK_CODE(PAWL_NOT_FOUND, lab->err.code);
}

/* ---- Driving ---- */

TEST_EACH_STORE(
    "a driven handle does what has come due in its step, and tells when the next is due")
{
    lab_open(lab);
    int64_t at_boot_ms = 0;
    check_ok(lab, pawl_step(lab->pawl, &at_boot_ms, &lab->err));
    CHECK_EQ(INT64_MAX, at_boot_ms);
    struct pawl_str id = lab_add(lab, NEW(.delay_ms = 4000));
    check_ok(lab, pawl_step(lab->pawl, &at_boot_ms, &lab->err));
    CHECK_NEAR(4000, at_boot_ms - atomic_load(&lab->world.boot_ms),
               lab->store == LAB_SQLITE ? 0 : 1000);
    CHECK(lab_get(lab, id).next_retry_at_ms != 0);
    CHECK_EQ(0, lab_list(lab, LIST(.is_ready = true)).count);
    lab_pass(lab, 4000);
    CHECK_EQ(1, lab_list(lab, LIST(.is_ready = true)).count);
    check_ok(lab, pawl_step(lab->pawl, &at_boot_ms, NULL));
    CHECK_EQ(INT64_MAX, at_boot_ms);
    check_ok(lab, pawl_step(lab->pawl, NULL, NULL));
}

TEST_EACH_STORE("a driven handle does not wait: an empty claim returns at once")
{
    lab_open(lab);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W, .wait_ms = PAWL_WAIT_MS_MAX)).count);
    struct pawl_events events;
    check_ok(lab,
             pawl_consumer_read(lab->pawl, W, 0, PAWL_WAIT_MS_MAX, lab->keep, &events, &lab->err));
    CHECK_EQ(0, events.count);
}

TEST_EACH_STORE("a driven handle's descriptor becomes readable when another handle has committed")
{
    lab_open(lab);
    (void)lab_add(lab, NEW());
    struct pawl_options options = lab_options(lab);
    struct pawl *other = lab_handle(lab, &options);
    check_ok(lab, pawl_step(lab->pawl, NULL, &lab->err)); /* what has been rung is heard */
    struct pollfd wait = {.fd = pawl_wait_fd(lab->pawl), .events = POLLIN};
    CHECK(wait.fd >= 0);
    CHECK_EQ(0, poll(&wait, 1, 0));
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(), lab->keep, &added, &lab->err));
    CHECK_EQ(1, poll(&wait, 1, 10000));
    pawl_close(other);
}

/* ---- Two on one store ---- */

struct worker {
    pthread_t thread;
    struct pawl *pawl;
    int done;
    enum pawl_code code;
    char text[PAWL_ERROR_TEXT_BYTES_MAX + 1];
};

/* Claims and completes until nothing is left. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct pawl_arena *keep = NULL;
    struct pawl_error err = {0};
    char name[32];
    (void)snprintf(name, sizeof name, "w-%p", argument);
    worker->code = pawl_arena_open(&keep, 0);
    while (worker->code == PAWL_OK) {
        struct pawl_claimed claimed = {0};
        pawl_arena_reset(keep);
        worker->code = pawl_task_claim(
            worker->pawl, CLAIM(.worker_id = pawl_str_of(name), .max = 3), keep, &claimed, &err);
        if (worker->code != PAWL_OK || claimed.count == 0) break;
        for (size_t i = 0; i < claimed.count && worker->code == PAWL_OK; i++) {
            const struct pawl_fence *fence = &claimed.grants[i].fence;
            worker->code = pawl_task_complete(worker->pawl, fence->task_id, PAWL_STR("1"),
                                              CHANGE(.fence = fence), &err);
            worker->done++;
        }
    }
    memcpy(worker->text, err.text, sizeof err.text);
    pawl_arena_close(keep);
    return NULL;
}

TEST_EACH_STORE("two handles with threads and four workers on one store share out every task once")
{
    enum { TASKS = 120, WORKERS = 4 };
    lab_open_real(lab);
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, TASKS, sizeof *asks);
    for (int i = 0; i < TASKS; i++) asks[i] = *NEW();
    struct pawl_added *added = lab_add_batch(lab, asks, TASKS);
    struct worker workers[WORKERS] = {0};
    for (int i = 0; i < WORKERS; i++) {
        workers[i].pawl = i % 2 == 0 ? lab->pawl : other;
        CHECK_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    int done = 0;
    for (int i = 0; i < WORKERS; i++) {
        CHECK_EQ(0, pthread_join(workers[i].thread, NULL));
        if (workers[i].code != PAWL_OK) FAIL("%s", workers[i].text);
        done += workers[i].done;
    }
    CHECK_EQ(TASKS, done);
    for (int i = 0; i < TASKS; i++) {
        struct pawl_task task = lab_get(lab, added[i].id);
        CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
        CHECK_EQ(1, task.epoch);
    }
    pawl_close(other);
}

/* ---- Turns ---- */

/* Lets a lease's time pass while the other waits for the turn, then gives the turn up. */
static void *let_time_pass(void *argument)
{
    struct lab *lab = argument;
    (void)poll(NULL, 0, 20);
    atomic_fetch_add(&lab->world.boot_ms, 61 * SECOND_MS);
    lab_let_go(lab);
    return NULL;
}

TEST_SQLITE("D-17 time is read after the turn is there: a lease that ended meanwhile is lost")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    pthread_t holder;
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    CHECK_EQ(0, pthread_create(&holder, NULL, let_time_pass, lab));
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("1"),
                                                      CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(0, pthread_join(holder, NULL));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_EQ(1, lab_get(lab, id).retries);
}

TEST_EACH_STORE(
    "D-11 D-13 while another process holds the store reads go on, and a change is BUSY after 5 s")
{
    lab_open_real(lab);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_EQ(1, lab_list(lab, LIST(.limit = 0)).count);
    CHECK_REFUSED(PAWL_BUSY, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
    CHECK(pawl_code_repeats(PAWL_BUSY));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    lab_let_go(lab);
    check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
    CHECK_TEXT("created queued paused", lab_told(lab, id));
}

/* ---- The disk ---- */

/* Counts the syncs of every write-ahead log that SQLite opens from now on. */
static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *below;
    sqlite3_io_methods methods;
    const sqlite3_io_methods *methods_below;
    _Atomic int count;
} syncs;

static int count_sync(sqlite3_file *file, int flags)
{
    atomic_fetch_add(&syncs.count, 1);
    return syncs.methods_below->xSync(file, flags);
}

static int open_counted(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs; /* only ever ours */
    int got = syncs.below->xOpen(syncs.below, name, file, flags, out);
    bool is_log = (flags & SQLITE_OPEN_WAL) != 0;
    if (got != SQLITE_OK || file->pMethods == NULL || !is_log) return got;
    syncs.methods_below = file->pMethods; /* the same for every log */
    syncs.methods = *file->pMethods;
    syncs.methods.xSync = count_sync;
    file->pMethods = &syncs.methods;
    return got;
}

TEST_SQLITE("what has no handle or no sense is refused, or does nothing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_REFUSED(PAWL_MISUSE, pawl_task_cancel(lab->pawl, id, true, CHANGE(.is_forced = true), &lab->err));
    CHECK(strstr(lab->err.text, "is_forced") != NULL);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK(pawl_execution_has_stopped(NULL));
    pawl_stop_waiting(NULL);
}

TEST_SQLITE("D-18 every change that was acknowledged has been synced, one by one")
{
    syncs.below = sqlite3_vfs_find(NULL);
    syncs.vfs = *syncs.below;
    syncs.vfs.zName = "counted";
    syncs.vfs.xOpen = open_counted;
    CHECK_EQ(SQLITE_OK, sqlite3_vfs_register(&syncs.vfs, 1));
    lab_open(lab);
    for (int i = 0; i < 5; i++) {
        int before = atomic_load(&syncs.count);
        (void)lab_add(lab, NEW());
        CHECK(atomic_load(&syncs.count) > before);
    }
    CHECK_EQ(SQLITE_OK, sqlite3_vfs_register(syncs.below, 1));
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    CHECK_EQ(SQLITE_OK, sqlite3_vfs_unregister(&syncs.vfs));
}

/* ---- Closing ---- */

struct waiter {
    pthread_t thread;
    struct pawl *pawl;
    struct pawl_arena *keep;
    bool consumes; /* reads as a consumer instead of claiming */
    enum pawl_code code;
};

static void *wait_for_it(void *argument)
{
    struct waiter *waiter = argument;
    struct pawl_claimed claimed;
    struct pawl_events events;
    if (waiter->consumes) {
        waiter->code = pawl_consumer_read(waiter->pawl, PAWL_STR("c"), 1, PAWL_WAIT_MS_MAX,
                                          waiter->keep, &events, NULL);
    } else {
        waiter->code =
            pawl_task_claim(waiter->pawl, CLAIM(.worker_id = W, .wait_ms = PAWL_WAIT_MS_MAX),
                            waiter->keep, &claimed, NULL);
    }
    return NULL;
}

TEST_EACH_STORE("closing answers the calls that wait with BUSY, and takes no time")
{
    enum { WAITERS = 4 };
    lab_open_real(lab);
    struct waiter waiters[WAITERS] = {0};
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){.pawl = lab->pawl, .consumes = i % 2 == 1};
        CHECK_OK(pawl_arena_open(&waiters[i].keep, 0), NULL);
        CHECK_EQ(0, pthread_create(&waiters[i].thread, NULL, wait_for_it, &waiters[i]));
    }
    (void)poll(NULL, 0, 50); /* most will wait by then; those that do not are BUSY all the same */
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(0, pthread_join(waiters[i].thread, NULL));
        CHECK_CODE(PAWL_BUSY, waiters[i].code);
        pawl_arena_close(waiters[i].keep);
    }
}

TEST_EACH_STORE("closing and opening again and again leaves nothing behind")
{
    for (int i = 0; i < 10; i++) {
        lab_open_real(lab);
        (void)lab_add(lab, NEW());
        pawl_close(lab->pawl);
        lab->pawl = NULL;
    }
    lab_open(lab);
    CHECK_EQ(10, lab_list(lab, LIST(.limit = 0)).count);
}

TEST_EACH_STORE(
    "T-026 an expected version that never matches is CONFLICT each time, without a write")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    for (int i = 0; i < 5; i++) {
        CHECK_REFUSED(PAWL_CONFLICT, pawl_task_progress(lab->pawl, id, 5,
                                                        CHANGE(.expected_version = 9), &lab->err));
    }
    CHECK_EQ(1, lab_get(lab, id).version);
    CHECK_NEAR(0, lab_get(lab, id).progress, 0);
    CHECK_TEXT("created", lab_told(lab, id));
}

struct bumper {
    pthread_t thread;
    struct pawl *pawl;
    struct pawl_str id;
    enum pawl_code code;
    char text[PAWL_ERROR_TEXT_BYTES_MAX + 1];
};

static void *bump(void *argument)
{
    struct bumper *bumper = argument;
    struct pawl_error err = {0};
    for (int i = 0; i < 30 && bumper->code == PAWL_OK; i++) {
        bumper->code = pawl_task_progress(bumper->pawl, bumper->id, i, NULL, &err);
    }
    memcpy(bumper->text, err.text, sizeof err.text);
    return NULL;
}

TEST_EACH_STORE("T-026 two nodes that change one row race for it, and neither is shown a CONFLICT")
{
    lab_open_real(lab);
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    struct bumper bumpers[] = {{.pawl = lab->pawl, .id = id}, {.pawl = other, .id = id}};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(0, pthread_create(&bumpers[i].thread, NULL, bump, &bumpers[i]));
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(0, pthread_join(bumpers[i].thread, NULL));
        if (bumpers[i].code != PAWL_OK) FAIL("%s", bumpers[i].text);
    }
    CHECK_EQ(61, lab_get(lab, id).version);
    pawl_close(other);
}

TEST_EACH_STORE(
    "T-033 a wrong expected version is CONFLICT without a write; renewals do not change it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    int64_t version = lab_get(lab, id).version;
    for (int i = 0; i < 3; i++) {
        struct pawl_renewal renewal;
        check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    }
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_task_complete(lab->pawl, id, NO_TEXT,
                                     CHANGE(.fence = &fence, .expected_version = version - 1),
                                     &lab->err));
    CHECK(strstr(lab->err.text, "version") != NULL);
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    check_ok(lab,
             pawl_task_complete(lab->pawl, id, NO_TEXT,
                                CHANGE(.fence = &fence, .expected_version = version), &lab->err));
}

TEST_MAIN()
