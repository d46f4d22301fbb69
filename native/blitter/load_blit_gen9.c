/*
 * Gen9: the blits that drivers use, as struct g4_blt.  Addresses have 48 bits.
 */
#include "blitter/load.h"
#include "state_gen9.h"

bool g4_load_fill_gen9(const struct g4_blitter *blitter, const uint32_t *command, uint32_t gen, struct g4_blt *blt) {
    struct gen9_xy_color_blt fill;

    gen9_xy_color_blt_unpack(command, gen, &fill);
    *blt = (struct g4_blt){
        .x1 = fill.destination_x1,
        .y1 = fill.destination_y1,
        .x2 = fill.destination_x2,
        .y2 = fill.destination_y2,
        .address_mask = blitter->address_mask,
        .destination = fill.destination_base_address,
        .destination_pitch = g4_blit_pitch(fill.destination_pitch, fill.destination_tiled),
        .destination_tiling = g4_blit_tiling(fill.destination_tiled, blitter->destination_tiling),
        .pattern_kind = G4_BLT_PATTERN_SOLID,
        .pattern_foreground = fill.color,
    };
    g4_load_pixels(blt, fill.color_depth, fill.raster_operation, fill.write_rgb, fill.write_alpha);
    return !fill.clip_enable;
}

bool g4_load_copy_gen9(const struct g4_blitter *blitter, const uint32_t *command, uint32_t gen, struct g4_blt *blt) {
    struct gen9_xy_src_copy_blt copy;

    gen9_xy_src_copy_blt_unpack(command, gen, &copy);
    *blt = (struct g4_blt){
        .x1 = copy.destination_x1,
        .y1 = copy.destination_y1,
        .x2 = copy.destination_x2,
        .y2 = copy.destination_y2,
        .address_mask = blitter->address_mask,
        .destination = copy.destination_base_address,
        .destination_pitch = g4_blit_pitch(copy.destination_pitch, copy.destination_tiled),
        .destination_tiling = g4_blit_tiling(copy.destination_tiled, blitter->destination_tiling),
        .source_kind = G4_BLT_SOURCE_COLOR,
        .source = copy.source_base_address,
        .source_pitch = g4_blit_pitch(copy.source_pitch, copy.source_tiled),
        .source_tiling = g4_blit_tiling(copy.source_tiled, blitter->source_tiling),
        .source_x = copy.source_x1,
        .source_y = copy.source_y1,
    };
    g4_load_pixels(blt, copy.color_depth, copy.raster_operation, copy.write_rgb, copy.write_alpha);
    return !copy.clip_enable;
}
