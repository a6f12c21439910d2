/* The word somebody may have meant. */
#ifndef PAWL_WIRE_NEAREST_H
#define PAWL_WIRE_NEAREST_H

#include "pawl.h"

/* Of the words offered one by one, the one that differs least from what was written. */
struct pawl_nearest {
    struct pawl_str written;
    const char *word; /* the best so far; NULL = none is near enough */
    size_t distance;
};

struct pawl_nearest pawl_nearest_to(struct pawl_str written);
void pawl_nearest_offer(struct pawl_nearest *nearest, const char *word);
/* The same for a word that does harm where another was meant: one slip of the hand at most. */
void pawl_nearest_offer_warily(struct pawl_nearest *nearest, const char *word);

#endif
