#include "sampler/inner_loops.h"

#include <math.h>

#include "sampler/coordinates.h"
#include "sampler/lod_gen7.h"

/* ---- coordinates ---- */

INLINE void axis_of_mode(const struct g4_axis *axis, uint8_t mode, const float *coordinate, uint32_t n,
                         struct g4_axis_lanes *out) {
    const struct g4_axis along = *axis;

    for
        EACH_VECTOR(i, n) {
            const struct axis_texels texels = axis_texels(&along, mode, vf_load(&coordinate[i]));
            store(&out->first[i], texels.first);
            if (along.linear) {
                store(&out->second[i], texels.second);
                store(&out->weight[i], texels.weight);
            }
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
    case G4_HALF_BORDER:
        axis_of_mode(axis, G4_HALF_BORDER, coordinate, n, out);
        break;
    case G4_TEXTURE_COORDINATE_MODE_CUBE:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_CUBE, coordinate, n, out);
        break;
    default:
        axis_of_mode(axis, G4_TEXTURE_COORDINATE_MODE_CLAMP, coordinate, n, out);
        break;
    }
}

/* ---- addresses: the part of x plus the part of y ---- */

static void slices(const struct g4_level *level, const int32_t *slice, uint32_t n, uint32_t *x0, uint32_t *y0) {
    const vu mask = vu_all(level->slice_mask);
    const uint32_t shift = level->slice_shift;
    const vu dx = vu_all(level->slice_dx);
    const vu dy = vu_all(level->slice_dy);
    for
        EACH_VECTOR(i, n) {
            const vu number = (vu)vi_max(vi_load(&slice[i]), vi_all(0));
            store(&x0[i], (vi)(vu_all(level->x) + dx * (number & mask)));
            store(&y0[i], (vi)(vu_all(level->y) + dy * (number >> shift)));
        }
}

/* W tiles have 64x64 texels of a byte; the bits of both coordinates alternate (IVB PRM vol. 1 part 2, 5.2.1). */
INLINE vu column_of_tile_w(vu x) {
    return (x >> 6) << 12 | (x & vu_all(0x38)) << 6 | (x & vu_all(4)) << 2 | (x & vu_all(2)) << 1 | (x & vu_all(1));
}

INLINE vu row_of_tile_w(vu y, uint32_t pitch) {
    return (y >> 6) * vu_all(pitch * 64) +
           ((y & vu_all(0x38)) << 3 | (y & vu_all(4)) << 3 | (y & vu_all(2)) << 2 | (y & vu_all(1)) << 1);
}

static void columns(const struct g4_texture *texture, const uint32_t *x0, const int32_t *x, uint32_t size, uint32_t n,
                    uint32_t *out) {
    const uint32_t bytes = texture->bits / 8;
    const vu offset = vu_all(texture->x_offset);
    const enum g4_tiling tiling = texture->surface.tiling;

    for
        EACH_VECTOR(i, n) {
            const vu at = (vu_load(&x0[i]) + inside(vi_load(&x[i]), size) + offset) * vu_all(bytes);
            const vu tile_x = (at >> 9) << 12 | (at & vu_all(511));
            const vu tile_y = (at >> 7) << 12 | (at & vu_all(0x70)) << 5 | (at & vu_all(15));
            store(&out[i], (vi)(tiling == G4_TILING_X   ? tile_x
                                : tiling == G4_TILING_Y ? tile_y
                                : tiling == G4_TILING_W ? column_of_tile_w(at)
                                                        : at));
        }
}

