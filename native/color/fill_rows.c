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

/* The value of all pixels, as lines. */
struct filling {
    line values, kept;
    bool replaces; /* nothing is kept */
};

/* Part of a line, whose size the compiler knows. */
static inline __attribute__((always_inline)) void put(uint8_t *at, const struct filling *filling, size_t bytes) {
    line v = filling->values;
    if (!filling->replaces) {
        line old = {0};
        memcpy(&old, at, bytes);
        v |= old & filling->kept;
    }
    memcpy(at, &v, bytes);
}

/* At least one part, and less than two: the second one may overlap the first. */
static inline __attribute__((always_inline)) void put_two(uint8_t *at, size_t bytes, const struct filling *filling,
                                                          size_t part) {
    put(at, filling, part);
    put(at + bytes - part, filling, part);
}

/* Pixels side by side.  The size of one divides that of each part, so the pattern begins with a pixel everywhere. */
static inline __attribute__((always_inline)) void fill_span(uint8_t *at, size_t bytes, const struct filling *filling) {
    if (bytes >= sizeof(line)) {
        for (; bytes >= sizeof(line); at += sizeof(line), bytes -= sizeof(line)) {
            put(at, filling, sizeof(line));
        }
        if (bytes) { /* a line that overlaps the last one */
            put(at + bytes - sizeof(line), filling, sizeof(line));
        }
    } else if (bytes >= 32) {
        put_two(at, bytes, filling, 32);
    } else if (bytes >= 16) {
        put_two(at, bytes, filling, 16);
    } else if (bytes >= 8) {
        put_two(at, bytes, filling, 8);
    } else if (bytes >= 4) {
        put_two(at, bytes, filling, 4);
    } else if (bytes >= 2) {
        put_two(at, bytes, filling, 2);
    } else {
        put(at, filling, 1);
    }
}

static struct filling filling_of(const struct g4_pixel_pattern *value, const struct g4_pixel_pattern *keep) {
    return (struct filling){line_of(value), line_of(keep), !(keep->word[0] | keep->word[1])};
}

static void fill(const struct g4_filled_rows *rows, const struct g4_pixel_pattern *value,
                 const struct g4_pixel_pattern *keep) {
    const struct filling filling = filling_of(value, keep);
    const struct g4_filled_rows all = *rows;

    for (uint32_t y = 0; y < all.count; y++) {
        fill_span(all.first + (size_t)y * all.pitch, all.bytes, &filling);
    }
}

/* ---- some pixels of rows ---- */

/* The pixels of a row from the first lit one to the next dark one; `*lit` loses them. */
struct lit_span {
    uint32_t first, count;
};

static inline __attribute__((always_inline)) struct lit_span next_span(uint32_t *lit) {
    const uint32_t first = (uint32_t)__builtin_ctz(*lit);
    const uint32_t dark = ~(*lit >> first);
    const uint32_t count = dark ? (uint32_t)__builtin_ctz(dark) : 32;
    *lit &= count < 32 ? ~(((1u << count) - 1) << first) : 0;
    return (struct lit_span){first, count};
}

static void fill_lit_rows(const struct g4_lit_rows *rows, const struct g4_pixel_pattern *value,
                          const struct g4_pixel_pattern *keep) {
    const struct filling filling = filling_of(value, keep);
    const size_t bytes = rows->bytes;

    for (uint32_t y = 0; y < rows->count; y++) {
        uint8_t *const row = rows->first + (size_t)y * rows->pitch;
        for (uint32_t lit = rows->lit[y]; lit;) {
            const struct lit_span span = next_span(&lit);
            fill_span(row + span.first * bytes, span.count * bytes, &filling);
        }
    }
}

static void fill_lit_columns(const struct g4_lit_rows *rows, const struct g4_pixel_pattern *value,
                             const struct g4_pixel_pattern *keep) {
    enum {
        PIXELS = G4_PIXEL_MAP_COLUMN / 4, /* of a row of a column */
        EVERY = (1 << PIXELS) - 1
    };
    const struct filling filling = filling_of(value, keep);

    for (uint32_t y = 0; y < rows->count; y++) {
        uint8_t *const row = rows->first + (size_t)y * rows->pitch;
        for (uint32_t lit = rows->lit[y]; lit;) {
            const uint32_t column = (uint32_t)__builtin_ctz(lit) / PIXELS;
            uint8_t *const at = row + (size_t)column * G4_PIXEL_MAP_NEXT;
            uint32_t here = lit >> (column * PIXELS) & EVERY;
            lit &= ~((uint32_t)EVERY << (column * PIXELS));
            if (here == EVERY) {
                put(at, &filling, G4_PIXEL_MAP_COLUMN);
            }
            for (here = here == EVERY ? 0 : here; here; here &= here - 1) {
                put(at + 4 * (size_t)__builtin_ctz(here), &filling, 4);
            }
        }
    }
}

const struct g4_fill_ops G4_V(g4_fill_ops) = {.rows = fill, .lit_rows = fill_lit_rows, .lit_columns = fill_lit_columns};
