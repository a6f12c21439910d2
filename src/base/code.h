/* All there is to know about a code of pawl.h, in one table: HTTP status, exit code of the program,
 * whether to repeat, the sentence, and the page in the docs come from here.
 *
 * The names and numbers of the codes are declared in pawl.h, which embedders read; code.c asserts
 * that the two agree. pawl_code_name, pawl_code_text and pawl_code_repeats are declared there too.
 */
#ifndef PAWL_BASE_CODE_H
#define PAWL_BASE_CODE_H

#include "pawl.h"

/* clang-format off */
#define PAWL_CODES(X)                                                                              \
    /* name           number http exit repeat what it tells the caller */                          \
    X(OK,                  0, 200, 0, false, "done")                                               \
    X(INVALID,             1, 400, 2, false, "the request is malformed or breaks a rule")          \
    X(UNAUTHENTICATED,     2, 401, 5, false, "a valid token is required")                          \
    X(FORBIDDEN,           3, 403, 5, false, "the token does not allow this")                      \
    X(NOT_FOUND,           4, 404, 3, false, "there is no such thing")                             \
    X(CONFLICT,            5, 409, 4, false, "version, key or id is not as expected")              \
    X(STATE,               6, 409, 4, false, "not possible from this state")                       \
    X(LEASE_LOST,          7, 409, 4, false, "the lease is no longer yours")                       \
    X(LEASE_ACTIVE,        8, 409, 4, false, "somebody holds the lease")                           \
    X(NOT_READY,           9, 409, 4, false, "deferred or blocked")                                \
    X(TOO_LARGE,          10, 413, 2, false, "larger than a named limit")                          \
    X(LIMIT,              11, 429, 6, true,  "a named limit was reached")                          \
    X(BUSY,               12, 503, 6, true,  "nothing was committed, try again")                   \
    X(UNKNOWN_OUTCOME,    13, 503, 6, true,  "it may have been committed; safe to repeat")         \
    X(IO,                 14, 500, 6, false, "a file, disk or connection failed")                  \
    X(CORRUPT,            15, 500, 6, false, "stored data failed a check")                         \
    X(NO_MEMORY,          16, 503, 6, false, "out of memory")                                      \
    X(TIMEOUT,            17, 504, 7, false, "not done in the given time")                         \
    X(UNSUPPORTED,        18, 400, 2, false, "not supported by this version or build")             \
    X(MISUSE,             19, 500, 6, false, "the library was called against its rules")
/* clang-format on */

/* HTTP status and exit code; 500 and 6 for a number that is no code. */
int32_t pawl_code_http(enum pawl_code code);
int32_t pawl_code_exit(enum pawl_code code);

#endif