static void rows(const struct g4_texture *texture, const uint32_t *y0, const int32_t *y, uint32_t size, uint32_t n,
                 uint32_t *out) {
    const uint32_t pitch = texture->surface.pitch;
    const uint32_t shift = texture->line_shift;
    const vu offset = vu_all(texture->line_offset + texture->y_offset);
    const enum g4_tiling tiling = texture->surface.tiling;

    for
        EACH_VECTOR(i, n) {
            const vu row = ((vu_load(&y0[i]) + inside(vi_load(&y[i]), size)) << shift) + offset;
            const vu tile_x = (row >> 3) * vu_all(pitch * 8) + ((row & vu_all(7)) << 9);
            const vu tile_y = (row >> 5) * vu_all(pitch * 32) + ((row & vu_all(31)) << 4);
            const vu linear = row * vu_all(pitch);
            store(&out[i], (vi)(tiling == G4_TILING_X   ? tile_x
                                : tiling == G4_TILING_Y ? tile_y
                                : tiling == G4_TILING_W ? row_of_tile_w(row, pitch)
                                                        : linear));
        }
}

static uint64_t locate(const uint32_t *const coordinate[3], const uint32_t offset[3], const uint32_t size[3],
                       int32_t *const place[3]) {
    vi all = vi_all(-1);
    uint64_t found = 0;

    for
        EACH_VECTOR(i, G4_BATCH) {
            for (int axis = 0; axis < 3; axis++) {
                const vu start = coordinate[axis] ? vu_load(&coordinate[axis][i]) : vu_all(0);
                const vu at = start + vu_all(offset[axis]);
                all &= (vi)(at < vu_all(size[axis]));
                store(&place[axis][i], (vi)at);
            }
        }
    int32_t each[LANES];
    int32_t inside_all = -1;
    store(each, all);
    for (uint32_t k = 0; k < LANES; k++) {
        inside_all &= each[k];
    }
    if (inside_all) {
        return UINT64_MAX;
    }
    for (uint32_t i = 0; i < G4_BATCH; i++) {
        const bool in =
            (uint32_t)place[0][i] < size[0] && (uint32_t)place[1][i] < size[1] && (uint32_t)place[2][i] < size[2];
        found |= (uint64_t)in << i;
    }
    return found;
}

/* ---- packed texels ---- */

/* Texels are aligned, so none crosses a page. */
INLINE uint32_t load_word(struct g4_port *port, uint32_t bytes, g4_address address) {
    uint32_t value = 0;
    memcpy(&value, g4_mem_read_ptr(port, address), bytes);
    return value;
}

enum {
    PAIR = 8,  /* lanes of two subspans */
    LOWER = 2, /* bit of the lane number: the lane is in the lower row */
};

/* Loads texels of two subspans.  False, if their upper rows are not in one page, or their lower rows are not, or if a
 * page is missing, which load_word() reports. */
INLINE bool load_near(struct g4_port *port, g4_address base, uint32_t bytes, const uint32_t *column,
                      const uint32_t *row, uint32_t *word) {
    const uint32_t start = (uint32_t)(base & G4_PAGE_OFFSET);
    uint32_t at[PAIR];
    uint32_t far = 0;

    for (uint32_t k = 0; k < PAIR; k++) {
        const uint32_t offset = column[k] + row[k];
        at[k] = offset + start;
        far |= (offset | at[k]) & ~(UINT32_MAX >> 1); /* the sum may wrap around */
    }
    for (uint32_t k = 0; k < PAIR; k++) {
        far |= (at[k] ^ at[k & LOWER]) & ~(uint32_t)G4_PAGE_OFFSET;
    }
    if (__builtin_expect(far != 0, 0)) {
        return false;
    }
    const g4_address page = base - start;
    const uint8_t *const upper = g4_mem_ptr(port->mem, page + (at[0] & ~(uint32_t)G4_PAGE_OFFSET));
    const uint8_t *const lower = g4_mem_ptr(port->mem, page + (at[LOWER] & ~(uint32_t)G4_PAGE_OFFSET));
    if (__builtin_expect(!upper || !lower, 0)) {
        return false;
    }
    for (uint32_t k = 0; k < PAIR; k++) {
        word[k] = 0;
        memcpy(&word[k], (k & LOWER ? lower : upper) + (at[k] & G4_PAGE_OFFSET), bytes);
    }
    return true;
}

