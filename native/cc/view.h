/*
 * Where the pixels of a render target or depth buffer lie in memory, two subspans of a thread at a time (spec/30 3.10,
 * spec/50 3.8).
 *
 * The usual subspan has its two rows of two pixels at two host addresses, good to read and write as a whole.  Every
 * other one (at the surface's edge, at odd coordinates, across pages, unmapped) is worked on in a copy.
 */
#ifndef G4_CC_VIEW_H
#define G4_CC_VIEW_H

#include "../surface.h"

enum {
    G4_VIEW_PAGES = 8,
    G4_PIXEL_BYTES = 16 /* of the largest format */
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

/* The rows of two subspans: row[2 * s + r] has two pixels. */
struct g4_rows {
    uint8_t *row[4];
    uint32_t inside; /* pixels that the surface has: bit 4 * s + p */
    uint32_t staged; /* subspans that are copies: bit s */
    uint8_t stage[4][2 * G4_PIXEL_BYTES];
};

/* Fill in a view of an image; the page cache is emptied. */
void g4_view_set(struct g4_view *view, const struct g4_image *image, bool writes);

uint8_t *g4_view_find_page(struct g4_view *view, struct g4_port *port, uint32_t address);
void g4_view_stage(const struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint32_t subspan,
                   uint32_t live, struct g4_rows *rows);
void g4_view_unstage(const struct g4_view *view, struct g4_port *port, const uint16_t x[2], const uint16_t y[2],
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

/* The rows of an ordinary subspan, or false. */
static inline bool g4_view_subspan(struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint8_t **row) {
    const uint32_t sx = x + view->dx;
    const uint32_t sy = y + view->dy;
    /* `fast` says that there are at least two rows of two pixels */
    if (!view->fast || ((x | y) & 1) || sx > view->width - 2 || sy > view->height - 2) {
        return false;
    }
    const uint32_t xb = (view->x0 + sx) * view->bytes;
    const uint32_t line = ((view->y0 + sy) << view->line_shift) + view->line_offset;
    const uint32_t address = view->base + (uint32_t)g4_surface_offset(view->tiling, view->pitch, xb, line);

    row[0] = g4_view_host(view, port, address);
    if (view->tiling == G4_TILING_LINEAR || view->line_shift) {
        const uint32_t below = line + (1u << view->line_shift);
        row[1] =
            g4_view_host(view, port, view->base + (uint32_t)g4_surface_offset(view->tiling, view->pitch, xb, below));
        return row[0] && row[1];
    }
    row[1] = row[0] + (view->tiling == G4_TILING_Y ? 16 : G4_TILE_X_WIDTH);
    return row[0] != NULL;
}

/* The rows of the subspan to the right of an ordinary one, if they follow in memory. */
static inline bool g4_view_right(const struct g4_view *view, uint32_t x, uint8_t *const *row, uint8_t **right) {
    const uint32_t run = view->tiling == G4_TILING_X ? G4_TILE_X_WIDTH : view->tiling == G4_TILING_Y ? 16 : 0;
    const uint32_t pair = 2 * view->bytes;
    const uint32_t sx = x + view->dx;
    if (sx + 2 > view->width - 2 || (((view->x0 + sx) * view->bytes) & (run - 1)) + 2 * pair > run) {
        return false;
    }
    right[0] = row[0] + pair;
    right[1] = row[1] + pair;
    return true;
}

/* Make two subspans ready; `live` has four bits for each. */
static inline void g4_view_open(struct g4_view *view, struct g4_port *port, const uint16_t x[2], const uint16_t y[2],
                                uint32_t live, struct g4_rows *rows) {
    rows->inside = 0;
    rows->staged = 0;
    for (uint32_t s = 0; s < 2; s++) {
        if ((live >> (4 * s) & 15) == 0) {
            rows->row[2 * s] = rows->stage[2 * s];
            rows->row[2 * s + 1] = rows->stage[2 * s + 1];
        } else if (s == 1 && rows->inside == 15 && y[1] == y[0] && x[1] == x[0] + 2 &&
                   g4_view_right(view, x[0], &rows->row[0], &rows->row[2])) {
            rows->inside |= 15u << 4;
        } else if (__builtin_expect(g4_view_subspan(view, port, x[s], y[s], &rows->row[2 * s]), 1)) {
            rows->inside |= 15u << (4 * s);
        } else {
            g4_view_stage(view, port, x[s], y[s], s, live >> (4 * s) & 15, rows);
        }
    }
}

/* After rows were changed: bring the live pixels of copies back. */
static inline void g4_view_close(const struct g4_view *view, struct g4_port *port, const uint16_t x[2],
                                 const uint16_t y[2], uint32_t live, const struct g4_rows *rows) {
    if (__builtin_expect(rows->staged != 0, 0)) {
        g4_view_unstage(view, port, x, y, live, rows);
    }
}

#endif
