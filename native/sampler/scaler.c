/*
 * Adaptive video scaling (docs/decisions.md 125): eight taps in each direction, blended with a bilinear filter.
 */
#include "sampler/scaler.h"

#include <math.h>
#include <string.h>

enum {
    TAPS = G4_SCALER_TAPS,
    BEFORE = 3,       /* taps before the texel at floor(position) */
    PHASE_STEPS = 32, /* phases between two texels */
    POSITION_STEPS = 256,
    MOST_POSITION = 1 << 20, /* texels; far outside of every surface */
    ALPHA_OF_OPAQUE = 255 << 8,
    WINDOW_COLUMNS = 160, /* texels that are read at once: enough to scale down to a ninth */
    WINDOW_ROWS = 40,
};

/* A position in one direction. */
struct tap_position {
    int32_t first; /* the texel of tap 0 */
    int32_t nearest;
    uint32_t phase; /* of 32 */
};

/* Texel centers are at integers (docs/decisions.md 125). */
static struct tap_position position_of(float texels) {
    float scaled = floorf(texels * POSITION_STEPS + 0.5f);
    const float limit = (float)MOST_POSITION * POSITION_STEPS;

    scaled = scaled > -limit ? scaled : -limit; /* also of NaN */
    scaled = scaled < limit ? scaled : limit;
    const int32_t fixed = (int32_t)scaled;
    int32_t texel = fixed >> 8;
    uint32_t phase = (((uint32_t)fixed & (POSITION_STEPS - 1)) + 4) >> 3;
    if (phase == PHASE_STEPS) {
        phase = 0;
        texel++;
    }
    return (struct tap_position){texel - BEFORE, phase < PHASE_STEPS / 2 ? texel : texel + 1, phase};
}

/* The coefficients in the order of texels.  Phases above 1/2 are mirror images. */
static void taps_of(const struct g4_scaler_table *table, bool inner_only, uint32_t phase, int32_t taps[TAPS]) {
    const bool mirrored = phase > PHASE_STEPS / 2;
    const int8_t *const row = table->tap[mirrored ? PHASE_STEPS - phase : phase];
    for (int k = 0; k < TAPS; k++) {
        const int from = mirrored ? TAPS - 1 - k : k;
        taps[k] = inner_only && (from < 2 || from > 5) ? 0 : row[from];
    }
}

/* Texels around the pixels of a message. */
struct texel_window {
    int32_t x, y;   /* of its first texel */
    uint32_t extra; /* bits of a texel above 8 */
    uint16_t row[WINDOW_ROWS][WINDOW_COLUMNS];
};

/* The eight texels of the taps in a row of the surface. */
static const uint16_t *texels(const struct texel_window *window, const struct tap_position *x, int32_t row) {
    return &window->row[row - window->y][x->first - window->x];
}

static int32_t sum_of(const int32_t taps[TAPS], const uint16_t texel[TAPS]) {
    int32_t sum = 0;
    for (int k = 0; k < TAPS; k++) {
        sum += taps[k] * texel[k];
    }
    return sum;
}

/* The largest difference of neighbours among taps first to last. */
static uint32_t steepest(const uint16_t texel[TAPS], int first, int last) {
    uint32_t most = 0;
    for (int k = first; k < last; k++) {
        const int difference = texel[k + 1] > texel[k] ? texel[k + 1] - texel[k] : texel[k] - texel[k + 1];
        most = (uint32_t)difference > most ? (uint32_t)difference : most;
    }
    return most;
}

/* The sharpness where the surroundings decide: less where texels differ more than the limits. */
static uint32_t adapted(const struct g4_scaler *scaler, const uint16_t texel[TAPS], uint32_t extra) {
    const uint32_t difference[2] = {steepest(texel, 2, 5) >> extra, steepest(texel, 0, 7) >> extra};
    uint32_t least = 255;
    for (int i = 0; i < 2; i++) {
        const uint32_t limit = scaler->most_difference[i];
        const uint32_t beyond = difference[i] > limit ? difference[i] - limit : 0;
        const uint32_t less = beyond * 256 >> scaler->transition_shift[i];
        const uint32_t level = less < 255 ? 255 - less : 0;
        least = level < least ? level : least;
    }
    return least;
}

