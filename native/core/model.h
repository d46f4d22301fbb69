/*
 * A model of a GPU: the limits of its chip and the behaviour in which its generation differs from others.
 *
 * This is the only description of generations in the core.  Units read a limit or a named quirk, or call through a
 * pointer; they never compare generation numbers.  The models are in models/, one file per family.
 */
#ifndef G4_MODEL_H
#define G4_MODEL_H

#include "api/status.h"

/* Limits of a chip, generated from gen4emu/hw/chips.py. */
struct g4_chip {
    uint32_t gen; /* exactly one of the bits G4_GEN_* */
    uint32_t execution_units;
    uint32_t threads_per_unit;
    uint32_t tid_mask; /* the bits of sr0.0 that hold the thread ID */
    uint32_t urb_rows; /* of 512 bits */
    uint32_t surface_state_dwords;
};

/* Differences in behaviour.  Each name says what is true if the bit is set. */
struct g4_quirks {
    /* execution units */
    bool rounds_by_control_register; /* floats are rounded as cr0.0 says, to nearest even by default, else toward 0 */
    bool has_channel_pointers; /* channels wait at addresses; there are no mask stacks, and a second flag register */
    bool reads_enables_always; /* instructions without masks read the enabled channels from ce0, too, else all ones */
    bool conditions_test_stored_integers;  /* else conditions test the sign that a sum had before it overflowed */
    bool cmp_converts_to_destination_type; /* sources of cmp are compared in the type of the destination */
    bool has_compr4;                       /* MRF numbers with bit 7 write to registers n and n + 4 */

    /* sampler */
    bool sample_c_a16_nan_is_infinity;  /* sample_c of A16_FLOAT takes NaN for infinity */
    bool killed_mask_includes_disabled; /* pixels that are not enabled count as killed by the chroma key */
    bool resinfo_returns_floats;        /* resinfo honours return format FLOAT32 */
    bool sample_c_with_lod_differs;     /* sample_c with a delivered LOD in SIMD4x2: silicon departs from the manual */
    bool forced_lod_filters_linear;     /* with Force LOD to Zero, anisotropic filtering becomes linear */
    bool ld_of_deep_volume_levels_differs; /* ld beyond the first slice of volume levels: silicon departs from the
                                              manual */
    bool compares_ignore_array_index;      /* sample_c reads the first element of an array */
    bool compares_ignore_array_start;      /* sample_c ignores the Minimum Array Element */
    bool ld_outside_bytes_is_black;        /* ld outside of 8-bit formats without alpha returns alpha 0 */
    bool integer_borders_are_integers;     /* border colors of integer formats are integers in the format's range */
    bool limits_borders;                   /* border colors of UNORM and SNORM channels are clamped to their range */
    bool gathers_green_as_blue;            /* gather4 has the second of two 32-bit channels where blue is */
    bool shadow_of_cubes_differs;          /* sample_c of cube maps: silicon departs from the manual */
    bool lines_ignore_v;                   /* 1D surfaces are filtered along U alone, else V finds the border, too */

    /* data port, gateway, color */
    bool has_media_boundary_mode;         /* SURFACE_STATE has the Media Boundary Pixel Mode */
    bool media_reads_align_x_to_dword;    /* media block reads drop the low two bits of X */
    bool has_stateless_coherency_indices; /* binding table indices 250 to 253 are stateless, too */
    bool has_bare_typed_messages;         /* messages to typed surfaces may have no header */
    bool reads_small_texels;              /* typed reads of R8_UINT and R16_UINT work without being documented */
    bool gateway_opens_64_registers;
    bool has_8_bit_coverage;           /* antialiasing alpha is 8 bits a pixel, else 4 */
    bool has_depth_coordinate_offset;  /* 3DSTATE_DEPTH_BUFFER has the offset; else it follows from the render target */
    bool has_dual_source_messages;     /* all dual source render target messages are legal */
    bool refuses_y_tiled_wide_targets; /* render targets of 128 bits a pixel are not Y-tiled */
    bool has_integer_logic_ops;        /* logic ops also apply to SNORM, UINT and SINT targets, else to UNORM alone */

    /* geometry and raster */
    bool vf_counts_no_loop_end;        /* IA_PRIMITIVES_COUNT leaves out the closing segment of a LINELOOP */
    bool dispatches_widest_first;      /* pixel threads: the widest enabled dispatch that the subspans fill */
    bool clip_tests_negative_w;        /* trivial accept and reject look at negative W */
    bool clip_spawns_for_bad_vertices; /* NaN and infinity always spawn a clip thread */
    bool clip_counts_threads;          /* CL_INVOCATION_COUNT counts clip threads, else objects */
    bool counts_pixels_fourfold;       /* PS_INVOCATION_COUNT, which drivers divide by 4 */
    bool pixel_payload_has_sample_ids; /* R1.0 has the samples of the subspans in threads of samples */
    bool has_two_bit_control_surfaces; /* of single samples: two bits for a block of half as many rows */
    bool has_aa_line_slope;            /* 3DSTATE_AA_LINE_PARAMETERS has a coverage slope */

