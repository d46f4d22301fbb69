/*
 * Skylake and Kaby Lake: commands and payloads of the media pipeline become the structs of media/state.h (SKL PRM vol.
 * 2a and 7).  Addresses have 48 bits, threads of a group share a barrier and local memory, and VFE has the threads that
 * each one depends on.
 */
#include <string.h>

#include "core/dispatch.h"
#include "media/state.h"
#include "messages_gen9.h"
#include "state_gen9.h"

enum {
    DESCRIPTOR_BYTES = sizeof((struct g4_gen9_state *)0)->media_descriptor[0],
    URB_ENTRIES = 64,
    LARGEST_SCRATCH = 11, /* 2 MB */
    SHARED_MEMORY_UNIT = 512,
    LARGEST_SHARED_MEMORY = GEN9_SHARED_LOCAL_MEMORY_CODE_KIB_64,
};

static void load_scoreboard(const struct gen9_media_vfe_state *state, struct g4_vfe *vfe) {
    const struct g4_media_position distances[G4_MEDIA_DEPENDENCIES] = {
        {state->scoreboard_0_delta_x, state->scoreboard_0_delta_y},
        {state->scoreboard_1_delta_x, state->scoreboard_1_delta_y},
        {state->scoreboard_2_delta_x, state->scoreboard_2_delta_y},
        {state->scoreboard_3_delta_x, state->scoreboard_3_delta_y},
        {state->scoreboard_4_delta_x, state->scoreboard_4_delta_y},
        {state->scoreboard_5_delta_x, state->scoreboard_5_delta_y},
        {state->scoreboard_6_delta_x, state->scoreboard_6_delta_y},
        {state->scoreboard_7_delta_x, state->scoreboard_7_delta_y},
    };

    vfe->dependencies = state->scoreboard_enable ? state->scoreboard_mask : 0;
    memcpy(vfe->distance, distances, sizeof distances);
}

static void load_vfe(const struct g4_context *ctx, struct g4_vfe *vfe) {
    const struct g4_gen9_state *const context = &ctx->state->gen9;
    struct gen9_media_vfe_state state;

    gen9_media_vfe_state_unpack(context->media_vfe_state, ctx->gen, &state);
    *vfe = (struct g4_vfe){
        .mode = G4_VFE_MODE_GENERIC,
        .scratch_base = state.scratch_space_base_pointer,
        .scratch_bytes = 1024u << g4_min_u32(state.per_thread_scratch_space, LARGEST_SCRATCH),
        .scratch_size = state.per_thread_scratch_space,
        .max_threads = state.maximum_number_of_threads,
        .urb_entries = g4_min_u32(state.number_of_urb_entries, URB_ENTRIES),
        .urb_entry_units = state.urb_entry_allocation_size,
        .general_state_base = context->general_state_base,
        .surface_state_base = context->surface_state_base,
        .dynamic_state_base = context->dynamic_state_base,
        .instruction_base = context->instruction_base,
        .indirect_object_base = context->indirect_object_base,
        .descriptor_base = context->media_descriptor_address,
        .counter_control = G4_DEBUG_COUNTER_CONTROL_FREE_RUNNING,
        .gateways_open = true, /* MEDIA_VFE_STATE no longer has a choice */
    };
    load_scoreboard(&state, vfe);
}

static enum g4_group_loop group_loop_of(uint32_t select) {
    switch (select) {
    case GEN9_GROUP_ID_LOOP_COLOR_GROUPS:
        return G4_GROUP_LOOP_COLORS;
    case GEN9_GROUP_ID_LOOP_INNER_LOCAL_GROUPS:
        return G4_GROUP_LOOP_LOCAL_INNER;
    case GEN9_GROUP_ID_LOOP_MID_LOCAL_GROUPS:
        return G4_GROUP_LOOP_LOCAL_MIDDLE;
    case GEN9_GROUP_ID_LOOP_OUTER_LOCAL_GROUPS:
        return G4_GROUP_LOOP_LOCAL_OUTER;
    case GEN9_GROUP_ID_LOOP_INNER_GLOBAL_GROUPS:
        return G4_GROUP_LOOP_GLOBAL_INNER;
    default:
        return G4_GROUP_LOOP_NONE;
    }
}

