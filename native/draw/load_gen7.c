/*
 * Gen7 and Gen7.5: commands and state blocks of the 3D pipeline become struct g4_draw_state, once per 3DPRIMITIVE.
 *
 * The state of a unit is in its command, which struct g4_gen7_state keeps whole; what remains in memory is read through
 * pointers that count from the dynamic state base, tables of surfaces through those from the surface state base (IVB
 * PRM vol. 2 part 1).  No other file unpacks either.
 */
#include <string.h>

#include "draw/load.h"
#include "eu/eu.h"
#include "geometry/topology.h"
#include "state_gen7.h"

enum {
    URB_UNIT_ROWS = 2,        /* URB entries are allocated in units of 512 bits */
    SWIZZLED_ATTRIBUTES = 16, /* that a table of 3DSTATE_SBE is for */
    LARGEST_SCRATCH = 11,     /* 2 MB */
    GRF_REGISTERS = 128,
    TESSELLATED_OBJECTS = 64, /* of a patch, as a rough number: up to 8192 */

    SF_CLIP_VIEWPORT_DWORDS = 16,
    SCISSOR_DWORDS = 2,
    CC_VIEWPORT_DWORDS = 2,
    BLEND_DWORDS_OF_ONE = 2,
    BLEND_DWORDS = 16,
    DEPTH_STENCIL_DWORDS = 3,
    COLOR_CALC_DWORDS = 6,
};

static const struct g4_gen7_state *commands(const struct g4_context *ctx) {
    return &ctx->state->gen7;
}

/* Missing memory reads as 0 and is in the port's log. */
static void read_dynamic(const struct g4_draw_loader *loader, uint32_t offset, uint32_t *dw, uint32_t count) {
    (void)g4_mem_read(loader->port, commands(loader->ctx)->dynamic_state_base + offset, dw, count * sizeof *dw);
}

/* ---- vertices ---- */

static void load_primitive(const struct g4_context *ctx, const uint32_t *command, struct g4_draw_state *draw) {
    struct gen7_3dprimitive primitive;

    gen7_3dprimitive_unpack(command, ctx->gen, &primitive);
    draw->primitive = (struct g4_primitive){
        .topology = g4_topology_drawn(primitive.primitive_topology_type),
        .indexed = primitive.vertex_access_type == GEN7_VERTEX_ACCESS_TYPE_RANDOM,
        .vertex_count = primitive.vertex_count_per_instance,
        .start_vertex = primitive.start_vertex_location,
        .instance_count = primitive.instance_count,
        .start_instance = primitive.start_instance_location,
        .base_vertex = primitive.base_vertex_location,
    };
}

static void load_vertex_buffer(const struct g4_context *ctx, uint32_t index, struct g4_draw_state *draw) {
    struct gen7_vertex_buffer_state buffer;

    gen7_vertex_buffer_state_unpack(commands(ctx)->vertex_buffer[index], ctx->gen, &buffer);
    draw->vertex_buffer[index] = (struct g4_vertex_buffer){
        .address = buffer.buffer_starting_address,
        .pitch_bytes = buffer.buffer_pitch,
        .has_end = true,
        .end = buffer.end_address,
        .null = buffer.null_vertex_buffer,
        .per_instance = buffer.buffer_access_type == GEN7_BUFFER_ACCESS_TYPE_INSTANCEDATA,
        .step_rate = buffer.instance_data_step_rate,
    };
}

/* Valid elements in order, each of four dwords. */
static void load_vertex_elements(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(ctx);

    for (uint32_t i = 0; i < state->vertex_elements && i < G4_VERTEX_ELEMENTS; i++) {
        struct gen7_vertex_element_state element;
        gen7_vertex_element_state_unpack(state->vertex_element[i], ctx->gen, &element);
        if (!element.valid) {
            continue;
        }
        draw->vertex_element[draw->vertex_elements] = (struct g4_vertex_element){
            .buffer = element.vertex_buffer_index,
            .offset_bytes = element.source_element_offset,
            .format = element.source_element_format,
            .control = {element.component_0_control, element.component_1_control, element.component_2_control,
                        element.component_3_control},
            .destination = 4 * draw->vertex_elements,
            .edge_flag = element.edge_flag_enable,
        };
        draw->vertex_elements++;
    }
}

/* Haswell cuts at any index, which 3DSTATE_VF has; before, the largest one cuts. */
static void load_indices(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen7_3dstate_index_buffer index;
    struct gen7_3dstate_vf vf;

    gen7_3dstate_index_buffer_unpack(ctx->state->index_buffer, ctx->gen, &index);
    gen7_3dstate_vf_unpack(commands(ctx)->vf, ctx->gen, &vf);
    const uint32_t index_bytes = 1u << (index.index_format > 2 ? 2 : index.index_format);
    const bool any_cut = vf.indexed_draw_cut_index_enable;
    draw->index_buffer = (struct g4_index_buffer){
        .address = index.buffer_starting_address,
        .end = index.buffer_ending_address,
        .index_bytes = index_bytes,
        .cut_enable = index.cut_index_enable || any_cut,
        .cut_index = any_cut ? vf.cut_index : UINT32_MAX >> (32 - 8 * index_bytes),
    };
}

/* ---- stages that run threads ---- */

/* The members that the commands of all stages have. */
struct thread_state_gen7 {
    uint32_t kernel, scratch_base, scratch_size;
    uint32_t binding_table, samplers; /* offsets */
    uint32_t grf_start, max_threads;
    bool alternate_fp;
    bool illegal_opcode, mask_stack, software; /* exceptions */
};

#define THREAD_STATE(command)                                                                                          \
    .scratch_base = (command).scratch_space_base_pointer, .scratch_size = (command).per_thread_scratch_space,          \
    .max_threads = (command).maximum_number_of_threads, .alternate_fp = (command).floating_point_mode != 0,            \
    .illegal_opcode = (command).illegal_opcode_exception_enable, .software = (command).software_exception_enable

static void load_threads(const struct g4_context *ctx, int stage, enum g4_unit unit,
                         const struct thread_state_gen7 *block, struct g4_draw_state *draw) {
    const struct g4_state *const state = ctx->state;
    const struct g4_gen7_state *const gen7 = commands(ctx);
    const uint32_t scratch = block->scratch_size > LARGEST_SCRATCH ? LARGEST_SCRATCH : block->scratch_size;

    draw->dispatch[stage] = (struct g4_dispatch){
        .unit = unit,
        .kernel_address = gen7->instruction_base + block->kernel,
        .general_state_base = state->general_state_base,
        .dynamic_state_base = gen7->dynamic_state_base,
        .instruction_base = gen7->instruction_base,
        .surface_state_base = state->surface_state_base,
        .binding_table = state->surface_state_base + block->binding_table,
        .sampler_state = gen7->dynamic_state_base + block->samplers,
        .scratch_base = state->general_state_base + block->scratch_base,
        .scratch_bytes = 1024u << scratch,
        .scratch_size = (uint8_t)block->scratch_size,
        .grf_count = GRF_REGISTERS,
        .alternate_fp = block->alternate_fp,
        /* cr0.1 has mask stack at bit 11, illegal opcode at 12, software at 13 */
        .exceptions = (uint8_t)(block->mask_stack | block->illegal_opcode << 1 | block->software << 2),
    };
    draw->stage[stage].grf_start = block->grf_start;
    draw->stage[stage].max_threads = block->max_threads;
}

