/*
 * Blocks, scattered data, and untyped surfaces of the data ports from Ivy Bridge to Kaby Lake (IVB PRM vol. 4 part 1,
 * data port; SKL PRM vol. 7, A64 messages).  Typed surfaces are in typed_surface.c.
 */
#include "functions/dataport_gen7.h"
#include "functions/dataport.h"

#include <string.h>

#include "core/report.h"
#include "eu/message.h"
#include "eu/worker.h"
#include "functions/atomics.h"
#include "functions/surface_message.h"
#include "messages_gen7.h"
#include "messages_gen9.h"

#define SFID(NAME) GEN7_SHARED_FUNCTION_GEN6_##NAME

enum {
    OWORD = 16,
    BTI_SHARED_LOCAL_MEMORY = 254,
    BTI_STATELESS_FIRST = 250, /* Haswell: with other coherency */
};

/* The access of one thread. */
struct thread_buffer {
    bool present; /* false: reads return 0, writes are dropped */
    g4_address base;
    uint64_t bytes;                      /* accesses at or beyond are out of bounds */
    uint32_t first_structure, structure; /* of a buffer of structures: the size of one, else 0 */
    uint8_t *shared;                     /* shared local memory; NULL: the buffer is at `base` */
};

struct access {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    uint32_t index; /* of the binding table */
    unsigned data;  /* the payload register after the header */
    bool is_wide;   /* addresses have 64 bits and no surface */
    int thread;
    const uint32_t *header; /* NULL: the message has none */
    struct thread_buffer buffer;
    unsigned enable[2]; /* channels 0 to 7 and 8 to 15 */
};

/* ---- buffers ---- */

static bool is_stateless(const struct access *a) {
    const bool others = a->eu->ctx->model->quirks.has_stateless_coherency_indices;
    return a->index == G4_BTI_STATELESS ||
           (others && a->index >= BTI_STATELESS_FIRST && a->index < BTI_SHARED_LOCAL_MEMORY);
}

static struct thread_buffer stateless_buffer(const struct access *a) {
    const uint32_t offset = a->header ? gen7_data_port_message_header_immediate_buffer_base_address(a->header) : 0;
    return (struct thread_buffer){
        .present = true, .base = a->gang->dispatch->general_state_base + offset, .bytes = UINT64_C(1) << 32};
}

static void report(const struct access *a, enum g4_event event, uint32_t value) {
    const int first = __builtin_ctz(a->send->threads | 1u << G4_GANG_THREADS);
    g4_message_error(a->eu, a->gang, a->send, first % G4_GANG_THREADS, event, value);
}

static struct thread_buffer surface_buffer(const struct access *a) {
    const struct g4_dispatch *const dispatch = a->gang->dispatch;
    if (a->index == BTI_SHARED_LOCAL_MEMORY) {
        return (struct thread_buffer){
            .present = true, .bytes = a->gang->shared_memory_bytes, .shared = a->gang->shared_memory};
    }
    const struct g4_surface *const surface =
        g4_surface_get(a->eu->surfaces, a->eu->ctx, &a->eu->worker->port, dispatch->surface_state_base,
                       dispatch->binding_table, a->index);
    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return (struct thread_buffer){0};
    }
    if (surface->type != G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        report(a, G4_EVENT_BAD_SURFACE, a->index);
        return (struct thread_buffer){0};
    }
    return (struct thread_buffer){
        .present = true,
        .base = surface->base,
        .bytes = (uint64_t)surface->buffer_entries * surface->pitch,
        .first_structure = surface->first_structure,
        .structure = surface->is_structured ? surface->pitch : 0,
    };
}

static void begin(struct access *a) {
    if (a->is_wide) {
        a->buffer = (struct thread_buffer){.present = true, .bytes = UINT64_C(1) << 48};
    } else if (!is_stateless(a)) {
        a->buffer = surface_buffer(a);
    }
}

static void begin_thread(struct access *a, int thread) {
    a->thread = thread;
    a->header = a->data ? g4_payload(a->gang, a->send, 0, thread) : NULL;
    a->enable[0] = g4_thread_lanes(a->send->emask[0], thread);
    a->enable[1] = g4_thread_lanes(a->send->emask[1], thread);
    if (!a->is_wide && is_stateless(a)) {
        a->buffer = stateless_buffer(a);
    }
}

/* Offsets in shared local memory have 16 bits; higher bits are ignored (docs/decisions.md 228). */
static uint64_t offset_in(const struct access *a, uint64_t offset) {
    return a->buffer.shared ? offset & UINT16_MAX : offset;
}

static bool is_inside(const struct access *a, uint64_t offset, uint32_t bytes) {
    return a->buffer.present && offset + bytes <= a->buffer.bytes;
}

/* Memory outside of the buffer reads as 0.  Inlined where the size is known: kernels that read single dwords from
 * shared local memory took twice as long. */
