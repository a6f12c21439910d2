/* The properties of an object by a table: one line each, from which it is given its defaults, read
 * from JSON and written back. Reading is lenient with scalars, as Conductor is: "12" and 1.9 are
 * numbers, "True" is a boolean, a number is a text. Unknown properties are passed over. */
#ifndef PAWL_CORE_WORKFLOW_FIELD_H
#define PAWL_CORE_WORKFLOW_FIELD_H

#include "base/json.h"
#include "base/str.h"
#include "core/workflow/fault.h"

#include <stddef.h>

/* A number or flag that may be absent, and is. */
#define PAWL_NOT_GIVEN INT64_MIN

enum pawl_field_kind {
    /* kind                     member            absent or null       written */
    PAWL_FIELD_TEXT,         /* struct pawl_str   {NULL, 0}            unless absent */
    PAWL_FIELD_INT,          /* int64_t, 32 bits  default; null is 0   always */
    PAWL_FIELD_LONG,         /* int64_t           default; null is 0   always */
    PAWL_FIELD_INT_OR_NONE,  /* int64_t, 32 bits  PAWL_NOT_GIVEN       unless absent */
    PAWL_FIELD_BOOL,         /* int64_t, 0 or 1   default; null is 0   always */
    PAWL_FIELD_BOOL_OR_NONE, /* int64_t           PAWL_NOT_GIVEN       unless absent */
    PAWL_FIELD_WORD,         /* int64_t           default              unless its word is empty */
    PAWL_FIELD_MAP, /* struct pawl_str   empty                always, {} if empty; as it came */
    PAWL_FIELD_MAP_OR_NONE, /* struct pawl_str   empty                unless absent; as it came */
    PAWL_FIELD_TEXTS,       /* struct pawl_texts no members           always */
    PAWL_FIELD_ANY,         /* struct pawl_str   empty                unless absent; as it came */
};

struct pawl_texts {
    struct pawl_str *items; /* a null among them is {NULL, 0} */
    int64_t count;
};

struct pawl_field {
    struct pawl_str key;
    const struct pawl_str
        *words;      /* of PAWL_FIELD_WORD, ended by {NULL, 0}; the number is the place */
    int64_t initial; /* the default of numbers, booleans and words */
    size_t offset;   /* of the member, in bytes */
    enum pawl_field_kind kind;
};

struct pawl_fields {
    const struct pawl_field *items;
    size_t count;
};

/* Where faults are found: told by whoever knows what lies around the object. */
struct pawl_fault_place {
    void *self;
    /* The path of the object, with a '.' behind it unless it is empty; in the arena. Asked for only
     * when there is a fault. */
    struct pawl_str (*path)(void *self, struct pawl_arena *arena);
    struct pawl_faults *faults;
};

/* Adds what is wrong with a field of the object at place. The message goes on from the field's
 * name: "must be a number". An empty field is the object itself. value may be empty, and is shown
 * if it is a scalar. */
void pawl_place_fault(const struct pawl_fault_place *place, struct pawl_str field, struct pawl_str value,
                      struct pawl_str message);
void pawl_place_warning(const struct pawl_fault_place *place, struct pawl_str field,
                        struct pawl_str value, struct pawl_str message);

/* Gives each member its default. */
void pawl_fields_init(struct pawl_fields fields, void *object);

/* Defaults first, then what the object has. Texts and slices are those of the parsed text, or in
 * the arena. Members of the wrong kind are faults, and keep their default.
 *
 *   other  may be NULL; is called for the members that the table does not have */
void pawl_fields_read(struct pawl_fields fields, const struct pawl_json *object, void *out,
                      const struct pawl_fault_place *place,
                      void (*other)(void *self, struct pawl_str key, const struct pawl_json *value),
                      void *self);

/* A text as PAWL_FIELD_TEXT has it; false for what is none. */
bool pawl_field_text(const struct pawl_json *value, struct pawl_arena *arena, struct pawl_str *out);

/* A list of texts, as PAWL_FIELD_TEXTS has it; false for what is none. */
bool pawl_field_texts(const struct pawl_json *value, struct pawl_arena *arena,
                      struct pawl_texts *out);

/* The members, into an object that is open. */
void pawl_fields_write(struct pawl_fields fields, const void *object, struct pawl_json_writer *w);

#endif
