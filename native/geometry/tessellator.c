/*
 * Points are placed edge by edge and ring by ring, from the outside in.  The places along an edge depend on its factor
 * alone, so that patches with a common edge meet without cracks.  Rings are joined by triangles in the order of their
 * points.
 */
#include "geometry/tessellator.h"

#include <math.h>
#include <string.h>

enum {
    HALF = G4_DOMAIN_ONE / 2,
    TWO_THIRDS = 0xaaaa,
    THIRD = 0x5555,
    TRANSITION_STEPS = 33,
    NO_SPLIT = 0x7fffffff,
    EDGE_POINTS = 65,
    MOST_ODD = 63, /* factors */
    MOST_EVEN = 64,
};

/* ---- factors ---- */

/* A subdivided edge, or one of the two directions of the inside. */
struct axis {
    bool odd;        /* the number of segments */
    uint32_t points; /* on the whole edge */
    uint32_t half;   /* points of its first half, without the one in the middle */
    uint32_t split;  /* after this point of a half, the next smaller even subdivision has one point less */
    uint32_t smaller_step, larger_step; /* lengths of segments of the two subdivisions between which this one is */
    uint32_t fraction;                  /* how close it is to the larger one */
};

static float without_denormal(float f) {
    return fabsf(f) < 0x1p-126f ? 0.0f : f;
}

/* In range, the lower limit for a NaN. */
static float limit(float f, float low, float high) {
    return f > low ? f < high ? f : high : low;
}

static bool is_even(float f) {
    return fmodf(f, 2.0f) == 0.0f;
}

static uint32_t without_top_bit(uint32_t v) {
    return v ? v & ~(UINT32_C(1) << (31 - (uint32_t)__builtin_clz(v))) : 0;
}

static uint32_t reciprocal(uint32_t segments) {
    return segments ? (G4_DOMAIN_ONE + segments / 2) / segments : 0;
}

static uint32_t to_fixed(float factor) {
    return (uint32_t)nearbyint((double)factor * G4_DOMAIN_ONE);
}

static struct axis axis_of(float factor, bool odd, bool inside) {
    const uint32_t half = (to_fixed(factor) + 1) / 2;
    const uint32_t h = odd || half == HALF ? half + HALF : half;
    const uint32_t smaller = h / G4_DOMAIN_ONE;
    const uint32_t larger = (h + G4_DOMAIN_ONE - 1) / G4_DOMAIN_ONE;
    const uint32_t fewest = !inside ? 0 : odd ? 4 : 3;
    const uint32_t points = odd ? 2 * ((half + HALF + G4_DOMAIN_ONE - 1) / G4_DOMAIN_ONE)
                                : 2 * ((half + G4_DOMAIN_ONE - 1) / G4_DOMAIN_ONE) + 1;
    struct axis a = {
        .odd = odd,
        .points = points < fewest ? fewest : points,
        .half = larger,
        .split = NO_SPLIT,
        .smaller_step = reciprocal(2 * smaller - (odd ? 1 : 0)),
        .larger_step = reciprocal(2 * larger - (odd ? 1 : 0)),
        .fraction = h % G4_DOMAIN_ONE,
    };
    if (smaller != larger && odd) {
        a.split = smaller == 1 ? 0 : 2 * without_top_bit(smaller - 1) + 1;
    } else if (smaller != larger) {
        a.split = 2 * without_top_bit(smaller) + 1;
    }
    return a;
}

/* Where point p of an edge is. */
static uint32_t place(const struct axis *a, uint32_t p) {
    const bool mirrored = p >= a->half;
    const uint32_t q = mirrored ? 2 * a->half - p - (a->odd ? 1 : 0) : p;

    if (q == a->half) {
        return HALF;
    }
    const uint64_t fewer = (uint64_t)(q - (q > a->split ? 1 : 0)) * a->smaller_step;
    const uint64_t more = (uint64_t)q * a->larger_step;
    const uint32_t at = (uint32_t)((fewer * (G4_DOMAIN_ONE - a->fraction) + more * a->fraction + HALF) / G4_DOMAIN_ONE);
    return mirrored ? G4_DOMAIN_ONE - at : at;
}

