/* Tokens as they are kept, on each store. */
#include "store/token.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/limits.h"
#include "lab.h"
#if PAWL_POSTGRES
#include "postgres_lab.h"
#endif

#include <stdio.h>
#include <string.h>

static struct pawl_store_options options_of(struct lab *lab)
{
    return (struct pawl_store_options){
        .target = pawl_str_of(lab->target), .env = &lab->world.env, .log = &lab->log};
}

static enum pawl_code add(struct lab *lab, const char *name, const char *key_id)
{
    const struct pawl_store_options options = options_of(lab);
    const struct pawl_token token = {
        .name = pawl_str_of(name),
        .key_id = pawl_str_of(key_id),
        .role = PAWL_STR("viewer"),
        .secret_digest = PAWL_STR("00ff"),
        .created_at_ms = LAB_START_MS,
    };
    return pawl_token_add(&options, &token, &lab->err);
}

static enum pawl_code take_away(struct lab *lab, const char *name)
{
    const struct pawl_store_options options = options_of(lab);
    return pawl_token_remove(&options, pawl_str_of(name), &lab->err);
}

static struct pawl_token_list read_all(struct lab *lab, struct pawl_arena *keep)
{
    const struct pawl_store_options options = options_of(lab);
    struct pawl_reader *reader = NULL;
    struct pawl_token_list list = {0};
    CHECK_OK(pawl_reader_open(&reader, &options, &lab->err), &lab->err);
    CHECK_OK(pawl_read_tokens(reader, keep, &list, &lab->err), &lab->err);
    pawl_reader_close(reader);
    return list;
}

STORE_TEST("tokens are kept by their names, each name once, until they are removed")
{
    struct pawl_arena *keep = NULL;
    CHECK_OK(pawl_arena_open(&keep, 0), NULL);
    CHECK_EQ(0, read_all(lab, keep).count);
    CHECK_OK(add(lab, "b", "k1"), &lab->err);
    CHECK_OK(add(lab, "a", "k2"), &lab->err);
    CHECK_CODE(PAWL_CONFLICT, add(lab, "a", "k3"));
    struct pawl_token_list list = read_all(lab, keep);
    CHECK_EQ(2, list.count);
    CHECK_STR("a", list.tokens[0].name);
    CHECK_STR("k2", list.tokens[0].key_id);
    CHECK_STR("viewer", list.tokens[0].role);
    CHECK_STR("00ff", list.tokens[0].secret_digest);
    CHECK_EQ(LAB_START_MS, list.tokens[0].created_at_ms);
    CHECK_STR("b", list.tokens[1].name);
    CHECK_OK(take_away(lab, "a"), &lab->err);
    CHECK_CODE(PAWL_NOT_FOUND, take_away(lab, "a"));
    CHECK_EQ(1, read_all(lab, keep).count);
    pawl_arena_close(keep);
}

STORE_TEST("a store that has all the tokens it may have takes one more for one that goes")
{
    static const char fill[] =
        "INSERT INTO token (name, key_id, role, secret_digest, created_at_ms) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "SELECT 'n' || i, 'k' || i, 'viewer', '00', 1 FROM n";
    char text[sizeof fill + 16];
    struct pawl_arena *keep = NULL;
    CHECK_OK(pawl_arena_open(&keep, 0), NULL);
    (void)snprintf(text, sizeof text, fill, PAWL_TOKENS_MAX);
#if PAWL_POSTGRES
    if (pawl_db_target_is_postgres(pawl_str_of(lab->target))) {
        (void)postgres_sql(lab->target, text);
    } else
#endif
    {
        lab_sql(lab, text);
    }
    CHECK_CODE(PAWL_LIMIT, add(lab, "more", "more"));
    CHECK_EQ(PAWL_TOKENS_MAX, read_all(lab, keep).count);
    CHECK_OK(take_away(lab, "n7"), &lab->err);
    CHECK_OK(add(lab, "more", "more"), &lab->err);
    CHECK_EQ(PAWL_TOKENS_MAX, read_all(lab, keep).count);
    pawl_arena_close(keep);
}

TEST_MAIN()
