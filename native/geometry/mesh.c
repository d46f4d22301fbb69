#include "geometry/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "geometry/setup.h"

enum {
    SLOTS = 1 << 17 /* of the table of vertices, which hold at most three stages */
};

/* A vertex of the current range, by its address. */
struct slot {
    const struct g4_vertex *vertex;
    uint32_t range;
    uint32_t stage, number;
};

/* An array that grows. */
struct list {
    void *item;
    size_t size;
    uint32_t count, capacity;
};

struct stage_records {
    struct list vertex, object, corner, row;
    bool full;
};

struct g4_mesh {
    struct stage_records stage[G4_MESH_STAGES];
    uint32_t range; /* so far, in all draws: marks slots that are in use */
    bool no_memory;
    struct slot slot[SLOTS];
};

struct g4_mesh *g4_mesh_new(void) {
    struct g4_mesh *const mesh = calloc(1, sizeof *mesh);

    for (int s = 0; mesh && s < G4_MESH_STAGES; s++) {
        struct stage_records *const records = &mesh->stage[s];
        records->vertex.size = sizeof(struct g4_mesh_vertex);
        records->object.size = sizeof(struct g4_mesh_object);
        records->corner.size = sizeof(uint32_t);
        records->row.size = 8 * sizeof(uint32_t);
    }
    return mesh;
}

void g4_mesh_free(struct g4_mesh *mesh) {
    if (!mesh) {
        return;
    }
    for (int s = 0; s < G4_MESH_STAGES; s++) {
        free(mesh->stage[s].vertex.item);
        free(mesh->stage[s].object.item);
        free(mesh->stage[s].corner.item);
        free(mesh->stage[s].row.item);
    }
    free(mesh);
}

bool g4_mesh_records(const struct g4_mesh *mesh, enum g4_mesh_stage stage, struct g4_mesh_records *records) {
    const struct stage_records *const found = &mesh->stage[stage];

    *records = (struct g4_mesh_records){
        .vertex = found->vertex.item,
        .object = found->object.item,
        .corner = found->corner.item,
        .row = found->row.item,
        .vertices = found->vertex.count,
        .objects = found->object.count,
        .corners = found->corner.count,
        .rows = found->row.count,
        .complete = !found->full,
    };
    return !mesh->no_memory;
}

void g4_mesh_begin_draw(struct g4_mesh *mesh) {
    mesh->no_memory = false;
    for (int s = 0; s < G4_MESH_STAGES; s++) {
        struct stage_records *const records = &mesh->stage[s];
        records->vertex.count = records->object.count = records->corner.count = records->row.count = 0;
        records->full = false;
    }
}

void g4_mesh_begin_range(struct g4_mesh *mesh) {
    if (++mesh->range == 0) { /* marks of ranges long ago would count again */
        memset(mesh->slot, 0, sizeof mesh->slot);
        mesh->range = 1;
    }
}

/* `count` new items; NULL if memory is short. */
static void *append(struct g4_mesh *mesh, struct list *list, uint32_t count) {
    if (list->count + count > list->capacity) {
        const uint32_t capacity = 2 * (list->count + count) + 64;
        void *const item = realloc(list->item, capacity * list->size);
        if (!item) {
            mesh->no_memory = true;
            return NULL;
        }
        list->item = item;
        list->capacity = capacity;
    }
    void *const first = (char *)list->item + list->count * list->size;
    list->count += count;
    return first;
}

/* The slot of a vertex, or the free one that it may take. */
static struct slot *slot_of(struct g4_mesh *mesh, const struct g4_vertex *vertex) {
    uint32_t i = (uint32_t)((uintptr_t)vertex / 8 * 2654435761u >> 8) % SLOTS;

    while (mesh->slot[i].range == mesh->range && mesh->slot[i].vertex != vertex) {
        i = (i + 1) % SLOTS;
    }
    return &mesh->slot[i];
}

