#include "dataport.h"

#include <string.h>

#include "../report.h"

uint32_t g4_oword_block_size(uint32_t control) {
    static const uint8_t owords[8] = {1, 1, 2, 4, 8, 0, 0, 0};
    return owords[control & 7];
}

static struct g4_buffer stateless(const struct g4_eu *eu, const struct g4_gang *gang, const uint32_t *header) {
    const uint32_t bound = eu->ctx->state->general_state_bound;
    struct g4_buffer buffer = {.present = true};
    buffer.base = gang->dispatch->general_state_base + (header[5] & 0xfffffc00u);
    /* Only the general state upper bound limits it; 0 is no bound (spec/05 3.5). */
    buffer.bytes = bound == 0 ? UINT64_C(1) << 32 : bound > buffer.base ? bound - buffer.base : 0;
    return buffer;
}

struct g4_buffer g4_dataport_buffer(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send,
                                    int thread) {
    const uint32_t index = send->descriptor & 0xff;
    struct g4_buffer buffer = {0};

    if (index == G4_BTI_STATELESS) {
        return stateless(eu, gang, g4_payload(gang, send, 0, thread));
    }
    const struct g4_surface *const surface =
        g4_surface_get(eu->surfaces, eu->ctx, &eu->worker->port, gang->dispatch->surface_state_base,
                       gang->dispatch->binding_table, index);
    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return buffer;
    }
    if (surface->type != G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        g4_report(eu->log, G4_EVENT_BAD_SURFACE, g4_gang_address(gang, thread), index);
        return buffer;
    }
    buffer.present = true;
    buffer.base = surface->base;
    buffer.bytes = (uint64_t)surface->buffer_entries * 16; /* whatever the pitch says (spec/60 4.1) */
    return buffer;
}

void g4_buffer_read(struct g4_port *port, const struct g4_buffer *buffer, uint32_t offset, uint32_t *dw,
                    uint32_t count) {
    const size_t bytes = count * sizeof *dw;
    if (buffer->present && (uint64_t)offset + bytes <= buffer->bytes) {
        (void)g4_mem_read(port, buffer->base + offset, dw, bytes); /* the port logs what is missing */
    } else {
        memset(dw, 0, bytes);
    }
}

void g4_buffer_write(struct g4_port *port, const struct g4_buffer *buffer, uint32_t offset, const uint32_t *dw,
                     uint32_t count, unsigned enable) {
    if (!buffer->present || (uint64_t)offset + count * sizeof *dw > buffer->bytes) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (enable >> i & 1) {
            g4_mem_write32(port, buffer->base + offset + 4 * i, dw[i]);
        }
    }
}
