/*
 * MEDIA_SURFACE_STATE and the state of sample_8x8 of Skylake and Kaby Lake (layouts as in intel-vaapi-driver,
 * i965_structs.h).
 */
#include <string.h>

#include "core/surface.h"
#include "messages_gen9.h"
#include "sampler/media_image.h"
#include "sampler/scaler.h"
#include "sampler/texture.h"
#include "state_gen7.h"
#include "state_gen9.h"

enum {
    SURFACE_DWORDS = 8,
    SAMPLER_DWORDS = 280,
    COEFFICIENTS = 16, /* the dword of the first phases, */
    FIRST_PHASES = 17,
    MORE_COEFFICIENTS = 160, /* and of the others */
    PHASE_DWORDS = 8,
    PHASES = 32, /* from 0 to 1/2 */
};

/* Most fields of Gen7, in other places. */
void g4_media_image_load_gen9(struct g4_media_image *image, struct g4_port *port,
                              const struct g4_surface_loader *surfaces, uint32_t gen, g4_address surface_state_base,
                              g4_address binding_table, uint32_t index) {
    struct gen9_media_surface_state in;
    uint32_t dw[SURFACE_DWORDS] = {0};
    uint32_t entry = 0;

    (void)g4_mem_read(port, binding_table + 4 * index, &entry, sizeof entry); /* missing memory is in the port's log */
    (void)g4_mem_read(port, surface_state_base + surfaces->state_offset(entry), dw, sizeof dw);
    gen9_media_surface_state_unpack(dw, gen, &in);
    const struct gen7_media_surface_state state = {
        .surface_format = in.surface_format,
        .surface_pitch = in.surface_pitch,
        .tiled_surface = in.tiled_surface,
        .tile_walk = in.tile_walk,
        .width = in.width,
        .height = in.height,
        .picture_structure = in.picture_structure,
        .cbcr_vertical_pixel_offset = in.cbcr_vertical_pixel_offset | in.cbcr_vertical_pixel_offset_msb << 2,
        .interleave_chroma = in.interleave_chroma,
        .half_pitch_for_chroma = in.half_pitch_for_chroma,
        .x_offset_for_cb = in.x_offset_for_cb,
        .y_offset_for_cb = in.y_offset_for_cb,
        .x_offset_for_cr = in.x_offset_for_cr,
        .y_offset_for_cr = in.y_offset_for_cr,
    };
    g4_media_image_setup(image, &state);
    image->base = in.surface_base_address;
}

static const uint32_t *phase_of(const uint32_t dw[SAMPLER_DWORDS], uint32_t phase) {
    return dw + (phase < FIRST_PHASES ? COEFFICIENTS + PHASE_DWORDS * phase
                                      : MORE_COEFFICIENTS + PHASE_DWORDS * (phase - FIRST_PHASES));
}

/* Bytes of x and y alternate in table 0; table 1 has its four taps where Gen7 has eight. */
static void load_phase(const uint32_t words[PHASE_DWORDS], uint32_t phase, struct g4_scaler *scaler) {
    int8_t bytes[4 * PHASE_DWORDS];

    memcpy(bytes, words, sizeof bytes);
    for (int i = 0; i < G4_SCALER_TAPS; i++) {
        scaler->table[0][0].tap[phase][i] = bytes[2 * i];
        scaler->table[0][1].tap[phase][i] = bytes[2 * i + 1];
        scaler->table[1][0].tap[phase][i] = bytes[16 + i];
        scaler->table[1][1].tap[phase][i] = bytes[24 + i];
    }
}

/* The scaler has half as many phases: the nearest of the table (docs/decisions.md 193). */
void g4_scaler_load_gen9(struct g4_port *port, uint32_t gen, g4_address address, const uint32_t payload[8],
                         struct g4_scaler *scaler) {
    uint32_t dw[SAMPLER_DWORDS];
    struct gen9_sampler_8x8 in;
    struct gen9_sample_8x8_payload message;

    (void)g4_mem_read(port, address, dw, sizeof dw);
    gen9_sampler_8x8_unpack(dw, gen, &in);
    gen9_sample_8x8_payload_unpack(payload, gen, &message);
    *scaler = (struct g4_scaler){
        .enhances = !message.ief_bypass || message.block_size != 0,
        .all_channels_sharp = in.adaptive_filter_for_all_channels,
        .sharpness = in.default_sharpness_level,
        .adapts = {!in.bypass_x_adaptive_filtering, !in.bypass_y_adaptive_filtering},
        .most_difference = {in.max_derivative_4_pixels, in.max_derivative_8_pixels},
        .transition_shift = {in.transition_area_with_4_pixels, in.transition_area_with_8_pixels},
    };
    for (uint32_t phase = 0; phase < G4_SCALER_PHASES; phase++) {
        load_phase(phase_of(dw, (phase * (PHASES - 1) + 8) / (G4_SCALER_PHASES - 1)), phase, scaler);
    }
}
