#include "engine/proof.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static const struct pawl_str none = {0};

struct awaited { /* its lock was held when we looked */
    int64_t task;
    int64_t epoch;
    char id[PAWL_TASK_ID_STORED_BYTES_MAX];
    size_t id_len;
    char place[PAWL_PLACE_ID_BYTES_MAX]; /* where it is */
    size_t place_len;
};

struct pawl_proof {
    const struct pawl_locks *locks;
    const struct pawl_env *env;
    struct pawl_place place; /* as of the last look */
    struct pawl_found *found;
    size_t found_count;
    size_t found_room;
    struct awaited awaited[PAWL_PROOFS_AWAITED_MAX];
    size_t awaited_count;
    int watch_fd;
};

struct pawl_proof *pawl_proof_open(const struct pawl_locks *locks)
{
    struct pawl_proof *proof = calloc(1, sizeof *proof);
    if (proof == NULL) return NULL;
    proof->locks = locks;
    proof->env = locks->env;
    proof->watch_fd = -1;
    return proof;
}

void pawl_proof_close(struct pawl_proof *proof)
{
    if (proof == NULL) return;
    if (proof->watch_fd >= 0) (void)close(proof->watch_fd);
    free(proof->found);
    free(proof);
}

/* Without memory it is not kept: the row is due for another look. */
static void keep(struct pawl_proof *proof, const struct pawl_found *found)
{
    if (proof->found_count == proof->found_room) {
        size_t room = proof->found_room == 0 ? 16 : proof->found_room * 2;
        struct pawl_found *grown = realloc(proof->found, room * sizeof *grown);
        if (grown == NULL) return;
        proof->found = grown;
        proof->found_room = room;
    }
    proof->found[proof->found_count++] = *found;
}

/* ---- Locks that are waited for ---- */

static void await(struct pawl_proof *proof, const struct pawl_task_row *task)
{
    for (size_t i = 0; i < proof->awaited_count; i++) {
        if (proof->awaited[i].task == task->key && proof->awaited[i].epoch == task->epoch) return;
    }
    /* one too many is looked at when it is due again */
    if (proof->awaited_count == PAWL_PROOFS_AWAITED_MAX) return;
    struct awaited *awaited = &proof->awaited[proof->awaited_count];
    if (task->id.len > sizeof awaited->id || task->lease_place.len > sizeof awaited->place) return;
    *awaited = (struct awaited){.task = task->key,
                                .epoch = task->epoch,
                                .id_len = task->id.len,
                                .place_len = task->lease_place.len};
    memcpy(awaited->id, task->id.ptr, task->id.len);
    memcpy(awaited->place, task->lease_place.ptr, task->lease_place.len);
    proof->awaited_count++;
}

/* Before looking, so that nothing is missed between the look and the watch. */
static void watch(struct pawl_proof *proof)
{
    if (proof->watch_fd >= 0) return;
    proof->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    bool watches = proof->watch_fd >= 0 && inotify_add_watch(proof->watch_fd, proof->place.folder,
                                                             IN_CLOSE_WRITE | IN_ONLYDIR) >= 0;
    if (watches || proof->watch_fd < 0) return;
    (void)close(proof->watch_fd);
    proof->watch_fd = -1; /* then the looks that are due have to do */
}

static void watch_no_more(struct pawl_proof *proof)
{
    if (proof->awaited_count > 0 || proof->watch_fd < 0) return;
    (void)close(proof->watch_fd);
    proof->watch_fd = -1;
}

/* ---- Looking ---- */

static struct pawl_str own_place(const struct pawl_proof *proof)
{
    return proof->env->find_execution != NULL ? proof->env->place : pawl_str_of(proof->place.id);
}

/* A place of this machine as it runs now, though not ours: another user's, another PAWL_LOCKS, or a
 * file that is not there any more. */
static bool is_on_this_boot(const struct pawl_proof *proof, const struct pawl_task_row *task,
                            const struct pawl_worker_row *owner)
{
    return pawl_str_equal(owner->host, proof->env->host_id) &&
           pawl_place_is_of_boot(task->lease_place, proof->env->boot_id);
}

static enum pawl_finding find(struct pawl_proof *proof, struct pawl_str id, int64_t epoch,
                              struct pawl_error *err)
{
    if (proof->env->find_execution != NULL) {
        return proof->env->find_execution(proof->env->self, id, epoch);
    }
    return pawl_place_find(&proof->place, id, epoch, err);
}

enum pawl_finding pawl_proof_find(const struct pawl_locks *locks, const struct pawl_task *task)
{
    const struct pawl_env *env = locks->env;
    struct pawl_place place = {0};
    bool is_real = env->find_execution == NULL;
    if (!pawl_place_is_of_boot(task->lease_place, env->boot_id)) return PAWL_FINDING_STOPPED;
    if (is_real && pawl_place_open(&place, locks, false, NULL) != PAWL_OK)
        return PAWL_FINDING_UNKNOWN;
    struct pawl_str own = is_real ? pawl_str_of(place.id) : env->place;
    if (!pawl_str_equal(own, task->lease_place)) return PAWL_FINDING_UNKNOWN;
    if (!is_real) return env->find_execution(env->self, task->id, task->epoch);
    return pawl_place_find(&place, task->id, task->epoch, NULL);
}