/* The edges and the inside of a patch, in the order of the factors. */
struct shape {
    uint32_t edges, insides;
    struct axis edge[4], inside[2];
    bool minimal; /* nothing is subdivided */
    bool culled;
};

static struct shape shape_of(const struct g4_tessellator_state *state, const struct g4_tessellation_factors *factors,
                             uint32_t edges, uint32_t insides) {
    const bool integer = state->partitioning == G4_PARTITIONING_INTEGER;
    const bool odd = state->partitioning == G4_PARTITIONING_ODD;
    float low = state->partitioning == G4_PARTITIONING_EVEN ? 2.0f : 1.0f;
    const float high = limit(odd ? state->most_odd : state->most_even, low, odd ? MOST_ODD : MOST_EVEN);
    struct shape shape = {.edges = edges, .insides = insides, .minimal = integer || odd};
    bool divided = false;

    for (uint32_t i = 0; i < edges; i++) {
        float f = without_denormal(factors->edge[i]);
        if (!(f > 0)) {
            shape.culled = true;
            return shape;
        }
        f = limit(f, low, high);
        f = integer ? ceilf(f) : f;
        divided = divided || f > 1 + 0x1p-17f;
        shape.minimal = shape.minimal && to_fixed(f) == G4_DOMAIN_ONE;
        shape.edge[i] = axis_of(f, integer ? !is_even(f) : odd, false);
    }
    for (uint32_t i = 0; i < insides && insides == 2; i++) {
        divided = divided || factors->inside[i] > 1 + 0x1p-17f;
    }
    if (odd && divided) { /* something is: the inside has to be, too */
        low = 1 + 0x1p-16f;
    }
    for (uint32_t i = 0; i < insides; i++) {
        float f = limit(without_denormal(factors->inside[i]), low, high);
        f = integer ? ceilf(f) : f;
        shape.minimal = shape.minimal && to_fixed(f) == G4_DOMAIN_ONE;
        shape.inside[i] = axis_of(f, integer ? !is_even(f) && f != 1 : odd, true);
    }
    return shape;
}

/* ---- output ---- */

static uint16_t add_point(struct g4_domain *out, uint32_t u, uint32_t v) {
    if (out->points == G4_DOMAIN_POINTS) {
        return 0;
    }
    out->point[out->points] = (struct g4_domain_point){u, v};
    return (uint16_t)out->points++;
}

/* The numbers of points along an edge of a ring, in order; the last one begins the next edge. */
struct edge_run {
    uint32_t count;
    uint16_t point[EDGE_POINTS];
};

/* The points of a ring: edge e begins at start[e]. */
struct ring {
    uint32_t first; /* number of its first point */
    uint32_t points;
    uint32_t edges;
    uint32_t start[4];
};

/* A ring of one point, or a row between two, has edges of its own. */
static void edge_of(const struct ring *ring, uint32_t edge, struct edge_run *out) {
    const uint32_t next = edge + 1 < ring->edges ? ring->start[edge + 1] : ring->points;
    out->count = next - ring->start[edge] + 1;
    for (uint32_t i = 0; i < out->count; i++) {
        out->point[i] = (uint16_t)(ring->first + (ring->start[edge] + i) % ring->points);
    }
}

/* A clockwise triangle. */
static void add_triangle(struct g4_domain *out, bool clockwise, uint16_t a, uint16_t b, uint16_t c) {
    if (out->indices + 3 <= G4_DOMAIN_INDICES) {
        out->index[out->indices++] = a;
        out->index[out->indices++] = clockwise ? b : c;
        out->index[out->indices++] = clockwise ? c : b;
    }
}

