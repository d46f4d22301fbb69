/*
 * The sampler's messages: reads the payload, looks texels up and writes the response (965 PRM vol. 4, 4.8).
 */
#include "sampler/message.h"
#include "core/util.h"
#include "hw_messages.h"

#include <stdlib.h>

#include "api/live.h"
#include "core/report.h"
#include "core/variant.h"
#include "eu/worker.h"
#include "hw_messages.h"
#include "sampler/call.h"

G4_VARIANT_DECLARE(struct g4_sampler_ops, g4_sampler_ops);

struct g4_sampler_cache *g4_sampler_cache_new(void) {
    struct g4_sampler_cache *const cache = calloc(1, sizeof *cache);
    if (cache) {
        cache->epoch = 1;
        cache->plan_epoch = 1;
        cache->reader.srgb = g4_srgb_decoder();
    }
    return cache;
}

void g4_sampler_cache_prepare(struct g4_sampler_cache *cache) {
    g4_provide(cache, sizeof *cache);
}

void g4_sampler_cache_free(struct g4_sampler_cache *cache) {
    free(cache);
}

void g4_sampler_cache_log(struct g4_sampler_cache *cache, struct g4_texel_log *log) {
    cache->reader.log = log;
}

void g4_sampler_cache_reset(struct g4_sampler_cache *cache) {
    g4_texel_forget_blocks(&cache->reader);
    cache->plan_epoch++;
    if (++cache->epoch == 0) {
        for (int i = 0; i < G4_TEXTURE_SLOTS; i++) {
            cache->texture[i].epoch = 0;
        }
        for (int i = 0; i < G4_SAMPLER_SLOTS; i++) {
            cache->sampler[i].epoch = 0;
        }
        cache->epoch = 1;
    }
}

static const struct g4_sampler_ops *const variants[] = G4_VARIANT_TABLE(g4_sampler_ops);

const struct g4_sampler_ops *g4_sampler_ops_of_variant(void) {
    return variants[g4_variant_current()];
}

void g4_sampler_report(const struct g4_sampler_call *c, enum g4_event event, uint32_t value) {
    const int thread = __builtin_ctz(c->threads | 1u << (G4_GANG_THREADS - 1));
    g4_message_error(c->eu, c->gang, c->send, thread, event, value);
}

/* ---- state ---- */

const struct g4_texture *g4_sampler_find_texture(const struct g4_sampler_call *c, uint32_t index) {
    const struct g4_dispatch *const d = c->gang->dispatch;
    struct g4_texture_slot *const slot = &c->cache->texture[((d->binding_table >> 5) + index) % G4_TEXTURE_SLOTS];

    if (slot->epoch != c->cache->epoch || slot->index != index || slot->binding_table != d->binding_table ||
        slot->surface_state_base != d->surface_state_base) {
        const struct g4_surface *const surface = g4_surface_get(c->eu->surfaces, c->eu->ctx, c->cache->reader.port,
                                                                d->surface_state_base, d->binding_table, index);
        g4_texture_setup(&slot->texture, surface, c->cache->reader.srgb, c->eu->ctx->model);
        memset(slot->contiguous, 0, sizeof slot->contiguous);
        slot->texture.contiguous = slot->contiguous;
        c->cache->plan_epoch++;
        slot->texture.direct = c->eu->ctx->options.general_only ? G4_DIRECT_NONE : slot->texture.direct;
        slot->epoch = c->cache->epoch;
        slot->surface_state_base = d->surface_state_base;
        slot->binding_table = d->binding_table;
        slot->index = index;
    }
    return &slot->texture;
}

const struct g4_texture_sampler *g4_sampler_find_sampler(const struct g4_sampler_call *c) {
    struct g4_sampler_slot *const slot = &c->cache->sampler[(c->sampler_state >> 4) % G4_SAMPLER_SLOTS];

    if (slot->epoch != c->cache->epoch || slot->address != c->sampler_state || slot->state_base != c->state_base) {
        g4_texture_sampler_setup(&slot->sampler, c->cache->reader.port, c->eu->ctx->model, c->state_base,
                                 c->sampler_state);
        c->cache->plan_epoch++;
        slot->epoch = c->cache->epoch;
        slot->address = c->sampler_state;
        slot->state_base = c->state_base;
    }
    return &slot->sampler;
}

/* ---- payload ---- */

static const float zeros[G4_BATCH];
static const struct g4_parameter no_parameter = {{zeros, zeros}};

