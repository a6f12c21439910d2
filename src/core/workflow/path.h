/* Paths into JSON values: the subset of JSONPath that expressions of workflows use.
 *
 *   t1.output.orders[?(@.total > 10)].id       root t1, field output, then steps
 *
 * A path begins with a root and one of its fields; these two the scope is asked for, so that a path
 * loads nothing but what it names. A filter may name other roots: `$.workflow.input.min`.
 *
 * A path is definite if each of its steps leads to one value at most: it gives that value or none.
 * With a wildcard, a filter, a slice, several indices or `..` it is not: it gives the list of all
 * values met, in order, which may be empty.
 *
 * Values are those of the source, untouched. A list that a path has made is an array whose raw is
 * empty; its members are copies of nodes, with the raw of the source. */
#ifndef PAWL_CORE_WORKFLOW_PATH_H
#define PAWL_CORE_WORKFLOW_PATH_H

#include "base/json.h"
#include "pawl.h"

enum pawl_found {
    PAWL_FOUND_NOTHING, /* there is none: null */
    PAWL_FOUND_VALUE,
    PAWL_FOUND_NOT_LOADED /* asked for; run again when it is there */
};

/* What expressions may see. Its functions must not take from the arena of the run. */
struct pawl_scope {
    void *self;
    /* `root` is `workflow` or the reference of a task, `field` input, output, status …; *value is
     * written for PAWL_FOUND_VALUE only: a whole tree, borrowed until the run ends. */
    enum pawl_found (*get)(void *self, struct pawl_str root, struct pawl_str field,
                           const struct pawl_json **value);
    /* An environment value that is on the list of those allowed: `${NAME}` (is_bare), or
     * `${workflow.env.NAME}`. False: there is none. NULL allows nothing. */
    bool (*env)(void *self, struct pawl_str name, bool is_bare, struct pawl_str *value);
    struct pawl_str task_id; /* of the task being built; empty: none */
};

struct pawl_path_step;
struct pawl_path_argument;

/* A path that was read. The fields are for reading only. */
struct pawl_path {
    struct pawl_str root; /* empty: begins at the value under test, `@` */
    struct pawl_str field;
    struct pawl_str name; /* of `workflow.env.NAME` */
    bool is_secret;       /* `workflow.secrets.…`: never found */
    bool is_definite;
    struct pawl_path_step *first;
    int32_t function; /* 0: none */
    struct pawl_path_argument *arguments;
    struct pawl_path *also; /* the next of those that begin with `$` in filters and arguments */
};

/* Reads a path. text is borrowed as long as the path is used.
 *
 *   fails  PAWL_INVALID  the sentence has the byte and what is wrong
 *          PAWL_TOO_LARGE, PAWL_NO_MEMORY of the arena */
enum pawl_code pawl_path_parse(struct pawl_str text, struct pawl_arena *arena,
                               struct pawl_path **out, struct pawl_error *err) PAWL_MUST_USE;

/* One search: what it may use, and what became of it. */
struct pawl_search {
    const struct pawl_scope *scope;
    struct pawl_arena *arena; /* what is found may live here */
    int64_t visits_left;      /* below 0: the search was given up, and found nothing */
    bool is_needed;           /* something was not loaded, and counted as missing */
    enum pawl_code code;      /* of the arena */
};

/* What the path leads to, or NULL: nothing, given up, or the arena failed. */
const struct pawl_json *pawl_path_find(const struct pawl_path *path, struct pawl_search *search);

#endif
