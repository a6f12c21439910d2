/* The table of commands. Names, words and exit codes here are what scripts rely on: they are added
 * to, never changed. Help texts end up in the manual page too, so they are whole but short. */
#include "app/commands.h"

#include "base/str.h"

#include <string.h>

/* clang-format off */
#define FORMS "table wide json jsonl name"
#define BACKOFFS "exponential linear fixed"
#define STATES                                                                                     \
    "PENDING QUEUED RUNNING PAUSED RECOVERY_PENDING COMPLETED FAILED CANCELLED DEAD_LETTER"

const struct pawl_cli_group pawl_cli_groups[] = {
    {"task", "Tasks: add them, look at them, change them; and what a command says of its own"},
    {"queue", "Queues: pause them, set their defaults, count what waits in them"},
    {"dead", "Dead letters: tasks that failed for good, or whose retries are spent"},
    {"worker", "Workers: run a command for each task"},
    {"token", "Tokens: who may ask `pawl server`, and for what"},
    {NULL, NULL},
};

const struct pawl_cli_option pawl_cli_options_common[] = {
    {.name = "db",
     .value = "FILE|URL",
     .help = "the store: a file, or postgres://…; else PAWL_DB, else pawl/pawl.db in the user's "
             "data folder (XDG_DATA_HOME)"},
    {.name = "server",
     .value = "ADDRESS",
     .help = "ask this `pawl server` instead of a store: http://localhost:8080, https://… or unix:/PATH; "
             "else PAWL_SERVER"},
    {.name = "token-file",
     .value = "FILE",
     .help = "with a server: its first line is the token; else PAWL_TOKEN"},
    {.name = "output",
     .letter = 'o',
     .value = "FORM",
     .help = "table, wide, json, jsonl or name; on a terminal table, else json, and jsonl for "
             "lists",
     .words = FORMS},
    {.name = "color",
     .value = "WHEN",
     .words = "auto always never",
     .help = "auto, always or never; NO_COLOR means never"},
    {.name = "help", .letter = 'h', .help = "what the command does, and its options"},
    {.name = NULL},
};

static const struct pawl_cli_option change_options[] = {
    {.name = "reason", .value = "TEXT", .help = "why; kept in the task's history"},
    {.name = "actor",
     .value = "NAME",
     .help = "who; kept in the task's history; else PAWL_ACTOR, else the user"},
    {.name = "expected-version",
     .value = "N",
     .help = "only if the task still has this version, else CONFLICT"},
    {.name = NULL},
};

static const struct pawl_cli_option fence_options[] = {
    {.name = "owner",
     .value = "ID",
     .help = "the worker that holds the lease; inside a command it is known"},
    {.name = "epoch",
     .value = "N",
     .help = "the number of its claim; inside a command it is known"},
    {.name = NULL},
};

static const struct pawl_cli_option watch_options[] = {
    {.name = "watch",
     .letter = 'w',
     .help = "keep looking, and show what changes; ends with an interrupt and exit status 130"},
    {.name = "count", .value = "N", .help = "look so many times, then end", .is_hidden = true},
    {.name = NULL},
};

static const struct pawl_cli_option keep_options[] = {
    {.name = "consumer-keep",
     .value = "AGE",
     .help = "consumers of events that acknowledge nothing for so long, and hold others back, are "
             "dropped; else 7d"},
    {.name = NULL},
};

#define FORCE_HELP "do not ask its holder first: whoever holds the lease has lost it at once"
#define INPUT_FORMS "JSON, @FILE or - for standard input"

static const struct pawl_cli_option add_options[] = {
    {.name = "queue", .letter = 'q', .value = "NAME", .help = "the queue; else `default`"},
    {.name = "input", .letter = 'i', .value = "JSON", .help = "what to work on: " INPUT_FORMS},
    {.name = "goal", .value = "TEXT", .help = "what to do, for people: text, @FILE or -"},
    {.name = "title", .value = "TEXT", .help = "a line for lists; else made from the goal"},
    {.name = "priority",
     .letter = 'p',
     .value = "N",
     .words = "LOW MEDIUM HIGH CRITICAL",
     .help = "0 to 99, higher first, or LOW (10), MEDIUM (20), HIGH (30), CRITICAL (40); else 20"},
    {.name = "depends-on",
     .value = "ID",
     .help = "a task that must be completed first; may be given several times",
     .repeats = true},
    {.name = "dependency-policy",
     .value = "WORD",
     .words = "block cancel ignore",
     .help = "when a dependency can no longer complete: block (wait all the same), cancel or "
             "ignore"},
    {.name = "allow-missing-dependencies",
     .help = "an unknown id counts as one that has not completed yet"},
    {.name = "max-retries", .value = "N", .help = "tries after the first; else the queue's, else 3"},
    {.name = "retry-delay", .value = "T", .help = "wait before the first retry: 5s; 0 = none"},
    {.name = "retry-delay-max", .value = "T", .help = "the longest wait; else 60s"},
    {.name = "retry-jitter", .value = "T", .help = "up to so much is added to a wait, at random"},
    {.name = "backoff",
     .value = "WORD",
     .words = BACKOFFS,
     .help = "how waits grow: exponential, linear or fixed"},
    {.name = "timeout", .value = "T", .help = "for one attempt, whatever its lease; else none"},
    {.name = "run-at", .value = "TIME", .help = "not before this instant (RFC 3339, or ms)"},
    {.name = "delay", .value = "T", .help = "not before so long from now"},
    {.name = "key",
     .value = "KEY",
     .help = "idempotency key: the same key and content give the first task again"},
    {.name = "id", .value = "ID", .help = "an id of your own; else one is made"},
    {.name = "metadata", .value = "JSON", .help = "a JSON object of your own: " INPUT_FORMS},
    {.name = "correlation-id", .value = "ID", .help = "joins what belongs together"},
    {.name = "hold", .help = "leave it PENDING until `pawl task queue`"},
    {.name = "jsonl", .help = "read tasks from standard input, one JSON object a line"},
    {.name = "actor", .value = "NAME", .help = "who; else PAWL_ACTOR, else the user"},
    {.name = NULL},
};

