/*
 * Gen4 and Gen4.5: commands and state blocks of the 3D pipeline become struct g4_draw_state, once per 3DPRIMITIVE.
 *
 * Commands are kept whole in struct g4_state; state blocks are read from memory through the pointers of
 * 3DSTATE_PIPELINED_POINTERS (G45 PRM vol. 2, 2.5.2).  No other file unpacks either.
 */
#include "draw/load_gen4.h"
#include "hw_state.h"

#include <string.h>

#include "draw/load.h"
#include "eu/eu.h"
#include "geometry/topology.h"
#include "raster/windower.h"

enum {
    VS_DWORDS = 7,
    GS_DWORDS = 7,
    CLIP_DWORDS = 11,
    SF_DWORDS = 8,
    WM_DWORDS = 8,
    COLOR_CALC_DWORDS = 8,
    CLIP_VIEWPORT_DWORDS = 4,
    SF_VIEWPORT_DWORDS = 8,
    CC_VIEWPORT_DWORDS = 2,
    URB_UNIT_ROWS = 2, /* URB entries are allocated in units of 512 bits */
};

/* Missing memory reads as 0 and is in the port's log. */
static void read_dwords(struct g4_port *port, g4_address address, uint32_t *dw, uint32_t count) {
    (void)g4_mem_read(port, address, dw, count * sizeof *dw);
}

/* All viewports, of which most draws use the first one, or none if not `used`: the others are read speculatively. */
static void read_viewports(const struct g4_draw_loader *loader, g4_address address, uint32_t dwords, bool used,
                           uint32_t *raw) {
    read_dwords(used ? loader->port : loader->quiet_port, address, raw, dwords);
    read_dwords(loader->quiet_port, address + 4 * dwords, raw + dwords, dwords * (G4_VIEWPORTS - 1));
}

/* ---- commands ---- */

static void load_drawing_rectangle(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_3dstate_drawing_rectangle rectangle;

    g4_3dstate_drawing_rectangle_unpack(ctx->state->drawing_rectangle, ctx->gen, &rectangle);
    draw->drawing_rectangle = (struct g4_drawing_rectangle){
        .x_min = (int32_t)rectangle.clipped_drawing_rectangle_x_min,
        .y_min = (int32_t)rectangle.clipped_drawing_rectangle_y_min,
        .x_max = (int32_t)rectangle.clipped_drawing_rectangle_x_max,
        .y_max = (int32_t)rectangle.clipped_drawing_rectangle_y_max,
        .origin_x = rectangle.drawing_rectangle_origin_x,
        .origin_y = rectangle.drawing_rectangle_origin_y,
    };
}

static void load_depth_buffer(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const uint32_t *const dw = ctx->state->depth_buffer;
    const bool offset = ctx->model->quirks.has_depth_coordinate_offset;
    struct g4_3dstate_depth_buffer buffer;

    g4_3dstate_depth_buffer_unpack(dw, ctx->gen, &buffer);
    draw->depth_buffer = (struct g4_depth_buffer){
        /* all zero: as after reset, when the command has not been executed */
        .present = (dw[1] | dw[2] | dw[3] | dw[4]) && buffer.surface_type <= G4_DEPTH_SURFACE_TYPE_SURFTYPE_CUBE,
        .tiled = buffer.tiled_surface,
        .tile_walk_x = buffer.tile_walk != G4_DEPTH_TILE_WALK_YMAJOR,
        .type = buffer.surface_type,
        .format = buffer.surface_format,
        .address = buffer.surface_base_address,
        .pitch_bytes = buffer.surface_pitch,
        .width = buffer.width,
        .height = buffer.height,
        .depth = buffer.depth,
        .level = buffer.lod,
        .miptree_layout = buffer.mip_map_layout_mode,
        .minimum_array_element = buffer.minimum_array_element,
        .offset_x = offset ? (uint32_t)buffer.depth_coordinate_offset_x : 0,
        .offset_y = offset ? (uint32_t)buffer.depth_coordinate_offset_y : 0,
        .follows_drawing_rectangle = !offset && buffer.depth_buffer_coordinate_offset_disable,
        .report_value = dw[1],
    };
}

