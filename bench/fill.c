/* Fills a store that the library has created with finished and queued tasks, row by row as the product would
 * have written them, in large commits. Use: fill STORE FINISHED QUEUED [QUEUE]. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_A_COMMIT = 5000 };

static void fill(struct rows *rows, long count, bool is_finished)
{
    for (long i = 0; i < count; i++) {
        if (i % ROWS_A_COMMIT == 0) rows_begin(rows);
        if (is_finished) {
            rows_finished(rows);
        } else {
            (void)rows_create(rows);
        }
        if (i % ROWS_A_COMMIT == ROWS_A_COMMIT - 1 || i == count - 1) rows_commit(rows);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "use: fill STORE FINISHED QUEUED [QUEUE]\n");
        return 2;
    }
    struct rows rows;
    rows_open(&rows, argv[1], argc > 4 ? argv[4] : "backlog");
    fill(&rows, atol(argv[2]), true);
    fill(&rows, atol(argv[3]), false);
    rows_close(&rows);
    return 0;
}
