/* pawl doctor: what is wrong, how bad it is, and what to do about it. Looks at the machine, the
 * files, and with a few bounded reads at the work; it changes nothing.
 *
 *   error    work is lost, stuck, or about to be: act now
 *   warning  will be trouble, or waits for a person
 *   note     worth knowing; nothing is wrong */
#include "app/cli.h"
#include "app/commands.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB    (INT64_C(1024) * 1024)
#define DAY_MS (INT64_C(24) * 3600 * 1000)

enum {
    /* Before it, a checkpoint that races a reset of the log can lose a commit (store/sqlite.c). */
    SQLITE_VERSION_MENDED = 3051003,

    IN_MEMORY = 0x01021994,                  /* tmpfs, as statfs(2) lists it */
    IN_MEMORY_TOO = 0x858458F6 & 0x7FFFFFFF, /* ramfs */

    CLOCK_MS = 5000,         /* beyond it people wonder about instants */
    STARVED_MS = 300 * 1000, /* ready for so long without a worker */
    CONSUMER_BEHIND = 100 * 1000,
    FINISHED_MANY = 100 * 1000,
    FINISHED_DAYS = 30,
    CONTINUATIONS_MANY = 100,
    NOTES_MAX = 5,     /* tasks that are named one by one */
    HELD_LOOKS = 100,  /* tasks in hand whose locks are looked at */
};

static const int64_t disk_low_bytes = 256 * MIB;
static const int64_t disk_out_bytes = 32 * MIB;
static const int64_t log_long_bytes = 64 * MIB;
static const int64_t free_many_bytes = 64 * MIB;

enum level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR };

/* clang-format off */
static const struct pawl_column columns[] = {
    {"LEVEL", false, false}, {"WHAT", false, false}, {"FINDING", false, false}, {NULL, false, false},
};
/* clang-format on */

struct doctor {
    struct pawl_cli *cli;
    struct pawl_listing listing;
    int64_t wrong_count;
};

static const char *level_name(enum level level)
{
    return level == LEVEL_ERROR ? "error" : level == LEVEL_WARNING ? "warning" : "note";
}

/* One finding: a sentence, and what to do ("" = nothing). */
static void find(struct doctor *doctor, enum level level, const char *what, struct pawl_str finding,
                 struct pawl_str advice)
{
    struct pawl_listing *listing = &doctor->listing;
    if (level != LEVEL_NOTE) doctor->wrong_count++;
    if (listing->out->form == PAWL_FORM_NAME) {
        pawl_listing_name(listing, pawl_str_of(what));
        return;
    }
    if (pawl_output_is_table(listing->out)) {
        struct pawl_str text = finding;
        if (advice.len > 0) {
            text = pawl_arena_format(listing->arena, "%.*s. %.*s", PAWL_STR_ARG(finding),
                                     PAWL_STR_ARG(advice));
        }
        const struct pawl_cell cells[] = {
            {pawl_str_of(level_name(level)), NULL}, {pawl_str_of(what), NULL}, {text, NULL}};
        pawl_listing_cells(listing, cells);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, listing->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "level", pawl_str_of(level_name(level)));
    pawl_json_put_member_text(&w, "what", pawl_str_of(what));
    pawl_json_put_member_text(&w, "finding", finding);
    pawl_show_text(&w, "advice", advice);
    pawl_json_end_object(&w);
    pawl_listing_json(listing, pawl_json_writer_done(&w));
}

#define TEXT(...) pawl_arena_format(doctor->cli->scratch, __VA_ARGS__)

static struct pawl_str bytes_text(struct doctor *doctor, int64_t bytes)
{
    if (bytes < 10 * MIB) return TEXT("%" PRId64 " KiB", bytes / 1024);
    return TEXT("%" PRId64 " MiB", bytes / MIB);
}

