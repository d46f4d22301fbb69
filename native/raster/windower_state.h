/*
 * The windower's state of one worker: facts of the draw, and the threads that wait for a full gang.
 */
#ifndef G4_WINDOWER_STATE_H
#define G4_WINDOWER_STATE_H

#include <string.h>

#include "color/pixel_rows.h"
#include "eu/kernel.h"
#include "geometry/coverage.h"
#include "geometry/lines.h"
#include "geometry/payload.h"
#include "raster/barycentrics.h"
#include "raster/windower.h"

struct g4_pixels;
struct g4_target;

enum {
    G4_TILE_SUBSPANS = (G4_TILE_SIZE / 2) * (G4_TILE_SIZE / 2),
    G4_BLOCK_SUBSPANS = 4, /* in a pixel block */
    G4_BLOCKS = 2,         /* in the widest normal thread */
    G4_BLOCK_HALVES = 2,   /* registers of a value of a block */
    G4_WM_HEADER = 2,      /* registers of the header of a payload; 3 of threads of 32 pixels */
    G4_WM_SAMPLE = 4,      /* subspans that run when all pixels of an object get the same value */
};

/* Thread sizes in pixels, and how the pixels are arranged. */
enum g4_wm_mode {
    G4_WM_8,
    G4_WM_16,
    G4_WM_32,
    G4_WM_CONTIGUOUS_32,
    G4_WM_CONTIGUOUS_64,
    G4_WM_MODES,
    G4_WM_QUEUES = G4_WM_CONTIGUOUS_32 /* of threads of 8, 16 and 32 pixels */
};

struct g4_wm_dispatch {
    bool enabled[G4_WM_MODES];
    uint8_t entry[G4_WM_MODES]; /* kernel entry point, 0..3 */
    bool any_normal, any_contiguous;
};

void g4_wm_dispatch_begin(struct g4_wm_dispatch *dispatch, const struct g4_windower_state *state);
/* The mode of the next thread of an object that has `subspans` (1 or more) left. */
enum g4_wm_mode g4_wm_choose(const struct g4_wm_dispatch *dispatch, const struct g4_quirks *quirks, uint32_t subspans);
/* The mode of the next thread of an 8x8 block in contiguous dispatch. */
enum g4_wm_mode g4_wm_choose_contiguous(const struct g4_wm_dispatch *dispatch, bool both_halves);

/* The depth offset of triangles (G45 PRM vol. 2, 8.4.2). */
struct g4_depth_offset {
    float constant, scale, clamp;
    float unit; /* of the constant; 0: by the exponent of the vertices' depths */
};

void g4_depth_offset_begin(struct g4_depth_offset *offset, const struct g4_draw_state *draw);
float g4_depth_offset_of(const struct g4_depth_offset *offset, float cx, float cy, const float z[3]);
void g4_wm_plane(const struct g4_wm *wm, const struct g4_setup *setup, struct g4_plane *plane);

struct g4_subspan {
    uint16_t x, y; /* upper-left pixel */
    uint32_t lit;  /* bit p: 0 upper left, 1 upper right, 2 lower left, 3 lower right */
};

/* A waiting thread. */
struct g4_pixel_thread {
    struct g4_pixel_block block[G4_BLOCKS]; /* the second one of 32-pixel threads */
    uint32_t x, y, mask[2];                 /* contiguous dispatch */
};

/* What the pixels of a block get if all their values are those of their centers. */
struct g4_center_path {
    bool known; /* whether that is so in the current draw */
    bool usable;
    struct g4_center_rows rows;
    const struct g4_barycentric_ops *ops;
};

/* What the registers of the gang hold if the windower is its holder. */
struct g4_held_payload {
    const struct g4_setup *of; /* the object of all threads; NULL: none in this batch */
    const struct g4_kernel *kernel;
    enum g4_wm_mode mode;
    uint32_t threads;
    struct g4_row_set cleared[2]; /* registers to be cleared before the kernel runs again, and in a full gang */
    bool shares_rest;             /* full gangs: all that such threads have in common is still there */
    bool are_rows;                /* the last gang was one of whole rows */
};

struct g4_wm {
    const struct g4_context *ctx;
    const struct g4_draw_state *draw;
    struct g4_iz iz;
    struct g4_wm_dispatch dispatch;
    bool depth_needed; /* the source depth is tested, written or part of the payload */
    bool
        single_subspan; /* WIZ_CTL bit 6: one subspan a thread where the shader's message tests depth (965v4 3.3.9.1) */
    bool whole_tiles;   /* depth is tested before pixels are collected */
    struct g4_depth_offset offset;
    struct g4_slots slots[G4_WM_ENTRIES];
    uint32_t pointers[G4_WM_ENTRIES][G4_GANG_THREADS][8]; /* R0 with dwords 2 to 5 only, by slot */

