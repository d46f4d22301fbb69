/*
 * Typed surfaces: images that kernels read, write, and change atomically, at integer coordinates (IVB PRM vol. 4 part
 * 1, data port; on Haswell in data cache 1).
 */
#include <math.h>
#include <string.h>

#include "core/report.h"
#include "core/surface.h"
#include "core/util.h"
#include "eu/message.h"
#include "eu/worker.h"
#include "functions/atomics.h"
#include "functions/dataport_gen7.h"
#include "functions/surface_message.h"
#include "messages_gen7.h"

enum {
    TEXEL_BYTES = 16,
};

enum g4_typed_slots g4_typed_slots_gen75(uint32_t descriptor) {
    switch (gen7_data_cache_data_port_1_message_simd_mode(descriptor)) {
    case GEN7_SURFACE_SIMD_MODE_SIMD4X2:
        return G4_SLOTS_4X2;
    case GEN7_SURFACE_SIMD_MODE_SIMD16: /* here: slots 0 to 7 */
        return G4_SLOTS_LOW;
    default:
        return G4_SLOTS_HIGH;
    }
}

struct image_access {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    const struct g4_surface *surface;
    unsigned data;        /* the payload register of the first coordinate: after the header, if there is one */
    unsigned coordinates; /* number of parameters */
    unsigned source;      /* the payload register of the first value */
    bool halves;          /* SIMD4x2 */
    bool high;            /* the header's pixels 8 to 15 */
    int thread;
    struct g4_image image; /* of the last texel, if has_image */
    uint32_t slice;
    bool has_image;
};

/* ---- coordinates ---- */

static uint32_t coordinate(const struct image_access *a, uint32_t parameter, uint32_t lane) {
    if (parameter >= a->coordinates) {
        return 0;
    }
    return a->halves ? g4_payload(a->gang, a->send, a->data, a->thread)[(lane & 4) + parameter]
                     : g4_payload(a->gang, a->send, a->data + parameter, a->thread)[lane];
}

/* Find a->image.  Channels nearly always have the slice of the one before. */
static bool find_image(struct image_access *a, uint32_t level, uint32_t slice) {
    if (!a->has_image || a->slice != slice) {
        a->has_image = g4_surface_image(a->surface, a->eu->ctx->gen, level, slice, &a->image);
        a->slice = slice;
    }
    return a->has_image;
}

/* The address of a channel's texel.  False: it is outside of the surface. */
static bool texel_address(struct image_access *a, uint32_t lane, g4_address *address) {
    const struct g4_surface *const surface = a->surface;
    const uint32_t u = coordinate(a, 0, lane);
    const uint32_t bytes = surface->format->block_bits / 8;

    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        *address = surface->base + u * surface->pitch;
        return u < surface->buffer_entries;
    }
    const bool line = surface->type == G4_SURFACE_TYPE_SURFTYPE_1D;
    const bool volume = surface->type == G4_SURFACE_TYPE_SURFTYPE_3D;
    const uint32_t v = line ? 0 : coordinate(a, 1, lane);
    const uint32_t r = coordinate(a, line ? 1 : 2, lane);
    const uint32_t faces = surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE ? 6 : 1;
    /* Messages access only the first level of the view, and count slices from its first one (docs/decisions.md 224). */
    const uint32_t level = surface->min_lod;
    const uint32_t limit = volume ? g4_minify(surface->depth, level) : surface->depth * faces;

    if (r >= limit || !find_image(a, level, r + surface->minimum_array_element) || u >= a->image.width ||
        v >= a->image.height) {
        return false;
    }
    const struct g4_image *const image = &a->image;
    *address =
        image->base + (uint32_t)g4_surface_offset(image->tiling, image->pitch, (image->x0 + u) * bytes, image->y0 + v);
    return true;
}

/* ---- texels ---- */

static uint32_t field_mask(uint32_t bits) {
    return bits >= 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
}

static uint32_t field_of(const uint8_t *texel, const struct g4_format_channel *channel) {
    uint64_t word = 0;
    memcpy(&word, texel + channel->at / 8, sizeof word);
    return (uint32_t)(word >> (channel->at & 7)) & field_mask(channel->bits);
}

static void set_field(uint8_t *texel, const struct g4_format_channel *channel, uint32_t value) {
    uint64_t word;
    const uint64_t mask = (uint64_t)field_mask(channel->bits) << (channel->at & 7);
    memcpy(&word, texel + channel->at / 8, sizeof word);
    word = (word & ~mask) | ((uint64_t)value << (channel->at & 7) & mask);
    memcpy(texel + channel->at / 8, &word, sizeof word);
}

