/*
 * Shared by the loaders of all generations: the meaning of unpacked fields of blits.
 */
#ifndef G4_BLITTER_LOAD_H
#define G4_BLITTER_LOAD_H

#include "api/blitter.h"
#include "core/context.h"
#include "core/model.h"

static inline void g4_load_pixels(struct g4_blt *blt, uint32_t color_depth, uint32_t raster_operation, bool writes_rgb,
                                  bool writes_alpha) {
    blt->bytes = color_depth == G4_COLOR_DEPTH_BPP_8 ? 1 : color_depth == G4_COLOR_DEPTH_BPP_32 ? 4 : 2;
    blt->is_565 = color_depth == G4_COLOR_DEPTH_BPP_16_565;
    blt->rop = raster_operation;
    blt->write_mask = blt->bytes < 4 ? UINT32_MAX : (writes_rgb ? 0x00ffffffu : 0) | (writes_alpha ? 0xff000000u : 0);
}

static inline uint32_t g4_blit_tiling(bool tiled, uint32_t tiling) {
    return tiled ? tiling : G4_TILING_LINEAR;
}

/* In bytes; the field has dwords if the surface is tiled.  The hardware ignores the low two bits of a linear pitch. */
static inline int32_t g4_blit_pitch(int32_t pitch, bool tiled) {
    return tiled ? pitch * 4 : pitch & ~3;
}

#endif