/* The number of a vertex in the stage; G4_MESH_NONE: it has not been added. */
static uint32_t number_of(struct g4_mesh *mesh, enum g4_mesh_stage stage, const struct g4_vertex *vertex) {
    const struct slot *const slot = slot_of(mesh, vertex);
    return slot->range == mesh->range && slot->stage == stage ? slot->number : G4_MESH_NONE;
}

/* A new vertex; NULL if there is no room. */
static struct g4_mesh_vertex *new_vertex(struct g4_mesh *mesh, enum g4_mesh_stage stage, uint32_t limit) {
    struct stage_records *const records = &mesh->stage[stage];

    records->full = records->full || records->vertex.count >= limit;
    return records->full ? NULL : append(mesh, &records->vertex, 1);
}

static void put_window(const struct g4_sf_frame *frame, const struct g4_vertex *from, struct g4_mesh_vertex *to) {
    struct g4_vertex vertex = *from;

    if (vertex.position == G4_VERTEX_UNTRANSFORMED) {
        g4_sf_transform(frame, &vertex, 1);
    }
    to->has_window = vertex.position == G4_VERTEX_TRANSFORMED;
    if (to->has_window) {
        to->window[0] = (float)vertex.screen_x / G4_ONE_PIXEL + frame->bias_x;
        to->window[1] = (float)vertex.screen_y / G4_ONE_PIXEL + frame->bias_y;
        to->window[2] = vertex.screen_z;
    }
}

void g4_mesh_add_vertex(struct g4_mesh *mesh, enum g4_mesh_stage stage, const struct g4_sf_frame *frame,
                        const struct g4_vertex *vertex, uint32_t number, uint32_t instance) {
    struct list *const row = &mesh->stage[stage].row;
    struct slot *const slot = slot_of(mesh, vertex);
    const uint32_t rows = vertex->row_count < G4_MESH_ROWS ? vertex->row_count : G4_MESH_ROWS;

    if (slot->range == mesh->range) {
        return;
    }
    struct g4_mesh_vertex *const to = new_vertex(mesh, stage, G4_MESH_LIMIT);
    if (!to) {
        return;
    }
    *to = (struct g4_mesh_vertex){.number = number, .instance = instance, .first_row = row->count, .rows = rows};
    if (rows) {
        memcpy(to->position, vertex->rows[0] + 4, sizeof to->position);
        void *const copy = append(mesh, row, rows);
        if (copy) {
            memcpy(copy, vertex->rows, rows * sizeof vertex->rows[0]);
        }
    }
    if (vertex->position == G4_VERTEX_TRANSFORMED) { /* not before the last shader */
        put_window(frame, vertex, to);
    }
    *slot = (struct slot){
        .vertex = vertex,
        .range = mesh->range,
        .stage = stage,
        .number = mesh->stage[stage].vertex.count - 1,
    };
}

/* Add an object; false if there is no room. */
static bool add_object(struct g4_mesh *mesh, enum g4_mesh_stage stage, const uint32_t *corner, uint32_t count,
                       bool set_up) {
    struct stage_records *const records = &mesh->stage[stage];
    const uint32_t first = records->corner.count;
    uint32_t *const corners = append(mesh, &records->corner, count);
    struct g4_mesh_object *const object = append(mesh, &records->object, 1);

    if (!corners || !object) {
        return false;
    }
    memcpy(corners, corner, count * sizeof *corner);
    *object = (struct g4_mesh_object){.first = first, .count = count, .set_up = set_up};
    return true;
}

/* The positions of object k of a strip, without adjacency where there is another way to see the object. */
static uint32_t positions_of(const struct g4_strip *strip, uint32_t k, uint32_t position[G4_PATCH_VERTICES]) {
    struct g4_topology_object o;
    uint32_t unused;

    if (!g4_topology_object(strip->topology, strip->vertices, k, &o)) {
        return g4_topology_gs_object(strip->topology, strip->vertices, k, G4_ODD_AS_THEY_ARE, false, position, &unused);
    }
    memcpy(position, o.position, sizeof o.position);
    return o.vertices;
}

