/*
 * Gen4 and Gen4.5: commands, inline data and state blocks of the media pipeline become the structs of media/state.h
 * (G45 PRM vol. 2, 10.6 and 10.7).
 */
#include <string.h>

#include "core/dispatch.h"
#include "hw_messages.h"
#include "hw_state.h"
#include "media/state.h"

#define REMAP(s)                                                                                                       \
    {                                                                                                                  \
        (uint8_t)(s).interface_descriptor_remap_0, (uint8_t)(s).interface_descriptor_remap_1,                          \
            (uint8_t)(s).interface_descriptor_remap_2, (uint8_t)(s).interface_descriptor_remap_3,                      \
            (uint8_t)(s).interface_descriptor_remap_4, (uint8_t)(s).interface_descriptor_remap_5,                      \
            (uint8_t)(s).interface_descriptor_remap_6, (uint8_t)(s).interface_descriptor_remap_7,                      \
            (uint8_t)(s).interface_descriptor_remap_8, (uint8_t)(s).interface_descriptor_remap_9,                      \
            (uint8_t)(s).interface_descriptor_remap_10, (uint8_t)(s).interface_descriptor_remap_11,                    \
            (uint8_t)(s).interface_descriptor_remap_12, (uint8_t)(s).interface_descriptor_remap_13,                    \
            (uint8_t)(s).interface_descriptor_remap_14, (uint8_t)(s).interface_descriptor_remap_15,                    \
    }

static struct g4_mpeg2_picture picture_of(const struct g4_vld_state *vld) {
    return (struct g4_mpeg2_picture){
        .f_code = {{vld->f_code_forward_horizontal, vld->f_code_forward_vertical},
                   {vld->f_code_backward_horizontal, vld->f_code_backward_vertical}},
        .coding_type = vld->picture_coding_type,
        .structure = vld->picture_structure,
        .intra_dc_precision = vld->intra_dc_precision,
        .quantizer_scale_type = vld->quantizer_scale_type,
        .scan_order = vld->scan_order,
        .top_field_first = vld->top_field_first,
        .frame_prediction_frame_dct = vld->frame_prediction_frame_dct,
        .concealment_motion_vectors = vld->concealment_motion_vector_flag,
        .intra_vlc_format = vld->intra_vlc_format,
    };
}

static void load_vfe(const struct g4_context *ctx, struct g4_vfe *vfe) {
    const struct g4_state *const context = ctx->state;
    const struct g4_quirks *const quirks = &ctx->model->quirks;
    struct g4_vfe_state state;
    struct g4_vld_state vld;
    struct g4_vfe_state_ex more;

    g4_vfe_state_unpack(context->vfe_latched, ctx->gen, &state);
    g4_vld_state_unpack(context->vfe_extended_latched, ctx->gen, &vld);
    g4_vfe_state_ex_unpack(context->vfe_extended_latched, ctx->gen, &more);
    const bool is_vld = state.vfe_mode == G4_VFE_MODE_VLD;
    *vfe = (struct g4_vfe){
        .mode = state.vfe_mode,
        .scratch_base = state.scratch_space_base_pointer,
        .scratch_bytes = state.per_thread_scratch_space,
        .scratch_size = is_vld ? 0 : state.per_thread_scratch_space / 1024 - 1,
        .max_threads = state.maximum_number_of_threads,
        .urb_entries = state.number_of_urb_entries,
        .urb_entry_units = state.urb_entry_allocation_size,
        .general_state_base = context->general_state_base,
        .surface_state_base = context->surface_state_base,
        .dynamic_state_base = context->general_state_base,
        .instruction_base = context->general_state_base,
        .indirect_object_base = context->indirect_object_base,
        .indirect_object_bound = context->indirect_object_bound,
        .descriptor_base = context->general_state_base + state.interface_descriptor_base_pointer,
        .counter_control = state.debug_counter_control,
        .object_id = more.object_id,
        .children_present = state.children_present,
        .extended = context->vfe_extended && (quirks->vfe_extends_all_modes || is_vld),
        .picture = picture_of(&vld),
        .avc = {.sub_fields = more.indirect_sub_field_present_flag,
                .weights_row = more.inter_weight_offset_grf_destination_offset,
                .residual_row = more.inter_residual_data_grf_destination_offset,
                .residual_offset_fixed = more.residual_data_fixed_source_offset_flag,
                .residual_offset = more.residual_data_source_offset},
    };
    const uint8_t of_vld[16] = REMAP(vld), of_others[16] = REMAP(more);
    memcpy(vfe->remap, is_vld ? of_vld : of_others, sizeof vfe->remap);
    for (uint8_t i = 0; i < 16 && !quirks->vfe_has_remap_table; i++) {
        vfe->remap[i] = i; /* the 965GM has no table */
    }
}

