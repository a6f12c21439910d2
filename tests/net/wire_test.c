/* The frame of HTTP: the cases of tests/net/wire (wire.h), said to a server with a handful of
 * routes. */
#include "wire.h"

#include <stdlib.h>

static void run_case(const void *given)
{
    struct served served;
    served_open(&served, NULL);
    wire_run(given, &served);
    served_close(&served);
}

static void add_case(struct wire_case *wire)
{
    struct test_case *test = calloc(1, sizeof *test);
    if (test == NULL) abort();
    test->name = wire->name;
    test->file = wire->path;
    test->body_with = run_case;
    test->given = wire;
    test_add(test);
}

__attribute__((constructor)) static void add_all(void)
{
    wire_load("tests/net/wire/*.txt", add_case);
}

TEST_MAIN()
