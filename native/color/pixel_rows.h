/*
 * Where the pixels of a render target or depth buffer lie in memory, four subspans of a thread at a time (spec/30 3.10,
 * spec/50 3.8).
 *
 * The usual subspan has its two rows of two pixels at two host addresses, good to read and write as a whole.  Every
 * other one (at the surface's edge, at odd coordinates, across pages, unmapped) is worked on in a copy.
 */
#ifndef G4_CC_VIEW_H
#define G4_CC_VIEW_H

#include "core/surface.h"

enum {
    G4_VIEW_PAGES = 8,
    G4_VIEW_SUBSPANS = 4,
    G4_VIEW_COLUMN = 16, /* bytes, of a Y tile */
    G4_PIXEL_BYTES = 16, /* of the largest format */
    G4_CACHE_LINE = 64,  /* of the host, as most are */
};

struct g4_view {
    bool present; /* false: nothing is read, writes go nowhere */
    bool writes;  /* false: only looked at */
    bool fast;    /* aligned so that the two pixels of a row never part */
    enum g4_tiling tiling;
    uint32_t base, pitch;
    uint32_t bytes, stride;           /* of a pixel; from pixel to pixel */
    uint32_t dx, dy;                  /* added to pixel coordinates, modulo 2^32 */
    uint32_t x0, y0;                  /* of the image inside the surface */
    uint32_t width, height;           /* pixels */
    uint32_t line_shift, line_offset; /* vertical line stride */
    /* The host addresses of the pages used last.  The map does not change during a draw. */
    uint32_t page[G4_VIEW_PAGES];
    uint8_t *host[G4_VIEW_PAGES];
};

/* The rows of four subspans: row[2 * s + r] has two pixels. */
struct g4_rows {
    uint8_t *row[2 * G4_VIEW_SUBSPANS];
    uint32_t inside; /* pixels that the surface has: bit 4 * s + p */
    uint32_t staged; /* subspans that are copies: bit s */
    uint8_t stage[2 * G4_VIEW_SUBSPANS][2 * G4_PIXEL_BYTES];
};

/* Fill in a view of an image; the page cache is emptied. */
void g4_view_set(struct g4_view *view, const struct g4_image *image, bool writes);

uint8_t *g4_view_find_page(struct g4_view *view, struct g4_port *port, uint32_t address);
void g4_view_stage(const struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint32_t subspan,
                   uint32_t live, struct g4_rows *rows);
void g4_view_unstage(const struct g4_view *view, struct g4_port *port, const uint16_t x[4], const uint16_t y[4],
                     uint32_t live, const struct g4_rows *rows);

static inline uint32_t g4_view_slot(uint32_t page) {
    return (page ^ page >> 3 ^ page >> 6) % G4_VIEW_PAGES;
}

/* The host address of a byte, good to the end of its page; NULL when it has none. */
static inline uint8_t *g4_view_host(struct g4_view *view, struct g4_port *port, uint32_t address) {
    const uint32_t page = address >> G4_PAGE_SHIFT;
    const uint32_t slot = g4_view_slot(page);
    if (__builtin_expect(view->page[slot] == page, 1)) {
        return view->host[slot] + (address & G4_PAGE_OFFSET);
    }
    return g4_view_find_page(view, port, address);
}

static inline uint32_t g4_view_address(const struct g4_view *view, uint32_t x_bytes, uint32_t line) {
    return view->base + (uint32_t)g4_surface_offset(view->tiling, view->pitch, x_bytes, line);
}

/* The rows of `pixels` pixels, an even number, from ordinary coordinates on; false when they do not follow each other.
 */
static inline bool g4_view_rows(struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint32_t pixels,
                                uint8_t *row[2]) {
    const uint32_t sx = x + view->dx;
    const uint32_t sy = y + view->dy;
    /* `fast` says that there are at least two rows of two pixels */
    if (!view->fast || ((x | y) & 1) || view->width < pixels || sx > view->width - pixels || sy > view->height - 2) {
        return false;
    }
    const uint32_t xb = (view->x0 + sx) * view->bytes;
    const uint32_t line = ((view->y0 + sy) << view->line_shift) + view->line_offset;
    const uint32_t address = g4_view_address(view, xb, line);
    const uint32_t bytes = pixels * view->bytes;

    row[0] = g4_view_host(view, port, address);
    if (view->tiling == G4_TILING_LINEAR || view->line_shift) {
        const uint32_t below = g4_view_address(view, xb, line + (1u << view->line_shift));
        row[1] = g4_view_host(view, port, below);
        if (view->tiling == G4_TILING_LINEAR &&
            ((address & G4_PAGE_OFFSET) + bytes > G4_PAGE_SIZE || (below & G4_PAGE_OFFSET) + bytes > G4_PAGE_SIZE)) {
            return false;
        }
    } else {
        if (!row[0]) {
            return false;
        }
        row[1] = row[0] + (view->tiling == G4_TILING_Y ? G4_VIEW_COLUMN : G4_TILE_X_WIDTH);
    }
    if (view->tiling != G4_TILING_LINEAR) {
        const uint32_t width = g4_tile_width(view->tiling);
        if ((xb & (width - 1)) + bytes > width) {
            return false;
        }
    }
    return row[0] && row[1];
}

