/*
 * SAMPLER_STATE and texture palettes of Gen4 and Gen4.5 (965 PRM vol. 4, 4.7.3 and 4.7.6).
 */
#include "hw_state.h"
#include "sampler/texture.h"

static g4_address load(struct g4_texture_sampler *sampler, struct g4_port *port, uint32_t gen,
                       g4_address general_state_base, g4_address address) {
    struct g4_sampler_state state;
    uint32_t dw[4];

    (void)g4_mem_read(port, address, dw, sizeof dw);
    g4_sampler_state_unpack(dw, gen, &state);
    sampler->disable = state.sampler_disable;
    sampler->mode[0] = (uint8_t)state.tcx_address_control_mode;
    sampler->mode[1] = (uint8_t)state.tcy_address_control_mode;
    sampler->mode[2] = (uint8_t)state.tcz_address_control_mode;
    sampler->override_cube = state.cube_surface_control_mode == G4_CUBE_SURFACE_CONTROL_MODE_OVERRIDE;
    sampler->filter[0] = (uint8_t)state.min_mode_filter;
    sampler->filter[1] = (uint8_t)state.mag_mode_filter;
    sampler->mip_filter = (uint8_t)state.mip_mode_filter;
    sampler->round[0][0] = state.u_address_min_filter_rounding_enable;
    sampler->round[0][1] = state.v_address_min_filter_rounding_enable;
    sampler->round[0][2] = state.r_address_min_filter_rounding_enable;
    sampler->round[1][0] = state.u_address_mag_filter_rounding_enable;
    sampler->round[1][1] = state.v_address_mag_filter_rounding_enable;
    sampler->round[1][2] = state.r_address_mag_filter_rounding_enable;
    sampler->lod_preclamp = state.lod_preclamp_enable;
    sampler->base_mip_level_u4_1 = state.base_mip_level_u4_1;
    sampler->lod_bias = state.texture_lod_bias_s4_6;
    sampler->min_lod = state.min_lod_u4_6;
    sampler->max_lod = state.max_lod_u4_6;
    sampler->maximum_anisotropy = state.maximum_anisotropy;
    sampler->shadow_function = state.shadow_function;
    sampler->mono_width = state.monochrome_filter_width;
    sampler->mono_height = state.monochrome_filter_height;
    sampler->keyed = state.chroma_key_enable;
    sampler->key_replaces = state.chroma_key_mode == G4_CHROMA_KEY_MODE_REPLACE_BLACK;
    sampler->key = state.chroma_key_index;
    return general_state_base + state.border_color_pointer;
}

const struct g4_sampler_loader g4_sampler_loader_gen4 = {.load = load};

void g4_palette_color(uint32_t entry, uint32_t rgb[3]) {
    struct g4_sampler_palette_rgb_entry color;

    g4_sampler_palette_rgb_entry_unpack(&entry, G4_GEN_ALL4, &color);
    rgb[0] = color.palette_color_red;
    rgb[1] = color.palette_color_green;
    rgb[2] = color.palette_color_blue;
}
