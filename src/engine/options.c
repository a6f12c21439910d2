#include "engine/options.h"

#include "base/error.h"
#include "core/limits.h"

#include <string.h>

enum pawl_code pawl_options_read(void *out, size_t bytes, const void *given, const char *name,
                                 const char *init, struct pawl_error *err)
{
    size_t size = 0;
    if (given != NULL) memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > PAWL_OPTIONS_BYTES_MAX) {
        return pawl_error_set(err, PAWL_MISUSE, "%s: begin with %s", name, init);
    }
    const unsigned char *tail = given;
    for (size_t at = bytes; at < size; at++) {
        if (tail[at] == 0) continue;
        return pawl_error_set(err, PAWL_INVALID,
                              "%s: the field at byte %zu is set, and this library knows %zu bytes: it is older "
                              "than the header",
                              name, at, bytes);
    }
    memset(out, 0, bytes);
    memcpy(out, given, size < bytes ? size : bytes);
    memcpy(out, &bytes, sizeof bytes);
    return PAWL_OK;
}