static void load_lines(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_quirks *const quirks = &ctx->model->quirks;
    struct g4_line_antialiasing *const line = &draw->line_antialiasing;
    struct g4_3dstate_aa_line_parameters aa;
    struct g4_3dstate_line_stipple stipple;

    g4_3dstate_aa_line_parameters_unpack(ctx->state->aa_line, ctx->gen, &aa);
    line->has_slope = quirks->has_aa_line_slope && aa.aa_coverage_slope_u0_8 != 0;
    line->slope = (float)aa.aa_coverage_slope_u0_8 / 256.0f;
    line->bias = (float)aa.aa_coverage_bias_u0_8 / 256.0f;
    line->cap_slope = (float)aa.aa_coverage_endcap_slope_u0_8 / 256.0f;
    line->cap_bias = (float)aa.aa_coverage_endcap_bias_u0_8 / 256.0f;
    line->scale = quirks->has_8_bit_coverage ? 255.0f : 15.0f;

    g4_3dstate_line_stipple_unpack(ctx->state->line_stipple, ctx->gen, &stipple);
    draw->line_stipple = (struct g4_line_stipple){
        .pattern = stipple.line_stipple_pattern,
        .repeat = stipple.line_stipple_repeat_count ? stipple.line_stipple_repeat_count : 1,
    };
}

static void load_constants(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_3dstate_constant_color constant;
    struct g4_3dstate_global_depth_offset_clamp offset;

    g4_3dstate_constant_color_unpack(ctx->state->constant_color, ctx->gen, &constant);
    draw->color.blend.constant[0] = constant.blend_constant_color_red;
    draw->color.blend.constant[1] = constant.blend_constant_color_green;
    draw->color.blend.constant[2] = constant.blend_constant_color_blue;
    draw->color.blend.constant[3] = constant.blend_constant_color_alpha;
    g4_3dstate_global_depth_offset_clamp_unpack(ctx->state->depth_offset_clamp, ctx->gen, &offset);
    draw->depth_bias.clamp = offset.global_depth_offset_clamp;
}

static void load_curbe(const struct g4_context *ctx, struct g4_draw_state *draw) {
    draw->curbe = (struct g4_curbe){.row = ctx->state->curbe, .rows = ctx->state->curbe_rows};
}

void g4_load_commands_gen4(const struct g4_context *ctx, struct g4_draw_state *draw) {
    load_drawing_rectangle(ctx, draw);
    load_depth_buffer(ctx, draw);
    load_lines(ctx, draw);
    load_constants(ctx, draw);
    draw->vertex_statistics = ctx->state->vf_statistics != 0;
    load_curbe(ctx, draw);
}

static void load_polygon_stipple(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_3dstate_poly_stipple_offset offset;

    g4_3dstate_poly_stipple_offset_unpack(ctx->state->poly_stipple_offset, ctx->gen, &offset);
    g4_load_stipple(ctx->state->poly_stipple + 1, /* past the header */
                    offset.polygon_stipple_x_offset, offset.polygon_stipple_y_offset, draw->polygon_stipple);
}

static void load_primitive(const struct g4_context *ctx, const uint32_t *command, struct g4_draw_state *draw) {
    struct g4_3dprimitive primitive;

    g4_3dprimitive_unpack(command, ctx->gen, &primitive);
    draw->primitive = (struct g4_primitive){
        .topology = primitive.primitive_topology_type,
        .indexed = primitive.vertex_access_type == G4_VERTEX_ACCESS_TYPE_RANDOM,
        .indirect = primitive.indirect_vertex_count,
        .vertex_count = primitive.vertex_count_per_instance,
        .vertex_count_address = primitive.vertex_count_address,
        .start_vertex = primitive.start_vertex_location,
        .instance_count = primitive.instance_count,
        .start_instance = primitive.start_instance_location,
        .base_vertex = primitive.base_vertex_location,
    };
}

static void load_vertex_buffer(const struct g4_context *ctx, uint32_t index, struct g4_draw_state *draw) {
    struct g4_vertex_buffer_state buffer;

    g4_vertex_buffer_state_unpack(ctx->state->vertex_buffer[index], ctx->gen, &buffer);
    draw->vertex_buffer[index] = (struct g4_vertex_buffer){
        .address = buffer.buffer_starting_address,
        .pitch_bytes = buffer.buffer_pitch,
        .max_index = buffer.max_index,
        .per_instance = buffer.buffer_access_type != 0,
        .step_rate = buffer.instance_data_step_rate,
    };
}

