/*
 * A dispatch of thread groups, without its encoding: a loader of the model fills it (core/model.h, load_compute).
 */
#ifndef G4_COMPUTE_STATE_H
#define G4_COMPUTE_STATE_H

#include "core/context.h"
#include "core/dispatch.h"

struct g4_kernel; /* eu/kernel.h */
struct g4_kernel_cache;

enum {
    G4_GROUP_THREADS = 128,          /* more do not fit on a half-slice of any chip */
    G4_SHARED_MEMORY_BYTES = 0x10000 /* that a group can have */
};

struct g4_compute_state {
    struct g4_dispatch dispatch;
    const struct g4_kernel *kernel;
    uint32_t channels;         /* of a thread: 8, 16 or 32 */
    uint32_t threads[3];       /* of a group: across, down, deep */
    uint32_t first[3], end[3]; /* numbers of the groups along x, y and z; `end` is exclusive */
    uint32_t right_mask;       /* channels of the last threads across */
    uint32_t bottom_mask;      /* channels of the last threads down */

    /* Constants in the payload, in rows of 256 bits; in memory the rows that all threads share come first, then those
     * of each thread. */
    uint32_t shared_rows, thread_rows;
    uint32_t first_row;             /* of the constants in `constants` */
    const uint32_t (*constants)[8]; /* `constant_rows` of them; rows beyond are 0 */
    uint32_t constant_rows;
    /* The walker's indirect data, which replace the constants.  Payloads then have a thread's own rows before the
     * shared ones (docs/decisions.md 225). */
    uint32_t indirect_bytes; /* 0: none */
    g4_address indirect_address;

    uint32_t shared_bytes;    /* shared local memory of a group */
    uint32_t barrier_threads; /* messages that open a barrier */
};

static inline uint32_t g4_group_threads(const struct g4_compute_state *state) {
    return state->threads[0] * state->threads[1] * state->threads[2];
}

/* Models point to this (core/model.h). */
g4_load_compute_fn g4_load_compute_gen7, g4_load_compute_gen9;

#endif
