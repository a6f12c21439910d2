/* Recovery of supervised leases: fenced first, given back once the work is proved to have stopped.
 */
#include "base/arena.h"
#include "engine/place.h"
#include "stores.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define W PAWL_STR("w")
enum { LEASE_MS = 10 * 1000 };

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* One task, claimed under a supervised lease. */
static struct pawl_grant claim_supervised(struct lab *lab, const struct pawl_task_new *ask)
{
    (void)lab_add(lab, ask);
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = W, .lease_ms = LEASE_MS, .is_supervised = true));
    CHECK_EQ(1, claimed.count);
    return claimed.grants[0];
}

static struct pawl_execution *begin(struct lab *lab, const struct pawl_fence *fence)
{
    struct pawl_execution *execution = NULL;
    check_ok(lab, pawl_execution_begin(lab->pawl, fence, &execution, &lab->err));
    return execution;
}

static void end(struct pawl_execution *execution)
{
    CHECK(pawl_execution_has_stopped(execution));
    pawl_execution_close(execution);
}

TEST_EACH_STORE(
    "T-107 T-036 D-29 a lost task waits while its execution's lock is held, whatever its "
    "pid says, and comes back once it is free")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_str id = grant.fence.task_id;
    CHECK(lab_get(lab, id).is_supervised);
    struct pawl_execution *execution = begin(lab, &grant.fence);
    (void)lab_sql(lab, "UPDATE worker SET pid = 2147483647"); /* nobody's */

    lab_pass(lab, LEASE_MS);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK_EQ(grant.fence.epoch, task.epoch);
    CHECK_STR("w", task.owner);
    CHECK_EQ(0, task.lease_end_at_ms);
    CHECK_EQ(0, task.retries);
    CHECK(pawl_str_has(task.recovery_note, PAWL_STR("its work goes on")));
    CHECK(task.recovery_look_at_ms > 0);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, NO_TEXT,
                                                      CHANGE(.fence = &grant.fence), &lab->err));

    int64_t version = task.version;
    lab_pass(lab, 60 * SECOND_MS); /* however long it takes */
    lab_pass(lab, 600 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, id).state);
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_TEXT("created queued started recovery_pending updated",
               lab_told(lab, id)); /* one note, not one a look */
    CHECK_STR("recovery_pending", lab_last(lab, id).action);
    CHECK(!lab_last(lab, id).success); /* it waits */

    end(execution);
    lab_pass(lab, 300 * SECOND_MS);
    task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(grant.fence.epoch + 1, task.epoch);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(1, task.recoveries);
    CHECK_EQ(0, task.owner.len);
    CHECK_EQ(0, task.recovery_note.len);
    CHECK(!task.is_supervised);
    CHECK_STR("recovery_requeued", lab_last(lab, id).action);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_SQLITE(
    "T-110 a client-held lease is fenced, charged and claimed anew in the very step of its end")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    (void)lab_claim(lab, CLAIM(.worker_id = W, .lease_ms = LEASE_MS));
    atomic_fetch_add(&lab->world.boot_ms, LEASE_MS - 1);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    atomic_fetch_add(&lab->world.boot_ms, 1);
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W));
    CHECK_EQ(1, claimed.count);
    CHECK_EQ(2, claimed.grants[0].attempt);
    CHECK_TEXT("created queued started recovery_pending queued started", lab_told(lab, id));
}

TEST_EACH_STORE(
    "T-110 start by id of an ended supervised lease is STATE until its work has stopped")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_str id = grant.fence.task_id;
    struct pawl_grant again;
    end(begin(lab, &grant.fence));
    struct pawl_execution *execution = begin(lab, &grant.fence);
    lab_pass(lab, LEASE_MS);
    CHECK_REFUSED(PAWL_STATE, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("other")),
                                              lab->keep, &again, &lab->err));
    end(execution);
    lab_pass(lab, 5 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_TEXT("created queued started recovery_pending updated queued", lab_told(lab, id));
}

TEST_EACH_STORE(
    "T-107 T-108 an execution that was never begun counts as stopped, though its process lives; "
    "begun too late it is refused")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    char pid[32];
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    CHECK_TEXT(
        pid,
        lab_sql(lab, "SELECT pid FROM worker")); /* whoever recovers has the very pid of the row */
    (void)lab_sql(lab, "UPDATE worker SET started_at_ms = started_at_ms - 1000000"); /* another's */
    struct pawl_execution *execution = NULL;
    lab_pass(lab, LEASE_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, grant.fence.task_id).state);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_execution_begin(lab->pawl, &grant.fence, &execution, &lab->err));
    CHECK(execution == NULL);
}

