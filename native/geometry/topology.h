/*
 * Primitive topologies and the objects that they consist of (G45 PRM vol. 2, 3.7, 5.4.1, 6.7.1 and 7.2).
 */
#ifndef G4_TOPOLOGY_H
#define G4_TOPOLOGY_H

#include "core/context.h"

/* Beyond the topologies of Gen4: patches, from Gen7 on, and quads and loops without a geometry shader, which Gen6 and
 * later draw as polygons and lines (docs/decisions.md 89). */
enum {
    G4_TOPOLOGY_PATCHES = 32, /* a list of patches of one vertex; the next ones have more, up to 32 */
    G4_TOPOLOGY_DRAWN_QUADLIST = 64,
    G4_TOPOLOGY_DRAWN_QUADSTRIP,
    G4_TOPOLOGY_DRAWN_LINELOOP,
    G4_TOPOLOGIES,

    G4_PATCH_VERTICES = 32, /* at most, of a patch */
};

/* The topology that the stages before a clipper of Gen6 see instead of one that only a geometry shader takes. */
uint32_t g4_topology_drawn(uint32_t topology);

/* The vertices that complete objects of a primitive of n vertices use. */
uint32_t g4_topology_used(uint32_t topology, uint32_t n);
/* Objects in a primitive of `used` vertices, as the GS sees them (LINELOOP closes). */
uint32_t g4_topology_objects(uint32_t topology, uint32_t used);
/* The objects that IA_PRIMITIVES_COUNT counts, with or without the closing segment of a LINELOOP. */
uint32_t g4_topology_counted(uint32_t topology, uint32_t used, bool with_loop_end);
/* PrimitiveID of the vertex at `position`, from the primitive's first (G45 PRM vol. 2, 3.6.13). */
uint32_t g4_topology_primitive_id(uint32_t topology, uint32_t position);

/* The vertices of a patch; 0: the topology has no patches. */
static inline uint32_t g4_topology_patch_vertices(uint32_t topology) {
    return topology - G4_TOPOLOGY_PATCHES < G4_PATCH_VERTICES ? topology - G4_TOPOLOGY_PATCHES + 1 : 0;
}

/* How the odd triangles of a strip are presented to a geometry shader. */
enum g4_odd_triangles {
    G4_ODD_AS_THEY_ARE, /* in the order of the strip, without adjacency */
    G4_ODD_FIRST_FIRST, /* with the winding of the even ones: their first vertex stays first */
    G4_ODD_LAST_LAST,   /* their last vertex stays last */
};

/* Vertex positions of object k, in the payload order of a GS thread; returns how many.  `gs_topology` is what R0.2
 * says. */
uint32_t g4_topology_gs_object(uint32_t topology, uint32_t used, uint32_t k, enum g4_odd_triangles odd,
                               bool discard_adjacency, uint32_t position[G4_PATCH_VERTICES], uint32_t *gs_topology);

/* Edge indicators of R0.2, bits 8 and 9: whether the first and the last edge of triangle k are a POLYGON's own. */
uint32_t g4_topology_edges(uint32_t topology, uint32_t k, bool last);

/* An object as CLIP and SF see it. */
struct g4_topology_object {
    uint8_t type;     /* enum g4_object_type */
    uint8_t vertices; /* 1..3 */
    uint8_t topology; /* adjacency removed, strips by the object's own parity: R0.2 of CLIP, R1.0 of SF */
    bool invert, back_facing, poly_stipple, continue_stipple;
    uint8_t inner_edges;    /* bit i: the edge from vertex i to the next is not one of the primitive */
    uint8_t provoking_kind; /* enum g4_provoking */
    uint32_t position[3];
};

/* Which field of SF_STATE picks the provoking vertex. */
enum g4_provoking {
    G4_PROVOKING_FIRST,
    G4_PROVOKING_LINE,
    G4_PROVOKING_TRIANGLE,
    G4_PROVOKING_FAN
};

/* False for topologies that only a GS may take (quads, loops) and for reserved codes.  `used` vertices form the
 * primitive, of which the last object of a loop goes back to the first. */
bool g4_topology_object(uint32_t topology, uint32_t used, uint32_t k, struct g4_topology_object *object);

#endif