static void load_walk(const struct gen9_media_object_walker *in, struct g4_media_command *command) {
    command->kind = G4_MEDIA_OBJECT_WALKER;
    command->descriptor_offset = in->interface_descriptor_offset;
    command->synchronized = in->thread_synchronization;
    command->dependencies = in->use_scoreboard ? in->scoreboard_mask : 0;
    command->indirect_length = in->indirect_data_length;
    command->indirect_start = in->indirect_data_start_address;
    command->walk = (struct g4_media_walk){
        .picture = {(int32_t)in->global_resolution_x, (int32_t)in->global_resolution_y},
        .global_start = {in->global_start_x, in->global_start_y},
        .global_outer = {in->global_outer_loop_stride_x, in->global_outer_loop_stride_y},
        .global_inner = {in->global_inner_loop_unit_x, in->global_inner_loop_unit_y},
        .block = {(int32_t)in->block_resolution_x, (int32_t)in->block_resolution_y},
        .local_start = {(int32_t)in->local_start_x, (int32_t)in->local_start_y},
        .local_outer = {in->local_outer_loop_stride_x, in->local_outer_loop_stride_y},
        .local_middle = {in->mid_loop_unit_x, in->local_mid_loop_unit_y},
        .local_inner = {in->local_inner_loop_unit_x, in->local_inner_loop_unit_y},
        .global_steps = in->global_loop_exec_count,
        .local_steps = in->local_loop_exec_count,
        .middle_steps = in->middle_loop_extra_steps,
        .colors = in->color_count_minus_one + 1,
        .group_loop = group_loop_of(in->group_id_loop_select),
    };
}

enum {
    OBJECT_DWORDS = 6,
    GROUP_OBJECT_DWORDS = 7,
    PRT_DWORDS = 4,
    WALKER_DWORDS = 17,
};

static void load_placed(const struct gen9_media_object *object, struct g4_media_command *command) {
    command->descriptor_offset = object->interface_descriptor_offset;
    command->dependencies = object->use_scoreboard ? object->scoreboard_mask : 0;
    command->indirect_length = object->indirect_data_length;
    command->indirect_start = object->indirect_data_start_address;
    command->place = (struct g4_media_position){(int32_t)object->scoreboard_x, (int32_t)object->scoreboard_y};
    command->color = object->scoreboard_color;
}

static void load_object(const struct g4_context *ctx, const uint32_t *words, uint32_t dwords,
                        struct g4_media_command *command) {
    uint32_t whole[WALKER_DWORDS] = {0}; /* the fixed part of a command that is cut short has zeros */
    struct gen9_media_object object;
    struct gen9_media_object_grpid grouped;
    struct gen9_media_object_prt prt;
    struct gen9_media_object_walker walker;
    uint32_t inline_data = OBJECT_DWORDS;

    memcpy(whole, words, g4_min_u32(dwords, WALKER_DWORDS) * sizeof *words);
    *command = (struct g4_media_command){.kind = G4_MEDIA_OBJECT};
    switch (gen9_command_of(words[0])) {
    case GEN9_CMD_MEDIA_OBJECT_PRT:
        inline_data = PRT_DWORDS;
        gen9_media_object_prt_unpack(whole, ctx->gen, &prt);
        command->kind = G4_MEDIA_OBJECT_PRT;
        command->descriptor_offset = prt.interface_descriptor_offset;
        command->fence = prt.prt_fence_needed;
        command->children = prt.children_present;
        break;
    case GEN9_CMD_MEDIA_OBJECT_WALKER:
        inline_data = WALKER_DWORDS;
        gen9_media_object_walker_unpack(whole, ctx->gen, &walker);
        load_walk(&walker, command);
        break;
    case GEN9_CMD_MEDIA_OBJECT_GRPID:
        inline_data = GROUP_OBJECT_DWORDS;
        gen9_media_object_unpack(whole, ctx->gen, &object); /* which has most fields in the same places */
        gen9_media_object_grpid_unpack(whole, ctx->gen, &grouped);
        load_placed(&object, command);
        command->grouped = true;
        command->group = grouped.groupid;
        command->ends_group = grouped.end_of_thread_group;
        break;
    default:
        gen9_media_object_unpack(whole, ctx->gen, &object);
        load_placed(&object, command);
        command->synchronized = object.thread_synchronization;
        command->children = object.children_present;
        break;
    }
    command->words = words + g4_min_u32(dwords, inline_data);
    command->count = dwords > inline_data ? dwords - inline_data : 0;
}

