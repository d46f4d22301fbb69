#include "functions/dataport.h"

#include <string.h>

#include "core/report.h"

uint32_t g4_oword_block_size(uint32_t control) {
    static const uint8_t owords[] = {
        [G4_OWORD_BLOCK_SIZE_OWORDS_1_LOW] = 1, [G4_OWORD_BLOCK_SIZE_OWORDS_1_HIGH] = 1,
        [G4_OWORD_BLOCK_SIZE_OWORDS_2] = 2,     [G4_OWORD_BLOCK_SIZE_OWORDS_4] = 4,
        [G4_OWORD_BLOCK_SIZE_OWORDS_8] = 8,
    };
    return control < sizeof owords ? owords[control] : 0;
}

uint32_t g4_oword_dual_size(uint32_t control) {
    switch (control) {
    case G4_OWORD_DUAL_BLOCK_SIZE_OWORDS_1:
        return 1;
    case G4_OWORD_DUAL_BLOCK_SIZE_OWORDS_4:
        return 4;
    default:
        return 0;
    }
}

uint32_t g4_scattered_registers(uint32_t control) {
    switch (control) {
    case G4_DWORD_SCATTERED_SIZE_DWORDS_8:
        return 1;
    case G4_DWORD_SCATTERED_SIZE_DWORDS_16:
        return 2;
    default:
        return 0;
    }
}

/* Only the general state upper bound limits it; 0 is no bound (spec/05 3.5). */
static struct g4_buffer stateless_buffer(const struct g4_block *block, const uint32_t *header) {
    const uint32_t bound = block->eu->ctx->state->general_state_bound;
    const uint32_t base = block->gang->dispatch->general_state_base + (header[5] & 0xfffffc00u);
    const uint64_t room = bound > base ? bound - base : 0;
    return (struct g4_buffer){.present = true, .base = base, .bytes = bound ? room : UINT64_C(1) << 32};
}

static struct g4_buffer surface_buffer(struct g4_block *block, uint32_t unit) {
    struct g4_eu *const eu = block->eu;
    const struct g4_dispatch *const dispatch = block->gang->dispatch;
    const uint32_t index = block->send->descriptor & 0xff;
    const struct g4_surface *const surface = g4_surface_get(
        eu->surfaces, eu->ctx, &eu->worker->port, dispatch->surface_state_base, dispatch->binding_table, index);
    const bool is_buffer = surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER;

    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return (struct g4_buffer){0};
    }
    if (!is_buffer || surface->tiling != G4_TILING_LINEAR || surface->base % unit != 0) {
        const int first = __builtin_ctz(block->send->threads | 1u << G4_GANG_THREADS);
        g4_message_error(eu, block->gang, block->send, first % G4_GANG_THREADS, G4_EVENT_BAD_SURFACE, index);
    }
    /* sixteen bytes an entry, whatever the pitch says (spec/60 4.1) */
    return (struct g4_buffer){
        .present = is_buffer, .base = surface->base, .bytes = (uint64_t)surface->buffer_entries * 16};
}

void g4_block_begin(struct g4_block *block, struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                    uint32_t unit) {
    *block = (struct g4_block){.eu = eu, .gang = gang, .send = send};
    block->stateless = (send->descriptor & 0xff) == G4_BTI_STATELESS;
    if (!block->stateless) {
        block->buffer = surface_buffer(block, unit);
    }
}

void g4_block_thread(struct g4_block *block, int thread) {
    const uint32_t *const header = g4_payload(block->gang, block->send, 0, thread);

    block->thread = thread;
    block->global_offset = header[2];
    block->enable[0] = g4_thread_lanes(block->send->emask[0], thread);
    block->enable[1] = g4_thread_lanes(block->send->emask[1], thread);
    if (block->stateless) {
        block->buffer = stateless_buffer(block, header);
    }
}

static uint32_t effective(const struct g4_block *block, uint32_t offset, uint32_t count) {
    return (block->global_offset + offset) & ~(count * 4 - 1);
}

void g4_block_read(const struct g4_block *block, uint32_t offset, uint32_t *dw, uint32_t count) {
    struct g4_port *const port = &block->eu->worker->port;
    const uint32_t bytes = count * 4;
    const uint32_t start = effective(block, offset, count);
    const uint32_t address = block->buffer.base + start;

    if (!block->buffer.present || (uint64_t)start + bytes > block->buffer.bytes) {
        memset(dw, 0, bytes);
    } else if ((address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - bytes) {
        memcpy(dw, g4_mem_read_ptr(port, address), bytes);
    } else {
        (void)g4_mem_read(port, address, dw, bytes); /* what is missing is in the port's log */
    }
}

void g4_block_write(const struct g4_block *block, uint32_t offset, const uint32_t *dw, uint32_t count,
                    unsigned enable) {
    struct g4_port *const port = &block->eu->worker->port;
    const uint32_t start = effective(block, offset, count);

    if (!block->buffer.present || (uint64_t)start + count * 4 > block->buffer.bytes) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (enable >> i & 1) {
            g4_mem_write32(port, block->buffer.base + start + 4 * i, dw[i]);
        }
    }
}
