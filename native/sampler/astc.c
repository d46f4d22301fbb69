/*
 * ASTC blocks of the LDR profile (Khronos Data Format Specification, ASTC compressed texture image formats).  A block
 * of 128 bits has 4x4 to 12x12 texels; it is decoded in parts of 4x4.
 */
#include "core/util.h"
#include "sampler/block_codes.h"

enum {
    TEXELS = 16, /* of a part */
    WEIGHTS = 64,
    PARTITIONS = 4,
    INTEGERS = 18, /* of all endpoints */
    MOST_WEIGHT_BITS = 96,
    LEAST_WEIGHT_BITS = 24,
    LEAST_COLOR_RANGE = 4, /* of `ranges`: 0 to 5 */
    VOID_EXTENT = 0x1fc,
    SMALL_BLOCK = 31, /* texels */
};

/* ---- bits of a block, from the lowest on ---- */

struct astc_block {
    uint64_t word[2];
};

static uint32_t field(const struct astc_block *block, uint32_t at, uint32_t count) {
    const uint64_t low = block->word[at >> 6] >> (at & 63);
    const uint64_t high = at < 64 && (at & 63) ? block->word[1] << (64 - at) : 0;
    return (uint32_t)(low | high) & ((1u << count) - 1);
}

static uint64_t reversed(uint64_t word) {
    uint64_t out = 0;
    for (int i = 0; i < 64; i++) {
        out |= (word >> i & 1) << (63 - i);
    }
    return out;
}

/* ---- sequences of integers: bits, and a trit or quint that five or three of them share ---- */

struct range {
    uint8_t bits, trits, quints;
};

/* 0 to 1, 2, 3, 4, 5, 7, 9, 11, 15, 19, 23, 31, 39, 47, 63, 79, 95, 127, 159, 191, 255 */
static const struct range ranges[] = {
    {1, 0, 0}, {0, 1, 0}, {2, 0, 0}, {0, 0, 1}, {1, 1, 0}, {3, 0, 0}, {1, 0, 1},
    {2, 1, 0}, {4, 0, 0}, {2, 0, 1}, {3, 1, 0}, {5, 0, 0}, {3, 0, 1}, {4, 1, 0},
    {6, 0, 0}, {4, 0, 1}, {5, 1, 0}, {7, 0, 0}, {5, 0, 1}, {6, 1, 0}, {8, 0, 0},
};

static uint32_t sequence_bits(const struct range *range, uint32_t count) {
    return count * range->bits + (range->trits ? (8 * count + 4) / 5 : 0) + (range->quints ? (7 * count + 2) / 3 : 0);
}

/* A part of a block; bits beyond its end are 0. */
struct reader {
    const struct astc_block *block;
    uint32_t at, end;
};

static uint32_t take(struct reader *reader, uint32_t count) {
    const uint32_t left = reader->end - reader->at;
    const uint32_t here = count < left ? count : left;
    const uint32_t value = here ? field(reader->block, reader->at, here) : 0;
    reader->at += here;
    return value;
}

static void unpack_trits(uint32_t t, uint32_t trit[5]) {
    uint32_t c = t & 31;
    if ((t >> 2 & 7) == 7) {
        c = (t >> 5 & 7) << 2 | (t & 3);
        trit[4] = trit[3] = 2;
    } else if ((t >> 5 & 3) == 3) {
        trit[4] = 2;
        trit[3] = t >> 7;
    } else {
        trit[4] = t >> 7;
        trit[3] = t >> 5 & 3;
    }
    if ((c & 3) == 3) {
        trit[2] = 2;
        trit[1] = c >> 4;
        trit[0] = (c >> 2 & 2) | (c >> 2 & ~(c >> 3) & 1);
    } else if ((c >> 2 & 3) == 3) {
        trit[2] = trit[1] = 2;
        trit[0] = c & 3;
    } else {
        trit[2] = c >> 4;
        trit[1] = c >> 2 & 3;
        trit[0] = (c & 2) | (c & ~(c >> 1) & 1);
    }
}

