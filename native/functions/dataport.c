/*
 * OWord blocks, OWord dual blocks and DWords of the data port, and the tables of its messages (965 PRM vol. 4, 5.10).
 * Render target writes are in color/render_target_write.c, media blocks in media_block.c.
 */
#include "functions/dataport.h"
#include "hw_messages.h"

#include <string.h>

#include "color/color.h"
#include "core/report.h"
#include "eu/counters.h"
#include "eu/message.h"
#include "eu/worker.h"
#include "functions/table.h"

/* A buffer as one thread sees it. */
struct buffer {
    bool present; /* false: reads return 0, writes are dropped */
    g4_address base;
    uint64_t bytes; /* accesses at or beyond are out of bounds */
};

/* A block message of one thread after the other.  All of them use the same surface; stateless memory differs. */
struct g4_block_access {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    bool stateless;
    struct buffer buffer;
    uint32_t global_offset;
    unsigned enable[2]; /* channels 0 to 7 and 8 to 15 */
};

/* ---- buffers ---- */

/* Only the general state upper bound limits stateless accesses; 0 means no bound. */
static struct buffer stateless_buffer(const struct g4_block_access *access, const uint32_t *header) {
    const uint32_t bound = access->eu->ctx->state->general_state_bound;
    const g4_address base =
        access->gang->dispatch->general_state_base + g4_data_port_message_header_immediate_buffer_base_address(header);
    const uint64_t bytes = bound > base ? bound - base : 0;
    return (struct buffer){.present = true, .base = base, .bytes = bound ? bytes : UINT64_C(1) << 32};
}

static struct buffer surface_buffer(const struct g4_block_access *access, uint32_t alignment) {
    struct g4_eu *const eu = access->eu;
    const struct g4_dispatch *const dispatch = access->gang->dispatch;
    const uint32_t index = g4_data_port_read_message_binding_table_index(access->send->descriptor);
    const struct g4_surface *const surface = g4_surface_get(
        eu->surfaces, eu->ctx, &eu->worker->port, dispatch->surface_state_base, dispatch->binding_table, index);
    const bool is_buffer = surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER;

    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return (struct buffer){0};
    }
    if (!is_buffer || surface->tiling != G4_TILING_LINEAR || surface->base % alignment != 0) {
        const int first = __builtin_ctz(access->send->threads | 1u << G4_GANG_THREADS);
        g4_message_error(eu, access->gang, access->send, first % G4_GANG_THREADS, G4_EVENT_BAD_SURFACE, index);
    }
    /* Entries have 16 bytes; the surface's pitch is ignored. */
    return (struct buffer){
        .present = is_buffer, .base = surface->base, .bytes = (uint64_t)surface->buffer_entries * 16};
}

static void begin_thread(struct g4_block_access *access, int thread) {
    const uint32_t *const header = g4_payload(access->gang, access->send, 0, thread);

    access->thread = thread;
    access->global_offset = g4_data_port_message_header_global_offset(header);
    access->enable[0] = g4_thread_lanes(access->send->emask[0], thread);
    access->enable[1] = g4_thread_lanes(access->send->emask[1], thread);
    if (access->stateless) {
        access->buffer = stateless_buffer(access, header);
    }
}

/* Offsets are multiples of the access size: their low bits are dropped. */
static uint32_t effective_offset(const struct g4_block_access *access, uint32_t offset, uint32_t dwords) {
    return (access->global_offset + offset) & ~(dwords * 4 - 1);
}