void g4_sampler_spread_4x2(const struct g4_sampler_call *c) {
    const unsigned registers = c->send->mlen > c->data ? c->send->mlen - c->data : 0;
    for (unsigned slot = 0; slot < G4_SAMPLER_PARAMETERS_4X2; slot++) {
        for (int t = 0; t < G4_GANG_THREADS && slot / 4 < registers; t++) {
            const uint32_t *const row = g4_payload(c->gang, c->send, c->data + slot / 4, t);
            memcpy(&c->cache->parameter[slot][8 * t], &row[slot % 4], sizeof(float));
            memcpy(&c->cache->parameter[slot][8 * t + 4], &row[4 + slot % 4], sizeof(float));
        }
    }
}

struct g4_parameter g4_sampler_parameter(const struct g4_sampler_call *c, enum g4_sampler_parameter name) {
    const unsigned slot = c->message->slot[name];
    const unsigned per_register = c->message->simd == 4 ? 4 : 1;
    const unsigned per_parameter = c->message->simd == 16 ? 2 : 1;
    const unsigned first = c->data + slot / per_register * per_parameter;
    if (slot == G4_SAMPLER_NO_PARAMETER || first + per_parameter > c->send->mlen) {
        return no_parameter;
    }
    if (c->message->simd == 4) {
        return (struct g4_parameter){{c->cache->parameter[slot], zeros}};
    }
    const float *const low = g4_payload_register(c->gang, c->send, first)->f[0];
    return (struct g4_parameter){
        {low, per_parameter == 2 ? g4_payload_register(c->gang, c->send, first + 1)->f[0] : zeros}};
}

static bool is_shadow(const struct g4_sampler_call *c) {
    return g4_sampler_has(c, G4_SAMPLER_PARAMETER_REF);
}

static enum g4_lod_source lod_source(const struct g4_sampler_call *c) {
    /* messages that deliver level 0 have no parameter for it, which reads as 0 */
    if (c->message->operation == G4_SAMPLER_OP_SAMPLE_L || c->message->operation == G4_SAMPLER_OP_SAMPLE_L_C) {
        return G4_LOD_DELIVERED;
    }
    if (g4_sampler_has(c, G4_SAMPLER_PARAMETER_DUDX)) {
        return G4_LOD_GRADIENTS;
    }
    return c->message->simd == 4 ? G4_LOD_ZERO : G4_LOD_COMPUTED;
}

/* ---- writeback ---- */

static void write_wide(const struct g4_sampler_call *c) {
    const bool wide = c->message->simd == 16;
    const bool packed = wide || c->removes_masked_channels; /* masked channels have no registers */
    unsigned next = 0;
    for (unsigned channel = 0; channel < 4; channel++) {
        if (c->channel_mask >> channel & 1) {
            next += packed ? 0 : 1;
            continue;
        }
        for (unsigned half = 0; half < (wide ? 2u : 1u); half++) {
            uint32_t *const row = g4_response(c->gang, c->send, next++, 0);
            if (row && c->active[half]) {
                g4_sampler_ops_of_variant()->merge(&c->cache->result[channel][half * G4_BATCH], c->active[half], row);
            }
        }
    }
}

static void write_4x2(const struct g4_sampler_call *c) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        uint32_t *const row = g4_response(c->gang, c->send, 0, t);
        for (int sample = 0; row && sample < 2; sample++) {
            const unsigned lane = 8 * (unsigned)t + 4 * (unsigned)sample;
            for (int channel = 0; (c->active[0] >> lane & 1) && channel < 4; channel++) {
                const bool enabled = !c->writes_channels || (c->send->emask[0] >> (lane + (unsigned)channel) & 1);
                if (enabled && !(c->channel_mask >> channel & 1)) {
                    row[4 * sample + channel] = c->cache->result[channel][lane];
                }
            }
        }
    }
}

void g4_sampler_write_back(const struct g4_sampler_call *c) {
    if (c->message->simd == 4) {
        write_4x2(c);
    } else {
        write_wide(c);
    }
}

void g4_sampler_write_zeros(const struct g4_sampler_call *c) {
    memset(c->cache->result, 0, sizeof c->cache->result);
    g4_sampler_write_back(c);
}

