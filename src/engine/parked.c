#include "engine/parked.h"

#include "base/assert.h"
#include "base/heap.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/queue.h"
#include "engine/engine.h"

#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- What there is ---- */

/* A claim in the line before one queue. */
struct place {
    struct pawl_request *request;
    struct line *line;
    struct place *next;
    struct place *previous;
};

struct line {
    struct pawl_str name; /* points to bytes */
    int64_t key;          /* of the queue's row; 0 = nobody has seen one */
    struct place *first;
    struct place *last;
    int64_t ready;     /* roused: so many tasks have become ready */
    bool is_many;      /* roused: any number may have */
    bool is_roused;    /* it is in that list */
    bool stays_roused; /* while claims are being taken */
    struct line *next_roused;
    struct line *previous_roused;
    struct line *next;
    struct line *previous;
    char bytes[PAWL_QUEUE_NAME_BYTES_MAX];
};

struct pawl_waiting { /* all places of a request */
    int32_t number;   /* in the heap and among the requests */
    struct pawl_waiting *next_flagged; /* of those who may give up by a flag of theirs */
    struct pawl_waiting *previous_flagged;
    struct pawl_request *request;
    size_t count;
    struct place places[];
};

struct pawl_parked {
    void *by_name; /* trees of lines, tsearch(3) */
    void *by_key;  /* those whose key is known */
    struct line *first;
    struct line *roused;
    struct pawl_heap deadlines;
    struct pawl_heap openings; /* of limits, as each claim was told */
    struct pawl_request **requests; /* owned array, by number; NULL = free */
    int32_t *free_numbers;          /* owned array, a stack */
    int32_t free_count;
    int32_t room;
    size_t count;
    struct pawl_waiting *flagged; /* the claimers of this process: a few, however many others wait */
    uint64_t order;               /* the newest */
};

