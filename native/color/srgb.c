#include "color/srgb.h"

#include <math.h>

/* The curve and its inverse; the manual prints the exponent upside down (spec/30 3.14). */
static double encode(double linear) {
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

static double decode(double code) {
    return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

float g4_srgb_curve(float linear) {
    return (float)encode(linear);
}

static float at_least(double x) {
    const float near = (float)x;
    return near < x ? nextafterf(near, INFINITY) : near;
}

static void build_buckets(struct g4_srgb *srgb) {
    uint32_t code = 0;
    for (uint32_t bucket = 0; bucket < G4_SRGB_BUCKETS; bucket++) {
        const uint32_t bits = bucket << 16;
        float start;
        memcpy(&start, &bits, sizeof start);
        while (start >= srgb->first[code + 1]) {
            code++;
        }
        srgb->bucket[bucket] = (uint8_t)code;
    }
}

static void build(struct g4_srgb *srgb, uint32_t bits) {
    const uint32_t codes = 1u << bits;
    const double top = codes - 1;

    srgb->bits = bits;
    for (uint32_t code = 0; code < codes; code++) {
        srgb->decode[code] = (float)decode(code / top);
        srgb->first[code] = code == 0 ? 0 : at_least(decode((code - 0.5) / top));
    }
    srgb->first[codes] = INFINITY;
    if (bits == 8) {
        build_buckets(srgb);
    }
}

const struct g4_srgb *g4_srgb_get(struct g4_srgb_tables *tables, uint32_t bits) {
    struct g4_srgb *const srgb = &tables->of_bits[bits <= G4_SRGB_BITS && bits ? bits : 8];
    if (srgb->bits == 0) {
        build(srgb, bits <= G4_SRGB_BITS && bits ? bits : 8);
    }
    return srgb;
}
