/*
 * The debugger's side of the core (965v4 chapter 3, spec/60 9): what it keeps, and the places where units tell it what
 * they do.  It exists only while somebody debugs: without it, units look at one NULL pointer for each gang, object and
 * message, and the EU at nothing.
 */
#ifndef G4_DEBUG_DEBUG_H
#define G4_DEBUG_DEBUG_H

#include "color/state.h"
#include "draw/device.h"
#include "eu/run.h"
#include "geometry/stage.h"
#include "raster/windower.h"

enum {
    G4_DEBUG_GANGS = 64, /* that are under way at once: media has 50 */
    G4_DEBUG_EARLY = 8,  /* fragments between their early test and their shader */
    G4_DEBUG_STAGES = 16,
    G4_DEBUG_NUMBERS = 0xffffff,
};

/* The threads of a gang as the debugger knows them. */
struct g4_debug_gang {
    const struct g4_gang *gang;
    struct g4_debug_thread thread[G4_GANG_THREADS];
    uint32_t in_flight[G4_GANG_THREADS][G4_GRF_COUNT / 32]; /* registers that no response comes to */
};

/* Origins by the place of the vertex' rows. */
struct g4_debug_slot {
    const void *rows;
    uint32_t origin; /* + 1; 0: free */
};

/* The depth test of a fragment before its shader. */
struct g4_debug_early {
    bool valid;
    uint32_t object;
    float z;
    uint32_t before[2], after[2];
};

struct g4_debug {
    struct g4_device *device;
    struct g4_debug_setup setup;
    g4_debug_fn *fn;
    void *data;
    struct g4_port look; /* reads for the debugger are nobody's faults */
    bool abandoned, code_changed;
    uint32_t generation;   /* counts changes of the setup */
    bool see_instructions; /* somebody wants to look at each */
    uint64_t bad_messages; /* of the worker's log, so far */

    uint64_t serial;
    uint32_t number[G4_DEBUG_STAGES];     /* threads so far, by unit */
    uint32_t occurrences[G4_DEBUG_TRAPS]; /* of pixel traps */
    uint32_t objects;                     /* number of the chunk's first object, while SF works on it */
    uint32_t sequence;                    /* of the draw's first vertex */
    uint32_t draw_vertices;
    uint64_t stepping, finishing; /* serial of the thread; 0: nobody */
    bool before_first;            /* the step starts before the thread's first instruction */
    uint32_t *object_threads;     /* WM threads of the draw's objects */
    uint32_t first_object, object_count, object_room;

    struct g4_debug_gang gang[G4_DEBUG_GANGS];
    struct g4_debug_gang *current;
    /* of the event that is told */
    struct g4_gang *seen;
    int seen_thread;
    uint32_t seen_ip;
    struct g4_run *seen_run;

    /* the range that is worked on */
    struct g4_debug_origin *origin;
    uint32_t origins, origin_room;
    struct g4_debug_slot *slot;
    uint32_t slots; /* a power of two */

    struct g4_debug_early early[G4_DEBUG_EARLY];
    uint32_t early_next;
    uint8_t *range_copy; /* watched ranges before a message */
};

/* ---- events (debug.c) ---- */

/* Tell of an event; false: the draw is to end. */
bool g4_debug_tell(struct g4_debug *debug, struct g4_debug_event *event);
/* An event of thread t; `ip` is where it stands. */
bool g4_debug_tell_thread(struct g4_debug *debug, struct g4_gang *gang, int t, uint32_t ip, struct g4_run *run,
                          struct g4_debug_event *event);
struct g4_debug_gang *g4_debug_gang_of(struct g4_debug *debug, const struct g4_gang *gang);

static inline bool g4_debug_unit_in(uint32_t units, uint32_t unit) {
    return units >> unit & 1;
}

/* ---- threads (threads.c) ---- */

/* Threads 0..count-1 of a gang have their payload: number them, fill in R0.6 and R0.7, flag them, stop where a trap
 * says so. `thread` has what the unit knows: object, subspans, vertices. */
