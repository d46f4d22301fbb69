/*
 * The header of a vertex's URB entry on Gen7 (IVB PRM vol. 2 part 1, "Vertex URB Entry (VUE) Formats").
 */
#include <string.h>

#include "geometry/stage.h"
#include "messages_gen7.h"

enum {
    HEADER_ROWS = 2
};

/* Widths of points are U8.3 as in 3DSTATE_SF, within the limits of 3DSTATE_CLIP (docs/decisions.md 87). */
static uint16_t point_width(const struct g4_clip *clip, float width) {
    const float most = clip->point_width_max > 0.0f ? clip->point_width_max : 255.875f;
    const float clamped = !(width > clip->point_width_min) ? clip->point_width_min : width < most ? width : most;
    return (uint16_t)(clamped * 8.0f + 0.5f);
}

static void read_vertex(const struct g4_context *ctx, const struct g4_clip *clip, const uint32_t (*rows)[8],
                        uint32_t row_count, struct g4_vertex *vertex) {
    struct gen7_vertex_header header;
    uint32_t dw[HEADER_ROWS * 8] = {0};

    memcpy(dw, rows, (row_count < HEADER_ROWS ? row_count : HEADER_ROWS) * sizeof *rows);
    gen7_vertex_header_unpack(dw, ctx->gen, &header);
    *vertex = (struct g4_vertex){
        .rows = rows,
        .row_count = row_count,
        .x = header.vertex_position_x,
        .y = header.vertex_position_y,
        .z = header.vertex_position_z,
        .rhw = header.vertex_position_w,
        .point_width = point_width(clip, header.point_width),
        .array_index = clip->zero_array_index ? 0 : (uint16_t)header.render_target_array_index,
        .viewport = header.viewport_index <= clip->max_viewport ? (uint8_t)header.viewport_index : 0,
    };
}

void g4_vertices_read_gen7(const struct g4_context *ctx, const struct g4_draw_state *draw,
                           const struct g4_entries *entries, struct g4_vertex *vertex) {
    for (uint32_t e = 0; e < entries->count; e++) {
        const uint32_t(*const rows)[8] = (const uint32_t(*)[8])(entries->rows + (size_t)e * entries->stride);
        read_vertex(ctx, &draw->clip, rows, entries->stride, &vertex[e]);
    }
}