static const struct pawl_cli_option list_options[] = {
    {.name = "status",
     .letter = 's',
     .value = "STATE",
     .words = STATES,
     .help = "only these states; several with commas, or the option again",
     .repeats = true},
    {.name = "ready", .help = "only what a worker may have now, in the order of claims"},
    {.name = "blocked", .help = "only what a dependency blocks for good"},
    {.name = "dead", .help = "only dead letters"},
    {.name = "queue", .letter = 'q', .value = "NAME", .help = "only this queue"},
    {.name = "limit", .letter = 'n', .value = "N", .help = "rows of a page, 1 to 1000; else 100"},
    {.name = "cursor", .value = "CURSOR", .help = "go on after the page that ended with this cursor"},
    {.name = "all", .help = "all pages"},
    {.name = NULL},
};

static const struct pawl_cli_option dead_list_options[] = {
    {.name = "queue", .letter = 'q', .value = "NAME", .help = "only this queue"},
    {.name = "limit", .letter = 'n', .value = "N", .help = "rows of a page, 1 to 1000; else 100"},
    {.name = "cursor", .value = "CURSOR", .help = "go on after the page that ended with this cursor"},
    {.name = "all", .help = "all pages"},
    {.name = NULL},
};

static const struct pawl_cli_option get_options[] = {
    {.name = "history", .help = "its events too"},
    {.name = "checkpoints", .help = "its checkpoints too"},
    {.name = "late", .help = "outcomes that came without the right to them too"},
    {.name = NULL},
};

static const struct pawl_cli_option logs_options[] = {
    {.name = "follow", .letter = 'f', .help = "wait for more until the task has ended"},
    {.name = "after", .value = "N", .help = "only what comes after the line of this number"},
    {.name = NULL},
};

static const struct pawl_cli_option result_options[] = {
    {.name = "raw", .letter = 'r', .help = "what the command printed: text or bytes"},
    {.name = NULL},
};

static const struct pawl_cli_option wait_options[] = {
    {.name = "timeout", .value = "T", .help = "end with exit status 7 after so long"},
    {.name = NULL},
};

static const struct pawl_cli_option resume_options[] = {
    {.name = "keep-retries", .help = "do not give a failed task its retries anew"},
    {.name = "input", .letter = 'i', .value = "JSON", .help = "a new input: " INPUT_FORMS},
    {.name = NULL},
};

static const struct pawl_cli_option cancel_options[] = {
    {.name = "force", .help = FORCE_HELP},
    {.name = NULL},
};

static const struct pawl_cli_option complete_options[] = {
    {.name = "result", .letter = 'r', .value = "JSON", .help = "its result: " INPUT_FORMS},
    {.name = NULL},
};

static const struct pawl_cli_option fail_options[] = {
    {.name = "error", .letter = 'e', .value = "TEXT", .help = "what went wrong: text, @FILE or -"},
    {.name = "final", .help = "no retry: a dead letter at once"},
    {.name = "retry-after", .value = "T", .help = "wait so long before the retry; 0 = at once"},
    {.name = NULL},
};

static const struct pawl_cli_option resolve_options[] = {
    {.name = "outcome",
     .value = "STATE",
     .words = "COMPLETED FAILED QUEUED CANCELLED",
     .help = "COMPLETED, FAILED, QUEUED or CANCELLED"},
    {.name = "text", .value = "TEXT", .help = "the JSON result, or the error: text, @FILE or -"},
    {.name = "force", .help = "QUEUED although its work is seen to go on: it may then run twice at a time"},
    {.name = NULL},
};

static const struct pawl_cli_option lease_options[] = {
    {.name = "renew", .help = "prolong it"},
    {.name = "lease", .value = "T", .help = "renew to so long from now; else to its own length"},
    {.name = NULL},
};

