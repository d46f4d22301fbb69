/*
 * The data between the fixed functions: vertices in URB entries, assembled objects, set-up objects.
 *
 * A draw runs in ranges of some hundred objects.  VF, VS, GS and CLIP turn a range of the input into vertex entries and
 * assembled objects (assemble.h); SF sets them up (setup_kernel.h); the windower rasterizes the set-up objects tile by
 * tile (raster/windower.h).
 */
#ifndef G4_OBJECT_H
#define G4_OBJECT_H

#include "core/context.h"

enum g4_object_type {
    G4_OBJECT_POINT,
    G4_OBJECT_LINE,
    G4_OBJECT_TRIANGLE,
    G4_OBJECT_RECTANGLE
};

/* Whether a vertex has a screen position. */
enum g4_vertex_position {
    G4_VERTEX_UNTRANSFORMED, /* not yet computed */
    G4_VERTEX_NAN,           /* contains a NaN: objects using it are dropped */
    G4_VERTEX_TRANSFORMED
};

/* A vertex from the GS stage or a CLIP thread: its URB entry, and the header fields read from it.  Objects share
 * vertices, so outcodes and screen positions are computed once per vertex. */
struct g4_vertex {
    const uint32_t (*rows)[8]; /* the entry, `row_count` rows of 256 bits */
    float x, y, z, rhw;        /* NDC or screen position, D4..D7; on Gen7 clip space, rhw being w, until prepared */
    uint32_t row_count;
    uint32_t outcode;           /* from CLIP; 0 if it is disabled */
    int32_t screen_x, screen_y; /* from SF, as in g4_setup, by the vertex's own viewport */
    float screen_z;
    uint16_t point_width; /* U8.3 */
    uint16_t array_index; /* RTAI */
    uint8_t viewport;     /* 0 to 15 */
    uint8_t user_clip;    /* UCF bits */
    uint8_t position;     /* enum g4_vertex_position */
    bool inner;           /* its edge flag is clear: neither it nor the edge that begins at it is drawn alone */
};

/* An object between CLIP and SF. */
struct g4_object {
    uint8_t type;            /* enum g4_object_type */
    uint8_t topology;        /* primitive topology code as the setup thread sees it (R1.0) */
    uint8_t vertices;        /* 1, 2 or 3 */
    uint8_t provoking;       /* index into v[] */
    bool invert_orientation; /* odd triangle of a strip */
    bool back_facing;        /* _BF topologies */
    bool poly_stipple;
    bool continue_stipple;
    bool last_of_primitive; /* for Last Pixel of line strips */
    uint8_t edges;          /* bit i: the edge from v[i] to the next vertex is one of the primitive */
    uint32_t primitive_id;  /* from Gen6 on, as the two next */
    const struct g4_vertex *v[3];
    const struct g4_clipped *clipped; /* NULL: the vertices are those of the primitive */
};

/* The object that a fixed-function clipper has cut a piece from, or whose edge or corner is drawn; v[] of the piece are
 * corners without URB entries. */
struct g4_clipped {
    uint8_t vertices; /* 2 or 3 */
    uint8_t whole;    /* bit i: corner i of the piece is a vertex of the object */
    const struct g4_vertex *v[3];
    float weight[3][2]; /* of v[1] and v[2] in the piece's corners, before the division by w */
};

/* A function of the screen: c + x * cx + y * cy at pixel (x, y). */
struct g4_screen_plane {
    double c, cx, cy;
};

/* Planes of an object from Gen6 on.  Barycentric coordinates belong to vertices 1 and 2 of the object. */
struct g4_object_planes {
    struct g4_screen_plane linear[2];
    struct g4_screen_plane weighted[2]; /* divided by w */
    struct g4_screen_plane rhw, z;
    bool has_depth_offset;
    float depth_slope[2]; /* of the triangle, for its depth offset */
};

/* The parts of g4_setup that only lines have: from v[0] to v[1], in biased pixels. */
struct g4_setup_line {
    float x0, y0, x1, y1, width;
    int32_t step;           /* along the major axis, +1 or -1 */
    int32_t first;          /* major coordinate of the first pixel as drawn */
    uint32_t length;        /* pixels along the major axis */
    uint32_t stipple_start; /* the stipple's counter at the first pixel */
    bool x_major;
};

/* An object after SF: fixed-point geometry and the setup entry.  There are many of them, so members of small triangles
 * come first, and those of lines last. */
struct g4_setup {
    /* Inclusive pixel bounds within scissor and drawing rectangle; min > max: empty, and there is no setup entry. */
    _Alignas(64) int32_t x_min;
    int32_t y_min, x_max, y_max;
    uint64_t mask;              /* if `small`: bit 8 * j + i is pixel (x_min + i, y_min + j) */
    const uint32_t (*entry)[8]; /* setup URB entry (coefficients), attribute-major rows */
    uint16_t entry_rows;
    uint16_t chunk;         /* index of the object's chunk in the batch */
    uint32_t primitive;     /* number of the object in its chunk, culled objects counted */
    float x_start, y_start; /* origin of the planes, R1.0 and R1.1 */
    uint16_t array_index;
    uint8_t type, topology;
    uint8_t viewport;
    uint8_t corners;
    bool small;      /* a triangle whose pixels are in `mask` */
    bool fills_box;  /* points, upright rectangles: every pixel of the bounds is lit */
    bool contiguous; /* the setup thread permits contiguous dispatch */
    bool back_facing, poly_stipple, continue_stipple, last_pixel, antialias, cosmetic, legacy_diamonds;
    bool conservative; /* a triangle that lights every pixel whose square it touches */

    const struct g4_object_planes *planes; /* NULL before Gen6 */

    float z[3]; /* after the viewport transform, V0..V2 */
    /* Biased coordinates in 1/256 pixel (1/16 mode is scaled up): pixel (i, j) is sampled at (256 i, 256 j). */
    int32_t x[4], y[4]; /* triangle: 3 vertices in V0, V1, V2 order; rectangle, wide or AA line: 4 corners in ring
                           order; point: 4 corners; cosmetic line: the end points in drawing order */

    struct g4_setup_line line; /* undefined unless type is G4_OBJECT_LINE */
};

#endif
