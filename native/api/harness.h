/*
 * Parts of the core driven one by one, for tests and benchmarks (native/harness).  Not in the product.
 */
#ifndef G4_API_HARNESS_H
#define G4_API_HARNESS_H

#include "api/device.h"
#include "api/variant.h"

/* The harness is linked with a separate copy of the core: use this variant in it. */
enum g4_status g4_harness_use_variant(enum g4_variant variant);

/* One gang of EU threads: fill registers, run a kernel or a single message, read registers. */
struct g4_probe;

/* Addresses are graphics addresses, as in struct g4_dispatch. */
struct g4_probe_setup {
    uint32_t unit; /* enum g4_unit */
    g4_address kernel_address, general_state_base, surface_state_base, binding_table, sampler_state;
    g4_address scratch_base;
    uint32_t scratch_bytes;
    uint32_t grf_count;
    uint32_t alternate_fp, single_program_flow, exceptions, rounding_mode, retains_denormals;
    uint32_t threads;  /* 1..8 */
    uint32_t urb_rows; /* rows of each thread's URB window */
    uint32_t wide;     /* the threads have 32 channels */
};

struct g4_probe *g4_probe_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options);
void g4_probe_free(struct g4_probe *probe);
struct g4_state *g4_probe_state(struct g4_probe *probe);
/* Whether registers that no instruction reads again have their values after a run; by default they do.  Applies to
 * kernels that have not run. */
void g4_probe_keep_registers(struct g4_probe *probe, bool keep);
/* Whether code that threads reach is added to their kernel, as in media objects. */
void g4_probe_add_parts(struct g4_probe *probe, bool add);
/* Reset the threads: registers zero, masks from dmask (one for each thread). */
enum g4_status g4_probe_start(struct g4_probe *probe, const struct g4_probe_setup *setup, const uint32_t *dmask);
/* Eight dwords of a register; NULL outside. file: 1 GRF, 2 MRF; the accumulators are not accessible. */
uint32_t *g4_probe_register(struct g4_probe *probe, uint32_t file, uint32_t reg, uint32_t thread);
uint32_t *g4_probe_urb_row(struct g4_probe *probe, uint32_t thread, uint32_t row);
/* f0.0 and f0.1 of a thread, 16 bits each. */
uint32_t g4_probe_flags(struct g4_probe *probe, uint32_t thread);
void g4_probe_set_flags(struct g4_probe *probe, uint32_t thread, uint32_t flags);
enum g4_status g4_probe_run(struct g4_probe *probe, bool general_only);
/* Grows with each block that machine code of the kernel leaves to the handlers; -1 if the kernel has no machine code.
 */
int64_t g4_probe_failures(struct g4_probe *probe);
/* One message of all threads, dst NULL when dst_grf > 127; emask has 16 bits for each thread. */
enum g4_status g4_probe_send(struct g4_probe *probe, uint32_t descriptor, uint32_t mrf, uint32_t dst_grf,
                             uint32_t exec_size, const uint16_t *emask);
/* g4_probe_send() for some of the threads: bit t of `threads`. */
/* A message of Gen7: its function is not in the descriptor, its payload is in the GRF. */
enum g4_status g4_probe_send_gen7(struct g4_probe *probe, uint32_t sfid, uint32_t descriptor, uint32_t src_grf,
                                  uint32_t dst_grf, uint32_t exec_size, const uint16_t *emask);
enum g4_status g4_probe_send_from(struct g4_probe *probe, uint32_t threads, uint32_t descriptor, uint32_t mrf,
                                  uint32_t dst_grf, uint32_t exec_size, const uint16_t *emask);
/* For benchmarks: one message of all threads, many times. */
enum g4_status g4_probe_repeat(struct g4_probe *probe, uint32_t times, uint32_t descriptor, uint32_t mrf,
                               uint32_t dst_grf, const uint16_t *emask);

/* A message to the unit that owns the threads: URB messages with Complete or Allocate, all messages to the spawner. */
struct g4_probe_heard {
    uint32_t thread, descriptor;
    uint32_t header[8];
};
/* Record such messages until g4_probe_start; Allocate is answered with `handle`. */
void g4_probe_listen(struct g4_probe *probe, uint32_t handle);
/* The number of such messages; the first 64 are recorded. */
uint32_t g4_probe_heard_count(const struct g4_probe *probe);
struct g4_probe_heard g4_probe_heard(const struct g4_probe *probe, uint32_t index);
/* The color calculator without the rest of the pipeline: begin a draw with eight dwords each of WM_STATE and
 * COLOR_CALC_STATE and sixteen viewports; other state is that of g4_probe_state.  After g4_probe_start. */
