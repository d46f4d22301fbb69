/*
 * What every unit of the pipeline is handed: the device, the state of the running hardware context, the ports to
 * memory.
 */
#ifndef G4_CONTEXT_H
#define G4_CONTEXT_H

#include "api/border.h"
#include "core/memory.h"
#include "hw.h"

/* The generation of a device, as G4_GEN_* bits of the generated header.  Exactly one bit is set. */
static inline bool g4_is_gen45(uint32_t gen) {
    return (gen & G4_GEN_GEN45) != 0;
}

struct g4_debug; /* debugger/debug.h */

struct g4_context {
    struct g4_mem *mem;
    uint32_t gen;
    uint32_t urb_units; /* rows of 512 bits: 256 or 384 */
    uint32_t max_threads;
    struct g4_options options;
    struct g4_state *state; /* of the running hardware context */
    struct g4_debug *debug; /* NULL: nobody debugs */
};

/* Instructions that the threads of one draw may execute before it counts as a hang. */
static inline uint64_t g4_watchdog(const struct g4_options *options) {
    return (options->watchdog ? options->watchdog : 20000u) * UINT64_C(1000000);
}

#endif