/* The rows of up to four buffers, one after the other.  All the stages' commands have the body of 3DSTATE_CONSTANT_VS.
 * Lengths count in rows; the first buffer may have an offset instead of an address (IVB PRM vol. 2 part 1, 1.8). */
static void load_constants(const struct g4_draw_loader *loader, int stage, const uint32_t *command,
                           struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    uint32_t(*const rows)[8] = loader->constants[stage];
    struct gen7_3dstate_constant_vs body;
    uint32_t total = 0;

    gen7_3dstate_constant_vs_unpack(command, loader->ctx->gen, &body);
    const uint32_t length[G4_CONSTANT_BUFFERS] = {
        body.constant_buffer_0_read_length, body.constant_buffer_1_read_length, body.constant_buffer_2_read_length,
        body.constant_buffer_3_read_length};
    const g4_address address[G4_CONSTANT_BUFFERS] = {
        body.pointer_to_constant_buffer_0 + (state->constants_absolute ? 0 : state->dynamic_state_base),
        body.pointer_to_constant_buffer_1, body.pointer_to_constant_buffer_2, body.pointer_to_constant_buffer_3};
    for (uint32_t i = 0; i < G4_CONSTANT_BUFFERS; i++) {
        const uint32_t left = G4_CONSTANT_ROWS - total;
        const uint32_t some = length[i] < left ? length[i] : left;
        if (some) {
            (void)g4_mem_read(loader->port, address[i], rows[total], some * sizeof *rows);
            total += some;
        }
        draw->stage[stage].constant_address[i] = address[i];
        draw->stage[stage].constant_buffer_rows[i] = some;
    }
    draw->stage[stage].constants = (const uint32_t(*)[8])rows;
    draw->stage[stage].constant_rows = total;
}

static enum g4_status load_kernel(const struct g4_draw_loader *loader, g4_address address,
                                  const struct g4_kernel **kernel, struct g4_fault *fault) {
    *kernel = g4_kernel_get(loader->kernels, loader->ctx, address, fault);
    return *kernel ? G4_OK : G4_FAULT;
}

/* The commands of a stage beside the one with its kernel.  All stages' have the bodies of the vertex shader's. */
struct stage_commands_gen7 {
    const uint32_t *constants, *urb, *binding_table, *samplers;
};

/* The part that all stages but pixel shaders load alike; `block` is of the stage, without its pointers. */
static enum g4_status load_stage(const struct g4_draw_loader *loader, int stage, enum g4_unit unit,
                                 struct thread_state_gen7 *block, const struct stage_commands_gen7 *other,
                                 struct g4_draw_state *draw, struct g4_fault *fault) {
    const uint32_t gen = loader->ctx->gen;
    struct gen7_3dstate_urb_vs urb;
    struct gen7_3dstate_binding_table_pointers_vs table;
    struct gen7_3dstate_sampler_state_pointers_vs samplers;

    gen7_3dstate_urb_vs_unpack(other->urb, gen, &urb);
    gen7_3dstate_binding_table_pointers_vs_unpack(other->binding_table, gen, &table);
    gen7_3dstate_sampler_state_pointers_vs_unpack(other->samplers, gen, &samplers);
    block->binding_table = table.pointer_to_vs_binding_table;
    block->samplers = samplers.pointer_to_vs_sampler_state;
    load_threads(loader->ctx, stage, unit, block, draw);
    load_constants(loader, stage, other->constants, draw);
    draw->stage[stage].entry_rows = URB_UNIT_ROWS * urb.vs_urb_entry_allocation_size;
    return load_kernel(loader, draw->dispatch[stage].kernel_address, &draw->kernel[stage], fault);
}

static enum g4_status load_vs(const struct g4_draw_loader *loader, struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    struct gen7_3dstate_vs vs;

    gen7_3dstate_vs_unpack(state->vs, loader->ctx->gen, &vs);
    draw->vs_enable = vs.enable;
    draw->vertex_cache = !vs.vertex_cache_disable;
    if (!vs.enable) {
        return G4_OK;
    }
    struct thread_state_gen7 block = {
        THREAD_STATE(vs),
        .kernel = vs.kernel_start_pointer,
        .grf_start = vs.dispatch_grf_start_register_for_urb_data,
    };
    const struct stage_commands_gen7 other = {state->constant_vs, state->urb_vs, state->binding_table_pointers_vs,
                                              state->sampler_state_pointers_vs};
    stage->input_offset = vs.vertex_urb_entry_read_offset;
    stage->input_rows = vs.vertex_urb_entry_read_length;
    stage->statistics = vs.statistics_enable;
    stage->single_vertices = vs.single_vertex_dispatch;
    return load_stage(loader, G4_STAGE_VS, G4_UNIT_VS, &block, &other, draw, fault);
}

/* ---- tessellation ---- */

static enum g4_status load_hs(const struct g4_draw_loader *loader, const struct gen7_3dstate_hs *hs,
                              struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_HS];
    struct thread_state_gen7 block = {
        THREAD_STATE(*hs),
        .kernel = hs->kernel_start_pointer,
        .grf_start = hs->dispatch_grf_start_register_for_urb_data,
    };
    const struct stage_commands_gen7 other = {state->constant_hs, state->urb_hs, state->binding_table_pointers_hs,
                                              state->sampler_state_pointers_hs};
    stage->input_offset = hs->vertex_urb_entry_read_offset;
    stage->input_rows = hs->vertex_urb_entry_read_length;
    stage->statistics = hs->statistics_enable;
    draw->tessellation.hull_instances = hs->instance_count;
    draw->tessellation.has_vertex_handles = hs->include_vertex_handles;
    return load_stage(loader, G4_STAGE_HS, G4_UNIT_HS, &block, &other, draw, fault);
}

static enum g4_status load_ds(const struct g4_draw_loader *loader, const struct gen7_3dstate_ds *ds,
                              struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_DS];
    struct thread_state_gen7 block = {
        THREAD_STATE(*ds),
        .kernel = ds->kernel_start_pointer,
        .grf_start = ds->dispatch_grf_start_register_for_urb_data,
    };
    const struct stage_commands_gen7 other = {state->constant_ds, state->urb_ds, state->binding_table_pointers_ds,
                                              state->sampler_state_pointers_ds};
    stage->input_offset = ds->patch_urb_entry_read_offset;
    stage->input_rows = ds->patch_urb_entry_read_length;
    stage->statistics = ds->statistics_enable;
    draw->tessellation.computes_w = ds->compute_w_coordinate_enable;
    draw->tessellation.single_points = ds->single_domain_point_dispatch;
    return load_stage(loader, G4_STAGE_DS, G4_UNIT_DS, &block, &other, draw, fault);
}

/* HS, TE and DS are all on or all off (IVB PRM vol. 2 part 1, "Hull Shader (HS) Stage"): any that is off turns the
 * others off. */
