/*
 * Surfaces as pictures (core/picture.c, core/surface.c).
 */
#ifndef G4_API_PICTURE_H
#define G4_API_PICTURE_H

#include "api/tiling.h"

/* The bits of a texel for one channel.  A table translates them; without one they are 8 bits, copied unchanged. */
struct g4_picture_channel {
    uint32_t at;
    uint32_t bits;         /* at most 16; 0: table[0] always */
    const uint16_t *table; /* 1 << bits values */
};

struct g4_picture_format {
    uint32_t texel_bytes; /* at most 8 */
    uint32_t channels;    /* 1: grey, 3: RGB, 4: RGBA */
    bool wide;            /* 16 bits a channel of the picture, in the order of this machine; else 8 */
    struct g4_picture_channel channel[4];
};

/* Read a rectangle of texels as contiguous rows of pixels.  `channels` is the number of the format, or 3 for a format
 * that has 4: `opaque` then says whether the omitted alpha is 255 throughout; if not, the function returns early and
 * the pixels are undefined.  G4_BAD_VALUE: the rectangle is not inside the surface. */
enum g4_status g4_picture_read(struct g4_port *port, const struct g4_surface_layout *layout, uint32_t x, uint32_t y,
                               uint32_t width, uint32_t height, const struct g4_picture_format *format,
                               uint32_t channels, void *pixels, size_t size, bool *opaque);

/* The start of a level and slice of a surface, in texels from its base; false if the surface does not have them.
 * `state` is a SURFACE_STATE of up to eight dwords. */
bool g4_surface_place(const uint32_t *state, uint32_t gen, uint32_t level, uint32_t slice, uint32_t place[2]);

#endif