/* The float with the bits of a half float. */
static uint32_t widened(uint32_t half) {
    const uint32_t sign = (half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t mantissa = half & 0x3ff;
    if (exponent == 0) {
        return sign | g4_hw_bits(ldexpf((float)mantissa, -24));
    }
    return sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | mantissa << 13;
}

/* The value that a kernel receives; formats with typed reads are those of integers and floats. */
static uint32_t decoded(const struct g4_format *format, const struct g4_format_channel *channel, const uint8_t *texel) {
    switch (channel->type) {
    case G4_CHANNEL_ZERO:
        return 0;
    case G4_CHANNEL_ONE:
        return format->data_class == G4_CLASS_FLOAT ? 0x3f800000 : 1;
    case G4_CHANNEL_SINT: {
        const uint32_t shift = 32u - channel->bits;
        return (uint32_t)((int32_t)(field_of(texel, channel) << shift) >> shift);
    }
    case G4_CHANNEL_FLOAT:
        return channel->bits == 16 ? widened(field_of(texel, channel)) : field_of(texel, channel);
    default:
        return field_of(texel, channel);
    }
}

/* A float with `exponent_bits` 5 and fewer bits of mantissa, rounded to nearest even. */
static uint32_t small_float(uint32_t bits, uint32_t mantissa_bits, bool has_sign) {
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t sign = has_sign ? (bits >> 31) << (mantissa_bits + 5) : 0;
    const uint32_t infinity = UINT32_C(31) << mantissa_bits;

    if (magnitude > 0x7f800000) {
        return sign | infinity | UINT32_C(1) << (mantissa_bits - 1);
    }
    if (!has_sign && bits >> 31) {
        return 0;
    }
    const float value = g4_hw_float(magnitude);
    if (value >= 65536.0f) {
        return sign | infinity;
    }
    if (magnitude == 0) {
        return sign;
    }
    int exponent;
    (void)frexpf(value, &exponent);
    const int scale = (int)mantissa_bits - (exponent < -13 ? -14 : exponent - 1);
    const uint32_t units = (uint32_t)nearbyintf(ldexpf(value, scale));
    const uint32_t biased = exponent < -13 ? 0 : (uint32_t)(exponent + 14 - 1) << mantissa_bits;
    const uint32_t packed = biased + units;
    return sign | (packed < infinity ? packed : infinity);
}

static uint32_t normalized(float value, float low, uint32_t most) {
    const float limited = value > low ? (value < 1.0f ? value : 1.0f) : low; /* NaN becomes the lower limit */
    const int64_t number = (int64_t)nearbyintf((value == value ? limited : 0.0f) * (float)most);
    const int64_t limit = most; /* 32 bits of it are more than a float has */
    return (uint32_t)(number > limit ? limit : number < -limit ? -limit : number);
}

static uint32_t encoded(const struct g4_format_channel *channel, uint32_t value) {
    const uint32_t mask = field_mask(channel->bits);
    switch (channel->type) {
    case G4_CHANNEL_UNORM:
        return normalized(g4_hw_float(value), 0.0f, mask);
    case G4_CHANNEL_SNORM:
        return normalized(g4_hw_float(value), -1.0f, mask >> 1);
    case G4_CHANNEL_UINT:
        return value < mask ? value : mask;
    case G4_CHANNEL_SINT: {
        const int32_t most = (int32_t)(mask >> 1);
        const int32_t number = (int32_t)value;
        return (uint32_t)(number > most ? most : number < -most - 1 ? -most - 1 : number);
    }
    case G4_CHANNEL_FLOAT:
        return channel->bits == 32 ? value : small_float(value, 10, true);
    case G4_CHANNEL_UFLOAT:
        return small_float(value, channel->bits - 5u, false);
    default:
        return 0;
    }
}

/* ---- messages ---- */

static void refuse(const struct image_access *a, enum g4_event event, uint32_t value) {
    const int first = __builtin_ctz(a->send->threads | 1u << G4_GANG_THREADS);
    g4_message_error(a->eu, a->gang, a->send, first % G4_GANG_THREADS, event, value);
}

/* The channels of a thread that access the surface. */
static unsigned enabled_channels(const struct image_access *a) {
    const unsigned lanes = g4_thread_lanes(a->send->emask[0], a->thread);
    if (a->halves || !a->data) {
        return lanes;
    }
    const uint32_t mask = gen7_data_port_message_header_pixel_mask(g4_payload(a->gang, a->send, 0, a->thread));
    return lanes & (mask >> (a->high ? 8 : 0) & 0xff);
}

/* `least`: registers after the header. */
static bool begin(struct image_access *a, enum g4_typed_slots slots, unsigned least) {
    const struct g4_dispatch *const dispatch = a->gang->dispatch;
    const uint32_t descriptor = a->send->descriptor;
    const uint32_t index = gen7_render_cache_data_port_message_binding_table_index(descriptor);

    a->halves = slots == G4_SLOTS_4X2;
    a->high =
        slots == G4_SLOTS_HIGH || (slots == G4_SLOTS_OF_GROUP && gen7_data_cache_data_port_1_message_simd8(descriptor));
    a->data = gen7_render_cache_data_port_message_header_present(descriptor) ? 1 : 0;
    if (a->send->mlen < a->data + least || (!a->data && !a->eu->ctx->model->quirks.has_bare_typed_messages)) {
        refuse(a, G4_EVENT_BAD_MESSAGE, descriptor);
        return false;
    }
    a->surface = g4_surface_get(a->eu->surfaces, a->eu->ctx, &a->eu->worker->port, dispatch->surface_state_base,
                                dispatch->binding_table, index);
    return true;
}

/* Ivy Bridge does not document typed reads of R8_UINT and R16_UINT, but drivers rely on them (docs/decisions.md 263).
 */
static bool reads_silently(const struct image_access *a) {
    const uint32_t format = a->surface->format_code;
    return a->eu->ctx->model->quirks.reads_small_texels &&
           (format == G4_SURFACE_FORMAT_R8_UINT || format == G4_SURFACE_FORMAT_R16_UINT);
}

static bool is_accessible(const struct image_access *a, bool supported) {
    const struct g4_surface *const surface = a->surface;
    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return false;
    }
    if (!supported) {
        refuse(a, G4_EVENT_BAD_FORMAT, surface->format_code);
    }
    return surface->format->encoding == G4_ENCODING_PLAIN && surface->format->block_bits >= 8 &&
           surface->format->block_bits <= 8 * TEXEL_BYTES;
}

