/*
 * Exact counters of the work of a draw in each unit, kept per worker and added up afterwards.
 *
 * A worker counts if its eu.counters is not NULL.  Units look at that pointer once for a range, a tile, a gang or a
 * message; pixels are counted by variants of the windower's and the color calculator's loops.  Fast paths that hide
 * pixels or threads are off meanwhile; the pictures are the same.
 *
 * Bytes are those that messages and units request; no cache is modelled.  A texture lookup requests one texel for each
 * enabled channel, whatever the filter.  A pixel that is tested against depth or stencil requests its element of the
 * depth buffer, a blended one its element of the render target.
 */
#ifndef G4_COUNTERS_H
#define G4_COUNTERS_H

#include "api/counters.h"
#include "core/surface.h"
#include "eu/eu.h"

struct g4_line_counts;
struct g4_pixel_maps;

struct g4_counters {
    struct g4_draw_counters sum;
    struct g4_surface_counters *surface; /* in the order of first use */
    uint32_t surfaces, capacity;
    uint32_t recent[G4_SURFACE_ROLES]; /* index of the surface used last */
    struct g4_surface_counters spill;  /* counts for surfaces without an entry, if memory is short */
    bool no_memory;
    struct g4_surface_cache *cache; /* separate from the worker's, whose reads report faults */
    struct g4_port look;            /* its faults are not those of the draw */
    struct g4_line_counts *lines;   /* NULL unless each instruction is counted */
    struct g4_pixel_maps *maps;     /* of the device; NULL unless each pixel is counted */
};

/* Add bytes of a surface.  Zero bytes do not count as a use. */
void g4_count_bytes(struct g4_counters *counters, enum g4_surface_role role, g4_address address, uint64_t read,
                    uint64_t written);

/* Run a gang, and count its threads and instructions. */
enum g4_status g4_counted_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* NULL without memory. */
struct g4_counters *g4_counters_new(struct g4_mem *mem);
void g4_counters_free(struct g4_counters *counters);
void g4_counters_clear(struct g4_counters *counters);
/* A draw or media command begins: its surfaces may differ from those before. */
void g4_counters_begin(struct g4_counters *counters);
/* Add the counters of a worker to those of the device, and clear them. */
void g4_counters_merge(struct g4_counters *into, struct g4_counters *from);

#endif
