/* Keeping a store: backup, restore, raising epochs, fsck. Calls on a store rather than on a handle,
 * for people who look after it; each opens what it needs.
 *
 * A restore proves that nobody uses the store by what the users themselves hold. Whoever steps
 * holds the turn. Whoever merely has the store open holds SQLite's shared lock on the file for as
 * long (a connection in WAL mode never gives it back). Whatever a dead worker's command still does
 * holds the lock of its execution. All three are taken or asked before anything is changed, and the
 * first two are held until the new file has its name; who comes later finds that file, or that its
 * own has been replaced (sqlite.c, check_place; turn.c, is_same_file). */
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "engine/place.h"
#include "store/db.h"
#include "store/epochs.h"
#include "store/fsck.h"
#include "store/sqlite_copy.h"
#include "store/sqlite_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before a folder or a file is judged, the words around them. */
static enum pawl_code check_named(struct pawl_str store, struct pawl_error *err)
{
    return store.len > 0 ? PAWL_OK : pawl_error_set(err, PAWL_INVALID, "store: is empty");
}

static const struct pawl_env *env_of(const struct pawl_env *given, struct pawl_env_real *real)
{
    if (given != NULL) return given;
    pawl_env_real_init(real);
    return &real->env;
}

/* Whether a path is the store or one of the files that belong to it. */
static enum pawl_code refuse_own(const char *store, const char *path, const char *field,
                                 struct pawl_error *err)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-turn", "-journal", "-new"};
    size_t len = strlen(store);
    bool is_own = pawl_file_is_same(store, path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !is_own; i++) {
        is_own = strncmp(path, store, len) == 0 && strcmp(path + len, suffixes[i]) == 0;
    }
    if (!is_own) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: %s is the store itself, or belongs to it", field,
                          path);
}

/* ---- Backup -----------------------------------------------------------------------------------
 */

/* That the store is there and ours. */
static enum pawl_code check_store(const char *path, struct pawl_error *err)
{
    struct pawl_db *db = NULL;
    struct pawl_db_options options = {.target = pawl_str_of(path), .read_only = true};
    enum pawl_code code = pawl_db_open(&db, &options, err);
    pawl_db_close(db);
    return code;
}

/* A log beside a file that is replaced would be taken for the log of the new one. */
static enum pawl_code check_target(const char *to, struct pawl_error *err)
{
    if (pawl_file_bytes(to, "-wal") > 0 || pawl_file_bytes(to, "-journal") > 0) {
        return pawl_error_set(
            err, PAWL_CONFLICT,
            "to: beside %s lies the log of a store that is or was in use; take another "
            "name, or remove both",
            to);
    }
    return PAWL_OK;
}

static enum pawl_code back_up(const struct pawl_backup *ask, const char *from, const char *to,
                              int64_t *bytes, struct pawl_error *err)
{
    struct pawl_sqlite_hold *hold = NULL;
    struct pawl_sqlite_copy copy = {.from = from, .to = to, .may_replace = ask->replace};
    enum pawl_code code = refuse_own(from, to, "to", err);
    if (code == PAWL_OK && pawl_file_exists(to) && !ask->replace) {
        code = pawl_error_set(err, PAWL_CONFLICT, "to: there is a file %s already; `replace` writes over it", to);
    }
    if (code == PAWL_OK) code = check_target(to, err);
    if (code == PAWL_OK && pawl_file_exists(to)) code = pawl_file_check_writing(to, err);
    if (code == PAWL_OK && pawl_file_exists(to)) code = pawl_sqlite_hold_open(&hold, to, err);
    /* what lies beside it is empty, and not that of the copy */
    if (code == PAWL_OK && hold != NULL) code = pawl_sqlite_hold_settle(hold, err);
    if (code == PAWL_OK) code = pawl_sqlite_copy_make(&copy, bytes, err);
    pawl_sqlite_hold_close(hold);
    return code;
}