static struct pawl_str age_text(struct doctor *doctor, int64_t ms)
{
    if (ms < 1000) return PAWL_STR("less than 1s");
    return ms > 2 * DAY_MS ? TEXT("%" PRId64 " days", ms / DAY_MS)
                           : pawl_duration_text(doctor->cli->scratch, ms / 1000 * 1000);
}

/* "17", or "1000 or more" where counting has ended. */
static struct pawl_str count_text(struct doctor *doctor, int64_t count, int64_t max)
{
    return TEXT("%" PRId64 "%s", count, count >= max ? " or more" : "");
}

static struct pawl_str bounded(struct doctor *doctor, int64_t count)
{
    return count_text(doctor, count, PAWL_HEALTH_COUNT_MAX);
}

/* "1 task", "17 tasks". */
static struct pawl_str tasks(struct doctor *doctor, int64_t count)
{
    struct pawl_str many = bounded(doctor, count);
    return TEXT("%.*s task%s", PAWL_STR_ARG(many), count == 1 ? "" : "s");
}

/* ---- The machine -------------------------------------------------------------------------------
 */

static void look_at_sqlite(struct doctor *doctor)
{
    if (sqlite3_libversion_number() >= SQLITE_VERSION_MENDED) return;
    find(doctor, LEVEL_NOTE, "sqlite",
         TEXT("SQLite %s is older than 3.51.3: a checkpoint that races a reset of the log can lose "
              "a commit; "
              "Pawl lets one process at a time run checkpoints, so its own are safe",
              sqlite3_libversion()),
         PAWL_STR("Let no other program write to the file; a newer SQLite mends it"));
}

static void look_at_bell(struct doctor *doctor)
{
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
        return;
    }
    find(doctor, LEVEL_WARNING, "inotify",
         TEXT("no more inotify instances for this user (%s): processes look once a second instead "
              "of being "
              "told",
              strerror(errno)),
         PAWL_STR("Raise fs.inotify.max_user_instances"));
}

static void look_at_disk(struct doctor *doctor, const char *folder)
{
    struct statvfs disk;
    struct statfs system;
    if (statvfs(folder, &disk) != 0 || statfs(folder, &system) != 0) {
        find(doctor, LEVEL_WARNING, "disk",
             TEXT("%s cannot be looked at: %s", folder, strerror(errno)), PAWL_STR(""));
        return;
    }
    int64_t free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    if (free_bytes < disk_low_bytes) {
        struct pawl_str left = bytes_text(doctor, free_bytes);
        find(doctor, free_bytes < disk_out_bytes ? LEVEL_ERROR : LEVEL_WARNING, "disk",
             TEXT("%.*s are left on the disk of %s", PAWL_STR_ARG(left), folder),
             PAWL_STR("Make room: when it is full, every change is refused"));
    }
    if (disk.f_favail == 0 && disk.f_files > 0) {
        find(doctor, LEVEL_ERROR, "disk", TEXT("no inodes are left on the disk of %s", folder),
             PAWL_STR("Remove files: the log cannot be made anew"));
    }
    int64_t kind = (int64_t)system.f_type & 0x7FFFFFFF;
    if (kind == IN_MEMORY || kind == IN_MEMORY_TOO) {
        find(doctor, LEVEL_WARNING, "disk",
             TEXT("%s lies in memory: a reboot takes the store", folder),
             PAWL_STR("Move it to a disk, with `pawl backup`"));
    }
}

static void look_at_mode(struct doctor *doctor, const char *path, const char *suffix)
{
    struct stat file;
    struct pawl_str name = TEXT("%s%s", path, suffix);
    if (name.ptr == NULL || stat(name.ptr, &file) != 0)
        return; /* the log and the turn may be missing */
    if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        find(doctor, LEVEL_WARNING, "permissions",
             TEXT("%.*s is open to others (%04o)", PAWL_STR_ARG(name),
                  (unsigned)(file.st_mode & 07777)),
             TEXT("chmod 600 %.*s", PAWL_STR_ARG(name)));
    }
    if (file.st_uid != geteuid() && geteuid() != 0) {
        find(doctor, LEVEL_WARNING, "permissions",
             TEXT("%.*s belongs to another user", PAWL_STR_ARG(name)),
             PAWL_STR("Run all programs of a store as one user"));
    }
}

