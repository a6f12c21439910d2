#include "disk.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512 };

struct handle {        /* what SQLite calls a file */
    sqlite3_file base; /* first */
    struct disk *disk;
    struct disk_file *file;
    int level;
    bool has_shm;
    bool is_temporary;
    uint8_t shared_slots;
    uint8_t exclusive_slots;
};

static struct handle *of(sqlite3_file *file)
{
    return (struct handle *)file;
}

static uint64_t next_random(struct disk *disk)
{
    uint64_t z = disk->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* ---- Contents ------------------------------------------------------------------------------ */

static bool resize(struct disk_bytes *bytes, size_t len)
{
    if (len > bytes->room) {
        size_t room = bytes->room == 0 ? 4096 : bytes->room;
        while (room < len) room *= 2;
        unsigned char *grown = realloc(bytes->ptr, room);
        if (grown == NULL) return false;
        bytes->ptr = grown;
        bytes->room = room;
    }
    if (len > bytes->len) memset(bytes->ptr + bytes->len, 0, len - bytes->len);
    bytes->len = len;
    return true;
}

static bool put(struct disk_bytes *bytes, size_t at, const void *from, size_t len)
{
    if (at + len > bytes->len && !resize(bytes, at + len)) return false;
    if (len > 0) memcpy(bytes->ptr + at, from, len);
    return true;
}

static bool note_unsynced(struct disk_file *file, size_t at, const void *from, size_t len)
{
    if (file->unsynced_count == file->unsynced_room) {
        size_t room = file->unsynced_room == 0 ? 64 : file->unsynced_room * 2;
        struct disk_write *grown = realloc(file->unsynced, room * sizeof *grown);
        if (grown == NULL) return false;
        file->unsynced = grown;
        file->unsynced_room = room;
    }
    size_t bytes = file->unsynced_bytes.len;
    if (!put(&file->unsynced_bytes, bytes, from, len)) return false;
    file->unsynced[file->unsynced_count++] = (struct disk_write){at, len, bytes};
    return true;
}

static void forget_unsynced(struct disk_file *file)
{
    file->unsynced_count = 0;
    file->unsynced_bytes.len = 0;
}

static bool make_safe(struct disk_file *file)
{
    for (size_t i = 0; i < file->unsynced_count; i++) {
        const struct disk_write *write = &file->unsynced[i];
        if (!put(&file->safe, write->at, file->unsynced_bytes.ptr + write->bytes, write->len)) {
            return false;
        }
    }
    forget_unsynced(file);
    return true;
}

static void empty_file(struct disk_file *file)
{
    for (int i = 0; i < file->region_count; i++) free(file->regions[i]);
    free(file->seen.ptr);
    free(file->safe.ptr);
    free(file->unsynced);
    free(file->unsynced_bytes.ptr);
    *file = (struct disk_file){0};
}

struct disk_file *disk_find(struct disk *disk, const char *name)
{
    for (int i = 0; i < DISK_FILES_MAX; i++) {
        if (disk->files[i].exists && strcmp(disk->files[i].name, name) == 0) return &disk->files[i];
    }
    return NULL;
}

static struct disk_file *make_file(struct disk *disk, const char *name)
{
    size_t len = strlen(name);
    for (int i = 0; i < DISK_FILES_MAX && len < DISK_NAME_BYTES_MAX; i++) {
        struct disk_file *file = &disk->files[i];
        if (file->exists || file->open_count > 0) continue;
        empty_file(file);
        file->exists = true;
        memcpy(file->name, name, len + 1);
        return file;
    }
    return NULL;
}

void disk_put(struct disk *disk, const char *name, const void *bytes, size_t len)
{
    struct disk_file *file = make_file(disk, name);
    if (file == NULL || !put(&file->seen, 0, bytes, len) || !put(&file->safe, 0, bytes, len)) {
        abort();
    }
}

/* ---- Faults -------------------------------------------------------------------------------- */

void disk_strike(struct disk *disk, enum disk_fault fault, int64_t in, int64_t count)
{
    disk->fault = fault;
    disk->strikes_at = disk->operations + in;
    disk->strikes_count = count;
    disk->has_struck = false;
}

void disk_heal(struct disk *disk)
{
    disk->fault = DISK_IS_WELL;
    disk->strikes_at = 0;
    disk->is_dead = false;
}

/* What becomes of the next write or sync. */
static enum disk_fault strike(struct disk *disk)
{
    disk->operations++;
    if (disk->is_dead) return DISK_DIES;
    if (disk->strikes_at == 0 || disk->operations < disk->strikes_at) return DISK_IS_WELL;
    if (disk->operations - disk->strikes_at >= disk->strikes_count) return DISK_IS_WELL;
    disk->has_struck = true;
    if (disk->fault == DISK_DIES) disk->is_dead = true;
    return disk->fault;
}

void disk_settle(struct disk *disk)
{
    for (int i = 0; i < DISK_FILES_MAX; i++) {
        if (disk->files[i].exists && !make_safe(&disk->files[i])) abort();
    }
}

/* Sector by sector; of some cuts nothing survives, of some all. */
void disk_cut_power(struct disk *disk)
{
    uint64_t kept_of_four = next_random(disk) % 5;
    for (int i = 0; i < DISK_FILES_MAX; i++) {
        struct disk_file *file = &disk->files[i];
        if (!file->exists) continue;
        if (file->open_count > 0) abort();
        for (size_t w = 0; w < file->unsynced_count; w++) {
            const struct disk_write *write = &file->unsynced[w];
            for (size_t done = 0; done < write->len; done += SECTOR_BYTES) {
                size_t len = write->len - done < SECTOR_BYTES ? write->len - done : SECTOR_BYTES;
                if (next_random(disk) % 4 >= kept_of_four) continue;
                const unsigned char *from = file->unsynced_bytes.ptr + write->bytes + done;
                if (!put(&file->safe, write->at + done, from, len)) abort();
            }
        }
        forget_unsynced(file);
        file->seen.len = 0;
        if (!put(&file->seen, 0, file->safe.ptr == NULL ? (const void *)"" : file->safe.ptr,
                 file->safe.len)) {
            abort();
        }
    }
}

/* ---- Files --------------------------------------------------------------------------------- */

static int file_read(sqlite3_file *base, void *to, int count, sqlite3_int64 from)
{
    const struct disk_bytes *seen = &of(base)->file->seen;
    size_t at = (size_t)from;
    size_t len = (size_t)count;
    size_t there = at >= seen->len ? 0 : seen->len - at < len ? seen->len - at : len;
    if (there > 0) memcpy(to, seen->ptr + at, there);
    if (there == len) return SQLITE_OK;
    memset((char *)to + there, 0, len - there);
    return SQLITE_IOERR_SHORT_READ;
}

static int write_bytes(struct handle *handle, size_t at, const void *from, size_t len)
{
    if (!put(&handle->file->seen, at, from, len)) return SQLITE_IOERR_NOMEM;
    if (!handle->disk->keeps_safe) return SQLITE_OK;
    return note_unsynced(handle->file, at, from, len) ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static int file_write(sqlite3_file *base, const void *from, int count, sqlite3_int64 at)
{
    struct handle *handle = of(base);
    bool was_dead = handle->disk->is_dead;
    size_t len = (size_t)count;
    enum disk_fault fault = handle->is_temporary ? DISK_IS_WELL : strike(handle->disk);
    if (fault == DISK_IS_WELL) return write_bytes(handle, (size_t)at, from, len);
    /* a part of what was to be written is there all the same */
    size_t part =
        len > SECTOR_BYTES ? (size_t)(next_random(handle->disk) % (len / SECTOR_BYTES)) : 0;
    if (!was_dead && part > 0) (void)write_bytes(handle, (size_t)at, from, part * SECTOR_BYTES);
    return fault == DISK_IS_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct handle *handle = of(base);
    if (handle->disk->is_dead) return SQLITE_IOERR_TRUNCATE;
    if (!make_safe(handle->file)) return SQLITE_IOERR_NOMEM;
    if (!resize(&handle->file->seen, (size_t)size)) return SQLITE_IOERR_NOMEM;
    if (!handle->disk->keeps_safe) return SQLITE_OK;
    return resize(&handle->file->safe, (size_t)size) ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static int file_sync(sqlite3_file *base, int flags)
{
    struct handle *handle = of(base);
    (void)flags;
    enum disk_fault fault = handle->is_temporary ? DISK_IS_WELL : strike(handle->disk);
    if (fault == DISK_FAILS || fault == DISK_DIES) return SQLITE_IOERR_FSYNC;
    return make_safe(handle->file) ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)of(base)->file->seen.len;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
    struct handle *handle = of(base);
    struct disk_file *file = handle->file;
    if (level <= handle->level) return SQLITE_OK;
    if (file->exclusive != NULL && file->exclusive != handle) return SQLITE_BUSY;
    if (handle->level == SQLITE_LOCK_NONE) {
        file->shared++;
        handle->level = SQLITE_LOCK_SHARED;
    }
    if (level >= SQLITE_LOCK_RESERVED) {
        if (file->reserved != NULL && file->reserved != handle) return SQLITE_BUSY;
        file->reserved = handle;
        handle->level = SQLITE_LOCK_RESERVED;
    }
    if (level == SQLITE_LOCK_EXCLUSIVE) {
        file->exclusive = handle; /* pending: nobody new comes in */
        handle->level = SQLITE_LOCK_PENDING;
        if (file->shared > 1) return SQLITE_BUSY;
        handle->level = SQLITE_LOCK_EXCLUSIVE;
    }
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int level)
{
    struct handle *handle = of(base);
    struct disk_file *file = handle->file;
    if (level >= handle->level) return SQLITE_OK;
    if (file->exclusive == handle) file->exclusive = NULL;
    if (file->reserved == handle) file->reserved = NULL;
    if (level == SQLITE_LOCK_NONE) file->shared--;
    handle->level = level;
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *out)
{
    *out = of(base)->file->reserved != NULL;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int what, void *with)
{
    (void)base;
    (void)what;
    (void)with;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int file_device(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as SQLite takes a Unix disk to be */
}

/* ---- Shared memory ------------------------------------------------------------------------- */

static int shm_map(sqlite3_file *base, int region, int bytes, int extends, void volatile **out)
{
    struct handle *handle = of(base);
    struct disk_file *file = handle->file;
    *out = NULL;
    if (!handle->has_shm) {
        handle->has_shm = true;
        file->shm_count++;
    }
    if (region >= DISK_SHM_REGIONS_MAX) return SQLITE_NOMEM;
    while (file->region_count <= region) {
        if (!extends) return SQLITE_OK;
        file->regions[file->region_count] = calloc(1, (size_t)bytes);
        if (file->regions[file->region_count] == NULL) return SQLITE_NOMEM;
        file->region_count++;
    }
    *out = file->regions[region];
    return SQLITE_OK;
}

static void unlock_slot(struct handle *handle, int slot)
{
    uint8_t bit = (uint8_t)(1u << slot);
    if (handle->shared_slots & bit) handle->file->slot_shared[slot]--;
    if (handle->exclusive_slots & bit) handle->file->slot_exclusive[slot] = false;
    handle->shared_slots = (uint8_t)(handle->shared_slots & ~bit);
    handle->exclusive_slots = (uint8_t)(handle->exclusive_slots & ~bit);
}

static int shm_lock(sqlite3_file *base, int first, int count, int flags)
{
    struct handle *handle = of(base);
    struct disk_file *file = handle->file;
    bool is_exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    for (int i = first; i < first + count; i++) {
        if (flags & SQLITE_SHM_UNLOCK) {
            unlock_slot(handle, i);
            continue;
        }
        bool is_mine = (handle->exclusive_slots & (1u << i)) != 0;
        int others = file->slot_shared[i] - ((handle->shared_slots >> i) & 1);
        if (file->slot_exclusive[i] && !is_mine) return SQLITE_BUSY;
        if (is_exclusive && others > 0) return SQLITE_BUSY;
    }
    for (int i = first; i < first + count && !(flags & SQLITE_SHM_UNLOCK); i++) {
        uint8_t bit = (uint8_t)(1u << i);
        if (is_exclusive) {
            file->slot_exclusive[i] = true;
            handle->exclusive_slots |= bit;
        } else if (!(handle->shared_slots & bit)) {
            file->slot_shared[i]++;
            handle->shared_slots |= bit;
        }
    }
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *base)
{
    (void)base; /* one thread */
}

/* Whoever comes when nobody is left makes it anew from the log. */
static int shm_unmap(sqlite3_file *base, int deletes)
{
    struct handle *handle = of(base);
    struct disk_file *file = handle->file;
    (void)deletes;
    if (!handle->has_shm) return SQLITE_OK;
    for (int i = 0; i < DISK_SHM_SLOTS; i++) unlock_slot(handle, i);
    handle->has_shm = false;
    if (--file->shm_count > 0) return SQLITE_OK;
    for (int i = 0; i < file->region_count; i++) free(file->regions[i]);
    file->region_count = 0;
    return SQLITE_OK;
}

static int file_close(sqlite3_file *base)
{
    struct handle *handle = of(base);
    (void)file_unlock(base, SQLITE_LOCK_NONE);
    (void)shm_unmap(base, 0);
    handle->file->open_count--;
    if (handle->is_temporary) empty_file(handle->file);
    return SQLITE_OK;
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
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* ---- The file system ----------------------------------------------------------------------- */

static struct disk *disk_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                    int *out_flags)
{
    struct disk *disk = disk_of(vfs);
    struct handle *handle = of(base);
    *handle = (struct handle){.disk = disk, .is_temporary = name == NULL};
    struct disk_file *file = name == NULL ? NULL : disk_find(disk, name);
    if (file == NULL && (flags & SQLITE_OPEN_CREATE)) {
        file = make_file(disk, name == NULL ? "" : name);
    }
    if (file == NULL) return SQLITE_CANTOPEN;
    file->open_count++;
    handle->file = file;
    handle->base.pMethods = &methods;
    if (out_flags != NULL) *out_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs)
{
    struct disk *disk = disk_of(vfs);
    (void)syncs;
    if (disk->is_dead) return SQLITE_IOERR_DELETE;
    struct disk_file *file = disk_find(disk, name);
    if (file == NULL) return SQLITE_IOERR_DELETE_NOENT;
    file->exists = false;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)flags;
    *out = disk_find(disk_of(vfs), name) != NULL;
    return SQLITE_OK;
}

static int vfs_full(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    size_t len = strlen(name);
    (void)vfs;
    if (len >= (size_t)room) return SQLITE_CANTOPEN;
    memcpy(out, name, len + 1);
    return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int count, char *out)
{
    for (int i = 0; i < count; i++) out[i] = (char)next_random(disk_of(vfs));
    return count;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us; /* nobody else runs meanwhile: who waits waits in vain */
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *out)
{
    (void)vfs;
    if (room > 0) out[0] = '\0';
    return 0;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    *out = INT64_C(210866760000000) + disk_of(vfs)->now_ms; /* from Julian day 0 */
    return SQLITE_OK;
}

void disk_add(struct disk *disk)
{
    *disk = (struct disk){
        .vfs =
            {
                .iVersion = 2,
                .szOsFile = (int)sizeof(struct handle),
                .mxPathname = DISK_NAME_BYTES_MAX - 16,
                .zName = "sim-disk",
                .pAppData = disk,
                .xOpen = vfs_open,
                .xDelete = vfs_delete,
                .xAccess = vfs_access,
                .xFullPathname = vfs_full,
                .xRandomness = vfs_random,
                .xSleep = vfs_sleep,
                .xGetLastError = vfs_last_error,
                .xCurrentTimeInt64 = vfs_time,
            },
    };
    if (sqlite3_vfs_register(&disk->vfs, 1) != SQLITE_OK) abort();
}

void disk_remove(struct disk *disk)
{
    disk_reset(disk, 0);
    (void)sqlite3_vfs_unregister(&disk->vfs);
}

void disk_reset(struct disk *disk, uint64_t seed)
{
    for (int i = 0; i < DISK_FILES_MAX; i++) {
        if (disk->files[i].open_count > 0) abort();
        empty_file(&disk->files[i]);
    }
    disk_heal(disk);
    disk->random = seed;
    disk->operations = 0;
    disk->keeps_safe = false;
}
