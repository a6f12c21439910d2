/* JSON, written: into a buffer that grows in an arena. Commas and colons come by themselves.
 *
 *   struct pawl_json_writer w;
 *   pawl_json_writer_init(&w, keep);
 *   pawl_json_begin_object(&w);
 *   pawl_json_put_member_text(&w, "id", task->id);
 *   pawl_json_put_key(&w, "tags");
 *   pawl_json_begin_array(&w);
 *   ...
 *   pawl_json_end_array(&w);
 *   pawl_json_end_object(&w);
 *   struct pawl_str text = pawl_json_writer_done(&w);
 *
 * When the arena fails, the rest is ignored and done gives nothing: there is one check, at the end.
 * Calls in a wrong order (a value without a key in an object, an end without its begin) are
 * asserted. */
#ifndef PAWL_BASE_JSON_WRITER_H
#define PAWL_BASE_JSON_WRITER_H

#include "pawl.h"

enum {
    /* Of our own containers, as deep as what is read; what pawl_json_put_raw brings does not count.
     */
    PAWL_JSON_WRITER_DEPTH_MAX = 128,
};

struct pawl_json_writer {
    struct pawl_arena *arena; /* borrowed */
    char *ptr;                /* in the arena */
    size_t len;
    size_t capacity_bytes;
    uint64_t objects[2]; /* bit n: the container at depth n + 1 is an object */
    int32_t depth;
    bool has_failed;
};

void pawl_json_writer_init(struct pawl_json_writer *w, struct pawl_arena *arena);

/* The text, in the arena; all containers must be closed. Empty if the arena failed. */
struct pawl_str pawl_json_writer_done(struct pawl_json_writer *w);

void pawl_json_begin_object(struct pawl_json_writer *w);
void pawl_json_end_object(struct pawl_json_writer *w);
void pawl_json_begin_array(struct pawl_json_writer *w);
void pawl_json_end_array(struct pawl_json_writer *w);

/* The key of the next value; escaped as text is. That keys differ is the caller's promise. */
void pawl_json_put_key(struct pawl_json_writer *w, const char *key);
void pawl_json_put_key_str(struct pawl_json_writer *w, struct pawl_str key);

/* A string. Each byte that is not part of a valid UTF-8 character becomes U+FFFD. */
void pawl_json_put_text(struct pawl_json_writer *w, struct pawl_str text);
void pawl_json_put_int64(struct pawl_json_writer *w, int64_t number);
/* As pawl_double_format: null for what is not finite. */
void pawl_json_put_double(struct pawl_json_writer *w, double number);
void pawl_json_put_bool(struct pawl_json_writer *w, bool value);
void pawl_json_put_null(struct pawl_json_writer *w);
/* A value that is JSON already, as it is; empty is null. */
void pawl_json_put_raw(struct pawl_json_writer *w, struct pawl_str json);

/* Key and value in one. */
void pawl_json_put_member_text(struct pawl_json_writer *w, const char *key, struct pawl_str text);
void pawl_json_put_member_int64(struct pawl_json_writer *w, const char *key, int64_t number);
void pawl_json_put_member_double(struct pawl_json_writer *w, const char *key, double number);
void pawl_json_put_member_bool(struct pawl_json_writer *w, const char *key, bool value);
void pawl_json_put_member_null(struct pawl_json_writer *w, const char *key);
void pawl_json_put_member_raw(struct pawl_json_writer *w, const char *key, struct pawl_str json);

#endif