INLINE void load_words(struct g4_port *port, g4_address base, uint32_t bytes, const uint32_t *column,
                       const uint32_t *row, uint32_t n, uint32_t *word) {
    for (uint32_t i = 0; i < n; i += PAIR) {
        const uint32_t end = n - i < PAIR ? n : i + PAIR;
        if (end - i == PAIR && load_near(port, base, bytes, &column[i], &row[i], &word[i])) {
            continue;
        }
        for (uint32_t k = i; k < end; k++) {
            word[k] = load_word(port, bytes, base + (column[k] + row[k]));
        }
    }
}

/* Loads two texels that are mostly adjacent in memory. */
INLINE void load_pairs(struct g4_port *port, g4_address base, uint32_t bytes, uint32_t column[2][G4_BATCH],
                       const uint32_t *row, uint32_t n, uint32_t (*word)[G4_BATCH]) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = column[0][i] + row[i];
        const bool neighbours = column[1][i] - column[0][i] == bytes;
        if (__builtin_expect(neighbours && ((base + first) & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - 2 * bytes, 1)) {
            uint64_t pair = 0;
            memcpy(&pair, g4_mem_read_ptr(port, base + first), (size_t)2 * bytes);
            word[0][i] = (uint32_t)(pair & (bytes == 4 ? UINT32_MAX : (UINT64_C(1) << 8 * bytes) - 1));
            word[1][i] = (uint32_t)(pair >> 8 * bytes);
        } else {
            word[0][i] = load_word(port, bytes, base + first);
            word[1][i] = load_word(port, bytes, base + (column[1][i] + row[i]));
        }
    }
}

INLINE void load_corners(struct g4_port *port, g4_address base, uint32_t bytes, uint32_t column[2][G4_BATCH],
                         uint32_t row[2][G4_BATCH], uint32_t corners, uint32_t n, uint32_t word[4][G4_BATCH]) {
    if (corners == 1) {
        load_words(port, base, bytes, column[0], row[0], n, word[0]);
        return;
    }
    load_pairs(port, base, bytes, column, row[0], n, &word[0]);
    load_pairs(port, base, bytes, column, row[1], n, &word[2]);
}

/* Exact, including denormals and NaN. */
INLINE vf half_float(vu h) {
    const vf scaled = (vf)((h & vu_all(0x7fff)) << 13) * vf_all(5192296858534827628530496329220096.0f); /* 2^112 */
    const vu special = (vu)((h & vu_all(0x7c00)) == vu_all(0x7c00)) & vu_all(0x7f800000);
    return (vf)((vu)scaled | special | (h & vu_all(0x8000)) << 16);
}

INLINE void decode_component(const struct g4_component *component, const uint32_t *word, uint32_t n, float *out) {
    const uint32_t shift = component->shift;
    const vu mask = vu_all(component->mask);

    switch (component->kind) {
    case G4_COMPONENT_UNORM8:
        for
            EACH_VECTOR(i, n) {
                store(&out[i], (vi)unorm8_decode(vu_load(&word[i]) >> shift & vu_all(255)));
            }
        break;
    case G4_COMPONENT_UNORM: {
        const vf maximum = vf_all(component->maximum);
        for
            EACH_VECTOR(i, n) {
                store(&out[i], (vi)(vf_of_int((vi)(vu_load(&word[i]) >> shift & mask)) / maximum));
            }
        break;
    }
    case G4_COMPONENT_SRGB:
        for (uint32_t i = 0; i < n; i++) {
            out[i] = component->decoded[word[i] >> shift & component->mask];
        }
        break;
    case G4_COMPONENT_HALF:
        for
            EACH_VECTOR(i, n) {
                store(&out[i], (vi)half_float(vu_load(&word[i]) >> shift));
            }
        break;
    case G4_COMPONENT_UINT:
        for
            EACH_VECTOR(i, n) {
                store(&out[i], (vi)(vu_load(&word[i]) >> shift & mask));
            }
        break;
    case G4_COMPONENT_SINT: {
        const uint32_t unused = (uint32_t)__builtin_clz(component->mask);
        for
            EACH_VECTOR(i, n) {
                store(&out[i], (vi)(vu_load(&word[i]) << (unused - shift)) >> unused);
            }
        break;
    }
    default:
        memcpy(out, word, n * sizeof *out);
        break;
    }
}

