/*
 * The color calculator's state of one worker and one draw, unpacked for the inner loops.
 */
#ifndef G4_CC_STATE_H
#define G4_CC_STATE_H

#include "color/color.h"
#include "color/hiz_buffer.h"
#include "color/pixel_rows.h"
#include "core/srgb.h"
#include "core/variant.h"

enum {
    G4_TARGETS = 16, /* render targets that are cached, a power of two */
};

/* Four subspans of one thread: pixel 4 * s + p, p = 0 upper left, 1 upper right, 2 lower left, 3 lower right. */
struct g4_pixels {
    uint16_t x[4], y[4];
    uint32_t live;             /* pixels to process */
    const float *color[2][4];  /* for each two subspans eight values of each channel; integers for integer targets */
    const float *color1[2][4]; /* the second color, if the target uses one */
};

static inline uint32_t g4_pixels_x(const struct g4_pixels *pixels, uint32_t i) {
    return pixels->x[i / 4] + (i & 1);
}

static inline uint32_t g4_pixels_y(const struct g4_pixels *pixels, uint32_t i) {
    return pixels->y[i / 4] + (i >> 1 & 1);
}

/* ---- depth and stencil ---- */

struct g4_depth_job {
    uint32_t live;
    uint16_t x[4], y[4];
    const float *z;         /* sixteen source depths; NULL: the message has none */
    float minimum, maximum; /* depth range of the viewport */
    bool back_facing;
    bool update;               /* false: test only */
    const uint8_t *references; /* sixteen stencil references instead of the state's; NULL: none. From Gen9 on */
};

struct g4_depth;
/* The pixels of `live` that pass stencil and depth test. */
typedef uint32_t g4_depth_fn(struct g4_depth *depth, struct g4_port *port, const struct g4_depth_job *job);

/* An object's pixels in a tile of the windower that is one page of the depth buffer. */
struct g4_depth_tile {
    uint8_t *page;    /* NULL: only stencil is tested */
    uint8_t *stencil; /* the pixels' quarter of a page of the separate stencil buffer; NULL: there is none */
    int32_t x, y;
    const struct g4_plane *plane;
    uint32_t first, last; /* rows that may have pixels */
    uint32_t row[32];     /* the pixels; those that fail are removed */
    float minimum, maximum;
    bool back_facing;
};

/* Tests the pixels of a tile before the shader. */
typedef void g4_depth_tile_fn(const struct g4_depth *depth, struct g4_depth_tile *tile);

struct g4_depth {
    g4_depth_fn *test;      /* NULL: there is nothing to test or write */
    g4_depth_tile_fn *tile; /* NULL: only subspans are tested */
    bool depth_test, depth_write, stencil_test, stencil_write, double_sided;
    uint8_t function;
    uint32_t format;                  /* enum g4_depth_format */
    struct g4_stencil_set stencil[2]; /* front, back */
    struct g4_surface surface;
    struct g4_pixel_map map; /* of array index `array_index` */
    uint32_t array_index;
    uint32_t dx, dy; /* from color to depth coordinates */

    /* From Gen6 on: a separate stencil buffer, in W tiles, and the test of depth alone. */
    g4_depth_fn *test_depth;
    struct g4_surface stencil_surface;
    struct g4_pixel_map stencil_map; /* of array index `stencil_index` */
    uint32_t stencil_index;
    struct g4_hiz_buffer hiz;
};

/* ---- render targets ---- */

struct g4_channel {
    uint8_t type; /* enum g4_channel_type */
    uint8_t bits;
    uint8_t plane, shift; /* dword of the pixel, lowest bit in it */
    bool stored;          /* the format has this channel */
    bool written;         /* stored and not disabled */
    bool dither;
    uint32_t mask;             /* of `bits` bits */
    float scale;               /* 1.0 in a normalized channel */
    float low, high;           /* pre-blend clamp */
    float post_low, post_high; /* post-blend clamp, the format's range included */
    const struct g4_srgb *srgb;
};

struct g4_target;
typedef void g4_color_fn(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels);

enum {
    G4_COLOR_STRIDE = G4_GANG_THREADS * 8 /* floats between the payload registers of a thread */
};

/* Threads of sixteen or eight pixels.  Subspans of a thread do not overlap. */
struct g4_wide_message {
    uint32_t threads; /* bit t: thread t is one */
    uint32_t rows;    /* those whose four subspans are side by side, with the first one lit */
    bool is_whole;    /* all threads are, as in struct g4_whole_rows, with all pixels lit */
    uint16_t x[G4_GANG_THREADS][4], y[G4_GANG_THREADS][4]; /* of the subspans; of a row, the first one counts */
    uint16_t live[G4_GANG_THREADS];                        /* pixels */
    const float *color[4];                                 /* R, G, B and A of the first eight pixels of thread 0 */
    size_t half; /* floats from there to the other eight; of threads of eight pixels 0 */
};

