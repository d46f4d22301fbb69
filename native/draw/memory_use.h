/*
 * The memory that a draw writes and reads, as far as it follows from state, and whether draws may wait for each other:
 * their pixels are then drawn together, tile by tile.
 *
 * Everything here errs on one side: a draw whose memory is not known is drawn alone.
 */
#ifndef G4_MEMORY_USE_H
#define G4_MEMORY_USE_H

#include "core/draw_state.h"
#include "core/memory.h"
#include "eu/worker.h"

enum {
    G4_READ_RANGES = 64,
    G4_DRAW_IMAGES = G4_COLOR_TARGETS + 2, /* and depth and stencil */
};

/* Pixels of a target by their coordinates on the screen.  Two draws whose images are equal write a pixel at the same
 * place, and different pixels at different places. */
struct g4_target_image {
    g4_address base;
    uint32_t tiling, pitch, x0, y0, dx, dy, width, height, bytes;
};

struct g4_memory_use {
    bool known; /* else the draw is drawn alone */
    uint32_t colors;
    struct g4_target_image image[G4_DRAW_IMAGES]; /* colors, then depth and stencil; base and pitch 0: none */
    uint32_t reads;
    struct {
        g4_address address;
        uint64_t bytes;
    } read[G4_READ_RANGES];
    struct g4_touched_pages state; /* pages of state blocks and constants */
};

/* Find the memory of a draw that the worker has begun; use->state lists what loading it has read. */
void g4_memory_use_find(struct g4_memory_use *use, const struct g4_worker *worker, const struct g4_draw_state *draw);

/* Whether a draw has the kernels, surfaces, samplers and targets of the draw before, whose memory is known and none of
 * which has been written since; and its memory, if so: of what it reads, vertices alone are listed. */
bool g4_memory_use_is_like(const struct g4_draw_state *draw, const struct g4_draw_state *before);
void g4_memory_use_follow(struct g4_memory_use *use, const struct g4_memory_use *before,
                          const struct g4_draw_state *draw);
/* What a draw reads beyond what it shares with one whose memory is known; use->state lists what loading this has read.
 */
void g4_memory_use_of_vertices(struct g4_memory_use *use, const struct g4_draw_state *draw);

/* The host pages that waiting draws write. */
struct g4_written_pages;

struct g4_written_pages *g4_written_pages_new(void);
void g4_written_pages_prepare(struct g4_written_pages *pages); /* its memory, all at once */
void g4_written_pages_free(struct g4_written_pages *pages);
void g4_written_pages_clear(struct g4_written_pages *pages);
/* Whether each target of a draw is that of the draws before it, or none of these has a target of that kind and the new
 * one can be listed.  `grown`: there are new targets, which the draws before must not read. */
bool g4_written_pages_add(struct g4_written_pages *pages, struct g4_mem *mem, const struct g4_memory_use *use,
                          bool *grown);
/* Whether a write of a command to this page may wait, too: the page is there, and no image has it. */
bool g4_written_pages_add_write(struct g4_written_pages *pages, struct g4_mem *mem, g4_address address);
/* Whether none of these pages is written.  Pages that are missing are not: all written pages are there. */
bool g4_written_pages_keep_state(const struct g4_written_pages *pages, struct g4_mem *mem,
                                 const struct g4_touched_pages *state);
/* Whether a draw reads nothing that is written, and nothing that is missing. */
bool g4_written_pages_are_unread(struct g4_written_pages *pages, struct g4_mem *mem, const struct g4_memory_use *use);
/* Whether none of these bytes is written. */
bool g4_written_pages_miss(const struct g4_written_pages *pages, struct g4_mem *mem, g4_address address,
                           uint64_t bytes);

#endif
