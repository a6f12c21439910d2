/* The binary form of an array is that of array_recv (arrayfuncs.c): number of dimensions, whether
 * there are NULLs, the type of the elements; length and lower bound of the dimension; then each
 * element, its length in front, -1 for NULL. All in the order of the network. An element is what
 * the same value would be by itself. */
#include "store/postgres_bundle.h"

#include "base/assert.h"
#include "base/error.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Of pg_type.dat; these never change. */
enum { OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25, OID_FLOAT8 = 701 };

enum {
    HEAD_BYTES = 5 * sizeof(uint32_t),
    LENGTH_BYTES = sizeof(uint32_t),
    ROOM_FIRST = 256,
};

static void put32(char *at, uint32_t number)
{
    number = htobe32(number);
    memcpy(at, &number, sizeof number);
}

static uint32_t get32(const char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return be32toh(number);
}

/* The end of the column, with room for so many bytes; NULL without memory. */
static char *more(struct pawl_bundle_column *column, size_t bytes)
{
    if (column->len == 0) column->len = HEAD_BYTES;
    if (column->len + bytes > column->room) {
        size_t room = column->room != 0 ? 2 * column->room : ROOM_FIRST;
        while (room < column->len + bytes) room *= 2;
        char *grown = realloc(column->bytes, room);
        if (grown == NULL) return NULL;
        column->bytes = grown;
        column->room = room;
    }
    char *at = column->bytes + column->len;
    column->len += bytes;
    return at;
}

static bool add_bytes(struct pawl_bundle_column *column, uint32_t type, const void *bytes,
                      size_t len)
{
    char *at = more(column, LENGTH_BYTES + len);
    if (at == NULL) return false;
    pawl_assert(column->type == 0 || column->type == type);
    column->type = type;
    put32(at, (uint32_t)len);
    if (len > 0) memcpy(at + LENGTH_BYTES, bytes, len);
    return true;
}

static bool add_value(struct pawl_bundle_column *column, const struct pawl_value *value)
{
    uint64_t bits;
    char *at;
    switch (value->kind) {
    case PAWL_VALUE_NULL:
        at = more(column, LENGTH_BYTES);
        if (at != NULL) put32(at, UINT32_MAX);
        column->has_null = true;
        return at != NULL;
    case PAWL_VALUE_INT64:
        bits = htobe64((uint64_t)value->is.number);
        return add_bytes(column, OID_INT8, &bits, sizeof bits);
    case PAWL_VALUE_DOUBLE:
        memcpy(&bits, &value->is.real, sizeof bits);
        bits = htobe64(bits);
        return add_bytes(column, OID_FLOAT8, &bits, sizeof bits);
    case PAWL_VALUE_TEXT:
        return add_bytes(column, OID_TEXT, value->is.text.ptr, value->is.text.len);
    case PAWL_VALUE_BLOB:
        return add_bytes(column, OID_BYTEA, value->is.text.ptr, value->is.text.len);
    }
    return false;
}

enum pawl_code pawl_bundle_add(struct pawl_bundle *bundle, const struct pawl_value *values,
                               size_t count, struct pawl_error *err)
{
    pawl_assert(count <= PAWL_BUNDLE_VALUES_MAX);
    pawl_assert(bundle->count == 0 || bundle->width == count);
    bundle->width = count;
    for (size_t i = 0; i < count; i++) {
        struct pawl_bundle_column *column = &bundle->columns[i];
        size_t before = column->len;
        if (!add_value(column, &values[i])) {
            pawl_bundle_reset(bundle);
            return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a statement");
        }
        bundle->bytes += column->len - before;
    }
    bundle->count++;
    return PAWL_OK;
}

void pawl_bundle_one(const struct pawl_bundle *bundle, struct pawl_bundle_parameters *out)
{
    pawl_assert(bundle->count == 1);
    for (size_t i = 0; i < bundle->width; i++) {
        const struct pawl_bundle_column *column = &bundle->columns[i];
        bool is_null = column->type == 0;
        out->values[i] = is_null ? NULL : column->bytes + HEAD_BYTES + LENGTH_BYTES;
        out->lengths[i] = is_null ? 0 : (int)get32(column->bytes + HEAD_BYTES);
        out->formats[i] = 1; /* binary */
        out->types[i] = column->type;
    }
}

void pawl_bundle_many(struct pawl_bundle *bundle, struct pawl_bundle_parameters *out)
{
    for (size_t i = 0; i < bundle->width; i++) {
        struct pawl_bundle_column *column = &bundle->columns[i];
        out->formats[i] = 1; /* binary */
        out->types[i] = 0;   /* the statement names them */
        out->values[i] = NULL;
        out->lengths[i] = 0;
        if (column->type == 0) continue;
        const uint32_t head[] = {1, column->has_null, column->type, (uint32_t)bundle->count, 1};
        for (size_t j = 0; j < sizeof head / sizeof *head; j++) {
            put32(column->bytes + j * sizeof *head, head[j]);
        }
        out->values[i] = column->bytes;
        out->lengths[i] = (int)column->len;
    }
}

void pawl_bundle_append(struct pawl_bundle_parameters *out, int at, const char *number, int len)
{
    pawl_assert(at < PAWL_BUNDLE_VALUES_MAX);
    out->values[at] = number;
    out->lengths[at] = len;
    out->formats[at] = 1; /* binary */
    out->types[at] = OID_INT8;
}

void pawl_bundle_reset(struct pawl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->width; i++) {
        struct pawl_bundle_column *column = &bundle->columns[i];
        column->len = 0;
        column->type = 0;
        column->has_null = false;
        if (column->room > PAWL_BUNDLE_BYTES_MAX) {
            free(column->bytes);
            *column = (struct pawl_bundle_column){0};
        }
    }
    bundle->count = 0;
    bundle->width = 0;
    bundle->bytes = 0;
}

void pawl_bundle_free(struct pawl_bundle *bundle)
{
    for (size_t i = 0; i < PAWL_BUNDLE_VALUES_MAX; i++) free(bundle->columns[i].bytes);
    *bundle = (struct pawl_bundle){0};
}
