/* The working set of a step: every row its commands have looked at or changed.
 *
 * A command asks for rows by *look*: a kind with a number or a text. What has not been loaded yet is noted
 * as wanted, and the command stops, is undone, and runs again once the store has answered all that was
 * wanted at once. What a command changes is journalled, so that it can be undone whole. The store reads
 * `wanted`, fills entries, and later writes what is changed or appended; the rules see no SQL.
 *
 * Answers of the store are merged with what this step has already changed, because both live in the same
 * entries: a task created here is found here by its id before it was ever saved.
 *
 * Memory is the step's arena; nothing is freed before the step ends. */
#ifndef PAWL_CORE_SET_H
#define PAWL_CORE_SET_H

#include "base/arena.h"
#include "base/map.h"
#include "core/task/event.h"
#include "core/workflow/workflow.h"

enum pawl_look {
    /* one row; entry->row is NULL if there is none */
    PAWL_LOOK_TASK = 1,      /* number = key         struct pawl_task_row */
    PAWL_LOOK_TASK_ID,       /* text = id            int64_t, the key; loads the task too */
    PAWL_LOOK_IDEMPOTENCY,   /* text                 int64_t, the key of the task; loads the task too */
    PAWL_LOOK_QUEUE,         /* number = key         struct pawl_queue_row */
    PAWL_LOOK_QUEUE_NAME,    /* text                 int64_t, the key; loads the queue too */
    PAWL_LOOK_WORKER,        /* number = key         struct pawl_worker_row */
    PAWL_LOOK_WORKER_ID,     /* text                 int64_t, the key; loads the worker too */
    PAWL_LOOK_PAYLOAD,       /* number = task * 16 + kind    struct pawl_str */
    PAWL_LOOK_CONSUMER,      /* text = name          struct pawl_consumer_row */
    PAWL_LOOK_CONTINUATION,  /* number = key         struct pawl_continuation_row */
    PAWL_LOOK_CHECKPOINT,    /* number = task        struct pawl_checkpoint_row: the latest */
    PAWL_LOOK_EVENT,         /* number = position    struct pawl_event_row */
    PAWL_LOOK_ACK,           /* number = consumer key, after = position; int64_t, the position */
    PAWL_LOOK_IMPORT,        /* text = digest        struct pawl_import_row */
    PAWL_LOOK_STARTED,       /* number = task, after = epoch; struct pawl_str, the id of whom it was given to */
    PAWL_LOOK_STARTED_BY,    /* number = task, text = worker id; int64_t, the epoch under which it was given to it last */
    PAWL_LOOK_CURSOR_MIN,    /*                      struct pawl_consumer_row: the one with the lowest cursor */
    PAWL_LOOK_TOMBSTONE_ID,  /* text = id            struct pawl_tombstone_row */
    PAWL_LOOK_TOMBSTONE_KEY, /* text = idempotency   struct pawl_tombstone_row */
    PAWL_LOOK_EVENT_LAST,    /* number = task        int64_t, the position of its newest event */
    PAWL_LOOK_WAITING,       /* number = task, text = its id; int64_t, some task that still waits for it */
    PAWL_LOOK_DEFINITION,    /* number = pawl_definition_number, text = name; struct pawl_definition_row */
    PAWL_LOOK_DEFINITION_BELOW, /* the same; int64_t, the highest version below; loads the definition too */
    PAWL_LOOK_WORKFLOW,      /* number = key         struct pawl_workflow_row */
    PAWL_LOOK_WORKFLOW_ID,   /* text = id            int64_t, the key; loads the workflow too */
    PAWL_LOOK_WORKFLOW_KEYED, /* text = name, a zero byte, idempotency key   int64_t, the key of the newest one;
                                loads the workflow too */
    PAWL_LOOK_RECORD,        /* number = task key    struct pawl_record_row */
    PAWL_LOOK_RECORD_LATEST, /* number = run, text = reference   int64_t, the task key; loads the record too */
    PAWL_LOOK_SNAPSHOT,      /* number = key         struct pawl_snapshot_row */
    PAWL_LOOK_SNAPSHOT_HASH, /* text = hash          int64_t, the key; loads the snapshot too */
    PAWL_LOOK_RECORDS_TOUCHED, /* number = run       struct pawl_append: int64_t task keys of the records that
                                this step has made, ended or opened again, some twice; known only */
    PAWL_LOOK_GATE,          /* number = key         struct pawl_gate_row */
    PAWL_LOOK_GATE_NAME,     /* text = name          int64_t, the key; loads the gate too */
    PAWL_LOOK_TASK_DEFINITION, /* text = name        struct pawl_task_definition, the registered one parsed; known only */
    PAWL_LOOK_PARSED,        /* number of a PAYLOAD  struct pawl_parsed, what it is as JSON; known only */

