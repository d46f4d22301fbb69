/*
 * BC6H and BC7 (Khronos Data Format Specification, BPTC compressed texture image formats).  Interpolation is exact: its
 * results are integers, which become floats as those of uncompressed formats do.
 */
#include "core/util.h"
#include "sampler/block_codes.h"

enum {
    TEXELS = 16,
    SUBSETS = 3,
};

/* ---- bits of a block, from the lowest on ---- */

struct bits {
    const uint8_t *bytes;
    uint32_t at;
};

static uint32_t take(struct bits *bits, uint32_t count) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < count; i++, bits->at++) {
        value |= (uint32_t)(bits->bytes[bits->at / 8] >> (bits->at & 7) & 1) << i;
    }
    return value;
}

/* ---- partitions ---- */

/* The subset of each texel: one bit of two subsets, two bits of three. */
static const uint16_t two_subsets[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8,
    0xff00, 0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110,
    0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696,
    0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720,
    0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
};
static const uint32_t three_subsets[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
    0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
    0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
    0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
    0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
    0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
    0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254,
};
/* The texels whose indices lack their highest bit, besides texel 0: of the second of two subsets, of the second and the
 * third of three; four bits each, from bit 0 on. */
static const uint16_t anchors[64] = {
    0xf3f, 0x83f, 0x8ff, 0x3ff, 0xf8f, 0xf3f, 0x3ff, 0x8ff, 0xf8f, 0xf8f, 0xf6f, 0xf6f, 0xf6f, 0xf5f, 0xf3f, 0x83f,
    0xf3f, 0x832, 0xf88, 0x3f2, 0xf32, 0x838, 0xf68, 0x8af, 0x352, 0xf88, 0x682, 0xa62, 0xf88, 0xf58, 0xaf2, 0x8f2,
    0xf8f, 0x3ff, 0xf36, 0xa58, 0xa62, 0x8a8, 0x98f, 0xaff, 0x6f2, 0xf38, 0x8f2, 0xf52, 0x3f2, 0x6ff, 0x6ff, 0x8f6,
    0xf36, 0x3f2, 0xf56, 0xf58, 0xf5f, 0xf8f, 0xf52, 0xfa2, 0xf5f, 0xfaf, 0xf8f, 0xfdf, 0x3ff, 0xfc2, 0xf32, 0x83f,
};

static uint32_t subset_of(uint32_t subsets, uint32_t partition, uint32_t texel) {
    switch (subsets) {
    case 2:
        return two_subsets[partition] >> texel & 1;
    case 3:
        return three_subsets[partition] >> (2 * texel) & 3;
    default:
        return 0;
    }
}

static bool is_anchor(uint32_t subsets, uint32_t partition, uint32_t texel) {
    const uint32_t anchor = anchors[partition];
    return texel == 0 || (subsets == 2 && texel == (anchor & 15)) ||
           (subsets == 3 && (texel == (anchor >> 4 & 15) || texel == anchor >> 8));
}

static void take_indices(struct bits *bits, uint32_t subsets, uint32_t partition, uint32_t width,
                         uint32_t index[TEXELS]) {
    for (uint32_t texel = 0; texel < TEXELS; texel++) {
        index[texel] = take(bits, width - is_anchor(subsets, partition, texel));
    }
}

static int32_t between(int32_t a, int32_t b, uint32_t index, uint32_t width) {
    static const uint8_t weights[3][16] = {
        {0, 21, 43, 64},
        {0, 9, 18, 27, 37, 46, 55, 64},
        {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64},
    };
    const int32_t weight = weights[width - 2][index];
    return ((64 - weight) * a + weight * b + 32) >> 6;
}

/* ---- BC7 ---- */

struct bc7_mode {
    uint8_t subsets, partition_bits, rotation_bits, selector_bits, color_bits, alpha_bits;
    uint8_t lowest_bits; /* bits that all channels share: 1 for each endpoint, 2 for each subset */
    uint8_t index_bits, second_index_bits;
};

static const struct bc7_mode bc7_modes[8] = {
    {3, 4, 0, 0, 4, 0, 1, 3, 0}, {2, 6, 0, 0, 6, 0, 2, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 2, 0}, {2, 6, 0, 0, 7, 0, 1, 2, 0},
    {1, 0, 2, 1, 5, 6, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 2, 2}, {1, 0, 0, 0, 7, 7, 1, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 2, 0},
};

static uint32_t widen(uint32_t value, uint32_t bits) {
    const uint32_t high = value << (8 - bits);
    return high | high >> bits;
}

