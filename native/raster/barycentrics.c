#include "raster/barycentrics.h"

#include "core/lanes.h"

INLINE vd plane_at(const struct g4_screen_plane *plane, vd x, vd y) {
    return x * plane->cx + (y * plane->cy + plane->c);
}

INLINE void store(float *to, vd v) {
    const vf single = __builtin_convertvector(v, vf);
    memcpy(to, &single, sizeof single);
}

/* In double precision, rounded once. */
INLINE void values_of(const struct g4_object_planes *planes, const struct g4_pixel_places *places, uint32_t pixels,
                      uint32_t wanted, struct g4_pixel_values *out) {
    const struct g4_screen_plane *const rhw = &planes->rhw;
    /* Without perspective, which is common, the slow division is done once.  The sum with -0 would be 0. */
    const bool flat = rhw->cx == 0 && rhw->cy == 0 && rhw->c != 0;
    const vd common = flat ? 1.0 / rhw->c + (vd){0} : (vd){0};

    for (uint32_t first = 0; first < pixels; first += LANES) {
        const vd x = __builtin_convertvector(vf_load(places->x + first), vd);
        const vd y = __builtin_convertvector(vf_load(places->y + first), vd);
        if (wanted & (G4_VALUE_PERSPECTIVE | G4_VALUE_W)) {
            const vd w = flat ? common : 1.0 / plane_at(rhw, x, y);
            if (wanted & G4_VALUE_PERSPECTIVE) {
                store(out->perspective[0] + first, plane_at(&planes->weighted[0], x, y) * w);
                store(out->perspective[1] + first, plane_at(&planes->weighted[1], x, y) * w);
            }
            if (wanted & G4_VALUE_W) {
                store(out->w + first, w);
            }
        }
        if (wanted & G4_VALUE_LINEAR) {
            store(out->linear[0] + first, plane_at(&planes->linear[0], x, y));
            store(out->linear[1] + first, plane_at(&planes->linear[1], x, y));
        }
    }
}

static void evaluate(const struct g4_object_planes *planes, const struct g4_pixel_places *places, uint32_t pixels,
                     uint32_t wanted, struct g4_pixel_values *out) {
    values_of(planes, places, pixels, wanted, out);
}

#ifdef G4_LANES_AVX2

/* Four words, each for four pixels. */
INLINE void spread(const uint16_t at[4], vi out[2]) {
    const __m256i words = _mm256_castsi128_si256(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)at)));
    out[0] = (vi)_mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    out[1] = (vi)_mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3));
}

#else

/* Each for four pixels: a blend of two broadcasts, where compilers would insert one lane after the other. */
INLINE vi pair(uint32_t first, uint32_t second) {
    const vi low = (vi){0} + (int32_t)first;
    const vi high = (vi){0} + (int32_t)second;
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 12, 13, 14, 15);
}

INLINE void spread(const uint16_t at[4], vi out[2]) {
    out[0] = pair(at[0], at[1]);
    out[1] = pair(at[2], at[3]);
}

#endif

/* A pair of subspans is a vector. */
INLINE void places_of(const uint16_t x[4], const uint16_t y[4], struct g4_pixel_places *out) {
    vi column[2];
    vi row[2];

    spread(x, column);
    spread(y, row);
    for (uint32_t pair = 0; pair < 2; pair++) {
        const vf px = __builtin_convertvector(column[pair] + (vi){0, 1, 0, 1, 0, 1, 0, 1}, vf);
        const vf py = __builtin_convertvector(row[pair] + (vi){0, 0, 1, 1, 0, 0, 1, 1}, vf);
        memcpy(out->x + (size_t)LANES * pair, &px, sizeof px);
        memcpy(out->y + (size_t)LANES * pair, &py, sizeof py);
    }
}

static void locate(const uint16_t x[4], const uint16_t y[4], struct g4_pixel_places *out) {
    places_of(x, y, out);
}

INLINE void depths_of(const struct g4_plane *plane, const struct g4_pixel_places *places, uint32_t pixels,
                      float z[G4_BLOCK_PIXELS]) {
    for (uint32_t first = 0; first < pixels; first += LANES) {
        const vd x = __builtin_convertvector(vf_load(places->x + first), vd) - plane->x_start;
        const vd y = __builtin_convertvector(vf_load(places->y + first), vd) - plane->y_start;
        store(z + first, plane->c0 + plane->cx * x + plane->cy * y);
    }
}

static void depths(const struct g4_plane *plane, const struct g4_pixel_places *places, uint32_t pixels,
                   float z[G4_BLOCK_PIXELS]) {
    depths_of(plane, places, pixels, z);
}

static void centers(const struct g4_center_rows *rows, const struct g4_object_planes *planes,
                    const struct g4_plane *depth, const uint16_t x[4], const uint16_t y[4], float *out, size_t stride) {
    struct g4_pixel_places places;
    struct g4_center_values values;

    places_of(x, y, &places);
    values_of(planes, &places, rows->pixels, rows->wanted, &values.at);
    if (rows->depth) {
        depths_of(depth, &places, rows->pixels, values.z);
    }
    for (uint32_t r = 0; r < rows->count; r++) {
        const vf row = vf_load((const float *)&values + rows->from[r]);
        memcpy(out + r * stride, &row, sizeof row);
    }
}

const struct g4_barycentric_ops G4_V(g4_barycentric_ops) = {
    .evaluate = evaluate,
    .locate = locate,
    .depths = depths,
    .centers = centers,
};
