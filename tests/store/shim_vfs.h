/* A VFS over the real one, whose disk can be full or broken and whose sleep costs nothing. */
#ifndef PAWL_TESTS_STORE_SHIM_VFS_H
#define PAWL_TESTS_STORE_SHIM_VFS_H

#include <sqlite3.h>
#include <stdbool.h>

struct shim_vfs {
    sqlite3_vfs vfs; /* first */
    sqlite3_vfs *real;
    /* Writes from the nth on (1 = the next one) fail with this result; 0 = none does. */
    int fail_write_at;
    int write_result;
    bool fails_sync;
    bool fails_read;
    int write_count; /* since it was last set to 0 */
    long long slept_us;
    void (*on_sleep)(void *self); /* NULL = nothing happens meanwhile */
    void *on_sleep_self;
};

/* Registered under "shim" until removed. */
void shim_vfs_add(struct shim_vfs *shim);
void shim_vfs_remove(struct shim_vfs *shim);

#endif