enum g4_status g4_probe_pixels(struct g4_probe *probe, const uint32_t *wm_state, const uint32_t *cc_state,
                               const float *viewports);
/* The IZ unit's decision: enum g4_iz_mode in bits 5:4, R1.6 bits 30:27 in bits 3:0. */
uint32_t g4_probe_iz(struct g4_probe *probe, const uint32_t *wm_state, const uint32_t *cc_state, bool depth_buffer);
uint32_t g4_probe_early(struct g4_probe *probe, const uint16_t *x, const uint16_t *y, uint32_t lit, const float *z,
                        uint32_t viewport, uint32_t array_index, bool back_facing);
void g4_probe_destination(struct g4_probe *probe, const uint16_t *x, const uint16_t *y, uint32_t lit,
                          uint32_t array_index, uint32_t *depth, uint8_t *stencil);
uint64_t g4_probe_depth_count(const struct g4_probe *probe);
/* For benchmarks: cover tiles of 32x32 pixels, `across` in a row, with the message in the registers; its subspans
 * are moved for each part of a tile. */
enum g4_status g4_probe_fill(struct g4_probe *probe, uint32_t descriptor, uint32_t tiles, uint32_t across);
/* g4_probe_fill() with early tests at one depth.  Returns the number of pixels that passed. */
uint64_t g4_probe_fill_depth(struct g4_probe *probe, float z, uint32_t tiles, uint32_t across);
uint64_t g4_probe_instructions(const struct g4_probe *probe);
uint64_t g4_probe_channel_ops(const struct g4_probe *probe);
uint64_t g4_probe_messages(const struct g4_probe *probe, uint32_t sfid);
struct g4_event_count g4_probe_event(const struct g4_probe *probe, enum g4_event event);

/* State blocks as dwords. */
struct g4_bench_blocks {
    uint32_t sf_state[8];
    uint32_t sf_viewport[16][8];
    uint32_t wm_state[8];
};

struct g4_bench_vertex {
    float x, y, z, rhw;
    uint32_t point_width; /* U8.3 */
    uint32_t viewport, array_index;
};

/* An object after setup. */
struct g4_setup_view {
    bool culled; /* then nothing else is set */
    uint32_t type, topology, corners;
    bool back_facing, fills_box;
    int32_t x[4], y[4];                 /* 1/256 pixel */
    int32_t x_min, y_min, x_max, y_max; /* pixels */
    float x_start, y_start;
    uint32_t r1[8], r2[8]; /* of the setup thread */
    uint32_t vertices;
    uint32_t vertex[3]; /* indices of V0, V1, V2 among the given vertices */
    uint32_t viewport, array_index;
    uint32_t line_length, stipple_start;
};

struct g4_bench; /* the objects of one primitive */

struct g4_bench *g4_bench_new(uint32_t gen, struct g4_state *state, const struct g4_bench_blocks *blocks);
void g4_bench_free(struct g4_bench *bench);
/* Assemble and set up a primitive; the objects stay until the next one. */
enum g4_status g4_bench_setup(struct g4_bench *bench, uint32_t topology, const struct g4_bench_vertex *vertices,
                              uint32_t count, uint32_t *objects);
enum g4_status g4_bench_view(const struct g4_bench *bench, uint32_t object, struct g4_setup_view *view);
/* Rasterize the objects `repeat` times: each lit pixel adds one to its byte of `hits`, and leaves the AA coverage in
 * `coverage`; both may be NULL.  Returns the number of lit pixels. */
uint64_t g4_bench_raster(const struct g4_bench *bench, uint32_t width, uint32_t height, uint32_t repeat, uint8_t *hits,
                         uint8_t *coverage);
/* The depth offset of a triangle with these slopes and vertex depths. */
float g4_bench_depth_offset(const struct g4_bench *bench, float cx, float cy, const float *z);
/* The next thread of an object with `subspans` left, or of a contiguous block with one or both halves lit: its pixels
 * (8, 16, 32, 64), and in bits 11:8 the kernel's entry point. */
