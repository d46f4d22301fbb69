/*
 * Ivy Bridge and Haswell: commands and payloads of the media pipeline become the structs of media/state.h (IVB PRM
 * vol. 2 part 2, media).  VFE has the generic mode only.
 */
#include <string.h>

#include "core/dispatch.h"
#include "media/state.h"
#include "messages_gen7.h"
#include "state_gen7.h"

enum {
    DESCRIPTOR_BYTES = sizeof((struct g4_gen7_state *)0)->media_descriptor[0],
    URB_ENTRIES = 64,
};

/* Bytes for each thread: 1 KB units, of Haswell 2 KB << n (HSW PRM vol. 2b, MEDIA_VFE_STATE). */
static void load_vfe(const struct g4_context *ctx, struct g4_vfe *vfe) {
    const struct g4_gen7_state *const context = &ctx->state->gen7;
    struct gen7_media_vfe_state state;

    gen7_media_vfe_state_unpack(context->media_vfe_state, ctx->gen, &state);
    const bool in_powers = ctx->model->quirks.vfe_scratch_is_power_of_two;
    *vfe = (struct g4_vfe){
        .mode = G4_VFE_MODE_GENERIC,
        .scratch_base = state.scratch_space_base_pointer,
        .scratch_bytes = g4_scratch_bytes(state.per_thread_scratch_space, in_powers),
        .scratch_size = g4_scratch_size(state.per_thread_scratch_space, in_powers),
        .max_threads = state.maximum_number_of_threads,
        .urb_entries = state.number_of_urb_entries < URB_ENTRIES ? state.number_of_urb_entries : URB_ENTRIES,
        .urb_entry_units = state.urb_entry_allocation_size,
        .general_state_base = ctx->state->general_state_base,
        .surface_state_base = ctx->state->surface_state_base,
        .dynamic_state_base = context->dynamic_state_base,
        .instruction_base = context->instruction_base,
        .indirect_object_base = ctx->state->indirect_object_base,
        .indirect_object_bound = ctx->state->indirect_object_bound,
        .descriptor_base = context->media_descriptor_address,
        .counter_control = G4_DEBUG_COUNTER_CONTROL_FREE_RUNNING,
        .gateways_open =
            state.bypass_gateway_control == GEN7_GATEWAY_CONTROL_BYPASSING_OPENGATEWAY_CLOSEGATEWAY_PROTOCOL,
    };
}

static void load_walk(const struct g4_context *ctx, const uint32_t *words, struct g4_media_command *command) {
    struct gen7_media_object_walker in;

    gen7_media_object_walker_unpack(words, ctx->gen, &in);
    command->kind = G4_MEDIA_OBJECT_WALKER;
    command->descriptor_offset = in.interface_descriptor_offset;
    command->synchronized = in.thread_synchronization;
    command->children = in.children_present;
    command->waits = in.use_scoreboard;
    command->indirect_length = in.indirect_data_length;
    command->indirect_start = in.indirect_data_start_address;
    command->walk = (struct g4_media_walk){
        .picture = {(int32_t)in.global_resolution_x, (int32_t)in.global_resolution_y},
        .global_start = {in.global_start_x, in.global_start_y},
        .global_outer = {in.global_outer_loop_stride_x, in.global_outer_loop_stride_y},
        .global_inner = {in.global_inner_loop_unit_x, in.global_inner_loop_unit_y},
        .block = {(int32_t)in.block_resolution_x, (int32_t)in.block_resolution_y},
        .local_start = {(int32_t)in.local_start_x, (int32_t)in.local_start_y},
        .local_outer = {in.local_outer_loop_stride_x, in.local_outer_loop_stride_y},
        .local_middle = {in.mid_loop_unit_x, in.local_mid_loop_unit_y},
        .local_inner = {in.local_inner_loop_unit_x, in.local_inner_loop_unit_y},
        .global_steps = in.global_loop_exec_count,
        .local_steps = in.local_loop_exec_count,
        .middle_steps = in.middle_loop_extra_steps,
        .colors = in.color_count_minus_one + 1,
    };
}

enum {
    OBJECT_DWORDS = 6,
    PRT_DWORDS = 4,
    WALKER_DWORDS = 17,
};

static void load_object(const struct g4_context *ctx, const uint32_t *words, uint32_t dwords,
                        struct g4_media_command *command) {
    struct gen7_media_object object;
    struct gen7_media_object_prt prt;
    uint32_t inline_data = OBJECT_DWORDS;

    *command = (struct g4_media_command){.kind = G4_MEDIA_OBJECT};
    switch (gen7_command_of(words[0])) {
    case GEN7_CMD_MEDIA_OBJECT_PRT:
        inline_data = PRT_DWORDS;
        gen7_media_object_prt_unpack(words, ctx->gen, &prt);
        command->kind = G4_MEDIA_OBJECT_PRT;
        command->descriptor_offset = prt.interface_descriptor_offset;
        /* Threads keep the state that they started with: a fence for the flush of state has nothing to hold. */
        command->fence = prt.prt_fence_needed && prt.prt_fencetype == GEN7_PRT_FENCE_TYPE_ROOT_THREAD_QUEUE;
        command->children = prt.children_present;
        break;
    case GEN7_CMD_MEDIA_OBJECT_WALKER:
        inline_data = WALKER_DWORDS;
        load_walk(ctx, words, command);
        break;
    default:
        gen7_media_object_unpack(words, ctx->gen, &object);
        command->descriptor_offset = object.interface_descriptor_offset;
        command->synchronized = object.thread_synchronization;
        command->children = object.children_present;
        command->waits = object.use_scoreboard && object.scoreboard_mask;
        command->indirect_length = object.indirect_data_length;
        command->indirect_start = object.indirect_data_start_address;
        command->place = (struct g4_media_position){(int32_t)object.scoreboard_x, (int32_t)object.scoreboard_y};
        command->color = object.scoreboard_color;
        break;
    }
    command->words = words + inline_data;
    command->count = dwords > inline_data ? dwords - inline_data : 0;
}

