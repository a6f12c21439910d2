#include "store/sqlite_file.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
    MOUNT_LINE_BYTES_MAX = 4 * PATH_BYTES_MAX,
    LINKS_MAX = 40, /* as the kernel follows */
    FUSE = 0x65735546,
};

/* As statfs(2) lists them; linux/magic.h has some only. */
static const int64_t remote_numbers[] = {
    0x6969,     /* NFS */
    0x517B,     /* SMB */
    0xFF534D42, /* CIFS */
    0xFE534D42, /* SMB 2 and 3 */
    0x01021997, /* 9P */
    0x00C36400, /* Ceph */
    0x5346414F, /* OpenAFS */
    0x6B414653, /* AFS of the kernel */
    0x73757245, /* Coda */
    0x0BD00BD0, /* Lustre */
    0x47504653, /* GPFS */
    0x7461636F, /* OCFS2 */
    0x01161970, /* GFS2 */
    0x786F4256, /* folders shared by VirtualBox */
    0xBACBACBC, /* and by VMware */
};

static const char *const remote_fuse_types[] = {
    "fuse.sshfs",     "fuse.s3fs",      "fuse.gcsfuse",   "fuse.goofys",    "fuse.rclone",
    "fuse.glusterfs", "fuse.ceph",      "fuse.ceph-fuse", "fuse.juicefs",   "fuse.davfs",
    "fuse.davfs2",    "fuse.smbnetfs",  "fuse.curlftpfs", "fuse.lizardfs",  "fuse.moosefs",
    "fuse.mfs",       "fuse.seaweedfs", "fuse.blobfuse",  "fuse.blobfuse2", "fuse.vmhgfs-fuse",
    "fuse.grpcfuse",  "fuse.cvmfs2",    "fuse.httpfs",
};

bool pawl_file_system_is_remote(int64_t number, const char *type)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(remote_numbers); i++) {
        if (number == remote_numbers[i]) return true;
    }
    if (number != FUSE || type == NULL) return false;
    for (size_t i = 0; i < PAWL_COUNT_OF(remote_fuse_types); i++) {
        if (strcmp(type, remote_fuse_types[i]) == 0) return true;
    }
    return false;
}

/* "36 35 98:0 /root /mnt options ... - type source options" */
const char *pawl_mount_type(char *line, uint64_t device)
{
    unsigned major_number = 0;
    unsigned minor_number = 0;
    if (sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2) return NULL;
    if (makedev(major_number, minor_number) != device) return NULL;
    char *type = strstr(line, " - ");
    if (type == NULL) return NULL;
    type += strlen(" - ");
    type[strcspn(type, " \n")] = '\0';
    return type;
}

static bool fuse_is_remote(dev_t device)
{
    char line[MOUNT_LINE_BYTES_MAX];
    bool is_remote = false;
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (table == NULL) return false; /* not known to be remote */
    while (!is_remote && fgets(line, sizeof line, table) != NULL) {
        const char *type = pawl_mount_type(line, device);
        if (type != NULL) is_remote = pawl_file_system_is_remote(FUSE, type);
    }
    (void)fclose(table); /* read only: nothing can be lost */
    return is_remote;
}

/* The folder of a path, in place: "a/b" is "a", "b" is ".", "/b" is "/". */
static void cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        path[0] = '.';
        path[1] = '\0';
    } else {
        slash[slash == path ? 1 : 0] = '\0';
    }
}

/* Where a symbolic link leads, in place; true if it is one and its text fits. */
static bool follow(char where[PATH_BYTES_MAX + 1])
{
    char link[PATH_BYTES_MAX + 1];
    ssize_t len = readlink(where, link, sizeof link);
    if (len <= 0) return false;
    size_t front = 0; /* of its folder, with the slash */
    const char *slash = strrchr(where, '/');
    if (link[0] != '/' && slash != NULL) front = (size_t)(slash + 1 - where);
    if (front + (size_t)len > PATH_BYTES_MAX) return false;
    memcpy(where + front, link, (size_t)len);
    where[front + (size_t)len] = '\0';
    return true;
}

/* The place that a path names, though nothing may be there yet: links are followed, so that a file
 * made through one that leads nowhere is made by us and not by SQLite, which would let everybody
 * read it. */
static enum pawl_code find_place(const char *path, char where[PATH_BYTES_MAX + 1],
                                 struct pawl_error *err)
{
    size_t len = strlen(path);
    if (len == 0 || len > PATH_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "a path has 1 to %d bytes", PATH_BYTES_MAX);
    }
    memcpy(where, path, len + 1);
    for (int links = 0; follow(where); links++) {
        if (links == LINKS_MAX)
            return pawl_error_set(err, PAWL_IO, "%s: %s", path, strerror(ELOOP));
    }
    return PAWL_OK;
}

enum pawl_code pawl_sqlite_file_check(const char *path, struct pawl_error *err)
{
    char where[PATH_BYTES_MAX + 1];
    struct stat file;
    struct statfs system;
    enum pawl_code code = find_place(path, where, err);
    if (code != PAWL_OK) return code;
    /* SQLite would wait for ever for somebody to write to a FIFO. */
    bool is_there = stat(where, &file) == 0;
    if (is_there && !S_ISREG(file.st_mode))
        return pawl_error_set(err, PAWL_INVALID, "%s is not a file", path);
    /* Each name would have its own log and locks beside it: two processes would not see each other, and each
     * would lose what the other has written. */
    if (is_there && file.st_nlink > 1)
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s has %ju names (hard links), and each would have a log of its own; "
                              "leave it one, and make copies with pawl backup",
                              path, (uintmax_t)file.st_nlink);
    if (!is_there && errno == ENOENT) cut_to_folder(where);
    if (stat(where, &file) != 0 || statfs(where, &system) != 0) {
        return pawl_error_set(err, PAWL_IO, "%s: %s", where, strerror(errno));
    }
    /* the numbers have 32 bits; f_type may have come sign-extended */
    int64_t number = (int64_t)system.f_type & INT64_C(0xFFFFFFFF);
    if (pawl_file_system_is_remote(number, NULL) ||
        (number == FUSE && fuse_is_remote(file.st_dev))) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s lies on a network file system (0x%" PRIx64 "), where locks and "
                              "shared memory cannot be trusted; use a local disk or PostgreSQL",
                              path, number);
    }
    return PAWL_OK;
}

bool pawl_sqlite_file_is_json(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    int c = fgetc(file);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n') c = fgetc(file);
    (void)fclose(file); /* read only: nothing can be lost */
    return c == '{' || c == '[';
}

enum pawl_code pawl_sqlite_file_create(const char *path, struct pawl_error *err)
{
    char where[PATH_BYTES_MAX + 1];
    enum pawl_code code = find_place(path, where, err);
    if (code != PAWL_OK) return code;
    if (mknod(where, S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s cannot be created: %s", path, strerror(errno));
}
