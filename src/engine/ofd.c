#include "engine/ofd.h"

#include <errno.h>
#include <fcntl.h>

PAWL_MAY_BE_ENDED static int ask(int fd, int how, struct flock *range)
{
    int got;
    do {
        got = fcntl(fd, how, range);
    } while (got != 0 && errno == EINTR);
    return got == 0 ? 0 : errno;
}

PAWL_MAY_BE_ENDED int pawl_ofd_lock(int fd, off_t from, off_t len, bool waits)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = len};
    return ask(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range);
}

PAWL_MAY_BE_ENDED void pawl_ofd_unlock(int fd, off_t from, off_t len)
{
    struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = len};
    (void)ask(fd, F_OFD_SETLK, &range); /* cannot be refused */
}

int pawl_ofd_look(int fd, off_t from, off_t len, bool *is_held)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = len};
    int fault = ask(fd, F_OFD_GETLK, &range);
    *is_held = fault == 0 && range.l_type != F_UNLCK;
    return fault;
}
