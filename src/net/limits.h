/* Every bound of the server, with its reason. */
#ifndef PAWL_NET_LIMITS_H
#define PAWL_NET_LIMITS_H

#include "pawl.h"

#include <assert.h>

enum {
    /* ---- One request ---- */

    /* Verb, target and version. Ids and names are short; what is long belongs in a body. */
    PAWL_NET_REQUEST_LINE_BYTES_MAX = 8 * 1024,
    /* All header lines together. Clients of the kind we know send 500 bytes; a proxy adds some, a
     * token up to 4 KiB. */
    PAWL_NET_HEADERS_BYTES_MAX = 32 * 1024,
    PAWL_NET_HEADERS_MAX = 100,
    PAWL_NET_BODY_BYTES_MAX =
        16 * 1024 * 1024, /* a payload of 10 MiB, escaped, with what is around it */
    /* The line in front of a chunk: eight digits are enough for any body, the rest is for an
     * extension, which is read over. */
    PAWL_NET_CHUNK_DIGITS_MAX = 8,
    PAWL_NET_CHUNK_LINE_BYTES_MAX = 256,
    PAWL_NET_REFUSED_BODY_BYTES_MAX =
        64 * 1024,                 /* of a refused request, read over to keep the connection */
    PAWL_NET_SEGMENTS_MAX = 16,    /* of a path; the longest of a route has 8 */
    PAWL_NET_PARAMETERS_MAX = 256, /* of a query: a list of ids in repeated keys */

    /* A body that doubled while it grew, its tree or its decoded payload, and the answer. A budget:
     * blocks come as needed. */
    PAWL_NET_EXCHANGE_ARENA_BYTES_MAX = 96 * 1024 * 1024,

    /* ---- One answer ---- */

    PAWL_NET_ANSWER_HEADERS_BYTES_MAX = 1024, /* those a handler adds */
    PAWL_NET_ANSWER_HEAD_BYTES_MAX = 2048,
    PAWL_NET_REQUEST_ID_BYTES_MAX =
        64, /* X-Request-Id as it is taken over; a longer one is replaced */
    /* Pieces of a streaming answer that its reader has not taken yet. A slower reader is told by
     * the end of the stream and comes back with where it was. */
    PAWL_NET_STREAM_BYTES_MAX = 1024 * 1024,

    /* ---- The server ---- */

    PAWL_NET_LOOPS_MAX = 16,
    PAWL_NET_LISTENERS_MAX = 16,
    PAWL_NET_CONNECTIONS_MAX = 20 * 1000, /* default: 10 000 waiting polls, and as many again */
    PAWL_NET_EXCHANGES_MAX = 16 * 1024, /* default of those under way at once; beyond it is BUSY */
    PAWL_NET_READ_BYTES = 64 * 1024,    /* of one read; a loop has one such buffer */
    PAWL_NET_TLS_READ_BYTES = 16 * 1024, /* of one record, at most */
    PAWL_NET_TLS_WRITE_BYTES = 256 * 1024, /* sealed at a time: a fraction of a millisecond of the loop's */
    PAWL_NET_AHEAD_BYTES_MAX = PAWL_NET_READ_BYTES, /* sent before the answer to what came before */
    PAWL_NET_TURNED_AWAY_MAX = 64, /* beyond the limit, told so; others are just closed */
    PAWL_NET_BACKLOG = 1024,
    PAWL_NET_METRIC_QUEUES_MAX = 1000, /* told apart in a page of metrics: Prometheus keeps a series of each */
    PAWL_NET_LOOKS_MAX = 32, /* of readiness and metrics, waiting for the store */

    /* Threads that read pages and single tasks, each with a connection to the store. A page is a
     * millisecond of one core; more readers than cores only share them. */
    PAWL_NET_READERS_MAX = 64,
    PAWL_NET_READERS_DEFAULT = 4,
    PAWL_NET_READS_MAX = 4096, /* waiting for a reader: seconds of work; beyond it is BUSY */

