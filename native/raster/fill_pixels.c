#include "raster/fill_pixels.h"

#include <string.h>

struct g4_pixel_pattern g4_fill_repeat(const void *pixel, uint32_t bytes) {
    struct g4_pixel_pattern pattern;
    if (bytes == 4) { /* most are */
        uint32_t v;
        memcpy(&v, pixel, sizeof v);
        pattern.word[0] = pattern.word[1] = v | (uint64_t)v << 32;
        return pattern;
    }
    for (uint32_t at = 0; at < sizeof pattern; at += bytes) {
        memcpy((uint8_t *)&pattern + at, pixel, bytes);
    }
    return pattern;
}

struct g4_fill g4_fill_of(const struct g4_cc *cc, uint32_t bytes, const struct g4_pixel_pattern *value,
                          const struct g4_pixel_pattern *keep) {
    struct g4_fill fill = {.ops = cc->fill_ops, .bytes = bytes, .value = *value, .keep = *keep};
    for (uint32_t i = 0; i < G4_PIXEL_BYTES / 8; i++) {
        fill.value.word[i] &= ~keep->word[i];
    }
    return fill;
}

static void fill_memory(const struct g4_fill *fill, const struct g4_filled_rows *rows) {
    fill->ops->rows(rows, &fill->value, &fill->keep);
}

/* `bytes` is a multiple of two pixels. */
static void fill_row(const struct g4_fill *fill, uint8_t *row, uint32_t bytes) {
    fill_memory(fill, &(struct g4_filled_rows){.first = row, .count = 1, .bytes = bytes});
}

/* ---- subspans ---- */

static void fill_pixel(const struct g4_fill *fill, uint8_t *pixel) {
    for (uint32_t i = 0; i < fill->bytes; i++) {
        pixel[i] = (uint8_t)((pixel[i] & ((const uint8_t *)&fill->keep)[i]) | ((const uint8_t *)&fill->value)[i]);
    }
}

/* The pixels of a row are `distance` bytes apart. */
static void fill_pixels(const struct g4_fill *fill, uint8_t *const row[2], uint32_t distance, uint32_t lit) {
    for (uint32_t p = 0; p < 4; p++) {
        if (lit >> p & 1) {
            fill_pixel(fill, row[p >> 1] + (size_t)(p & 1) * distance);
        }
    }
}

/* A subspan anywhere; `lit` is as in g4_rows_subspan(). */
static void fill_subspan(const struct g4_fill *fill, struct g4_pixel_map *map, struct g4_port *port, uint32_t at_x,
                         uint32_t at_y, uint32_t lit) {
    const uint16_t x[4] = {(uint16_t)at_x};
    const uint16_t y[4] = {(uint16_t)at_y};
    struct g4_subspan_rows rows;
    uint8_t *const first = g4_pixel_map_columns(map, port, at_x, at_y);
    if (first) {
        fill_pixels(fill, (uint8_t *const[2]){first, first + G4_PIXEL_MAP_COLUMN}, G4_PIXEL_MAP_NEXT, lit);
        return;
    }
    g4_pixel_map_open(map, port, x, y, lit, &rows);
    fill_pixels(fill, rows.row, fill->bytes, lit & rows.inside);
    g4_pixel_map_close(map, port, x, y, lit & rows.inside, &rows);
}

/* The number of pixels from column x on that are contiguous in memory, at most `most`. */
static uint32_t in_one_piece(const struct g4_pixel_map *map, uint32_t x, uint32_t most) {
    if (map->tiling != G4_TILING_Y) {
        return most;
    }
    const uint32_t left =
        (G4_PIXEL_MAP_COLUMN - (map->x0 + x + map->dx) * map->bytes % G4_PIXEL_MAP_COLUMN) / map->bytes;
    return left < most ? left : most;
}

/* Subspans side by side, with all pixels lit. */
static void fill_run(const struct g4_fill *fill, struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y,
                     uint32_t subspans) {
    for (uint32_t done = 0; done < subspans;) {
        uint8_t *row[2];
        const uint32_t left = x + 2 * done;
        const uint32_t pixels = in_one_piece(map, left, 2 * (subspans - done));
        if (pixels >= 2 && g4_pixel_map_rows(map, port, left, y, pixels, row)) {
            fill_row(fill, row[0], pixels * fill->bytes);
            fill_row(fill, row[1], pixels * fill->bytes);
            done += pixels / 2;
        } else {
            fill_subspan(fill, map, port, left, y, 15);
            done++;
        }
    }
}

