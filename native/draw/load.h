/*
 * Shared by the loaders of all generations: what fields mean, once they are unpacked.
 */
#ifndef G4_LOAD_H
#define G4_LOAD_H

#include <string.h>

#include "core/draw_state.h"
#include "core/memory.h"
#include "geometry/topology.h"

/* Load the vertex buffers that elements name. */
static inline void g4_load_vertex_buffers(const struct g4_context *ctx, struct g4_draw_state *draw,
                                          void (*load)(const struct g4_context *ctx, uint32_t index,
                                                       struct g4_draw_state *draw)) {
    for (uint32_t i = 0; i < draw->vertex_elements; i++) {
        const uint32_t buffer = draw->vertex_element[i].buffer;
        if (buffer < G4_VERTEX_BUFFERS && (i == 0 || buffer != draw->vertex_element[i - 1].buffer)) {
            load(ctx, buffer, draw);
        }
    }
}

/* Load the push constants again of stages that have some, by their commands. */
static inline void g4_reload_constants(const struct g4_draw_loader *loader, const uint32_t *const command[G4_STAGES],
                                       struct g4_draw_state *draw,
                                       void (*load)(const struct g4_draw_loader *loader, int stage,
                                                    const uint32_t *command, struct g4_draw_state *draw)) {
    for (int stage = 0; stage < G4_STAGES; stage++) {
        if (draw->stage[stage].constants) {
            load(loader, stage, command[stage], draw);
        }
    }
}

/* The width of a line's antialiasing region in pixels, by its code. */
static inline float g4_line_region(uint32_t code) {
    static const float pixels[4] = {
        [G4_LINE_REGION_WIDTH_HALF_PIXEL] = 0.5f,
        [G4_LINE_REGION_WIDTH_ONE_PIXEL] = 1.0f,
        [G4_LINE_REGION_WIDTH_TWO_PIXELS] = 2.0f,
        [G4_LINE_REGION_WIDTH_FOUR_PIXELS] = 4.0f,
    };
    return pixels[code & 3];
}

/* The rows of a stipple have bit 31 leftmost; the offsets move the pattern against the screen (G45 PRM vol. 2,
 * 8.3.3.2). */
static inline void g4_load_stipple(const uint32_t *rows, uint32_t x_offset, uint32_t y_offset,
                                   uint32_t stipple[G4_STIPPLE_ROWS]) {
    const uint32_t shift = x_offset & 31;
    for (uint32_t j = 0; j < G4_STIPPLE_ROWS; j++) {
        const uint32_t row = rows[(j + y_offset) % G4_STIPPLE_ROWS];
        uint32_t reversed = 0;
        for (uint32_t i = 0; i < 32; i++) {
            reversed |= (row >> i & 1) << (31 - i);
        }
        stipple[j] = reversed >> shift | (shift ? reversed << (32 - shift) : 0);
    }
}

/* The samples of a pixel by their code.  Codes beyond that of the most samples are reserved (docs/decisions.md 233). */
static inline uint32_t g4_samples_of(uint32_t code, uint32_t most) {
    return 1u << (code < most ? code : most);
}

/* The entries of BLEND_STATE.  No command has the number of targets that a kernel writes, and drivers write entries
 * for those alone: after the first, memory that nothing maps reads as 0 and is not a fault. */
static inline void g4_load_blend_state(struct g4_port *port, g4_address address, uint32_t *dw, uint32_t expected,
                                       uint32_t count) {
    (void)g4_mem_read(port, address, dw, expected * sizeof *dw);
    g4_mem_touch(port, address, count * sizeof *dw);
    for (uint32_t i = expected, part; i < count; i += part) {
        const g4_address at = (address + i * sizeof *dw) & port->mem->address_mask & ~(g4_address)3;
        const uint8_t *const host = g4_mem_ptr(port->mem, at);
        const uint32_t in_page = (uint32_t)((G4_PAGE_SIZE - (at & G4_PAGE_OFFSET)) / sizeof *dw);
        part = in_page < count - i ? in_page : count - i;
        memset(&dw[i], 0, part * sizeof *dw);
        if (host) {
            memcpy(&dw[i], host, part * sizeof *dw);
        }
    }
}

/* The capacity of stream output in objects.  Without shaders that decide about the objects, they are all of the
 * primitive's type and of stream 0. */
static inline void g4_load_stream_capacity(struct g4_draw_state *draw) {
    struct g4_stream_output *const output = &draw->stream_output;
    struct g4_topology_object object;

    output->vertices = g4_topology_object(draw->primitive.topology, 2, 0, &object) ? object.vertices : 0;
    output->capacity = UINT64_MAX;
    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        const struct g4_stream_buffer *const buffer = &output->buffer[b];
        if (output->stream[0].buffers >> b & 1) {
            const uint32_t bytes = buffer->pitch_bytes * output->vertices;
            const uint64_t most = buffer->missing ? 0 : bytes ? buffer->room / bytes : UINT64_MAX;
            output->capacity = most < output->capacity ? most : output->capacity;
        }
    }
}

#endif
