#include "base/log.h"

#include "base/str.h"
#include "base/utf8.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* Keeps the last line. */
struct sink {
    char text[4096];
    size_t len;
    enum pawl_log_level level;
    int count;
};

static void keep_line(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct sink *sink = self;
    memcpy(sink->text, line.ptr, line.len);
    sink->len = line.len;
    sink->level = level;
    sink->count++;
}

static struct pawl_str line_of(const struct sink *sink)
{
    return (struct pawl_str){sink->text, sink->len};
}

TEST("an event is one line of logfmt: level, event, fields in order")
{
    struct sink sink = {.count = 0};
    struct pawl_log log = {keep_line, &sink, PAWL_LOG_INFO};
    pawl_log_write(&log, PAWL_LOG_WARN, "lease.expired", PAWL_TEXT("task", PAWL_STR("t-1")),
                   PAWL_INT("late_ms", 250), PAWL_INT("least", INT64_MIN));
    CHECK_STR("level=warn event=lease.expired task=t-1 late_ms=250 least=-9223372036854775808",
              line_of(&sink));
    CHECK_EQ(PAWL_LOG_WARN, sink.level);
}

TEST("an event needs no fields")
{
    struct sink sink = {.count = 0};
    struct pawl_log log = {keep_line, &sink, PAWL_LOG_DEBUG};
    pawl_log_write(&log, PAWL_LOG_DEBUG, "server.ready");
    CHECK_STR("level=debug event=server.ready", line_of(&sink));
    pawl_log_write(&log, PAWL_LOG_ERROR, "disk.full");
    CHECK_STR("level=error event=disk.full", line_of(&sink));
    pawl_log_write(&log, PAWL_LOG_INFO, "x.y");
    CHECK_STR("level=info event=x.y", line_of(&sink));
}

TEST("what is more talkative than wanted is dropped, and no log is no crash")
{
    struct sink sink = {.count = 0};
    struct pawl_log log = {keep_line, &sink, PAWL_LOG_WARN};
    pawl_log_write(&log, PAWL_LOG_INFO, "quiet");
    CHECK_EQ(0, sink.count);
    pawl_log_write(&log, PAWL_LOG_WARN, "loud");
    CHECK_EQ(1, sink.count);
    log.write = NULL;
    pawl_log_write(&log, PAWL_LOG_WARN, "loud");
    pawl_log_write(NULL, PAWL_LOG_ERROR, "loud", PAWL_INT("n", 1));
    CHECK_EQ(1, sink.count);
}

TEST("values are quoted when they need it, so that none can forge a field or a line")
{
    static const struct {
        struct pawl_str value;
        const char *want;
    } rows[] = {
        {PAWL_STR_INIT("plain-1.2:3/4"), "plain-1.2:3/4"},
        {PAWL_STR_INIT(""), "\"\""},
        {{NULL, 0}, "\"\""},
        {PAWL_STR_INIT("two words"), "\"two words\""},
        {PAWL_STR_INIT("a=b"), "\"a=b\""},
        {PAWL_STR_INIT("say \"hi\""), "\"say \\\"hi\\\"\""},
        {PAWL_STR_INIT("back\\slash"), "\"back\\\\slash\""},
        {PAWL_STR_INIT("x\nlevel=error\r\t"), "\"x\\nlevel=error\\r\\t\""},
        {PAWL_STR_INIT("\0\x1B[31m\x7F"), "\"\\u0000\\u001b[31m\\u007f\""},
        {PAWL_STR_INIT("\xC2\x9B"
                       "31m"),
         "\"\\u009b31m\""}, /* C1 controls move cursors too */
        {PAWL_STR_INIT("\xC3\xA4\xE2\x82\xAC"), "\"\xC3\xA4\xE2\x82\xAC\""},
        {PAWL_STR_INIT("a\xFFz"), "\"a\uFFFDz\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sink sink = {.count = 0};
        struct pawl_log log = {keep_line, &sink, PAWL_LOG_INFO};
        pawl_log_write(&log, PAWL_LOG_INFO, "e", PAWL_TEXT("v", rows[i].value), PAWL_INT("n", 1));
        char want[128];
        snprintf(want, sizeof want, "level=info event=e v=%s n=1", rows[i].want);
        CHECK_STR(want, line_of(&sink));
    }
}

TEST("a line that is too long is cut between characters, closed and marked")
{
    char value[5000];
    for (size_t i = 0; i + 2 <= sizeof value; i += 2) memcpy(value + i, "\xC3\xA4", 2);
    for (size_t len = 1980; len <= sizeof value; len += 2) {
        struct sink sink = {.count = 0};
        struct pawl_log log = {keep_line, &sink, PAWL_LOG_INFO};
        pawl_log_write(&log, PAWL_LOG_INFO, "e", PAWL_TEXT("v", ((struct pawl_str){value, len})),
                       PAWL_INT("n", 1));
        bool is_cut = pawl_str_ends(line_of(&sink), PAWL_STR("\" cut=true"));
        CHECK(sink.len <= PAWL_LOG_TEXT_BYTES_MAX);
        CHECK(pawl_utf8_is_valid(line_of(&sink)));
        CHECK(is_cut || pawl_str_ends(line_of(&sink), PAWL_STR("\" n=1")) ||
              pawl_str_ends(line_of(&sink), PAWL_STR("\" cut=true")));
        CHECK_EQ(len > 2012, is_cut);
    }
}

TEST("fields behind the cut are left out, at whatever byte it falls")
{
    char value[2100];
    memset(value, 'x', sizeof value);
    for (size_t len = 1950; len <= sizeof value; len++) {
        struct sink sink = {.count = 0};
        struct pawl_log log = {keep_line, &sink, PAWL_LOG_INFO};
        pawl_log_write(&log, PAWL_LOG_INFO, "e", PAWL_TEXT("v", ((struct pawl_str){value, len})),
                       PAWL_TEXT("quoted", PAWL_STR("a b c")), PAWL_INT("n", 1));
        bool is_whole = pawl_str_ends(line_of(&sink), PAWL_STR(" quoted=\"a b c\" n=1"));
        CHECK(is_whole || pawl_str_ends(line_of(&sink), PAWL_STR(" cut=true")));
        CHECK(!pawl_str_has(line_of(&sink), PAWL_STR("n=1 cut=true")));
        CHECK(sink.len <= PAWL_LOG_TEXT_BYTES_MAX);
    }
}

TEST_MAIN()
