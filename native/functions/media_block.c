/*
 * Media block read and write: rectangles of bytes of 2D surfaces, with replicated edges (965 PRM vol. 4, 5.10.4).
 * Descriptors of Gen7 have the overrides of line stride and offset in the same bits; they select no cache, and writes
 * have no commit.
 */
#include <string.h>

#include "core/report.h"
#include "core/tiling.h"
#include "eu/message.h"
#include "eu/op.h"
#include "eu/worker.h"
#include "functions/dataport.h"
#include "hw_messages.h"

enum {
    MAX_REGISTERS = 8,
    BASE_ALIGNMENT = 32
};

/* A block as the header of a thread describes it. */
struct media_block {
    int32_t x, y;           /* bytes, rows */
    uint32_t width, height; /* bytes, rows */
    uint32_t pitch;         /* bytes between rows in the registers */
    uint32_t registers;
};

/* The surface, with the overrides of the message applied. */
struct media_surface {
    const struct g4_surface *surface; /* NULL: reads return 0, writes are dropped */
    int32_t width;                    /* bytes */
    int32_t rows;                     /* rows of the field or frame */
    bool fields;                      /* vertical line stride */
    uint32_t first_line;              /* vertical line stride offset */
    uint32_t boundary_mode;
    int32_t unit; /* bytes of a pixel, the unit of replication */
    int32_t luma; /* packed 4:2:2: the byte of the first Y in its four, else -1 */
};

static uint32_t row_pitch(uint32_t width) {
    return width <= 4 ? 4 : width <= 8 ? 8 : width <= 16 ? 16 : 32;
}

/* Unpacks a header.  False: the block has more registers than a message can carry. */
static bool block_of(const uint32_t *header, uint32_t gen, struct media_block *block) {
    struct g4_media_block_message_header fields;

    g4_media_block_message_header_unpack(header, gen, &fields);
    block->x = fields.x_offset;
    block->y = fields.y_offset;
    block->width = fields.block_width;
    block->height = fields.block_height;
    block->pitch = row_pitch(block->width);
    block->registers = (block->pitch * block->height + G4_REGISTER_BYTES - 1) / G4_REGISTER_BYTES;
    return block->registers <= MAX_REGISTERS;
}

/* Sets how edges are replicated: by pixels; 4:2:2 pairs replicate the luma next to the edge, with the chroma of the
 * pair. */
static void edges(struct media_surface *media) {
    switch (media->surface->format_code) {
    case G4_SURFACE_FORMAT_YCRCB_NORMAL:
    case G4_SURFACE_FORMAT_YCRCB_SWAPUV:
        media->unit = 4;
        media->luma = 0;
        break;
    case G4_SURFACE_FORMAT_YCRCB_SWAPY:
    case G4_SURFACE_FORMAT_YCRCB_SWAPUVY:
        media->unit = 4;
        media->luma = 1;
        break;
    default: {
        const uint32_t bits = media->surface->format->block_bits;
        media->unit = bits == 16 ? 2 : bits == 32 ? 4 : 1;
        media->luma = -1;
        break;
    }
    }
}

/* Sets the stride and offset of lines: those of the surface, or those of the descriptor, which change the height. */
static bool lines(struct media_surface *media, uint32_t descriptor) {
    const struct g4_surface *const surface = media->surface;
    const int32_t height = (int32_t)surface->height;
    bool even = true;

    media->fields = surface->skips_lines;
    media->first_line = surface->first_line;
    media->rows = height;
    if (g4_data_port_read_message_vertical_line_stride_override(descriptor)) { /* writes have the same layout */
        media->fields = g4_data_port_read_message_override_vertical_line_stride(descriptor);
        media->first_line = g4_data_port_read_message_override_vertical_line_stride_offset(descriptor);
        if (media->fields && !surface->skips_lines) {
            even = height % 2 == 0;
            media->rows = height > 1 ? height / 2 : 1;
        } else if (!media->fields && surface->skips_lines) {
            media->rows = height * 2;
        }
    }
    if (!media->fields) {
        media->first_line = 0;
    }
    return even;
}

/* Returns the surface of a message, or none if it cannot be used, which is reported. */
static struct media_surface surface_of(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send) {
    const struct g4_dispatch *const dispatch = gang->dispatch;
    const uint32_t index = g4_data_port_read_message_binding_table_index(send->descriptor);
    struct media_surface media = {.surface = NULL};
    bool good = true;

