/*
 * The sampler's messages of Ivy Bridge and Haswell (IVB PRM vol. 4 part 1): the header is optional, the return type is
 * that of the surface, and there are messages for gather4, the level of detail, and the samples of a pixel.
 */
#include "core/report.h"
#include "core/util.h"
#include "eu/worker.h"
#include "messages_gen7.h"
#include "sampler/call.h"
#include "sampler/media_message.h"

enum {
    /* shader channel selects */
    SELECT_ZERO = 0,
    SELECT_RED = 4,
    SELECT_GREEN = 5,
    SELECT_BLUE = 6,
    /* the format with which clients gather from two 32-bit channels */
    TWO_FLOATS_FOR_GATHER = 0x97,
};

static bool is_shadow(const struct g4_sampler_call *c) {
    return g4_sampler_has(c, G4_SAMPLER_PARAMETER_REF);
}

static uint32_t integer(const struct g4_parameter *p, uint32_t lane) {
    return g4_hw_bits(p->half[lane / G4_BATCH][lane % G4_BATCH]);
}

/* The first active lane from `lane` on; G4_SAMPLE_LANES: there is none. */
static uint32_t active_from(const struct g4_sampler_call *c, uint32_t lane) {
    while (lane < G4_SAMPLE_LANES) {
        const g4_lanes left = c->active[lane / G4_BATCH] >> (lane % G4_BATCH);
        if (left) {
            return lane + (uint32_t)__builtin_ctzll(left);
        }
        lane = (lane / G4_BATCH + 1) * G4_BATCH;
    }
    return G4_SAMPLE_LANES;
}

#define EACH_ACTIVE(lane, c)                                                                                           \
    (uint32_t lane = active_from(c, 0); (lane) < G4_SAMPLE_LANES; (lane) = active_from(c, (lane) + 1))

static void put(const struct g4_sampler_call *c, uint32_t lane, const uint32_t value[4]) {
    for (int channel = 0; channel < 4; channel++) {
        c->cache->result[channel][lane] = value[channel];
    }
}

/* The output channels of a texel whose channels are those of the format. */
static void put_texel(const struct g4_sampler_call *c, uint32_t lane, const uint32_t texel[4]) {
    const struct g4_texture *const texture = c->texture;
    uint32_t value[4];
    for (int channel = 0; channel < 4; channel++) {
        const uint8_t source = texture->source[channel];
        value[channel] = source == G4_SOURCE_ZERO  ? 0
                         : source == G4_SOURCE_ONE ? texture->one
                                                   : texel[texture->channel[source]];
    }
    put(c, lane, value);
}

/* ---- messages with a filter ---- */

/* Checks whether the surface can be sampled.  Returns the event to report, with zeros as the result; G4_EVENTS: none.
 */
static enum g4_event refusal(const struct g4_sampler_call *c) {
    const struct g4_texture *const texture = c->texture;
    if (!texture->can_sample) {
        return G4_EVENT_BAD_FORMAT;
    }
    const bool buffer = texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    return buffer || (is_shadow(c) && texture->volume) ? G4_EVENT_BAD_SURFACE : G4_EVENTS;
}

/* True if the message is answered, with zeros: there is nothing to sample. */
static bool is_refused(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    if (c->texture->null || sampler->disable) {
        g4_sampler_write_zeros(c);
        return true;
    }
    const enum g4_event refused = refusal(c);
    if (refused != G4_EVENTS) {
        g4_sampler_report(c, refused,
                          refused == G4_EVENT_BAD_FORMAT ? c->texture->surface.format_code : c->binding_table_index);
        g4_sampler_write_zeros(c);
        return true;
    }
    if (c->texture->sampled) { /* only the messages for samples support these (2.7); the others read sample 0 */
        g4_sampler_report(c, G4_EVENT_BAD_SURFACE, c->binding_table_index);
    }
    return false;
}

/* Coordinates that count texels become normalized ones in the address modes that need them. */
static void normalize(const struct g4_sampler_call *c, struct g4_request *request) {
    const struct g4_level *const level = &c->texture->level[c->texture->min_lod];
    const float scale[3] = {1.0f / (float)level->width, 1.0f / (float)level->height, 1.0f / (float)level->depth};
    struct g4_parameter *const parameter[3] = {&request->u, &request->v, &request->r};
    const int coordinates = c->texture->volume ? 3 : 2; /* r is the index of an array otherwise */

    for (int d = 0; d < coordinates; d++) {
        if (g4_counts_texels(request->sampler, d)) {
            continue;
        }
        float *const to = c->cache->unnormalized[d];
        for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
            for (uint32_t i = 0; i < G4_BATCH; i++) {
                to[half * G4_BATCH + i] = parameter[d]->half[half][i] * scale[d];
            }
            parameter[d]->half[half] = to + half * G4_BATCH;
        }
    }
}

