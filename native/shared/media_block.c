/*
 * Media block read and write: rectangles of bytes of 2D surfaces, with the edges replicated (spec/60 4.7).
 */
#include <string.h>

#include "../report.h"
#include "../tiling.h"
#include "dataport.h"

enum {
    OVERRIDE_STRIDE = 1 << 10,
    OVERRIDE_VLS = 1 << 9,
    OVERRIDE_VLSO = 1 << 8,
    MAX_REGISTERS = 8
};

/* Rows of the fields that the message sees, by the surface's stride and the one in force. */
static int32_t effective_rows(uint32_t height, uint32_t surface_stride, uint32_t stride) {
    if (surface_stride == stride) {
        return (int32_t)height;
    }
    return (int32_t)(stride ? height / 2 : height * 2);
}

static bool refuse(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int thread,
                   enum g4_event event, uint32_t value) {
    (void)send;
    g4_report(eu->log, event, g4_gang_address(gang, thread), value);
    return false;
}

static uint32_t row_pitch(uint32_t width) {
    return width <= 4 ? 4 : width <= 8 ? 8 : width <= 16 ? 16 : 32;
}

bool g4_media_block(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int thread,
                    struct g4_media_block *block) {
    const uint32_t *const header = g4_payload(gang, send, 0, thread);
    const uint32_t index = send->descriptor & 0xff;

    block->x = (int32_t)header[0];
    block->y = (int32_t)header[1];
    block->width = (header[2] & 31) + 1;
    block->height = (header[2] >> 16 & 63) + 1;
    block->pitch = row_pitch(block->width);
    if (block->pitch * block->height > MAX_REGISTERS * 32) {
        return refuse(eu, gang, send, thread, G4_EVENT_BAD_LENGTH, header[2]);
    }
    if (index == G4_BTI_STATELESS) {
        return refuse(eu, gang, send, thread, G4_EVENT_BAD_SURFACE, index);
    }
    const struct g4_surface *const surface =
        g4_surface_get(eu->surfaces, eu->ctx, &eu->worker->port, gang->dispatch->surface_state_base,
                       gang->dispatch->binding_table, index);
    block->surface = surface;
    if (!surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return false;
    }
    if (surface->type != G4_SURFACE_TYPE_SURFTYPE_2D) {
        return refuse(eu, gang, send, thread, G4_EVENT_BAD_SURFACE, index);
    }
    const bool override = (send->descriptor & OVERRIDE_STRIDE) != 0;
    block->line_stride = override ? (send->descriptor & OVERRIDE_VLS) != 0 : surface->state.vertical_line_stride;
    block->line_offset =
        override ? (send->descriptor & OVERRIDE_VLSO) != 0 : surface->state.vertical_line_stride_offset;
    block->surface_width = (int32_t)surface->width * 4; /* decision 23: in dwords */
    block->surface_rows = effective_rows(surface->height, surface->state.vertical_line_stride, block->line_stride);
    return true;
}

uint32_t g4_media_address(const struct g4_surface *surface, uint32_t x, uint32_t line) {
    return surface->base + (uint32_t)g4_surface_offset(surface->tiling, surface->pitch, x, line);
}

static int32_t clamp(int32_t value, int32_t high) {
    return value < 0 ? 0 : value > high ? high : value;
}

/* The memory line of row y, rows outside of the surface replaced as the boundary mode says. */
static uint32_t boundary_line(const struct g4_media_block *block, int64_t y) {
    const int32_t rows = block->surface_rows;
    const uint32_t mode = block->surface->state.media_boundary_pixel_mode;
    const int64_t bounded = y < -2 ? -2 + (y & 1) : y > (int64_t)rows + 1 ? rows + ((y - rows) & 1) : y;

    if (block->line_stride && mode == G4_MEDIA_BOUNDARY_PIXEL_MODE_PROGRESSIVE) {
        const int32_t line = (int32_t)(bounded * 2) + (int32_t)block->line_offset;
        return (uint32_t)clamp(line, 2 * rows - 1);
    }
    int32_t row = clamp((int32_t)bounded, rows - 1);
    if (!block->line_stride && mode == G4_MEDIA_BOUNDARY_PIXEL_MODE_INTERLACED && row != (int32_t)bounded) {
        /* stay in the field: the nearest row of the same parity */
        const int32_t parity = (int32_t)(y & 1);
        row = bounded < 0 ? parity : rows - 1 - ((rows - 1 - parity) & 1);
        row = clamp(row, rows - 1);
    }
    return block->line_stride ? 2 * (uint32_t)row + block->line_offset : (uint32_t)row;
}