/* Valid elements in order (docs/decisions.md 236). */
static void load_vertex_elements(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_state *const state = ctx->state;
    const uint32_t buffers = sizeof state->vertex_buffer / sizeof *state->vertex_buffer;
    const uint32_t elements = sizeof state->vertex_element / sizeof *state->vertex_element;

    for (uint32_t i = 0; i < state->vertex_elements && i < elements; i++) {
        struct g4_vertex_element_state element;
        g4_vertex_element_state_unpack(state->vertex_element[i], ctx->gen, &element);
        if (!element.valid) {
            continue;
        }
        const bool exists = element.vertex_buffer_index < buffers;
        draw->vertex_element[draw->vertex_elements++] = (struct g4_vertex_element){
            .buffer = exists ? element.vertex_buffer_index : G4_VERTEX_BUFFERS,
            .offset_bytes = element.source_element_offset,
            .format = element.source_element_format,
            .control = {element.component_0_control, element.component_1_control, element.component_2_control,
                        element.component_3_control},
            .destination = element.destination_element_offset,
        };
    }
}

static void load_indices(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_3dstate_index_buffer index;

    g4_3dstate_index_buffer_unpack(ctx->state->index_buffer, ctx->gen, &index);
    const uint32_t index_bytes = 1u << (index.index_format > 2 ? 2 : index.index_format);
    draw->index_buffer = (struct g4_index_buffer){
        .address = index.buffer_starting_address,
        .end = index.buffer_ending_address,
        .index_bytes = index_bytes,
        .cut_enable = index.cut_index_enable,
        .cut_index = UINT32_MAX >> (32 - 8 * index_bytes),
    };
}

/* ---- state blocks of stages that run threads ---- */

/* The members that all of these blocks have. */
struct thread_state_gen4 {
    uint32_t kernel, scratch_base, scratch_size;
    uint32_t grf_count, grf_start;
    uint32_t constant_offset, constant_rows;
    uint32_t max_threads;
    bool alternate_fp, single_program_flow;
    bool illegal_opcode, mask_stack, software; /* exceptions */
};

#define THREAD_STATE(block)                                                                                            \
    ((struct thread_state_gen4){                                                                                       \
        .kernel = (block).kernel_start_pointer,                                                                        \
        .scratch_base = (block).scratch_space_base_pointer,                                                            \
        .scratch_size = (block).per_thread_scratch_space,                                                              \
        .grf_count = (block).grf_register_count,                                                                       \
        .grf_start = (block).dispatch_grf_start_register,                                                              \
        .constant_offset = (block).constant_urb_entry_read_offset,                                                     \
        .constant_rows = (block).constant_urb_entry_read_length,                                                       \
        .max_threads = (block).maximum_number_of_threads,                                                              \
        .alternate_fp = (block).floating_point_mode != 0,                                                              \
        .single_program_flow = (block).single_program_flow,                                                            \
        .illegal_opcode = (block).illegal_opcode_exception_enable,                                                     \
        .mask_stack = (block).mask_stack_exception_enable,                                                             \
        .software = (block).software_exception_enable,                                                                 \
    })

/* The dispatch of a stage and its part of g4_stage; rows of URB entries are the caller's. */
static void load_threads(const struct g4_context *ctx, int stage, enum g4_unit unit, struct thread_state_gen4 block,
                         struct g4_draw_state *draw) {
    const struct g4_state *const state = ctx->state;
    const uint32_t largest = 11; /* 2 MB */

    draw->dispatch[stage] = (struct g4_dispatch){
        .unit = unit,
        .kernel_address = state->general_state_base + block.kernel,
        .general_state_base = state->general_state_base,
        .dynamic_state_base = state->general_state_base,
        .instruction_base = state->general_state_base,
        .surface_state_base = state->surface_state_base,
        .binding_table = state->binding_table[stage],
        .scratch_base = state->general_state_base + block.scratch_base,
        .scratch_bytes = 1024u << (block.scratch_size > largest ? largest : block.scratch_size),
        .scratch_size = (uint8_t)block.scratch_size,
        .grf_count = block.grf_count,
        .alternate_fp = block.alternate_fp,
        .single_program_flow = block.single_program_flow,
        /* cr0.1 has mask stack at bit 11, illegal opcode at 12, software at 13 */
        .exceptions = (uint8_t)(block.mask_stack | block.illegal_opcode << 1 | block.software << 2),
    };
    draw->stage[stage] = (struct g4_stage){
        .constant_offset = block.constant_offset,
        .constant_rows = block.constant_rows,
        .grf_start = block.grf_start,
        .max_threads = block.max_threads,
    };
}

