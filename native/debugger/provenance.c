/*
 * Where values come from: the operands of an instruction, the layout of a payload, the memory behind a vertex, the
 * texels of a message.
 */
#include <stdlib.h>
#include <string.h>

#include "debugger/debug.h"
#include "functions/table.h"
#include "geometry/fetch.h"
#include "geometry/setup_gen6.h"
#include "hw_messages.h"
#include "messages_gen7.h"
#include "raster/windower_state.h"
#include "sampler/message.h"
#include "sampler/texel.h"

_Static_assert((int)G4_DEBUG_CHANNELS == (int)G4_PASS_CHANNELS, "an operand has all channels of a pass");
_Static_assert((int)G4_DEBUG_CONSTANT_BUFFERS == (int)G4_CONSTANT_BUFFERS, "events show all constant buffers");
_Static_assert((int)G4_DEBUG_ATTRIBUTES == (int)G4_ATTRIBUTES, "payloads show all attributes");

static const struct g4_debug *seen_by(const struct g4_device *device) {
    const struct g4_debug *const debug = g4_debug_of(device->ctx.hooks);
    return debug && debug->seen ? debug : NULL;
}

/* ---- instructions ---- */

static uint32_t file_of(uint8_t kind) {
    switch (kind) {
    case G4_KIND_IMM:
        return G4_OPERAND_IMMEDIATE;
    case G4_KIND_GRF:
    case G4_KIND_INDIRECT:
    case G4_KIND_INDEXED:
        return G4_OPERAND_GRF;
    case G4_KIND_MRF:
        return G4_OPERAND_MRF;
    case G4_KIND_ACC:
        return G4_OPERAND_ACCUMULATOR;
    case G4_KIND_ARF:
        return G4_OPERAND_ARCHITECTURE;
    default:
        return G4_OPERAND_NONE;
    }
}

/* The first byte of the region that channel c of a pass belongs to, before g4_region_offset(). */
static unsigned start_of(const struct g4_gang *gang, int t, const struct g4_op *op, const struct g4_src *src, int pass,
                         unsigned c) {
    const unsigned own = src->flat ? 0 : (unsigned)pass;
    unsigned row;
    switch (src->kind) {
    case G4_KIND_INDIRECT:
        return g4_indirect_byte(gang, t, (src->addr_sub + own) & op->address_mask, src->addr_imm) +
               (src->flat && pass ? src->pass_bytes : 0u);
    case G4_KIND_INDEXED: /* each row has an address, so the region restarts there */
        row = c / src->width + (pass ? g4_second_pass_addresses(src, op->channels / src->width) : 0);
        return g4_indirect_byte(gang, t, (src->addr_sub + row) & op->address_mask, src->addr_imm) -
               c / src->width * src->vstride * src->size;
    default:
        return src->base + (pass ? src->pass_bytes : 0u);
    }
}

static void read_source(const struct g4_gang *gang, int t, const struct g4_op *op, const struct g4_src *src,
                        struct g4_debug_operand *out) {
    out->file = file_of(src->kind);
    out->type = src->type;
    out->size = src->size;
    for (int pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < op->channels; c++) {
            const unsigned i = (unsigned)pass * op->channels + c;
            if (i >= G4_DEBUG_CHANNELS) {
                return;
            }
            if (src->kind == G4_KIND_IMM && src->size == 8) {
                out->value[i] = src->imm[0] | (uint64_t)src->imm[1] << 32;
            } else if (src->kind == G4_KIND_IMM) {
                out->value[i] = src->imm[(c + (pass ? src->pass_bytes : 0u)) & 7];
            } else if (out->file != G4_OPERAND_NONE) {
                const unsigned first = src->kind == G4_KIND_ARF ? src->reg * 32u : 0;
                out->at[i] = (int32_t)(first + start_of(gang, t, op, src, pass, c) + g4_region_offset(src, c));
            }
        }
    }
}