    bool stencil_buffer_has_enable; /* else an address of 0 disables it */

    /* media */
    bool vfe_scratch_is_power_of_two; /* MEDIA_VFE_STATE has 2 KB << n of scratch space a thread, else n KB */
    bool sampler_deinterlaces;        /* it has the denoise and deinterlace message */
    bool vfe_has_vld;
    bool vfe_has_avc_and_vc1;
    bool vfe_has_remap_table;
    bool vfe_extends_all_modes; /* VFE_STATE_EX is read in every mode, else only with VLD */
};

struct g4_context;     /* core/context.h */
struct g4_draw_loader; /* core/draw_state.h */
struct g4_draw_state;
struct g4_fault;

/* Fill the state of a draw from the context's commands, the state blocks in memory and the 3DPRIMITIVE itself.  On
 * failure the fault says why, and the state is incomplete. */
typedef enum g4_status g4_load_draw_fn(const struct g4_draw_loader *loader, const uint32_t *primitive,
                                       struct g4_draw_state *draw, struct g4_fault *fault);

/* Fill what a draw may have of its own if it shares the rest of its state with one that was loaded: the primitive, the
 * vertex buffers of the elements, the index buffer, and the CURBE or the push constants of its stages. */
typedef void g4_load_inputs_fn(const struct g4_draw_loader *loader, const uint32_t *primitive,
                               struct g4_draw_state *draw);

/* Fill the state of a dispatch of thread groups from the context's commands and a whole GPGPU_WALKER. */
struct g4_compute_state;
struct g4_kernel_cache;
typedef enum g4_status g4_load_compute_fn(const struct g4_context *ctx, struct g4_kernel_cache *kernels,
                                          const uint32_t *command, struct g4_compute_state *compute,
                                          struct g4_fault *fault);

/* Unpack a blit; false: it needs a clip rectangle, which another command has set. */
struct g4_blitter;
struct g4_blt;
typedef bool g4_load_blit_fn(const struct g4_blitter *blitter, const uint32_t *command, uint32_t gen,
                             struct g4_blt *blt);

/* Whether a message to a shared function may write to memory other than render targets, which threads of other
 * workers could see.  `known` is false if the descriptor comes from a register. */
typedef bool g4_message_writes_fn(uint32_t function, uint32_t descriptor, bool known);

/* The memory that a message with this descriptor may access. */
enum g4_message_use {
    G4_USES_NOTHING, /* that other threads see */
    G4_USES_SAMPLER, /* reads a surface through a sampler, or texels of it */
    G4_USES_SURFACE, /* reads a surface */
    G4_USES_ANYTHING,
};
/* `entry` receives the binding table entry of the surface, `sampler` the number of the sampler. */
typedef enum g4_message_use g4_message_use_fn(uint32_t function, uint32_t descriptor, uint32_t *entry,
                                              uint32_t *sampler);

struct g4_op;
struct g4_model;

/* The full form of a compacted instruction, of which `low` are the first two dwords; false: it is not compacted. */
typedef bool g4_expand_instruction_fn(const uint32_t low[2], uint32_t words[4]);
/* Decode an instruction.  `words` is its full form; it occupies `length` bytes at `ip`.  Opcodes become G4_OPCODE_*,
 * whatever their numbers. */
typedef void g4_decode_instruction_fn(struct g4_op *op, const uint32_t words[4], const struct g4_model *model,
                                      uint32_t ip, uint32_t length);

struct g4_worker;
struct g4_chunk;

/* Set up chunk->object[], in order, into chunk->setup[]: culled objects are only counted. */
typedef enum g4_status g4_setup_fn(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_chunk *chunk);

/* Run the vertex shader over the entries of a range, in place. */
struct g4_entries;
typedef enum g4_status g4_vs_fn(struct g4_worker *worker, const struct g4_draw_state *draw,
                                const struct g4_entries *entries);
struct g4_arena;
struct g4_vertex;
/* Tessellate the patches of a strip: run the hull shader, the tessellator and the domain shader. */
struct g4_strip;
struct g4_tessellated;
typedef enum g4_status g4_tessellate_fn(struct g4_worker *worker, const struct g4_draw_state *draw,
                                        const struct g4_strip *patches, const struct g4_vertex *const *vertex,
                                        struct g4_arena *arena, struct g4_tessellated *out);