static enum g4_status load_kernel(const struct g4_draw_loader *loader, int stage, struct g4_draw_state *draw,
                                  struct g4_fault *fault) {
    draw->kernel[stage] = g4_kernel_get(loader->kernels, loader->ctx, draw->dispatch[stage].kernel_address, fault);
    return draw->kernel[stage] ? G4_OK : G4_FAULT;
}

static enum g4_status load_vs(const struct g4_draw_loader *loader, struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[VS_DWORDS];
    struct g4_vs_state vs;

    read_dwords(loader->port, ctx->state->vs_state, raw, VS_DWORDS);
    g4_vs_state_unpack(raw, ctx->gen, &vs);
    load_threads(ctx, G4_STAGE_VS, G4_UNIT_VS, THREAD_STATE(vs), draw);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    stage->input_offset = vs.vertex_urb_entry_read_offset;
    stage->input_rows = vs.vertex_urb_entry_read_length;
    stage->entry_rows = URB_UNIT_ROWS * vs.urb_entry_allocation_size;
    stage->statistics = vs.statistics_enable;
    draw->dispatch[G4_STAGE_VS].sampler_state = ctx->state->general_state_base + vs.sampler_state_pointer;
    draw->vertex_cache = !vs.vertex_cache_disable;
    draw->vs_enable = vs.vs_function_enable;
    return draw->vs_enable ? load_kernel(loader, G4_STAGE_VS, draw, fault) : G4_OK;
}

static enum g4_status load_gs(const struct g4_draw_loader *loader, struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[GS_DWORDS];
    struct g4_gs_state gs;

    draw->gs_enable = ctx->state->gs_enable != 0;
    if (!draw->gs_enable) {
        return G4_OK;
    }
    read_dwords(loader->port, ctx->state->gs_state, raw, GS_DWORDS);
    g4_gs_state_unpack(raw, ctx->gen, &gs);
    load_threads(ctx, G4_STAGE_GS, G4_UNIT_GS, THREAD_STATE(gs), draw);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_GS];
    stage->input_offset = gs.vertex_urb_entry_read_offset;
    stage->input_rows = gs.vertex_urb_entry_read_length;
    stage->entry_rows = URB_UNIT_ROWS * gs.urb_entry_allocation_size;
    stage->statistics = gs.gs_statistics_enable;
    draw->dispatch[G4_STAGE_GS].sampler_state = ctx->state->general_state_base + gs.sampler_state_pointer;
    draw->gs = (struct g4_geometry_shader){
        .odd_triangles = gs.reorder_enable ? G4_ODD_FIRST_FIRST : G4_ODD_AS_THEY_ARE,
        .discard_adjacency = gs.discard_adjacency,
        .max_viewport = gs.maximum_vp_index,
    };
    return load_kernel(loader, G4_STAGE_GS, draw, fault);
}

static void load_guardbands(const struct g4_draw_loader *loader, g4_address address, bool used,
                            struct g4_draw_state *draw) {
    uint32_t raw[G4_VIEWPORTS][CLIP_VIEWPORT_DWORDS];

    read_viewports(loader, address, CLIP_VIEWPORT_DWORDS, used, raw[0]);
    for (uint32_t i = 0; i < G4_VIEWPORTS; i++) {
        struct g4_clip_viewport viewport;
        g4_clip_viewport_unpack(raw[i], loader->ctx->gen, &viewport);
        draw->clip.guardband[i] = (struct g4_guardband){viewport.x_min_clip_guardband, viewport.x_max_clip_guardband,
                                                        viewport.y_min_clip_guardband, viewport.y_max_clip_guardband};
    }
}

