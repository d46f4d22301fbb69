/*
 * Writes the color of four subspans to a render target: clamp, blend, convert, logic op, masks, store.
 *
 * Built once per vector variant.  target.c has decided what a target needs; the combinations that clients use most
 * have functions of their own, in which those decisions are constants.
 */
#include "color/blend.h"
#include "color/convert.h"
#include "color/state.h"

#include "core/lanes.h"

/* ---- store ---- */

INLINE vu logic_op(uint32_t function, vu s, vu d) {
    vu result = vu_all(0);
    result |= function & 1 ? ~s & ~d : result;
    result |= function & 2 ? ~s & d : result;
    result |= function & 4 ? s & ~d : result;
    result |= function & 8 ? s & d : result;
    return result;
}

INLINE uint32_t planes_of(uint32_t bytes) {
    return bytes <= 4 ? 1 : bytes / 4;
}

/* Stores new contents in the live pixels.  `old` must have been read if target->reads or if some pixel is not live. */
INLINE void store(const struct g4_target *target, uint32_t bytes, uint32_t live, bool have_old, uint8_t *const row[4],
                  const vu old[4], vu new[4]) {
    const vi live_mask = vi_mask(live);
    for (uint32_t plane = 0; plane < planes_of(bytes); plane++) {
        if (target->logic_op) {
            new[plane] = logic_op(target->logic, new[plane], old[plane]);
        }
        if (!target->whole) {
            const uint32_t mask = target->write_mask[plane];
            new[plane] = (new[plane] & mask) | (old[plane] & ~mask);
        }
        if (have_old) {
            new[plane] = vu_select(live_mask, new[plane], old[plane]);
        }
    }
    scatter(row, bytes, new);
}

/* Writes one half of the pixels, two subspans; `live`: pixels to write. */
typedef void half_fn(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                     uint8_t *const row[4]);

INLINE void write_halves(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels,
                         half_fn *write_half) {
    struct g4_subspan_rows rows;

    g4_pixel_map_open(&target->map, port, pixels->x, pixels->y, pixels->live, &rows);
    const uint32_t live = pixels->live & rows.inside;
    for (uint32_t half = 0; half < 2; half++) {
        if (live >> (8 * half) & 0xff) {
            write_half(target, pixels, half, live >> (8 * half) & 0xff, &rows.row[4 * half]);
        }
    }
    g4_pixel_map_close(&target->map, port, pixels->x, pixels->y, live, &rows);
}

/* ---- inputs ---- */

INLINE vf load_channel(const struct g4_target *target, const float *const color[4], uint32_t c) {
    vf v = vf_load(color[c]);
    if (target->pre_clamp) {
        v = vf_clamp(v, target->channel[c].low, target->channel[c].high);
    }
    return target->saturate ? vf_saturate(v) : v;
}

INLINE void load_source(const struct g4_target *target, const float *const color[4], vf out[4]) {
    for (uint32_t c = 0; c < 4; c++) {
        out[c] = load_channel(target, color, c);
    }
}

/* The dither pattern is fixed to the screen. */
static vi dither_pattern(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half) {
    static const uint8_t bayer[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    vi pattern;
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t x = pixels->x[2 * half + i / 4] + (i & 1) + target->dither_x;
        const uint32_t y = pixels->y[2 * half + i / 4] + (i >> 1 & 1) + target->dither_y;
        pattern[i] = bayer[y & 3][x & 3];
    }
    return pattern;
}

/* ---- any format of numbers ---- */

/* `blend` is target->blend.  `one_plane`: pixels have up to four bytes; then `new` is a register, while an array
 * indexed by the planes of channels is in memory, where each channel waits for the one before. */
