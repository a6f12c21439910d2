/* libcurl is loaded by dlopen, as OpenSSL and libpq are, and declared here: its interface of soname
 * 4 has not changed since 2006, so that nothing of it is needed to build (docs/decisions/010). */
#include "client/client.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/error.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- libcurl ------------------------------------------------------------------------------------
 */

struct curl; /* its CURL */
struct curl_list;

enum {
    CURL_GLOBAL_ALL = 3,
    CURL_ERROR_BYTES = 256,

    CURL_WRITEDATA = 10001,
    CURL_URL = 10002,
    CURL_ERRORBUFFER = 10010,
    CURL_WRITEFUNCTION = 20011,
    CURL_POSTFIELDS = 10015,
    CURL_USERAGENT = 10018,
    CURL_HTTPHEADER = 10023,
    CURL_CUSTOMREQUEST = 10036,
    CURL_HTTPGET = 80,
    CURL_POSTFIELDSIZE_LARGE = 30120,
    CURL_TIMEOUT_MS = 155,
    CURL_CONNECTTIMEOUT_MS = 156,
    CURL_UNIX_SOCKET_PATH = 10231,

    CURL_RESPONSE_CODE = 0x200000 + 2,
    CURL_REQUEST_SIZE = 0x200000 + 12,

    CURL_OK = 0,
};

/* clang-format off */
#define FUNCTIONS(X)                                                                       \
    X(int, curl_global_init, (long flags))                                                 \
    X(struct curl *, curl_easy_init, (void))                                               \
    X(void, curl_easy_cleanup, (struct curl *curl))                                        \
    X(int, curl_easy_setopt, (struct curl *curl, int option, ...))                         \
    X(int, curl_easy_perform, (struct curl *curl))                                         \
    X(int, curl_easy_getinfo, (struct curl *curl, int info, ...))                          \
    X(const char *, curl_easy_strerror, (int code))                                        \
    X(struct curl_list *, curl_slist_append, (struct curl_list *list, const char *line))   \
    X(void, curl_slist_free_all, (struct curl_list *list))
/* clang-format on */

struct pawl_client {
    void *library; /* of dlopen */
    struct curl *curl;
    struct curl_list *headers;
    char *base;               /* the address, without a slash at its end */
    char *server;             /* the same as it was given, for sentences */
    struct pawl_arena *arena; /* of the answer that is read */
    char *bytes;
    size_t len;
    size_t capacity;
    bool is_too_large;
    char failure[CURL_ERROR_BYTES];
#define X(type, name, arguments) type(*name) arguments;
    FUNCTIONS(X)
#undef X
};

static enum pawl_code load(struct pawl_client *client, struct pawl_error *err)
{
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    static const char *const names[] = {
#define X(type, name, arguments) #name,
        FUNCTIONS(X)
#undef X
    };
    void **const slots[] = {
#define X(type, name, arguments) (void **)&client->name,
        FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < PAWL_COUNT_OF(files) && client->library == NULL; i++) {
        client->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    if (client->library == NULL) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "to ask a server needs libcurl.so.4: install the package libcurl4 "
                              "(Debian, Ubuntu) or libcurl (Fedora, Alpine, Arch: curl)");
    }
    for (size_t i = 0; i < PAWL_COUNT_OF(names); i++) {
        void *function = dlsym(client->library, names[i]);
        if (function == NULL) {
            return pawl_error_set(err, PAWL_UNSUPPORTED, "libcurl.so.4 has no %s", names[i]);
        }
        memcpy(slots[i], &function, sizeof function);
    }
    return PAWL_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------
 */

static enum pawl_code check_server(struct pawl_str server, struct pawl_error *err)
{
    bool is_unix = pawl_str_starts(server, PAWL_STR("unix:/"));
    bool is_http = pawl_str_starts(server, PAWL_STR("http://")) ||
                   pawl_str_starts(server, PAWL_STR("https://"));
    bool has_rest = server.len > sizeof "https://" - 1;
    if (!is_unix && (!is_http || !has_rest)) {
        return pawl_error_set(err, PAWL_INVALID,
                              "server: http://localhost:8080, https://example.com or unix:/PATH is "
                              "wanted, not `%.*s`",
                              PAWL_STR_ARG(server));
    }
    for (size_t i = 0; i < server.len; i++) {
        char c = server.ptr[i];
        bool is_blank = c <= ' ' || c > '~';
        if (!is_blank && (is_unix || strchr("@?#", c) == NULL)) continue;
        /* it may be a password: it is not said again */
        return pawl_error_set(
            err, PAWL_INVALID,
            "server: the address has a user, a query or a blank in it; a token is "
            "given by PAWL_TOKEN or --token-file");
    }
    return PAWL_OK;
}

static enum pawl_code check_token(struct pawl_str token, struct pawl_error *err)
{
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] > ' ' && token.ptr[i] <= '~') continue;
        return pawl_error_set(
            err, PAWL_INVALID,
            "the token: KEYID.SECRET is wanted, as `pawl token create` prints it");
    }
    return PAWL_OK;
}

