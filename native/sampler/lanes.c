#include "lanes.h"

#include <math.h>

#include "../variant.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t bits_of(float f) {
    return g4_hw_bits(f);
}

/* Without a branch, whatever the compiler thinks of one. */
INLINE float select(bool condition, float yes, float no) {
    const uint32_t mask = -(uint32_t)condition;
    return g4_hw_float((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}

INLINE float lesser(float a, float b) {
    return a < b ? a : b;
}

INLINE float greater(float a, float b) {
    return a > b ? a : b;
}

INLINE float magnitude(float f) {
    return g4_hw_float(bits_of(f) & 0x7fffffff);
}

INLINE int32_t lesser_int(int32_t a, int32_t b) {
    return a < b ? a : b;
}

INLINE int32_t greater_int(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* ---- coordinates (spec/50 3.6, 3.7) ---- */

/* Round down; numbers beyond 2^23 have no fraction. */
INLINE float round_down(float x) {
    const bool small = magnitude(x) < 8388608.0f;
    const float limited = select(small, x, 0.0f);
    const int32_t toward_zero = (int32_t)limited;
    const int32_t whole = toward_zero - ((float)toward_zero > limited);
    return select(small, (float)whole, x);
}

/* What a mode does to the coordinate itself.  NaN, and infinities that become NaN, count as 0. */
INLINE float preprocess(float c, uint8_t mode) {
    float x = c;
    if (mode == G4_TEXTURE_COORDINATE_MODE_WRAP) {
        x = c - round_down(c);
    } else if (mode == G4_TEXTURE_COORDINATE_MODE_MIRROR) {
        const float there = c - 2.0f * round_down(c * 0.5f);
        const float back = 2.0f - there;
        x = select(there > 1.0f, back, there);
    } else if (mode == G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE) {
        x = lesser(magnitude(c), 1.0f);
    }
    return select(x == x, x, 0.0f);
}

/* Fixed point with 8 fraction bits.  The limit is beyond any texel of 8192 and any offset, and keeps the trick of
 * adding 1.5 * 2^23 exact. */
INLINE int32_t fixed_point(float x, bool round) {
    const float limited = greater(lesser(x, 12288.0f), -12288.0f) * 256.0f;
    const int32_t nearest = (int32_t)(bits_of(limited + 12582912.0f) - UINT32_C(0x4b400000));
    const int32_t down = nearest - ((float)nearest > limited);
    return round ? nearest : down;
}

/* i modulo n, for i not below -2^20. */
INLINE int32_t modulo(int32_t i, int32_t n) {
    return (int32_t)((uint32_t)(i + (n << 20)) % (uint32_t)n);
}

INLINE void address_lanes(int32_t *index, uint32_t lanes, uint8_t mode, int32_t n) {
    const bool large = n >= 32; /* no texel number is further out than that */
    switch (mode) {
    case G4_TEXTURE_COORDINATE_MODE_WRAP:
        for (uint32_t i = 0; large && i < lanes; i++) {
            const int32_t x = index[i];
            index[i] = x < 0 ? x + n : x >= n ? x - n : x;
        }
        for (uint32_t i = 0; !large && i < lanes; i++) {
            index[i] = modulo(index[i], n);
        }
        break;
    case G4_TEXTURE_COORDINATE_MODE_MIRROR:
        for (uint32_t i = 0; !large && i < lanes; i++) {
            index[i] = modulo(index[i], 2 * n);
        }
        for (uint32_t i = 0; i < lanes; i++) {
            const int32_t x = index[i] < 0 ? -1 - index[i] : index[i];
            index[i] = x >= n ? 2 * n - 1 - x : x;
        }
        break;
    case G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER:
        for (uint32_t i = 0; i < lanes; i++) {
            index[i] = index[i] < 0 || index[i] >= n ? G4_OUTSIDE : index[i];
        }
        break;
    case G4_TEXTURE_COORDINATE_MODE_CUBE:
        for (uint32_t i = 0; i < lanes; i++) {
            index[i] = greater_int(lesser_int(index[i], n), -1);
        }
        break;
    default:
        for (uint32_t i = 0; i < lanes; i++) {
            index[i] = greater_int(lesser_int(index[i], n - 1), 0);
        }
        break;
    }
}

INLINE void axis_of_mode(const struct g4_axis *axis, uint8_t mode, const float *coordinate, uint32_t n,
                         struct g4_axis_lanes *out) {
    const float size = (float)axis->size;
    const float half = axis->linear ? 0.5f : 0.0f;
    const int32_t offset = axis->offset;
    const bool round = axis->round;

    for (uint32_t i = 0; i < n; i++) {
        const float x = preprocess(coordinate[i], mode) * size - half;
        const int32_t fixed = fixed_point(x, round);
        out->first[i] = (fixed >> 8) + offset;
        out->weight[i] = fixed & 255;
    }
    if (!axis->linear) {
        address_lanes(out->first, n, mode, (int32_t)axis->size);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        out->second[i] = out->first[i] + 1;
    }
    address_lanes(out->first, n, mode, (int32_t)axis->size);
    address_lanes(out->second, n, mode, (int32_t)axis->size);
    for (uint32_t i = 0; i < n; i++) {
        out->second[i] = out->weight[i] ? out->second[i] : out->first[i];
    }
}

static void axis_lanes(const struct g4_axis *axis, const float *coordinate, uint32_t n, struct g4_axis_lanes *out) {
    switch (axis->mode) {
    case G4_TEXTURE_COORDINATE_MODE_WRAP:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_WRAP, coordinate, n, out);
        break;
    case G4_TEXTURE_COORDINATE_MODE_MIRROR:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_MIRROR, coordinate, n, out);
        break;
    case G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE, coordinate, n, out);
        break;
    case G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER, coordinate, n, out);
        break;
    case G4_TEXTURE_COORDINATE_MODE_CUBE:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_CUBE, coordinate, n, out);
        break;
    default:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_CLAMP, coordinate, n, out);
        break;
    }
}

