/*
 * Binding table entries and RENDER_SURFACE_STATE of Ivy Bridge and Haswell (IVB PRM vol. 4 part 1, SURFACE_STATE).
 */
#include "core/surface.h"
#include "state_gen7.h"

static uint32_t state_offset(uint32_t entry) {
    struct gen7_binding_table_state state;
    gen7_binding_table_state_unpack(&entry, G4_GEN_IVB, &state);
    return state.surface_state_pointer;
}

static enum g4_tiling tiling_of(const struct gen7_render_surface_state *state) {
    if (!state->tiled_surface) {
        return G4_TILING_LINEAR;
    }
    return state->tile_walk == GEN7_TILE_WALK_YMAJOR ? G4_TILING_Y : G4_TILING_X;
}

static uint8_t enabled_faces(const struct gen7_render_surface_state *state) {
    return (uint8_t)(state->cube_face_enable_positive_x | state->cube_face_enable_negative_x << 1 |
                     state->cube_face_enable_positive_y << 2 | state->cube_face_enable_negative_y << 3 |
                     state->cube_face_enable_positive_z << 4 | state->cube_face_enable_negative_z << 5);
}

/* The rows of an interleaved multisampled surface: 4 and 8 samples are in two rows. */
static uint32_t rows_of(const struct g4_surface *surface) {
    return surface->interleaved && surface->samples >= 4 ? g4_align(surface->height, 2) * 2 : surface->height;
}

/* Array elements are h0 + h1 + 12 j rows apart, or h0 if the array spacing is that of level 0 (IVB PRM vol. 1 part 1,
 * 6.17.3.1, computation of QPitch).  Surfaces with a sample in each element always have the second form. */
void g4_surface_set_layout_gen7(struct g4_surface *surface, uint32_t unit_width, uint32_t unit_height,
                                bool level_0_only) {
    const bool compressed = g4_format_is_compressed(surface->format);
    const uint32_t height = rows_of(surface);
    const uint32_t j = compressed ? surface->format->block_height : unit_height;

    surface->unit_width = (uint8_t)(compressed ? surface->format->block_width : unit_width);
    surface->unit_height = (uint8_t)j;
    surface->faces_are_elements = true;
    surface->element_rows = g4_align(height, j);
    if (!level_0_only && g4_surface_sample_elements(surface) == 1) {
        surface->element_rows += g4_align(g4_minify(height, 1), j) + 12 * j;
    }
}

/* Buffers count their entries with 27 bits, of raw data and structures with 31. */
static uint32_t entries_of(const struct gen7_render_surface_state *state) {
    const bool wide = state->surface_format == GEN7_LATER_SURFACE_FORMAT_RAW ||
                      state->surface_type == GEN7_STRUCTURED_SURFACE_TYPE_SURFTYPE_STRBUF;
    const uint32_t high = wide ? state->buffer_entries_30_21 : state->buffer_entries_30_21 & 63;
    return (high << 21 | state->buffer_entries_20_7 << 7 | state->buffer_entries_6_0) + 1;
}

static void unpack_buffer(const struct gen7_render_surface_state *state, struct g4_surface *surface) {
    surface->is_structured = state->surface_type == GEN7_STRUCTURED_SURFACE_TYPE_SURFTYPE_STRBUF;
    surface->type = G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    surface->tiling = G4_TILING_LINEAR;
    surface->buffer_entries = entries_of(state);
    surface->first_structure = surface->is_structured ? state->strbuf_minimum_array_element : 0;
    surface->width = surface->height = surface->depth = 1;
    surface->unit_width = surface->unit_height = 1;
}

/* Channels of a clear color are 1 or 0. */
static void set_clear_color(const struct gen7_render_surface_state *state, struct g4_surface *surface) {
    const uint32_t one = surface->format->data_class == G4_CLASS_FLOAT ? g4_hw_bits(1.0f) : 1;
    const bool is_one[4] = {state->red_clear_color, state->green_clear_color, state->blue_clear_color,
                            state->alpha_clear_color};
    for (uint32_t c = 0; c < 4; c++) {
        surface->clear_color[c] = is_one[c] ? one : 0;
    }
}

static void unpack_image(const struct gen7_render_surface_state *state, struct g4_surface *surface) {
    surface->tiling = tiling_of(state);
    surface->width = state->width;
    surface->height = state->surface_type == GEN7_STRUCTURED_SURFACE_TYPE_SURFTYPE_1D ? 1 : state->height;
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
    surface->samples = (uint8_t)(1u << (state->number_of_multisamples & 3));
    surface->interleaved =
        state->multisampled_surface_storage_format == GEN7_MULTISAMPLED_SURFACE_STORAGE_FORMAT_DEPTH_STENCIL;
    if (state->mcs_enable) {
        surface->mcs_base = state->mcs_base_address;
        surface->mcs_pitch = state->mcs_surface_pitch * G4_TILE_Y_WIDTH;
    }
    surface->color_blend_enable = true; /* BLEND_STATE alone decides */
    set_clear_color(state, surface);
    g4_surface_set_layout_gen7(
        surface, state->surface_horizontal_alignment == GEN7_SURFACE_HORIZONTAL_ALIGNMENT_HALIGN_8 ? 8 : 4,
        state->surface_vertical_alignment == GEN7_SURFACE_VERTICAL_ALIGNMENT_VALIGN_4 ? 4 : 2,
        state->surface_array_spacing == GEN7_SURFACE_ARRAY_SPACING_LOD0);
}

static void unpack(const uint32_t *dw, uint32_t gen, struct g4_surface *surface) {
    struct gen7_render_surface_state state;

    gen7_render_surface_state_unpack(dw, gen, &state);
    surface->format_code = state.surface_format;
    surface->format = g4_format_of(state.surface_format, gen);
    surface->type = state.surface_type;
    surface->base = state.surface_base_address;
    surface->pitch = state.surface_pitch;
    if (state.surface_type == GEN7_STRUCTURED_SURFACE_TYPE_SURFTYPE_BUFFER ||
        state.surface_type == GEN7_STRUCTURED_SURFACE_TYPE_SURFTYPE_STRBUF) {
        unpack_buffer(&state, surface);
    } else {
        unpack_image(&state, surface);
    }
    surface->selects_channels = (gen & G4_GEN_HSW) != 0;
    surface->channel_select[0] = (uint8_t)state.shader_channel_select_red;
    surface->channel_select[1] = (uint8_t)state.shader_channel_select_green;
    surface->channel_select[2] = (uint8_t)state.shader_channel_select_blue;
    surface->channel_select[3] = (uint8_t)state.shader_channel_select_alpha;
}

const struct g4_surface_loader g4_surface_loader_gen7 = {.state_offset = state_offset, .unpack = unpack};
