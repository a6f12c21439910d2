/* Whether all tables and indexes of the schema are there. What there is to be is read from the schema's own text, the
 * newest statement of each name, so that no list has to be kept beside it. What is there besides is nobody's business:
 * no statement of ours meets it. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"

struct object {
    struct pawl_str name;
    struct pawl_str statement; /* that makes it */
    bool is_table;
    bool is_dropped;
    struct object *next;
};

static bool take_word(struct pawl_str *text, const char *word)
{
    struct pawl_str begin = pawl_str_of(word);
    if (!pawl_str_starts(*text, begin)) return false;
    *text = (struct pawl_str){text->ptr + begin.len, text->len - begin.len};
    return true;
}

static struct pawl_str until(struct pawl_str text, const char *ends)
{
    size_t len = 0;
    for (; len < text.len; len++) {
        for (const char *end = ends; *end != '\0'; end++) {
            if (text.ptr[len] == *end) return (struct pawl_str){text.ptr, len};
        }
    }
    return text;
}

static struct object *object_of(struct object **first, struct pawl_str name, struct pawl_arena *arena)
{
    for (struct object *at = *first; at != NULL; at = at->next) {
        if (pawl_str_equal(at->name, name)) return at;
    }
    struct object *made = pawl_arena_take(arena, sizeof *made);
    if (made == NULL) return NULL; /* the arena remembers */
    *made = (struct object){.name = name, .next = *first};
    *first = made;
    return made;
}

/* A statement of the schema begins at the begin of a line. */
static void read_line(struct object **first, struct pawl_str line, struct pawl_arena *arena)
{
    struct pawl_str rest = line;
    bool is_made = take_word(&rest, "CREATE ");
    bool is_dropped = !is_made && take_word(&rest, "DROP ");
    if (!is_made && !is_dropped) return;
    (void)take_word(&rest, "UNIQUE ");
    bool is_table = take_word(&rest, "TABLE ");
    if (!is_table && !take_word(&rest, "INDEX ")) return;
    struct object *object = object_of(first, until(rest, " ;(\n"), arena);
    if (object == NULL) return;
    object->is_table = is_table;
    object->is_dropped = is_dropped;
    object->statement = until(line, ";");
}

static struct object *read_schema(const struct pawl_fsck_pass *f)
{
    const struct pawl_schema *schema = f->db->schema;
    const char *const *texts = f->db->driver->is_postgres ? schema->postgres : schema->sqlite;
    struct object *first = NULL;
    for (int64_t i = 0; i < schema->count; i++) {
        struct pawl_str rest = pawl_str_of(texts[i]);
        while (rest.len > 0) {
            read_line(&first, rest, f->arena);
            size_t line = until(rest, "\n").len;
            size_t step = line < rest.len ? line + 1 : line;
            rest = (struct pawl_str){rest.ptr + step, rest.len - step};
        }
    }
    return first;
}

static enum pawl_code on_any(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)row;
    (void)err;
    *(bool *)self = true;
    return PAWL_OK;
}

enum pawl_code pawl_fsck_check_schema(struct pawl_fsck_pass *f, bool *has_tables, struct pawl_error *err)
{
    *has_tables = true;
    enum pawl_code code = pawl_db_begin(f->db, false, err);
    if (code != PAWL_OK) return code;
    for (const struct object *at = read_schema(f); at != NULL && code == PAWL_OK; at = at->next) {
        struct pawl_value name = pawl_text(at->name);
        bool is_there = false;
        if (at->is_dropped) continue;
        code = pawl_db_send(f->db, PAWL_SQL_FSCK_SCHEMA, &name, 1, on_any, &is_there, err);
        if (code == PAWL_OK) code = pawl_db_flush(f->db, err);
        if (code != PAWL_OK || is_there) continue;
        if (at->is_table) *has_tables = false;
        (void)pawl_fsck_note(f, at->is_table ? PAWL_CHECK_TABLE : PAWL_CHECK_INDEX, 0, (struct pawl_str){0},
                             at->is_table
                                 ? TEXT(f, "the table %.*s is missing, and nothing more can be looked at",
                                        PAWL_STR_ARG(at->name))
                                 : TEXT(f, "the index %.*s is missing: %.*s;", PAWL_STR_ARG(at->name),
                                        PAWL_STR_ARG(at->statement)));
    }
    pawl_db_rollback(f->db);
    return code;
}
