/*
 * Maps the pixels of a render target or depth buffer to host memory, four subspans of a thread at a time.
 *
 * Usually the two rows of a subspan are at two host addresses that can be read and written directly.  All other
 * subspans (at the edge of the surface, at odd coordinates, across pages, unmapped) are processed in a copy.
 */
#ifndef G4_PIXEL_ROWS_H
#define G4_PIXEL_ROWS_H

#include "core/surface.h"

enum {
    G4_PIXEL_MAP_PAGES = 8,
    G4_PIXEL_MAP_SUBSPANS = 4,
    G4_PIXEL_MAP_COLUMN = 16, /* width of a column of a Y tile in bytes */
    G4_PIXEL_MAP_NEXT = 512,  /* bytes from a column of a Y tile to the next */
    G4_PIXEL_BYTES = 16,      /* of the largest format */
    G4_CACHE_LINE = 64,       /* of most hosts */
};

struct g4_pixel_map {
    bool present; /* false: reads return 0, writes are dropped */
    bool writes;  /* false: read only */
    bool fast;    /* true if the two pixels of a row are always adjacent */
    bool columns; /* true if the two pixels of a column are: Y tiles of G4_PIXEL_MAP_COLUMN bytes a pixel */
    enum g4_tiling tiling;
    g4_address base;
    uint32_t pitch;
    uint32_t bytes, stride;           /* size of a pixel; distance between pixels */
    uint32_t dx, dy;                  /* added to pixel coordinates, modulo 2^32 */
    uint32_t x0, y0;                  /* position of the image in the surface */
    uint32_t width, height;           /* pixels */
    uint32_t line_shift, line_offset; /* vertical line stride */
    /* A cache of the host addresses of pages.  The page table does not change during a draw. */
    uint64_t page[G4_PIXEL_MAP_PAGES];
    uint8_t *host[G4_PIXEL_MAP_PAGES];
};

/* The rows of four subspans: row[2 * s + r] has two pixels. */
struct g4_subspan_rows {
    uint8_t *row[2 * G4_PIXEL_MAP_SUBSPANS];
    uint32_t inside; /* pixels inside the surface: bit 4 * s + p */
    uint32_t staged; /* subspans that are copies in `stage`: bit s */
    uint8_t stage[2 * G4_PIXEL_MAP_SUBSPANS][2 * G4_PIXEL_BYTES];
};

/* Bits of pixels side by side, all the same: the value of a fill, or a mask. */
struct g4_pixel_pattern {
    uint64_t word[G4_PIXEL_BYTES / 8];
};

/* Describes an image and empties the page cache. */
void g4_pixel_map_set(struct g4_pixel_map *map, const struct g4_image *image, bool writes);

uint8_t *g4_pixel_map_find_page(struct g4_pixel_map *map, struct g4_port *port, g4_address address);
/* The page that has exactly the 32x32 pixels from (x, y) on: a Y tile of four bytes a pixel, of which at least the
 * first pixel is inside the image.  NULL if the page is missing or not directly accessible; nothing is reported.
 */
uint8_t *g4_pixel_map_page(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y);
/* The quarter of a W tile that has exactly the 32x32 pixels from (x, y) on, in the same way. */
uint8_t *g4_pixel_map_quarter(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y);
/* Finds the upper left pixel of a subspan of 16-byte pixels in a Y tile: the others follow after 16 bytes, after
 * G4_PIXEL_MAP_NEXT, and after both.  NULL, without a report, if a pixel is outside or not directly accessible.
 */
uint8_t *g4_pixel_map_columns(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y);
/* Whether the page of a pixel of a tiled or linear image may be accessed as the map says; nothing is reported. */
bool g4_pixel_map_is_mapped(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y);
/* Whether a pixel of an image that is written is inside of it, and its page takes writes; nothing is reported. */
bool g4_pixel_map_may_write(const struct g4_pixel_map *map, struct g4_mem *mem, uint32_t x, uint32_t y);
void g4_pixel_map_stage(const struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y, uint32_t subspan,
                        uint32_t live, struct g4_subspan_rows *rows);