static inline __attribute__((always_inline)) void read_sized(const struct access *a, uint64_t from, void *to,
                                                             uint32_t bytes) {
    struct g4_port *const port = &a->eu->worker->port;
    const uint64_t offset = offset_in(a, from);
    const g4_address address = a->buffer.base + offset;

    memset(to, 0, bytes);
    if (!is_inside(a, offset, bytes)) {
        if (!is_inside(a, offset, 4)) {
            return;
        }
        bytes = (uint32_t)(a->buffer.bytes - offset) & ~3u; /* docs/decisions.md 108 */
    }
    if (a->buffer.shared) {
        memcpy(to, a->buffer.shared + offset, bytes);
    } else if ((address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - bytes) {
        memcpy(to, g4_mem_read_ptr(port, address), bytes);
    } else {
        (void)g4_mem_read(port, address, to, bytes); /* missing pages are in the port's log */
    }
}

static void read_bytes(const struct access *a, uint64_t from, void *to, uint32_t bytes) {
    read_sized(a, from, to, bytes);
}

static void write_bytes(const struct access *a, uint64_t to, const void *from, uint32_t bytes) {
    const uint64_t offset = offset_in(a, to);

    if (!is_inside(a, offset, bytes)) {
        return;
    }
    if (a->buffer.shared) {
        memcpy(a->buffer.shared + offset, from, bytes);
    } else {
        (void)g4_mem_write(&a->eu->worker->port, a->buffer.base + offset, from, bytes);
    }
}

/* ---- OWord blocks: whole registers; channels enable the dwords that are written ---- */

static const uint8_t block_owords[8] = {
    [GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_1_LOW] = 1, [GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_1_HIGH] = 1,
    [GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_2] = 2,     [GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_4] = 4,
    [GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_8] = 8,
};

/* The four channels that enable the OWord in a half register. */
static unsigned oword_channels(const struct access *a, uint32_t half) {
    const unsigned group = a->send->exec_size == 16 ? half / 2 & 1 : 0;
    return a->enable[group] >> (4 * (half & 1)) & 15;
}

static void write_dwords(const struct access *a, uint64_t offset, const uint32_t *from, unsigned enable) {
    for (uint32_t i = 0; i < 4; i++) {
        if (enable >> i & 1) {
            write_bytes(a, offset + 4 * i, &from[i], 4);
        }
    }
}

static void block(const struct access *a, bool write, bool in_bytes) {
    const uint32_t size = gen7_data_cache_data_port_message_oword_block_size(a->send->descriptor);
    const uint32_t first = size == GEN7_OWORD_BLOCK_SIZE_GEN7_OWORDS_1_HIGH ? 1 : 0;
    const uint32_t position = gen7_data_port_message_header_global_offset(a->header);
    const uint64_t offset = in_bytes ? position & ~3u : (uint64_t)position * OWORD;

    for (uint32_t k = 0; k < block_owords[size]; k++) {
        const uint32_t half = first + k;
        if (write) {
            const uint32_t *const row = g4_payload(a->gang, a->send, 1 + half / 2, a->thread);
            write_dwords(a, offset + (uint64_t)k * OWORD, row + 4 * (half & 1), oword_channels(a, half));
        } else {
            uint32_t *const row = g4_response(a->gang, a->send, half / 2, a->thread);
            if (row) {
                read_bytes(a, offset + (uint64_t)k * OWORD, row + 4 * (half & 1), OWORD);
            }
        }
    }
}

static void read_block(const struct access *a) {
    block(a, false, false);
}

static void read_unaligned_block(const struct access *a) {
    block(a, false, true);
}

static void write_block(const struct access *a) {
    block(a, true, false);
}

/* ---- OWord dual blocks: one for each half of a register ---- */

static void dual_block(const struct access *a, bool write) {
    const uint32_t count = gen7_data_cache_data_port_message_oword_block_size(a->send->descriptor) ? 4 : 1;
    const uint32_t *const offsets = g4_payload(a->gang, a->send, 1, a->thread);
    const uint32_t position[2] = {gen7_oword_dual_block_offsets_block_offset_0(offsets),
                                  gen7_oword_dual_block_offsets_block_offset_1(offsets)};
    const uint32_t global = gen7_data_port_message_header_global_offset(a->header);

    for (uint32_t j = 0; j < count; j++) {
        for (uint32_t half = 0; half < 2; half++) {
            const uint64_t offset = ((uint64_t)global + position[half] + j) * OWORD;
            const unsigned channels = a->enable[0] >> (4 * half) & 15;
            if (write) {
                write_dwords(a, offset, g4_payload(a->gang, a->send, 2 + j, a->thread) + 4 * half, channels);
                continue;
            }
            uint32_t *const row = g4_response(a->gang, a->send, j, a->thread);
            if (row && channels) {
                read_bytes(a, offset, row + 4 * half, OWORD);
            }
        }
    }
}

static void read_dual_block(const struct access *a) {
    dual_block(a, false);
}

static void write_dual_block(const struct access *a) {
    dual_block(a, true);
}

/* ---- scratch blocks: registers at an offset that the descriptor has ---- */

static void scratch_block(struct access *a) {
    const uint32_t descriptor = a->send->descriptor;
    const uint32_t count = gen7_data_cache_data_port_message_scratch_block_size(descriptor) + 1;
    const uint64_t first = (uint64_t)gen7_data_cache_data_port_message_scratch_offset(descriptor) * 32;
    const bool write = gen7_data_cache_data_port_message_scratch_operation(descriptor) == GEN7_SCRATCH_OPERATION_WRITE;

    a->buffer = stateless_buffer(a);
    for (uint32_t k = 0; k < count; k++) {
        const uint64_t offset = first + 32 * (uint64_t)k;
        if (write) {
            const uint32_t *const row = g4_payload(a->gang, a->send, 1 + k, a->thread);
            write_dwords(a, offset, row, oword_channels(a, 2 * k));
            write_dwords(a, offset + OWORD, row + 4, oword_channels(a, 2 * k + 1));
        } else {
            uint32_t *const row = g4_response(a->gang, a->send, k, a->thread);
            if (row) {
                read_bytes(a, offset, row, 32);
            }
        }
    }
}

/* ---- scattered data: an offset for each channel ---- */

/* Registers of 8 channels, and bytes of an element. */
static void scatter(const struct access *a, bool write, uint32_t groups, uint32_t bytes, uint32_t unit) {
    const uint32_t global = a->header ? gen7_data_port_message_header_global_offset(a->header) : 0;

    for (uint32_t group = 0; group < groups; group++) {
        const uint32_t *const offsets = g4_payload(a->gang, a->send, a->data + group, a->thread);
        const uint32_t *const data = g4_payload(a->gang, a->send, a->data + groups + group, a->thread);
        uint32_t *const row = write ? NULL : g4_response(a->gang, a->send, group, a->thread);
        for (uint32_t i = 0; i < 8; i++) {
            const uint64_t offset = (uint64_t)global + (uint64_t)offsets[i] * unit;
            if (!(a->enable[group] >> i & 1)) {
                continue;
            }
            if (write) {
                write_bytes(a, offset, &data[i], bytes);
            } else if (row) {
                row[i] = 0;
                read_bytes(a, offset, &row[i], bytes);
            }
        }
    }
}

static uint32_t scattered_groups(const struct access *a) {
    return gen7_data_cache_data_port_message_simd16(a->send->descriptor) ? 2 : 1;
}

static void scatter_dwords(const struct access *a, bool write) {
    scatter(a, write, scattered_groups(a), 4, 4);
}

/* The reserved size is that of dwords. */
static void scatter_bytes(const struct access *a, bool write) {
    const uint32_t size = gen7_data_cache_data_port_message_element_bytes_log2(a->send->descriptor);
    scatter(a, write, scattered_groups(a), 1u << g4_min_u32(size, 2), 1);
}

static void read_scattered_dwords(const struct access *a) {
    scatter_dwords(a, false);
}

static void write_scattered_dwords(const struct access *a) {
    scatter_dwords(a, true);
}

static void read_scattered_bytes(const struct access *a) {
    scatter_bytes(a, false);
}

static void write_scattered_bytes(const struct access *a) {
    scatter_bytes(a, true);
}

/* ---- untyped surfaces ---- */

/* The channels of a message that has a mask of pixels in its header. */
static unsigned enabled_channels(const struct access *a, uint32_t group) {
    const unsigned mask = a->header ? gen7_data_port_message_header_pixel_mask(a->header) >> (8 * group) & 0xff : 0xff;
    return a->enable[group] & mask;
}

/* The address parameter of a channel: a byte offset, or the number of a structure and an offset in it. */
static uint64_t untyped_offset(const struct access *a, uint32_t u, uint32_t v) {
    return a->buffer.structure ? ((uint64_t)u + a->buffer.first_structure) * a->buffer.structure + v : u;
}

static uint32_t address_parameters(const struct access *a) {
    return a->buffer.structure ? 2 : 1;
}

static void untyped(const struct access *a, bool write) {
    const uint32_t descriptor = a->send->descriptor;
    const uint32_t disabled = gen7_data_cache_data_port_1_message_channel_mask(descriptor);
    const uint32_t mode = gen7_data_cache_data_port_1_message_simd_mode(descriptor);
    const uint32_t groups = mode == GEN7_SURFACE_SIMD_MODE_SIMD16 ? 2 : 1;
    const unsigned first_data = a->data + address_parameters(a) * groups;

    for (uint32_t group = 0; group < groups; group++) {
        const uint32_t *const u = g4_payload(a->gang, a->send, a->data + group, a->thread);
        const uint32_t *const v = g4_payload(a->gang, a->send, a->data + groups + group, a->thread);
        const unsigned enable = enabled_channels(a, group);
        unsigned next = 0;
        for (uint32_t channel = 0; channel < 4; channel++) {
            if (disabled >> channel & 1) {
                continue;
            }
            const unsigned reg = next++ * groups + group;
            const uint32_t *const data = g4_payload(a->gang, a->send, first_data + reg, a->thread);
            uint32_t *const row = write ? NULL : g4_response(a->gang, a->send, reg, a->thread);
            for (unsigned left = write || row ? enable : 0; left; left &= left - 1) {
                const unsigned i = (unsigned)__builtin_ctz(left);
                const uint64_t offset = untyped_offset(a, u[i], v[i]) + (uint64_t)channel * 4;
                if (write) {
                    write_bytes(a, offset, &data[i], 4);
                } else {
                    read_sized(a, offset, &row[i], 4);
                }
            }
        }
    }
}

/* SIMD4x2: the address of each half register is in its first dword, the data are its four dwords. */
static void untyped_4x2(const struct access *a, bool write) {
    const uint32_t disabled = gen7_data_cache_data_port_1_message_channel_mask(a->send->descriptor);
    const uint32_t *const address = g4_payload(a->gang, a->send, a->data, a->thread);
    const uint32_t *const data = g4_payload(a->gang, a->send, a->data + 1, a->thread);
    uint32_t *const row = write ? NULL : g4_response(a->gang, a->send, 0, a->thread);

    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t channel = i & 3;
        const uint32_t *const own = address + (i & 4);
        const uint64_t offset = untyped_offset(a, own[0], own[1]) + (uint64_t)channel * 4;
        if (!(a->enable[0] >> i & 1) || (disabled >> channel & 1)) {
            continue;
        }
        if (write) {
            write_bytes(a, offset, &data[i], 4);
        } else if (row) {
            read_bytes(a, offset, &row[i], 4);
        }
    }
}