static struct g4_request request_of(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    struct g4_request request = g4_sampler_request(c, sampler);
    request.ai = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_AI);
    if (sampler->unnormalized) {
        normalize(c, &request);
    }
    return request;
}

/* Beyond the levels of a surface the level of detail is 0 and texels are zeros, with an alpha of 1 in formats without
 * alpha.  Two errata of Ivy Bridge (IVB PRM vol. 4 part 1, 2.2.1.5): with the anisotropic filter that alpha is 0, and
 * if levels are mixed, the texels of the first level stay as they are. */
static bool reads_first_level(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    return c->eu->ctx->model->sampler_messages->beyond_levels_errata && sampler->mip_filter == G4_MIP_FILTER_LINEAR;
}

/* The results of compares with texels of 0; filtering does not change them. */
static void compare_nothing(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    const struct g4_parameter reference = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_REF);

    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        float *const texel = &c->cache->work.result[0][0][half * G4_BATCH];
        memset(texel, 0, G4_BATCH * sizeof *texel);
        g4_sampler_ops_of_variant()->compare(sampler->shadow_function, reference.half[half], G4_BATCH, texel);
    }
}

static void sample_nothing(struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    static const uint32_t nothing[4] = {0};
    const bool anisotropic =
        sampler->filter[0] == G4_MAP_FILTER_ANISOTROPIC || sampler->filter[1] == G4_MAP_FILTER_ANISOTROPIC;
    const bool no_alpha = anisotropic && c->eu->ctx->model->sampler_messages->beyond_levels_errata;

    if (is_shadow(c)) {
        compare_nothing(c, sampler);
        g4_sampler_map_channels(c);
        g4_sampler_write_back(c);
        return;
    }
    for
        EACH_ACTIVE(lane, c) {
            if (no_alpha) {
                put(c, lane, nothing);
            } else {
                put_texel(c, lane, nothing);
            }
        }
    g4_sampler_write_back(c);
}

static void sample(struct g4_sampler_call *c) {
    const struct g4_texture_sampler *const sampler = g4_sampler_find_sampler(c);

    if (g4_sampler_sample_fast(c, sampler) || is_refused(c, sampler)) {
        return;
    }
    if (g4_texture_is_beyond_levels(c->texture) && !reads_first_level(c, sampler)) {
        sample_nothing(c, sampler);
        return;
    }
    c->texture = g4_sampler_keyed_texture(c, sampler);
    const struct g4_request request = request_of(c, sampler);
    g4_sample(&request, &c->cache->work, g4_sampler_ops_of_variant(), &c->cache->reader);
    g4_sampler_map_channels(c);
    g4_sampler_write_back(c);
}

static void sample_killpix(struct g4_sampler_call *c) {
    g4_lanes *const killed = c->cache->work.killed;

    killed[0] = killed[1] = 0;
    sample(c);
    g4_sampler_write_kill_mask(c, killed[0] & c->active[0]);
}

/* ---- gather4 ---- */

/* The source of the channel that the header selects.  With two 32-bit channels Gen7 has the second one where blue is,
 * with the format for this purpose also where green is (docs/decisions.md 102). */
static uint8_t gathered_source(const struct g4_sampler_call *c, uint32_t channel) {
    const struct g4_texture *const texture = c->texture;
    const struct g4_format *const format = texture->format;
    const bool two_wide = texture->quirks->gathers_green_as_blue && format->components == 2 &&
                          format->block_bits == 64 && format->channel[1].bits == 32;

    if (!two_wide) {
        return texture->source[channel];
    }
    const struct g4_surface *const surface = &texture->surface;
    switch (surface->selects_channels ? surface->channel_select[channel] : SELECT_RED + channel) {
    case SELECT_RED:
        return 0;
    case SELECT_GREEN:
        return surface->format_code == TWO_FLOATS_FOR_GATHER ? 1 : G4_SOURCE_ZERO;
    case SELECT_BLUE:
        return 1;
    case SELECT_ZERO:
        return G4_SOURCE_ZERO;
    default:
        return G4_SOURCE_ONE;
    }
}

