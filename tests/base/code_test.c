#include "base/code.h"

#include "test.h"

#include <string.h>

TEST("each code has the status, exit code and repeat of decision A1")
{
    static const struct {
        enum pawl_code code;
        const char *name;
        int32_t http;
        int32_t exit;
        bool repeats;
    } rows[] = {
        {PAWL_OK, "OK", 200, 0, false},
        {PAWL_INVALID, "INVALID", 400, 2, false},
        {PAWL_UNAUTHENTICATED, "UNAUTHENTICATED", 401, 5, false},
        {PAWL_FORBIDDEN, "FORBIDDEN", 403, 5, false},
        {PAWL_NOT_FOUND, "NOT_FOUND", 404, 3, false},
        {PAWL_CONFLICT, "CONFLICT", 409, 4, false},
        {PAWL_STATE, "STATE", 409, 4, false},
        {PAWL_LEASE_LOST, "LEASE_LOST", 409, 4, false},
        {PAWL_LEASE_ACTIVE, "LEASE_ACTIVE", 409, 4, false},
        {PAWL_NOT_READY, "NOT_READY", 409, 4, false},
        {PAWL_TOO_LARGE, "TOO_LARGE", 413, 2, false},
        {PAWL_LIMIT, "LIMIT", 429, 6, true},
        {PAWL_BUSY, "BUSY", 503, 6, true},
        {PAWL_UNKNOWN_OUTCOME, "UNKNOWN_OUTCOME", 503, 6, true},
        {PAWL_IO, "IO", 500, 6, false},
        {PAWL_CORRUPT, "CORRUPT", 500, 6, false},
        {PAWL_NO_MEMORY, "NO_MEMORY", 503, 6, false},
        {PAWL_TIMEOUT, "TIMEOUT", 504, 7, false},
        {PAWL_UNSUPPORTED, "UNSUPPORTED", 400, 2, false},
        {PAWL_MISUSE, "MISUSE", 500, 6, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(i, rows[i].code);
        CHECK_TEXT(rows[i].name, pawl_code_name(rows[i].code));
        CHECK_EQ(rows[i].http, pawl_code_http(rows[i].code));
        CHECK_EQ(rows[i].exit, pawl_code_exit(rows[i].code));
        CHECK_EQ(rows[i].repeats, pawl_code_repeats(rows[i].code));
        CHECK(strlen(pawl_code_text(rows[i].code)) > 0);
    }
}

TEST("a number that is no code has a name, and is an internal error")
{
    static const int numbers[] = {20, 1000, -1, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        enum pawl_code code = (enum pawl_code)numbers[i];
        CHECK_TEXT("UNKNOWN", pawl_code_name(code));
        CHECK_EQ(500, pawl_code_http(code));
        CHECK_EQ(6, pawl_code_exit(code));
        CHECK(!pawl_code_repeats(code));
    }
}

TEST_MAIN()