void g4_pixel_map_unstage(const struct g4_pixel_map *map, struct g4_port *port, const uint16_t x[4],
                          const uint16_t y[4], uint32_t live, const struct g4_subspan_rows *rows);

static inline uint32_t g4_pixel_map_slot(uint64_t page) {
    return (uint32_t)(page ^ page >> 3 ^ page >> 6) % G4_PIXEL_MAP_PAGES;
}

/* The host address of a byte, valid to the end of its page; NULL if it has none. */
static inline uint8_t *g4_pixel_map_host(struct g4_pixel_map *map, struct g4_port *port, g4_address address) {
    const uint64_t page = address >> G4_PAGE_SHIFT;
    const uint32_t slot = g4_pixel_map_slot(page);
    if (__builtin_expect(map->page[slot] == page, 1)) {
        return map->host[slot] + (address & G4_PAGE_OFFSET);
    }
    return g4_pixel_map_find_page(map, port, address);
}

static inline g4_address g4_pixel_map_address(const struct g4_pixel_map *map, uint32_t x_bytes, uint32_t line) {
    return map->base + (uint32_t)g4_surface_offset(map->tiling, map->pitch, x_bytes, line);
}

/* Finds the two rows of an even number of pixels from (x, y) on.  False: the pixels are not adjacent in host memory, or
 * (x, y) is odd or outside. */
static inline __attribute__((always_inline)) bool g4_pixel_map_rows(struct g4_pixel_map *map, struct g4_port *port,
                                                                    uint32_t x, uint32_t y, uint32_t pixels,
                                                                    uint8_t *row[2]) {
    const uint32_t sx = x + map->dx;
    const uint32_t sy = y + map->dy;
    /* `fast` implies that the surface has at least two rows of two pixels */
    if (!map->fast || ((x | y) & 1) || map->width < pixels || sx > map->width - pixels || sy > map->height - 2) {
        return false;
    }
    const uint32_t xb = (map->x0 + sx) * map->bytes;
    const uint32_t line = ((map->y0 + sy) << map->line_shift) + map->line_offset;
    const g4_address address = g4_pixel_map_address(map, xb, line);
    const uint32_t bytes = pixels * map->bytes;

    row[0] = g4_pixel_map_host(map, port, address);
    if (map->tiling == G4_TILING_LINEAR || map->line_shift) {
        const g4_address below = g4_pixel_map_address(map, xb, line + (1u << map->line_shift));
        row[1] = g4_pixel_map_host(map, port, below);
        if (map->tiling == G4_TILING_LINEAR &&
            ((address & G4_PAGE_OFFSET) + bytes > G4_PAGE_SIZE || (below & G4_PAGE_OFFSET) + bytes > G4_PAGE_SIZE)) {
            return false;
        }
    } else {
        if (!row[0]) {
            return false;
        }
        row[1] = row[0] + (map->tiling == G4_TILING_Y ? G4_PIXEL_MAP_COLUMN : G4_TILE_X_WIDTH);
    }
    if (map->tiling != G4_TILING_LINEAR) {
        const uint32_t width = g4_tile_width(map->tiling);
        if ((xb & (width - 1)) + bytes > width) {
            return false;
        }
    }
    return row[0] && row[1];
}

/* Prefetches the cache lines of rows that start here if their page is in the cache.  Always inline, because GCC 12
 * considers a call of it to have no effect. */
static inline __attribute__((always_inline)) void g4_pixel_map_prefetch(const struct g4_pixel_map *map, uint32_t x,
                                                                        uint32_t y) {
    const uint32_t xb = (map->x0 + x + map->dx) * map->bytes;
    const uint32_t line = ((map->y0 + y + map->dy) << map->line_shift) + map->line_offset;
    if (map->tiling != G4_TILING_Y && xb % G4_CACHE_LINE) {
        return; /* the pixels to the left prefetch it */
    }
    const g4_address address = g4_pixel_map_address(map, xb, line);
    const uint64_t page = address >> G4_PAGE_SHIFT;
    const uint32_t slot = g4_pixel_map_slot(page);
    if (map->page[slot] == page) {
        const uint8_t *const upper = map->host[slot] + (address & G4_PAGE_OFFSET);
        __builtin_prefetch(upper);
        __builtin_prefetch(upper + (map->tiling == G4_TILING_Y   ? G4_PIXEL_MAP_COLUMN
                                    : map->tiling == G4_TILING_X ? G4_TILE_X_WIDTH
                                                                 : map->pitch));
    }
}