    /* lists: entry->row is struct pawl_rows, never NULL once loaded; at most limit rows */
    PAWL_LOOK_READY,         /* number = queue key   int64_t task keys, in order of claims; loads the tasks */
    PAWL_LOOK_DUE,           /* after = now          int64_t task keys, oldest due first; loads the tasks */
    PAWL_LOOK_CONTINUATIONS, /* number = 0: due, 1: ended; struct pawl_continuation_row, oldest first; loads each */
    PAWL_LOOK_WORKERS_GONE,  /* after = instant      int64_t keys of workers not seen since, longest first; loads them */
    PAWL_LOOK_DEPENDENTS,    /* number = task, after = last task key seen; struct pawl_dependency_row by task key */
    PAWL_LOOK_DEPENDENCIES,  /* number = task        struct pawl_dependency_row */
    PAWL_LOOK_AWAITED,       /* text = id            struct pawl_dependency_row: those that wait for this id */
    PAWL_LOOK_LATE,          /* number = task        struct pawl_late_row, oldest first (body left out) */
    PAWL_LOOK_LOG_OLDEST,    /* number = task        struct pawl_log_row, oldest first (text has len only) */
    PAWL_LOOK_CALENDAR,      /* after = last task key   int64_t keys of tasks with a run_at_ms in key order; loads
                                the tasks */
    PAWL_LOOK_DEAD,          /* after = last task key   int64_t keys of DEAD_LETTER tasks in key order;
                                loads the tasks */
    PAWL_LOOK_FINISHED,      /* number = at_ms, after = task key   struct pawl_finished: those that ended after that
                                place, oldest first */
    PAWL_LOOK_EVENTS,        /* number = position    int64_t positions of the events after it, in order */
    PAWL_LOOK_TOMBSTONES,    /*                      struct pawl_tombstone_row, in the order of removal */
    PAWL_LOOK_RECORDS_OPEN,  /* number = run, after = last task key   int64_t task keys; loads the records */
    PAWL_LOOK_RECORDS_UNDECIDED, /* the same: those that have ended */
    PAWL_LOOK_RECORDS_BAD,   /* the same: the newest of their references, ended badly */
    PAWL_LOOK_RECORDS,       /* number = run         int64_t task keys of all of them, by seq; loads the records */
};

struct pawl_rows {
    void *rows; /* array; the row type is the look's */
    size_t count;
    bool is_cut;        /* the list ended at its limit: there may be more */
    int64_t last;       /* of a cut list of tasks or dependents: key of the last task read, readable or not */
    size_t next;        /* READY: rows before it have been given out */
    bool is_looked_at;  /* READY: what belongs to its rows has been asked for */
};

struct pawl_entry {
    enum pawl_look look;
    int64_t number;
    struct pawl_str text;
    int64_t after;
    int32_t limit;      /* lists: at most so many rows */
    bool is_wanted;     /* in set->wanted, not answered yet */
    bool is_loaded;
    bool is_changed;    /* differs from what is stored; save writes it and clears this */
    bool is_stored;     /* the store has such a row (for insert or update) */
    bool is_bad;        /* tasks: the store has one that cannot be read; answered as none */
    void *row;          /* as of now; NULL = there is none */
    void *saved;        /* tasks only: the row as the store has it, made at the first change; NULL = new */
    struct pawl_entry *next_changed;
};

/* A growing list of things to write, kept in the step's arena. */
struct pawl_append {
    void *items; /* array of pointers to rows */
    size_t count;
    size_t room;
};