static void load_clip(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[CLIP_DWORDS];
    struct g4_clip_state clip;

    draw->clip_enable = ctx->state->clip_enable != 0;
    if (!draw->clip_enable) {
        return;
    }
    read_dwords(loader->port, ctx->state->clip_state, raw, CLIP_DWORDS);
    g4_clip_state_unpack(raw, ctx->gen, &clip);
    load_threads(ctx, G4_STAGE_CLIP, G4_UNIT_CLIP, THREAD_STATE(clip), draw);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_CLIP];
    stage->input_offset = clip.vertex_urb_entry_read_offset;
    stage->input_rows = clip.vertex_urb_entry_read_length;
    stage->entry_rows = URB_UNIT_ROWS * clip.urb_entry_allocation_size;
    stage->statistics = clip.clipper_statistics_enable;
    const bool screen = clip.vertex_position_space == G4_VERTEX_POSITION_SPACE_SCREEN;
    draw->clip = (struct g4_clip){
        .mode = clip.clip_mode,
        .test_xy = clip.viewport_xy_clip_test_enable,
        .test_z = clip.viewport_z_clip_test_enable,
        .test_guardband = clip.guardband_clip_test_enable,
        .test_negative_w = clip.negative_w_clip_test_enable,
        .user_flags_must_clip = clip.user_clip_flags_must_clip_enable,
        .user_flags = clip.user_clip_flags_clip_test_enable_bitmask,
        .x_min = screen ? clip.screen_space_viewport_x_min : -1.0f,
        .x_max = screen ? clip.screen_space_viewport_x_max : 1.0f,
        .y_min = screen ? clip.screen_space_viewport_y_min : -1.0f,
        .y_max = screen ? clip.screen_space_viewport_y_max : 1.0f,
        .z_min = clip.api_mode == G4_API_MODE_D3D ? 0.0f : -1.0f,
        .count_gs_output = clip.gs_output_object_statistics_enable,
    };
    load_guardbands(loader, ctx->state->general_state_base + clip.clipper_viewport_state_pointer,
                    clip.guardband_clip_test_enable, draw);
    /* Most draws never clip: an unreadable kernel is a fault only for the draw that needs it. */
    struct g4_fault unused;
    draw->kernel[G4_STAGE_CLIP] =
        g4_kernel_get_unready(loader->kernels, ctx, draw->dispatch[G4_STAGE_CLIP].kernel_address, &unused);
}

/* ---- setup ---- */

static void load_viewports(const struct g4_context *ctx, const uint32_t (*raw)[SF_VIEWPORT_DWORDS],
                           struct g4_draw_state *draw) {
    for (uint32_t i = 0; i < G4_VIEWPORTS; i++) {
        struct g4_sf_viewport viewport;
        g4_sf_viewport_unpack(raw[i], ctx->gen, &viewport);
        draw->viewport[i] = (struct g4_viewport){
            .m00 = viewport.viewport_matrix_element_m00,
            .m11 = viewport.viewport_matrix_element_m11,
            .m22 = viewport.viewport_matrix_element_m22,
            .m30 = viewport.viewport_matrix_element_m30,
            .m31 = viewport.viewport_matrix_element_m31,
            .m32 = viewport.viewport_matrix_element_m32,
            .scissor_x_min = (int32_t)viewport.scissor_rectangle_x_min,
            .scissor_y_min = (int32_t)viewport.scissor_rectangle_y_min,
            .scissor_x_max = (int32_t)viewport.scissor_rectangle_x_max,
            .scissor_y_max = (int32_t)viewport.scissor_rectangle_y_max,
        };
    }
}