static void gather_constant(const struct g4_sampler_call *c, uint8_t source) {
    const uint32_t value = source == G4_SOURCE_ONE ? c->texture->one : 0;
    const uint32_t all[4] = {value, value, value, value};
    for
        EACH_ACTIVE(lane, c) {
            put(c, lane, all);
        }
    g4_sampler_write_back(c);
}

/* Beyond the levels of a surface all four texels are 0. */
static void gather_nothing(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler) {
    if (!is_shadow(c)) {
        gather_constant(c, G4_SOURCE_ZERO);
        return;
    }
    compare_nothing(c, sampler);
    for
        EACH_ACTIVE(lane, c) {
            const uint32_t value = g4_hw_bits(c->cache->work.result[0][0][lane]);
            put(c, lane, (const uint32_t[4]){value, value, value, value});
        }
    g4_sampler_write_back(c);
}

static int32_t offset_of(const struct g4_parameter *p, uint32_t lane) {
    return (int32_t)(integer(p, lane) << 26) >> 26;
}

/* Restricts the lanes to those with the offsets of the first one, which it returns. */
static void take_lanes_with_one_offset(const struct g4_sampler_call *c, const g4_lanes left[G4_SAMPLE_HALVES],
                                       struct g4_request *request) {
    const struct g4_parameter off_u = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_OFF_U);
    const struct g4_parameter off_v = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_OFF_V);
    bool have = false;

    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        request->active[half] = 0;
        for (g4_lanes lanes = left[half]; lanes; lanes &= lanes - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(lanes);
            const int32_t u = offset_of(&off_u, half * G4_BATCH + i);
            const int32_t v = offset_of(&off_v, half * G4_BATCH + i);
            if (!have) {
                request->offset[0] = u;
                request->offset[1] = v;
                have = true;
            }
            if (request->offset[0] == u && request->offset[1] == v) {
                request->active[half] |= UINT64_C(1) << i;
            }
        }
    }
}

/* Takes the four texels of the lanes that a request was for. */
static void take_gathered(const struct g4_sampler_call *c, const struct g4_request *request) {
    for (uint32_t lane = 0; lane < G4_SAMPLE_LANES; lane++) {
        if (request->active[lane / G4_BATCH] >> (lane % G4_BATCH) & 1) {
            for (int k = 0; k < 4; k++) {
                c->cache->result[k][lane] = g4_hw_bits(c->cache->work.result[0][k][lane]);
            }
        }
    }
}

static void gather(struct g4_sampler_call *c, uint32_t channel) {
    const struct g4_texture_sampler *const sampler = g4_sampler_find_sampler(c);
    if (is_refused(c, sampler)) {
        return;
    }
    const uint8_t source = gathered_source(c, channel);
    if (g4_texture_is_beyond_levels(c->texture)) {
        gather_nothing(c, sampler);
        return;
    }
    if (source >= G4_SOURCE_ZERO) {
        gather_constant(c, source);
        return;
    }
    struct g4_request request = request_of(c, sampler);
    request.lod_source = G4_LOD_ZERO;
    request.gather = true;
    request.gathered = source;
    g4_lanes left[G4_SAMPLE_HALVES] = {c->active[0], c->active[1]};
    while (left[0] | left[1]) {
        if (g4_sampler_has(c, G4_SAMPLER_PARAMETER_OFF_U)) {
            take_lanes_with_one_offset(c, left, &request);
        }
        g4_sample(&request, &c->cache->work, g4_sampler_ops_of_variant(), &c->cache->reader);
        take_gathered(c, &request);
        left[0] &= ~request.active[0];
        left[1] &= ~request.active[1];
    }
    g4_sampler_write_back(c);
}

/* ---- lod ---- */

static void query_lod(struct g4_sampler_call *c) {
    const struct g4_texture_sampler *const sampler = g4_sampler_find_sampler(c);
    float level[G4_SAMPLE_LANES];
    float unlimited[G4_SAMPLE_LANES];

    if (is_refused(c, sampler)) {
        return;
    }
    const struct g4_request request = request_of(c, sampler);
    g4_sample_prepare(&request, &c->cache->work, g4_sampler_ops_of_variant());
    g4_lod_query_gen7(&request, &c->cache->work, g4_sampler_ops_of_variant(), level, unlimited);
    for
        EACH_ACTIVE(lane, c) {
            const uint32_t value[4] = {g4_hw_bits(level[lane]), g4_hw_bits(unlimited[lane])};
            put(c, lane, value);
        }
    g4_sampler_write_back(c);
}