enum pawl_append_kind {
    PAWL_APPEND_EVENT,            /* struct pawl_event_new */
    PAWL_APPEND_DEPENDENCY,       /* struct pawl_dependency_row, inserted; on = 0 inserts its on_id */
    PAWL_APPEND_DEPENDENCY_DONE,  /* struct pawl_dependency_row: (task, number) is not open any more */
    PAWL_APPEND_DEPENDENCIES_DONE, /* int64_t task: none of its own is open any more */
    PAWL_APPEND_DEPENDENCY_FOUND, /* struct pawl_dependency_row: (task, number) is on task `on` now */
    PAWL_APPEND_CHECKPOINT,       /* struct pawl_checkpoint_row, inserted */
    PAWL_APPEND_CHECKPOINT_PRUNE, /* int64_t task: delete its oldest checkpoint */
    PAWL_APPEND_LOG,              /* struct pawl_log_row, inserted */
    PAWL_APPEND_LOG_PRUNE,        /* int64_t key: delete this log row */
    PAWL_APPEND_LATE,             /* struct pawl_late_row, inserted */
    PAWL_APPEND_LATE_PRUNE,       /* int64_t key: delete this late row */
    PAWL_APPEND_ACK,              /* struct pawl_ack, inserted */
    PAWL_APPEND_ACK_PRUNE,        /* struct pawl_ack: delete the consumer's up to position */
    PAWL_APPEND_EVENT_PRUNE,      /* struct pawl_event_prune */
    PAWL_APPEND_REMOVAL,          /* struct pawl_removal: a task becomes its tombstone */
    PAWL_APPEND_REMAINS,          /* int64_t task: delete the oldest of its events and log lines, so many of each */
    PAWL_APPEND_TOMBSTONE_PRUNE,  /* int64_t key: delete this tombstone */
    PAWL_APPEND_RECORD_REMOVAL,   /* struct pawl_removal: a task of a workflow goes, with its record and all beside it */
    PAWL_APPEND_WORKFLOW_REMOVAL, /* struct pawl_workflow_row: it goes with its payloads */
    PAWL_APPEND_COMPACT,          /* struct pawl_compacting: asked and answered */
    PAWL_APPEND_NOTICE,           /* struct pawl_notice: not stored, but told to the log after the commit */
    PAWL_APPEND_KIND_COUNT
};

struct pawl_event_new {
    struct pawl_event_row row;
    const struct pawl_task_row *task; /* for what listeners are told: id, title, queue; immutable parts */
    struct pawl_str queue_name;       /* may be empty until rendered */
    int64_t waited_ms;                /* of a start: how long the task had been ready; -1 = it was not */
};

struct pawl_ack {
    int64_t consumer;
    int64_t position;
};

struct pawl_event_prune { /* delete events of a task, at most limit, oldest first */
    int64_t task;
    int64_t kept;         /* but for its newest transitions, and what is newer than so many events */
    int64_t position_max; /* and only up to this position */
    int32_t limit;
};

struct pawl_removal {
    const struct pawl_task_row *task; /* as it was */
    int64_t at_ms;
};

struct pawl_pages {
    int64_t freed_pages; /* given back by this slice */
    int64_t free_pages;  /* left */
    int64_t pages;       /* of the file */
    int64_t page_bytes;
    bool is_able;        /* the file was made so that it can be done in slices */
};

struct pawl_compacting { /* free pages of the file go back to the file system, at most so many */
    int32_t pages_max;
    struct pawl_pages *out; /* filled by the store */
};

enum pawl_notice_kind {
    PAWL_NOTICE_CONSUMER_DROPPED, /* text = its name, first = events it was behind, second = ms since it was seen */
    PAWL_NOTICE_RETAINED,         /* first = tasks removed, second = tombstones ended */
    PAWL_NOTICE_WORKER_SHARED,    /* text = its id, name = host and first = pid of who came back, second = pid of who was between */
    PAWL_NOTICE_WORKFLOW_STARTED, /* text = its id, name */
    PAWL_NOTICE_WORKFLOW_ENDED,   /* text = its id, name, first = its state */
    PAWL_NOTICE_PUT_OFF,          /* text = why, first = key of a task or a continuation */
};

struct pawl_notice {
    enum pawl_notice_kind kind;
    struct pawl_str text;
    int64_t first;
    int64_t second;
    struct pawl_str name;
};

struct pawl_undo; /* one journal record */