static bool supports(const struct image_access *a, uint32_t generations) {
    return generations & g4_format_gen(a->eu->ctx->model);
}

static void read_thread(struct image_access *a, bool accessible, uint32_t disabled) {
    const struct g4_format *const format = a->surface->format;
    const unsigned enable = enabled_channels(a);

    for (uint32_t i = 0; i < 8; i++) {
        uint8_t texel[TEXEL_BYTES + 8] = {0};
        g4_address address;
        const bool found = accessible && (enable >> i & 1) && texel_address(a, i, &address);
        if (!(enable >> i & 1)) {
            continue;
        }
        if (found) {
            (void)g4_mem_read(&a->eu->worker->port, address, texel, format->block_bits / 8u);
        }
        unsigned next = 0;
        for (uint32_t channel = 0; channel < 4; channel++) {
            if (disabled >> channel & 1) {
                continue;
            }
            const uint32_t value = found ? decoded(format, &format->channel[channel], texel) : 0;
            if (a->halves) {
                if (channel == (i & 3)) {
                    uint32_t *const row = g4_response(a->gang, a->send, 0, a->thread);
                    if (row) {
                        row[i] = value;
                    }
                }
                continue;
            }
            uint32_t *const row = g4_response(a->gang, a->send, next++, a->thread);
            if (row) {
                row[i] = value;
            }
        }
    }
}

enum g4_status g4_typed_surface_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                     enum g4_typed_slots slots) {
    struct image_access a = {.eu = eu, .gang = gang, .send = send};
    const uint32_t disabled = gen7_data_cache_data_port_1_message_channel_mask(send->descriptor);

    if (!begin(&a, slots, 1)) {
        return G4_OK;
    }
    a.coordinates = a.halves ? 4 : send->mlen - a.data;
    const bool accessible = is_accessible(&a, reads_silently(&a) || supports(&a, a.surface->format->typed_read));
    for (a.thread = 0; a.thread < G4_GANG_THREADS; a.thread++) {
        if (send->threads >> a.thread & 1) {
            read_thread(&a, accessible, disabled);
        }
    }
    return G4_OK;
}

static void write_thread(struct image_access *a, uint32_t disabled) {
    const struct g4_format *const format = a->surface->format;
    const unsigned enable = enabled_channels(a);

    for (uint32_t i = 0; i < 8; i++) {
        uint8_t texel[TEXEL_BYTES + 8] = {0};
        g4_address address;
        if (!(enable >> i & 1) || (a->halves && i & 3) || !texel_address(a, i, &address)) {
            continue;
        }
        unsigned next = 0;
        for (uint32_t channel = 0; channel < 4; channel++) {
            if (disabled >> channel & 1) {
                continue;
            }
            const uint32_t value = a->halves ? g4_payload(a->gang, a->send, a->source, a->thread)[i + channel]
                                             : g4_payload(a->gang, a->send, a->source + next++, a->thread)[i];
            const struct g4_format_channel *const to = &format->channel[channel];
            if (to->bits) {
                set_field(texel, to, encoded(to, value));
            }
        }
        (void)g4_mem_write(&a->eu->worker->port, address, texel, format->block_bits / 8u);
    }
}