static void unpack_quints(uint32_t q, uint32_t quint[3]) {
    if ((q >> 1 & 3) == 3 && (q >> 5 & 3) == 0) {
        const uint32_t lowest = q & 1;
        quint[2] = lowest << 2 | ((q >> 4 & ~lowest) & 1) << 1 | (q >> 3 & ~lowest & 1);
        quint[1] = quint[0] = 4;
        return;
    }
    uint32_t c = q & 31;
    quint[2] = q >> 5;
    if ((q >> 1 & 3) == 3) {
        c = (q >> 3 & 3) << 3 | (~q >> 5 & 3) << 1 | (q & 1);
        quint[2] = 4;
    }
    if ((c & 7) == 5) {
        quint[1] = 4;
        quint[0] = c >> 3;
    } else {
        quint[1] = c >> 3;
        quint[0] = c & 7;
    }
}

/* An integer of a sequence: its trit or quint, and its bits. */
struct number {
    uint8_t digit, bits;
};

static void take_sequence(struct reader *reader, const struct range *range, uint32_t count, struct number *out) {
    static const uint8_t trit_bits[5] = {2, 2, 1, 2, 1};
    static const uint8_t quint_bits[3] = {3, 2, 2};
    const uint8_t *const shared = range->trits ? trit_bits : quint_bits;
    const uint32_t group = range->trits ? 5 : range->quints ? 3 : 1;

    for (uint32_t first = 0; first < count; first += group) {
        uint32_t bits[5] = {0};
        uint32_t digit[5] = {0};
        uint32_t packed = 0;
        for (uint32_t i = 0, at = 0; i < group; i++) {
            bits[i] = take(reader, range->bits);
            if (group > 1) {
                packed |= take(reader, shared[i]) << at;
                at += shared[i];
            }
        }
        if (range->trits) {
            unpack_trits(packed, digit);
        } else if (range->quints) {
            unpack_quints(packed, digit);
        }
        for (uint32_t i = 0; i < group && first + i < count; i++) {
            out[first + i] = (struct number){(uint8_t)digit[i], (uint8_t)bits[i]};
        }
    }
}

static uint32_t replicate(uint32_t value, uint32_t bits, uint32_t wanted) {
    uint32_t out = 0;
    for (int32_t shift = (int32_t)(wanted - bits); shift > -(int32_t)bits; shift -= (int32_t)bits) {
        out |= shift >= 0 ? value << shift : value >> -shift;
    }
    return out;
}

/* The bits above the lowest one, at the places that the tables of the specification give them. */
static uint32_t scattered(uint32_t bits, const uint8_t *pattern, uint32_t length) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < length; i++) {
        out = out << 1 | (pattern[i] ? bits >> pattern[i] & 1 : 0);
    }
    return out;
}

/* 0 to 255.  Patterns count bits from b, which is 1. */
static uint32_t color_of(const struct range *range, struct number number) {
    static const uint8_t with_trit[7][9] = {
        {0},
        {0},
        {1, 0, 0, 0, 1, 0, 1, 1, 0},
        {2, 1, 0, 0, 0, 2, 1, 2, 1},
        {3, 2, 1, 0, 0, 0, 3, 2, 1},
        {4, 3, 2, 1, 0, 0, 0, 4, 3},
        {5, 4, 3, 2, 1, 0, 0, 0, 5},
    };
    static const uint8_t with_quint[6][9] = {
        {0},
        {0},
        {1, 0, 0, 0, 0, 1, 1, 0, 0},
        {2, 1, 0, 0, 0, 0, 2, 1, 2},
        {3, 2, 1, 0, 0, 0, 0, 3, 2},
        {4, 3, 2, 1, 0, 0, 0, 0, 4},
    };
    static const uint8_t trit_factor[7] = {0, 204, 93, 44, 22, 11, 5};
    static const uint8_t quint_factor[6] = {0, 113, 54, 26, 13, 6};

    if (!range->trits && !range->quints) {
        return replicate(number.bits, range->bits, 8);
    }
    const uint32_t factor = range->trits ? trit_factor[range->bits] : quint_factor[range->bits];
    const uint8_t *const pattern = range->trits ? with_trit[range->bits] : with_quint[range->bits];
    const uint32_t lowest = number.bits & 1 ? 0x1ff : 0;
    const uint32_t t = (number.digit * factor + scattered(number.bits, pattern, 9)) ^ lowest;
    return (lowest & 0x80) | t >> 2;
}

