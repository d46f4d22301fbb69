/*
 * Denoising in blocks of 4x4 pixels: over time where little moves, else over space.
 */
#include "sampler/deinterlace.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 4,
    WEIGHTS = 256,  /* of the previous frame: history / 256 */
    EDGE_UNIT = 16, /* of the edge threshold of the noise estimate */
};

/* The values that the pixels of a block have in common. */
struct block_measure {
    uint32_t sad;        /* sum of absolute differences from the previous frame */
    uint32_t asd;        /* absolute value of the sum of differences */
    uint32_t moving;     /* pixels with a difference above the threshold */
    uint32_t complexity; /* sum of differences of neighbours */
    uint32_t terms;      /* of the complexity */
};

/* docs/decisions.md 126. */
static struct block_measure measure(const struct g4_deinterlace_block *b, int32_t x0, int32_t y0) {
    const int32_t step = g4_field_step(b->state);
    struct block_measure m = {0};
    int32_t sum = 0;

    for (int32_t y = y0; y < y0 + BLOCK; y++) {
        for (int32_t x = x0; x < x0 + BLOCK; x++) {
            const int32_t c = g4_luma(&b->c, x, y);
            const int32_t difference = c - g4_luma(&b->p, x, y);
            sum += difference;
            m.sad += (uint32_t)abs(difference);
            m.moving += (uint32_t)abs(difference) > b->state->temporal_threshold;
            if (x + 1 < x0 + BLOCK) {
                m.complexity += (uint32_t)abs(g4_luma(&b->c, x + 1, y) - c);
                m.terms++;
            }
            if (y + step < y0 + BLOCK) {
                m.complexity += (uint32_t)abs(g4_luma(&b->c, x, y + step) - c);
                m.terms++;
            }
        }
    }
    m.asd = (uint32_t)abs(sum);
    return m;
}

static bool is_moving(const struct g4_deinterlacer *state, const struct block_measure *m) {
    return m->sad > state->stad_threshold || m->moving > state->moving_pixel_threshold;
}

/* docs/decisions.md 127. */
static uint32_t history_after(const struct g4_deinterlacer *state, const struct block_measure *m, uint32_t before) {
    if (state->first_frame) {
        return state->initial_history;
    }
    if (is_moving(state, m)) {
        return 0;
    }
    if (m->asd <= state->asd_threshold || m->complexity <= state->scm_threshold) {
        const uint32_t more = before + state->history_increase;
        return more < state->maximum_history ? more : state->maximum_history;
    }
    return before;
}

/* The mean of a pixel and those of its neighbours that differ little (docs/decisions.md 128). */
static int32_t spatial_pixel(const struct g4_deinterlace_block *b, int32_t x, int32_t y) {
    const int32_t step = g4_field_step(b->state);
    const int32_t c = g4_luma(&b->c, x, y);
    int32_t sum = c;
    int32_t count = 1;

    for (int32_t dy = -step; dy <= step; dy += step) {
        for (int32_t dx = -1; dx <= 1; dx++) {
            const int32_t neighbor = g4_luma(&b->c, x + dx, y + dy);
            if ((dx || dy) && abs(neighbor - c) < (int32_t)b->state->good_neighbor_threshold) {
                sum += neighbor;
                count++;
            }
        }
    }
    return (sum + count / 2) / count;
}

/* docs/decisions.md 129. */
static int32_t denoised_pixel(const struct g4_deinterlace_block *b, int32_t x, int32_t y, uint32_t history,
                              bool moving) {
    const struct g4_deinterlacer *const state = b->state;
    const int32_t c = g4_luma(&b->c, x, y);
    const int32_t p = g4_luma(&b->p, x, y);
    const int32_t difference = abs(c - p);
    const int32_t low = (int32_t)state->low_temporal_threshold;
    const int32_t high = (int32_t)state->temporal_threshold;
    const int32_t spatial = spatial_pixel(b, x, y);
    const int32_t temporal = ((int32_t)history * p + (WEIGHTS - (int32_t)history) * c + WEIGHTS / 2) / WEIGHTS;

    if (state->first_frame || moving) {
        return spatial;
    }
    if (difference <= low) {
        return temporal;
    }
    if (difference >= high) {
        return spatial;
    }
    return (temporal * (high - difference) + spatial * (difference - low) + (high - low) / 2) / (high - low);
}

