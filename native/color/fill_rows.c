/* Repeats a value in memory that may be written directly, for clears. */
#include <string.h>

#include "color/state.h"

enum {
    PATTERNS = 4, /* in a cache line of most hosts */
    WORDS = G4_PIXEL_BYTES / 8,
};

typedef uint64_t line __attribute__((vector_size(8 * PATTERNS * WORDS)));

static inline __attribute__((always_inline)) line line_of(const struct g4_pixel_pattern *pattern) {
    const uint64_t a = pattern->word[0];
    const uint64_t b = pattern->word[1];
    return (line){a, b, a, b, a, b, a, b};
}

/* The last bytes of a row: less than a line, from the first byte of a pattern on. */
static inline void fill_rest(uint8_t *row, uint32_t bytes, const struct g4_pixel_pattern *value,
                             const struct g4_pixel_pattern *keep) {
    uint32_t at = 0;

    for (; at + 4 <= bytes; at += 4) {
        uint32_t v, bits, kept;
        memcpy(&v, row + at, sizeof v);
        memcpy(&bits, (const uint8_t *)value + at % G4_PIXEL_BYTES, sizeof bits);
        memcpy(&kept, (const uint8_t *)keep + at % G4_PIXEL_BYTES, sizeof kept);
        v = (v & kept) | bits;
        memcpy(row + at, &v, sizeof v);
    }
    for (; at < bytes; at++) {
        const uint32_t i = at % G4_PIXEL_BYTES;
        row[at] = (uint8_t)((row[at] & ((const uint8_t *)keep)[i]) | ((const uint8_t *)value)[i]);
    }
}

/* A row, and the patterns once more as lines, which are registers. */
static inline __attribute__((always_inline)) void fill_row(uint8_t *row, uint32_t bytes, line values, line kept,
                                                           bool replaces, const struct g4_pixel_pattern *value,
                                                           const struct g4_pixel_pattern *keep) {
    uint32_t at = 0;

    for (; replaces && at + sizeof values <= bytes; at += (uint32_t)sizeof values) { /* without reading */
        memcpy(row + at, &values, sizeof values);
    }
    for (; at + sizeof values <= bytes; at += (uint32_t)sizeof values) {
        line v;
        memcpy(&v, row + at, sizeof v);
        v = (v & kept) | values;
        memcpy(row + at, &v, sizeof v);
    }
    if (at < bytes) {
        fill_rest(row + at, bytes - at, value, keep);
    }
}

static void fill(const struct g4_filled_rows *rows, const struct g4_pixel_pattern *value,
                 const struct g4_pixel_pattern *keep) {
    const struct g4_filled_rows all = *rows;
    const line values = line_of(value);
    const line kept = line_of(keep);
    const bool replaces = !(keep->word[0] | keep->word[1]);

    for (uint32_t y = 0; y < all.count; y++) {
        fill_row(all.first + (size_t)y * all.pitch, all.bytes, values, kept, replaces, value, keep);
    }
}

const struct g4_fill_ops G4_V(g4_fill_ops) = {.rows = fill};