static void load_setup_block(const struct g4_context *ctx, const struct g4_sf_state *sf, struct g4_draw_state *draw) {
    load_threads(ctx, G4_STAGE_SF, G4_UNIT_SF, THREAD_STATE(*sf), draw);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_SF];
    stage->input_offset = sf->vertex_urb_entry_read_offset;
    stage->input_rows = sf->vertex_urb_entry_read_length;
    stage->entry_rows = URB_UNIT_ROWS * sf->urb_entry_allocation_size;
    stage->statistics = sf->statistics_enable;
    struct g4_setup_state *const setup = &draw->setup;
    setup->viewport_transform = sf->viewport_transform_enable;
    setup->scissor = sf->scissor_rectangle_enable;
    setup->coarse_positions = sf->vertex_sub_pixel_precision_select == G4_SUB_PIXEL_PRECISION_FOUR_BITS;
    setup->bias_x = (float)sf->destination_origin_horizontal_bias_u0_4 / 16.0f;
    setup->bias_y = (float)sf->destination_origin_vertical_bias_u0_4 / 16.0f;
    setup->front_winding = sf->front_winding;
    setup->cull_mode = sf->cull_mode;
    setup->point_width_from_vertex = !sf->use_point_width_state;
    setup->point_width_u8_3 = sf->point_width_u8_3;
    setup->point_rule = sf->point_rasterization_rule;
    setup->sprite_point = sf->sprite_point_enable;
    setup->line_width = (float)sf->line_width_u3_1 / 2.0f;
    setup->line_cap_region = g4_line_region(sf->line_end_cap_antialiasing_region_width);
    setup->line_antialiasing = sf->antialiasing_enable;
    setup->line_last_pixel = sf->last_pixel_enable;
    setup->provoking_line = (uint8_t)sf->line_strip_list_provoking_vertex_select;
    setup->provoking_triangle = (uint8_t)sf->triangle_strip_list_provoking_vertex_select;
    setup->provoking_fan = (uint8_t)sf->triangle_fan_provoking_vertex_select;
    draw->line_antialiasing.true_distance = sf->aa_line_distance_mode == G4_AA_LINE_DISTANCE_TRUE; /* 0 before Gen4.5 */
    draw->setup_address = ctx->state->sf_state;
}

void g4_load_setup_gen4(const struct g4_context *ctx, const uint32_t *sf_state, const uint32_t (*viewport)[8],
                        struct g4_draw_state *draw) {
    struct g4_sf_state sf;

    g4_sf_state_unpack(sf_state, ctx->gen, &sf);
    load_setup_block(ctx, &sf, draw);
    load_viewports(ctx, viewport, draw);
}

static enum g4_status load_setup(const struct g4_draw_loader *loader, struct g4_draw_state *draw,
                                 struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[SF_DWORDS];
    uint32_t viewport[G4_VIEWPORTS][SF_VIEWPORT_DWORDS];
    struct g4_sf_state sf;

    read_dwords(loader->port, ctx->state->sf_state, raw, SF_DWORDS);
    g4_sf_state_unpack(raw, ctx->gen, &sf);
    load_setup_block(ctx, &sf, draw);
    read_viewports(loader, ctx->state->general_state_base + sf.setup_viewport_state_offset, SF_VIEWPORT_DWORDS,
                   sf.viewport_transform_enable || sf.scissor_rectangle_enable, viewport[0]);
    load_viewports(ctx, (const uint32_t(*)[SF_VIEWPORT_DWORDS])viewport, draw);
    return load_kernel(loader, G4_STAGE_SF, draw, fault);
}

/* ---- pixels ---- */

void g4_load_windower_gen4(const struct g4_context *ctx, const uint32_t *wm_state, struct g4_draw_state *draw) {
    struct g4_wm_state wm;

    g4_wm_state_unpack(wm_state, ctx->gen, &wm);
    load_threads(ctx, G4_STAGE_WM, G4_UNIT_WM, THREAD_STATE(wm), draw);
    draw->stage[G4_STAGE_WM].input_offset = wm.setup_urb_entry_read_offset;
    draw->stage[G4_STAGE_WM].input_rows = wm.setup_urb_entry_read_length;
    draw->stage[G4_STAGE_WM].statistics = wm.statistics_enable;
    draw->dispatch[G4_STAGE_WM].sampler_state = ctx->state->general_state_base + wm.sampler_state_pointer;
    draw->windower = (struct g4_windower_state){
        .thread_dispatch = wm.thread_dispatch_enable,
        .dispatch_8 = wm.dispatch_8_pixel_enable,
        .dispatch_16 = wm.dispatch_16_pixel_enable,
        .dispatch_32 = wm.dispatch_32_pixel_enable,
        .contiguous_32 = wm.contiguous_32_pixel_dispatch_enable,
        .contiguous_64 = wm.contiguous_64_pixel_dispatch_enable,
        .kills_pixels = wm.pixel_shader_kill_pixel,
        .computes_depth = wm.pixel_shader_computed_depth,
        .uses_source_depth = wm.pixel_shader_uses_source_depth,
        .early_depth_test = wm.early_depth_test_enable,
        .polygon_stipple = wm.polygon_stipple_enable,
        .line_stipple = wm.line_stipple_enable,
        .setup_transposed = wm.transposed_urb_read_enable,
        .depth_row = wm.depth_coefficient_urb_read_offset,
    };
    draw->line_antialiasing.region = g4_line_region(wm.line_antialiasing_region_width);
    draw->line_antialiasing.cap_region = g4_line_region(wm.line_end_cap_antialiasing_region_width);
    draw->setup.legacy_diamonds = wm.legacy_diamond_line_rasterization;
    draw->depth_bias.enable = wm.global_depth_offset_enable;
    draw->depth_bias.format =
        draw->depth_buffer.present ? draw->depth_buffer.format : G4_DEPTH_FORMAT_D24_UNORM_S8_UINT;
    draw->depth_bias.legacy_unit = wm.legacy_global_depth_bias_enable;
    draw->depth_bias.constant = wm.global_depth_offset_constant;
    draw->depth_bias.scale = wm.global_depth_offset_scale;
    if (wm.polygon_stipple_enable) {
        load_polygon_stipple(ctx, draw);
    }
    draw->windower_address = ctx->state->wm_state;
}

