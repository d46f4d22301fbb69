/*
 * Stream output: vertices of objects into buffers (IVB PRM vol. 2 part 1, "Stream Output Logic Stage").
 *
 * All objects of a draw take the same room, so object n has its place before anything is written, and ranges are
 * written independently.  Objects beyond the capacity are only counted, by draw/draw.c.
 */
#include <string.h>

#include "geometry/stage.h"

/* The positions of an object's vertices in the order in which they are written. */
static void order_of(const struct g4_stream_output *stream, const struct g4_topology_object *object,
                     uint32_t position[3]) {
    memcpy(position, object->position, sizeof object->position);
    if (object->topology == G4_PRIMITIVE_TOPOLOGY_POLYGON && !stream->leading) { /* vertex 0, its anchor, comes last */
        position[0] = object->position[1];
        position[1] = object->position[2];
        position[2] = object->position[0];
    }
    if (!object->invert) {
        return;
    }
    const uint32_t i = stream->leading ? 1 : 0; /* exchange vertices i and i + 1 of an odd triangle of a strip */
    position[i] = object->position[i + 1];
    position[i + 1] = object->position[i];
}

static void write_vertex(struct g4_port *port, const struct g4_stream_output *stream, const struct g4_vertex *vertex,
                         uint64_t number) {
    uint32_t at[G4_STREAM_BUFFERS];

    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        at[b] = stream->buffer[b].address + (uint32_t)number * stream->buffer[b].pitch_bytes;
    }
    for (uint32_t i = 0; i < stream->declarations; i++) {
        const struct g4_stream_declaration *const d = &stream->declaration[i];
        uint32_t data[4] = {0};
        uint32_t count = 0;
        for (uint32_t c = 0; c < 4; c++) {
            if (d->mask >> c & 1) {
                data[count++] = d->slot / 2u < vertex->row_count ? vertex->rows[d->slot / 2][4 * (d->slot & 1) + c] : 0;
            }
        }
        if (!d->hole && count) {
            (void)g4_mem_write(port, at[d->buffer & 3], data, count * sizeof *data);
        }
        at[d->buffer & 3] += count * (uint32_t)sizeof *data;
    }
}

void g4_stream_output_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                          uint64_t preceding, const struct g4_vertex *const *vertex) {
    const struct g4_stream_output *const stream = &draw->stream_output;

    for (uint32_t i = 0; i < strip->objects && preceding + i < stream->capacity; i++) {
        struct g4_topology_object object;
        uint32_t position[3];
        if (!g4_topology_object(strip->topology, strip->vertices, strip->first_object + i, &object)) {
            return;
        }
        order_of(stream, &object, position);
        for (uint32_t v = 0; v < object.vertices; v++) {
            /* vertex[0] is the one at position 0, if the others begin behind it */
            const bool first = position[v] == 0 && strip->first != 0;
            const struct g4_vertex *const from = vertex[first ? 0 : 1 + position[v] - strip->first];
            write_vertex(&worker->port, stream, from, (preceding + i) * stream->vertices + v);
        }
    }
}
