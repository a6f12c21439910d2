#include "import/report.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    REMARK_BYTES_MAX = 511, /* a sentence; what it quotes is cut */
    QUOTED_KEY_BYTES_MAX = 64,
};

void pawl_import_report_init(struct pawl_import_report *report, struct pawl_arena *arena)
{
    *report = (struct pawl_import_report){.arena = arena};
    pawl_map_init(&report->ignored_keys, arena);
}

PAWL_PRINTF(4, 0)
static void add(struct pawl_import_report *report, struct pawl_import_remarks *list,
                struct pawl_str task, const char *format, va_list arguments)
{
    char text[REMARK_BYTES_MAX + PAWL_UTF8_BYTES_MAX];
    (void)vsnprintf(text, sizeof text, format, arguments);
    struct pawl_import_remark *remark = pawl_arena_take(report->arena, sizeof *remark);
    if (remark == NULL) return; /* the arena remembers */
    struct pawl_str whole = pawl_utf8_cut_bytes(pawl_str_of(text), REMARK_BYTES_MAX);
    remark->task = pawl_arena_copy(report->arena, task);
    remark->text = pawl_arena_copy(report->arena, whole);
    if (list->last == NULL) {
        list->first = remark;
    } else {
        list->last->next = remark;
    }
    list->last = remark;
    list->count++;
}

void pawl_import_refuse(struct pawl_import_report *report, struct pawl_str task, const char *format,
                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (report != NULL) add(report, &report->refused, task, format, arguments);
    va_end(arguments);
}

void pawl_import_remark(struct pawl_import_report *report, struct pawl_str task, const char *format,
                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (report != NULL) add(report, &report->changed, task, format, arguments);
    va_end(arguments);
}

void pawl_import_ignore_key(struct pawl_import_report *report, const char *of, struct pawl_str key)
{
    if (report == NULL) return;
    char text[QUOTED_KEY_BYTES_MAX * 2];
    struct pawl_str cut = pawl_utf8_cut_bytes(key, QUOTED_KEY_BYTES_MAX);
    (void)snprintf(text, sizeof text, "%s.%.*s", of, PAWL_STR_ARG(cut));
    struct pawl_str name = pawl_str_of(text);
    void **slot = pawl_map_at(&report->ignored_keys, 0, 0, name);
    if (slot == NULL) {
        slot = pawl_map_put(&report->ignored_keys, 0, 0, pawl_arena_copy(report->arena, name));
        if (slot == NULL) return;
        *slot = pawl_arena_take(report->arena, sizeof(int64_t));
    }
    int64_t *count = *slot;
    if (count != NULL) ++*count;
}
