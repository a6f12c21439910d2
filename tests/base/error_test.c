#include "base/error.h"

#include "base/assert.h"
#include "base/str.h"
#include "base/utf8.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST("setting an error fills it and returns the code")
{
    struct pawl_error err = {.until_at_ms = 5};
    CHECK_CODE(PAWL_BUSY, pawl_error_set(&err, PAWL_BUSY, "task %s: %d", "t-1", 7));
    CHECK_CODE(PAWL_BUSY, err.code);
    CHECK_EQ(0, err.until_at_ms);
    CHECK_TEXT("task t-1: 7", err.text);
}

TEST("nobody has to want the sentence")
{
    CHECK_CODE(PAWL_IO, pawl_error_set(NULL, PAWL_IO, "disk %d", 1));
    pawl_error_prefix(NULL, "while %s", "writing");
}

TEST("words go in front and leave code and time alone")
{
    struct pawl_error err;
    (void)pawl_error_set(&err, PAWL_NOT_READY, "deferred");
    err.until_at_ms = 77;
    pawl_error_prefix(&err, "claim from %s", "mail");
    CHECK_TEXT("claim from mail: deferred", err.text);
    CHECK_CODE(PAWL_NOT_READY, err.code);
    CHECK_EQ(77, err.until_at_ms);
}

TEST("a sentence may be made of the sentence before it")
{
    struct pawl_error err;
    (void)pawl_error_set(&err, PAWL_IO, "disk full");
    (void)pawl_error_set(&err, PAWL_BUSY, "again: %s", err.text);
    CHECK_TEXT("again: disk full", err.text);
    pawl_error_prefix(&err, "(%s)", err.text);
    CHECK_TEXT("(again: disk full): again: disk full", err.text);
}

/* A text of 2-byte characters behind so many dots. */
static void fill(char *out, size_t dots, size_t characters)
{
    memset(out, '.', dots);
    for (size_t i = 0; i < characters; i++) memcpy(out + dots + 2 * i, "\xC3\xA4", 2);
    out[dots + 2 * characters] = '\0';
}

TEST("a long sentence is cut between characters, at the limit exactly if it can be")
{
    char text[1100];
    struct pawl_error err;

    fill(text, 1, 255); /* 511 bytes: fits */
    (void)pawl_error_set(&err, PAWL_IO, "%s", text);
    CHECK_EQ(PAWL_ERROR_TEXT_BYTES_MAX, strlen(err.text));

    fill(text, 1, 300); /* a character ends at the limit */
    (void)pawl_error_set(&err, PAWL_IO, "%s", text);
    CHECK_EQ(PAWL_ERROR_TEXT_BYTES_MAX, strlen(err.text));
    CHECK(pawl_utf8_is_valid(pawl_str_of(err.text)));

    fill(text, 0, 300); /* the limit is inside one */
    (void)pawl_error_set(&err, PAWL_IO, "%s", text);
    CHECK_EQ(PAWL_ERROR_TEXT_BYTES_MAX - 1, strlen(err.text));
    CHECK(pawl_utf8_is_valid(pawl_str_of(err.text)));

    pawl_error_prefix(&err, "x");
    CHECK_EQ(PAWL_ERROR_TEXT_BYTES_MAX, strlen(err.text));
    CHECK(pawl_utf8_is_valid(pawl_str_of(err.text)));

    fill(text, 0, 500); /* nothing of the old sentence is left */
    pawl_error_prefix(&err, "%s", text);
    CHECK_EQ(PAWL_ERROR_TEXT_BYTES_MAX - 1, strlen(err.text));
}

TEST("a broken promise says file, line and condition, and aborts")
{
    int ends[2];
    CHECK_EQ(0, pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        pawl_assert(child == 1);
        _exit(0);
    }
    close(ends[1]);
    char text[256] = {0};
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    int status;
    CHECK_EQ(child, waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(pawl_str_has(pawl_str_of(text), PAWL_STR("error_test.c:")));
    CHECK(pawl_str_has(pawl_str_of(text), PAWL_STR("broken promise: child == 1")));
}

TEST("a promise that is kept costs nothing and is read once")
{
    int count = 0;
    pawl_assert(++count == 1);
    CHECK_EQ(1, count);
}

TEST_MAIN()