/* ---- addresses: the part of x plus the part of y (spec/50 3.8) ---- */

INLINE uint32_t inside(int32_t index, uint32_t size) {
    return (uint32_t)greater_int(lesser_int(index, (int32_t)size - 1), 0);
}

static void columns(const struct g4_texture *texture, const uint32_t *x0, const int32_t *x, uint32_t size, uint32_t n,
                    uint32_t *out) {
    const uint32_t bytes = texture->bits / 8;
    const uint32_t offset = texture->x_offset;

    switch (texture->surface.tiling) {
    case G4_TILING_X:
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t at = (x0[i] + inside(x[i], size) + offset) * bytes;
            out[i] = (at >> 9) << 12 | (at & 511);
        }
        break;
    case G4_TILING_Y:
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t at = (x0[i] + inside(x[i], size) + offset) * bytes;
            out[i] = (at >> 7) << 12 | (at & 0x70) << 5 | (at & 15);
        }
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = (x0[i] + inside(x[i], size) + offset) * bytes;
        }
        break;
    }
}

static void rows(const struct g4_texture *texture, const uint32_t *y0, const int32_t *y, uint32_t size, uint32_t n,
                 uint32_t *out) {
    const uint32_t base = texture->surface.base;
    const uint32_t pitch = texture->surface.pitch;
    const uint32_t shift = texture->line_shift;
    const uint32_t offset = texture->line_offset + texture->y_offset;

    switch (texture->surface.tiling) {
    case G4_TILING_X:
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t row = ((y0[i] + inside(y[i], size)) << shift) + offset;
            out[i] = base + (row >> 3) * (pitch * 8) + ((row & 7) << 9);
        }
        break;
    case G4_TILING_Y:
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t row = ((y0[i] + inside(y[i], size)) << shift) + offset;
            out[i] = base + (row >> 5) * (pitch * 32) + ((row & 31) << 4);
        }
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t row = ((y0[i] + inside(y[i], size)) << shift) + offset;
            out[i] = base + row * pitch;
        }
        break;
    }
}

/* ---- packed texels ---- */

INLINE void load_words(struct g4_port *port, uint32_t bytes, const uint32_t *column, const uint32_t *row, uint32_t n,
                       uint32_t *word) {
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *const host = g4_mem_read_ptr(port, column[i] + row[i]);
        uint32_t value = 0;
        memcpy(&value, host, bytes); /* aligned: never beyond the page */
        word[i] = value;
    }
}

