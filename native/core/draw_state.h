/*
 * The state of one draw: read from memory and unpacked before the draw starts; constant while a worker is busy with it.
 * Draws that differ in vertices and constants only may share it (draw/draw.c).
 *
 * Filled by the model's functions load_draw and load_inputs (draw/load_gen4.c), the only place that sees commands and
 * state blocks of the 3D pipeline.  Members have the manual's words but no encodings: sizes are in rows, pixels or
 * bytes as their names say, addresses are graphics addresses.  Enumerations are the generated ones, which all
 * generations share.
 */
#ifndef G4_DRAW_STATE_H
#define G4_DRAW_STATE_H

#include "core/context.h"
#include "core/dispatch.h"

struct g4_kernel; /* eu/kernel.h */

enum {
    G4_STAGE_VS,
    G4_STAGE_GS,
    G4_STAGE_CLIP,
    G4_STAGE_SF,
    G4_STAGE_WM,
    G4_STAGE_HS,
    G4_STAGE_DS,
    G4_STAGES
};
enum {
    G4_WM_ENTRIES = 4, /* entry points of a pixel shader kernel */
    G4_VIEWPORTS = 16,
    G4_VERTEX_BUFFERS = 33,  /* 17 before Gen6 */
    G4_VERTEX_ELEMENTS = 34, /* 18 before Gen6 */
    G4_VERTEX_ELEMENT_PARTS = 2 * G4_VERTEX_ELEMENTS,
    G4_STIPPLE_ROWS = 32,
    G4_COLOR_TARGETS = 8,
    G4_CONSTANT_ROWS = 128, /* of one stage's push constants */
    G4_CONSTANT_BUFFERS = 4,
};

/* ---- vertices ---- */

struct g4_primitive {
    uint32_t topology; /* enum g4_primitive_topology */
    bool indexed;
    bool indirect; /* the vertex count is in memory, at vertex_count_address */
    uint32_t vertex_count;
    g4_address vertex_count_address;
    uint32_t start_vertex;
    uint32_t instance_count, start_instance;
    int32_t base_vertex; /* added to indices */
    /* The vertices are the corners of a rectangle, x and y in pixels, which no vertex element stores. */
    bool has_corners;
    bool quads_have_one_id; /* the primitive ID counts quads, else their two triangles each */
    float corner[3][2];
};

struct g4_vertex_buffer {
    g4_address address;
    uint32_t pitch_bytes;
    uint32_t max_index; /* 0: no check */
    bool has_end;       /* elements beyond `end`, the address of the last byte, read as 0 */
    bool null;          /* all elements read as 0 */
    g4_address end;
    bool per_instance;
    uint32_t step_rate; /* instances per element; 0: all use the first one */
};

/* An element of 128 bits.  Those of 256 bits have two parts. */
struct g4_vertex_element {
    uint32_t buffer; /* G4_VERTEX_BUFFERS or more: there is no such buffer */
    uint32_t offset_bytes;
    uint32_t bytes_behind; /* of the other part, which the buffer must have as well */
    uint32_t format;       /* enum g4_surface_format */
    uint32_t control[4];   /* enum g4_vertex_component_control */
    uint8_t packed;        /* bit i: component i is left out, and those after it move down; from Gen9 on */
    uint32_t destination;  /* dword of the vertex URB entry */
    bool edge_flag;        /* stores nothing: whether the first component is not 0 (g4_vertex.inner) */
    bool per_instance;     /* as in g4_vertex_buffer, from Gen8 on */
    uint32_t step_rate;
};

struct g4_index_buffer {
    g4_address address, end; /* `end` is the address of the last byte; 0: no check */
    uint32_t index_bytes;    /* 1, 2 or 4 */
    bool cut_enable;
    uint32_t cut_index;
};

/* ---- stages that run threads ---- */

