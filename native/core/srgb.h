/*
 * The sRGB curve, as tables.  The standard curve is used in both directions (docs/decisions.md 21).
 */
#ifndef G4_SRGB_H
#define G4_SRGB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- decoding textures ---- */

/* Entry i of a table is the linear value of i / (length - 1), rounded once to float. */
struct g4_srgb_decoder {
    float by_4_bits[16];
    float by_5_bits[32];
    float by_6_bits[64];
    float by_8_bits[256];
    float by_10_bits[1024];
    float by_thirds[766]; /* of 8-bit codes a and b: (2a + b) / 765 */
    float by_halves[511]; /* (a + b) / 510 */
};

/* The tables, which all devices of the process share; any thread may ask for them. */
const struct g4_srgb_decoder *g4_srgb_decoder(void);
/* The table of codes of n bits; NULL if no format has such codes. */
const float *g4_srgb_decoder_table(const struct g4_srgb_decoder *decoder, unsigned bits);

/* ---- channels of render targets ---- */

enum {
    G4_SRGB_BITS = 10, /* of the largest channel */
    G4_SRGB_CODES = 1 << G4_SRGB_BITS,
    G4_SRGB_BUCKETS = 0x3f81, /* by the upper half of a float in [0, 1] */
};

/* Decodes codes, and finds the code of a number by the exact positions of the steps of the rounded curve. */
struct g4_srgb {
    uint32_t bits;
    float decode[G4_SRGB_CODES];
    float first[G4_SRGB_CODES + 1];  /* the smallest number of each code; infinity after the last */
    uint8_t bucket[G4_SRGB_BUCKETS]; /* 8 bits only: the code at the start of a bucket, which has at most one step */
};

/* The tables of channels of `bits` bits, which all devices of the process share, built on first use; any thread may
 * call this. */
const struct g4_srgb *g4_srgb_get(uint32_t bits);

/* The curve itself, for values that are dithered before they become codes. */
float g4_srgb_curve(float linear);

/* The code of a number in [0, 1]. */
static inline uint32_t g4_srgb_encode(const struct g4_srgb *srgb, float linear) {
    uint32_t code = 0;
    for (uint32_t step = 1u << (srgb->bits - 1); step; step >>= 1) {
        code += linear >= srgb->first[code + step] ? step : 0;
    }
    return code;
}

/* The 8-bit code of a number in [0, 1]. */
static inline uint32_t g4_srgb_encode8(const struct g4_srgb *srgb, float linear) {
    uint32_t bits;
    memcpy(&bits, &linear, sizeof bits);
    const uint32_t code = srgb->bucket[bits >> 16];
    return code + (linear >= srgb->first[code + 1]);
}

#endif
