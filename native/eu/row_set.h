/*
 * A set of registers, by number.
 */
#ifndef G4_EU_ROW_SET_H
#define G4_EU_ROW_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "eu/gang.h"
#include "eu/op.h"

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

/* Add the registers of a direct source of an instruction, in all of its passes. */
void g4_row_set_add_region(struct g4_row_set *set, const struct g4_op *op, const struct g4_src *src);

#endif