static void load_object(const struct g4_context *ctx, const uint32_t *words, uint32_t dwords,
                        struct g4_media_command *command) {
    struct g4_media_object object;
    struct g4_media_object_ex ex;
    struct g4_media_object_prt prt;

    *command = (struct g4_media_command){.words = words + 4, .count = dwords - 4};
    switch (g4_command_of(words[0])) {
    case G4_CMD_MEDIA_OBJECT_EX:
        g4_media_object_ex_unpack(words, ctx->gen, &ex);
        command->kind = G4_MEDIA_OBJECT_EX;
        command->descriptor_offset = ex.interface_descriptor_offset;
        command->synchronized = ex.thread_synchronization;
        command->indirect_length = ex.indirect_data_length;
        command->indirect_start = ex.indirect_data_start_address;
        break;
    case G4_CMD_MEDIA_OBJECT_PRT:
        g4_media_object_prt_unpack(words, ctx->gen, &prt);
        command->kind = G4_MEDIA_OBJECT_PRT;
        command->descriptor_offset = prt.interface_descriptor_offset;
        command->synchronized = prt.thread_synchronization;
        command->fence = prt.prt_fence_needed;
        break;
    default:
        g4_media_object_unpack(words, ctx->gen, &object);
        command->object_id = object.object_id;
        command->descriptor_offset = object.interface_descriptor_offset;
        command->retain = object.retain_bit;
        command->synchronized = object.thread_synchronization;
        command->indirect_length = object.indirect_data_length;
        command->indirect_start = object.indirect_data_start_address;
        break;
    }
}

enum {
    DESCRIPTOR_DWORDS = 4
};

static void load_descriptor(const struct g4_context *ctx, struct g4_port *port, g4_address address,
                            struct g4_media_descriptor *descriptor) {
    uint32_t words[DESCRIPTOR_DWORDS] = {0};
    struct g4_interface_descriptor in;

    (void)g4_mem_read(port, address, words, sizeof words);
    g4_interface_descriptor_unpack(words, ctx->gen, &in);
    *descriptor = (struct g4_media_descriptor){
        .kernel = in.kernel_start_pointer,
        .identity = (uint32_t)address - ctx->state->general_state_base,
        .registers = in.grf_register_count,
        .constants_offset = in.constant_urb_entry_read_offset,
        .constants_length = in.constant_urb_entry_read_length,
        .sampler_state = in.sampler_state_pointer,
        .binding_table = in.binding_table_pointer,
        .alternate_fp = in.floating_point_mode != 0,
        .single_program_flow = in.single_program_flow,
        .exceptions = g4_exceptions(in.mask_stack_exception_enable, in.illegal_opcode_exception_enable,
                                    in.software_exception_enable),
    };
}

static void pack_header(const struct g4_context *ctx, const struct g4_media_header *header, uint32_t r0[8]) {
    const struct g4_payload_media_r0 fields = {
        .urb_handle = header->urb_handle,
        .interface_descriptor_pointer = header->descriptor,
        .sampler_state_pointer = header->sampler_state,
        .per_thread_scratch_space = header->scratch_size,
        .binding_table_pointer = header->binding_table,
        .scratch_space_pointer = header->scratch_space,
        .fftid = header->fftid,
        .thread_count = header->thread_count,
    };
    g4_payload_media_r0_pack(&fields, ctx->gen, r0);
}

static void load_header(const struct g4_context *ctx, const uint32_t r0[8], struct g4_media_header *header) {
    struct g4_payload_media_r0 fields;

    g4_payload_media_r0_unpack(r0, ctx->gen, &fields);
    *header = (struct g4_media_header){
        .sampler_state = fields.sampler_state_pointer,
        .binding_table = fields.binding_table_pointer,
        .fftid = fields.fftid,
    };
}

static void load_message(const struct g4_context *ctx, uint32_t descriptor, const uint32_t *header,
                         struct g4_spawner_message *message) {
    struct g4_thread_spawner_message in;
    struct g4_thread_spawner_message_header fields;

    g4_thread_spawner_message_unpack(&descriptor, ctx->gen, &in);
    g4_thread_spawner_message_header_unpack(header, ctx->gen, &fields);
    *message = (struct g4_spawner_message){
        .kind = G4_SPAWNER_END,
        .dereferences = in.dereference_target == G4_DEREFERENCE_TARGET_DEREFERENCE_URB_HANDLE,
        .handle = fields.dispatch_urb_handle,
        .descriptor = ctx->state->general_state_base + fields.interface_descriptor_pointer,
        .row = 2 * fields.dispatch_urb_handle + fields.urb_handle_offset,
        .length = fields.dispatch_urb_length,
    };
    if (in.opcode == G4_THREAD_SPAWNER_OPCODE_SPAWN_THREAD) {
        message->kind = in.spawn_target == G4_SPAWN_TARGET_SYNCHRONIZED_ROOT_THREAD ? G4_SPAWNER_RELEASE_ROOT
                                                                                    : G4_SPAWNER_SPAWN_CHILD;
    }
}