/* Inlined: the number of dwords is a constant of each caller. */
static inline __attribute__((always_inline)) void read_buffer(const struct g4_block_access *access, uint32_t offset,
                                                              uint32_t *dw, uint32_t count) {
    struct g4_port *const port = &access->eu->worker->port;
    const uint32_t bytes = count * 4;
    const uint32_t start = effective_offset(access, offset, count);
    const g4_address address = access->buffer.base + start;

    if (!access->buffer.present || (uint64_t)start + bytes > access->buffer.bytes) {
        memset(dw, 0, bytes);
    } else if ((address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - bytes) {
        memcpy(dw, g4_mem_read_ptr(port, address), bytes);
    } else {
        (void)g4_mem_read(port, address, dw, bytes); /* missing pages are in the port's log */
    }
}

/* `enable` has a bit for each dword.  Inlined as read_buffer(). */
static inline __attribute__((always_inline)) void write_buffer(const struct g4_block_access *access, uint32_t offset,
                                                               const uint32_t *dw, uint32_t count, unsigned enable) {
    struct g4_port *const port = &access->eu->worker->port;
    const uint32_t bytes = count * 4;
    const uint32_t start = effective_offset(access, offset, count);
    const g4_address address = access->buffer.base + start;
    uint32_t first = 0;

    if (!access->buffer.present || (uint64_t)start + bytes > access->buffer.bytes) {
        return;
    }
    if (enable == (1u << count) - 1 && (address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - bytes) {
        uint8_t *const to = g4_mem_write_ptr(port, address);
        if (to) {
            memcpy(to, dw, bytes);
            return;
        }
        first = 1; /* each dword has a fault: that of the first is in the log now */
    }
    for (uint32_t i = first; i < count; i++) {
        if (enable >> i & 1) {
            g4_mem_write32(port, address + 4 * i, dw[i]);
        }
    }
}

/* ---- OWord blocks ---- */

/* The four channels that enable the OWord in a half register: the first and third register belong to channels 0 to 7,
 * the second and fourth to channels 8 to 15. */
static unsigned oword_channels(const unsigned enable[2], uint32_t half) {
    return enable[half / 2 & 1] >> (4 * (half & 1)) & 15;
}

/* An OWord is read whole if any of its four channels is enabled. */
static void read_oword(const struct g4_block_access *access, uint32_t offset, uint32_t reg, uint32_t half,
                       unsigned channels) {
    uint32_t *const row = g4_response(access->gang, access->send, reg, access->thread);
    if (row && channels) {
        read_buffer(access, offset, row + 4 * half, 4);
    }
}

/* Channels enable the dwords that they write. */
static void write_oword(const struct g4_block_access *access, uint32_t offset, uint32_t reg, uint32_t half,
                        unsigned channels) {
    const uint32_t *const row = g4_payload(access->gang, access->send, reg, access->thread);
    write_buffer(access, offset, row + 4 * half, 4, channels);
}

static void read_oword_block(const struct g4_block_access *access, const struct g4_block_size *size) {
    for (uint32_t k = 0; k < size->count; k++) {
        const uint32_t half = size->first_half + k;
        read_oword(access, 16 * k, half / 2, half & 1, oword_channels(access->enable, half));
    }
}

static void write_oword_block(const struct g4_block_access *access, const struct g4_block_size *size) {
    for (uint32_t k = 0; k < size->count; k++) {
        const uint32_t half = size->first_half + k;
        write_oword(access, 16 * k, 1 + half / 2, half & 1, oword_channels(access->enable, half));
    }
}

static uint32_t oword_block_bytes(const struct g4_eu *eu, const uint32_t *header, const struct g4_block_size *size,
                                  const unsigned enable[2], bool write) {
    uint32_t bytes = 0;

    (void)eu;
    (void)header;
    for (uint32_t k = 0; k < size->count; k++) {
        const unsigned channels = oword_channels(enable, size->first_half + k);
        bytes += write ? 4 * (unsigned)__builtin_popcount(channels) : channels ? 16 : 0;
    }
    return bytes;
}

static void read_oword_dual(const struct g4_block_access *access, const struct g4_block_size *size) {
    const uint32_t *const offsets = g4_payload(access->gang, access->send, 1, access->thread);
    for (uint32_t j = 0; j < size->count; j++) {
        read_oword(access, g4_oword_dual_block_offsets_block_offset_0(offsets) + 16 * j, j, 0, access->enable[0] & 15);
        read_oword(access, g4_oword_dual_block_offsets_block_offset_1(offsets) + 16 * j, j, 1,
                   access->enable[0] >> 4 & 15);
    }
}

static void write_oword_dual(const struct g4_block_access *access, const struct g4_block_size *size) {
    const uint32_t *const offsets = g4_payload(access->gang, access->send, 1, access->thread);
    for (uint32_t j = 0; j < size->count; j++) {
        write_oword(access, g4_oword_dual_block_offsets_block_offset_0(offsets) + 16 * j, 2 + j, 0,
                    access->enable[0] & 15);
        write_oword(access, g4_oword_dual_block_offsets_block_offset_1(offsets) + 16 * j, 2 + j, 1,
                    access->enable[0] >> 4 & 15);
    }
}

static uint32_t oword_dual_bytes(const struct g4_eu *eu, const uint32_t *header, const struct g4_block_size *size,
                                 const unsigned enable[2], bool write) {
    const unsigned low = enable[0] & 15;
    const unsigned high = enable[0] >> 4 & 15;
    const uint32_t written = 4 * (unsigned)(__builtin_popcount(low) + __builtin_popcount(high));

    (void)eu;
    (void)header;
    return size->count * (write ? written : (low ? 16u : 0u) + (high ? 16u : 0u));
}

/* ---- scattered DWords ---- */

static void read_dwords(const struct g4_block_access *access, const struct g4_block_size *size) {
    for (uint32_t reg = 0; reg < size->count; reg++) {
        const uint32_t *const offsets = g4_payload(access->gang, access->send, 1 + reg, access->thread);
        uint32_t *const row = g4_response(access->gang, access->send, reg, access->thread);
        for (unsigned i = 0; row && i < 8; i++) {
            if (access->enable[reg] >> i & 1) {
                read_buffer(access, offsets[i], row + i, 1);
            }
        }
    }
}

/* In ascending order: of elements with equal offsets the highest stays. */
static void write_dwords(const struct g4_block_access *access, const struct g4_block_size *size) {
    for (uint32_t reg = 0; reg < size->count; reg++) {
        const uint32_t *const offsets = g4_payload(access->gang, access->send, 1 + reg, access->thread);
        const uint32_t *const data =
            g4_payload(access->gang, access->send, 1 + size->offset_registers + reg, access->thread);
        for (unsigned i = 0; i < 8; i++) {
            write_buffer(access, offsets[i], data + i, 1, access->enable[reg] >> i & 1);
        }
    }
}

static uint32_t scattered_bytes(const struct g4_eu *eu, const uint32_t *header, const struct g4_block_size *size,
                                const unsigned enable[2], bool write) {
    uint32_t bytes = 0;

    (void)eu;
    (void)header;
    (void)write;
    for (uint32_t reg = 0; reg < size->count; reg++) {
        bytes += 4 * (unsigned)__builtin_popcount(enable[reg]);
    }
    return bytes;
}

/* ---- other messages ---- */

static uint32_t media_block_bytes(const struct g4_eu *eu, const uint32_t *header, const struct g4_block_size *size,
                                  const unsigned enable[2], bool write) {
    (void)size;
    (void)enable;
    (void)write;
    return g4_media_block_bytes(header, eu->ctx->gen);
}

/* Memory is always up to date. */
static enum g4_status flush_render_cache(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    (void)g4_message_lengths(eu, gang, send, 1, g4_data_port_write_message_send_write_commit_message(send->descriptor));
    return G4_OK;
}

/* ---- tables ---- */

static const struct g4_block_size oword_block_sizes[G4_BLOCK_SIZES] = {
    [G4_OWORD_BLOCK_SIZE_OWORDS_1_LOW] = {.count = 1, .data_registers = 1},
    [G4_OWORD_BLOCK_SIZE_OWORDS_1_HIGH] = {.count = 1, .first_half = 1, .data_registers = 1},
    [G4_OWORD_BLOCK_SIZE_OWORDS_2] = {.count = 2, .data_registers = 1},
    [G4_OWORD_BLOCK_SIZE_OWORDS_4] = {.count = 4, .data_registers = 2},
    [G4_OWORD_BLOCK_SIZE_OWORDS_8] = {.count = 8, .data_registers = 4},
};

static const struct g4_block_size oword_dual_sizes[G4_BLOCK_SIZES] = {
    [G4_OWORD_DUAL_BLOCK_SIZE_OWORDS_1] = {.count = 1, .offset_registers = 1, .data_registers = 1},
    [G4_OWORD_DUAL_BLOCK_SIZE_OWORDS_4] = {.count = 4, .offset_registers = 1, .data_registers = 4},
};

static const struct g4_block_size scattered_sizes[G4_BLOCK_SIZES] = {
    [G4_DWORD_SCATTERED_SIZE_DWORDS_8] = {.count = 1, .offset_registers = 1, .data_registers = 1},
    [G4_DWORD_SCATTERED_SIZE_DWORDS_16] = {.count = 2, .offset_registers = 2, .data_registers = 2},
};

#define OWORD_BLOCK(direction)                                                                                         \
    .sizes = oword_block_sizes, .transfer = direction##_oword_block, .alignment = 16, .bytes = oword_block_bytes
#define OWORD_DUAL_BLOCK(direction)                                                                                    \
    .sizes = oword_dual_sizes, .transfer = direction##_oword_dual, .alignment = 16, .bytes = oword_dual_bytes
#define DWORD_SCATTERED(direction)                                                                                     \
    .sizes = scattered_sizes, .transfer = direction##_dwords, .alignment = 4, .bytes = scattered_bytes
#define MEDIA_BLOCK(direction) .handler = g4_media_block_##direction, .bytes = media_block_bytes, .is_media_block = true

enum {
    CONTROL_BIT_3 = 8, /* of the message specific control of Gen4's reads, bit 11 of the descriptor: must be zero */
};

const struct g4_dataport_messages g4_gen4_dataport_reads = {
    .type = {
        [G4_DATA_PORT_READ_TYPE_GEN4_OWORD_BLOCK] = {OWORD_BLOCK(read), .reserved_control = CONTROL_BIT_3},
        [G4_DATA_PORT_READ_TYPE_GEN4_OWORD_DUAL_BLOCK] = {OWORD_DUAL_BLOCK(read), .reserved_control = CONTROL_BIT_3},
        [G4_DATA_PORT_READ_TYPE_GEN4_MEDIA_BLOCK] = {MEDIA_BLOCK(read), .reserved_control = CONTROL_BIT_3},
        [G4_DATA_PORT_READ_TYPE_GEN4_DWORD_SCATTERED] = {DWORD_SCATTERED(read), .reserved_control = CONTROL_BIT_3},
    }};

const struct g4_dataport_messages g4_gen45_dataport_reads = {
    .type = {
        [G4_DATA_PORT_READ_TYPE_GEN45_OWORD_BLOCK] = {OWORD_BLOCK(read)},
        [G4_DATA_PORT_READ_TYPE_GEN45_RENDER_TARGET_UNORM] = {.is_unmodelled = true},
        [G4_DATA_PORT_READ_TYPE_GEN45_OWORD_DUAL_BLOCK] = {OWORD_DUAL_BLOCK(read)},
        [G4_DATA_PORT_READ_TYPE_GEN45_AVC_LOOP_FILTER] = {.is_unmodelled = true},
        [G4_DATA_PORT_READ_TYPE_GEN45_MEDIA_BLOCK] = {MEDIA_BLOCK(read)},
        [G4_DATA_PORT_READ_TYPE_GEN45_DWORD_SCATTERED] = {DWORD_SCATTERED(read)},
    }};

#define WRITES_OF_GEN4                                                                                                 \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_OWORD_BLOCK] = {OWORD_BLOCK(write)},                                                 \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_OWORD_DUAL_BLOCK] = {OWORD_DUAL_BLOCK(write)},                                       \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_MEDIA_BLOCK] = {MEDIA_BLOCK(write)},                                                 \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_DWORD_SCATTERED] = {DWORD_SCATTERED(write)},                                         \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_RENDER_TARGET] = {.handler = g4_render_target_write, .may_end_thread = true},        \
    [G4_DATA_PORT_WRITE_TYPE_GEN4_FLUSH_RENDER_CACHE] = {.handler = flush_render_cache}

const struct g4_dataport_messages g4_gen4_dataport_writes = {.type = {WRITES_OF_GEN4}};

const struct g4_dataport_messages g4_gen45_dataport_writes = {
    .type = {
        WRITES_OF_GEN4,
        [G4_DATA_PORT_WRITE_TYPE_GEN45_STREAMED_VERTEX_BUFFER] = {.is_unmodelled = true},
        [G4_DATA_PORT_WRITE_TYPE_GEN45_RENDER_TARGET_UNORM] = {.is_unmodelled = true},
    }};

/* ---- messages ---- */

static void transfer_threads(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                             const struct g4_dataport_message *message, const struct g4_block_size *size) {
    struct g4_block_access access = {.eu = eu, .gang = gang, .send = send};

    access.stateless = g4_data_port_read_message_binding_table_index(send->descriptor) == G4_BTI_STATELESS;
    if (!access.stateless) {
        access.buffer = surface_buffer(&access, message->alignment);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            begin_thread(&access, t);
            message->transfer(&access, size);
        }
    }
}

static enum g4_status run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                          const struct g4_dataport_message *message, uint32_t control, bool write) {
    const struct g4_block_size *const size = message->sizes ? &message->sizes[control] : NULL;