static void load_stencil(const struct g4_color_calc_state *cc, struct g4_stencil_set stencil[2]) {
    stencil[0] = (struct g4_stencil_set){
        .function = (uint8_t)cc->stencil_test_function,
        .fail = (uint8_t)cc->stencil_fail_op,
        .zfail = (uint8_t)cc->stencil_pass_depth_fail_op,
        .zpass = (uint8_t)cc->stencil_pass_depth_pass_op,
        .reference = (uint8_t)cc->stencil_reference_value,
        .test_mask = (uint8_t)cc->stencil_test_mask,
        .write_mask = (uint8_t)cc->stencil_write_mask,
    };
    stencil[1] = (struct g4_stencil_set){
        .function = (uint8_t)cc->backface_stencil_test_function,
        .fail = (uint8_t)cc->backface_stencil_fail_op,
        .zfail = (uint8_t)cc->backface_stencil_pass_depth_fail_op,
        .zpass = (uint8_t)cc->backface_stencil_pass_depth_pass_op,
        .reference = (uint8_t)cc->backface_stencil_reference_value,
        .test_mask = (uint8_t)cc->backface_stencil_test_mask,
        .write_mask = (uint8_t)cc->backface_stencil_write_mask,
    };
}

/* Without independent alpha blending, alpha has the functions and factors of color. */
static void load_blend(const struct g4_color_calc_state *cc, struct g4_blend_state *blend) {
    const bool independent = cc->independent_alpha_blend_enable;

    blend->enable = cc->color_buffer_blend_enable;
    blend->function[0] = cc->color_blend_function;
    blend->function[1] = independent ? cc->alpha_blend_function : cc->color_blend_function;
    blend->source[0] = cc->source_blend_factor;
    blend->source[1] = independent ? cc->source_alpha_blend_factor : cc->source_blend_factor;
    blend->destination[0] = cc->destination_blend_factor;
    blend->destination[1] = independent ? cc->destination_alpha_blend_factor : cc->destination_blend_factor;
    blend->logic_op = cc->logic_op_enable;
    blend->logic_function = cc->logic_op_function;
    blend->dither = cc->color_dither_enable;
    blend->dither_x = cc->x_dither_offset;
    blend->dither_y = cc->y_dither_offset;
    blend->clamp_range = cc->color_clamp_range;
    blend->pre_clamp = cc->pre_blend_color_clamp_enable;
    blend->post_clamp = cc->post_blend_color_clamp_enable;
}

static void load_color_block(const struct g4_context *ctx, const struct g4_color_calc_state *cc,
                             struct g4_draw_state *draw) {
    const bool unorm8 = cc->alpha_test_format == G4_ALPHA_TEST_FORMAT_UNORM8;

    draw->depth_stencil = (struct g4_depth_stencil){
        .depth_test = cc->depth_test_enable,
        .depth_write = cc->depth_buffer_write_enable,
        .stencil_test = cc->stencil_test_enable,
        .stencil_write = cc->stencil_buffer_write_enable,
        .double_sided = cc->double_sided_stencil_enable,
        .depth_function = (uint8_t)cc->depth_test_function,
    };
    load_stencil(cc, draw->depth_stencil.stencil);
    draw->color.alpha_test = (struct g4_alpha_test){
        .enable = cc->alpha_test_enable,
        .unorm8 = unorm8,
        .function = cc->alpha_test_function,
        .reference = unorm8 ? (float)cc->alpha_reference_value_as_unorm8 : cc->alpha_reference_value_as_float32,
    };
    load_blend(cc, &draw->color.blend);
    draw->color.statistics = cc->statistics_enable;
    draw->color_address = ctx->state->cc_state;
}

