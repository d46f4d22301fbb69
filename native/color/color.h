/*
 * The colour calculator: alpha test, stencil, depth, blending, dither, logic op, write (spec/30 3.10 to 3.16), both
 * early (called by the windower) and late (by the render target write message).
 */
#ifndef G4_CC_CC_H
#define G4_CC_CC_H

#include "core/draw_state.h"
#include "eu/worker.h"

/* Who does depth and stencil (spec/30 3.8): P the windower, N and C the render target write. */
enum g4_iz_mode {
    G4_IZ_P,
    G4_IZ_N,
    G4_IZ_C
};

struct g4_iz {
    uint8_t mode;         /* enum g4_iz_mode */
    bool source_depth_eu; /* R1.6 bit 30 */
    bool source_depth_rt; /* 29 */
    bool dest_depth;      /* 28 */
    bool dest_stencil;    /* 27 */
};

struct g4_setup; /* geometry/object.h */

/* The pixels of a pixel shader thread: gang->unit_data[t] of WM gangs. */
struct g4_pixel_block {
    const struct g4_setup *setup;
    uint16_t x[4], y[4];   /* upper-left pixels of the subspans */
    uint32_t lit;          /* 4 bits a subspan, as dispatched (R0.0 31:16) */
    uint8_t iz_mode;       /* enum g4_iz_mode */
    float z[16];           /* source depth of every pixel, helpers included */
    uint8_t coverage[16];  /* AA lines */
    uint16_t alpha_passed; /* pixels that an earlier message of the thread let through; 0 at dispatch */
};

/* Spec/30 3.8.2 and 3.8.3; pure. */
struct g4_iz g4_iz_decide(const struct g4_draw_state *draw, bool depth_buffer_present);

/* Once per draw and worker: unpack depth buffer and CC state into worker->eu.cc. */
enum g4_status g4_cc_begin(struct g4_worker *worker, const struct g4_draw_state *draw);

/* The worker's end: free what g4_cc_begin made. */
void g4_cc_end(struct g4_worker *worker);

/* Whether an early test could do anything: change memory, drop pixels or count. */
bool g4_cc_tests(const struct g4_worker *worker);

/* Early test of mode P on up to four subspans: `lit` has 4 bits a subspan (bit 4*s+p), z[4*s+p] the interpolated depth.
 * Writes depth and stencil, counts PS_DEPTH_COUNT, returns the pixels that survive. */
uint32_t g4_cc_early(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                     const float z[16], uint32_t viewport, uint32_t array_index, bool back_facing);

/* The pixels of `lit` that the stencil test alone lets through, for counters: nothing changes. */
uint32_t g4_cc_stencil_passes(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                              uint32_t array_index, bool back_facing);
/* Count the bytes of the depth buffer that a test of so many pixels requests; `z`: they have a source depth, `update`:
 * those that passed are stored. */
void g4_cc_count_depth(struct g4_worker *worker, uint32_t tested, uint32_t passed, bool z, bool update);

/* The destination depth (raw) and stencil of the same pixels, for the payload (DZ, AS registers). */
void g4_cc_destination(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                       uint32_t array_index, uint32_t depth[16], uint8_t stencil[16]);

/* Threads whose pixels begin at these are about to start: what they will probably blend with can be on its way. */
void g4_cc_expect(const struct g4_worker *worker, uint32_t n, const uint16_t *x, const uint16_t *y);

/* The render target write of the data port. */
g4_message_fn g4_render_target_write;

#endif