static bool is_4x2(const struct access *a) {
    return gen7_data_cache_data_port_1_message_simd_mode(a->send->descriptor) == GEN7_SURFACE_SIMD_MODE_SIMD4X2;
}

static void read_untyped(const struct access *a) {
    if (is_4x2(a)) {
        untyped_4x2(a, false);
    } else {
        untyped(a, false);
    }
}

static void write_untyped(const struct access *a) {
    if (is_4x2(a)) {
        untyped_4x2(a, true);
    } else {
        untyped(a, true);
    }
}

static uint32_t change(const struct access *a, uint64_t to, uint32_t operation, uint32_t source0, uint32_t source1) {
    const uint64_t offset = offset_in(a, to);

    if (!is_inside(a, offset, 4)) {
        return 0;
    }
    if (a->buffer.shared) {
        return g4_atomic_at(a->buffer.shared + (offset & ~UINT64_C(3)), operation, source0, source1);
    }
    return g4_atomic(&a->eu->worker->port, a->buffer.base + offset, operation, source0, source1);
}

static void atomic_lanes(const struct access *a, uint32_t groups, uint32_t operation) {
    const uint32_t descriptor = a->send->descriptor;
    const bool returns = gen7_data_cache_data_port_1_message_return_data(descriptor);
    const unsigned first_source = a->data + address_parameters(a) * groups;

    for (uint32_t group = 0; group < groups; group++) {
        const uint32_t *const u = g4_payload(a->gang, a->send, a->data + group, a->thread);
        const uint32_t *const v = g4_payload(a->gang, a->send, a->data + groups + group, a->thread);
        const uint32_t *const source[2] = {
            g4_payload(a->gang, a->send, first_source + group, a->thread),
            g4_payload(a->gang, a->send, first_source + groups + group, a->thread),
        };
        uint32_t *const row = returns ? g4_response(a->gang, a->send, group, a->thread) : NULL;
        const unsigned enable = enabled_channels(a, group);
        for (uint32_t i = 0; i < 8; i++) {
            const uint64_t offset = untyped_offset(a, u[i], v[i]);
            if (!(enable >> i & 1)) {
                continue;
            }
            const uint32_t old = change(a, offset, operation, source[0][i], source[1][i]);
            if (row) {
                row[i] = old;
            }
        }
    }
}

