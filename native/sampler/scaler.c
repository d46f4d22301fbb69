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
};

/* A position in one direction. */
struct position {
    int32_t first; /* the texel of tap 0 */
    int32_t nearest;
    uint32_t phase; /* of 32 */
};

/* Texel centers are at integers (docs/decisions.md 125). */
static struct position position_of(float texels) {
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
    return (struct position){texel - BEFORE, phase < PHASE_STEPS / 2 ? texel : texel + 1, phase};
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

/* The eight texels around a column, in one row. */
static void read_texels(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                        const struct position *x, int32_t row, uint8_t texel[TAPS]) {
    g4_media_image_read(image, port, channel, x->first, row, TAPS, texel);
}

static int32_t sum_of(const int32_t taps[TAPS], const uint8_t texel[TAPS]) {
    int32_t sum = 0;
    for (int k = 0; k < TAPS; k++) {
        sum += taps[k] * texel[k];
    }
    return sum;
}

/* The largest difference of neighbours among taps first to last. */
static uint32_t steepest(const uint8_t texel[TAPS], int first, int last) {
    uint32_t most = 0;
    for (int k = first; k < last; k++) {
        const int difference = texel[k + 1] > texel[k] ? texel[k + 1] - texel[k] : texel[k] - texel[k + 1];
        most = (uint32_t)difference > most ? (uint32_t)difference : most;
    }
    return most;
}

/* The sharpness where the surroundings decide: less where texels differ more than the limits. */
static uint32_t adapted(const struct g4_scaler *scaler, const uint8_t texel[TAPS]) {
    const uint32_t difference[2] = {steepest(texel, 2, 5), steepest(texel, 0, 7)};
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

/* One value, from the rows' texels. */
static uint16_t filter(const struct g4_scaler *scaler, const struct g4_scaler_table table[2], bool inner_only,
                       const struct position *x, const struct position *y, uint8_t texel[TAPS][TAPS]) {
    int32_t across[TAPS];
    int32_t down[TAPS];
    int32_t sharp = 0;

    taps_of(&table[0], inner_only, x->phase, across);
    taps_of(&table[1], inner_only, y->phase, down);
    for (int row = 0; row < TAPS; row++) {
        sharp += down[row] * sum_of(across, texel[row]);
    }
    sharp = limited((sharp + 8) >> 4);

    const int32_t right = (int32_t)x->phase;
    const int32_t below = (int32_t)y->phase;
    const uint8_t(*const near)[TAPS] = (const uint8_t(*)[TAPS])texel + BEFORE;
    const int32_t upper = near[0][BEFORE] * (PHASE_STEPS - right) + near[0][BEFORE + 1] * right;
    const int32_t lower = near[1][BEFORE] * (PHASE_STEPS - right) + near[1][BEFORE + 1] * right;
    const int32_t smooth = (upper * (PHASE_STEPS - below) + lower * below + 2) >> 2;

    uint32_t level = scaler->sharpness;
    if (scaler->adapts[0] || scaler->adapts[1]) {
        level = 255;
        if (scaler->adapts[0]) {
            level = adapted(scaler, texel[BEFORE]);
        }
        if (scaler->adapts[1]) {
            uint8_t column[TAPS];
            for (int row = 0; row < TAPS; row++) {
                column[row] = texel[row][BEFORE];
            }
            const uint32_t vertical = adapted(scaler, column);
            level = vertical < level ? vertical : level;
        }
    }
    return (uint16_t)((level * (uint32_t)sharp + (255 - level) * (uint32_t)smooth + 127) / 255);
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
    for (int i = 0; i < G4_SCALER_COLUMNS; i++) {
        const int accelerations = i * (i - 1) / 2;
        const float u = block->u + (float)i * block->du + (float)accelerations * block->ddu;
        const struct position x = position_of(u * scale_x);
        for (int j = 0; j < G4_SCALER_ROWS; j++) {
            const struct position y = position_of((block->v + (float)j * block->dv) * scale_y + down);
            uint8_t texel[TAPS][TAPS];
            if (scaler->nearest) {
                g4_media_image_read(image, port, channel, x.nearest, y.nearest, 1, texel[0]);
                out[j][i] = (uint16_t)(texel[0][0] << 8);
                continue;
            }
            for (int row = 0; row < TAPS; row++) {
                read_texels(image, port, channel, &x, y.first + row, texel[row]);
            }
            out[j][i] = filter(scaler, scaler->table[sharp ? 0 : 1], !sharp, &x, &y, texel);
        }
    }
}