static void take_endpoints(struct bits *bits, const struct bc7_mode *mode, uint32_t endpoint[SUBSETS][2][4]) {
    const uint32_t channels = mode->alpha_bits ? 4 : 3;

    for (uint32_t c = 0; c < channels; c++) {
        for (uint32_t s = 0; s < mode->subsets; s++) {
            for (uint32_t e = 0; e < 2; e++) {
                endpoint[s][e][c] = take(bits, c < 3 ? mode->color_bits : mode->alpha_bits);
            }
        }
    }
    for (uint32_t s = 0; s < mode->subsets && mode->lowest_bits; s++) {
        uint32_t lowest = take(bits, 1);
        for (uint32_t e = 0; e < 2; e++) {
            lowest = e && mode->lowest_bits == 1 ? take(bits, 1) : lowest;
            for (uint32_t c = 0; c < channels; c++) {
                endpoint[s][e][c] = endpoint[s][e][c] << 1 | lowest;
            }
        }
    }
    for (uint32_t s = 0; s < mode->subsets; s++) {
        for (uint32_t e = 0; e < 2; e++) {
            for (uint32_t c = 0; c < 4; c++) {
                const uint32_t stored = c < 3 ? mode->color_bits : mode->alpha_bits;
                endpoint[s][e][c] =
                    c < channels ? widen(endpoint[s][e][c], stored + (mode->lowest_bits ? 1u : 0)) : 255;
            }
        }
    }
}

static void put_color(const struct g4_srgb_decoder *srgb, bool curved, const uint32_t color[4], float out[4]) {
    const float *const table = curved ? g4_srgb_decoder_table(srgb, 8) : NULL;
    for (int c = 0; c < 4; c++) {
        out[c] = table && c < 3 ? table[color[c]] : (float)color[c] / 255.0f;
    }
}

void g4_bc7_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, bool curved, float out[16][4]) {
    struct bits bits = {bytes, 0};
    uint32_t endpoint[SUBSETS][2][4] = {{{0}}};
    uint32_t index[2][TEXELS] = {{0}};

    if (bytes[0] == 0) { /* reserved */
        memset(out, 0, TEXELS * sizeof *out);
        return;
    }
    bits.at = (uint32_t)__builtin_ctz(bytes[0]) + 1;
    const struct bc7_mode *const mode = &bc7_modes[bits.at - 1];
    const uint32_t partition = take(&bits, mode->partition_bits);
    const uint32_t rotation = take(&bits, mode->rotation_bits);
    const uint32_t selector = take(&bits, mode->selector_bits);
    take_endpoints(&bits, mode, endpoint);
    take_indices(&bits, mode->subsets, partition, mode->index_bits, index[0]);
    if (mode->second_index_bits) {
        take_indices(&bits, mode->subsets, partition, mode->second_index_bits, index[1]);
    }
    const uint32_t width[2] = {mode->index_bits, mode->second_index_bits};
    const uint32_t of_alpha = mode->second_index_bits ? !selector : 0;
    for (uint32_t t = 0; t < TEXELS; t++) {
        const uint32_t subset = subset_of(mode->subsets, partition, t);
        uint32_t color[4];
        for (uint32_t c = 0; c < 4; c++) {
            const uint32_t set = c < 3 ? selector : of_alpha;
            color[c] = (uint32_t)between((int32_t)endpoint[subset][0][c], (int32_t)endpoint[subset][1][c],
                                         index[set][t], width[set]);
        }
        if (rotation) {
            const uint32_t alpha = color[3];
            color[3] = color[rotation - 1];
            color[rotation - 1] = alpha;
        }
        put_color(srgb, curved, color, out[t]);
    }
}

/* ---- BC6H ---- */

/* Where the bits of endpoints are: a channel, an endpoint (w and x of the first subset, y and z of the second), the
 * lowest bit, and the number of bits; `~`: from the highest bit down. */
struct bc6h_mode {
    uint8_t code, code_bits, bits;
    uint8_t delta[3]; /* bits of the other endpoints, which are differences from w; 0: all are absolute */
    bool two_subsets;
    const char *layout;
};