static void read_destination(const struct g4_gang *gang, int t, const struct g4_op *op, struct g4_debug_operand *out) {
    const struct g4_dst *const dst = &op->dst;
    out->file = file_of(dst->kind);
    out->type = dst->type;
    out->size = dst->size;
    for (int pass = 0; pass < op->passes; pass++) {
        const unsigned own = dst->flat ? 0 : (unsigned)pass;
        unsigned first = dst->base + (pass ? dst->pass_bytes : 0u);
        if (dst->kind == G4_KIND_INDIRECT) {
            first = g4_indirect_byte(gang, t, (dst->addr_sub + own) & op->address_mask, dst->addr_imm) +
                    (dst->flat && pass ? dst->pass_bytes : 0u);
        } else if (dst->kind == G4_KIND_ARF) {
            first += dst->reg * 32u;
        } else if (op->opcode == G4_OPCODE_SEND) { /* the second pass of a math message answers to the next register */
            first = dst->base + (unsigned)pass * G4_REGISTER_BYTES;
        }
        for (unsigned c = 0; c < op->channels; c++) {
            const unsigned i = (unsigned)pass * op->channels + c;
            if (i < G4_DEBUG_CHANNELS) {
                out->at[i] = (int32_t)(first + c * dst->hstride * dst->size);
            }
        }
    }
}

static bool writes_flags(const struct g4_op *op) {
    return op->cond != 0 && op->opcode != G4_OPCODE_SEL && op->opcode != G4_OPCODE_SEND && op->opcode != G4_OPCODE_MATH;
}

/* The accumulator of the first pass: one that is an operand, or the implicit one. */
static uint32_t accumulator_of(const struct g4_op *op) {
    for (int s = 0; s < g4_opcode_info[op->opcode].sources && s < 3; s++) {
        if (op->src[s].kind == G4_KIND_ACC) {
            return op->src[s].reg & 1u;
        }
    }
    return (op->dst.kind == G4_KIND_ACC ? op->dst.reg : op->acc) & 1u;
}

bool g4_debug_read_instruction(const struct g4_device *device, struct g4_debug_instruction *out) {
    const struct g4_debug *const debug = seen_by(device);
    if (!debug || !debug->seen_run || !debug->seen_run->op) {
        return false;
    }
    struct g4_gang *const gang = debug->seen;
    const struct g4_op *const op = debug->seen_run->op;
    const int t = debug->seen_thread;
    const bool is_message = op->opcode == G4_OPCODE_SEND;

    *out = (struct g4_debug_instruction){
        .opcode = op->opcode,
        .channels = op->channels * (uint32_t)op->passes,
        .per_pass = op->channels,
        .predicated = op->predicate != G4_PRED_NONE,
        .writes_flags = writes_flags(op),
        .reads_accumulator = (g4_opcode_info[op->opcode].flags & G4_OPF_ACC_READ) != 0,
        .writes_accumulator = op->acc_write,
        .accumulator = {accumulator_of(op), (accumulator_of(op) + 1u) & 1u},
        .sources = g4_opcode_info[op->opcode].sources,
        .is_message = is_message,
        .end = op->eot,
        .grf_payload = op->grf_payload,
        .payload = op->mrf,
    };
    for (int pass = 0; pass < op->passes; pass++) {
        const uint32_t enabled = g4_enabled_channels(debug->seen_run, op, pass, t, op->opcode != G4_OPCODE_SEL);
        out->first_channel[pass] = op->first_channel[pass] + (gang->wide && op->upper ? 16u : 0u);
        for (unsigned c = 0; c < op->channels; c++) {
            const unsigned i = (unsigned)pass * op->channels + c;
            if (i < G4_DEBUG_CHANNELS) {
                const bool stored = is_message || (op->dst.writemask >> (c & 3) & 1);
                out->enabled |= (enabled >> c & (uint32_t)stored) << i;
                out->flag[i] = (op->first_flag[pass] + c) & op->flag_mask;
            }
        }
    }
    for (uint32_t s = 0; s < out->sources && s < 3; s++) {
        read_source(gang, t, op, &op->src[s], &out->source[s]);
    }
    read_destination(gang, t, op, &out->destination);
    if (is_message) {
        out->descriptor = g4_descriptor_of(gang, op, t);
        out->sfid = op->grf_payload ? op->function : g4_message_descriptor_shared_function(out->descriptor);
        out->payload_length = op->grf_payload ? gen7_message_descriptor_message_length(out->descriptor)
                                              : g4_message_descriptor_message_length(out->descriptor);
        out->second_payload = op->second_payload;
        out->second_length = g4_second_length(gang, op, t);
    }
    return true;
}

