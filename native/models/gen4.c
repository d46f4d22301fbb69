/*
 * The Gen4 family: Broadwater and Crestline (Gen4), Cantiga and Eaglelake (Gen4.5, also called G4x).
 */
#include "chips.h"
#include "core/model.h"
#include "core/surface.h"
#include "eu/op.h"
#include "functions/dataport.h"
#include "functions/table.h"
#include "geometry/setup_kernel.h"
#include "geometry/stage.h"
#include "media/state.h"
#include "models/models.h"
#include "raster/windower_state.h"
#include "sampler/message.h"
#include "sampler/sample.h"
#include "sampler/texture.h"

/* The units that all four have. */
#define UNITS                                                                                                          \
    .load_draw = g4_load_draw_gen4, .load_inputs = g4_load_inputs_gen4, .load_fill = g4_load_fill_gen4,                \
    .load_copy = g4_load_copy_gen4, .expand_instruction = g4_expand_gen4, .decode_instruction = g4_decode_gen4,        \
    .run_vs = g4_vs_run, .run_gs = g4_gs_run, .read_vertices = g4_vertices_read,                                       \
    .prepare_vertices = g4_vertices_prepare, .run_clip = g4_clip_run, .run_setup = g4_sf_run,                          \
    .start_pixels = g4_wm_payloads, .decide_tests = g4_iz_decide, .begin_depth = g4_begin_depth,                       \
    .functions = g4_message_functions, .scratch_functions = &g4_scratch_functions_gen4,                                \
    .surfaces = &g4_surface_loader_gen4, .samplers = &g4_sampler_loader_gen4, .media = &g4_media_loader_gen4,          \
    .message_use = g4_message_use_gen4

#define GEN4_MESSAGES                                                                                                  \
    .lod_rules = &g4_lod_rules_gen4, .sampler_messages = &g4_gen4_sampler_messages,                                    \
    .dataport_reads = &g4_gen4_dataport_reads, .dataport_writes = &g4_gen4_dataport_writes

/* Quirks that all four have. */
#define COMMON_QUIRKS                                                                                                  \
    .compares_ignore_array_index = true, .ld_outside_bytes_is_black = true, .refuses_y_tiled_wide_targets = true,      \
    .vf_counts_no_loop_end = true

#define GEN4_QUIRKS                                                                                                    \
    COMMON_QUIRKS, .cmp_converts_to_destination_type = true, .sample_c_a16_nan_is_infinity = true,                     \
                   .killed_mask_includes_disabled = true, .resinfo_returns_floats = true,                              \
                   .sample_c_with_lod_differs = true, .media_reads_align_x_to_dword = true,                            \
                   .clip_spawns_for_bad_vertices = true, .clip_counts_threads = true

const struct g4_model g4_model_broadwater = {
    .chip = &g4_chip_bw,
    .layout_gen = G4_GEN_BW,
    UNITS,
    .quirks = {GEN4_QUIRKS, .compares_ignore_array_start = true},
    GEN4_MESSAGES,
};

const struct g4_model g4_model_crestline = {
    .chip = &g4_chip_cl,
    .layout_gen = G4_GEN_CL,
    UNITS,
    .quirks = {GEN4_QUIRKS, .vfe_has_vld = true},
    GEN4_MESSAGES,
};

#define GEN45_MESSAGES                                                                                                 \
    .lod_rules = &g4_lod_rules_gen4, .sampler_messages = &g4_gen4_sampler_messages,                                    \
    .dataport_reads = &g4_gen45_dataport_reads, .dataport_writes = &g4_gen45_dataport_writes

#define GEN45_QUIRKS                                                                                                   \
    COMMON_QUIRKS,                                                                                                     \
        .has_compr4 = true, .forced_lod_filters_linear = true, .ld_of_deep_volume_levels_differs = true,               \
        .shadow_of_cubes_differs = true, .has_media_boundary_mode = true, .gateway_opens_64_registers = true,          \
        .has_8_bit_coverage = true, .has_depth_coordinate_offset = true, .has_dual_source_messages = true,             \
        .dispatches_widest_first = true, .clip_tests_negative_w = true, .has_aa_line_slope = true,                     \
        .vfe_has_vld = true, .vfe_has_remap_table = true, .vfe_extends_all_modes = true, .vfe_has_avc_and_vc1 = true

const struct g4_model g4_model_cantiga = {
    .chip = &g4_chip_ctg,
    .layout_gen = G4_GEN_CTG,
    UNITS,
    .quirks = {GEN45_QUIRKS},
    GEN45_MESSAGES,
};

const struct g4_model g4_model_eaglelake = {
    .chip = &g4_chip_el,
    .layout_gen = G4_GEN_EL,
    UNITS,
    .quirks = {GEN45_QUIRKS},
    GEN45_MESSAGES,
};