static void fetch(const struct g4_texture *texture, struct g4_port *port, uint32_t column[2][G4_BATCH],
                  uint32_t row[2][G4_BATCH], uint32_t corners, uint32_t n, float out[4][4][G4_BATCH]) {
    const g4_address base = texture->surface.base;
    uint32_t word[4][G4_BATCH];

    switch (texture->bits) {
    case 8:
        load_corners(port, base, 1, column, row, corners, n, word);
        break;
    case 16:
        load_corners(port, base, 2, column, row, corners, n, word);
        break;
    default:
        load_corners(port, base, 4, column, row, corners, n, word);
        break;
    }
    for (uint32_t i = n; i % LANES; i++) { /* because whole vectors are decoded */
        word[0][i] = word[1][i] = word[2][i] = word[3][i] = 0;
    }
    for (uint32_t corner = 0; corner < corners; corner++) {
        for (uint32_t k = 0; k < texture->components; k++) {
            decode_component(&texture->component[k], word[corner], n, out[corner][k]);
        }
    }
}

/* ---- filter ---- */

static void weights(const struct g4_axis_lanes *x, const struct g4_axis_lanes *y, uint32_t n,
                    float weight[4][G4_BATCH]) {
    const vi one = vi_all(G4_WEIGHT_ONE);
    const vf unit = vf_all(1.0f / 65536.0f);
    for
        EACH_VECTOR(i, n) {
            const vi x1 = vi_load(&x->weight[i]);
            const vi y1 = vi_load(&y->weight[i]);
            store(&weight[0][i], (vi)(vf_of_int((one - x1) * (one - y1)) * unit));
            store(&weight[1][i], (vi)(vf_of_int(x1 * (one - y1)) * unit));
            store(&weight[2][i], (vi)(vf_of_int((one - x1) * y1) * unit));
            store(&weight[3][i], (vi)(vf_of_int(x1 * y1) * unit));
        }
}

INLINE vd widen(const float *from) {
    return vd_of_float(vf_load(from));
}

struct corner_weights {
    vd w[4];
};

INLINE struct corner_weights weights_of(const struct g4_texel_lanes *texels, uint32_t i) {
    return (struct corner_weights){{widen(&texels->weight[0][i]), widen(&texels->weight[1][i]),
                                    widen(&texels->weight[2][i]), widen(&texels->weight[3][i])}};
}

INLINE vd corners(const struct g4_texel_lanes *texels, const struct corner_weights *weights, bool finite, uint32_t k,
                  uint32_t i) {
    vd sum = {0};
    for (int corner = 0; corner < 4; corner++) {
        sum = vd_plus(sum, weights->w[corner] * widen(&texels->texel[corner][k][i]), finite);
    }
    return sum;
}

INLINE void accumulate_components(const struct g4_texel_lanes *texels, const double *scale, uint32_t components,
                                  bool finite, uint32_t n, double sum[4][G4_BATCH]) {
    for
        EACH_VECTOR(i, n) {
            const struct corner_weights weights = weights_of(texels, i);
            vd factor;
            memcpy(&factor, &scale[i], sizeof factor);
            for (uint32_t k = 0; k < components; k++) {
                vd total;
                memcpy(&total, &sum[k][i], sizeof total);
                total = vd_plus(total, factor * corners(texels, &weights, finite, k, i), finite);
                memcpy(&sum[k][i], &total, sizeof total);
            }
        }
}