static enum g4_status load_tessellation(const struct g4_draw_loader *loader, struct g4_draw_state *draw,
                                        struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen7_state *const state = commands(ctx);
    struct gen7_3dstate_hs hs;
    struct gen7_3dstate_te te;
    struct gen7_3dstate_ds ds;

    gen7_3dstate_hs_unpack(state->hs, ctx->gen, &hs);
    gen7_3dstate_te_unpack(state->te, ctx->gen, &te);
    gen7_3dstate_ds_unpack(state->ds, ctx->gen, &ds);
    if (!hs.enable || !te.te_enable || !ds.enable || !g4_topology_patch_vertices(draw->primitive.topology)) {
        return G4_OK;
    }
    draw->tessellation.enable = true;
    draw->tessellation.tessellator = (struct g4_tessellator_state){
        .domain = (uint8_t)te.te_domain, /* the numbers of the enumerations */
        .partitioning = (uint8_t)te.partitioning,
        .output = (uint8_t)te.output_topology,
        .most_odd = te.maximum_tessellation_factor_odd,
        .most_even = te.maximum_tessellation_factor_not_odd,
    };
    draw->amplification = TESSELLATED_OBJECTS;
    const enum g4_status status = load_hs(loader, &hs, draw, fault);
    return status == G4_OK ? load_ds(loader, &ds, draw, fault) : status;
}

/* ---- geometry shader ---- */

static enum g4_status load_gs(const struct g4_draw_loader *loader, struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_GS];
    struct gen7_3dstate_gs gs;

    gen7_3dstate_gs_unpack(state->gs, loader->ctx->gen, &gs);
    draw->gs_enable = gs.enable;
    if (!gs.enable) {
        return G4_OK;
    }
    struct thread_state_gen7 block = {
        THREAD_STATE(gs),
        .kernel = gs.kernel_start_pointer,
        .grf_start = gs.dispatch_grf_start_register_for_urb_data,
        .mask_stack = gs.mask_stack_exception_enable,
    };
    const struct stage_commands_gen7 other = {state->constant_gs, state->urb_gs, state->binding_table_pointers_gs,
                                              state->sampler_state_pointers_gs};
    stage->input_offset = gs.vertex_urb_entry_read_offset;
    stage->input_rows = gs.vertex_urb_entry_read_length;
    stage->statistics = gs.statistics_enable;
    draw->gs = (struct g4_geometry_shader){
        .odd_triangles = gs.reorder_mode == GEN7_REORDER_MODE_LEADING ? G4_ODD_FIRST_FIRST : G4_ODD_LAST_LAST,
        .discard_adjacency = gs.discard_adjacency,
        .dispatch = gs.dispatch_mode == GEN7_DISPATCH_MODE_DUAL_OBJECT     ? G4_GS_DUAL_OBJECTS
                    : gs.dispatch_mode == GEN7_DISPATCH_MODE_DUAL_INSTANCE ? G4_GS_DUAL_INSTANCES
                                                                           : G4_GS_SINGLE,
        .instances = gs.instance_control,
        .has_primitive_ids = gs.include_primitive_id,
        .has_vertex_handles = gs.include_vertex_handles,
        .control_rows = gs.control_data_header_size,
        .control_is_streams = gs.control_data_format == GEN7_CONTROL_DATA_FORMAT_SID,
        .vertex_slots = gs.output_vertex_size,
        .output_topology = gs.output_topology,
        .default_stream = gs.default_streamid,
        .static_vertices = UINT32_MAX,
    };
    const enum g4_status status = load_stage(loader, G4_STAGE_GS, G4_UNIT_GS, &block, &other, draw, fault);
    draw->amplification += 1 + gs.instance_control * (2 * stage->entry_rows / gs.output_vertex_size) / 4;
    return status;
}

/* ---- stream output ---- */

static struct g4_stream_buffer stream_buffer(const struct gen7_3dstate_so_buffer *buffer, bool enable,
                                             uint32_t offset) {
    const uint64_t start = (uint64_t)buffer->surface_base_address + offset;
    const bool missing =
        !enable || buffer->surface_end_address <= buffer->surface_base_address || start > buffer->surface_end_address;
    return (struct g4_stream_buffer){
        .address = (uint32_t)start,
        .room = missing ? 0 : (uint32_t)(buffer->surface_end_address - start),
        .missing = missing,
        .pitch_bytes = buffer->surface_pitch,
    };
}

/* The declaration of a stream in an entry, which has one for each of them. */
static struct g4_stream_declaration declaration_of(const struct gen7_so_decl_entry *entry, uint32_t stream) {
    const struct g4_stream_declaration all[G4_STREAMS] = {
        {(uint8_t)entry->stream_0_output_buffer_slot, (uint8_t)entry->stream_0_register_index,
         (uint8_t)entry->stream_0_component_mask, entry->stream_0_hole_flag},
        {(uint8_t)entry->stream_1_output_buffer_slot, (uint8_t)entry->stream_1_register_index,
         (uint8_t)entry->stream_1_component_mask, entry->stream_1_hole_flag},
        {(uint8_t)entry->stream_2_output_buffer_slot, (uint8_t)entry->stream_2_register_index,
         (uint8_t)entry->stream_2_component_mask, entry->stream_2_hole_flag},
        {(uint8_t)entry->stream_3_output_buffer_slot, (uint8_t)entry->stream_3_register_index,
         (uint8_t)entry->stream_3_component_mask, entry->stream_3_hole_flag},
    };
    return all[stream];
}

static void load_streams(const struct g4_context *ctx, const struct gen7_3dstate_streamout *streamout,
                         struct g4_stream_output *output) {
    const struct g4_gen7_state *const state = commands(ctx);
    struct gen7_3dstate_so_decl_list list;

    gen7_3dstate_so_decl_list_unpack(state->so_decl_list, ctx->gen, &list);
    const uint32_t buffers[G4_STREAMS] = {list.stream_to_buffer_selects_0, list.stream_to_buffer_selects_1,
                                          list.stream_to_buffer_selects_2, list.stream_to_buffer_selects_3};
    const uint32_t entries[G4_STREAMS] = {list.num_entries_0, list.num_entries_1, list.num_entries_2,
                                          list.num_entries_3};
    const uint32_t offset[G4_STREAMS] = {streamout->stream_0_vertex_read_offset, streamout->stream_1_vertex_read_offset,
                                         streamout->stream_2_vertex_read_offset,
                                         streamout->stream_3_vertex_read_offset};
    for (uint32_t s = 0; s < G4_STREAMS; s++) {
        struct g4_vertex_stream *const stream = &output->stream[s];
        stream->buffers = buffers[s];
        stream->declarations = entries[s] < G4_STREAM_DECLARATIONS ? entries[s] : G4_STREAM_DECLARATIONS;
        for (uint32_t i = 0; i < stream->declarations; i++) {
            struct gen7_so_decl_entry entry;
            gen7_so_decl_entry_unpack(&state->so_decl_list[3 + 2 * i], ctx->gen, &entry);
            stream->declaration[i] = declaration_of(&entry, s);
            stream->declaration[i].slot += (uint8_t)(2 * offset[s]);
        }
    }
}

