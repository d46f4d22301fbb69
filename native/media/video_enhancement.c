/*
 * The video enhancement engine: the sampler's unit for denoising and deinterlacing on whole frames, then contrast,
 * brightness, hue and saturation.
 */
#include "api/video_enhancement.h"

#include <string.h>

#include "sampler/deinterlace.h"

enum {
    COLUMNS = G4_DI_COLUMNS,
    ROWS = G4_DI_ROWS,
    UNIT = 4, /* pixels of a block in each direction that share a history byte */
    CHROMA = COLUMNS / 2,
    NEUTRAL = 128, /* of Cb and Cr */
    BLACK = 16,    /* of luma */
};

struct images {
    struct g4_media_image current, previous, statistics_in;
    struct g4_media_image statistics_out, denoised, current_out, previous_out;
};

/* The rows of motion measures and history have the pitch and the tiles of the input (docs/decisions.md 240). */
static struct g4_media_image statistics_at(const struct g4_video_surface *input, g4_address base) {
    struct g4_media_image image = {
        .present = true,
        .base = base,
        .pitch = input->pitch,
        .tiling = (enum g4_tiling)input->tiling,
        .width = input->pitch,
        .height = input->height,
        .row_step = 1,
    };
    image.plane[G4_MEDIA_Y] =
        (struct g4_media_plane){.step = 1, .width = image.width, .height = image.height, .pitch = image.pitch};
    return image;
}

static bool find_images(const struct g4_video_enhancement *e, struct images *images) {
    images->statistics_in = statistics_at(&e->input, e->statistics_in);
    images->statistics_out = statistics_at(&e->input, e->statistics_out);
    return g4_media_image_of_video(&images->current, &e->input, e->current_in) &&
           g4_media_image_of_video(&images->previous, &e->input, e->previous_in) &&
           g4_media_image_of_video(&images->denoised, &e->input, e->denoised_out) &&
           g4_media_image_of_video(&images->current_out, &e->output, e->current_out) &&
           g4_media_image_of_video(&images->previous_out, &e->output, e->previous_out);
}

/* ---- denoise ---- */

static const uint8_t *row_of(const struct g4_deinterlace_block *b, int32_t y) {
    return &b->c.row[y + G4_DI_ABOVE][G4_DI_LEFT];
}

static void denoise_luma(struct g4_port *port, const struct g4_deinterlacer *state, const struct images *images,
                         int32_t x, int32_t y) {
    struct g4_deinterlace_block b = {
        .state = state,
        .current = &images->current,
        .previous = &images->previous,
        .statistics = &images->statistics_in,
        .port = port,
        .x = x,
        .y = y,
    };
    const int32_t column = (int32_t)(images->statistics_out.pitch / 2) + x / UNIT;

    g4_deinterlace_begin(&b, G4_DN_ROWS);
    g4_denoise(&b, G4_DN_ROWS);
    for (int32_t i = 0; i < G4_DN_ROWS; i++) {
        g4_media_image_write(&images->denoised, port, G4_MEDIA_Y, x, y + i, COLUMNS, row_of(&b, i));
    }
    for (int32_t i = 0; i < G4_DN_ROWS / UNIT; i++) {
        g4_media_image_write(&images->statistics_out, port, G4_MEDIA_Y, column, y / UNIT + i, COLUMNS / UNIT,
                             b.history[i]);
    }
}

/* An image whose luma is a plane of chroma. */
static struct g4_media_image plane_of(const struct g4_media_image *image, enum g4_media_channel channel) {
    struct g4_media_image plane = *image;
    plane.plane[G4_MEDIA_Y] = image->plane[channel];
    plane.width = image->plane[channel].width;
    plane.height = image->plane[channel].height;
    return plane;
}