/* Writes the pixels of threads, the lowest first, until those of one are not directly accessible.  Returns the threads
 * that are left. */
typedef uint32_t g4_wide_fn(struct g4_target *target, struct g4_port *port, const struct g4_wide_message *message);

/* The target of a message, as the message names it. */
struct g4_target_key {
    uint32_t index;        /* binding table index */
    uint32_t array_index;  /* of the message */
    uint8_t render_target; /* chooses the blend state; 0 before Gen6 */
    uint8_t sample;
};

struct g4_target {
    bool valid;
    struct g4_target_key key;
    const struct g4_blend_state *state;
    g4_color_fn *write; /* NULL: no color is written */
    g4_wide_fn *wide;   /* for all threads of a message at once; NULL: no such function */
    uint32_t event;     /* the problem with the target, enum g4_event; G4_EVENTS: none */
    uint32_t event_value;
    struct g4_pixel_map map;
    /* Multisample control surface: an entry for each pixel from `mcs_row` on; base 0: none. */
    g4_address mcs_base;
    uint32_t mcs_pitch, mcs_row, mcs_samples;
    uint32_t clear[4]; /* the clear color, as floats or integers; only with a control surface */
    bool integer;      /* alpha cannot be tested */
    struct g4_channel channel[4];
    uint32_t write_mask[4]; /* by plane */
    bool whole;             /* every bit of a pixel is written */
    bool combines;          /* blending or a logic op needs the old contents */
    bool reads;             /* so do partial pixels */

    bool saturate;   /* UNORM: sources saturate regardless of the clamps (docs/decisions.md 14) */
    bool pre_clamp;  /* to channel[].low, high */
    bool post_clamp; /* after blending, to channel[].post_low, post_high */
    bool blend;
    bool floats;                       /* some channel is a float: NaN results of blending become canonical */
    uint8_t function[2];               /* color, alpha: enum g4_blend_function */
    uint8_t source[2], destination[2]; /* enum g4_blend_factor */
    bool dual_source;                  /* some factor uses the second color */
    float constant[4];
    bool logic_op;
    uint8_t logic; /* enum g4_logic_op_function */
    bool dither;
    uint8_t dither_x, dither_y;
};

/* Whether messages that have nothing to test may write a target together, or by `write` alone. */
static inline bool g4_target_is_fast(const struct g4_target *target) {
    return target->event == G4_EVENTS && target->write && !(target->blend && target->dual_source);
}

/* Add a thread, whose positions are set, to a message.  One without lit pixels has nothing to write. */
static inline void g4_wide_add(struct g4_wide_message *message, int thread, uint32_t live, bool is_row) {
    message->threads |= (uint32_t)(live != 0) << thread;
    message->rows |= (uint32_t)is_row << thread;
    message->live[thread] = (uint16_t)live;
}

/* Returns the threads that are left. */
static inline uint32_t g4_wide_write(struct g4_target *target, struct g4_port *port,
                                     const struct g4_wide_message *message) {
    return message->threads ? target->wide(target, port, message) : 0;
}

/* ---- inner loops, built once per vector variant and chosen when a draw begins ---- */

struct g4_depth_ops {
    /* by format, with stencil test */
    g4_depth_fn *test[G4_DEPTH_FORMAT_D16_UNORM + 1][2];
    g4_depth_tile_fn *tile[G4_DEPTH_FORMAT_D16_UNORM + 1][2]; /* NULL: there is none */
    /* with a separate stencil buffer */
    g4_depth_tile_fn *tile_separate[G4_DEPTH_FORMAT_D16_UNORM + 1];
    g4_depth_tile_fn *tile_stencil; /* without a depth test */
};

/* Reads the live pixels: four channels of sixteen pixels, 0 outside of the target. */
typedef void g4_color_read_fn(struct g4_target *target, struct g4_port *port, const struct g4_pixels *pixels,
                              uint32_t out[4][16]);

struct g4_color_ops {
    g4_color_fn *general, *integer, *yuv;
    g4_color_fn *dwords; /* four channels that are integers of 32 bits, in columns of a Y tile */
    g4_color_fn *unorm8, *unorm8_blend, *unorm8_over; /* four channels of eight bits */
    g4_color_read_fn *read;                           /* of numbers */
};

/* For four 8-bit channels; NULL: this variant has no vectors of that width. */
struct g4_wide_ops {
    g4_wide_fn *replace, *blend, *over;
    g4_wide_fn *uints; /* which drivers use to copy */
};

/* Rows in host memory. */
struct g4_filled_rows {
    uint8_t *first;
    uint32_t count, bytes, pitch; /* `bytes` of a row is a multiple of 2 and of the size of a pixel */
};