static uint32_t operation_of(const struct access *a) {
    return gen7_data_cache_data_port_1_message_atomic_operation(a->send->descriptor);
}

static uint32_t float_operation_of(const struct access *a) {
    return G4_ATOMIC_FLOAT | gen9_data_cache_data_port_1_message_float_atomic_operation(a->send->descriptor);
}

static uint32_t atomic_groups(const struct access *a) {
    return gen7_data_cache_data_port_1_message_simd8(a->send->descriptor) ? 1 : 2;
}

static void atomic(const struct access *a) {
    atomic_lanes(a, atomic_groups(a), operation_of(a));
}

static void atomic_float(const struct access *a) {
    atomic_lanes(a, atomic_groups(a), float_operation_of(a));
}

/* SIMD4x2: the first channel of each half.  Both sources are in one register: in the dword of the channel and the next.
 */
static void atomic_4x2(const struct access *a) {
    const uint32_t operation = operation_of(a);
    const uint32_t *const address = g4_payload(a->gang, a->send, a->data, a->thread);
    const uint32_t *const source = g4_payload(a->gang, a->send, a->data + 1, a->thread);
    const bool returns = gen7_data_cache_data_port_1_message_return_data(a->send->descriptor);
    uint32_t *const row = returns ? g4_response(a->gang, a->send, 0, a->thread) : NULL;
    const unsigned enable = enabled_channels(a, 0);

    for (uint32_t i = 0; i < 8; i += 4) {
        if (!(enable >> i & 1)) {
            continue;
        }
        const uint64_t offset = untyped_offset(a, address[i], address[i + 1]);
        const uint32_t old = change(a, offset, operation, source[i], source[i + 1]);
        if (row) {
            row[i] = old;
        }
    }
}

/* ---- 64-bit addresses: two registers for eight channels ---- */

static uint64_t wide_address(const struct access *a, uint32_t group, uint32_t lane) {
    const uint32_t *const row = g4_payload(a->gang, a->send, a->data + 2 * group + lane / 4, a->thread);
    const uint32_t *const own = row + (size_t)2 * (lane % 4);
    return g4_low_48((uint64_t)own[1] << 32 | own[0]);
}