INLINE void general_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                         uint8_t *const row[4], bool blend, bool one_plane) {
    struct blend_inputs in;
    vu old[4] = {{0}};
    vu new[4] = {{0}};
    vi pattern = (vi){0};

    const bool have_old = target->reads || live != 0xff;
    if (have_old) {
        gather(row, target->map.bytes, old);
    }
    if (target->dither) {
        pattern = dither_pattern(target, pixels, half);
    }
    if (blend) {
        load_source(target, pixels->color[half], in.source);
        for (uint32_t c = 0; c < 4; c++) {
            const struct g4_channel *const channel = &target->channel[c];
            in.constant[c] = vf_all(target->constant[c]);
            in.destination[c] = vf_all(c == 3 ? 1 : 0);
            if (channel->stored) {
                in.destination[c] = decode(channel, old);
                if (target->pre_clamp) {
                    in.destination[c] = vf_clamp(in.destination[c], channel->low, channel->high);
                }
            }
        }
        load_source(target, target->dual_source ? pixels->color1[half] : pixels->color[half], in.source1);
    }
    for (uint32_t c = 0; c < 4; c++) {
        const struct g4_channel *const channel = &target->channel[c];
        if (!channel->written) {
            continue;
        }
        vf v;
        if (!blend) {
            v = load_channel(target, pixels->color[half], c);
        } else {
            v = blend_channel(target, &in, c);
            if (target->post_clamp) {
                v = vf_clamp(v, channel->post_low, channel->post_high);
            }
            if (target->floats) {
                /* The NaN that a sum of NaNs yields depends on the order of the operands, so make it canonical. */
                v = vf_select(vf_is_nan(v), (vf)vu_all(0x7fc00000), v);
            }
        }
        new[one_plane ? 0 : channel->plane] |= (encode(channel, v, pattern) & channel->mask) << channel->shift;
    }
    store(target, target->map.bytes, live, have_old, row, old, new);
}

INLINE void blended_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                         uint8_t *const row[4]) {
    general_half(target, pixels, half, live, row, true, false);
}

INLINE void blended_half_of_one_plane(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half,
                                      uint32_t live, uint8_t *const row[4]) {
    general_half(target, pixels, half, live, row, true, true);
}

INLINE void replaced_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                          uint8_t *const row[4]) {
    general_half(target, pixels, half, live, row, false, false);
}

INLINE void replaced_half_of_one_plane(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half,
                                       uint32_t live, uint8_t *const row[4]) {
    general_half(target, pixels, half, live, row, false, true);
}

/* ---- integers ---- */

INLINE vu vu_least(vu a, vu b) {
#ifdef G4_LANES_AVX2
    return (vu)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
    const vu sign = vu_all(0x80000000); /* comparisons have signs */
    return vu_select(vi_less((vi)(a ^ sign), (vi)(b ^ sign)), a, b);
#endif
}

INLINE void any_integer_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half,
                             uint32_t live, uint8_t *const row[4], bool one_plane) {
    vu old[4] = {{0}};
    vu new[4] = {{0}};

    const bool have_old = target->reads || live != 0xff;
    if (have_old) {
        gather(row, target->map.bytes, old);
    }
    for (uint32_t c = 0; c < 4; c++) {
        const struct g4_channel *const channel = &target->channel[c];
        if (!channel->written) {
            continue;
        }
        vu v = (vu)vf_load(pixels->color[half][c]);
        if (channel->type == G4_CHANNEL_UINT) {
            const vu top = vu_all(channel->mask);
            v = vu_least(v, top);
        } else {
            const vi high = (vi)vu_all(channel->mask >> 1);
            const vi low = ~high;
            const vi below = vi_select(vi_less(high, (vi)v), high, (vi)v);
            v = (vu)vi_select(vi_less(below, low), low, below);
        }
        new[one_plane ? 0 : channel->plane] |= (v & channel->mask) << channel->shift;
    }
    store(target, target->map.bytes, live, have_old, row, old, new);
}

INLINE void integer_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                         uint8_t *const row[4]) {
    any_integer_half(target, pixels, half, live, row, false);
}

INLINE void integer_half_of_one_plane(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half,
                                      uint32_t live, uint8_t *const row[4]) {
    any_integer_half(target, pixels, half, live, row, true);
}

/* ---- integers of 32 bits, which drivers use to copy any format ---- */

typedef uint32_t pixel __attribute__((vector_size(16)));