TEST_EACH_STORE("an execution is begun once: the second one is told that the lock is held")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_execution *execution = begin(lab, &grant.fence);
    struct pawl_execution *second = NULL;
    CHECK(pawl_execution_fd(execution) >= 0);
    CHECK_REFUSED(PAWL_CONFLICT, pawl_execution_begin(lab->pawl, &grant.fence, &second, &lab->err));
    end(execution);
    struct pawl_fence wrong = grant.fence;
    wrong.owner = PAWL_STR("somebody else");
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_execution_begin(lab->pawl, &wrong, &second, &lab->err));
    wrong = grant.fence;
    wrong.epoch++;
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_execution_begin(lab->pawl, &wrong, &second, &lab->err));
}

/* ---- Workers in processes of their own ---- */

struct worker_process {
    pid_t pid;
    struct {
        pid_t command; /* 0 = it does the work itself */
        int64_t epoch;
    } told;
};
static int worker_pipe[2];

/* Claims one task, begins its work, tells of it, and goes on until it is killed. */
static int work_until_killed(struct lab *lab, int has_command)
{
    struct pawl_options options = lab_options(lab);
    struct pawl *pawl = NULL;
    struct pawl_claimed claimed;
    struct pawl_execution *execution = NULL;
    struct worker_process self = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it goes with the test, however that ends */
    lab->world.random ^= (uint64_t)getpid() << 20;
    if (pawl_open(&pawl, &options, NULL) != PAWL_OK) return 1;
    struct pawl_claim *ask = CLAIM(.worker_id = W, .lease_ms = LEASE_MS, .is_supervised = true);
    if (pawl_task_claim(pawl, ask, lab->keep, &claimed, NULL) != PAWL_OK || claimed.count != 1) {
        return 2;
    }
    if (pawl_execution_begin(pawl, &claimed.grants[0].fence, &execution, NULL) != PAWL_OK) return 3;
    self.told.epoch = claimed.grants[0].fence.epoch;
    /* What does the work inherits the lock, and outlives its worker. */
    if (has_command) self.told.command = fork();
    bool is_worker = !has_command || self.told.command != 0;
    if (is_worker && write(worker_pipe[1], &self.told, sizeof self.told) < 0) return 4;
    for (;;) (void)pause();
}

static struct worker_process start_worker(struct lab *lab, bool has_command)
{
    struct worker_process worker;
    CHECK_EQ(0, pipe(worker_pipe));
    worker.pid = lab_fork(lab, work_until_killed, has_command);
    CHECK_EQ(0, close(worker_pipe[1]));
    CHECK_EQ((int64_t)sizeof worker.told,
             (int64_t)read(worker_pipe[0], &worker.told, sizeof worker.told));
    CHECK_EQ(0, close(worker_pipe[0]));
    return worker;
}

/* Kills it and waits until it is a zombie: dead, and its pid still there. */
static void kill_to_zombie(pid_t pid)
{
    siginfo_t info;
    CHECK_EQ(0, kill(pid, SIGKILL));
    CHECK_EQ(0, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
}

TEST_EACH_STORE(
    "T-036 T-107 D-09 the lock is the command's: with its worker killed it waits, with the "
    "command killed it is back, though both are zombies")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1)); /* so that the orphan's end can be waited for */
    struct worker_process worker = start_worker(lab, true);
    char pid[32];
    (void)snprintf(pid, sizeof pid, "%ld", (long)worker.pid);
    CHECK_TEXT(pid, lab_sql(lab, "SELECT pid FROM worker"));

    kill_to_zombie(worker.pid);
    lab_pass(lab, LEASE_MS);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, id).state);
    kill_to_zombie(worker.told.command);
    lab_pass(lab, 10 * SECOND_MS);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(worker.told.epoch + 1, task.epoch);
    CHECK_EQ(0, task.owner.len);
    CHECK_EQ(0, task.lease_end_at_ms);
    CHECK_EQ(-1, lab_wait(worker.pid));
    CHECK_EQ(-1, lab_wait(worker.told.command));
}

