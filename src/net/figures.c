#include "net/figures.h"

#include "base/array.h"
#include "base/str.h"
#include "net/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A number and what it is; counters end in _total and only grow. */
struct figure {
    const char *name;
    const char *help;
    int64_t value;
};

static void print_figures(struct pawl_metrics_page *page, const struct figure *figures, size_t count)
{
    static const char total[] = "_total";
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(figures[i].name);
        bool is_counter = len > sizeof total && strcmp(figures[i].name + len - (sizeof total - 1), total) == 0;
        pawl_metrics_help(page, figures[i].name, is_counter ? "counter" : "gauge", figures[i].help);
        pawl_metrics_line(page, figures[i].name, "", figures[i].value);
    }
}

/* A name as the value of a label: quotes, backslashes and ends of lines are escaped. */
static const char *label_of(const char *key, struct pawl_str value, char *out, size_t room)
{
    size_t len = (size_t)snprintf(out, room, "%s=\"", key);
    for (size_t i = 0; i < value.len && len + 4 < room; i++) {
        char c = value.ptr[i];
        if (c == '"' || c == '\\' || c == '\n') out[len++] = '\\';
        out[len++] = c == '\n' ? 'n' : c;
    }
    (void)snprintf(out + len, room - len, "\"");
    return out;
}

enum { LABEL_BYTES_MAX = 2 * PAWL_QUEUE_NAME_BYTES_MAX + 16 };

/* ---- The store ---- */

static void print_health(struct pawl_metrics_page *page, const struct pawl_health *found)
{
    const struct figure figures[] = {
        {"pawl_tasks_running", "Tasks that are leased.", found->running},
        {"pawl_tasks_overdue", "Rows whose instant has passed.", found->overdue},
        {"pawl_tasks_recovery_pending", "Tasks whose outcome is not known.", found->recovery_pending},
        {"pawl_tasks_dead_letters", "Dead letters.", found->dead_letters},
        {"pawl_tasks_paused", "Paused tasks.", found->paused},
        {"pawl_tasks_blocked", "Tasks that wait for what can no longer complete by itself.", found->blocked},
        {"pawl_tasks_finished", "Finished tasks that are kept.", found->finished},
        {"pawl_workflows_running", "Workflows that have not ended, paused ones among them.",
         found->workflows_running},
        {"pawl_workers_shared", "Worker ids under which two processes claim.", (int64_t)found->shared_count},
        {"pawl_rows_quarantined", "Rows that could not be read.", found->quarantined},
        {"pawl_continuations", "What large decisions have left to do.", found->continuations},
        {"pawl_store_bytes", "Size of the store.", found->file_bytes},
        {"pawl_store_free_bytes", "Room in it that holds nothing.", found->free_bytes},
        {"pawl_store_log_bytes", "Size of the write-ahead log.", found->log_bytes},
    };
    print_figures(page, figures, PAWL_COUNT_OF(figures));
}

static void print_consumers(struct pawl_metrics_page *page, const struct pawl_health *found)
{
    static const char name[] = "pawl_consumer_behind";
    pawl_metrics_help(page, name, "gauge", "Events that a consumer has not acknowledged.");
    for (size_t i = 0; i < found->consumer_count; i++) {
        char label[LABEL_BYTES_MAX];
        const struct pawl_consumer *consumer = &found->consumers[i];
        pawl_metrics_line(page, name, label_of("consumer", consumer->name, label, sizeof label), consumer->behind);
    }
}

/* ---- Its queues ---- */

static void print_queues(struct pawl_metrics_page *page, const struct pawl_queues *queues, int64_t now_ms)
{
    static const char *const names[][2] = {
        {"pawl_queue_ready", "Tasks that could be claimed now."},
        {"pawl_queue_deferred", "Tasks that wait for their instant."},
        {"pawl_queue_running", "Tasks that are leased, of the queue."},
        {"pawl_queue_oldest_ready_ms", "How long the oldest of those has waited that could be claimed now."},
        {"pawl_queue_paused", "Whether the queue gives nothing out."},
    };
    size_t shown = queues->count < PAWL_NET_METRIC_QUEUES_MAX ? queues->count : PAWL_NET_METRIC_QUEUES_MAX;
    const struct figure all = {"pawl_queues", "Queues that anybody has named.", (int64_t)queues->count};
    print_figures(page, &all, 1);
    for (size_t f = 0; f < PAWL_COUNT_OF(names); f++) {
        pawl_metrics_help(page, names[f][0], "gauge", names[f][1]);
        for (size_t i = 0; i < shown; i++) {
            const struct pawl_queue *q = &queues->queues[i];
            int64_t age_ms = q->ready > 0 && q->oldest_ready_at_ms < now_ms ? now_ms - q->oldest_ready_at_ms : 0;
            const int64_t values[] = {q->ready, q->deferred, q->running, age_ms, q->is_paused};
            char label[LABEL_BYTES_MAX];
            pawl_metrics_line(page, names[f][0], label_of("queue", q->name, label, sizeof label), values[f]);
        }
    }
}