static size_t take_bytes(const char *bytes, size_t size, size_t count, void *self)
{
    struct pawl_client *client = self;
    size_t len = size * count;
    if (len > PAWL_CLIENT_ANSWER_BYTES_MAX - client->len) {
        client->is_too_large = true;
        return 0;
    }
    while (client->len + len > client->capacity) {
        size_t capacity = client->capacity == 0 ? 16 * 1024 : 2 * client->capacity;
        char *larger = pawl_arena_resize(client->arena, client->bytes, client->capacity, capacity);
        if (larger == NULL) return 0;
        client->bytes = larger;
        client->capacity = capacity;
    }
    if (len > 0) memcpy(client->bytes + client->len, bytes, len);
    client->len += len;
    return len;
}

static bool add_header(struct pawl_client *client, const char *line)
{
    struct curl_list *longer = client->curl_slist_append(client->headers, line);
    if (longer != NULL) client->headers = longer;
    return longer != NULL;
}

static bool add_headers(struct pawl_client *client, struct pawl_str token)
{
    /* No 100 (Continue) is waited for: our server needs none. */
    if (!add_header(client, "Content-Type: application/json") || !add_header(client, "Expect:")) {
        return false;
    }
    if (token.len == 0) return true;
    static const char begin[] = "Authorization: Bearer ";
    char *line = malloc(sizeof begin + token.len);
    if (line == NULL) return false;
    memcpy(line, begin, sizeof begin - 1);
    memcpy(line + sizeof begin - 1, token.ptr, token.len);
    line[sizeof begin - 1 + token.len] = '\0';
    bool is_added = add_header(client, line);
    free(line);
    return is_added;
}

static bool set_up(struct pawl_client *client)
{
    struct curl *curl = client->curl;
    const char *path = NULL;
    if (strncmp(client->server, "unix:", 5) == 0) path = client->server + 5;
    return client->curl_easy_setopt(curl, CURL_ERRORBUFFER, client->failure) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_WRITEFUNCTION, take_bytes) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_WRITEDATA, client) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_USERAGENT, "pawl/" PAWL_VERSION_TEXT) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_HTTPHEADER, client->headers) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_CONNECTTIMEOUT_MS,
                                    (long)PAWL_CLIENT_CONNECT_MS_MAX) == CURL_OK &&
           client->curl_easy_setopt(curl, CURL_TIMEOUT_MS, (long)PAWL_CLIENT_ANSWER_MS_MAX) ==
               CURL_OK &&
           (path == NULL || client->curl_easy_setopt(curl, CURL_UNIX_SOCKET_PATH, path) == CURL_OK);
}

static enum pawl_code begin(struct pawl_client *client, struct pawl_str server,
                            struct pawl_str token, struct pawl_error *err)
{
    enum pawl_code code = load(client, err);
    if (code != PAWL_OK) return code;
    client->server = strndup(server.ptr, server.len);
    bool is_unix = pawl_str_starts(server, PAWL_STR("unix:"));
    while (server.ptr[server.len - 1] == '/') server.len--;
    client->base = is_unix ? strdup("http://localhost") : strndup(server.ptr, server.len);
    if (client->server != NULL && client->base != NULL &&
        client->curl_global_init(CURL_GLOBAL_ALL) == CURL_OK) {
        client->curl = client->curl_easy_init();
    }
    if (client->curl != NULL && add_headers(client, token) && set_up(client)) return PAWL_OK;
    return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to ask a server");
}

