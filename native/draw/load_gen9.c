/*
 * Gen9: commands and state blocks of the 3D pipeline become struct g4_draw_state, once per 3DPRIMITIVE.
 *
 * The state of a unit is spread over several commands, which struct g4_gen9_state keeps whole: 3DSTATE_RASTER has the
 * state that SF and WM share, 3DSTATE_PS_EXTRA and PS_BLEND the properties of the pixel shader that other units need.
 * Blocks that are still in memory are read through pointers, as on Gen7 (KBL PRM vol. 2a).  No other file unpacks
 * either.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/util.h"
#include "draw/load.h"
#include "eu/eu.h"
#include "geometry/topology.h"
#include "state_gen9.h"

enum {
    ROW_BYTES = 32,
    SLOT_BYTES = 16,
    CONSTANT_BUFFERS = 4,
    SWIZZLED_ATTRIBUTES = 16, /* that a table of 3DSTATE_SBE is for */
    LARGEST_SCRATCH = 11,     /* 2 MB */
    GRF_REGISTERS = 128,
    TESSELLATED_OBJECTS = 64, /* of a patch, as a rough number: up to 8192 */

    SF_CLIP_VIEWPORT_DWORDS = 16,
    SCISSOR_DWORDS = 2,
    CC_VIEWPORT_DWORDS = 2,
    BLEND_DWORDS_OF_ENTRY = 2,
    BLEND_DWORDS_OF_ONE = 1 + BLEND_DWORDS_OF_ENTRY, /* with the dword for all targets */
    BLEND_DWORDS = 17,
    COLOR_CALC_DWORDS = 6,
};

static const struct g4_gen9_state *commands(const struct g4_context *ctx) {
    return &ctx->state->gen9;
}

/* Missing memory reads as 0 and is in the port's log. */
static void read_dynamic(const struct g4_draw_loader *loader, uint32_t offset, uint32_t *dw, uint32_t count) {
    (void)g4_mem_read(loader->port, commands(loader->ctx)->dynamic_state_base + offset, dw, count * sizeof *dw);
}

/* ---- vertices ---- */

static void load_primitive(const struct g4_context *ctx, const uint32_t *command, struct g4_draw_state *draw) {
    struct gen9_3dprimitive primitive;
    struct gen9_3dstate_vf_topology topology;

    gen9_3dprimitive_unpack(command, ctx->gen, &primitive);
    gen9_3dstate_vf_topology_unpack(commands(ctx)->vf_topology, ctx->gen, &topology);
    draw->primitive = (struct g4_primitive){
        .topology = g4_topology_drawn(topology.primitive_topology_type),
        .indexed = primitive.vertex_access_type == GEN9_VERTEX_ACCESS_TYPE_RANDOM,
        .vertex_count = primitive.vertex_count_per_instance,
        .start_vertex = primitive.start_vertex_location,
        .instance_count = primitive.instance_count,
        .start_instance = primitive.start_instance_location,
        .base_vertex = primitive.base_vertex_location,
        .quads_have_one_id = true,
    };
}

static void load_vertex_buffer(const struct g4_context *ctx, uint32_t index, struct g4_draw_state *draw) {
    struct gen9_vertex_buffer_state buffer;

    gen9_vertex_buffer_state_unpack(commands(ctx)->vertex_buffer[index], ctx->gen, &buffer);
    draw->vertex_buffer[index] = (struct g4_vertex_buffer){
        .address = g4_low_48(buffer.buffer_starting_address),
        .pitch_bytes = buffer.buffer_pitch,
        .has_end = true,
        .end = g4_low_48(buffer.buffer_starting_address) + buffer.buffer_size - 1,
        .null = buffer.null_vertex_buffer || buffer.buffer_size == 0,
    };
}

/* A value that the hardware counts replaces what an element stores in one component. */
static void load_generated_values(const struct g4_context *ctx, uint32_t element, uint32_t control[4]) {
    struct gen9_3dstate_vf_sgvs values;

    gen9_3dstate_vf_sgvs_unpack(commands(ctx)->vf_sgvs, ctx->gen, &values);
    if (values.vertex_id_enable && values.vertex_id_element_offset == element) {
        control[values.vertex_id_component_number] = G4_VERTEX_COMPONENT_CONTROL_STORE_VID;
    }
    if (values.instance_id_enable && values.instance_id_element_offset == element) {
        control[values.instance_id_component_number] = G4_VERTEX_COMPONENT_CONTROL_STORE_IID;
    }
}

/* The qwords of a format whose channels are stored as they are; 0 for others. */
static uint32_t qwords_of(uint32_t format) {
    switch (format) {
    case GEN9_LATER_SURFACE_FORMAT_R64_PASSTHRU:
        return 1;
    case GEN9_LATER_SURFACE_FORMAT_R64G64_PASSTHRU:
        return 2;
    case GEN9_LATER_SURFACE_FORMAT_R64G64B64_PASSTHRU:
        return 3;
    case GEN9_LATER_SURFACE_FORMAT_R64G64B64A64_PASSTHRU:
        return 4;
    default:
        return 0;
    }
}

