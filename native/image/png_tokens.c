/* The inner loops of the PNG encoder.
 *
 * Bits of a mask say which bytes are equal to the byte or to the pixel before them; runs of such bits become matches.
 */
#include "image/png_tokens.h"

#include <stdbool.h>

#include "core/variant.h"

#if defined(__SSE2__) && G4_VARIANT_LEVEL == 0
#include <emmintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    LEAST_BYTES = 5, /* of a run of equal bytes that becomes matches */
    LEAST_PIXEL_BYTES = 6,
    MASK_BITS = 64,
    COPIED = 16,        /* literals that become tokens at once */
    SUMMED_ZEROS = 256, /* bytes of a run of zeros that the checksum takes at once */
    TOKENS_PER_STORE = 6,
    ADLER_MODULUS = 65521,
    ADLER_COLUMNS = 32,
    ADLER_ROWS = 16, /* 255 * 16 * 17 / 2 fits 16 bits */
};

typedef uint8_t bytes __attribute__((vector_size(COPIED)));
typedef uint16_t words __attribute__((vector_size(2 * COPIED)));

static void subtract(uint8_t *restrict to, const uint8_t *restrict row, const uint8_t *restrict above, size_t size) {
    for (size_t i = 0; i < size; i++) {
        to[i] = (uint8_t)(row[i] - above[i]);
    }
}

/* ---- the checksum (RFC 1950, 8.2) ---- */

/* Sums of columns, and sums of those sums after each row, instead of one byte after the other. */
static uint32_t adler_of(uint32_t adler, const uint8_t *data, size_t size) {
    uint32_t low = adler & 0xFFFF;
    uint32_t high = adler >> 16;
    while (size >= ADLER_COLUMNS) {
        const size_t rows = size / ADLER_COLUMNS < ADLER_ROWS ? size / ADLER_COLUMNS : ADLER_ROWS;
        const uint32_t piece = (uint32_t)rows * ADLER_COLUMNS;
        uint16_t column[ADLER_COLUMNS] = {0};
        uint16_t running[ADLER_COLUMNS] = {0};
        for (size_t row = 0; row < rows; row++, data += ADLER_COLUMNS) {
            for (int i = 0; i < ADLER_COLUMNS; i++) {
                column[i] = (uint16_t)(column[i] + data[i]);
                running[i] = (uint16_t)(running[i] + column[i]);
            }
        }
        uint32_t sum = 0;
        uint32_t sums = 0;
        uint32_t beyond = 0;
        for (uint32_t i = 0; i < ADLER_COLUMNS; i++) {
            sum += column[i];
            sums += running[i];
            beyond += i * column[i];
        }
        high = (high + piece * low + ADLER_COLUMNS * sums - beyond) % ADLER_MODULUS;
        low = (low + sum) % ADLER_MODULUS;
        size -= piece;
    }
    for (; size; size--) {
        low += *data++;
        high += low;
    }
    return high % ADLER_MODULUS << 16 | low % ADLER_MODULUS;
}

static uint32_t adler_of_zeros(uint32_t adler, size_t size) {
    const uint32_t low = adler & 0xFFFF;
    const uint64_t high = (adler >> 16) + (uint64_t)size * low;
    return (uint32_t)(high % ADLER_MODULUS) << 16 | low;
}

/* ---- masks ---- */

/* Which of 64 bytes are equal to those `distance` bytes before them. */
INLINE uint64_t equal_mask(const uint8_t *at, uint32_t distance) {
#if G4_VARIANT_LEVEL == 2
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_loadu_si512(at - distance));
#else
    uint64_t mask = 0;
#if G4_VARIANT_LEVEL == 1
    for (int i = 0; i < MASK_BITS; i += 32) {
        const __m256i here = _mm256_loadu_si256((const __m256i *)(at + i));
        const __m256i before = _mm256_loadu_si256((const __m256i *)(at + i - distance));
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, before)) << i;
    }
#elif defined(__SSE2__)
    for (int i = 0; i < MASK_BITS; i += 16) {
        const __m128i here = _mm_loadu_si128((const __m128i *)(at + i));
        const __m128i before = _mm_loadu_si128((const __m128i *)(at + i - distance));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(here, before)) << i;
    }
#else
    for (int i = 0; i < MASK_BITS; i++) {
        mask |= (uint64_t)(at[i] == at[i - (int)distance]) << i;
    }
#endif
    return mask;
#endif
}

INLINE uint64_t bits_from(uint32_t bit) {
    return ~UINT64_C(0) << bit;
}

/* The masks of a block: for each 64 bytes, that of bytes and that of pixels.  Zeros follow them. */
static void make_masks(uint8_t *block, uint32_t size, uint32_t pixel_distance, uint64_t *masks) {
    const uint32_t count = size / MASK_BITS;
    uint64_t *next = masks;
    memset(block + size, 0, G4_PNG_PADDING);
    for (uint32_t i = 0; i <= count; i++, block += MASK_BITS, next += 2) {
        if (i) {
            next[0] = equal_mask(block, 1);
            next[1] = equal_mask(block, pixel_distance);
            continue;
        }
        uint8_t first[2 * MASK_BITS] = {0}; /* nothing is before the block */
        memcpy(first + MASK_BITS, block, MASK_BITS);
        next[0] = equal_mask(first + MASK_BITS, 1) & bits_from(1);
        next[1] = equal_mask(first + MASK_BITS, pixel_distance) & bits_from(pixel_distance);
    }
    next[-2] &= ~bits_from(size % MASK_BITS);
    next[-1] &= ~bits_from(size % MASK_BITS);
    memset(next, 0, 4 * sizeof *next);
}