/* IVB PRM vol. 2 part 1, "Stream Output Logic Stage". */
static void load_stream_output(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(ctx);
    struct g4_stream_output *const output = &draw->stream_output;
    struct gen7_3dstate_streamout streamout;

    gen7_3dstate_streamout_unpack(state->streamout, ctx->gen, &streamout);
    output->drops_objects = streamout.rendering_disable;
    if (!streamout.so_function_enable) {
        return;
    }
    output->enable = true;
    output->statistics = streamout.so_statistics_enable;
    output->leading = streamout.reorder_mode == GEN7_REORDER_MODE_LEADING;
    output->rendered_stream = streamout.render_stream_select;
    output->in_order = draw->gs_enable || draw->tessellation.enable;
    load_streams(ctx, &streamout, output);
    const bool enable[G4_STREAM_BUFFERS] = {streamout.so_buffer_enable_0, streamout.so_buffer_enable_1,
                                            streamout.so_buffer_enable_2, streamout.so_buffer_enable_3};
    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        struct gen7_3dstate_so_buffer buffer;
        gen7_3dstate_so_buffer_unpack(state->so_buffer[b], ctx->gen, &buffer);
        output->buffer[b] = stream_buffer(&buffer, enable[b], state->so_write_offset[b]);
    }
    if (!output->in_order) {
        g4_load_stream_capacity(draw);
    }
}

/* ---- clipper and setup ---- */

static void load_clip(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen7_3dstate_clip clip;

    gen7_3dstate_clip_unpack(commands(ctx)->clip, ctx->gen, &clip);
    draw->clip_enable = clip.clip_enable;
    draw->stage[G4_STAGE_CLIP].statistics = clip.statistics_enable;
    draw->clip = (struct g4_clip){
        .mode = clip.clip_mode, /* the numbers of enum g4_clip_mode */
        .test_xy = clip.viewport_xy_clip_test_enable,
        .test_z = clip.viewport_z_clip_test_enable,
        .test_guardband = clip.guardband_clip_test_enable,
        .x_min = -1.0f,
        .x_max = 1.0f,
        .y_min = -1.0f,
        .y_max = 1.0f,
        .z_min = clip.api_mode == GEN7_API_MODE_D3D ? 0.0f : -1.0f,
        .clip_distances = (uint8_t)clip.user_clip_distance_clip_test_enable_bitmask,
        .cull_distances = (uint8_t)clip.user_clip_distance_cull_test_enable_bitmask,
        .divided = clip.perspective_divide_disable,
        .linear_barycentrics = clip.non_perspective_barycentric_enable,
        .max_viewport = clip.maximum_vp_index,
        .zero_array_index = clip.force_zero_rta_index_enable,
        .point_width_min = (float)clip.minimum_point_width_u8_3 / 8.0f,
        .point_width_max = (float)clip.maximum_point_width_u8_3 / 8.0f,
    };
}

static void load_viewports(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen7_state *const state = commands(ctx);
    const uint32_t count = draw->clip.max_viewport + 1;
    uint32_t raw[G4_VIEWPORTS][SF_CLIP_VIEWPORT_DWORDS];
    struct gen7_3dstate_viewport_state_pointers_sf_clip pointer;

    if (!draw->setup.viewport_transform && !draw->clip.test_guardband) {
        return;
    }
    gen7_3dstate_viewport_state_pointers_sf_clip_unpack(state->viewport_state_pointers_sf_clip, ctx->gen, &pointer);
    read_dynamic(loader, pointer.sf_clip_viewport_pointer, raw[0], count * SF_CLIP_VIEWPORT_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen7_sf_clip_viewport viewport;
        gen7_sf_clip_viewport_unpack(raw[i], ctx->gen, &viewport);
        draw->viewport[i] = (struct g4_viewport){
            .m00 = viewport.viewport_matrix_element_m00,
            .m11 = viewport.viewport_matrix_element_m11,
            .m22 = viewport.viewport_matrix_element_m22,
            .m30 = viewport.viewport_matrix_element_m30,
            .m31 = viewport.viewport_matrix_element_m31,
            .m32 = viewport.viewport_matrix_element_m32,
        };
        draw->clip.guardband[i] = (struct g4_guardband){viewport.x_min_clip_guardband, viewport.x_max_clip_guardband,
                                                        viewport.y_min_clip_guardband, viewport.y_max_clip_guardband};
    }
}

static void load_scissors(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const uint32_t count = draw->clip.max_viewport + 1;
    uint32_t raw[G4_VIEWPORTS][SCISSOR_DWORDS];
    struct gen7_3dstate_scissor_state_pointers pointer;

    if (!draw->setup.scissor) {
        return;
    }
    gen7_3dstate_scissor_state_pointers_unpack(commands(ctx)->scissor_state_pointers, ctx->gen, &pointer);
    read_dynamic(loader, pointer.scissor_rect_pointer, raw[0], count * SCISSOR_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen7_scissor_rect scissor;
        gen7_scissor_rect_unpack(raw[i], ctx->gen, &scissor);
        draw->viewport[i].scissor_x_min = (int32_t)scissor.scissor_rectangle_x_min;
        draw->viewport[i].scissor_y_min = (int32_t)scissor.scissor_rectangle_y_min;
        draw->viewport[i].scissor_x_max = (int32_t)scissor.scissor_rectangle_x_max;
        draw->viewport[i].scissor_y_max = (int32_t)scissor.scissor_rectangle_y_max;
    }
}

static void load_setup(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_setup_state *const setup = &draw->setup;
    struct gen7_3dstate_sf sf;

    gen7_3dstate_sf_unpack(commands(ctx)->sf, ctx->gen, &sf);
    draw->stage[G4_STAGE_SF].statistics = sf.statistics_enable;
    setup->wide_range = true;
    setup->line_rectangles = sf.multisample_rasterization_mode == GEN7_MULTISAMPLE_RASTERIZATION_MODE_ON_PIXEL ||
                             sf.multisample_rasterization_mode == GEN7_MULTISAMPLE_RASTERIZATION_MODE_ON_PATTERN;
    setup->viewport_transform = sf.viewport_transform_enable;
    setup->scissor = sf.scissor_rectangle_enable;
    setup->coarse_positions = sf.vertex_sub_pixel_precision_select == GEN7_SUB_PIXEL_PRECISION_FOUR_BITS;
    setup->front_winding = sf.front_winding;
    setup->cull_mode = sf.cull_mode;
    setup->front_fill = (uint8_t)sf.frontface_fill_mode; /* the numbers of enum g4_fill_mode */
    setup->back_fill = (uint8_t)sf.backface_fill_mode;
    setup->point_width_from_vertex = sf.point_width_source == GEN7_POINT_WIDTH_SOURCE_VERTEX;
    setup->point_width_u8_3 = sf.point_width_u8_3;
    setup->line_width = (float)sf.line_width_u3_7 / 128.0f;
    setup->line_cap_region = g4_line_region(sf.line_end_cap_antialiasing_region_width);
    setup->line_antialiasing = sf.antialiasing_enable;
    setup->line_last_pixel = sf.last_pixel_enable;
    setup->provoking_line = (uint8_t)sf.line_strip_list_provoking_vertex_select;
    setup->provoking_triangle = (uint8_t)sf.triangle_strip_list_provoking_vertex_select;
    setup->provoking_fan = (uint8_t)sf.triangle_fan_provoking_vertex_select;
    draw->line_antialiasing.true_distance = sf.aa_line_distance_mode == GEN7_AA_LINE_DISTANCE_TRUE;
    draw->depth_bias = (struct g4_depth_bias){
        .enable = sf.global_depth_offset_enable_solid,
        .lines = sf.global_depth_offset_enable_wireframe,
        .points = sf.global_depth_offset_enable_point,
        .format = sf.depth_buffer_surface_format,
        .legacy_unit = sf.legacy_global_depth_bias_enable,
        .constant = sf.global_depth_offset_constant,
        .scale = sf.global_depth_offset_scale,
        .clamp = sf.global_depth_offset_clamp,
    };
}