static void untyped_wide(const struct access *a, bool write) {
    const uint32_t descriptor = a->send->descriptor;
    const uint32_t disabled = gen9_data_cache_data_port_1_message_channel_mask(descriptor);
    const uint32_t mode = gen9_data_cache_data_port_1_message_simd_mode(descriptor);
    const uint32_t groups = mode == GEN9_SURFACE_SIMD_MODE_SIMD16 ? 2 : 1;

    for (uint32_t group = 0; group < groups; group++) {
        unsigned next = 0;
        for (uint32_t channel = 0; channel < 4; channel++) {
            if (disabled >> channel & 1) {
                continue;
            }
            const unsigned reg = next++ * groups + group;
            const uint32_t *const data = g4_payload(a->gang, a->send, a->data + 2 * groups + reg, a->thread);
            uint32_t *const row = write ? NULL : g4_response(a->gang, a->send, reg, a->thread);
            for (unsigned left = a->enable[group] & 0xff; left; left &= left - 1) {
                const uint32_t i = (uint32_t)__builtin_ctz(left);
                const uint64_t offset = wide_address(a, group, i) + (uint64_t)channel * 4;
                if (write) {
                    write_bytes(a, offset, &data[i], 4);
                } else if (row) {
                    read_bytes(a, offset, &row[i], 4);
                }
            }
        }
    }
}

static void read_untyped_wide(const struct access *a) {
    untyped_wide(a, false);
}

static void write_untyped_wide(const struct access *a) {
    untyped_wide(a, true);
}

/* The elements of a channel: bytes, each of which fills a dword if there are less than four; dwords or qwords. */
struct elements {
    uint32_t bytes, dwords; /* of one in memory; that all of a channel have in registers */
};

static struct elements scattered_elements(uint32_t descriptor) {
    const uint32_t count = 1u << gen9_data_cache_data_port_1_message_element_count_log2(descriptor);
    switch (gen9_data_cache_data_port_1_message_element(descriptor)) {
    case GEN9_SCATTERED_ELEMENT_BYTE:
        return (struct elements){.bytes = count, .dwords = count > 4 ? 2 : 1};
    case GEN9_SCATTERED_ELEMENT_DWORD:
        return (struct elements){.bytes = 4 * count, .dwords = count};
    default:
        return (struct elements){.bytes = 8 * count, .dwords = 2 * count};
    }
}

/* Dword k of a channel is in the k-th registers, qwords are side by side. */
static void scatter_wide(const struct access *a, bool write) {
    enum {
        MOST = 16 /* dwords of a channel */
    };
    const uint32_t descriptor = a->send->descriptor;
    const struct elements elements = scattered_elements(descriptor);
    const bool pairs = gen9_data_cache_data_port_1_message_element(descriptor) >= GEN9_SCATTERED_ELEMENT_QWORD;
    const uint32_t groups = gen9_data_cache_data_port_1_message_simd16(descriptor) ? 2 : 1;

    for (uint32_t group = 0; group < groups; group++) {
        for (unsigned left = a->enable[group] & 0xff; left; left &= left - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(left);
            const uint64_t address = wide_address(a, group, i);
            uint32_t words[MOST] = {0};
            if (!write) {
                read_bytes(a, address, words, elements.bytes);
            }
            for (uint32_t k = 0; k < elements.dwords; k++) {
                const uint32_t pair = 2 * (k / 2 * groups + group) + i / 4;
                const uint32_t reg = pairs ? pair : k * groups + group;
                const uint32_t at = pairs ? 2 * (i % 4) + k % 2 : i;
                if (write) {
                    words[k] = g4_payload(a->gang, a->send, a->data + 2 * groups + reg, a->thread)[at];
                    continue;
                }
                uint32_t *const row = g4_response(a->gang, a->send, reg, a->thread);
                if (row) {
                    row[at] = words[k];
                }
            }
            if (write) {
                write_bytes(a, address, words, elements.bytes);
            }
        }
    }
}

static void read_scattered_wide(const struct access *a) {
    scatter_wide(a, false);
}

static void write_scattered_wide(const struct access *a) {
    scatter_wide(a, true);
}

/* The address is in the first two dwords of the header. */
static void block_wide(const struct access *a, bool write) {
    const uint32_t size = gen9_data_cache_data_port_1_message_oword_block_size(a->send->descriptor);
    const uint32_t first = size == GEN9_OWORD_BLOCK_SIZE_GEN7_OWORDS_1_HIGH ? 1 : 0;
    const uint64_t aligned = gen9_data_cache_data_port_1_message_alignment(a->send->descriptor) ? 3 : OWORD - 1;
    const uint64_t address = g4_low_48((uint64_t)a->header[1] << 32 | a->header[0]) & ~aligned;

    for (uint32_t k = 0; k < block_owords[size]; k++) {
        const uint32_t half = first + k;
        if (write) {
            const uint32_t *const row = g4_payload(a->gang, a->send, 1 + half / 2, a->thread);
            write_dwords(a, address + (uint64_t)k * OWORD, row + 4 * (half & 1), oword_channels(a, half));
            continue;
        }
        uint32_t *const row = g4_response(a->gang, a->send, half / 2, a->thread);
        if (row) {
            read_bytes(a, address + (uint64_t)k * OWORD, row + 4 * (half & 1), OWORD);
        }
    }
}

static void read_block_wide(const struct access *a) {
    block_wide(a, false);
}