void g4_sampler_write_kill_mask(const struct g4_sampler_call *c, g4_lanes killed) {
    const uint32_t absent = c->removes_masked_channels ? c->channel_mask & 0xfu : 0;
    const unsigned after = 4 - (unsigned)__builtin_popcount(absent);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        uint32_t *const row = g4_response(c->gang, c->send, after, t);
        if (row && (c->threads >> t & 1)) {
            const uint32_t off =
                c->eu->ctx->model->quirks.killed_mask_includes_disabled ? ~g4_thread_lanes(c->active[0], t) & 0xff : 0;
            row[0] = 0xffffff00u | (~(g4_thread_lanes(killed, t) | off) & 0xff);
        }
    }
}

/* ---- sample ---- */

/* Checks whether sample messages can use the surface.  Returns the event to report, with zeros as the result;
 * G4_EVENTS: none. */
static enum g4_event refusal(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    const struct g4_texture *const texture = c->texture;
    const bool shadow = is_shadow(c);
    const bool mono8 = texture->surface.format_code == G4_SURFACE_FORMAT_MONO8;

    if (!texture->can_sample || (mono8 && !sampler->mono)) {
        return G4_EVENT_BAD_FORMAT;
    }
    if (texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_BUFFER || (shadow && texture->volume)) {
        return G4_EVENT_BAD_SURFACE;
    }
    return G4_EVENTS;
}

/* Reports uses that the manual does not allow, but that work. */
static void report_doubts(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    const struct g4_texture *const texture = c->texture;
    const bool shadow = is_shadow(c);
    const uint32_t format = texture->surface.format_code;
    const struct g4_quirks *const quirks = &c->eu->ctx->model->quirks;

    if (texture->integers || (shadow && !(texture->format->shadow & texture->gen)) ||
        (sampler->keyed && !(texture->format->chroma_key & texture->gen))) {
        g4_sampler_report(c, G4_EVENT_BAD_FORMAT, format);
    }
    if (shadow && texture->cube && quirks->shadow_of_cubes_differs) {
        g4_sampler_report(c, G4_EVENT_SILICON_DIFFERS, c->send->descriptor); /* docs/decisions.md 34 */
    }
    if (c->message->simd == 4 && shadow) {
        const bool needs_level = lod_source(c) == G4_LOD_ZERO && !c->force_lod_to_zero;
        if (needs_level || (lod_source(c) == G4_LOD_DELIVERED && quirks->sample_c_with_lod_differs)) {
            g4_sampler_report(c, needs_level ? G4_EVENT_BAD_MESSAGE : G4_EVENT_SILICON_DIFFERS, c->send->descriptor);
        }
    }
    if (sampler->mip_filter == 2) {
        g4_sampler_report(c, G4_EVENT_BAD_STATE, sampler->mip_filter);
    }
}

static void find_gradients(const struct g4_sampler_call *c, struct g4_request *request) {
    for (int i = 0; i < G4_GRADIENTS; i++) {
        request->gradient[i] = g4_sampler_parameter(c, (enum g4_sampler_parameter)(G4_SAMPLER_PARAMETER_DUDX + i));
    }
}

/* Rounds to S1.14: to the nearest 1/16384 from -2 to below 2. */
static void round_s1_14(uint32_t *value) {
    for (uint32_t i = 0; i < G4_SAMPLE_LANES; i++) {
        const float f = g4_hw_float(value[i]);
        const float limited = f > -2.0f ? (f < 2.0f ? f : 2.0f) : -2.0f;
        const float shifted = limited * 16384.0f + 12582912.0f;
        const float whole = shifted - 12582912.0f;
        value[i] = g4_hw_bits((whole > 32767.0f ? 32767.0f : whole) * (1.0f / 16384.0f));
    }
}

static bool returns_s1_14(const struct g4_sampler_call *c) {
    const struct g4_texture *const texture = c->texture;
    if (texture->surface.data_return_format != G4_DATA_RETURN_FORMAT_S1_14 || c->message->simd == 4 ||
        texture->format->encoding != G4_ENCODING_PLAIN) {
        return false;
    }
    for (int channel = 0; channel < 4; channel++) {
        const struct g4_format_channel *const f = &texture->format->channel[channel];
        const bool small = (f->type == G4_CHANNEL_UNORM || f->type == G4_CHANNEL_SNORM) && f->bits <= 8;
        if (!small && f->type != G4_CHANNEL_ZERO && f->type != G4_CHANNEL_ONE) {
            return false;
        }
    }
    return true;
}

