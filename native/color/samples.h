/*
 * The samples of a pixel: their places, and where they lie in interleaved surfaces such as the depth buffer.
 */
#ifndef G4_COLOR_SAMPLES_H
#define G4_COLOR_SAMPLES_H

#include "color/color.h"

/* From the pixel's location to sample s, in pixels. */
static inline void g4_sample_offset(const struct g4_multisampling *m, uint32_t s, double *x, double *y) {
    const double location = m->upper_left ? 0 : 0.5;
    *x = m->x[s] / 16.0 - location;
    *y = m->y[s] / 16.0 - location;
}

/* The depths of sample s in the four pixels of a subspan. */
static inline void g4_sample_depths(const struct g4_multisampling *m, const struct g4_plane *z, uint32_t s, uint32_t x,
                                    uint32_t y, float out[4]) {
    double dx, dy;
    g4_sample_offset(m, s, &dx, &dy);
    for (uint32_t p = 0; p < 4; p++) {
        out[p] = (float)(z->c0 + z->cx * (x + (p & 1) + dx - z->x_start) + z->cy * (y + (p >> 1) + dy - z->y_start));
    }
}

/* From a subspan to that of sample s in an interleaved surface (SNB PRM vol. 1 part 1, Interleaved Multisampled
 * Surfaces). */
static inline void g4_sample_place(uint32_t samples, uint32_t s, uint16_t *x, uint16_t *y) {
    if (samples >= 8) {
        *x = (uint16_t)(*x << 2 | (s & 4) | (s & 1) << 1);
    } else {
        *x = (uint16_t)(*x << 1 | (s & 1) << 1);
    }
    if (samples >= 16) {
        *y = (uint16_t)(*y << 2 | (s & 8) >> 1 | (s & 2));
    } else if (samples >= 4) {
        *y = (uint16_t)(*y << 1 | (s & 2));
    }
}

#endif