/* ---- resinfo, sampleinfo ---- */

static void info_of_level(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]) {
    const struct g4_surface *const surface = &texture->surface;

    memset(out, 0, 4 * sizeof *out);
    if (texture->null) {
        return;
    }
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        out[0] = surface->buffer_entries;
        return;
    }
    out[3] = surface->mip_count_or_lod + 1;
    if (lod > surface->mip_count_or_lod) {
        return;
    }
    const uint32_t level = lod + surface->min_lod;
    out[0] = g4_minify(surface->width, level);
    out[1] = g4_minify(surface->height, level);
    switch (surface->type) {
    case G4_SURFACE_TYPE_SURFTYPE_1D:
        out[1] = surface->depth > 1 ? surface->depth : 0;
        break;
    case G4_SURFACE_TYPE_SURFTYPE_3D:
        out[2] = g4_minify(surface->depth, level);
        break;
    default: /* of cubes the number of cubes, which clients use as it is (docs/decisions.md 104) */
        out[2] = surface->depth;
        break;
    }
}

static void info(const struct g4_sampler_call *c) {
    const struct g4_parameter lod = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_LOD);
    for
        EACH_ACTIVE(lane, c) {
            uint32_t size[4];
            info_of_level(c->texture, integer(&lod, lane), size);
            put(c, lane, size);
        }
    g4_sampler_write_back(c);
}

static void sample_info(const struct g4_sampler_call *c) {
    const uint32_t samples = c->texture->surface.samples;
    const uint32_t value[4] = {samples > 1 ? samples : !c->texture->null, 0, 0, 0};
    for
        EACH_ACTIVE(lane, c) {
            put(c, lane, value);
        }
    g4_sampler_write_back(c);
}

/* ---- ld, and the messages for the samples of a pixel ---- */

struct texel_coordinates {
    uint32_t x, y, element;
};

/* Reads integer coordinates.  False: they are outside of the surface. */
static bool place_of(const struct g4_sampler_call *c, uint32_t lane, struct texel_coordinates *place) {
    const struct g4_surface *const surface = &c->texture->surface;
    const struct g4_parameter u = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_U);
    const struct g4_parameter v = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_V);
    const struct g4_parameter r = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_R);
    const uint32_t element = integer(&r, lane);

    *place = (struct texel_coordinates){integer(&u, lane), integer(&v, lane), element + surface->minimum_array_element};
    return place->x < surface->width && place->y < surface->height && element < surface->depth;
}

static bool can_load_samples(const struct g4_sampler_call *c) {
    const struct g4_texture *const texture = c->texture;
    if (texture->null) {
        return false;
    }
    if (!texture->can_sample) {
        g4_sampler_report(c, G4_EVENT_BAD_FORMAT, texture->surface.format_code);
        return false;
    }
    if (texture->surface.type != G4_SURFACE_TYPE_SURFTYPE_2D) {
        g4_sampler_report(c, G4_EVENT_BAD_SURFACE, c->binding_table_index);
        return false;
    }
    return true;
}

static uint64_t mcs_entry(const struct g4_sampler_call *c, const struct texel_coordinates *place) {
    const struct g4_surface *const surface = &c->texture->surface;
    uint64_t entry = 0;
    (void)g4_mem_read(c->cache->reader.port, g4_mcs_address(surface, place->x, place->y, place->element), &entry,
                      g4_mcs_entry_bytes(surface->samples));
    return entry;
}

/* A surface without a control surface has entries of 0 (docs/decisions.md 103). */
static void load_mcs(const struct g4_sampler_call *c) {
    const bool present = can_load_samples(c) && c->texture->surface.mcs_base && c->texture->sampled;
    for
        EACH_ACTIVE(lane, c) {
            struct texel_coordinates place;
            const bool inside = place_of(c, lane, &place);
            const uint64_t entry = present && inside ? mcs_entry(c, &place) : 0;
            const uint32_t value[4] = {(uint32_t)entry, (uint32_t)(entry >> 32)};
            put(c, lane, value);
        }
    g4_sampler_write_back(c);
}

static void read_sample(const struct g4_sampler_call *c, struct texel_coordinates place, uint32_t sample,
                        uint32_t texel[4]) {
    const struct g4_texture *const texture = c->texture;
    const struct g4_level *const level = &texture->level[0];
    uint32_t element = place.element;

    if (texture->surface.interleaved) {
        g4_interleave(texture->surface.samples, sample, &place.x, &place.y);
    } else {
        element = element * texture->sample_elements + sample;
    }
    const struct g4_texel_place at = {
        .level = level, .x0 = level->x, .y0 = level->y + level->slice_dy * element, .x = place.x, .y = place.y};
    g4_texel_read(&c->cache->reader, texture, &at, NULL, texel);
}

