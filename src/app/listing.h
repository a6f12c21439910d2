/* Rows of one kind, in the form asked for.
 *
 *   table   columns as wide as what is in them, the last one cut at the edge of a terminal; where
 *           little were left of it, columns before it are left out, from the right, all but two
 *   json    {"tasks":[…],"cursor":"…"}
 *   jsonl   one object a line
 *   name    one name a line
 *
 * Rows of a table are held until a flush: they live in the arena that the caller resets between
 * pages. Other forms are written at once, so that a list of any length takes the memory of one
 * page. */
#ifndef PAWL_APP_LISTING_H
#define PAWL_APP_LISTING_H

#include "app/output.h"
#include "pawl.h"

struct pawl_column {
    const char *title;
    bool is_right;     /* numbers */
    bool is_wide_only; /* in the form wide */
};

struct pawl_cell {
    struct pawl_str text;
    const char *color; /* NULL = none */
};

enum {
    PAWL_COLUMNS_MAX = 16,
    PAWL_COLUMN_LAST_MIN = 20, /* characters of the last column that are worth another one */
};

struct pawl_listing {
    const struct pawl_output *out;
    struct pawl_arena *arena;
    const char *key;                   /* of the array in the form json */
    const struct pawl_column *columns; /* ended by one without a title */
    size_t column_count;
    size_t widths[PAWL_COLUMNS_MAX]; /* in characters */
    bool is_left_out[PAWL_COLUMNS_MAX];
    struct pawl_cell *cells;         /* of the rows held, row by row */
    size_t row_count;
    size_t row_capacity;
    bool has_rows;  /* any were written */
    bool has_title; /* the line of titles was written */
};

/* arena: for what a listing holds between flushes. */
void pawl_listing_begin(struct pawl_listing *listing, const struct pawl_output *out,
                        struct pawl_arena *arena, const char *key,
                        const struct pawl_column *columns);

/* A row of a table: one cell a column. Texts are cleaned here and may be of any kind. */
void pawl_listing_cells(struct pawl_listing *listing, const struct pawl_cell *cells);
/* The same row in the other forms. */
void pawl_listing_json(struct pawl_listing *listing, struct pawl_str json);
void pawl_listing_name(struct pawl_listing *listing, struct pawl_str name);

/* Writes what is held and forgets it. */
void pawl_listing_flush(struct pawl_listing *listing);

/* Ends the list. tail is put behind the array in the form json (`,"cursor":"…"`); may be empty. An
 * empty table says `none` on standard error if is_terminal. */
void pawl_listing_end(struct pawl_listing *listing, struct pawl_str tail);

#endif
