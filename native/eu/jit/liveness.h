/*
 * Which registers and flags may be read again.
 */
#ifndef G4_EU_JIT_LIVENESS_H
#define G4_EU_JIT_LIVENESS_H

#include "eu/kernel.h"

/* What may be read again. */
struct g4_live {
    struct g4_row_set rows, rows_across; /* across: those that instructions may read in lanes of other channels */
    uint16_t mrf;                        /* a bit for each register */
    uint8_t flags, flags_across;         /* a bit for each flag register */
    uint8_t flags_after;                 /* after the op */
};

/* Whether a row of the GRF, or after these of the MRF, is live. */
static inline bool g4_live_has(const struct g4_live *live, unsigned row) {
    return row < G4_GRF_COUNT ? g4_row_set_has(&live->rows, row) : live->mrf >> (row - G4_GRF_COUNT) & 1;
}

/* What is live before each op, and before the end; NULL: not known, or no memory. */
struct g4_live *g4_liveness(const struct g4_kernel *kernel);

#endif