/* The components of an element that 3DSTATE_VF_COMPONENT_PACKING leaves out, a bit each.  It names 32 elements. */
static uint8_t components_left_out(const struct g4_context *ctx, uint32_t element) {
    struct gen9_3dstate_vf vf;
    struct gen9_3dstate_vf_component_packing packing;

    gen9_3dstate_vf_unpack(commands(ctx)->vf, ctx->gen, &vf);
    if (!vf.component_packing_enable) {
        return 0;
    }
    gen9_3dstate_vf_component_packing_unpack(commands(ctx)->vf_component_packing, ctx->gen, &packing);
#define ENABLES(i) packing.vertex_element_##i##_enables
#define TEN_ENABLES(i)                                                                                                 \
    ENABLES(i##0), ENABLES(i##1), ENABLES(i##2), ENABLES(i##3), ENABLES(i##4), ENABLES(i##5), ENABLES(i##6),           \
        ENABLES(i##7), ENABLES(i##8), ENABLES(i##9)
    const uint32_t enables[] = {TEN_ENABLES(0), TEN_ENABLES(1), TEN_ENABLES(2), ENABLES(30), ENABLES(31)};
#undef TEN_ENABLES
#undef ENABLES
    return element < sizeof enables / sizeof *enables ? (uint8_t)(~enables[element] & 0xf) : 0;
}

/* Component controls of such formats are for 64 bits.  The lower half of an element has components 0 and 1. */
static struct g4_vertex_element half_of_qwords(const struct g4_vertex_element *whole, uint32_t qwords, uint32_t half) {
    const uint32_t source = G4_VERTEX_COMPONENT_CONTROL_STORE_SRC;
    const bool one = qwords == 2 * half + 1;
    struct g4_vertex_element out = *whole;

    out.packed = 0;
    out.offset_bytes += 16 * half;
    out.bytes_behind = half == 0 && qwords > 2 ? 8 * (qwords - 2) : 0;
    out.format = one ? GEN9_LATER_SURFACE_FORMAT_R32G32_UINT : GEN9_LATER_SURFACE_FORMAT_R32G32B32A32_UINT;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t control = 2 * half + i < qwords || whole->control[2 * half + i] != source
                                     ? whole->control[2 * half + i]
                                     : G4_VERTEX_COMPONENT_CONTROL_STORE_0;
        const bool is_constant = control != source && control != G4_VERTEX_COMPONENT_CONTROL_NOSTORE;
        out.control[2 * i] = control;
        out.control[2 * i + 1] = is_constant ? G4_VERTEX_COMPONENT_CONTROL_STORE_0 : control;
        out.packed |= (uint8_t)((whole->packed >> (2 * half + i) & 1 ? 3 : 0) << 2 * i);
    }
    return out;
}

/* Put an element after the others, at *end.  Those of qwords have 256 bits if their upper half stores something. */
static void add_vertex_element(const struct g4_context *ctx, struct g4_draw_state *draw, uint32_t index,
                               const struct g4_vertex_element *element, uint32_t *end) {
    const uint32_t qwords = qwords_of(element->format);
    const bool is_long = qwords != 0 && !(element->control[2] == G4_VERTEX_COMPONENT_CONTROL_NOSTORE &&
                                          element->control[3] == G4_VERTEX_COMPONENT_CONTROL_NOSTORE);

    for (uint32_t half = 0; half < 1u + is_long; half++) {
        struct g4_vertex_element *const out = &draw->vertex_element[draw->vertex_elements];
        *out = qwords ? half_of_qwords(element, qwords, half) : *element;
        out->destination = *end;
        *end += 4 - (uint32_t)__builtin_popcount(out->packed);
        if (half == 0) {
            load_generated_values(ctx, index, out->control);
        }
        draw->vertex_elements++;
    }
}

/* Valid elements in order. */
static void load_vertex_elements(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(ctx);
    uint32_t end = 0;

    for (uint32_t i = 0; i < state->vertex_elements && i < G4_VERTEX_ELEMENTS; i++) {
        const uint32_t command[3] = {0, state->vf_instancing[i][0], state->vf_instancing[i][1]};
        struct gen9_vertex_element_state element;
        struct gen9_3dstate_vf_instancing instancing;
        gen9_vertex_element_state_unpack(state->vertex_element[i], ctx->gen, &element);
        gen9_3dstate_vf_instancing_unpack(command, ctx->gen, &instancing);
        if (!element.valid) {
            continue;
        }
        const struct g4_vertex_element loaded = {
            .buffer = element.vertex_buffer_index,
            .offset_bytes = element.source_element_offset,
            .format = element.source_element_format,
            .control = {element.component_0_control, element.component_1_control, element.component_2_control,
                        element.component_3_control},
            .packed = element.edge_flag_enable ? 0 : components_left_out(ctx, i), /* edge flags are not stored */
            .edge_flag = element.edge_flag_enable,
            .per_instance = instancing.instancing_enable,
            .step_rate = instancing.instance_data_step_rate,
        };
        add_vertex_element(ctx, draw, i, &loaded, &end);
    }
}

static void load_indices(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen9_3dstate_index_buffer index;
    struct gen9_3dstate_vf vf;

    gen9_3dstate_index_buffer_unpack(commands(ctx)->index_buffer, ctx->gen, &index);
    gen9_3dstate_vf_unpack(commands(ctx)->vf, ctx->gen, &vf);
    draw->index_buffer = (struct g4_index_buffer){
        .address = g4_low_48(index.buffer_starting_address),
        .end = index.buffer_size ? g4_low_48(index.buffer_starting_address) + index.buffer_size - 1 : 0,
        .index_bytes = 1u << (index.index_format > 2 ? 2 : index.index_format),
        .cut_enable = vf.indexed_draw_cut_index_enable,
        .cut_index = vf.cut_index,
    };
}

/* ---- stages that run threads ---- */

/* The members that the commands of all stages have. */
struct thread_state_gen9 {
    g4_address kernel, scratch_base;
    uint32_t scratch_size;
    uint32_t binding_table, samplers; /* offsets */
    uint32_t grf_start, max_threads;
    bool alternate_fp;
    bool illegal_opcode, mask_stack, software; /* exceptions */
};

#define THREAD_STATE(command, most)                                                                                    \
    .scratch_base = (command).scratch_space_base_pointer, .scratch_size = (command).per_thread_scratch_space,          \
    .max_threads = (command).most, .alternate_fp = (command).floating_point_mode != 0,                                 \
    .illegal_opcode = (command).illegal_opcode_exception_enable, .software = (command).software_exception_enable

/* Binding tables are in the pool, if it is enabled, where pointers count in 64 bytes; else with the surface states,
 * in 32 bytes. */
static g4_address binding_table(const struct g4_context *ctx, uint32_t pointer) {
    struct gen9_3dstate_binding_table_pool_alloc pool;

    gen9_3dstate_binding_table_pool_alloc_unpack(commands(ctx)->binding_table_pool_alloc, ctx->gen, &pool);
    return pool.binding_table_pool_enable ? g4_low_48(pool.binding_table_pool_base_address) + 2 * pointer
                                          : commands(ctx)->surface_state_base + pointer;
}

static void load_threads(const struct g4_context *ctx, int stage, enum g4_unit unit,
                         const struct thread_state_gen9 *block, struct g4_draw_state *draw) {
    const struct g4_gen9_state *const gen9 = commands(ctx);
    const uint32_t scratch = block->scratch_size > LARGEST_SCRATCH ? LARGEST_SCRATCH : block->scratch_size;

    draw->dispatch[stage] = (struct g4_dispatch){
        .unit = unit,
        .kernel_address = gen9->instruction_base + block->kernel,
        .general_state_base = gen9->general_state_base,
        .dynamic_state_base = gen9->dynamic_state_base,
        .instruction_base = gen9->instruction_base,
        .surface_state_base = gen9->surface_state_base,
        .binding_table = binding_table(ctx, block->binding_table),
        .sampler_state = gen9->dynamic_state_base + block->samplers,
        .scratch_base = gen9->general_state_base + block->scratch_base,
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
 * Lengths count in rows; the first buffer may have an offset instead of an address, and the second one has an offset
 * from the gather pool, if that is enabled (KBL PRM vol. 2a, 3DSTATE_CONSTANT_VS). */
static void load_constants(const struct g4_draw_loader *loader, int stage, const uint32_t *command,
                           struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(loader->ctx);
    uint32_t(*const rows)[8] = loader->constants[stage];
    struct gen9_3dstate_constant_vs body;
    struct gen9_3dstate_gather_pool_alloc pool;
    uint32_t total = 0;

    gen9_3dstate_constant_vs_unpack(command, loader->ctx->gen, &body);
    gen9_3dstate_gather_pool_alloc_unpack(state->streamer.gather_pool_alloc, loader->ctx->gen, &pool);
    const g4_address gathered = pool.gather_pool_enable ? g4_low_48(pool.gather_pool_base_address) : 0;
    const uint32_t length[CONSTANT_BUFFERS] = {body.constant_buffer_0_read_length, body.constant_buffer_1_read_length,
                                               body.constant_buffer_2_read_length, body.constant_buffer_3_read_length};
    const g4_address address[CONSTANT_BUFFERS] = {
        g4_low_48(body.pointer_to_constant_buffer_0) + (state->constants_relative ? state->dynamic_state_base : 0),
        gathered + g4_low_48(body.pointer_to_constant_buffer_1), g4_low_48(body.pointer_to_constant_buffer_2),
        g4_low_48(body.pointer_to_constant_buffer_3)};
    for (uint32_t i = 0; i < CONSTANT_BUFFERS; i++) {
        const uint32_t left = G4_CONSTANT_ROWS - total;
        const uint32_t some = length[i] < left ? length[i] : left;
        if (some) {
            (void)g4_mem_read(loader->port, address[i], rows[total], some * sizeof *rows);
            total += some;
        }
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
struct stage_commands_gen9 {
    const uint32_t *constants, *urb, *binding_table, *samplers;
};

/* The part that all stages but pixel shaders load alike; `block` is of the stage, without its pointers. */
static enum g4_status load_stage(const struct g4_draw_loader *loader, int stage, enum g4_unit unit,
                                 struct thread_state_gen9 *block, const struct stage_commands_gen9 *other,
                                 struct g4_draw_state *draw, struct g4_fault *fault) {
    const uint32_t gen = loader->ctx->gen;
    struct gen9_3dstate_urb_vs urb;
    struct gen9_3dstate_binding_table_pointers_vs table;
    struct gen9_3dstate_sampler_state_pointers_vs samplers;

    gen9_3dstate_urb_vs_unpack(other->urb, gen, &urb);
    gen9_3dstate_binding_table_pointers_vs_unpack(other->binding_table, gen, &table);
    gen9_3dstate_sampler_state_pointers_vs_unpack(other->samplers, gen, &samplers);
    block->binding_table = table.pointer_to_vs_binding_table;
    block->samplers = samplers.pointer_to_vs_sampler_state;
    load_threads(loader->ctx, stage, unit, block, draw);
    load_constants(loader, stage, other->constants, draw);
    draw->stage[stage].entry_rows = urb.vs_urb_entry_allocation_size / ROW_BYTES;
    return load_kernel(loader, draw->dispatch[stage].kernel_address, &draw->kernel[stage], fault);
}

static enum g4_status load_vs(const struct g4_draw_loader *loader, struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen9_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    struct gen9_3dstate_vs vs;

    gen9_3dstate_vs_unpack(state->vs, loader->ctx->gen, &vs);
    draw->vs_enable = vs.enable;
    draw->vertex_cache = !vs.vertex_cache_disable;
    if (!vs.enable) {
        return G4_OK;
    }
    struct thread_state_gen9 block = {
        THREAD_STATE(vs, maximum_number_of_threads),
        .kernel = vs.kernel_start_pointer,
        .grf_start = vs.dispatch_grf_start_register_for_urb_data,
    };
    const struct stage_commands_gen9 other = {state->constant_vs, state->urb_vs, state->binding_table_pointers_vs,
                                              state->sampler_state_pointers_vs};
    stage->input_offset = vs.vertex_urb_entry_read_offset;
    stage->input_rows = vs.vertex_urb_entry_read_length;
    stage->statistics = vs.statistics_enable;
    stage->eight_channels = vs.simd8_dispatch_enable;
    stage->single_vertices = vs.single_vertex_dispatch;
    return load_stage(loader, G4_STAGE_VS, G4_UNIT_VS, &block, &other, draw, fault);
}

/* ---- tessellation ---- */

static enum g4_status load_hs(const struct g4_draw_loader *loader, const struct gen9_3dstate_hs *hs,
                              struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen9_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_HS];
    struct thread_state_gen9 block = {
        THREAD_STATE(*hs, maximum_number_of_threads),
        .kernel = hs->kernel_start_pointer,
        .grf_start = hs->dispatch_grf_start_register_for_urb_data | hs->dispatch_grf_start_register_for_urb_data_5 << 5,
    };
    const struct stage_commands_gen9 other = {state->constant_hs, state->urb_hs, state->binding_table_pointers_hs,
                                              state->sampler_state_pointers_hs};
    stage->input_offset = hs->vertex_urb_entry_read_offset;
    stage->input_rows = hs->vertex_urb_entry_read_length;
    stage->statistics = hs->statistics_enable;
    stage->eight_channels = true;
    draw->tessellation.hull_instances = hs->instance_count;
    draw->tessellation.has_vertex_handles = hs->include_vertex_handles;
    return load_stage(loader, G4_STAGE_HS, G4_UNIT_HS, &block, &other, draw, fault);
}

static enum g4_status load_ds(const struct g4_draw_loader *loader, const struct gen9_3dstate_ds *ds,
                              struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_gen9_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_DS];
    struct thread_state_gen9 block = {
        THREAD_STATE(*ds, maximum_number_of_threads),
        .kernel = ds->kernel_start_pointer,
        .grf_start = ds->dispatch_grf_start_register_for_urb_data,
    };
    const struct stage_commands_gen9 other = {state->constant_ds, state->urb_ds, state->binding_table_pointers_ds,
                                              state->sampler_state_pointers_ds};
    stage->input_offset = ds->patch_urb_entry_read_offset;
    stage->input_rows = ds->patch_urb_entry_read_length;
    stage->statistics = ds->statistics_enable;
    draw->tessellation.computes_w = ds->compute_w_coordinate_enable;
    stage->eight_channels = ds->dispatch_mode != GEN9_DUAL_PATCH_DISPATCH_MODE_SIMD4X2;
    return load_stage(loader, G4_STAGE_DS, G4_UNIT_DS, &block, &other, draw, fault);
}

/* HS, TE and DS are all on or all off (KBL PRM vol. 2a, 3DSTATE_HS): any that is off turns the
 * others off. */
static enum g4_status load_tessellation(const struct g4_draw_loader *loader, struct g4_draw_state *draw,
                                        struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen9_state *const state = commands(ctx);
    struct gen9_3dstate_hs hs;
    struct gen9_3dstate_te te;
    struct gen9_3dstate_ds ds;

    gen9_3dstate_hs_unpack(state->hs, ctx->gen, &hs);
    gen9_3dstate_te_unpack(state->te, ctx->gen, &te);
    gen9_3dstate_ds_unpack(state->ds, ctx->gen, &ds);
    if (!hs.enable || !te.te_enable || !ds.function_enable || !g4_topology_patch_vertices(draw->primitive.topology)) {
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
    const struct g4_gen9_state *const state = commands(loader->ctx);
    struct g4_stage *const stage = &draw->stage[G4_STAGE_GS];
    struct gen9_3dstate_gs gs;

    gen9_3dstate_gs_unpack(state->gs, loader->ctx->gen, &gs);
    draw->gs_enable = gs.enable;
    if (!gs.enable) {
        return G4_OK;
    }
    struct thread_state_gen9 block = {
        THREAD_STATE(gs, maximum_number_of_threads),
        .kernel = gs.kernel_start_pointer,
        .grf_start = gs.dispatch_grf_start_register_for_urb_data | gs.dispatch_grf_start_register_for_urb_data_5_4 << 4,
        .mask_stack = gs.mask_stack_exception_enable,
    };
    const struct stage_commands_gen9 other = {state->constant_gs, state->urb_gs, state->binding_table_pointers_gs,
                                              state->sampler_state_pointers_gs};
    stage->input_offset = gs.vertex_urb_entry_read_offset;
    stage->input_rows = gs.vertex_urb_entry_read_length;
    stage->statistics = gs.statistics_enable;
    draw->gs = (struct g4_geometry_shader){
        .odd_triangles = gs.reorder_mode == GEN9_REORDER_MODE_LEADING ? G4_ODD_FIRST_FIRST : G4_ODD_LAST_LAST,
        .discard_adjacency = gs.discard_adjacency,
        .dispatch = gs.dispatch_mode == GEN9_GS_DISPATCH_MODE_DUAL_OBJECT     ? G4_GS_DUAL_OBJECTS
                    : gs.dispatch_mode == GEN9_GS_DISPATCH_MODE_DUAL_INSTANCE ? G4_GS_DUAL_INSTANCES
                    : gs.dispatch_mode == GEN9_GS_DISPATCH_MODE_SIMD8         ? G4_GS_EIGHT_CHANNELS
                                                                              : G4_GS_SINGLE,
        .instances = gs.instance_control,
        .has_primitive_ids = gs.include_primitive_id,
        .has_vertex_handles = gs.include_vertex_handles,
        .control_rows = gs.control_data_header_size / ROW_BYTES,
        .control_is_streams = gs.control_data_format == GEN9_CONTROL_DATA_FORMAT_SID,
        .vertex_slots = gs.output_vertex_size / SLOT_BYTES,
        .output_topology = gs.output_topology,
        .default_stream = gs.default_stream_id,
        .static_vertices = gs.static_output ? gs.static_output_vertex_count : UINT32_MAX,
    };
    const enum g4_status status = load_stage(loader, G4_STAGE_GS, G4_UNIT_GS, &block, &other, draw, fault);
    draw->amplification += 1 + gs.instance_control * (2 * stage->entry_rows / draw->gs.vertex_slots) / 4;
    return status;
}

/* ---- stream output ---- */

static struct g4_stream_buffer stream_buffer(const struct gen9_3dstate_so_buffer *buffer, uint32_t pitch,
                                             uint32_t offset) {
    const bool missing = !buffer->so_buffer_enable || offset > buffer->surface_size;
    return (struct g4_stream_buffer){
        .address = g4_low_48(buffer->surface_base_address) + offset,
        .room = missing ? 0 : buffer->surface_size - offset,
        .missing = missing,
        .pitch_bytes = pitch,
        .offset_address = buffer->stream_output_buffer_offset_address_enable
                              ? g4_low_48(buffer->stream_output_buffer_offset_address)
                              : 0,
    };
}

/* The declaration of a stream in an entry, which has one for each of them. */
static struct g4_stream_declaration declaration_of(const struct gen9_so_decl_entry *entry, uint32_t stream) {
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

static void load_streams(const struct g4_context *ctx, const struct gen9_3dstate_streamout *streamout,
                         struct g4_stream_output *output) {
    const struct g4_gen9_state *const state = commands(ctx);
    struct gen9_3dstate_so_decl_list list;

    gen9_3dstate_so_decl_list_unpack(state->so_decl_list, ctx->gen, &list);
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
            struct gen9_so_decl_entry entry;
            gen9_so_decl_entry_unpack(&state->so_decl_list[3 + 2 * i], ctx->gen, &entry);
            stream->declaration[i] = declaration_of(&entry, s);
            stream->declaration[i].slot += (uint8_t)(2 * offset[s]);
        }
    }
}

/* KBL PRM vol. 2a, 3DSTATE_STREAMOUT. */
static void load_stream_output(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(ctx);
    struct g4_stream_output *const output = &draw->stream_output;
    struct gen9_3dstate_streamout streamout;

    gen9_3dstate_streamout_unpack(state->streamout, ctx->gen, &streamout);
    output->drops_objects =
        streamout.force_rendering == GEN9_FORCE_RENDERING_FORCE_OFF ||
        (streamout.force_rendering != GEN9_FORCE_RENDERING_FORCE_ON && streamout.api_rendering_disable);
    if (!streamout.so_function_enable) {
        return;
    }
    output->enable = true;
    output->statistics = streamout.so_statistics_enable;
    output->leading = streamout.reorder_mode == GEN9_REORDER_MODE_LEADING;
    output->rendered_stream = streamout.render_stream_select;
    output->in_order = draw->gs_enable || draw->tessellation.enable;
    load_streams(ctx, &streamout, output);
    const uint32_t pitch[G4_STREAM_BUFFERS] = {streamout.buffer_0_surface_pitch, streamout.buffer_1_surface_pitch,
                                               streamout.buffer_2_surface_pitch, streamout.buffer_3_surface_pitch};
    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        uint32_t command[8] = {0};
        struct gen9_3dstate_so_buffer buffer;
        memcpy(command + 1, state->so_buffer[b], sizeof state->so_buffer[b]);
        gen9_3dstate_so_buffer_unpack(command, ctx->gen, &buffer);
        output->buffer[b] = stream_buffer(&buffer, pitch[b], ctx->state->gen7.so_write_offset[b]);
    }
    if (!output->in_order) {
        g4_load_stream_capacity(draw);
    }
}

/* ---- clipper and setup ---- */

/* The output of the last geometry stage, as its command describes it. */
struct last_output {
    uint32_t read_offset, length; /* rows */
    uint8_t clip_distances, cull_distances;
};

static struct last_output last_output(const struct g4_context *ctx, const struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(ctx);
    struct gen9_3dstate_vs vs;
    struct gen9_3dstate_ds ds;
    struct gen9_3dstate_gs gs;

#define OUTPUT(of)                                                                                                     \
    (struct last_output) {                                                                                             \
        (of).vertex_urb_entry_output_read_offset, (of).vertex_urb_entry_output_length,                                 \
            (uint8_t)(of).user_clip_distance_clip_test_enable_bitmask,                                                 \
            (uint8_t)(of).user_clip_distance_cull_test_enable_bitmask                                                  \
    }
    if (draw->gs_enable) {
        gen9_3dstate_gs_unpack(state->gs, ctx->gen, &gs);
        return OUTPUT(gs);
    }
    if (draw->tessellation.enable) {
        gen9_3dstate_ds_unpack(state->ds, ctx->gen, &ds);
        return OUTPUT(ds);
    }
    gen9_3dstate_vs_unpack(state->vs, ctx->gen, &vs);
    return OUTPUT(vs);
#undef OUTPUT
}

static void load_clip(const struct g4_context *ctx, const struct gen9_3dstate_raster *raster,
                      struct g4_draw_state *draw) {
    const struct last_output last = last_output(ctx, draw);
    struct gen9_3dstate_clip clip;

    gen9_3dstate_clip_unpack(commands(ctx)->clip, ctx->gen, &clip);
    draw->clip_enable = clip.clip_enable;
    draw->stage[G4_STAGE_CLIP].statistics = clip.clipper_statistics_enable;
    draw->clip = (struct g4_clip){
        .mode = clip.clip_mode, /* the numbers of enum g4_clip_mode */
        .test_xy = clip.viewport_xy_clip_test_enable,
        .test_z = raster->viewport_z_near_clip_test_enable || raster->viewport_z_far_clip_test_enable,
        .ignores_near = !raster->viewport_z_near_clip_test_enable,
        .ignores_far = !raster->viewport_z_far_clip_test_enable,
        .test_guardband = clip.guardband_clip_test_enable,
        .x_min = -1.0f,
        .x_max = 1.0f,
        .y_min = -1.0f,
        .y_max = 1.0f,
        .z_min = clip.api_mode == GEN9_API_MODE_D3D ? 0.0f : -1.0f,
        .clip_distances = clip.force_user_clip_distance_clip_test_enable_bitmask
                              ? (uint8_t)clip.user_clip_distance_clip_test_enable_bitmask
                              : last.clip_distances,
        .cull_distances = clip.force_user_clip_distance_cull_test_enable_bitmask
                              ? (uint8_t)clip.user_clip_distance_cull_test_enable_bitmask
                              : last.cull_distances,
        .divided = clip.perspective_divide_disable,
        .linear_barycentrics = clip.non_perspective_barycentric_enable,
        .max_viewport = clip.maximum_vp_index,
        .zero_array_index = clip.force_zero_rta_index_enable,
        .point_width_min = (float)clip.minimum_point_width_u8_3 / 8.0f,
        .point_width_max = (float)clip.maximum_point_width_u8_3 / 8.0f,
    };
}

/* Pixels outside of the viewport are not drawn, whatever the guardband lets pass, also without the viewport XY clip
 * test (docs/decisions.md 157).
 */
static void clip_to_extents(const struct gen9_sf_clip_viewport *extents, struct g4_viewport *viewport) {
    viewport->scissor_x_min = (int32_t)g4_clamp_float(extents->x_min_viewport, 0.0f, 65535.0f);
    viewport->scissor_y_min = (int32_t)g4_clamp_float(extents->y_min_viewport, 0.0f, 65535.0f);
    viewport->scissor_x_max = (int32_t)g4_clamp_float(extents->x_max_viewport, -1.0f, 65535.0f);
    viewport->scissor_y_max = (int32_t)g4_clamp_float(extents->y_max_viewport, -1.0f, 65535.0f);
}

static void load_viewports(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen9_state *const state = commands(ctx);
    const uint32_t count = draw->clip.max_viewport + 1;
    const bool has_extents = draw->clip_enable;
    uint32_t raw[G4_VIEWPORTS][SF_CLIP_VIEWPORT_DWORDS];
    struct gen9_3dstate_viewport_state_pointers_sf_clip pointer;

    if (!draw->setup.viewport_transform && !draw->clip.test_guardband && !has_extents) {
        return;
    }
    gen9_3dstate_viewport_state_pointers_sf_clip_unpack(state->viewport_state_pointers_sf_clip, ctx->gen, &pointer);
    read_dynamic(loader, pointer.sf_clip_viewport_pointer, raw[0], count * SF_CLIP_VIEWPORT_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen9_sf_clip_viewport viewport;
        gen9_sf_clip_viewport_unpack(raw[i], ctx->gen, &viewport);
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
        if (has_extents) {
            clip_to_extents(&viewport, &draw->viewport[i]);
        }
    }
}

static void load_scissors(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const uint32_t count = draw->clip.max_viewport + 1;
    const bool has_extents = draw->clip_enable;
    uint32_t raw[G4_VIEWPORTS][SCISSOR_DWORDS];
    struct gen9_3dstate_scissor_state_pointers pointer;

    if (!draw->setup.scissor) {
        draw->setup.scissor = has_extents;
        return;
    }
    gen9_3dstate_scissor_state_pointers_unpack(commands(ctx)->scissor_state_pointers, ctx->gen, &pointer);
    read_dynamic(loader, pointer.scissor_rect_pointer, raw[0], count * SCISSOR_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen9_scissor_rect scissor;
        gen9_scissor_rect_unpack(raw[i], ctx->gen, &scissor);
        struct g4_viewport *const viewport = &draw->viewport[i];
        const struct g4_viewport extents = *viewport;
        viewport->scissor_x_min = (int32_t)scissor.scissor_rectangle_x_min;
        viewport->scissor_y_min = (int32_t)scissor.scissor_rectangle_y_min;
        viewport->scissor_x_max = (int32_t)scissor.scissor_rectangle_x_max;
        viewport->scissor_y_max = (int32_t)scissor.scissor_rectangle_y_max;
        if (has_extents) {
            viewport->scissor_x_min = g4_max_s32(viewport->scissor_x_min, extents.scissor_x_min);
            viewport->scissor_y_min = g4_max_s32(viewport->scissor_y_min, extents.scissor_y_min);
            viewport->scissor_x_max = g4_min_s32(viewport->scissor_x_max, extents.scissor_x_max);
            viewport->scissor_y_max = g4_min_s32(viewport->scissor_y_max, extents.scissor_y_max);
        }
    }
}

static void load_setup(const struct g4_context *ctx, const struct gen9_3dstate_raster *raster,
                       struct g4_draw_state *draw) {
    struct g4_setup_state *const setup = &draw->setup;
    struct gen9_3dstate_sf sf;

    gen9_3dstate_sf_unpack(commands(ctx)->sf, ctx->gen, &sf);
    draw->stage[G4_STAGE_SF].statistics = sf.statistics_enable;
    setup->wide_range = true;
    setup->line_rectangles =
        raster->force_multisampling == GEN9_FORCE_MULTISAMPLING_FORCED
            ? raster->dx_multisample_rasterization_mode >= GEN9_MULTISAMPLE_RASTERIZATION_MODE_ON_PIXEL
            : raster->dx_multisample_rasterization_enable;
    setup->viewport_transform = sf.viewport_transform_enable;
    setup->scissor = raster->scissor_rectangle_enable;
    setup->conservative = raster->conservative_rasterization_enable;
    setup->coarse_positions = sf.vertex_sub_pixel_precision_select == GEN9_SUB_PIXEL_PRECISION_FOUR_BITS;
    setup->front_winding = raster->front_winding;
    setup->cull_mode = raster->cull_mode;
    setup->front_fill = (uint8_t)raster->front_face_fill_mode; /* the numbers of enum g4_fill_mode */
    setup->back_fill = (uint8_t)raster->back_face_fill_mode;
    setup->point_width_from_vertex = sf.point_width_source == GEN9_POINT_WIDTH_SOURCE_VERTEX;
    setup->point_width_u8_3 = sf.point_width_u8_3;
    setup->line_width = (float)sf.line_width_u11_7 / 128.0f;
    setup->line_cap_region = g4_line_region(sf.line_end_cap_antialiasing_region_width);
    setup->line_antialiasing = raster->antialiasing_enable;
    setup->line_last_pixel = sf.last_pixel_enable;
    setup->provoking_line = (uint8_t)sf.line_strip_list_provoking_vertex_select;
    setup->provoking_triangle = (uint8_t)sf.triangle_strip_list_provoking_vertex_select;
    setup->provoking_fan = (uint8_t)sf.triangle_fan_provoking_vertex_select;
    draw->line_antialiasing.true_distance = sf.aa_line_distance_mode == GEN9_AA_LINE_DISTANCE_TRUE;
    draw->depth_bias = (struct g4_depth_bias){
        .enable = raster->global_depth_offset_enable_solid,
        .lines = raster->global_depth_offset_enable_wireframe,
        .points = raster->global_depth_offset_enable_point,
        .legacy_unit = sf.legacy_global_depth_bias_enable,
        .constant = raster->global_depth_offset_constant,
        .scale = raster->global_depth_offset_scale,
        .clamp = raster->global_depth_offset_clamp,
    };
}

/* ---- attributes ---- */

static void override_source(struct g4_attribute *attribute, bool x, bool y, bool z, bool w, uint32_t constant,
                            uint32_t select, uint32_t source) {
    attribute->source = (uint8_t)source;
    attribute->replaced = (uint8_t)(x | y << 1 | z << 2 | w << 3);
    attribute->constant = (uint8_t)constant; /* the numbers of enum g4_attribute_constant */
    attribute->facing =
        select == GEN9_SWIZZLE_SELECT_INPUTATTR_FACING || select == GEN9_SWIZZLE_SELECT_INPUTATTR_FACING_W;
}

static void override_primitive_id(const struct gen9_3dstate_sbe *sbe, struct g4_attribute_setup *setup) {
    const uint8_t components =
        (uint8_t)(sbe->primitive_id_override_component_x | sbe->primitive_id_override_component_y << 1 |
                  sbe->primitive_id_override_component_z << 2 | sbe->primitive_id_override_component_w << 3);
    if (components) {
        struct g4_attribute *const attribute = &setup->attribute[sbe->primitive_id_override_attribute_select];
        attribute->replaced = components;
        attribute->constant = G4_CONSTANT_PRIMITIVE_ID;
    }
}

static void set_wraps(const struct gen9_3dstate_sbe_swiz *swizzle, struct g4_attribute_setup *setup) {
    const uint32_t wraps[SWIZZLED_ATTRIBUTES] = {
        swizzle->attribute_0_wrap_shortest_enables,  swizzle->attribute_1_wrap_shortest_enables,
        swizzle->attribute_2_wrap_shortest_enables,  swizzle->attribute_3_wrap_shortest_enables,
        swizzle->attribute_4_wrap_shortest_enables,  swizzle->attribute_5_wrap_shortest_enables,
        swizzle->attribute_6_wrap_shortest_enables,  swizzle->attribute_7_wrap_shortest_enables,
        swizzle->attribute_8_wrap_shortest_enables,  swizzle->attribute_9_wrap_shortest_enables,
        swizzle->attribute_10_wrap_shortest_enables, swizzle->attribute_11_wrap_shortest_enables,
        swizzle->attribute_12_wrap_shortest_enables, swizzle->attribute_13_wrap_shortest_enables,
        swizzle->attribute_14_wrap_shortest_enables, swizzle->attribute_15_wrap_shortest_enables,
    };
    for (uint32_t i = 0; i < SWIZZLED_ATTRIBUTES; i++) {
        setup->attribute[i].wraps = (uint8_t)wraps[i];
    }
}

static void load_attributes(const struct g4_context *ctx, struct g4_draw_state *draw) {
    const struct last_output last = last_output(ctx, draw);
    struct g4_attribute_setup *const setup = &draw->attributes;
    struct gen9_3dstate_sbe sbe;
    struct gen9_3dstate_sbe_swiz swizzle;

    gen9_3dstate_sbe_unpack(commands(ctx)->sbe, ctx->gen, &sbe);
    gen9_3dstate_sbe_swiz_unpack(commands(ctx)->sbe_swiz, ctx->gen, &swizzle);
    setup->count =
        sbe.number_of_sf_output_attributes < G4_ATTRIBUTES ? sbe.number_of_sf_output_attributes : G4_ATTRIBUTES;
    setup->read_offset = sbe.force_vertex_urb_entry_read_offset ? sbe.vertex_urb_entry_read_offset : last.read_offset;
    setup->read_length = sbe.force_vertex_urb_entry_read_length ? sbe.vertex_urb_entry_read_length : last.length;
    setup->sprite_origin_lower_left = sbe.point_sprite_texture_coordinate_origin == GEN9_POINT_SPRITE_ORIGIN_LOWERLEFT;
    for (uint32_t i = 0; i < setup->count; i++) {
        setup->attribute[i] = (struct g4_attribute){
            .source = (uint8_t)i,
            .flat = sbe.constant_interpolation_enable >> i & 1,
            .sprite_coordinate = sbe.point_sprite_texture_coordinate_enable >> i & 1,
        };
    }
    for (uint32_t i = 0; i < SWIZZLED_ATTRIBUTES / 2 && sbe.attribute_swizzle_enable; i++) {
        const struct gen9_sf_output_attribute_detail *const d = &swizzle.attributes[i];
        struct g4_attribute *const pair = &setup->attribute[2 * i];
        override_source(&pair[0], d->even_component_override_x, d->even_component_override_y,
                        d->even_component_override_z, d->even_component_override_w, d->even_constant_source,
                        d->even_swizzle_select, d->even_source_attribute);
        override_source(&pair[1], d->odd_component_override_x, d->odd_component_override_y, d->odd_component_override_z,
                        d->odd_component_override_w, d->odd_constant_source, d->odd_swizzle_select,
                        d->odd_source_attribute);
    }
    set_wraps(&swizzle, setup);
    override_primitive_id(&sbe, setup);
}

/* ---- rasterization ---- */

static void load_drawing_rectangle(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen9_3dstate_drawing_rectangle rectangle;

    gen9_3dstate_drawing_rectangle_unpack(ctx->state->drawing_rectangle, ctx->gen, &rectangle);
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
    struct gen9_3dstate_aa_line_parameters aa;
    struct gen9_3dstate_line_stipple stipple;

    gen9_3dstate_aa_line_parameters_unpack(ctx->state->aa_line, ctx->gen, &aa);
    line->has_slope = aa.aa_coverage_slope_u0_8 != 0;
    line->slope = (float)aa.aa_coverage_slope_u0_8 / 256.0f;
    line->bias = (float)aa.aa_coverage_bias_u0_8 / 256.0f;
    line->cap_slope = (float)aa.aa_coverage_endcap_slope_u0_8 / 256.0f;
    line->cap_bias = (float)aa.aa_coverage_endcap_bias_u0_8 / 256.0f;
    line->scale = 255.0f;

    gen9_3dstate_line_stipple_unpack(ctx->state->line_stipple, ctx->gen, &stipple);
    draw->line_stipple = (struct g4_line_stipple){
        .pattern = stipple.line_stipple_pattern,
        .repeat = stipple.line_stipple_repeat_count ? stipple.line_stipple_repeat_count : 1,
    };
}

static void load_polygon_stipple(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen9_3dstate_poly_stipple_offset offset;

    gen9_3dstate_poly_stipple_offset_unpack(ctx->state->poly_stipple_offset, ctx->gen, &offset);
    g4_load_stipple(ctx->state->poly_stipple + 1, /* past the header */
                    offset.polygon_stipple_x_offset, offset.polygon_stipple_y_offset, draw->polygon_stipple);
}

/* The places of the samples of a pixel, for each number of samples that a pixel can have. */
static void load_sample_places(const struct g4_context *ctx, struct g4_multisampling *multisampling) {
    struct gen9_3dstate_sample_pattern p;

    gen9_3dstate_sample_pattern_unpack(commands(ctx)->sample_pattern, ctx->gen, &p);
#define PLACE(i, count)                                                                                                \
    { (uint8_t) p.sample##i##_x_offset_##count##x_u0_4, (uint8_t)p.sample##i##_y_offset_##count##x_u0_4 }
    const uint8_t one[1][2] = {PLACE(0, 1)};
    const uint8_t two[2][2] = {PLACE(0, 2), PLACE(1, 2)};
    const uint8_t four[4][2] = {PLACE(0, 4), PLACE(1, 4), PLACE(2, 4), PLACE(3, 4)};
    const uint8_t eight[8][2] = {PLACE(0, 8), PLACE(1, 8), PLACE(2, 8), PLACE(3, 8),
                                 PLACE(4, 8), PLACE(5, 8), PLACE(6, 8), PLACE(7, 8)};
    const uint8_t sixteen[16][2] = {
        PLACE(0, 16),  PLACE(1, 16),  PLACE(2, 16),  PLACE(3, 16),  PLACE(4, 16),  PLACE(5, 16),
        PLACE(6, 16),  PLACE(7, 16),  PLACE(8, 16),  PLACE(9, 16),  PLACE(10, 16), PLACE(11, 16),
        PLACE(12, 16), PLACE(13, 16), PLACE(14, 16), PLACE(15, 16),
    };
#undef PLACE
    const uint32_t samples = multisampling->samples;
    const uint8_t(*const place)[2] = samples == 16  ? sixteen
                                     : samples == 8 ? eight
                                     : samples == 4 ? four
                                     : samples == 2 ? two
                                                    : one;
    for (uint32_t i = 0; i < samples; i++) {
        multisampling->x[i] = place[i][0];
        multisampling->y[i] = place[i][1];
    }
}

/* Rasterization uses the places of samples, or the pixel location, which also stands for the pixel in other units. */
static void load_multisampling(const struct g4_context *ctx, const struct gen9_3dstate_raster *raster,
                               struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(ctx);
    const uint32_t mode = raster->dx_multisample_rasterization_mode;
    struct gen9_3dstate_multisample multi;
    struct gen9_3dstate_sample_mask mask;

    gen9_3dstate_multisample_unpack(state->multisample, ctx->gen, &multi);
    gen9_3dstate_sample_mask_unpack(state->sample_mask, ctx->gen, &mask);
    draw->multisampling = (struct g4_multisampling){
        .samples = g4_samples_of(multi.number_of_multisamples, GEN9_SAMPLE_COUNT_SIXTEEN),
        .mask = state->sample_mask[0] ? mask.sample_mask : UINT32_MAX, /* decision 230 */
        .pattern = raster->force_multisampling == GEN9_FORCE_MULTISAMPLING_FORCED
                       ? mode == GEN9_MULTISAMPLE_RASTERIZATION_MODE_OFF_PATTERN ||
                             mode == GEN9_MULTISAMPLE_RASTERIZATION_MODE_ON_PATTERN
                       : raster->dx_multisample_rasterization_enable && multi.number_of_multisamples > 0,
        .upper_left = multi.pixel_location == GEN9_PIXEL_LOCATION_UL_CORNER,
    };
    load_sample_places(ctx, &draw->multisampling);
    draw->setup.bias_x = draw->setup.bias_y = draw->multisampling.upper_left ? 0.0f : 0.5f;
}

/* ---- pixels ---- */

static uint8_t place_of_zw(uint32_t mode) {
    return mode == GEN9_POSITION_ZW_INTERPOLATION_MODE_CENTROID ? G4_PLACE_CENTROID
           : mode == GEN9_POSITION_ZW_INTERPOLATION_MODE_SAMPLE ? G4_PLACE_SAMPLE
                                                                : G4_PLACE_PIXEL;
}

static uint8_t place_of_offset(uint32_t select) {
    return select == GEN9_POSITION_XY_OFFSET_SELECT_CENTROID ? G4_PLACE_CENTROID
           : select == GEN9_POSITION_XY_OFFSET_SELECT_SAMPLE ? G4_PLACE_SAMPLE
                                                             : G4_PLACE_NONE;
}

static uint8_t early_tests(uint32_t control) {
    return control == GEN9_EARLY_DEPTH_STENCIL_CONTROL_PSEXEC  ? G4_TESTS_AFTER_SHADER
           : control == GEN9_EARLY_DEPTH_STENCIL_CONTROL_PREPS ? G4_TESTS_BEFORE_SHADER
                                                               : G4_TESTS_WHEN_POSSIBLE;
}

/* The commands about pixels. */
struct pixel_commands {
    struct gen9_3dstate_wm wm;
    struct gen9_3dstate_ps ps;
    struct gen9_3dstate_ps_extra extra;
    struct gen9_3dstate_ps_blend blend;
    struct gen9_3dstate_raster raster;
    struct gen9_3dstate_wm_hz_op operation;
    struct gen9_3dstate_wm_chromakey chroma_key;
};

static void unpack_pixel_commands(const struct g4_context *ctx, struct pixel_commands *c) {
    const struct g4_gen9_state *const state = commands(ctx);

    gen9_3dstate_wm_unpack(state->wm, ctx->gen, &c->wm);
    gen9_3dstate_ps_unpack(state->ps, ctx->gen, &c->ps);
    gen9_3dstate_ps_extra_unpack(state->ps_extra, ctx->gen, &c->extra);
    gen9_3dstate_ps_blend_unpack(state->ps_blend, ctx->gen, &c->blend);
    gen9_3dstate_raster_unpack(state->raster, ctx->gen, &c->raster);
    gen9_3dstate_wm_hz_op_unpack(state->wm_hz_op, ctx->gen, &c->operation);
    gen9_3dstate_wm_chromakey_unpack(state->wm_chromakey, ctx->gen, &c->chroma_key);
    if (!c->extra.pixel_shader_valid) {
        memset(&c->extra, 0, sizeof c->extra);
    }
}

static bool is_depth_operation(const struct gen9_3dstate_wm_hz_op *operation) {
    return operation->stencil_buffer_clear_enable || operation->depth_buffer_clear_enable ||
           operation->depth_buffer_resolve_enable || operation->hierarchical_depth_buffer_resolve_enable;
}

/* Whether the pixel shader runs: only if its absence could be observed. */
static bool dispatches_threads(const struct pixel_commands *c) {
    const struct gen9_3dstate_ps_extra *const extra = &c->extra;

    if (is_depth_operation(&c->operation) || c->wm.force_thread_dispatch_enable == GEN9_FORCE_FORCE_OFF) {
        return false;
    }
    return c->wm.force_thread_dispatch_enable == GEN9_FORCE_FORCE_ON ||
           (extra->pixel_shader_valid &&
            ((c->blend.has_writeable_rt && !extra->pixel_shader_does_not_write_to_rt) || extra->pixel_shader_has_uav ||
             extra->pixel_shader_kills_pixel || extra->omask_present_to_render_target ||
             extra->pixel_shader_computed_depth_mode != GEN9_COMPUTED_DEPTH_MODE_OFF ||
             extra->pixel_shader_computes_stencil || c->blend.alpha_test_enable || c->blend.alpha_to_coverage_enable ||
             c->chroma_key.chromakey_kill_enable));
}

static void load_windower(const struct g4_context *ctx, const struct pixel_commands *c, struct g4_draw_state *draw) {
    const struct gen9_3dstate_wm *const wm = &c->wm;
    const struct gen9_3dstate_ps *const ps = &c->ps;
    const struct gen9_3dstate_ps_extra *const extra = &c->extra;

    draw->stage[G4_STAGE_WM].statistics = wm->statistics_enable;
    draw->windower = (struct g4_windower_state){
        .thread_dispatch = dispatches_threads(c),
        .kernels_by_width = true,
        .dispatch_8 = ps->dispatch_8_pixel_enable,
        .dispatch_16 = ps->dispatch_16_pixel_enable,
        .dispatch_32 = ps->dispatch_32_pixel_enable && !ps->dispatch_16_pixel_enable, /* docs/decisions.md 154 */
        .kills_pixels = wm->force_kill_pixel_enable == GEN9_FORCE_FORCE_ON ||
                        (wm->force_kill_pixel_enable == GEN9_FORCE_NORMAL &&
                         (extra->pixel_shader_kills_pixel || c->chroma_key.chromakey_kill_enable)),
        .computes_depth = extra->pixel_shader_computed_depth_mode != GEN9_COMPUTED_DEPTH_MODE_OFF,
        .uses_source_depth = extra->pixel_shader_uses_source_depth,
        .polygon_stipple = wm->polygon_stipple_enable,
        .line_stipple = wm->line_stipple_enable,
        .barycentrics = (uint8_t)wm->barycentric_interpolation_mode,
        .uses_source_w = extra->pixel_shader_uses_source_w,
        .uses_coverage = extra->input_coverage_mask_state != GEN9_INPUT_COVERAGE_MASK_STATE_NONE,
        .coverage_after_tests = extra->input_coverage_mask_state == GEN9_INPUT_COVERAGE_MASK_STATE_DEPTH_COVERAGE,
        .inner_coverage = extra->input_coverage_mask_state == GEN9_INPUT_COVERAGE_MASK_STATE_INNER_CONSERVATIVE,
        .has_attributes = extra->attribute_enable,
        .has_constants = ps->push_constant_enable,
        .position_offset = place_of_offset(ps->position_xy_offset_select),
        .position_zw = place_of_zw(wm->position_zw_interpolation_mode),
        .computed_depth = (uint8_t)extra->pixel_shader_computed_depth_mode, /* numbers of enum g4_computed_depth */
        .early_tests = early_tests(wm->early_depth_stencil_control),
        .writes_sample_mask = extra->omask_present_to_render_target,
        .computes_stencil = extra->pixel_shader_computes_stencil,
        .dispatches_samples = extra->pixel_shader_is_per_sample && draw->multisampling.samples > 1,
        .fast_clear = ps->render_target_fast_clear_enable,
        .resolve = ps->render_target_resolve_type != GEN9_RENDER_TARGET_RESOLVE_TYPE_DISABLED,
    };
    draw->line_antialiasing.region = g4_line_region(wm->line_antialiasing_region_width);
    draw->line_antialiasing.cap_region = g4_line_region(wm->line_end_cap_antialiasing_region_width);
    draw->setup.legacy_diamonds = wm->legacy_diamond_line_rasterization;
    draw->setup.point_rule = wm->point_rasterization_rule;
    if (wm->polygon_stipple_enable) {
        load_polygon_stipple(ctx, draw);
    }
}

/* Which of the three kernel pointers is for 8, 16 and 32 pixels (KBL PRM vol. 2a, 3DSTATE_PS, Kernel Start
 * Pointers): the first is for 8, or for the only width; the second for 32 and the third for 16 beside others. */
static enum g4_status load_pixel_kernels(const struct g4_draw_loader *loader, const struct gen9_3dstate_ps *ps,
                                         struct g4_draw_state *draw, struct g4_fault *fault) {
    const bool enable[3] = {ps->dispatch_8_pixel_enable, ps->dispatch_16_pixel_enable, ps->dispatch_32_pixel_enable};
    const bool alone = enable[0] + enable[1] + enable[2] == 1;
    const g4_address pointer[3] = {ps->kernel_start_pointer_0, ps->kernel_start_pointer_1, ps->kernel_start_pointer_2};
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

static enum g4_status load_pixel_shader(const struct g4_draw_loader *loader, const struct gen9_3dstate_ps *ps,
                                        struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    const struct g4_gen9_state *const state = commands(ctx);
    struct gen9_3dstate_binding_table_pointers_ps table;
    struct gen9_3dstate_sampler_state_pointers_ps samplers;

    gen9_3dstate_binding_table_pointers_ps_unpack(state->binding_table_pointers_ps, ctx->gen, &table);
    gen9_3dstate_sampler_state_pointers_ps_unpack(state->sampler_state_pointers_ps, ctx->gen, &samplers);
    const struct thread_state_gen9 block = {
        THREAD_STATE(*ps, maximum_number_of_threads_per_psd),
        .mask_stack = ps->mask_stack_exception_enable,
        .kernel = ps->kernel_start_pointer_0,
        .binding_table = table.pointer_to_ps_binding_table,
        .samplers = samplers.pointer_to_ps_sampler_state,
        .grf_start = ps->dispatch_grf_start_register_for_constant_setup_data_0,
    };
    load_threads(ctx, G4_STAGE_WM, G4_UNIT_WM, &block, draw);
    draw->dispatch[G4_STAGE_WM].single_program_flow = ps->single_program_flow;
    draw->dispatch[G4_STAGE_WM].rounding_mode = (uint8_t)ps->rounding_mode;
    draw->dispatch[G4_STAGE_WM].retains_denormals = ps->single_precision_denormal_mode == GEN9_DENORMAL_MODE_RET;
    if (!draw->windower.thread_dispatch) {
        return G4_OK;
    }
    if (ps->push_constant_enable) {
        load_constants(loader, G4_STAGE_WM, state->constant_ps, draw);
    }
    return load_pixel_kernels(loader, ps, draw, fault);
}

/* ---- depth and stencil ---- */

/* A float becomes the bits of a sample. */
static uint32_t depth_clear_bits(uint32_t value, uint32_t format) {
    float clear;

    memcpy(&clear, &value, sizeof clear);
    switch (format) {
    case G4_DEPTH_FORMAT_D24_UNORM_X8_UINT:
        return (uint32_t)lrint((double)g4_clamp_float(clear, 0.0f, 1.0f) * 0xffffff);
    case G4_DEPTH_FORMAT_D16_UNORM:
        return (uint32_t)lrint((double)g4_clamp_float(clear, 0.0f, 1.0f) * 0xffff);
    default:
        return value;
    }
}

static void load_depth_buffers(const struct g4_context *ctx, const struct pixel_commands *c,
                               struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(ctx);
    struct gen9_3dstate_depth_buffer depth;
    struct gen9_3dstate_stencil_buffer stencil;
    struct gen9_3dstate_hier_depth_buffer hierarchical;

    gen9_3dstate_depth_buffer_unpack(state->depth_buffer, ctx->gen, &depth);
    gen9_3dstate_stencil_buffer_unpack(state->stencil_buffer, ctx->gen, &stencil);
    gen9_3dstate_hier_depth_buffer_unpack(state->hier_depth_buffer, ctx->gen, &hierarchical);
    draw->depth_buffer = (struct g4_depth_buffer){
        /* all zero: as after reset, when the command has not been executed */
        .present = (state->depth_buffer[1] || g4_low_48(depth.surface_base_address)) &&
                   depth.surface_type != GEN9_DEPTH_BUFFER_TYPE_SURFTYPE_NULL,
        .tiled = true,
        .type = depth.surface_type,
        .format = depth.surface_format, /* numbers of enum g4_depth_format */
        .address = g4_low_48(depth.surface_base_address),
        .pitch_bytes = depth.surface_pitch,
        .width = depth.width,
        .height = depth.height,
        .depth = depth.depth,
        .level = depth.lod,
        .minimum_array_element = depth.minimum_array_element,
        .view_extent = depth.render_target_view_extent,
        .element_rows = depth.surface_qpitch,
        .report_value = state->depth_buffer[1],
    };
    draw->stencil_buffer = (struct g4_stencil_buffer){
        .present = stencil.stencil_buffer_enable,
        .address = g4_low_48(stencil.surface_base_address),
        .pitch_bytes = stencil.surface_pitch,
        .element_rows = stencil.surface_qpitch,
    };
    draw->hierarchical_depth = (struct g4_hierarchical_depth){
        .present = depth.hierarchical_depth_buffer_enable,
        .address = g4_low_48(hierarchical.surface_base_address),
        .pitch_bytes = hierarchical.surface_pitch,
        .element_rows = hierarchical.surface_qpitch,
        .counts_pixels = true,
        .clear = c->operation.depth_buffer_clear_enable,
        .resolve = c->operation.depth_buffer_resolve_enable,
        .ambiguate = c->operation.hierarchical_depth_buffer_resolve_enable,
        .clear_bits = depth_clear_bits(state->clear_params[1], depth.surface_format),
    };
    draw->depth_bias.format = depth.surface_format;
    draw->depth_stencil.depth_write &= depth.depth_write_enable;
    draw->depth_stencil.stencil_write &= depth.stencil_write_enable;
}

static void load_depth_stencil(const struct g4_context *ctx, struct g4_draw_state *draw) {
    struct gen9_3dstate_wm_depth_stencil ds;

    gen9_3dstate_wm_depth_stencil_unpack(commands(ctx)->wm_depth_stencil, ctx->gen, &ds);
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
        .reference = (uint8_t)ds.stencil_reference_value,
        .test_mask = (uint8_t)ds.stencil_test_mask,
        .write_mask = (uint8_t)ds.stencil_write_mask,
    };
    draw->depth_stencil.stencil[1] = (struct g4_stencil_set){
        .function = (uint8_t)ds.backface_stencil_test_function,
        .fail = (uint8_t)ds.backface_stencil_fail_op,
        .zfail = (uint8_t)ds.backface_stencil_pass_depth_fail_op,
        .zpass = (uint8_t)ds.backface_stencil_pass_depth_pass_op,
        .reference = (uint8_t)ds.backface_stencil_reference_value,
        .test_mask = (uint8_t)ds.backface_stencil_test_mask,
        .write_mask = (uint8_t)ds.backface_stencil_write_mask,
    };
}

/* ---- color ---- */

static bool is_second_source(uint32_t factor) {
    return factor == GEN9_BLEND_FACTOR_SRC1_COLOR || factor == GEN9_BLEND_FACTOR_SRC1_ALPHA ||
           factor == GEN9_BLEND_FACTOR_INV_SRC1_COLOR || factor == GEN9_BLEND_FACTOR_INV_SRC1_ALPHA;
}

static bool uses_second_source(const struct gen9_blend_state_entry *entry, bool independent) {
    return entry->color_buffer_blend_enable &&
           (is_second_source(entry->source_blend_factor) || is_second_source(entry->destination_blend_factor) ||
            (independent && (is_second_source(entry->source_alpha_blend_factor) ||
                             is_second_source(entry->destination_alpha_blend_factor))));
}

/* Without independent alpha blending, alpha has the functions and factors of color. */
static struct g4_blend_state blend_of(const struct gen9_blend_state_entry *entry, const struct gen9_blend_state *blend,
                                      const struct gen9_color_calc_state *cc) {
    const bool independent = blend->independent_alpha_blend_enable;
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
        .dither = blend->color_dither_enable,
        .dither_x = blend->x_dither_offset,
        .dither_y = blend->y_dither_offset,
        .clamp_range = entry->color_clamp_range,
        .pre_clamp = entry->pre_blend_color_clamp_enable,
        .post_clamp = entry->post_blend_color_clamp_enable,
        .write_disable = (uint8_t)(entry->write_disable_red | entry->write_disable_green << 1 |
                                   entry->write_disable_blue << 2 | entry->write_disable_alpha << 3),
    };
}

static void load_blend(const struct g4_draw_loader *loader, const struct gen9_color_calc_state *cc,
                       struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const bool unorm8 = cc->alpha_test_format == GEN9_ALPHA_TEST_FORMAT_UNORM8;
    struct g4_color_state *const color = &draw->color;
    uint32_t raw[BLEND_DWORDS] = {0};
    struct gen9_3dstate_blend_state_pointers pointer;
    struct gen9_3dstate_ps_blend ps_blend;
    struct gen9_blend_state blend;
    struct gen9_blend_state_entry entry;

    gen9_3dstate_ps_blend_unpack(commands(ctx)->ps_blend, ctx->gen, &ps_blend);
    gen9_3dstate_blend_state_pointers_unpack(commands(ctx)->blend_state_pointers, ctx->gen, &pointer);
    if (pointer.blend_state_pointer_valid) {
        g4_load_blend_state(loader->port, commands(ctx)->dynamic_state_base + pointer.blend_state_pointer, raw,
                            BLEND_DWORDS_OF_ONE, BLEND_DWORDS);
    }
    gen9_blend_state_unpack(raw, ctx->gen, &blend);
    gen9_blend_state_entry_unpack(gen9_blend_state_entries(raw, 0), ctx->gen, &entry);
    color->target[0] = blend_of(&entry, &blend, cc);
    const bool second_source = uses_second_source(&entry, blend.independent_alpha_blend_enable);
    for (uint32_t i = 1; i < G4_COLOR_TARGETS; i++) {
        const uint32_t *const dw = gen9_blend_state_entries(raw, i);
        if (memcmp(dw, gen9_blend_state_entries(raw, i - 1), BLEND_DWORDS_OF_ENTRY * sizeof *dw) == 0) {
            color->target[i] = color->target[i - 1]; /* usually, because few targets are in use */
            continue;
        }
        gen9_blend_state_entry_unpack(dw, ctx->gen, &entry);
        color->target[i] = blend_of(&entry, &blend, cc);
    }
    if (second_source && !ps_blend.color_buffer_blend_enable) {
        color->target[0].enable = false; /* docs/decisions.md 209 */
    }
    color->blend = color->target[0];
    color->alpha_to_coverage = blend.alpha_to_coverage_enable;
    color->alpha_to_coverage_dither = blend.alpha_to_coverage_dither_enable;
    color->alpha_to_one = blend.alpha_to_one_enable;
    color->alpha_test = (struct g4_alpha_test){
        .enable = blend.alpha_test_enable,
        .unorm8 = unorm8,
        .function = blend.alpha_test_function,
        .reference = unorm8 ? (float)cc->alpha_reference_value_as_unorm8 : cc->alpha_reference_value_as_float32,
    };
    draw->windower.dual_source = second_source && color->blend.enable;
}

static void load_depth_ranges(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    const uint32_t count = draw->clip.max_viewport + 1;
    uint32_t raw[G4_VIEWPORTS][CC_VIEWPORT_DWORDS];
    struct gen9_3dstate_viewport_state_pointers_cc pointer;

    gen9_3dstate_viewport_state_pointers_cc_unpack(commands(ctx)->viewport_state_pointers_cc, ctx->gen, &pointer);
    read_dynamic(loader, pointer.cc_viewport_pointer, raw[0], count * CC_VIEWPORT_DWORDS);
    for (uint32_t i = 0; i < count; i++) {
        struct gen9_cc_viewport range;
        gen9_cc_viewport_unpack(raw[i], ctx->gen, &range);
        draw->color.depth_range[i] = (struct g4_depth_range){range.minimum_depth, range.maximum_depth};
    }
}

static void load_color(const struct g4_draw_loader *loader, struct g4_draw_state *draw) {
    const struct g4_context *const ctx = loader->ctx;
    uint32_t raw[COLOR_CALC_DWORDS] = {0};
    struct gen9_3dstate_cc_state_pointers pointer;
    struct gen9_color_calc_state cc;

    gen9_3dstate_cc_state_pointers_unpack(commands(ctx)->cc_state_pointers, ctx->gen, &pointer);
    if (pointer.color_calc_state_pointer_valid) {
        read_dynamic(loader, pointer.color_calc_state_pointer, raw, COLOR_CALC_DWORDS);
    }
    gen9_color_calc_state_unpack(raw, ctx->gen, &cc);
    draw->color_address = commands(ctx)->dynamic_state_base + pointer.color_calc_state_pointer;
    load_blend(loader, &cc, draw);
    load_depth_ranges(loader, draw);
    load_depth_stencil(ctx, draw);
}

/* ---- all of it ---- */

/* Clear or resolve depth and stencil: a rectangle without shaders, whose pixels pass all tests. */
static void load_depth_operation(const struct gen9_3dstate_wm_hz_op *operation, struct g4_draw_state *draw) {
    const float x[2] = {(float)operation->clear_rectangle_x_min, (float)operation->clear_rectangle_x_max};
    const float y[2] = {(float)operation->clear_rectangle_y_min, (float)operation->clear_rectangle_y_max};

    draw->vertex_elements = 0;
    draw->vs_enable = draw->gs_enable = draw->clip_enable = false;
    draw->primitive = (struct g4_primitive){
        .topology = G4_PRIMITIVE_TOPOLOGY_RECTLIST,
        .vertex_count = 3,
        .instance_count = 1,
        .has_corners = true,
        .corner = {{x[1], y[1]}, {x[0], y[1]}, {x[0], y[0]}},
    };
    draw->clip = (struct g4_clip){.divided = true};
    draw->setup = (struct g4_setup_state){.wide_range = true, .cull_mode = G4_CULL_MODE_NONE};
    draw->stage[G4_STAGE_VS].entry_rows = 2;
    draw->drawing_rectangle.origin_x = draw->drawing_rectangle.origin_y = 0;
    draw->multisampling.samples = g4_samples_of(operation->number_of_multisamples, GEN9_SAMPLE_COUNT_SIXTEEN);
    draw->multisampling.mask = operation->sample_mask;
    draw->multisampling.pattern = false;
    draw->multisampling.upper_left = false;
    draw->setup.bias_x = draw->setup.bias_y = 0.5f;
    draw->color.depth_range[0] = (struct g4_depth_range){-FLT_MAX, FLT_MAX};
    draw->depth_stencil.depth_test = false;
    draw->depth_stencil.depth_write = operation->depth_buffer_clear_enable;
    draw->depth_stencil.stencil_test = draw->depth_stencil.stencil_write = operation->stencil_buffer_clear_enable;
    draw->depth_stencil.double_sided = false;
    draw->depth_stencil.stencil[0] = (struct g4_stencil_set){
        .function = G4_COMPARE_FUNCTION_ALWAYS,
        .fail = G4_STENCIL_OPERATION_REPLACE,
        .zfail = G4_STENCIL_OPERATION_REPLACE,
        .zpass = G4_STENCIL_OPERATION_REPLACE,
        .reference = (uint8_t)operation->stencil_clear_value,
        .test_mask = 0xff,
        .write_mask = 0xff,
    };
}

enum g4_status g4_load_draw_gen9(const struct g4_draw_loader *loader, const uint32_t *primitive,
                                 struct g4_draw_state *draw, struct g4_fault *fault) {
    const struct g4_context *const ctx = loader->ctx;
    struct pixel_commands c;

    memset(draw, 0, sizeof *draw);
    unpack_pixel_commands(ctx, &c);
    if (is_depth_operation(&c.operation)) {
        load_drawing_rectangle(ctx, draw);
        load_depth_operation(&c.operation, draw);
        load_depth_buffers(ctx, &c, draw);
        return G4_OK;
    }
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
    load_clip(ctx, &c.raster, draw);
    load_setup(ctx, &c.raster, draw);
    load_viewports(loader, draw);
    load_scissors(loader, draw);
    load_attributes(ctx, draw);
    load_drawing_rectangle(ctx, draw);
    load_lines(ctx, draw);
    load_multisampling(ctx, &c.raster, draw);
    load_windower(ctx, &c, draw);
    load_color(loader, draw);
    load_depth_buffers(ctx, &c, draw);
    draw->color.statistics = c.wm.statistics_enable;
    return load_pixel_shader(loader, &c.ps, draw, fault);
}

void g4_load_inputs_gen9(const struct g4_draw_loader *loader, const uint32_t *primitive, struct g4_draw_state *draw) {
    const struct g4_gen9_state *const state = commands(loader->ctx);
    const uint32_t *const constants[G4_STAGES] = {
        [G4_STAGE_VS] = state->constant_vs, [G4_STAGE_HS] = state->constant_hs, [G4_STAGE_DS] = state->constant_ds,
        [G4_STAGE_GS] = state->constant_gs, [G4_STAGE_WM] = state->constant_ps,
    };

    load_primitive(loader->ctx, primitive, draw);
    g4_load_vertex_buffers(loader->ctx, draw, load_vertex_buffer);
    load_indices(loader->ctx, draw);
    g4_reload_constants(loader, constants, draw, load_constants);
}