static int32_t limited(int32_t value) {
    return value < 0 ? 0 : value > 0xffff ? 0xffff : value;
}

/* The sharpness of a pixel. */
static uint32_t sharpness_of(const struct g4_scaler *scaler, const struct texel_window *window,
                             const struct tap_position *x, const struct tap_position *y) {
    uint32_t level = scaler->sharpness;

    if (scaler->adapts[0] || scaler->adapts[1]) {
        level = 255;
    }
    if (scaler->adapts[0]) {
        level = adapted(scaler, texels(window, x, y->first + BEFORE), window->extra);
    }
    if (scaler->adapts[1]) {
        uint16_t column[TAPS];
        for (int row = 0; row < TAPS; row++) {
            column[row] = texels(window, x, y->first + row)[BEFORE];
        }
        const uint32_t vertical = adapted(scaler, column, window->extra);
        level = vertical < level ? vertical : level;
    }
    return level;
}

/* The bilinear filter, as 8.8. */
static int32_t smooth_of(const struct texel_window *window, const struct tap_position *x,
                         const struct tap_position *y) {
    const int32_t right = (int32_t)x->phase;
    const int32_t below = (int32_t)y->phase;
    const uint16_t *const above = texels(window, x, y->first + BEFORE) + BEFORE;
    const uint16_t *const under = texels(window, x, y->first + BEFORE + 1) + BEFORE;
    const int32_t upper = above[0] * (PHASE_STEPS - right) + above[1] * right;
    const int32_t lower = under[0] * (PHASE_STEPS - right) + under[1] * right;
    const uint32_t shift = 2 + window->extra;
    return (upper * (PHASE_STEPS - below) + lower * below + (1 << (shift - 1))) >> shift;
}

/* The pixels of a message, or some of them. */
struct part {
    const struct g4_scaler *scaler;
    const struct g4_scaler_table *table; /* of x, y */
    bool inner_only;                     /* four taps */
    uint32_t columns, rows;
    struct tap_position x[G4_SCALER_COLUMNS], y[G4_SCALER_ROWS];
};

/* Filter in x once for every row of texels, then in y. */
static void filter(const struct part *part, const struct texel_window *window, uint32_t texel_rows,
                   uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]) {
    for (uint32_t i = 0; i < part->columns; i++) {
        const struct tap_position *const x = &part->x[i];
        int32_t across[TAPS];
        int32_t sum[WINDOW_ROWS];

        taps_of(&part->table[0], part->inner_only, x->phase, across);
        for (uint32_t row = 0; row < texel_rows; row++) {
            sum[row] = sum_of(across, &window->row[row][x->first - window->x]);
        }
        for (uint32_t j = 0; j < part->rows; j++) {
            const struct tap_position *const y = &part->y[j];
            int32_t down[TAPS];
            int32_t sharp = 0;
            taps_of(&part->table[1], part->inner_only, y->phase, down);
            for (int k = 0; k < TAPS; k++) {
                sharp += down[k] * sum[y->first - window->y + k];
            }
            const uint32_t shift = 4 + window->extra;
            const uint32_t level = sharpness_of(part->scaler, window, x, y);
            const uint32_t smooth = level == 255 ? 0 : (uint32_t)smooth_of(window, x, y);
            sharp = limited((sharp + (1 << (shift - 1))) >> shift);
            out[j][i] = (uint16_t)((level * (uint32_t)sharp + (255 - level) * smooth + 127) / 255);
        }
    }
}

/* The first texel of some positions and the number of those that they need. */
static void range_of(const struct tap_position *position, uint32_t count, int32_t *first, uint32_t *length) {
    int32_t low = position[0].first;
    int32_t high = low;
    for (uint32_t i = 1; i < count; i++) {
        low = position[i].first < low ? position[i].first : low;
        high = position[i].first > high ? position[i].first : high;
    }
    *first = low;
    *length = (uint32_t)(high - low) + TAPS;
}

