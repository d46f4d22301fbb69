/* Rectangles of surfaces to and from rows of pixels, through the page table (tiling.h).
 *
 * A tile is a page, so one lookup serves 4 KiB.  Missing pages read as zeros and drop writes; the port reports them, as
 * for any other access.
 */
#include "core/tiling.h"

#include "core/memory.h"
#include "core/tile_copy.h"
#include "core/util.h"
#include "core/variant.h"

G4_VARIANT_DECLARE(struct g4_tile_copy, g4_tile_copy);
static const struct g4_tile_copy *const tile_copy[] = G4_VARIANT_TABLE(g4_tile_copy);

static const uint64_t address_space = (uint64_t)1 << 48;

/* --- formulas, for Python --- */

uint64_t g4_tiling_offset(uint32_t tiling, uint32_t pitch_bytes, uint32_t x_bytes, uint32_t y) {
    return g4_surface_offset(tiling, pitch_bytes, x_bytes, y);
}

enum g4_status g4_tiling_coordinates(uint32_t tiling, uint32_t pitch_bytes, uint64_t offset, uint64_t *x_bytes,
                                     uint64_t *y) {
    const uint32_t width = g4_tile_width(tiling);
    const uint32_t height = g4_tile_height(tiling);
    if (pitch_bytes == 0 || pitch_bytes % width != 0) {
        return G4_BAD_VALUE;
    }
    const uint64_t tile_row = (uint64_t)pitch_bytes * height;
    const uint64_t inside = offset % tile_row;
    const uint32_t bits = (uint32_t)inside;
    *x_bytes = inside / ((uint64_t)width * height) * width;
    *y = offset / tile_row * height;
    switch (tiling) {
    case G4_TILING_X:
        *x_bytes += bits & 511u;
        *y += bits >> 9 & 7u;
        break;
    case G4_TILING_Y:
        *x_bytes += (bits >> 5 & 0x70u) | (bits & 15u);
        *y += bits >> 4 & 31u;
        break;
    case G4_TILING_W:
        *x_bytes += (bits >> 6 & 0x38u) | (bits >> 2 & 4u) | (bits >> 1 & 2u) | (bits & 1u);
        *y += (bits >> 3 & 0x38u) | (bits >> 3 & 4u) | (bits >> 2 & 2u) | (bits >> 1 & 1u);
        break;
    default:
        break;
    }
    return G4_OK;
}

uint64_t g4_swizzle_address(uint32_t swizzle, uint64_t address, uint64_t physical) {
    const uint32_t flips = g4_swizzle_flips(swizzle, physical);
    return address ^ (uint64_t)(flips >> (address >> 9 & 7u) & 1u) << 6;
}

/* --- rectangles --- */

enum g4_status g4_layout_check(const struct g4_surface_layout *layout) {
    if (layout->tiling > G4_TILING_W || layout->swizzle >= G4_SWIZZLE_COUNT) {
        return G4_BAD_VALUE;
    }
    const bool tiled = layout->tiling != G4_TILING_LINEAR;
    const uint32_t tile_height = g4_tile_height(layout->tiling);
    const uint64_t rows = ((uint64_t)layout->height_rows + tile_height - 1) / tile_height * tile_height;
    if (layout->pitch_bytes == 0 || layout->pitch_bytes % g4_tile_width(layout->tiling) != 0 ||
        layout->width_bytes > layout->pitch_bytes || (tiled && layout->base % G4_PAGE_SIZE != 0)) {
        return G4_BAD_VALUE;
    }
    /* The last row of a linear surface ends with its width: the bytes after it may belong to another surface. */
    const uint64_t gap = tiled || rows == 0 ? 0 : layout->pitch_bytes - layout->width_bytes;
    const uint64_t size = rows * layout->pitch_bytes - gap;
    return layout->base + size <= address_space ? G4_OK : G4_BAD_VALUE;
}

/* A rectangle clipped to its surface, and the start of the remaining part in the rows of pixels. */
struct clipped {
    uint32_t x0, x1, y0, y1;
    size_t start;
};