/* The number of adjacent, completely lit subspans from the lowest bit of two rows on. */
static uint32_t run_length(uint32_t upper, uint32_t lower) {
    const uint32_t dark = ~(upper & lower);
    return dark ? (uint32_t)__builtin_ctz(dark) / 2 : G4_TILE_SIZE / 2;
}

/* Any pixels. */
static void fill_anywhere(const struct g4_fill *fill, const struct g4_coverage *coverage, struct g4_pixel_map *map,
                          struct g4_port *port) {
    for (int32_t j = coverage->first & ~1; j <= coverage->last; j += 2) {
        const uint32_t upper = g4_coverage_row(coverage, j);
        const uint32_t lower = g4_coverage_row(coverage, j + 1);
        const uint32_t y = (uint32_t)(coverage->y + j);
        for (uint32_t i = 0; i < G4_TILE_SIZE;) {
            const uint32_t x = (uint32_t)coverage->x + i;
            const uint32_t run = run_length(upper >> i, lower >> i);
            const uint32_t lit = g4_rows_subspan(upper, lower, i);
            if (run) {
                fill_run(fill, map, port, x, y, run);
            } else if (lit) {
                fill_subspan(fill, map, port, x, y, lit);
            }
            i += run ? 2 * run : 2;
        }
    }
}

/* ---- whole rows ---- */

/* The pixels of the first row of a column in a Y tile; NULL: they are not directly accessible.  `y` is even. */
static uint8_t *top_of_column(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y, uint32_t pixels) {
    uint8_t *row[2];
    if (map->columns) {
        uint8_t *const pair = g4_pixel_map_columns(map, port, x & ~1u, y);
        return pair ? pair + (size_t)(x & 1) * G4_PIXEL_MAP_NEXT : NULL;
    }
    return g4_pixel_map_rows(map, port, x, y, pixels, row) ? row[0] : NULL;
}

/* Fill rows in a Y tile: columns of 16 bytes, whose rows are contiguous. */
static bool fill_columns(const struct g4_tile_rows *rows, const struct g4_fill *fill, struct g4_pixel_map *map,
                         struct g4_port *port) {
    const uint32_t pixels = G4_PIXEL_MAP_COLUMN / map->bytes;
    const uint32_t sx = rows->x + map->dx;
    const uint32_t sy = rows->y + map->dy;

    if (map->line_shift || (map->x0 + sx) % pixels || (map->y0 + sy) % G4_TILE_SIZE + rows->count > G4_TILE_SIZE ||
        map->height < rows->count || sy > map->height - rows->count) {
        return false;
    }
    for (uint32_t x = 0; x < G4_TILE_SIZE; x += pixels) {
        uint8_t *const column = top_of_column(map, port, rows->x + x, rows->y, pixels);
        if (!column) {
            return false;
        }
        fill_row(fill, column, rows->count * G4_PIXEL_MAP_COLUMN);
    }
    return true;
}

/* The number of rows of an X tile from the row of a pixel on, at most `most`. */
static uint32_t rows_of_tile(const struct g4_pixel_map *map, uint32_t y, uint32_t most) {
    const uint32_t left = G4_TILE_X_HEIGHT - (map->y0 + y + map->dy) % G4_TILE_X_HEIGHT;
    return left < most ? left : most;
}

static void fill_pieces(const struct g4_row_memory *memory, const struct g4_fill *fill) {
    for (uint32_t i = 0; i < memory->pieces; i++) {
        fill_memory(fill, &memory->piece[i]);
    }
}

/* Find `pixels` of rows in X tiles, each of which is a page.  False: they are not directly accessible; nothing is
 * reported. */
static bool find_in_x_tiles(const struct g4_tile_rows *rows, uint32_t pixels, struct g4_pixel_map *map,
                            struct g4_port *port, struct g4_row_memory *memory) {
    uint32_t pieces = 0;

    memory->pieces = 0;
    if (map->line_shift || map->height < rows->count || rows->y + map->dy > map->height - rows->count) {
        return false;
    }
    for (uint32_t y = 0; y < rows->count;) {
        const uint32_t count = rows_of_tile(map, rows->y + y, rows->count - y);
        uint8_t *row[2];
        if (!g4_pixel_map_is_mapped(map, port, rows->x, rows->y + y) ||
            !g4_pixel_map_rows(map, port, rows->x, rows->y + y, pixels, row)) {
            return false;
        }
        memory->piece[pieces++] = (struct g4_filled_rows){row[0], count, pixels * map->bytes, G4_TILE_X_WIDTH};
        y += count;
    }
    memory->pieces = pieces;
    return true;
}

static bool fill_x_tiles(const struct g4_tile_rows *rows, const struct g4_fill *fill, struct g4_pixel_map *map,
                         struct g4_port *port) {
    struct g4_row_memory memory;
    const bool found = find_in_x_tiles(rows, G4_TILE_SIZE, map, port, &memory);
    fill_pieces(&memory, fill);
    return found;
}

