/*
 * The VLD mode's state while it parses a slice (spec/70 3.4).
 */
#ifndef G4_MEDIA_VLD_H
#define G4_MEDIA_VLD_H

#include "media/media.h"

struct g4_vld {
    struct g4_media *media;
    const struct g4_media_command *command;
    const struct g4_vld_state *state;
    const struct g4_vld_tables *tables;
    struct g4_bits bits;
    bool frame; /* a frame picture */
    uint32_t x, y;
    uint32_t quantizer;
    int32_t pmv[2][2][2]; /* [r][s][t] */
    int32_t dc[3];
    uint32_t previous; /* enum g4_mpeg2_macroblock of the last macroblock that was coded */
};

struct g4_vld_macroblock {
    uint32_t flags; /* enum g4_mpeg2_macroblock */
    uint32_t motion_type;
    uint32_t dct_type;
    uint32_t pattern;    /* bit 5: Y0 */
    int32_t mv[2][2][2]; /* [r][s][t] */
    bool mvfs[2][2];     /* [r][s] */
};

/* All motion vectors of a macroblock; false: illegal code. */
bool g4_vld_motion(struct g4_vld *vld, struct g4_vld_macroblock *mb);
/* A vector of zero, from the field of the same parity. */
void g4_vld_no_motion(struct g4_vld *vld, struct g4_vld_macroblock *mb);
/* A block's coefficients in raster order, 64 words; false: illegal code. */
bool g4_vld_block(struct g4_vld *vld, bool intra, unsigned component, int16_t *block);

#endif