void g4_sampler_map_channels(const struct g4_sampler_call *c) {
    const struct g4_texture *const texture = c->texture;
    const bool shadow = is_shadow(c);
    const bool rounded = returns_s1_14(c);

    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const out = c->cache->result[channel];
        const uint8_t source = texture->source[channel];
        if (c->channel_mask >> channel & 1) {
            continue;
        }
        if (source >= G4_SOURCE_ZERO) {
            const uint32_t value = source == G4_SOURCE_ONE ? texture->one : 0;
            for (uint32_t i = 0; i < G4_SAMPLE_LANES; i++) {
                out[i] = value;
            }
            continue;
        }
        for (int half = 0; half < G4_SAMPLE_HALVES; half++) {
            if (c->active[half]) {
                memcpy(&out[half * G4_BATCH], &c->cache->work.result[0][shadow ? 0 : source][half * G4_BATCH],
                       G4_BATCH * sizeof *out);
            }
        }
        if (rounded) {
            round_s1_14(out);
        }
    }
}

/* A chroma key that replaces texels also changes the alpha of formats that have none (965 PRM vol. 4, 4.3.1). */
const struct g4_texture *g4_sampler_keyed_texture(const struct g4_sampler_call *c,
                                                  const struct g4_texture_sampler *sampler) {
    const struct g4_texture *const texture = c->texture;
    if (!sampler->keyed || !(texture->format->chroma_key & texture->gen) || !sampler->key_replaces || is_shadow(c)) {
        return texture;
    }
    c->cache->keyed = *texture;
    g4_texture_keep_channels(&c->cache->keyed);
    return &c->cache->keyed;
}

/* ---- the fast path ---- */

/* Finds the registers of the response for each half of the channels that are returned. */
static void find_rows(const struct g4_sampler_call *c, uint8_t row[G4_SAMPLE_HALVES][4]) {
    const bool wide = c->message->simd == 16;
    unsigned next = 0;
    for (unsigned channel = 0; channel < 4; channel++) {
        const bool wanted = !(c->channel_mask >> channel & 1);
        row[0][channel] = wanted ? (uint8_t)next : G4_NO_REGISTER;
        row[1][channel] = wanted && wide ? (uint8_t)(next + 1) : G4_NO_REGISTER;
        next += wide ? (wanted ? 2 : 0) : wanted || !c->removes_masked_channels;
    }
}

/* The first register of a parameter, which the message has; G4_NO_REGISTER: the payload is too short for it. */
static uint8_t first_register(const struct g4_sampler_call *c, enum g4_sampler_parameter name) {
    const unsigned per_parameter = c->message->simd == 16 ? 2 : 1;
    const unsigned first = c->data + c->message->slot[name] * per_parameter;
    return first + per_parameter <= c->send->mlen ? (uint8_t)first : G4_NO_REGISTER;
}

static uint32_t *response_row(struct g4_gang *gang, const struct g4_send *send, uint8_t number) {
    return number == G4_NO_REGISTER ? NULL : g4_response(gang, send, number, 0);
}

static bool run_plan(struct g4_sampler_cache *cache, struct g4_gang *gang, const struct g4_send *send,
                     struct g4_planned_message *m, const g4_lanes active[G4_SAMPLE_HALVES]) {
    struct g4_lookups lookups = {.active = {active[0], active[1]}};

    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        const bool used = half == 0 || m->simd16;
        lookups.u.half[half] = used ? g4_payload_register(gang, send, m->u + half)->f[0] : zeros;
        lookups.v.half[half] = used ? g4_payload_register(gang, send, m->v + half)->f[0] : zeros;
        for (int channel = 0; channel < 4; channel++) {
            lookups.row[half][channel] = response_row(gang, send, m->row[half][channel]);
        }
    }
    return g4_lookup_plan_run(&m->plan, &lookups, &cache->fast);
}

static struct g4_planned_message *planned_slot(struct g4_sampler_cache *cache, uint32_t descriptor) {
    return &cache->planned[(descriptor ^ descriptor >> 8) % G4_PLANNED_SLOTS];
}

/* The number of registers that a message without errors returns. */
static unsigned response_length(const struct g4_sampler_call *c) {
    const unsigned wanted = 4u - (unsigned)__builtin_popcount(c->channel_mask);
    return c->message->simd == 16 ? 2 * wanted : c->removes_masked_channels ? wanted : c->message->response;
}

