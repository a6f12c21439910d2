#include "app/location.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a folder and those it lies in. */
static enum pawl_code make_folder(char *path, struct pawl_error *err)
{
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        char end = *at;
        *at = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        if (failed) {
            return pawl_error_set(err, PAWL_IO, "cannot make the folder %s: %s", path,
                                  strerror(errno));
        }
        *at = end;
        if (end == '\0') return PAWL_OK;
    }
}

static enum pawl_code find_default(bool creates, struct pawl_arena *keep, struct pawl_str *out,
                                   struct pawl_error *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    struct pawl_str folder = {0};
    /* The specification has relative paths in XDG_DATA_HOME ignored. */
    if (data != NULL && data[0] == '/') {
        folder = pawl_arena_format(keep, "%s/pawl", data);
    } else if (home != NULL && home[0] == '/') {
        folder = pawl_arena_format(keep, "%s/.local/share/pawl", home);
    } else {
        return pawl_error_set(err, PAWL_INVALID,
                              "there is no HOME to look in: name the store by --db");
    }

    char *path = pawl_arena_c_text(keep, folder);
    if (path != NULL && creates) {
        enum pawl_code code = make_folder(path, err);
        if (code != PAWL_OK) return code;
    }
    *out = pawl_arena_format(keep, "%.*s/pawl.db", PAWL_STR_ARG(folder));
    return pawl_arena_code(keep);
}

static enum pawl_code make_absolute(struct pawl_str path, struct pawl_arena *keep,
                                    struct pawl_str *out, struct pawl_error *err)
{
    if (path.ptr[0] == '/') {
        *out = path;
        return PAWL_OK;
    }
    char *here = getcwd(NULL, 0);
    if (here == NULL) {
        return pawl_error_set(err, PAWL_IO, "the current folder is not known: %s", strerror(errno));
    }
    *out = pawl_arena_format(keep, "%s/%.*s", here, PAWL_STR_ARG(path));
    free(here);
    return pawl_arena_code(keep);
}

/* The folder of a file, which nobody makes: its name may be a slip of the hand. */
static enum pawl_code check_folder(struct pawl_str path, struct pawl_arena *keep,
                                   struct pawl_error *err)
{
    struct stat status;
    const char *slash = memrchr(path.ptr, '/', path.len);
    size_t len = slash > path.ptr ? (size_t)(slash - path.ptr) : 1;
    char *folder = pawl_arena_c_text(keep, (struct pawl_str){path.ptr, len});
    if (folder == NULL) return pawl_error_set(err, pawl_arena_code(keep), "--db is too long");
    if (stat(folder, &status) == 0) {
        if (S_ISDIR(status.st_mode)) return PAWL_OK;
        errno = ENOTDIR;
    }
    enum pawl_code code = errno == ENOENT || errno == ENOTDIR ? PAWL_NOT_FOUND : PAWL_IO;
    const char *what = errno == ENOENT ? "there is no folder" : "cannot open the folder";
    const char *why = errno == ENOENT ? "" : strerror(errno);
    return pawl_error_set(err, code, "%s %s%s%s", what, folder, why[0] != '\0' ? ": " : "", why);
}

enum pawl_code pawl_location_find(struct pawl_str given, bool creates, struct pawl_arena *keep,
                                  struct pawl_str *out, struct pawl_error *err)
{
    if (given.len == 0) given = pawl_str_of(getenv("PAWL_DB"));
    if (given.len == 0) return find_default(creates, keep, out, err);
    if (pawl_str_starts(given, PAWL_STR("postgres://")) ||
        pawl_str_starts(given, PAWL_STR("postgresql://"))) {
        *out = given;
        return PAWL_OK;
    }
    if (pawl_str_has(given, PAWL_STR("://"))) {
        return pawl_error_set(err, PAWL_INVALID, "%.*s: a store is a file or postgres://…",
                              PAWL_STR_ARG(given));
    }
    enum pawl_code code = make_absolute(given, keep, out, err);
    return code == PAWL_OK ? check_folder(*out, keep, err) : code;
}