enum g4_status g4_debug_start(struct g4_debug *debug, struct g4_gang *gang, struct g4_debug_thread *thread, int count);
void g4_debug_begin_draw(struct g4_debug *debug);
void g4_debug_end_draw(struct g4_debug *debug);
/* SF has worked on a chunk. */
void g4_debug_end_chunk(struct g4_debug *debug, uint32_t objects);
/* Pixel shader threads, from the windower's blocks. */
enum g4_status g4_debug_start_pixels(struct g4_worker *worker, struct g4_pixel_block *const *block, uint32_t blocks,
                                     int count);
/* How many threads may run at once. */
uint32_t g4_debug_gang_limit(const struct g4_debug *debug, uint32_t unit, uint32_t count);
uint32_t g4_debug_capacity(const struct g4_debug *debug, uint32_t unit);
/* Where the n-th thread of a unit runs (spec/60 9.4 D14): euid << 8 | tid. */
uint32_t g4_debug_place(const struct g4_debug *debug, uint32_t unit, uint32_t n);

/* ---- vertices (origins.c) ---- */

void g4_debug_begin_range(struct g4_debug *debug);
/* A vertex was fetched to `rows`; false: the draw is to end. */
bool g4_debug_fetched(struct g4_debug *debug, const void *rows, const struct g4_debug_origin *origin, bool shaded);
/* The same vertex as the thread knows it; G4_DEBUG_NONE: not known. */
uint32_t g4_debug_find(const struct g4_debug *debug, const void *rows);
/* Thread t of a gang of GS or CLIP has put out vertex `output`. */
void g4_debug_put_out(struct g4_debug *debug, const struct g4_gang *gang, int t, uint32_t output, const void *rows);
/* Vertex shader threads of these entries, in the gang of the worker. */
enum g4_status g4_debug_start_vertices(struct g4_worker *worker, const struct g4_entries *entries, uint32_t first,
                                       uint32_t per_thread, int count);
struct g4_debug_object {
    const struct g4_setup *setup;
    const struct g4_vertex *v[3];
    uint32_t vertices;
};
/* Setup threads of these objects, in the gang of the worker. */
enum g4_status g4_debug_start_setup(struct g4_worker *worker, const struct g4_debug_object *object, int count);

/* ---- the EU (instructions.c, messages.c) ---- */

enum g4_status g4_debug_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);
/* A thread has met an exception that it enables; true: the debugger has dealt with it. */
bool g4_debug_exception(struct g4_run *run, int thread, uint32_t which);
extern g4_message_fn *const g4_debug_functions[G4_FUNCTIONS];
/* Registers of a thread that an instruction touches and that are in flight; -1: none. */
int g4_debug_touches_in_flight(const struct g4_debug_gang *known, int t, const struct g4_op *op);

/* ---- fragments (fragments.c) ---- */

/* The subspan's pixel that is watched, or -1. */
int g4_debug_watched(const struct g4_debug *debug, uint32_t x, uint32_t y);

/* The windower's view of the watched pixel, before and after each of its steps. */
struct g4_debug_coverage {
    bool covered;
    float z;
    uint32_t depth[2];
};
void g4_debug_covered(struct g4_worker *worker, const struct g4_setup *setup, bool lit, bool stippled,
                      struct g4_debug_coverage *coverage, float z);
void g4_debug_early(struct g4_worker *worker, const struct g4_setup *setup, bool passed, bool threads,
                    const struct g4_debug_coverage *coverage);

/* The colour calculator's view of a message. */
struct g4_debug_pixel {
    struct g4_debug *debug;
    struct g4_gang *gang;
    int thread;
    bool last;
    struct g4_target *target;
    uint32_t slice;
    int index; /* of the pixel in the message; -1: not there */
    uint32_t x, y;
    uint32_t tested; /* after the alpha test */
    uint32_t colored, passed;
    float z;
    uint32_t depth[2];
    float color[4];
    uint8_t before[G4_PIXEL_BYTES];
};
void g4_debug_pixel_message(struct g4_debug_pixel *pixel, const uint32_t *const header[2], uint32_t type);
void g4_debug_pixel_begin(struct g4_debug_pixel *pixel, const struct g4_pixels *pixels);
void g4_debug_pixel_end(struct g4_debug_pixel *pixel, const struct g4_pixels *pixels, bool tested, bool back_facing);

#endif
