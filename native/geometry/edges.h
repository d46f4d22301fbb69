/*
 * Edge functions of many pixels at a time: built once per vector variant.
 */
#ifndef G4_EDGES_H
#define G4_EDGES_H

#include "core/variant.h"
#include "geometry/setup.h"

enum {
    G4_SMALL_SIZE = 8,                  /* pixels across and down */
    G4_SMALL_REACH = 32 * G4_ONE_PIXEL, /* from corner to corner: products of two fit into 32 bits */
};

/* An edge's function at pixel (i, j) of a tile is value + j * dx - i * dy: inside where it is not negative.
 *
 * It is the determinant of the edge and the point, less one for edges that exclude their points, and more for those of
 * conservative triangles, divided by 256 and rounded down: pixels lie 256 units apart, so the sign at every pixel stays
 * the same. */
struct g4_edge {
    int64_t value;
    int32_t dx, dy;
};

struct g4_edge_ops {
    /* The pixels of a triangle with an area, within its bounds: bit 8 * j + i is pixel (x_min + i, y_min + j). */
    uint64_t (*mask)(const struct g4_setup *setup);
    /* Clear the pixels outside of any edge in rows top..bottom of a tile.  Other rows become undefined. */
    void (*cut)(const struct g4_edge *edge, uint32_t edges, int32_t top, int32_t bottom, uint32_t *row);
};

G4_VARIANT_DECLARE(struct g4_edge_ops, g4_edge_ops);

#endif