    if (message->handler) {
        return message->handler(eu, gang, send);
    }
    if (!size || size->count == 0) {
        g4_message_report(eu, gang, send, message->is_unmodelled ? G4_EVENT_UNMODELLED : G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    const unsigned data_in = write ? size->data_registers : 0;
    const unsigned data_out =
        write ? g4_data_port_write_message_send_write_commit_message(send->descriptor) : size->data_registers;
    if (g4_message_lengths(eu, gang, send, 1 + size->offset_registers + data_in, data_out)) {
        transfer_threads(eu, gang, send, message, size);
    }
    return G4_OK;
}

/* The bytes that a message requests, whether or not it could be executed. */
static void count(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send,
                  const struct g4_dataport_message *message, uint32_t control, bool write) {
    static const struct g4_block_size none = {0};
    struct g4_counters *const counters = eu->counters;
    const struct g4_dispatch *const dispatch = gang->dispatch;
    const uint32_t index = g4_data_port_read_message_binding_table_index(send->descriptor);
    const struct g4_block_size *const size = message->sizes ? &message->sizes[control] : &none;
    enum g4_surface_role role = message->is_media_block ? G4_ROLE_MEDIA_BLOCK : G4_ROLE_BUFFER;
    g4_address address = dispatch->scratch_base;

    if (index == G4_BTI_STATELESS) {
        if (message->is_media_block) {
            return;
        }
        role = G4_ROLE_SCRATCH;
    } else {
        const struct g4_surface *const surface = g4_surface_get(
            counters->cache, eu->ctx, &counters->look, dispatch->surface_state_base, dispatch->binding_table, index);
        if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
            return;
        }
        address = surface->base;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            const unsigned enable[2] = {g4_thread_lanes(send->emask[0], t), g4_thread_lanes(send->emask[1], t)};
            const uint32_t bytes = message->bytes(eu, g4_payload(gang, send, 0, t), size, enable, write);
            g4_count_bytes(counters, role, address, write ? 0 : bytes, write ? bytes : 0);
        }
    }
}

