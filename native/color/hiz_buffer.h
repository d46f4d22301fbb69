/*
 * The hierarchical depth buffer of a draw, from Gen6 on: an entry for each 8x4 samples of the depth buffer, from Gen9
 * on for each 8x4 pixels, in the memory that the driver allocates for it, in front of the depth test.
 */
#ifndef G4_COLOR_HIZ_BUFFER_H
#define G4_COLOR_HIZ_BUFFER_H

#include "color/hiz.h"
#include "color/pixel_rows.h"
#include "core/report.h"

struct g4_cc;
struct g4_depth;
struct g4_depth_job;
struct g4_depth_tile;
struct g4_draw_state;
struct g4_worker;

struct g4_hiz_buffer {
    bool present;
    bool exact;       /* the depth buffer holds every depth, too */
    bool clears;      /* the draw clears instead of testing */
    bool takes_tiles; /* as g4_hiz_tile() */
    g4_address base;
    uint32_t pitch_bytes;
    uint32_t column, row;   /* of the image's first entry */
    uint32_t width, height; /* of the image, in the unit of entries: samples or pixels */
    uint32_t first_sample;  /* of a pixel that is written */
    struct g4_surface layout;
    struct g4_hiz_surface surface; /* its number of samples, or 1 if entries count samples */
    uint8_t position[G4_HIZ_SAMPLES][2];
    struct g4_hiz_counts *counts;
    struct g4_report_log *log;
};

/* Put the hierarchical depth buffer of a draw in front of its depth test, which is set up, and run an operation that
 * needs no pixels: a resolve.  Does nothing without one, or if the option is off. */
void g4_hiz_begin(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc);
/* Call after g4_depth_select(). */
void g4_hiz_select(struct g4_depth *depth, uint32_t gen, uint32_t slice);
/* A g4_depth_tile_fn that needs no page. */
void g4_hiz_tile(struct g4_depth *depth, struct g4_port *port, struct g4_depth_tile *tile);

/* Give the depth buffer that a surface reads through entries the depths that only these have. */
void g4_hiz_fill(struct g4_mem *mem, uint32_t gen, const struct g4_surface *surface);

/* ---- reads of depth that only entries have (hiz_watch.c) ---- */

struct g4_hiz_watch;

enum {
    G4_HIZ_WATCHED = 64, /* images that are remembered: the latest ones */
};

/* A slice of one level of a depth buffer, and its entries. */
struct g4_hiz_watched {
    g4_address base, entries;
    uint32_t pitch_bytes, entries_pitch_bytes;
    uint32_t level, slice;
    uint32_t column, row;   /* of the first entry */
    uint32_t width, height; /* as those of struct g4_hiz_buffer; 0: nothing in it is stale */
};

/* The state of a watch between draws. */
struct g4_hiz_watch_image {
    struct g4_hiz_watched image[G4_HIZ_WATCHED];
    uint32_t images, next;
};

struct g4_hiz_watch *g4_hiz_watch_new(struct g4_mem *mem, uint32_t gen);
void g4_hiz_watch_free(struct g4_hiz_watch *watch);
/* A draw begins that uses the image of `depth` with or without its hierarchical depth buffer. */
void g4_hiz_watch_draw(struct g4_hiz_watch *watch, const struct g4_depth *depth);
/* Report the findings about the surfaces and the depth buffer of the last draw. */
void g4_hiz_watch_collect(struct g4_hiz_watch *watch, struct g4_report_log *log);
void g4_hiz_watch_save(const struct g4_hiz_watch *watch, struct g4_hiz_watch_image *image);
void g4_hiz_watch_load(struct g4_hiz_watch *watch, const struct g4_hiz_watch_image *image);
/* For struct g4_context. */
struct g4_surface_watch *g4_hiz_watch_surfaces(struct g4_hiz_watch *watch);

/* ---- entries in memory ---- */

/* The address of the entry of column x and row y: tiles of 16x16 entries. */
static inline g4_address g4_hiz_address(g4_address base, uint32_t pitch_bytes, uint32_t x, uint32_t y) {
    enum {
        TILE = 16, /* entries */
        TILE_ROW_BYTES = 128,
    };
    const uint32_t tile = y / TILE * (pitch_bytes / TILE_ROW_BYTES) + x / TILE;
    return base + tile * G4_PAGE_SIZE + (y % TILE * TILE + x % TILE) * G4_HIZ_ENTRY_BYTES;
}

#endif