/* ---- attributes ---- */

static void override_source(struct g4_attribute *attribute, bool x, bool y, bool z, bool w, uint32_t constant,
                            uint32_t select, uint32_t source) {
    attribute->source = (uint8_t)source;
    attribute->replaced = (uint8_t)(x | y << 1 | z << 2 | w << 3);
    attribute->constant = (uint8_t)constant; /* the numbers of enum g4_attribute_constant */
    attribute->facing =
        select == GEN7_SWIZZLE_SELECT_INPUTATTR_FACING || select == GEN7_SWIZZLE_SELECT_INPUTATTR_FACING_W;
}

static void load_attributes(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_attribute_setup *const setup = &draw->attributes;
    const uint32_t *const dw = commands(ctx)->sbe;
    struct gen7_3dstate_sbe sbe;

    gen7_3dstate_sbe_unpack(dw, ctx->gen, &sbe);
    setup->count =
        sbe.number_of_sf_output_attributes < G4_ATTRIBUTES ? sbe.number_of_sf_output_attributes : G4_ATTRIBUTES;
    setup->read_offset = sbe.vertex_urb_entry_read_offset;
    setup->read_length = sbe.vertex_urb_entry_read_length;
    setup->sprite_origin_lower_left = sbe.point_sprite_texture_coordinate_origin == GEN7_POINT_SPRITE_ORIGIN_LOWERLEFT;
    for (uint32_t i = 0; i < setup->count; i++) {
        setup->attribute[i] = (struct g4_attribute){
            .source = (uint8_t)i,
            .flat = sbe.constant_interpolation_enable >> i & 1,
            .sprite_coordinate = sbe.point_sprite_texture_coordinate_enable >> i & 1,
        };
    }
    if (!sbe.attribute_swizzle_enable) {
        return;
    }
    const uint32_t base =
        sbe.attribute_swizzle_control_mode == GEN7_ATTRIBUTE_SWIZZLE_CONTROL_MODE_SWIZ_16_31 ? SWIZZLED_ATTRIBUTES : 0;
    for (uint32_t i = 0; i < SWIZZLED_ATTRIBUTES / 2 && base + 2 * i < setup->count; i++) {
        struct gen7_sf_output_attribute_detail d;
        struct g4_attribute *const pair = &setup->attribute[base + 2 * i];
        gen7_sf_output_attribute_detail_unpack(gen7_3dstate_sbe_attributes(dw, i), ctx->gen, &d);
        override_source(&pair[0], d.even_component_override_x, d.even_component_override_y, d.even_component_override_z,
                        d.even_component_override_w, d.even_constant_source, d.even_swizzle_select,
                        d.even_source_attribute);
        override_source(&pair[1], d.odd_component_override_x, d.odd_component_override_y, d.odd_component_override_z,
                        d.odd_component_override_w, d.odd_constant_source, d.odd_swizzle_select,
                        d.odd_source_attribute);
    }
}

/* ---- rasterization ---- */

static void load_drawing_rectangle(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen7_3dstate_drawing_rectangle rectangle;

    gen7_3dstate_drawing_rectangle_unpack(ctx->state->drawing_rectangle, ctx->gen, &rectangle);
    draw->drawing_rectangle = (struct g4_drawing_rectangle){
        .x_min = (int32_t)rectangle.clipped_drawing_rectangle_x_min,
        .y_min = (int32_t)rectangle.clipped_drawing_rectangle_y_min,
        .x_max = (int32_t)rectangle.clipped_drawing_rectangle_x_max,
        .y_max = (int32_t)rectangle.clipped_drawing_rectangle_y_max,
        .origin_x = rectangle.drawing_rectangle_origin_x,
        .origin_y = rectangle.drawing_rectangle_origin_y,
    };
}

static void load_lines(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct g4_line_antialiasing *const line = &draw->line_antialiasing;
    struct gen7_3dstate_aa_line_parameters aa;
    struct gen7_3dstate_line_stipple stipple;

    gen7_3dstate_aa_line_parameters_unpack(ctx->state->aa_line, ctx->gen, &aa);
    line->has_slope = aa.aa_coverage_slope_u0_8 != 0;
    line->slope = (float)aa.aa_coverage_slope_u0_8 / 256.0f;
    line->bias = (float)aa.aa_coverage_bias_u0_8 / 256.0f;
    line->cap_slope = (float)aa.aa_coverage_endcap_slope_u0_8 / 256.0f;
    line->cap_bias = (float)aa.aa_coverage_endcap_bias_u0_8 / 256.0f;
    line->scale = 255.0f;

    gen7_3dstate_line_stipple_unpack(ctx->state->line_stipple, ctx->gen, &stipple);
    draw->line_stipple = (struct g4_line_stipple){
        .pattern = stipple.line_stipple_pattern,
        .repeat = stipple.line_stipple_repeat_count ? stipple.line_stipple_repeat_count : 1,
    };
}

static void load_polygon_stipple(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen7_3dstate_poly_stipple_offset offset;

    gen7_3dstate_poly_stipple_offset_unpack(ctx->state->poly_stipple_offset, ctx->gen, &offset);
    g4_load_stipple(ctx->state->poly_stipple + 1, /* past the header */
                    offset.polygon_stipple_x_offset, offset.polygon_stipple_y_offset, draw->polygon_stipple);
}