static const struct bc6h_mode bc6h_modes[] = {
    {0,
     2,
     10,
     {5, 5, 5},
     true,
     "gy4:1 by4:1 bz4:1 rw0:10 gw0:10 bw0:10 rx0:5 gz4:1 gy0:4 gx0:5 bz0:1 gz0:4 bx0:5 bz1:1 by0:4 ry0:5 bz2:1 rz0:5 "
     "bz3:1"},
    {1,
     2,
     7,
     {6, 6, 6},
     true,
     "gy5:1 gz4:1 gz5:1 rw0:7 bz0:1 bz1:1 by4:1 gw0:7 by5:1 bz2:1 gy4:1 bw0:7 bz3:1 bz5:1 bz4:1 rx0:6 gy0:4 gx0:6 "
     "gz0:4 bx0:6 by0:4 ry0:6 rz0:6"},
    {2,
     5,
     11,
     {5, 4, 4},
     true,
     "rw0:10 gw0:10 bw0:10 rx0:5 rw10:1 gy0:4 gx0:4 gw10:1 bz0:1 gz0:4 bx0:4 bw10:1 bz1:1 by0:4 ry0:5 bz2:1 rz0:5 "
     "bz3:1"},
    {3, 5, 10, {0, 0, 0}, false, "rw0:10 gw0:10 bw0:10 rx0:10 gx0:10 bx0:10"},
    {6,
     5,
     11,
     {4, 5, 4},
     true,
     "rw0:10 gw0:10 bw0:10 rx0:4 rw10:1 gz4:1 gy0:4 gx0:5 gw10:1 gz0:4 bx0:4 bw10:1 bz1:1 by0:4 ry0:4 bz0:1 bz2:1 "
     "rz0:4 gy4:1 bz3:1"},
    {7, 5, 11, {9, 9, 9}, false, "rw0:10 gw0:10 bw0:10 rx0:9 rw10:1 gx0:9 gw10:1 bx0:9 bw10:1"},
    {10,
     5,
     11,
     {4, 4, 5},
     true,
     "rw0:10 gw0:10 bw0:10 rx0:4 rw10:1 by4:1 gy0:4 gx0:4 gw10:1 bz0:1 gz0:4 bx0:5 bw10:1 by0:4 ry0:4 bz1:1 bz2:1 "
     "rz0:4 bz4:1 bz3:1"},
    {11, 5, 12, {8, 8, 8}, false, "rw0:10 gw0:10 bw0:10 rx0:8 rw10~2 gx0:8 gw10~2 bx0:8 bw10~2"},
    {14,
     5,
     9,
     {5, 5, 5},
     true,
     "rw0:9 by4:1 gw0:9 gy4:1 bw0:9 bz4:1 rx0:5 gz4:1 gy0:4 gx0:5 bz0:1 gz0:4 bx0:5 bz1:1 by0:4 ry0:5 bz2:1 rz0:5 "
     "bz3:1"},
    {15, 5, 16, {4, 4, 4}, false, "rw0:10 gw0:10 bw0:10 rx0:4 rw10~6 gx0:4 gw10~6 bx0:4 bw10~6"},
    {18,
     5,
     8,
     {6, 5, 5},
     true,
     "rw0:8 gz4:1 by4:1 gw0:8 bz2:1 gy4:1 bw0:8 bz3:1 bz4:1 rx0:6 gy0:4 gx0:5 bz0:1 gz0:4 bx0:5 bz1:1 by0:4 ry0:6 "
     "rz0:6"},
    {22,
     5,
     8,
     {5, 6, 5},
     true,
     "rw0:8 bz0:1 by4:1 gw0:8 gy5:1 gy4:1 bw0:8 gz5:1 bz4:1 rx0:5 gz4:1 gy0:4 gx0:6 gz0:4 bx0:5 bz1:1 by0:4 ry0:5 "
     "bz2:1 rz0:5 bz3:1"},
    {26,
     5,
     8,
     {5, 5, 6},
     true,
     "rw0:8 bz1:1 by4:1 gw0:8 by5:1 gy4:1 bw0:8 bz5:1 bz4:1 rx0:5 gz4:1 gy0:4 gx0:5 bz0:1 gz0:4 bx0:6 by0:4 ry0:5 "
     "bz2:1 rz0:5 bz3:1"},
    {30,
     5,
     6,
     {0, 0, 0},
     true,
     "rw0:6 gz4:1 bz0:1 bz1:1 by4:1 gw0:6 gy5:1 by5:1 bz2:1 gy4:1 bw0:6 gz5:1 bz3:1 bz5:1 bz4:1 rx0:6 gy0:4 gx0:6 "
     "gz0:4 bx0:6 by0:4 ry0:6 rz0:6"},
};

static const struct bc6h_mode *bc6h_mode_of(const uint8_t *bytes) {
    for (size_t i = 0; i < sizeof bc6h_modes / sizeof *bc6h_modes; i++) {
        if ((bytes[0] & ((1u << bc6h_modes[i].code_bits) - 1)) == bc6h_modes[i].code) {
            return &bc6h_modes[i];
        }
    }
    return NULL;
}