/* 0 to 64 */
static uint32_t weight_of(const struct range *range, struct number number) {
    static const uint8_t trits[3] = {0, 32, 63};
    static const uint8_t quints[5] = {0, 16, 32, 47, 63};
    static const uint8_t with_trit[4][7] = {{0}, {0}, {1, 0, 0, 0, 1, 0, 1}, {2, 1, 0, 0, 0, 2, 1}};
    static const uint8_t with_quint[3][7] = {{0}, {0}, {1, 0, 0, 0, 0, 1, 0}};
    static const uint8_t trit_factor[4] = {0, 50, 23, 11};
    static const uint8_t quint_factor[3] = {0, 28, 13};
    uint32_t weight;

    if (!range->trits && !range->quints) {
        weight = replicate(number.bits, range->bits, 6);
    } else if (range->bits == 0) {
        weight = range->trits ? trits[number.digit] : quints[number.digit];
    } else {
        const uint32_t factor = range->trits ? trit_factor[range->bits] : quint_factor[range->bits];
        const uint8_t *const pattern = range->trits ? with_trit[range->bits] : with_quint[range->bits];
        const uint32_t lowest = number.bits & 1 ? 0x7f : 0;
        const uint32_t t = (number.digit * factor + scattered(number.bits, pattern, 7)) ^ lowest;
        weight = (lowest & 0x20) | t >> 2;
    }
    return weight + (weight > 32);
}

/* ---- the mode of a block ---- */

struct mode {
    uint32_t width, height; /* of the grid of weights */
    bool dual;              /* two weights a texel */
    const struct range *range;
};

/* False: reserved. */
static bool grid_of(uint32_t mode, struct mode *out) {
    const uint32_t a = mode >> 5 & 3;
    const uint32_t b = mode >> 7 & 3;

    if (mode & 3) {
        switch (mode >> 2 & 3) {
        case 0:
            out->width = b + 4;
            out->height = a + 2;
            break;
        case 1:
            out->width = b + 8;
            out->height = a + 2;
            break;
        case 2:
            out->width = a + 2;
            out->height = b + 8;
            break;
        default:
            out->width = b & 2 ? (b & 1) + 2 : a + 2;
            out->height = b & 2 ? a + 2 : (b & 1) + 6;
            break;
        }
        return true;
    }
    switch (b) {
    case 0:
        out->width = 12;
        out->height = a + 2;
        return true;
    case 1:
        out->width = a + 2;
        out->height = 12;
        return true;
    case 2:
        out->width = a + 6;
        out->height = (mode >> 9 & 3) + 6;
        return true;
    default:
        out->width = a == 0 ? 6 : 10;
        out->height = a == 0 ? 10 : 6;
        return a < 2;
    }
}

static bool mode_of(const struct astc_block *block, struct mode *out) {
    const uint32_t mode = field(block, 0, 11);
    const bool first_shape = mode & 3;
    const bool has_high_bits = first_shape || (mode >> 7 & 3) != 2; /* else they are of the height */
    const uint32_t upper = first_shape ? mode & 3 : mode >> 2 & 3;
    const uint32_t precision = upper << 1 | (mode >> 4 & 1);

    if (upper == 0 || !grid_of(mode, out)) {
        return false;
    }
    out->dual = has_high_bits && (mode >> 10 & 1);
    out->range = &ranges[precision - 2 + (has_high_bits && (mode >> 9 & 1) ? 6 : 0)];
    return true;
}