static int64_t between(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static struct clipped clip(const struct g4_surface_layout *layout, const struct g4_rectangle *rectangle, size_t pitch) {
    const int64_t x = rectangle->x_bytes;
    const int64_t y = rectangle->y;
    struct clipped clipped = {
        .x0 = (uint32_t)between(x, 0, layout->width_bytes),
        .x1 = (uint32_t)between(x + rectangle->width_bytes, 0, layout->width_bytes),
        .y0 = (uint32_t)between(y, 0, layout->height_rows),
        .y1 = (uint32_t)between(y + rectangle->height, 0, layout->height_rows),
    };
    if (clipped.x0 >= clipped.x1 || clipped.y0 >= clipped.y1) {
        return (struct clipped){0};
    }
    clipped.start = (size_t)(clipped.y0 - y) * pitch + (size_t)(clipped.x0 - x);
    return clipped;
}

static bool pixels_fit(const struct g4_rectangle *rectangle, size_t size, size_t pitch) {
    if (rectangle->height == 0 || rectangle->width_bytes == 0) {
        return true;
    }
    size_t last_row = 0;
    return pitch >= rectangle->width_bytes &&
           !__builtin_mul_overflow((size_t)rectangle->height - 1, pitch, &last_row) && last_row <= size &&
           rectangle->width_bytes <= size - last_row;
}

/* One tile of a rectangle: its address, the box inside it, and the pixels of the box. */
struct piece {
    g4_address address;
    struct g4_tile_box box;
    size_t start;
};

/* The piece in the tile of byte (x, y), which is the first of the rectangle in that tile. */
static struct piece piece_at(const struct g4_surface_layout *layout, const struct clipped *area, uint32_t x, uint32_t y,
                             size_t pitch) {
    const uint32_t width = g4_tile_width(layout->tiling);
    const uint32_t height = g4_tile_height(layout->tiling);
    const uint32_t left = x / width * width;
    const uint32_t top = y / height * height;
    return (struct piece){
        .address = layout->base + (uint32_t)g4_surface_offset(layout->tiling, layout->pitch_bytes, left, top),
        .box = {x - left, g4_min_u32(area->x1 - left, width), y - top, g4_min_u32(area->y1 - top, height)},
        .start = area->start + (size_t)(y - area->y0) * pitch + (x - area->x0),
    };
}

static enum g4_status read_linear(struct g4_port *port, const struct g4_surface_layout *layout,
                                  const struct clipped *area, uint8_t *pixels, size_t pitch) {
    for (uint32_t y = area->y0; y < area->y1 && port->status == G4_OK; y++) {
        const uint64_t offset = g4_surface_offset(G4_TILING_LINEAR, layout->pitch_bytes, area->x0, y);
        (void)g4_mem_read(port, layout->base + (uint32_t)offset, pixels + area->start + (y - area->y0) * pitch,
                          area->x1 - area->x0);
    }
    return (enum g4_status)port->status;
}

static enum g4_status write_linear(struct g4_port *port, const struct g4_surface_layout *layout,
                                   const struct clipped *area, const uint8_t *pixels, size_t pitch) {
    for (uint32_t y = area->y0; y < area->y1 && port->status == G4_OK; y++) {
        const uint64_t offset = g4_surface_offset(G4_TILING_LINEAR, layout->pitch_bytes, area->x0, y);
        (void)g4_mem_write(port, layout->base + (uint32_t)offset, pixels + area->start + (y - area->y0) * pitch,
                           area->x1 - area->x0);
    }
    return (enum g4_status)port->status;
}

enum g4_status g4_surface_read(struct g4_port *port, const struct g4_surface_layout *layout,
                               const struct g4_rectangle *rectangle, void *pixels, size_t size, size_t pitch_bytes) {
    if (g4_layout_check(layout) != G4_OK || !pixels_fit(rectangle, size, pitch_bytes)) {
        return G4_BAD_VALUE;
    }
    const struct clipped area = clip(layout, rectangle, pitch_bytes);
    if (layout->tiling == G4_TILING_LINEAR) {
        return read_linear(port, layout, &area, pixels, pitch_bytes);
    }
    g4_tile_read_fn *const copy = tile_copy[g4_variant_current()]->read[layout->tiling];
    const uint32_t width = g4_tile_width(layout->tiling);
    const uint32_t height = g4_tile_height(layout->tiling);
    for (uint32_t y = area.y0; y < area.y1; y = (y / height + 1) * height) {
        for (uint32_t x = area.x0; x < area.x1 && port->status == G4_OK; x = (x / width + 1) * width) {
            const struct piece piece = piece_at(layout, &area, x, y, pitch_bytes);
            const uint32_t flips = g4_swizzle_flips(layout->swizzle, g4_mem_physical(port->mem, piece.address));
            copy((uint8_t *)pixels + piece.start, pitch_bytes, g4_mem_read_ptr(port, piece.address), &piece.box, flips);
        }
    }
    return (enum g4_status)port->status;
}

enum g4_status g4_surface_write(struct g4_port *port, const struct g4_surface_layout *layout,
                                const struct g4_rectangle *rectangle, const void *pixels, size_t size,
                                size_t pitch_bytes) {
    if (g4_layout_check(layout) != G4_OK || !pixels_fit(rectangle, size, pitch_bytes)) {
        return G4_BAD_VALUE;
    }
    const struct clipped area = clip(layout, rectangle, pitch_bytes);
    if (layout->tiling == G4_TILING_LINEAR) {
        return write_linear(port, layout, &area, pixels, pitch_bytes);
    }
    g4_tile_write_fn *const copy = tile_copy[g4_variant_current()]->write[layout->tiling];
    const uint32_t width = g4_tile_width(layout->tiling);
    const uint32_t height = g4_tile_height(layout->tiling);
    for (uint32_t y = area.y0; y < area.y1; y = (y / height + 1) * height) {
        for (uint32_t x = area.x0; x < area.x1 && port->status == G4_OK; x = (x / width + 1) * width) {
            const struct piece piece = piece_at(layout, &area, x, y, pitch_bytes);
            uint8_t *const tile = g4_mem_write_ptr(port, piece.address);
            if (tile) {
                const uint32_t flips = g4_swizzle_flips(layout->swizzle, g4_mem_physical(port->mem, piece.address));
                copy(tile, (const uint8_t *)pixels + piece.start, pitch_bytes, &piece.box, flips);
            }
        }
    }
    return (enum g4_status)port->status;
}
