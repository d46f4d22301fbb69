/*
 * Records the vertices and objects of a draw after each stage.
 *
 * While a device records, the ranges of a draw run in order on one thread; g4_chunk.mesh is NULL otherwise.
 */
#ifndef G4_MESH_H
#define G4_MESH_H

#include "api/mesh.h"
#include "geometry/stage.h"

struct g4_mesh;

/* NULL without memory. */
struct g4_mesh *g4_mesh_new(void);
void g4_mesh_free(struct g4_mesh *mesh);
bool g4_mesh_records(const struct g4_mesh *mesh, enum g4_mesh_stage stage, struct g4_mesh_records *records);

void g4_mesh_begin_draw(struct g4_mesh *mesh);
/* The vertices of the range before are gone. */
void g4_mesh_begin_range(struct g4_mesh *mesh);

/* Add a vertex unless it is there.  `number` and `instance`: as in g4_mesh_vertex. */
void g4_mesh_add_vertex(struct g4_mesh *mesh, enum g4_mesh_stage stage, const struct g4_sf_frame *frame,
                        const struct g4_vertex *vertex, uint32_t number, uint32_t instance);
/* Add the objects of a strip whose vertices have been added.  Returns the number of the first one, or G4_MESH_NONE if
 * there is no room for all of them. */
uint32_t g4_mesh_add_objects(struct g4_mesh *mesh, enum g4_mesh_stage stage, const struct g4_strip *strip,
                             const struct g4_vertex *const *vertex);
/* Add the objects between CLIP and SF, of which chunk->setup has those that SF keeps. */
void g4_mesh_add_clipped(struct g4_mesh *mesh, const struct g4_sf_frame *frame, const struct g4_chunk *chunk);

#endif
