#include "engine/careful.h"

#include "base/str.h"
#include "base/uuid.h"
#include "core/limits.h"
#include "engine/ofd.h"
#include "engine/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_BYTES_MAX = 128,
    SIGN_BYTES_MAX = 128, /* "<boot id> <boot clock>" */
};

struct pawl_careful {
    const struct pawl_locks *locks;
    const struct pawl_env *env;
    struct pawl_place place;
    int folder_fd; /* -1: there is no careful mode */
    bool has_begun;
    int64_t until_boot_ms; /* careful so long */
    char sign[NAME_BYTES_MAX + 1];
    int sign_fd;
    char mark[NAME_BYTES_MAX + 1];
    int mark_fd; /* -1: nothing is marked */
};

struct pawl_careful *pawl_careful_open(const struct pawl_locks *locks)
{
    struct pawl_careful *careful = calloc(1, sizeof *careful);
    if (careful == NULL) return NULL;
    *careful = (struct pawl_careful){
        .locks = locks, .env = locks->env, .folder_fd = -1, .sign_fd = -1, .mark_fd = -1};
    return careful;
}

void pawl_careful_close(struct pawl_careful *careful)
{
    if (careful == NULL) return;
    pawl_careful_clear(careful);
    if (careful->sign_fd >= 0) {
        (void)unlinkat(careful->folder_fd, careful->sign, 0); /* if it stays, it counts as a death */
        (void)close(careful->sign_fd);
    }
    if (careful->folder_fd >= 0) (void)close(careful->folder_fd);
    free(careful);
}

/* ---- Signs of life ---- */

static bool leave_sign(struct pawl_careful *careful, int64_t now_boot_ms)
{
    const struct pawl_env *env = careful->env;
    char text[SIGN_BYTES_MAX];
    char id[PAWL_UUID_BYTES_MAX + 1];
    uint64_t random_high = env->random(env->self);
    pawl_uuid_make(env->wall_ms(env->self), random_high, env->random(env->self), id);
    (void)snprintf(careful->sign, sizeof careful->sign, "engine-%s-%s", careful->locks->store_id, id);
    int len = snprintf(text, sizeof text, "%.*s %" PRId64, PAWL_STR_ARG(env->boot_id), now_boot_ms);
    careful->sign_fd =
        openat(careful->folder_fd, careful->sign, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (careful->sign_fd < 0) return false;
    return pawl_ofd_lock(careful->sign_fd, 0, 0, false) == 0 && write(careful->sign_fd, text, (size_t)len) == len;
}

/* When the engine of a sign began; INT64_MIN if that was on another boot, or is not said. */
static int64_t began_boot_ms(const struct pawl_careful *careful, int fd)
{
    char text[SIGN_BYTES_MAX + 1];
    char boot_id[SIGN_BYTES_MAX + 1];
    int64_t at_boot_ms;
    ssize_t got = read(fd, text, SIGN_BYTES_MAX);
    text[got > 0 ? got : 0] = '\0';
    if (sscanf(text, "%64s %" SCNd64, boot_id, &at_boot_ms) != 2) return INT64_MIN;
    return pawl_str_equal(pawl_str_of(boot_id), careful->env->boot_id) ? at_boot_ms : INT64_MIN;
}

/* How many have died lately; those who began long before are forgotten. */
static int count_dead(const struct pawl_careful *careful, int64_t now_boot_ms)
{
    char prefix[NAME_BYTES_MAX + 1];
    int count = 0;
    int prefix_len = snprintf(prefix, sizeof prefix, "engine-%s-", careful->locks->store_id);
    DIR *folder = opendir(careful->place.folder);
    if (folder == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, prefix, (size_t)prefix_len) != 0) continue;
        int fd = openat(careful->folder_fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;
        bool is_alive;
        if (pawl_ofd_look(fd, 0, 0, &is_alive) == 0 && !is_alive) {
            bool is_recent = began_boot_ms(careful, fd) > now_boot_ms - PAWL_CAREFUL_MS;
            count += is_recent ? 1 : 0;
            if (!is_recent) (void)unlinkat(careful->folder_fd, entry->d_name, 0);
        }
        (void)close(fd);
    }
    (void)closedir(folder);
    return count;
}

static void begin(struct pawl_careful *careful, int64_t now_boot_ms)
{
    if (careful->env->boot_id.len == 0) return;
    if (pawl_place_open(&careful->place, careful->locks, true, NULL) != PAWL_OK) return;
    careful->folder_fd = open(careful->place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (careful->folder_fd < 0) return;
    bool is_dying = count_dead(careful, now_boot_ms) >= PAWL_CAREFUL_DEATHS;
    if (!leave_sign(careful, now_boot_ms)) return;
    if (is_dying) careful->until_boot_ms = now_boot_ms + PAWL_CAREFUL_MS;
}

bool pawl_careful_begin(struct pawl_careful *careful)
{
    int64_t now_boot_ms = careful->env->boot_ms(careful->env->self);
    if (!careful->has_begun) begin(careful, now_boot_ms);
    careful->has_begun = true;
    return now_boot_ms < careful->until_boot_ms;
}

/* ---- Marks ---- */

enum pawl_mark pawl_careful_mark(struct pawl_careful *careful, char kind, int64_t key)
{
    char digit = '0'; /* how many it has killed */
    if (careful->mark_fd >= 0) return PAWL_MARK_MADE;
    (void)snprintf(careful->mark, sizeof careful->mark, "trying-%s-%c%" PRId64, careful->locks->store_id, kind, key);
    int fd;
    bool is_named;
    do { /* whoever tried it before us may be taking the file away this moment: its count is no count of ours */
        fd = openat(careful->folder_fd, careful->mark, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) return PAWL_MARK_MADE; /* a full disk is no reason to stand still */
        if (pawl_ofd_lock(fd, 0, 0, false) != 0) {
            (void)close(fd);
            return PAWL_MARK_HELD;
        }
        struct stat held;
        is_named = fstat(fd, &held) != 0 || held.st_nlink > 0;
        if (!is_named) (void)close(fd);
    } while (!is_named);
    careful->mark_fd = fd;
    if (pread(fd, &digit, 1, 0) == 1 && digit >= '0' + PAWL_CAREFUL_DEATHS) return PAWL_MARK_SPENT;
    digit++;
    (void)!pwrite(fd, &digit, 1, 0); /* not counted, then */
    return PAWL_MARK_MADE;
}

void pawl_careful_clear(struct pawl_careful *careful)
{
    if (careful->mark_fd < 0) return;
    (void)unlinkat(careful->folder_fd, careful->mark, 0); /* if it stays, it counts once more */
    (void)close(careful->mark_fd);
    careful->mark_fd = -1;
}
