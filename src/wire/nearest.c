#include "wire/nearest.h"

#include "base/str.h"

enum {
    /* Longer words are nobody's slip of the hand. */
    WORD_BYTES_MAX = 48,
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to add, drop or change (Levenshtein), or to swap with their neighbour. */
static size_t distance_of(struct pawl_str a, struct pawl_str b)
{
    size_t rows[3][WORD_BYTES_MAX + 1];
    size_t *before_last = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= b.len; j++) last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t changed = last[j - 1] + (a.ptr[i - 1] == b.ptr[j - 1] ? 0 : 1);
            row[j] = least(changed, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1]) {
                row[j] = least(row[j], before_last[j - 2] + 1);
            }
        }
        size_t *free_row = before_last;
        before_last = last;
        last = row;
        row = free_row;
    }
    return last[b.len];
}

struct pawl_nearest pawl_nearest_to(struct pawl_str written)
{
    return (struct pawl_nearest){.written = written};
}

static void offer(struct pawl_nearest *nearest, const char *word, size_t slips_max)
{
    struct pawl_str offered = pawl_str_of(word);
    struct pawl_str written = nearest->written;
    if (written.len == 0 || written.len > WORD_BYTES_MAX || offered.len > WORD_BYTES_MAX) return;
    size_t distance = distance_of(written, offered);
    size_t near_enough = least(slips_max, written.len <= 3 ? 1 : written.len <= 6 ? 2 : 3);
    /* The start of a word is near it, whatever the rest. */
    if (written.len >= 3 && pawl_str_starts(offered, written)) distance = 1;
    if (distance > near_enough) return;
    if (nearest->word != NULL && distance >= nearest->distance) return;
    nearest->word = word;
    nearest->distance = distance;
}

void pawl_nearest_offer(struct pawl_nearest *nearest, const char *word)
{
    offer(nearest, word, WORD_BYTES_MAX);
}

void pawl_nearest_offer_warily(struct pawl_nearest *nearest, const char *word)
{
    offer(nearest, word, 1);
}
