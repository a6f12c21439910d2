#include "engine/trial.h"

#include "base/error.h"
#include "base/str.h"
#include "engine/env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pawl_trial {
    struct pawl *pawl;
    struct pawl_env_real real;
    struct pawl_env env;
    int64_t wall_ms;
    int64_t boot_ms;
    char folder[PATH_MAX]; /* empty = none yet */
    char path[PATH_MAX + 16];
};

static int64_t wall_ms(void *self)
{
    return ((const struct pawl_trial *)self)->wall_ms;
}

static int64_t boot_ms(void *self)
{
    return ((const struct pawl_trial *)self)->boot_ms;
}

static uint64_t random_number(void *self)
{
    struct pawl_env *env = &((struct pawl_trial *)self)->real.env;
    return env->random(env->self);
}

static void init_env(struct pawl_trial *trial)
{
    pawl_env_real_init(&trial->real);
    trial->wall_ms = trial->real.env.wall_ms(trial->real.env.self);
    trial->boot_ms = trial->real.env.boot_ms(trial->real.env.self);
    trial->env = trial->real.env;
    trial->env.self = trial;
    trial->env.wall_ms = wall_ms;
    trial->env.boot_ms = boot_ms;
    trial->env.random = random_number;
}

static enum pawl_code make_folder(struct pawl_trial *trial, struct pawl_error *err)
{
    const char *said = getenv("TMPDIR");
    const char *const roots[] = {"/dev/shm", said != NULL && said[0] != '\0' ? said : "/tmp"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        int length =
            snprintf(trial->folder, sizeof trial->folder, "%s/pawl-trial-XXXXXX", roots[i]);
        bool fits = length > 0 && (size_t)length < sizeof trial->folder;
        if (fits && mkdtemp(trial->folder) != NULL) return PAWL_OK;
    }
    trial->folder[0] = '\0';
    return pawl_error_set(err, PAWL_IO, "no folder for a trial in %s: %s", roots[1],
                          strerror(errno));
}

/* The store, and what lies beside it. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *at = folder == NULL ? NULL : readdir(folder); at != NULL;
         at = readdir(folder)) {
        bool is_file = strcmp(at->d_name, ".") != 0 && strcmp(at->d_name, "..") != 0;
        if (is_file) (void)unlinkat(dirfd(folder), at->d_name, 0); /* what stays, stays */
    }
    if (folder != NULL) (void)closedir(folder);
    (void)rmdir(path);
}

enum pawl_code pawl_trial_open(struct pawl_trial **out, struct pawl_error *err)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a trial");
    init_env(trial);
    enum pawl_code code = make_folder(trial, err);
    if (code == PAWL_OK) {
        (void)snprintf(trial->path, sizeof trial->path, "%s/trial.db", trial->folder);
        options.store = pawl_str_of(trial->path);
        options.driven = true;
        options.env = &trial->env;
        code = pawl_open(&trial->pawl, &options, err);
    }
    if (code != PAWL_OK) {
        pawl_trial_close(trial);
        return code;
    }
    *out = trial;
    return PAWL_OK;
}

void pawl_trial_close(struct pawl_trial *trial)
{
    if (trial == NULL) return;
    pawl_close(trial->pawl);
    if (trial->folder[0] != '\0') remove_folder(trial->folder);
    free(trial);
}

struct pawl *pawl_trial_pawl(struct pawl_trial *trial)
{
    return trial->pawl;
}

enum pawl_code pawl_trial_pass(struct pawl_trial *trial, int64_t ms, int64_t *next_ms,
                               struct pawl_error *err)
{
    int64_t end_ms = trial->boot_ms + ms;
    int64_t next_at_ms = 0;
    for (;;) { /* each thing that is due at its own time */
        enum pawl_code code = pawl_step(trial->pawl, &next_at_ms, err);
        if (code != PAWL_OK) return code;
        if (next_at_ms > end_ms) break;
        int64_t to_ms = next_at_ms > trial->boot_ms ? next_at_ms : trial->boot_ms;
        trial->wall_ms += to_ms - trial->boot_ms;
        trial->boot_ms = to_ms;
    }
    trial->wall_ms += end_ms - trial->boot_ms;
    trial->boot_ms = end_ms;
    if (next_ms != NULL) {
        *next_ms = next_at_ms == INT64_MAX ? INT64_MAX : next_at_ms - trial->boot_ms;
    }
    return PAWL_OK;
}