static void look_at_files(struct doctor *doctor)
{
    const char *path = doctor->cli->store.ptr; /* ends with a zero: location.c */
    char *folder = pawl_arena_c_text(doctor->cli->scratch, doctor->cli->store);
    char *slash = folder == NULL ? NULL : strrchr(folder, '/');
    if (slash == NULL) return;
    slash[slash == folder ? 1 : 0] = '\0';
    look_at_mode(doctor, path, "");
    look_at_mode(doctor, path, "-wal");
    look_at_mode(doctor, path, "-turn");
    if (access(folder, W_OK | X_OK) != 0) {
        find(doctor, LEVEL_ERROR, "permissions", TEXT("%s cannot be written to", folder),
             PAWL_STR(
                 "The log and the turn lie beside the store: allow its user to make files there"));
    }
    look_at_disk(doctor, folder);
}

/* ---- The store ---------------------------------------------------------------------------------
 */

static void look_at_store(struct doctor *doctor, const struct pawl_health *health, bool is_file)
{
    struct pawl_str size = bytes_text(doctor, health->file_bytes);
    struct pawl_str room = bytes_text(doctor, health->free_bytes);
    struct pawl_str log = bytes_text(doctor, health->log_bytes);
    struct pawl_str about = is_file
                                ? TEXT("%.*s, of them %.*s free; the log has %.*s",
                                       PAWL_STR_ARG(size), PAWL_STR_ARG(room), PAWL_STR_ARG(log))
                                : TEXT("%.*s with its indexes", PAWL_STR_ARG(size));
    find(doctor, LEVEL_NOTE, "store",
         TEXT("schema %" PRId64 "; %.*s", health->schema_version, PAWL_STR_ARG(about)),
         PAWL_STR("`pawl fsck` reads and checks every row"));
    if (health->log_bytes > log_long_bytes) {
        find(doctor, LEVEL_WARNING, "log",
             TEXT("the write-ahead log has %.*s: something keeps it from being moved into the file",
                  PAWL_STR_ARG(log)),
             PAWL_STR("Look for a program that reads the file for long, or for a frozen one"));
    }
    if (health->free_bytes > free_many_bytes && health->free_bytes > health->file_bytes / 2) {
        find(doctor, LEVEL_NOTE, "room",
             TEXT("more than half of the file is free: %.*s", PAWL_STR_ARG(room)),
             PAWL_STR("`pawl gc --compact` gives it back"));
    }
    int64_t ahead_ms = health->now_ms - health->wall_ms;
    if (ahead_ms > CLOCK_MS || ahead_ms < -CLOCK_MS) {
        struct pawl_str by = age_text(doctor, ahead_ms < 0 ? -ahead_ms : ahead_ms);
        find(doctor, LEVEL_WARNING, "clock",
             TEXT("the store's clock is %.*s %s the wall clock", PAWL_STR_ARG(by),
                  ahead_ms < 0 ? "behind" : "ahead of"),
             PAWL_STR(
                 "Leases are not harmed; instants that are shown are off until the next reboot"));
    }
}

/* ---- The work ----------------------------------------------------------------------------------
 */