/* ---- triangles between two rings ---- */

/* The strip of triangles between an outer and an inner edge: `o` and `i` are the current points. */
struct stitch {
    struct g4_domain *out;
    bool clockwise;
    const struct edge_run *outer, *inner;
    uint32_t o, i;
};

static uint16_t point_at(const struct edge_run *run, uint32_t i) {
    return run->point[i < run->count ? i : run->count - 1];
}

static void step_outer(struct stitch *s) {
    add_triangle(s->out, s->clockwise, point_at(s->outer, s->o), point_at(s->outer, s->o + 1),
                 point_at(s->inner, s->i));
    s->o++;
}

static void step_inner(struct stitch *s) {
    add_triangle(s->out, s->clockwise, point_at(s->inner, s->i), point_at(s->outer, s->o),
                 point_at(s->inner, s->i + 1));
    s->i++;
}

/* The order in which the points of half an edge appear as its factor grows. */
static const uint8_t order_of_points[TRANSITION_STEPS] = {0,  32, 16, 8,  17, 4,  18, 9,  19, 2,  20,
                                                          10, 21, 5,  22, 11, 23, 1,  24, 12, 25, 6,
                                                          26, 13, 27, 3,  28, 14, 29, 7,  30, 15, 31};

/* Join the outermost ring, whose edges have factors of their own, to the next one. */
static void stitch_transition(struct stitch *s, const struct axis *inner, const struct axis *outer) {
    const uint32_t inner_half = inner->half - (inner->odd ? 1 : 0);
    const uint32_t outer_half = outer->half - (outer->odd ? 1 : 0);

    if (outer_half > 0) {
        step_outer(s);
    }
    for (uint32_t k = 1; k < TRANSITION_STEPS; k++) {
        if (order_of_points[k] < inner_half) {
            step_inner(s);
        }
        if (order_of_points[k] < outer_half) {
            step_outer(s);
        }
    }
    if (inner->odd && outer->odd) {
        step_inner(s);
    }
    if (outer->odd) {
        add_triangle(s->out, s->clockwise, point_at(s->inner, s->i), point_at(s->outer, s->o),
                     point_at(s->outer, s->o + 1));
        s->o++;
    } else if (inner->odd) {
        step_inner(s);
    }
    for (uint32_t k = TRANSITION_STEPS - 1; k > 0; k--) {
        if (order_of_points[k] < outer_half) {
            step_outer(s);
        }
        if (order_of_points[k] < inner_half) {
            step_inner(s);
        }
    }
    if (outer_half > 0) {
        step_outer(s);
    }
}

/* Join rings of which the inner one has two points less on each edge: `points` of them. */
static void stitch_regular(struct stitch *s, uint32_t points) {
    step_outer(s);
    uint32_t p = 0;
    for (; p + 1 < points && p < points / 2; p++) {
        add_triangle(s->out, s->clockwise, point_at(s->outer, s->o), point_at(s->inner, s->i + 1),
                     point_at(s->inner, s->i));
        add_triangle(s->out, s->clockwise, point_at(s->outer, s->o), point_at(s->outer, s->o + 1),
                     point_at(s->inner, s->i + 1));
        s->o++;
        s->i++;
    }
    for (; p + 1 < points; p++) {
        add_triangle(s->out, s->clockwise, point_at(s->inner, s->i), point_at(s->outer, s->o),
                     point_at(s->outer, s->o + 1));
        add_triangle(s->out, s->clockwise, point_at(s->inner, s->i), point_at(s->outer, s->o + 1),
                     point_at(s->inner, s->i + 1));
        s->o++;
        s->i++;
    }
    step_outer(s);
}

/* ---- triangles ---- */

