/*
 * The context of all units of a device: memory, model, options, and the state of the running hardware context.
 */
#ifndef G4_CONTEXT_H
#define G4_CONTEXT_H

#include "api/device.h"
#include "core/memory.h"
#include "core/model.h"
#include "hw_enums.h"

struct g4_hooks;     /* core/hooks.h */
struct g4_hiz_watch; /* color/hiz_buffer.h */
struct g4_surface;

/* Hears of each surface that a worker loads, on any worker's thread. */
struct g4_surface_watch {
    void (*loaded)(struct g4_surface_watch *watch, const struct g4_surface *surface);
};

enum {
    G4_WAITING_DRAWS = 128, /* whose pixels are drawn together (draw/draw.c) */
    G4_WAITING_STATES = 48, /* different ones among these draws */
};

struct g4_context {
    struct g4_mem *mem;
    const struct g4_model *model;
    uint32_t gen; /* the model's layout_gen, for the generated unpack functions */
    struct g4_options options;
    struct g4_state *state;                 /* of the running hardware context */
    struct g4_hooks *hooks;                 /* NULL unless an observer is attached */
    bool keeps_registers;                   /* registers of ended threads are read */
    struct g4_hiz_watch *hiz_watch;         /* NULL unless reads of unresolved depth are reported */
    struct g4_surface_watch *surface_watch; /* NULL: none */
};

/* The unit of options.watchdog in instructions.  Fuzzing needs short executions. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define G4_WATCHDOG_UNIT UINT64_C(2000)
#else
#define G4_WATCHDOG_UNIT UINT64_C(1000000)
#endif

enum {
    G4_WATCHDOG_VERTEX_COST = 64, /* instructions that a vertex counts as */
};

/* Instructions that the threads of one draw may execute on each worker before it counts as a hang. */
static inline uint64_t g4_watchdog(const struct g4_options *options) {
    return (options->watchdog ? options->watchdog : 20000u) * G4_WATCHDOG_UNIT;
}

#endif