TEST_EACH_STORE(
    "T-107 B9 a supervised lease of another host is given back by expiry alone, and never before")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_execution *execution = begin(lab, &grant.fence);
    (void)lab_sql(lab, "UPDATE task SET lease_place = 'elsewhere@another boot'");
    (void)lab_sql(lab, "UPDATE worker SET boot = 'another boot', host = 'another host'");
    int64_t just_ms = lab->store == LAB_SQLITE ? 1 : LEASE_MS / 2; /* PostgreSQL's clock goes on */
    lab_pass(lab, LEASE_MS - just_ms);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, grant.fence.task_id).state);
    lab_pass(lab, just_ms);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, grant.fence.task_id).state);
    end(execution);
}

TEST_EACH_STORE(
    "T-107 B9 what was held before a reboot comes back, though its worker has claimed without "
    "supervision since")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    lab->world.env.boot_id = PAWL_STR("boot-2");
    lab_reopen(lab);
    (void)lab_add(lab, NEW());
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W, .request_id = PAWL_STR("r"))).count);
    lab_pass(lab, LEASE_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, grant.fence.task_id).state);
}

TEST_EACH_STORE("B9 a lock in another place of the same machine is not free because it cannot be "
                "seen from here")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    (void)lab_sql(lab, "UPDATE task SET lease_place = 'of another user@boot-1'");
    lab_pass(lab, LEASE_MS);
    struct pawl_task task = lab_get(lab, grant.fence.task_id);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK(pawl_str_has(task.recovery_note, PAWL_STR("another file of this machine")));
}

/* The file that the locks are in. */
static char *lock_file(struct lab *lab)
{
    static char path[LAB_PATH_BYTES_MAX + 32];
    if (lab->store == LAB_SQLITE) {
        (void)snprintf(path, sizeof path, "%s-locks/place", lab->target);
    } else {
        (void)snprintf(path, sizeof path, "%s/locks/place", lab->folder);
    }
    return path;
}

static void check_unknown(struct lab *lab, struct pawl_str id, const char *note)
{
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK(pawl_str_has(task.recovery_note, pawl_str_of(note)));
}

/* What somebody may do to the file while an execution has its lock in it. */
enum harm { REMOVED, MADE_ANEW, COPIED, CUT, HARM_COUNT };

static void do_harm(struct lab *lab, enum harm harm)
{
    char *path = lock_file(lab);
    char moved[LAB_PATH_BYTES_MAX + 64];
    char text[64];
    (void)snprintf(moved, sizeof moved, "%s.moved", path);
    if (harm == CUT) {
        CHECK_EQ(0, truncate(path, 0)); /* as a power cut may leave it */
        return;
    }
    CHECK_EQ(0, rename(path, moved));
    if (harm == COPIED) { /* as a restored backup of the folder: the same text */
        FILE *from = fopen(moved, "re");
        FILE *to = fopen(path, "we");
        CHECK(from != NULL && to != NULL);
        size_t len = fread(text, 1, sizeof text, from);
        CHECK(len > 0 && fwrite(text, 1, len, to) == len);
        CHECK_EQ(0, fclose(from) + fclose(to));
    }
    CHECK_EQ(0, unlink(moved));
    if (harm == MADE_ANEW) { /* by the next claim of the very worker that holds the lock */
        struct pawl_grant next = claim_supervised(lab, NEW());
        end(begin(lab, &next.fence));
        check_ok(lab, pawl_task_complete(lab->pawl, next.fence.task_id, NO_TEXT,
                                         CHANGE(.fence = &next.fence), &lab->err));
    }
}

TEST_EACH_STORE(
    "T-107 with the lock file removed, replaced, copied or cut a live execution is not given out "
    "again, and its own holder still says when it has stopped")
{
    lab_open(lab);
    for (int harm = 0; harm < HARM_COUNT; harm++) {
        struct pawl_grant grant = claim_supervised(lab, NEW());
        struct pawl_str id = grant.fence.task_id;
        struct pawl_execution *execution = begin(lab, &grant.fence);
        do_harm(lab, (enum harm)harm);
        lab_pass(lab, LEASE_MS);
        check_unknown(lab, id, harm == CUT ? "holds no id" : "one that is gone");
        lab_pass(lab, 600 * SECOND_MS);
        CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, id).state);
        CHECK_REFUSED(PAWL_LEASE_ACTIVE,
                      pawl_task_resolve(lab->pawl, id, PAWL_TASK_QUEUED, NO_TEXT, NULL, &lab->err));
        CHECK(strstr(lab->err.text, "cannot be told") != NULL);
        end(execution); /* it sees its own lock in the file that has no name any more */
        check_ok(lab, pawl_lease_stopped(lab->pawl, &grant.fence, &lab->err));
        CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
        check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
    }
    struct pawl_grant next = claim_supervised(lab, NEW()); /* the place is whole again */
    end(begin(lab, &next.fence));
    lab_pass(lab, LEASE_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, next.fence.task_id).state);
}

