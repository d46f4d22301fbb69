/*
 * Gen9: GPGPU_WALKER, MEDIA_VFE_STATE and the interface descriptor become a struct g4_compute_state, as on Gen7 (SKL
 * PRM vol. 2a).
 */
#include <string.h>

#include "compute/state.h"
#include "eu/eu.h"
#include "state_gen9.h"

enum {
    GRF_REGISTERS = 128,
    DESCRIPTORS = 64,
    LARGEST_SCRATCH = 11,     /* 2 MB */
    SHARED_MEMORY_UNIT = 512, /* shifted by the code, of which 0 is none */
    LARGEST_SHARED_MEMORY = GEN9_SHARED_LOCAL_MEMORY_CODE_KIB_64,
};

static void load_groups(const struct gen9_gpgpu_walker *walker, struct g4_compute_state *compute) {
    static const uint32_t channels[4] = {
        [GEN9_SIMD_SIZE_SIMD8] = 8, [GEN9_SIMD_SIZE_SIMD16] = 16, [GEN9_SIMD_SIZE_SIMD32] = 32};
    const uint32_t threads[3] = {walker->thread_width_counter_maximum + 1, walker->thread_height_counter_maximum + 1,
                                 walker->thread_depth_counter_maximum + 1};
    const uint32_t first[3] = {walker->thread_group_id_starting_x, walker->thread_group_id_starting_y,
                               walker->thread_group_id_starting_resume_z};
    const uint32_t end[3] = {walker->thread_group_id_x_dimension, walker->thread_group_id_y_dimension,
                             walker->thread_group_id_z_dimension};

    compute->channels = channels[walker->simd_size & 3];
    memcpy(compute->threads, threads, sizeof threads);
    memcpy(compute->first, first, sizeof first);
    memcpy(compute->end, end, sizeof end);
    compute->right_mask = walker->right_execution_mask;
    compute->bottom_mask = walker->bottom_execution_mask;
}

static void load_indirect(const struct g4_context *ctx, const struct gen9_gpgpu_walker *walker,
                          struct g4_compute_state *compute) {
    compute->indirect_bytes = walker->indirect_data_length;
    compute->indirect_address = ctx->state->gen9.indirect_object_base + walker->indirect_data_start_address;
}

static void load_descriptor(const struct g4_context *ctx, uint32_t number, struct g4_compute_state *compute) {
    const struct g4_state *const state = ctx->state;
    const struct g4_gen9_state *const gen9 = &state->gen9;
    struct gen9_interface_descriptor_data descriptor;
    struct gen9_media_vfe_state vfe;

    gen9_interface_descriptor_data_unpack(gen9->media_descriptor[number & (DESCRIPTORS - 1)], ctx->gen, &descriptor);
    gen9_media_vfe_state_unpack(gen9->media_vfe_state, ctx->gen, &vfe);
    compute->dispatch = (struct g4_dispatch){
        .unit = G4_UNIT_TS,
        .kernel_address = gen9->instruction_base + descriptor.kernel_start_pointer,
        .general_state_base = gen9->general_state_base,
        .dynamic_state_base = gen9->dynamic_state_base,
        .instruction_base = gen9->instruction_base,
        .surface_state_base = gen9->surface_state_base,
        .binding_table = gen9->surface_state_base + descriptor.binding_table_pointer,
        .sampler_state = gen9->dynamic_state_base + descriptor.sampler_state_pointer,
        .scratch_base = gen9->general_state_base + vfe.scratch_space_base_pointer,
        .scratch_bytes = 1024u << g4_min_u32(vfe.per_thread_scratch_space, LARGEST_SCRATCH),
        .scratch_size = (uint8_t)vfe.per_thread_scratch_space,
        .grf_count = GRF_REGISTERS,
        .alternate_fp = descriptor.floating_point_mode != 0,
        .single_program_flow = descriptor.single_program_flow,
        .rounding_mode = (uint8_t)descriptor.rounding_mode,
        .exceptions = g4_exceptions(descriptor.mask_stack_exception_enable, descriptor.illegal_opcode_exception_enable,
                                    descriptor.software_exception_enable),
    };
    compute->shared_rows = descriptor.cross_thread_constant_data_read_length;
    compute->thread_rows = descriptor.constant_urb_entry_read_length;
    compute->first_row = descriptor.constant_urb_entry_read_offset;
    compute->constants = (const uint32_t(*)[8])state->curbe;
    compute->constant_rows = state->curbe_rows;
    const uint32_t code = g4_min_u32(descriptor.shared_local_memory_size, (uint32_t)LARGEST_SHARED_MEMORY);
    compute->shared_bytes = code ? (uint32_t)SHARED_MEMORY_UNIT << code : 0;
    compute->barrier_threads = descriptor.number_of_threads_in_gpgpu_thread_group;
}

enum g4_status g4_load_compute_gen9(const struct g4_context *ctx, struct g4_kernel_cache *kernels,
                                    const uint32_t *command, struct g4_compute_state *compute, struct g4_fault *fault) {
    struct gen9_gpgpu_walker walker;

    gen9_gpgpu_walker_unpack(command, ctx->gen, &walker);
    memset(compute, 0, sizeof *compute);
    load_groups(&walker, compute);
    load_indirect(ctx, &walker, compute);
    load_descriptor(ctx, walker.interface_descriptor_offset, compute);
    if (compute->channels == 0) {
        *fault = (struct g4_fault){
            .unit = G4_UNIT_TS, .address = compute->dispatch.kernel_address, .value = compute->channels};
        return G4_BAD_VALUE;
    }
    if (g4_group_threads(compute) > G4_GROUP_THREADS) {
        *fault = (struct g4_fault){
            .unit = G4_UNIT_TS, .address = compute->dispatch.kernel_address, .value = g4_group_threads(compute)};
        return G4_BAD_VALUE;
    }
    compute->kernel = g4_kernel_get(kernels, ctx, compute->dispatch.kernel_address, fault);
    return compute->kernel ? G4_OK : G4_FAULT;
}
