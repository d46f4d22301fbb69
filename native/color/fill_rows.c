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

/* Less than a line, from the first byte of a pattern on. */
static inline __attribute__((always_inline)) void
fill_rest(uint8_t *row, uint32_t bytes, const struct g4_pixel_pattern *value, const struct g4_pixel_pattern *keep) {
    uint32_t at = 0;

    for (; at + sizeof *value <= bytes; at += (uint32_t)sizeof *value) {
        struct g4_pixel_pattern v;
        memcpy(&v, row + at, sizeof v);
        for (uint32_t i = 0; i < WORDS; i++) {
            v.word[i] = (v.word[i] & keep->word[i]) | value->word[i];
        }
        memcpy(row + at, &v, sizeof v);
    }
    for (uint32_t i = 0; at < bytes; i++, at++) {
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

    if (all.bytes < sizeof(line)) {
        for (uint32_t y = 0; y < all.count; y++) {
            fill_rest(all.first + (size_t)y * all.pitch, all.bytes, value, keep);
        }
        return;
    }
    const line values = line_of(value);
    const line kept = line_of(keep);
    const bool replaces = !(keep->word[0] | keep->word[1]);

    for (uint32_t y = 0; y < all.count; y++) {
        fill_row(all.first + (size_t)y * all.pitch, all.bytes, values, kept, replaces, value, keep);
    }
}

const struct g4_fill_ops G4_V(g4_fill_ops) = {.rows = fill};