/* Where the payload of a stage's threads comes from, and how many threads there may be.  A row has 256 bits. */
struct g4_stage {
    uint32_t constant_offset, constant_rows;          /* of the CURBE; from Gen6 on, of `constants` */
    const uint32_t (*constants)[8];                   /* push constants, `constant_rows` rows; NULL before Gen6 */
    g4_address constant_address[G4_CONSTANT_BUFFERS]; /* and where they come from, one after the other */
    uint32_t constant_buffer_rows[G4_CONSTANT_BUFFERS];
    uint32_t input_offset, input_rows; /* of each URB entry that a thread reads */
    uint32_t grf_start;                /* first register after the fixed part of the payload */
    uint32_t entry_rows;               /* of a URB entry that the stage writes; even */
    uint32_t max_threads;
    bool single_vertices; /* a thread shades one vertex; from Gen6 on */
    bool eight_channels;  /* a thread has a vertex or point in each of eight channels; from Gen8 on */
    bool statistics;
};

/* The constant URB entry before Gen6: `rows` rows of 256 bits. */
struct g4_curbe {
    const uint32_t *row;
    uint32_t rows;
};

/* The objects of the threads of a geometry shader, from Gen7 on. */
enum g4_gs_dispatch {
    G4_GS_SINGLE,         /* one object, or one instance of it */
    G4_GS_DUAL_INSTANCES, /* two instances of an object */
    G4_GS_DUAL_OBJECTS,
    G4_GS_EIGHT_CHANNELS, /* an object in each channel, or if there are several, an instance of one; from Gen8 on */
};

struct g4_geometry_shader {
    uint8_t odd_triangles; /* enum g4_odd_triangles */
    bool discard_adjacency;
    uint32_t max_viewport;

    /* From Gen7 on.  A thread has one entry for each object or instance: control data, then vertices. */
    uint8_t dispatch; /* enum g4_gs_dispatch */
    uint32_t instances;
    bool has_primitive_ids, has_vertex_handles; /* in the payload */
    uint32_t control_rows;                      /* 0: no control data */
    bool control_is_streams;                    /* two bits a vertex: its stream; else one bit: the strip ends */
    uint32_t vertex_slots;                      /* of 128 bits, of a vertex that it writes */
    uint32_t output_topology;                   /* enum g4_primitive_topology */
    uint32_t default_stream;
    uint32_t static_vertices; /* that each thread writes; UINT32_MAX: it says how many; from Gen8 on */
};

/* ---- tessellation, from Gen7 on ---- */

enum g4_tessellation_domain {
    G4_DOMAIN_QUADS,
    G4_DOMAIN_TRIANGLES,
    G4_DOMAIN_ISOLINES,
};

enum g4_tessellation_partitioning {
    G4_PARTITIONING_INTEGER,
    G4_PARTITIONING_ODD,
    G4_PARTITIONING_EVEN,
};

enum g4_tessellation_output {
    G4_TESSELLATED_POINTS,
    G4_TESSELLATED_LINES,
    G4_TESSELLATED_CLOCKWISE,
    G4_TESSELLATED_COUNTERCLOCKWISE,
};

struct g4_tessellator_state {
    uint8_t domain, partitioning, output; /* the enumerations above */
    float most_odd, most_even;            /* largest factors */
};

struct g4_tessellation {
    bool enable;
    uint32_t hull_instances; /* hull shader threads of a patch */
    bool has_vertex_handles; /* in the payload of the hull shader */
    struct g4_tessellator_state tessellator;
    bool computes_w;    /* the third coordinate of a triangle's points */
    bool single_points; /* a domain shader thread works on one point */
};

struct g4_guardband {
    float x_min, x_max, y_min, y_max;
};

struct g4_clip {
    uint32_t mode; /* enum g4_clip_mode */
    bool test_xy, test_z, test_guardband, test_negative_w;
    bool ignores_near, ignores_far; /* test_z is for the other plane only; from Gen9 on */
    bool user_flags_must_clip;
    uint32_t user_flags;                     /* bit i: user clip flag i is tested */
    float x_min, x_max, y_min, y_max, z_min; /* of the volume; its z_max is 1 */
    bool count_gs_output;                    /* GS_PRIMITIVES */
    struct g4_guardband guardband[G4_VIEWPORTS];