/* The points of a ring of a triangle: three edges of `count` points, between first and last of the axis. */
static void place_triangle_ring(const struct axis *axis, uint32_t depth, uint32_t edge, struct g4_domain *out) {
    const uint32_t last = axis->points - 1 - depth;
    /* the distance of the edge from that of the triangle, and of a point from the corner */
    const uint32_t across = depth ? (place(axis, depth) * TWO_THIRDS + HALF) / G4_DOMAIN_ONE : 0;
    const uint32_t shift = depth ? (across + 1) / 2 : 0;

    for (uint32_t p = depth; p < last; p++) {
        const uint32_t along = place(axis, edge == 1 ? p : last + depth - p) - shift;
        switch (edge) {
        case 0:
            add_point(out, across, along);
            break;
        case 1:
            add_point(out, along, across);
            break;
        default:
            add_point(out, along, G4_DOMAIN_ONE - along - across);
            break;
        }
    }
}

static void tessellate_triangle(const struct shape *shape, struct g4_domain *out, bool clockwise, bool connect) {
    const struct axis *const inside = &shape->inside[0];
    const uint32_t rings = inside->points / 2;
    struct ring outer = {.edges = 3};

    if (shape->minimal) {
        add_point(out, 0, G4_DOMAIN_ONE);
        add_point(out, 0, 0);
        add_point(out, G4_DOMAIN_ONE, 0);
        if (connect) {
            add_triangle(out, clockwise, 0, 1, 2);
        }
        return;
    }
    for (uint32_t e = 0; e < 3; e++) {
        outer.start[e] = out->points;
        place_triangle_ring(&shape->edge[e], 0, e, out);
    }
    outer.points = out->points;
    for (uint32_t r = 1; r < rings + (inside->odd ? 0 : 1); r++) {
        const bool centre = r == rings;
        struct ring ring = {.first = out->points, .edges = 3};
        if (centre) {
            add_point(out, THIRD, THIRD);
        }
        for (uint32_t e = 0; e < 3 && !centre; e++) {
            ring.start[e] = out->points - ring.first;
            place_triangle_ring(inside, r, e, out);
        }
        ring.points = out->points - ring.first;
        for (uint32_t e = 0; e < 3 && connect; e++) {
            struct edge_run o;
            struct edge_run i = {.count = 1, .point = {(uint16_t)ring.first}};
            edge_of(&outer, e, &o);
            if (!centre) {
                edge_of(&ring, e, &i);
            }
            struct stitch s = {.out = out, .clockwise = clockwise, .outer = &o, .inner = &i};
            if (r == 1) {
                stitch_transition(&s, inside, &shape->edge[e]);
            } else {
                stitch_regular(&s, i.count);
            }
        }
        outer = ring;
    }
    if (inside->odd && connect) {
        add_triangle(out, clockwise, (uint16_t)outer.first, (uint16_t)(outer.first + 1), (uint16_t)(outer.first + 2));
    }
}

/* ---- quads ---- */

enum {
    ALONG_U,
    ALONG_V
};

/* The points of an edge of a quad's ring.  Edges U = 0 and V = 1 go backwards. */
static void place_quad_edge(const struct axis *along, const struct axis *across, uint32_t depth, uint32_t edge,
                            struct g4_domain *out) {
    const uint32_t last = along->points - 1 - depth;
    const uint32_t far = edge == 2 || edge == 3;
    const uint32_t at = depth ? place(across, far ? across->points - 1 - depth : depth) : far ? G4_DOMAIN_ONE : 0;

    for (uint32_t p = depth; p < last; p++) {
        const uint32_t position = place(along, edge == 1 || edge == 2 ? p : last + depth - p);
        if (edge & 1) {
            add_point(out, position, at);
        } else {
            add_point(out, at, position);
        }
    }
}

