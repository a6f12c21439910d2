/* One run of the program: what the handler of a command works with. */
#ifndef PAWL_APP_CLI_H
#define PAWL_APP_CLI_H

#include "app/arguments.h"
#include "app/output.h"
#include "client/calls.h"
#include "pawl.h"

#include <stdio.h>

struct pawl_cli {
    struct pawl_arguments arguments;
    struct pawl_output out;
    struct pawl_arena *keep;    /* until the program ends */
    struct pawl_arena *scratch; /* a handler resets it between pages */
    struct pawl *pawl;          /* NULL until pawl_cli_open, and where a server is asked */
    const struct pawl_calls *calls; /* what works on either, with what it is to be given */
    struct pawl *asked;
    struct pawl_client *client; /* NULL where a store was opened */
    struct pawl_str store;      /* what was opened: an absolute path or an address */
    struct pawl_error err;      /* the first complaint */
    bool continuing;            /* of the last change: what follows for others goes on */
    int signal_fd;              /* PAWL_HEARS_SIGNALS: SIGINT and SIGTERM; else -1 */
};

/* Runs the command of the command line; gives the exit status. */
int pawl_cli_run(int argc, char **argv);

/* Opens the store that --db, PAWL_DB or the default names, or gets ready to ask the server that --server or PAWL_SERVER
 * names, for a command that is PAWL_ASKS_SERVER. options may be NULL; store, must_exist
 * and no_timers are set here; a command that does not stay runs to the end what its calls cause. */
enum pawl_code pawl_cli_open(struct pawl_cli *cli,
                             const struct pawl_options *options) PAWL_MUST_USE;

/* The same, and whether a store that is missing is made is said by creates. */
enum pawl_code pawl_cli_open_for(struct pawl_cli *cli, const struct pawl_options *options,
                                 bool creates) PAWL_MUST_USE;

/* The address of the server that is to be asked; empty for a store. An option beats the environment.
 *
 *   fails  PAWL_INVALID  both are named, or the command works on a store alone */
enum pawl_code pawl_cli_find_server(struct pawl_cli *cli, struct pawl_str *out) PAWL_MUST_USE;

/* Prints "pawl: CODE: sentence" of cli->err on standard error and gives the exit status of the
 * code; forgets the error. */
int pawl_cli_fail(struct pawl_cli *cli);

/* Says on standard error, after a change, if it could not see through what follows for others. */
void pawl_cli_tell_continuing(const struct pawl_cli *cli);

/* pawl_given_code, then pawl_cli_open without options: what most handlers begin with. */
enum pawl_code pawl_cli_begin(struct pawl_cli *cli) PAWL_MUST_USE;

/* Sleeps; true if SIGINT or SIGTERM came. Only for commands that are PAWL_HEARS_SIGNALS. */
bool pawl_cli_sleep(struct pawl_cli *cli, int64_t ms);

/* Reads to the end, at most PAWL_BATCH_BYTES_MAX; name is for the error. */
enum pawl_code pawl_file_read(FILE *file, const char *name, struct pawl_arena *keep,
                              struct pawl_str *out, struct pawl_error *err) PAWL_MUST_USE;

enum {
    /* Exit statuses beside those of the codes (base/code.h). */
    PAWL_EXIT_WORK_FAILED = 1,
    PAWL_EXIT_PART_FAILED = 8,
    PAWL_EXIT_INTERRUPTED = 130,
};

/* ---- Who speaks ------------------------------------------------------------------------------ */

/* Inside a command of `pawl worker run` the environment names task, owner and epoch. */
struct pawl_str pawl_cli_own_task(void); /* empty outside */

/* Whether a change is to print what became of the task: not inside a command, whose standard output
 * is its result, unless a form was asked for. */
bool pawl_cli_tells_changes(const struct pawl_cli *cli);

/* The change and, in *fence, the right to it: from the options, else from the environment if that
 * is about the same task. change->fence is NULL if there is none. A command without
 * PAWL_TAKES_FENCE never has one. */
void pawl_cli_change(struct pawl_cli *cli, struct pawl_str task_id, struct pawl_fence *fence,
                     struct pawl_change *change);

/* --actor, else PAWL_ACTOR, else the user's name. */
struct pawl_str pawl_cli_actor(const struct pawl_cli *cli);

#endif