/* Rasterization uses the places of samples, or the pixel location, which also stands for the pixel in other units. */
static void load_multisampling(const struct g4_context *ctx, uint32_t rasterization, struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(ctx);
    struct gen7_3dstate_multisample multi;
    struct gen7_3dstate_sample_mask mask;

    gen7_3dstate_multisample_unpack(state->multisample, ctx->gen, &multi);
    gen7_3dstate_sample_mask_unpack(state->sample_mask, ctx->gen, &mask);
    draw->multisampling = (struct g4_multisampling){
        .samples = g4_samples_of(multi.number_of_multisamples, GEN7_NUMBER_OF_MULTISAMPLES_NUMSAMPLES_8),
        .mask = state->sample_mask[0] ? mask.sample_mask : UINT32_MAX, /* decision 230 */
        .pattern = rasterization == GEN7_MULTISAMPLE_RASTERIZATION_MODE_OFF_PATTERN ||
                   rasterization == GEN7_MULTISAMPLE_RASTERIZATION_MODE_ON_PATTERN,
        .upper_left = multi.pixel_location == GEN7_PIXEL_LOCATION_UL_CORNER,
        .x = {(uint8_t)multi.sample0_x_offset_u0_4, (uint8_t)multi.sample1_x_offset_u0_4,
              (uint8_t)multi.sample2_x_offset_u0_4, (uint8_t)multi.sample3_x_offset_u0_4,
              (uint8_t)multi.sample4_x_offset_u0_4, (uint8_t)multi.sample5_x_offset_u0_4,
              (uint8_t)multi.sample6_x_offset_u0_4, (uint8_t)multi.sample7_x_offset_u0_4},
        .y = {(uint8_t)multi.sample0_y_offset_u0_4, (uint8_t)multi.sample1_y_offset_u0_4,
              (uint8_t)multi.sample2_y_offset_u0_4, (uint8_t)multi.sample3_y_offset_u0_4,
              (uint8_t)multi.sample4_y_offset_u0_4, (uint8_t)multi.sample5_y_offset_u0_4,
              (uint8_t)multi.sample6_y_offset_u0_4, (uint8_t)multi.sample7_y_offset_u0_4},
    };
    draw->setup.bias_x = draw->setup.bias_y = draw->multisampling.upper_left ? 0.0f : 0.5f;
}

/* ---- pixels ---- */

static uint8_t place_of_zw(uint32_t mode) {
    return mode == GEN7_POSITION_ZW_INTERPOLATION_MODE_CENTROID ? G4_PLACE_CENTROID
           : mode == GEN7_POSITION_ZW_INTERPOLATION_MODE_SAMPLE ? G4_PLACE_SAMPLE
                                                                : G4_PLACE_PIXEL;
}

static uint8_t place_of_offset(uint32_t select) {
    return select == GEN7_POSITION_XY_OFFSET_SELECT_CENTROID ? G4_PLACE_CENTROID
           : select == GEN7_POSITION_XY_OFFSET_SELECT_SAMPLE ? G4_PLACE_SAMPLE
                                                             : G4_PLACE_NONE;
}

static uint8_t early_tests(uint32_t control) {
    return control == GEN7_EARLY_DEPTH_STENCIL_CONTROL_PSEXEC  ? G4_TESTS_AFTER_SHADER
           : control == GEN7_EARLY_DEPTH_STENCIL_CONTROL_PREPS ? G4_TESTS_BEFORE_SHADER
                                                               : G4_TESTS_WHEN_POSSIBLE;
}

static void load_windower(const struct g4_context *ctx, const struct gen7_3dstate_wm *wm,
                          const struct gen7_3dstate_ps *ps, struct g4_draw_state *draw) {
    draw->stage[G4_STAGE_WM].statistics = wm->statistics_enable;
    draw->windower = (struct g4_windower_state){
        .thread_dispatch = wm->thread_dispatch_enable,
        .kernels_by_width = true,
        .dispatch_8 = ps->dispatch_8_pixel_enable,
        .dispatch_16 = ps->dispatch_16_pixel_enable,
        .dispatch_32 = ps->dispatch_32_pixel_enable,
        .kills_pixels = wm->pixel_shader_kills_pixel,
        .computes_depth = wm->pixel_shader_computed_depth_mode != GEN7_COMPUTED_DEPTH_MODE_OFF,
        .uses_source_depth = wm->pixel_shader_uses_source_depth,
        .polygon_stipple = wm->polygon_stipple_enable,
        .line_stipple = wm->line_stipple_enable,
        .barycentrics = (uint8_t)wm->barycentric_interpolation_mode,
        .uses_source_w = wm->pixel_shader_uses_source_w,
        .uses_coverage = wm->pixel_shader_uses_input_coverage_mask,
        .has_attributes = ps->attribute_enable,
        .has_constants = ps->push_constant_enable,
        .position_offset = place_of_offset(ps->position_xy_offset_select),
        .position_zw = place_of_zw(wm->position_zw_interpolation_mode),
        .computed_depth = (uint8_t)wm->pixel_shader_computed_depth_mode, /* the numbers of enum g4_computed_depth */
        .early_tests = early_tests(wm->early_depth_stencil_control),
        .writes_sample_mask = ps->omask_present_to_rendertarget,
        .dual_source = ps->dual_source_blend_enable,
        .dispatches_samples = wm->multisample_dispatch_mode == GEN7_MULTISAMPLE_DISPATCH_MODE_PERSAMPLE &&
                              draw->multisampling.samples > 1,
        .fast_clear = ps->render_target_fast_clear_enable,
        .resolve = ps->render_target_resolve_enable,
    };
    draw->line_antialiasing.region = g4_line_region(wm->line_antialiasing_region_width);
    draw->line_antialiasing.cap_region = g4_line_region(wm->line_end_cap_antialiasing_region_width);
    draw->setup.legacy_diamonds = wm->legacy_diamond_line_rasterization;
    draw->setup.point_rule = wm->point_rasterization_rule;
    if (wm->polygon_stipple_enable) {
        load_polygon_stipple(ctx, draw);
    }
}

/* Which of the three kernel pointers is for 8, 16 and 32 pixels (IVB PRM vol. 2 part 1, 3DSTATE_PS, Kernel Start
 * Pointers): the first is for 8, or for the only width; the second for 32 and the third for 16 beside others. */
static enum g4_status load_pixel_kernels(const struct g4_draw_loader *loader, const struct gen7_3dstate_ps *ps,
                                         struct g4_draw_state *draw, struct g4_fault *fault) {
    const bool enable[3] = {ps->dispatch_8_pixel_enable, ps->dispatch_16_pixel_enable, ps->dispatch_32_pixel_enable};
    const bool alone = enable[0] + enable[1] + enable[2] == 1;
    const uint32_t pointer[3] = {ps->kernel_start_pointer_0, ps->kernel_start_pointer_1, ps->kernel_start_pointer_2};
    const uint32_t grf[3] = {ps->dispatch_grf_start_register_for_constant_setup_data_0,
                             ps->dispatch_grf_start_register_for_constant_setup_data_1,
                             ps->dispatch_grf_start_register_for_constant_setup_data_2};
    const uint32_t number[3] = {0, alone ? 0 : 2, alone ? 0 : 1};

    for (uint32_t width = 0; width < 3; width++) {
        if (!enable[width]) {
            continue;
        }
        struct g4_dispatch *const dispatch = &draw->wm_dispatch[width];
        *dispatch = draw->dispatch[G4_STAGE_WM];
        dispatch->kernel_address = dispatch->instruction_base + pointer[number[width]];
        draw->windower.grf_start[width] = (uint8_t)grf[number[width]];
        const enum g4_status status = load_kernel(loader, dispatch->kernel_address, &draw->wm_kernel[width], fault);
        if (status != G4_OK) {
            return status;
        }
    }
    return G4_OK;
}

