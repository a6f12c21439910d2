/* How results are shown: as a table for people, as JSON for programs, as bare names for shells.
 *
 * Data go to standard output, notes to standard error. A table comes by itself only on a terminal;
 * there, times are relative and everything is free of control characters. JSON has the names of the
 * fields of pawl.h, times in milliseconds, and null where there is nothing. */
#ifndef PAWL_APP_OUTPUT_H
#define PAWL_APP_OUTPUT_H

#include "pawl.h"

#include <stdio.h>

enum pawl_form { PAWL_FORM_TABLE, PAWL_FORM_WIDE, PAWL_FORM_JSON, PAWL_FORM_JSONL, PAWL_FORM_NAME };

struct pawl_output {
    FILE *file; /* borrowed */
    enum pawl_form form;
    bool is_terminal;
    bool has_colors;
    int32_t columns; /* of the terminal; 0 = lines are not cut */
};

/* What is known before the command line is. */
void pawl_output_init(struct pawl_output *out, FILE *file);

/* The form and colours asked for; empty is the default. PAWL_INVALID for words that are none. */
enum pawl_code pawl_output_choose(struct pawl_output *out, struct pawl_str form,
                                  struct pawl_str color, bool is_list,
                                  struct pawl_error *err) PAWL_MUST_USE;

bool pawl_output_is_table(const struct pawl_output *out);

/* One JSON value without line breaks: those between its tokens become blanks. On a terminal,
 * control characters inside its strings are escaped. The second form ends the line. */
void pawl_output_json(const struct pawl_output *out, struct pawl_str json);
void pawl_output_json_line(const struct pawl_output *out, struct pawl_str json);

/* A line of text; on a terminal without control characters. */
void pawl_output_text(const struct pawl_output *out, struct pawl_str text);

/* On one line and free of control characters: line breaks and tabs become blanks, the rest goes,
 * and so does what would turn the direction of the text around it. In the arena. */
struct pawl_str pawl_text_clean(struct pawl_arena *arena, struct pawl_str text);

/* An instant as a table shows it: "3m ago", "in 2h" on a terminal, else RFC 3339; "-" for 0. */
struct pawl_str pawl_time_text(const struct pawl_output *out, struct pawl_arena *arena,
                               int64_t at_ms);

/* "1m30s"; "-" for 0. */
struct pawl_str pawl_duration_text(struct pawl_arena *arena, int64_t ms);

/* The colour of a state, and what ends one; empty without colours. */
const char *pawl_state_color(const struct pawl_output *out, enum pawl_task_state state);
const char *pawl_color_end(const struct pawl_output *out);

/* The wall clock, for what is shown. */
int64_t pawl_wall_ms(void);

#endif