static void accumulate(const struct g4_texel_lanes *texels, const double *scale, uint32_t components, bool finite,
                       uint32_t n, double sum[4][G4_BATCH]) {
    if (finite) {
        accumulate_components(texels, scale, components, true, n, sum);
    } else {
        accumulate_components(texels, scale, components, false, n, sum);
    }
}

INLINE void filter_components(const struct g4_texel_lanes *texels, uint32_t components, bool finite, uint32_t n,
                              float out[4][G4_BATCH]) {
    for
        EACH_VECTOR(i, n) {
            const struct corner_weights weights = weights_of(texels, i);
            for (uint32_t k = 0; k < components; k++) {
                const vf sum = __builtin_convertvector(corners(texels, &weights, finite, k, i), vf);
                store(&out[k][i], (vi)sum);
            }
        }
}

static void filter(const struct g4_texel_lanes *texels, uint32_t components, bool finite, uint32_t n,
                   float out[4][G4_BATCH]) {
    if (!finite) {
        filter_components(texels, components, false, n, out);
        return;
    }
    switch (components) {
    case 1:
        filter_components(texels, 1, true, n, out);
        break;
    case 4:
        filter_components(texels, 4, true, n, out);
        break;
    default:
        filter_components(texels, components, true, n, out);
        break;
    }
}

/* ---- anisotropic lookups: samples one texel apart, of which the two outer ones fade in (docs/decisions.md 66) ---- */

enum {
    MOST_WAYS = 16
};

/* An even number of samples, or one. */
INLINE vf ways_of(vf ratio) {
    vf ways = vf_all(2.0f);
    for (uint32_t less = 2; less < MOST_WAYS; less += 2) {
        ways += vf_select(vf_less(vf_all((float)less), ratio), vf_all(2.0f), vf_all(0.0f));
    }
    return vf_select(vf_less(vf_all(1.0f), ratio), ways, vf_all(1.0f));
}

static uint32_t prepare_ways(const float *ratio, const float *const step[2], const float scale[2], uint32_t n,
                             struct g4_way_lanes *out) {
    float most = 1.0f;

    for
        EACH_VECTOR(i, n) {
            const vf length = vf_load(&ratio[i]);
            const vf ways = ways_of(length);
            const vd whole = vd_of_float(length);
            const vd inner = 1.0 / whole;
            const vd outer = (whole - (vd_of_float(ways) - 2.0)) * 0.5 / whole;
            store(&out->ways[i], (vi)ways);
            memcpy(&out->inner[i], &inner, sizeof inner);
            memcpy(&out->outer[i], &outer, sizeof outer);
            for (int axis = 0; axis < 2; axis++) {
                store(&out->delta[axis][i], (vi)(vf_load(&step[axis][i]) / vf_all(scale[axis])));
            }
        }
    for (uint32_t i = 0; i < n; i++) {
        most = out->ways[i] > most ? out->ways[i] : most;
        out->outer[i] = out->ways[i] > 1.0f ? out->outer[i] : 1.0;
    }
    return (uint32_t)most;
}

static void one_way(const struct g4_way_lanes *lanes, uint32_t way, const float *const center[2], uint32_t n,
                    float coordinate[2][G4_BATCH], double *share) {
    const vf number = vf_all((float)way);

    for
        EACH_VECTOR(i, n) {
            const vf ways = vf_load(&lanes->ways[i]);
            const vf place = number - (ways - vf_all(1.0f)) * vf_all(0.5f);
            for (int axis = 0; axis < 2; axis++) {
                store(&coordinate[axis][i], (vi)(vf_load(&center[axis][i]) + place * vf_load(&lanes->delta[axis][i])));
            }
        }
    for (uint32_t i = 0; i < n; i++) {
        const float last = lanes->ways[i] - 1.0f;
        const bool is_outer = way == 0 || (float)way == last;
        share[i] = (float)way > last ? 0.0 : is_outer ? lanes->outer[i] : lanes->inner[i];
    }
}