    if (index == G4_BTI_STATELESS) {
        good = false;
    } else {
        const struct g4_surface *const surface = g4_surface_get(
            eu->surfaces, eu->ctx, &eu->worker->port, dispatch->surface_state_base, dispatch->binding_table, index);
        if (surface->present && surface->type == G4_SURFACE_TYPE_SURFTYPE_2D) {
            media.surface = surface;
            media.width = (int32_t)surface->width * 4; /* the width is in dwords (docs/decisions.md 23) */
            media.boundary_mode = eu->ctx->model->quirks.has_media_boundary_mode ? surface->media_boundary_mode
                                                                                 : G4_MEDIA_BOUNDARY_PIXEL_MODE_NORMAL;
            good = lines(&media, send->descriptor) && surface->base % BASE_ALIGNMENT == 0;
            edges(&media);
        } else {
            good = !surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL;
        }
    }
    for (int t = 0; !good && t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_SURFACE, index);
        }
    }
    return media;
}

static g4_address address_of(const struct g4_surface *surface, uint32_t x, uint32_t line) {
    return surface->base + (uint32_t)g4_surface_offset(surface->tiling, surface->pitch, x, line);
}

/* The number of bytes from column x on that are contiguous in memory and in one page. */
static uint32_t run_of(const struct g4_surface *surface, uint32_t x, g4_address address) {
    const uint32_t page = G4_PAGE_SIZE - (address & G4_PAGE_OFFSET);
    const uint32_t tile = surface->tiling == G4_TILING_X   ? 512 - (x & 511)
                          : surface->tiling == G4_TILING_Y ? 16 - (x & 15)
                                                           : page;
    return tile < page ? tile : page;
}

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

static int32_t clamp(int64_t value, int32_t high) {
    return value < 0 ? 0 : value > high ? high : (int32_t)value;
}

/* The memory line of row y.  Rows outside the surface are replaced according to the boundary mode. */
static uint32_t line_of(const struct media_surface *media, int64_t y) {
    const int32_t last = media->rows - 1;

    if (media->fields && media->boundary_mode == G4_MEDIA_BOUNDARY_PIXEL_MODE_PROGRESSIVE) {
        return (uint32_t)clamp(2 * y + media->first_line, 2 * last + 1); /* the nearest line of the frame */
    }
    int32_t row = clamp(y, last);
    if (!media->fields && media->boundary_mode == G4_MEDIA_BOUNDARY_PIXEL_MODE_INTERLACED && row != y) {
        const int32_t parity = (int32_t)(y & 1); /* the nearest row of the same field */
        row = clamp(y < 0 ? parity : last - ((last - parity) & 1), last);
    }
    return media->fields ? 2 * (uint32_t)row + media->first_line : (uint32_t)row;
}

/* The column whose byte replaces column x, which is outside. */
static uint32_t edge_column(const struct media_surface *media, int64_t x) {
    int32_t within = (int32_t)(x & (media->unit - 1));
    if (x < 0) {
        if (media->luma >= 0 && within == media->luma + 2) {
            within = media->luma;
        }
        return (uint32_t)within;
    }
    if (media->luma >= 0 && within == media->luma) {
        within += 2;
    }
    return (uint32_t)(media->width - media->unit + within);
}

static void read_row(struct g4_port *port, const struct media_surface *media, const struct media_block *block,
                     uint32_t line, uint8_t *out) {
    for (uint32_t i = 0; i < block->width;) {
        const int64_t x = (int64_t)block->x + i;
        const bool inside = x >= 0 && x < media->width;
        const uint32_t column = inside ? (uint32_t)x : edge_column(media, x);
        const g4_address address = address_of(media->surface, column, line);
        uint32_t count = 1;
        if (inside) {
            count = at_most(block->width - i, (uint32_t)media->width - column);
            count = at_most(count, run_of(media->surface, column, address));
        }
        memcpy(out + i, g4_mem_read_ptr(port, address), count);
        i += count;
    }
}

static void read_block(struct g4_port *port, const struct media_surface *media, const struct media_block *block,
                       uint8_t *bytes) {
    for (uint32_t r = 0; media->surface && r < block->height; r++) {
        read_row(port, media, block, line_of(media, (int64_t)block->y + r), bytes + r * block->pitch);
    }
}

