/*
 * The missing lines of a field from its own lines: along the edge that fits best (docs/decisions.md 134).
 */
#include "sampler/deinterlace.h"

#include <stdlib.h>

enum {
    MOST_SHIFT = 3, /* of an edge, in pixels a line */
};

/* How badly the lines around line y continue along an edge that shifts by `shift` pixels a line. */
static int32_t cost(const struct g4_luma_window *f, int32_t x, int32_t y, int32_t shift) {
    int32_t sum = 0;
    for (int32_t i = x - 1; i <= x + 1; i++) {
        const int32_t above = g4_luma(f, i + shift, y - 1);
        const int32_t below = g4_luma(f, i - shift, y + 1);
        sum += abs(g4_luma(f, i + 3 * shift, y - 3) - above) + abs(above - below) +
               abs(below - g4_luma(f, i - 3 * shift, y + 3));
    }
    return sum;
}

/* The shift of the least cost up to `most`; of equal ones the smallest, the negative one first. */
static int32_t best_shift(const struct g4_luma_window *f, int32_t x, int32_t y, int32_t most, int32_t *least) {
    int32_t best = 0;

    *least = cost(f, x, y, 0);
    for (int32_t size = 1; size <= most; size++) {
        for (int32_t shift = -size; shift <= size; shift += 2 * size) {
            const int32_t own = cost(f, x, y, shift);
            if (own < *least) {
                *least = own;
                best = shift;
            }
        }
    }
    return best;
}

int32_t g4_spatial_pixel(const struct g4_deinterlacer *state, const struct g4_luma_window *f, int32_t x, int32_t y) {
    const int32_t above = g4_luma(f, x, y - 1);
    const int32_t below = g4_luma(f, x, y + 1);
    const int32_t mean = (above + below + 1) >> 1;
    const int32_t straight = cost(f, x, y, 0);
    int32_t least;
    int32_t shift = best_shift(f, x, y, MOST_SHIFT, &least);

    if (least + (int32_t)state->sdi_delta > straight || least > (int32_t)state->sdi_threshold) {
        return mean;
    }
    if (abs(shift) >= 2 && least > (int32_t)state->fallback_2) {
        shift = best_shift(f, x, y, 1, &least);
    }
    const int32_t value = (g4_luma(f, x + shift, y - 1) + g4_luma(f, x - shift, y + 1) + 1) >> 1;
    const int32_t low = above < below ? above : below;
    const int32_t high = above < below ? below : above;
    const int32_t margin = (int32_t)state->fallback_t1;
    const bool outlier = value < low - margin || value > high + margin;
    return shift && high - low <= (int32_t)state->fallback_t2 && outlier ? mean : value;
}
