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

const struct g4_barycentric_ops G4_V(g4_barycentric_ops) = {.evaluate = evaluate};
