/*
 * Deinterlacing: each field becomes a frame.  The missing lines are a blend of the fields before and after, where
 * nothing moves, and of the field's own lines, where something does.
 */
#include "sampler/deinterlace.h"

#include <stdlib.h>

enum {
    PAIR = 2,            /* pixels that share a motion measure */
    VECM_SHIFT = 4,      /* of the vertical complexity times its multiplier */
    SHIFT_DOWN_BIAS = 4, /* the fields of the state count from these */
    SHIFT_UP_BIAS = 6,
    WEIGHTS = 256, /* of the old and the new measure */
    MOST_STMM = 255,
};

/* ---- reading ---- */

/* A line outside of the picture becomes the nearest one, of the same field if `step` is 2. */
static int32_t line_within(int32_t y, int32_t height, int32_t step) {
    if (step == 1 || height < 2) {
        return y < 0 ? 0 : y < height ? y : height - 1;
    }
    const int32_t parity = y & 1;
    return y < 0 ? parity : y < height ? y : height - 1 - ((height - 1 - parity) & 1);
}

static void read_window(const struct g4_deinterlace_block *b, const struct g4_media_image *frame, uint32_t rows,
                        struct g4_luma_window *window) {
    const int32_t step = g4_field_step(b->state);
    const int32_t bottom = (int32_t)rows + G4_DI_ABOVE;

    for (int32_t y = -G4_DI_ABOVE; y < bottom; y++) {
        g4_media_image_read(frame, b->port, G4_MEDIA_Y, b->x - G4_DI_LEFT,
                            line_within(b->y + y, (int32_t)frame->height, step), G4_DI_WIDTH,
                            window->row[y + G4_DI_ABOVE]);
    }
}

void g4_deinterlace_begin(struct g4_deinterlace_block *b, uint32_t rows) {
    read_window(b, b->current, rows, &b->c);
    read_window(b, b->previous, rows, &b->p);
}

/* The line of chroma that belongs to a line of luma.  4:2:0 is doubled within each field (IVB PRM vol. 4 part 1, 2.8;
 * docs/decisions.md 136). */
static int32_t chroma_line(const struct g4_media_image *frame, int32_t y, bool interlaced) {
    const int32_t line = line_within(y, (int32_t)frame->height, interlaced ? 2 : 1);
    if (!frame->chroma_y) {
        return line;
    }
    return interlaced ? 2 * (line >> 2) + (line & 1) : line >> 1;
}

void g4_deinterlace_chroma_row(const struct g4_deinterlace_block *b, const struct g4_media_image *frame, int32_t y,
                               bool interlaced, uint8_t out[G4_DI_COLUMNS]) {
    static const enum g4_media_channel channel[2] = {G4_MEDIA_CR, G4_MEDIA_CB};
    uint8_t samples[G4_DI_COLUMNS / 2];

    for (int c = 0; c < 2; c++) {
        g4_media_image_read(frame, b->port, channel[c], b->x / 2, chroma_line(frame, b->y + y, interlaced),
                            sizeof samples, samples);
        for (int i = 0; i < G4_DI_COLUMNS / 2; i++) {
            out[2 * i + c] = samples[i];
        }
    }
}

/* ---- motion ---- */

static const struct g4_luma_window *frame_of(const struct g4_deinterlace_block *b, int output) {
    return output ? &b->c : &b->p;
}

/* The motion of the pixels x and x + 1 of a line that `own`, the frame of the output, does not have: differences
 * in time in relation to differences in space (docs/decisions.md 132). */
static uint32_t raw_motion(const struct g4_deinterlace_block *b, const struct g4_luma_window *own, int32_t x,
                           int32_t y) {
    const struct g4_deinterlacer *const state = b->state;
    const uint32_t down = SHIFT_DOWN_BIAS + state->stmm_shift_down;
    const uint32_t up = SHIFT_UP_BIAS + state->stmm_shift_up;
    uint32_t motion = 0;
    uint32_t texture = 0;
    uint32_t vertical = 0;

    for (int32_t line = y - 2; line <= y + 2; line++) {
        const struct g4_luma_window *const space = (line - y) & 1 ? own : &b->c;
        for (int32_t i = x - 1; i <= x + 2; i++) {
            motion += (uint32_t)abs(g4_luma(&b->c, i, line) - g4_luma(&b->p, i, line));
            if (i < x + 2) {
                texture += (uint32_t)abs(g4_luma(space, i + 1, line) - g4_luma(space, i, line));
            }
        }
    }
    for (int32_t i = x - 1; i <= x + 2; i++) {
        vertical += (uint32_t)abs(g4_luma(own, i, y + 1) - g4_luma(own, i, y - 1));
    }
    texture += vertical * state->vecm_multiplier >> VECM_SHIFT;
    const uint32_t divisor = (texture >> down) + state->stmm_c2;
    const uint32_t raw = ((motion >> down) << up) / (divisor ? divisor : 1);
    return raw < MOST_STMM ? raw : MOST_STMM;
}

/* docs/decisions.md 133. */
static uint32_t blended_motion(const struct g4_deinterlacer *state, uint32_t raw, uint32_t before) {
    const bool large = raw > state->minimum_stmm || (raw == state->minimum_stmm && state->stmm_large_at_minimum);
    const uint32_t old = large ? state->stmm_large : state->stmm_small;
    return (old * before + (WEIGHTS - old) * raw + WEIGHTS / 2) / WEIGHTS;
}

