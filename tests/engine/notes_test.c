/* What is said on the way: checkpoints, log lines, progress. None of it makes history. */
#include "base/arena.h"
#include "stores.h"

#include <stdio.h>
#include <string.h>

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static void checkpoint(struct lab *lab, struct pawl_str id, int32_t step, const char *state)
{
    check_ok(lab, pawl_task_checkpoint(lab->pawl, id, step, pawl_str_of(state), NULL, &lab->err));
}

static struct pawl_checkpoints checkpoints(struct lab *lab, struct pawl_str id)
{
    struct pawl_checkpoints all;
    check_ok(lab, pawl_task_checkpoints(lab->pawl, id, lab->keep, &all, &lab->err));
    return all;
}

TEST_EACH_STORE("T-017 of two checkpoints the latest restores the second, its id the first")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    checkpoint(lab, id, 5, "{\"a\": 1.0}");
    checkpoint(lab, id, 2, "{\"b\": [9007199254740993]}"); /* steps need not grow */
    struct pawl_checkpoint got;
    check_ok(lab, pawl_task_restore(lab->pawl, id, NO_TEXT, lab->keep, &got, &lab->err));
    CHECK_EQ(2, got.step);
    CHECK_STR("{\"b\": [9007199254740993]}", got.state);
    struct pawl_checkpoints all = checkpoints(lab, id);
    CHECK_EQ(2, all.count);
    CHECK_EQ(5, all.checkpoints[0].step);
    check_ok(lab,
             pawl_task_restore(lab->pawl, id, all.checkpoints[0].id, lab->keep, &got, &lab->err));
    CHECK_EQ(5, got.step);
    CHECK_STR("{\"a\": 1.0}", got.state);
    CHECK_EQ(36, got.id.len);
    CHECK_TEXT("created", lab_told(lab, id));
    CHECK_EQ(3, lab_get(lab, id).version);
}

TEST_EACH_STORE("T-017 a checkpoint tells its id, by which it is found; a refused one tells none")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    for (int32_t step = 1; step <= 2; step++) {
        char made[PAWL_CHECKPOINT_ID_BYTES + 1] = "";
        struct pawl_checkpoint got;
        check_ok(lab, pawl_task_checkpoint(lab->pawl, id, step, PAWL_STR("{}"),
                                           CHANGE(.checkpoint_id = made), &lab->err));
        check_ok(lab, pawl_task_restore(lab->pawl, id, pawl_str_of(made), lab->keep, &got, &lab->err));
        CHECK_EQ(step, got.step);
        CHECK_STR(made, got.id);
    }
    char untouched[PAWL_CHECKPOINT_ID_BYTES + 1] = "none";
    CHECK_REFUSED(PAWL_CONFLICT, pawl_task_checkpoint(lab->pawl, id, 3, PAWL_STR("{}"),
                                                      CHANGE(.checkpoint_id = untouched, .expected_version = 99),
                                                      &lab->err));
    CHECK_TEXT("none", untouched);
}

TEST_EACH_STORE("T-018 a checkpoint and a completion from PENDING survive reopening")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true, .title = PAWL_STR("Kept")));
    checkpoint(lab, id, 1, "{}");
    check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("1"), NULL, &lab->err));
    lab_reopen(lab);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_STR("Kept", task.title);
    CHECK_STR("1", task.result);
    CHECK_EQ(1, checkpoints(lab, id).count);
}

TEST_EACH_STORE("T-019 restoring without checkpoints is STATE, with an unknown id NOT_FOUND")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_str other = lab_add(lab, NEW());
    checkpoint(lab, other, 1, "{}");
    struct pawl_str others = checkpoints(lab, other).checkpoints[0].id;
    struct pawl_checkpoint got = {.step = 77};
    int64_t version = lab_get(lab, id).version;
    CHECK_REFUSED(PAWL_STATE,
                  pawl_task_restore(lab->pawl, id, NO_TEXT, lab->keep, &got, &lab->err));
    CHECK_REFUSED(PAWL_STATE, /* whatever id is asked for */
                  pawl_task_restore(lab->pawl, id, PAWL_STR("x"), lab->keep, &got, &lab->err));
    CHECK_REFUSED(PAWL_STATE,
                  pawl_task_restore(lab->pawl, id, others, lab->keep, &got, &lab->err));
    checkpoint(lab, id, 1, "{}");
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_task_restore(lab->pawl, id, PAWL_STR("x"), lab->keep, &got, &lab->err));
    CHECK_REFUSED(PAWL_NOT_FOUND, /* another task's */
                  pawl_task_restore(lab->pawl, id, others, lab->keep, &got, &lab->err));
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_task_restore(lab->pawl, PAWL_STR("nobody"), NO_TEXT,
                                                    lab->keep, &got, &lab->err));
    CHECK_EQ(77, got.step);
    CHECK_EQ(version + 1, lab_get(lab, id).version);
    CHECK_TEXT("created queued", lab_told(lab, id));
}

TEST_EACH_STORE(
    "D-30 the newest 64 checkpoints are kept, their ids are UUIDs, and a claim gets the latest")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    for (int step = 1; step <= 66; step++) {
        char state[32];
        (void)snprintf(state, sizeof state, "{\"step\":%d}", step);
        checkpoint(lab, id, step, state);
    }
    struct pawl_checkpoints all = checkpoints(lab, id);
    CHECK_EQ(64, all.count);
    CHECK_EQ(3, all.checkpoints[0].step);
    CHECK_EQ(66, all.checkpoints[63].step);
    for (size_t i = 1; i < all.count; i++) {
        CHECK(!pawl_str_equal(all.checkpoints[i - 1].id, all.checkpoints[i].id));
    }
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w")));
    CHECK_STR("{\"step\":66}", claimed.grants[0].checkpoint);
    CHECK_EQ(66, claimed.grants[0].checkpoint_step);
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_checkpoint(lab->pawl, id, -1, PAWL_STR("{}"),
                                       CHANGE(.fence = &claimed.grants[0].fence), &lab->err));
}

