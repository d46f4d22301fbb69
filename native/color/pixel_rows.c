#include "color/pixel_rows.h"

void g4_view_set(struct g4_view *view, const struct g4_image *image, bool writes) {
    const uint32_t pair = 2 * image->bytes;
    bool aligned = false;

    memset(view, 0, sizeof *view);
    memset(view->page, 0xff, sizeof view->page); /* no page has that number */
    view->present = true;
    view->writes = writes;
    view->tiling = image->tiling;
    view->base = image->base;
    view->pitch = image->pitch;
    view->bytes = image->bytes;
    view->stride = image->bytes;
    view->x0 = image->x0;
    view->y0 = image->y0;
    view->width = image->width;
    view->height = image->height;
    if (image->tiling == G4_TILING_LINEAR) {
        aligned = image->base % pair == 0 && image->pitch % pair == 0;
    } else {
        aligned = image->base % G4_PAGE_SIZE == 0 && image->pitch % g4_tile_width(image->tiling) == 0;
    }
    /* A row of a Y tile is in pieces of 16 bytes. */
    view->fast = aligned && (image->x0 | image->y0) % 2 == 0 && image->width >= 2 && image->height >= 2 &&
                 (pair & (pair - 1)) == 0 && (pair <= 16 || image->tiling != G4_TILING_Y);
}

uint8_t *g4_view_find_page(struct g4_view *view, struct g4_port *port, uint32_t address) {
    /* A view that only reads never stores through the pointer. */
    uint8_t *const host = view->writes ? g4_mem_write_ptr(port, address) : (uint8_t *)g4_mem_read_ptr(port, address);
    if (!host) {
        return NULL;
    }
    uint8_t *const start = host - (address & G4_PAGE_OFFSET);
    if (start != g4_zero_page) { /* somebody may write the page yet */
        const uint32_t page = address >> G4_PAGE_SHIFT;
        view->page[g4_view_slot(page)] = page;
        view->host[g4_view_slot(page)] = start;
    }
    return host;
}

/* Where pixel p of a subspan lies; false outside of the surface. */
static bool pixel_address(const struct g4_view *view, uint32_t x, uint32_t y, uint32_t p, uint32_t *address) {
    const uint32_t sx = ((x + (p & 1)) & 0xffff) + view->dx;
    const uint32_t sy = ((y + (p >> 1)) & 0xffff) + view->dy;
    if (!view->present || sx >= view->width || sy >= view->height) {
        return false;
    }
    const uint32_t line = ((view->y0 + sy) << view->line_shift) + view->line_offset;
    *address =
        view->base + (uint32_t)g4_surface_offset(view->tiling, view->pitch, (view->x0 + sx) * view->stride, line);
    return true;
}

void g4_view_stage(const struct g4_view *view, struct g4_port *port, uint32_t x, uint32_t y, uint32_t subspan,
                   uint32_t live, struct g4_rows *rows) {
    uint8_t *const stage = rows->stage[2 * subspan];

    memset(stage, 0, 2 * sizeof rows->stage[0]);
    rows->staged |= 1u << subspan;
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t address;
        uint8_t *const pixel = rows->stage[2 * subspan + (p >> 1)] + (p & 1) * view->bytes;
        if ((live >> p & 1) && pixel_address(view, x, y, p, &address)) {
            rows->inside |= 1u << (4 * subspan + p);
            (void)g4_mem_read(port, address, pixel, view->bytes); /* missing memory is in the log and reads as 0 */
        }
    }
    rows->row[2 * subspan] = rows->stage[2 * subspan];
    rows->row[2 * subspan + 1] = rows->stage[2 * subspan + 1];
}

void g4_view_unstage(const struct g4_view *view, struct g4_port *port, const uint16_t x[4], const uint16_t y[4],
                     uint32_t live, const struct g4_rows *rows) {
    for (uint32_t bit = 0; bit < 4 * G4_VIEW_SUBSPANS; bit++) {
        const uint32_t s = bit / 4;
        const uint32_t p = bit % 4;
        uint32_t address;
        if ((rows->staged >> s & 1) && (live >> bit & 1) && pixel_address(view, x[s], y[s], p, &address)) {
            (void)g4_mem_write(port, address, rows->stage[2 * s + (p >> 1)] + (p & 1) * view->bytes, view->bytes);
        }
    }
}
