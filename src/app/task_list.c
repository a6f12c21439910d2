/* pawl task list and pawl dead list. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/listing.h"
#include "wire/nearest.h"
#include "app/show.h"
#include "app/watch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct listed {
    struct pawl_list ask;
    const struct pawl_column *columns;
    bool all_pages;
};

/* "PENDING, QUEUED, … and DEAD_LETTER" */
static struct pawl_str state_names(struct pawl_arena *arena)
{
    struct pawl_str names = pawl_str_of(pawl_task_state_name(PAWL_TASK_PENDING));
    for (int32_t i = PAWL_TASK_PENDING + 1; i <= PAWL_TASK_DEAD_LETTER; i++) {
        names = pawl_arena_format(arena, "%.*s%s%s", PAWL_STR_ARG(names),
                                  i == PAWL_TASK_DEAD_LETTER ? " and " : ", ",
                                  pawl_task_state_name((enum pawl_task_state)i));
    }
    return names;
}

static struct pawl_str upper(struct pawl_arena *arena, struct pawl_str text)
{
    char *copy = pawl_arena_c_text(arena, text);
    for (char *at = copy; at != NULL && *at != '\0'; at++) {
        if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    }
    return pawl_str_of(copy);
}

static enum pawl_code take_state(struct pawl_cli *cli, struct pawl_str name, uint32_t *states)
{
    enum pawl_task_state state;
    if (pawl_state_parse(name, &state)) {
        *states |= UINT32_C(1) << state;
        return PAWL_OK;
    }
    struct pawl_nearest nearest = pawl_nearest_to(upper(cli->keep, name));
    for (int32_t i = PAWL_TASK_PENDING; i <= PAWL_TASK_DEAD_LETTER; i++) {
        pawl_nearest_offer(&nearest, pawl_task_state_name((enum pawl_task_state)i));
    }
    const char *mean = nearest.word != NULL ? "did you mean " : "";
    const char *word = nearest.word != NULL ? nearest.word : "";
    return pawl_error_set(&cli->err, PAWL_INVALID,
                          "--status: `%.*s` is no state; %s%s%sthe states are %.*s",
                          PAWL_STR_ARG(name), mean, word, nearest.word != NULL ? "? " : "",
                          PAWL_STR_ARG(state_names(cli->keep)));
}

/* One value of --status: names with commas between them. */
static enum pawl_code take_states(struct pawl_cli *cli, struct pawl_str value, uint32_t *states)
{
    size_t from = 0;
    for (size_t at = 0; at <= value.len; at++) {
        if (at < value.len && value.ptr[at] != ',') continue;
        struct pawl_str name = pawl_str_trim((struct pawl_str){value.ptr + from, at - from});
        enum pawl_code code = take_state(cli, name, states);
        if (code != PAWL_OK) return code;
        from = at + 1;
    }
    return PAWL_OK;
}

enum pawl_code pawl_given_states(struct pawl_cli *cli, uint32_t *states)
{
    size_t count = 0;
    const struct pawl_str *names = pawl_given_all(cli, "status", &count);
    for (size_t i = 0; i < count; i++) {
        enum pawl_code code = take_states(cli, names[i], states);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

static enum pawl_code take_filters(struct pawl_cli *cli, struct pawl_list *ask)
{
    enum pawl_code code = pawl_given_states(cli, &ask->states);
    if (code != PAWL_OK) return code;
    if (pawl_given(cli, "dead")) ask->states |= UINT32_C(1) << PAWL_TASK_DEAD_LETTER;
    ask->is_ready = pawl_given(cli, "ready");
    ask->is_blocked = pawl_given(cli, "blocked");
    return PAWL_OK;
}

static void take_paging(struct pawl_cli *cli, struct listed *listed)
{
    listed->ask.queue = pawl_given_text(cli, "queue");
    listed->ask.limit = (int32_t)pawl_given_int64(cli, "limit", 1, PAWL_BATCH_MAX, 0);
    listed->ask.cursor = pawl_given_text(cli, "cursor");
    listed->all_pages = pawl_given(cli, "all");
}

static struct pawl_str tail_of(struct pawl_arena *arena, struct pawl_str cursor)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    if (cursor.len > 0) {
        pawl_json_put_text(&w, cursor);
    } else {
        pawl_json_put_null(&w);
    }
    return pawl_arena_format(arena, ",\"cursor\":%.*s", PAWL_STR_ARG(pawl_json_writer_done(&w)));
}

static enum pawl_code draw(struct pawl_cli *cli, void *self)
{
    const struct listed *listed = self;
    struct pawl_list ask = listed->ask;
    struct pawl_listing listing;
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "tasks", listed->columns);
    struct pawl_arena_mark mark = pawl_arena_mark(cli->keep);
    for (;;) {
        struct pawl_page page;
        enum pawl_code code = cli->calls->task_list(cli->asked, &ask, cli->scratch, &page, &cli->err);
        if (code != PAWL_OK) return code;
        for (size_t i = 0; i < page.count; i++) pawl_show_task(&listing, &page.tasks[i]);
        pawl_listing_flush(&listing);
        /* The cursor must outlive the page it came with. */
        pawl_arena_rewind(cli->keep, mark);
        ask.cursor = pawl_arena_copy(cli->keep, page.cursor);
        code = pawl_arena_code(cli->scratch);
        if (code != PAWL_OK) return pawl_error_set(&cli->err, code, "a page takes too much room");
        if (page.cursor.len == 0 || !listed->all_pages) break;
        pawl_arena_reset(cli->scratch);
    }
    pawl_listing_end(&listing, tail_of(cli->scratch, ask.cursor));
    if (ask.cursor.len > 0 && cli->out.form != PAWL_FORM_JSON && !pawl_given(cli, "watch")) {
        (void)fprintf(stderr, "there are more: --cursor %.*s, or --all\n",
                      PAWL_STR_ARG(ask.cursor));
    }
    return PAWL_OK;
}

static int list(struct pawl_cli *cli, struct listed *listed)
{
    enum pawl_code code = pawl_cli_begin(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    return pawl_watch(cli, draw, listed);
}

int pawl_cli_task_list(struct pawl_cli *cli)
{
    struct listed listed = {.ask = PAWL_LIST_INIT, .columns = pawl_task_columns};
    if (take_filters(cli, &listed.ask) != PAWL_OK) return pawl_cli_fail(cli);
    take_paging(cli, &listed);
    return list(cli, &listed);
}

int pawl_cli_dead_list(struct pawl_cli *cli)
{
    struct listed listed = {.ask = PAWL_LIST_INIT, .columns = pawl_dead_columns};
    listed.ask.states = UINT32_C(1) << PAWL_TASK_DEAD_LETTER;
    take_paging(cli, &listed);
    return list(cli, &listed);
}