    /* ---- Conductor's wire ---- */

    PAWL_CONDUCTOR_POLL_MS = 100,          /* how long a poll waits that does not say */
    PAWL_CONDUCTOR_POLL_MS_MAX = 5 * 1000, /* what its clients may ask for */
    /* Its clients renew at four fifths of a lease, by a clock of whole seconds: a lease of 1 s would end under them. */
    PAWL_CONDUCTOR_LEASE_GRACE_MS = 1000,
    /* Tasks of a workflow that one answer shows, each with its payloads: beyond it there are pages. */
    PAWL_CONDUCTOR_TASKS_MAX = 20 * 1000,
    /* Those that wait for what comes of a workflow, each looked at whenever anything is committed. */
    PAWL_CONDUCTOR_WAITS_MAX = 1000,
    PAWL_CONDUCTOR_LOOK_EVERY_MS = 100, /* and at least so often */
    PAWL_CONDUCTOR_EXECUTE_S = 10,      /* how long a synchronous start waits that does not say */
    PAWL_CONDUCTOR_EXECUTE_S_MAX = 3600,
    /* A search counts exactly so far, and looks at no more matches: what comes after is older. */
    PAWL_CONDUCTOR_HITS_MAX = 10 * 1000,
    /* Tasks that a search looks at, newest first: some seconds. One for a task, or a workflow, by its id has no need of
     * it. */
    PAWL_CONDUCTOR_TASKS_LOOKED_MAX = 500 * 1000,
    PAWL_CONDUCTOR_MOCKS_MAX = 1000, /* of a test run: each is a step, which reads the whole definition */
    PAWL_CONDUCTOR_SIZE_MAX = 5000, /* of a page */
    PAWL_CONDUCTOR_QUEUES_MAX = 16 * 1024, /* of poll data: 200 bytes each */

    /* Live streams and waiting reads of consumers. Each costs a look at each page of events; beyond it is LIMIT. */
    PAWL_NET_FEED_MEMBERS_MAX = 1024,
    PAWL_NET_FEED_EVENTS = 64, /* of a page: half a megabyte at most, so that it fits in a stream with half its room */
    PAWL_NET_FEED_QUIET_MS_MAX = 15 * 1000, /* without a piece: proxies give up after 30 s or more */
    PAWL_NET_FEED_AGAIN_MS = 50, /* until a stream that was held, or a store that was away, is looked at again */

    /* ---- Deadlines (defaults) ---- */

    PAWL_NET_TOKENS_EVERY_MS = 1000, /* tokens are read anew: so long a revoked one is good still */

    PAWL_NET_HEADERS_MS_MAX =
        20 * 1000, /* from the first byte of a request to the last of its headers */
    PAWL_NET_BODY_MS_MAX = 60 * 1000,   /* 16 MiB at 280 KB/s */
    PAWL_NET_ANSWER_MS_MAX = 60 * 1000, /* without the reader taking all of a piece */
    PAWL_NET_IDLE_MS_MAX = 90 * 1000,   /* clients keep connections for 75 s, some believe longer */
    /* A refused client may still be sending: what comes is read over for so long and so much, so
     * that the answer reaches it and is not torn away by a reset. */
    PAWL_NET_LINGER_MS_MAX = 2 * 1000,
    PAWL_NET_LINGER_BYTES_MAX = 2 * PAWL_NET_BODY_BYTES_MAX,
    PAWL_NET_DRAIN_MS_MAX = 30 * 1000,
    PAWL_NET_RETRY_AFTER_S = 1, /* what a client that was told BUSY is asked to wait */
};

static_assert((int)PAWL_NET_IDLE_MS_MAX >= 75 * 1000,
              "shorter than what clients keep open loses their requests");
static_assert((int64_t)4 * PAWL_NET_BODY_BYTES_MAX <= (int64_t)PAWL_NET_EXCHANGE_ARENA_BYTES_MAX,
              "a body, its copy and its answer must fit in one arena");

#endif