TEST_EACH_STORE("a checkpoint carries the epoch that saved it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_checkpoint(lab->pawl, id, 1, PAWL_STR("1"), CHANGE(.fence = &fence),
                                       &lab->err));
    CHECK_EQ(1, checkpoints(lab, id).checkpoints[0].epoch);
}

/* ---- Logs ---- */

TEST_EACH_STORE(
    "log lines come back in order, with a cursor, and change neither version nor history")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    int64_t version = lab_get(lab, id).version;
    for (int i = 0; i < 5; i++) {
        struct pawl_str line = pawl_arena_format(lab->keep, "line %d", i);
        check_ok(lab, pawl_task_log(lab->pawl, id, line, CHANGE(.fence = &fence), &lab->err));
    }
    struct pawl_log_lines lines;
    check_ok(lab, pawl_task_logs(lab->pawl, id, 0, 2, lab->keep, &lines, &lab->err));
    CHECK_EQ(2, lines.count);
    CHECK_STR("line 0", lines.lines[0].text);
    CHECK_EQ(1, lines.lines[0].epoch);
    check_ok(lab, pawl_task_logs(lab->pawl, id, lines.lines[1].number, 10, lab->keep, &lines,
                                 &lab->err));
    CHECK_EQ(3, lines.count);
    CHECK_STR("line 2", lines.lines[0].text);
    CHECK_STR("line 4", lines.lines[2].text);
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_TEXT("created queued started", lab_told(lab, id));
}

TEST_EACH_STORE("a log line needs no fence, but one that is given has to be the current one")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_fence stale = fence;
    stale.epoch = 7;
    check_ok(lab, pawl_task_log(lab->pawl, id, PAWL_STR("a"), NULL, &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_log(lab->pawl, id, PAWL_STR("b"), CHANGE(.fence = &stale), &lab->err));
    struct pawl_log_lines lines;
    check_ok(lab, pawl_task_logs(lab->pawl, id, 0, 0, lab->keep, &lines, &lab->err));
    CHECK_EQ(1, lines.count);
}

TEST_EACH_STORE("a log holds at most 1 MiB; the oldest lines go")
{
    enum { LINES = 20, KEPT = 15 }; /* each counts a little more than its text */
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    for (int i = 0; i < LINES; i++) {
        struct pawl_str line = lab_text(lab, PAWL_LOG_LINE_BYTES_MAX, (char)('a' + i));
        check_ok(lab, pawl_task_log(lab->pawl, id, line, NULL, &lab->err));
    }
    struct pawl_log_lines lines;
    check_ok(lab, pawl_task_logs(lab->pawl, id, 0, 100, lab->keep, &lines, &lab->err));
    CHECK_EQ(KEPT, lines.count);
    CHECK_EQ('a' + LINES - KEPT, lines.lines[0].text.ptr[0]);
    CHECK_EQ('a' + LINES - 1, lines.lines[KEPT - 1].text.ptr[0]);
    /* a short one fits beside them: fifteen of the largest leave a little room */
    check_ok(lab, pawl_task_log(lab->pawl, id, PAWL_STR("short"), NULL, &lab->err));
    check_ok(lab, pawl_task_logs(lab->pawl, id, 0, 100, lab->keep, &lines, &lab->err));
    CHECK_EQ(KEPT + 1, lines.count);
    CHECK_STR("short", lines.lines[KEPT].text);
}

/* ---- Progress ---- */

TEST_EACH_STORE("progress is clamped to 0 and 100, and told of at most once a second")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_task_progress(lab->pawl, id, -5, NULL, &lab->err));
    CHECK_NEAR(0, lab_get(lab, id).progress, 0);
    CHECK_TEXT("created", lab_told(lab, id)); /* the same number again is no news */
    CHECK_EQ(2, lab_get(lab, id).version);
    check_ok(lab, pawl_task_progress(lab->pawl, id, 150, NULL, &lab->err));
    CHECK_NEAR(100, lab_get(lab, id).progress, 0);
    CHECK_TEXT("created progress", lab_told(lab, id));
    CHECK_EQ(PAWL_TASK_PENDING, lab_get(lab, id).state);
    check_ok(lab, pawl_task_progress(lab->pawl, id, 20, NULL, &lab->err));
    CHECK_TEXT("created progress", lab_told(lab, id));
    CHECK_NEAR(20, lab_get(lab, id).progress, 0);
    lab_pass(lab, 1000);
    check_ok(lab, pawl_task_progress(lab->pawl, id, 30.25, CHANGE(.reason = PAWL_STR("a third")),
                                     &lab->err));
    CHECK_TEXT("created progress progress", lab_told(lab, id));
    CHECK_NEAR(30.25, lab_last(lab, id).progress, 0);
    CHECK(pawl_str_has(lab_last(lab, id).detail, PAWL_STR("a third")));
    CHECK_STR("", lab_last(lab, id).action); /* no history */
}

TEST_EACH_STORE("D-20 progress that is no number is INVALID and changes nothing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    double zero = 0.0;
    int64_t version = lab_get(lab, id).version;
    CHECK_REFUSED(PAWL_INVALID, pawl_task_progress(lab->pawl, id, zero / zero, NULL, &lab->err));
    CHECK_EQ(version, lab_get(lab, id).version);
}

TEST_MAIN()