/* How bytes beyond the left and right edge repeat. */
struct edge {
    int32_t unit; /* bytes of a pixel */
    int32_t luma; /* packed 4:2:2: the byte of the first Y in the dword, else -1 */
};

static struct edge edge_of(const struct g4_surface *surface) {
    switch (surface->state.surface_format) {
    case G4_SURFACE_FORMAT_YCRCB_NORMAL:
    case G4_SURFACE_FORMAT_YCRCB_SWAPUV:
        return (struct edge){4, 0};
    case G4_SURFACE_FORMAT_YCRCB_SWAPY:
    case G4_SURFACE_FORMAT_YCRCB_SWAPUVY:
        return (struct edge){4, 1};
    default: {
        const uint32_t bytes = surface->format ? surface->format->block_bits / 8u : 1;
        return (struct edge){bytes == 2 ? 2 : bytes == 4 ? 4 : 1, -1};
    }
    }
}

static uint32_t edge_byte(const struct edge *edge, int64_t x, int32_t width) {
    int32_t within = (int32_t)(x & (edge->unit - 1));
    if (x < 0) {
        if (edge->luma >= 0 && within == edge->luma + 2) {
            within = edge->luma;
        }
        return (uint32_t)within;
    }
    if (edge->luma >= 0 && within == edge->luma) {
        within = edge->luma + 2;
    }
    return (uint32_t)(width - edge->unit + within);
}

static void read_row(struct g4_port *port, const struct g4_media_block *block, const struct edge *edge, uint32_t line,
                     uint8_t *out) {
    for (uint32_t i = 0; i < block->width; i++) {
        const int64_t x = (int64_t)block->x + i;
        const bool inside = x >= 0 && x < block->surface_width;
        const uint32_t column = inside ? (uint32_t)x : edge_byte(edge, x, block->surface_width);
        out[i] = *g4_mem_read_ptr(port, g4_media_address(block->surface, column, line));
    }
}

enum g4_status g4_media_block_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        struct g4_media_block block;
        uint8_t bytes[MAX_REGISTERS * 32] = {0};
        if (g4_media_block(eu, gang, send, t, &block)) {
            const struct edge edge = edge_of(block.surface);
            if (!g4_is_gen45(eu->ctx->gen)) {
                block.x &= ~3; /* decision 33 */
            }
            for (uint32_t r = 0; r < block.height; r++) {
                read_row(&eu->worker->port, &block, &edge, boundary_line(&block, (int64_t)block.y + r),
                         bytes + r * block.pitch);
            }
        }
        for (unsigned reg = 0; reg < MAX_REGISTERS; reg++) {
            uint32_t *const row = g4_response(gang, send, reg, t);
            if (row) {
                memcpy(row, bytes + 32 * reg, 32);
            }
        }
    }
    return G4_OK;
}

static void write_row(struct g4_port *port, const struct g4_media_block *block, uint32_t line, const uint8_t *data) {
    for (uint32_t i = 0; i < block->width; i++) {
        const int64_t x = (int64_t)block->x + i;
        if (x < 0 || x >= block->surface_width) {
            continue;
        }
        uint8_t *const host = g4_mem_write_ptr(port, g4_media_address(block->surface, (uint32_t)x, line));
        if (host) {
            *host = data[i];
        }
    }
}

enum g4_status g4_media_block_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct g4_media_block block;
        if (!(send->threads >> t & 1) || !g4_media_block(eu, gang, send, t, &block)) {
            continue;
        }
        uint8_t bytes[MAX_REGISTERS * 32] = {0};
        for (unsigned reg = 0; reg + 1 < send->mlen && reg < MAX_REGISTERS; reg++) {
            memcpy(bytes + 32 * reg, g4_payload(gang, send, reg + 1, t), 32);
        }
        if ((send->mlen - 1u) * 32 < block.pitch * block.height) {
            g4_report(eu->log, G4_EVENT_BAD_LENGTH, g4_gang_address(gang, t), send->descriptor);
            continue;
        }
        for (uint32_t r = 0; r < block.height; r++) {
            const int64_t y = (int64_t)block.y + r;
            if (y >= 0 && y < block.surface_rows) {
                const uint32_t line = block.line_stride ? 2 * (uint32_t)y + block.line_offset : (uint32_t)y;
                write_row(&eu->worker->port, &block, line, bytes + r * block.pitch);
            }
        }
    }
    return G4_OK;
}
