#include "color/pixel_rows.h"

void g4_pixel_map_set(struct g4_pixel_map *map, const struct g4_image *image, bool writes) {
    const uint32_t pair = 2 * image->bytes;
    bool aligned = false;

    memset(map, 0, sizeof *map);
    memset(map->page, 0xff, sizeof map->page); /* no page has that number */
    map->present = true;
    map->writes = writes;
    map->tiling = image->tiling;
    map->base = image->base;
    map->pitch = image->pitch;
    map->bytes = image->bytes;
    map->stride = image->bytes;
    map->x0 = image->x0;
    map->y0 = image->y0;
    map->width = image->width;
    map->height = image->height;
    if (image->tiling == G4_TILING_LINEAR) {
        aligned = image->base % pair == 0 && image->pitch % pair == 0;
    } else {
        aligned = image->tiling != G4_TILING_W && image->base % G4_PAGE_SIZE == 0 &&
                  image->pitch % g4_tile_width(image->tiling) == 0;
    }
    /* A row of a Y tile is split into pieces of 16 bytes. */
    const bool even = (image->x0 | image->y0) % 2 == 0 && image->width >= 2 && image->height >= 2;
    map->fast =
        aligned && even && (pair & (pair - 1)) == 0 && (pair <= G4_PIXEL_MAP_COLUMN || image->tiling != G4_TILING_Y);
    map->columns = aligned && even && image->bytes == G4_PIXEL_MAP_COLUMN && image->tiling == G4_TILING_Y;
}

uint8_t *g4_pixel_map_find_page(struct g4_pixel_map *map, struct g4_port *port, g4_address address) {
    /* A map that only reads never stores through the pointer. */
    uint8_t *const host = map->writes ? g4_mem_write_ptr(port, address) : (uint8_t *)g4_mem_read_ptr(port, address);
    if (!host) {
        return NULL;
    }
    uint8_t *const start = host - (address & G4_PAGE_OFFSET);
    if (start != g4_zero_page) { /* a write may replace the zero page later */
        const uint64_t page = address >> G4_PAGE_SHIFT;
        map->page[g4_pixel_map_slot(page)] = page;
        map->host[g4_pixel_map_slot(page)] = start;
    }
    return host;
}

enum {
    TILE_SIZE = 32 /* pixels, across and down */
};

/* The host address of a byte whose page may be accessed as the map says; NULL: it may not, and nothing is reported. */
static uint8_t *accessible(struct g4_pixel_map *map, struct g4_port *port, g4_address address) {
    const uint64_t page = address >> G4_PAGE_SHIFT;
    if (map->page[g4_pixel_map_slot(page)] == page) {
        return map->host[g4_pixel_map_slot(page)] + (address & G4_PAGE_OFFSET);
    }
    const unsigned flags = atomic_load_explicit(&g4_mem_page(port->mem, address)->flags, memory_order_relaxed);
    if (!g4_mem_ptr(port->mem, address) || (map->writes && (flags & G4_PAGE_READ_ONLY))) {
        return NULL;
    }
    return g4_pixel_map_find_page(map, port, address);
}

uint8_t *g4_pixel_map_page(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y) {
    const uint32_t sx = x + map->dx;
    const uint32_t sy = y + map->dy;
    if (!map->fast || map->tiling != G4_TILING_Y || map->bytes != 4 || map->line_shift || sx >= map->width ||
        sy >= map->height || (map->x0 + sx) % TILE_SIZE || (map->y0 + sy) % TILE_SIZE) {
        return NULL;
    }
    return accessible(map, port, g4_pixel_map_address(map, (map->x0 + sx) * map->bytes, map->y0 + sy));
}

uint8_t *g4_pixel_map_quarter(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y) {
    if (map->tiling != G4_TILING_W || map->base % G4_PAGE_SIZE || x >= map->width || y >= map->height ||
        (map->x0 + x) % TILE_SIZE || (map->y0 + y) % TILE_SIZE) {
        return NULL;
    }
    return accessible(map, port, g4_pixel_map_address(map, map->x0 + x, map->y0 + y));
}

uint8_t *g4_pixel_map_columns(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y) {
    const uint32_t sx = x + map->dx;
    const uint32_t sy = y + map->dy;
    if (!map->columns || map->line_shift || ((sx | sy) & 1) || sx > map->width - 2 || sy > map->height - 2) {
        return NULL;
    }
    return accessible(map, port, g4_pixel_map_address(map, (map->x0 + sx) * map->bytes, map->y0 + sy));
}

/* Computes the address of pixel p of a subspan.  False: it is outside the surface. */
static bool pixel_address(const struct g4_pixel_map *map, uint32_t x, uint32_t y, uint32_t p, g4_address *address) {
    const uint32_t sx = ((x + (p & 1)) & 0xffff) + map->dx;
    const uint32_t sy = ((y + (p >> 1)) & 0xffff) + map->dy;
    if (!map->present || sx >= map->width || sy >= map->height) {
        return false;
    }
    const uint32_t line = ((map->y0 + sy) << map->line_shift) + map->line_offset;
    *address = map->base + (uint32_t)g4_surface_offset(map->tiling, map->pitch, (map->x0 + sx) * map->stride, line);
    return true;
}

bool g4_pixel_map_is_mapped(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y) {
    g4_address address;
    return pixel_address(map, x, y, 0, &address) && accessible(map, port, address);
}

bool g4_pixel_map_may_write(const struct g4_pixel_map *map, struct g4_mem *mem, uint32_t x, uint32_t y) {
    g4_address address;
    return pixel_address(map, x, y, 0, &address) && g4_mem_may_write(mem, address);
}

void g4_pixel_map_stage(const struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y, uint32_t subspan,
                        uint32_t live, struct g4_subspan_rows *rows) {
    uint8_t *const stage = rows->stage[2 * subspan];

    memset(stage, 0, 2 * sizeof rows->stage[0]);
    rows->staged |= 1u << subspan;
    for (uint32_t p = 0; p < 4; p++) {
        g4_address address;
        uint8_t *const pixel = rows->stage[2 * subspan + (p >> 1)] + (p & 1) * map->bytes;
        if ((live >> p & 1) && pixel_address(map, x, y, p, &address)) {
            rows->inside |= 1u << (4 * subspan + p);
            (void)g4_mem_read(port, address, pixel, map->bytes); /* missing memory reads as 0 and is in the log */
        }
    }
    rows->row[2 * subspan] = rows->stage[2 * subspan];
    rows->row[2 * subspan + 1] = rows->stage[2 * subspan + 1];
}

void g4_pixel_map_unstage(const struct g4_pixel_map *map, struct g4_port *port, const uint16_t x[4],
                          const uint16_t y[4], uint32_t live, const struct g4_subspan_rows *rows) {
    for (uint32_t bit = 0; bit < 4 * G4_PIXEL_MAP_SUBSPANS; bit++) {
        const uint32_t s = bit / 4;
        const uint32_t p = bit % 4;
        g4_address address;
        if ((rows->staged >> s & 1) && (live >> bit & 1) && pixel_address(map, x[s], y[s], p, &address)) {
            (void)g4_mem_write(port, address, rows->stage[2 * s + (p >> 1)] + (p & 1) * map->bytes, map->bytes);
        }
    }
}
