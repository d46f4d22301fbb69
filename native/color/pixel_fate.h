/*
 * Counts the fates of the pixels of a render target write, in the counters of the draw and in the maps of pixels.
 */
#ifndef G4_PIXEL_FATE_H
#define G4_PIXEL_FATE_H

#include "color/state.h"

/* Masks of pixels, and the kind of their message. */
struct g4_pixel_fate {
    uint32_t live;    /* before the tests */
    uint32_t tested;  /* past the alpha test */
    uint32_t past;    /* past the stencil test */
    uint32_t passed;  /* past the depth test */
    uint32_t colored; /* that the target gets */
    bool last;        /* of the thread: its pixels end */
    bool late;        /* stencil and depth are tested after the shader */
    bool z;           /* late tests have a source depth */
    bool visible;     /* pixels that pass count as visible */
};

/* The counters are attached. */
void g4_cc_count_pixels(const struct g4_eu *eu, const struct g4_target *target, const struct g4_pixels *at,
                        const struct g4_pixel_fate *fate);

#endif