static const struct pawl_cli_option release_options[] = {
    {.name = "delay", .value = "T", .help = "not given out again before so long from now"},
    {.name = NULL},
};

static const struct pawl_cli_option queue_set_options[] = {
    {.name = "lease", .value = "T", .help = "of claims that name none; 0 = the worker's"},
    {.name = "max-retries", .value = "N", .help = "of tasks that name none"},
    {.name = "retry-delay", .value = "T", .help = "wait before the first retry; 0 = none"},
    {.name = "retry-delay-max", .value = "T", .help = "the longest wait"},
    {.name = "retry-jitter", .value = "T", .help = "up to so much is added to a wait, at random"},
    {.name = "backoff",
     .value = "WORD",
     .words = BACKOFFS,
     .help = "how waits grow: exponential, linear or fixed"},
    {.name = NULL},
};

static const struct pawl_cli_option redrive_options[] = {
    {.name = "queue", .letter = 'q', .value = "NAME", .help = "only of this queue"},
    {.name = "error",
     .letter = 'e',
     .value = "PART",
     .help = "only those whose error has this in it"},
    {.name = "before", .value = "TIME", .help = "only those that died before this instant"},
    {.name = "max", .value = "N", .help = "at most so many"},
    {.name = "all", .help = "all of them; needed when no id and no filter is given"},
    {.name = "keep-retries", .help = "do not give them their retries anew"},
    {.name = "input", .letter = 'i', .value = "JSON", .help = "a new input: " INPUT_FORMS},
    {.name = NULL},
};

static const struct pawl_cli_option backup_options[] = {
    {.name = "replace", .help = "replace a file that is there, unless somebody has it open"},
    {.name = NULL},
};

static const struct pawl_cli_option restore_options[] = {
    {.name = "yes", .letter = 'y', .help = "all that use the store have been stopped, and it may be replaced"},
    {.name = "raise-epochs", .help = "the store is back by other means: do only what keeps epochs growing"},
    {.name = NULL},
};

static const struct pawl_cli_option fsck_options[] = {
    {.name = "repair", .help = "set right what follows from the rest"},
    {.name = "let-out",
     .value = "ID",
     .help = "with --repair: give back a task that was set aside because it kills its process"},
    {.name = "skip-file", .help = "do not read the whole file for damage, which is one long read"},
    {.name = NULL},
};

static const struct pawl_cli_option events_options[] = {
    {.name = "follow", .letter = 'f', .help = "wait for more; ends with an interrupt"},
    {.name = "after", .value = "N", .help = "only what comes after this position"},
    {.name = "limit", .letter = 'n', .value = "N", .help = "at most so many; else all there are"},
    {.name = "consumer",
     .value = "NAME",
     .help = "read as this consumer: what it has not acknowledged yet; a new name starts at the "
             "oldest"},
    {.name = "ack", .help = "acknowledge what was printed"},
    {.name = "ack-id",
     .value = "ID",
     .help = "acknowledge this event alone, and print nothing else",
     .repeats = true},
    {.name = NULL},
};

static const struct pawl_cli_option help_options[] = {
    {.name = "man", .help = "as the source of a manual page: `pawl help --man | man -l -`"},
    {.name = NULL},
};

static const struct pawl_cli_option gc_options[] = {
    {.name = "older-than", .value = "AGE", .help = "what ended so long ago; 0 = all that has ended"},
    {.name = "status",
     .letter = 's',
     .value = "STATE",
     .help = "only these of COMPLETED, FAILED, CANCELLED and DEAD_LETTER; several with commas, or the option again",
     .repeats = true},
    {.name = "max", .value = "N", .help = "at most so many"},
    {.name = "dry-run", .letter = 'n', .help = "count what would go, and remove nothing"},
    {.name = "compact", .help = "give free room in the file back to the file system"},
    {.name = NULL},
};

static const struct pawl_cli_option top_options[] = {
    {.name = "once", .help = "look once, then end"},
    {.name = NULL},
};

static const struct pawl_cli_option import_options[] = {
    {.name = "dry-run", .help = "report only: nothing is kept"},
    {.name = "json", .help = "the same as -o json"},
    {.name = NULL},
};

static const struct pawl_cli_option server_options[] = {
    {.name = "listen",
     .value = "ADDRESS",
     .help = "HOST:PORT, with port 0 for a free one, or unix:PATH; may be given several times; else 127.0.0.1:8080",
     .repeats = true},
    {.name = "insecure", .help = "listen on an address that others reach, without tokens: whoever comes may do anything"},
    {.name = "allow-host",
     .value = "NAME",
     .help = "a name under which we are asked, beside localhost; may be given several times",
     .repeats = true},
    {.name = "tls-cert", .value = "FILE", .help = "speak HTTPS with this certificate and its chain (PEM)"},
    {.name = "tls-key", .value = "FILE", .help = "the key of --tls-cert (PEM)"},
    {.name = "lease-grace", .value = "T", .help = "how long leases of Conductor's clients last beyond what they say; else 1s"},
    {.name = "drain", .value = "T", .help = "how long an orderly end may take; else 30s"},
    {.name = "loops", .value = "N", .help = "threads for sockets, 1 to 16; else 1"},
    {.name = "retain",
     .value = "AGE",
     .help = "remove tasks that ended so long ago, of all queues, as `pawl gc` does; else none"},
    {.name = "events-keep",
     .value = "AGE",
     .help = "with --retain: while no consumer reads events, keep tasks and their events so long at least"},
    {.name = "quiet", .help = "say only what went wrong: warnings and errors"},
    {.name = "verbose", .help = "say every request"},
    {.name = NULL},
};