/* ---- shadow compare: 0 where it holds, 1 where not ---- */

INLINE vi holds(uint32_t function, vf t, vf r) {
    switch (function) {
    case G4_PREFILTER_OPERATION_LESS:
        return t < r;
    case G4_PREFILTER_OPERATION_EQUAL:
        return t == r;
    case G4_PREFILTER_OPERATION_LEQUAL:
        return t <= r;
    case G4_PREFILTER_OPERATION_GREATER:
        return t > r;
    case G4_PREFILTER_OPERATION_NOTEQUAL:
        return t != r;
    case G4_PREFILTER_OPERATION_GEQUAL:
        return t >= r;
    default:
        return vi_all(function == G4_PREFILTER_OPERATION_ALWAYS ? -1 : 0);
    }
}

static void compare(uint32_t function, const float *reference, uint32_t n, float *texel) {
    for
        EACH_VECTOR(i, n) {
            const vi yes = holds(function, vf_load(&texel[i]), vf_load(&reference[i]));
            store(&texel[i], ~yes & (vi)vf_all(1.0f));
        }
}

/* ---- levels ---- */

static void between(const float *a, const float *b, const int32_t *beta, uint32_t n, float *out) {
    for
        EACH_VECTOR(i, n) {
            const vi part = vi_load(&beta[i]);
            const vf unmixed = vf_load(&a[i]);
            const vd low = __builtin_convertvector(unmixed, vd);
            const vd share = __builtin_convertvector(vf_of_int(part) * vf_all(1.0f / 256.0f), vd);
            const vf mixed = __builtin_convertvector(low + (widen(&b[i]) - low) * share, vf);
            const vf quiet = (vf)((vi)unmixed | vi_all(0x00400000)); /* of two NaN, the first stays */
            const vf result = vf_select(unmixed == unmixed, mixed, quiet);
            store(&out[i], (vi)vf_select(part == vi_all(0), unmixed, result));
        }
}

/* ---- responses ---- */

static void merge(const uint32_t *value, uint64_t lanes, uint32_t *row) {
    if (lanes == UINT64_MAX) {
        memcpy(row, value, G4_BATCH * sizeof *row);
        return;
    }
    for
        EACH_VECTOR(i, G4_BATCH) {
            store(&row[i], (vi)vu_select(vi_mask(lanes >> i & 0xff), vu_load(&value[i]), vu_load(&row[i])));
        }
}

static void fill(uint32_t value, uint64_t lanes, uint32_t *row) {
    const vu all = vu_all(value);
    if (lanes == UINT64_MAX) {
        for
            EACH_VECTOR(i, G4_BATCH) {
                store(&row[i], (vi)all);
            }
        return;
    }
    for
        EACH_VECTOR(i, G4_BATCH) {
            store(&row[i], (vi)vu_select(vi_mask(lanes >> i & 0xff), all, vu_load(&row[i])));
        }
}

/* ---- cubes: ties go to Z, then Y ---- */