/* `header`: dwords 2 and 3; NULL: the message has none. */
static bool is_planned(const struct g4_sampler_cache *cache, const struct g4_planned_message *m,
                       const struct g4_dispatch *dispatch, const struct g4_send *send, const uint32_t *header) {
    return m->plan_epoch == cache->plan_epoch && m->descriptor == send->descriptor && m->mlen == send->mlen &&
           m->rlen == send->rlen && m->binding_table == dispatch->binding_table &&
           m->surface_state_base == dispatch->surface_state_base &&
           m->dynamic_state_base == dispatch->dynamic_state_base && m->sampler_state == dispatch->sampler_state &&
           m->plan.ops == g4_sampler_ops_of_variant() &&
           (!header || (m->header[0] == header[0] && m->header[1] == header[1]));
}

bool g4_sampler_sample_fast(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    if (c->cache->reader.log || c->message->operation != G4_SAMPLER_OP_SAMPLE || c->message->simd == 4 ||
        c->force_lod_to_zero || !g4_sampler_has(c, G4_SAMPLER_PARAMETER_V)) {
        return false;
    }
    const struct g4_dispatch *const dispatch = c->gang->dispatch;
    const struct g4_send *const send = c->send;
    struct g4_planned_message *const m = planned_slot(c->cache, send->descriptor);
    const uint32_t *const header = c->data ? g4_payload(c->gang, send, 0, __builtin_ctz(c->threads)) + 2 : NULL;

    if (!is_planned(c->cache, m, dispatch, send, header)) {
        m->plan_epoch = 0;
        if (!g4_lookup_plan_begin(&m->plan, c->texture, sampler, c->offset, c->eu->ctx->options.min_lod_erratum,
                                  g4_sampler_ops_of_variant(), &c->cache->reader)) {
            return false;
        }
        m->u = first_register(c, G4_SAMPLER_PARAMETER_U);
        m->v = first_register(c, G4_SAMPLER_PARAMETER_V);
        if (m->u == G4_NO_REGISTER || m->v == G4_NO_REGISTER) {
            return false;
        }
        m->simd16 = c->message->simd == 16;
        find_rows(c, m->row);
        m->descriptor = send->descriptor;
        m->mlen = send->mlen;
        m->rlen = send->rlen;
        m->binding_table = dispatch->binding_table;
        m->surface_state_base = dispatch->surface_state_base;
        m->dynamic_state_base = dispatch->dynamic_state_base;
        m->sampler_state = dispatch->sampler_state;
        m->header[0] = header ? header[0] : 0;
        m->header[1] = header ? header[1] : 0;
        if (send->rlen == response_length(c) && send->rlen > 0) {
            m->plan_epoch = c->cache->plan_epoch; /* else each message reports its length */
        }
    }
    return run_plan(c->cache, c->gang, send, m, c->active);
}

struct g4_request g4_sampler_request(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    struct g4_request request = {
        .texture = c->texture,
        .sampler = sampler,
        .active = {c->active[0], c->active[1]},
        .u = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_U),
        .v = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_V),
        .r = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_R),
        .bias = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_BIAS),
        .lod = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_LOD),
        .reference = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_REF),
        .lod_source = lod_source(c),
        .has_bias = g4_sampler_has(c, G4_SAMPLER_PARAMETER_BIAS),
        .shadow = is_shadow(c),
        .force_lod_zero = c->force_lod_to_zero,
        .min_lod_erratum = c->eu->ctx->options.min_lod_erratum,
        .offset = {c->offset[0], c->offset[1], c->offset[2]},
    };
    if (request.lod_source == G4_LOD_GRADIENTS) {
        find_gradients(c, &request);
    }
    return request;
}

static void sample(struct g4_sampler_call *c) {
    const bool kill = c->message->operation == G4_SAMPLER_OP_SAMPLE_KILLPIX;
    const struct g4_texture_sampler *const sampler = g4_sampler_find_sampler(c);

    if (g4_sampler_sample_fast(c, sampler)) {
        return;
    }
    if (c->texture->null || sampler->disable) {
        g4_sampler_write_zeros(c);
        if (kill) {
            g4_sampler_write_kill_mask(c, 0);
        }
        return;
    }
    const enum g4_event refused = refusal(c, sampler);
    if (refused != G4_EVENTS) {
        g4_sampler_report(c, refused,
                          refused == G4_EVENT_BAD_FORMAT ? c->texture->surface.format_code : c->binding_table_index);
        g4_sampler_write_zeros(c);
        if (kill) {
            g4_sampler_write_kill_mask(c, 0);
        }
        return;
    }
    report_doubts(c, sampler);
    c->texture = g4_sampler_keyed_texture(c, sampler);
    const struct g4_request request = g4_sampler_request(c, sampler);
    g4_sample(&request, &c->cache->work, g4_sampler_ops_of_variant(), &c->cache->reader);
    g4_sampler_map_channels(c);
    g4_sampler_write_back(c);
    if (kill) {
        g4_sampler_write_kill_mask(c, c->cache->work.killed[0] & c->active[0]);
    }
}

