/*
 * Which rows of the GRF may be read again.
 */
#ifndef G4_EU_JIT_LIVENESS_H
#define G4_EU_JIT_LIVENESS_H

#include "eu/kernel.h"

/* The rows that may be read before each op, and before the end; NULL: not known, or no memory. */
struct g4_row_set *g4_row_liveness(const struct g4_kernel *kernel);

#endif
