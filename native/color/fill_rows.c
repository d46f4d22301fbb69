/* Repeats a value in memory that may be written directly, for clears. */
#include <string.h>

#include "color/state.h"

enum {
    WORDS = 8 /* a cache line of most hosts */
};

typedef uint64_t line __attribute__((vector_size(8 * WORDS)));

static inline __attribute__((always_inline)) void fill_row(uint8_t *row, uint32_t bytes, uint64_t value,
                                                           uint64_t keep) {
    const line values = {value, value, value, value, value, value, value, value};
    uint32_t at = 0;

    for (; keep == 0 && at + sizeof values <= bytes; at += (uint32_t)sizeof values) { /* without reading */
        memcpy(row + at, &values, sizeof values);
    }
    for (; at + sizeof values <= bytes; at += (uint32_t)sizeof values) {
        line v;
        memcpy(&v, row + at, sizeof v);
        v = (v & keep) | values;
        memcpy(row + at, &v, sizeof v);
    }
    for (; at < bytes; at += 4) {
        uint32_t v;
        memcpy(&v, row + at, sizeof v);
        v = (v & (uint32_t)keep) | (uint32_t)value;
        memcpy(row + at, &v, sizeof v);
    }
}

static void fill(const struct g4_filled_rows *rows, uint64_t value, uint64_t keep) {
    for (uint32_t y = 0; y < rows->count; y++) {
        fill_row(rows->first + (size_t)y * rows->pitch, rows->bytes, value, keep);
    }
}

const struct g4_fill_ops G4_V(g4_fill_ops) = {.rows = fill};