static void write_block_wide(const struct access *a) {
    block_wide(a, true);
}

/* Eight channels of 32 or 64 bits. */
static void atomic_lanes_wide(const struct access *a, uint32_t operation, uint32_t dwords) {
    const bool returns = gen9_data_cache_data_port_1_message_return_data(a->send->descriptor);
    struct g4_port *const port = &a->eu->worker->port;

    for (unsigned left = a->enable[0] & 0xff; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        const uint64_t address = wide_address(a, 0, i);
        const uint32_t reg = dwords == 2 ? i / 4 : 0;
        const uint32_t at = dwords == 2 ? 2 * (i % 4) : i;
        const uint32_t *const source[2] = {
            g4_payload(a->gang, a->send, a->data + 2 + reg, a->thread) + at,
            g4_payload(a->gang, a->send, a->data + 2 + dwords + reg, a->thread) + at,
        };
        uint32_t *const row = returns ? g4_response(a->gang, a->send, reg, a->thread) : NULL;
        uint64_t old;
        if (dwords == 2) {
            old = g4_atomic_64(port, address, operation, (uint64_t)source[0][1] << 32 | source[0][0],
                               (uint64_t)source[1][1] << 32 | source[1][0]);
        } else {
            old = g4_atomic(port, address, operation, source[0][0], source[1][0]);
        }
        for (uint32_t k = 0; k < dwords && row; k++) {
            row[at + k] = (uint32_t)(old >> (32 * k));
        }
    }
}

static void atomic_wide(const struct access *a) {
    atomic_lanes_wide(a, operation_of(a), gen9_data_cache_data_port_1_message_simd8(a->send->descriptor) ? 2 : 1);
}

static void atomic_float_wide(const struct access *a) {
    atomic_lanes_wide(a, float_operation_of(a), 1);
}

/* ---- messages ---- */

struct transfer {
    void (*run)(const struct access *a); /* NULL: no message has this type */
    bool needs_header;                   /* which has the offset of a block */
    bool is_wide;                        /* addresses have 64 bits and no surface */
};

/* Message types of the data cache; of the constant cache and the sampler cache the reads. */
static const struct transfer data_cache_transfers[16] = {
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_BLOCK_READ] = {read_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_UNALIGNED_OWORD_BLOCK_READ] = {read_unaligned_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_DUAL_BLOCK_READ] = {read_dual_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_DWORD_SCATTERED_READ] = {read_scattered_dwords},
    [GEN7_DATA_CACHE_TYPE_GEN7_BYTE_SCATTERED_READ] = {read_scattered_bytes},
    [GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_SURFACE_READ] = {read_untyped},
    [GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_ATOMIC] = {atomic},
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_BLOCK_WRITE] = {write_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_DUAL_BLOCK_WRITE] = {write_dual_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_DWORD_SCATTERED_WRITE] = {write_scattered_dwords},
    [GEN7_DATA_CACHE_TYPE_GEN7_BYTE_SCATTERED_WRITE] = {write_scattered_bytes},
    [GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_SURFACE_WRITE] = {write_untyped},
};

static const struct transfer constant_cache_transfers[16] = {
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_BLOCK_READ] = {read_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_UNALIGNED_OWORD_BLOCK_READ] = {read_unaligned_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_OWORD_DUAL_BLOCK_READ] = {read_dual_block, .needs_header = true},
    [GEN7_DATA_CACHE_TYPE_GEN7_DWORD_SCATTERED_READ] = {read_scattered_dwords},
};

/* From 16 on those of Gen9. */
static const struct transfer data_cache1_transfers[32] = {
    [GEN7_DATA_CACHE1_TYPE_UNTYPED_SURFACE_READ] = {read_untyped},
    [GEN7_DATA_CACHE1_TYPE_UNTYPED_ATOMIC] = {atomic},
    [GEN7_DATA_CACHE1_TYPE_UNTYPED_ATOMIC_SIMD4X2] = {atomic_4x2},
    [GEN7_DATA_CACHE1_TYPE_UNTYPED_SURFACE_WRITE] = {write_untyped},
    [GEN9_DATA_CACHE1_TYPE_A64_SCATTERED_READ] = {read_scattered_wide, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_SURFACE_READ] = {read_untyped_wide, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_ATOMIC] = {atomic_wide, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_OWORD_BLOCK_READ] = {read_block_wide, .needs_header = true, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_OWORD_BLOCK_WRITE] = {write_block_wide, .needs_header = true, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_SURFACE_WRITE] = {write_untyped_wide, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_A64_SCATTERED_WRITE] = {write_scattered_wide, .is_wide = true},
    [GEN9_DATA_CACHE1_TYPE_UNTYPED_ATOMIC_FLOAT] = {atomic_float},
    [GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_ATOMIC_FLOAT] = {atomic_float_wide, .is_wide = true},
};

static bool overlap(unsigned a, unsigned a_length, unsigned b, unsigned b_length) {
    return a < b + b_length && b < a + a_length;
}

/* A response may go to registers of the payload, whose parameters are read after the first data are stored.  Then the
 * payload is copied to the message registers, which Gen7 does not have otherwise. */
static struct g4_send with_payload_apart(struct g4_gang *gang, const struct g4_send *send) {
    const unsigned first = send->split ? send->first_length : send->mlen;
    struct g4_send apart = *send;

