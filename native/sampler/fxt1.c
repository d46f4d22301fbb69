/*
 * Blocks of FXT1: 8x4 texels in 128 bits, decoded one half at a time (spec/50 3.9).
 */
#include "sampler/texel.h"

struct fxt1_color {
    uint32_t c[4]; /* R, G, B, A, 8 bits each */
};

static uint32_t field(const uint8_t *bytes, uint32_t at, uint32_t count) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bit = at + i;
        value |= (uint32_t)(bytes[bit / 8] >> (bit % 8) & 1) << i;
    }
    return value;
}

static uint32_t widen5(uint32_t c) {
    return (c * 255 * 2 + 31) / 62;
}

static uint32_t widen6(uint32_t c) {
    return (c * 255 * 2 + 63) / 126;
}

/* B, G, R from the lowest bit up. */
static struct fxt1_color color15(const uint8_t *bytes, uint32_t at) {
    return (struct fxt1_color){
        {widen5(field(bytes, at + 10, 5)), widen5(field(bytes, at + 5, 5)), widen5(field(bytes, at, 5)), 255}};
}

static const struct fxt1_color transparent_black = {{0, 0, 0, 0}};

/* ((n - k) * a + k * b + n / 2) / n */
static struct fxt1_color blend(const struct fxt1_color *a, const struct fxt1_color *b, uint32_t k, uint32_t n) {
    struct fxt1_color out;
    for (int c = 0; c < 4; c++) {
        out.c[c] = ((n - k) * a->c[c] + k * b->c[c] + n / 2) / n;
    }
    return out;
}

static struct fxt1_color texel_hi(const uint8_t *bytes, uint32_t t) {
    const uint32_t k = field(bytes, 3 * t, 3);
    const struct fxt1_color a = color15(bytes, 96);
    const struct fxt1_color b = color15(bytes, 111);
    return k == 7 ? transparent_black : blend(&a, &b, k, 6);
}

static struct fxt1_color texel_chroma(const uint8_t *bytes, uint32_t t) {
    return color15(bytes, 64 + 15 * field(bytes, 2 * t, 2));
}

static struct fxt1_color texel_mixed(const uint8_t *bytes, uint32_t t) {
    const bool right = t >= 16;
    const uint32_t k = field(bytes, 2 * t, 2);
    const uint32_t first = right ? 94 : 64;
    const uint32_t second = right ? 109 : 79;
    const uint32_t glsb = field(bytes, right ? 126 : 125, 1);
    const uint32_t selb = field(bytes, right ? 33 : 1, 1);
    struct fxt1_color a = color15(bytes, first);
    struct fxt1_color b = color15(bytes, second);

    b.c[1] = widen6(field(bytes, second + 5, 5) << 1 | glsb);
    if (field(bytes, 124, 1)) {
        if (k == 3) {
            return transparent_black;
        }
        if (k == 1) {
            struct fxt1_color middle;
            for (int c = 0; c < 4; c++) {
                middle.c[c] = (a.c[c] + b.c[c]) / 2;
            }
            return middle;
        }
        return k == 0 ? a : b;
    }
    a.c[1] = widen6(field(bytes, first + 5, 5) << 1 | (glsb ^ selb));
    return blend(&a, &b, k, 3);
}

static struct fxt1_color texel_alpha(const uint8_t *bytes, uint32_t t) {
    const bool right = t >= 16;
    const uint32_t k = field(bytes, 2 * t, 2);

    if (field(bytes, 124, 1)) {
        struct fxt1_color a = color15(bytes, right ? 94 : 64);
        struct fxt1_color b = color15(bytes, 79);
        a.c[3] = widen5(field(bytes, right ? 119 : 109, 5));
        b.c[3] = widen5(field(bytes, 114, 5));
        return blend(&a, &b, k, 3);
    }
    if (k == 3) {
        return transparent_black;
    }
    struct fxt1_color color = color15(bytes, 64 + 15 * k);
    color.c[3] = widen5(field(bytes, 109 + 5 * k, 5));
    return color;
}

void g4_block_decode_fxt1(const uint8_t *bytes, bool right, float out[16][4]) {
    const uint32_t mode = field(bytes, 125, 3);
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t t = i + (right ? 16 : 0);
        const struct fxt1_color color = mode & 4    ? texel_mixed(bytes, t)
                                        : mode == 3 ? texel_alpha(bytes, t)
                                        : mode == 2 ? texel_chroma(bytes, t)
                                                    : texel_hi(bytes, t);
        for (int c = 0; c < 4; c++) {
            out[i][c] = (float)color.c[c] / 255.0f;
        }
    }
}