static enum g4_status load_pixel_shader(const struct g4_draw_loader *loader, const struct gen7_3dstate_ps *ps,
                                        struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen7_state *const state = commands(ctx);
    struct gen7_3dstate_binding_table_pointers_ps table;
    struct gen7_3dstate_sampler_state_pointers_ps samplers;

    gen7_3dstate_binding_table_pointers_ps_unpack(state->binding_table_pointers_ps, ctx->gen, &table);
    gen7_3dstate_sampler_state_pointers_ps_unpack(state->sampler_state_pointers_ps, ctx->gen, &samplers);
    const struct thread_state_gen7 block = {
        THREAD_STATE(*ps),
        .mask_stack = ps->mask_stack_exception_enable,
        .kernel = ps->kernel_start_pointer_0,
        .binding_table = table.pointer_to_ps_binding_table,
        .samplers = samplers.pointer_to_ps_sampler_state,
        .grf_start = ps->dispatch_grf_start_register_for_constant_setup_data_0,
    };
    load_threads(ctx, G4_STAGE_WM, G4_UNIT_WM, &block, draw);
    draw->dispatch[G4_STAGE_WM].single_program_flow = ps->single_program_flow;
    draw->dispatch[G4_STAGE_WM].rounding_mode = (uint8_t)ps->rounding_mode;
    draw->dispatch[G4_STAGE_WM].retains_denormals = ps->denormal_mode == GEN7_DENORMAL_MODE_RET;
    if (!draw->windower.thread_dispatch) {
        return G4_OK;
    }
    if (ps->push_constant_enable) {
        load_constants(loader, G4_STAGE_WM, state->constant_ps, draw);
    }
    return load_pixel_kernels(loader, ps, draw, fault);
}

/* ---- depth and stencil ---- */

static void load_depth_buffers(const struct g4_context *ctx, const struct gen7_3dstate_wm *wm,
                               struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(ctx);
    const struct g4_quirks *const quirks = &ctx->model->quirks;
    struct gen7_3dstate_depth_buffer depth;
    struct gen7_3dstate_stencil_buffer stencil;
    struct gen7_3dstate_hier_depth_buffer hierarchical;
    struct gen7_3dstate_clear_params clear;

    gen7_3dstate_depth_buffer_unpack(state->depth_buffer, ctx->gen, &depth);
    gen7_3dstate_stencil_buffer_unpack(state->stencil_buffer, ctx->gen, &stencil);
    gen7_3dstate_hier_depth_buffer_unpack(state->hier_depth_buffer, ctx->gen, &hierarchical);
    gen7_3dstate_clear_params_unpack(state->clear_params, ctx->gen, &clear);
    draw->depth_buffer = (struct g4_depth_buffer){
        /* all zero: as after reset, when the command has not been executed */
        .present = (state->depth_buffer[1] | depth.surface_base_address) &&
                   depth.surface_type <= GEN7_DEPTH_SURFACE_TYPE_SURFTYPE_CUBE,
        .tiled = true,
        .type = depth.surface_type,
        .format = depth.surface_format, /* numbers of enum g4_depth_format */
        .address = depth.surface_base_address,
        .pitch_bytes = depth.surface_pitch,
        .width = depth.width,
        .height = depth.height,
        .depth = depth.depth,
        .level = depth.lod,
        .minimum_array_element = depth.minimum_array_element,
        .offset_x = (uint32_t)depth.depth_coordinate_offset_x,
        .offset_y = (uint32_t)depth.depth_coordinate_offset_y,
        .view_extent = depth.render_target_view_extent,
        .report_value = state->depth_buffer[1],
    };
    /* Before Haswell a stencil buffer cannot be disabled: drivers write address 0 (docs/decisions.md 86). */
    draw->stencil_buffer = (struct g4_stencil_buffer){
        .present =
            stencil.stencil_buffer_enable || (!quirks->stencil_buffer_has_enable && stencil.surface_base_address),
        .address = stencil.surface_base_address,
        .pitch_bytes = stencil.surface_pitch,
    };
    draw->hierarchical_depth = (struct g4_hierarchical_depth){
        .present = depth.hierarchical_depth_buffer_enable,
        .address = hierarchical.surface_base_address,
        .pitch_bytes = hierarchical.surface_pitch,
        .clear = wm->depth_buffer_clear,
        .resolve = wm->depth_buffer_resolve_enable,
        .ambiguate = wm->hierarchical_depth_buffer_resolve_enable,
        .clear_bits = clear.depth_clear_value,
    };
    draw->depth_stencil.depth_write &= depth.depth_write_enable;
    draw->depth_stencil.stencil_write &= depth.stencil_write_enable;
    draw->depth_stencil.stencil_test &= !wm->depth_buffer_clear;
}

static void load_depth_stencil(const struct g4_draw_loader *loader, const struct gen7_color_calc_state *cc,
                               struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[DEPTH_STENCIL_DWORDS];
    struct gen7_3dstate_depth_stencil_state_pointers pointer;
    struct gen7_depth_stencil_state ds;

    gen7_3dstate_depth_stencil_state_pointers_unpack(commands(ctx)->depth_stencil_state_pointers, ctx->gen, &pointer);
    read_dynamic(loader, pointer.pointer_to_depth_stencil_state, raw, DEPTH_STENCIL_DWORDS);
    gen7_depth_stencil_state_unpack(raw, ctx->gen, &ds);
    draw->depth_stencil = (struct g4_depth_stencil){
        .depth_test = ds.depth_test_enable,
        .depth_write = ds.depth_buffer_write_enable,
        .stencil_test = ds.stencil_test_enable,
        .stencil_write = ds.stencil_buffer_write_enable,
        .double_sided = ds.double_sided_stencil_enable,
        .depth_function = (uint8_t)ds.depth_test_function,
    };
    draw->depth_stencil.stencil[0] = (struct g4_stencil_set){
        .function = (uint8_t)ds.stencil_test_function,
        .fail = (uint8_t)ds.stencil_fail_op,
        .zfail = (uint8_t)ds.stencil_pass_depth_fail_op,
        .zpass = (uint8_t)ds.stencil_pass_depth_pass_op,
        .reference = (uint8_t)cc->stencil_reference_value,
        .test_mask = (uint8_t)ds.stencil_test_mask,
        .write_mask = (uint8_t)ds.stencil_write_mask,
    };
    draw->depth_stencil.stencil[1] = (struct g4_stencil_set){
        .function = (uint8_t)ds.backface_stencil_test_function,
        .fail = (uint8_t)ds.backface_stencil_fail_op,
        .zfail = (uint8_t)ds.backface_stencil_pass_depth_fail_op,
        .zpass = (uint8_t)ds.backface_stencil_pass_depth_pass_op,
        .reference = (uint8_t)cc->backface_stencil_reference_value,
        .test_mask = (uint8_t)ds.backface_stencil_test_mask,
        .write_mask = (uint8_t)ds.backface_stencil_write_mask,
    };
}

/* ---- color ---- */

