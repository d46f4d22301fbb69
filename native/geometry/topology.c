#include "geometry/topology.h"

#include "geometry/object.h"

#define T(name) G4_PRIMITIVE_TOPOLOGY_##name

/* How a primitive of N vertices becomes objects: object k starts at vertex k * step and takes `size` vertices. */
static const struct shape {
    uint8_t size, step; /* 0: no such topology */
    uint8_t s, r;       /* the counters of PrimitiveID */
} shapes[G4_TOPOLOGIES] = {
    [T(POINTLIST)] = {1, 1, 1, 0},
    [T(POINTLIST_BF)] = {1, 1, 1, 0},
    [T(LINELIST)] = {2, 2, 1, 1},
    [T(LINELIST_ADJ)] = {4, 4, 1, 3},
    [T(LINESTRIP)] = {2, 1, 2, 0},
    [T(LINESTRIP_BF)] = {2, 1, 2, 0},
    [T(LINESTRIP_CONT)] = {2, 1, 2, 0},
    [T(LINESTRIP_CONT_BF)] = {2, 1, 2, 0},
    [T(LINESTRIP_ADJ)] = {4, 1, 3, 0},
    [T(LINELOOP)] = {2, 1, 2, 0},
    [T(TRILIST)] = {3, 3, 1, 2},
    [T(RECTLIST)] = {3, 3, 1, 2},
    [T(TRILIST_ADJ)] = {6, 6, 1, 5},
    [T(TRISTRIP)] = {3, 1, 3, 0},
    [T(TRISTRIP_REVERSE)] = {3, 1, 3, 0},
    [T(TRISTRIP_ADJ)] = {6, 2, 5, 1},
    [T(TRIFAN)] = {3, 1, 3, 0},
    [T(TRIFAN_NOSTIPPLE)] = {3, 1, 3, 0},
    [T(POLYGON)] = {3, 1, 3, 0},
    [T(QUADLIST)] = {4, 4, 1, 3},
    [T(QUADSTRIP)] = {4, 2, 3, 1},
    [G4_TOPOLOGY_DRAWN_QUADLIST] = {4, 4, 1, 3},
    [G4_TOPOLOGY_DRAWN_QUADSTRIP] = {4, 2, 3, 1},
    [G4_TOPOLOGY_DRAWN_LINELOOP] = {2, 1, 2, 0},
};

static struct shape shape_of(uint32_t topology) {
    const uint32_t patch = g4_topology_patch_vertices(topology);
    if (patch) {
        return (struct shape){.size = (uint8_t)patch, .step = (uint8_t)patch, .s = 1, .r = (uint8_t)(patch - 1)};
    }
    return shapes[topology < G4_TOPOLOGIES ? topology : 0];
}

uint32_t g4_topology_drawn(uint32_t topology) {
    switch (topology) {
    case T(QUADLIST):
        return G4_TOPOLOGY_DRAWN_QUADLIST;
    case T(QUADSTRIP):
        return G4_TOPOLOGY_DRAWN_QUADSTRIP;
    case T(LINELOOP):
        return G4_TOPOLOGY_DRAWN_LINELOOP;
    default:
        return topology;
    }
}

uint32_t g4_topology_used(uint32_t topology, uint32_t n) {
    const struct shape s = shape_of(topology);
    if (s.size == 0 || n < s.size) {
        return 0;
    }
    return s.size + (n - s.size) / s.step * s.step;
}

uint32_t g4_topology_counted(uint32_t topology, uint32_t used, bool with_loop_end) {
    const struct shape s = shape_of(topology);
    const bool loop = topology == T(LINELOOP) || topology == G4_TOPOLOGY_DRAWN_LINELOOP;
    if (used < s.size || s.size == 0) {
        return 0;
    }
    return (used - s.size) / s.step + 1 + (loop && with_loop_end);
}

uint32_t g4_topology_objects(uint32_t topology, uint32_t used) {
    const uint32_t counted = g4_topology_counted(topology, used, true);
    return topology == G4_TOPOLOGY_DRAWN_QUADLIST || topology == G4_TOPOLOGY_DRAWN_QUADSTRIP ? 2 * counted : counted;
}

uint32_t g4_topology_primitive_id(uint32_t topology, uint32_t position) {
    const struct shape s = shape_of(topology);
    return position < s.s ? 0 : (position - s.s + 1) / (s.r + 1u);
}

static uint32_t put(uint32_t *position, uint32_t a, uint32_t b, uint32_t c, uint32_t count) {
    position[0] = a;
    position[1] = b;
    position[2] = c;
    return count;
}