static void look_at_tasks(struct doctor *doctor, const struct pawl_health *health)
{
    if (health->overdue > 0) {
        struct pawl_str many = tasks(doctor, health->overdue);
        struct pawl_str since = age_text(doctor, health->now_ms - health->oldest_due_at_ms);
        find(doctor, LEVEL_ERROR, "timers",
             TEXT("%.*s overdue by up to %.*s: ends of leases, retries, deadlines of requests; "
                  "nobody runs timers",
                  PAWL_STR_ARG(many), PAWL_STR_ARG(since)),
             PAWL_STR("Start a worker, or another program that stays; `pawl help worker run` tells "
                      "which"));
    }
    if (health->continuations >= CONTINUATIONS_MANY) {
        find(doctor, LEVEL_WARNING, "timers",
             TEXT("%.*s large decisions are not done yet",
                  PAWL_STR_ARG(bounded(doctor, health->continuations))),
             PAWL_STR("A program that runs timers goes on with them"));
    }
    if (health->quarantined > 0) {
        find(doctor, LEVEL_ERROR, "quarantine",
             TEXT("%.*s rows were set aside: they cannot be read, or kill whoever runs what is due of them",
                  PAWL_STR_ARG(bounded(doctor, health->quarantined))),
             PAWL_STR("`pawl fsck` names them and says what to do; if they cannot be read the disk may be "
                      "failing"));
    }
    if (health->recovery_pending > 0) {
        find(doctor, LEVEL_WARNING, "recovery",
             TEXT("%.*s without the worker that had begun: nobody knows what became of the work",
                  PAWL_STR_ARG(tasks(doctor, health->recovery_pending))),
             PAWL_STR("`pawl task list -s RECOVERY_PENDING`, then `pawl task resolve`"));
    }
    if (health->dead_letters > 0) {
        find(doctor, LEVEL_WARNING, "dead",
             TEXT("%.*s failed for good, or out of tries",
                  PAWL_STR_ARG(tasks(doctor, health->dead_letters))),
             PAWL_STR("`pawl dead list`, then `pawl dead redrive` or `pawl dead discard`"));
    }
    if (health->blocked > 0) {
        find(doctor, LEVEL_WARNING, "blocked",
             TEXT("%.*s blocked by one that ended badly",
                  PAWL_STR_ARG(tasks(doctor, health->blocked))),
             PAWL_STR("`pawl task list --blocked`, and `pawl task get` tells what one waits for: if that is dead or "
                      "FAILED, resume it; if it was cancelled, nothing brings it back: cancel what waits, and add it "
                      "anew without it"));
    }
    if (health->late_results > 0) {
        find(doctor, LEVEL_NOTE, "late",
             TEXT("%.*s outcomes came from workers that had lost their tasks; they changed nothing and are kept",
                  PAWL_STR_ARG(bounded(doctor, health->late_results))),
             PAWL_STR("`pawl task get --late` shows a task's; work that ran twice may have had effects twice"));
    }
    bool is_old = health->oldest_finished_at_ms != 0 &&
                  health->now_ms - health->oldest_finished_at_ms > FINISHED_DAYS * DAY_MS;
    if (health->finished >= FINISHED_MANY && is_old) {
        struct pawl_str many = count_text(doctor, health->finished, PAWL_HEALTH_FINISHED_MAX);
        struct pawl_str age = age_text(doctor, health->now_ms - health->oldest_finished_at_ms);
        find(
            doctor, LEVEL_WARNING, "retention",
            TEXT("%.*s finished tasks are kept, the oldest for %.*s: nothing removes them",
                 PAWL_STR_ARG(many), PAWL_STR_ARG(age)),
            PAWL_STR("`pawl worker run --retain 30d`, or `pawl gc --older-than 30d` now and then"));
    }
}

static void look_at_queues(struct doctor *doctor, const struct pawl_queues *queues, int64_t now_ms)
{
    for (size_t i = 0; i < queues->count; i++) {
        const struct pawl_queue *queue = &queues->queues[i];
        if (queue->ready == 0) continue;
        struct pawl_str age = age_text(doctor, now_ms - queue->oldest_ready_at_ms);
        struct pawl_str ready =
            TEXT("%" PRId64 " task%s", queue->ready, queue->ready == 1 ? "" : "s");
        if (queue->is_paused) {
            find(doctor, LEVEL_WARNING, "queue",
                 TEXT("queue %.*s is paused with %.*s ready, the oldest for %.*s",
                      PAWL_STR_ARG(queue->name), PAWL_STR_ARG(ready), PAWL_STR_ARG(age)),
                 TEXT("pawl queue resume %.*s", PAWL_STR_ARG(queue->name)));
        } else if (queue->running == 0 && now_ms - queue->oldest_ready_at_ms > STARVED_MS) {
            find(doctor, LEVEL_WARNING, "queue",
                 TEXT("nobody works on queue %.*s: %.*s ready, the oldest for %.*s",
                      PAWL_STR_ARG(queue->name), PAWL_STR_ARG(ready), PAWL_STR_ARG(age)),
                 PAWL_STR("Start a worker for it"));
        }
    }
}

