/*
 * The Gen9 family: Skylake and Kaby Lake.
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

/* Thread payloads and most messages are those of Gen7.5. */
#define UNITS                                                                                                          \
    .layout_gen = G4_GEN_HSW, .load_draw = g4_load_draw_gen9, .load_inputs = g4_load_inputs_gen9,                      \
    .load_fill = g4_load_fill_gen9, .load_copy = g4_load_copy_gen9, .expand_instruction = g4_expand_gen9,              \
    .decode_instruction = g4_decode_gen9, .run_vs = g4_vs_run_gen9, .tessellate = g4_tessellate_run_gen7,              \
    .run_gs = g4_gs_run_gen7, .read_vertices = g4_vertices_read_gen7, .prepare_vertices = g4_vertices_prepare_gen6,    \
    .run_clip = g4_clip_run_gen6, .run_setup = g4_setup_run_gen6, .start_pixels = g4_pixel_payload_gen7,               \
    .decide_tests = g4_decide_tests_gen6, .begin_depth = g4_begin_depth_gen6, .surfaces = &g4_surface_loader_gen9,     \
    .samplers = &g4_sampler_loader_gen9, .lod_rules = &g4_lod_rules_gen7, .media = &g4_media_loader_gen9,              \
    .load_compute = g4_load_compute_gen9, .functions = g4_message_functions_gen9,                                      \
    .scratch_functions = &g4_scratch_functions_gen75, .sampler_messages = &g4_gen9_sampler_messages,                   \
    .message_writes = g4_message_writes_gen9, .message_use = g4_message_use_gen7,                                      \
    .quirks = {                                                                                                        \
        .rounds_by_control_register = true,                                                                            \
        .has_channel_pointers = true,                                                                                  \
        .reads_enables_always = true,                                                                                  \
        .conditions_test_stored_integers = true,                                                                       \
        .has_8_bit_coverage = true,                                                                                    \
        .has_aa_line_slope = true,                                                                                     \
        .integer_borders_are_integers = true,                                                                          \
        .limits_borders = true,                                                                                        \
        .lines_ignore_v = true,                                                                                        \
        .stencil_buffer_has_enable = true,                                                                             \
        .pixel_payload_has_sample_ids = true,                                                                          \
        .has_two_bit_control_surfaces = true,                                                                          \
        .has_bare_typed_messages = true,                                                                               \
        .has_stateless_coherency_indices = true,                                                                       \
        .has_integer_logic_ops = true,                                                                                 \
        .vfe_scratch_is_power_of_two = true,                                                                           \
    }

const struct g4_model g4_model_skylake = {.chip = &g4_chip_skl, .format_gen = G4_GEN_SKL, UNITS};
const struct g4_model g4_model_kaby_lake = {.chip = &g4_chip_kbl, .format_gen = G4_GEN_KBL, UNITS};
