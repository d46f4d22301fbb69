/*
 * Binding table entries and SURFACE_STATE of Gen4 and Gen4.5 (965 PRM vol. 4, 4.7.1 and 4.7.2).
 */
#include "core/surface.h"
#include "hw_state.h"

static uint32_t state_offset(uint32_t entry) {
    struct g4_binding_table_state state;
    g4_binding_table_state_unpack(&entry, G4_GEN_ALL4, &state);
    return state.surface_state_pointer;
}

static enum g4_tiling tiling_of(const struct g4_surface_state *state) {
    if (!state->tiled_surface) {
        return G4_TILING_LINEAR;
    }
    return state->tile_walk == G4_TILE_WALK_YMAJOR ? G4_TILING_Y : G4_TILING_X;
}

static uint8_t enabled_faces(const struct g4_surface_state *state) {
    return (uint8_t)(state->cube_face_enable_positive_x | state->cube_face_enable_negative_x << 1 |
                     state->cube_face_enable_positive_y << 2 | state->cube_face_enable_negative_y << 3 |
                     state->cube_face_enable_positive_z << 4 | state->cube_face_enable_negative_z << 5);
}

static uint8_t disabled_channels(const struct g4_surface_state *state) {
    return (uint8_t)(state->color_write_disable_red | state->color_write_disable_green << 1 |
                     state->color_write_disable_blue << 2 | state->color_write_disable_alpha << 3);
}

void g4_surface_set_layout_gen4(struct g4_surface *surface) {
    const bool compressed = g4_format_is_compressed(surface->format);

    surface->unit_width = compressed ? surface->format->block_width : 4;
    surface->unit_height = compressed ? surface->format->block_height : 2;
    surface->element_rows = g4_align(surface->height, surface->unit_height) +
                            g4_align(g4_minify(surface->height, 1), surface->unit_height) + 11 * surface->unit_height;
}

static void unpack(const uint32_t *dw, uint32_t gen, struct g4_surface *surface) {
    struct g4_surface_state state;

    g4_surface_state_unpack(dw, gen, &state);
    surface->format_code = state.surface_format;
    surface->format = g4_format_of(state.surface_format, gen);
    surface->type = state.surface_type;
    surface->base = state.surface_base_address;
    surface->pitch = state.surface_pitch;
    surface->tiling = tiling_of(&state);
    surface->width = state.width;
    surface->height = state.surface_type == G4_SURFACE_TYPE_SURFTYPE_1D ? 1 : state.height;
    surface->depth = state.surface_type == G4_SURFACE_TYPE_SURFTYPE_CUBE ? 1 : state.depth;
    surface->mip_count_or_lod = state.mip_count_or_lod;
    surface->min_lod = state.surface_min_lod;
    surface->minimum_array_element = state.minimum_array_element;
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        surface->buffer_entries =
            (state.buffer_entries_26_20 << 20 | state.buffer_entries_19_7 << 7 | state.buffer_entries_6_0) + 1;
    }
    surface->x_offset = state.x_offset;
    surface->y_offset = state.y_offset;
    surface->miptree_layout = state.mip_map_layout_mode;
    surface->skips_lines = state.vertical_line_stride;
    surface->first_line = state.vertical_line_stride_offset;
    surface->cube_faces = enabled_faces(&state);
    surface->color_write_disable = disabled_channels(&state);
    surface->color_blend_enable = state.color_blend_enable;
    surface->data_return_format = state.data_return_format;
    surface->media_boundary_mode = state.media_boundary_pixel_mode;
    g4_surface_set_layout_gen4(surface);
}

const struct g4_surface_loader g4_surface_loader_gen4 = {.state_offset = state_offset, .unpack = unpack};