static void clear_color(const struct g4_texture *texture, uint32_t texel[4]) {
    for (int channel = 0; channel < 4; channel++) {
        const uint8_t type = texture->format->channel[channel].type;
        texel[channel] = type == G4_CHANNEL_ONE    ? texture->one
                         : type == G4_CHANNEL_ZERO ? 0
                                                   : texture->surface.clear_color[channel];
    }
}

/* ld2dms finds the sample by the entry that ld_mcs has returned, ld2dss reads an element. */
static void load_sample(const struct g4_sampler_call *c, bool by_entry) {
    const struct g4_surface *const surface = &c->texture->surface;
    const struct g4_parameter si = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_SI);
    const struct g4_parameter mcs = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_MCS);
    const struct g4_parameter mcs_high = g4_sampler_parameter(c, G4_SAMPLER_PARAMETER_MCS_HIGH);
    const bool compressed = by_entry && surface->mcs_base && c->texture->sampled && !surface->interleaved;
    const uint32_t samples = surface->samples > 1 ? surface->samples : 1;
    const uint64_t clear = g4_mcs_clear(samples);

    if (!can_load_samples(c)) {
        g4_sampler_write_zeros(c);
        return;
    }
    for
        EACH_ACTIVE(lane, c) {
            const uint32_t sample = integer(&si, lane) & (samples - 1);
            const uint64_t entry = integer(&mcs, lane) | (uint64_t)integer(&mcs_high, lane) << 32;
            uint32_t texel[4] = {0};
            struct texel_coordinates place;
            if (!place_of(c, lane, &place)) {
                texel[3] = c->texture->source[3] == G4_SOURCE_ONE ? c->texture->one : 0;
            } else if (compressed && (entry & clear) == clear) {
                clear_color(c->texture, texel);
            } else {
                read_sample(c, place, compressed ? g4_mcs_slice(surface, entry, sample) : sample, texel);
            }
            put_texel(c, lane, texel);
        }
    g4_sampler_write_back(c);
}

static void load(const struct g4_sampler_call *c) {
    if (c->texture->sampled) {
        g4_sampler_report(c, G4_EVENT_BAD_SURFACE, c->binding_table_index);
        load_sample(c, false);
        return;
    }
    g4_sampler_load(c);
}

/* ---- messages ---- */

const struct g4_sampler_messages g4_gen7_sampler_messages = {
    .types = G4_SAMPLER_MESSAGE_TYPES_GEN7,
    .absent = 1u << GEN7_SAMPLER_MESSAGE_TYPE_SAMPLE_D_C,
    .shape_by_mode = g4_sampler_shapes_gen7,
    .beyond_levels_errata = true,
};

const struct g4_sampler_messages g4_gen75_sampler_messages = {
    .types = G4_SAMPLER_MESSAGE_TYPES_GEN7,
    .shape_by_mode = g4_sampler_shapes_gen7,
};

const struct g4_sampler_messages g4_gen9_sampler_messages = {
    .types = G4_SAMPLER_MESSAGE_TYPES_GEN7,
    .shape_by_mode = g4_sampler_shapes_gen9,
};

static const struct g4_sampler_shape *find_message(const struct g4_sampler_call *c) {
    const struct g4_sampler_messages *const messages = c->eu->ctx->model->sampler_messages;
    const uint32_t type = gen7_sampler_message_message_type(c->send->descriptor);
    const uint32_t mode = gen7_sampler_message_simd_mode(c->send->descriptor);
    const struct g4_sampler_shape *const message = &messages->shape_by_mode[type][mode];
    return message->simd && !(messages->absent >> type & 1) && c->send->mlen >= c->data ? message : NULL;
}

/* A response may be shorter than the channels that are not masked. */
static void check_response(const struct g4_sampler_call *c) {
    const unsigned channels = 4u - (unsigned)__builtin_popcount(c->channel_mask);
    const unsigned colors = c->message->simd == 4 ? 1 : c->message->simd == 16 ? 2 * channels : channels;
    const unsigned registers = colors + (c->message->operation == G4_SAMPLER_OP_SAMPLE_KILLPIX);
    if (c->send->rlen > registers) {
        g4_sampler_report(c, G4_EVENT_BAD_RESPONSE, c->send->descriptor);
    }
}

