/*
 * The tessellator: from the factors of a patch to points of its domain, and the objects between them (IVB PRM vol. 2
 * part 1, "Tessellation Engine (TE) Stage"; the algorithm is the fixed-point one of Direct3D 11).
 */
#ifndef G4_TESSELLATOR_H
#define G4_TESSELLATOR_H

#include "core/draw_state.h"

/* The factors of a patch.  Quads have four edges, U = 0, V = 0, U = 1 and V = 1, and two inner factors, along U and
 * along V; triangles three edges, U = 0, V = 0 and W = 0, and one inner factor; isolines edge[0] is their density,
 * edge[1] their detail. */
struct g4_tessellation_factors {
    float edge[4], inside[2];
};

/* A point of the domain: 16 bits of fraction, 1.0 is 0x10000. */
struct g4_domain_point {
    uint32_t u, v;
};

enum {
    G4_DOMAIN_ONE = 0x10000,
    G4_DOMAIN_POINTS = 65 * 65, /* at most, of a patch */
    G4_DOMAIN_INDICES = 3 * 2 * 64 * 64,
};

/* The output for one patch. */
struct g4_domain {
    uint32_t points;
    struct g4_domain_point point[G4_DOMAIN_POINTS];
    uint32_t indices; /* of points, by object: one, two or three */
    uint16_t index[G4_DOMAIN_INDICES];
};

/* Tessellate a patch.  Without points: the patch is culled. */
void g4_tessellate_patch(const struct g4_tessellator_state *state, const struct g4_tessellation_factors *factors,
                         struct g4_domain *out);

#endif