/* The points in the middle if the shorter direction has an even number of segments: a row or a column. */
static void place_middle(const struct axis inside[2], uint32_t rings, struct edge_run *middle, struct g4_domain *out) {
    const bool row = inside[ALONG_U].points > inside[ALONG_V].points;
    const struct axis *const along = &inside[row ? ALONG_U : ALONG_V];
    const uint32_t last = along->points - 1 - rings;

    for (uint32_t p = rings; p <= last; p++) {
        const uint32_t position = place(along, row ? p : last + rings - p);
        middle->point[middle->count++] = row ? add_point(out, position, HALF) : add_point(out, HALF, position);
    }
}

static void reverse(const struct edge_run *from, struct edge_run *to) {
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        to->point[i] = from->point[from->count - 1 - i];
    }
}

/* The inner points of an edge if a row or a column is all that is within the ring. */
static void middle_edge(const struct edge_run *middle, bool row, uint32_t edge, struct edge_run *out) {
    const uint32_t forward = row ? 1 : 0;
    if (edge == forward) {
        *out = *middle;
    } else if (edge == forward + 2) {
        reverse(middle, out);
    } else {
        const bool at_start = edge == (row ? 0u : 3u);
        out->count = 1;
        out->point[0] = middle->point[at_start ? 0 : middle->count - 1];
    }
}

/* The quads within the innermost ring, whose shorter edges have one segment. */
static void fill_strip(const struct axis inside[2], const struct ring *ring, bool clockwise, struct g4_domain *out) {
    const uint32_t u = inside[ALONG_U].points;
    const uint32_t v = inside[ALONG_V].points;
    const bool row = u > v;
    const bool even = !inside[row ? ALONG_U : ALONG_V].odd;
    const uint32_t quads = 2 * (row ? u / 2 - v / 2 : v / 2 - u / 2) + (even ? 2 : 1);

    for (uint32_t k = 0; k < quads; k++) {
        uint16_t o[2];
        uint16_t i[2];
        for (uint32_t n = 0; n < 2; n++) {
            const uint32_t forward = k + n + (row ? 1 : 0);
            const uint32_t back = k + n + (row ? 0 : 1);
            o[n] = (uint16_t)(ring->first + forward % ring->points);
            i[n] = (uint16_t)(ring->first + (ring->points - back) % ring->points);
        }
        if (row || even) {
            add_triangle(out, clockwise, i[0], o[0], o[1]);
            add_triangle(out, clockwise, i[0], o[1], i[1]);
        } else if (k == quads / 2) {
            add_triangle(out, clockwise, o[0], i[1], i[0]);
            add_triangle(out, clockwise, o[0], o[1], i[1]);
        } else {
            add_triangle(out, clockwise, o[0], o[1], i[0]);
            add_triangle(out, clockwise, i[0], o[1], i[1]);
        }
    }
}

static void tessellate_quad(const struct shape *shape, struct g4_domain *out, bool clockwise, bool connect) {
    const struct axis *const inside = shape->inside;
    const bool row = inside[ALONG_U].points > inside[ALONG_V].points;
    const struct axis *const shorter = &inside[row ? ALONG_V : ALONG_U];
    const uint32_t rings = shorter->points / 2;
    struct ring outer = {.edges = 4};

    if (shape->minimal) {
        add_point(out, 0, 0);
        add_point(out, G4_DOMAIN_ONE, 0);
        add_point(out, G4_DOMAIN_ONE, G4_DOMAIN_ONE);
        add_point(out, 0, G4_DOMAIN_ONE);
        if (connect) {
            add_triangle(out, clockwise, 0, 1, 3);
            add_triangle(out, clockwise, 1, 2, 3);
        }
        return;
    }
    for (uint32_t e = 0; e < 4; e++) {
        outer.start[e] = out->points;
        place_quad_edge(&shape->edge[e], NULL, 0, e, out);
    }
    outer.points = out->points;
    for (uint32_t r = 1; r < rings + (shorter->odd ? 0 : 1); r++) {
        const bool is_middle = r == rings;
        struct ring ring = {.first = out->points, .edges = 4};
        struct edge_run middle = {.count = 0};
        if (is_middle) {
            place_middle(inside, rings, &middle, out);
        }
        for (uint32_t e = 0; e < 4 && !is_middle; e++) {
            ring.start[e] = out->points - ring.first;
            place_quad_edge(&inside[e & 1 ? ALONG_U : ALONG_V], &inside[e & 1 ? ALONG_V : ALONG_U], r, e, out);
        }
        ring.points = out->points - ring.first;
        for (uint32_t e = 0; e < 4 && connect; e++) {
            struct edge_run o;
            struct edge_run i;
            edge_of(&outer, e, &o);
            if (is_middle) {
                middle_edge(&middle, row, e, &i);
            } else {
                edge_of(&ring, e, &i);
            }
            struct stitch s = {.out = out, .clockwise = clockwise, .outer = &o, .inner = &i};
            if (r == 1) {
                stitch_transition(&s, &inside[e & 1 ? ALONG_U : ALONG_V], &shape->edge[e]);
            } else {
                stitch_regular(&s, i.count);
            }
        }
        outer = ring;
    }
    if (shorter->odd && connect) {
        fill_strip(inside, &outer, clockwise, out);
    }
}