static void denoise_chroma_block(struct g4_port *port, const struct g4_video_enhancement *e,
                                 const struct g4_deinterlacer *state, const struct images *images,
                                 enum g4_media_channel channel, int32_t x, int32_t y) {
    const struct g4_media_image current = plane_of(&images->current, channel);
    const struct g4_media_image previous = plane_of(&images->previous, channel);
    uint8_t history[G4_DN_ROWS / UNIT][COLUMNS / UNIT];
    struct g4_deinterlace_block b = {
        .state = state,
        .current = &current,
        .previous = &previous,
        .port = port,
        .x = x,
        .y = y,
    };

    g4_deinterlace_begin(&b, G4_DN_ROWS);
    if (e->denoises_chroma) {
        for (int32_t i = 0; i < G4_DN_ROWS / UNIT; i++) {
            for (int32_t k = 0; k < COLUMNS / UNIT; k++) {
                const int32_t column = ((x + k * UNIT) << images->current.chroma_x) / UNIT;
                const int32_t row = ((y + i * UNIT) << images->current.chroma_y) / UNIT;
                g4_media_image_read(&images->statistics_out, port, G4_MEDIA_Y,
                                    (int32_t)(images->statistics_out.pitch / 2) + column, row, 1, &history[i][k]);
            }
        }
        g4_denoise_chroma(&b, (const uint8_t(*)[COLUMNS / UNIT]) history);
    }
    for (int32_t i = 0; i < G4_DN_ROWS; i++) {
        g4_media_image_write(&images->denoised, port, channel, x, y + i, COLUMNS, row_of(&b, i));
    }
}

/* Denoises the whole frame, because the next step reads all of it. */
static void denoise(struct g4_port *port, const struct g4_video_enhancement *e, const struct images *images) {
    static const enum g4_media_channel channel[2] = {G4_MEDIA_CB, G4_MEDIA_CR};
    struct g4_deinterlacer luma = e->state;
    const int32_t height = (int32_t)images->current.height;
    const int32_t first = (int32_t)(e->first_x & ~(COLUMNS - 1u));
    const int32_t end = (int32_t)e->last_x + 1;

    luma.progressive = luma.progressive && !luma.deinterlaces;
    luma.deinterlaces = false; /* the lines are made later */
    for (int32_t y = 0; y < height; y += G4_DN_ROWS) {
        for (int32_t x = first; x < end; x += COLUMNS) {
            denoise_luma(port, &luma, images, x, y);
        }
    }
    struct g4_deinterlacer chroma = luma;
    chroma.stad_threshold = e->chroma_stad_threshold;
    chroma.temporal_threshold = e->chroma_temporal_threshold;
    chroma.low_temporal_threshold = e->chroma_low_temporal_threshold;
    chroma.moving_pixel_threshold = UNIT * UNIT; /* chroma has no such threshold */
    for (int c = 0; c < 2; c++) {
        const int32_t rows = (int32_t)images->current.plane[channel[c]].height;
        for (int32_t y = 0; y < rows; y += G4_DN_ROWS) {
            for (int32_t x = first / 2; x < (end + 1) / 2; x += COLUMNS) {
                denoise_chroma_block(port, e, &chroma, images, channel[c], x, y);
            }
        }
    }
}

/* ---- color ---- */

