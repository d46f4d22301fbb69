/*
 * What the fixed functions hand to each other: vertices in URB entries, assembled objects, set-up objects.
 *
 * A draw runs in chunks of some hundred objects.  VF, VS, GS and CLIP turn a chunk of the input into vertex entries and
 * assembled objects (geometry.h); SF sets them up (sf.h); WM rasterizes the set-up objects tile by tile (wm.h).
 */
#ifndef G4_FF_OBJECT_H
#define G4_FF_OBJECT_H

#include "core/context.h"

enum g4_object_type {
    G4_OBJECT_POINT,
    G4_OBJECT_LINE,
    G4_OBJECT_TRIANGLE,
    G4_OBJECT_RECTANGLE
};

/* What is known of a vertex' place on the screen. */
enum g4_vertex_place {
    G4_PLACE_UNKNOWN, /* not looked at yet */
    G4_PLACE_NOWHERE, /* a NaN: objects with it are dropped */
    G4_PLACE_KNOWN
};

/* A vertex after the GS exit or out of a CLIP thread: its URB entry and what is read back from its header
 * (spec/10 2.14).  Vertices are shared by objects: what CLIP and SF do with each of them, they do once. */
struct g4_vertex {
    const uint32_t (*rows)[8]; /* the entry, `row_count` rows of 256 bits */
    float x, y, z, rhw;        /* NDC or screen position, D4..D7 */
    uint32_t row_count;
    uint32_t outcode;           /* from CLIP, where it is enabled */
    int32_t screen_x, screen_y; /* from SF: quantised as in g4_setup, through the vertex' own viewport */
    float screen_z;
    uint16_t point_width; /* U8.3 */
    uint16_t array_index; /* RTAI */
    uint8_t viewport;     /* range already checked */
    uint8_t user_clip;    /* UCF bits */
    uint8_t place;        /* enum g4_vertex_place */
};

/* An object on its way to SF (spec/20 3.4: topologies are not rebuilt). */
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
    const struct g4_vertex *v[3];
};

/* What only lines have, as drawn: v[0] to v[1], biased pixels. */
struct g4_setup_line {
    float x0, y0, x1, y1, width;
    int32_t step;           /* along the major axis, +1 or -1 */
    int32_t first;          /* major coordinate of the first pixel as drawn */
    uint32_t length;        /* pixels along the major axis */
    uint32_t stipple_start; /* the stipple's counter at the first pixel */
    bool x_major;
};

/* An object after SF: fixed-point geometry, setup entry, everything WM needs (spec/20 4.2 step 12, spec/30 3.1).
 * There are many of them: what small triangles need comes first, what lines need last. */
struct g4_setup {
    _Alignas(64) int32_t x_min;  /* inclusive pixel bounds: shape, scissor, drawing rectangle and 8K limits; */
    int32_t y_min, x_max, y_max; /* min > max: nothing is drawn, and there is no setup entry */
    uint64_t mask;               /* bit 8 * j + i: pixel (x_min + i, y_min + j), if `small` */
    const uint32_t (*entry)[8];  /* setup URB entry (coefficients), attribute-major rows */
    uint16_t entry_rows;
    uint16_t chunk;         /* one of those between two tile phases, and the */
    uint32_t primitive;     /* number within it, culled objects counted */
    float x_start, y_start; /* for R1.0, R1.1 and the planes */
    uint16_t array_index;
    uint8_t type, topology;
    uint8_t viewport;
    uint8_t corners;
    bool small;      /* a triangle, and `mask` has its pixels */
    bool fills_box;  /* points, upright rectangles: every pixel of the bounds is lit */
    bool contiguous; /* the setup thread found that contiguous dispatch may be used */
    bool back_facing, poly_stipple, continue_stipple, last_pixel, antialias, cosmetic, legacy_diamonds;

    float z[3]; /* after the viewport transform, V0..V2 */
    /* Biased coordinates in 1/256 pixel (1/16 mode is scaled up): pixel (i, j) is sampled at (256 i, 256 j). */
    int32_t x[4], y[4]; /* triangle: 3 vertices in V0, V1, V2 order; rectangle, wide or AA line: 4 corners in ring
                           order; point: 4 corners; cosmetic line: the end points in drawing order */

    struct g4_setup_line line; /* zero at most in what is none */
};

#endif
