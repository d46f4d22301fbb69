/*
 * Hierarchical depth: a second, small depth buffer with an entry of 128 bits for each group of 8x4 pixels, however many
 * samples they have.  An entry is the plane of an object, or for each half a conservative range of depths.  Most groups
 * pass or fail the depth test by their entry alone, and planes and clears need not be stored in the depth buffer (US
 * patent 9412195).  The format of the hardware is not published; docs/decisions.md 95 names the choices made here.
 *
 * This file knows one group; hiz_buffer.h knows the buffer of a draw.
 */
#ifndef G4_COLOR_HIZ_H
#define G4_COLOR_HIZ_H

#include "api/device.h"

enum {
    G4_HIZ_WIDTH = 8, /* of a group, pixels */
    G4_HIZ_HEIGHT = 4,
    G4_HIZ_PIXELS = G4_HIZ_WIDTH * G4_HIZ_HEIGHT,
    G4_HIZ_HALF_PIXELS = 16, /* 4x4: the left and the right one */
    G4_HIZ_SAMPLES = 16,     /* of a pixel, at most */
    G4_HIZ_TOP = 0xffffff,   /* depth 1.0 in a range */
    G4_HIZ_ENTRY_BYTES = 16,
};

/* Bits of pixels: 16 * half + 4 * y + x, x within the half. */
struct g4_hiz_entry {
    uint64_t slot[2];
};

/* A half of an entry that is not a plane. */
struct g4_hiz_half {
    uint32_t mask;             /* pixels that the range includes; all samples of the others have the clear value */
    uint32_t minimum, maximum; /* 24 bits; nothing is known if minimum > maximum */
};

/* Depth at (x, y) pixels from the upper left corner of the group. */
struct g4_hiz_plane {
    double c0, cx, cy;
};

/* The depth buffer of a group.  Depths are in its format: integers, or the bits of floats. */
struct g4_hiz_memory {
    void *owner;
    uint32_t (*load)(void *owner, uint32_t pixel, uint32_t sample);
    void (*store)(void *owner, uint32_t pixel, uint32_t sample, uint32_t depth);
    bool exact; /* it holds every depth, and entries are checked against it; else some are only in the entries */
};

/* The facts about a depth buffer that its groups share. */
struct g4_hiz_surface {
    uint32_t format; /* enum g4_depth_format: D32_FLOAT, D24_UNORM_X8_UINT or D16_UNORM */
    uint32_t samples;
    uint32_t clear_bits;
    const uint8_t (*position)[2]; /* of samples, 1/16 pixel */
};

struct g4_hiz_group {
    const struct g4_hiz_surface *surface;
    const struct g4_hiz_memory *memory;
    uint32_t inside; /* pixels within the surface */
    struct g4_hiz_entry entry;
};

/* The part of an object in a group. */
struct g4_hiz_object {
    uint32_t function; /* enum g4_compare_function */
    bool test, write;
    bool computed; /* depths come from the shader: the first level is skipped */
    bool corners;  /* the range of the object is that of its plane at the corners of a half, not of its depths */
    bool literal;  /* leaf L7 of the patent's flow chart as printed, which loses depths (docs/decisions.md 95) */
    const struct g4_hiz_plane *plane;               /* NULL: the group cannot become a plane */
    uint16_t covered[G4_HIZ_PIXELS];                /* samples */
    uint16_t killed[G4_HIZ_PIXELS];                 /* by the shader, after the first level */
    uint32_t depth[G4_HIZ_PIXELS * G4_HIZ_SAMPLES]; /* of sample s of pixel p: [p * samples + s] */
};

/* ---- entries ---- */

bool g4_hiz_is_plane(const struct g4_hiz_entry *entry);
uint64_t g4_hiz_encode_half(const struct g4_hiz_half *half);
struct g4_hiz_half g4_hiz_decode_half(uint64_t slot);
/* False: the plane has no entry, because of its c0. */
bool g4_hiz_encode_plane(const struct g4_hiz_plane *plane, struct g4_hiz_entry *entry);
struct g4_hiz_plane g4_hiz_decode_plane(const struct g4_hiz_entry *entry);

/* ---- depths ---- */

/* The depth that the depth test stores for z. */
uint32_t g4_hiz_quantize(uint32_t format, float z, float minimum, float maximum);
/* The 24 bits at or below and at or above a depth.  False: it is not in 0..1. */
bool g4_hiz_bounds(uint32_t format, uint32_t depth, uint32_t *below, uint32_t *above);
uint32_t g4_hiz_sample_bytes(uint32_t format);

/* ---- the first level ---- */

struct g4_hiz_range {
    double minimum, maximum; /* scaled */
    bool known;
};

enum g4_hiz_verdict {
    G4_HIZ_UNDECIDED,
    G4_HIZ_PASS,
    G4_HIZ_FAIL,
};

/* Do all depths of `source` pass or fail against all of `destination`?  is_clear: the latter are all one exact value.
 */
enum g4_hiz_verdict g4_hiz_verdict(uint32_t function, struct g4_hiz_range source, struct g4_hiz_range destination,
                                   bool is_clear);

/* ---- groups ---- */

/* Test an object against the group, and write it.  passed[p] are the samples that passed. */
void g4_hiz_draw(struct g4_hiz_group *group, const struct g4_hiz_object *object, struct g4_hiz_counts *counts,
                 uint16_t passed[G4_HIZ_PIXELS]);
/* Give all samples of some pixels the clear value. */
void g4_hiz_clear(struct g4_hiz_group *group, uint32_t pixels, struct g4_hiz_counts *counts);
/* Bring the depth buffer up to date. */
void g4_hiz_resolve(struct g4_hiz_group *group, struct g4_hiz_counts *counts);
/* Forget the entry: the depth buffer is right. */
void g4_hiz_ambiguate(struct g4_hiz_group *group, struct g4_hiz_counts *counts);
/* Whether some depth is not in the depth buffer. */
bool g4_hiz_is_stale(const struct g4_hiz_group *group);
/* The depth of a sample, wherever it is. */
uint32_t g4_hiz_depth(const struct g4_hiz_group *group, uint32_t pixel, uint32_t sample);

/* The column and row of a pixel's bit in the group. */
static inline uint32_t g4_hiz_pixel_x(uint32_t pixel) {
    return pixel / G4_HIZ_HALF_PIXELS * 4 + pixel % 4;
}
static inline uint32_t g4_hiz_pixel_y(uint32_t pixel) {
    return pixel % G4_HIZ_HALF_PIXELS / 4;
}
static inline uint32_t g4_hiz_pixel(uint32_t x, uint32_t y) {
    return x / 4 * G4_HIZ_HALF_PIXELS + y * 4 + x % 4;
}

/* The pixels of a group of which only so many columns and rows are within the surface. */
uint32_t g4_hiz_inside(uint32_t columns, uint32_t rows);

#endif
