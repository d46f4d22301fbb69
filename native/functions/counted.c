/*
 * The shared functions of workers that count (eu/counters.h): each runs its message, then adds the bytes that it
 * requests.
 */
#include "eu/counters.h"
#include "eu/worker.h"
#include "functions/dataport.h"
#include "functions/table.h"
#include "sampler/message.h"

/* The surface of a message, NULL where there is nothing to read or write. */
static const struct g4_surface *surface_of(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send) {
    struct g4_counters *const counters = eu->counters;
    const struct g4_dispatch *const dispatch = gang->dispatch;
    const struct g4_surface *const surface =
        g4_surface_get(counters->cache, eu->ctx, &counters->look, dispatch->surface_state_base, dispatch->binding_table,
                       send->descriptor & 0xff);
    return surface->present && surface->type != G4_SURFACE_TYPE_SURFTYPE_NULL ? surface : NULL;
}

/* ---- the sampler ---- */

static enum g4_status counted_sampler(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const enum g4_status status = g4_message_sampler(eu, gang, send);
    const struct g4_surface *const surface = surface_of(eu, gang, send);

    for (int t = 0; surface && surface->format && t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            const struct g4_format *const format = surface->format;
            const uint32_t texels = (uint32_t)(format->block_width * format->block_height);
            const uint64_t bits =
                (uint64_t)g4_sampler_lookups(eu, send, t) * format->block_bits / (texels ? texels : 1);
            g4_count_bytes(eu->counters, G4_ROLE_TEXTURE, surface->base, (bits + 7) / 8, 0);
        }
    }
    return status;
}

/* ---- the data port ---- */

/* Bytes of an OWord block: whole OWords that are read, dwords that are written. */
static uint32_t block_bytes(const unsigned enable[2], uint32_t control, bool write) {
    const uint32_t owords = g4_oword_block_size(control);
    const uint32_t first = control == G4_OWORD_BLOCK_SIZE_OWORDS_1_HIGH;
    uint32_t bytes = 0;
    for (uint32_t place = first; place < first + owords; place++) {
        const unsigned lanes = enable[place / 2 & 1] >> (4 * (place & 1)) & 15;
        bytes += write ? 4 * (unsigned)__builtin_popcount(lanes) : lanes ? 16 : 0;
    }
    return bytes;
}

static uint32_t dual_bytes(unsigned enable, uint32_t control, bool write) {
    const unsigned low = enable & 15;
    const unsigned high = enable >> 4 & 15;
    const uint32_t once =
        write ? 4 * (unsigned)__builtin_popcount(enable & 0xff) : (low ? 16u : 0u) + (high ? 16u : 0u);
    return g4_oword_dual_size(control) * once;
}

static uint32_t scattered_bytes(const unsigned enable[2], uint32_t control) {
    uint32_t bytes = 0;
    for (uint32_t reg = 0; reg < g4_scattered_registers(control); reg++) {
        bytes += 4 * (unsigned)__builtin_popcount(enable[reg]);
    }
    return bytes;
}

/* What the messages of the read and the write port have in common. */
enum shape {
    OWORD_BLOCK,
    OWORD_DUAL_BLOCK,
    MEDIA_BLOCK,
    DWORD_SCATTERED,
    NOTHING,
};

static enum shape shape_of_read(const struct g4_quirks *quirks, uint32_t type) {
    if (!quirks->has_3_bit_read_types && (type & 1)) {
        return NOTHING;
    }
    switch (type) {
    case G4_DATA_PORT_READ_TYPE_GEN45_OWORD_BLOCK:
        return OWORD_BLOCK;
    case G4_DATA_PORT_READ_TYPE_GEN45_OWORD_DUAL_BLOCK:
        return OWORD_DUAL_BLOCK;
    case G4_DATA_PORT_READ_TYPE_GEN45_MEDIA_BLOCK:
        return MEDIA_BLOCK;
    case G4_DATA_PORT_READ_TYPE_GEN45_DWORD_SCATTERED:
        return DWORD_SCATTERED;
    default:
        return NOTHING;
    }
}

static enum shape shape_of_write(uint32_t type) {
    switch (type) {
    case G4_DATA_PORT_WRITE_TYPE_GEN45_OWORD_BLOCK:
        return OWORD_BLOCK;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_OWORD_DUAL_BLOCK:
        return OWORD_DUAL_BLOCK;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_MEDIA_BLOCK:
        return MEDIA_BLOCK;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_DWORD_SCATTERED:
        return DWORD_SCATTERED;
    default:
        return NOTHING; /* the colour calculator counts what render target writes do */
    }
}

static uint32_t bytes_of(const struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int t,
                         enum shape shape, uint32_t control, bool write) {
    const unsigned enable[2] = {g4_thread_lanes(send->emask[0], t), g4_thread_lanes(send->emask[1], t)};
    switch (shape) {
    case OWORD_BLOCK:
        return block_bytes(enable, control, write);
    case OWORD_DUAL_BLOCK:
        return dual_bytes(enable[0], control, write);
    case DWORD_SCATTERED:
        return scattered_bytes(enable, control);
    case MEDIA_BLOCK:
        return g4_media_block_bytes(g4_payload(gang, send, 0, t), eu->ctx->gen);
    default:
        return 0;
    }
}

static void count_data_port(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, enum shape shape,
                            uint32_t control, bool write) {
    const bool stateless = (send->descriptor & 0xff) == G4_BTI_STATELESS;
    const struct g4_surface *const surface = stateless || shape == NOTHING ? NULL : surface_of(eu, gang, send);
    const enum g4_surface_role role = stateless              ? G4_ROLE_SCRATCH
                                      : shape == MEDIA_BLOCK ? G4_ROLE_MEDIA_BLOCK
                                                             : G4_ROLE_BUFFER;

    if (shape == NOTHING || (stateless ? shape == MEDIA_BLOCK : !surface)) {
        return;
    }
    const uint32_t address = stateless ? gang->dispatch->scratch_base : surface->base;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            const uint32_t bytes = bytes_of(eu, gang, send, t, shape, control, write);
            g4_count_bytes(eu->counters, role, address, write ? 0 : bytes, write ? bytes : 0);
        }
    }
}

static enum g4_status counted_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const enum g4_status status = g4_message_dataport_read(eu, gang, send);
    const enum shape shape = shape_of_read(&eu->ctx->model->quirks, send->descriptor >> 11 & 7);
    count_data_port(eu, gang, send, shape, send->descriptor >> 8 & 7, false);
    return status;
}

static enum g4_status counted_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const enum g4_status status = g4_message_dataport_write(eu, gang, send);
    count_data_port(eu, gang, send, shape_of_write(send->descriptor >> 12 & 7), send->descriptor >> 8 & 15, true);
    return status;
}

/* ---- all of them ---- */

static enum g4_status uncounted(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return g4_message_functions[send->sfid](eu, gang, send);
}

g4_message_fn *const g4_counted_functions[G4_FUNCTIONS] = {
    [0] = uncounted,
    [1] = g4_message_math,
    [2] = counted_sampler,
    [3] = uncounted,
    [4] = counted_read,
    [5] = counted_write,
    [6 ... G4_FUNCTIONS - 1] = uncounted,
};