/* ---- ld, resinfo ---- */

static uint32_t integer(const struct g4_parameter *p, uint32_t lane) {
    return g4_hw_bits(p->half[lane / G4_BATCH][lane % G4_BATCH]);
}

static bool can_load(const struct g4_sampler_call *c) {
    const struct g4_texture *const texture = c->texture;
    const bool right = texture->surface.miptree_layout == G4_MIP_MAP_LAYOUT_MODE_RIGHT && texture->array;
    const bool buffer = texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    /* an element of a buffer is one texel, not a block or a pair that shares its bits */
    const bool indivisible = buffer && texture->format->encoding != G4_ENCODING_PLAIN;

    if (!texture->can_sample || indivisible || texture->surface.format_code == G4_SURFACE_FORMAT_MONO8) {
        g4_sampler_report(c, G4_EVENT_BAD_FORMAT, texture->surface.format_code);
        return false;
    }
    if (right || texture->cube) {
        g4_sampler_report(c, G4_EVENT_BAD_SURFACE, c->binding_table_index);
        return false;
    }
    return true;
}

/* Loads half a message at once.  False: impossible, nothing was done. */
static bool load_half(const struct g4_sampler_call *c, uint32_t half, const struct g4_parameter parameters[4],
                      bool *differs) {
    const struct g4_load_lanes lanes = {
        (const uint32_t *)parameters[0].half[half], (const uint32_t *)parameters[1].half[half],
        (const uint32_t *)parameters[2].half[half], (const uint32_t *)parameters[3].half[half],
        {c->offset[0], c->offset[1], c->offset[2]},
    };
    uint32_t *out[4];

    if (c->cache->reader.log || !g4_load_can_batch(c->texture, &lanes, c->active[half])) {
        return false;
    }
    for (int channel = 0; channel < 4; channel++) {
        out[channel] = &c->cache->result[channel][half * G4_BATCH];
    }
    *differs |= g4_load_batch(&c->cache->reader, c->texture, g4_sampler_ops_of_variant(), &lanes, c->active[half],
                              &c->cache->loading, out);
    return true;
}

void g4_sampler_load(const struct g4_sampler_call *c) {
    const struct g4_parameter u = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_U);
    const struct g4_parameter v = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_V);
    const struct g4_parameter r = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_R);
    const struct g4_parameter lod = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_LOD);
    struct g4_load last = {0};
    uint32_t texel[4] = {0};
    bool have = false;
    bool differs = false;

    if (c->texture->null || !can_load(c)) {
        g4_sampler_write_zeros(c);
        return;
    }
    const struct g4_parameter all[4] = {u, v, r, lod};
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        if (load_half(c, half, all, &differs)) {
            continue;
        }
        for (g4_lanes lanes = c->active[half]; lanes; lanes &= lanes - 1) {
            const uint32_t lane = half * G4_BATCH + (uint32_t)__builtin_ctzll(lanes);
            const struct g4_load load = {
                integer(&u, lane),
                integer(&v, lane),
                integer(&r, lane),
                integer(&lod, lane),
                {c->offset[0], c->offset[1], c->offset[2]},
            };
            if (!have || memcmp(&load, &last, sizeof load) != 0) { /* often all lanes load the same texel */
                differs |= g4_load_texel(&c->cache->reader, c->texture, &load, texel);
                last = load;
                have = true;
            }
            for (int channel = 0; channel < 4; channel++) {
                c->cache->result[channel][lane] = texel[channel];
            }
        }
    }
    if (differs) {
        g4_sampler_report(c, G4_EVENT_SILICON_DIFFERS, c->send->descriptor);
    }
    g4_sampler_write_back(c);
}

static void info(const struct g4_sampler_call *c) {
    const struct g4_parameter lod = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_LOD);
    const uint32_t format = g4_sampler_message_return_format(c->send->descriptor, c->eu->ctx->gen);
    const bool as_float =
        c->eu->ctx->model->quirks.resinfo_returns_floats && format == G4_SAMPLER_RETURN_FORMAT_FLOAT32;

    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        for (g4_lanes lanes = c->active[half]; lanes; lanes &= lanes - 1) {
            const uint32_t lane = half * G4_BATCH + (uint32_t)__builtin_ctzll(lanes);
            uint32_t size[4];
            g4_load_info(c->texture, integer(&lod, lane), size);
            for (int channel = 0; channel < 4; channel++) {
                c->cache->result[channel][lane] = as_float ? g4_hw_bits((float)size[channel]) : size[channel];
            }
        }
    }
    g4_sampler_write_back(c);
}

