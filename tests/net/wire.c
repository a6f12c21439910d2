#include "wire.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 16, NAME_BYTES = 32, HEADERS_BYTES = 1024 };

struct talk {
    const struct served *served;
    struct pawl_arena *arena; /* of the case */
    int fd;
    struct answer answer;
    bool is_head;
    size_t answers;
    char headers[HEADERS_BYTES]; /* of the next request */
    char names[NAMES_MAX][NAME_BYTES];
    struct pawl_str values[NAMES_MAX];
    size_t name_count;
};

/* ---- Sending ---- */

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

static void say(struct talk *talk, const char *escaped, unsigned long count)
{
    char *bytes = malloc(strlen(escaped) + 1);
    CHECK(bytes != NULL);
    size_t len = unescape(escaped, bytes);
    for (unsigned long i = 0; i < count; i++) client_send(talk->fd, bytes, len);
    free(bytes);
}

/* "VERB PATH BODY" */
static void request(struct talk *talk, const char *line)
{
    size_t verb_len = strcspn(line, " ");
    CHECK(line[verb_len] == ' ');
    const char *path = line + verb_len + 1;
    size_t path_len = strcspn(path, " ");
    const char *body = path[path_len] == ' ' ? path + path_len + 1 : "";
    struct pawl_str text = pawl_arena_format(
        talk->arena, "%.*s %.*s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n%s\r\n%s",
        (int)verb_len, line, (int)path_len, path, strlen(body), talk->headers, body);
    CHECK(text.ptr != NULL);
    talk->headers[0] = '\0';
    talk->is_head = strncmp(line, "HEAD ", 5) == 0;
    client_send(talk->fd, text.ptr, text.len);
}

static void add_header(struct talk *talk, const char *line)
{
    size_t len = strlen(talk->headers);
    int added = snprintf(talk->headers + len, sizeof talk->headers - len, "%s\r\n", line);
    CHECK(added > 0 && (size_t)added < sizeof talk->headers - len);
}

/* ---- Names ---- */

/* The line with the values of names; in the arena. */
static const char *expand(struct talk *talk, const char *line)
{
    for (size_t i = 0; i < talk->name_count; i++) {
        char mark[NAME_BYTES + 4];
        (void)snprintf(mark, sizeof mark, "{{%s}}", talk->names[i]);
        for (const char *at; (at = strstr(line, mark)) != NULL;) {
            struct pawl_str text =
                pawl_arena_format(talk->arena, "%.*s%.*s%s", (int)(at - line), line,
                                  PAWL_STR_ARG(talk->values[i]), at + strlen(mark));
            CHECK(text.ptr != NULL);
            line = text.ptr;
        }
    }
    return line;
}

static struct pawl_json *body_json(struct talk *talk)
{
    struct pawl_error err = {0};
    struct pawl_json *json = NULL;
    struct pawl_str body = pawl_arena_copy(
        talk->arena, (struct pawl_str){talk->answer.body, talk->answer.body_len});
    if (pawl_json_parse(body, talk->arena, &json, &err) != PAWL_OK) {
        FAIL("no JSON: %s: %s", talk->answer.body != NULL ? talk->answer.body : "", err.text);
    }
    return json;
}

static const struct pawl_json *first_object(const struct pawl_json *json)
{
    return json->kind == PAWL_JSON_ARRAY ? pawl_json_first(json) : json;
}

/* "NAME" or "NAME member" */
static void keep_value(struct talk *talk, const char *line)
{
    size_t len = strcspn(line, " ");
    size_t at = 0;
    CHECK(len > 0 && len < NAME_BYTES);
    while (at < talk->name_count &&
           (strncmp(talk->names[at], line, len) != 0 || talk->names[at][len] != '\0')) {
        at++;
    }
    CHECK(at < NAMES_MAX);
    if (at == talk->name_count) talk->name_count++;
    (void)snprintf(talk->names[at], NAME_BYTES, "%.*s", (int)len, line);
    struct pawl_str value = {talk->answer.body, talk->answer.body_len};
    if (line[len] == ' ') {
        const struct pawl_json *member =
            pawl_json_member(first_object(body_json(talk)), pawl_str_of(line + len + 1));
        if (member == NULL) FAIL("no %s in %s", line + len + 1, talk->answer.body);
        if (!pawl_json_text(member, talk->arena, &value)) value = member->raw;
    }
    talk->values[at] = pawl_arena_copy(talk->arena, value);
}

