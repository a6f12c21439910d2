#include "import/file.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4096 };

/* Made up once; the digest is stored as the marker of an import, so they stay. */
static const uint64_t digest_keys[2][2] = {
    {UINT64_C(0x7061776c2d696d70), UINT64_C(0x6f72742d66696c31)},
    {UINT64_C(0x7061776c2d696d70), UINT64_C(0x6f72742d66696c32)},
};

/* Of a file that was left in the middle of something the newest lies in a log beside it. Nobody but
 * SQLite may put the two together, and that would be writing. */
static enum pawl_code check_logs(const char *path, struct pawl_error *err)
{
    static const char *const logs[] = {"-wal", "-journal"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char name[PATH_BYTES_MAX + 16];
        struct stat status;
        (void)snprintf(name, sizeof name, "%s%s", path, logs[i]);
        if (stat(name, &status) != 0 || status.st_size == 0) continue;
        return pawl_error_set(
            err, PAWL_STATE,
            "%s has a log beside it, %s, with what is not in the file yet: end the program "
            "that uses it, or have SQLite take it in: sqlite3 %s 'PRAGMA wal_checkpoint(TRUNCATE)'",
            path, name, path);
    }
    return PAWL_OK;
}

static enum pawl_code map(struct pawl_import_file *file, struct pawl_error *err)
{
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0) {
        return pawl_error_set(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_IO, "cannot open %s: %s",
                              file->path, strerror(errno));
    }
    if (fstat(file->fd, &file->was) != 0) {
        return pawl_error_set(err, PAWL_IO, "cannot read %s: %s", file->path, strerror(errno));
    }
    if (!S_ISREG(file->was.st_mode))
        return pawl_error_set(err, PAWL_INVALID, "%s is no file", file->path);
    if (file->was.st_size == 0) return pawl_error_set(err, PAWL_INVALID, "%s is empty", file->path);
    size_t len = (size_t)file->was.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (bytes == MAP_FAILED) {
        return pawl_error_set(err, PAWL_IO, "cannot read %s: %s", file->path, strerror(errno));
    }
    file->bytes = (struct pawl_str){bytes, len};
    return PAWL_OK;
}

enum pawl_code pawl_import_file_open(struct pawl_import_file *file, const char *path,
                                     struct pawl_error *err)
{
    *file = (struct pawl_import_file){.path = path, .fd = -1};
    if (strlen(path) > PATH_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "a path has at most %d bytes", PATH_BYTES_MAX);
    }
    enum pawl_code code = map(file, err);
    if (code == PAWL_OK && pawl_import_file_is_sqlite(file)) code = check_logs(path, err);
    if (code != PAWL_OK) {
        pawl_import_file_close(file);
        return code;
    }
    (void)snprintf(file->digest, sizeof file->digest, "%016" PRIx64 "%016" PRIx64,
                   pawl_hash64(digest_keys[0], file->bytes),
                   pawl_hash64(digest_keys[1], file->bytes));
    return PAWL_OK;
}

void pawl_import_file_close(struct pawl_import_file *file)
{
    if (file->bytes.ptr != NULL) {
        void *bytes;
        memcpy(&bytes, &file->bytes.ptr, sizeof bytes); /* it was mapped without const */
        (void)munmap(bytes, file->bytes.len);
    }
    if (file->fd >= 0) (void)close(file->fd); /* read only: nothing can be lost */
    *file = (struct pawl_import_file){.fd = -1};
}

bool pawl_import_file_is_sqlite(const struct pawl_import_file *file)
{
    static const char magic[] = "SQLite format 3";
    return file->bytes.len >= sizeof magic && memcmp(file->bytes.ptr, magic, sizeof magic) == 0;
}

enum pawl_code pawl_import_file_check_same(const struct pawl_import_file *file,
                                           struct pawl_error *err)
{
    struct stat now;
    bool is_same = fstat(file->fd, &now) == 0 && now.st_size == file->was.st_size &&
                   now.st_mtim.tv_sec == file->was.st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == file->was.st_mtim.tv_nsec;
    if (is_same && pawl_import_file_is_sqlite(file))
        is_same = check_logs(file->path, NULL) == PAWL_OK;
    if (is_same) return PAWL_OK;
    return pawl_error_set(err, PAWL_CONFLICT,
                          "%s was changed while it was read: end the program that uses it",
                          file->path);
}