/* ---- runs ---- */

INLINE uint64_t shift_down(uint64_t low, uint64_t high, int count) {
    return low >> count | high << (MASK_BITS - count);
}

/* From which bits of a mask on LEAST_BYTES or LEAST_PIXEL_BYTES bits are set; `high` is the next mask. */
INLINE uint64_t run_starts(uint64_t low, uint64_t high, bool of_pixels) {
    const uint64_t two = low & shift_down(low, high, 1);
    const uint64_t two_high = high & high >> 1;
    const uint64_t four = two & shift_down(two, two_high, 2);
    _Static_assert(LEAST_BYTES == 5 && LEAST_PIXEL_BYTES == 6, "");
    return of_pixels ? four & shift_down(two, two_high, 4) : four & shift_down(low, high, 4);
}

struct pixel_run {
    uint32_t start, end;
    bool of_pixels;
};

/* The next run from `at` on.  False: there is none before `size`. */
INLINE bool find_run(const uint64_t *masks, uint32_t at, uint32_t size, struct pixel_run *run) {
    uint64_t allowed = bits_from(at % MASK_BITS);
    for (at &= ~(MASK_BITS - 1u); at < size; at += MASK_BITS, allowed = bits_from(0)) {
        const uint64_t *m = masks + at / MASK_BITS * 2;
        const uint64_t of_bytes = run_starts(m[0], m[2], false);
        const uint64_t starts = (of_bytes | run_starts(m[1], m[3], true)) & allowed;
        if (!starts) {
            continue;
        }
        const uint32_t bit = (uint32_t)__builtin_ctzll(starts);
        run->start = at + bit;
        run->of_pixels = !(of_bytes >> bit & 1);
        m += run->of_pixels;
        uint64_t ends = ~*m & bits_from(bit);
        for (; !ends; at += MASK_BITS) {
            m += 2;
            ends = ~*m;
        }
        run->end = at + (uint32_t)__builtin_ctzll(ends);
        return true;
    }
    return false;
}

/* ---- tokens ---- */

INLINE uint16_t *add_literals(uint16_t *next, const uint8_t *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i += COPIED) {
        bytes literals;
        memcpy(&literals, from + i, sizeof literals);
        const words tokens = __builtin_convertvector(literals, words);
        memcpy(next + i, &tokens, sizeof tokens);
    }
    return next + count;
}

/* A match of any length as matches of LEAST to MOST bytes. */
INLINE uint16_t *add_matches(uint16_t *next, uint32_t first_token, uint32_t length) {
    for (; length > G4_PNG_MOST + G4_PNG_LEAST; length -= G4_PNG_MOST) {
        *next++ = (uint16_t)(first_token + G4_PNG_MOST - G4_PNG_LEAST);
    }
    if (length > G4_PNG_MOST) {
        *next++ = (uint16_t)(first_token + length - 2 * G4_PNG_LEAST);
        length = G4_PNG_LEAST;
    }
    *next++ = (uint16_t)(first_token + length - G4_PNG_LEAST);
    return next;
}

static bool is_zero(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word == 0;
}

static uint32_t parse(uint8_t *block, uint32_t size, uint32_t pixel_distance, uint64_t *masks, uint16_t *tokens,
                      uint32_t *adler) {
    uint16_t *next = tokens;
    uint32_t at = 0;
    uint32_t summed = 0; /* bytes that are in the checksum */
    struct pixel_run run;

    make_masks(block, size, pixel_distance, masks);
    while (find_run(masks, at, size, &run)) {
        const uint32_t length = run.end - run.start;
        if (length >= SUMMED_ZEROS && is_zero(block + run.start)) {
            *adler = adler_of_zeros(adler_of(*adler, block + summed, run.start - summed), length);
            summed = run.end;
        }
        next = add_literals(next, block + at, run.start - at);
        next = add_matches(next, run.of_pixels ? G4_PNG_PIXEL_MATCH : G4_PNG_BYTE_MATCH, length);
        at = run.end;
    }
    *adler = adler_of(*adler, block + summed, size - summed);
    next = add_literals(next, block + at, size - at);
    return (uint32_t)(next - tokens);
}

/* Most codes are so short that TOKENS_PER_STORE of them fit between two stores; three always do. */
static void write(struct g4_png_writer *writer, const struct g4_png_codes *codes, const uint16_t *tokens,
                  uint32_t count) {
    struct g4_png_writer w = *writer;
    while (count >= TOKENS_PER_STORE) {
        uint64_t bits = 0;
        uint32_t size = 0;
        uint32_t done = 0;
        for (; done < TOKENS_PER_STORE; done++) {
            bits |= (uint64_t)codes->bits[tokens[done]] << (size & 63);
            size += codes->size[tokens[done]];
        }
        if (size >= 64 - 7) {
            bits = 0;
            size = 0;
            for (done = 0; done < 3; done++) {
                bits |= (uint64_t)codes->bits[tokens[done]] << size;
                size += codes->size[tokens[done]];
            }
        }
        g4_png_add_bits(&w, bits, size);
        g4_png_store_bits(&w);
        tokens += done;
        count -= done;
    }
    for (; count; count--, tokens++) {
        g4_png_add_bits(&w, codes->bits[*tokens], codes->size[*tokens]);
        g4_png_store_bits(&w);
    }
    *writer = w;
}

G4_VARIANT_DECLARE(struct g4_png_kernels, g4_png_kernels);

const struct g4_png_kernels G4_V(g4_png_kernels) = {subtract, parse, write};