static const struct pawl_cli_option token_create_options[] = {
    {.name = "role",
     .value = "ROLE",
     .words = "viewer worker operator admin",
     .help = "viewer looks; worker also adds and works on tasks; operator also pauses, cancels, "
             "resolves and sets queues up; admin may all"},
    {.name = NULL},
};

static const struct pawl_cli_option worker_run_options[] = {
    {.name = "slots", .letter = 'n', .value = "N", .help = "commands at a time, 1 to 1024; else 1"},
    {.name = "queues-from",
     .value = "FILE",
     .help = "a line for each queue: its name, its slots, and behind -- a command for /bin/sh"},
    {.name = "lease",
     .value = "T",
     .help = "how long a task is ours without a sign of life; else the queue's, else 60s"},
    {.name = "grace",
     .value = "T",
     .help = "from SIGTERM to SIGKILL, and for commands to end by themselves when the worker is "
             "told to; 0 = both at once; else 5s"},
    {.name = "timeout", .value = "T", .help = "for one attempt; else the task's, else none"},
    {.name = "once", .help = "one task, then end; waits for one when there is none"},
    {.name = "until-empty",
     .help = "end when no task is ready; those that are deferred or recovering are left, and counted at the end"},
    {.name = "retain",
     .value = "AGE",
     .help = "remove tasks that ended so long ago, of all queues, as `pawl gc` does; else none"},
    {.name = "events-keep",
     .value = "AGE",
     .help = "with --retain: while no consumer reads events, keep tasks and their events so long at least"},
    {.name = "worker-id", .value = "ID", .help = "its name; else made from host and process"},
    {.name = "cwd", .value = "FOLDER", .help = "where the command runs"},
    {.name = "env",
     .value = "NAME=VALUE",
     .help = "set for the command; may be given several times",
     .repeats = true},
    {.name = "quiet", .help = "say only what went wrong: warnings and errors"},
    {.name = NULL},
};

#define TIMER_NOTES                                                                                \
    "What comes due (retries, delays, ends of leases, time-outs, deadlines of requests) is done by "\
    "programs that stay and run timers: `pawl worker run`, `pawl task wait`, `pawl events -f`, "   \
    "`pawl task logs -f`, `pawl top`, every command with --watch, and programs that use the library. The "     \
    "other commands leave it to them."
#define TRIES_NOTES                                                                                \
    "FAILED TRIES is how many tries have failed, and how many there may be: the first and the "    \
    "retries. A try under way is not counted."
#define INSIDE_NOTES                                                                               \
    "Inside a command of `pawl worker run` the task is known and its id can be left out."
#define SILENT_NOTES                                                                               \
    "Inside a command of `pawl worker run` it prints nothing unless -o is given: what the command " \
    "prints is its result."
#define MANY_NOTES                                                                                 \
    "Several ids may be given. What fails is told on standard error; exit status 8 says that a "   \
    "part of them failed."