    if (send->grf_payload && send->has_dst &&
        (overlap(send->dst, send->rlen, send->mrf, first) ||
         (send->split && overlap(send->dst, send->rlen, send->second, send->mlen - first)))) {
        for (unsigned k = 0; k < send->mlen && k < G4_MRF_COUNT; k++) {
            gang->mrf[k] = *g4_payload_register(gang, send, k);
        }
        apart.grf_payload = apart.split = false;
        apart.mrf = 0;
    }
    return apart;
}

static enum g4_status run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                          struct transfer transfer) {
    const struct g4_send apart = with_payload_apart(gang, send);
    struct access a = {
        .eu = eu,
        .gang = gang,
        .send = &apart,
        .index = gen7_data_cache_data_port_message_binding_table_index(send->descriptor),
        .data = gen7_data_cache_data_port_message_header_present(send->descriptor) ? 1 : 0,
        .is_wide = transfer.is_wide,
    };
    if (!transfer.run || (transfer.needs_header && !a.data)) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    begin(&a);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            begin_thread(&a, t);
            transfer.run(&a);
        }
    }
    return G4_OK;
}

static enum g4_status run_scratch(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct access a = {.eu = eu, .gang = gang, .send = send, .index = G4_BTI_STATELESS, .data = 1};
    if (!gen7_data_cache_data_port_message_header_present(send->descriptor)) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            begin_thread(&a, t);
            scratch_block(&a);
        }
    }
    return G4_OK;
}

enum g4_status g4_message_data_cache_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t type = gen7_data_cache_data_port_message_message_type(send->descriptor);

    if (gen7_data_cache_data_port_message_scratch(send->descriptor)) {
        return run_scratch(eu, gang, send);
    }
    if (type == GEN7_DATA_CACHE_TYPE_GEN7_MEMORY_FENCE) {
        return G4_OK; /* memory is always up to date; the response has no data */
    }
    return run(eu, gang, send, data_cache_transfers[type]);
}

/* ---- writes to memory ---- */

static bool data_cache_writes(uint32_t descriptor) {
    if (gen7_data_cache_data_port_message_scratch(descriptor) ||
        gen7_data_cache_data_port_message_binding_table_index(descriptor) >= BTI_SHARED_LOCAL_MEMORY) {
        return false; /* scratch space and shared local memory: of the thread or its group */
    }
    switch (gen7_data_cache_data_port_message_message_type(descriptor)) {
    case GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_ATOMIC:
    case GEN7_DATA_CACHE_TYPE_GEN7_OWORD_BLOCK_WRITE:
    case GEN7_DATA_CACHE_TYPE_GEN7_OWORD_DUAL_BLOCK_WRITE:
    case GEN7_DATA_CACHE_TYPE_GEN7_DWORD_SCATTERED_WRITE:
    case GEN7_DATA_CACHE_TYPE_GEN7_BYTE_SCATTERED_WRITE:
    case GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_SURFACE_WRITE:
        return true;
    default:
        return false;
    }
}

static bool data_cache1_type_writes(uint32_t type) {
    switch (type) {
    case GEN7_DATA_CACHE1_TYPE_UNTYPED_ATOMIC:
    case GEN7_DATA_CACHE1_TYPE_UNTYPED_ATOMIC_SIMD4X2:
    case GEN7_DATA_CACHE1_TYPE_TYPED_ATOMIC:
    case GEN7_DATA_CACHE1_TYPE_TYPED_ATOMIC_SIMD4X2:
    case GEN7_DATA_CACHE1_TYPE_ATOMIC_COUNTER:
    case GEN7_DATA_CACHE1_TYPE_ATOMIC_COUNTER_SIMD4X2:
    case GEN7_DATA_CACHE1_TYPE_UNTYPED_SURFACE_WRITE:
    case GEN7_DATA_CACHE1_TYPE_TYPED_SURFACE_WRITE:
    case GEN7_DATA_CACHE1_TYPE_MEDIA_BLOCK_WRITE:
    case GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_ATOMIC:
    case GEN9_DATA_CACHE1_TYPE_A64_OWORD_BLOCK_WRITE:
    case GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_SURFACE_WRITE:
    case GEN9_DATA_CACHE1_TYPE_A64_SCATTERED_WRITE:
    case GEN9_DATA_CACHE1_TYPE_UNTYPED_ATOMIC_FLOAT:
    case GEN9_DATA_CACHE1_TYPE_A64_UNTYPED_ATOMIC_FLOAT:
        return true;
    default:
        return false;
    }
}

static bool data_cache1_writes(uint32_t descriptor, uint32_t type) {
    if (gen7_data_cache_data_port_1_message_binding_table_index(descriptor) == BTI_SHARED_LOCAL_MEMORY) {
        return false;
    }
    return data_cache1_type_writes(type);
}

static bool render_cache_writes(uint32_t descriptor) {
    switch (gen7_render_cache_data_port_message_message_type(descriptor)) {
    case GEN7_RENDER_CACHE_TYPE_GEN7_TYPED_ATOMIC:
    case GEN7_RENDER_CACHE_TYPE_GEN7_TYPED_SURFACE_WRITE:
    case GEN7_RENDER_CACHE_TYPE_GEN7_MEDIA_BLOCK_WRITE:
        return true;
    default:
        return false;
    }
}

