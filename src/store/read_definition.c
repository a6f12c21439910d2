/* Definitions, for people and for what registers them: one by its name, or the list of a kind. */
#include "store/reader.h"

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/rows.h"

#include <inttypes.h>

enum { BODIES_AT_ONCE = 16 }; /* of one flush: PostgreSQL's answer to it is held whole in memory */

struct found {
    struct pawl_arena *keep;
    struct pawl_definition_row *row;
    bool is_found;
};

/* The columns of pawl_row_definition. */
static enum pawl_code on_definition(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct found *found = self;
    const char *fault = pawl_row_definition(row, found->keep, found->row);
    found->is_found = true;
    if (fault == NULL) return PAWL_OK;
    return pawl_error_set(err, PAWL_CORRUPT, "definition %.*s: %s",
                          PAWL_STR_ARG(found->row->name), fault);
}

static enum pawl_code send_one(struct pawl_reader *reader, enum pawl_definition_kind kind,
                               struct pawl_str name, int64_t version, struct found *found,
                               struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_int(kind), pawl_text(name), pawl_int(version)};
    return pawl_db_send(reader->db,
                        version == PAWL_VERSION_LATEST ? PAWL_SQL_DEFINITION_BELOW
                                                       : PAWL_SQL_DEFINITION_GET,
                        values, PAWL_COUNT_OF(values), on_definition, found, err);
}

enum pawl_code pawl_read_definition(struct pawl_reader *reader, enum pawl_definition_kind kind,
                                    struct pawl_str name, int64_t version, struct pawl_arena *keep,
                                    struct pawl_definition_row *out, struct pawl_error *err)
{
    struct pawl_definition_row row = {0};
    struct found found = {.keep = keep, .row = &row};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = send_one(reader, kind, name, version, &found, err);
    if (code == PAWL_OK) code = pawl_db_flush(reader->db, err);
    if (code == PAWL_OK && !found.is_found) {
        const char *what = pawl_definition_kind_name(kind);
        code = kind != PAWL_DEFINITION_WORKFLOW || version == PAWL_VERSION_LATEST
                   ? pawl_error_set(err, PAWL_NOT_FOUND, "No such %s: %.*s", what,
                                    PAWL_STR_ARG(name))
                   : pawl_error_set(err, PAWL_NOT_FOUND, "No such %s: %.*s, version %" PRId64, what,
                                    PAWL_STR_ARG(name), version);
    }
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = row;
    return code;
}

/* ---- Lists ---- */

struct listing {
    const struct pawl_definition_ask *ask;
    struct pawl_arena *keep;
    struct pawl_definition_row *rows;
    size_t count;
    size_t room;
    int64_t page_count;
    struct pawl_str name; /* of the last row of the page, */
    int64_t version;      /* and its version: where the next page begins */
};

static struct pawl_definition_row *row_add(struct listing *listing)
{
    enum { ROOM_FIRST = 16 };
    if (listing->count == listing->room) {
        size_t room = listing->room == 0 ? ROOM_FIRST : listing->room * 2;
        struct pawl_definition_row *rows =
            pawl_arena_resize(listing->keep, listing->rows, listing->room * sizeof *rows,
                              room * sizeof *rows);
        if (rows == NULL) return NULL; /* keep tells */
        listing->rows = rows;
        listing->room = room;
    }
    return &listing->rows[listing->count++];
}

/* DEFINITIONS: the columns of pawl_row_definition but for the body, which is empty */
static enum pawl_code on_listed(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct listing *listing = self;
    struct pawl_definition_row is;
    const char *fault = pawl_row_definition(row, listing->keep, &is);
    if (fault != NULL) {
        return pawl_error_set(err, PAWL_CORRUPT, "definition %.*s: %s", PAWL_STR_ARG(is.name),
                              fault);
    }
    listing->page_count++;
    listing->name = is.name;
    listing->version = is.version;
    bool is_newer = listing->ask->is_latest && listing->count > 0 &&
                    pawl_str_equal(listing->rows[listing->count - 1].name, is.name);
    struct pawl_definition_row *place =
        is_newer ? &listing->rows[listing->count - 1] : row_add(listing);
    if (place != NULL) *place = is;
    return PAWL_OK;
}

static enum pawl_code read_heads(struct pawl_reader *reader, struct listing *listing,
                                 struct pawl_error *err)
{
    const struct pawl_definition_ask *ask = listing->ask;
    bool is_one = ask->name.len > 0;
    enum pawl_code code = PAWL_OK;
    listing->name = ask->name;
    listing->version = INT64_MIN;
    do {
        struct pawl_value values[] = {pawl_int(ask->kind), pawl_text(listing->name),
                                      pawl_int(listing->version), pawl_int(PAWL_READ_PAGE_ROWS)};
        listing->page_count = 0;
        code = pawl_reader_ask(reader, is_one ? PAWL_SQL_DEFINITION_VERSIONS : PAWL_SQL_DEFINITIONS,
                               values, PAWL_COUNT_OF(values), on_listed, listing, err);
    } while (code == PAWL_OK && listing->page_count == PAWL_READ_PAGE_ROWS &&
             pawl_arena_code(listing->keep) == PAWL_OK);
    return code;
}

static enum pawl_code read_bodies(struct pawl_reader *reader, struct listing *listing,
                                  struct pawl_error *err)
{
    struct found founds[BODIES_AT_ONCE];
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < listing->count && code == PAWL_OK; i++) {
        struct pawl_definition_row *row = &listing->rows[i];
        founds[i % BODIES_AT_ONCE] = (struct found){.keep = listing->keep, .row = row};
        code = send_one(reader, row->kind, row->name, row->version, &founds[i % BODIES_AT_ONCE],
                        err);
        bool is_full = i % BODIES_AT_ONCE == BODIES_AT_ONCE - 1 || i + 1 == listing->count;
        if (code == PAWL_OK && is_full) code = pawl_db_flush(reader->db, err);
        if (pawl_arena_code(listing->keep) != PAWL_OK) return code;
    }
    return code;
}

enum pawl_code pawl_read_definitions(struct pawl_reader *reader,
                                     const struct pawl_definition_ask *ask,
                                     struct pawl_arena *keep, struct pawl_definition_rows *out,
                                     struct pawl_error *err)
{
    struct listing listing = {.ask = ask, .keep = keep};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = read_heads(reader, &listing, err);
    if (code == PAWL_OK && ask->with_body) code = read_bodies(reader, &listing, err);
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = (struct pawl_definition_rows){listing.rows, listing.count};
    return code;
}