uint32_t g4_mesh_add_objects(struct g4_mesh *mesh, enum g4_mesh_stage stage, const struct g4_strip *strip,
                             const struct g4_vertex *const *vertex) {
    const uint32_t first = mesh->stage[stage].object.count;

    for (uint32_t i = 0; i < strip->objects; i++) {
        uint32_t position[G4_PATCH_VERTICES] = {0};
        const uint32_t count = positions_of(strip, strip->first_object + i, position);
        for (uint32_t v = 0; v < count; v++) {
            position[v] = number_of(mesh, stage, g4_strip_vertex(strip, vertex, position[v]));
            if (position[v] == G4_MESH_NONE) {
                return G4_MESH_NONE;
            }
        }
        if (!add_object(mesh, stage, position, count, false)) {
            return G4_MESH_NONE;
        }
    }
    return first;
}

/* ---- after CLIP ---- */

/* The stage of the last shader: its vertices are those that CLIP takes. */
static enum g4_mesh_stage last_shader(const struct g4_mesh *mesh) {
    return mesh->stage[G4_MESH_GS].vertex.count   ? G4_MESH_GS
           : mesh->stage[G4_MESH_DS].vertex.count ? G4_MESH_DS
                                                  : G4_MESH_VS;
}

static void find_sources(struct g4_mesh *mesh, const struct g4_object *object, uint32_t corner,
                         struct g4_mesh_vertex *to) {
    const enum g4_mesh_stage stage = last_shader(mesh);
    const struct g4_clipped *const clipped = object->clipped;
    const struct g4_vertex *const *v = &object->v[corner];
    uint32_t count = 1;

    if (clipped) {
        const uint32_t of_corner = clipped->whole >> corner & 1;
        v = clipped->v;
        count = clipped->vertices;
        for (uint32_t i = 0; of_corner && i < count; i++) { /* the vertex with all the weight */
            const float weight = i ? clipped->weight[corner][i - 1]
                                   : 1 - clipped->weight[corner][0] - (count > 2 ? clipped->weight[corner][1] : 0);
            if (weight == 1) {
                v += i;
                count = 1;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        to->source[i] = number_of(mesh, stage, v[i]);
        if (to->source[i] == G4_MESH_NONE) {
            return;
        }
    }
    to->sources = (uint8_t)count;
}

void g4_mesh_add_clipped(struct g4_mesh *mesh, const struct g4_sf_frame *frame, const struct g4_chunk *chunk) {
    struct stage_records *const records = &mesh->stage[G4_MESH_CLIP];
    const uint32_t first_object = records->object.count;

    for (uint32_t i = 0; i < chunk->objects; i++) {
        const struct g4_object *const object = &chunk->object[i];
        uint32_t corner[3];
        if (records->vertex.count + object->vertices > G4_MESH_LIMIT) {
            records->full = true;
            break;
        }
        for (uint32_t v = 0; v < object->vertices; v++) {
            const struct g4_vertex *const from = object->v[v];
            struct g4_mesh_vertex *const to = new_vertex(mesh, G4_MESH_CLIP, G4_MESH_LIMIT);
            if (!to) {
                return;
            }
            *to = (struct g4_mesh_vertex){.position = {from->x, from->y, from->z, from->rhw}};
            put_window(frame, from, to);
            find_sources(mesh, object, v, to);
            corner[v] = records->vertex.count - 1;
        }
        if (!add_object(mesh, G4_MESH_CLIP, corner, object->vertices, false)) {
            return;
        }
    }
    const uint32_t recorded = records->object.count - first_object;
    struct g4_mesh_object *const object = records->object.item;
    for (uint32_t i = 0; i < chunk->setups; i++) {
        if (chunk->setup[i].primitive < recorded) {
            object[first_object + chunk->setup[i].primitive].set_up = true;
        }
    }
}
