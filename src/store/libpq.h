/* libpq, PostgreSQL's client library, opened when it is first needed: who never touches PostgreSQL
 * pays neither its start nor its memory, and the library is only needed on machines that use it.
 *
 * A function PQfoo is called as pq->foo; struct pawl_libpq says nothing that libpq's manual does
 * not. */
#ifndef PAWL_STORE_LIBPQ_H
#define PAWL_STORE_LIBPQ_H

#include "pawl.h"

#include <libpq-fe.h>

/* All of libpq that we call. Those of pipeline mode came with libpq 14. */
#define PAWL_LIBPQ_FUNCTIONS(X) \
    X(backendPID)               \
    X(clear)                    \
    X(cmdStatus)                \
    X(cmdTuples)                \
    X(connectdbParams)          \
    X(consumeInput)             \
    X(enterPipelineMode)        \
    X(errorMessage)             \
    X(exec)                     \
    X(exitPipelineMode)         \
    X(finish)                   \
    X(flush)                    \
    X(freemem)                  \
    X(ftype)                    \
    X(getResult)                \
    X(getisnull)                \
    X(getlength)                \
    X(getvalue)                 \
    X(isBusy)                   \
    X(nfields)                  \
    X(notifies)                 \
    X(ntuples)                  \
    X(pipelineSync)             \
    X(resultErrorField)         \
    X(resultStatus)             \
    X(sendPrepare)              \
    X(sendQueryParams)          \
    X(sendQueryPrepared)        \
    X(serverVersion)            \
    X(setNoticeReceiver)        \
    X(setnonblocking)           \
    X(socket)                   \
    X(status)

struct pawl_libpq {
    void *library; /* of dlopen */
#define X(name) __typeof__(PQ##name) *name;
    PAWL_LIBPQ_FUNCTIONS(X)
#undef X
};

/* Opens the library and fills the table.
 *
 *   fails  PAWL_UNSUPPORTED  it is not installed, or older than 14 */
enum pawl_code pawl_libpq_load(struct pawl_libpq *pq, struct pawl_error *err) PAWL_MUST_USE;
void pawl_libpq_unload(struct pawl_libpq *pq); /* takes one that was never loaded */

#endif