/* What the looks come to; fills the note unless the work has stopped. fault: the place cannot be
 * read. */
static enum pawl_finding judge(struct pawl_proof *proof, const struct pawl_task_row *task,
                               const struct pawl_worker_row *owner, const struct pawl_error *fault,
                               char *note, size_t room)
{
    struct pawl_error err = {0};
    if (owner == NULL) {
        (void)snprintf(note, room,
                       "nobody is known to hold it, so nothing can be proved; resolve it");
        return PAWL_FINDING_UNKNOWN;
    }
    if (task->lease_place.len == 0) {
        (void)snprintf(note, room,
                       "where its lock was is not known, so nothing can be proved; resolve it");
        return PAWL_FINDING_UNKNOWN;
    }
    bool is_own = pawl_str_equal(own_place(proof), task->lease_place);
    /* across machines nothing is ever proved: the end of the lease is all there is */
    if (!is_own && !is_on_this_boot(proof, task, owner)) return PAWL_FINDING_STOPPED;
    enum pawl_finding finding = PAWL_FINDING_UNKNOWN;
    if (fault->code != PAWL_OK) {
        err = *fault;
    } else if (is_own) {
        finding = find(proof, task->id, task->epoch, &err);
    } else {
        (void)pawl_error_set(
            &err, PAWL_IO,
            "its lock is in another file of this machine: one that is gone, of another user, or of "
            "another PAWL_LOCKS");
    }
    if (finding == PAWL_FINDING_ALIVE) {
        (void)snprintf(note, room,
                       "its work goes on: worker %.*s has lost it, and its lock is still held (pid "
                       "was %" PRId64 ")",
                       PAWL_STR_ARG(owner->id), owner->pid);
    } else if (finding == PAWL_FINDING_UNKNOWN) {
        (void)snprintf(note, room, "whether its work has stopped cannot be told: %.300s", err.text);
    }
    return finding;
}

static void look_at(struct pawl_proof *proof, const struct pawl_task_row *task,
                    const struct pawl_worker_row *owner, const struct pawl_error *fault)
{
    struct pawl_found found = {.task = task->key, .epoch = task->epoch};
    found.finding = judge(proof, task, owner, fault, found.note, sizeof found.note);
    if (found.finding == PAWL_FINDING_ALIVE) await(proof, task);
    keep(proof, &found);
}

static const struct pawl_worker_row *owner_of(struct pawl_step *step,
                                              const struct pawl_task_row *task)
{
    void **slot = pawl_map_at(&step->set.entries, PAWL_LOOK_WORKER, task->owner, none);
    const struct pawl_entry *entry = slot == NULL ? NULL : *slot;
    return entry == NULL ? NULL : entry->row;
}

void pawl_proof_look(struct pawl_proof *proof, struct pawl_step *step)
{
    bool is_ready = false;
    struct pawl_error fault = {0}; /* the place cannot be read */
    for (size_t i = 0; i < pawl_map_count(&step->set.entries); i++) {
        const struct pawl_map_entry *slot = pawl_map_entry(&step->set.entries, i);
        const struct pawl_entry *entry = slot->value;
        if (slot->kind != PAWL_LOOK_TASK || entry == NULL || entry->row == NULL) continue;
        const struct pawl_task_row *task = entry->row;
        if (!task->wants_proof || task->state != PAWL_TASK_RECOVERY_PENDING) continue;
        if (!is_ready && proof->env->find_execution == NULL) {
            is_ready = true;
            (void)pawl_place_open(&proof->place, proof->locks, false, &fault);
            if (proof->place.id[0] != '\0') watch(proof);
        }
        look_at(proof, task, owner_of(step, task), &fault);
    }
    watch_no_more(proof);
}

void pawl_proof_look_again(struct pawl_proof *proof)
{
    char events[4096];
    while (proof->watch_fd >= 0 && read(proof->watch_fd, events, sizeof events) > 0) {
        /* which file it was does not matter: there are few */
    }
    size_t left = 0;
    for (size_t i = 0; i < proof->awaited_count; i++) {
        const struct awaited *awaited = &proof->awaited[i];
        struct pawl_str id = {awaited->id, awaited->id_len};
        struct pawl_str place = {awaited->place, awaited->place_len};
        struct pawl_found found = {
            .task = awaited->task, .epoch = awaited->epoch, .finding = PAWL_FINDING_STOPPED};
        if (!pawl_str_equal(own_place(proof), place))
            continue; /* the next look that is due tells */
        if (find(proof, id, awaited->epoch, NULL) == PAWL_FINDING_STOPPED) {
            keep(proof, &found);
        } else {
            proof->awaited[left++] = *awaited;
        }
    }
    proof->awaited_count = left;
    watch_no_more(proof);
}

int pawl_proof_fd(const struct pawl_proof *proof)
{
    return proof->watch_fd;
}

/* ---- Found ---- */

const struct pawl_found *pawl_proof_found(const struct pawl_proof *proof, size_t *count)
{
    *count = proof->found_count;
    return proof->found;
}

void pawl_proof_settle(struct pawl_proof *proof, int64_t task)
{
    for (size_t i = 0; i < proof->found_count; i++) {
        if (proof->found[i].task != task) continue;
        proof->found[i] = proof->found[--proof->found_count];
        return;
    }
}