static void run(struct g4_sampler_call *c, uint32_t gathered_channel) {
    g4_sampler_begin(c);
    check_response(c);
    switch (c->message->operation) {
    case G4_SAMPLER_OP_LD:
        load(c);
        break;
    case G4_SAMPLER_OP_RESINFO:
        info(c);
        break;
    case G4_SAMPLER_OP_SAMPLEINFO:
        sample_info(c);
        break;
    case G4_SAMPLER_OP_LOD:
        query_lod(c);
        break;
    case G4_SAMPLER_OP_LD_MCS:
        load_mcs(c);
        break;
    case G4_SAMPLER_OP_LD2DMS:
        load_sample(c, true);
        break;
    case G4_SAMPLER_OP_LD2DSS:
        load_sample(c, false);
        break;
    case G4_SAMPLER_OP_GATHER4:
    case G4_SAMPLER_OP_GATHER4_C:
    case G4_SAMPLER_OP_GATHER4_PO:
    case G4_SAMPLER_OP_GATHER4_PO_C:
        gather(c, gathered_channel);
        break;
    case G4_SAMPLER_OP_SAMPLE_KILLPIX:
        sample_killpix(c);
        break;
    default:
        sample(c);
        break;
    }
}

/* Executes threads with equal headers together. */
static void run_headers(struct g4_sampler_call *c, uint32_t sampler) {
    for (uint32_t pending = c->send->threads; pending;) {
        const uint32_t *const first = g4_payload(c->gang, c->send, 0, __builtin_ctz(pending));
        struct gen7_sampler_message_header header;

        c->threads = 0;
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            const uint32_t *const own = g4_payload(c->gang, c->send, 0, t);
            if ((pending >> t & 1) && own[2] == first[2] && own[3] == first[3]) {
                c->threads |= 1u << t;
            }
        }
        pending &= ~c->threads;
        gen7_sampler_message_header_unpack(first, c->eu->ctx->gen, &header);
        c->sampler_state = c->state_base + header.sampler_state_pointer + sampler;
        c->offset[0] = header.u_offset;
        c->offset[1] = header.v_offset;
        c->offset[2] = header.r_offset;
        c->channel_mask = (uint32_t)(header.red_write_channel_mask | header.green_write_channel_mask << 1 |
                                     header.blue_write_channel_mask << 2 | header.alpha_write_channel_mask << 3);
        const struct g4_texture *const texture = c->texture;
        run(c, header.gather_component);
        c->texture = texture;
    }
}

enum g4_status g4_message_sampler_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const struct g4_dispatch *const dispatch = gang->dispatch;
    const bool has_header = gen7_sampler_message_header_present(send->descriptor);
    const uint32_t sampler = 16 * gen7_sampler_message_sampler_index(send->descriptor);
    struct g4_sampler_call c = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .cache = eu->samplers,
        .threads = send->threads,
        .binding_table_index = gen7_sampler_message_binding_table_index(send->descriptor),
        .data = has_header ? 1 : 0,
        .removes_masked_channels = true,
        .writes_channels = true,
        .state_base = dispatch->dynamic_state_base,
        .sampler_state = dispatch->sampler_state + sampler,
    };
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (!eu->ctx->model->sampler_messages) { /* a part of which only the EUs are modelled */
        g4_sampler_refuse_message(&c);
        return G4_OK;
    }
    if (g4_sampler_run_planned(eu, gang, send, has_header)) {
        return G4_OK;
    }
    if (gen7_sampler_message_simd_mode(send->descriptor) == GEN7_SAMPLER_SIMD_MODE_SIMD32_64) {
        return g4_message_media_sampler_gen7(eu, gang, send);
    }
    c.message = find_message(&c);
    if (!c.message) {
        g4_sampler_refuse_message(&c);
        return G4_OK;
    }
    port->unit = G4_UNIT_SAMPLER;
    c.cache->reader.port = port;
    c.cache->reader.state = eu->ctx->state;
    c.texture = g4_sampler_find_texture(&c, c.binding_table_index);
    if (c.message->simd == 4) {
        g4_sampler_spread_4x2(&c);
    }
    if (has_header) {
        run_headers(&c, sampler);
    } else {
        run(&c, 0);
    }
    port->unit = unit;
    if (eu->counters) {
        g4_sampler_count(&c);
    }
    return G4_OK;
}
