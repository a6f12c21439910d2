/* The commands of the program, in one table: what the parser accepts, what help prints, and what
 * the manual page and the completions are made from. A command is one line of it and one handler.
 */
#ifndef PAWL_APP_COMMANDS_H
#define PAWL_APP_COMMANDS_H

#include "pawl.h"

struct pawl_cli;

struct pawl_cli_option {
    const char *name;  /* without its dashes; NULL ends a table */
    char letter;       /* the short form; 0 = none */
    const char *value; /* what help calls its value; NULL = a flag */
    const char *words; /* what its value is one of, with spaces between; NULL = anything */
    const char *help;
    bool repeats;
    bool is_hidden; /* from help */
};

/* Sets of options that commands share, as bits. The common ones (pawl_cli_options_common) every
 * command takes, and they may stand before the command too. */
enum {
    PAWL_TAKES_CHANGE = 1 << 0, /* --reason --actor --expected-version */
    PAWL_TAKES_FENCE = 1 << 1,  /* --owner --epoch */
    PAWL_TAKES_WATCH = 1 << 2,  /* -w */
    PAWL_TAKES_KEEP = 1 << 3,   /* --consumer-keep: it drops consumers, as no other command does */
    /* What is not about options. */
    PAWL_ASKS_SERVER = 1 << 7,   /* works on a server too: it uses the calls of client/calls.h alone */
    PAWL_IS_LIST = 1 << 8,       /* prints rows: jsonl where nothing else is asked for */
    PAWL_CREATES_STORE = 1 << 9, /* a store that is missing is made */
    PAWL_HAS_TIMERS = 1 << 10, /* not a one-shot command: what comes due is done; so too with -w */
    PAWL_FOLLOWS = 1 << 12,    /* the same with -f */
    PAWL_HEARS_SIGNALS = 1 << 11, /* SIGINT and SIGTERM are read from a descriptor */
    PAWL_TAKES_AWAY = 1 << 13,    /* what is gone is gone: not suggested for a word that is far from it */
};

struct pawl_cli_command {
    const char *group; /* NULL: a command of one word */
    const char *name;
    int (*run)(struct pawl_cli *cli); /* gives the exit status */
    const char *arguments;            /* as help shows them; "" = none */
    int32_t words_min;
    int32_t words_max; /* -1 = any number */
    uint32_t takes;
    const char *summary;                   /* one line */
    const struct pawl_cli_option *options; /* its own; NULL = none */
    const char *notes;                     /* paragraphs for its help page; NULL = none */
};

struct pawl_cli_group {
    const char *name;
    const char *summary;
};

/* All end with an entry whose name is NULL. */
extern const struct pawl_cli_command pawl_cli_commands[];
extern const struct pawl_cli_group pawl_cli_groups[];
extern const struct pawl_cli_option pawl_cli_options_common[];

enum { PAWL_OPTION_SETS = 6 };

/* The tables a command's options stand in, its own first. The common ones alone for NULL. Fills
 * sets up to a NULL. */
void pawl_cli_option_sets(const struct pawl_cli_command *command,
                          const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1]);

/* NULL if there is none. */
const struct pawl_cli_command *pawl_cli_command_find(const char *group, const char *name);
const struct pawl_cli_group *pawl_cli_group_find(const char *name);
const struct pawl_cli_option *pawl_cli_option_find(const struct pawl_cli_command *command,
                                                   struct pawl_str name);
const struct pawl_cli_option *pawl_cli_option_find_letter(const struct pawl_cli_command *command,
                                                          char letter);

/* The handlers. */
int pawl_cli_task_add(struct pawl_cli *cli);
int pawl_cli_task_queue(struct pawl_cli *cli);
int pawl_cli_task_list(struct pawl_cli *cli);
int pawl_cli_task_get(struct pawl_cli *cli);
int pawl_cli_task_logs(struct pawl_cli *cli);
int pawl_cli_task_result(struct pawl_cli *cli);
int pawl_cli_task_wait(struct pawl_cli *cli);
int pawl_cli_task_pause(struct pawl_cli *cli);
int pawl_cli_task_resume(struct pawl_cli *cli);
int pawl_cli_task_cancel(struct pawl_cli *cli);
int pawl_cli_task_complete(struct pawl_cli *cli);
int pawl_cli_task_fail(struct pawl_cli *cli);
int pawl_cli_task_resolve(struct pawl_cli *cli);
int pawl_cli_task_progress(struct pawl_cli *cli);
int pawl_cli_task_log(struct pawl_cli *cli);
int pawl_cli_task_checkpoint(struct pawl_cli *cli);
int pawl_cli_task_retry_after(struct pawl_cli *cli);
int pawl_cli_task_lease(struct pawl_cli *cli);
int pawl_cli_task_release(struct pawl_cli *cli);
int pawl_cli_queue_list(struct pawl_cli *cli);
int pawl_cli_queue_stats(struct pawl_cli *cli);
int pawl_cli_queue_pause(struct pawl_cli *cli);
int pawl_cli_queue_resume(struct pawl_cli *cli);
int pawl_cli_queue_set(struct pawl_cli *cli);
int pawl_cli_dead_list(struct pawl_cli *cli);
int pawl_cli_dead_redrive(struct pawl_cli *cli);
int pawl_cli_dead_discard(struct pawl_cli *cli);
int pawl_cli_token_create(struct pawl_cli *cli);
int pawl_cli_token_list(struct pawl_cli *cli);
int pawl_cli_token_revoke(struct pawl_cli *cli);
int pawl_cli_worker_run(struct pawl_cli *cli);
int pawl_cli_events(struct pawl_cli *cli);
int pawl_cli_server(struct pawl_cli *cli);
int pawl_cli_gc(struct pawl_cli *cli);
int pawl_cli_doctor(struct pawl_cli *cli);
int pawl_cli_top(struct pawl_cli *cli);
int pawl_cli_import(struct pawl_cli *cli);
int pawl_cli_backup(struct pawl_cli *cli);
int pawl_cli_restore(struct pawl_cli *cli);
int pawl_cli_fsck(struct pawl_cli *cli);
int pawl_cli_version(struct pawl_cli *cli);
int pawl_cli_completion(struct pawl_cli *cli);
int pawl_cli_help(struct pawl_cli *cli);

#endif