/* Descriptors were copied when MEDIA_INTERFACE_DESCRIPTOR_LOAD arrived. */
static void load_descriptor(const struct g4_context *ctx, struct g4_port *port, g4_address address,
                            struct g4_media_descriptor *descriptor) {
    const struct g4_gen9_state *const context = &ctx->state->gen9;
    const g4_address number =
        ((address - context->media_descriptor_address) & port->mem->address_mask) / DESCRIPTOR_BYTES;
    static const uint32_t nothing[8];
    struct gen9_interface_descriptor_data in;

    gen9_interface_descriptor_data_unpack(
        number < context->media_descriptors ? context->media_descriptor[number] : nothing, ctx->gen, &in);
    const uint32_t code = g4_min_u32(in.shared_local_memory_size, (uint32_t)LARGEST_SHARED_MEMORY);
    *descriptor = (struct g4_media_descriptor){
        .kernel = in.kernel_start_pointer,
        .identity = (uint32_t)number,
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
        .shared_bytes = code ? (uint32_t)SHARED_MEMORY_UNIT << code : 0,
        .barrier_threads = in.barrier_enable ? in.number_of_threads_in_gpgpu_thread_group : 0,
    };
}

static void pack_header(const struct g4_context *ctx, const struct g4_media_header *header, uint32_t r0[8]) {
    const struct gen9_payload_media_r0 fields = {
        .urb_handle = header->urb_handle,
        .shared_local_memory_index = header->group_slot,
        .scoreboard_x = (uint32_t)header->place.x,
        .scoreboard_y = (uint32_t)header->place.y,
        .barrier_id = header->group_slot,
        .interface_descriptor_offset = header->descriptor,
        .scoreboard_color = header->color,
        .sampler_state_pointer = header->sampler_state,
        .per_thread_scratch_space = header->scratch_size,
        .binding_table_pointer = header->binding_table,
        .scratch_space_pointer = header->scratch_space,
        .fftid = header->fftid,
        .thread_count = header->thread_count,
        .group_id = header->group,
    };
    gen9_payload_media_r0_pack(&fields, ctx->gen, r0);
}

static void load_header(const struct g4_context *ctx, const uint32_t r0[8], struct g4_media_header *header) {
    struct gen9_payload_media_r0 fields;

    gen9_payload_media_r0_unpack(r0, ctx->gen, &fields);
    *header = (struct g4_media_header){
        .sampler_state = fields.sampler_state_pointer,
        .binding_table = fields.binding_table_pointer,
        .fftid = fields.fftid,
    };
}

/* The messages of Gen7. */
static void load_message(const struct g4_context *ctx, uint32_t descriptor, const uint32_t *header,
                         struct g4_spawner_message *message) {
    g4_media_loader_gen7.load_message(ctx, descriptor, header, message);
}

const struct g4_media_loader g4_media_loader_gen9 = {
    .load_vfe = load_vfe,
    .load_object = load_object,
    .descriptor_bytes = DESCRIPTOR_BYTES,
    .load_descriptor = load_descriptor,
    .pack_header = pack_header,
    .load_header = load_header,
    .load_message = load_message,
};
