/*
 * Compressed blocks: BC1 to BC5, and FXT1.  Endpoints of BC are widened to 8 bits; the interpolation is exact and
 * rounded once, to float.
 */
#include "sampler/block_codes.h"

/* ---- BC1 to BC5 ---- */

struct color {
    uint32_t r, g, b;
};

static uint64_t load64(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static struct color widen565(uint32_t c) {
    const uint32_t r = c >> 11 & 31;
    const uint32_t g = c >> 5 & 63;
    const uint32_t b = c & 31;
    return (struct color){r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2};
}

/* (wa * a + wb * b) / (255 * (wa + wb)); the weights add up to 2 or 3. */
static float blend(const struct g4_srgb_decoder *srgb, bool curved, uint32_t a, uint32_t wa, uint32_t b, uint32_t wb) {
    const uint32_t sum = wa * a + wb * b;
    if (curved) {
        return wa + wb == 3 ? srgb->by_thirds[sum] : srgb->by_halves[sum];
    }
    return (float)sum / (float)(255 * (wa + wb));
}

static void blend_color(const struct g4_srgb_decoder *srgb, bool curved, const struct color *a, uint32_t wa,
                        const struct color *b, uint32_t wb, float out[4]) {
    out[0] = blend(srgb, curved, a->r, wa, b->r, wb);
    out[1] = blend(srgb, curved, a->g, wa, b->g, wb);
    out[2] = blend(srgb, curved, a->b, wa, b->b, wb);
    out[3] = 1.0f;
}

/* Decodes the colors of BC1 to BC3.  Only BC1 has a mode with three colors and black. */
static void decode_colors(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, bool curved, bool three_allowed,
                          bool transparent, float out[16][4]) {
    const uint64_t word = load64(bytes);
    const uint32_t c0 = (uint32_t)word & 0xffff;
    const uint32_t c1 = (uint32_t)(word >> 16) & 0xffff;
    const struct color a = widen565(c0);
    const struct color b = widen565(c1);
    float table[4][4];

    blend_color(srgb, curved, &a, 3, &b, 0, table[0]);
    blend_color(srgb, curved, &a, 0, &b, 3, table[1]);
    if (!three_allowed || c0 > c1) {
        blend_color(srgb, curved, &a, 2, &b, 1, table[2]);
        blend_color(srgb, curved, &a, 1, &b, 2, table[3]);
    } else {
        blend_color(srgb, curved, &a, 1, &b, 1, table[2]);
        memset(table[3], 0, sizeof table[3]);
        table[3][3] = transparent ? 0.0f : 1.0f;
    }
    for (int t = 0; t < 16; t++) {
        memcpy(out[t], table[word >> (32 + 2 * t) & 3], sizeof out[t]);
    }
}

/* Decodes a channel with two endpoints and three-bit indices: the alpha of BC3, BC4, and each half of BC5. */
static void decode_channel(const uint8_t *bytes, bool is_signed, int channel, float out[16][4]) {
    const uint64_t word = load64(bytes);
    const int32_t unit = is_signed ? 127 : 255;
    int32_t a = (int32_t)(word & 0xff);
    int32_t b = (int32_t)(word >> 8 & 0xff);
    float table[8];

    if (is_signed) {
        a = (int8_t)a == -128 ? -127 : (int8_t)a;
        b = (int8_t)b == -128 ? -127 : (int8_t)b;
    }
    table[0] = (float)a / (float)unit;
    table[1] = (float)b / (float)unit;
    if (a > b) {
        for (int32_t k = 2; k < 8; k++) {
            table[k] = (float)((8 - k) * a + (k - 1) * b) / (float)(7 * unit);
        }
    } else {
        for (int32_t k = 2; k < 6; k++) {
            table[k] = (float)((6 - k) * a + (k - 1) * b) / (float)(5 * unit);
        }
        table[6] = is_signed ? -1.0f : 0.0f;
        table[7] = 1.0f;
    }
    for (int t = 0; t < 16; t++) {
        out[t][channel] = table[word >> (16 + 3 * t) & 7];
    }
}

static void decode_alpha4(const uint8_t *bytes, float out[16][4]) {
    const uint64_t word = load64(bytes);
    for (int t = 0; t < 16; t++) {
        out[t][3] = (float)(word >> (4 * t) & 15) / 15.0f;
    }
}

static void constants(float out[16][4]) {
    for (int t = 0; t < 16; t++) {
        out[t][0] = out[t][1] = out[t][2] = 0.0f;
        out[t][3] = 1.0f;
    }
}

/* ---- FXT1: 8x4 texels in 128 bits, decoded one half at a time ---- */

struct fxt1_color {
    uint32_t c[4]; /* R, G, B, A, 8 bits each */
};

static uint32_t fxt1_field(const uint8_t *bytes, uint32_t at, uint32_t count) {
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
static struct fxt1_color fxt1_color15(const uint8_t *bytes, uint32_t at) {
    return (struct fxt1_color){{widen5(fxt1_field(bytes, at + 10, 5)), widen5(fxt1_field(bytes, at + 5, 5)),
                                widen5(fxt1_field(bytes, at, 5)), 255}};
}

static const struct fxt1_color transparent_black = {{0, 0, 0, 0}};

/* ((n - k) * a + k * b + n / 2) / n */
static struct fxt1_color fxt1_blend(const struct fxt1_color *a, const struct fxt1_color *b, uint32_t k, uint32_t n) {
    struct fxt1_color out;
    for (int c = 0; c < 4; c++) {
        out.c[c] = ((n - k) * a->c[c] + k * b->c[c] + n / 2) / n;
    }
    return out;
}

static struct fxt1_color fxt1_hi(const uint8_t *bytes, uint32_t t) {
    const uint32_t k = fxt1_field(bytes, 3 * t, 3);
    const struct fxt1_color a = fxt1_color15(bytes, 96);
    const struct fxt1_color b = fxt1_color15(bytes, 111);
    return k == 7 ? transparent_black : fxt1_blend(&a, &b, k, 6);
}

static struct fxt1_color fxt1_chroma(const uint8_t *bytes, uint32_t t) {
    return fxt1_color15(bytes, 64 + 15 * fxt1_field(bytes, 2 * t, 2));
}

static struct fxt1_color fxt1_mixed(const uint8_t *bytes, uint32_t t) {
    const bool right = t >= 16;
    const uint32_t k = fxt1_field(bytes, 2 * t, 2);
    const uint32_t first = right ? 94 : 64;
    const uint32_t second = right ? 109 : 79;
    const uint32_t glsb = fxt1_field(bytes, right ? 126 : 125, 1);
    const uint32_t selb = fxt1_field(bytes, right ? 33 : 1, 1);
    struct fxt1_color a = fxt1_color15(bytes, first);
    struct fxt1_color b = fxt1_color15(bytes, second);

    b.c[1] = widen6(fxt1_field(bytes, second + 5, 5) << 1 | glsb);
    if (fxt1_field(bytes, 124, 1)) {
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
    a.c[1] = widen6(fxt1_field(bytes, first + 5, 5) << 1 | (glsb ^ selb));
    return fxt1_blend(&a, &b, k, 3);
}

static struct fxt1_color fxt1_alpha(const uint8_t *bytes, uint32_t t) {
    const bool right = t >= 16;
    const uint32_t k = fxt1_field(bytes, 2 * t, 2);

    if (fxt1_field(bytes, 124, 1)) {
        struct fxt1_color a = fxt1_color15(bytes, right ? 94 : 64);
        struct fxt1_color b = fxt1_color15(bytes, 79);
        a.c[3] = widen5(fxt1_field(bytes, right ? 119 : 109, 5));
        b.c[3] = widen5(fxt1_field(bytes, 114, 5));
        return fxt1_blend(&a, &b, k, 3);
    }
    if (k == 3) {
        return transparent_black;
    }
    struct fxt1_color color = fxt1_color15(bytes, 64 + 15 * k);
    color.c[3] = widen5(fxt1_field(bytes, 109 + 5 * k, 5));
    return color;
}

static void decode_fxt1(const uint8_t *bytes, bool right, float out[16][4]) {
    const uint32_t mode = fxt1_field(bytes, 125, 3);
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t t = i + (right ? 16 : 0);
        const struct fxt1_color color = mode & 4    ? fxt1_mixed(bytes, t)
                                        : mode == 3 ? fxt1_alpha(bytes, t)
                                        : mode == 2 ? fxt1_chroma(bytes, t)
                                                    : fxt1_hi(bytes, t);
        for (int c = 0; c < 4; c++) {
            out[i][c] = (float)color.c[c] / 255.0f;
        }
    }
}

/* ---- all formats ---- */

void g4_block_decode(const struct g4_format *format, const struct g4_srgb_decoder *srgb, const uint8_t *bytes,
                     uint32_t part, float out[16][4]) {
    const bool curved = format->srgb;
    const bool is_signed = format->channel[0].type == G4_CHANNEL_SNORM;

    switch (format->encoding) {
    case G4_ENCODING_BC1:
        decode_colors(bytes, srgb, curved, true, format->channel[3].type != G4_CHANNEL_ONE, out);
        break;
    case G4_ENCODING_BC2:
        decode_colors(bytes + 8, srgb, curved, false, false, out);
        decode_alpha4(bytes, out);
        break;
    case G4_ENCODING_BC3:
        decode_colors(bytes + 8, srgb, curved, false, false, out);
        decode_channel(bytes, false, 3, out);
        break;
    case G4_ENCODING_BC4:
        constants(out);
        decode_channel(bytes, is_signed, 0, out);
        break;
    case G4_ENCODING_BC5:
        constants(out);
        decode_channel(bytes, is_signed, 0, out);
        decode_channel(bytes + 8, is_signed, 1, out);
        break;
    case G4_ENCODING_BC6H:
        g4_bc6h_decode(bytes, format->channel[0].type == G4_CHANNEL_FLOAT, out);
        break;
    case G4_ENCODING_BC7:
        g4_bc7_decode(bytes, srgb, curved, out);
        break;
    case G4_ENCODING_ETC2:
    case G4_ENCODING_ETC2_PUNCH_THROUGH:
        g4_etc2_decode(bytes, srgb, format, out);
        break;
    case G4_ENCODING_ETC2_EAC:
        g4_etc2_decode(bytes + 8, srgb, format, out);
        g4_eac_decode(bytes, false, 3, out);
        break;
    case G4_ENCODING_EAC_R:
        constants(out);
        g4_eac_decode(bytes, is_signed, 0, out);
        break;
    case G4_ENCODING_EAC_RG:
        constants(out);
        g4_eac_decode(bytes, is_signed, 0, out);
        g4_eac_decode(bytes + 8, is_signed, 1, out);
        break;
    case G4_ENCODING_ASTC:
        g4_astc_decode(bytes, srgb, format, part, out);
        break;
    default:
        decode_fxt1(bytes, part != 0, out);
        break;
    }
}