void g4_load_color_gen4(const struct g4_context *ctx, const uint32_t *color_calc_state, struct g4_draw_state *draw) {
    struct g4_color_calc_state cc;

    g4_color_calc_state_unpack(color_calc_state, ctx->gen, &cc);
    load_color_block(ctx, &cc, draw);
}

static void load_color(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[COLOR_CALC_DWORDS];
    uint32_t viewport[G4_VIEWPORTS][CC_VIEWPORT_DWORDS];
    struct g4_color_calc_state cc;

    read_dwords(loader->port, ctx->state->cc_state, raw, COLOR_CALC_DWORDS);
    g4_color_calc_state_unpack(raw, ctx->gen, &cc);
    load_color_block(ctx, &cc, draw);
    read_viewports(loader, ctx->state->general_state_base + cc.color_calculator_viewport_state_pointer,
                   CC_VIEWPORT_DWORDS, cc.depth_test_enable, viewport[0]);
    for (uint32_t i = 0; i < G4_VIEWPORTS; i++) {
        struct g4_cc_viewport range;
        g4_cc_viewport_unpack(viewport[i], ctx->gen, &range);
        draw->color.depth_range[i] = (struct g4_depth_range){range.minimum_depth, range.maximum_depth};
    }
}

/* Thread sizes enter the kernel at jumps, its first instructions of 16 bytes each (G45 PRM vol. 2, 8.5.1). */
static enum g4_status load_pixel_kernels(const struct g4_draw_loader *loader, struct g4_draw_state *draw,
                                         struct g4_fault *fault) {
    const uint32_t entries = g4_wm_entries(&draw->windower);

    for (uint32_t entry = 0; entry < G4_WM_ENTRIES; entry++) {
        struct g4_fault entry_fault;
        if (entry != 0 && !(entries >> entry & 1)) {
            continue;
        }
        draw->wm_kernel[entry] = g4_kernel_get(loader->kernels, loader->ctx,
                                               draw->dispatch[G4_STAGE_WM].kernel_address + entry * 16, &entry_fault);
        if (!draw->wm_kernel[entry] && entry == 0) {
            *fault = entry_fault;
            return G4_FAULT;
        }
    }
    return G4_OK;
}

static enum g4_status load_pixels(const struct g4_draw_loader *loader, struct g4_draw_state *draw,
                                  struct g4_fault *fault) {
    uint32_t raw[WM_DWORDS];

    read_dwords(loader->port, loader->ctx->state->wm_state, raw, WM_DWORDS);
    g4_load_windower_gen4(loader->ctx, raw, draw);
    load_color(loader, draw);
    return draw->windower.thread_dispatch ? load_pixel_kernels(loader, draw, fault) : G4_OK;
}

enum g4_status g4_load_draw_gen4(const struct g4_draw_loader *loader, const uint32_t *primitive,
                                 struct g4_draw_state *draw, struct g4_fault *fault) {
    memset(draw, 0, sizeof *draw);
    load_primitive(loader->ctx, primitive, draw);
    load_vertex_elements(loader->ctx, draw);
    g4_load_vertex_buffers(loader->ctx, draw, load_vertex_buffer);
    load_indices(loader->ctx, draw);
    g4_load_commands_gen4(loader->ctx, draw);
    enum g4_status status = load_vs(loader, draw, fault);
    if (status == G4_OK) {
        status = load_gs(loader, draw, fault);
    }
    if (status == G4_OK) {
        load_clip(loader, draw);
        status = load_setup(loader, draw, fault);
    }
    return status == G4_OK ? load_pixels(loader, draw, fault) : status;
}

void g4_load_inputs_gen4(const struct g4_draw_loader *loader, const uint32_t *primitive, struct g4_draw_state *draw) {
    load_primitive(loader->ctx, primitive, draw);
    g4_load_vertex_buffers(loader->ctx, draw, load_vertex_buffer);
    load_indices(loader->ctx, draw);
    load_curbe(loader->ctx, draw);
}