/* Without independent alpha blending, alpha has the functions and factors of color. */
static struct g4_blend_state blend_of(const struct gen7_blend_state_entry *entry,
                                      const struct gen7_blend_state_entry *first,
                                      const struct gen7_color_calc_state *cc) {
    const bool independent = entry->independent_alpha_blend_enable;
    return (struct g4_blend_state){
        .enable = entry->color_buffer_blend_enable,
        .function = {entry->color_blend_function,
                     independent ? entry->alpha_blend_function : entry->color_blend_function},
        .source = {entry->source_blend_factor,
                   independent ? entry->source_alpha_blend_factor : entry->source_blend_factor},
        .destination = {entry->destination_blend_factor,
                        independent ? entry->destination_alpha_blend_factor : entry->destination_blend_factor},
        .constant = {cc->blend_constant_color_red, cc->blend_constant_color_green, cc->blend_constant_color_blue,
                     cc->blend_constant_color_alpha},
        .logic_op = entry->logic_op_enable,
        .logic_function = entry->logic_op_function,
        .dither = first->color_dither_enable,
        .dither_x = first->x_dither_offset,
        .dither_y = first->y_dither_offset,
        .clamp_range = entry->color_clamp_range,
        .pre_clamp = entry->pre_blend_color_clamp_enable,
        .post_clamp = entry->post_blend_color_clamp_enable,
        .write_disable = (uint8_t)(entry->write_disable_red | entry->write_disable_green << 1 |
                                   entry->write_disable_blue << 2 | entry->write_disable_alpha << 3),
    };
}

/* Alpha test, alpha to coverage, alpha to one and dither are those of the first entry (IVB PRM vol. 2 part 1,
 * BLEND_STATE). */
static void load_blend(const struct g4_draw_loader *loader, const struct gen7_color_calc_state *cc,
                       struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const bool unorm8 = cc->alpha_test_format == GEN7_ALPHA_TEST_FORMAT_UNORM8;
    struct g4_color_state *const color = &draw->color;
    uint32_t raw[BLEND_DWORDS];
    struct gen7_3dstate_blend_state_pointers pointer;
    struct gen7_blend_state_entry first;
    struct gen7_blend_state_entry entry;

    gen7_3dstate_blend_state_pointers_unpack(commands(ctx)->blend_state_pointers, ctx->gen, &pointer);
    g4_load_blend_state(loader->port, commands(ctx)->dynamic_state_base + pointer.blend_state_pointer, raw,
                        BLEND_DWORDS_OF_ONE, BLEND_DWORDS);
    gen7_blend_state_entry_unpack(raw, ctx->gen, &first);
    color->target[0] = blend_of(&first, &first, cc);
    for (uint32_t i = 1; i < G4_COLOR_TARGETS; i++) {
        const uint32_t *const dw = &raw[i * BLEND_DWORDS_OF_ONE];
        if (memcmp(dw, dw - BLEND_DWORDS_OF_ONE, BLEND_DWORDS_OF_ONE * sizeof *dw) == 0) {
            color->target[i] = color->target[i - 1]; /* usually, because few targets are in use */
            continue;
        }
        gen7_blend_state_entry_unpack(dw, ctx->gen, &entry);
        color->target[i] = blend_of(&entry, &first, cc);
    }
    color->blend = color->target[0];
    color->alpha_to_coverage = first.alphatocoverage_enable;
    color->alpha_to_coverage_dither = first.alphatocoverage_dither_enable;
    color->alpha_to_one = first.alphatoone_enable;
    color->alpha_test = (struct g4_alpha_test){
        .enable = first.alpha_test_enable,
        .unorm8 = unorm8,
        .function = first.alpha_test_function,
        .reference = unorm8 ? (float)cc->alpha_reference_value_as_unorm8 : cc->alpha_reference_value_as_float32,
    };
}

static void load_depth_ranges(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const uint32_t count = draw->clip.max_viewport + 1;
    uint32_t raw[G4_VIEWPORTS][CC_VIEWPORT_DWORDS];
    struct gen7_3dstate_viewport_state_pointers_cc pointer;

    gen7_3dstate_viewport_state_pointers_cc_unpack(commands(ctx)->viewport_state_pointers_cc, ctx->gen, &pointer);
    read_dynamic(loader, pointer.cc_viewport_pointer, raw[0], count * CC_VIEWPORT_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen7_cc_viewport range;
        gen7_cc_viewport_unpack(raw[i], ctx->gen, &range);
        draw->color.depth_range[i] = (struct g4_depth_range){range.minimum_depth, range.maximum_depth};
    }
}

static void load_color(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[COLOR_CALC_DWORDS];
    struct gen7_3dstate_cc_state_pointers pointer;
    struct gen7_color_calc_state cc;

    gen7_3dstate_cc_state_pointers_unpack(commands(ctx)->cc_state_pointers, ctx->gen, &pointer);
    read_dynamic(loader, pointer.color_calc_state_pointer, raw, COLOR_CALC_DWORDS);
    gen7_color_calc_state_unpack(raw, ctx->gen, &cc);
    draw->color_address = commands(ctx)->dynamic_state_base + pointer.color_calc_state_pointer;
    load_blend(loader, &cc, draw);
    load_depth_ranges(loader, draw);
    load_depth_stencil(loader, &cc, draw);
}

/* ---- all of it ---- */

enum g4_status g4_load_draw_gen7(const struct g4_draw_loader *loader, const uint32_t *primitive,
                                 struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    struct gen7_3dstate_wm wm;
    struct gen7_3dstate_ps ps;

    memset(draw, 0, sizeof *draw);
    gen7_3dstate_wm_unpack(commands(ctx)->wm, ctx->gen, &wm);
    gen7_3dstate_ps_unpack(commands(ctx)->ps, ctx->gen, &ps);
    load_primitive(ctx, primitive, draw);
    load_vertex_elements(ctx, draw);
    g4_load_vertex_buffers(ctx, draw, load_vertex_buffer);
    load_indices(ctx, draw);
    draw->vertex_statistics = ctx->state->vf_statistics != 0;
    enum g4_status status = load_vs(loader, draw, fault);
    if (status == G4_OK) {
        status = load_tessellation(loader, draw, fault);
    }
    if (status == G4_OK) {
        status = load_gs(loader, draw, fault);
    }
    if (status != G4_OK) {
        return status;
    }
    load_stream_output(ctx, draw);
    load_clip(ctx, draw);
    load_setup(ctx, draw);
    load_viewports(loader, draw);
    load_scissors(loader, draw);
    load_attributes(ctx, draw);
    load_drawing_rectangle(ctx, draw);
    load_lines(ctx, draw);
    load_multisampling(ctx, wm.multisample_rasterization_mode, draw);
    load_windower(ctx, &wm, &ps, draw);
    load_color(loader, draw);
    load_depth_buffers(ctx, &wm, draw);
    draw->color.statistics = wm.statistics_enable;
    return load_pixel_shader(loader, &ps, draw, fault);
}

void g4_load_inputs_gen7(const struct g4_draw_loader *loader, const uint32_t *primitive, struct g4_draw_state *draw) {
    const struct g4_gen7_state *const state = commands(loader->ctx);
    const uint32_t *const constants[G4_STAGES] = {
        [G4_STAGE_VS] = state->constant_vs, [G4_STAGE_HS] = state->constant_hs, [G4_STAGE_DS] = state->constant_ds,
        [G4_STAGE_GS] = state->constant_gs, [G4_STAGE_WM] = state->constant_ps,
    };

    load_primitive(loader->ctx, primitive, draw);
    g4_load_vertex_buffers(loader->ctx, draw, load_vertex_buffer);
    load_indices(loader->ctx, draw);
    g4_reload_constants(loader, constants, draw, load_constants);
}
