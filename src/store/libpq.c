/* dlopen of libpq. It stays mapped for good once it is there (RTLD_NODELETE): the TLS library below
 * it has handlers of its own for the end of the process. */
#include "store/libpq.h"

#include "base/error.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#ifndef LIBPQ_HAS_PIPELINING
#error "libpq-fe.h is older than 14: it has no pipeline mode"
#endif

static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym gives functions as objects");

enum pawl_code pawl_libpq_load(struct pawl_libpq *pq, struct pawl_error *err)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "PostgreSQL needs libpq.so.5: install the package libpq5 (Debian, "
                              "Ubuntu), libpq (Fedora, Alpine) or postgresql-libs (Arch)");
    }

    static const char *const names[] = {
#define X(name) "PQ" #name,
        PAWL_LIBPQ_FUNCTIONS(X)
#undef X
    };
    void **const slots[] = {
#define X(name) (void **)&pq->name,
        PAWL_LIBPQ_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *function = dlsym(library, names[i]);
        if (function == NULL) {
            (void)dlclose(library); /* nothing was called yet */
            return pawl_error_set(err, PAWL_UNSUPPORTED,
                                  "libpq.so.5 has no %s: version 14 or later is needed", names[i]);
        }
        memcpy(slots[i], &function, sizeof function);
    }
    pq->library = library;
    return PAWL_OK;
}

void pawl_libpq_unload(struct pawl_libpq *pq)
{
    if (pq->library != NULL) (void)dlclose(pq->library); /* the count of users only */
    *pq = (struct pawl_libpq){0};
}
