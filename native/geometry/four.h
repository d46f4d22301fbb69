/*
 * Four vertices at a time: what CLIP and SF do with every vertex.  Plain 16-byte vectors, which every host has.
 */
#ifndef G4_FF_FOUR_H
#define G4_FF_FOUR_H

#include <string.h>

#include "geometry/object.h"

enum {
    G4_FOUR = 4
};

typedef float g4_four_f __attribute__((vector_size(16)));
typedef int32_t g4_four_i __attribute__((vector_size(16)));

struct g4_four_positions {
    g4_four_f x, y, z, rhw;
};

static inline g4_four_f g4_four_all(float x) {
    return (g4_four_f){x, x, x, x};
}

/* All ones where the lane is a NaN. */
static inline g4_four_i g4_four_nan(g4_four_f v) {
    return ~(v == v);
}

/* The positions of vertex[0..count-1]; lanes beyond repeat the last one. */
static inline void g4_four_load(const struct g4_vertex *vertex, uint32_t count, struct g4_four_positions *out) {
    g4_four_f row[G4_FOUR];
    for (uint32_t i = 0; i < G4_FOUR; i++) {
        memcpy(&row[i], &vertex[i < count ? i : count - 1].x, sizeof row[i]);
    }
    const g4_four_f xy_low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const g4_four_f xy_high = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const g4_four_f zw_low = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const g4_four_f zw_high = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    out->x = __builtin_shufflevector(xy_low, xy_high, 0, 1, 4, 5);
    out->y = __builtin_shufflevector(xy_low, xy_high, 2, 3, 6, 7);
    out->z = __builtin_shufflevector(zw_low, zw_high, 0, 1, 4, 5);
    out->rhw = __builtin_shufflevector(zw_low, zw_high, 2, 3, 6, 7);
}

#endif