static void project(const float *x, const float *y, const float *z, uint32_t n, int32_t *face, float *u, float *v) {
    for
        EACH_VECTOR(i, n) {
            const vf px = vf_load(&x[i]);
            const vf py = vf_load(&y[i]);
            const vf pz = vf_load(&z[i]);
            const vi on_z = (magnitude(pz) >= magnitude(py)) & (magnitude(pz) >= magnitude(px));
            const vi on_y = ~on_z & (magnitude(py) >= magnitude(px));
            const vf major = vf_select(on_z, pz, vf_select(on_y, py, px));
            const vi negative = major < vf_all(0.0f);
            const vi flip = negative & vi_all(INT32_MIN);
            const vi sign = vi_all(INT32_MIN);
            const vf s_x = (vf)((vi)pz ^ flip ^ sign);
            const vf s_z = (vf)((vi)px ^ flip);
            const vf t_y = (vf)((vi)pz ^ flip);
            const vf t_xz = (vf)((vi)py ^ sign);
            const vf s = vf_select(on_z, s_z, vf_select(on_y, px, s_x));
            const vf t = vf_select(on_y, t_y, t_xz);
            const vf one = vf_all(1.0f);
            const vf half = vf_all(0.5f);
            store(&face[i], (on_z & vi_all(4)) + (on_y & vi_all(2)) + (negative & vi_all(1)));
            store(&u[i], (vi)((s / magnitude(major) + one) * half));
            store(&v[i], (vi)((t / magnitude(major) + one) * half));
        }
}

/* ---- gradients ---- */

INLINE double square_length(const float d[3][G4_BATCH], uint32_t i) {
    const double x = d[0][i];
    const double y = d[1][i];
    const double z = d[2][i];
    return x * x + y * y + z * z;
}

/* log2 as exponent * 128 + 7 bits of mantissa.  The length is rounded to 16 bits first, so that noise does not turn an
 * exact 2:1 into less.  NaN counts as 0. */
INLINE int32_t logarithm(double x, double y) {
    const double longer = x > y ? x : y;
    const double root = sqrt(longer);
    uint64_t bits;
    memcpy(&bits, &root, sizeof bits);
    const uint64_t rounded = bits + ((UINT64_C(1) << 36) - 1) + (bits >> 37 & 1);
    const int32_t number = (int32_t)(uint32_t)(rounded >> 45) - 1023 * 128;
    return number * ((x == x) & (y == y));
}

static void length(const struct g4_gradient_lanes *gradients, uint32_t n, int32_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = logarithm(square_length(gradients->dx, i), square_length(gradients->dy, i));
    }
}

/* The differences of a coordinate from the upper left pixels of eight subspans to the upper right and lower left ones.
 */
INLINE void differences(const float *coordinate, float texels, vf *dx, vf *dy) {
    const vf a = vf_load(coordinate);
    const vf b = vf_load(coordinate + LANES);
    const vf c = vf_load(coordinate + 2 * (size_t)LANES);
    const vf d = vf_load(coordinate + 3 * (size_t)LANES);
    const vf ab = __builtin_shufflevector(a, b, 0, 4, 8, 12, 1, 5, 9, 13);
    const vf cd = __builtin_shufflevector(c, d, 0, 4, 8, 12, 1, 5, 9, 13);
    const vf left = __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11);
    const vf right = __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15);
    const vf ab_below = __builtin_shufflevector(a, b, 2, 6, 10, 14, 2, 6, 10, 14);
    const vf cd_below = __builtin_shufflevector(c, d, 2, 6, 10, 14, 2, 6, 10, 14);
    const vf below = __builtin_shufflevector(ab_below, cd_below, 0, 1, 2, 3, 8, 9, 10, 11);
    *dx = (right - left) * vf_all(texels);
    *dy = (below - left) * vf_all(texels);
}

static void lengths(const float *const u[2], const float *const v[2], float width, float height,
                    int32_t out[G4_SUBSPANS]) {
    float ux[G4_SUBSPANS], uy[G4_SUBSPANS], vx[G4_SUBSPANS], vy[G4_SUBSPANS];

    for (uint32_t i = 0; i < G4_SUBSPANS; i += LANES) {
        const uint32_t half = i / (G4_SUBSPANS / 2);
        const uint32_t lane = 4 * (i % (G4_SUBSPANS / 2));
        vf d[4];
        differences(u[half] + lane, width, &d[0], &d[1]);
        differences(v[half] + lane, height, &d[2], &d[3]);
        store(&ux[i], (vi)d[0]);
        store(&uy[i], (vi)d[1]);
        store(&vx[i], (vi)d[2]);
        store(&vy[i], (vi)d[3]);
    }
    for (uint32_t i = 0; i < G4_SUBSPANS; i++) {
        const double x = (double)ux[i] * ux[i] + (double)vx[i] * vx[i];
        const double y = (double)uy[i] * uy[i] + (double)vy[i] * vy[i];
        out[i] = logarithm(x, y);
    }
}