/* Rows in host memory of which some pixels are lit: bit i of lit[j] is pixel i of row j. */
struct g4_lit_rows {
    uint8_t *first;
    const uint32_t *lit;
    uint32_t count, pitch;
    uint32_t bytes; /* of a pixel */
};

struct g4_fill_ops {
    /* Make each pixel (pixel & keep) | value. */
    void (*rows)(const struct g4_filled_rows *rows, const struct g4_pixel_pattern *value,
                 const struct g4_pixel_pattern *keep);
    /* The lit pixels, where those of a row are contiguous. */
    void (*lit_rows)(const struct g4_lit_rows *rows, const struct g4_pixel_pattern *value,
                     const struct g4_pixel_pattern *keep);
    /* The lit pixels, of 32 bits, in columns of a Y tile. */
    void (*lit_columns)(const struct g4_lit_rows *rows, const struct g4_pixel_pattern *value,
                        const struct g4_pixel_pattern *keep);
};

G4_VARIANT_DECLARE(struct g4_depth_ops, g4_depth_ops);
G4_VARIANT_DECLARE(struct g4_color_ops, g4_color_ops);
G4_VARIANT_DECLARE(struct g4_wide_ops, g4_wide_ops);
G4_VARIANT_DECLARE(struct g4_fill_ops, g4_fill_ops);

/* ---- all of it ---- */

struct g4_cc {
    const struct g4_depth_ops *depth_ops;
    const struct g4_color_ops *color_ops;
    const struct g4_fill_ops *fill_ops;
    struct g4_color_state state;
    struct g4_windower_state windower;
    struct g4_multisampling multisampling;
    bool wm_statistics;
    struct g4_depth depth;
    struct g4_hiz_counts hiz_counts; /* of all draws of the worker */
    struct g4_target target[G4_TARGETS];
    struct g4_target *recent;               /* the target that was written last; NULL: none yet */
    uint16_t alpha_passed[G4_GANG_THREADS]; /* of threads without a pixel block */
};

/* The state of the worker's draw; NULL before the first g4_cc_allocate(). */
static inline struct g4_cc *g4_cc_of(const struct g4_worker *worker) {
    return worker->eu.cc;
}

/* The surface of a depth buffer whose pixels have the size of a texel format. */
void g4_depth_surface(const struct g4_depth_buffer *buffer, enum g4_surface_format format, struct g4_surface *surface);

/* Makes depth->map describe the slice of an array index. */
void g4_depth_select(struct g4_depth *depth, uint32_t gen, uint32_t array_index);

/* Makes depth->stencil_map describe the slice of the same index, if there is a separate stencil buffer. */
void g4_stencil_select(struct g4_depth *depth);

/* Returns the render target of a message, which blends by `state`.  Never NULL. */
struct g4_target *g4_target_get(struct g4_worker *worker, const struct g4_dispatch *dispatch,
                                const struct g4_target_key *key, const struct g4_blend_state *state);

/* Mark a pixel of a multisampled target as clear. */
void g4_control_surface_clear(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y);
/* The pixels among `live` that the control surface of a multisampled target marks as clear. */
uint32_t g4_control_surface_find_clear(struct g4_worker *worker, const struct g4_target *target,
                                       const struct g4_pixels *pixels, uint32_t live);
/* Write the clear color to `live` pixels of a sample's target, and mark the pixels as alike in all samples, because a
 * message of single samples may have a pixel again. */
void g4_control_surface_fill(struct g4_worker *worker, const struct g4_target *target, const struct g4_pixels *pixels,
                             uint32_t live);
/* Keep the control surface of a multisampled target up to date after some samples of a pixel were written; `all`: all
 * of them, with one color. */
void g4_control_surface_write(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y,
                              bool all);

/* The pixels among `live` whose alpha passes; `alpha` has eight pixels in each half. */
uint32_t g4_cc_alpha_test(const struct g4_alpha_test *test, const float *const alpha[2], uint32_t live);

/* The comparison of alpha tests, with the source on the left. */
static inline bool g4_cc_compare(uint32_t function, double a, double b) {
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return false;
    case G4_COMPARE_FUNCTION_LESS:
        return a < b;
    case G4_COMPARE_FUNCTION_EQUAL:
        return a == b;
    case G4_COMPARE_FUNCTION_LEQUAL:
        return a <= b;
    case G4_COMPARE_FUNCTION_GREATER:
        return a > b;
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return a != b;
    case G4_COMPARE_FUNCTION_GEQUAL:
        return a >= b;
    default:
        return true;
    }
}

/* The slice of an array index; indices out of range become the minimum element (docs/decisions.md 20). */
uint32_t g4_cc_slice(const struct g4_surface *surface, uint32_t level, uint32_t array_index);

#endif
