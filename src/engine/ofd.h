/* Locks of an open file description: held until its last descriptor is closed, in whatever process, however that
 * one ends. */
#ifndef PAWL_ENGINE_OFD_H
#define PAWL_ENGINE_OFD_H

#include <stdbool.h>
#include <sys/types.h>

/* A thread that is ended within one of these leaves its frames behind and ends on their stack, where the address
 * sanitizer would still guard them: so it does not watch them. */
#define PAWL_MAY_BE_ENDED __attribute__((no_sanitize_address))

/* Takes the lock of a range for this open file; len 0 = to the end. Returns 0 or an errno: EAGAIN or EACCES if
 * somebody holds it and `waits` is false. Waiting may be interrupted by ending the thread. */
int pawl_ofd_lock(int fd, off_t from, off_t len, bool waits);
void pawl_ofd_unlock(int fd, off_t from, off_t len);

/* Whether some other open file holds any of a range, without taking it. Returns 0 or an errno. */
int pawl_ofd_look(int fd, off_t from, off_t len, bool *is_held);

#endif