struct pawl_set {
    struct pawl_arena *arena;
    struct pawl_map entries;     /* (look, number, text + after) -> struct pawl_entry */
    struct pawl_append wanted;   /* struct pawl_entry: what the store has to answer; the store empties it */
    struct pawl_append loaded_tasks; /* struct pawl_entry of tasks loaded since this was last emptied */
    struct pawl_entry *changed;  /* in order of first change */
    struct pawl_entry *changed_last;
    struct pawl_append appends[PAWL_APPEND_KIND_COUNT]; /* events and notices stay until the commit, the rest until saved */
    struct pawl_undo *undo;      /* newest first; since the last mark */
    bool is_short;               /* the command now running met something not loaded */
    bool is_full;                /* the arena's budget is spent or memory is out; sticky */
};

void pawl_set_init(struct pawl_set *set, struct pawl_arena *arena);

/* The entry of a look; made and wanted if it is new, so check is_loaded (or set->is_short). Never NULL but
 * when memory is out (set->is_full). limit matters for lists only: the first asker's or a later larger one
 * before it is loaded. text is borrowed until the step ends. */
struct pawl_entry *pawl_set_look(struct pawl_set *set, enum pawl_look look, int64_t number,
                                 struct pawl_str text, int64_t after, int32_t limit);

/* Rows by kind; NULL if it is not loaded (set->is_short) or absent. Read only: see pawl_set_change. */
struct pawl_entry *pawl_set_task(struct pawl_set *set, int64_t key);

/* Journals the entry and marks it changed; its row may then be written. Entry must be loaded, row not NULL. */
void *pawl_set_change(struct pawl_set *set, struct pawl_entry *entry);

/* Puts a row where the entry has none or replaces it (row stays the set's, in its arena); or takes it away
 * (row NULL). The entry becomes loaded. Journalled. */
void pawl_set_put(struct pawl_set *set, enum pawl_look look, int64_t number, struct pawl_str text,
                  int64_t after, void *row);

/* The key that a text stands for: TASK_ID, QUEUE_NAME, WORKER_ID, IDEMPOTENCY. 0 if there is none, or the set
 * is short. */
int64_t pawl_set_key(struct pawl_set *set, enum pawl_look look, struct pawl_str text);

/* The row of a look that has been loaded, or NULL; wants nothing. */
const void *pawl_set_known(const struct pawl_set *set, enum pawl_look look, int64_t number,
                           struct pawl_str text);

/* As put, for what follows from rows written elsewhere (TASK_ID, QUEUE_NAME, CHECKPOINT ...): found
 * by later commands of this step, not saved itself. */
void pawl_set_know(struct pawl_set *set, enum pawl_look look, int64_t number, struct pawl_str text,
                   void *row);
void pawl_set_know_after(struct pawl_set *set, enum pawl_look look, int64_t number, int64_t after,
                         void *row);
/* The same for a key: TASK_ID, QUEUE_NAME, WORKER_ID, IDEMPOTENCY. */
void pawl_set_know_key(struct pawl_set *set, enum pawl_look look, struct pawl_str text, int64_t key);

/* Appends a row to be written; the row must live in the arena. Journalled by count. */
void pawl_set_append(struct pawl_set *set, enum pawl_append_kind kind, void *row);

/* A command begins: forget the journal. Undo puts back all since the last mark, and clears is_short. */
struct pawl_set_mark {
    size_t counts[PAWL_APPEND_KIND_COUNT];
};
struct pawl_set_mark pawl_set_begin(struct pawl_set *set);
void pawl_set_undo(struct pawl_set *set, const struct pawl_set_mark *mark);

/* The first entry changed since the last mark that is wanted; NULL: none. */
struct pawl_entry *pawl_set_find_changed(const struct pawl_set *set,
                                         bool (*is_wanted)(const struct pawl_entry *entry));

/* For the store: answers an entry (row in the arena; NULL = none). */
void pawl_set_answer(struct pawl_set *set, struct pawl_entry *entry, void *row);
/* For the store: a task, queue or worker that came along with another look: enters it unless it is there
 * already, in which case the row of the set stays (it may be newer). Returns its entry; NULL without memory. */
struct pawl_entry *pawl_set_enter(struct pawl_set *set, enum pawl_look look, int64_t number, void *row);
/* The same for a row whose key has a text. */
struct pawl_entry *pawl_set_enter_text(struct pawl_set *set, enum pawl_look look, int64_t number,
                                       struct pawl_str text, void *row);
/* For the store: all that is changed or appended (but for events) has been written. */
void pawl_set_saved(struct pawl_set *set);

/* Adds a pointer to a list; false without memory. */
bool pawl_append_add(struct pawl_append *list, struct pawl_arena *arena, void *item);

#endif