/* ---- payloads ---- */

static int stage_of(uint32_t unit) {
    return unit == G4_UNIT_VS ? G4_STAGE_VS : unit == G4_UNIT_SF ? G4_STAGE_SF : unit == G4_UNIT_WM ? G4_STAGE_WM : -1;
}

static void read_attributes(const struct g4_draw_state *draw, struct g4_debug_payload *out) {
    const struct g4_attribute_setup *const sbe = &draw->attributes;
    out->attributes = sbe->count < G4_ATTRIBUTES ? sbe->count : G4_ATTRIBUTES;
    for (uint32_t i = 0; i < out->attributes; i++) {
        out->attribute_slot[i] = 2 * sbe->read_offset + sbe->attribute[i].source;
        out->attribute_replaced[i] = sbe->attribute[i].replaced;
        out->attribute_flat[i] = sbe->attribute[i].flat;
    }
}

bool g4_debug_read_payload(const struct g4_device *device, struct g4_debug_payload *out) {
    const struct g4_debug *const debug = seen_by(device);
    const int number = debug ? stage_of(debug->seen->dispatch->unit) : -1;
    if (number < 0) {
        return false;
    }
    const struct g4_draw_state *const draw = device->draw_state;
    const struct g4_stage *const stage = &draw->stage[number];
    const struct g4_wm *const wm = device->worker[0]->wm;

    *out = (struct g4_debug_payload){
        .constant_register = stage->grf_start,
        .constant_rows = stage->constant_rows,
        .constant_offset = stage->constant_offset,
        .input_rows = stage->input_rows,
        .input_offset = stage->input_offset,
        .pairs = number == G4_STAGE_VS && !stage->eight_channels,
        .is_setup = number == G4_STAGE_WM,
        .transposed = draw->windower.setup_transposed,
    };
    memcpy(out->constant_buffer_rows, stage->constant_buffer_rows, sizeof out->constant_buffer_rows);
    for (int i = 0; i < G4_CONSTANT_BUFFERS; i++) {
        out->constant_address[i] = stage->constant_address[i];
    }
    if (number == G4_STAGE_WM && device->ctx.model->run_setup != g4_setup_run_gen6) {
        out->constant_register *= wm->mode == G4_WM_32 ? 2 : 1;
    } else if (number == G4_STAGE_WM) {
        const struct g4_pixel_block *const block = debug->seen->unit_data[debug->seen_thread];
        const uint32_t width = wm->dispatch.entry[wm->mode];
        out->constant_register = draw->windower.grf_start[width < 3 ? width : 0];
        out->input_rows = block && block->setup ? block->setup->entry_rows : 0;
        out->input_offset = 0;
        read_attributes(draw, out);
    }
    out->input_register = out->constant_register + out->constant_rows;
    return true;
}

/* ---- vertices ---- */