    bool uniform_color;  /* the kernels that may run are flat, and nothing else makes pixels differ */
    bool constant_color; /* they also give all objects the same color */
    bool constant_depth; /* the early test does nothing but write depth, and one stencil value */
    struct g4_wm_fills fills;

    /* The current object: its subspans in the tile, and their depths. */
    const struct g4_setup *setup;
    uint32_t subspans;
    bool is_whole;  /* all pixels of the tile are lit, and the subspans are not listed (g4_wm_run_tile()) */
    bool is_listed; /* the subspans are in `subspan` */
    struct g4_subspan subspan[G4_TILE_SUBSPANS];
    /* With several samples a pixel, as in g4_pixel_block. */
    uint16_t samples[G4_TILE_SUBSPANS][4], covered[G4_TILE_SUBSPANS][4];
    uint8_t sample[G4_TILE_SUBSPANS];
    /* valid if depth_needed; padded, because they are read four subspans at a time */
    float z[G4_TILE_SUBSPANS + G4_BLOCK_SUBSPANS][4];

    /* Waiting threads of the current mode, and the numbers of those of other modes.  No two of them share a pixel, so
     * their order does not matter. */
    uint32_t waiting;
    enum g4_wm_mode mode;
    struct g4_pixel_thread *thread; /* the queue of the mode; contiguous dispatch has the first one */
    bool are_rows;                  /* they are a gang of whole rows of the current object, with all pixels lit */
    bool parks;                     /* threads of several modes may wait at the same time */
    uint32_t parked[G4_WM_QUEUES];
    struct g4_pixel_thread queue[G4_WM_QUEUES][G4_GANG_THREADS];
    int32_t tile_x, tile_y;
    const uint32_t *first_number; /* as in g4_tile */
    struct g4_held_payload held;
    uint32_t claimed[G4_TILE_SIZE]; /* pixels of waiting threads of earlier objects, and possibly more */
    bool clash;                     /* the current object has claimed pixels */
    struct g4_center_path centers[G4_BLOCK_HALVES]; /* of blocks with one half, and with two; from Gen7 on */
};

/* Pixels of every subspan that has a lit one: helpers run too, so that derivatives work. */
static inline uint16_t g4_whole_subspans(uint32_t lit) {
    uint32_t any = lit | lit >> 1;
    any = (any | any >> 2) & 0x1111;
    return (uint16_t)(any * 15);
}

/* The positions of the subspans of a block as dwords of a payload: x in the lower word. */
static inline void g4_wm_put_positions(const struct g4_pixel_block *block, uint32_t dwords[4]) {
    typedef uint16_t four __attribute__((vector_size(8)));
    four x;
    four y;

    memcpy(&x, block->x, sizeof x);
    memcpy(&y, block->y, sizeof y);
    const uint16_t position __attribute__((vector_size(16))) = __builtin_shufflevector(x, y, 0, 4, 1, 5, 2, 6, 3, 7);
    memcpy(dwords, &position, sizeof position);
}

/* Forget the threads that wait. */
static inline void g4_wm_drop_threads(struct g4_wm *wm) {
    wm->waiting = 0;
    memset(wm->parked, 0, sizeof wm->parked);
}

/* Remove the pixels that the stipples mask. */
static inline void g4_wm_stipple(const struct g4_wm *wm, const struct g4_setup *setup, struct g4_coverage *coverage) {
    const struct g4_draw_state *const draw = wm->draw;
    if (draw->windower.polygon_stipple && setup->poly_stipple && setup->type == G4_OBJECT_TRIANGLE) {
        for (int32_t j = coverage->first; j <= coverage->last; j++) {
            coverage->row[j] &= draw->polygon_stipple[j];
        }
    }
    if (draw->windower.line_stipple && setup->type == G4_OBJECT_LINE && !setup->antialias) {
        g4_line_stipple_apply(&draw->line_stipple, setup, coverage);
    }
}

/* The covered part of the tile for an early test of the current object. */
static inline struct g4_early_tile g4_wm_early_tile(const struct g4_wm *wm, const struct g4_coverage *coverage,
                                                    const struct g4_plane *plane) {
    return (struct g4_early_tile){
        .x = coverage->x,
        .y = coverage->y,
        .first = coverage->first,
        .last = coverage->last,
        .plane = plane,
        .viewport = wm->setup->viewport,
        .array_index = wm->setup->array_index,
        .back_facing = wm->setup->back_facing,
    };
}

