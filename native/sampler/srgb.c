#include "sampler/srgb.h"

#include <stddef.h>

/* x to the power of 2.4 as x * x * x^(2/5), the fifth root by Newton: the same bits on every host. */
static double power_2_4(double x) {
    const double square = x * x;
    double root = 1.0;
    for (int i = 0; i < 40; i++) {
        const double fourth = root * root * root * root;
        root -= (root - square / fourth) / 5.0;
    }
    return square * root;
}

static float linear(double c) {
    return (float)(c <= 0.04045 ? c / 12.92 : power_2_4((c + 0.055) / 1.055));
}

static void fill(float *table, size_t length) {
    for (size_t i = 0; i < length; i++) {
        table[i] = linear((double)i / (double)(length - 1));
    }
}

#define FILL(table) fill(table, sizeof(table) / sizeof *(table))

void g4_gamma_setup(struct g4_gamma *gamma) {
    FILL(gamma->by_4_bits);
    FILL(gamma->by_5_bits);
    FILL(gamma->by_6_bits);
    FILL(gamma->by_8_bits);
    FILL(gamma->by_10_bits);
    FILL(gamma->by_thirds);
    FILL(gamma->by_halves);
}

const float *g4_gamma_table(const struct g4_gamma *gamma, unsigned bits) {
    switch (bits) {
    case 4:
        return gamma->by_4_bits;
    case 5:
        return gamma->by_5_bits;
    case 6:
        return gamma->by_6_bits;
    case 8:
        return gamma->by_8_bits;
    case 10:
        return gamma->by_10_bits;
    default:
        return NULL;
    }
}
