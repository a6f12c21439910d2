/* Conductor's wire: the cases of tests/net/wire/conductor (wire.h), said to a whole server, on each
 * store. */
#include "base/json.h"
#include "base/str.h"
#include "engine/engine.h"
#include "net/conductor/conductor.h"
#include "net/native/native.h"
#include "net/readers.h"
#include "net/service.h"
#include "net/tokens.h"
#include "stores.h"
#include "wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- Many at once ---- */

enum { CALLERS = 20, RUNS = 200, TEXT_BYTES_MAX = 1024 };

struct crowd {
    const struct served *served;
    pthread_barrier_t start;
    char workflow[64];
    atomic_int next;                 /* which branch a caller takes */
    atomic_int given;                /* tasks handed out */
    atomic_int wrong;                /* answers that are not what they should be */
    char ids[CALLERS][64];           /* what each start was answered */
    pthread_mutex_t lock;
    char seen[RUNS + CALLERS][64];   /* ids of the tasks handed out; under the lock */
    int seen_count;
};

/* One request on an open connection; answer_reset is the caller's. */
static void ask(int fd, const char *verb, const char *path, const char *body, struct answer *answer)
{
    char text[TEXT_BYTES_MAX];
    int len = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s", verb,
                       path, strlen(body), body);
    CHECK(len > 0 && len < TEXT_BYTES_MAX);
    client_send(fd, text, (size_t)len);
    client_read(fd, answer, false);
}

static void must(const struct crowd *crowd, const char *verb, const char *path, const char *body, char *kept,
                 size_t room)
{
    int fd = client_open(crowd->served);
    struct answer answer = {0};
    ask(fd, verb, path, body, &answer);
    CHECK_EQ(200, answer.status);
    if (kept != NULL) (void)snprintf(kept, room, "%s", answer.body);
    answer_reset(&answer);
    CHECK_EQ(0, close(fd));
}

static void run_crowd(struct crowd *crowd, void *(*body)(void *crowd), struct house *house)
{
    pthread_t threads[CALLERS];
    crowd->served = &house->served;
    CHECK_EQ(0, pthread_barrier_init(&crowd->start, NULL, CALLERS));
    CHECK_EQ(0, pthread_mutex_init(&crowd->lock, NULL));
    for (int i = 0; i < CALLERS; i++) CHECK_EQ(0, pthread_create(&threads[i], NULL, body, crowd));
    for (int i = 0; i < CALLERS; i++) CHECK_EQ(0, pthread_join(threads[i], NULL));
    CHECK_EQ(0, pthread_mutex_destroy(&crowd->lock));
    CHECK_EQ(0, pthread_barrier_destroy(&crowd->start));
    CHECK_EQ(0, atomic_load(&crowd->wrong));
}

static void *start_it(void *self)
{
    struct crowd *crowd = self;
    int fd = client_open(crowd->served);
    struct answer answer = {0};
    int at = atomic_fetch_add(&crowd->next, 1);
    (void)pthread_barrier_wait(&crowd->start);
    ask(fd, "POST", "/api/workflow",
        "{\"name\":\"w\",\"idempotencyKey\":\"k\",\"idempotencyStrategy\":\"RETURN_EXISTING\"}", &answer);
    if (answer.status != 200) atomic_fetch_add(&crowd->wrong, 1);
    (void)snprintf(crowd->ids[at], sizeof crowd->ids[at], "%s", answer.body);
    answer_reset(&answer);
    (void)close(fd);
    return NULL;
}

TEST_EACH_STORE("case-B20 of twenty starts at once under one idempotency key one starts")
{
    static struct crowd crowd;
    struct house house;
    crowd = (struct crowd){0};
    house_open(&house, lab);
    crowd.served = &house.served;
    must(&crowd, "POST", "/api/metadata/workflow",
         "{\"name\":\"w\",\"tasks\":[{\"name\":\"h\",\"taskReferenceName\":\"h\",\"type\":\"HUMAN\"}]}", NULL, 0);
    run_crowd(&crowd, start_it, &house);
    for (int i = 1; i < CALLERS; i++) CHECK(strcmp(crowd.ids[0], crowd.ids[i]) == 0);
    house_close(&house);
}

static void *end_branch(void *self)
{
    struct crowd *crowd = self;
    int fd = client_open(crowd->served);
    struct answer answer = {0};
    char path[128];
    (void)snprintf(path, sizeof path, "/api/tasks/%s/w%d/COMPLETED", crowd->workflow,
                   atomic_fetch_add(&crowd->next, 1));
    (void)pthread_barrier_wait(&crowd->start);
    ask(fd, "POST", path, "{}", &answer);
    if (answer.status != 200) atomic_fetch_add(&crowd->wrong, 1);
    answer_reset(&answer);
    (void)close(fd);
    return NULL;
}

