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
static void evaluate(const struct g4_object_planes *planes, const struct g4_pixel_places *places, uint32_t pixels,
                     uint32_t wanted, struct g4_pixel_values *out) {
    for (uint32_t first = 0; first < pixels; first += LANES) {
        const vd x = __builtin_convertvector(vf_load(places->x + first), vd);
        const vd y = __builtin_convertvector(vf_load(places->y + first), vd);
        if (wanted & (G4_VALUE_PERSPECTIVE | G4_VALUE_W)) {
            const vd w = 1.0 / plane_at(&planes->rhw, x, y);
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

/* Each for four pixels: a blend of two broadcasts, where compilers would insert one lane after the other. */
INLINE vi pair(uint32_t first, uint32_t second) {
    const vi low = (vi){0} + (int32_t)first;
    const vi high = (vi){0} + (int32_t)second;
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 12, 13, 14, 15);
}

/* A pair of subspans is a vector. */
static void locate(const uint16_t x[4], const uint16_t y[4], struct g4_pixel_places *out) {
    for (uint32_t s = 0; s < 4; s += 2) {
        const vf px = __builtin_convertvector(pair(x[s], x[s + 1]) + (vi){0, 1, 0, 1, 0, 1, 0, 1}, vf);
        const vf py = __builtin_convertvector(pair(y[s], y[s + 1]) + (vi){0, 0, 1, 1, 0, 0, 1, 1}, vf);
        memcpy(out->x + (size_t)4 * s, &px, sizeof px);
        memcpy(out->y + (size_t)4 * s, &py, sizeof py);
    }
}

static void depths(const struct g4_plane *plane, const struct g4_pixel_places *places, uint32_t pixels,
                   float z[G4_BLOCK_PIXELS]) {
    for (uint32_t first = 0; first < pixels; first += LANES) {
        const vd x = __builtin_convertvector(vf_load(places->x + first), vd) - plane->x_start;
        const vd y = __builtin_convertvector(vf_load(places->y + first), vd) - plane->y_start;
        store(z + first, plane->c0 + plane->cx * x + plane->cy * y);
    }
}

const struct g4_barycentric_ops G4_V(g4_barycentric_ops) = {.evaluate = evaluate, .locate = locate, .depths = depths};