static bool message_writes(uint32_t function, uint32_t descriptor, bool known, uint32_t data_cache1_type) {
    switch (function) {
    case SFID(RENDER_CACHE_DATA_PORT):
        return !known || render_cache_writes(descriptor);
    case SFID(DATA_CACHE_DATA_PORT):
        return !known || data_cache_writes(descriptor);
    case SFID(DATA_CACHE_DATA_PORT_1):
        return !known || data_cache1_writes(descriptor, data_cache1_type);
    default:
        return false;
    }
}

bool g4_message_writes_gen7(uint32_t function, uint32_t descriptor, bool known) {
    return message_writes(function, descriptor, known, gen7_data_cache_data_port_1_message_message_type(descriptor));
}

bool g4_message_writes_gen9(uint32_t function, uint32_t descriptor, bool known) {
    return message_writes(function, descriptor, known, gen9_data_cache_data_port_1_message_message_type(descriptor));
}

static enum g4_message_use use_of_surface(bool reads, uint32_t index, uint32_t *entry) {
    *entry = index;
    return reads && index < BTI_STATELESS_FIRST ? G4_USES_SURFACE : G4_USES_ANYTHING;
}

static bool data_cache_reads(uint32_t descriptor) {
    switch (gen7_data_cache_data_port_message_message_type(descriptor)) {
    case GEN7_DATA_CACHE_TYPE_GEN7_OWORD_BLOCK_READ:
    case GEN7_DATA_CACHE_TYPE_GEN7_UNALIGNED_OWORD_BLOCK_READ:
    case GEN7_DATA_CACHE_TYPE_GEN7_OWORD_DUAL_BLOCK_READ:
    case GEN7_DATA_CACHE_TYPE_GEN7_DWORD_SCATTERED_READ:
    case GEN7_DATA_CACHE_TYPE_GEN7_BYTE_SCATTERED_READ:
    case GEN7_DATA_CACHE_TYPE_GEN7_UNTYPED_SURFACE_READ:
        return !gen7_data_cache_data_port_message_scratch(descriptor);
    default:
        return false;
    }
}

enum g4_message_use g4_message_use_gen7(uint32_t function, uint32_t descriptor, uint32_t *entry, uint32_t *sampler) {
    switch (function) {
    case SFID(NULL):
    case SFID(URB):
    case SFID(PIXEL_INTERPOLATOR):
        return G4_USES_NOTHING;
    case SFID(SAMPLER):
        *entry = gen7_sampler_message_binding_table_index(descriptor);
        *sampler = gen7_sampler_message_sampler_index(descriptor);
        return gen7_sampler_message_simd_mode(descriptor) == GEN7_SAMPLER_SIMD_MODE_SIMD32_64 ? G4_USES_ANYTHING
                                                                                              : G4_USES_SAMPLER;
    case SFID(SAMPLER_CACHE_DATA_PORT):
        return use_of_surface(true, gen7_sampler_cache_data_port_message_binding_table_index(descriptor), entry);
    case SFID(CONSTANT_CACHE_DATA_PORT):
        return use_of_surface(true, gen7_constant_cache_data_port_message_binding_table_index(descriptor), entry);
    case SFID(DATA_CACHE_DATA_PORT):
        return use_of_surface(data_cache_reads(descriptor),
                              gen7_data_cache_data_port_message_binding_table_index(descriptor), entry);
    default:
        return G4_USES_ANYTHING;
    }
}

/* ---- functions ---- */

enum g4_status g4_message_constant_cache_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t type = gen7_constant_cache_data_port_message_message_type(send->descriptor);
    return run(eu, gang, send, constant_cache_transfers[type]);
}

static enum g4_status data_cache1(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, uint32_t type) {
    switch (type) {
    case GEN7_DATA_CACHE1_TYPE_TYPED_SURFACE_READ:
        return g4_typed_surface_read(eu, gang, send, g4_typed_slots_gen75(send->descriptor));
    case GEN7_DATA_CACHE1_TYPE_TYPED_SURFACE_WRITE:
        return g4_typed_surface_write(eu, gang, send, g4_typed_slots_gen75(send->descriptor));
    case GEN7_DATA_CACHE1_TYPE_TYPED_ATOMIC:
        return g4_typed_surface_atomic(eu, gang, send, G4_SLOTS_OF_GROUP);
    case GEN7_DATA_CACHE1_TYPE_TYPED_ATOMIC_SIMD4X2:
        return g4_typed_surface_atomic(eu, gang, send, G4_SLOTS_4X2);
    case GEN7_DATA_CACHE1_TYPE_MEDIA_BLOCK_READ:
        return g4_media_block_read_gen7(eu, gang, send);
    case GEN7_DATA_CACHE1_TYPE_MEDIA_BLOCK_WRITE:
        return g4_media_block_write_gen7(eu, gang, send);
    default:
        return run(eu, gang, send, data_cache1_transfers[type]);
    }
}

enum g4_status g4_message_data_cache1_gen75(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return data_cache1(eu, gang, send, gen7_data_cache_data_port_1_message_message_type(send->descriptor));
}

enum g4_status g4_message_data_cache1_gen9(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return data_cache1(eu, gang, send, gen9_data_cache_data_port_1_message_message_type(send->descriptor));
}