/* v / 255 for v in 0..255, the same bits as a division: checked for each of them. */
INLINE float unorm8(float v) {
    return v * (65793.0f / 16777216.0f) + v * (257.0f / 1099511627776.0f);
}

/* Exact, denormals and NaN included. */
INLINE float half_bits(uint32_t h) {
    const float scaled = g4_hw_float((h & 0x7fff) << 13) * 5192296858534827628530496329220096.0f; /* 2^112 */
    const uint32_t magnitude = bits_of(scaled);
    const uint32_t special = magnitude | 0x7f800000;
    return g4_hw_float(((h & 0x7c00) == 0x7c00 ? special : magnitude) | (h & 0x8000) << 16);
}

INLINE void decode_component(const struct g4_component *component, const uint32_t *word, uint32_t n, float *out) {
    const uint32_t shift = component->shift;
    const uint32_t mask = component->mask;

    switch (component->kind) {
    case G4_COMPONENT_UNORM8:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = unorm8((float)(int32_t)(word[i] >> shift & 255));
        }
        break;
    case G4_COMPONENT_UNORM:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = (float)(int32_t)(word[i] >> shift & mask) / component->maximum;
        }
        break;
    case G4_COMPONENT_GAMMA:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = component->gamma[word[i] >> shift & mask];
        }
        break;
    case G4_COMPONENT_HALF:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = half_bits(word[i] >> shift);
        }
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = g4_hw_float(word[i]);
        }
        break;
    }
}

static void fetch(const struct g4_texture *texture, struct g4_port *port, const uint32_t *column, const uint32_t *row,
                  uint32_t n, float out[4][G4_BATCH]) {
    uint32_t word[G4_BATCH];

    switch (texture->bits) {
    case 8:
        load_words(port, 1, column, row, n, word);
        break;
    case 16:
        load_words(port, 2, column, row, n, word);
        break;
    default:
        load_words(port, 4, column, row, n, word);
        break;
    }
    for (uint32_t k = 0; k < texture->components; k++) {
        decode_component(&texture->component[k], word, n, out[k]);
    }
}

/* ---- filter (spec/50 3.13) ---- */

static void weights(const struct g4_axis_lanes *x, const struct g4_axis_lanes *y, uint32_t n,
                    float weight[4][G4_BATCH]) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t x1 = x->weight[i];
        const int32_t y1 = y->weight[i];
        const int32_t x0 = G4_WEIGHT_ONE - x1;
        const int32_t y0 = G4_WEIGHT_ONE - y1;
        weight[0][i] = (float)(x0 * y0) * (1.0f / 65536.0f);
        weight[1][i] = (float)(x1 * y0) * (1.0f / 65536.0f);
        weight[2][i] = (float)(x0 * y1) * (1.0f / 65536.0f);
        weight[3][i] = (float)(x1 * y1) * (1.0f / 65536.0f);
    }
}

INLINE double corners(const struct g4_texel_lanes *texels, uint32_t k, uint32_t i) {
    double sum = 0.0 + (double)texels->weight[0][i] * (double)texels->texel[0][k][i];
    sum += (double)texels->weight[1][i] * (double)texels->texel[1][k][i];
    sum += (double)texels->weight[2][i] * (double)texels->texel[2][k][i];
    sum += (double)texels->weight[3][i] * (double)texels->texel[3][k][i];
    return sum;
}

static void accumulate(const struct g4_texel_lanes *texels, const double *scale, uint32_t components, uint32_t n,
                       double sum[4][G4_BATCH]) {
    for (uint32_t k = 0; k < components; k++) {
        for (uint32_t i = 0; !scale && i < n; i++) {
            sum[k][i] += corners(texels, k, i);
        }
        for (uint32_t i = 0; scale && i < n; i++) {
            sum[k][i] += scale[i] * corners(texels, k, i);
        }
    }
}

static void filter(const struct g4_texel_lanes *texels, uint32_t components, uint32_t n, float out[4][G4_BATCH]) {
    for (uint32_t k = 0; k < components; k++) {
        for (uint32_t i = 0; i < n; i++) {
            out[k][i] = (float)corners(texels, k, i);
        }
    }
}

/* ---- shadow compare (spec/50 3.12): 0 where it holds, 1 where not ---- */

