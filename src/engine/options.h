/* Reads the option structs of callers, who may have been built with another version of pawl.h: a shorter one of
 * an older header (what is missing is zero: the default), or a longer one of a newer header, as long as what
 * this library does not know is zero. */
#ifndef PAWL_ENGINE_OPTIONS_H
#define PAWL_ENGINE_OPTIONS_H

#include "pawl.h"

/* Copies *given, which begins with its size, to *out of `bytes`, with size set to bytes. name is the parameter,
 * init the macro it should have been begun with.
 *
 *   fails  PAWL_MISUSE   the size is none, or given is NULL
 *          PAWL_INVALID  a field is set that this library does not know */
enum pawl_code pawl_options_read(void *out, size_t bytes, const void *given, const char *name,
                                 const char *init, struct pawl_error *err);

#define PAWL_OPTIONS_READ(out, given, name, init, err) \
    pawl_options_read(&(out), sizeof(out), (given), (name), (init), (err))

#endif