/* The even triangles of a strip have its winding, the odd ones the opposite. */
static uint32_t strip_triangle(uint32_t k, bool reversed, enum g4_odd_triangles odd, uint32_t *position,
                               uint32_t *gs_topology) {
    const bool flipped = ((k & 1) != 0) != reversed;
    *gs_topology = flipped ? T(TRISTRIP_REVERSE) : T(TRISTRIP);
    if (flipped && odd != G4_ODD_AS_THEY_ARE) {
        return odd == G4_ODD_FIRST_FIRST ? put(position, k, k + 2, k + 1, 3) : put(position, k + 1, k, k + 2, 3);
    }
    return put(position, k, k + 1, k + 2, 3);
}

static uint32_t strip_with_adjacency(uint32_t used, uint32_t k, enum g4_odd_triangles order, uint32_t *p) {
    enum {
        LAST_LAST = 4 /* the first of the vertices that keep the last one last */
    };
    const uint32_t first = 2 * k;
    const uint32_t after = k == used / 2 - 3 ? first + 5 : first + 6;
    const uint32_t before = k == 0 ? 1 : first - 2;
    const uint32_t even[6] = {first, before, first + 2, after, first + 4, first + 3};
    const uint32_t odd[6] = {first, first + 3, first + 4, after, first + 2, before};
    for (int i = 0; i < 6; i++) {
        const int from = order == G4_ODD_LAST_LAST ? (i + LAST_LAST) % 6 : i;
        p[i] = k & 1 ? odd[from] : even[i];
    }
    return 6;
}

static uint32_t without_adjacency(uint32_t topology, uint32_t count, uint32_t *p) {
    switch (topology) {
    case T(LINELIST_ADJ):
    case T(LINESTRIP_ADJ):
        return put(p, p[1], p[2], 0, 2);
    case T(TRILIST_ADJ):
    case T(TRISTRIP_ADJ):
        return put(p, p[0], p[2], p[4], 3);
    default:
        return count;
    }
}

uint32_t g4_topology_gs_object(uint32_t topology, uint32_t used, uint32_t k, enum g4_odd_triangles odd,
                               bool discard_adjacency, uint32_t position[G4_PATCH_VERTICES], uint32_t *gs_topology) {
    const struct shape s = shape_of(topology);
    struct g4_topology_object half;
    uint32_t count = s.size;

    *gs_topology = topology;
    for (uint32_t i = 0; i < count; i++) {
        position[i] = k * s.step + i;
    }
    switch (topology) {
    case G4_TOPOLOGY_DRAWN_QUADLIST:
    case G4_TOPOLOGY_DRAWN_QUADSTRIP:
        (void)g4_topology_object(topology, used, k, &half);
        *gs_topology = half.topology;
        return put(position, half.position[0], half.position[1], half.position[2], 3);
    case G4_TOPOLOGY_DRAWN_LINELOOP:
        *gs_topology = T(LINESTRIP);
        position[1] = (k + 1) % used;
        break;
    case T(LINELOOP):
        position[1] = (k + 1) % used;
        break;
    case T(TRISTRIP):
    case T(TRISTRIP_REVERSE):
        return strip_triangle(k, topology == T(TRISTRIP_REVERSE), odd, position, gs_topology);
    case T(TRIFAN):
    case T(TRIFAN_NOSTIPPLE):
    case T(POLYGON):
        return put(position, 0, k + 1, k + 2, 3);
    case T(QUADSTRIP):
        position[2] = 2 * k + 3;
        position[3] = 2 * k + 2;
        break;
    case T(TRISTRIP_ADJ):
        count = strip_with_adjacency(used, k, odd, position);
        break;
    default:
        break;
    }
    return discard_adjacency ? without_adjacency(topology, count, position) : count;
}

uint32_t g4_topology_edges(uint32_t topology, uint32_t k, bool last) {
    if (topology != T(POLYGON)) {
        return 0;
    }
    return (k == 0 ? 1u << 8 : 0) | (last ? 1u << 9 : 0);
}

static void line(struct g4_topology_object *o, uint32_t topology, bool back_facing, bool continue_stipple, uint32_t a,
                 uint32_t b) {
    *o = (struct g4_topology_object){
        .type = G4_OBJECT_LINE,
        .vertices = 2,
        .topology = (uint8_t)topology,
        .back_facing = back_facing,
        .continue_stipple = continue_stipple,
        .provoking_kind = G4_PROVOKING_LINE,
        .position = {a, b},
    };
}