enum g4_status g4_media_block_read_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const struct media_surface media = surface_of(eu, gang, send);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct media_block block;
        uint8_t bytes[MAX_REGISTERS * G4_REGISTER_BYTES] = {0};
        if (!(send->threads >> t & 1)) {
            continue;
        }
        const bool fits = block_of(g4_payload(gang, send, 0, t), eu->ctx->gen, &block);
        if (!fits || send->mlen != 1) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_LENGTH, send->descriptor);
        }
        if (!fits || send->mlen == 0) {
            continue;
        }
        if (send->rlen != block.registers) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_RESPONSE, send->descriptor);
        }
        if (eu->ctx->model->quirks.media_reads_align_x_to_dword) {
            block.x &= ~3; /* docs/decisions.md 33 */
        }
        read_block(&eu->worker->port, &media, &block, bytes);
        for (unsigned reg = 0; reg < block.registers; reg++) {
            uint32_t *const row = g4_response(gang, send, reg, t);
            if (row) {
                memcpy(row, bytes + G4_REGISTER_BYTES * reg, G4_REGISTER_BYTES);
            }
        }
    }
    return G4_OK;
}

enum g4_status g4_media_block_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    if (g4_data_port_read_message_target_cache(send->descriptor) ==
        G4_TARGET_CACHE_DATA) { /* the data cache has linear memory only */
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    return g4_media_block_read_gen7(eu, gang, send);
}

static void write_row(struct g4_port *port, const struct media_surface *media, const struct media_block *block,
                      uint32_t line, const uint8_t *data) {
    const int64_t before = -(int64_t)block->x; /* columns left of the surface */
    for (uint32_t i = before > 0 ? at_most((uint32_t)before, block->width) : 0; i < block->width;) {
        const int64_t x = (int64_t)block->x + i;
        if (x >= media->width) {
            break;
        }
        const uint32_t column = (uint32_t)x;
        const g4_address address = address_of(media->surface, column, line);
        uint32_t count = at_most(block->width - i, (uint32_t)media->width - column);
        count = at_most(count, run_of(media->surface, column, address));
        uint8_t *const host = g4_mem_write_ptr(port, address);
        if (host) {
            memcpy(host, data + i, count);
        }
        i += count;
    }
}

static void write_block(struct g4_port *port, const struct media_surface *media, const struct media_block *block,
                        const uint8_t *bytes) {
    for (uint32_t r = 0; media->surface && r < block->height; r++) {
        const int64_t y = (int64_t)block->y + r;
        if (y >= 0 && y < media->rows) {
            const uint32_t line = media->fields ? 2 * (uint32_t)y + media->first_line : (uint32_t)y;
            write_row(port, media, block, line, bytes + r * block->pitch);
        }
    }
}

static void remember(struct g4_written *written, g4_address surface) {
    for (uint32_t i = 0; i < written->count; i++) {
        if (written->surface[i] == surface) {
            return;
        }
    }
    if (written->count < sizeof written->surface / sizeof *written->surface) {
        written->surface[written->count++] = surface;
    }
}

static enum g4_status write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, uint32_t response) {
    const struct media_surface media = surface_of(eu, gang, send);

    if (eu->written && media.surface) {
        remember(eu->written, media.surface->address);
    }
    if (send->rlen != response) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_RESPONSE);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct media_block block;
        uint8_t bytes[MAX_REGISTERS * G4_REGISTER_BYTES];
        if (!(send->threads >> t & 1)) {
            continue;
        }
        const bool fits = block_of(g4_payload(gang, send, 0, t), eu->ctx->gen, &block);
        if (!fits || send->mlen != 1 + block.registers) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_LENGTH, send->descriptor);
        }
        if (!fits || send->mlen < 1 + block.registers) {
            continue;
        }
        for (unsigned reg = 0; reg < block.registers; reg++) {
            memcpy(bytes + G4_REGISTER_BYTES * reg, g4_payload(gang, send, reg + 1, t), G4_REGISTER_BYTES);
        }
        write_block(&eu->worker->port, &media, &block, bytes);
    }
    return G4_OK;
}

enum g4_status g4_media_block_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return write(eu, gang, send, g4_data_port_write_message_send_write_commit_message(send->descriptor));
}

enum g4_status g4_media_block_write_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return write(eu, gang, send, 0);
}

uint32_t g4_media_block_bytes(const uint32_t *header, uint32_t gen) {
    struct media_block block;
    return block_of(header, gen, &block) ? block.width * block.height : 0;
}
