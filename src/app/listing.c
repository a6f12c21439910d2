#include "app/listing.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

void pawl_listing_begin(struct pawl_listing *listing, const struct pawl_output *out,
                        struct pawl_arena *arena, const char *key,
                        const struct pawl_column *columns)
{
    *listing = (struct pawl_listing){.out = out, .arena = arena, .key = key, .columns = columns};
    while (columns[listing->column_count].title != NULL) listing->column_count++;
    pawl_assert(listing->column_count <= PAWL_COLUMNS_MAX);
}

static bool make_room(struct pawl_listing *listing)
{
    if (listing->row_count < listing->row_capacity) return true;
    size_t capacity = listing->row_capacity == 0 ? 32 : 2 * listing->row_capacity;
    size_t row_bytes = listing->column_count * sizeof *listing->cells;
    struct pawl_cell *cells = pawl_arena_resize(
        listing->arena, listing->cells, listing->row_capacity * row_bytes, capacity * row_bytes);
    if (cells == NULL) {
        return false; /* the arena's failure is asked for at the end of the command */
    }
    listing->cells = cells;
    listing->row_capacity = capacity;
    return true;
}

void pawl_listing_cells(struct pawl_listing *listing, const struct pawl_cell *cells)
{
    if (!make_room(listing)) return;
    struct pawl_cell *row = listing->cells + listing->row_count * listing->column_count;
    for (size_t i = 0; i < listing->column_count; i++) {
        row[i] = cells[i];
        row[i].text = pawl_text_clean(listing->arena, cells[i].text);
        if (row[i].text.len == 0) row[i].text = PAWL_STR("-");
    }
    listing->row_count++;
}

void pawl_listing_json(struct pawl_listing *listing, struct pawl_str json)
{
    const struct pawl_output *out = listing->out;
    if (out->form == PAWL_FORM_JSON) {
        if (!listing->has_rows) {
            (void)fprintf(out->file, "{\"%s\":[\n", listing->key);
        } else {
            (void)fputs(",\n", out->file);
        }
        pawl_output_json(out, json);
    } else {
        pawl_output_json_line(out, json);
    }
    listing->has_rows = true;
}

void pawl_listing_name(struct pawl_listing *listing, struct pawl_str name)
{
    pawl_output_text(listing->out, name);
    listing->has_rows = true;
}

static bool is_shown(const struct pawl_listing *listing, size_t column)
{
    if (listing->is_left_out[column]) return false;
    return listing->out->form == PAWL_FORM_WIDE || !listing->columns[column].is_wide_only;
}

static size_t last_shown(const struct pawl_listing *listing)
{
    size_t last = listing->column_count - 1;
    while (!is_shown(listing, last)) last--;
    return last;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void measure(struct pawl_listing *listing)
{
    for (size_t column = 0; column < listing->column_count; column++) {
        size_t width = larger(listing->widths[column], strlen(listing->columns[column].title));
        for (size_t row = 0; row < listing->row_count; row++) {
            const struct pawl_cell *cell = &listing->cells[row * listing->column_count + column];
            width = larger(width, pawl_utf8_points(cell->text));
        }
        listing->widths[column] = width;
    }
}

/* Once, before the titles: what is shown stays the same for all rows. In the form wide all were asked for. */
static void leave_out(struct pawl_listing *listing)
{
    const struct pawl_output *out = listing->out;
    if (out->columns <= 0 || out->form == PAWL_FORM_WIDE) return;
    size_t last = last_shown(listing);
    size_t taken = listing->widths[last];
    if (taken > PAWL_COLUMN_LAST_MIN) taken = PAWL_COLUMN_LAST_MIN;
    for (size_t i = 0; i < last; i++) {
        if (is_shown(listing, i)) taken += listing->widths[i] + 2;
    }
    for (size_t i = last - 1; i >= 2 && i < last && taken > (size_t)out->columns; i--) {
        if (!is_shown(listing, i)) continue;
        listing->is_left_out[i] = true;
        taken -= listing->widths[i] + 2;
    }
}

static void pad(FILE *file, size_t columns)
{
    for (; columns > 0; columns--) (void)fputc(' ', file);
}

/* One line; cells NULL stands for the titles. */
static void print_line(const struct pawl_listing *listing, const struct pawl_cell *cells)
{
    const struct pawl_output *out = listing->out;
    size_t at = 0;
    size_t last = last_shown(listing);
    for (size_t i = 0; i <= last; i++) {
        if (!is_shown(listing, i)) continue;
        struct pawl_str text =
            cells == NULL ? pawl_str_of(listing->columns[i].title) : cells[i].text;
        const char *color = cells == NULL || cells[i].color == NULL ? "" : cells[i].color;
        size_t room = out->columns > 0 && (size_t)out->columns > at ? (size_t)out->columns - at : 1;
        if (i == last && out->columns > 0) text = pawl_utf8_cut_points(text, room);
        size_t points = pawl_utf8_points(text);
        size_t padding = listing->widths[i] > points ? listing->widths[i] - points : 0;
        if (listing->columns[i].is_right) pad(out->file, padding);
        (void)fprintf(out->file, "%s", color);
        (void)fwrite(text.ptr, 1, text.len, out->file);
        (void)fprintf(out->file, "%s", color[0] != '\0' ? pawl_color_end(out) : "");
        if (i == last) break;
        if (!listing->columns[i].is_right) pad(out->file, padding);
        pad(out->file, 2);
        at += listing->widths[i] + 2;
    }
    (void)fputc('\n', out->file);
}

void pawl_listing_flush(struct pawl_listing *listing)
{
    if (pawl_output_is_table(listing->out) && listing->row_count > 0) {
        measure(listing);
        if (!listing->has_title) {
            leave_out(listing);
            print_line(listing, NULL);
        }
        listing->has_title = true;
        for (size_t row = 0; row < listing->row_count; row++) {
            print_line(listing, listing->cells + row * listing->column_count);
        }
        listing->has_rows = true;
    }
    listing->cells = NULL;
    listing->row_count = 0;
    listing->row_capacity = 0;
}

void pawl_listing_end(struct pawl_listing *listing, struct pawl_str tail)
{
    const struct pawl_output *out = listing->out;
    pawl_listing_flush(listing);
    if (out->form == PAWL_FORM_JSON) {
        if (!listing->has_rows) (void)fprintf(out->file, "{\"%s\":[", listing->key);
        (void)fprintf(out->file, "%s]%.*s}\n", listing->has_rows ? "\n" : "", PAWL_STR_ARG(tail));
    } else if (pawl_output_is_table(out) && !listing->has_rows && out->is_terminal) {
        (void)fprintf(stderr, "none\n");
    }
}
