/*
 * The sample_unorm message: 8x4 pixels of a media surface, filtered as textures are (docs/decisions.md 125).
 */
#ifndef G4_SAMPLER_SAMPLE_UNORM_H
#define G4_SAMPLER_SAMPLE_UNORM_H

#include "sampler/media_image.h"

enum {
    G4_UNORM_COLUMNS = 8,
    G4_UNORM_ROWS = 4,
};

enum g4_unorm_address {
    G4_UNORM_CLAMP,
    G4_UNORM_WRAP,
    G4_UNORM_MIRROR,
};

struct g4_unorm_filter {
    bool linear;                      /* else nearest */
    enum g4_unorm_address address[2]; /* of x, y */
};

/* Pixel (i, j) is at (u + i * du, v + j * dv), normalized. */
struct g4_unorm_block {
    float u, v, du, dv;
};

/* Compute a channel, as 16-bit UNORM.  Without the channel alpha is 1, others are 0. */
void g4_sample_unorm(const struct g4_unorm_filter *filter, const struct g4_media_image *image, struct g4_port *port,
                     enum g4_media_channel channel, const struct g4_unorm_block *block,
                     uint16_t out[G4_UNORM_ROWS][G4_UNORM_COLUMNS]);

#endif