/* g4_level_of_square() of the larger of two numbers. */
INLINE vi levels_of_squares(vf a, vf b) {
    const vf larger = vf_max(a, b);
    const vu bits = (vu)vf_select(vf_is_nan(larger), vf_all(1.0f), larger);
    const vf exponent = vf_of_int((vi)(bits >> 23)) - 127.0f;
    const vf t = (vf)((bits & 0x7fffff) | 0x3f800000) - 1.0f;
    return vi_truncate(G4_SHIFTED_LEVEL_GEN7(exponent, t)) - 32768;
}

static void levels_gen7(const float *const u[2], const float *const v[2], float width, float height,
                        int32_t out[G4_SUBSPANS]) {
    for (uint32_t i = 0; i < G4_SUBSPANS; i += LANES) {
        const uint32_t half = i / (G4_SUBSPANS / 2);
        const uint32_t lane = 4 * (i % (G4_SUBSPANS / 2));
        vf ux;
        vf uy;
        vf vx;
        vf vy;
        differences(u[half] + lane, width, &ux, &uy);
        differences(v[half] + lane, height, &vx, &vy);
        store(&out[i], levels_of_squares(ux * ux + vx * vx, uy * uy + vy * vy));
    }
}

/* ---- the choice of levels ---- */

INLINE void store_bytes(uint8_t *to, vi v) {
    const v8_u8 bytes = __builtin_convertvector(v, v8_u8);
    memcpy(to, &bytes, sizeof bytes);
}

static void choose(const struct g4_level_choice *choice, const int32_t *lod, uint32_t n, uint8_t *level,
                   uint8_t *magnified, int32_t *beta) {
    const vi low = vi_all(choice->low);
    const vi high = vi_all(choice->high);
    const vi clamp = vi_all(-(int32_t)choice->clamp);
    const vi mixing = vi_all(-(int32_t)choice->mixed);
    const vi rounding = vi_all(-(int32_t)choice->rounded);
    const vi least = vi_all(choice->floor_low);
    const vi least_rounded = vi_all(choice->rounded_low);
    for
        EACH_VECTOR(i, n) {
            const vi given = vi_load(&lod[i]) + vi_all(choice->bias);
            const vi number = vi_select(clamp, vi_max(vi_min(given, high), low), given);
            const vi close = number <= vi_all(choice->base);
            const vi mixed = mixing & ~close;
            const vi rounded = rounding & ~close;
            const vi whole = rounded & (number + vi_all(32));
            const vi single =
                vi_max(vi_min(whole, vi_all(choice->ceil_high)), vi_select(rounded, least_rounded, least));
            const vi chosen = vi_select(mixed, vi_max(vi_min(number, high), low), single);
            store_bytes(&magnified[i], close & vi_all(1));
            store_bytes(&level[i], (chosen >> 6) & vi_all(255));
            store(&beta[i], (mixed & chosen & vi_all(63)) << 2);
        }
}

const struct g4_sampler_ops G4_V(g4_sampler_ops) = {
    .axis = axis_lanes,
    .locate = locate,
    .slices = slices,
    .columns = columns,
    .rows = rows,
    .fetch = fetch,
    .weights = weights,
    .accumulate = accumulate,
    .filter = filter,
    .ways = prepare_ways,
    .way = one_way,
    .compare = compare,
    .between = between,
    .project = project,
    .choose = choose,
    .length = length,
    .lengths = lengths,
    .levels_gen7 = levels_gen7,
    .merge = merge,
    .fill = fill,
};
