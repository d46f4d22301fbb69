/*
 * The toy: a chip with a limit of its own, its loader, decoder and setup; everything else is Eaglelake's.
 */
#include "chips.h"
#include "core/surface.h"
#include "eu/op.h"
#include "functions/dataport.h"
#include "functions/table.h"
#include "geometry/stage.h"
#include "media/state.h"
#include "models/models.h"
#include "raster/windower_state.h"
#include "sampler/message.h"
#include "sampler/sample.h"
#include "sampler/texture.h"

g4_decode_instruction_fn g4_decode_toy;
g4_setup_fn g4_setup_toy;
g4_load_draw_fn g4_load_draw_toy;

const struct g4_model g4_model_toy = {
    .chip = &g4_chip_toy,
    .layout_gen = G4_GEN_EL,
    .quirks = {.has_compr4 = true,
               .has_8_bit_coverage = true,
               .has_depth_coordinate_offset = true,
               .dispatches_widest_first = true,
               .compares_ignore_array_index = true,
               .ld_outside_bytes_is_black = true},
    .load_draw = g4_load_draw_toy,
    .expand_instruction = g4_expand_gen4,
    .decode_instruction = g4_decode_toy,
    .run_vs = g4_vs_run,
    .run_gs = g4_gs_run,
    .read_vertices = g4_vertices_read,
    .prepare_vertices = g4_vertices_prepare,
    .run_clip = g4_clip_run,
    .run_setup = g4_setup_toy,
    .start_pixels = g4_wm_payloads,
    .decide_tests = g4_iz_decide,
    .begin_depth = g4_begin_depth,
    .functions = g4_message_functions,
    .scratch_functions = &g4_scratch_functions_gen4,
    .surfaces = &g4_surface_loader_gen4,
    .samplers = &g4_sampler_loader_gen4,
    .media = &g4_media_loader_gen4,
    .lod_rules = &g4_lod_rules_gen4,
    .sampler_messages = &g4_gen4_sampler_messages,
    .dataport_reads = &g4_gen45_dataport_reads,
    .dataport_writes = &g4_gen45_dataport_writes,
};