/* Prepare the parts that do not depend on the worker. */
void g4_wm_prepare(struct g4_wm *wm, const struct g4_context *ctx, const struct g4_draw_state *draw);
/* List the lit subspans of a part of the current object, row by row. */
void g4_wm_collect(struct g4_wm *wm, const struct g4_coverage *coverage);
/* Split the listed subspans into threads; full gangs run. */
enum g4_status g4_wm_queue(struct g4_worker *worker, const struct g4_coverage *coverage);
/* Whether the threads of the current object can run without a list of its subspans in a tile that it covers. */
bool g4_wm_runs_whole_tiles(const struct g4_worker *worker);
/* Run the threads of the current object in a tile that it covers, after those that wait. */
enum g4_status g4_wm_run_tile(struct g4_worker *worker);
/* Decide which fills of fill.c the draw permits. */
void g4_wm_fill_begin(struct g4_worker *worker);
/* If the current object has the same values as the last one that was filled, they serve for both. */
void g4_wm_share_fills(struct g4_wm *wm);
/* Whether the kernels give all pixels of the current object one color, and nothing changes it. */
static inline bool g4_wm_may_fill_color(const struct g4_wm *wm) {
    return wm->uniform_color && !wm->setup->antialias;
}
/* Draw the pixels of such an object without threads, but for a few subspans of each mode whose color is not known.  The
 * subspans may be listed or not.  False if the object is not that simple; then nothing was done. */
bool g4_wm_fill_color(struct g4_worker *worker, const struct g4_coverage *coverage, enum g4_status *status);
/* Give all pixels of the tile, which the current object covers, the depth and the color of its last tile; `threads`: it
 * has colors.  False: the tile has none, or they differ; the caller can then start over. */
bool g4_wm_fill_tile(struct g4_worker *worker, const struct g4_coverage *coverage, bool threads,
                     enum g4_status *status);
/* Give all pixels of a tile that a fast clear covers the color of `pixels`, whose positions are overwritten.  False:
 * they are not whole rows that can be filled, and some may have been written. */
bool g4_wm_fill_rows(struct g4_worker *worker, struct g4_target *target, const struct g4_coverage *coverage,
                     struct g4_pixels *pixels);
/* Whether the early test only writes the same depth, and the same stencil value, to all pixels of the current object.
 */
bool g4_wm_depth_is_constant(const struct g4_wm *wm);
/* Whether the buffers permit to fill a part of such an object.  `sample` becomes the pixels that must be tested before,
 * unless the depth is known. */
bool g4_wm_can_fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage, struct g4_coverage *sample);
/* Whether an earlier tile of the current object had that depth. */
bool g4_wm_knows_depth(const struct g4_wm *wm);
/* Write these values to all pixels of that part. */
void g4_wm_fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage, const struct g4_coverage *sample);
/* Run the waiting threads. */
enum g4_status g4_wm_flush(struct g4_worker *worker);
/* Prepare the parts that all payloads of a draw share. */
void g4_wm_payload_begin(struct g4_worker *worker, const struct g4_draw_state *draw);
/* From Gen7 on: the registers of a thread of 8 or 16 pixels (one or two halves) in front of constants and attributes,
 * which may differ from thread to thread. */
uint32_t g4_pixel_payload_gen7_own(const struct g4_windower_state *state, uint32_t halves);
/* The part of the payload that all threads of an object have in common: `count` registers.  Those before `own` are
 * written for each thread; if the parts overlap, all are. */
struct g4_common_rows {
    uint32_t own, first, count;
};
/* Start the gang for the waiting threads.  If it has just run threads of the same object, in the same places of the
 * queue, it still holds what their payloads have in common: returns the registers that it does not.  NULL: all. */
const struct g4_row_set *g4_wm_start_gang(struct g4_worker *worker, const struct g4_dispatch *dispatch,
                                          const struct g4_kernel *kernel, const struct g4_common_rows *common);
/* Whether a gang of whole rows of the current object can start with what the gang holds, but for the places of its
 * pixels. */
bool g4_wm_holds_rows(const struct g4_worker *worker, const struct g4_kernel *kernel);
static inline bool g4_is_missing(const struct g4_row_set *missing, unsigned grf) {
    return !missing || g4_row_set_has(missing, grf);
}
/* Set the dispatch masks of the waiting threads, which have at most sixteen channels. */
void g4_wm_set_masks(const struct g4_wm *wm, struct g4_gang *gang);
/* Start the waiting threads in the worker's gang, with their payloads. */
g4_start_pixels_fn g4_wm_payloads;
g4_start_pixels_fn g4_pixel_payload_gen7;

#endif