static uint8_t as_byte(int32_t value) {
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* docs/decisions.md 244. */
static void amplify_luma(const struct g4_video_amplifier *a, uint8_t *luma, uint32_t count) {
    for (uint32_t i = 0; a->enabled && i < count; i++) {
        luma[i] = as_byte(((luma[i] - BLACK) * a->contrast + a->brightness * 8 + (BLACK << 7) + 64) >> 7);
    }
}

static void amplify_chroma(const struct g4_video_amplifier *a, uint8_t *cb, uint8_t *cr, uint32_t count) {
    for (uint32_t i = 0; a->enabled && i < count; i++) {
        const int32_t u = cb[i] - NEUTRAL;
        const int32_t v = cr[i] - NEUTRAL;
        cb[i] = as_byte((u * a->cosine + v * a->sine + (NEUTRAL << 8) + 128) >> 8);
        cr[i] = as_byte((v * a->cosine - u * a->sine + (NEUTRAL << 8) + 128) >> 8);
    }
}

/* ---- output ---- */

/* Lines of 4:2:2: V and U in turn. */
struct frame_block {
    uint8_t luma[ROWS][COLUMNS];
    uint8_t chroma[ROWS][COLUMNS];
};

static void write_chroma_row(struct g4_port *port, const struct g4_video_enhancement *e,
                             const struct g4_media_image *out, int32_t x, int32_t row, const uint8_t pairs[COLUMNS]) {
    uint8_t cb[CHROMA];
    uint8_t cr[CHROMA];

    for (int i = 0; i < CHROMA; i++) {
        cr[i] = pairs[2 * i];
        cb[i] = pairs[2 * i + 1];
    }
    amplify_chroma(&e->amplifier, cb, cr, CHROMA);
    g4_media_image_write(out, port, G4_MEDIA_CB, x / 2, row, CHROMA, cb);
    g4_media_image_write(out, port, G4_MEDIA_CR, x / 2, row, CHROMA, cr);
}

/* The two lines of 4:2:2 from which a line of 4:2:0 is made.  Those of a deinterlaced frame of 4:2:0 were doubled in
 * each field (docs/decisions.md 241). */
static void write_block(struct g4_port *port, const struct g4_video_enhancement *e, const struct images *images,
                        const struct g4_media_image *out, int32_t x, int32_t y, struct frame_block *block) {
    const bool by_field = e->state.deinterlaces && images->current.chroma_y;

    for (int32_t i = 0; i < ROWS; i++) {
        amplify_luma(&e->amplifier, block->luma[i], COLUMNS);
        g4_media_image_write(out, port, G4_MEDIA_Y, x, y + i, COLUMNS, block->luma[i]);
        if (!out->chroma_y) {
            write_chroma_row(port, e, out, x, y + i, block->chroma[i]);
        }
    }
    for (int32_t i = 0; out->chroma_y && i < ROWS / 2; i++) {
        const uint8_t *const first = block->chroma[by_field ? i : 2 * i];
        const uint8_t *const second = block->chroma[by_field ? i + 2 : 2 * i + 1];
        uint8_t row[COLUMNS];
        for (int k = 0; k < COLUMNS; k++) {
            row[k] = e->averages_chroma ? (uint8_t)((first[k] + second[k] + 1) >> 1) : first[k];
        }
        write_chroma_row(port, e, out, x, y / 2 + i, row);
    }
}

static void finish_block(struct g4_port *port, const struct g4_video_enhancement *e,
                         const struct g4_deinterlacer *state, const struct images *images,
                         const struct g4_media_image *current, int32_t x, int32_t y) {
    struct g4_deinterlace_block b = {
        .state = state,
        .current = current,
        .previous = &images->previous,
        .statistics = &images->statistics_in,
        .port = port,
        .x = x,
        .y = y,
    };
    struct frame_block frame;

    g4_deinterlace_begin(&b, ROWS);
    if (state->deinterlaces) {
        g4_deinterlace(&b);
        for (int32_t i = 0; i < ROWS; i++) {
            g4_media_image_write(&images->statistics_out, port, G4_MEDIA_Y, x / 2, y + i, CHROMA, b.stmm[i]);
        }
        for (int which = 0; which < 2; which++) {
            if (which ? e->writes_current : e->writes_previous) {
                memcpy(frame.luma, b.luma[which], sizeof frame.luma);
                memcpy(frame.chroma, b.chroma[which], sizeof frame.chroma);
                write_block(port, e, images, which ? &images->current_out : &images->previous_out, x, y, &frame);
            }
        }
        return;
    }
    for (int32_t i = 0; i < ROWS; i++) {
        memcpy(frame.luma[i], row_of(&b, i), COLUMNS);
        g4_deinterlace_chroma_row(&b, current, i, false, frame.chroma[i]);
    }
    write_block(port, e, images, &images->current_out, x, y, &frame);
}

enum g4_status g4_enhance_video(struct g4_port *port, const struct g4_video_enhancement *e) {
    struct g4_deinterlacer state = e->state;
    struct images images;

    if (!find_images(e, &images)) {
        return G4_BAD_VALUE;
    }
    if (state.denoises) {
        denoise(port, e, &images);
    }
    state.denoises = false;
    if (state.deinterlaces ? e->writes_previous || e->writes_current : e->writes_current) {
        const struct g4_media_image *const current = e->state.denoises ? &images.denoised : &images.current;
        for (int32_t y = 0; y < (int32_t)images.current.height; y += ROWS) {
            for (int32_t x = (int32_t)(e->first_x & ~(COLUMNS - 1u)); x <= (int32_t)e->last_x; x += COLUMNS) {
                finish_block(port, e, &state, &images, current, x, y);
            }
        }
    }
    return G4_OK;
}