static enum pawl_code make_parents(struct pawl_str path, struct pawl_error *err)
{
    if (path.len == 0) return pawl_error_set(err, PAWL_INVALID, "to: is empty");
    char *text = strndup(path.ptr, path.len);
    if (text == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    enum pawl_code code = pawl_file_make_folder(text, err);
    free(text);
    return code;
}

enum pawl_code pawl_backup(const struct pawl_backup *ask, struct pawl_backup_done *done,
                           struct pawl_error *err)
{
    struct pawl_backup own;
    enum pawl_code code = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_BACKUP_INIT", err);
    if (code == PAWL_OK) code = check_named(own.store, err);
    if (code != PAWL_OK) return code;
    if (pawl_db_target_is_postgres(own.store)) {
        return pawl_error_set(
            err, PAWL_UNSUPPORTED,
            "store: a PostgreSQL database is backed up by its own means: pg_dump, or a "
            "base backup with its log");
    }
    char *from = NULL;
    char *to = NULL;
    int64_t bytes = 0;
    code = pawl_file_real(own.store, &from, err);
    if (code == PAWL_OK) code = check_store(from, err);
    if (code == PAWL_OK) code = make_parents(own.to, err);
    if (code == PAWL_OK) code = pawl_file_real(own.to, &to, err);
    if (code == PAWL_OK) code = back_up(&own, from, to, &bytes, err);
    free(from);
    free(to);
    if (code == PAWL_OK && done != NULL) done->bytes = bytes;
    return code;
}

/* ---- Nobody uses the store --------------------------------------------------------------------
 */

/* Whether work of the store's tasks goes on, of a dead worker perhaps; or somebody lives who does
 * what is due, and has left a sign of it beside the locks of executions (careful.h). */
static enum pawl_code refuse_holders(struct pawl_str path, const struct pawl_env *env,
                                     struct pawl_error *err)
{
    struct pawl_place place;
    struct pawl_locks locks = {.env = env};
    if (path.len > PAWL_PLACE_PATH_BYTES_MAX)
        return pawl_error_set(err, PAWL_IO, "the path of the store is too long");
    memcpy(locks.db_path, path.ptr, path.len);
    enum pawl_code code = pawl_place_open(&place, &locks, false, err);
    if (code != PAWL_OK || !pawl_place_is_busy(&place)) return code;
    return pawl_error_set(
        err, PAWL_BUSY,
        "a lock in %s is held, by the work of a task that still runs or by a process that has the "
        "store open: stop all workers and programs that use it, or wait for them",
        place.folder);
}

/* The right to do with the store as one likes. One that is not there is made first, as an empty
 * file: whoever comes meanwhile meets our lock, and what lies beside it, the log of one that was
 * removed perhaps, is nobody's. */
struct hold {
    const char *path;
    struct pawl_turn *turn;
    struct pawl_sqlite_hold *file;
    bool is_made;
};

static enum pawl_code hold_store(struct hold *out, const char *path, const struct pawl_env *env,
                                 struct pawl_error *err)
{
    *out = (struct hold){.path = path};
    enum pawl_code code = refuse_holders(pawl_str_of(path), env, err);
    if (code != PAWL_OK) return code;
    out->is_made = !pawl_file_exists(path);
    if (out->is_made) code = pawl_sqlite_file_create(path, err);
    if (code == PAWL_OK) code = pawl_turn_open(&out->turn, pawl_str_of(path), false, false, err);
    if (code == PAWL_OK) code = pawl_turn_take(out->turn, PAWL_TURN_WAIT_MS_MAX, err);
    if (code == PAWL_OK) code = pawl_sqlite_hold_open(&out->file, path, err);
    if (code == PAWL_OK)
        code = refuse_holders(pawl_str_of(path), env, err); /* again: nobody can begin one now */
    return code;
}

/* An empty file that was made for the lock, and into whose place nothing came, goes again. */
static void let_go(struct hold *hold)
{
    bool is_left = hold->is_made && hold->file != NULL && pawl_file_bytes(hold->path, "") == 0;
    if (is_left)
        (void)pawl_file_remove(hold->path, "", NULL); /* if it stays, it is as good as none */
    pawl_sqlite_hold_close(hold->file);
    pawl_turn_close(hold->turn);
}

/* ---- Restore ----------------------------------------------------------------------------------
 */

static enum pawl_code raise_epochs(struct pawl_str store, bool is_copy, const struct pawl_env *env,
                                   struct pawl_store **out, struct pawl_error *err)
{
    struct pawl_store_options options = {
        .target = store, .must_exist = true, .env = env, .keeps_no_old = is_copy};
    struct pawl_arena *scratch = NULL;
    enum pawl_code code = pawl_arena_open(&scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to raise the epochs");
    code = pawl_store_open(out, &options, err);
    if (code == PAWL_OK) code = pawl_epochs_raise(*out, scratch, err);
    pawl_arena_close(scratch);
    return code;
}

/* The new store, whole in one file, but for its name. */
static enum pawl_code prepare(const struct pawl_file_new *file, const char *from,
                              const struct pawl_env *env, struct pawl_error *err)
{
    struct pawl_store *store = NULL;
    struct pawl_sqlite_copy copy = {.from = from};
    enum pawl_code code = pawl_sqlite_copy_into(&copy, file, err);
    if (code == PAWL_OK) code = raise_epochs(pawl_str_of(file->temp), true, env, &store, err);
    if (code == PAWL_OK) pawl_store_checkpoint_all(store);
    pawl_store_close(store);
    if (code != PAWL_OK) pawl_error_prefix(err, "from %s", from);
    if (code == PAWL_OK && pawl_file_bytes(file->temp, "-wal") > 0) {
        code = pawl_error_set(err, PAWL_IO, "%s: its log could not be moved into it", file->temp);
    }
    return code;
}

/* What is replaced has to be a store, or what is left of one: a damaged one is known by the file of its turn, which
 * every store has beside it. Anything else is somebody's file, named by mistake. */
static enum pawl_code refuse_others(const char *path, struct pawl_error *err)
{
    bool may_go = pawl_file_bytes(path, "") <= 0 || pawl_file_bytes(path, "-turn") >= 0 ||
                  pawl_sqlite_is_store(path);
    if (may_go) return PAWL_OK;
    return pawl_error_set(err, PAWL_UNSUPPORTED,
                          "%s is no Pawl store and is not replaced; remove it first, if it is to go", path);
}

static enum pawl_code restore(const char *path, const char *from, const struct pawl_env *env,
                              struct pawl_error *err)
{
    struct hold hold = {0};
    struct pawl_file_new file = {.fd = -1};
    enum pawl_code code = refuse_own(path, from, "from", err);
    if (code == PAWL_OK) code = refuse_others(path, err);
    if (code == PAWL_OK) code = hold_store(&hold, path, env, err);
    if (code == PAWL_OK) code = pawl_file_new_open(&file, path, err);
    if (code == PAWL_OK) code = prepare(&file, from, env, err);
    if (code == PAWL_OK) code = pawl_sqlite_hold_settle(hold.file, err);
    if (code == PAWL_OK) code = pawl_file_new_put(&file, true, err);
    pawl_file_new_close(&file);
    let_go(&hold);
    return code;
}

static enum pawl_code read_restore(struct pawl_restore *own, const struct pawl_restore *ask,
                                   struct pawl_error *err)
{
    enum pawl_code code = PAWL_OPTIONS_READ(*own, ask, "ask", "PAWL_RESTORE_INIT", err);
    if (code == PAWL_OK) code = check_named(own->store, err);
    if (code == PAWL_OK && !own->is_confirmed) {
        code =
            pawl_error_set(err, PAWL_INVALID,
                           "is_confirmed: confirm that all that use the store have been stopped");
    }
    return code;
}

enum pawl_code pawl_restore(const struct pawl_restore *ask, struct pawl_error *err)
{
    struct pawl_restore own;
    enum pawl_code code = read_restore(&own, ask, err);
    if (code != PAWL_OK) return code;
    if (own.from.len == 0) return pawl_error_set(err, PAWL_INVALID, "from: is empty");
    if (pawl_db_target_is_postgres(own.store)) {
        return pawl_error_set(
            err, PAWL_UNSUPPORTED,
            "store: a PostgreSQL database is restored by its own means (pg_restore); "
            "then raise its epochs: `pawl restore --raise-epochs`");
    }
    struct pawl_env_real real;
    char *path = NULL;
    char *from = NULL;
    code = pawl_file_real(own.store, &path, err);
    if (code == PAWL_OK) code = pawl_file_real(own.from, &from, err);
    if (code == PAWL_OK && !pawl_file_exists(from)) {
        code = pawl_error_set(err, PAWL_NOT_FOUND, "from: there is no %s", from);
    }
    if (code == PAWL_OK) code = pawl_file_check_reading(from, err);
    if (code == PAWL_OK && pawl_file_exists(path)) code = pawl_file_check_writing(path, err);
    if (code == PAWL_OK) code = restore(path, from, env_of(own.env, &real), err);
    free(path);
    free(from);
    return code;
}

enum pawl_code pawl_epochs_raise_all(const struct pawl_restore *ask, struct pawl_error *err)
{
    struct pawl_restore own;
    enum pawl_code code = read_restore(&own, ask, err);
    if (code != PAWL_OK) return code;
    struct pawl_env_real real;
    struct pawl_store *store = NULL;
    struct pawl_turn *turn = NULL;
    const struct pawl_env *env = env_of(own.env, &real);
    bool is_file = !pawl_db_target_is_postgres(own.store);
    char *path = NULL;
    if (is_file) code = pawl_file_real(own.store, &path, err);
    if (code == PAWL_OK && is_file) code = check_store(path, err);
    if (code == PAWL_OK && is_file)
        code = pawl_turn_open(&turn, pawl_str_of(path), false, false, err);
    if (code == PAWL_OK && is_file) code = pawl_turn_take(turn, PAWL_TURN_WAIT_MS_MAX, err);
    /* with another epoch its lock would not be found; on PostgreSQL the folder is that of many
     * stores */
    if (code == PAWL_OK && is_file) code = refuse_holders(pawl_str_of(path), env, err);
    if (code == PAWL_OK) code = raise_epochs(own.store, false, env, &store, err);
    if (code == PAWL_OK && is_file) {
        pawl_turn_ring(turn, false);
        pawl_store_checkpoint_all(store);
    }
    pawl_store_close(store);
    pawl_turn_close(turn);
    free(path);
    return code;
}

/* ---- Fsck -------------------------------------------------------------------------------------
 */

struct mending {
    const struct pawl_fsck *ask;
    struct pawl_store *store;
    struct pawl_turn *turn; /* NULL on PostgreSQL */
};

static enum pawl_code take_turn(void *self, struct pawl_error *err)
{
    struct mending *mending = self;
    if (mending->turn == NULL) return PAWL_OK;
    return pawl_turn_take(mending->turn, PAWL_TURN_WAIT_MS_MAX, err);
}

static void give_turn(void *self, bool has_changed)
{
    struct mending *mending = self;
    if (mending->turn == NULL) return;
    if (has_changed) {
        pawl_store_checkpoint(mending->store);
        pawl_turn_ring(mending->turn, false);
    }
    pawl_turn_give(mending->turn);
}

static void found(void *self, const struct pawl_fsck_finding *finding)
{
    const struct mending *mending = self;
    if (mending->ask->found != NULL) mending->ask->found(mending->ask->self, finding);
}

enum pawl_code pawl_fsck(const struct pawl_fsck *ask, struct pawl_fsck_done *done,
                         struct pawl_error *err)
{
    struct pawl_fsck own;
    enum pawl_code code = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_FSCK_INIT", err);
    if (code == PAWL_OK) code = check_named(own.store, err);
    if (code == PAWL_OK && own.let_out.len > 0 && !own.repair) {
        code = pawl_error_set(err, PAWL_INVALID, "let_out: goes with repair alone");
    }
    if (code != PAWL_OK) return code;
    struct pawl_env_real real;
    struct pawl_log log = {own.log, own.log_self, PAWL_LOG_DEBUG};
    struct pawl_store_options options = {
        .target = own.store, .must_exist = true, .env = env_of(own.env, &real), .log = &log};
    struct mending mending = {.ask = &own};
    struct pawl_fsck_run run = {.options = &options,
                                .skips_file = own.skip_file,
                                .let_out = own.let_out,
                                .self = &mending,
                                .found = found,
                                .turn_take = take_turn,
                                .turn_give = give_turn};
    struct pawl_fsck_done result = {0};
    if (own.repair) {
        code = pawl_store_open(&mending.store, &options, err);
        if (code == PAWL_OK && !pawl_store_is_postgres(mending.store)) {
            code = pawl_turn_open(&mending.turn, pawl_store_path(mending.store), true, false, err);
        }
        run.store = mending.store;
    }
    if (code == PAWL_OK) code = pawl_fsck_run(&run, &result, err);
    pawl_turn_close(mending.turn);
    pawl_store_close(mending.store);
    if (code == PAWL_OK && done != NULL) *done = result;
    return code;
}
