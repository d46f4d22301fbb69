/*
 * Vectors of four vertices, for the work that CLIP and SF do on every vertex.  They have 16 bytes, as all hosts have.
 */
#ifndef G4_VERTEX_VECTORS_H
#define G4_VERTEX_VECTORS_H

#include <string.h>

#include "geometry/object.h"

enum {
    G4_VECTOR_VERTICES = 4
};

typedef float g4_float4 __attribute__((vector_size(16)));
typedef int32_t g4_int4 __attribute__((vector_size(16)));

struct g4_positions {
    g4_float4 x, y, z, rhw;
};

static inline g4_float4 g4_float4_all(float x) {
    return (g4_float4){x, x, x, x};
}

/* All ones where the lane is a NaN. */
static inline g4_int4 g4_float4_is_nan(g4_float4 v) {
    return ~(v == v);
}

/* The positions of vertex[0..count-1]; lanes beyond repeat the last one. */
static inline void g4_positions_load(const struct g4_vertex *vertex, uint32_t count, struct g4_positions *out) {
    g4_float4 row[G4_VECTOR_VERTICES];
    for (uint32_t i = 0; i < G4_VECTOR_VERTICES; i++) {
        memcpy(&row[i], &vertex[i < count ? i : count - 1].x, sizeof row[i]);
    }
    const g4_float4 xy_low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const g4_float4 xy_high = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const g4_float4 zw_low = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const g4_float4 zw_high = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    out->x = __builtin_shufflevector(xy_low, xy_high, 0, 1, 4, 5);
    out->y = __builtin_shufflevector(xy_low, xy_high, 2, 3, 6, 7);
    out->z = __builtin_shufflevector(zw_low, zw_high, 0, 1, 4, 5);
    out->rhw = __builtin_shufflevector(zw_low, zw_high, 2, 3, 6, 7);
}

#endif