bool g4_debug_read_vertex_source(const struct g4_device *device, const struct g4_debug_origin *vertex, uint32_t dword,
                                 struct g4_debug_vertex_source *out) {
    if (!device->ctx.hooks) {
        return false;
    }
    const struct g4_draw_state *const draw = device->draw_state;
    const struct g4_vertex_ids ids = {.vertex_index = vertex->index,
                                      .vertex_id = vertex->id,
                                      .instance_id = vertex->instance,
                                      .primitive_id = vertex->primitive_id,
                                      .start_instance = draw->primitive.start_instance};
    struct g4_vertex_fetch fetch;
    uint32_t component = 0;
    g4_address address = 0;
    bool reads = false;

    g4_vertex_fetch_setup(&device->ctx, draw, device->worker[0]->eu.log, &fetch);
    const struct g4_fetch *const f = g4_fetch_element_of(&fetch, &ids, dword, &component, &address, &reads);
    if (!f) {
        return false;
    }
    *out = (struct g4_debug_vertex_source){
        .element = (uint32_t)(f - fetch.element),
        .component = component,
        .address = address,
        .bytes = reads ? f->format->block_bits / 8u : 0,
        .control = f->control[component],
    };
    return true;
}

/* ---- texels ---- */

void g4_debug_log_texels(struct g4_device *device, uint32_t channel) {
    struct g4_debug *const debug = g4_debug_of(device->ctx.hooks);
    if (debug && debug->seen && channel < 2 * 8) {
        debug->texels_of = g4_debug_gang_of(debug, debug->seen)->thread[debug->seen_thread].serial;
        debug->texel_channel = channel;
    }
}

uint32_t g4_debug_read_texels(const struct g4_device *device, struct g4_debug_texel *texels) {
    const struct g4_debug *const debug = g4_debug_of(device->ctx.hooks);
    const uint32_t count = debug ? debug->texels : 0;
    if (count) {
        memcpy(texels, debug->texel, count * sizeof *texels);
    }
    return count;
}

/* Executes the message for one channel, on a copy of the registers. */
static void run_logged(struct g4_debug *debug, struct g4_eu *eu, struct g4_gang *copy, const struct g4_send *send,
                       int t) {
    struct g4_logged_texel *const logged = calloc(G4_DEBUG_TEXELS, sizeof *logged);
    struct g4_texel_log log = {.texel = logged, .most = G4_DEBUG_TEXELS, .next.weight = 1.0f};
    struct g4_send one = *send;
    const uint32_t half = debug->texel_channel / 8;

    if (!logged) {
        return;
    }
    one.threads = (uint8_t)(1u << t);
    one.eot = false;
    for (uint32_t h = 0; h < 2; h++) {
        one.emask[h] &= h == half ? (g4_lanes)1 << (8 * t + (int)debug->texel_channel % 8) : 0;
    }
    g4_sampler_cache_log(eu->samplers, &log);
    (void)eu->ctx->model->functions[send->sfid](eu, copy, &one);
    g4_sampler_cache_log(eu->samplers, NULL);
    debug->texels = log.count < log.most ? log.count : log.most;
    for (uint32_t i = 0; i < debug->texels; i++) {
        debug->texel[i] = (struct g4_debug_texel){.address = logged[i].address,
                                                  .bytes = logged[i].bytes,
                                                  .x = logged[i].x,
                                                  .y = logged[i].y,
                                                  .level = logged[i].level,
                                                  .weight = logged[i].weight};
    }
    free(logged);
}

void g4_debug_log_message(struct g4_debug *debug, struct g4_eu *eu, const struct g4_gang *gang,
                          const struct g4_send *send) {
    int t = -1;
    for (int i = 0; i < G4_GANG_THREADS; i++) {
        t = (send->threads >> i & 1) && debug->current->thread[i].serial == debug->texels_of ? i : t;
    }
    if (t < 0) {
        return;
    }
    debug->texels_of = 0;
    debug->texels = 0;
    g4_message_fn *const function = eu->ctx->model->functions[send->sfid];
    if (function != g4_message_sampler && function != g4_message_sampler_gen7) {
        return;
    }
    if (!debug->texel) {
        debug->texel = malloc(G4_DEBUG_TEXELS * sizeof *debug->texel);
    }
    struct g4_gang *const copy = aligned_alloc(64, (sizeof *copy + 63) & ~(size_t)63);
    if (copy && debug->texel) {
        memcpy(copy, gang, sizeof *copy);
        run_logged(debug, eu, copy, send, t);
    }
    free(copy);
}