static void look_at_consumers(struct doctor *doctor, const struct pawl_health *health)
{
    for (size_t i = 0; i < health->consumer_count; i++) {
        const struct pawl_consumer *consumer = &health->consumers[i];
        if (consumer->behind <= CONSUMER_BEHIND) continue;
        struct pawl_str age = age_text(doctor, health->now_ms - consumer->seen_at_ms);
        find(doctor, LEVEL_WARNING, "consumer",
             TEXT("consumer %.*s is %" PRId64
                  " events behind and has moved last %.*s ago: it holds back the "
                  "removal of events",
                  PAWL_STR_ARG(consumer->name), consumer->behind, PAWL_STR_ARG(age)),
             PAWL_STR("Let it catch up; after a week without a word a worker drops it "
                      "(--consumer-keep)"));
    }
}

static struct pawl_str process_text(struct doctor *doctor, struct pawl_str host, int64_t pid)
{
    return pid == 0 ? TEXT("a client at %.*s", PAWL_STR_ARG(host))
                    : TEXT("process %" PRId64 " on %.*s", pid, PAWL_STR_ARG(host));
}

static void look_at_shared(struct doctor *doctor, const struct pawl_health *health)
{
    for (size_t i = 0; i < health->shared_count; i++) {
        const struct pawl_shared_worker *worker = &health->shared[i];
        struct pawl_str age = age_text(doctor, health->now_ms - worker->at_ms);
        struct pawl_str one = process_text(doctor, worker->host, worker->pid);
        struct pawl_str other = process_text(doctor, worker->other_host, worker->other_pid);
        find(doctor, LEVEL_WARNING, "worker",
             TEXT("%.*s and %.*s both claim as worker %.*s, last %.*s ago: what one says may be taken for a word of the other",
                  PAWL_STR_ARG(one), PAWL_STR_ARG(other), PAWL_STR_ARG(worker->id), PAWL_STR_ARG(age)),
             PAWL_STR("Give each its own --worker-id"));
    }
}

/* ---- Locks -------------------------------------------------------------------------------------
 */

/* Why the first of the lost ones wait. */
static enum pawl_code look_at_lost(struct doctor *doctor)
{
    struct pawl_cli *cli = doctor->cli;
    struct pawl_page page;
    struct pawl_list ask = PAWL_LIST_INIT;
    ask.states = 1U << PAWL_TASK_RECOVERY_PENDING;
    ask.limit = NOTES_MAX;
    enum pawl_code code = pawl_task_list(cli->pawl, &ask, cli->keep, &page, &cli->err);
    for (size_t i = 0; code == PAWL_OK && i < page.count; i++) {
        const struct pawl_task *task = &page.tasks[i];
        if (task->recovery_note.len == 0) continue;
        find(doctor, LEVEL_WARNING, "recovery",
             TEXT("task %.*s: %.*s", PAWL_STR_ARG(task->id), PAWL_STR_ARG(task->recovery_note)),
             PAWL_STR(""));
    }
    return code;
}

