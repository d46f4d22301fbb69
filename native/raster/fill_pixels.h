/*
 * Gives pixels of a tile of the windower the same bits, where they are in memory.
 */
#ifndef G4_FILL_PIXELS_H
#define G4_FILL_PIXELS_H

#include "color/state.h"
#include "geometry/coverage.h"

/* The value of all pixels. */
struct g4_fill {
    const struct g4_fill_ops *ops;
    uint32_t bytes; /* of a pixel */
    struct g4_pixel_pattern value;
    struct g4_pixel_pattern keep; /* bits that are not written; they are 0 in the value */
};

/* The pattern of a pixel. */
struct g4_pixel_pattern g4_fill_repeat(const void *pixel, uint32_t bytes);
/* `value`: that of a pixel, whose bits in `keep` do not matter. */
struct g4_fill g4_fill_of(const struct g4_cc *cc, uint32_t bytes, const struct g4_pixel_pattern *value,
                          const struct g4_pixel_pattern *keep);

/* Fill the pixels of a coverage.  Those outside of the image are left out; missing memory is reported. */
void g4_fill_coverage(const struct g4_fill *fill, const struct g4_coverage *coverage, struct g4_pixel_map *map,
                      struct g4_port *port);
/* The first pixel of a coverage in memory; NULL unless it is directly accessible.  Nothing is reported. */
const uint8_t *g4_fill_first_pixel(const struct g4_coverage *coverage, struct g4_pixel_map *map, struct g4_port *port);

/* Whole rows of a tile of the windower: an even number of them, from an even one on. */
struct g4_tile_rows {
    uint32_t x, y;
    uint32_t count;
};

enum {
    G4_ROW_PIECES = G4_TILE_SIZE / G4_TILE_X_HEIGHT + 1,
};

/* The memory of whole rows, in pieces whose rows have the same distance. */
struct g4_row_memory {
    struct g4_filled_rows piece[G4_ROW_PIECES];
    uint32_t pieces; /* 0: it is not known */
};

/* Whether all pages of the rows may be accessed: those of the tiles of the surface, or the ends of linear rows. */
bool g4_fill_are_mapped(const struct g4_tile_rows *rows, struct g4_pixel_map *map, struct g4_port *port);
/* Fill whole rows.  False: the pixels cannot be accessed as whole rows; some may have been filled. */
bool g4_fill_rows(const struct g4_fill *fill, const struct g4_tile_rows *rows, struct g4_pixel_map *map,
                  struct g4_port *port);
/* Whether all pixels of the tile are inside an image, and may be accessed; and their memory, if it is simple. */
bool g4_fill_find_tile(const struct g4_tile_rows *tile, struct g4_pixel_map *map, struct g4_port *port,
                       struct g4_row_memory *memory);
/* Fill a tile for which g4_fill_find_tile() was true.  False: as g4_fill_rows(). */
bool g4_fill_found_tile(const struct g4_fill *fill, const struct g4_tile_rows *tile, const struct g4_row_memory *memory,
                        struct g4_pixel_map *map, struct g4_port *port);

#endif