/* ---- partitions ---- */

static uint32_t hash(uint32_t p) {
    p ^= p >> 15;
    p -= p << 17;
    p += p << 7;
    p += p << 4;
    p ^= p >> 5;
    p += p << 16;
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    p ^= p >> 17;
    return p;
}

/* A square of four bits of the hash. */
static uint32_t seed(uint32_t random, uint32_t at) {
    const uint32_t value = (random >> at | (at ? random << (32 - at) : 0)) & 15;
    return value * value;
}

static uint32_t partition_of(uint32_t index, uint32_t count, bool small, uint32_t x, uint32_t y) {
    const uint32_t random = hash(index + (count - 1) * 1024);
    const uint32_t by_count = count == 3 ? 6 : 5;
    const uint32_t by_index = index & 2 ? 4 : 5;
    const uint32_t shift_x = index & 1 ? by_index : by_count;
    const uint32_t shift_y = index & 1 ? by_count : by_index;
    uint32_t best = 0;
    uint32_t most = 0;

    x <<= small;
    y <<= small;
    for (uint32_t p = 0; p < count; p++) {
        const uint32_t at = 8 * p;
        const uint32_t sum = (seed(random, at) >> shift_x) * x + (seed(random, at + 4) >> shift_y) * y;
        const uint32_t value = (sum + (random >> (14 - 4 * p))) & 63;
        if (p == 0 || value > most) {
            best = p;
            most = value;
        }
    }
    return best;
}

/* ---- endpoints ---- */

struct endpoints {
    int32_t color[2][4];
    bool unsupported; /* of the HDR profile */
};