/* Stores the live pixels of a subspan, whose channels are four floats each. */
INLINE void store_pixels(uint8_t *upper_left, const float *const channels[4], uint32_t live) {
    pixel channel[4], out[4];
    for (uint32_t c = 0; c < 4; c++) {
        memcpy(&channel[c], channels[c], sizeof channel[c]);
    }
    const pixel red_green[2] = {__builtin_shufflevector(channel[0], channel[1], 0, 4, 1, 5),
                                __builtin_shufflevector(channel[0], channel[1], 2, 6, 3, 7)};
    const pixel blue_alpha[2] = {__builtin_shufflevector(channel[2], channel[3], 0, 4, 1, 5),
                                 __builtin_shufflevector(channel[2], channel[3], 2, 6, 3, 7)};
    for (uint32_t row = 0; row < 2; row++) {
        out[2 * row] = __builtin_shufflevector(red_green[row], blue_alpha[row], 0, 1, 4, 5);
        out[2 * row + 1] = __builtin_shufflevector(red_green[row], blue_alpha[row], 2, 3, 6, 7);
    }
    for (uint32_t p = 0; p < 4; p++) {
        if (live >> p & 1) {
            memcpy(upper_left + (p & 1) * G4_PIXEL_MAP_NEXT + (p >> 1) * sizeof(pixel), &out[p], sizeof out[p]);
        }
    }
}

/* Returns false, and writes nothing, if a subspan has to be written through a copy. */
static bool write_columns(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels) {
    uint8_t *subspan[4] = {NULL};
    for (uint32_t s = 0; s < 4; s++) {
        if (pixels->live >> (4 * s) & 15 &&
            !(subspan[s] = g4_pixel_map_columns(&target->map, port, pixels->x[s], pixels->y[s]))) {
            return false;
        }
    }
    for (uint32_t s = 0; s < 4; s++) {
        const float *channels[4];
        for (uint32_t c = 0; c < 4 && subspan[s]; c++) {
            channels[c] = pixels->color[s / 2][c] + (size_t)4 * (s & 1);
        }
        if (subspan[s]) {
            store_pixels(subspan[s], channels, pixels->live >> (4 * s) & 15);
        }
    }
    return true;
}

/* ---- packed video ---- */

/* R is Cr, G is Y, B is Cb; two pixels share the chroma of the even one. */
INLINE void yuv_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                     uint8_t *const row[4]) {
    vu code[3];

    for (uint32_t c = 0; c < 3; c++) {
        code[c] = unorm_encode(vf_saturate(vf_load(pixels->color[half][c])), 255);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        uint8_t *const pair = row[i / 2];
        if (!(live >> i & 1)) {
            continue;
        }
        if (target->channel[1].written) {
            pair[target->channel[1].shift / 8 + 2 * (i & 1)] = (uint8_t)code[1][i];
        }
        for (uint32_t c = 0; c < 3 && !(i & 1); c += 2) {
            if (target->channel[c].written) {
                pair[target->channel[c].shift / 8] = (uint8_t)code[c][i];
            }
        }
    }
}

/* ---- four channels of eight bits ---- */

enum blend_shape {
    REPLACE,
    BLEND,
    OVER, /* factors: source alpha and one minus source alpha, for color and alpha */
};

INLINE void unorm8_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                        uint8_t *const row[4], enum blend_shape shape) {
    struct blend_inputs in;
    vu old[4] = {{0}};
    vu new[4] = {{0}};

    const bool have_old = shape != REPLACE || target->reads || live != 0xff;
    if (have_old) {
        old[0] = gather32(row);
    }
    for (uint32_t c = 0; c < 4; c++) {
        in.source[c] = vf_saturate(vf_load(pixels->color[half][c]));
        if (shape != REPLACE) {
            in.destination[c] = unorm8_decode(old[0] >> target->channel[c].shift & 0xff);
        }
        if (shape == BLEND) {
            in.source1[c] = target->dual_source ? vf_saturate(vf_load(pixels->color1[half][c])) : in.source[c];
            in.constant[c] = vf_all(target->constant[c]);
        }
    }
    for (uint32_t c = 0; c < 4; c++) {
        vf v = in.source[c];
        if (shape == BLEND) {
            v = vf_saturate(blend_channel(target, &in, c));
        } else if (shape == OVER) {
            /* Rounding may leave the result slightly above 1, which still becomes 255. */
            v = v * in.source[3] + in.destination[c] * complement(in.source[3]);
        }
        new[0] |= unorm_encode(v, 255) << target->channel[c].shift;
    }
    store(target, 4, live, have_old, row, old, new);
}