static uint32_t read_motion(const struct g4_deinterlace_block *b, int32_t x, int32_t y) {
    uint8_t before;
    g4_media_image_read(b->statistics, b->port, G4_MEDIA_Y, (b->x + x) / PAIR, b->y + y, 1, &before);
    return before;
}

/* The share of what a field says of itself: all where much moves, nothing where nothing does. */
static int32_t blend(const struct g4_deinterlacer *state, uint32_t stmm, int32_t temporal, int32_t spatial) {
    if (stmm <= state->minimum_stmm) {
        return temporal;
    }
    if (stmm >= state->maximum_stmm) {
        return spatial;
    }
    const uint32_t shift = state->stmm_output_shift;
    const int32_t up = (int32_t)(stmm - state->minimum_stmm);
    const int32_t down = (int32_t)(state->maximum_stmm - stmm);
    const int32_t value = (up * spatial + down * temporal + (shift ? 1 << (shift - 1) : 0)) >> shift;
    return value < 255 ? value : 255; /* the differences need not be 1 << shift */
}

/* ---- lines ---- */

struct line {
    int output;
    int32_t y;
    enum g4_weave weave;
    bool compensates;
    struct g4_motion_line motion; /* if it compensates */
};

static int32_t missing_luma(const struct g4_deinterlace_block *b, const struct line *line, int32_t x, uint32_t stmm) {
    const struct g4_luma_window *const own = frame_of(b, line->output);
    const int32_t before = g4_luma(&b->p, x, line->y);
    const int32_t after = g4_luma(&b->c, x, line->y);
    int32_t spatial;

    if (line->weave != G4_WEAVE_NONE) {
        return line->weave == G4_WEAVE_WITH_PREVIOUS ? before : after;
    }
    if (!line->compensates || !g4_compensated_pixel(b, own, &line->motion, x, line->y, &spatial)) {
        spatial = g4_spatial_pixel(b->state, own, x, line->y);
    }
    return blend(b->state, stmm, (before + after + 1) >> 1, spatial);
}

static void missing_chroma(struct g4_deinterlace_block *b, const struct line *line) {
    const struct g4_media_image *const own = line->output ? b->current : b->previous;
    uint8_t before[G4_DI_COLUMNS];
    uint8_t after[G4_DI_COLUMNS];
    uint8_t above[G4_DI_COLUMNS];
    uint8_t below[G4_DI_COLUMNS];

    g4_deinterlace_chroma_row(b, b->previous, line->y, true, before);
    g4_deinterlace_chroma_row(b, b->current, line->y, true, after);
    g4_deinterlace_chroma_row(b, own, line->y - 1, true, above);
    g4_deinterlace_chroma_row(b, own, line->y + 1, true, below);
    for (int i = 0; i < G4_DI_COLUMNS; i++) {
        uint8_t *const out = &b->chroma[line->output][line->y][i];
        if (line->weave != G4_WEAVE_NONE) {
            *out = line->weave == G4_WEAVE_WITH_PREVIOUS ? before[i] : after[i];
            continue;
        }
        *out = (uint8_t)blend(b->state, b->stmm[line->y][i / PAIR], (before[i] + after[i] + 1) >> 1,
                              (above[i] + below[i] + 1) >> 1);
    }
}

/* A line that the field of the output does not have. */
static void fill_line(struct g4_deinterlace_block *b, struct line *line) {
    const struct g4_deinterlacer *const state = b->state;

    line->compensates = state->compensates && !state->first_frame && line->weave == G4_WEAVE_NONE;
    if (line->compensates) {
        g4_find_motion(b, line->y, &line->motion);
    }
    for (int32_t x = 0; x < G4_DI_COLUMNS; x += PAIR) {
        /* Without a frame before, everything counts as moving (docs/decisions.md 133). */
        uint32_t stmm = MOST_STMM;
        if (!state->first_frame) {
            stmm =
                blended_motion(state, raw_motion(b, frame_of(b, line->output), x, line->y), read_motion(b, x, line->y));
        }
        b->stmm[line->y][x / PAIR] = (uint8_t)stmm;
        for (int32_t i = x; i < x + PAIR; i++) {
            b->luma[line->output][line->y][i] = (uint8_t)missing_luma(b, line, i, stmm);
        }
    }
    missing_chroma(b, line);
}

static void copy_line(struct g4_deinterlace_block *b, const struct line *line) {
    const struct g4_luma_window *const own = frame_of(b, line->output);
    for (int32_t x = 0; x < G4_DI_COLUMNS; x++) {
        b->luma[line->output][line->y][x] = (uint8_t)g4_luma(own, x, line->y);
    }
    g4_deinterlace_chroma_row(b, line->output ? b->current : b->previous, line->y, true,
                              b->chroma[line->output][line->y]);
}

/* Output 0 shows the second field of the previous frame, output 1 the first field of the current one, so each line of
 * the frame is missing in one of them. */
void g4_deinterlace(struct g4_deinterlace_block *b) {
    const struct g4_deinterlacer *const state = b->state;

    for (int output = 0; output < 2; output++) {
        const bool shows_top = (output == 1) == state->top_first;
        for (int32_t y = 0; y < G4_DI_ROWS; y++) {
            struct line line = {
                .output = output, .y = y, .weave = output ? state->first_of_current : state->second_of_previous};
            const bool is_top = ((b->y + y) & 1) == 0;
            if (is_top == shows_top) {
                copy_line(b, &line);
            } else {
                fill_line(b, &line);
            }
        }
    }
}