    /* The fixed-function clipper from Gen6 on. */
    uint8_t clip_distances, cull_distances; /* bit i: distance i clips, or culls */
    bool divided;                           /* positions are divided by w already, and W holds 1/w */
    bool linear_barycentrics;               /* some pixel shader input is not perspective */
    uint32_t max_viewport;                  /* larger viewport indices become 0 */
    bool zero_array_index;
    float point_width_min, point_width_max; /* of widths that come from the vertex */
};

/* ---- stream output, from Gen7 on ---- */

enum {
    G4_STREAMS = 4,
    G4_STREAM_BUFFERS = 4,
    G4_STREAM_DECLARATIONS = 128,
};

/* The next part of a vertex to be written: components of a slot of 128 bits, or a gap. */
struct g4_stream_declaration {
    uint8_t buffer, slot;
    uint8_t mask; /* bit c: component c */
    bool hole;
};

struct g4_stream_buffer {
    g4_address address; /* where the first object of the draw is written */
    uint32_t room;      /* bytes from there to the end of the buffer */
    bool missing;       /* not even empty objects fit */
    uint32_t pitch_bytes;
    g4_address offset_address; /* where the offset of the next object is stored after the draw; 0: nowhere */
};

/* The vertices of one stream. */
struct g4_vertex_stream {
    uint32_t buffers; /* bit b: the stream has data for buffer b */
    uint32_t declarations;
    struct g4_stream_declaration declaration[G4_STREAM_DECLARATIONS];
};

struct g4_stream_output {
    bool enable, statistics;
    bool drops_objects;       /* they do not reach the clipper */
    bool leading;             /* odd triangles of strips keep their first vertex first, else their last one last */
    uint32_t rendered_stream; /* the stream whose objects reach the clipper; without stream output all do */
    struct g4_vertex_stream stream[G4_STREAMS];
    struct g4_stream_buffer buffer[G4_STREAM_BUFFERS];

    /* Shaders decide how many objects there are, and of which size: they are written in order, one after the other.
     * Else object n of the draw, of stream 0, has a place that does not depend on the others. */
    bool in_order;
    uint32_t vertices; /* of an object, unless in_order */
    uint64_t capacity; /* objects that fit into all buffers, unless in_order; those beyond are counted only */
};

/* How far the stream output of a draw is, with in_order. */
struct g4_streamed {
    uint32_t bytes[G4_STREAM_BUFFERS];                /* from the address of each buffer */
    uint64_t written[G4_STREAMS], needed[G4_STREAMS]; /* objects */
};

/* ---- attributes of objects (3DSTATE_SBE), from Gen6 on ---- */

enum {
    G4_ATTRIBUTES = 32, /* of a pixel shader */
};

/* Where one input of the pixel shader comes from.  A constant replaces the components of its mask. */
struct g4_attribute {
    uint8_t source;         /* attribute of the vertex, counted from the read offset */
    bool facing;            /* of back-facing objects, the one after it */
    uint8_t replaced;       /* bit c: component c is the constant */
    uint8_t constant;       /* enum g4_attribute_constant */
    bool flat;              /* the provoking vertex's bits everywhere */
    uint8_t wraps;          /* bit c: component c goes around 0..1 where that is shorter (Wrap Shortest) */
    bool sprite_coordinate; /* of points: (s, t, 0, 1) */
};

enum g4_attribute_constant {
    G4_CONSTANT_0000,
    G4_CONSTANT_0001,
    G4_CONSTANT_1111,
    G4_CONSTANT_PRIMITIVE_ID,
};

struct g4_attribute_setup {
    uint32_t count;                    /* inputs of the pixel shader */
    uint32_t read_offset, read_length; /* rows of the vertex's entry that hold attributes */
    bool sprite_origin_lower_left;
    struct g4_attribute attribute[G4_ATTRIBUTES];
};

/* ---- setup and rasterization ---- */

struct g4_viewport {
    float m00, m11, m22, m30, m31, m32;
    int32_t scissor_x_min, scissor_y_min, scissor_x_max, scissor_y_max; /* inclusive */
};