/* Run the geometry shader over the objects of a strip; out[i] receives the output of object i. */
struct g4_output;
typedef enum g4_status g4_gs_fn(struct g4_worker *worker, const struct g4_draw_state *draw,
                                const struct g4_strip *strip, const struct g4_vertex *const *vertex,
                                struct g4_output *out);
/* Read the headers of vertices that leave the last shader of the geometry. */
typedef void g4_read_vertices_fn(const struct g4_context *ctx, const struct g4_draw_state *draw,
                                 const struct g4_entries *entries, struct g4_vertex *vertex);
/* The share of the clipper and of setup that depends on the vertex alone: outcodes and screen positions. */
struct g4_sf_frame;
typedef void g4_prepare_vertices_fn(const struct g4_context *ctx, const struct g4_draw_state *draw,
                                    const struct g4_sf_frame *frame, struct g4_vertex *vertex, uint32_t count);
/* Clip a strip: append the objects that remain to the chunk. */
typedef enum g4_status g4_clip_fn(struct g4_worker *worker, const struct g4_draw_state *draw,
                                  const struct g4_strip *strip, const struct g4_vertex *const *vertex,
                                  struct g4_chunk *chunk);
/* Start the waiting pixel shader threads in the worker's gang, with their payloads. */
typedef void g4_start_pixels_fn(struct g4_worker *worker);
/* Decide which unit tests depth and stencil. */
struct g4_iz;
typedef void g4_decide_tests_fn(const struct g4_draw_state *draw, struct g4_iz *iz);
/* Prepare the depth and stencil tests of a draw. */
struct g4_cc;
typedef void g4_begin_depth_fn(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc);

struct g4_surface_loader; /* core/surface.h */
struct g4_sampler_loader; /* sampler/texture.h */
struct g4_media_loader;   /* media/state.h */
struct g4_lod_rules;      /* sampler/sample.h */
struct g4_sampler_messages;
struct g4_dataport_messages;

struct g4_eu;
struct g4_gang;
struct g4_send;

/* A shared function.  Called with the host's default floating point environment.  Invalid messages are reported to
 * eu->log, and the sending threads continue. */
typedef enum g4_status g4_message_fn(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send);

struct g4_model {
    const struct g4_chip *chip;
    /* The part whose messages, thread payloads and surface formats this one has, as a bit G4_GEN_*: the units of the
     * core pass it to the generated functions of hw_messages.h. */
    uint32_t layout_gen;
    uint32_t format_gen; /* the part whose surface formats it has, if that is not layout_gen; else 0 */
    struct g4_quirks quirks;
    g4_load_draw_fn *load_draw;
    g4_load_inputs_fn *load_inputs;
    g4_expand_instruction_fn *expand_instruction;
    g4_decode_instruction_fn *decode_instruction;
    g4_vs_fn *run_vs;
    g4_tessellate_fn *tessellate; /* NULL: draws have no patches */
    g4_gs_fn *run_gs;
    g4_read_vertices_fn *read_vertices;
    g4_prepare_vertices_fn *prepare_vertices;
    g4_clip_fn *run_clip;
    g4_setup_fn *run_setup;
    g4_start_pixels_fn *start_pixels;
    g4_decide_tests_fn *decide_tests;
    g4_begin_depth_fn *begin_depth;
    g4_message_fn *const *functions;        /* shared functions by number (functions/table.h) */
    const uint32_t *scratch_functions;      /* those through which threads reach scratch space, as bits by number */
    g4_message_writes_fn *message_writes;   /* NULL: no message writes */
    g4_message_use_fn *message_use;         /* NULL: any message may access anything */
    g4_load_compute_fn *load_compute;       /* NULL: there is no GPGPU_WALKER */
    g4_load_blit_fn *load_fill, *load_copy; /* XY_COLOR_BLT, XY_SRC_COPY_BLT; NULL: Python unpacks them */
    const struct g4_surface_loader *surfaces;
    const struct g4_sampler_loader *samplers;
    const struct g4_media_loader *media;
    const struct g4_lod_rules *lod_rules;
    const struct g4_sampler_messages *sampler_messages;
    const struct g4_dataport_messages *dataport_reads, *dataport_writes;
};

/* The model of a chip by its G4_GEN_* bit; NULL: none. */
const struct g4_model *g4_model_of(uint32_t gen);

static inline uint32_t g4_format_gen(const struct g4_model *model) {
    return model->format_gen ? model->format_gen : model->layout_gen;
}

static inline uint32_t g4_chip_threads(const struct g4_chip *chip) {
    return chip->execution_units * chip->threads_per_unit;
}

#endif