INLINE void replace_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                         uint8_t *const row[4]) {
    unorm8_half(target, pixels, half, live, row, REPLACE);
}

INLINE void blend_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                       uint8_t *const row[4]) {
    unorm8_half(target, pixels, half, live, row, BLEND);
}

INLINE void over_half(const struct g4_target *target, const struct g4_pixels *pixels, uint32_t half, uint32_t live,
                      uint8_t *const row[4]) {
    unorm8_half(target, pixels, half, live, row, OVER);
}

/* ---- reading ---- */

/* A channel as a shader receives it: a float, or an integer of 32 bits. */
INLINE vu read_channel(const struct g4_target *target, uint32_t c, const vu raw[4]) {
    const struct g4_channel *const channel = &target->channel[c];
    if (!channel->stored) {
        return vu_all(c < 3 ? 0 : target->integer ? 1 : 0x3f800000);
    }
    if (!target->integer) {
        return (vu)decode(channel, raw);
    }
    const vu code = raw[channel->plane] >> channel->shift & channel->mask;
    const uint32_t unused = 32u - channel->bits;
    return channel->type == G4_CHANNEL_SINT ? (vu)((vi)(code << unused) >> unused) : code;
}

static void read_colors(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels,
                        uint32_t out[4][16]) {
    struct g4_subspan_rows rows;

    g4_pixel_map_open(&target->map, port, pixels->x, pixels->y, pixels->live, &rows);
    for (uint32_t half = 0; half < 2; half++) {
        const vu inside = (vu)vi_mask((pixels->live & rows.inside) >> (8 * half) & 0xff);
        vu raw[4] = {{0}};
        if (!(pixels->live >> (8 * half) & 0xff)) {
            continue;
        }
        gather(&rows.row[4 * half], target->map.bytes, raw);
        for (uint32_t c = 0; c < 4; c++) {
            const vu color = read_channel(target, c, raw) & inside;
            memcpy(&out[c][8 * half], &color, sizeof color);
        }
    }
}

/* ---- the loops ---- */

#define WRITE(name, half)                                                                                              \
    static void name(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels) {                 \
        write_halves(target, port, pixels, half);                                                                      \
    }

WRITE(write_blended, blended_half)
WRITE(write_blended_one_plane, blended_half_of_one_plane)
WRITE(write_replaced, replaced_half)
WRITE(write_replaced_one_plane, replaced_half_of_one_plane)
WRITE(write_integers, integer_half)
WRITE(write_integers_one_plane, integer_half_of_one_plane)
WRITE(write_yuv, yuv_half)
WRITE(write_unorm8_replace, replace_half)
WRITE(write_unorm8_blend, blend_half)
WRITE(write_unorm8_over, over_half)

static void write_general(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels) {
    const bool one_plane = planes_of(target->map.bytes) == 1;
    if (target->blend) {
        (one_plane ? write_blended_one_plane : write_blended)(target, port, pixels);
    } else {
        (one_plane ? write_replaced_one_plane : write_replaced)(target, port, pixels);
    }
}

static void write_integer(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels) {
    const bool one_plane = planes_of(target->map.bytes) == 1;
    (one_plane ? write_integers_one_plane : write_integers)(target, port, pixels);
}

static void write_dwords(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels) {
    if (!write_columns(target, port, pixels)) {
        write_integers(target, port, pixels);
    }
}

const struct g4_color_ops G4_V(g4_color_ops) = {
    .general = write_general,
    .integer = write_integer,
    .dwords = write_dwords,
    .yuv = write_yuv,
    .unorm8 = write_unorm8_replace,
    .unorm8_blend = write_unorm8_blend,
    .unorm8_over = write_unorm8_over,
    .read = read_colors,
};