static inline bool g4_pixel_map_subspan(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y,
                                        uint8_t **row) {
    return g4_pixel_map_rows(map, port, x, y, 2, row);
}

/* True if four subspans are side by side, as in most threads of a large object. */
static inline bool g4_pixel_map_side_by_side(const uint16_t x[4], const uint16_t y[4]) {
    /* One by one: a load of all four would wait until the stores of each are in the cache. */
    return x[0] < UINT16_MAX - 6 && x[1] == x[0] + 2 && x[2] == x[0] + 4 && x[3] == x[0] + 6 && y[1] == y[0] &&
           y[2] == y[0] && y[3] == y[0];
}

/* The same, all four at once, for subspans that were stored long before. */
static inline bool g4_pixel_map_is_row(const uint16_t x[4], const uint16_t y[4]) {
    const uint64_t all = UINT64_C(0x0001000100010001);
    uint64_t columns;
    uint64_t rows;

    memcpy(&columns, x, sizeof columns);
    memcpy(&rows, y, sizeof rows);
    return x[0] < UINT16_MAX - 6 && columns == x[0] * all + UINT64_C(0x0006000400020000) && rows == y[0] * all;
}

/* Finds the rows of four subspans side by side.  False: they are not contiguous. */
static inline bool g4_pixel_map_four(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y,
                                     uint8_t **row) {
    const uint32_t pair = 2 * map->bytes;
    if (!g4_pixel_map_rows(map, port, x, y, 8, row)) {
        return false;
    }
    /* A Y tile has columns of 16 bytes and 32 rows. */
    const uint32_t within = map->tiling == G4_TILING_Y ? (map->x0 + x + map->dx) * map->bytes % G4_PIXEL_MAP_COLUMN : 0;
    uint8_t *const upper = row[0] - within;
    const ptrdiff_t below = row[1] - row[0];
    for (uint32_t s = 1; s < 4; s++) {
        const uint32_t at = within + s * pair;
        row[2 * s] =
            upper +
            (map->tiling == G4_TILING_Y ? at / G4_PIXEL_MAP_COLUMN * G4_PIXEL_MAP_NEXT + at % G4_PIXEL_MAP_COLUMN : at);
        row[2 * s + 1] = row[2 * s] + below;
    }
    return true;
}

/* Makes four subspans accessible; `live` has four bits for each. */
static inline void g4_pixel_map_open(struct g4_pixel_map *map, struct g4_port *port, const uint16_t x[4],
                                     const uint16_t y[4], uint32_t live, struct g4_subspan_rows *rows) {
    rows->staged = 0;
    if ((live & 15) && g4_pixel_map_side_by_side(x, y) && g4_pixel_map_four(map, port, x[0], y[0], rows->row)) {
        rows->inside = 0xffff;
        return;
    }
    rows->inside = 0;
    for (uint32_t s = 0; s < G4_PIXEL_MAP_SUBSPANS; s++) {
        if ((live >> (4 * s) & 15) == 0) {
            rows->row[2 * s] = rows->stage[2 * s];
            rows->row[2 * s + 1] = rows->stage[2 * s + 1];
        } else if (__builtin_expect(g4_pixel_map_subspan(map, port, x[s], y[s], &rows->row[2 * s]), 1)) {
            rows->inside |= 15u << (4 * s);
        } else {
            g4_pixel_map_stage(map, port, x[s], y[s], s, live >> (4 * s) & 15, rows);
        }
    }
}

/* Writes the live pixels of copies back to memory. */
static inline void g4_pixel_map_close(const struct g4_pixel_map *map, struct g4_port *port, const uint16_t x[4],
                                      const uint16_t y[4], uint32_t live, const struct g4_subspan_rows *rows) {
    if (__builtin_expect(rows->staged != 0, 0)) {
        g4_pixel_map_unstage(map, port, x, y, live, rows);
    }
}

#endif
