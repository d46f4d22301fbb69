/*
 * Surfaces of the sampler's media messages: channels of 8 bits, in planes or packed, and R10G10B10A2
 * (MEDIA_SURFACE_STATE).
 */
#ifndef G4_SAMPLER_MEDIA_IMAGE_H
#define G4_SAMPLER_MEDIA_IMAGE_H

#include "core/memory.h"
#include "core/tiling.h"

/* The channels of media messages.  Of YUV, Y is green, Cb blue and Cr red. */
enum g4_media_channel {
    G4_MEDIA_RED,
    G4_MEDIA_GREEN,
    G4_MEDIA_BLUE,
    G4_MEDIA_ALPHA,
    G4_MEDIA_CHANNELS,
    G4_MEDIA_CR = G4_MEDIA_RED,
    G4_MEDIA_Y = G4_MEDIA_GREEN,
    G4_MEDIA_CB = G4_MEDIA_BLUE,
};

/* Where a channel is: sample (x, y) begins at column `x0 + x * step` of row `y0 + y`.  It is a byte, or some bits of a
 * dword. */
struct g4_media_plane {
    uint32_t step;        /* 0: the surface does not have the channel */
    uint32_t bits, shift; /* of a dword; bits 0: a byte */
    uint32_t x0, y0;
    uint32_t width, height; /* samples */
    uint32_t pitch;         /* bytes */
};

struct g4_media_image {
    bool present;    /* false: the state or the format cannot be used */
    uint32_t format; /* as the state has it, for reports */
    g4_address base;
    uint32_t pitch; /* bytes */
    enum g4_tiling tiling;
    uint32_t width, height;          /* pixels, of the frame or of one field */
    uint32_t row_step, first_row;    /* rows of the frame that are rows of the picture: 2 for a field */
    bool packed;                     /* 4:2:2 in one plane */
    uint32_t bits;                   /* of a sample: 8 or 10 */
    bool doubled;                    /* a byte that is 0 precedes each sample */
    uint32_t chroma_x, chroma_y;     /* chroma has every 2^n-th sample */
    uint32_t chroma_offset_quarters; /* of chroma lines, below the luma line */
    struct g4_media_plane plane[G4_MEDIA_CHANNELS];
};

struct g4_surface_loader;

/* Unpack the MEDIA_SURFACE_STATE that an entry of a binding table names. */
typedef void g4_media_image_load_fn(struct g4_media_image *image, struct g4_port *port,
                                    const struct g4_surface_loader *surfaces, uint32_t gen,
                                    g4_address surface_state_base, g4_address binding_table, uint32_t index);
g4_media_image_load_fn g4_media_image_load, g4_media_image_load_gen9;

/* Find the channels of a surface.  Gen9 has the fields of Gen7 in other places. */
struct gen7_media_surface_state;
void g4_media_image_setup(struct g4_media_image *image, const struct gen7_media_surface_state *state);

/* A surface of the video enhancement engine.  False: its format is not modelled there. */
struct g4_video_surface;
bool g4_media_image_of_video(struct g4_media_image *image, const struct g4_video_surface *surface, g4_address base);

/* Read `count` samples of row y from column x on, 8 bits each.  Coordinates outside are those of the nearest edge;
 * absent channels are 0. */
void g4_media_image_read(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                         int32_t x, int32_t y, uint32_t count, uint8_t *out);
/* With all bits of the surface: 8 or 10. */
void g4_media_image_read_wide(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                              int32_t x, int32_t y, uint32_t count, uint16_t *out);
/* Write `count` samples of 8 bits; those outside are lost. */
void g4_media_image_write(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                          int32_t x, int32_t y, uint32_t count, const uint8_t *samples);

#endif