#define COMPARE(condition)                                                                                             \
    for (uint32_t i = 0; i < n; i++) {                                                                                 \
        const float t = texel[i];                                                                                      \
        const float r = reference[i];                                                                                  \
        texel[i] = (condition) ? 0.0f : 1.0f;                                                                          \
    }                                                                                                                  \
    break

static void compare(uint32_t function, const float *reference, uint32_t n, float *texel) {
    switch (function) {
    case G4_PREFILTER_OPERATION_LESS:
        COMPARE(t < r);
    case G4_PREFILTER_OPERATION_EQUAL:
        COMPARE(t == r);
    case G4_PREFILTER_OPERATION_LEQUAL:
        COMPARE(t <= r);
    case G4_PREFILTER_OPERATION_GREATER:
        COMPARE(t > r);
    case G4_PREFILTER_OPERATION_NOTEQUAL:
        COMPARE(t != r);
    case G4_PREFILTER_OPERATION_GEQUAL:
        COMPARE(t >= r);
    default:
        for (uint32_t i = 0; i < n; i++) {
            texel[i] = function == G4_PREFILTER_OPERATION_ALWAYS ? 0.0f : 1.0f;
        }
        break;
    }
}

/* ---- levels ---- */

static void between(const float *a, const float *b, const int32_t *beta, uint32_t n, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        const double low = (double)a[i];
        const float mixed = (float)(low + ((double)b[i] - low) * ((double)beta[i] * (1.0 / 64.0)));
        out[i] = select(beta[i] != 0, mixed, a[i]);
    }
}

/* ---- cubes (spec/50 3.3): ties go to Z, then Y ---- */

static void project(const float *restrict x, const float *restrict y, const float *restrict z, uint32_t n,
                    int32_t *restrict face, float *restrict u, float *restrict v) {
    for (uint32_t i = 0; i < n; i++) {
        const float ax = magnitude(x[i]);
        const float ay = magnitude(y[i]);
        const float az = magnitude(z[i]);
        const bool on_z = (az >= ay) & (az >= ax);
        const bool on_y = !on_z & (ay >= ax);
        const float of_xy = select(on_y, y[i], x[i]);
        const float major = select(on_z, z[i], of_xy);
        const int32_t negative = major < 0.0f;
        const float sign = (float)(1 - 2 * negative);
        const float s_x = -sign * z[i];
        const float s_z = sign * x[i];
        const float t_y = sign * z[i];
        const float t_xz = -y[i];
        const float s_xy = select(on_y, x[i], s_x);
        const float s = select(on_z, s_z, s_xy);
        const float t = select(on_y, t_y, t_xz);
        face[i] = 4 * on_z + 2 * on_y + negative;
        u[i] = (s / magnitude(major) + 1.0f) * 0.5f;
        v[i] = (t / magnitude(major) + 1.0f) * 0.5f;
    }
}

/* ---- gradients (spec/50 3.4) ---- */

INLINE double square_length(const float d[3][G4_BATCH], uint32_t i) {
    return (double)d[0][i] * (double)d[0][i] + (double)d[1][i] * (double)d[1][i] + (double)d[2][i] * (double)d[2][i];
}

/* To 16 significant bits, so that noise does not make an exact 2:1 less than that; then 7 bits of mantissa. */
static void length(const struct g4_gradient_lanes *gradients, uint32_t n, int32_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const double x = square_length(gradients->dx, i);
        const double y = square_length(gradients->dy, i);
        const double longer = x > y ? x : y;
        const double root = sqrt(longer);
        uint64_t bits;
        memcpy(&bits, &root, sizeof bits);
        const uint64_t rounded = bits + ((UINT64_C(1) << 36) - 1) + (bits >> 37 & 1);
        const int32_t number = (int32_t)(uint32_t)(rounded >> 45) - 1023 * 128;
        out[i] = x == x && y == y ? number : 0;
    }
}

const struct g4_sampler_ops G4_V(g4_sampler_ops) = {
    .axis = axis_lanes,
    .columns = columns,
    .rows = rows,
    .fetch = fetch,
    .weights = weights,
    .accumulate = accumulate,
    .filter = filter,
    .compare = compare,
    .between = between,
    .project = project,
    .length = length,
};
