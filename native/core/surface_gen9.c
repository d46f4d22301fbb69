/*
 * Binding table entries and RENDER_SURFACE_STATE of Gen9 (SKL PRM vol. 2d, RENDER_SURFACE_STATE, and vol. 5, "Memory
 * Views": volumes are arrays of slices, and levels of one-dimensional surfaces lie in one row).
 */
#include "core/surface.h"
#include "state_gen9.h"

static uint32_t state_offset(uint32_t entry) {
    struct gen9_binding_table_state state;
    gen9_binding_table_state_unpack(&entry, G4_GEN_KBL, &state);
    return state.surface_state_pointer;
}

static enum g4_tiling tiling_of(const struct gen9_render_surface_state *state) {
    static const enum g4_tiling tiling[4] = {
        [GEN9_TILE_MODE_LINEAR] = G4_TILING_LINEAR,
        [GEN9_TILE_MODE_WMAJOR] = G4_TILING_W,
        [GEN9_TILE_MODE_XMAJOR] = G4_TILING_X,
        [GEN9_TILE_MODE_YMAJOR] = G4_TILING_Y,
    };
    return tiling[state->tile_mode & 3];
}

static uint8_t enabled_faces(const struct gen9_render_surface_state *state) {
    return (uint8_t)(state->cube_face_enable_positive_x | state->cube_face_enable_negative_x << 1 |
                     state->cube_face_enable_positive_y << 2 | state->cube_face_enable_negative_y << 3 |
                     state->cube_face_enable_positive_z << 4 | state->cube_face_enable_negative_z << 5);
}

/* The texels of an alignment: 4 to 16, by its code. */
static uint8_t alignment(uint32_t code) {
    return (uint8_t)(code ? 2u << code : 4);
}

static void set_layout(const struct gen9_render_surface_state *state, struct g4_surface *surface) {
    const bool compressed = g4_format_is_compressed(surface->format);
    const uint8_t block_width = compressed ? surface->format->block_width : 1;
    const uint8_t block_height = compressed ? surface->format->block_height : 1;

    surface->unit_width = (uint8_t)(alignment(state->surface_horizontal_alignment) * block_width);
    surface->unit_height = (uint8_t)(alignment(state->surface_vertical_alignment) * block_height);
    surface->faces_are_elements = true;
    surface->slices_are_elements = surface->type == G4_SURFACE_TYPE_SURFTYPE_3D;
    surface->levels_in_row = surface->type == G4_SURFACE_TYPE_SURFTYPE_1D && state->tile_mode == GEN9_TILE_MODE_LINEAR;
    surface->element_rows = state->surface_qpitch * block_height;
    if (surface->slices_are_elements && state->tile_mode == GEN9_TILE_MODE_WMAJOR) {
        surface->element_rows *= 2;
    }
}

static void unpack_buffer(const struct gen9_render_surface_state *state, struct g4_surface *surface) {
    surface->is_structured = state->surface_type == GEN9_STRUCTURED_SURFACE_TYPE_SURFTYPE_STRBUF;
    surface->type = G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    surface->tiling = G4_TILING_LINEAR;
    surface->buffer_entries =
        (state->buffer_entries_31_21 << 21 | state->buffer_entries_20_7 << 7 | state->buffer_entries_6_0) + 1;
    surface->first_structure = surface->is_structured ? state->minimum_array_element : 0;
    surface->width = surface->height = surface->depth = 1;
    surface->unit_width = surface->unit_height = 1;
}

/* Compression of single samples has no effect here: clears are written at once (docs/decisions.md 95). */
static void set_auxiliary(const struct gen9_render_surface_state *state, struct g4_surface *surface) {
    if (surface->samples > 1 && state->auxiliary_surface_mode == GEN9_AUXILIARY_SURFACE_MODE_CCS_D) {
        surface->mcs_base = g4_low_48(state->auxiliary_surface_base_address);
        surface->mcs_pitch = state->auxiliary_surface_pitch;
        surface->mcs_element_rows = state->auxiliary_surface_qpitch;
    }
    if (surface->samples == 1 && state->auxiliary_surface_mode == GEN9_AUXILIARY_SURFACE_MODE_HIZ) {
        surface->hiz_base = g4_low_48(state->auxiliary_surface_base_address);
        surface->hiz_pitch = state->auxiliary_surface_pitch;
        surface->hiz_element_rows = state->auxiliary_surface_qpitch;
    }
    surface->clear_color[0] = state->red_clear_color;
    surface->clear_color[1] = state->green_clear_color;
    surface->clear_color[2] = state->blue_clear_color;
    surface->clear_color[3] = state->alpha_clear_color;
}

static void unpack_image(const struct gen9_render_surface_state *state, struct g4_surface *surface) {
    surface->tiling = tiling_of(state);
    if (surface->tiling == G4_TILING_W) {
        surface->pitch /= 2; /* the field has that of two rows, as in 3DSTATE_STENCIL_BUFFER */
    }
    surface->width = state->width;
    surface->height = state->surface_type == GEN9_STRUCTURED_SURFACE_TYPE_SURFTYPE_1D ? 1 : state->height;
    surface->depth = state->depth;
    surface->mip_count_or_lod = state->mip_count_lod;
    surface->min_lod = state->surface_min_lod;
    surface->minimum_array_element = state->minimum_array_element;
    surface->view_extent = state->render_target_view_extent;
    surface->resource_min_lod_u4_8 = state->resource_min_lod_u4_8;
    surface->x_offset = state->x_offset;
    surface->y_offset = state->y_offset;
    surface->skips_lines = state->vertical_line_stride;
    surface->first_line = state->vertical_line_stride_offset;
    surface->cube_faces = enabled_faces(state);
    surface->media_boundary_mode = state->media_boundary_pixel_mode;
    surface->samples = (uint8_t)(1u << g4_min_u32(state->number_of_multisamples, (uint32_t)GEN9_SAMPLE_COUNT_SIXTEEN));
    surface->interleaved =
        state->multisampled_surface_storage_format == GEN9_MULTISAMPLED_SURFACE_STORAGE_FORMAT_DEPTH_STENCIL;
    surface->color_blend_enable = true; /* BLEND_STATE alone decides */
    set_auxiliary(state, surface);
    set_layout(state, surface);
}

static void unpack(const uint32_t *dw, uint32_t gen, struct g4_surface *surface) {
    struct gen9_render_surface_state state;

    gen9_render_surface_state_unpack(dw, gen, &state);
    surface->format_code = state.surface_format;
    surface->format = g4_format_of(state.surface_format, G4_GEN_KBL);
    surface->type = state.surface_type;
    surface->base = g4_low_48(state.surface_base_address);
    surface->pitch = state.surface_pitch;
    if (state.surface_type == GEN9_STRUCTURED_SURFACE_TYPE_SURFTYPE_BUFFER ||
        state.surface_type == GEN9_STRUCTURED_SURFACE_TYPE_SURFTYPE_STRBUF) {
        unpack_buffer(&state, surface);
    } else {
        unpack_image(&state, surface);
    }
    surface->selects_channels = true;
    surface->channel_select[0] = (uint8_t)state.shader_channel_select_red;
    surface->channel_select[1] = (uint8_t)state.shader_channel_select_green;
    surface->channel_select[2] = (uint8_t)state.shader_channel_select_blue;
    surface->channel_select[3] = (uint8_t)state.shader_channel_select_alpha;
}

const struct g4_surface_loader g4_surface_loader_gen9 = {.state_offset = state_offset, .unpack = unpack};