static int32_t clamped(int32_t value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* An offset of six bits, whose seventh becomes the highest of the base. */
static void move_bit(int32_t *offset, int32_t *base) {
    *base = *base >> 1 | (*offset & 0x80);
    *offset = *offset >> 1 & 63;
    *offset -= *offset & 32 ? 64 : 0;
}

static void set_color(int32_t out[4], const int32_t color[4], bool contract) {
    out[0] = contract ? (color[0] + color[2]) >> 1 : color[0];
    out[1] = contract ? (color[1] + color[2]) >> 1 : color[1];
    out[2] = color[2];
    out[3] = color[3];
    for (int c = 0; c < 4; c++) {
        out[c] = clamped(out[c]);
    }
}

/* v: pairs of red, green, blue and alpha. */
static void direct(const int32_t v[8], struct endpoints *out) {
    const int32_t first[4] = {v[0], v[2], v[4], v[6]};
    const int32_t second[4] = {v[1], v[3], v[5], v[7]};
    const bool swap = v[1] + v[3] + v[5] < v[0] + v[2] + v[4];
    set_color(out->color[0], swap ? second : first, swap);
    set_color(out->color[1], swap ? first : second, swap);
}

static void with_offsets(const int32_t v[8], struct endpoints *out) {
    int32_t base[4];
    int32_t sum[4];
    int32_t total = 0;
    for (int c = 0; c < 4; c++) {
        int32_t offset = v[2 * c + 1];
        base[c] = v[2 * c];
        move_bit(&offset, &base[c]);
        sum[c] = base[c] + offset;
        total += c < 3 ? offset : 0;
    }
    set_color(out->color[0], total < 0 ? sum : base, total < 0);
    set_color(out->color[1], total < 0 ? base : sum, total < 0);
}

static void scaled(const int32_t *v, int32_t first_alpha, int32_t second_alpha, struct endpoints *out) {
    for (int c = 0; c < 3; c++) {
        out->color[0][c] = v[c] * v[3] >> 8;
        out->color[1][c] = v[c];
    }
    out->color[0][3] = first_alpha;
    out->color[1][3] = second_alpha;
}

static void gray(int32_t first, int32_t second, int32_t first_alpha, int32_t second_alpha, struct endpoints *out) {
    for (int c = 0; c < 3; c++) {
        out->color[0][c] = clamped(first);
        out->color[1][c] = clamped(second);
    }
    out->color[0][3] = clamped(first_alpha);
    out->color[1][3] = clamped(second_alpha);
}

static void endpoints_of(uint32_t mode, const int32_t *v, struct endpoints *out) {
    int32_t pairs[8] = {0, 0, 0, 0, 0, 0, 255, 255};
    memcpy(pairs, v, sizeof pairs[0] * (mode < 12 ? 6 : 8));

    out->unsupported = false;
    switch (mode) {
    case 0:
        gray(v[0], v[1], 255, 255, out);
        break;
    case 1: {
        const int32_t low = v[0] >> 2 | (v[1] & 0xc0);
        gray(low, low + (v[1] & 63), 255, 255, out);
        break;
    }
    case 4:
        gray(v[0], v[1], v[2], v[3], out);
        break;
    case 5:
        move_bit(&pairs[1], &pairs[0]);
        move_bit(&pairs[3], &pairs[2]);
        gray(pairs[0], pairs[0] + pairs[1], pairs[2], pairs[2] + pairs[3], out);
        break;
    case 6:
        scaled(v, 255, 255, out);
        break;
    case 10:
        scaled(v, v[4], v[5], out);
        break;
    case 8:
    case 12:
        direct(pairs, out);
        break;
    case 9:
        pairs[6] = 0xff; /* with an offset that leaves it 255 */
        pairs[7] = 0x80;
        with_offsets(pairs, out);
        break;
    case 13:
        with_offsets(pairs, out);
        break;
    default:
        memset(out->color, 0, sizeof out->color);
        out->unsupported = true;
        break;
    }
}

/* ---- a whole block ---- */

struct decoded {
    struct mode mode;
    uint32_t partitions, partition_index;
    uint32_t second_plane; /* the channel with weights of its own, if the mode is dual */
    struct endpoints endpoints[PARTITIONS];
    uint8_t weight[WEIGHTS]; /* of both planes in turn if dual */
};

static const float error_color[4] = {1.0f, 0.0f, 1.0f, 1.0f};

/* False: the block is invalid. */
static bool decode_weights(const struct astc_block *block, const struct g4_format *format, struct decoded *out,
                           uint32_t *bits) {
    const struct astc_block backward = {{reversed(block->word[1]), reversed(block->word[0])}};
    const struct mode *const mode = &out->mode;
    const uint32_t count = mode->width * mode->height * (mode->dual ? 2 : 1);
    struct number number[WEIGHTS];

    if (mode->width > format->block_width || mode->height > format->block_height || count > WEIGHTS) {
        return false;
    }
    *bits = sequence_bits(mode->range, count);
    if (*bits < LEAST_WEIGHT_BITS || *bits > MOST_WEIGHT_BITS) {
        return false;
    }
    struct reader reader = {&backward, 0, *bits};
    take_sequence(&reader, mode->range, count, number);
    for (uint32_t i = 0; i < count; i++) {
        out->weight[i] = (uint8_t)weight_of(mode->range, number[i]);
    }
    return true;
}

/* The modes of the endpoints of each partition: all the same, or of two neighboring classes.  `end` is that of the bits
 * before the weights, some of which belong to the modes. */
static void endpoint_modes(const struct astc_block *block, uint32_t partitions, uint32_t *end,
                           uint32_t mode[PARTITIONS]) {
    const uint32_t kind = partitions == 1 ? 0 : field(block, 23, 2);

    if (kind == 0) {
        for (uint32_t p = 0; p < partitions; p++) {
            mode[p] = field(block, partitions == 1 ? 13 : 25, 4);
        }
        return;
    }
    const uint32_t further = 3 * partitions - 4;
    *end -= further;
    const uint32_t bits = field(block, 25, 4) | field(block, *end, further) << 4;
    for (uint32_t p = 0; p < partitions; p++) {
        const uint32_t class = kind - 1 + (bits >> p & 1);
        mode[p] = class << 2 | (bits >> (partitions + 2 * p) & 3);
    }
}

static bool decode_endpoints(const struct astc_block *block, uint32_t end, struct decoded *out) {
    const uint32_t start = out->partitions == 1 ? 17 : 29;
    uint32_t mode[PARTITIONS];
    uint32_t count = 0;
    struct number number[INTEGERS];
    int32_t value[INTEGERS + 8] = {0}; /* endpoints_of() copies up to eight */

    endpoint_modes(block, out->partitions, &end, mode);
    if (out->mode.dual) {
        end -= 2;
        out->second_plane = field(block, end, 2);
    }
    for (uint32_t p = 0; p < out->partitions; p++) {
        count += 2 * (mode[p] >> 2) + 2;
    }
    if (count > INTEGERS || end < start) {
        return false;
    }
    uint32_t range = sizeof ranges / sizeof *ranges;
    do {
        if (--range < LEAST_COLOR_RANGE) {
            return false;
        }
    } while (sequence_bits(&ranges[range], count) > end - start);
    struct reader reader = {block, start, start + sequence_bits(&ranges[range], count)};
    take_sequence(&reader, &ranges[range], count, number);
    for (uint32_t i = 0; i < count; i++) {
        value[i] = (int32_t)color_of(&ranges[range], number[i]);
    }
    for (uint32_t p = 0, at = 0; p < out->partitions; p++) {
        endpoints_of(mode[p], &value[at], &out->endpoints[p]);
        at += 2 * (mode[p] >> 2) + 2;
    }
    return true;
}

static bool decode_block(const struct astc_block *block, const struct g4_format *format, struct decoded *out) {
    uint32_t weight_bits;

    if (!mode_of(block, &out->mode)) {
        return false;
    }
    out->partitions = field(block, 11, 2) + 1;
    out->partition_index = field(block, 13, 10);
    if ((out->partitions == PARTITIONS && out->mode.dual) || !decode_weights(block, format, out, &weight_bits)) {
        return false;
    }
    return decode_endpoints(block, 128 - weight_bits, out);
}

/* The weight of a texel, between those of the grid around it. */
static uint32_t weight_at(const struct decoded *d, const struct g4_format *format, uint32_t x, uint32_t y,
                          uint32_t plane) {
    const uint32_t width = d->mode.width;
    const uint32_t planes = d->mode.dual ? 2 : 1;
    const uint32_t step_x = (1024 + format->block_width / 2u) / (format->block_width - 1u);
    const uint32_t step_y = (1024 + format->block_height / 2u) / (format->block_height - 1u);
    const uint32_t grid_x = (step_x * x * (width - 1) + 32) >> 6;
    const uint32_t grid_y = (step_y * y * (d->mode.height - 1) + 32) >> 6;
    const uint32_t across = grid_x & 15;
    const uint32_t down = grid_y & 15;
    const uint32_t both = (across * down + 8) >> 4;
    const uint32_t share[4] = {16 - across - down + both, across - both, down - both, both};
    const uint32_t first = (grid_x >> 4) + (grid_y >> 4) * width;
    const uint32_t place[4] = {first, first + 1, first + width, first + width + 1};
    uint32_t sum = 8;

    for (int i = 0; i < 4; i++) {
        sum += share[i] ? share[i] * d->weight[place[i] * planes + plane] : 0;
    }
    return sum >> 4;
}

/* ---- numbers of 16 bits to floats ---- */

/* n / 65536, rounded toward zero to a half float; the largest number is 1. */
static float half_of(uint32_t value) {
    if (value == UINT16_MAX) {
        return 1.0f;
    }
    const uint32_t excess = value >> 11 ? 21 - (uint32_t)__builtin_clz(value) : 0; /* bits below the eleven highest */
    return (float)(value >> excess << excess) / 65536.0f;
}

static void store_texel(const struct g4_format *format, const struct g4_srgb_decoder *srgb, const uint32_t value[4],
                        float out[4]) {
    const float *const table = format->srgb ? g4_srgb_decoder_table(srgb, 8) : NULL;
    for (int c = 0; c < 4; c++) {
        if (!table) {
            out[c] = half_of(value[c]);
        } else {
            out[c] = c < 3 ? table[value[c] >> 8] : (float)(value[c] >> 8) / 255.0f;
        }
    }
}

static void store_error(float out[4]) {
    memcpy(out, error_color, sizeof error_color);
}

static void decode_texel(const struct decoded *d, const struct g4_format *format, const struct g4_srgb_decoder *srgb,
                         uint32_t x, uint32_t y, float out[4]) {
    const bool small = (uint32_t)format->block_width * format->block_height < SMALL_BLOCK;
    const uint32_t p = d->partitions > 1 ? partition_of(d->partition_index, d->partitions, small, x, y) : 0;
    const struct endpoints *const endpoints = &d->endpoints[p];
    uint32_t weight[2] = {weight_at(d, format, x, y, 0), 0};
    uint32_t value[4];

    if (endpoints->unsupported) {
        store_error(out);
        return;
    }
    if (d->mode.dual) {
        weight[1] = weight_at(d, format, x, y, 1);
    }
    for (uint32_t c = 0; c < 4; c++) {
        const uint32_t w = weight[d->mode.dual && c == d->second_plane];
        const uint32_t first = (uint32_t)endpoints->color[0][c];
        const uint32_t second = (uint32_t)endpoints->color[1][c];
        const uint32_t low = first << 8 | (format->srgb ? 0x80 : first);
        const uint32_t high = second << 8 | (format->srgb ? 0x80 : second);
        value[c] = (low * (64 - w) + high * w + 32) >> 6;
    }
    store_texel(format, srgb, value, out);
}

/* A block of one color.  Its extent on the texture has no effect, but must not be empty. */
static void decode_void_extent(const struct astc_block *block, const struct g4_format *format,
                               const struct g4_srgb_decoder *srgb, float out[TEXELS][4]) {
    const uint32_t low_x = field(block, 12, 13);
    const uint32_t high_x = field(block, 25, 13);
    const uint32_t low_y = field(block, 38, 13);
    const uint32_t high_y = field(block, 51, 13);
    const bool everywhere = low_x == 0x1fff && high_x == 0x1fff && low_y == 0x1fff && high_y == 0x1fff;
    const bool half_floats = field(block, 9, 1);
    const bool valid = !half_floats && field(block, 10, 2) == 3 && (everywhere || (low_x < high_x && low_y < high_y));
    uint32_t value[4];

    for (uint32_t c = 0; c < 4; c++) {
        value[c] = field(block, 64 + 16 * c, 16);
    }
    for (int t = 0; t < TEXELS; t++) {
        if (valid) {
            store_texel(format, srgb, value, out[t]);
        } else {
            store_error(out[t]);
        }
    }
}

void g4_astc_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, const struct g4_format *format,
                    uint32_t part, float out[16][4]) {
    const uint32_t parts_across = (format->block_width + 3u) / 4;
    const uint32_t x0 = part % parts_across * 4;
    const uint32_t y0 = part / parts_across * 4;
    struct astc_block block;
    struct decoded d;

    memcpy(block.word, bytes, sizeof block.word);
    if (field(&block, 0, 9) == VOID_EXTENT) {
        decode_void_extent(&block, format, srgb, out);
        return;
    }
    memset(&d, 0, sizeof d);
    const bool valid = decode_block(&block, format, &d);
    for (uint32_t t = 0; t < TEXELS; t++) {
        const uint32_t x = x0 + t % 4;
        const uint32_t y = y0 + t / 4;
        if (!valid) {
            store_error(out[t]);
        } else if (x < format->block_width && y < format->block_height) {
            decode_texel(&d, format, srgb, x, y, out[t]);
        } else {
            memset(out[t], 0, sizeof out[t]); /* outside the block */
        }
    }
}
