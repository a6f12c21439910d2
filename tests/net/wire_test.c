/* Requests and answers as text: each case of tests/net/wire is sent as raw bytes to a real server,
 * and what comes back is compared.
 *
 *   = name of the case      a connection of its own
 *   # a comment
 *   > text                  is sent; \r \n \t \\ \xHH are escapes, and a line break of the file is
 * none *N text                 the same, N times < 400                   an answer with this status
 *   h Name: value           the answer just read has this line, or one that fits the pattern
 *   n Name                  it has no such header
 *   b pattern               its body (of fnmatch)
 *   head                    the next answer is to HEAD: no body follows
 *   closed                  the server has closed
 *   open                    it has not: one more request is answered
 */
#include "served.h"

#include "base/str.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wire_case {
    char *name;
    char *text; /* its lines */
};

static size_t unescape(const char *from, char *to)
{
    size_t len = 0;
    for (const char *at = from; *at != '\0'; at++) {
        if (*at != '\\') {
            to[len++] = *at;
            continue;
        }
        at++;
        switch (*at) {
        case 'r':
            to[len++] = '\r';
            break;
        case 'n':
            to[len++] = '\n';
            break;
        case 't':
            to[len++] = '\t';
            break;
        case '\\':
            to[len++] = '\\';
            break;
        case 'x': {
            char hex[3] = {at[1], at[1] != '\0' ? at[2] : '\0', '\0'};
            CHECK(isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]));
            to[len++] = (char)strtoul(hex, NULL, 16);
            at += 2;
            break;
        }
        default:
            FAIL("an escape that is none: \\%s", at);
        }
    }
    return len;
}

struct talk {
    int fd;
    struct answer answer;
    bool is_head;
    size_t answers;
};

static void say(struct talk *talk, const char *escaped, unsigned long count)
{
    char *bytes = malloc(strlen(escaped) + 1);
    CHECK(bytes != NULL);
    size_t len = unescape(escaped, bytes);
    for (unsigned long i = 0; i < count; i++) client_send(talk->fd, bytes, len);
    free(bytes);
}

static bool has_header_line(const struct answer *answer, const char *pattern)
{
    const char *line = answer->head;
    while (line != NULL && line[0] != '\0') {
        char copy[1024];
        size_t len = strcspn(line, "\r");
        CHECK(len < sizeof copy);
        memcpy(copy, line, len);
        copy[len] = '\0';
        if (fnmatch(pattern, copy, FNM_CASEFOLD) == 0) return true;
        line = line[len] != '\0' ? line + len + 2 : NULL;
    }
    return false;
}

static void do_line(struct talk *talk, const char *line)
{
    const char *rest = line[0] != '\0' && line[1] == ' ' ? line + 2 : "";
    if (line[0] == '\0' || line[0] == '#') return;
    if (line[0] == '>') {
        say(talk, rest, 1);
    } else if (line[0] == '*') {
        char *end = NULL;
        unsigned long count = strtoul(line + 1, &end, 10);
        CHECK(*end == ' ');
        say(talk, end + 1, count);
    } else if (line[0] == '<') {
        answer_reset(&talk->answer);
        client_read(talk->fd, &talk->answer, talk->is_head);
        talk->is_head = false;
        talk->answers++;
        if (talk->answer.status != (int)strtoul(rest, NULL, 10)) {
            FAIL("%s wanted, not %s%s", rest, talk->answer.head,
                 talk->answer.body ? talk->answer.body : "");
        }
    } else if (strcmp(line, "closed") == 0) {
        CHECK(client_is_closed(talk->fd));
    } else if (strcmp(line, "open") == 0) {
        answer_reset(&talk->answer);
        client_say(talk->fd, "GET /v1/names/open HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client_read(talk->fd, &talk->answer, false);
        CHECK_TEXT("open", talk->answer.body);
    } else if (strcmp(line, "head") == 0) {
        talk->is_head = true;
    } else {
        CHECK(talk->answer.head != NULL);
        if (line[0] == 'h') {
            if (!has_header_line(&talk->answer, rest))
                FAIL("no `%s` in %s", rest, talk->answer.head);
        } else if (line[0] == 'n') {
            char pattern[256];
            (void)snprintf(pattern, sizeof pattern, "%s:*", rest);
            if (has_header_line(&talk->answer, pattern)) FAIL("%s in %s", rest, talk->answer.head);
        } else if (line[0] == 'b') {
            const char *body = talk->answer.body != NULL ? talk->answer.body : "";
            if (fnmatch(rest, body, 0) != 0) FAIL("`%s` wanted, not `%s`", rest, body);
        } else {
            FAIL("a line that is none: %s", line);
        }
    }
}

static void run_case(const void *given)
{
    const struct wire_case *wire = given;
    struct served served;
    served_open(&served, NULL);
    struct talk talk = {.fd = client_open(&served)};
    char *text = strdup(wire->text);
    CHECK(text != NULL);
    for (char *line = text, *next = NULL; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        do_line(&talk, line);
    }
    CHECK(talk.answers > 0);
    answer_reset(&talk.answer);
    free(text);
    (void)close(talk.fd);
    served_close(&served);
}

/* ---- Finding the cases
 * --------------------------------------------------------------------------------- */

static void fail_to_load(const char *path)
{
    (void)fprintf(stderr, "cannot read %s\n", path);
    exit(2);
}

static void add_case(const char *path, const char *name, size_t name_len, const char *text,
                     size_t text_len)
{
    struct test_case *test = calloc(1, sizeof *test);
    struct wire_case *wire = calloc(1, sizeof *wire);
    if (test == NULL || wire == NULL) fail_to_load(path);
    wire->name = strndup(name, name_len);
    wire->text = strndup(text, text_len);
    test->name = wire->name;
    test->file = path;
    test->body_with = run_case;
    test->given = wire;
    test_add(test);
}

static void add_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    if (file == NULL || getdelim(&text, &capacity, '\0', file) < 0) fail_to_load(path);
    (void)fclose(file);
    char *at = strncmp(text, "= ", 2) == 0 ? text : strstr(text, "\n= ");
    while (at != NULL) {
        if (*at == '\n') at++;
        char *name = at + 2;
        size_t name_len = strcspn(name, "\n");
        char *lines = name + name_len + (name[name_len] == '\n');
        char *next = strstr(lines, "\n= ");
        if (strncmp(lines, "= ", 2) == 0) next = lines;
        add_case(path, name, name_len, lines,
                 next != NULL ? (size_t)(next - lines) : strlen(lines));
        at = next;
    }
    free(text);
}

__attribute__((constructor)) static void add_all(void)
{
    glob_t found;
    if (glob("tests/net/wire/*.txt", 0, NULL, &found) != 0) fail_to_load("tests/net/wire");
    for (size_t i = found.gl_pathc; i > 0; i--) add_file(strdup(found.gl_pathv[i - 1]));
    globfree(&found);
}

TEST_MAIN()
