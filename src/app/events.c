/* pawl events: what has happened, for people, and for consumers that must miss nothing.
 *
 * An event is acknowledged after it was written, never before: what a crash lets come twice has the
 * same id twice. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/listing.h"
#include "app/patience.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { LOOK_EVERY_MS = 200 };

struct reading {
    struct pawl_str consumer; /* empty: read by position */
    int64_t position;
    int64_t left; /* how many may still be shown */
    bool acknowledges;
    bool follows;
    struct pawl_patience patience; /* of who follows */
    struct pawl_listing listing;
};

static enum pawl_code read_page(struct pawl_cli *cli, struct reading *reading,
                                struct pawl_events *page)
{
    int32_t limit = reading->left < PAWL_BATCH_MAX ? (int32_t)reading->left : PAWL_BATCH_MAX;
    pawl_arena_reset(cli->scratch);
    if (reading->consumer.len > 0) {
        return cli->calls->consumer_read(cli->asked, reading->consumer, limit, 0, cli->scratch, page,
                                  &cli->err);
    }
    return cli->calls->events_read(cli->asked, reading->position, limit, cli->scratch, page, &cli->err);
}

/* Again and again where the store does not answer: what is shown already is not to come twice. */
static enum pawl_code acknowledge(struct pawl_cli *cli, struct reading *reading, bool *is_interrupted)
{
    for (;;) {
        enum pawl_code code =
            cli->calls->consumer_acknowledge_through(cli->asked, reading->consumer, reading->position, &cli->err);
        if (code == PAWL_OK || !reading->follows) return code;
        if (!pawl_patience_lasts(cli, &reading->patience, code, is_interrupted)) return code;
    }
}

static enum pawl_code show_page(struct pawl_cli *cli, struct reading *reading,
                                const struct pawl_events *page, bool *is_interrupted)
{
    for (size_t i = 0; i < page->count; i++) pawl_show_event(&reading->listing, &page->events[i]);
    pawl_listing_flush(&reading->listing);
    reading->left -= (int64_t)page->count;
    enum pawl_code code = pawl_arena_code(cli->scratch);
    if (code != PAWL_OK) return pawl_error_set(&cli->err, code, "the events take too much room");
    if (fflush(cli->out.file) != 0) {
        return pawl_error_set(&cli->err, PAWL_IO, "standard output: %s", strerror(errno));
    }
    reading->position = page->position;
    if (!reading->acknowledges) return PAWL_OK;
    return acknowledge(cli, reading, is_interrupted);
}

/* Shows what there is. Of a consumer that does not acknowledge, one page: it would be the same
 * again. */
static enum pawl_code show_all(struct pawl_cli *cli, struct reading *reading, bool *is_interrupted)
{
    while (reading->left > 0 && !*is_interrupted) {
        struct pawl_events page;
        enum pawl_code code = read_page(cli, reading, &page);
        if (code != PAWL_OK) return code;
        pawl_patience_end(&reading->patience);
        if (page.count == 0) return PAWL_OK;
        code = show_page(cli, reading, &page, is_interrupted);
        if (code != PAWL_OK) return code;
        if (reading->consumer.len > 0 && !reading->acknowledges) return PAWL_OK;
        *is_interrupted = pawl_cli_sleep(cli, 0); /* under load there is always more */
    }
    return PAWL_OK;
}

static int acknowledge_ids(struct pawl_cli *cli, struct pawl_str consumer,
                           const struct pawl_str *ids, size_t count)
{
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    for (size_t i = 0; i < count; i++) {
        bool is_first = false;
        enum pawl_code code =
            cli->calls->consumer_acknowledge(cli->asked, consumer, ids[i], &is_first, &cli->err);
        if (code != PAWL_OK) return pawl_cli_fail(cli);
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, cli->scratch);
        pawl_json_begin_object(&w);
        pawl_json_put_member_text(&w, "id", ids[i]);
        pawl_json_put_member_bool(&w, "is_first", is_first);
        pawl_json_end_object(&w);
        pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
    }
    return 0;
}

/* What goes with what. */
static enum pawl_code check_options(struct pawl_cli *cli)
{
    bool has_consumer = pawl_given(cli, "consumer");
    bool acknowledges = pawl_given(cli, "ack");
    if (!has_consumer && (acknowledges || pawl_given(cli, "ack-id"))) {
        return pawl_error_set(&cli->err, PAWL_INVALID, "only a --consumer acknowledges");
    }
    if (has_consumer && pawl_given(cli, "after")) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "a --consumer has its own position: no --after");
    }
    if (has_consumer && pawl_given(cli, "follow") && !acknowledges) {
        return pawl_error_set(
            &cli->err, PAWL_INVALID,
            "--follow with a --consumer needs --ack: the same events would come again");
    }
    return PAWL_OK;
}

int pawl_cli_events(struct pawl_cli *cli)
{
    size_t id_count = 0;
    if (check_options(cli) != PAWL_OK) return pawl_cli_fail(cli);
    const struct pawl_str *ids = pawl_given_all(cli, "ack-id", &id_count);
    struct reading reading = {
        .consumer = pawl_given_text(cli, "consumer"),
        .position = pawl_given_int64(cli, "after", 0, INT64_MAX, 0),
        .left = pawl_given_int64(cli, "limit", 1, INT64_MAX, INT64_MAX),
        .acknowledges = pawl_given(cli, "ack"),
        .follows = pawl_given(cli, "follow"),
    };
    if (id_count > 0) return acknowledge_ids(cli, reading.consumer, ids, id_count);
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    pawl_listing_begin(&reading.listing, &cli->out, cli->scratch, "events", pawl_event_columns);
    bool is_interrupted = false;
    for (;;) {
        enum pawl_code code = show_all(cli, &reading, &is_interrupted);
        if (is_interrupted) break;
        if (code != PAWL_OK && reading.follows &&
            pawl_patience_lasts(cli, &reading.patience, code, &is_interrupted))
            continue;
        if (is_interrupted) break;
        if (code != PAWL_OK) return pawl_cli_fail(cli);
        if (!reading.follows || reading.left == 0) break;
        is_interrupted = pawl_cli_sleep(cli, LOOK_EVERY_MS);
    }
    pawl_listing_end(&reading.listing, PAWL_STR(""));
    return is_interrupted ? PAWL_EXIT_INTERRUPTED : 0;
}