static int compare_names(const void *a, const void *b)
{
    return pawl_str_compare(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static int compare_keys(const void *a, const void *b)
{
    int64_t left = ((const struct line *)a)->key;
    int64_t right = ((const struct line *)b)->key;
    return (left > right) - (left < right);
}

struct pawl_parked *pawl_parked_open(void)
{
    return calloc(1, sizeof(struct pawl_parked));
}

void pawl_parked_close(struct pawl_parked *parked)
{
    if (parked == NULL) return;
    pawl_assert(parked->count == 0);
    pawl_heap_close(&parked->deadlines);
    pawl_heap_close(&parked->openings);
    free(parked->requests);
    free(parked->free_numbers);
    free(parked);
}

size_t pawl_parked_count(const struct pawl_parked *parked)
{
    return parked->count;
}

bool pawl_parked_holds(const struct pawl_request *request)
{
    return request->waiting != NULL;
}

/* ---- Roused lines ---- */

static void rouse(struct pawl_parked *parked, struct line *line)
{
    if (line->is_roused) return;
    line->is_roused = true;
    line->previous_roused = NULL;
    line->next_roused = parked->roused;
    if (parked->roused != NULL) parked->roused->previous_roused = line;
    parked->roused = line;
}

static void calm(struct pawl_parked *parked, struct line *line)
{
    line->ready = 0;
    line->is_many = false;
    if (!line->is_roused) return;
    line->is_roused = false;
    if (line->next_roused != NULL) line->next_roused->previous_roused = line->previous_roused;
    if (line->previous_roused != NULL) {
        line->previous_roused->next_roused = line->next_roused;
    } else {
        parked->roused = line->next_roused;
    }
}

static void rouse_many(struct pawl_parked *parked, struct line *line)
{
    line->is_many = true;
    rouse(parked, line);
}

/* ---- Lines ---- */

static struct line *find(void *const *tree, const struct line *like,
                         int (*compare)(const void *, const void *))
{
    void *node = tfind(like, tree, compare);
    return node == NULL ? NULL : *(struct line **)node;
}

static void close_line(struct pawl_parked *parked, struct line *line)
{
    calm(parked, line);
    (void)tdelete(line, &parked->by_name, compare_names);
    if (line->key != 0) (void)tdelete(line, &parked->by_key, compare_keys);
    if (line->next != NULL) line->next->previous = line->previous;
    if (line->previous != NULL) {
        line->previous->next = line->next;
    } else {
        parked->first = line->next;
    }
    free(line);
}

static struct line *line_of(struct pawl_parked *parked, struct pawl_str name)
{
    struct line like = {.name = name};
    struct line *line = find(&parked->by_name, &like, compare_names);
    if (line != NULL) return line;
    pawl_assert(name.len <= PAWL_QUEUE_NAME_BYTES_MAX);
    line = calloc(1, sizeof *line);
    if (line == NULL) return NULL;
    memcpy(line->bytes, name.ptr, name.len);
    line->name = (struct pawl_str){line->bytes, name.len};
    if (tsearch(line, &parked->by_name, compare_names) == NULL) {
        free(line);
        return NULL;
    }
    line->next = parked->first;
    if (parked->first != NULL) parked->first->previous = line;
    parked->first = line;
    return line;
}

/* Without memory for it the line is found by its name, while the row is in hand. */
static void learn_key(struct pawl_parked *parked, struct line *line, int64_t key)
{
    if (line->key != 0 || key == 0) return;
    line->key = key;
    if (tsearch(line, &parked->by_key, compare_keys) == NULL) line->key = 0;
}

/* Those who have been here before came before those who wait. */
static void enter(struct line *line, struct place *place)
{
    struct place *after = line->last;
    if (after != NULL && after->request->parked_order > place->request->parked_order) {
        after = NULL;
        for (struct place *at = line->first;
             at->request->parked_order < place->request->parked_order;) {
            after = at;
            at = at->next;
        }
    }
    place->line = line;
    place->previous = after;
    place->next = after == NULL ? line->first : after->next;
    if (place->next != NULL) {
        place->next->previous = place;
    } else {
        line->last = place;
    }
    if (after != NULL) {
        after->next = place;
    } else {
        line->first = place;
    }
}

static void leave(struct pawl_parked *parked, struct place *place)
{
    struct line *line = place->line;
    if (place->next != NULL) {
        place->next->previous = place->previous;
    } else {
        line->last = place->previous;
    }
    if (place->previous != NULL) {
        place->previous->next = place->next;
    } else {
        line->first = place->next;
    }
    if (line->first == NULL) close_line(parked, line);
}

/* ---- In and out ---- */

static bool grow(struct pawl_parked *parked)
{
    int32_t room = parked->room == 0 ? 16 : parked->room * 2;
    struct pawl_request **requests = realloc(parked->requests, (size_t)room * sizeof *requests);
    if (requests != NULL) parked->requests = requests;
    int32_t *numbers = realloc(parked->free_numbers, (size_t)room * sizeof *numbers);
    if (numbers != NULL) parked->free_numbers = numbers;
    if (requests == NULL || numbers == NULL) return false;
    if (!pawl_heap_grow(&parked->deadlines, parked->room, room)) return false;
    if (!pawl_heap_grow(&parked->openings, parked->room, room)) return false;
    for (int32_t number = room - 1; number >= parked->room; number--) {
        requests[number] = NULL;
        numbers[parked->free_count++] = number;
    }
    parked->room = room;
    return true;
}

static bool has_line(const struct pawl_waiting *waiting, const struct line *line)
{
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->places[i].line == line) return true;
    }
    return false;
}

static bool enter_lines(struct pawl_parked *parked, struct pawl_request *request,
                        const struct pawl_str *names, size_t count)
{
    struct pawl_waiting *waiting = request->waiting;
    for (size_t i = 0; i < count; i++) {
        struct line *line = line_of(parked, pawl_queue_name(names[i]));
        if (line == NULL) return false;
        if (has_line(waiting, line)) continue; /* named twice */
        struct place *place = &waiting->places[waiting->count++];
        place->request = request;
        enter(line, place);
    }
    return true;
}

static void flag(struct pawl_parked *parked, struct pawl_waiting *waiting)
{
    waiting->next_flagged = parked->flagged;
    if (parked->flagged != NULL) parked->flagged->previous_flagged = waiting;
    parked->flagged = waiting;
}

static void unflag(struct pawl_parked *parked, struct pawl_waiting *waiting)
{
    if (waiting->next_flagged != NULL) waiting->next_flagged->previous_flagged = waiting->previous_flagged;
    if (waiting->previous_flagged != NULL) {
        waiting->previous_flagged->next_flagged = waiting->next_flagged;
    } else {
        parked->flagged = waiting->next_flagged;
    }
}

