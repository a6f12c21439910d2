/* The only place outside the program itself that may end the process. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void pawl_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, condition);
    abort();
}