/* ---- Comparing ---- */

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

static const char *terminated(struct talk *talk, struct pawl_str text)
{
    struct pawl_str copy = pawl_arena_format(talk->arena, "%.*s", PAWL_STR_ARG(text));
    return copy.ptr != NULL ? copy.ptr : "";
}

static bool scalar_fits(struct talk *talk, const struct pawl_json *wanted,
                        const struct pawl_json *got)
{
    struct pawl_str pattern = {0};
    struct pawl_str text = {0};
    if (wanted->kind != PAWL_JSON_STRING) return pawl_str_equal(wanted->raw, got->raw);
    CHECK(pawl_json_text(wanted, talk->arena, &pattern));
    if (pawl_str_equal(pattern, PAWL_STR("*"))) return true;
    if (!pawl_json_text(got, talk->arena, &text)) return false;
    if (pattern.len == 0 || pattern.ptr[0] != '~') return pawl_str_equal(pattern, text);
    return fnmatch(terminated(talk, pattern) + 1, terminated(talk, text), 0) == 0;
}

static bool fits(struct talk *talk, const struct pawl_json *wanted, const struct pawl_json *got)
{
    if (got == NULL) return false;
    if (wanted->kind == PAWL_JSON_OBJECT) {
        if (got->kind != PAWL_JSON_OBJECT) return false;
        for (const struct pawl_json *at = pawl_json_first(wanted); at != NULL;
             at = pawl_json_next(at)) {
            struct pawl_str key = {0};
            CHECK(pawl_json_key(at, talk->arena, &key));
            if (!fits(talk, at, pawl_json_member(got, key))) return false;
        }
        return true;
    }
    if (wanted->kind == PAWL_JSON_ARRAY) {
        if (got->kind != PAWL_JSON_ARRAY || got->child_count != wanted->child_count) return false;
        const struct pawl_json *other = pawl_json_first(got);
        for (const struct pawl_json *at = pawl_json_first(wanted); at != NULL;
             at = pawl_json_next(at), other = pawl_json_next(other)) {
            if (!fits(talk, at, other)) return false;
        }
        return true;
    }
    return scalar_fits(talk, wanted, got);
}

static void check_json(struct talk *talk, const char *line)
{
    struct pawl_error err = {0};
    struct pawl_json *wanted = NULL;
    if (pawl_json_parse(pawl_str_of(line), talk->arena, &wanted, &err) != PAWL_OK) {
        FAIL("the case has no JSON: %s: %s", line, err.text);
    }
    if (!fits(talk, wanted, body_json(talk))) FAIL("%s wanted, not %s", line, talk->answer.body);
}

static void check_keys(struct talk *talk, const char *line)
{
    const struct pawl_json *object = first_object(body_json(talk));
    size_t count = 0;
    for (const char *at = line; *at != '\0';) {
        size_t len = strcspn(at, " ");
        if (pawl_json_member(object, (struct pawl_str){at, len}) == NULL) {
            FAIL("no member %.*s in %s", (int)len, at, talk->answer.body);
        }
        count++;
        at += len;
        at += strspn(at, " ");
    }
    if (object->child_count != count) {
        FAIL("%zu members wanted, not %u: %s", count, (unsigned)object->child_count,
             talk->answer.body);
    }
}