const struct pawl_cli_command pawl_cli_commands[] = {
    {"task", "add", pawl_cli_task_add, "", 0, 0, PAWL_ASKS_SERVER | PAWL_CREATES_STORE,
     "Add a task and queue it", add_options,
     "Prints the id of the task.\n"
     "With --jsonl each line of standard input is one task, with the keys of `pawl task get -o "
     "json`: id, queue, input, goal, title, metadata, correlation_id, key, priority (a number or "
     "a name), max_retries, timeout_ms, depends_on; besides hold, run_at_ms, delay_ms, "
     "dependency_policy, allow_missing_dependencies, backoff, retry_delay_ms, retry_delay_ms_max, "
     "retry_jitter_ms. In depends_on, \"#0\" is the first task of the input. Blank lines are "
     "passed over; each other line is answered by one line, in order: what is wrong with a bad one "
     "stands in its answer, or, with -o table or name, on standard error. Lines are added up to "
     "500 at a time, all or none; when that fails, one by one, so that only the bad ones are left "
     "out. Exit status 8 says that some were; if none was good, it is that of the first error.\n"
     TIMER_NOTES},
    {"task", "list", pawl_cli_task_list, "", 0, 0,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS, "List tasks", list_options,
     "States are PENDING, QUEUED, RUNNING, PAUSED, RECOVERY_PENDING, COMPLETED, FAILED, CANCELLED "
     "and DEAD_LETTER, in any case; any other is refused. A page that is not the last one has a "
     "cursor.\n"
     TRIES_NOTES},
    {"task", "get", pawl_cli_task_get, "ID", 1, 1, PAWL_ASKS_SERVER | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS,
     "Show one task, and why it waits", get_options, TIMER_NOTES},
    {"task", "logs", pawl_cli_task_logs, "ID", 1, 1,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_HEARS_SIGNALS | PAWL_FOLLOWS, "Show what a task has logged", logs_options,
     "While it follows, what comes due is done too, as by `pawl task wait`."},
    {"task", "result", pawl_cli_task_result, "ID", 1, 1, PAWL_ASKS_SERVER, "Print the result of a task",
     result_options,
     "Prints the JSON as it was stored. With --raw, what the command printed: the text of a JSON "
     "string and a line break, or the very bytes of {\"base64\":…}; what was cut is told on standard "
     "error. `pawl help worker run` has how results are made. Exit status 1 if the task ended "
     "without success, 4 if it has not ended."},
    {"task", "wait", pawl_cli_task_wait, "ID…", 1, -1,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_HEARS_SIGNALS | PAWL_HAS_TIMERS, "Wait until tasks have ended",
     wait_options,
     "Prints each task when it ends. While it waits, what comes due is done: retries, delays, ends "
     "of leases. Exit status 0 if all are COMPLETED, 1 if one ended otherwise, 7 if the time is up."},
    {"task", "queue", pawl_cli_task_queue, "ID…", 1, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "Queue tasks that were added with --hold", NULL, MANY_NOTES},
    {"task", "pause", pawl_cli_task_pause, "ID…", 1, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "Withdraw tasks for a while", NULL,
     "The holder of a running task is asked to stop; it is told at once, at the latest with its "
     "next renewal, and is never forced. One that finishes its work all the same completes the task.\n" MANY_NOTES},
    {"task", "resume", pawl_cli_task_resume, "ID…", 1, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "Queue paused, failed or dead tasks again", resume_options, MANY_NOTES},
    {"task", "retry", pawl_cli_task_resume, "ID…", 1, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "The same as resume", resume_options, MANY_NOTES},
    {"task", "cancel", pawl_cli_task_cancel, "ID…", 1, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "Cancel tasks", cancel_options,
     "The holder of a running task is asked to stop. If it has not after one lease, it has lost "
     "the task. One that finishes its work before that completes the task.\n"
     TIMER_NOTES "\n" MANY_NOTES},
    {"task", "complete", pawl_cli_task_complete, "ID", 1, 1,
     PAWL_ASKS_SERVER | PAWL_TAKES_CHANGE | PAWL_TAKES_FENCE, "Complete a task by hand", complete_options,
     "A running task can be completed by the holder of its lease only.\n" SILENT_NOTES},
    {"task", "fail", pawl_cli_task_fail, "ID", 1, 1, PAWL_ASKS_SERVER | PAWL_TAKES_CHANGE | PAWL_TAKES_FENCE,
     "End the attempt of a running task as failed", fail_options,
     "Only the holder of its lease can do this.\n" SILENT_NOTES},
    {"task", "resolve", pawl_cli_task_resolve, "ID", 1, 1, PAWL_ASKS_SERVER | PAWL_TAKES_CHANGE,
     "Decide what became of a task", resolve_options,
     "For tasks in RECOVERY_PENDING, FAILED or DEAD_LETTER. FAILED is an outcome for "
     "RECOVERY_PENDING only. One whose holder was asked to pause or cancel is not queued past that: it becomes "
     "PAUSED or CANCELLED."},
    {"task", "progress", pawl_cli_task_progress, "[ID] PERCENT", 1, 2, PAWL_TAKES_FENCE,
     "Report progress, from 0 to 100; what lies outside is taken as the nearer end", NULL, INSIDE_NOTES},
    {"task", "log", pawl_cli_task_log, "[ID] TEXT", 1, 2, PAWL_TAKES_FENCE,
     "Add to the log of a task", NULL,
     "With - as TEXT, the lines of standard input are added.\n" INSIDE_NOTES},
    {"task", "checkpoint", pawl_cli_task_checkpoint, "[ID] STEP STATE", 2, 3, PAWL_TAKES_FENCE,
     "Save a state to go on from", NULL,
     "STATE is " INPUT_FORMS ". The next attempt finds it in its task as `checkpoint`. With --output its id is "
     "printed.\n"
     INSIDE_NOTES},
    {"task", "retry-after", pawl_cli_task_retry_after, "T", 1, 1, 0,
     "Say how long to wait before the retry", NULL,
     "Only inside a command of `pawl worker run`; it counts if the command then ends in a way "
     "that is tried again."},
    {"task", "lease", pawl_cli_task_lease, "[ID]", 0, 1, PAWL_TAKES_FENCE,
     "Show the lease of a task, and renew it", lease_options, INSIDE_NOTES},
    {"task", "release", pawl_cli_task_release, "[ID]", 0, 1,
     PAWL_TAKES_FENCE | PAWL_TAKES_CHANGE, "Give a task back, uncounted", release_options,
     INSIDE_NOTES},

    {"queue", "list", pawl_cli_queue_list, "", 0, 0,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS, "List queues and their defaults", NULL,
     "A - stands for what is built in: 3 retries, the first after 1s, the longest wait 60s, no "
     "jitter, exponential; and for the lease what the worker asks for, else 60s."},
    {"queue", "stats", pawl_cli_queue_stats, "[NAME…]", 0, -1,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS, "Count what waits and runs", NULL, NULL},
    {"queue", "pause", pawl_cli_queue_pause, "NAME…", 1, -1, PAWL_ASKS_SERVER | PAWL_CREATES_STORE,
     "Give out no task of a queue", NULL, "Running tasks are left alone."},
    {"queue", "resume", pawl_cli_queue_resume, "NAME…", 1, -1, PAWL_ASKS_SERVER | PAWL_CREATES_STORE,
     "Give out tasks again", NULL, NULL},
    {"queue", "set", pawl_cli_queue_set, "NAME", 1, 1, PAWL_ASKS_SERVER | PAWL_CREATES_STORE,
     "Set the defaults of a queue", queue_set_options, "What is not named stays as it is."},

    {"dead", "list", pawl_cli_dead_list, "", 0, 0,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS, "List dead letters and their errors",
     dead_list_options, TRIES_NOTES},
    {"dead", "show", pawl_cli_task_get, "ID", 1, 1, PAWL_ASKS_SERVER | PAWL_TAKES_WATCH | PAWL_HEARS_SIGNALS,
     "Show one task; the same as `pawl task get`", get_options, NULL},
    {"dead", "redrive", pawl_cli_dead_redrive, "[ID…]", 0, -1, PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE,
     "Queue dead letters again", redrive_options,
     "By their ids, or by a filter: --queue, --error, --before, --max, or --all. A task named by "
     "its id that is neither DEAD_LETTER nor FAILED is refused."},
    {"dead", "discard", pawl_cli_dead_discard, "ID…", 1, -1,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_TAKES_CHANGE | PAWL_TAKES_AWAY,
     "Cancel dead letters", NULL,
     "A task that is neither DEAD_LETTER nor FAILED is refused.\n" MANY_NOTES},

    {"worker", "run", pawl_cli_worker_run, "[QUEUE…] -- COMMAND…", 0, -1,
     PAWL_CREATES_STORE | PAWL_HAS_TIMERS | PAWL_HEARS_SIGNALS | PAWL_TAKES_KEEP, "Run a command for each task (without QUEUE: of `default` alone)",
     worker_run_options,
     "The command gets the task as JSON on standard input and in the file named by PAWL_TASK; "
     "also PAWL_TASK_ID, PAWL_QUEUE, PAWL_ATTEMPT, PAWL_EPOCH, PAWL_WORKER_ID and PAWL_DB, with "
     "which `pawl task progress`, log, checkpoint, lease, release and retry-after need no id. "
     "Inside it, commands that change tasks print nothing unless -o is given.\n"
     "PAWL_SOCKET is a socket of the worker. It takes lines of words: progress 42, log TEXT, "
     "checkpoint 3 JSON, retry-after 30s, lease. Each is answered by a line with ok, or with "
     "error, a code and a sentence. The commands of `pawl task` with these names use it, and so "
     "need no store.\n"
     "A command that cannot be started (its program or its folder has gone, the disk of TMPDIR is full) is no "
     "failure of the task: it is given back uncounted, and the worker tries again after a while, up to a minute; "
     "with --once or --until-empty it ends.\n"
     "Exit status 0 completes the task. 65, 78, 126 and 127 fail for good; 75, all others and "
     "signals are tried again; the error is the exit status or signal and the end of standard "
     "error.\n"
     "The result is what it prints to standard output. JSON is kept as it is. Other text, which is "
     "UTF-8 without zero bytes, becomes a JSON string without the line breaks at its end; anything "
     "else becomes {\"base64\":…}. Nothing gives no result. Beyond 1 MiB the rest is dropped, the "
     "result is {\"text\":…,\"cut\":true} or {\"base64\":…,\"cut\":true}, and the worker says so "
     "(worker.result_cut). `pawl task result -r` gives back text and bytes.\n"
     "What it writes to standard error goes to the log of the task, in pieces of whole lines of up "
     "to 16 KiB, and to the worker's own standard error.\n"
     "The lease is renewed as long as the command runs. When it is lost, when the time for the "
     "attempt is up, or when the task is to be paused or cancelled, the command gets SIGTERM, and "
     "SIGKILL after the grace. It runs in a process group of its own, which ends with it; what it "
     "has started in other sessions then gets SIGTERM, and SIGKILL after the grace.\n"
     "Descriptor 100 of the command and of its children is a lock. The outcome is told when the "
     "last of them has gone; if the worker dies, the task is given out again when its lease has "
     "ended and the last of them has gone, and not before. The command gets SIGTERM then. A "
     "process that holds the lock and that the worker cannot stop, since the descriptor was passed "
     "on, keeps its slot and its task (worker.uncontained). What is to live on gives up both: "
     "`env -u PAWL_TASK_ID … 100>&-`, in a shell that knows such numbers, or a service manager "
     "starts it.\n"
     "A command that ends with exit status 0 while the lease is held completes the task, whatever "
     "it was asked: to pause, to cancel, or to end because the worker does. With any other end "
     "the task is then paused, cancelled, or given back uncounted. Only a time-out fails the "
     "attempt however the command ends.\n"
     "SIGTERM and SIGINT to the worker end it in order, with exit status 0: no more claims; "
     "running commands may end by themselves within the grace, then get SIGTERM and the grace once "
     "more. A second signal kills them at once. Exit status 0 says nothing of what became of the "
     "tasks.\n"
     "With --queues-from one worker serves many queues, each with slots and a command of its own. "
     "A line has the name of the queue; then, if they are not those of the command line, its slots; "
     "then, behind --, its command, which /bin/sh runs. Empty lines and those that begin with # "
     "are passed over. To the store each queue has a worker of its own, named ID/QUEUE.\n"
     "The worker's own log is logfmt on standard error, a line each, which starts with its time. "
     "Failures of tasks are warnings in it. On a terminal each slot at work has a line below it "
     "besides, with its task and its progress, unless --quiet is given.\n"
     TIMER_NOTES},

    {NULL, "events", pawl_cli_events, "", 0, 0,
     PAWL_ASKS_SERVER | PAWL_IS_LIST | PAWL_HEARS_SIGNALS | PAWL_FOLLOWS,
     "Read what has happened", events_options,
     "Events come in the order in which they were committed. A consumer is a name with a position "
     "that is kept in the store; it moves by --ack and gets each event at least once. One that "
     "stays away for a week is dropped by workers and by `pawl gc` (--consumer-keep). While it "
     "follows, what comes due is done too, as by `pawl task wait`."},
    {"token", "create", pawl_cli_token_create, "NAME", 1, 1, PAWL_CREATES_STORE,
     "Make a token", token_create_options,
     "Prints its key id, its key secret, and both with a dot between: the token that callers send, as "
     "`Authorization: Bearer TOKEN` or `X-Authorization: TOKEN`. The secret is shown this once; the store keeps its "
     "SHA-256 alone. A server knows the token within a second. From the first token on every caller needs one."},
    {"token", "list", pawl_cli_token_list, "", 0, 0, PAWL_IS_LIST, "List tokens", NULL, NULL},
    {"token", "revoke", pawl_cli_token_revoke, "NAME", 1, 1, 0, "Remove a token", NULL,
     "A server refuses it within a second. With the last one revoked a server that runs refuses everybody; one that "
     "is started anew asks for no token."},

    {NULL, "top", pawl_cli_top, "", 0, 0, PAWL_HAS_TIMERS, "Watch what goes on", top_options,
     "Queues, what runs under which lease, and how much was done in the last ten seconds. On a terminal it "
     "stays until q or an interrupt, and looks again whenever something was committed; elsewhere, with "
     "--once or as JSON it looks once. It runs timers, as `pawl task wait` does."},
    {NULL, "doctor", pawl_cli_doctor, "", 0, 0, PAWL_IS_LIST, "Find what is wrong, and say what to do", NULL,
     "Looks at the machine (SQLite, disk, permissions, inotify, clocks), the store, and the work: what is overdue, "
     "waits for a person or for a worker that does not come, consumers that are far behind, finished tasks that "
     "nobody removes. Takes milliseconds on a store of any size and changes nothing. A finding is an error, a "
     "warning or a note. Exit status 0 says that there are notes at most, 1 that something is wrong."},
    {NULL, "server", pawl_cli_server, "", 0, 0,
     PAWL_CREATES_STORE | PAWL_HAS_TIMERS | PAWL_HEARS_SIGNALS | PAWL_TAKES_KEEP, "Serve the store over HTTP",
     server_options,
     "Prints `listening on` and its addresses when it takes requests. GET /health says that it lives, /ready that its "
     "store answers, /metrics what it has done, /v1/openapi.json what can be asked.\n"
     "Who may ask what is told by tokens (`pawl token create`): from the first one on every caller needs one. Without any "
     "it listens on addresses of this machine alone, and answers there only under names of this machine (a page "
     "elsewhere may have bound its name to our address); --allow-host adds names. With --insecure it listens anywhere, "
     "and whoever comes may do anything. Pages of another origin are refused always.\n"
     "SIGTERM or SIGINT ends it in order: nothing new is taken, who waits is answered, what is under way is finished. A "
     "second signal ends it at once. Either way what was answered is on disk. systemd is told when it is ready "
     "(NOTIFY_SOCKET)."},
    {NULL, "gc", pawl_cli_gc, "", 0, 0, PAWL_TAKES_KEEP | PAWL_TAKES_AWAY, "Remove what has ended long ago", gc_options,
     "A task that has ended goes with its input, result, history, logs and checkpoints. Its id and idempotency key "
     "stay in use for 90 days more, and who depends on it learns how it ended; every other command says that it "
     "was removed. What others wait for stays, and so does what a consumer of events has not passed. It goes "
     "through in small steps, between the turns of others, and can be ended at any time. With --retain a worker "
     "does the same all the time.\n"
     "Room in the file is used again by what comes; --compact gives it back to the file system, in small steps too. "
     "PostgreSQL does that by itself (autovacuum)."},
    {NULL, "import", pawl_cli_import, "FILE", 1, 1, PAWL_CREATES_STORE,
     "Bring in the tasks of an older task manager", import_options,
     "FILE is a store of its JSON form (an object of tasks by their ids) or of its SQLite form "
     "(schemas 1 to 3). It is only read; end the program that uses it first. All of its tasks are "
     "brought in, or none: every record that cannot be read is named with the reason, and so is "
     "each value that became something else. The same file is imported once.\n"
     "Ids, instants, results, metadata, dependencies, checkpoints and history stay. A task that was "
     "RUNNING is queued again with one retry charged, or is a dead letter if none was left; one that ran "
     "elsewhere (execution_mode remote) becomes RECOVERY_PENDING and waits for `pawl task resolve`.\n"
     "It is one transaction: whoever else uses the store meanwhile waits, and is told BUSY after 5s."},
    {NULL, "backup", pawl_cli_backup, "DEST", 1, 1, 0, "Copy the store into another file", backup_options,
     "The copy is the store as of one instant, while others go on using it; nobody waits. It is checked, and on "
     "disk, before it gets its name, and it is a store itself. A store on PostgreSQL is backed up by pg_dump."},
    {NULL, "restore", pawl_cli_restore, "[FILE]", 0, 1, PAWL_TAKES_AWAY,
     "Put a backup in the place of the store", restore_options,
     "What is in the store is lost, and all leases are: epochs, positions of events and keys are raised by "
     "2^20, so that nothing that was handed out after the backup comes again. It is refused while anything uses "
     "the store. Killed at any moment, the old store or the new one is there, whole.\n"
     "A store on PostgreSQL is restored by pg_restore; `pawl restore --raise-epochs` does the rest."},
    {NULL, "fsck", pawl_cli_fsck, "", 0, 0, PAWL_IS_LIST, "Check the store, and mend it", fsck_options,
     "Exit status 0: all is well, or has been set right; 1: something is not. The store may be in use. Each finding "
     "says what is wrong and what to do. Repaired is what follows from the rest of the store, never what "
     "would have to be guessed; each repair is a line on standard error."},
    {NULL, "version", pawl_cli_version, "", 0, 0, 0, "Print the version, and that of SQLite", NULL,
     NULL},
    {NULL, "completion", pawl_cli_completion, "bash|zsh|fish", 1, 1, 0,
     "Print what completes command lines in a shell", NULL,
     "An installed pawl has them where shells look. For bash: `source <(pawl completion bash)`; for "
     "zsh: `source <(pawl completion zsh)`, after compinit; for fish: `pawl completion fish | "
     "source`."},
    {NULL, "help", pawl_cli_help, "[COMMAND]", 0, 2, 0, "Explain a command", help_options, NULL},
    {.name = NULL},
};