enum pawl_code pawl_client_open(struct pawl_client **out, struct pawl_str server,
                                struct pawl_str token, struct pawl_error *err)
{
    enum pawl_code code = check_server(server, err);
    if (code == PAWL_OK) code = check_token(token, err);
    if (code != PAWL_OK) return code;
    struct pawl_client *client = calloc(1, sizeof *client);
    if (client == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to ask a server");
    code = begin(client, server, token, err);
    if (code != PAWL_OK) {
        pawl_client_close(client);
        return code;
    }
    *out = client;
    return PAWL_OK;
}

void pawl_client_close(struct pawl_client *client)
{
    if (client == NULL) return;
    if (client->curl != NULL) client->curl_easy_cleanup(client->curl);
    if (client->headers != NULL) client->curl_slist_free_all(client->headers);
    free(client->base);
    free(client->server);
    free(client);
}

/* ---- Answers ------------------------------------------------------------------------------------
 */

static bool find_code(struct pawl_str name, enum pawl_code *out)
{
    for (int32_t i = PAWL_OK + 1; i <= PAWL_MISUSE; i++) {
        if (!pawl_str_equal(name, pawl_str_of(pawl_code_name((enum pawl_code)i)))) continue;
        *out = (enum pawl_code)i;
        return true;
    }
    return false;
}

/* The failure that the server tells; false if this is none of its answers. */
static bool read_failure(const struct pawl_json *answer, struct pawl_arena *keep,
                         struct pawl_error *err)
{
    struct pawl_str name;
    struct pawl_str message;
    enum pawl_code code = PAWL_OK;
    if (!pawl_json_text(pawl_json_member(answer, PAWL_STR("code")), keep, &name) ||
        !pawl_json_text(pawl_json_member(answer, PAWL_STR("message")), keep, &message) ||
        !find_code(name, &code)) {
        return false;
    }
    int64_t until_at_ms = 0;
    (void)pawl_error_set(err, code, "%.*s", PAWL_STR_ARG(message));
    if (pawl_json_int64(pawl_json_member(answer, PAWL_STR("until_at_ms")), &until_at_ms)) {
        err->until_at_ms = until_at_ms;
    }
    return true;
}

/* What stands between us and the server has answered, or something else. */
static enum pawl_code refuse_stranger(const struct pawl_client *client, long status, bool is_change,
                                      struct pawl_error *err)
{
    enum pawl_code code = PAWL_IO;
    if (status == 401) code = PAWL_UNAUTHENTICATED;
    if (status == 403) code = PAWL_FORBIDDEN;
    /* It may have come through before the answer was lost. */
    if (is_change && (status < 300 || status >= 500)) code = PAWL_UNKNOWN_OUTCOME;
    return pawl_error_set(err, code, "%s answers %ld, and not as a pawl server does",
                          client->server, status);
}

static enum pawl_code tell_failure(const struct pawl_client *client, int result, bool is_change,
                                   struct pawl_error *err)
{
    long sent_bytes = 0;
    const char *why =
        client->failure[0] != '\0' ? client->failure : client->curl_easy_strerror(result);
    (void)client->curl_easy_getinfo(client->curl, CURL_REQUEST_SIZE, &sent_bytes);
    if (client->is_too_large) {
        return pawl_error_set(err, is_change ? PAWL_UNKNOWN_OUTCOME : PAWL_TOO_LARGE,
                              "the answer of %s has more than %d bytes", client->server,
                              PAWL_CLIENT_ANSWER_BYTES_MAX);
    }
    if (is_change && sent_bytes > 0) {
        return pawl_error_set(err, PAWL_UNKNOWN_OUTCOME,
                              "%s was asked and has not answered (%s): it may have been done",
                              client->server, why);
    }
    return pawl_error_set(err, PAWL_IO, "cannot reach %s: %s", client->server, why);
}

enum pawl_code pawl_client_ask(struct pawl_client *client, const char *verb, struct pawl_str path,
                               struct pawl_str body, struct pawl_arena *keep,
                               struct pawl_json **answer, struct pawl_error *err)
{
    bool is_change = strcmp(verb, "GET") != 0;
    char *url = pawl_arena_c_text(
        keep, pawl_arena_format(keep, "%s%.*s", client->base, PAWL_STR_ARG(path)));
    if (url == NULL) return pawl_error_set(err, pawl_arena_code(keep), "no room for the request");
    client->arena = keep;
    client->bytes = NULL;
    client->len = client->capacity = 0;
    client->is_too_large = false;
    client->failure[0] = '\0';
    struct curl *curl = client->curl;
    int result = client->curl_easy_setopt(curl, CURL_URL, url);
    if (result == CURL_OK && !is_change) {
        result = client->curl_easy_setopt(curl, CURL_HTTPGET, 1L);
    }
    if (result == CURL_OK && is_change) {
        result = client->curl_easy_setopt(curl, CURL_POSTFIELDSIZE_LARGE, (int64_t)body.len);
        if (result == CURL_OK) {
            result = client->curl_easy_setopt(curl, CURL_POSTFIELDS, pawl_str_arg_ptr(body));
        }
    }
    if (result == CURL_OK) result = client->curl_easy_setopt(curl, CURL_CUSTOMREQUEST, verb);
    if (result != CURL_OK) {
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the request");
    }
    result = client->curl_easy_perform(curl);
    if (result != CURL_OK) return tell_failure(client, result, is_change, err);

    long status = 0;
    (void)client->curl_easy_getinfo(curl, CURL_RESPONSE_CODE, &status);
    struct pawl_str text = {client->bytes, client->len};
    struct pawl_json *parsed = NULL;
    bool is_json = text.len > 0 && pawl_json_parse(text, keep, &parsed, NULL) == PAWL_OK &&
                   parsed->kind == PAWL_JSON_OBJECT;
    if (is_json && status == 200) {
        *answer = parsed;
        return PAWL_OK;
    }
    struct pawl_error told = {0};
    if (!is_json || !read_failure(parsed, keep, &told)) {
        return refuse_stranger(client, status, is_change, err);
    }
    if (err != NULL) *err = told;
    return told.code;
}

struct pawl_str pawl_client_escape(struct pawl_arena *arena, struct pawl_str text)
{
    static const char hex[] = "0123456789ABCDEF";
    char *bytes = pawl_arena_take_array(arena, text.len + 1, 3);
    size_t to = 0;
    if (bytes == NULL) return (struct pawl_str){0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '_' || c == '~' || (c == '.' && text.len > 2)) {
            bytes[to++] = c;
            continue;
        }
        bytes[to++] = '%';
        bytes[to++] = hex[(unsigned char)c >> 4];
        bytes[to++] = hex[(unsigned char)c & 15];
    }
    return (struct pawl_str){bytes, to};
}
