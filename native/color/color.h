/*
 * The color calculator: alpha test, stencil, depth, blending, dither, logic op and write (G45 PRM vol. 2, 9), both
 * early, called by the windower, and late, by the render target write message.
 */
#ifndef G4_CC_CC_H
#define G4_CC_CC_H

#include "core/draw_state.h"
#include "eu/worker.h"

/* The unit that tests depth and stencil: P the windower, N and C the render target write (G45 PRM vol. 2, 8.4.3). */
enum g4_iz_mode {
    G4_IZ_P,
    G4_IZ_N,
    G4_IZ_C
};

struct g4_iz {
    uint8_t mode;         /* enum g4_iz_mode */
    bool source_depth_eu; /* R1.6: Source Depth Present, in the payload */
    bool source_depth_rt; /* R1.6: Source Depth to Render Target */
    bool dest_depth;      /* R1.6: Destination Depth Present */
    bool dest_stencil;    /* R1.6: Destination Stencil Present */
};

struct g4_setup; /* geometry/object.h */

/* The depth of an object: z = c0 + cx * (x - x_start) + cy * (y - y_start) */
struct g4_plane {
    double cx, cy, c0, x_start, y_start;
};

/* The pixels of a pixel shader thread: gang->unit_data[t] of WM gangs. */
struct g4_pixel_block {
    const struct g4_setup *setup;
    uint16_t x[4], y[4];   /* upper left pixels of the subspans */
    uint32_t lit;          /* 4 bits for each subspan, as dispatched (R0.0 31:16) */
    uint8_t iz_mode;       /* enum g4_iz_mode */
    float z[16];           /* source depth of every pixel, helpers included */
    uint8_t coverage[16];  /* AA lines */
    uint16_t alpha_passed; /* pixels that an earlier message of the thread let through; 0 at dispatch */

    /* From Gen6 on, set when the thread starts. */
    uint16_t array_index;
    uint8_t viewport;
    bool back_facing;
    bool antialias; /* `coverage` scales alpha */
    struct g4_plane depth;
    /* With several samples a pixel: those of each pixel that are lit, and that the object covers; and with a thread for
     * each sample, that of a subspan. */
    uint16_t samples[16], covered[16];
    uint8_t sample[4];
};

/* Decides which unit tests depth and stencil; pure. */
g4_decide_tests_fn g4_iz_decide;
/* Sets up the depth buffer with its stencil. */
g4_begin_depth_fn g4_begin_depth;
/* As both of these, with a separate stencil buffer. */
g4_decide_tests_fn g4_decide_tests_gen6;
g4_begin_depth_fn g4_begin_depth_gen6;

/* Allocates worker->eu.cc, unless there is one; false: no memory. */
bool g4_cc_allocate(struct g4_worker *worker);
/* Sets up worker->eu.cc: depth buffer and color calculator state.  Once per draw and worker. */
enum g4_status g4_cc_begin(struct g4_worker *worker, const struct g4_draw_state *draw);

/* Frees what g4_cc_allocate() allocated. */
void g4_cc_end(struct g4_worker *worker);

/* True if an early test can have an effect: change memory, drop pixels or count. */
bool g4_cc_tests(const struct g4_worker *worker);

/* The early test of mode P on up to four subspans: bit 4*s+p of `lit` is pixel p of subspan s, z[4*s+p] its
 * interpolated depth.  Writes depth and stencil, counts PS_DEPTH_COUNT and returns the pixels that pass. */
uint32_t g4_cc_early(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                     const float z[16], uint32_t viewport, uint32_t array_index, bool back_facing);

/* An object's pixels in the tile at (x, y): those of row[first] to row[last]. */
struct g4_early_tile {
    int32_t x, y, first, last;
    const struct g4_plane *plane;
    uint32_t viewport, array_index;
    bool back_facing;
};
/* The early test of a whole tile: as g4_cc_early(), but removes the pixels that fail from `row`.  False: the depth
 * buffer does not permit it; nothing was done. */
bool g4_cc_early_tile(struct g4_worker *worker, const struct g4_early_tile *tile, uint32_t row[32]);

/* Whether the values of the tile at (x, y) in a separate stencil buffer may be accessed together; the array index is
 * that of the depth buffer.  Nothing is reported. */
bool g4_cc_finds_stencil(struct g4_worker *worker, int32_t x, int32_t y);
/* The part of an early test that concerns a separate stencil buffer, for pixels that all pass. */
void g4_cc_stencil_tile(struct g4_worker *worker, const struct g4_early_tile *tile, const uint32_t row[32]);

/* The pixels of `lit` that pass the stencil test alone, for counters: nothing changes.  `references`: as in struct
 * g4_depth_job. */
uint32_t g4_cc_stencil_passes(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                              uint32_t array_index, bool back_facing, const uint8_t *references);
/* Counts the bytes of the depth buffer that a test of so many pixels requests; `z`: the pixels have a source depth,
 * `update`: those that passed are stored. */
void g4_cc_count_depth(struct g4_worker *worker, uint32_t tested, uint32_t passed, bool z, bool update);

/* Reads the destination depth (raw) and stencil of pixels, for the payload of the thread. */
void g4_cc_destination(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                       uint32_t array_index, uint32_t depth[16], uint8_t stencil[16]);

/* Prefetches the destination pixels of threads that are about to start at these positions. */
void g4_cc_prefetch(const struct g4_worker *worker, uint32_t n, const uint16_t *x, const uint16_t *y);

/* The render target write of the data port. */
g4_message_fn g4_render_target_write;
/* From Gen6 on. */
g4_message_fn g4_render_target_write_gen7;
/* Render target reads of Gen9. */
g4_message_fn g4_render_target_read_gen9;

#endif