/* clang-format on */

void pawl_cli_option_sets(const struct pawl_cli_command *command,
                          const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1])
{
    size_t count = 0;
    if (command != NULL) {
        if (command->options != NULL) sets[count++] = command->options;
        if ((command->takes & PAWL_TAKES_FENCE) != 0) sets[count++] = fence_options;
        if ((command->takes & PAWL_TAKES_CHANGE) != 0) sets[count++] = change_options;
        if ((command->takes & PAWL_TAKES_WATCH) != 0) sets[count++] = watch_options;
        if ((command->takes & PAWL_TAKES_KEEP) != 0) sets[count++] = keep_options;
    }
    sets[count++] = pawl_cli_options_common;
    sets[count] = NULL;
}

static bool same(const char *a, const char *b)
{
    if (a == NULL || b == NULL) return a == b;
    return strcmp(a, b) == 0;
}

const struct pawl_cli_command *pawl_cli_command_find(const char *group, const char *name)
{
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (same(at->group, group) && same(at->name, name)) return at;
    }
    return NULL;
}

const struct pawl_cli_group *pawl_cli_group_find(const char *name)
{
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        if (same(at->name, name)) return at;
    }
    return NULL;
}

const struct pawl_cli_option *pawl_cli_option_find(const struct pawl_cli_command *command,
                                                   struct pawl_str name)
{
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != NULL; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (pawl_str_equal(pawl_str_of(at->name), name)) return at;
        }
    }
    return NULL;
}

const struct pawl_cli_option *pawl_cli_option_find_letter(const struct pawl_cli_command *command,
                                                          char letter)
{
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != NULL; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (at->letter != 0 && at->letter == letter) return at;
        }
    }
    return NULL;
}