/* A lock proves something only in the file that its row names. */
static enum pawl_code count_elsewhere(struct doctor *doctor, const struct pawl_place *place,
                                      int64_t *out)
{
    struct pawl_cli *cli = doctor->cli;
    struct pawl_page page;
    struct pawl_list ask = PAWL_LIST_INIT;
    ask.states = 1U << PAWL_TASK_RUNNING | 1U << PAWL_TASK_RECOVERY_PENDING;
    ask.limit = HELD_LOOKS;
    enum pawl_code code = pawl_task_list(cli->pawl, &ask, cli->keep, &page, &cli->err);
    *out = 0;
    for (size_t i = 0; code == PAWL_OK && i < page.count; i++) {
        struct pawl_str there = page.tasks[i].lease_place;
        bool is_of_boot = pawl_place_is_of_boot(there, cli->pawl->env->boot_id);
        if (is_of_boot && !pawl_str_equal(there, pawl_str_of(place->id))) ++*out;
    }
    return code;
}

static enum pawl_code look_at_locks(struct doctor *doctor)
{
    struct pawl_place place;
    struct pawl_error err = {0};
    int64_t elsewhere;
    if (pawl_engine_check_locks(doctor->cli->pawl, &place, &err) != PAWL_OK) {
        find(doctor, LEVEL_ERROR, "locks",
             TEXT("no lock of an execution can be had: %s", err.text),
             PAWL_STR("Workers claim nothing before that is mended, and what they have lost waits"));
        return PAWL_OK;
    }
    enum pawl_code code = count_elsewhere(doctor, &place, &elsewhere);
    if (code == PAWL_OK && elsewhere > 0) {
        find(doctor, LEVEL_WARNING, "locks",
             TEXT("%" PRId64 " task%s with the lock in another file than that of %s: it was "
                  "replaced, or is another user's, or PAWL_LOCKS differs",
                  elsewhere, elsewhere == 1 ? "" : "s", place.folder),
             PAWL_STR("They go on; but if one loses its worker it waits for a reboot, or for `pawl task "
                      "resolve`"));
    }
    return code;
}

/* ---- All of it ---------------------------------------------------------------------------------
 */

static enum pawl_code look_inside(struct doctor *doctor, bool is_file)
{
    struct pawl_cli *cli = doctor->cli;
    struct pawl_health health;
    struct pawl_queues queues;
    enum pawl_code code = pawl_health(cli->pawl, cli->keep, &health, &cli->err);
    if (code == PAWL_OK) code = pawl_queue_list(cli->pawl, cli->keep, &queues, &cli->err);
    if (code != PAWL_OK) return code;
    look_at_store(doctor, &health, is_file);
    look_at_tasks(doctor, &health);
    code = look_at_lost(doctor);
    if (code == PAWL_OK) code = look_at_locks(doctor);
    if (code != PAWL_OK) return code;
    look_at_queues(doctor, &queues, health.now_ms);
    look_at_consumers(doctor, &health);
    look_at_shared(doctor, &health);
    return PAWL_OK;
}

int pawl_cli_doctor(struct pawl_cli *cli)
{
    struct doctor doctor = {.cli = cli};
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_INVALID || code == PAWL_NOT_FOUND) return pawl_cli_fail(cli);
    cli->out.columns = 0; /* whole sentences, whatever the width of the terminal */
    pawl_listing_begin(&doctor.listing, &cli->out, cli->scratch, "findings", columns);
    bool is_file = strstr(cli->store.ptr, "://") == NULL;
    if (is_file) {
        look_at_sqlite(&doctor);
        look_at_bell(&doctor);
        look_at_files(&doctor);
    }
    if (code == PAWL_OK) code = look_inside(&doctor, is_file);
    if (code != PAWL_OK) {
        struct pawl_str text = pawl_arena_copy(cli->scratch, pawl_str_of(cli->err.text));
        find(&doctor, LEVEL_ERROR, "store", text, pawl_str_of(pawl_code_text(code)));
        cli->err = (struct pawl_error){0};
    }
    pawl_listing_end(&doctor.listing, PAWL_STR(""));
    code = pawl_arena_code(cli->scratch);
    if (code != PAWL_OK) {
        (void)pawl_error_set(&cli->err, code, "the findings take too much room");
        return pawl_cli_fail(cli);
    }
    return doctor.wrong_count == 0 ? 0 : PAWL_EXIT_WORK_FAILED;
}
