/*
 * Gen7 and Gen7.5: GPGPU_WALKER, MEDIA_VFE_STATE and the interface descriptor become a struct g4_compute_state (IVB PRM
 * vol. 2 part 2).  The command streamer has copied constants and descriptors when their commands came.
 */
#include <string.h>

#include "compute/state.h"
#include "eu/eu.h"
#include "state_gen7.h"

enum {
    GRF_REGISTERS = 128,
    DESCRIPTORS = 64,
    SHARED_MEMORY_UNIT = 4096,
};

static void load_groups(const struct gen7_gpgpu_walker *walker, struct g4_compute_state *compute) {
    static const uint32_t channels[4] = {
        [GEN7_SIMD_SIZE_SIMD8] = 8, [GEN7_SIMD_SIZE_SIMD16] = 16, [GEN7_SIMD_SIZE_SIMD32] = 32};
    const uint32_t threads[3] = {walker->thread_width_counter_maximum + 1, walker->thread_height_counter_maximum + 1,
                                 walker->thread_depth_counter_maximum + 1};
    const uint32_t first[3] = {walker->thread_group_id_starting_x, walker->thread_group_id_starting_y,
                               walker->thread_group_id_starting_z};
    const uint32_t end[3] = {walker->thread_group_id_x_dimension, walker->thread_group_id_y_dimension,
                             walker->thread_group_id_z_dimension};

    compute->channels = channels[walker->simd_size & 3];
    memcpy(compute->threads, threads, sizeof threads);
    memcpy(compute->first, first, sizeof first);
    memcpy(compute->end, end, sizeof end);
    compute->right_mask = walker->right_execution_mask;
    compute->bottom_mask = walker->bottom_execution_mask;
}

static void load_descriptor(const struct g4_context *ctx, uint32_t number, struct g4_compute_state *compute) {
    const struct g4_state *const state = ctx->state;
    const struct g4_gen7_state *const gen7 = &state->gen7;
    struct gen7_interface_descriptor_data descriptor;
    struct gen7_media_vfe_state vfe;

    gen7_interface_descriptor_data_unpack(gen7->media_descriptor[number & (DESCRIPTORS - 1)], ctx->gen, &descriptor);
    gen7_media_vfe_state_unpack(gen7->media_vfe_state, ctx->gen, &vfe);
    const bool in_powers = ctx->model->quirks.vfe_scratch_is_power_of_two;
    compute->dispatch = (struct g4_dispatch){
        .unit = G4_UNIT_TS,
        .kernel_address = gen7->instruction_base + descriptor.kernel_start_pointer,
        .general_state_base = state->general_state_base,
        .dynamic_state_base = gen7->dynamic_state_base,
        .instruction_base = gen7->instruction_base,
        .surface_state_base = state->surface_state_base,
        .binding_table = state->surface_state_base + descriptor.binding_table_pointer,
        .sampler_state = gen7->dynamic_state_base + descriptor.sampler_state_pointer,
        .scratch_base = state->general_state_base + vfe.scratch_space_base_pointer,
        .scratch_bytes = g4_scratch_bytes(vfe.per_thread_scratch_space, in_powers),
        .scratch_size = g4_scratch_size(vfe.per_thread_scratch_space, in_powers),
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
    compute->shared_bytes = descriptor.shared_local_memory_size * SHARED_MEMORY_UNIT;
    if (compute->shared_bytes > G4_SHARED_MEMORY_BYTES) {
        compute->shared_bytes = G4_SHARED_MEMORY_BYTES;
    }
    compute->barrier_threads = descriptor.number_of_threads_in_gpgpu_thread_group;
}

enum g4_status g4_load_compute_gen7(const struct g4_context *ctx, struct g4_kernel_cache *kernels,
                                    const uint32_t *command, struct g4_compute_state *compute, struct g4_fault *fault) {
    struct gen7_gpgpu_walker walker;

    gen7_gpgpu_walker_unpack(command, ctx->gen, &walker);
    memset(compute, 0, sizeof *compute);
    load_groups(&walker, compute);
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