/* Fill rows in a linear surface. */
static bool fill_lines(const struct g4_tile_rows *rows, const struct g4_fill *fill, struct g4_pixel_map *map,
                       struct g4_port *port) {
    for (uint32_t y = 0; y < rows->count; y += 2) {
        uint8_t *row[2];
        if (!g4_pixel_map_rows(map, port, rows->x, rows->y + y, G4_TILE_SIZE, row)) {
            return false;
        }
        fill_row(fill, row[0], G4_TILE_SIZE * fill->bytes);
        fill_row(fill, row[1], G4_TILE_SIZE * fill->bytes);
    }
    return true;
}

/* Whether all pixels of the rows are inside an image. */
static bool are_inside(const struct g4_tile_rows *rows, const struct g4_pixel_map *map) {
    const uint32_t sx = rows->x + map->dx;
    const uint32_t sy = rows->y + map->dy;
    return map->width >= G4_TILE_SIZE && sx <= map->width - G4_TILE_SIZE && map->height >= rows->count &&
           sy <= map->height - rows->count;
}

/* The memory of a tile that is a page; NULL: it is none, or not directly accessible. */
static uint8_t *page_of(const struct g4_tile_rows *tile, struct g4_pixel_map *map, struct g4_port *port) {
    return tile->count == G4_TILE_SIZE && are_inside(tile, map) ? g4_pixel_map_page(map, port, tile->x, tile->y) : NULL;
}

bool g4_fill_rows(const struct g4_fill *fill, const struct g4_tile_rows *rows, struct g4_pixel_map *map,
                  struct g4_port *port) {
    uint8_t *const page = page_of(rows, map, port);
    if (page) {
        fill_row(fill, page, G4_PAGE_SIZE);
        return true;
    }
    switch (map->tiling) {
    case G4_TILING_Y:
        return fill_columns(rows, fill, map, port);
    case G4_TILING_X:
        return fill_x_tiles(rows, fill, map, port) || fill_lines(rows, fill, map, port);
    default:
        return fill_lines(rows, fill, map, port);
    }
}

bool g4_fill_are_mapped(const struct g4_tile_rows *rows, struct g4_pixel_map *map, struct g4_port *port) {
    const bool linear = map->tiling == G4_TILING_LINEAR;
    const uint32_t width = g4_tile_width(map->tiling);
    const uint32_t height = map->line_shift ? 1 : g4_tile_height(map->tiling);
    bool mapped = true;

    for (uint32_t y = 0; y < rows->count && mapped; y += height - (map->y0 + rows->y + y + map->dy) % height) {
        for (uint32_t x = 0; x < G4_TILE_SIZE && mapped;) {
            const uint32_t at = (map->x0 + rows->x + x + map->dx) * map->bytes;
            mapped = g4_pixel_map_is_mapped(map, port, rows->x + x, rows->y + y);
            x += linear ? G4_TILE_SIZE - 1 : (width - at % width) / map->bytes;
        }
    }
    return mapped;
}

bool g4_fill_find_tile(const struct g4_tile_rows *tile, struct g4_pixel_map *map, struct g4_port *port,
                       struct g4_row_memory *memory) {
    memory->pieces = 0;
    if (!(map->fast || map->columns) || !are_inside(tile, map)) {
        return false;
    }
    uint8_t *const page = g4_pixel_map_page(map, port, tile->x, tile->y);
    if (page) {
        memory->piece[0] = (struct g4_filled_rows){.first = page, .count = 1, .bytes = G4_PAGE_SIZE};
        memory->pieces = 1;
        return true;
    }
    return (map->tiling == G4_TILING_X && find_in_x_tiles(tile, G4_TILE_SIZE, map, port, memory)) ||
           g4_fill_are_mapped(tile, map, port);
}

bool g4_fill_found_tile(const struct g4_fill *fill, const struct g4_tile_rows *tile, const struct g4_row_memory *memory,
                        struct g4_pixel_map *map, struct g4_port *port) {
    fill_pieces(memory, fill);
    return memory->pieces || g4_fill_rows(fill, tile, map, port);
}

/* ---- a coverage ---- */

/* The columns that have lit pixels. */
static uint32_t lit_columns(const struct g4_coverage *coverage) {
    uint32_t any = 0;
    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        any |= coverage->row[j];
    }
    return any;
}