enum g4_status g4_typed_surface_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                      enum g4_typed_slots slots) {
    struct image_access a = {.eu = eu, .gang = gang, .send = send};
    const uint32_t disabled = gen7_data_cache_data_port_1_message_channel_mask(send->descriptor);
    const unsigned values = slots == G4_SLOTS_4X2 ? 1 : 4u - (unsigned)__builtin_popcount(disabled);

    if (!begin(&a, slots, 1 + values)) {
        return G4_OK;
    }
    a.source = send->mlen - values;
    a.coordinates = a.halves ? 4 : a.source - a.data;
    if (!is_accessible(&a, supports(&a, a.surface->format->typed_write))) {
        return G4_OK;
    }
    for (a.thread = 0; a.thread < G4_GANG_THREADS; a.thread++) {
        if (send->threads >> a.thread & 1) {
            write_thread(&a, disabled);
        }
    }
    return G4_OK;
}

/* Operands: none for increments and decrements, two for compare and write, else one. */
static unsigned operands_of(uint32_t operation) {
    switch (operation) {
    case GEN7_ATOMIC_OPERATION_INC:
    case GEN7_ATOMIC_OPERATION_DEC:
    case GEN7_ATOMIC_OPERATION_PREDEC:
        return 0;
    case GEN7_ATOMIC_OPERATION_CMPWR:
        return 2;
    default:
        return 1;
    }
}

static void change_thread(struct image_access *a, bool accessible, uint32_t operation, bool returns) {
    const uint32_t *const first = g4_payload(a->gang, a->send, a->source, a->thread);
    const uint32_t *const second = /* the next dword of the same register, or the next register */
        a->halves ? first + 1 : g4_payload(a->gang, a->send, a->source + 1, a->thread);
    uint32_t *const row = returns ? g4_response(a->gang, a->send, 0, a->thread) : NULL;
    const unsigned enable = enabled_channels(a);

    for (uint32_t i = 0; i < 8; i++) {
        g4_address address;
        uint32_t old = 0;
        if (!(enable >> i & 1) || (a->halves && i & 3)) {
            continue;
        }
        if (accessible && texel_address(a, i, &address)) {
            old = g4_atomic(&a->eu->worker->port, address, operation, first[i], second[i]);
        }
        if (row) {
            row[i] = old;
        }
    }
}

enum g4_status g4_typed_surface_atomic(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                       enum g4_typed_slots slots) {
    struct image_access a = {.eu = eu, .gang = gang, .send = send};
    const uint32_t operation = gen7_data_cache_data_port_1_message_atomic_operation(send->descriptor);
    const bool returns = gen7_data_cache_data_port_1_message_return_data(send->descriptor);
    const unsigned operands = slots == G4_SLOTS_4X2 && operands_of(operation) ? 1 : operands_of(operation);

    if (!begin(&a, slots, 1 + operands)) {
        return G4_OK;
    }
    a.source = send->mlen - operands;
    a.coordinates = a.halves ? 4 : a.source - a.data;
    const bool accessible =
        is_accessible(&a, supports(&a, a.surface->format->typed_read)) && a.surface->format->block_bits == 32;
    for (a.thread = 0; a.thread < G4_GANG_THREADS; a.thread++) {
        if (send->threads >> a.thread & 1) {
            change_thread(&a, accessible, operation, returns);
        }
    }
    return G4_OK;
}

enum g4_status g4_message_typed_surface_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const bool high = gen7_data_cache_data_port_1_message_return_data(send->descriptor); /* here: slots 8 to 15 */
    const enum g4_typed_slots slots = high ? G4_SLOTS_HIGH : G4_SLOTS_LOW;

    switch (gen7_render_cache_data_port_message_message_type(send->descriptor)) {
    case GEN7_RENDER_CACHE_TYPE_GEN7_TYPED_SURFACE_READ:
        return g4_typed_surface_read(eu, gang, send, slots);
    case GEN7_RENDER_CACHE_TYPE_GEN7_TYPED_SURFACE_WRITE:
        return g4_typed_surface_write(eu, gang, send, slots);
    case GEN7_RENDER_CACHE_TYPE_GEN7_TYPED_ATOMIC:
        return g4_typed_surface_atomic(eu, gang, send, G4_SLOTS_OF_GROUP);
    case GEN7_RENDER_CACHE_TYPE_GEN7_MEMORY_FENCE:
        return G4_OK; /* memory is always up to date */
    default:
        g4_message_report(eu, gang, send, G4_EVENT_UNMODELLED);
        return G4_OK;
    }
}
