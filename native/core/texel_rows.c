/* Rows of texels of four bytes to rows of RGB (texel_rows.h). */
#include "core/texel_rows.h"

#include <string.h>

#include "core/variant.h"

#define INLINE static inline __attribute__((always_inline))

static uint32_t load_32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static void store_32(uint8_t *to, uint32_t word) {
    memcpy(to, &word, sizeof word);
}

INLINE uint32_t red_green_blue(uint32_t word, bool red_first) {
    return red_first ? word & 0xFFFFFFu : __builtin_bswap32(word) >> 8;
}

/* Twelve bytes of four texels, as three words. */
INLINE uint32_t four_texels(uint8_t *to, const uint8_t *from, bool red_first) {
    const uint32_t words[4] = {load_32(from), load_32(from + 4), load_32(from + 8), load_32(from + 12)};
    const uint32_t a = red_green_blue(words[0], red_first);
    const uint32_t b = red_green_blue(words[1], red_first);
    const uint32_t c = red_green_blue(words[2], red_first);
    const uint32_t d = red_green_blue(words[3], red_first);
    store_32(to, a | b << 24);
    store_32(to + 4, b >> 8 | c << 16);
    store_32(to + 8, c >> 16 | d << 8);
    return words[0] & words[1] & words[2] & words[3];
}

#if G4_VARIANT_LEVEL > 0 || defined(__SSSE3__) || defined(__aarch64__)
typedef uint8_t texels __attribute__((vector_size(16)));

/* As many texels as a vector writes without its last four bytes leaving the row: those belong to the next texels, which
 * are written afterwards. */
INLINE uint32_t whole_vectors(uint8_t *restrict to, const uint8_t *restrict from, uint32_t count, bool red_first,
                              uint32_t *all) {
    texels both = {0};
    uint32_t i = 0;
    both = ~both;
    for (; i + 8 <= count; i += 4) {
        texels v;
        memcpy(&v, from + 4 * (size_t)i, sizeof v);
        both &= v;
        v = red_first ? __builtin_shufflevector(v, v, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15)
                      : __builtin_shufflevector(v, v, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15);
        memcpy(to + 3 * (size_t)i, &v, sizeof v);
    }
    for (size_t word = 0; word < sizeof both; word += 4) {
        *all &= load_32((const uint8_t *)&both + word);
    }
    return i;
}
#else
INLINE uint32_t whole_vectors(uint8_t *restrict to, const uint8_t *restrict from, uint32_t count, bool red_first,
                              uint32_t *all) {
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        *all &= four_texels(to + 3 * (size_t)i, from + 4 * (size_t)i, red_first);
    }
    return i;
}
#endif

INLINE uint32_t convert(uint8_t *restrict to, const uint8_t *restrict from, uint32_t count, bool red_first) {
    uint32_t all = ~0u;
    uint32_t i = whole_vectors(to, from, count, red_first, &all);
    for (; i + 4 <= count; i += 4) {
        all &= four_texels(to + 3 * (size_t)i, from + 4 * (size_t)i, red_first);
    }
    for (; i < count; i++) {
        const uint32_t word = load_32(from + 4 * (size_t)i);
        const uint32_t rgb = red_green_blue(word, red_first);
        all &= word;
        for (int byte = 0; byte < 3; byte++) {
            to[3 * (size_t)i + (size_t)byte] = (uint8_t)(rgb >> 8 * byte);
        }
    }
    return all;
}

static uint32_t to_rgb(uint8_t *restrict to, const uint8_t *restrict from, uint32_t count, bool red_first) {
    return red_first ? convert(to, from, count, true) : convert(to, from, count, false);
}

G4_VARIANT_DECLARE(struct g4_texel_rows, g4_texel_rows);

const struct g4_texel_rows G4_V(g4_texel_rows) = {to_rgb};