enum g4_status g4_message_dataport_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t gen = eu->ctx->gen;
    const uint32_t control = g4_data_port_read_message_message_specific_control(send->descriptor, gen);
    const struct g4_dataport_message *const message =
        &eu->ctx->model->dataport_reads->type[g4_data_port_read_message_message_type(send->descriptor, gen)];

    if (control & message->reserved_control) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    if (g4_data_port_read_message_target_cache(send->descriptor) > G4_TARGET_CACHE_SAMPLER) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE); /* and continue: all caches hold the same */
    }
    const enum g4_status status = run(eu, gang, send, message, control, false);
    if (eu->counters && message->bytes) {
        count(eu, gang, send, message, control, false);
    }
    return status;
}

/* The response of a write commit has no data: it never changes the destination register. */
enum g4_status g4_message_dataport_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t control = g4_data_port_write_message_message_specific_control(send->descriptor);
    const struct g4_dataport_message *const message =
        &eu->ctx->model->dataport_writes->type[g4_data_port_write_message_message_type(send->descriptor)];

    if (send->eot && !message->may_end_thread) { /* the write is executed anyway */
        g4_message_report(eu, gang, send, G4_EVENT_EOT_WRONG_UNIT);
    }
    const enum g4_status status = run(eu, gang, send, message, control, true);
    if (eu->counters && message->bytes) {
        count(eu, gang, send, message, control, true);
    }
    return status;
}

/* ---- the memory of messages ---- */

enum g4_message_use g4_message_use_gen4(uint32_t function, uint32_t descriptor, uint32_t *entry, uint32_t *sampler) {
    switch (function) {
    case G4_SHARED_FUNCTION_NULL:
    case G4_SHARED_FUNCTION_EXTENDED_MATH:
    case G4_SHARED_FUNCTION_URB:
        return G4_USES_NOTHING;
    case G4_SHARED_FUNCTION_SAMPLER:
        *entry = g4_sampler_message_binding_table_index(descriptor);
        *sampler = g4_sampler_message_sampler_index(descriptor);
        return G4_USES_SAMPLER;
    case G4_SHARED_FUNCTION_DATA_PORT_READ:
        *entry = g4_data_port_read_message_binding_table_index(descriptor);
        return *entry == G4_BTI_STATELESS ? G4_USES_ANYTHING : G4_USES_SURFACE;
    default:
        return G4_USES_ANYTHING;
    }
}
