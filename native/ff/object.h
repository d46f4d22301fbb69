/*
 * What the fixed functions hand to each other: vertices in URB entries, assembled objects, set-up objects.
 *
 * A draw runs in chunks of some hundred objects.  VF, VS, GS and CLIP turn a chunk of the input into vertex entries and
 * assembled objects (geometry.h); SF sets them up (sf.h); WM rasterizes the set-up objects tile by tile (wm.h).
 */
#ifndef G4_FF_OBJECT_H
#define G4_FF_OBJECT_H

#include "../context.h"

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

/* An object after SF: fixed-point geometry, setup entry, everything WM needs (spec/20 4.2 step 12, spec/30 3.1). */
struct g4_setup {
    uint8_t type, topology;
    bool back_facing, poly_stipple, continue_stipple, last_pixel, antialias, cosmetic, legacy_diamonds;
    uint8_t viewport;
    uint16_t array_index;
    uint32_t primitive; /* number within the chunk, culled objects counted; */
    const uint32_t *numbered_from; /* added to this it is the sequence number for R0.7 */

    /* Biased coordinates in 1/256 pixel (1/16 mode is scaled up): pixel (i, j) is sampled at (256 i, 256 j). */
    int32_t x[4], y[4]; /* triangle: 3 vertices in V0, V1, V2 order; rectangle, wide or AA line: 4 corners in ring
                           order; point: 4 corners; cosmetic line: the end points in drawing order */
    uint8_t corners;
    bool fills_box;                     /* points, upright rectangles: every pixel of the bounds is lit */
    bool small;                         /* a triangle, and `mask` has its pixels */
    uint64_t mask;                      /* bit 8 * j + i: pixel (x_min + i, y_min + j) */
    bool contiguous;                    /* the setup thread found that contiguous dispatch may be used */
    int32_t x_min, y_min, x_max, y_max; /* inclusive pixel bounds: shape, scissor, drawing rectangle and 8K limits;
                                           min > max: nothing is drawn, and there is no setup entry */
    float x_start, y_start;             /* for R1.0, R1.1 and the planes */
    float z[3];                         /* after the viewport transform, V0..V2 */
    float line_x0, line_y0, line_x1, line_y1, line_width; /* lines, as drawn: v[0] to v[1], biased pixels */
    bool line_x_major;
    int32_t line_step;      /* along the major axis, +1 or -1 */
    int32_t line_first;     /* major coordinate of the first pixel as drawn */
    uint32_t line_length;   /* pixels along the major axis */
    uint32_t stipple_start; /* the stipple's counter at the first pixel */

    const uint32_t (*entry)[8]; /* setup URB entry (coefficients), attribute-major rows */
    uint32_t entry_rows;
};

enum {
    G4_OBJECT_NUMBERS = 0xffffff /* 24 bits in R0.7 */
};

static inline uint32_t g4_setup_number(const struct g4_setup *setup) {
    return (*setup->numbered_from + setup->primitive) & G4_OBJECT_NUMBERS;
}

#endif