/* ---- messages ---- */

const struct g4_sampler_messages g4_gen4_sampler_messages = {
    .types = G4_SAMPLER_MESSAGE_TYPES,
    .shape = g4_sampler_shapes,
};

static const struct g4_sampler_shape *find_message(const struct g4_sampler_call *c) {
    const struct g4_sampler_messages *const messages = c->eu->ctx->model->sampler_messages;
    const uint32_t type = g4_sampler_message_message_type(c->send->descriptor, c->eu->ctx->gen);

    if (type >= messages->types || c->send->mlen >= G4_SAMPLER_MESSAGE_LENGTHS) {
        return NULL;
    }
    const struct g4_sampler_shape *const message = &messages->shape[type][c->send->mlen];
    return message->simd ? message : NULL;
}

/* Unknown messages write zeros to all registers of the response. */
void g4_sampler_refuse_message(const struct g4_sampler_call *c) {
    g4_sampler_report(c, G4_EVENT_BAD_LENGTH, c->send->descriptor);
    for (unsigned k = 0; k < c->send->rlen; k++) {
        uint32_t *const row = g4_response(c->gang, c->send, k, 0);
        for (uint32_t i = 0; row && i < G4_BATCH; i++) {
            row[i] = c->send->emask[0] >> i & 1 ? 0 : row[i];
        }
    }
}

/* The lanes of threads: one byte for each. */
static g4_lanes lanes_of(uint32_t threads) {
    const g4_lanes own = threads * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201); /* bit t of byte t */
    return ((own + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101)) * 0xff;
}

/* A SIMD4x2 sample is active if any of its four channels is enabled; its lane is the first of them. */
static g4_lanes samples_of(g4_lanes lanes) {
    lanes |= lanes >> 2;
    lanes |= lanes >> 1;
    return lanes & UINT64_C(0x1111111111111111);
}

void g4_sampler_begin(struct g4_sampler_call *c) {
    const g4_lanes mine = lanes_of(c->threads);
    const struct g4_send *const send = c->send;

    c->active[0] = send->emask[0] & mine;
    c->active[1] = c->message->simd == 16 ? send->emask[1] & mine : 0;
    if (c->message->simd == 4) {
        c->active[0] = samples_of(c->active[0]);
    }
}

/* True if all threads of a message have the header of thread `first`, as far as it matters. */
static bool have_one_header(const struct g4_gang *gang, const struct g4_send *send, uint32_t first) {
    const uint32_t *const header = g4_payload(gang, send, 0, (int)first) + 2;
    uint32_t differs = 0;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const uint32_t *const own = g4_payload(gang, send, 0, t) + 2;
        differs |= (uint32_t)(own[0] != header[0] || own[1] != header[1]) << t;
    }
    return !(differs & send->threads);
}

bool g4_sampler_run_planned(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, bool has_header) {
    struct g4_sampler_cache *const cache = eu->samplers;
    struct g4_planned_message *const m = planned_slot(cache, send->descriptor);
    const uint32_t first = (uint32_t)__builtin_ctz(send->threads | 1u << (G4_GANG_THREADS - 1));
    const uint32_t *const header = has_header ? g4_payload(gang, send, 0, (int)first) + 2 : NULL;
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (!is_planned(cache, m, gang->dispatch, send, header) || send->eot || eu->counters || cache->reader.log ||
        (header && !have_one_header(gang, send, first))) {
        return false;
    }
    const g4_lanes mine = lanes_of(send->threads);
    const g4_lanes active[G4_SAMPLE_HALVES] = {send->emask[0] & mine, m->simd16 ? send->emask[1] & mine : 0};
    port->unit = G4_UNIT_SAMPLER;
    cache->reader.port = port;
    cache->reader.state = eu->ctx->state;
    const bool done = run_plan(cache, gang, send, m, active);
    port->unit = unit;
    return done;
}

