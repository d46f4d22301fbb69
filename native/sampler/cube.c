/*
 * The edges of cubes: which texel of which face continues a face beyond its border (spec/50 3.7).
 */
#include "sampler/filter.h"

/* A face's texel (i, j) on the n * n * n lattice. */
static void to_lattice(int32_t face, int32_t i, int32_t j, int32_t m, int32_t out[3]) {
    const int32_t across[6][3] = {
        {m, m - j, m - i}, {0, m - j, i}, {i, m, j}, {i, 0, m - j}, {i, m - j, m}, {m - i, m - j, 0},
    };
    for (int k = 0; k < 3; k++) {
        out[k] = across[face][k];
    }
}

static void from_lattice(int32_t face, const int32_t p[3], int32_t m, int32_t *i, int32_t *j) {
    const int32_t texel[6][2] = {
        {m - p[2], m - p[1]}, {p[2], m - p[1]}, {p[0], p[2]}, {p[0], m - p[2]}, {p[0], m - p[1]}, {m - p[0], m - p[1]},
    };
    *i = texel[face][0];
    *j = texel[face][1];
}

bool g4_cube_neighbour(int32_t *face, int32_t *i, int32_t *j, int32_t n) {
    const bool x_outside = *i < 0 || *i >= n;
    const bool y_outside = *j < 0 || *j >= n;
    int32_t p[3];

    if (x_outside && y_outside) {
        return false;
    }
    if (!x_outside && !y_outside) {
        return true;
    }
    to_lattice(*face, *i, *j, n - 1, p);
    for (int k = 0; k < 3; k++) {
        if (p[k] < 0 || p[k] >= n) {
            *face = 2 * k + (p[k] < 0 ? 1 : 0);
            p[k] = p[k] < 0 ? 0 : n - 1;
        }
    }
    from_lattice(*face, p, n - 1, i, j);
    return true;
}
