/*
 * ETC2 and EAC (Khronos Data Format Specification, ETC2 compressed texture image formats).  ETC1 is a part of ETC2.
 * Texels are in columns.
 */
#include "sampler/block_codes.h"

enum {
    TEXELS = 16,
    TRANSPARENT = 2, /* the index of texels without color, in blocks that are not opaque */
};

struct rgb {
    int32_t c[3];
};

/* Blocks are big endian. */
static uint64_t word_of(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}

static int32_t field(uint64_t word, unsigned high, unsigned low) {
    return (int32_t)(word >> low & ((UINT64_C(1) << (high - low + 1)) - 1));
}

static int32_t clamped(int32_t value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

static void brighten(const struct rgb *color, int32_t by, struct rgb *out) {
    for (int c = 0; c < 3; c++) {
        out->c[c] = clamped(color->c[c] + by);
    }
}

/* The index of texel (x, y): its high bit is 16 bits above its low bit. */
static uint32_t index_of(uint64_t word, uint32_t x, uint32_t y) {
    const uint32_t i = 4 * x + y;
    return (uint32_t)(word >> (16 + i) & 1) << 1 | (uint32_t)(word >> i & 1);
}

static void widen4(int32_t r, int32_t g, int32_t b, struct rgb *out) {
    out->c[0] = r * 17;
    out->c[1] = g * 17;
    out->c[2] = b * 17;
}

static int32_t widen5(int32_t value) {
    return value << 3 | value >> 2;
}

static int32_t signed3(int32_t value) {
    return value & 4 ? value - 8 : value;
}

/* ---- the modes of a color block; texel [y][x], and the indices that are transparent where the block is not opaque
 * ---- */

struct etc_block {
    struct rgb texel[4][4];
    uint32_t index[4][4];
};

static void two_parts(uint64_t word, const struct rgb base[2], bool opaque, struct etc_block *out) {
    static const int32_t steps[8][2] = {{2, 8}, {5, 17}, {9, 29}, {13, 42}, {18, 60}, {24, 80}, {33, 106}, {47, 183}};
    const bool flipped = field(word, 32, 32);

    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t x = 0; x < 4; x++) {
            const bool second = flipped ? y >= 2 : x >= 2;
            const int32_t *const step = steps[second ? field(word, 36, 34) : field(word, 39, 37)];
            const uint32_t index = index_of(word, x, y);
            const int32_t size = index & 1 ? step[1] : opaque ? step[0] : 0;
            brighten(&base[second], index & 2 ? -size : size, &out->texel[y][x]);
            out->index[y][x] = index;
        }
    }
}

static void paint(uint64_t word, const struct rgb color[4], struct etc_block *out) {
    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t x = 0; x < 4; x++) {
            const uint32_t index = index_of(word, x, y);
            for (int c = 0; c < 3; c++) {
                out->texel[y][x].c[c] = color[index].c[c];
            }
            out->index[y][x] = index;
        }
    }
}

static const int32_t distances[8] = {3, 6, 11, 16, 23, 32, 41, 64};

static void t_mode(uint64_t word, struct etc_block *out) {
    struct rgb a;
    struct rgb b;
    widen4(field(word, 60, 59) << 2 | field(word, 57, 56), field(word, 55, 52), field(word, 51, 48), &a);
    widen4(field(word, 47, 44), field(word, 43, 40), field(word, 39, 36), &b);
    const int32_t distance = distances[field(word, 35, 34) << 1 | field(word, 32, 32)];
    struct rgb color[4];
    brighten(&a, 0, &color[0]);
    brighten(&b, distance, &color[1]);
    brighten(&b, 0, &color[2]);
    brighten(&b, -distance, &color[3]);
    paint(word, color, out);
}

static void h_mode(uint64_t word, struct etc_block *out) {
    const int32_t first[3] = {field(word, 62, 59), field(word, 58, 56) << 1 | field(word, 52, 52),
                              field(word, 51, 51) << 3 | field(word, 49, 47)};
    const int32_t second[3] = {field(word, 46, 43), field(word, 42, 39), field(word, 38, 35)};
    const bool ordered = (first[0] << 8 | first[1] << 4 | first[2]) >= (second[0] << 8 | second[1] << 4 | second[2]);
    const int32_t distance = distances[field(word, 34, 34) << 2 | field(word, 32, 32) << 1 | (ordered ? 1 : 0)];
    struct rgb a;
    struct rgb b;
    widen4(first[0], first[1], first[2], &a);
    widen4(second[0], second[1], second[2], &b);
    struct rgb color[4];
    brighten(&a, distance, &color[0]);
    brighten(&a, -distance, &color[1]);
    brighten(&b, distance, &color[2]);
    brighten(&b, -distance, &color[3]);
    paint(word, color, out);
}

static int32_t widen6(int32_t value) {
    return value << 2 | value >> 4;
}

static int32_t widen7(int32_t value) {
    return value << 1 | value >> 6;
}

