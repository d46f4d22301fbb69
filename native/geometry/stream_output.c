/*
 * Stream output: vertices of objects into buffers (IVB PRM vol. 2 part 1, "Stream Output Logic Stage").
 *
 * Without a geometry shader or tessellation, all objects of a draw take the same room, so object n has its place before
 * anything is written, and ranges are written independently.  Objects beyond the capacity are only counted, by
 * draw/draw.c.  With them, ranges run one after the other, and each object decides where the next one is written.
 */
#include <string.h>

#include "geometry/stage.h"

/* The positions of an object's vertices in the order in which they are written. */
static void order_of(const struct g4_stream_output *output, const struct g4_topology_object *object,
                     uint32_t position[3]) {
    memcpy(position, object->position, sizeof object->position);
    if (object->topology == G4_PRIMITIVE_TOPOLOGY_POLYGON && !output->leading) { /* vertex 0, its anchor, comes last */
        position[0] = object->position[1];
        position[1] = object->position[2];
        position[2] = object->position[0];
    }
    if (!object->invert) {
        return;
    }
    const uint32_t i = output->leading ? 1 : 0; /* exchange vertices i and i + 1 of an odd triangle of a strip */
    position[i] = object->position[i + 1];
    position[i + 1] = object->position[i];
}

/* Write a vertex to these addresses in the buffers. */
static void write_vertex(struct g4_port *port, const struct g4_vertex_stream *stream, const struct g4_vertex *vertex,
                         g4_address at[G4_STREAM_BUFFERS]) {
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
        at[d->buffer & 3] += count * sizeof *data;
    }
}

void g4_stream_output_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                          uint64_t preceding, const struct g4_vertex *const *vertex) {
    const struct g4_stream_output *const output = &draw->stream_output;

    for (uint32_t i = 0; i < strip->objects && preceding + i < output->capacity; i++) {
        struct g4_topology_object object;
        uint32_t position[3];
        if (!g4_topology_object(strip->topology, strip->vertices, strip->first_object + i, &object)) {
            return;
        }
        order_of(output, &object, position);
        for (uint32_t v = 0; v < object.vertices; v++) {
            const uint32_t number = (uint32_t)((preceding + i) * output->vertices + v);
            g4_address at[G4_STREAM_BUFFERS];
            for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
                at[b] = output->buffer[b].address + number * output->buffer[b].pitch_bytes;
            }
            write_vertex(&worker->port, &output->stream[0], g4_strip_vertex(strip, vertex, position[v]), at);
        }
    }
}

/* Whether an object of so many vertices fits into all buffers of its stream. */
static bool fits(const struct g4_stream_output *output, const struct g4_vertex_stream *stream,
                 const struct g4_streamed *streamed, uint32_t vertices) {
    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        const uint64_t end = (uint64_t)streamed->bytes[b] + (uint64_t)vertices * output->buffer[b].pitch_bytes;
        if ((stream->buffers >> b & 1) && (end > output->buffer[b].room || output->buffer[b].missing)) {
            return false;
        }
    }
    return true;
}

void g4_stream_output_append(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                             const struct g4_vertex *const *vertex, struct g4_streamed *streamed) {
    const struct g4_stream_output *const output = &draw->stream_output;
    const struct g4_vertex_stream *const stream = &output->stream[strip->stream % G4_STREAMS];

    for (uint32_t i = 0; i < strip->objects; i++) {
        struct g4_topology_object object;
        uint32_t position[3];
        if (!g4_topology_object(strip->topology, strip->vertices, strip->first_object + i, &object)) {
            return;
        }
        streamed->needed[strip->stream % G4_STREAMS]++;
        if (!fits(output, stream, streamed, object.vertices)) {
            continue; /* a smaller one may still fit */
        }
        order_of(output, &object, position);
        for (uint32_t v = 0; v < object.vertices; v++) {
            g4_address at[G4_STREAM_BUFFERS];
            for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
                at[b] = output->buffer[b].address + streamed->bytes[b];
                streamed->bytes[b] += stream->buffers >> b & 1 ? output->buffer[b].pitch_bytes : 0;
            }
            write_vertex(&worker->port, stream, g4_strip_vertex(strip, vertex, position[v]), at);
        }
        streamed->written[strip->stream % G4_STREAMS]++;
    }
}
