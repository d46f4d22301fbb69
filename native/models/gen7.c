/*
 * The Gen7 family: Ivy Bridge and Bay Trail (Gen7), Haswell (Gen7.5).
 */
#include "chips.h"
#include "color/color.h"
#include "compute/state.h"
#include "core/model.h"
#include "core/surface.h"
#include "eu/op.h"
#include "functions/dataport_gen7.h"
#include "functions/table.h"
#include "geometry/setup_gen6.h"
#include "geometry/stage.h"
#include "media/state.h"
#include "models/models.h"
#include "raster/windower_state.h"
#include "sampler/message.h"
#include "sampler/sample.h"

/* The units that all three have. */
#define UNITS                                                                                                          \
    .load_draw = g4_load_draw_gen7, .load_inputs = g4_load_inputs_gen7, .load_fill = g4_load_fill_gen4,                \
    .load_copy = g4_load_copy_gen4, .expand_instruction = g4_expand_gen7, .run_vs = g4_vs_run_gen7,                    \
    .tessellate = g4_tessellate_run_gen7, .run_gs = g4_gs_run_gen7, .read_vertices = g4_vertices_read_gen7,            \
    .prepare_vertices = g4_vertices_prepare_gen6, .run_clip = g4_clip_run_gen6, .run_setup = g4_setup_run_gen6,        \
    .start_pixels = g4_pixel_payload_gen7, .decide_tests = g4_decide_tests_gen6, .begin_depth = g4_begin_depth_gen6,   \
    .surfaces = &g4_surface_loader_gen7, .samplers = &g4_sampler_loader_gen7, .lod_rules = &g4_lod_rules_gen7,         \
    .media = &g4_media_loader_gen7, .load_compute = g4_load_compute_gen7, .message_writes = g4_message_writes_gen7,    \
    .message_use = g4_message_use_gen7

#define GEN7_MESSAGES                                                                                                  \
    .functions = g4_message_functions_gen7, .scratch_functions = &g4_scratch_functions_gen7,                           \
    .sampler_messages = &g4_gen7_sampler_messages

#define QUIRKS                                                                                                         \
    .rounds_by_control_register = true, .has_channel_pointers = true, .conditions_test_stored_integers = true,         \
    .has_8_bit_coverage = true, .has_aa_line_slope = true, .integer_borders_are_integers = true,                       \
    .limits_borders = true, .gathers_green_as_blue = true

const struct g4_model g4_model_ivy_bridge = {
    .chip = &g4_chip_ivb,
    .layout_gen = G4_GEN_IVB,
    UNITS,
    .decode_instruction = g4_decode_gen7,
    GEN7_MESSAGES,
    .quirks = {QUIRKS, .sampler_deinterlaces = true, .reads_small_texels = true},
};

const struct g4_model g4_model_bay_trail = {
    .chip = &g4_chip_byt,
    .layout_gen = G4_GEN_BYT,
    UNITS,
    .decode_instruction = g4_decode_gen7,
    GEN7_MESSAGES,
    .quirks = {QUIRKS, .sampler_deinterlaces = true, .reads_small_texels = true},
};

const struct g4_model g4_model_haswell = {
    .chip = &g4_chip_hsw,
    .layout_gen = G4_GEN_HSW,
    UNITS,
    .decode_instruction = g4_decode_gen75,
    .functions = g4_message_functions_gen75,
    .scratch_functions = &g4_scratch_functions_gen75,
    .sampler_messages = &g4_gen75_sampler_messages,
    .quirks = {QUIRKS, .stencil_buffer_has_enable = true, .counts_pixels_fourfold = true,
               .has_stateless_coherency_indices = true, .vfe_scratch_is_power_of_two = true},
};
