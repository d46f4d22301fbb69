/* Blocks of PNG files as tokens: each is one literal or one match of deflate (image/png.c). */
#ifndef G4_IMAGE_PNG_TOKENS_H
#define G4_IMAGE_PNG_TOKENS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    G4_PNG_LEAST = 3, /* bytes of a match (RFC 1951, 3.2.5) */
    G4_PNG_MOST = 258,
    G4_PNG_BYTE_MATCH = 256,  /* token of a match of LEAST bytes that repeats the last byte; longer ones follow */
    G4_PNG_PIXEL_MATCH = 512, /* token of a match that repeats the last pixel */
    G4_PNG_TOKENS = 768,
    G4_PNG_TOKEN_BITS = 18, /* a code has at most: three fit between two stores */
    G4_PNG_PADDING = 64,    /* elements after a block and after its tokens that are written, too */
};

/* 64-bit masks that a block of `size` bytes needs. */
#define G4_PNG_MASKS(size) (2 * ((size) / 64 + 3))

/* The complete codes of all tokens: of a match with its length, distance and extra bits. */
struct g4_png_codes {
    uint32_t bits[G4_PNG_TOKENS]; /* the first bit is bit 0 */
    uint8_t size[G4_PNG_TOKENS];
};

struct g4_png_writer {
    uint8_t *at;
    const uint8_t *end;
    uint64_t bits; /* that do not fill a byte */
    uint32_t count;
};

/* The inner loops, built once per vector variant. */
struct g4_png_kernels {
    void (*subtract)(uint8_t *to, const uint8_t *row, const uint8_t *above, size_t size);
    /* Turns a block into tokens, and returns how many there are; adds its bytes to the Adler-32 checksum. */
    uint32_t (*parse)(uint8_t *block, uint32_t size, uint32_t pixel_distance, uint64_t *masks, uint16_t *tokens,
                      uint32_t *adler);
    void (*write)(struct g4_png_writer *writer, const struct g4_png_codes *codes, const uint16_t *tokens,
                  uint32_t count);
};

static inline void g4_png_add_bits(struct g4_png_writer *w, uint64_t bits, uint32_t count) {
    w->bits |= bits << w->count;
    w->count += count;
}

/* Stores whole bytes.  The caller has seen to it that there are 8 bytes of space, and that there are less than 64 bits.
 */
static inline void g4_png_store_bits(struct g4_png_writer *w) {
    memcpy(w->at, &w->bits, sizeof w->bits);
    w->at += w->count >> 3;
    w->bits >>= w->count & ~7u;
    w->count &= 7;
}

#endif
