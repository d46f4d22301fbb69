/*
 * The device: draws and their effects (draw/device.c, draw/draw.c).
 */
#ifndef G4_API_DEVICE_H
#define G4_API_DEVICE_H

#include "api/memory.h"
#include "api/state.h"

enum {
    G4_SURFACE_STATE_DWORDS = 16 /* of the longest SURFACE_STATE */
};

struct g4_options {
    bool round_to_nearest;  /* docs/decisions.md 1; else the EU rounds toward zero */
    bool general_only;      /* no fast paths in the EU and other units */
    bool poison;            /* fill uninitialised registers with a pattern instead of 0 */
    bool dither_all;        /* docs/decisions.md 13; else only channels below 8 bits dither */
    bool gateway_time;      /* GetTimeStamp, which the descriptors of Gen4 reserve */
    bool translate_at_once; /* kernels become machine code when they are decoded, not when it pays; for tests */
    bool min_lod_erratum;   /* docs/decisions.md 35; else a fraction of Min LOD has no effect unless mips are blended */
    bool draws_apart;       /* a draw ends before the next one starts; for tests */
    uint32_t hierarchical_depth; /* enum g4_hierarchical_depth_mode */
    uint32_t watchdog;           /* million instructions a draw may execute before it hangs; 0: the default */
    uint32_t workers;            /* threads that share the screen tiles; 0: one for each processor */
};

struct g4_device;

/* Counts since g4_device_new. */
struct g4_device_counts {
    uint64_t draws, vertices, objects, setups, tiles;
    uint64_t instructions; /* executed by EU threads */
    uint64_t channel_ops;
    uint64_t messages[16];           /* by shared function */
    uint64_t geometry_ns, raster_ns; /* wall time of the two phases of draws */
    uint64_t joined;                 /* draws whose tiles were drawn together with those of the draw before */
};

/* The work of hierarchical depth since g4_device_new.  Bytes are those that the hardware would move: what the emulator
 * reads to check an entry does not count. */
struct g4_hiz_counts {
    uint64_t groups_tested, halves_tested;
    uint64_t passed, failed, undecided, plane_exact; /* halves */
    uint64_t entry_read_bytes, entry_write_bytes;
    uint64_t depth_read_bytes, depth_write_bytes;
    uint64_t expand_bytes, fill_bytes, resolve_bytes;             /* depths that entries stood for until then */
    uint64_t base_read_bytes, base_write_bytes, base_clear_bytes; /* of a depth buffer without entries */
    uint64_t contradictions;                                      /* entries that do not fit the depth buffer */
};

/* What a draw or dispatch is doing. */
enum g4_draw_step {
    G4_DRAW_STEP_NONE,
    G4_DRAW_STEP_OBJECTS, /* ranges of objects are assembled and set up */
    G4_DRAW_STEP_TILES,   /* tiles are drawn */
    G4_DRAW_STEP_GROUPS   /* thread groups run */
};

struct g4_draw_progress {
    uint32_t step;         /* enum g4_draw_step */
    uint32_t begun, count; /* of its ranges, tiles or groups; a large draw has several steps of each kind */
};

struct g4_device *g4_device_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options);
void g4_device_free(struct g4_device *device);
/* Set the state that draws use.  The caller keeps ownership. */
void g4_device_use(struct g4_device *device, struct g4_state *state);
/* Allocate what the first draws need, so that the first batch takes less time.  If memory is short, the rest is
 * allocated on demand. */
void g4_device_prepare(struct g4_device *device);
/* Run one 3DPRIMITIVE, a whole command. G4_HANG: the watchdog expired. */
enum g4_status g4_device_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault);
/* Run one GPGPU_WALKER, a whole command whose dimensions are in it.  G4_BAD_VALUE: it cannot be executed; the fault has
 * the number of threads of a group or of channels of a thread that is not possible.  G4_HANG: the watchdog expired, or
 * threads wait for each other. */
enum g4_status g4_device_compute(struct g4_device *device, const uint32_t *walker, struct g4_fault *fault);
/* SURFACE_STATEs, as long as the chip's, of the render targets that the last draw's pixel shader names; at most
 * `capacity` of them.  Returns how many. */
uint32_t g4_device_targets(struct g4_device *device, uint32_t (*states)[G4_SURFACE_STATE_DWORDS], uint32_t capacity);

/* The depth buffer of the last draw. */
struct g4_depth_target {
    uint32_t type;      /* enum g4_depth_surface_type */
    uint32_t format;    /* enum g4_depth_format */
    g4_address address; /* 0: none */
    uint32_t pitch_bytes, width, height;
    uint32_t tiling; /* enum g4_tiling */
    uint32_t level, slice;
};
void g4_device_depth_target(const struct g4_device *device, struct g4_depth_target *target);
/* Draw only the objects whose number in R0.7 lies in first..last.  All objects are numbered and counted. */
void g4_device_objects_range(struct g4_device *device, uint32_t first, uint32_t last);
/* Number objects from 0 again. */
void g4_device_restart_objects(struct g4_device *device);
struct g4_event_count g4_device_event(const struct g4_device *device, enum g4_event event);
/* Failed accesses of draws. */
const struct g4_fault_log *g4_device_faults(const struct g4_device *device);
void g4_device_counts(const struct g4_device *device, struct g4_device_counts *counts);
/* For any thread; it does not slow down the draw.  `begun` and `count` may come from different moments. */
void g4_device_progress(const struct g4_device *device, struct g4_draw_progress *progress);
/* Let the calling thread, which executes the device's commands, run on another processor. */
void g4_device_leave_processor(struct g4_device *device);

void g4_device_hiz_counts(const struct g4_device *device, struct g4_hiz_counts *counts);

struct g4_error_record g4_device_error(const struct g4_device *device, uint32_t function);

#endif
