/* Conductor's wire: the cases of tests/net/wire/conductor (wire.h), said to a whole server, on each
 * store. */
#include "engine/engine.h"
#include "net/conductor/conductor.h"
#include "net/native/native.h"
#include "net/readers.h"
#include "net/service.h"
#include "net/tokens.h"
#include "stores.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct house {
    struct pawl_native native;
    struct pawl_conductor conductor;
    struct pawl_service *service;
    struct pawl_tokens *tokens;
    struct pawl_route_table tables[PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES + 2];
    struct pawl_server *server;
    struct pawl_log log;
    struct served served; /* of which only the port is used, by the client */
};

static void house_open(struct house *house, struct lab *lab)
{
    static const struct pawl_str any_port[] = {PAWL_STR_INIT("127.0.0.1:0")};
    *house = (struct house){0};
    lab_open_real(lab);
    CHECK_OK(pawl_readers_open(&house->native.readers, &lab->pawl->store_options, 2, &lab->err),
             &lab->err);
    CHECK_OK(pawl_service_open(&house->service, lab->pawl, &lab->err), &lab->err);
    CHECK_OK(pawl_tokens_open(&house->tokens, &lab->pawl->store_options, &house->log, &lab->err),
             &lab->err);
    CHECK_OK(pawl_conductor_open(&house->conductor, lab->pawl, house->native.readers, &lab->err),
             &lab->err);
    house->native.pawl = lab->pawl;
    pawl_native_tables(&house->native, house->tables);
    pawl_conductor_tables(&house->conductor, house->tables + PAWL_NATIVE_TABLES);
    size_t count = PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES;
    house->tables[count++] = pawl_service_table(house->service);
    house->tables[count++] = pawl_tokens_table(house->tokens);
    struct pawl_server_options options = {
        .listen = any_port,
        .listen_count = 1,
        .tables = house->tables,
        .table_count = count,
        .log = &house->log,
    };
    pawl_tokens_guard(house->tokens, &options.access);
    CHECK_OK(pawl_server_open(&house->server, &options, &lab->err), &lab->err);
    pawl_service_begin(house->service, house->server);
    CHECK_OK(pawl_server_start(house->server, &lab->err), &lab->err);
    const char *colon = strrchr(pawl_server_address(house->server, 0), ':');
    house->served.port = (int)strtoul(colon + 1, NULL, 10);
}

static void house_close(struct house *house)
{
    pawl_service_stop(house->service);
    pawl_server_close(house->server);
    pawl_service_close(house->service);
    pawl_readers_close(house->native.readers);
    pawl_conductor_close(&house->conductor);
    pawl_tokens_close(house->tokens);
}

struct case_on_store {
    enum lab_store store; /* first: it is all that the lab looks at */
    const struct wire_case *wire;
};

static const struct case_on_store *current; /* the one that runs */

static void run_body(struct lab *lab)
{
    struct house house;
    house_open(&house, lab);
    wire_run(current->wire, &house.served);
    house_close(&house);
}

static void run_case(const void *given)
{
    current = given;
    lab_run(given, run_body);
}

static void add_case(struct wire_case *wire)
{
    static const char *const labels[LAB_STORE_COUNT] = {"sqlite", "postgres"};
    for (int i = 0; i < LAB_STORE_COUNT; i++) {
        struct test_case *test = calloc(1, sizeof *test);
        struct case_on_store *on = calloc(1, sizeof *on);
        char *name = malloc(LAB_NAME_BYTES_MAX);
        if (test == NULL || on == NULL || name == NULL) abort();
        (void)snprintf(name, LAB_NAME_BYTES_MAX, "%s [%s]", wire->name, labels[i]);
        *on = (struct case_on_store){(enum lab_store)i, wire};
        *test = (struct test_case){
            .name = name, .file = wire->path, .body_with = run_case, .given = on};
        test_add(test);
    }
}

/* ---- The page ---- */

enum { CASES_MAX = 512, LINE_BYTES = 1024 };
static const char *case_names[CASES_MAX];
static size_t case_count;

static void note_case(struct wire_case *wire)
{
    add_case(wire);
    if (case_count < CASES_MAX) case_names[case_count++] = wire->name;
}

static bool is_case(struct pawl_str name)
{
    for (size_t i = 0; i < case_count; i++) {
        if (pawl_str_equal(name, pawl_str_of(case_names[i]))) return true;
    }
    return false;
}

/* The last cell of a row of a table. */
static struct pawl_str last_cell(const char *line)
{
    struct pawl_str row = pawl_str_trim(pawl_str_of(line));
    CHECK(row.len > 1 && row.ptr[row.len - 1] == '|');
    size_t end = row.len - 1;
    size_t start = end;
    while (start > 0 && row.ptr[start - 1] != '|') start--;
    return pawl_str_trim((struct pawl_str){row.ptr + start, end - start});
}

TEST("each intended difference of docs/conductor.md is shown by a case")
{
    FILE *page = fopen("docs/conductor.md", "r");
    char line[LINE_BYTES];
    bool is_table = false;
    int rows = 0;
    CHECK(page != NULL);
    CHECK(case_count > 0 && case_count < CASES_MAX);
    while (fgets(line, sizeof line, page) != NULL) {
        if (strncmp(line, "## ", 3) == 0) is_table = strcmp(line, "## Intended differences\n") == 0;
        if (!is_table || line[0] != '|' || strstr(line, "| shown by |") != NULL) continue;
        if (strncmp(line, "| ---", 5) == 0) continue;
        struct pawl_str name = last_cell(line);
        rows++;
        if (!is_case(name)) FAIL("no case is called `%.*s`", PAWL_STR_ARG(name));
    }
    CHECK_EQ(0, fclose(page));
    CHECK(rows > 20);
}

__attribute__((constructor)) static void add_all(void)
{
    wire_load("tests/net/wire/conductor/*.txt", note_case);
}

TEST_MAIN()
