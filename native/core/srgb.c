#include "core/srgb.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- the curve ---- */

/* The manual prints the exponent upside down. */
static double encode(double linear) {
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

/* x to the power of 2.4 as x * x * x^(2/5), with the fifth root by Newton: it has the same bits on every host. */
static double power_2_4(double x) {
    const double square = x * x;
    double root = 1.0;
    double step = 1.0;
    for (int i = 0; i < 40 && step != 0.0; i++) {
        const double fourth = root * root * root * root;
        step = (root - square / fourth) / 5.0;
        root -= step;
    }
    return square * root;
}

static double decode(double code) {
    return code <= 0.04045 ? code / 12.92 : power_2_4((code + 0.055) / 1.055);
}

float g4_srgb_curve(float linear) {
    return (float)encode(linear);
}

/* ---- decoding textures ---- */

static void fill(float *table, size_t length) {
    for (size_t i = 0; i < length; i++) {
        table[i] = (float)decode((double)i / (double)(length - 1));
    }
}

#define FILL(table) fill(table, sizeof(table) / sizeof *(table))

static struct g4_srgb_decoder shared;

static void fill_shared(void) {
    FILL(shared.by_4_bits);
    FILL(shared.by_5_bits);
    FILL(shared.by_6_bits);
    FILL(shared.by_8_bits);
    FILL(shared.by_10_bits);
    FILL(shared.by_thirds);
    FILL(shared.by_halves);
}

const struct g4_srgb_decoder *g4_srgb_decoder(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_shared);
    return &shared;
}

const float *g4_srgb_decoder_table(const struct g4_srgb_decoder *decoder, unsigned bits) {
    switch (bits) {
    case 4:
        return decoder->by_4_bits;
    case 5:
        return decoder->by_5_bits;
    case 6:
        return decoder->by_6_bits;
    case 8:
        return decoder->by_8_bits;
    case 10:
        return decoder->by_10_bits;
    default:
        return NULL;
    }
}

/* ---- channels of render targets ---- */

/* The smallest float that is not below x. */
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

static void build_channel(struct g4_srgb *srgb, uint32_t bits) {
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

const struct g4_srgb *g4_srgb_get(uint32_t bits) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct g4_srgb of_bits[G4_SRGB_BITS + 1];
    static _Atomic bool is_built[G4_SRGB_BITS + 1];
    const uint32_t usable = bits <= G4_SRGB_BITS && bits ? bits : 8;

    if (!atomic_load_explicit(&is_built[usable], memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        if (!atomic_load_explicit(&is_built[usable], memory_order_relaxed)) {
            build_channel(&of_bits[usable], usable);
            atomic_store_explicit(&is_built[usable], true, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return &of_bits[usable];
}