/* ---- What this process has done ---- */

static void print_spread(struct pawl_metrics_page *page, const char *name, const char *help,
                         const struct pawl_spread *spread)
{
    static const int64_t bounds[] = PAWL_SPREAD_BOUNDS;
    char line[64];
    pawl_metrics_help(page, name, "histogram", help);
    for (size_t i = 0; i < PAWL_SPREAD_BUCKETS; i++) {
        char label[32] = "le=\"+Inf\"";
        if (i < PAWL_COUNT_OF(bounds)) (void)snprintf(label, sizeof label, "le=\"%" PRId64 "\"", bounds[i]);
        (void)snprintf(line, sizeof line, "%s_bucket", name);
        pawl_metrics_line(page, line, label, spread->buckets[i]);
    }
    (void)snprintf(line, sizeof line, "%s_sum", name);
    pawl_metrics_line(page, line, "", spread->sum);
    (void)snprintf(line, sizeof line, "%s_count", name);
    pawl_metrics_line(page, line, "", spread->count);
}

static void print_events(struct pawl_metrics_page *page, const struct pawl_counters *done)
{
    static const char name[] = "pawl_events_total";
    pawl_metrics_help(page, name, "counter",
                      "What has become of tasks: task_started is a claim, task_recovery_pending a lost lease.");
    for (size_t i = 0; i < done->event_count; i++) {
        char label[128];
        (void)snprintf(label, sizeof label, "type=\"%.*s\",action=\"%.*s\"", PAWL_STR_ARG(done->events[i].name),
                       PAWL_STR_ARG(done->events[i].action));
        pawl_metrics_line(page, name, label, done->events[i].count);
    }
}

static void print_ended(struct pawl_metrics_page *page, const struct pawl_counters *done)
{
    static const char name[] = "pawl_workflows_ended_total";
    pawl_metrics_help(page, name, "counter", "Workflows that have ended, by state.");
    for (size_t i = 0; i < done->workflows_ended_count; i++) {
        char label[64];
        const struct pawl_counted *ended = &done->workflows_ended[i];
        pawl_metrics_line(page, name, label_of("state", ended->name, label, sizeof label), ended->count);
    }
}

static void print_counters(struct pawl_metrics_page *page, const struct pawl_counters *done)
{
    const struct figure figures[] = {
        {"pawl_lease_renewals_total", "Leases prolonged.", done->renewals},
        {"pawl_late_results_total", "Outcomes of those who had lost their lease.", done->late_results},
        {"pawl_workflows_started_total", "Workflows started.", done->workflows_started},
        {"pawl_steps_failed_total", "Steps that were rolled back, or whose outcome is not known.",
         done->failed_steps},
        {"pawl_steps_raced_total", "Of them, those that others were faster than, and that were tried again at once.",
         done->races},
    };
    print_events(page, done);
    print_ended(page, done);
    print_figures(page, figures, PAWL_COUNT_OF(figures));
    print_spread(page, "pawl_step_commands", "Commands done by a step, and so by one commit.", &done->step_commands);
    print_spread(page, "pawl_step_ms", "Milliseconds of a step.", &done->step_ms);
    print_spread(page, "pawl_commit_ms", "Milliseconds of its commit, the sync of the disk among them.",
                 &done->commit_ms);
    print_spread(page, "pawl_timer_late_ms", "Milliseconds from the instant of what came due until it was dealt with.",
                 &done->late_ms);
    print_spread(page, "pawl_task_wait_ms", "Milliseconds that tasks had been ready when they were claimed.",
                 &done->wait_ms);
    print_spread(page, "pawl_task_run_ms", "Milliseconds of attempts that have ended.", &done->run_ms);
}

void pawl_figures_print(struct pawl *pawl, struct pawl_metrics_page *page)
{
    struct pawl_health health = {0};
    struct pawl_queues queues = {0};
    struct pawl_counters counters = {0};
    struct pawl_error err = {0};
    if (pawl_counters(pawl, page->keep, &counters, &err) == PAWL_OK) print_counters(page, &counters);
    enum pawl_code code = pawl_health(pawl, page->keep, &health, &err);
    if (code == PAWL_OK) code = pawl_queue_list(pawl, page->keep, &queues, &err);
    pawl_metrics_help(page, "pawl_store_up", "gauge", "Whether the store could be looked at.");
    pawl_metrics_line(page, "pawl_store_up", "", code == PAWL_OK);
    if (code != PAWL_OK) return;
    print_health(page, &health);
    print_consumers(page, &health);
    print_queues(page, &queues, health.now_ms);
}
