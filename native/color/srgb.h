/*
 * The sRGB curve for normalised channels (decision 21): tables that decode a code, and find the code of a number by
 * the exact places where the rounded curve steps.
 */
#ifndef G4_CC_SRGB_H
#define G4_CC_SRGB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    G4_SRGB_BITS = 10, /* most of them */
    G4_SRGB_CODES = 1 << G4_SRGB_BITS,
    G4_SRGB_BUCKETS = 0x3f81, /* by the upper half of a float in [0, 1] */
};

struct g4_srgb {
    uint32_t bits; /* 0: not built */
    float decode[G4_SRGB_CODES];
    float first[G4_SRGB_CODES + 1];  /* the least number that gets a code; infinity behind the last */
    uint8_t bucket[G4_SRGB_BUCKETS]; /* 8 bits: the code where a bucket begins; no bucket has more than one step */
};

struct g4_srgb_tables {
    struct g4_srgb of_bits[G4_SRGB_BITS + 1];
};

/* The tables of channels of `bits` bits, built when first asked for. */
const struct g4_srgb *g4_srgb_get(struct g4_srgb_tables *tables, uint32_t bits);

/* The curve itself, for what is dithered. */
float g4_srgb_curve(float linear);

/* The code of a number in [0, 1]. */
static inline uint32_t g4_srgb_encode(const struct g4_srgb *srgb, float linear) {
    uint32_t code = 0;
    for (uint32_t step = 1u << (srgb->bits - 1); step; step >>= 1) {
        code += linear >= srgb->first[code + step] ? step : 0;
    }
    return code;
}

/* The same for eight bits. */
static inline uint32_t g4_srgb_encode8(const struct g4_srgb *srgb, float linear) {
    uint32_t bits;
    memcpy(&bits, &linear, sizeof bits);
    const uint32_t code = srgb->bucket[bits >> 16];
    return code + (linear >= srgb->first[code + 1]);
}

#endif