static void read_answer(struct talk *talk, const char *status)
{
    answer_reset(&talk->answer);
    client_read(talk->fd, &talk->answer, talk->is_head);
    talk->is_head = false;
    talk->answers++;
    if (talk->answer.status == (int)strtoul(status, NULL, 10)) return;
    FAIL("%s wanted, not %s%s", status, talk->answer.head,
         talk->answer.body ? talk->answer.body : "");
}

static void check_answer(struct talk *talk, char what, const char *rest)
{
    const char *body = talk->answer.body != NULL ? talk->answer.body : "";
    CHECK(talk->answer.head != NULL);
    if (what == 'h') {
        if (!has_header_line(&talk->answer, rest)) FAIL("no `%s` in %s", rest, talk->answer.head);
    } else if (what == 'n') {
        char pattern[256];
        (void)snprintf(pattern, sizeof pattern, "%s:*", rest);
        if (has_header_line(&talk->answer, pattern)) FAIL("%s in %s", rest, talk->answer.head);
    } else if (what == 'b') {
        if (fnmatch(rest, body, 0) != 0) FAIL("`%s` wanted, not `%s`", rest, body);
    } else if (what == 't') {
        if (strcmp(rest, body) != 0) FAIL("`%s` wanted, not `%s`", rest, body);
    } else if (what == 'j') {
        check_json(talk, rest);
    } else if (what == 'k') {
        check_keys(talk, rest);
    } else if (what == 'v') {
        keep_value(talk, rest);
    } else {
        FAIL("a line that is none: %c %s", what, rest);
    }
}

static void do_line(struct talk *talk, const char *raw)
{
    const char *line = expand(talk, raw);
    const char *rest = line[0] != '\0' && line[1] == ' ' ? line + 2 : "";
    if (line[0] == '\0' || line[0] == '#') return;
    if (strcmp(line, "closed") == 0) {
        CHECK(client_is_closed(talk->fd));
    } else if (strcmp(line, "open") == 0) {
        answer_reset(&talk->answer);
        client_say(talk->fd, "GET /v1/names/open HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client_read(talk->fd, &talk->answer, false);
        CHECK_TEXT("open", talk->answer.body);
    } else if (strcmp(line, "head") == 0) {
        talk->is_head = true;
    } else if (line[0] == '>') {
        say(talk, rest, 1);
    } else if (line[0] == '*') {
        char *end = NULL;
        unsigned long count = strtoul(line + 1, &end, 10);
        CHECK(*end == ' ');
        say(talk, end + 1, count);
    } else if (line[0] == '+') {
        add_header(talk, rest);
    } else if (line[0] == '@') {
        request(talk, rest);
    } else if (line[0] == '<') {
        read_answer(talk, rest);
    } else {
        check_answer(talk, line[0], rest);
    }
}

void wire_run(const struct wire_case *wire, const struct served *served)
{
    struct talk talk = {.served = served};
    CHECK_OK(pawl_arena_open(&talk.arena, 0), NULL);
    talk.fd = client_open(served);
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
    pawl_arena_close(talk.arena);
}

/* ---- Finding the cases ---- */

static void fail_to_load(const char *path)
{
    (void)fprintf(stderr, "cannot read %s\n", path);
    exit(2);
}

static void add_file(const char *path, void (*add)(struct wire_case *wire))
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
        char *next = strncmp(lines, "= ", 2) == 0 ? lines : strstr(lines, "\n= ");
        struct wire_case *wire = calloc(1, sizeof *wire);
        if (wire == NULL) fail_to_load(path);
        wire->path = path;
        wire->name = strndup(name, name_len);
        wire->text = strndup(lines, next != NULL ? (size_t)(next - lines) : strlen(lines));
        if (wire->name == NULL || wire->text == NULL) fail_to_load(path);
        add(wire);
        at = next;
    }
    free(text);
}

void wire_load(const char *pattern, void (*add)(struct wire_case *wire))
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) fail_to_load(pattern);
    for (size_t i = found.gl_pathc; i > 0; i--) add_file(strdup(found.gl_pathv[i - 1]), add);
    globfree(&found);
}