void pawl_parked_remove(struct pawl_parked *parked, struct pawl_request *request)
{
    struct pawl_waiting *waiting = request->waiting;
    pawl_assert(waiting != NULL && parked->requests[waiting->number] == request);
    for (size_t i = 0; i < waiting->count; i++) leave(parked, &waiting->places[i]);
    pawl_heap_set(&parked->deadlines, waiting->number, INT64_MAX);
    pawl_heap_set(&parked->openings, waiting->number, INT64_MAX);
    parked->requests[waiting->number] = NULL;
    parked->free_numbers[parked->free_count++] = waiting->number;
    parked->count--;
    if (request->gives_up != NULL) unflag(parked, waiting);
    request->waiting = NULL;
    free(waiting);
}

static bool put(struct pawl_parked *parked, struct pawl_request *request)
{
    size_t count;
    const struct pawl_str *names = pawl_claim_queues(request->command.ask.claim.ask, &count);
    if (parked->free_count == 0 && !grow(parked)) return false;
    struct pawl_waiting *waiting = calloc(1, sizeof *waiting + count * sizeof *waiting->places);
    if (waiting == NULL) return false;
    if (request->parked_order == 0) request->parked_order = ++parked->order;
    request->waiting = waiting;
    waiting->request = request;
    waiting->number = parked->free_numbers[--parked->free_count];
    parked->requests[waiting->number] = request;
    parked->count++;
    if (request->gives_up != NULL) flag(parked, waiting);
    pawl_heap_set(&parked->deadlines, waiting->number, request->until_boot_ms);
    if (enter_lines(parked, request, names, count)) return true;
    pawl_parked_remove(parked, request);
    return false;
}

bool pawl_parked_put(struct pawl_parked *parked, struct pawl_request *request,
                     const struct pawl_set *set)
{
    if (!put(parked, request)) return false;
    for (size_t i = 0; i < request->waiting->count; i++) {
        struct line *line = request->waiting->places[i].line;
        const int64_t *key = pawl_set_known(set, PAWL_LOOK_QUEUE_NAME, 0, line->name);
        if (key != NULL) learn_key(parked, line, *key);
        calm(parked, line);
    }
    if (request->opens_boot_ms != 0) {
        pawl_heap_set(&parked->openings, request->waiting->number, request->opens_boot_ms);
    }
    return true;
}

bool pawl_parked_put_back(struct pawl_parked *parked, struct pawl_request *request)
{
    if (!put(parked, request)) return false;
    for (size_t i = 0; i < request->waiting->count; i++)
        rouse_many(parked, request->waiting->places[i].line);
    return true;
}

/* ---- Rousing ---- */

/* The line before a queue. One that nobody had seen when they began to wait is known by the row
 * just made. */
static struct line *line_by_key(struct pawl_parked *parked, int64_t key, const struct pawl_set *set)
{
    static const struct pawl_str none = {0};
    struct line like = {.key = key};
    struct line *line = find(&parked->by_key, &like, compare_keys);
    if (line != NULL) return line;
    const struct pawl_queue_row *row = pawl_set_known(set, PAWL_LOOK_QUEUE, key, none);
    if (row == NULL) return NULL;
    like.name = row->name;
    line = find(&parked->by_name, &like, compare_names);
    if (line != NULL) learn_key(parked, line, key);
    return line;
}

/* A queue is of a definition by its name, whatever its domain. */
static bool is_of_gate(const struct line *line, struct pawl_str gate)
{
    if (line->name.len < gate.len) return false;
    size_t before = line->name.len - gate.len;
    if (before > 0 && line->name.ptr[before - 1] != ':') return false;
    return pawl_str_equal((struct pawl_str){line->name.ptr + before, gate.len}, gate);
}

static void rouse_gate(struct pawl_parked *parked, const struct pawl_ready *ready)
{
    for (struct line *line = parked->first; line != NULL; line = line->next) {
        if (!is_of_gate(line, ready->gate)) continue;
        line->ready++;
        if (ready->is_many) line->is_many = true;
        rouse(parked, line);
    }
}

void pawl_parked_rouse(struct pawl_parked *parked, struct pawl_step *step)
{
    struct pawl_ready *const *ready = step->ready.items;
    for (size_t i = 0; i < step->ready.count && parked->count > 0; i++) {
        if (ready[i]->queue == 0) {
            rouse_gate(parked, ready[i]);
            continue;
        }
        struct line *line = line_by_key(parked, ready[i]->queue, &step->set);
        if (line == NULL) continue;
        line->ready++;
        if (ready[i]->is_many) line->is_many = true;
        rouse(parked, line);
    }
    step->ready.count = 0;
}