struct g4_drawing_rectangle {
    int32_t x_min, y_min, x_max, y_max; /* of the clipped rectangle, inclusive */
    int32_t origin_x, origin_y;
};

struct g4_line_antialiasing {
    float region, cap_region; /* pixels */
    bool true_distance;       /* else the Manhattan distance */
    bool has_slope;           /* coverage follows from the slopes and biases, not from the regions */
    float slope, bias, cap_slope, cap_bias;
    float scale; /* full coverage: 15 or 255 */
};

struct g4_line_stipple {
    uint32_t pattern; /* 16 bits */
    uint32_t repeat;  /* 1 or more */
};

/* How a triangle is filled. */
enum g4_fill_mode {
    G4_FILL_SOLID,
    G4_FILL_LINES,
    G4_FILL_POINTS,
};

struct g4_setup_state {
    bool viewport_transform, scissor;
    bool wide_range;        /* coordinates up to 32K, else up to 8K */
    bool line_rectangles;   /* lines are rectangles perpendicular to their direction */
    bool coarse_positions;  /* vertices have 4 bits of sub-pixel precision, else 8 */
    bool conservative;      /* triangles light all pixels that they touch */
    float bias_x, bias_y;   /* destination origin, pixels */
    uint32_t front_winding; /* enum g4_front_winding */
    uint32_t cull_mode;     /* enum g4_cull_mode */
    bool point_width_from_vertex;
    uint32_t point_width_u8_3;
    uint32_t point_rule; /* enum g4_point_rasterization_rule */
    bool sprite_point;
    uint8_t front_fill, back_fill; /* enum g4_fill_mode, from Gen6 on */
    float line_width;              /* pixels, 0: cosmetic */
    float line_cap_region;         /* pixels that an antialiased line extends beyond its ends */
    bool line_antialiasing, line_last_pixel;
    bool legacy_diamonds;                                      /* cosmetic lines follow the legacy rule */
    uint8_t provoking_line, provoking_triangle, provoking_fan; /* vertex of the object */
};

/* The depth offset of triangles. */
struct g4_depth_bias {
    bool enable;
    bool lines, points; /* also of those that a triangle is drawn as; `enable` is for areas */
    uint32_t format;    /* enum g4_depth_format that the constant counts in */
    bool legacy_unit;   /* the constant counts in units of 1.0 */
    float constant, scale, clamp;
};

/* ---- pixels ---- */

struct g4_windower_state {
    bool thread_dispatch;
    bool dispatch_8, dispatch_16, dispatch_32, contiguous_32, contiguous_64; /* thread sizes, in pixels */
    bool kills_pixels, computes_depth, uses_source_depth;                    /* the pixel shader */
    bool early_depth_test;
    bool polygon_stipple, line_stipple;
    bool setup_transposed; /* setup entries have rows of one coefficient of eight attributes */
    uint32_t depth_row;    /* row of a setup entry with the coefficients of depth */
    bool kernels_by_width; /* wm_kernel[] are those of 8, 16 and 32 pixels; else the enabled sizes decide */

    /* From Gen6 on.  Payloads have a start register for each width: 8, 16 and 32 pixels, which is also the order of
     * wm_kernel. */
    uint8_t grf_start[3];
    uint8_t
        barycentrics;   /* bit i: the payload has mode i 0 to 2 perspective at pixel, centroid, sample; 3 to 5 linear */
    bool uses_source_w; /* the payload has w */
    bool uses_coverage; /* the payload has the coverage mask */
    bool has_attributes;       /* the payload has attributes */
    bool has_constants;        /* the payload has push constants */
    uint8_t position_offset;   /* enum g4_sample_place: the payload has pixel offsets, unless G4_PLACE_NONE */
    uint8_t position_zw;       /* enum g4_sample_place of depth and w in the payload */
    uint8_t computed_depth;    /* enum g4_computed_depth */
    uint8_t early_tests;       /* enum g4_early_tests */
    bool writes_sample_mask;   /* the pixel shader's messages have a sample mask */
    bool coverage_after_tests; /* the coverage that shaders see is that which early tests leave */
    bool inner_coverage;       /* of conservative triangles they see only pixels inside */
    bool computes_stencil;     /* they have stencil references of pixels */
    bool dual_source;          /* and two colors */
    bool dispatches_samples;   /* a slot for each sample, not for each pixel */
    bool fast_clear, resolve;  /* the draw fast-clears or resolves its render target */
};