uint32_t g4_bench_dispatch(const struct g4_bench *bench, uint32_t subspans);
uint32_t g4_bench_dispatch_contiguous(const struct g4_bench *bench, bool both_halves);

/* ---- clipper, setup and samples from Gen6 on, without memory and shader threads ---- */

enum {
    G4_FIXED_SAMPLES = 8,
    G4_FIXED_ROWS = 4 /* of two attributes */
};

struct g4_fixed_state {
    uint32_t width, height; /* of the viewport and drawing rectangle, pixels; y points down */
    bool test_xy, test_z;
    float guardband; /* 0: none */
    uint32_t clip_distances, cull_distances;
    uint32_t cull_mode, front_winding, fill;
    uint32_t samples;
    bool upper_left;
    bool conservative;
    uint8_t sample_x[8], sample_y[8]; /* 1/16 pixel; G4_FIXED_SAMPLES */
    uint32_t sample_mask;
    uint32_t flat;     /* bit i: of attribute i; there are two */
    uint32_t wraps;    /* bit c: component c of attribute 0 */
    bool sprite;       /* attribute 1 is the sprite coordinate */
    bool back_color;   /* attribute 0 of back-facing objects is attribute 1 */
    float point_width; /* pixels */
    float line_width;
    bool depth_offset;
    float offset_constant, offset_scale;
};

struct g4_fixed_vertex {
    float position[4]; /* in clip space */
    float distance[8];
    float attribute[2][4];
    bool inner; /* its edge flag is clear */
};

struct g4_fixed_view {
    uint32_t type;
    bool back_facing;
    int32_t x_min, y_min, x_max, y_max;
    float entry[4][8]; /* coefficients: G4_FIXED_ROWS rows */
};

/* At a place of the screen, in pixels from the location of pixel (0, 0). */
struct g4_fixed_values {
    float perspective[2], linear[2], w, z;
};

struct g4_fixed; /* the objects of one primitive */

struct g4_fixed *g4_fixed_new(struct g4_probe *probe, const struct g4_fixed_state *state);
void g4_fixed_free(struct g4_fixed *fixed);
/* Clip and set up a primitive; the objects stay until the next one. */
enum g4_status g4_fixed_run(struct g4_fixed *fixed, uint32_t topology, const struct g4_fixed_vertex *vertices,
                            uint32_t count, uint32_t *objects);
void g4_fixed_object(const struct g4_fixed *fixed, uint32_t object, struct g4_fixed_view *view);
/* The samples of a pixel that the object covers. */
uint32_t g4_fixed_covered(struct g4_fixed *fixed, uint32_t object, uint32_t x, uint32_t y);
/* Whether a pixel lies inside of a conservative triangle. */
bool g4_fixed_is_inside(const struct g4_fixed *fixed, uint32_t object, uint32_t x, uint32_t y);
struct g4_fixed_values g4_fixed_values(const struct g4_fixed *fixed, uint32_t object, float x, float y);

/* The points and objects that the tessellator makes of one patch (geometry/tessellator.h). */
struct g4_tessellated_view {
    uint32_t points;
    uint32_t uv[65 * 65][2]; /* 1.0 is 0x10000 */
    uint32_t indices;
    uint16_t index[3 * 2 * 64 * 64];
};

/* `factors`: of four edges, then of the inside along U and V. */
void g4_tessellated_view_of(uint32_t domain, uint32_t partitioning, uint32_t output, const float factors[6],
                            struct g4_tessellated_view *view);

enum {
    G4_VIEW_ROWS = 8
};

/* An object as it leaves the clipper, with the start of its vertices' entries. */
struct g4_object_view {
    uint32_t type, topology, vertices, provoking;
    bool invert_orientation, back_facing, poly_stipple, continue_stipple, last_of_primitive;
    uint32_t viewport[3], array_index[3], point_width[3];
    uint32_t entry[3][64]; /* G4_VIEW_ROWS rows, zero beyond the entry */
};

/* Run only the front end of a 3DPRIMITIVE.  `count` becomes the number of objects; at most `capacity` are stored. */
enum g4_status g4_device_objects(struct g4_device *device, const uint32_t *primitive, struct g4_object_view *objects,
                                 uint32_t capacity, uint32_t *count, struct g4_fault *fault);