static void planar_mode(uint64_t word, struct etc_block *out) {
    const int32_t origin[3] = {widen6(field(word, 62, 57)), widen7(field(word, 56, 56) << 6 | field(word, 54, 49)),
                               widen6(field(word, 48, 48) << 5 | field(word, 44, 43) << 3 | field(word, 41, 39))};
    const int32_t right[3] = {widen6(field(word, 38, 34) << 1 | field(word, 32, 32)), widen7(field(word, 31, 25)),
                              widen6(field(word, 24, 19))};
    const int32_t below[3] = {widen6(field(word, 18, 13)), widen7(field(word, 12, 6)), widen6(field(word, 5, 0))};

    for (int32_t y = 0; y < 4; y++) {
        for (int32_t x = 0; x < 4; x++) {
            for (int c = 0; c < 3; c++) {
                const int32_t sum = x * (right[c] - origin[c]) + y * (below[c] - origin[c]) + 4 * origin[c] + 2;
                out->texel[y][x].c[c] = clamped(sum >> 2);
            }
            out->index[y][x] = 0; /* always opaque */
        }
    }
}

/* `bit_33`: the block has two colors of five bits and a difference, else of four bits; with punch-through alpha that is
 * always so, and the bit says that the block is opaque. */
static void decode_block(uint64_t word, bool punch_through, bool bit_33, struct etc_block *out) {
    const bool opaque = !punch_through || bit_33;

    if (!punch_through && !bit_33) {
        struct rgb base[2];
        widen4(field(word, 63, 60), field(word, 55, 52), field(word, 47, 44), &base[0]);
        widen4(field(word, 59, 56), field(word, 51, 48), field(word, 43, 40), &base[1]);
        two_parts(word, base, true, out);
        return;
    }
    const int32_t first[3] = {field(word, 63, 59), field(word, 55, 51), field(word, 47, 43)};
    const int32_t step[3] = {signed3(field(word, 58, 56)), signed3(field(word, 50, 48)), signed3(field(word, 42, 40))};
    struct rgb base[2];
    for (int c = 0; c < 3; c++) {
        const int32_t second = first[c] + step[c];
        if (second < 0 || second > 31) {
            if (c == 0) {
                t_mode(word, out);
            } else if (c == 1) {
                h_mode(word, out);
            } else {
                planar_mode(word, out);
            }
            return;
        }
        base[0].c[c] = widen5(first[c]);
        base[1].c[c] = widen5(second);
    }
    two_parts(word, base, opaque, out);
}

void g4_etc2_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, const struct g4_format *format,
                    float out[16][4]) {
    const bool punch_through = format->encoding == G4_ENCODING_ETC2_PUNCH_THROUGH;
    const uint64_t word = word_of(bytes);
    const bool bit_33 = field(word, 33, 33);
    const float *const table = format->srgb ? g4_srgb_decoder_table(srgb, 8) : NULL;
    struct etc_block block;

    decode_block(word, punch_through, bit_33, &block);
    for (int t = 0; t < TEXELS; t++) {
        const bool clear = punch_through && !bit_33 && block.index[t / 4][t % 4] == TRANSPARENT;
        for (int c = 0; c < 3; c++) {
            const int32_t value = block.texel[t / 4][t % 4].c[c];
            out[t][c] = clear ? 0.0f : table ? table[value] : (float)value / 255.0f;
        }
        out[t][3] = clear ? 0.0f : 1.0f;
    }
}

/* ---- EAC: one channel ---- */

static const int16_t eac_steps[16][8] = {
    {-3, -6, -9, -15, 2, 5, 8, 14}, {-3, -7, -10, -13, 2, 6, 9, 12}, {-2, -5, -8, -13, 1, 4, 7, 12},
    {-2, -4, -6, -13, 1, 3, 5, 12}, {-3, -6, -8, -12, 2, 5, 7, 11},  {-3, -7, -9, -11, 2, 6, 8, 10},
    {-4, -7, -8, -11, 3, 6, 7, 10}, {-3, -5, -8, -11, 2, 4, 7, 10},  {-2, -6, -8, -10, 1, 5, 7, 9},
    {-2, -5, -8, -10, 1, 4, 7, 9},  {-2, -4, -8, -10, 1, 3, 7, 9},   {-2, -5, -7, -10, 1, 4, 6, 9},
    {-3, -4, -7, -10, 2, 3, 6, 9},  {-1, -2, -3, -10, 0, 1, 2, 9},   {-4, -6, -8, -9, 3, 5, 7, 8},
    {-3, -5, -7, -9, 2, 4, 6, 8},
};

/* Channel 3 is the alpha of a color block, with 8 bits; the others have 11. */
void g4_eac_decode(const uint8_t *bytes, bool is_signed, int channel, float out[16][4]) {
    const uint64_t word = word_of(bytes);
    const int32_t stored = field(word, 63, 56);
    const int32_t factor = field(word, 55, 52);
    const int16_t *const steps = eac_steps[field(word, 51, 48)];
    const int32_t negative = stored - 256 < -127 ? -127 : stored - 256;
    const int32_t base = is_signed && stored > 127 ? negative : stored;

    for (uint32_t x = 0; x < 4; x++) {
        for (uint32_t y = 0; y < 4; y++) {
            const unsigned at = 45 - 3 * (4 * x + y);
            const int32_t step = steps[field(word, at + 2, at)];
            float *const to = &out[4 * y + x][channel];
            if (channel == 3) {
                *to = (float)clamped(base + step * factor) / 255.0f;
                continue;
            }
            const int32_t wide = base * 8 + (is_signed ? 0 : 4) + (factor ? step * factor * 8 : step);
            const int32_t low = is_signed ? -1023 : 0;
            const int32_t high = is_signed ? 1023 : 2047;
            *to = (float)(wide < low ? low : wide > high ? high : wide) / (float)high;
        }
    }
}