/* Where in a pixel something is evaluated. */
enum g4_sample_place {
    G4_PLACE_NONE,
    G4_PLACE_PIXEL,
    G4_PLACE_CENTROID,
    G4_PLACE_SAMPLE,
};

enum g4_computed_depth {
    G4_DEPTH_NOT_COMPUTED,
    G4_DEPTH_ANY,
    G4_DEPTH_NOT_BELOW, /* the shader's depth is not below the interpolated one */
    G4_DEPTH_NOT_ABOVE,
};

/* When depth and stencil are tested. */
enum g4_early_tests {
    G4_TESTS_WHEN_POSSIBLE, /* before the shader if nothing could see the difference */
    G4_TESTS_AFTER_SHADER,
    G4_TESTS_BEFORE_SHADER,
};

enum {
    G4_SAMPLES = 16, /* of a pixel */
};

/* The samples of a pixel, from Gen6 on. */
struct g4_multisampling {
    uint32_t samples;                     /* 1 or more; 0 before Gen6 */
    uint32_t mask;                        /* bit i: sample i may be written */
    bool pattern;                         /* coverage is found at the samples' places, else at the pixel location */
    bool upper_left;                      /* the pixel location is the upper left corner, else the center */
    uint8_t x[G4_SAMPLES], y[G4_SAMPLES]; /* 1/16 pixel from the upper left corner */
};

/* The buffers beside depth, from Gen6 on. */
struct g4_stencil_buffer {
    bool present;
    g4_address address;
    uint32_t pitch_bytes;  /* of two rows, which a tile of 64 x 64 bytes keeps in one of 128 bytes */
    uint32_t element_rows; /* from one array element to the next; 0: as the sizes of the levels say */
};

struct g4_hierarchical_depth {
    bool present;
    g4_address address;
    uint32_t pitch_bytes;
    uint32_t element_rows;          /* from one array element to the next; 0: as the sizes of the levels say */
    bool counts_pixels;             /* an entry has 8x4 pixels with all their samples, else 8x4 samples */
    bool clear, resolve, ambiguate; /* operations instead of a draw */
    uint32_t clear_bits;            /* of a sample that is cleared, in the format of the depth buffer */
};

struct g4_depth_buffer {
    bool present;
    bool tiled, tile_walk_x; /* X-major tile walk is invalid for depth */
    uint32_t type;           /* enum g4_depth_surface_type */
    uint32_t format;         /* enum g4_depth_format */
    g4_address address;
    uint32_t pitch_bytes;
    uint32_t width, height, depth; /* of level 0 */
    uint32_t level, miptree_layout, minimum_array_element;
    uint32_t view_extent;           /* slices that may be drawn to, from the minimum on; from Gen6 on */
    uint32_t element_rows;          /* from one array element to the next; 0: as the sizes of the levels say */
    uint32_t offset_x, offset_y;    /* added to pixel coordinates */
    bool follows_drawing_rectangle; /* instead: coordinates are relative to the aligned drawing rectangle origin */
    uint32_t report_value;          /* for reports: the dword of the command that has type and format */
};

struct g4_stencil_set {
    uint8_t function;           /* enum g4_compare_function */
    uint8_t fail, zfail, zpass; /* enum g4_stencil_operation */
    uint8_t reference, test_mask, write_mask;
};

struct g4_depth_range {
    float minimum, maximum;
};

struct g4_depth_stencil {
    bool depth_test, depth_write, stencil_test, stencil_write, double_sided;
    uint8_t depth_function;           /* enum g4_compare_function */
    struct g4_stencil_set stencil[2]; /* front, back */
};

