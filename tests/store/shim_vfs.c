#include "shim_vfs.h"

#include "test.h"

#include <string.h>

struct shim_file {
    sqlite3_file file; /* first */
    struct shim_vfs *shim;
    sqlite3_file *real; /* behind this struct */
};

static struct shim_file *of(sqlite3_file *file)
{
    return (struct shim_file *)file;
}

static sqlite3_file *real(sqlite3_file *file)
{
    return of(file)->real;
}

static int file_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 at)
{
    if (of(file)->shim->fails_read) return SQLITE_IOERR_READ;
    return real(file)->pMethods->xRead(real(file), to, bytes, at);
}

static int file_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    struct shim_vfs *shim = of(file)->shim;
    shim->write_count++;
    if (shim->fail_write_at > 0 && shim->write_count >= shim->fail_write_at)
        return shim->write_result;
    return real(file)->pMethods->xWrite(real(file), from, bytes, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    if (of(file)->shim->fails_sync) return SQLITE_IOERR_FSYNC;
    return real(file)->pMethods->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real(file)->pMethods->xFileSize(real(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_check(sqlite3_file *file, int *out)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}

static int file_control(sqlite3_file *file, int what, void *with)
{
    return real(file)->pMethods->xFileControl(real(file), what, with);
}

static int file_sector(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int file_device(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int region, int bytes, int extends, void volatile **out)
{
    return real(file)->pMethods->xShmMap(real(file), region, bytes, extends, out);
}

static int file_shm_lock(sqlite3_file *file, int at, int count, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), at, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int deletes)
{
    return real(file)->pMethods->xShmUnmap(real(file), deletes);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static struct shim_vfs *shim_of(sqlite3_vfs *vfs)
{
    return (struct shim_vfs *)vfs;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    struct shim_vfs *shim = shim_of(vfs);
    struct shim_file *made = of(file);
    made->shim = shim;
    made->real = (sqlite3_file *)(made + 1);
    int result = shim->real->xOpen(shim->real, name, made->real, flags, out_flags);
    made->file.pMethods = made->real->pMethods == NULL ? NULL : &methods;
    return result;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs)
{
    return shim_of(vfs)->real->xDelete(shim_of(vfs)->real, name, syncs);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    return shim_of(vfs)->real->xAccess(shim_of(vfs)->real, name, flags, out);
}

static int vfs_full(sqlite3_vfs *vfs, const char *name, int bytes, char *out)
{
    return shim_of(vfs)->real->xFullPathname(shim_of(vfs)->real, name, bytes, out);
}

static int vfs_random(sqlite3_vfs *vfs, int bytes, char *out)
{
    return shim_of(vfs)->real->xRandomness(shim_of(vfs)->real, bytes, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    struct shim_vfs *shim = shim_of(vfs);
    shim->slept_us += us;
    if (shim->on_sleep != NULL) shim->on_sleep(shim->on_sleep_self);
    return us;
}

static int vfs_last_error(sqlite3_vfs *vfs, int bytes, char *out)
{
    return shim_of(vfs)->real->xGetLastError(shim_of(vfs)->real, bytes, out);
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    return shim_of(vfs)->real->xCurrentTimeInt64(shim_of(vfs)->real, out);
}

void shim_vfs_add(struct shim_vfs *shim)
{
    *shim = (struct shim_vfs){.real = sqlite3_vfs_find(NULL)};
    shim->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(struct shim_file) + shim->real->szOsFile,
        .mxPathname = shim->real->mxPathname,
        .zName = "shim",
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full,
        .xRandomness = vfs_random,
        .xSleep = vfs_sleep,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_time,
    };
    CHECK_EQ(SQLITE_OK, sqlite3_vfs_register(&shim->vfs, 0));
}

void shim_vfs_remove(struct shim_vfs *shim)
{
    CHECK_EQ(SQLITE_OK, sqlite3_vfs_unregister(&shim->vfs));
}
