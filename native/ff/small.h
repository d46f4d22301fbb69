/*
 * Small triangles, as their set-up objects keep them.
 */
#ifndef G4_FF_SMALL_H
#define G4_FF_SMALL_H

#include "../variant.h"
#include "sf_setup.h"

enum {
    G4_SMALL_SIZE = 8,                  /* pixels across and down */
    G4_SMALL_REACH = 32 * G4_ONE_PIXEL, /* from corner to corner: products of two fit into 32 bits */
};

struct g4_small_ops {
    /* The pixels of a triangle with an area, within its bounds: bit 8 * j + i is pixel (x_min + i, y_min + j). */
    uint64_t (*mask)(const struct g4_setup *setup);
};

G4_VARIANT_DECLARE(struct g4_small_ops, g4_small_ops);

#endif