static void load_vld_slice(const struct g4_context *ctx, const uint32_t *words, struct g4_vld_slice *slice) {
    struct g4_media_inline_vld in;

    g4_media_inline_vld_unpack(words, ctx->gen, &in);
    *slice = (struct g4_vld_slice){
        .x = in.slice_horizontal_position,
        .y = in.slice_vertical_position,
        .macroblocks = in.macroblock_count,
        .first_bit = in.first_macroblock_bit_offset,
        .quantizer_scale_code = in.quantizer_scale_code,
    };
}

static void load_is_coded(const struct g4_context *ctx, const uint32_t *words, bool coded[G4_MEDIA_BLOCKS]) {
    struct g4_media_inline_is in;

    g4_media_inline_is_unpack(words, ctx->gen, &in);
    const bool blocks[G4_MEDIA_BLOCKS] = {in.coded_block_y0, in.coded_block_y1, in.coded_block_y2,
                                          in.coded_block_y3, in.coded_block_cb, in.coded_block_cr};
    memcpy(coded, blocks, sizeof blocks);
}

static void load_avc(const struct g4_context *ctx, const uint32_t *words, struct g4_avc_macroblock *macroblock) {
    struct g4_media_inline_avc_it in;

    g4_media_inline_avc_it_unpack(words, ctx->gen, &in);
    *macroblock = (struct g4_avc_macroblock){
        .intra = in.intra_mb_flag,
        .transform_8x8 = in.transform_8x8_flag,
        .type = in.mb_type,
        .vectors = in.mv_size,
        .has_dc_y = in.dc_block_coded_y_flag,
        .has_dc_cb = in.dc_block_coded_cb_flag,
        .has_dc_cr = in.dc_block_coded_cr_flag,
        .coded_y = in.cbp_y,
        .coded_cb = in.cbp_cb,
        .coded_cr = in.cbp_cr,
        .qp_y = in.qp_prime_y,
        .qp_cb = in.qp_prime_cb,
        .qp_cr = in.qp_prime_cr,
        .scale_y = in.level_scale_y,
        .scale_cb = in.level_scale_cb,
        .scale_cr = in.level_scale_cr,
    };
}

static void load_avc_mc_coded(const struct g4_context *ctx, const uint32_t *words, bool coded[G4_MEDIA_BLOCKS]) {
    struct g4_media_inline_avc_mc in;

    g4_media_inline_avc_mc_unpack(words, ctx->gen, &in);
    const bool blocks[G4_MEDIA_BLOCKS] = {in.coded_block_y0, in.coded_block_y1, in.coded_block_y2,
                                          in.coded_block_y3, in.coded_block_cb, in.coded_block_cr};
    memcpy(coded, blocks, sizeof blocks);
}

static void load_vc1(const struct g4_context *ctx, const uint32_t *words, struct g4_vc1_macroblock *macroblock) {
    struct g4_media_inline_vc1_it in;

    g4_media_inline_vc1_it_unpack(words, ctx->gen, &in);
    *macroblock = (struct g4_vc1_macroblock){
        .x = in.horizontal_origin,
        .y = in.vertical_origin,
        .coded = {in.coded_block_y0, in.coded_block_y1, in.coded_block_y2, in.coded_block_y3, in.coded_block_cb,
                  in.coded_block_cr},
        .subblocks = {in.subblock_present_y0, in.subblock_present_y1, in.subblock_present_y2, in.subblock_present_y3,
                      in.subblock_present_cb, in.subblock_present_cr},
        .partitioning = {in.subblock_partitioning_y0, in.subblock_partitioning_y1, in.subblock_partitioning_y2,
                         in.subblock_partitioning_y3, in.subblock_partitioning_cb, in.subblock_partitioning_cr},
        .overlap = in.overlap_transform,
        .smooth_left = {in.edge_mask_left_y0, in.edge_mask_left_y1, in.edge_mask_left_y2, in.edge_mask_left_y3,
                        in.edge_mask_left_chroma, in.edge_mask_left_chroma},
    };
}

const struct g4_media_loader g4_media_loader_gen4 = {
    .load_vfe = load_vfe,
    .load_object = load_object,
    .descriptor_bytes = DESCRIPTOR_DWORDS * sizeof(uint32_t),
    .urb_rows = 2 * 384,
    .handle_shift = 1,
    .load_descriptor = load_descriptor,
    .pack_header = pack_header,
    .load_header = load_header,
    .load_message = load_message,
    .load_vld_slice = load_vld_slice,
    .load_is_coded = load_is_coded,
    .load_avc = load_avc,
    .load_avc_mc_coded = load_avc_mc_coded,
    .load_vc1 = load_vc1,
};
