/*
 * Adaptive video scaling: the sample_8x8 message (docs/decisions.md 125).
 */
#ifndef G4_SAMPLER_SCALER_H
#define G4_SAMPLER_SCALER_H

#include "sampler/media_image.h"

enum {
    G4_SCALER_PHASES = 17, /* phases 0/32 to 16/32; the others are their mirror images */
    G4_SCALER_TAPS = 8,
    G4_SCALER_COLUMNS = 16,
    G4_SCALER_ROWS = 4,
};

/* The coefficients of one direction and table: taps 3 and 4 are for the two nearest texels.  1.0 is 64. */
struct g4_scaler_table {
    int8_t tap[G4_SCALER_PHASES][G4_SCALER_TAPS];
};

/* SAMPLER_8x8 and SAMPLER_8x8_STATE of any generation. */
struct g4_scaler {
    bool nearest;
    bool enhances;           /* by the image enhancement filter, which is not modelled */
    bool all_channels_sharp; /* all channels use table 0, else only green */
    uint32_t sharpness;      /* 255: only the tables count, 0: bilinear */
    bool adapts[2];          /* in x, y: the sharpness of a pixel depends on its surroundings */
    uint32_t most_difference[2], transition_shift[2]; /* over 4 and 8 texels */
    struct g4_scaler_table table[2][2];               /* [table][x, y] */
};

/* From the state at an address, and the register of the message that has the pixels. */
typedef void g4_scaler_load_fn(struct g4_port *port, uint32_t gen, g4_address address, const uint32_t payload[8],
                               struct g4_scaler *scaler);
g4_scaler_load_fn g4_scaler_load_gen9;

/* The pixels of one message: column i and row j are at u + i * du + i * (i - 1) / 2 * ddu and v + j * dv. */
struct g4_scaler_block {
    float u, v, du, dv, ddu; /* normalized */
};

/* Compute 16x4 values of one channel, as 8.8 fixed point. */
void g4_scale(const struct g4_scaler *scaler, const struct g4_media_image *image, struct g4_port *port,
              enum g4_media_channel channel, const struct g4_scaler_block *block,
              uint16_t out[G4_SCALER_ROWS][G4_SCALER_COLUMNS]);

#endif