TEST_EACH_STORE(
    "T-107 a lock that is waited for is not free because the file it was in was replaced meanwhile")
{
    lab_open(lab);
    struct pawl_grant first = claim_supervised(lab, NEW());
    struct pawl_execution *lost = begin(lab, &first.fence);
    lab_pass(lab, LEASE_MS);
    check_unknown(lab, first.fence.task_id, "its work goes on");
    CHECK_EQ(0, unlink(lock_file(lab)));
    struct pawl_grant second = claim_supervised(lab, NEW());
    struct pawl_execution *other = begin(lab, &second.fence);
    lab_pass(lab, LEASE_MS);
    check_unknown(lab, second.fence.task_id, "its work goes on");
    end(other); /* is heard: all that is waited for is looked at */
    lab_pass(lab, 1);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, second.fence.task_id).state);
    lab_pass(lab, 600 * SECOND_MS);
    check_unknown(lab, first.fence.task_id, "one that is gone");
    end(lost);
}

TEST_EACH_STORE(
    "T-107 an execution does not begin where nobody would look for its lock: the file was replaced "
    "since the claim, for good or for a while")
{
    char away[LAB_PATH_BYTES_MAX + 64];
    struct pawl_execution *execution = NULL;
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    char *path = lock_file(lab);
    (void)snprintf(away, sizeof away, "%s.away", path);
    CHECK_EQ(0, rename(path, away));
    CHECK_REFUSED(PAWL_IO, pawl_execution_begin(lab->pawl, &grant.fence, &execution, &lab->err));
    CHECK(strstr(lab->err.text, "in another file") != NULL);
    CHECK_EQ(0, rename(away, path));
    execution = begin(lab, &grant.fence);
    lab_pass(lab, LEASE_MS);
    check_unknown(lab, grant.fence.task_id, "its work goes on");
    end(execution);
}

TEST_EACH_STORE("a supervised lease that names no place waits for a person")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    (void)lab_sql(lab, "UPDATE task SET lease_place = NULL");
    lab_pass(lab, LEASE_MS);
    check_unknown(lab, grant.fence.task_id, "resolve it");
}

TEST_SQLITE("the locks of many executions are in one file, each is its own, and stores do not meet")
{
    enum { MANY = 300 };
    struct pawl_locks locks = {.env = &lab->world.env,
                               .store_id = "11111111-1111-4111-8111-111111111111"};
    struct pawl_place place;
    static struct pawl_held held[MANY];
    struct pawl_held second;
    struct pawl_str id = PAWL_STR("task");
    lab_open(lab);
    (void)snprintf(locks.db_path, sizeof locks.db_path, "%s", lab->target);
    check_ok(lab, pawl_place_open(&place, &locks, true, &lab->err));
    for (int i = 0; i < MANY; i++)
        check_ok(lab, pawl_place_take(&place, id, i, &held[i], &lab->err));
    CHECK(pawl_place_is_busy(&place));
    for (int i = 0; i < MANY; i += 2) pawl_held_let_go(&held[i]);
    for (int i = 0; i < MANY; i++) {
        enum pawl_finding want = i % 2 == 0 ? PAWL_FINDING_STOPPED : PAWL_FINDING_ALIVE;
        CHECK_EQ(want, pawl_place_find(&place, id, i, &lab->err));
        CHECK_EQ(want, pawl_held_find(&held[i]));
    }
    CHECK_REFUSED(PAWL_CONFLICT, pawl_place_take(&place, id, 1, &second, &lab->err));
    struct pawl_locks other =
        locks; /* of another store in the same folder, with a task of that name */
    other.store_id[0] = '2';
    check_ok(lab, pawl_place_open(&place, &other, true, &lab->err));
    check_ok(lab, pawl_place_take(&place, id, 1, &second, &lab->err));
    pawl_held_close(&second);
    for (int i = 0; i < MANY; i++) pawl_held_close(&held[i]);
    CHECK(!pawl_place_is_busy(&place));
}

