/* Fills a store that the library has created with finished and queued tasks, row by row as the product would
 * have written them, in large commits. Use: fill STORE FINISHED QUEUED [QUEUE]. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_A_COMMIT = 5000 };

static void fill(struct rows *rows, long count, void (*add)(struct rows *rows, int count))
{
    for (long left = count; left > 0; left -= ROWS_A_COMMIT) {
        rows_begin(rows);
        add(rows, left < ROWS_A_COMMIT ? (int)left : ROWS_A_COMMIT);
        rows_commit(rows);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "use: fill STORE FINISHED QUEUED [QUEUE]\n");
        return 2;
    }
    static struct rows rows;
    rows_open(&rows, argv[1], argc > 4 ? argv[4] : "backlog");
    fill(&rows, atol(argv[2]), rows_finished);
    fill(&rows, atol(argv[3]), rows_create);
    rows_close(&rows);
    return 0;
}
