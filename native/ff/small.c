/*
 * Small triangles: all their pixels at once, as a mask of 8x8 (spec/20 4.3).  The same edge functions as raster.c, for
 * triangles so small that 32 bits hold them; built once per vector variant.
 */
#include "small.h"

typedef int32_t lanes __attribute__((vector_size(32)));

/* Bit i: lane i is not negative. */
static inline uint32_t not_negative(lanes v) {
#if G4_VARIANT_LEVEL
    return ~(uint32_t)_mm256_movemask_ps((__m256)v) & 0xff;
#else
    uint32_t bits = 0;
    for (int i = 0; i < G4_SMALL_SIZE; i++) {
        bits |= (uint32_t)(v[i] >= 0) << i;
    }
    return bits;
#endif
}

static uint64_t mask(const struct g4_setup *setup) {
    const lanes column = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t *const x = setup->x;
    const int32_t *const y = setup->y;
    const int32_t size = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    const int32_t px = setup->x_min * G4_ONE_PIXEL;
    const int32_t py = setup->y_min * G4_ONE_PIXEL;
    const int32_t rows = setup->y_max - setup->y_min;
    const uint32_t columns = 0xffu >> (7 - (setup->x_max - setup->x_min));
    uint64_t lit = 0;
    lanes edge[3], down[3];

    for (int i = 0; i < 3; i++) {
        const int a = size > 0 ? i : (i + 1) % 3;
        const int b = size > 0 ? (i + 1) % 3 : i;
        const int32_t dx = x[b] - x[a];
        const int32_t dy = y[b] - y[a];
        const bool includes = dy < 0 || (dy == 0 && dx > 0); /* left and top edges */
        const int32_t e = dx * (py - y[a]) - dy * (px - x[a]) - (includes ? 0 : 1);
        edge[i] = (e >> G4_SUB_PIXEL_BITS) - column * dy;
        down[i] = (lanes){0} + dx;
    }
    for (int32_t row = 0; row <= rows; row++) {
        lit |= (uint64_t)(not_negative(edge[0] | edge[1] | edge[2]) & columns) << (G4_SMALL_SIZE * row);
        edge[0] += down[0];
        edge[1] += down[1];
        edge[2] += down[2];
    }
    return lit;
}

const struct g4_small_ops G4_V(g4_small_ops) = {.mask = mask};