TEST_SQLITE("resolve looks for the lock of a lease that has ended, though nobody has fenced it yet")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_execution *execution = begin(lab, &grant.fence);
    atomic_fetch_add(&lab->world.boot_ms, LEASE_MS);
    CHECK_REFUSED(PAWL_LEASE_ACTIVE, pawl_task_resolve(lab->pawl, grant.fence.task_id,
                                                       PAWL_TASK_QUEUED, NO_TEXT, NULL, &lab->err));
    end(execution);
}

TEST_EACH_STORE("T-045 who has stopped after losing the lease says so, and exactly one of him and "
                "recovery wins")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_str id = grant.fence.task_id;
    CHECK_REFUSED(PAWL_STATE, pawl_lease_stopped(lab->pawl, &grant.fence, &lab->err));
    struct pawl_execution *execution = begin(lab, &grant.fence);
    lab_pass(lab, LEASE_MS);
    struct pawl_fence stranger = grant.fence;
    stranger.owner = PAWL_STR("stranger");
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_lease_stopped(lab->pawl, &stranger, &lab->err));
    end(execution);
    check_ok(lab, pawl_lease_stopped(lab->pawl, &grant.fence, &lab->err));
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(grant.fence.epoch + 1, task.epoch);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_lease_stopped(lab->pawl, &grant.fence, &lab->err));
    lab_pass(lab, 600 * SECOND_MS);
    CHECK_EQ(1, lab_get(lab, id).retries);
}

TEST_EACH_STORE("T-102 T-103 a task that kills its workers waits 0, 1, 2, 4 s and is a dead letter "
                "after max_retries + 1")
{
    static const int64_t want_s[] = {0, 1, 2, 4};
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = COUNT_OF(want_s)}));
    for (size_t i = 0; i <= COUNT_OF(want_s); i++) {
        struct worker_process worker = start_worker(lab, false);
        CHECK_EQ(0, kill(worker.pid, SIGKILL));
        CHECK_EQ(-1, lab_wait(worker.pid));
        lab_pass(lab, LEASE_MS);
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ((int64_t)i + 1, task.retries);
        CHECK_EQ((int64_t)i + 1, task.recoveries);
        if (i == COUNT_OF(want_s)) break;
        CHECK_EQ(PAWL_TASK_QUEUED, task.state);
        int64_t wait_ms =
            task.next_retry_at_ms == 0 ? 0 : task.next_retry_at_ms - task.updated_at_ms;
        CHECK_EQ(want_s[i] * SECOND_MS, wait_ms);
        lab_pass(lab, want_s[i] * SECOND_MS);
    }
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK(pawl_str_has(task.error, PAWL_STR("vanished")));
}

TEST_EACH_STORE(
    "T-031 after the lease's end, recovery and another claim, the first worker's completion and "
    "renewal are both LEASE_LOST")
{
    lab_open(lab);
    for (int is_supervised = 0; is_supervised <= 1; is_supervised++) {
        struct pawl_claim *ask =
            CLAIM(.worker_id = W, .lease_ms = LEASE_MS, .is_supervised = is_supervised);
        struct pawl_str id = lab_add(lab, NEW());
        struct pawl_fence old = lab_claim(lab, ask).grants[0].fence;
        lab_pass(lab, LEASE_MS);
        CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
        struct pawl_fence held = lab_start(lab, id, "v");
        struct pawl_task before = lab_get(lab, id);

        CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("\"old\""),
                                                          CHANGE(.fence = &old), &lab->err));
        struct pawl_renewal renewal = {0};
        check_ok(lab, pawl_lease_renew(lab->pawl, &old, 1, 0, &renewal, &lab->err));
        CHECK_EQ(PAWL_LEASE_LOST, renewal.code);
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(PAWL_TASK_RUNNING, task.state);
        CHECK_STR("v", task.owner);
        CHECK_EQ(before.version, task.version);
        CHECK_EQ(before.lease_end_at_ms, task.lease_end_at_ms);
        check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("\"new\""), CHANGE(.fence = &held),
                                         &lab->err));
        CHECK_STR("\"new\"", lab_get(lab, id).result);
    }
}