/* Descriptors were copied when MEDIA_INTERFACE_DESCRIPTOR_LOAD arrived. */
static void load_descriptor(const struct g4_context *ctx, struct g4_port *port, g4_address address,
                            struct g4_media_descriptor *descriptor) {
    const struct g4_gen7_state *const context = &ctx->state->gen7;
    const uint32_t number = ((uint32_t)address - context->media_descriptor_address) / DESCRIPTOR_BYTES;
    static const uint32_t nothing[8];
    struct gen7_interface_descriptor_data in;

    (void)port;
    gen7_interface_descriptor_data_unpack(
        number < context->media_descriptors ? context->media_descriptor[number] : nothing, ctx->gen, &in);
    *descriptor = (struct g4_media_descriptor){
        .kernel = in.kernel_start_pointer,
        .identity = number,
        .registers = G4_GRF_COUNT, /* every thread has all of them */
        .constants_offset = in.constant_urb_entry_read_offset,
        .constants_length = in.constant_urb_entry_read_length,
        .sampler_state = in.sampler_state_pointer,
        .binding_table = in.binding_table_pointer,
        .rounding_mode = (uint8_t)in.rounding_mode,
        .alternate_fp = in.floating_point_mode != 0,
        .single_program_flow = in.single_program_flow,
        .exceptions = g4_exceptions(in.mask_stack_exception_enable, in.illegal_opcode_exception_enable,
                                    in.software_exception_enable),
    };
}

static void pack_header(const struct g4_context *ctx, const struct g4_media_header *header, uint32_t r0[8]) {
    const struct gen7_payload_media_r0 fields = {
        .urb_handle = header->urb_handle,
        .scoreboard_x = (uint32_t)header->place.x,
        .scoreboard_y = (uint32_t)header->place.y,
        .interface_descriptor_offset = header->descriptor,
        .scoreboard_color = header->color,
        .sampler_state_pointer = header->sampler_state,
        .per_thread_scratch_space = header->scratch_size,
        .binding_table_pointer = header->binding_table,
        .scratch_space_pointer = header->scratch_space,
        .fftid = header->fftid,
        .thread_count = header->thread_count,
    };
    gen7_payload_media_r0_pack(&fields, ctx->gen, r0);
}

static void load_header(const struct g4_context *ctx, const uint32_t r0[8], struct g4_media_header *header) {
    struct gen7_payload_media_r0 fields;

    gen7_payload_media_r0_unpack(r0, ctx->gen, &fields);
    *header = (struct g4_media_header){
        .sampler_state = fields.sampler_state_pointer,
        .binding_table = fields.binding_table_pointer,
        .fftid = fields.fftid,
    };
}

/* docs/decisions.md 121. */
static void load_message(const struct g4_context *ctx, uint32_t descriptor, const uint32_t *header,
                         struct g4_spawner_message *message) {
    struct gen7_thread_spawner_message in;
    struct gen7_thread_spawner_message_header fields;

    gen7_thread_spawner_message_unpack(&descriptor, ctx->gen, &in);
    gen7_thread_spawner_message_header_unpack(header, ctx->gen, &fields);
    *message = (struct g4_spawner_message){
        .kind = G4_SPAWNER_END,
        .dereferences = !in.keep_urb_handle,
        .handle = fields.dispatch_urb_handle,
        .descriptor = fields.interface_descriptor_offset,
        .descriptor_is_number = true,
        .row = fields.dispatch_urb_handle + fields.urb_handle_offset,
        .length = fields.dispatch_urb_length,
    };
    if (in.opcode == GEN7_THREAD_SPAWNER_OPCODE_GEN6_SPAWN_THREAD) {
        message->kind = in.spawn_target == GEN7_SPAWN_TARGET_SYNCHRONIZED_ROOT_THREAD ? G4_SPAWNER_RELEASE_ROOT
                                                                                      : G4_SPAWNER_SPAWN_CHILD;
    }
}

const struct g4_media_loader g4_media_loader_gen7 = {
    .load_vfe = load_vfe,
    .load_object = load_object,
    .descriptor_bytes = DESCRIPTOR_BYTES,
    .load_descriptor = load_descriptor,
    .pack_header = pack_header,
    .load_header = load_header,
    .load_message = load_message,
};