static void triangle(struct g4_topology_object *o, uint32_t topology, bool stipple, enum g4_provoking provoking,
                     uint32_t a, uint32_t b, uint32_t c) {
    *o = (struct g4_topology_object){
        .type = G4_OBJECT_TRIANGLE,
        .vertices = 3,
        .topology = (uint8_t)topology,
        .poly_stipple = stipple,
        .provoking_kind = (uint8_t)provoking,
        .position = {a, b, c},
    };
}

/* `first` is the step from triangle to triangle of the strip. */
static void strip(struct g4_topology_object *o, uint32_t k, bool reversed, uint32_t first, uint32_t spread) {
    const bool flipped = ((k & 1) != 0) != reversed;
    triangle(o, flipped ? T(TRISTRIP_REVERSE) : T(TRISTRIP), true, G4_PROVOKING_TRIANGLE, first, first + spread,
             first + 2 * spread);
    o->invert = flipped;
}

/* One of the two triangles of a quad whose vertices are in the order of a polygon: its last one is vertex 0. */
static void quad_half(struct g4_topology_object *o, uint32_t half, uint32_t p0, uint32_t p1, uint32_t p2, uint32_t p3) {
    triangle(o, T(POLYGON), true, G4_PROVOKING_FIRST, p0, half ? p2 : p1, half ? p3 : p2);
    o->inner_edges = half ? 1 : 4; /* the diagonal */
}

bool g4_topology_object(uint32_t topology, uint32_t used, uint32_t k, struct g4_topology_object *o) {
    switch (topology) {
    case G4_TOPOLOGY_DRAWN_QUADLIST: {
        const uint32_t first = 4 * (k / 2);
        quad_half(o, k & 1, first + 3, first, first + 1, first + 2);
        return true;
    }
    case G4_TOPOLOGY_DRAWN_QUADSTRIP: {
        const uint32_t first = 2 * (k / 2);
        quad_half(o, k & 1, first + 3, first + 2, first, first + 1);
        return true;
    }
    case G4_TOPOLOGY_DRAWN_LINELOOP:
        line(o, T(LINESTRIP), false, k > 0, k, k + 1 == used ? 0 : k + 1);
        return true;
    case T(POINTLIST):
    case T(POINTLIST_BF):
        *o = (struct g4_topology_object){
            .type = G4_OBJECT_POINT,
            .vertices = 1,
            .topology = (uint8_t)topology,
            .back_facing = topology == T(POINTLIST_BF),
            .position = {k},
        };
        return true;
    case T(LINELIST):
        line(o, topology, false, false, 2 * k, 2 * k + 1);
        return true;
    case T(LINELIST_ADJ):
        line(o, T(LINELIST), false, false, 4 * k + 1, 4 * k + 2);
        return true;
    case T(LINESTRIP):
    case T(LINESTRIP_BF):
        line(o, topology, topology == T(LINESTRIP_BF), k > 0, k, k + 1);
        return true;
    case T(LINESTRIP_CONT):
    case T(LINESTRIP_CONT_BF):
        line(o, topology, topology == T(LINESTRIP_CONT_BF), true, k, k + 1);
        return true;
    case T(LINESTRIP_ADJ):
        line(o, T(LINESTRIP), false, k > 0, k + 1, k + 2);
        return true;
    case T(TRILIST):
        triangle(o, topology, true, G4_PROVOKING_TRIANGLE, 3 * k, 3 * k + 1, 3 * k + 2);
        return true;
    case T(TRILIST_ADJ):
        triangle(o, T(TRILIST), true, G4_PROVOKING_TRIANGLE, 6 * k, 6 * k + 2, 6 * k + 4);
        return true;
    case T(RECTLIST):
        triangle(o, topology, false, G4_PROVOKING_FIRST, 3 * k, 3 * k + 1, 3 * k + 2);
        o->type = G4_OBJECT_RECTANGLE;
        return true;
    case T(TRISTRIP):
    case T(TRISTRIP_REVERSE):
        strip(o, k, topology == T(TRISTRIP_REVERSE), k, 1);
        return true;
    case T(TRISTRIP_ADJ):
        strip(o, k, false, 2 * k, 2);
        return true;
    case T(TRIFAN):
    case T(TRIFAN_NOSTIPPLE):
        triangle(o, topology, topology == T(TRIFAN), G4_PROVOKING_FAN, 0, k + 1, k + 2);
        return true;
    case T(POLYGON):
        triangle(o, topology, true, G4_PROVOKING_FIRST, 0, k + 1, k + 2);
        return true;
    default:
        return false;
    }
}