TEST_EACH_STORE("T-051 a supervised attempt over its time ends its lease; charged as timed out "
                "once its work has stopped")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW(.timeout_ms = 3000));
    struct pawl_str id = grant.fence.task_id;
    CHECK_EQ(3000, grant.lease_ms); /* no lease outlives its attempt */
    struct pawl_execution *execution = begin(lab, &grant.fence);
    lab_pass(lab, 2000);
    struct pawl_renewal renewal;
    check_ok(lab, pawl_lease_renew(lab->pawl, &grant.fence, 1, 0, &renewal, &lab->err));
    CHECK_EQ(PAWL_OK, renewal.code);
    CHECK(renewal.lease_ms <= 1000);
    lab_pass(lab, 1000);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, id).state);
    end(execution);
    check_ok(lab, pawl_lease_stopped(lab->pawl, &grant.fence, &lab->err));
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(0, task.recoveries);
    CHECK_STR("attempt timed out after 3000 ms", task.error);
    CHECK_STR("retry_scheduled", lab_last(lab, id).action);
}

TEST_EACH_STORE(
    "E5 a request to its lost holder decides where the task goes once its work has stopped")
{
    static const enum pawl_task_state want[] = {PAWL_TASK_PAUSED, PAWL_TASK_CANCELLED};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct pawl_grant grant = claim_supervised(lab, NEW());
        struct pawl_str id = grant.fence.task_id;
        struct pawl_execution *execution = begin(lab, &grant.fence);
        lab_pass(lab, LEASE_MS / 2);
        check_ok(lab, want[i] == PAWL_TASK_PAUSED
                          ? pawl_task_pause(lab->pawl, id, NULL, &lab->err)
                          : pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
        lab_pass(lab, LEASE_MS / 2);
        CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, id).state);
        end(execution);
        lab_pass(lab, 300 * SECOND_MS);
        CHECK_EQ(want[i], lab_get(lab, id).state);
    }
}

TEST_EACH_STORE("T-114 resolve moves RECOVERY_PENDING to each outcome with a new epoch and the "
                "actor in its history")
{
    static const enum pawl_task_state outcomes[] = {PAWL_TASK_COMPLETED, PAWL_TASK_FAILED,
                                                    PAWL_TASK_QUEUED, PAWL_TASK_CANCELLED};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        struct pawl_grant grant = claim_supervised(lab, NEW());
        struct pawl_str id = grant.fence.task_id;
        struct pawl_execution *execution = begin(lab, &grant.fence);
        lab_pass(lab, LEASE_MS);
        bool may_run_again = outcomes[i] == PAWL_TASK_QUEUED || outcomes[i] == PAWL_TASK_FAILED;
        if (may_run_again) { /* FAILED can be resumed by somebody who does not look any more */
            CHECK_REFUSED(PAWL_LEASE_ACTIVE,
                          pawl_task_resolve(lab->pawl, id, outcomes[i], NO_TEXT, NULL, &lab->err));
        }
        check_ok(lab,
                 pawl_task_resolve(lab->pawl, id, outcomes[i], NO_TEXT,
                                   CHANGE(.actor = PAWL_STR("ann"), .is_forced = true), &lab->err));
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(outcomes[i], task.state);
        CHECK_EQ(grant.fence.epoch + 1, task.epoch);
        CHECK_EQ(0, task.recovery_note.len);
        if (outcomes[i] == PAWL_TASK_COMPLETED) CHECK_EQ(task.epoch, task.progress_epoch);
        CHECK_STR("ann", lab_last(lab, id).actor);
        CHECK_STR("recovery_resolved", lab_last(lab, id).action);
        CHECK_REFUSED(
            PAWL_LEASE_LOST,
            pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &grant.fence), &lab->err));
        end(execution);
        if (outcomes[i] == PAWL_TASK_QUEUED) {
            check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
        }
    }
}

