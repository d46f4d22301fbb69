/*
 * The pixels inside of edges (G45 PRM vol. 2, 8.3.3): of eight rows at a time, and of whole small triangles, whose edge
 * functions fit into 32 bits.
 */
#include "geometry/edges.h"

#include <string.h>

enum {
    LANES = 8,
    LAST_EIGHT = 24, /* where the last eight rows of a tile begin */
};

typedef int32_t lanes __attribute__((vector_size(32)));
typedef uint32_t bits __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(64)));
typedef int64_t wide __attribute__((vector_size(64)));

/* Bit i: lane i is not negative. */
static inline uint32_t not_negative(lanes v) {
#if G4_VARIANT_LEVEL
    return ~(uint32_t)_mm256_movemask_ps((__m256)v) & 0xff;
#else
    uint32_t set = 0;
    for (int i = 0; i < LANES; i++) {
        set |= (uint32_t)(v[i] >= 0) << i;
    }
    return set;
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

static inline doubles select_double(wide mask, doubles a, doubles b) {
    return (doubles)((mask & (wide)a) | (~mask & (wide)b));
}

/*
 * A row's pixels inside are those left of a limit (dy > 0) or right of it.  The limit is a quotient of integers below
 * 2^29 and 2^23; half a unit is added to the dividend, so the true quotient is at least 2^-24 away from an integer, and
 * one rounded product in double is exact where it matters, within 0..32.
 */
static inline bits inside(const struct g4_edge *edge, int32_t first) {
    const doubles step = {0, 1, 2, 3, 4, 5, 6, 7};
    const double inverse = edge->dy != 0 ? 1.0 / edge->dy : 1e9;
    const doubles start = (double)edge->value + 0.5 + (double)edge->dx * (step + (double)first);
    const doubles low = {-1, -1, -1, -1, -1, -1, -1, -1};
    doubles limit = start * inverse;
    limit = select_double(limit > low, limit, low);
    limit = select_double(limit < 32.0, limit, low + 33.0);
    const bits pixels = (bits) __builtin_convertvector(limit + 1.0, lanes);
    const bits half = pixels >> 1;
    const bits left = ((bits){1, 1, 1, 1, 1, 1, 1, 1} << half << (pixels - half)) - 1; /* a shift of 32 is none */
    return edge->dy < 0 ? ~left : left;
}

static void cut(const struct g4_edge *edge, uint32_t edges, int32_t top, int32_t bottom, uint32_t *row) {
    for (int32_t j = top; j <= bottom; j += LANES) {
        const int32_t first = j < LAST_EIGHT ? j : LAST_EIGHT; /* rows that are cut twice stay as they are */
        bits rows;
        memcpy(&rows, row + first, sizeof rows);
        for (uint32_t e = 0; e < edges; e++) {
            rows &= inside(&edge[e], first);
        }
        memcpy(row + first, &rows, sizeof rows);
    }
}

const struct g4_edge_ops G4_V(g4_edge_ops) = {.mask = mask, .cut = cut};