/* ---- hierarchical depth alone ---- */

struct g4_hiz_half_view {
    uint32_t mask, minimum, maximum;
};

uint64_t g4_hiz_bench_encode(uint32_t mask, uint32_t minimum, uint32_t maximum);
struct g4_hiz_half_view g4_hiz_bench_decode(uint64_t slot);
/* False: the plane has no entry. */
bool g4_hiz_bench_encode_plane(double c0, double cx, double cy, uint64_t slot[2]);
bool g4_hiz_bench_is_plane(const uint64_t slot[2]);
double g4_hiz_bench_plane_value(const uint64_t slot[2], double x, double y);
/* enum g4_hiz_verdict for scaled depths: 0 undecided, 1 pass, 2 fail. */
uint32_t g4_hiz_bench_verdict(uint32_t function, const double source[2], const double destination[2], bool is_clear);
bool g4_hiz_bench_bounds(uint32_t format, uint32_t depth, uint32_t bounds[2]);

/* A depth buffer with entries, beside one without that must always have the same depths. */
struct g4_hiz_model;

struct g4_hiz_model_draw {
    double c0, cx, cy;  /* depth at (x, y) pixels of the screen */
    int32_t x[3], y[3]; /* of a triangle, 1/16 pixel; either winding */
    uint32_t function;
    bool test, write, computed, corners, literal;
    uint32_t kill_seed; /* not 0: half of the samples are killed after the first level */
    float minimum, maximum;
};

/* Depths and masks of a group: bits of pixels as in an entry, samples of pixel p from [16 * p] on. */
struct g4_hiz_model_pixels {
    uint16_t covered[32];
    uint32_t depth[512];
    uint32_t function;
    bool test, write, literal;
};

/* The first difference between the two buffers. */
struct g4_hiz_difference {
    bool found;
    bool is_verdict; /* of a sample's test; else of its depth */
    uint32_t x, y, sample, actual, expected;
};

struct g4_hiz_model *g4_hiz_model_new(uint32_t width, uint32_t height, uint32_t samples, uint32_t format, bool exact);
void g4_hiz_model_free(struct g4_hiz_model *model);
/* Clear a rectangle. */
void g4_hiz_model_clear(struct g4_hiz_model *model, float value, const uint32_t rectangle[4]);
/* The number of samples that pass. */
uint64_t g4_hiz_model_draw(struct g4_hiz_model *model, const struct g4_hiz_model_draw *draw);
uint64_t g4_hiz_model_pixels(struct g4_hiz_model *model, uint32_t column, uint32_t row,
                             const struct g4_hiz_model_pixels *pixels);
/* Run `steps` random triangles, clears and resolves; stop at a difference.  Returns the number executed. */
uint32_t g4_hiz_model_soak(struct g4_hiz_model *model, uint32_t seed, uint32_t steps);
void g4_hiz_model_resolve(struct g4_hiz_model *model);
void g4_hiz_model_ambiguate(struct g4_hiz_model *model);
/* The depth of a sample. */
uint32_t g4_hiz_model_depth(struct g4_hiz_model *model, uint32_t x, uint32_t y, uint32_t sample);
uint32_t g4_hiz_model_stored(struct g4_hiz_model *model, uint32_t x, uint32_t y, uint32_t sample);
void g4_hiz_model_entry(const struct g4_hiz_model *model, uint32_t column, uint32_t row, uint64_t slot[2]);
void g4_hiz_model_set_entry(struct g4_hiz_model *model, uint32_t column, uint32_t row, const uint64_t slot[2]);
void g4_hiz_model_counts(const struct g4_hiz_model *model, struct g4_hiz_counts *counts);
/* Bytes read, written and cleared by the buffer without entries. */
void g4_hiz_model_base(const struct g4_hiz_model *model, uint64_t bytes[3]);
struct g4_hiz_difference g4_hiz_model_difference(const struct g4_hiz_model *model);
/* Groups of planes, of ranges, of the clear value alone, and unknown ones. */
void g4_hiz_model_census(const struct g4_hiz_model *model, uint32_t groups[4]);
/* All pairs of draws over four pixels of two samples, after a clear: each of three depths, each coverage; the second
 * with each function.  Returns the number of pairs, or 0 after a difference. */
uint64_t g4_hiz_model_exhaust(struct g4_hiz_model *model);

#endif
