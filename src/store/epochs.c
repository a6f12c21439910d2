/* After a restore the store is at an earlier moment than the world around it. What it hands out
 * from now on must be larger than anything that it may have handed out since: epochs, so that an
 * old fence never fits again and services that keep the highest one refuse what is older; and
 * positions of events and keys, so that who remembers one never takes something new for it. */
#include "store/epochs.h"

#include "base/array.h"
#include "base/error.h"
#include "core/limits.h"
#include "store/handle.h"

static enum pawl_code on_key(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

/* One slice, from beyond *after; *after is 0 when it was the last. */
static enum pawl_code raise_slice(struct pawl_store *store, int64_t *after, struct pawl_error *err)
{
    struct pawl_value where[] = {pawl_int(*after), pawl_int(PAWL_EPOCHS_RAISED_AT_ONCE - 1)};
    int64_t last = INT64_MAX;
    enum pawl_code code = pawl_db_send(store->db, PAWL_SQL_EPOCHS_NEXT, where, PAWL_COUNT_OF(where),
                                       on_key, &last, err);
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    struct pawl_value values[] = {pawl_int(PAWL_RESTORE_RAISE), pawl_int(*after), pawl_int(last),
                                  pawl_int(PAWL_NUMBER_MAX / 2)};
    if (code == PAWL_OK) {
        code = pawl_db_change(store->db, PAWL_SQL_EPOCHS_RAISE, values, PAWL_COUNT_OF(values),
                              false, err);
    }
    if (code == PAWL_OK) *after = last == INT64_MAX ? 0 : last;
    return code;
}

enum pawl_code pawl_epochs_raise(struct pawl_store *store, struct pawl_arena *scratch,
                                 struct pawl_error *err)
{
    int64_t after = 0;
    bool is_first = true;
    enum pawl_code code;
    do {
        struct pawl_set nothing;
        struct pawl_head head;
        pawl_arena_reset(scratch);
        pawl_set_init(&nothing, scratch);
        code = pawl_store_begin(store, &head, err);
        if (code != PAWL_OK) return code;
        if (is_first) {
            head.position += PAWL_RESTORE_RAISE;
            head.next_key += PAWL_RESTORE_RAISE;
            head.generation += PAWL_RESTORE_RAISE;
        }
        is_first = false;
        code = raise_slice(store, &after, err);
        store->is_dirty = true;
        if (code != PAWL_OK) {
            pawl_store_rollback(store);
            return code;
        }
        code = pawl_store_commit(store, &nothing, &head, err);
    } while (code == PAWL_OK && after != 0);
    return code;
}
