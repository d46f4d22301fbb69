/*
 * Exact counters of draws and media commands (draw/counters.c).
 */
#ifndef G4_API_COUNTERS_H
#define G4_API_COUNTERS_H

#include "api/device.h"

struct g4_stage_counters {
    uint64_t threads;
    uint64_t instructions; /* executed, one per thread */
    uint64_t channel_ops;  /* executed channels */
    uint64_t messages[16]; /* by shared function */
};

struct g4_surface_counters {
    uint32_t role;      /* enum g4_surface_role */
    g4_address address; /* graphics address of the first byte */
    uint64_t read_bytes, written_bytes;
};

/* Exact sums over draws and media commands.  Every member up to `stage` is a sum of 64 bits. */
struct g4_draw_counters {
    /* vertex fetch */
    uint64_t vertices, primitives; /* as in IA_VERTICES_COUNT and IA_PRIMITIVES_COUNT */
    uint64_t vertices_fetched;     /* into URB entries of their own */
    uint64_t vertices_shaded;
    /* GS and CLIP */
    uint64_t assembled;      /* objects that reach the clipper */
    uint64_t clip_discarded; /* dropped without a thread */
    uint64_t clipped;        /* given to a clip thread */
    uint64_t clip_output;    /* objects that clip threads emit */
    /* SF */
    uint64_t objects;                                   /* that reach SF */
    uint64_t not_a_number, degenerate, culled, outside; /* dropped: first reason in this order */
    uint64_t no_pixel;                                  /* too small to hold a sample point */
    uint64_t set_up;
    /* WM, and CC before the pixel shader */
    uint64_t blocks;    /* 2x2, at least one pixel lit */
    uint64_t fragments; /* lit pixels */
    uint64_t early_tested, early_stencil_failed, early_depth_failed;
    uint64_t without_shader; /* that passed where no pixel shader is dispatched */
    uint64_t shaded;         /* lit pixels in pixel shader threads */
    /* CC in the message that ends the pixels */
    uint64_t ended; /* pixels lit in such messages; `shaded` less these have been killed */
    uint64_t alpha_failed;
    uint64_t late_tested, late_stencil_failed, late_depth_failed;
    uint64_t written;   /* that passed, and whose color went to a render target */
    uint64_t unwritten; /* that passed without a render target to write */
    /* PS_DEPTH_COUNT with statistics enabled */
    uint64_t depth_passed;
    /* media */
    uint64_t media_objects, macroblocks, media_roots, media_children;

    struct g4_stage_counters stage[G4_COUNTED_STAGES];
    uint64_t surfaces;
    const struct g4_surface_counters *surface; /* by role, then by address */
};

/* Of one instruction of a kernel. */
struct g4_line_count {
    uint64_t executions;       /* one for each thread */
    uint64_t channels;         /* enabled in them, by the masks and, except for branches and sel, by the predicate */
    uint64_t nans, infinities; /* float results of these channels; not of destinations with indirect addresses */
};

/* A kernel.  Kernels with the same code are the same kernel. */
struct g4_kernel_count {
    uint32_t bytes; /* of code, from the first instruction on */
    uint8_t *code;
    struct g4_line_count *line; /* n: of the instruction at byte offset 8 * n */
    uint64_t elsewhere;         /* executions of code that a computed branch leads to */
};

enum {
    G4_PIXEL_MAP_TILE = 32, /* pixels, across and down */
};

/* Counts of the pixels of a tile whose upper left pixel is x, y: G4_PIXEL_MAPS maps, each of rows from the top. */
struct g4_pixel_map_tile {
    uint32_t x, y;
    const uint32_t *counts;
};

/* Switch counting on or off.  G4_NO_MEMORY: nothing has changed. */
enum g4_status g4_device_count(struct g4_device *device, bool on);
/* The sums since counting began, or since the last g4_device_clear_counters; valid until the next call on this
 * device.  NULL: counting is off. */
const struct g4_draw_counters *g4_device_counters(struct g4_device *device);
void g4_device_clear_counters(struct g4_device *device);

/* Count each instruction, too, from now on until counting is switched off.  Machine code is not used meanwhile;
 * gangs that a debugger runs are not counted.  Counting must be on.  G4_NO_MEMORY: nothing has changed. */
enum g4_status g4_device_count_lines(struct g4_device *device);
/* The kernels that have run since, in no particular order; valid until the next call on this device. */
uint32_t g4_device_kernel_counts(const struct g4_device *device, const struct g4_kernel_count **kernels);
/* Executions that are missing in them, because the counts would have needed too much memory. */
uint64_t g4_device_lost_line_counts(const struct g4_device *device);

/* Switch counts for each pixel (enum g4_counted_pixels) on or off; counting must be on.  Instructions need
 * g4_device_count_lines.  G4_NO_MEMORY: nothing has changed. */
enum g4_status g4_device_map_pixels(struct g4_device *device, bool on);
/* The tiles with counts since then, or since the last clear, in no particular order; valid until the next draw.
 * False: some are missing, because the counts would have needed too much memory. */
bool g4_device_pixel_maps(const struct g4_device *device, const struct g4_pixel_map_tile **tiles, uint32_t *count);
void g4_device_clear_pixel_maps(struct g4_device *device);

#endif
