/* A disk in memory, as SQLite's file system: what programs have written, what is safe, and what
 * goes wrong.
 *
 * Each file has two contents: what programs read (the cache of the kernel) and what has been
 * synced. When the power is cut, any part of what was written since the last sync may be there or
 * not, sector by sector. Locks and shared memory are those of one machine; whoever holds a
 * connection is a process. Faults strike the n-th write or sync from now; a process that "dies" in
 * one writes nothing any more, but reads and unlocks, since its handle is still closed by the same
 * C code.
 *
 *   threads   one: the disk is registered as the default file system of SQLite, so that the engine
 * finds it without knowing of it */
#ifndef PAWL_TESTS_SIM_DISK_H
#define PAWL_TESTS_SIM_DISK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DISK_FILES_MAX = 8,
    DISK_NAME_BYTES_MAX = 200,
    DISK_SHM_SLOTS = 8,
    DISK_SHM_REGIONS_MAX = 64
};

enum disk_fault {
    DISK_IS_WELL,
    DISK_DIES,    /* the process is killed in this operation */
    DISK_IS_FULL, /* writes fail with SQLITE_FULL, syncs succeed */
    DISK_FAILS    /* writes and syncs fail with an I/O error */
};

struct disk_bytes {
    unsigned char *ptr; /* owned */
    size_t len;
    size_t room;
};

struct disk_write { /* not synced yet */
    size_t at;
    size_t len;
    size_t bytes; /* where its bytes begin in disk_file.unsynced_bytes */
};

struct disk_file {
    char name[DISK_NAME_BYTES_MAX];
    bool exists;
    struct disk_bytes seen;
    struct disk_bytes safe;
    struct disk_write *unsynced; /* owned */
    size_t unsynced_count;
    size_t unsynced_room;
    struct disk_bytes unsynced_bytes;
    int open_count;
    /* locks of the file */
    int shared;
    const void *reserved;
    const void *exclusive;
    /* the write-ahead log's shared memory */
    void *regions[DISK_SHM_REGIONS_MAX]; /* owned */
    int region_count;
    int shm_count; /* connections that have it */
    int slot_shared[DISK_SHM_SLOTS];
    bool slot_exclusive[DISK_SHM_SLOTS];
};

struct disk {
    sqlite3_vfs vfs;
    struct disk_file files[DISK_FILES_MAX];
    uint64_t random;
    int64_t now_ms;
    bool keeps_safe;    /* whether power cuts are going to be asked for: else contents are kept once
                           only */
    int64_t operations; /* writes and syncs so far */
    int64_t strikes_at; /* the operation that goes wrong; 0 = none */
    int64_t strikes_count; /* and so many in a row; INT64_MAX = from there on */
    enum disk_fault fault;
    bool is_dead; /* the process that now runs has been killed */
    bool has_struck;
};

/* Makes it the default file system of SQLite in this process. */
void disk_add(struct disk *disk);
void disk_remove(struct disk *disk);

/* Empties it: no files, no faults. All connections must be closed. */
void disk_reset(struct disk *disk, uint64_t seed);

/* A file as it lies there, or NULL; and one that is put there, safe. */
struct disk_file *disk_find(struct disk *disk, const char *name);
void disk_put(struct disk *disk, const char *name, const void *bytes, size_t len);

/* The operation number `in` from now (1 = the next) goes wrong, and `count` of them in a row. */
void disk_strike(struct disk *disk, enum disk_fault fault, int64_t in, int64_t count);
/* No fault any more; whoever runs now is alive. */
void disk_heal(struct disk *disk);

/* The kernel has written back what it held. */
void disk_settle(struct disk *disk);

/* What was not synced is lost, wholly or in parts. All connections must be closed. */
void disk_cut_power(struct disk *disk);

#endif