/* False: the texels do not fit into the window. */
static bool scale_part(const struct part *part, const struct g4_media_image *image, struct g4_port *port,
                       enum g4_media_channel channel, uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]) {
    struct texel_window window;
    uint32_t columns;
    uint32_t rows;

    window.extra = image->bits - 8;
    range_of(part->x, part->columns, &window.x, &columns);
    range_of(part->y, part->rows, &window.y, &rows);
    if (columns > WINDOW_COLUMNS || rows > WINDOW_ROWS) {
        return false;
    }
    for (uint32_t row = 0; row < rows; row++) {
        g4_media_image_read_wide(image, port, channel, window.x, window.y + (int32_t)row, columns, window.row[row]);
    }
    filter(part, &window, rows, out);
    return true;
}

/* Pixels far from each other, one at a time. */
static void scale_pixels(const struct part *whole, const struct g4_media_image *image, struct g4_port *port,
                         enum g4_media_channel channel, uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]) {
    struct part one = *whole;
    one.columns = one.rows = 1;
    for (uint32_t j = 0; j < whole->rows; j++) {
        for (uint32_t i = 0; i < whole->columns; i++) {
            uint16_t value[G4_SCALER_ROWS][G4_SCALER_COLUMNS];
            one.x[0] = whole->x[i];
            one.y[0] = whole->y[j];
            (void)scale_part(&one, image, port, channel, value);
            out[j][i] = value[0][0];
        }
    }
}

static void scale_nearest(const struct part *part, const struct g4_media_image *image, struct g4_port *port,
                          enum g4_media_channel channel, uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]) {
    for (uint32_t j = 0; j < part->rows; j++) {
        for (uint32_t i = 0; i < part->columns; i++) {
            uint16_t texel;
            g4_media_image_read_wide(image, port, channel, part->x[i].nearest, part->y[j].nearest, 1, &texel);
            out[j][i] = (uint16_t)(texel << (16 - image->bits));
        }
    }
}

static void fill(uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS], uint16_t value) {
    for (int j = 0; j < G4_SCALER_ROWS; j++) {
        for (int i = 0; i < G4_SCALER_COLUMNS; i++) {
            out[j][i] = value;
        }
    }
}

void g4_scale(const struct g4_scaler *scaler, const struct g4_media_image *image, struct g4_port *port,
              enum g4_media_channel channel, const struct g4_scaler_block *block,
              uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]) {
    const bool chroma = channel != G4_MEDIA_Y && channel != G4_MEDIA_ALPHA;
    const bool sharp = channel == G4_MEDIA_Y || scaler->all_channels_sharp;
    const float scale_x = (float)image->width / (float)(1u << (chroma ? image->chroma_x : 0));
    const float scale_y = (float)image->height / (float)(1u << (chroma ? image->chroma_y : 0));
    const float down = chroma && image->chroma_y ? (float)image->chroma_offset_quarters / 4 : 0.0f;

    if (!image->present || !image->plane[channel].step) {
        fill(out, channel == G4_MEDIA_ALPHA ? ALPHA_OF_OPAQUE : 0);
        return;
    }
    struct part part = {.scaler = scaler,
                        .table = scaler->table[sharp ? 0 : 1],
                        .inner_only = !sharp,
                        .columns = G4_SCALER_COLUMNS,
                        .rows = G4_SCALER_ROWS};
    for (int i = 0; i < G4_SCALER_COLUMNS; i++) {
        const int accelerations = i * (i - 1) / 2;
        const float u = block->u + (float)i * block->du + (float)accelerations * block->ddu;
        part.x[i] = position_of(u * scale_x);
    }
    for (int j = 0; j < G4_SCALER_ROWS; j++) {
        part.y[j] = position_of((block->v + (float)j * block->dv) * scale_y + down);
    }
    if (scaler->nearest) {
        scale_nearest(&part, image, port, channel, out);
    } else if (!scale_part(&part, image, port, channel, out)) {
        scale_pixels(&part, image, port, channel, out);
    }
}