/* ---- isolines ---- */

/* Density is an integer whatever the partitioning. */
static void tessellate_isolines(const struct g4_tessellator_state *state, const struct g4_tessellation_factors *factors,
                                struct g4_domain *out) {
    const struct g4_tessellator_state integer = {.partitioning = G4_PARTITIONING_INTEGER, .most_even = 64};
    const struct g4_tessellation_factors detail = {.edge = {factors->edge[1]}};
    const struct shape across = shape_of(&integer, factors, 1, 0);
    const struct shape along = shape_of(state, &detail, 1, 0);

    if (across.culled || along.culled) {
        return;
    }
    const uint32_t points = along.edge[0].points;
    for (uint32_t line = 0; line + 1 < across.edge[0].points; line++) {
        const uint32_t v = place(&across.edge[0], line);
        for (uint32_t p = 0; p < points; p++) {
            const uint16_t number = add_point(out, place(&along.edge[0], p), v);
            if (state->output == G4_TESSELLATED_LINES && p && out->indices + 2 <= G4_DOMAIN_INDICES) {
                out->index[out->indices++] = (uint16_t)(number - 1);
                out->index[out->indices++] = number;
            }
        }
    }
}

/* ---- patches ---- */

/* Objects that are points, or on domains other than isolines lines: of all points, in order. */
static void list_points(const struct g4_tessellator_state *state, struct g4_domain *out) {
    const uint32_t size = state->output == G4_TESSELLATED_LINES ? 2 : 1;

    for (uint32_t i = 0; i < out->points / size * size; i++) {
        out->index[out->indices++] = (uint16_t)i;
    }
}

void g4_tessellate_patch(const struct g4_tessellator_state *state, const struct g4_tessellation_factors *factors,
                         struct g4_domain *out) {
    const bool connect = state->output == G4_TESSELLATED_CLOCKWISE || state->output == G4_TESSELLATED_COUNTERCLOCKWISE;
    const bool clockwise = state->output == G4_TESSELLATED_CLOCKWISE;
    struct shape shape;

    out->points = out->indices = 0;
    switch (state->domain) {
    case G4_DOMAIN_QUADS:
        shape = shape_of(state, factors, 4, 2);
        if (!shape.culled) {
            tessellate_quad(&shape, out, clockwise, connect);
        }
        break;
    case G4_DOMAIN_TRIANGLES:
        shape = shape_of(state, factors, 3, 1);
        if (!shape.culled) {
            tessellate_triangle(&shape, out, clockwise, connect);
        }
        break;
    default:
        tessellate_isolines(state, factors, out);
        break;
    }
    if (!connect && (state->domain != G4_DOMAIN_ISOLINES || state->output == G4_TESSELLATED_POINTS)) {
        list_points(state, out);
    }
}