void pawl_parked_rouse_all(struct pawl_parked *parked)
{
    for (struct line *line = parked->first; line != NULL; line = line->next)
        rouse_many(parked, line);
}

void pawl_parked_rouse_for(struct pawl_parked *parked, const struct pawl_request *request)
{
    size_t count;
    const struct pawl_str *names = pawl_claim_queues(request->command.ask.claim.ask, &count);
    for (size_t i = 0; i < count && parked->count > 0; i++) {
        struct line like = {.name = pawl_queue_name(names[i])};
        struct line *line = find(&parked->by_name, &like, compare_names);
        if (line != NULL) rouse_many(parked, line);
    }
}

void pawl_parked_rouse_opened(struct pawl_parked *parked, int64_t now_boot_ms)
{
    int32_t number;
    while (pawl_heap_first(&parked->openings, &number) <= now_boot_ms) {
        pawl_heap_set(&parked->openings, number, INT64_MAX);
        pawl_parked_rouse_for(parked, parked->requests[number]);
    }
}

bool pawl_parked_is_roused(const struct pawl_parked *parked)
{
    return parked->roused != NULL;
}

/* Takes the first ones of a line. It stays roused if there may be more for those behind: then it
 * says so, since lines come and go while claims are taken. */
static bool take_first(struct pawl_parked *parked, struct line *line, struct pawl_requests *list,
                       size_t max)
{
    bool is_many = line->is_many;
    int64_t allowed = line->ready + (is_many ? PAWL_PARKED_TRIED_MAX : 0);
    bool is_last = false;
    calm(parked, line);
    while (!is_last && allowed > 0 && list->count < max) {
        struct pawl_request *request = line->first->request;
        is_last = line->first == line->last; /* then the line goes with him */
        pawl_parked_remove(parked, request);
        pawl_requests_add(list, request);
        allowed--;
    }
    if (is_last || (allowed == 0 && !is_many)) return false;
    line->ready = allowed;
    line->is_many = is_many;
    line->stays_roused = true;
    return true;
}

void pawl_parked_take(struct pawl_parked *parked, struct pawl_requests *list, size_t max)
{
    bool some_stay = false;
    while (parked->roused != NULL && list->count < max) {
        if (take_first(parked, parked->roused, list, max)) some_stay = true;
    }
    for (struct line *line = parked->first; line != NULL && some_stay; line = line->next) {
        if (line->stays_roused) rouse(parked, line);
        line->stays_roused = false;
    }
}

/* ---- Waiting ---- */

int64_t pawl_parked_until(const struct pawl_parked *parked)
{
    int32_t number;
    int64_t opens_boot_ms = pawl_heap_first(&parked->openings, &number);
    int64_t until_boot_ms = pawl_heap_first(&parked->deadlines, &number);
    return opens_boot_ms < until_boot_ms ? opens_boot_ms : until_boot_ms;
}

static void take_out(struct pawl_parked *parked, struct pawl_request *request,
                     struct pawl_requests *list)
{
    pawl_parked_remove(parked, request);
    pawl_requests_add(list, request);
}

void pawl_parked_take_waited_out(struct pawl_parked *parked, int64_t now_boot_ms, bool is_all,
                                 struct pawl_requests *list)
{
    int32_t number;
    while (pawl_heap_first(&parked->deadlines, &number) <= now_boot_ms) {
        take_out(parked, parked->requests[number], list);
    }
    struct pawl_waiting *next = NULL;
    for (struct pawl_waiting *waiting = parked->flagged; waiting != NULL; waiting = next) {
        next = waiting->next_flagged;
        if (atomic_load(waiting->request->gives_up)) take_out(parked, waiting->request, list);
    }
    for (number = 0; number < parked->room && is_all; number++) {
        if (parked->requests[number] != NULL) take_out(parked, parked->requests[number], list);
    }
}

size_t pawl_parked_queues(const struct pawl_parked *parked, struct pawl_str *names, size_t max)
{
    size_t count = 0;
    for (const struct line *line = parked->first; line != NULL; line = line->next, count++) {
        if (count < max) names[count] = line->name;
    }
    return count;
}
