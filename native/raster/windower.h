/*
 * The windower: rasterization into 2x2 subspans, early depth and stencil, pixel shader dispatch (G45 PRM vol. 2,
 * chapter 8).
 *
 * The screen is divided into tiles of 32x32 pixels; the objects of a draw are binned, and one worker draws the objects
 * of a tile in order.  No two tiles share a pixel, so the picture does not depend on the number of workers.
 */
#ifndef G4_WINDOWER_H
#define G4_WINDOWER_H

#include "color/color.h"
#include "color/pixel_rows.h"
#include "geometry/coverage.h"

/* The depth that all pixels of an object get. */
struct g4_fill_depth {
    const struct g4_setup *of; /* the last such object of the batch; NULL: none */
    struct g4_pixel_pattern value;
};

enum {
    G4_FILL_MODES = 2 /* threads of 8 and 16 pixels */
};

/* The color that all pixels of an object get, from the kernel of each mode. */
struct g4_fill_color {
    const struct g4_setup *of; /* as in g4_fill_depth */
    bool known[G4_FILL_MODES];
    struct g4_pixel_pattern value[G4_FILL_MODES];
};

/* What is known about pixels of a draw from one tile to the next. */
struct g4_wm_fills {
    struct g4_fill_color color;
    struct g4_fill_depth depth;
};

struct g4_tile {
    int32_t x, y;                        /* upper-left pixel */
    const struct g4_setup *const *setup; /* objects that may touch the tile, in order */
    uint32_t setups;
    const uint32_t *first_number; /* by chunk: the sequence number of its first object */
};

enum {
    G4_OBJECT_NUMBERS = 0xffffff /* 24 bits in R0.7 */
};

/* The entry points of the kernel that the enabled thread sizes use: one bit each. */
uint32_t g4_wm_entries(const struct g4_windower_state *state);

/* Allocate the worker's state of pixels, unless it has one; false: no memory. */
bool g4_wm_allocate(struct g4_worker *worker);
/* Prepare the worker for a draw, before its first tile. */
enum g4_status g4_wm_begin(struct g4_worker *worker, const struct g4_draw_state *draw);
/* Whether the draw that was begun probably needs only a few threads, because its pixels are filled. */
bool g4_wm_mostly_fills(const struct g4_wm *wm);
/* Forget the objects of the last batch: their memory is used again. */
void g4_wm_begin_batch(struct g4_wm *wm);
/* Draws with the same state share all that was begun but this, which is kept for each of them. */
void g4_wm_set_fills(struct g4_wm *wm, const struct g4_wm_fills *fills);
void g4_wm_get_fills(const struct g4_wm *wm, struct g4_wm_fills *fills);
enum g4_status g4_wm_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