static uint32_t number(const char **text) {
    uint32_t value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        value = 10 * value + (uint32_t)(**text - '0');
    }
    return value;
}

static void take_layout(struct bits *bits, const char *layout, int32_t endpoint[4][3]) {
    for (const char *at = layout; *at; at += *at == ' ') {
        const int channel = *at == 'r' ? 0 : *at == 'g' ? 1 : 2;
        const int which = at[1] - 'w';
        at += 2;
        const uint32_t first = number(&at);
        const bool reversed = *at++ == '~';
        const uint32_t count = number(&at);
        for (uint32_t i = 0; i < count; i++) {
            endpoint[which][channel] |= (int32_t)(take(bits, 1) << (first + (reversed ? count - 1 - i : i)));
        }
    }
}

static int32_t sign_extend(int32_t value, uint32_t bits) {
    return (int32_t)((uint32_t)value << (32 - bits)) >> (32 - bits);
}

static int32_t unquantized(int32_t value, uint32_t bits, bool is_signed) {
    if (!is_signed) {
        const int32_t most = (1 << bits) - 1;
        return bits >= 15 || value == 0 ? value : value == most ? 0xffff : ((value << 15) + 0x4000) >> (bits - 1);
    }
    if (bits >= 16 || value == 0) {
        return value;
    }
    const int32_t magnitude = value < 0 ? -value : value;
    const int32_t wide = magnitude >= (1 << (bits - 1)) - 1 ? 0x7fff : ((magnitude << 15) + 0x4000) >> (bits - 1);
    return value < 0 ? -wide : wide;
}

/* Differences, signs, and the range of 16 bits. */
static void finish_endpoints(const struct bc6h_mode *mode, bool is_signed, int32_t endpoint[4][3]) {
    const int endpoints = mode->two_subsets ? 4 : 2;
    for (int c = 0; c < 3; c++) {
        if (is_signed) {
            endpoint[0][c] = sign_extend(endpoint[0][c], mode->bits);
        }
        for (int e = 1; e < endpoints; e++) {
            if (mode->delta[c]) {
                const int32_t sum = endpoint[0][c] + sign_extend(endpoint[e][c], mode->delta[c]);
                endpoint[e][c] = sum & ((1 << mode->bits) - 1);
            }
            if (is_signed) {
                endpoint[e][c] = sign_extend(endpoint[e][c], mode->bits);
            }
        }
        for (int e = 0; e < endpoints; e++) {
            endpoint[e][c] = unquantized(endpoint[e][c], mode->bits, is_signed);
        }
    }
}

/* The bits of a half float as a float. */
static float half_value(uint32_t half) {
    const uint32_t magnitude = half & 0x7fff;
    const float scaled = g4_hw_float(magnitude << 13) * 5192296858534827628530496329220096.0f; /* 2^112 */
    return half & 0x8000 ? -scaled : scaled;
}

static float scaled_value(int32_t value, bool is_signed) {
    if (!is_signed) {
        return half_value((uint32_t)(value * 31) >> 6);
    }
    const uint32_t magnitude = (uint32_t)(value < 0 ? -value : value) * 31 >> 5;
    return half_value(magnitude | (value < 0 ? 0x8000u : 0));
}

void g4_bc6h_decode(const uint8_t *bytes, bool is_signed, float out[16][4]) {
    const struct bc6h_mode *const mode = bc6h_mode_of(bytes);
    int32_t endpoint[4][3] = {{0}};
    uint32_t index[TEXELS];

    for (int t = 0; t < TEXELS; t++) {
        out[t][0] = out[t][1] = out[t][2] = 0.0f;
        out[t][3] = 1.0f;
    }
    if (!mode) { /* reserved */
        return;
    }
    struct bits bits = {bytes, mode->code_bits};
    const uint32_t subsets = mode->two_subsets ? 2 : 1;
    const uint32_t width = mode->two_subsets ? 3 : 4;
    take_layout(&bits, mode->layout, endpoint);
    const uint32_t partition = mode->two_subsets ? take(&bits, 5) : 0;
    take_indices(&bits, subsets, partition, width, index);
    finish_endpoints(mode, is_signed, endpoint);
    for (uint32_t t = 0; t < TEXELS; t++) {
        const uint32_t first = 2 * subset_of(subsets, partition, t);
        for (int c = 0; c < 3; c++) {
            const int32_t value = between(endpoint[first][c], endpoint[first + 1][c], index[t], width);
            out[t][c] = scaled_value(value, is_signed);
        }
    }
}