/* The history is at the right of the motion measures (docs/decisions.md 137). */
static uint32_t read_history(const struct g4_deinterlace_block *b, int32_t x0, int32_t y0) {
    const int32_t column = (int32_t)b->statistics->pitch / 2 + (b->x + x0) / BLOCK;
    uint8_t history;

    if (b->state->first_frame || b->x + x0 < 0 || b->y + y0 < 0) {
        return 0;
    }
    g4_media_image_read(b->statistics, b->port, G4_MEDIA_Y, column, (b->y + y0) / BLOCK, 1, &history);
    return history;
}

/* The noise of a flat block, or none: docs/decisions.md 130. */
static bool noise_of(const struct g4_deinterlace_block *b, int32_t x0, int32_t y0, const struct block_measure *m,
                     uint32_t *noise) {
    int32_t low = 255;
    int32_t high = 0;

    for (int32_t y = y0; y < y0 + BLOCK; y++) {
        for (int32_t x = x0; x < x0 + BLOCK; x++) {
            const int32_t c = g4_luma(&b->c, x, y);
            const int32_t curve = g4_luma(&b->c, x - 1, y) - 2 * c + g4_luma(&b->c, x + 1, y);
            low = c < low ? c : low;
            high = c > high ? c : high;
            if ((uint32_t)abs(curve) > EDGE_UNIT * b->state->noise_edge_threshold) {
                return false;
            }
        }
    }
    *noise = m->complexity * 4 / m->terms;
    return (uint32_t)(high - low) <= b->state->noise_threshold;
}

static void filter_block(const struct g4_deinterlace_block *b, int32_t x0, int32_t y0, uint32_t history, bool moving,
                         struct g4_luma_window *out) {
    for (int32_t y = y0; y < y0 + BLOCK; y++) {
        for (int32_t x = x0; x < x0 + BLOCK; x++) {
            out->row[y + G4_DI_ABOVE][x + G4_DI_LEFT] = (uint8_t)denoised_pixel(b, x, y, history, moving);
        }
    }
}

void g4_denoise(struct g4_deinterlace_block *b, uint32_t rows) {
    const struct g4_deinterlacer *const state = b->state;
    const bool in_block_only = !state->deinterlaces; /* else its surroundings are filtered, too */
    const int32_t left = in_block_only ? 0 : -G4_DI_LEFT + BLOCK;
    const int32_t right = in_block_only ? G4_DI_COLUMNS : G4_DI_WIDTH - G4_DI_LEFT - BLOCK;
    const int32_t top = in_block_only ? 0 : -G4_DI_ABOVE + BLOCK;
    const int32_t bottom = in_block_only ? (int32_t)rows : G4_DI_ROWS + 2 * BLOCK;
    struct g4_luma_window out = b->c;
    uint32_t noise = 0;
    uint32_t flat_blocks = 0;

    for (int32_t y = top; y < bottom; y += BLOCK) {
        for (int32_t x = left; x < right; x += BLOCK) {
            const bool own = x >= 0 && x < G4_DI_COLUMNS && y >= 0 && y < (int32_t)rows;
            if (!own && !state->denoises) {
                continue;
            }
            const struct block_measure m = measure(b, x, y);
            const uint32_t before = read_history(b, x, y);
            const uint32_t history = state->denoises ? history_after(state, &m, before) : before;
            uint32_t more;
            if (own) {
                b->history[y / BLOCK][x / BLOCK] = (uint8_t)history;
                if (noise_of(b, x, y, &m, &more)) {
                    noise += more;
                    flat_blocks++;
                }
            }
            if (state->denoises) {
                filter_block(b, x, y, history, is_moving(state, &m), &out);
            }
        }
    }
    noise = flat_blocks ? (noise + flat_blocks / 2) / flat_blocks : 0;
    b->noise = noise < 255 ? noise : 255;
    b->c = out;
}

/* docs/decisions.md 242. */
void g4_denoise_chroma(struct g4_deinterlace_block *b, const uint8_t history[G4_DN_ROWS / 4][G4_DI_COLUMNS / 4]) {
    struct g4_luma_window out = b->c;

    for (int32_t y = 0; y < G4_DN_ROWS; y += BLOCK) {
        for (int32_t x = 0; x < G4_DI_COLUMNS; x += BLOCK) {
            const struct block_measure m = measure(b, x, y);
            filter_block(b, x, y, history[y / BLOCK][x / BLOCK], is_moving(b->state, &m), &out);
        }
    }
    b->c = out;
}