struct g4_alpha_test {
    bool enable;
    bool unorm8;       /* alpha is compared as an 8-bit integer */
    uint32_t function; /* enum g4_compare_function */
    float reference;   /* 0 to 255 if unorm8 */
};

struct g4_blend_state {
    bool enable;
    uint32_t function[2];               /* color, alpha: enum g4_blend_function */
    uint32_t source[2], destination[2]; /* enum g4_blend_factor */
    float constant[4];
    bool logic_op;
    uint32_t logic_function; /* enum g4_logic_op_function */
    bool dither;
    uint32_t dither_x, dither_y;
    uint32_t clamp_range; /* enum g4_color_clamp_range */
    bool pre_clamp, post_clamp;
    uint8_t write_disable; /* bit c: component c is not written; from Gen6 on */
};

/* The render target write's share of the state. */
struct g4_color_state {
    struct g4_depth_range depth_range[G4_VIEWPORTS];
    struct g4_alpha_test alpha_test;
    struct g4_blend_state blend;
    bool statistics;

    /* From Gen6 on. */
    struct g4_blend_state target[G4_COLOR_TARGETS]; /* by render target; `blend` is the first */
    bool alpha_to_coverage, alpha_to_coverage_dither, alpha_to_one;
};

/* ---- all of it ---- */

struct g4_draw_state {
    struct g4_primitive primitive;
    struct g4_index_buffer index_buffer;
    struct g4_vertex_buffer vertex_buffer[G4_VERTEX_BUFFERS];
    struct g4_vertex_element vertex_element[G4_VERTEX_ELEMENT_PARTS];
    uint32_t vertex_elements; /* valid ones */
    bool vertex_cache;        /* vertices with the same index may be shaded once */
    bool vertex_statistics;

    bool vs_enable, gs_enable, clip_enable;
    struct g4_stage stage[G4_STAGES];
    struct g4_curbe curbe;
    struct g4_dispatch dispatch[G4_STAGES];
    const struct g4_kernel *kernel[G4_STAGES]; /* NULL where a stage runs none, and for G4_STAGE_WM */
    const struct g4_kernel *wm_kernel[G4_WM_ENTRIES];
    /* From Gen6 on, dispatch[G4_STAGE_WM] with the address of each of these kernels. */
    struct g4_dispatch wm_dispatch[G4_WM_ENTRIES];
    struct g4_tessellation tessellation;
    struct g4_geometry_shader gs;
    uint32_t amplification; /* objects that one of the input may become, roughly; 0: it stays one */
    struct g4_stream_output stream_output;
    struct g4_clip clip;

    struct g4_setup_state setup;
    struct g4_viewport viewport[G4_VIEWPORTS];
    struct g4_drawing_rectangle drawing_rectangle;
    struct g4_line_antialiasing line_antialiasing;
    struct g4_line_stipple line_stipple;
    struct g4_attribute_setup attributes;
    struct g4_multisampling multisampling;
    struct g4_stencil_buffer stencil_buffer;
    struct g4_hierarchical_depth hierarchical_depth;
    uint32_t polygon_stipple[G4_STIPPLE_ROWS]; /* bit x of [y]: pixel (x mod 32, y mod 32) is drawn; if enabled */
    struct g4_depth_bias depth_bias;

    struct g4_windower_state windower;
    struct g4_depth_buffer depth_buffer;
    struct g4_depth_stencil depth_stencil;
    struct g4_color_state color;

    g4_address setup_address, windower_address, color_address; /* of the units' state, for reports and payloads */
};

/* The parameters of a load_draw function. */
struct g4_draw_loader {
    const struct g4_context *ctx;
    struct g4_port *port;       /* reads that a draw needs */
    struct g4_port *quiet_port; /* speculative reads: faults are discarded, nothing is marked as accessed */
    struct g4_kernel_cache *kernels;
    uint32_t (*constants)[G4_CONSTANT_ROWS][8]; /* memory for push constants, by stage */
};

#endif