/* Ask for the cache lines of rows that start here, if their page was used lately.  Inline: GCC 12 thinks that a call of
 * it does nothing. */
static inline __attribute__((always_inline)) void g4_view_prefetch(const struct g4_view *view, uint32_t x, uint32_t y) {
    const uint32_t xb = (view->x0 + x + view->dx) * view->bytes;
    const uint32_t line = ((view->y0 + y + view->dy) << view->line_shift) + view->line_offset;
    if (view->tiling != G4_TILING_Y && xb % G4_CACHE_LINE) {
        return; /* what is left of it asks for that */
    }
    const uint32_t address = g4_view_address(view, xb, line);
    const uint32_t page = address >> G4_PAGE_SHIFT;
    const uint32_t slot = g4_view_slot(page);
    if (view->page[slot] == page) {
        const uint8_t *const upper = view->host[slot] + (address & G4_PAGE_OFFSET);
        __builtin_prefetch(upper);
        __builtin_prefetch(upper + (view->tiling == G4_TILING_Y   ? G4_VIEW_COLUMN
                                    : view->tiling == G4_TILING_X ? G4_TILE_X_WIDTH
                                                                  : view->pitch));
    }
}

static inline bool g4_view_subspan(struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint8_t **row) {
    return g4_view_rows(view, port, x, y, 2, row);
}

/* Four subspans side by side: the usual thread of a large object. */
static inline bool g4_view_side_by_side(const uint16_t x[4], const uint16_t y[4]) {
    const uint64_t each = UINT64_C(0x0001000100010001);
    uint64_t xs, ys;
    memcpy(&xs, x, sizeof xs);
    memcpy(&ys, y, sizeof ys);
    return x[0] < UINT16_MAX - 6 && xs == x[0] * each + UINT64_C(0x0006000400020000) && ys == y[0] * each;
}

/* Their rows, when they are in one piece; else false. */
static inline bool g4_view_four(struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint8_t **row) {
    const uint32_t pair = 2 * view->bytes;
    if (!g4_view_rows(view, port, x, y, 8, row)) {
        return false;
    }
    /* A Y tile has columns of 16 bytes and 32 rows. */
    const uint32_t within = view->tiling == G4_TILING_Y ? (view->x0 + x + view->dx) * view->bytes % G4_VIEW_COLUMN : 0;
    uint8_t *const upper = row[0] - within;
    const ptrdiff_t below = row[1] - row[0];
    for (uint32_t s = 1; s < 4; s++) {
        const uint32_t at = within + s * pair;
        row[2 * s] = upper + (view->tiling == G4_TILING_Y ? at / G4_VIEW_COLUMN * 512 + at % G4_VIEW_COLUMN : at);
        row[2 * s + 1] = row[2 * s] + below;
    }
    return true;
}

/* Make four subspans ready; `live` has four bits for each. */
static inline void g4_view_open(struct g4_view *view, struct g4_port *port, const uint16_t x[4], const uint16_t y[4],
                                uint32_t live, struct g4_rows *rows) {
    rows->staged = 0;
    if ((live & 15) && g4_view_side_by_side(x, y) && g4_view_four(view, port, x[0], y[0], rows->row)) {
        rows->inside = 0xffff;
        return;
    }
    rows->inside = 0;
    for (uint32_t s = 0; s < G4_VIEW_SUBSPANS; s++) {
        if ((live >> (4 * s) & 15) == 0) {
            rows->row[2 * s] = rows->stage[2 * s];
            rows->row[2 * s + 1] = rows->stage[2 * s + 1];
        } else if (__builtin_expect(g4_view_subspan(view, port, x[s], y[s], &rows->row[2 * s]), 1)) {
            rows->inside |= 15u << (4 * s);
        } else {
            g4_view_stage(view, port, x[s], y[s], s, live >> (4 * s) & 15, rows);
        }
    }
}

/* After rows were changed: bring the live pixels of copies back. */
static inline void g4_view_close(const struct g4_view *view, struct g4_port *port, const uint16_t x[4],
                                 const uint16_t y[4], uint32_t live, const struct g4_rows *rows) {
    if (__builtin_expect(rows->staged != 0, 0)) {
        g4_view_unstage(view, port, x, y, live, rows);
    }
}

#endif
