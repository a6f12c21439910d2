/* What both drivers share: the hook before each statement, and the choice between them. */
#include "store/db.h"

#include "base/error.h"
#include "store/schema_text.h"

#include <stddef.h>

const struct pawl_schema pawl_schema = {pawl_schema_sqlite, pawl_schema_postgres,
                                        PAWL_SCHEMA_COUNT};

static enum pawl_code before(struct pawl_db *db, int32_t point, struct pawl_error *err)
{
    if (db->hook.before == NULL) return PAWL_OK;
    return db->hook.before(db->hook.self, point, err);
}

bool pawl_db_target_is_postgres(struct pawl_str target)
{
    return pawl_str_starts(target, PAWL_STR("postgres://")) ||
           pawl_str_starts(target, PAWL_STR("postgresql://"));
}

enum pawl_code pawl_db_open(struct pawl_db **out, const struct pawl_db_options *options,
                            struct pawl_error *err)
{
    if (!pawl_db_target_is_postgres(options->target)) return pawl_sqlite_open(out, options, err);
#if PAWL_POSTGRES
    return pawl_postgres_open(out, options, err);
#else
    return pawl_error_set(err, PAWL_UNSUPPORTED, "this build has no PostgreSQL store");
#endif
}

void pawl_db_close(struct pawl_db *db)
{
    if (db != NULL) db->driver->close(db);
}

enum pawl_code pawl_db_ask(struct pawl_db *db, const struct pawl_db_ask *ask,
                           struct pawl_error *err)
{
    enum pawl_code code = before(db, (int32_t)ask->statement, err);
    if (code != PAWL_OK) return code;
    return db->driver->ask(db, ask, err);
}

enum pawl_code pawl_db_send(struct pawl_db *db, enum pawl_statement statement,
                            const struct pawl_value *values, size_t count, pawl_on_row *on_row,
                            void *self, struct pawl_error *err)
{
    struct pawl_db_ask ask = {
        .statement = statement, .values = values, .count = count, .on_row = on_row, .self = self};
    return pawl_db_ask(db, &ask, err);
}

enum pawl_code pawl_db_change(struct pawl_db *db, enum pawl_statement statement,
                              const struct pawl_value *values, size_t count, bool expects_one,
                              struct pawl_error *err)
{
    struct pawl_db_ask ask = {
        .statement = statement, .values = values, .count = count, .expects_one = expects_one};
    return pawl_db_ask(db, &ask, err);
}

enum pawl_code pawl_db_cut(struct pawl_db *db, struct pawl_error *err)
{
    return db->driver->cut == NULL ? PAWL_OK : db->driver->cut(db, err);
}

enum pawl_code pawl_db_flush(struct pawl_db *db, struct pawl_error *err)
{
    return db->driver->flush(db, err);
}

enum pawl_code pawl_db_begin(struct pawl_db *db, bool is_write, struct pawl_error *err)
{
    enum pawl_code code = before(db, is_write ? PAWL_SQL_BEGIN_WRITE : PAWL_SQL_BEGIN_READ, err);
    if (code != PAWL_OK) return code;
    return db->driver->begin(db, is_write, err);
}

enum pawl_code pawl_db_commit(struct pawl_db *db, struct pawl_error *err)
{
    enum pawl_code code = before(db, PAWL_SQL_COMMIT, err);
    if (code == PAWL_OK) code = db->driver->commit(db, err);
    if (code == PAWL_OK && before(db, PAWL_DB_AT_COMMITTED, err) != PAWL_OK) {
        code = PAWL_UNKNOWN_OUTCOME;
        if (err != NULL) err->code = code;
    }
    return code;
}

void pawl_db_rollback(struct pawl_db *db)
{
    (void)before(db, PAWL_SQL_ROLLBACK, NULL); /* a rollback cannot be refused */
    db->driver->rollback(db);
}
