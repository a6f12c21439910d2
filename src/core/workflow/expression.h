/* Expressions: what `${…}` in the JSON of a workflow stands for.
 *
 * A template is any JSON value. Resolving it copies its text and replaces its strings alone, never
 * keys: a string that is one expression and nothing else becomes the value, with its type and as it
 * is written (2^53 + 1 and 129.9 pass unchanged); in any other string expressions are replaced by
 * their text. docs/expressions.md has the grammar.
 *
 * An expression never fails. What is missing, malformed, or looks at more than PAWL_PATH_VISITS_MAX
 * values is null. Secrets stay the literal text that names them.
 *
 * Here a template is the text of a valid JSON value (pawl_json_check). */
#ifndef PAWL_CORE_WORKFLOW_EXPRESSION_H
#define PAWL_CORE_WORKFLOW_EXPRESSION_H

#include "core/workflow/path.h"

/* Resolves a template and puts the value.
 *
 *   scratch    room for the run; may be reset when it returns
 *   is_needed  true: a root was not loaded. Nothing was put; all that the template lacks has been
 *              asked of the scope, except what only a value of these could name. Run it again
 *   fails      PAWL_TOO_LARGE  more work than PAWL_TEMPLATE_VISITS_MAX, or than the arena holds
 *              PAWL_NO_MEMORY  of the arena */
enum pawl_code pawl_template_resolve(struct pawl_str json, const struct pawl_scope *scope,
                                     struct pawl_arena *scratch, struct pawl_json_writer *out,
                                     bool *is_needed, struct pawl_error *err) PAWL_MUST_USE;

/* The input of a task: its parameters, and what they lack of the input template of its definition.
 * A member of the template that the parameters do not have is resolved with them; a member that
 * has become null takes the template's value as it is written. Each is an object, or empty for
 * none. Else as pawl_template_resolve; PAWL_INVALID if one is no object. */
enum pawl_code pawl_template_resolve_input(struct pawl_str parameters,
                                           struct pawl_str input_template,
                                           const struct pawl_scope *scope,
                                           struct pawl_arena *scratch, struct pawl_json_writer *out,
                                           bool *is_needed, struct pawl_error *err) PAWL_MUST_USE;

enum pawl_expression_kind {
    PAWL_EXPRESSION_BLANK, /* `${}` */
    PAWL_EXPRESSION_WORD,  /* `${NAME}` */
    PAWL_EXPRESSION_PATH,  /* a root and a field of it */
    PAWL_EXPRESSION_SECRET,
    PAWL_EXPRESSION_MALFORMED
};

/* One root that a template names, or what is wrong with an expression. */
struct pawl_expression {
    enum pawl_expression_kind kind;
    struct pawl_str text; /* what stands between the braces; a `0` for each expression inside it */
    struct pawl_str
        root; /* of a PATH; empty if an inner expression decides it. The word of a WORD */
    struct pawl_str field; /* of a PATH; empty as root may be */
    const char *problem;   /* of MALFORMED */
    size_t at;             /* where the string begins in the template */
};

/* Tells what a template names: each expression when it ends, inner ones first, those in filters
 * beside theirs. Slices live until see returns.
 *
 *   fails  PAWL_TOO_LARGE, PAWL_NO_MEMORY of the arena */
enum pawl_code pawl_template_read(struct pawl_str json, struct pawl_arena *scratch, void *self,
                                  void (*see)(void *self, const struct pawl_expression *expression),
                                  struct pawl_error *err) PAWL_MUST_USE;

/* What a definition may name. */
struct pawl_names {
    void *self;
    bool (*has_task)(void *self, struct pawl_str reference);
    bool (*has_word)(void *self, struct pawl_str word); /* NULL: CPEWF_TASK_ID alone */
};

/* The check of a definition: each expression is well formed and names what there is.
 *
 *   fails  PAWL_INVALID  the sentence has the first expression that is wrong
 *          PAWL_TOO_LARGE, PAWL_NO_MEMORY of the arena */
enum pawl_code pawl_template_check(struct pawl_str json, const struct pawl_names *names,
                                   struct pawl_arena *scratch,
                                   struct pawl_error *err) PAWL_MUST_USE;

/* Whether a condition with this result holds: true, or a number above 0. */
bool pawl_value_is_true(const struct pawl_json *value);

/* A value as text, as it stands inside a string and as a SWITCH compares it with its cases: null is
 * `null`, a string itself, an object `{a=1, b=[x, y]}`. NULL is null. {NULL, 0} if the arena
 * failed. */
struct pawl_str pawl_value_text(const struct pawl_json *value, struct pawl_arena *keep);

#endif
