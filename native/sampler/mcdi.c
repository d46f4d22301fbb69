/*
 * The missing lines of a field by motion compensation: from the fields before and after, along the vector on which
 * they agree best (docs/decisions.md 135).
 */
#include "sampler/deinterlace.h"

#include <stdlib.h>

enum {
    MOST_X = 4,       /* of a vector: half of the motion between the two fields */
    MOST_Y = 2,       /* whole lines of a field */
    COLUMNS_LEFT = 3, /* of the window of a pair of pixels */
    COLUMNS_RIGHT = 4,
    TERMS = 24,
    PAIR = 2, /* pixels that share a vector */
};

static uint32_t sad_of(const struct g4_deinterlace_block *b, int32_t x, int32_t y, int32_t dx, int32_t dy) {
    uint32_t sum = 0;
    for (int32_t line = y - 2; line <= y + 2; line += 2) {
        for (int32_t i = x - COLUMNS_LEFT; i <= x + COLUMNS_RIGHT; i++) {
            sum += (uint32_t)abs(g4_luma(&b->c, i + dx, line + dy) - g4_luma(&b->p, i - dx, line - dy));
        }
    }
    return sum / TERMS;
}

/* The best vector of the pair of pixels at x; of equal ones the shortest. */
static struct g4_motion_vector search(const struct g4_deinterlace_block *b, int32_t x, int32_t y) {
    struct g4_motion_vector best = {0, 0, sad_of(b, x, y, 0, 0)};

    for (int32_t dy = -MOST_Y; dy <= MOST_Y; dy += 2) {
        for (int32_t dx = -MOST_X; dx <= MOST_X; dx++) {
            const uint32_t sad = sad_of(b, x, y, dx, dy);
            const bool shorter = abs(dx) + abs(dy) < abs(best.x) + abs(best.y);
            if (sad < best.sad || (sad == best.sad && shorter)) {
                best = (struct g4_motion_vector){dx, dy, sad};
            }
        }
    }
    return best;
}

/* The vectors of the pairs at both sides are nearly the same. */
static bool is_smooth(const struct g4_deinterlacer *state, const struct g4_motion_line *line, int32_t pair) {
    const struct g4_motion_vector *const own = &line->vector[pair + 1];
    const int32_t most = (int32_t)state->smooth_vector_threshold;
    for (int32_t side = -1; side <= 1; side += 2) {
        const struct g4_motion_vector *const other = own + side;
        if (abs(other->x - own->x) > most || abs(other->y - own->y) > most) {
            return false;
        }
    }
    return true;
}

void g4_find_motion(const struct g4_deinterlace_block *b, int32_t y, struct g4_motion_line *line) {
    for (int32_t pair = -1; pair <= G4_DI_COLUMNS / PAIR; pair++) {
        line->vector[pair + 1] = search(b, PAIR * pair, y);
    }
}

/* The limit above which no vector counts: more texture allows more difference. */
static uint32_t upper_threshold(const struct g4_deinterlace_block *b, const struct g4_luma_window *f, int32_t x,
                                int32_t y) {
    const struct g4_deinterlacer *const state = b->state;
    uint32_t complexity = 0;

    for (int32_t i = x - 1; i <= x + 2; i++) {
        complexity += (uint32_t)abs(g4_luma(f, i + 1, y - 1) - g4_luma(f, i, y - 1)) +
                      (uint32_t)abs(g4_luma(f, i, y + 1) - g4_luma(f, i, y - 1));
    }
    const uint32_t threshold = complexity / (state->content_slope ? state->content_slope : 1);
    return threshold < state->sad_a ? state->sad_a : threshold > state->sad_b ? state->sad_b : threshold;
}

bool g4_compensated_pixel(const struct g4_deinterlace_block *b, const struct g4_luma_window *f,
                          const struct g4_motion_line *line, int32_t x, int32_t y, int32_t *value) {
    const struct g4_deinterlacer *const state = b->state;
    const int32_t pair = x / PAIR;
    const struct g4_motion_vector best = line->vector[pair + 1];
    const int32_t next = g4_luma(&b->c, x + best.x, y + best.y);
    const int32_t previous = g4_luma(&b->p, x - best.x, y - best.y);
    const int32_t mean = (g4_luma(f, x, y - 1) + g4_luma(f, x, y + 1) + 1) >> 1;
    const int32_t low = g4_luma(f, x, y - 1) < g4_luma(f, x, y + 1) ? g4_luma(f, x, y - 1) : g4_luma(f, x, y + 1);
    const int32_t high = g4_luma(f, x, y - 1) < g4_luma(f, x, y + 1) ? g4_luma(f, x, y + 1) : g4_luma(f, x, y - 1);
    const int32_t margin = (int32_t)state->consistency_threshold;

    *value = (next + previous + 1) >> 1;
    const bool consistent = abs(next - previous)<margin && * value> low - margin && *value < high + margin;
    if (best.sad > upper_threshold(b, f, PAIR * pair, y) || !consistent || !is_smooth(state, line, pair)) {
        return false;
    }
    return best.sad <= state->content_threshold_1 ||
           (best.sad <= state->sad_tight && abs(*value - mean) <= (int32_t)state->neighbor_threshold);
}
