/*
 * Statistics with which software recognizes film and noise (docs/decisions.md 131): sums over 16x4 pixels, of
 * which two lines belong to each field.
 */
#include "sampler/deinterlace.h"

#include <stdlib.h>

enum {
    COLUMNS = G4_DI_COLUMNS,
    ROWS = G4_DI_ROWS,
    GROUP = 4, /* pixels whose motion counts together */
};

void g4_block_sums(const struct g4_deinterlace_block *b, int32_t y0, struct g4_block_sums *sums) {
    const int32_t step = g4_field_step(b->state);

    *sums = (struct g4_block_sums){0};
    for (int32_t y = y0; y < y0 + ROWS; y++) {
        for (int32_t x = 0; x < COLUMNS; x++) {
            const int32_t c = g4_luma(&b->c, x, y);
            sums->stad += (uint32_t)abs(c - g4_luma(&b->p, x, y));
            if (x + 1 < COLUMNS) {
                sums->shcm += (uint32_t)abs(g4_luma(&b->c, x + 1, y) - c);
            }
            if (y + step < y0 + ROWS) {
                sums->svcm += (uint32_t)abs(g4_luma(&b->c, x, y + step) - c);
            }
        }
    }
}

/* The sum of differences between the lines of two fields: 0 top, 1 bottom. */
static uint32_t compare_fields(const struct g4_luma_window *a, int32_t field_a, const struct g4_luma_window *b,
                               int32_t field_b) {
    uint32_t sum = 0;
    for (int32_t k = 0; k < ROWS; k += 2) {
        for (int32_t x = 0; x < COLUMNS; x++) {
            sum += (uint32_t)abs(g4_luma(a, x, k + field_a) - g4_luma(b, x, k + field_b));
        }
    }
    return sum;
}

static bool is_comb(const struct g4_deinterlacer *state, int32_t above, int32_t middle, int32_t below) {
    const int32_t up = middle - above;
    const int32_t down = middle - below;
    const int32_t least = abs(up) < abs(down) ? abs(up) : abs(down);
    const bool same_side = (up > 0 && down > 0) || (up < 0 && down < 0);
    return same_side && least > (int32_t)state->film_difference_1 &&
           abs(up) + abs(down) > (int32_t)state->film_difference_2;
}

/* The columns that comb if the lines of field `kept` of `even` are woven with the others of `odd`. */
static uint32_t count_tears(const struct g4_deinterlacer *state, const struct g4_luma_window *frame,
                            const struct g4_luma_window *other, int32_t other_field) {
    uint32_t columns = 0;

    for (int32_t x = 0; x < COLUMNS; x++) {
        int32_t line[ROWS];
        uint32_t combs = 0;
        for (int32_t y = 0; y < ROWS; y++) {
            line[y] = g4_luma((y & 1) == other_field ? other : frame, x, y);
        }
        for (int32_t y = 1; y + 1 < ROWS; y++) {
            combs += is_comb(state, line[y - 1], line[y], line[y + 1]);
        }
        columns += combs && combs >= state->tear_threshold;
    }
    return columns;
}

void g4_film_values(const struct g4_deinterlace_block *b, struct g4_film_values *values) {
    const struct g4_deinterlacer *const state = b->state;
    const int32_t second = state->top_first ? 1 : 0;

    *values = (struct g4_film_values){
        .ct_pt = compare_fields(&b->c, 0, &b->p, 0),
        .cb_pb = compare_fields(&b->c, 1, &b->p, 1),
        .ct_cb = compare_fields(&b->c, 0, &b->c, 1),
        .ct_pb = compare_fields(&b->c, 0, &b->p, 1),
        .cb_pt = compare_fields(&b->c, 1, &b->p, 0),
        .tears_current = count_tears(state, &b->c, &b->c, second),
        .tears_previous = count_tears(state, &b->c, &b->p, second),
    };
    for (int32_t y = 0; y < ROWS; y++) {
        for (int32_t x = 0; x < COLUMNS; x += GROUP) {
            uint32_t sum = 0;
            for (int32_t i = x; i < x + GROUP; i++) {
                sum += (uint32_t)abs(g4_luma(&b->c, i, y) - g4_luma(&b->p, i, y));
            }
            values->moving += sum > state->film_temporal_threshold;
        }
    }
}