TEST_EACH_STORE("case-B60 twenty branches that end at the same instant are all taken, and their JOIN ends")
{
    static struct crowd crowd;
    static char definition[8 * 1024];
    struct house house;
    char path[128];
    char text[TEXT_BYTES_MAX * 16];
    size_t len = (size_t)snprintf(definition, sizeof definition,
                                  "{\"name\":\"w\",\"tasks\":[{\"name\":\"f\",\"taskReferenceName\":\"f\",\"type\":"
                                  "\"FORK_JOIN\",\"forkTasks\":[");
    for (int i = 0; i < CALLERS; i++) {
        len += (size_t)snprintf(definition + len, sizeof definition - len,
                                "%s[{\"name\":\"w\",\"taskReferenceName\":\"w%d\",\"type\":\"WAIT\"}]",
                                i > 0 ? "," : "", i);
    }
    (void)snprintf(definition + len, sizeof definition - len,
                   "]},{\"name\":\"j\",\"taskReferenceName\":\"j\",\"type\":\"JOIN\",\"joinOn\":[]}]}");
    house_open(&house, lab);
    crowd = (struct crowd){.served = &house.served};
    int fd = client_open(&house.served);
    struct answer answer = {0};
    char head[128];
    (void)snprintf(head, sizeof head,
                   "POST /api/metadata/workflow HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                   strlen(definition));
    client_say(fd, head);
    client_send(fd, definition, strlen(definition));
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    CHECK_EQ(0, close(fd));
    for (int run = 0; run < 5; run++) {
        crowd = (struct crowd){.served = &house.served};
        must(&crowd, "POST", "/api/workflow/w", "{}", crowd.workflow, sizeof crowd.workflow);
        run_crowd(&crowd, end_branch, &house);
        (void)snprintf(path, sizeof path, "/api/workflow/%s/status", crowd.workflow);
        must(&crowd, "GET", path, "", text, sizeof text);
        CHECK(strstr(text, "\"status\":\"COMPLETED\"") != NULL);
    }
    house_close(&house);
}

/* Each task of an answer to a poll is noted and completed. */
static void work_off(struct crowd *crowd, int fd, struct answer *polled, struct pawl_arena *keep)
{
    struct pawl_json *root = NULL;
    struct pawl_error err = {0};
    if (polled->status == 204) return;
    struct pawl_str text = {polled->body, polled->body_len};
    if (polled->status != 200 || pawl_json_parse(text, keep, &root, &err) != PAWL_OK) {
        atomic_fetch_add(&crowd->wrong, 1);
        return;
    }
    bool is_list = root->kind == PAWL_JSON_ARRAY;
    for (const struct pawl_json *task = is_list ? pawl_json_first(root) : root; task != NULL;
         task = is_list ? pawl_json_next(task) : NULL) {
        struct pawl_str id = {0};
        struct pawl_str workflow = {0};
        int64_t polls = 0;
        struct answer answer = {0};
        char body[TEXT_BYTES_MAX / 2];
        bool is_whole = pawl_json_text(pawl_json_member(task, PAWL_STR("taskId")), keep, &id) &&
                        pawl_json_text(pawl_json_member(task, PAWL_STR("workflowInstanceId")), keep, &workflow) &&
                        pawl_json_int64(pawl_json_member(task, PAWL_STR("pollCount")), &polls);
        if (!is_whole || polls != 1) atomic_fetch_add(&crowd->wrong, 1);
        (void)pthread_mutex_lock(&crowd->lock);
        if (crowd->seen_count < RUNS + CALLERS) {
            (void)snprintf(crowd->seen[crowd->seen_count++], sizeof crowd->seen[0], "%.*s", PAWL_STR_ARG(id));
        }
        (void)pthread_mutex_unlock(&crowd->lock);
        (void)snprintf(body, sizeof body,
                       "{\"workflowInstanceId\":\"%.*s\",\"taskId\":\"%.*s\",\"status\":\"COMPLETED\"}",
                       PAWL_STR_ARG(workflow), PAWL_STR_ARG(id));
        ask(fd, "POST", "/api/tasks", body, &answer);
        if (answer.status != 200) atomic_fetch_add(&crowd->wrong, 1);
        answer_reset(&answer);
        atomic_fetch_add(&crowd->given, 1);
    }
}

static void *work_some(void *self)
{
    struct crowd *crowd = self;
    struct pawl_arena *keep = NULL;
    struct answer answer = {0};
    bool is_single = atomic_fetch_add(&crowd->next, 1) % 2 == 0;
    int fd = client_open(crowd->served);
    if (pawl_arena_open(&keep, 0) != PAWL_OK) abort();
    (void)pthread_barrier_wait(&crowd->start);
    while (atomic_load(&crowd->given) < RUNS && atomic_load(&crowd->wrong) == 0) {
        pawl_arena_reset(keep);
        ask(fd, "GET", is_single ? "/api/tasks/poll/t" : "/api/tasks/poll/batch/t?count=7&timeout=20", "", &answer);
        work_off(crowd, fd, &answer, keep);
        answer_reset(&answer);
    }
    pawl_arena_close(keep);
    (void)close(fd);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST_EACH_STORE("case-B18 of many workers that poll alone and in batches each task is given to one, once")
{
    static struct crowd crowd;
    struct house house;
    char text[TEXT_BYTES_MAX * 16];
    house_open(&house, lab);
    crowd = (struct crowd){.served = &house.served};
    must(&crowd, "POST", "/api/metadata/workflow",
         "{\"name\":\"w\",\"tasks\":[{\"name\":\"t\",\"taskReferenceName\":\"t\"}]}", NULL, 0);
    for (int i = 0; i < RUNS; i++) must(&crowd, "POST", "/api/workflow/w", "{}", NULL, 0);
    run_crowd(&crowd, work_some, &house);
    CHECK_EQ(RUNS, crowd.seen_count);
    qsort(crowd.seen, (size_t)crowd.seen_count, sizeof crowd.seen[0], by_text);
    for (int i = 1; i < RUNS; i++) CHECK(strcmp(crowd.seen[i - 1], crowd.seen[i]) != 0);
    must(&crowd, "GET", "/api/workflow/search?size=1&query=status%3DCOMPLETED", "", text, sizeof text);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"totalHits\":%d", RUNS);
    CHECK(strstr(text, wanted) != NULL);
    house_close(&house);
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
