/* The table of code.h as C. A row holds its strings by pointer; they are constants. */
#include "base/code.h"

#include "base/array.h"

#include <assert.h>

#define X(name, number, http, exit, repeats, text) \
    static_assert((int)PAWL_##name == (number), #name " has another number in pawl.h");
PAWL_CODES(X)
#undef X

struct row {
    const char *name;
    const char *text;
    int16_t http;
    int8_t exit;
    bool repeats;
};

static const struct row rows[] = {
#define X(name, number, http, exit, repeats, text) [number] = {#name, text, http, exit, repeats},
    PAWL_CODES(X)
#undef X
};

static const struct row unknown = {"UNKNOWN", "an unknown code", 500, 6, false};

static const struct row *row_of(enum pawl_code code)
{
    size_t at = (size_t)code; /* what is negative becomes large */
    return at < PAWL_COUNT_OF(rows) ? &rows[at] : &unknown;
}

const char *pawl_code_name(enum pawl_code code)
{
    return row_of(code)->name;
}

const char *pawl_code_text(enum pawl_code code)
{
    return row_of(code)->text;
}

bool pawl_code_repeats(enum pawl_code code)
{
    return row_of(code)->repeats;
}

int32_t pawl_code_http(enum pawl_code code)
{
    return row_of(code)->http;
}

int32_t pawl_code_exit(enum pawl_code code)
{
    return row_of(code)->exit;
}