/* Fill pixels of a tile that is a page.  False: it is none, or pixels are outside of the image. */
static bool fill_page(const struct g4_fill *fill, const struct g4_coverage *coverage, uint32_t columns,
                      struct g4_pixel_map *map, struct g4_port *port) {
    const uint32_t right = G4_TILE_SIZE - (uint32_t)__builtin_clz(columns);
    const uint32_t bottom = (uint32_t)coverage->last + 1;
    const uint32_t sx = (uint32_t)coverage->x + map->dx;
    const uint32_t sy = (uint32_t)coverage->y + map->dy;
    const bool inside = sx < map->width && sy < map->height && right <= map->width - sx && bottom <= map->height - sy;
    uint8_t *const page = inside ? g4_pixel_map_page(map, port, (uint32_t)coverage->x, (uint32_t)coverage->y) : NULL;

    if (page) {
        const struct g4_lit_rows rows = {
            .first = page + (size_t)coverage->first * G4_PIXEL_MAP_COLUMN,
            .lit = &coverage->row[coverage->first],
            .count = bottom - (uint32_t)coverage->first,
            .pitch = G4_PIXEL_MAP_COLUMN,
            .bytes = fill->bytes,
        };
        fill->ops->lit_columns(&rows, &fill->value, &fill->keep);
    }
    return page != NULL;
}

/* Fill pixels in X tiles.  False: they are not directly accessible. */
static bool fill_lit_in_x_tiles(const struct g4_fill *fill, const struct g4_coverage *coverage, uint32_t columns,
                                struct g4_pixel_map *map, struct g4_port *port) {
    const uint32_t left = (uint32_t)__builtin_ctz(columns) & ~1u;
    const uint32_t right = (G4_TILE_SIZE + 1 - (uint32_t)__builtin_clz(columns)) & ~1u;
    const int32_t first = coverage->first & ~1;
    const struct g4_tile_rows all = {(uint32_t)coverage->x + left, (uint32_t)(coverage->y + first),
                                     (uint32_t)(coverage->last - first + 2) & ~1u};
    struct g4_row_memory memory;
    uint32_t lit[G4_TILE_SIZE];
    uint32_t done = 0;

    if (map->tiling != G4_TILING_X || !find_in_x_tiles(&all, right - left, map, port, &memory)) {
        return false;
    }
    for (uint32_t j = 0; j < all.count; j++) {
        lit[j] = g4_coverage_row(coverage, first + (int32_t)j) >> left;
    }
    for (uint32_t i = 0; i < memory.pieces; i++) {
        const struct g4_filled_rows *const piece = &memory.piece[i];
        const struct g4_lit_rows rows = {piece->first, &lit[done], piece->count, piece->pitch, fill->bytes};
        fill->ops->lit_rows(&rows, &fill->value, &fill->keep);
        done += piece->count;
    }
    return true;
}

void g4_fill_coverage(const struct g4_fill *fill, const struct g4_coverage *coverage, struct g4_pixel_map *map,
                      struct g4_port *port) {
    const struct g4_tile_rows tile = {(uint32_t)coverage->x, (uint32_t)coverage->y, G4_TILE_SIZE};
    const uint32_t columns = lit_columns(coverage);
    const bool filled = columns == 0 || (g4_coverage_is_whole(coverage) && g4_fill_rows(fill, &tile, map, port)) ||
                        fill_page(fill, coverage, columns, map, port) ||
                        fill_lit_in_x_tiles(fill, coverage, columns, map, port);
    if (!filled) {
        fill_anywhere(fill, coverage, map, port);
    }
}

const uint8_t *g4_fill_first_pixel(const struct g4_coverage *coverage, struct g4_pixel_map *map, struct g4_port *port) {
    int32_t j = coverage->first;
    uint8_t *row[2];

    while (j <= coverage->last && coverage->row[j] == 0) {
        j++;
    }
    if (j > coverage->last) {
        return NULL;
    }
    const uint32_t i = (uint32_t)__builtin_ctz(coverage->row[j]);
    const uint32_t x = (uint32_t)coverage->x + (i & ~1u);
    const uint32_t y = (uint32_t)(coverage->y + (j & ~1));
    if (!g4_pixel_map_may_write(map, port->mem, x, y) || !g4_pixel_map_may_write(map, port->mem, x, y + 1)) {
        return NULL; /* threads report it */
    }
    if (map->columns) {
        const uint8_t *const pair = g4_pixel_map_columns(map, port, x, y);
        return pair ? pair + (size_t)(j & 1) * G4_PIXEL_MAP_COLUMN + (size_t)(i & 1) * G4_PIXEL_MAP_NEXT : NULL;
    }
    if (!g4_pixel_map_rows(map, port, x, y, 2, row)) {
        return NULL;
    }
    return row[j & 1] + (size_t)(i & 1) * map->bytes;
}