TEST_EACH_STORE(
    "T-104 D-14 recovery of one ownerless, one unreadable, one alive, one raced and one good "
    "task gives the good one back")
{
    enum { OWNERLESS, UNREADABLE, ALIVE, RACED, GOOD, COUNT };
    lab_open(lab);
    struct pawl_grant grants[COUNT];
    struct pawl_str ids[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        grants[i] = claim_supervised(lab, NEW());
        ids[i] = grants[i].fence.task_id;
    }
    struct pawl_execution *execution = begin(lab, &grants[ALIVE].fence);
    char sql[200];
    (void)snprintf(sql, sizeof sql, "UPDATE task SET owner = 999999 WHERE id = '%.*s'",
                   PAWL_STR_ARG(ids[OWNERLESS]));
    (void)lab_sql(lab, sql);
    (void)snprintf(sql, sizeof sql, "UPDATE task SET state = 77 WHERE id = '%.*s'",
                   PAWL_STR_ARG(ids[UNREADABLE]));
    (void)lab_sql(lab, sql);

    /* Until the step that wants the proof: what is found then comes with the next one. */
    lab_elapse(lab, LEASE_MS);
    int64_t next_at_boot_ms;
    for (int i = 0; lab_get(lab, ids[RACED]).recovery_look_at_ms == 0; i++) {
        CHECK(i < 100);
        check_ok(lab, pawl_step(lab->pawl, &next_at_boot_ms, &lab->err));
    }
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, ids[RACED]).state);
    /* Somebody else has handled one of them meanwhile, and it runs again. */
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_grant again;
    check_ok(lab, pawl_task_resolve(other, ids[RACED], PAWL_TASK_QUEUED, NO_TEXT, NULL, &lab->err));
    check_ok(lab, pawl_task_start(other, ids[RACED], CLAIM(.worker_id = PAWL_STR("v")), lab->keep,
                                  &again, &lab->err));
    pawl_close(other);
    int64_t version = lab_get(lab, ids[RACED]).version;
    lab_settle(lab, lab->pawl);

    struct pawl_task task = lab_get(lab, ids[OWNERLESS]);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK(pawl_str_has(task.recovery_note, PAWL_STR("resolve it")));
    task = lab_get(lab, ids[ALIVE]);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK(pawl_str_has(task.recovery_note, PAWL_STR("its work goes on")));
    CHECK_REFUSED(PAWL_CORRUPT,
                  pawl_task_get(lab->pawl, ids[UNREADABLE], false, lab->keep, &task, &lab->err));
    task = lab_get(lab, ids[RACED]);
    CHECK_EQ(PAWL_TASK_RUNNING, task.state);
    CHECK_STR("v", task.owner);
    CHECK_EQ(again.fence.epoch, task.epoch);
    CHECK_EQ(version, task.version);
    task = lab_get(lab, ids[GOOD]);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(grants[GOOD].fence.epoch + 1, task.epoch);
    CHECK_EQ(1, task.retries);
    end(execution);
}

TEST_SQLITE("a one-shot handle fences, but leaves the proof to those who run timers")
{
    lab_open(lab);
    struct pawl_grant grant = claim_supervised(lab, NEW());
    struct pawl_options options = lab_options(lab);
    struct pawl_grant again;
    options.no_timers = true;
    struct pawl *visitor = lab_handle(lab, &options);
    atomic_fetch_add(&lab->world.boot_ms, LEASE_MS);
    CHECK_REFUSED(PAWL_STATE, pawl_task_start(visitor, grant.fence.task_id, CLAIM(.worker_id = W),
                                              lab->keep, &again, &lab->err));
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, lab_get(lab, grant.fence.task_id).state);
    pawl_close(visitor);
    lab_pass(lab, 1);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, grant.fence.task_id).state);
}

TEST_SQLITE("a lock that is let go is heard at once: no look has to come due")
{
    lab_open_real(lab);
    (void)lab_add(lab, NEW());
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = W, .lease_ms = 100, .is_supervised = true));
    CHECK_EQ(1, claimed.count);
    struct pawl_execution *execution = begin(lab, &claimed.grants[0].fence);
    struct pawl_str id = claimed.grants[0].fence.task_id;
    struct pawl_events events;
    int64_t position = 0;
    bool is_noted = false; /* then the engine has seen the lock, and watches */
    check_ok(lab,
             pawl_consumer_read(lab->pawl, PAWL_STR("c"), 100, 0, lab->keep, &events, &lab->err));
    while (!is_noted) {
        check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), 100, 10000, lab->keep, &events,
                                         &lab->err));
        for (size_t i = 0; i < events.count; i++)
            is_noted |= pawl_str_equal(events.events[i].action, PAWL_STR("recovery_pending"));
        position = events.position;
        CHECK(events.count > 0 || is_noted);
        check_ok(lab,
                 pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("c"), position, &lab->err));
    }
    end(execution);
    claimed = lab_claim(
        lab, CLAIM(.worker_id = W, .wait_ms = 4000)); /* below the first look that is due */
    CHECK_EQ(1, claimed.count);
    CHECK(pawl_str_equal(id, claimed.grants[0].fence.task_id));
}

TEST_MAIN()
