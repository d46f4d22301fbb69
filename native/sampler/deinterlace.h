/*
 * The denoise and deinterlace unit of the sampler and of the video enhancement engine: a block of a picture of two
 * fields, with the picture before it.
 *
 * No public document has the arithmetic.  What is here follows the names and sizes of the state's fields, the drivers'
 * settings and the claims of Intel's patents, a function for each row of docs/decisions.md; it is exact where pictures
 * are constant or stand still, and not bit exact elsewhere.
 */
#ifndef G4_SAMPLER_DEINTERLACE_H
#define G4_SAMPLER_DEINTERLACE_H

#include "api/video_enhancement.h"
#include "sampler/media_image.h"

enum {
    G4_DI_COLUMNS = 16,
    G4_DI_ROWS = 4,  /* of a block, if it is deinterlaced */
    G4_DN_ROWS = 8,  /* if it is only denoised */
    G4_DI_LEFT = 20, /* pixels of the window around the block */
    G4_DI_ABOVE = 12,
    G4_DI_WIDTH = 56,
    G4_DI_HEIGHT = 32,
};

/* A block and its surroundings.  Lines outside of the picture are the nearest ones of the same field. */
struct g4_luma_window {
    uint8_t row[G4_DI_HEIGHT][G4_DI_WIDTH];
};

/* Pixel (x, y), which counts from the block's first one. */
static inline int32_t g4_luma(const struct g4_luma_window *window, int32_t x, int32_t y) {
    return window->row[y + G4_DI_ABOVE][x + G4_DI_LEFT];
}

/* One message. */
struct g4_deinterlace_block {
    const struct g4_deinterlacer *state;
    const struct g4_media_image *current, *previous, *statistics;
    struct g4_port *port;
    int32_t x, y;

    struct g4_luma_window c, p; /* of the current and of the previous frame */

    /* Results of g4_denoise() */
    uint8_t history[G4_DN_ROWS / 4][G4_DI_COLUMNS / 4];
    uint32_t noise; /* block noise estimate (BNE) */
    /* Results of g4_deinterlace(): frames at the time of the second field of the previous frame, and of the first
     * field of the current one */
    uint8_t luma[2][G4_DI_ROWS][G4_DI_COLUMNS];
    uint8_t chroma[2][G4_DI_ROWS][G4_DI_COLUMNS]; /* V and U in turn */
    uint8_t stmm[G4_DI_ROWS][G4_DI_COLUMNS / 2];
};

/* Sums over 16x4 pixels. */
struct g4_block_sums {
    uint32_t stad, shcm, svcm; /* temporal differences; horizontal and vertical complexity */
};

struct g4_film_values {
    /* Sums of differences of the top and bottom fields of the current and the previous frame. */
    uint32_t ct_pt, cb_pb, ct_cb, ct_pb, cb_pt;
    uint32_t moving;                        /* groups of 4x1 pixels that move */
    uint32_t tears_current, tears_previous; /* columns that comb if the fields are woven */
};

/* Lines of one field are this far apart. */
static inline int32_t g4_field_step(const struct g4_deinterlacer *state) {
    return state->progressive && !state->deinterlaces ? 1 : 2;
}

/* Read both frames around the block. */
void g4_deinterlace_begin(struct g4_deinterlace_block *block, uint32_t rows);
/* Filter the noise of block->c, or only take over the history; estimate noise.  denoise.c */
void g4_denoise(struct g4_deinterlace_block *block, uint32_t rows);
/* Filter 16x8 samples of a chroma plane, which block->c and block->p contain, with the history of luma.  denoise.c */
void g4_denoise_chroma(struct g4_deinterlace_block *block, const uint8_t history[G4_DN_ROWS / 4][G4_DI_COLUMNS / 4]);
/* Fill luma, chroma and stmm.  deinterlace.c */
void g4_deinterlace(struct g4_deinterlace_block *block);
/* V and U of a line of 4:2:2, in turn. */
void g4_deinterlace_chroma_row(const struct g4_deinterlace_block *block, const struct g4_media_image *frame, int32_t y,
                               bool interlaced, uint8_t out[G4_DI_COLUMNS]);

/* film_mode.c: statistics of the 16x4 pixels from row `y` of the block on. */
void g4_block_sums(const struct g4_deinterlace_block *block, int32_t y, struct g4_block_sums *sums);
void g4_film_values(const struct g4_deinterlace_block *block, struct g4_film_values *values);

/* The lines between those of a field, one pixel, spatially.  sdi.c: line y is missing in `frame`. */
int32_t g4_spatial_pixel(const struct g4_deinterlacer *state, const struct g4_luma_window *frame, int32_t x, int32_t y);
/* mcdi.c: the motion between the fields before and after a missing line, for pairs of pixels and one more at each
 * side. */
struct g4_motion_vector {
    int32_t x, y; /* half of it */
    uint32_t sad; /* mean of the differences */
};
struct g4_motion_line {
    struct g4_motion_vector vector[G4_DI_COLUMNS / 2 + 2];
};
void g4_find_motion(const struct g4_deinterlace_block *block, int32_t y, struct g4_motion_line *line);
/* A pixel by motion compensation; false: its vector is not good enough. */
bool g4_compensated_pixel(const struct g4_deinterlace_block *block, const struct g4_luma_window *frame,
                          const struct g4_motion_line *line, int32_t x, int32_t y, int32_t *value);

#endif
