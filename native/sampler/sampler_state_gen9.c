/*
 * SAMPLER_STATE and border colors of Gen9 (SKL PRM vol. 2d, SAMPLER_STATE).
 */
#include "sampler/texture.h"
#include "state_gen9.h"

_Static_assert((int)G4_HALF_BORDER == (int)GEN9_ADDRESS_CONTROL_MODE_HALF_BORDER, "as the state has it");

static uint8_t reduction_of(const struct gen9_sampler_state *state) {
    if (!state->reduction_type_enable) {
        return G4_REDUCTION_MEAN;
    }
    return state->reduction_type == GEN9_REDUCTION_TYPE_MINIMUM   ? G4_REDUCTION_MINIMUM
           : state->reduction_type == GEN9_REDUCTION_TYPE_MAXIMUM ? G4_REDUCTION_MAXIMUM
                                                                  : G4_REDUCTION_MEAN;
}

static g4_address load(struct g4_texture_sampler *sampler, struct g4_port *port, uint32_t gen,
                       g4_address dynamic_state_base, g4_address address) {
    struct gen9_sampler_state state;
    uint32_t dw[4];

    (void)g4_mem_read(port, address, dw, sizeof dw);
    gen9_sampler_state_unpack(dw, gen, &state);
    sampler->disable = state.sampler_disable;
    sampler->mode[0] = (uint8_t)state.tcx_address_control_mode;
    sampler->mode[1] = (uint8_t)state.tcy_address_control_mode;
    sampler->mode[2] = (uint8_t)state.tcz_address_control_mode;
    sampler->override_cube = state.cube_surface_control_mode == GEN9_CUBE_SURFACE_CONTROL_MODE_OVERRIDE;
    sampler->filter[0] = (uint8_t)state.min_mode_filter;
    sampler->filter[1] = (uint8_t)state.mag_mode_filter;
    sampler->mip_filter = (uint8_t)state.mip_mode_filter;
    sampler->round[0][0] = state.u_address_min_filter_rounding_enable;
    sampler->round[0][1] = state.v_address_min_filter_rounding_enable;
    sampler->round[0][2] = state.r_address_min_filter_rounding_enable;
    sampler->round[1][0] = state.u_address_mag_filter_rounding_enable;
    sampler->round[1][1] = state.v_address_mag_filter_rounding_enable;
    sampler->round[1][2] = state.r_address_mag_filter_rounding_enable;
    sampler->lod_preclamp = state.lod_preclamp_mode == GEN9_LOD_PRECLAMP_MODE_OGL;
    sampler->unnormalized = state.non_normalized_coordinate_enable;
    sampler->lod_bias = state.texture_lod_bias_s4_8;
    sampler->min_lod = state.min_lod_u4_8;
    sampler->max_lod = state.max_lod_u4_8;
    sampler->maximum_anisotropy = state.maximum_anisotropy;
    sampler->shadow_function = state.shadow_function;
    sampler->reduction = reduction_of(&state);
    sampler->keyed = state.chromakey_enable;
    sampler->key_replaces = state.chromakey_mode == GEN9_CHROMA_KEY_MODE_REPLACE_BLACK;
    sampler->key = state.chromakey_index;
    sampler->border_has_bytes = state.texture_border_color_mode == GEN9_TEXTURE_BORDER_COLOR_MODE_DX9;
    return dynamic_state_base + state.border_color_pointer;
}

/* Four dwords that are floats or integers, by the format of the surface. */
static void load_border(struct g4_texture_sampler *sampler, struct g4_port *port, uint32_t gen, g4_address address) {
    (void)gen;
    (void)g4_mem_read(port, address, sampler->border, sizeof sampler->border);
    if (sampler->border_has_bytes) {
        const uint32_t bytes = sampler->border[0];
        for (int c = 0; c < 4; c++) {
            sampler->border[c] = g4_hw_bits((float)(bytes >> (8 * c) & 0xff) / 255.0f);
        }
    }
}

const struct g4_sampler_loader g4_sampler_loader_gen9 = {
    .load = load,
    .load_border = load_border,
    .half_border = true,
    .load_media_image = g4_media_image_load_gen9,
    .load_scaler = g4_scaler_load_gen9,
};
