/*
 * Which rows of the GRF may be read again.
 */
#ifndef G4_EU_JIT_LIVENESS_H
#define G4_EU_JIT_LIVENESS_H

#include "eu/kernel.h"

struct g4_row_set {
    uint64_t bits[G4_GRF_COUNT / 64];
};

static inline void g4_row_set_add(struct g4_row_set *set, unsigned row) {
    if (row < G4_GRF_COUNT) {
        set->bits[row / 64] |= UINT64_C(1) << row % 64;
    }
}

static inline void g4_row_set_remove(struct g4_row_set *set, unsigned row) {
    if (row < G4_GRF_COUNT) {
        set->bits[row / 64] &= ~(UINT64_C(1) << row % 64);
    }
}

/* Rows outside of the GRF always are. */
static inline bool g4_row_set_has(const struct g4_row_set *set, unsigned row) {
    return row >= G4_GRF_COUNT || (set->bits[row / 64] >> row % 64 & 1);
}

/* The rows that may be read before each op, and before the end; NULL: not known, or no memory. */
struct g4_row_set *g4_row_liveness(const struct g4_kernel *kernel);

#endif