static void run(struct g4_sampler_call *c) {
    g4_sampler_begin(c);
    const unsigned wanted = 4u - (unsigned)__builtin_popcount(c->channel_mask);
    if (wanted == 0) {
        g4_sampler_report(c, G4_EVENT_BAD_MESSAGE, c->send->descriptor);
    }
    const unsigned registers = c->message->simd == 16 ? 2 * wanted : c->message->response;
    if (c->send->rlen != registers) {
        g4_sampler_report(c, G4_EVENT_BAD_RESPONSE, c->send->descriptor);
    }
    switch (c->message->operation) {
    case G4_SAMPLER_OP_LD:
        g4_sampler_load(c);
        break;
    case G4_SAMPLER_OP_RESINFO:
        info(c);
        break;
    default:
        sample(c);
        break;
    }
}

static void unpack_header(struct g4_sampler_call *c, const uint32_t *dw) {
    struct g4_sampler_message_header header;

    g4_sampler_message_header_unpack(dw, c->eu->ctx->gen, &header);
    c->state_base = c->gang->dispatch->dynamic_state_base;
    c->sampler_state =
        c->state_base + header.sampler_state_pointer + 16 * g4_sampler_message_sampler_index(c->send->descriptor);
    c->offset[0] = header.u_offset;
    c->offset[1] = header.v_offset;
    c->offset[2] = header.r_offset;
    c->force_lod_to_zero = header.force_lod_to_zero;
    c->channel_mask = (uint32_t)(header.red_write_channel_mask | header.green_write_channel_mask << 1 |
                                 header.blue_write_channel_mask << 2 | header.alpha_write_channel_mask << 3);
}

/* The number of texels that thread t looks up: one for each channel or sample that is enabled. */
static uint32_t lookups_of(const struct g4_sampler_call *c, int t) {
    const struct g4_send *const send = c->send;
    const g4_lanes first = c->message->simd == 4 ? samples_of(send->emask[0]) : send->emask[0];
    const unsigned second = c->message->simd == 16 ? g4_thread_lanes(send->emask[1], t) : 0;
    return (uint32_t)(__builtin_popcount(g4_thread_lanes(first, t)) + __builtin_popcount(second));
}

__attribute__((noinline, cold)) void g4_sampler_count(const struct g4_sampler_call *c) {
    struct g4_counters *const counters = c->eu->counters;
    const struct g4_dispatch *const dispatch = c->gang->dispatch;
    const struct g4_surface *const surface =
        g4_surface_get(counters->cache, c->eu->ctx, &counters->look, dispatch->surface_state_base,
                       dispatch->binding_table, c->binding_table_index);
    const struct g4_format *const format = surface->format;

    if (c->message->operation == G4_SAMPLER_OP_RESINFO || !surface->present ||
        surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL || !format) {
        return;
    }
    const uint32_t texels = (uint32_t)(format->block_width * format->block_height);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (c->send->threads >> t & 1) {
            const uint64_t bits = (uint64_t)lookups_of(c, t) * format->block_bits / (texels ? texels : 1);
            g4_count_bytes(counters, G4_ROLE_TEXTURE, surface->base, (bits + 7) / 8, 0);
        }
    }
}

enum g4_status g4_message_sampler(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_sampler_call c = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .cache = eu->samplers,
        .threads = send->threads,
        .binding_table_index = g4_sampler_message_binding_table_index(send->descriptor),
        .data = 1,
    };
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (g4_sampler_run_planned(eu, gang, send, true)) {
        return G4_OK;
    }
    if (send->eot) {
        g4_sampler_report(&c, G4_EVENT_EOT_WRONG_UNIT, send->descriptor);
    }
    c.message = find_message(&c);
    if (!c.message) {
        g4_sampler_refuse_message(&c);
        return G4_OK;
    }
    port->unit = G4_UNIT_SAMPLER;
    c.cache->reader.port = port;
    c.cache->reader.state = eu->ctx->state;
    const struct g4_texture *const texture = g4_sampler_find_texture(&c, c.binding_table_index);
    if (c.message->simd == 4) {
        g4_sampler_spread_4x2(&c);
    }
    /* Execute threads with equal headers together. */
    for (uint32_t pending = send->threads; pending;) {
        const uint32_t *const first = g4_payload(gang, send, 0, __builtin_ctz(pending));
        c.threads = 0;
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            const uint32_t *const header = g4_payload(gang, send, 0, t);
            if ((pending >> t & 1) && header[2] == first[2] && header[3] == first[3]) {
                c.threads |= 1u << t;
            }
        }
        pending &= ~c.threads;
        c.texture = texture;
        unpack_header(&c, first);
        run(&c);
    }
    port->unit = unit;
    if (eu->counters) {
        g4_sampler_count(&c);
    }
    return G4_OK;
}
