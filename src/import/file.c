#include "import/file.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
    PIECE_BYTES = 64 * 1024,
};
static const char magic[] = "SQLite format 3";

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

static enum pawl_code cannot(const char *verb, const char *path, struct pawl_error *err)
{
    return pawl_error_set(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_IO, "cannot %s %s: %s", verb,
                          path, strerror(errno));
}

static enum pawl_code open_source(struct pawl_import_file *file, struct pawl_error *err)
{
    char start[sizeof magic] = {0};
    /* Else the opening of a FIFO waits for somebody to write to it. */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0) return cannot("open", file->path, err);
    if (fstat(file->fd, &file->was) != 0) return cannot("read", file->path, err);
    if (!S_ISREG(file->was.st_mode))
        return pawl_error_set(err, PAWL_INVALID, "%s is not a file", file->path);
    if (file->was.st_size == 0) return pawl_error_set(err, PAWL_INVALID, "%s is empty", file->path);
    if (pread(file->fd, start, sizeof start, 0) < 0) return cannot("read", file->path, err);
    file->is_sqlite = memcmp(start, magic, sizeof magic) == 0;
    return PAWL_OK;
}

/* ---- The copy ---- */

/* A file without a name, in TMPDIR or /tmp. */
static enum pawl_code make_copy(struct pawl_import_file *file, struct pawl_error *err)
{
    char name[PATH_BYTES_MAX + 32];
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] != '/' || strlen(folder) > PATH_BYTES_MAX) folder = "/tmp";
    (void)snprintf(name, sizeof name, "%s/pawl-import-XXXXXX", folder);
    file->copy_fd = mkostemp(name, O_CLOEXEC);
    if (file->copy_fd < 0) {
        return pawl_error_set(err, PAWL_IO, "cannot make a copy of %s in %s: %s", file->path,
                              folder, strerror(errno));
    }
    (void)unlink(name); /* else it stays there; no harm */
    return PAWL_OK;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

/* Reads the file once, piece by piece: for its digest, and for the copy if there is to be one. */
static enum pawl_code read_through(struct pawl_import_file *file, struct pawl_error *err)
{
    char piece[PIECE_BYTES];
    struct pawl_hasher hashers[2];
    off_t at = 0;
    for (int i = 0; i < 2; i++) pawl_hasher_init(&hashers[i], digest_keys[i]);
    while (at < file->was.st_size) {
        ssize_t got = pread(file->fd, piece, sizeof piece, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot("read", file->path, err);
        if (got == 0) break; /* it has become shorter: said below */
        struct pawl_str bytes = {piece, (size_t)got};
        for (int i = 0; i < 2; i++) pawl_hasher_add_piece(&hashers[i], bytes);
        if (file->copy_fd >= 0 && !write_all(file->copy_fd, bytes.ptr, bytes.len))
            return cannot("copy", file->path, err);
        at += got;
    }
    enum pawl_code code = pawl_import_file_check_same(file, err);
    if (code != PAWL_OK) return code;
    (void)snprintf(file->digest, sizeof file->digest, "%016" PRIx64 "%016" PRIx64,
                   pawl_hasher_end(&hashers[0]), pawl_hasher_end(&hashers[1]));
    return PAWL_OK;
}

static enum pawl_code map_copy(struct pawl_import_file *file, struct pawl_error *err)
{
    size_t len = (size_t)file->was.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, file->copy_fd, 0);
    if (bytes == MAP_FAILED) return cannot("map the copy of", file->path, err);
    file->bytes = (struct pawl_str){bytes, len};
    return PAWL_OK;
}

enum pawl_code pawl_import_file_open(struct pawl_import_file *file, const char *path,
                                     struct pawl_error *err)
{
    *file = (struct pawl_import_file){.path = path, .fd = -1, .copy_fd = -1};
    if (strlen(path) > PATH_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "a path has at most %d bytes", PATH_BYTES_MAX);
    }
    enum pawl_code code = open_source(file, err);
    if (code == PAWL_OK && file->is_sqlite) code = check_logs(path, err);
    if (code == PAWL_OK && !file->is_sqlite) code = make_copy(file, err);
    if (code == PAWL_OK) code = read_through(file, err);
    if (code == PAWL_OK && !file->is_sqlite) code = map_copy(file, err);
    if (code != PAWL_OK) pawl_import_file_close(file);
    return code;
}

void pawl_import_file_close(struct pawl_import_file *file)
{
    if (file->bytes.ptr != NULL) {
        void *bytes;
        memcpy(&bytes, &file->bytes.ptr, sizeof bytes); /* it was mapped without const */
        (void)munmap(bytes, file->bytes.len);
    }
    if (file->copy_fd >= 0) (void)close(file->copy_fd); /* nobody wants it any more */
    if (file->fd >= 0) (void)close(file->fd);           /* read only: nothing can be lost */
    *file = (struct pawl_import_file){.fd = -1, .copy_fd = -1};
}

enum pawl_code pawl_import_file_check_same(const struct pawl_import_file *file,
                                           struct pawl_error *err)
{
    struct stat now;
    bool is_same = fstat(file->fd, &now) == 0 && now.st_size == file->was.st_size &&
                   now.st_mtim.tv_sec == file->was.st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == file->was.st_mtim.tv_nsec;
    if (is_same && file->is_sqlite) is_same = check_logs(file->path, NULL) == PAWL_OK;
    if (is_same) return PAWL_OK;
    return pawl_error_set(err, PAWL_CONFLICT,
                          "%s was changed while it was read: end the program that uses it",
                          file->path);
}
