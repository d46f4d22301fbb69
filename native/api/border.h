/* The border between the C core and Python: everything that cffi reads, and nothing else.
 *
 * native/build.py gives this very text to cffi, without the lines that start with '#'.  So: declarations only, no
 * macros, no inline functions.  The rest of the core includes it as an ordinary header.
 */
#ifndef G4_BORDER_H
#define G4_BORDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "enums.h"

/* ---- vector variants: native/core/variant.h ---- */

enum g4_variant {
    G4_VARIANT_PLAIN,
    G4_VARIANT_AVX2,
    G4_VARIANT_AVX512,
    G4_VARIANT_COUNT,
};

enum g4_variant g4_variant_best(void);
enum g4_variant g4_variant_current(void);
enum g4_status g4_set_variant(enum g4_variant variant);

/* ---- memory: native/core/memory.h ---- */

struct g4_fault {
    uint32_t unit;    /* enum g4_unit */
    uint32_t address; /* graphics address of the first byte that failed */
    uint32_t what;    /* enum g4_fault_kind */
    uint32_t value;   /* the page table entry */
};

/* What went wrong: how often and what first, by kind.  One count is one access to one page. */
struct g4_fault_log {
    uint64_t count[G4_FAULT_KINDS];
    struct g4_fault first[G4_FAULT_KINDS];
};

struct g4_mem;

/* A unit's port to memory.  One per worker thread: its log and status belong to that thread alone. */
struct g4_port {
    struct g4_mem *mem;
    uint32_t unit;   /* enum g4_unit */
    bool strict;     /* faults set `status` */
    bool quiet;      /* a look from outside: marks nothing in the page table */
    bool lowest;     /* log the lowest address, not the first: the order of a worker's jobs is not determined */
    uint32_t status; /* enum g4_status, sticky */
    struct g4_fault_log log;
};

struct g4_mem *g4_mem_create(uint32_t gtt_entries, uint32_t max_pages, bool strict_pte);
void g4_mem_destroy(struct g4_mem *mem);
enum g4_status g4_mem_clear(struct g4_mem *mem);
uint32_t g4_mem_owned_pages(const struct g4_mem *mem);

enum g4_status g4_mem_set_gtt(struct g4_mem *mem, uint32_t first, const uint32_t *entries, uint32_t count);
uint32_t g4_mem_gtt_entry(const struct g4_mem *mem, uint32_t index);
uint64_t g4_mem_physical(const struct g4_mem *mem, uint32_t address);
enum g4_status g4_mem_map_external(struct g4_mem *mem, uint32_t address, void *host, size_t size, bool read_only);
enum g4_status g4_mem_unmap_external(struct g4_mem *mem, uint32_t address, size_t size);

uint32_t g4_mem_page_flags(struct g4_mem *mem, uint32_t page);
uint32_t g4_mem_find_page(struct g4_mem *mem, uint32_t page, uint32_t end, uint32_t mask, uint32_t flags, bool equal);
uint32_t g4_mem_mark(struct g4_mem *mem);
bool g4_mem_changed_since(const struct g4_mem *mem, uint32_t address, size_t size, uint32_t mark);

void g4_port_init(struct g4_port *port, struct g4_mem *mem, enum g4_unit unit, bool strict);
void g4_port_merge(struct g4_port *into, const struct g4_port *from);
bool g4_mem_peek(struct g4_mem *mem, uint32_t address, void *data, size_t size);
enum g4_status g4_mem_read(struct g4_port *port, uint32_t address, void *data, size_t size);
enum g4_status g4_mem_write(struct g4_port *port, uint32_t address, const void *data, size_t size);
enum g4_status g4_mem_poke(struct g4_mem *mem, uint32_t address, const void *data, size_t size, struct g4_fault *fault);
enum g4_status g4_mem_read_physical(struct g4_mem *mem, uint64_t physical, void *data, size_t size);
enum g4_status g4_mem_write_physical(struct g4_mem *mem, uint64_t physical, const void *data, size_t size);

/* ---- tiling: native/core/tiling.h ---- */

struct g4_surface_layout {
    uint32_t base;
    uint32_t pitch_bytes;
    uint32_t width_bytes;
    uint32_t height_rows;
    uint32_t tiling;  /* enum g4_tiling */
    uint32_t swizzle; /* enum g4_swizzle; linear surfaces have none */
};

/* Coordinates in bytes and rows; what lies outside of the surface is clipped away. */
struct g4_rectangle {
    int32_t x_bytes;
    int32_t y;
    uint32_t width_bytes;
    uint32_t height;
};

uint64_t g4_tiling_offset(uint32_t tiling, uint32_t pitch_bytes, uint32_t x_bytes, uint32_t y);
enum g4_status g4_tiling_coordinates(uint32_t tiling, uint32_t pitch_bytes, uint64_t offset, uint64_t *x_bytes,
                                     uint64_t *y);
uint64_t g4_swizzle_address(uint32_t swizzle, uint64_t address, uint64_t physical);
enum g4_status g4_layout_check(const struct g4_surface_layout *layout);
enum g4_status g4_surface_read(struct g4_port *port, const struct g4_surface_layout *layout,
                               const struct g4_rectangle *rectangle, void *pixels, size_t size, size_t pitch_bytes);
enum g4_status g4_surface_write(struct g4_port *port, const struct g4_surface_layout *layout,
                                const struct g4_rectangle *rectangle, const void *pixels, size_t size,
                                size_t pitch_bytes);

/* ---- pictures of surfaces: native/core/picture.c ---- */

/* Bits of a texel and the value of a picture that each gives; without a table they are 8 bits, taken as they are. */
struct g4_picture_channel {
    uint32_t at;
    uint32_t bits;         /* at most 16; 0: table[0] always */
    const uint16_t *table; /* 1 << bits values */
};

struct g4_picture_format {
    uint32_t texel_bytes; /* at most 8 */
    uint32_t channels;    /* 1: grey, 3: RGB, 4: RGBA */
    bool wide;            /* 16 bits a channel of the picture, in the order of this machine; else 8 */
    struct g4_picture_channel channel[4];
};

/* A rectangle of texels as rows of pixels without gaps.  `channels` is the format's own number, or 3 of a format that
 * has 4: `opaque` then tells whether the alpha that was left out is 255 throughout; at the first one that is not, the
 * function returns and the pixels mean nothing.  G4_BAD_VALUE: a rectangle that the surface does not hold. */
enum g4_status g4_picture_read(struct g4_port *port, const struct g4_surface_layout *layout, uint32_t x, uint32_t y,
                               uint32_t width, uint32_t height, const struct g4_picture_format *format,
                               uint32_t channels, void *pixels, size_t size, bool *opaque);

/* ---- the CPU's aperture: native/core/aperture.c ---- */

/* A tiled region of the aperture, as a fence register describes it; `last` is the address of its last byte. */
struct g4_aperture_fence {
    uint32_t start;
    uint32_t last;
    uint32_t pitch_bytes;
    uint32_t tiling; /* G4_TILING_X or G4_TILING_Y */
    bool valid;
};

/* What the CPU's aperture looks through. */
struct g4_aperture {
    struct g4_aperture_fence fences[16];
    uint32_t swizzle_x; /* enum g4_swizzle, for X tiled regions */
    uint32_t swizzle_y;
};

int g4_aperture_find_fence(const struct g4_aperture *aperture, uint32_t address);
enum g4_status g4_aperture_read(struct g4_port *port, const struct g4_aperture *aperture, uint32_t address, void *data,
                                size_t size);
enum g4_status g4_aperture_write(struct g4_port *port, const struct g4_aperture *aperture, uint32_t address,
                                 const void *data, size_t size);

/* ---- the state of one hardware context: native/core/context.h ---- */

/* What the commands set, per hardware context (decision 19).  Pointers are resolved graphics addresses (base + offset
 * at the time of the command, spec/05 3.5); commands without pointers are kept as their own dwords, without the header,
 * and unpacked by the units with the generated functions.  Python fills it; plain data, so saving a context is a copy.
 */
struct g4_state {
    uint32_t general_state_base, surface_state_base, indirect_object_base;
    uint32_t general_state_bound, indirect_object_bound; /* 0: none */
    uint32_t system_instruction_pointer;
    uint32_t media_selected;

    uint32_t urb_fence[6]; /* VS, GS, CLIP, SF, VFE, CS: end rows of 512 bits */
    uint32_t cs_urb_entries, cs_urb_entry_units;
    uint32_t curbe_rows;     /* 256-bit rows that are valid, 0: no constants */
    uint32_t curbe[512 * 2]; /* 8 dwords a row */

    uint32_t vs_state, gs_state, clip_state, sf_state, wm_state, cc_state;
    uint32_t gs_enable, clip_enable;
    uint32_t binding_table[5]; /* VS, GS, CLIP, SF, PS */

    uint32_t vertex_buffer[17][4]; /* by index; [0] is the command's dword 0 */
    uint32_t vertex_buffer_valid;  /* bit i */
    uint32_t vertex_element[18][2];
    uint32_t vertex_elements;
    uint32_t index_buffer[3]; /* with the header: it has the format */

    uint32_t drawing_rectangle[3];
    uint32_t constant_color[4];
    uint32_t depth_buffer[5];
    uint32_t chroma_key[4][2]; /* low, high */
    uint32_t sampler_palette[256];
    uint32_t sampler_palette1[256];
    uint32_t poly_stipple_offset;
    uint32_t poly_stipple[32];
    uint32_t line_stipple[2];
    uint32_t line_stipple_position; /* runs on from line to line */
    uint32_t depth_offset_clamp;    /* float bits */
    uint32_t aa_line[2];
    uint32_t svb_index[4][3];
    uint32_t vf_statistics;

    uint32_t vfe_state, vfe_extended_state;           /* VLD_STATE or VFE_STATE_EX */
    uint32_t vfe_extended;                            /* the latter is there */
    uint32_t media_pointers_new;                      /* VFE reads its state at the next object, */
    uint32_t vfe_latched[3], vfe_extended_latched[8]; /* and keeps it here */
    uint32_t media_counter_set;                       /* the debug counter was initialized */
    uint32_t media_retains, media_retained[8];        /* indirect data for the next object */
    uint64_t counter[G4_COUNTERS];
};

/* ---- what kernels and messages do that the rules do not allow: native/core/report.h ---- */

struct g4_event_count {
    uint64_t count;
    uint32_t address; /* graphics address of the first instruction or command that did it */
    uint32_t value;
};

/* ---- a bench for one gang: native/harness/probe.h ---- */

/* Test and study tool: fill registers, run a kernel or a single message, look at the registers. */
struct g4_probe;

struct g4_options {
    bool round_to_nearest; /* decision 1: off, the EU rounds toward zero */
    bool general_only;     /* no fast handlers in the EU (EU-79), no short ways in other units */
    bool poison;           /* fill uninitialised registers with a pattern instead of 0 */
    bool dither_all;       /* decision 13: off, only channels below 8 bits dither */
    bool gateway_time;     /* GetTimeStamp, which the descriptors of Gen4 reserve */
    bool min_lod_erratum;  /* decision 35: off, the fraction of Min LOD is harmless when mips are not mixed */
    uint32_t watchdog;     /* million instructions a draw may execute before it hangs; 0: the default */
    uint32_t workers;      /* threads that share the screen tiles; 0: one for each processor */
};

/* Addresses are graphics addresses, as in struct g4_dispatch. */
struct g4_probe_setup {
    uint32_t unit; /* enum g4_unit */
    uint32_t kernel_address, general_state_base, surface_state_base, binding_table, sampler_state;
    uint32_t scratch_base, scratch_bytes;
    uint32_t grf_count;
    uint32_t alternate_fp, single_program_flow, exceptions;
    uint32_t threads;  /* 1..8 */
    uint32_t urb_rows; /* rows of each thread's URB window */
};

struct g4_probe *g4_probe_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options);
void g4_probe_free(struct g4_probe *probe);
struct g4_state *g4_probe_state(struct g4_probe *probe);
/* Start threads afresh: registers zero, masks from dmask (one for each thread). */
enum g4_status g4_probe_start(struct g4_probe *probe, const struct g4_probe_setup *setup, const uint16_t *dmask);
/* Eight dwords of a register; NULL outside. file: 1 GRF, 2 MRF; 0x20 and 0x21 of file 0 are not to be had this way. */
uint32_t *g4_probe_register(struct g4_probe *probe, uint32_t file, uint32_t reg, uint32_t thread);
uint32_t *g4_probe_urb_row(struct g4_probe *probe, uint32_t thread, uint32_t row);
/* f0.0, f0.1 of a thread: 16 bits each */
uint32_t g4_probe_flags(struct g4_probe *probe, uint32_t thread);
void g4_probe_set_flags(struct g4_probe *probe, uint32_t thread, uint32_t flags);
enum g4_status g4_probe_run(struct g4_probe *probe, bool general_only);
/* One message of all threads, dst NULL when dst_grf > 127; emask has 16 bits for each thread. */
enum g4_status g4_probe_send(struct g4_probe *probe, uint32_t descriptor, uint32_t mrf, uint32_t dst_grf,
                             uint32_t exec_size, const uint16_t *emask);
/* The same of some of the threads: bit t of `threads`. */
enum g4_status g4_probe_send_from(struct g4_probe *probe, uint32_t threads, uint32_t descriptor, uint32_t mrf,
                                  uint32_t dst_grf, uint32_t exec_size, const uint16_t *emask);
/* For benchmarks: one message of all threads, many times. */
enum g4_status g4_probe_repeat(struct g4_probe *probe, uint32_t times, uint32_t descriptor, uint32_t mrf,
                               uint32_t dst_grf, const uint16_t *emask);

/* What the unit hears that owns the threads: URB messages with Complete or Allocate, all messages to the spawner. */
struct g4_probe_heard {
    uint32_t thread, descriptor;
    uint32_t header[8];
};
/* From now on, until g4_probe_start; Allocate is answered with `handle`. */
void g4_probe_listen(struct g4_probe *probe, uint32_t handle);
/* How many messages it heard; the first 64 can be looked at. */
uint32_t g4_probe_heard_count(const struct g4_probe *probe);
struct g4_probe_heard g4_probe_heard(const struct g4_probe *probe, uint32_t index);
/* The colour calculator without the rest of the pipeline: begin a draw with eight dwords each of WM_STATE and
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
/* For benchmarks: cover tiles of 32x32 pixels, `across` in a row, with the message in the registers; its subspans are
 * placed anew for each part of a tile. */
enum g4_status g4_probe_fill(struct g4_probe *probe, uint32_t descriptor, uint32_t tiles, uint32_t across);
/* The same with early tests at one depth; the pixels that passed. */
uint64_t g4_probe_fill_depth(struct g4_probe *probe, float z, uint32_t tiles, uint32_t across);
uint64_t g4_probe_instructions(const struct g4_probe *probe);
uint64_t g4_probe_channel_ops(const struct g4_probe *probe);
uint64_t g4_probe_messages(const struct g4_probe *probe, uint32_t sfid);
struct g4_event_count g4_probe_event(const struct g4_probe *probe, enum g4_event event);
struct g4_fault g4_probe_fault(const struct g4_probe *probe);

/* ---- the device: native/draw/device.h ---- */

struct g4_device;

/* What the units counted since the device was made or g4_device_reset_counts was called. */
struct g4_device_counts {
    uint64_t draws, vertices, objects, setups, tiles;
    uint64_t instructions; /* executed by EU threads */
    uint64_t channel_ops;
    uint64_t messages[16];           /* by shared function */
    uint64_t geometry_ns, raster_ns; /* wall time of the two phases of draws */
};

struct g4_device *g4_device_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options);
void g4_device_free(struct g4_device *device);
/* The state that draws use; it stays the caller's. */
void g4_device_use(struct g4_device *device, struct g4_state *state);
/* Run one 3DPRIMITIVE, six dwords with the header. G4_HANG: a thread or the draw went on beyond the watchdog. */
enum g4_status g4_device_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault);
/* SURFACE_STATEs, six dwords each, of the render targets that the last draw's pixel shader names; at most `room` of
 * them.  Returns how many. */
uint32_t g4_device_targets(struct g4_device *device, uint32_t (*states)[6], uint32_t room);
/* Draw only the objects whose number in R0.7 lies in first..last; they count all the same (spec/60 9.4 D9). */
void g4_device_objects_range(struct g4_device *device, uint32_t first, uint32_t last);
/* Number objects from 0 again. */
void g4_device_restart_objects(struct g4_device *device);
struct g4_event_count g4_device_event(const struct g4_device *device, enum g4_event event);
/* Accesses of draws that went wrong. */
const struct g4_fault_log *g4_device_faults(const struct g4_device *device);
void g4_device_counts(const struct g4_device *device, struct g4_device_counts *counts);
void g4_device_reset_counts(struct g4_device *device);

/* ---- counters: native/eu/counters.h ---- */

struct g4_stage_counters {
    uint64_t threads;
    uint64_t instructions; /* executed, one per thread */
    uint64_t channel_ops;  /* executed channels */
    uint64_t messages[16]; /* by shared function */
};

struct g4_surface_counters {
    uint32_t role;    /* enum g4_surface_role */
    uint32_t address; /* graphics address of the first byte */
    uint64_t read_bytes, written_bytes;
};

/* Exact sums of what draws and media commands did.  Every member up to `stage` is a sum of 64 bits. */
struct g4_draw_counters {
    /* vertex fetch */
    uint64_t vertices, primitives; /* as IA_VERTICES_COUNT and IA_PRIMITIVES_COUNT have them */
    uint64_t vertices_fetched;     /* into URB entries of their own */
    uint64_t vertices_shaded;
    /* GS and CLIP */
    uint64_t assembled;      /* objects that reach the clipper */
    uint64_t clip_discarded; /* dropped without a thread */
    uint64_t clipped;        /* given to a clip thread */
    uint64_t clip_output;    /* objects that clip threads put out */
    /* SF */
    uint64_t objects;                                   /* that reach SF */
    uint64_t not_a_number, degenerate, culled, outside; /* dropped: first reason in this order */
    uint64_t no_pixel;                                  /* too small to hold a sample point */
    uint64_t set_up;
    /* WM, and CC before the pixel shader */
    uint64_t blocks;    /* 2x2, at least one pixel lit */
    uint64_t fragments; /* lit pixels */
    uint64_t early_tested, early_stencil_failed, early_depth_failed;
    uint64_t without_shader; /* that passed where no pixel shader is dispatched */
    uint64_t shaded;         /* lit pixels in pixel shader threads */
    /* CC in the message that ends the pixels */
    uint64_t ended; /* pixels lit in such messages; `shaded` less these have been killed */
    uint64_t alpha_failed;
    uint64_t late_tested, late_stencil_failed, late_depth_failed;
    uint64_t written;   /* that passed, and whose colour went to a render target */
    uint64_t unwritten; /* that passed without a render target to write */
    /* as PS_DEPTH_COUNT would have it with statistics enabled */
    uint64_t depth_passed;
    /* media */
    uint64_t media_objects, macroblocks, media_roots, media_children;

    struct g4_stage_counters stage[G4_COUNTED_STAGES];
    uint64_t surfaces;
    const struct g4_surface_counters *surface; /* by role, then by address */
};

/* Count from now on, or no more.  G4_NO_MEMORY: nothing has changed. */
enum g4_status g4_device_count(struct g4_device *device, bool on);
/* The sums since counting began, or since the last g4_device_clear_counters; valid until the next call of anything on
 * this device.  NULL: it does not count. */
const struct g4_draw_counters *g4_device_counters(struct g4_device *device);
void g4_device_clear_counters(struct g4_device *device);

/* ---- the debugger: native/debugger/ ---- */

enum {
    G4_DEBUG_TRAPS = 64,
    G4_DEBUG_BREAKPOINTS = 64,
    G4_DEBUG_INPUTS = 6,      /* vertices of an object */
    G4_DEBUG_NONE = 0xffffff, /* of traps and breakpoints: neither; of numbers with 24 bits: unknown */
    G4_DEBUG_RANGE = 65536,   /* bytes that all watched ranges have together */
    G4_DEBUG_MRF = 16,        /* message registers of a thread */
};

struct g4_debug_trap {
    uint32_t kind;  /* enum g4_trap_kind */
    uint32_t units; /* bit n: enum g4_unit n */
    uint32_t value, mask, value_7, mask_7;
    uint32_t x, y;
    uint32_t instance; /* G4_TRAP_PIXEL: only that occurrence, from 1; 0: all */
    bool of_object;    /* G4_TRAP_PIXEL: only threads of object `object` */
    uint32_t object;
    bool quiet;     /* only flags the thread */
    bool halt;      /* the thread meets an external halt, for its system routine */
    bool unflagged; /* does not flag it */
};

struct g4_debug_breakpoint {
    uint32_t kind;  /* enum g4_breakpoint_kind */
    uint32_t units; /* bit n: threads of enum g4_unit n */
    bool flagged;   /* only flagged threads */
    uint32_t low, high, mask;
};

struct g4_debug_setup {
    uint32_t trap_count, breakpoint_count;
    struct g4_debug_trap trap[G4_DEBUG_TRAPS];
    struct g4_debug_breakpoint breakpoint[G4_DEBUG_BREAKPOINTS];
    uint32_t gang; /* threads that run in lockstep, 1 to 8; 0: as many as ever */

    bool messages, messages_flagged; /* tell of them; only those of flagged threads */
    uint32_t message_units;          /* bit n: threads of enum g4_unit n */
    bool watch_pixel;                /* tell of objects and fragments */
    uint32_t x, y;

    bool break_flagged, break_all; /* TD_CTL bits 2 and 4: set cr0.1 bit 15 */
    bool system_routine;           /* breakpoints and exceptions go to SIP, not to the debugger */
    bool override_exceptions;      /* TD_CTL bit 5 */
    uint32_t exceptions;           /* with it: cr0.1 bits 13:11 >> 11 */
    bool debug_color;              /* RC_CTL bit 2: flagged threads paint this */
    uint32_t color;
    bool single_subspan;     /* WIZ_CTL bit 6 */
    uint32_t threads_per_eu; /* 0: all */
    uint32_t eu_mask[16];    /* by enum g4_unit; 0: all */
    uint32_t errors;         /* enum g4_error_policy */
};

/* A thread, as the fixed function that started it knows it. */
struct g4_debug_thread {
    uint64_t serial; /* of all threads since the debugger was attached */
    uint32_t unit;   /* enum g4_unit */
    uint32_t number; /* among the unit's threads since the last count reset, 24 bits */
    uint32_t kernel, general_state_base, surface_state_base, binding_table; /* graphics addresses */
    uint32_t euid, tid, fftid;
    uint32_t object;    /* SF, WM: as in R0.7; else G4_DEBUG_NONE */
    uint32_t in_object; /* WM: which of the object's threads */
    uint32_t subspans;  /* WM: how many, and their upper left pixels, those of 32-pixel threads too */
    uint16_t x[16], y[16];
    uint32_t vertices; /* others: the vertices they work on; see g4_debug_origin */
    uint32_t vertex[G4_DEBUG_INPUTS];
    bool flagged;
};

/* Where a vertex comes from. */
struct g4_debug_origin {
    uint32_t unit;   /* enum g4_unit: VF, GS or CLIP */
    uint32_t thread; /* number of the GS or CLIP thread; of the VS thread, or G4_DEBUG_NONE */
    uint32_t output; /* which of the thread's vertices; of VF: the sequence number */
    uint32_t index, id, instance, primitive_id; /* VF: as fetched */
    uint32_t inputs;                            /* GS and CLIP: the object that the thread got */
    uint32_t input[G4_DEBUG_INPUTS];
};

struct g4_debug_fragment {
    uint32_t fate; /* enum g4_debug_fate */
    uint32_t object;
    bool back_facing;
    bool has_thread; /* event's thread is the fragment's */
    float z;         /* source depth of the test */
    bool tested;     /* depth_* are valid */
    uint32_t depth_format;
    uint32_t depth_before[2], depth_after[2]; /* raw */
    uint32_t target;                          /* binding table index */
    uint32_t slice;                           /* render target array index of the message */
    uint32_t base;                            /* of the surface */
    uint32_t bytes;                           /* of a pixel */
    float color[4];                           /* what the shader sent; integers for integer targets */
    uint8_t before[16], after[16];
};

struct g4_debug_event {
    uint32_t kind;       /* enum g4_debug_kind */
    uint32_t which;      /* trap or breakpoint, or G4_DEBUG_NONE */
    bool stepped;        /* it was a step */
    uint32_t occurrence; /* G4_TRAP_PIXEL: how often its 2x2 block was dispatched */
    uint32_t address;    /* of the instruction */
    uint32_t value;
    struct g4_debug_thread thread;
    /* of the range that is worked on: what `vertex` of threads and objects counts */
    const struct g4_debug_origin *origin;
    uint32_t origins;

    /* messages */
    uint32_t descriptor, emask, mrf, dst;
    bool end, has_dst, bad;

    /* objects */
    uint32_t object, topology;
    uint32_t corners, corner[3]; /* origins of its vertices */
    float position[3][4];        /* of its vertices, as they come to SF */
    bool back_facing;
    int32_t x_min, y_min, x_max, y_max;

    struct g4_debug_fragment fragment;
};

typedef uint32_t g4_debug_fn(void *data, const struct g4_debug_event *event);

/* From now on tell `fn` of what `setup` asks for; draws run on the calling thread alone.  With a `setup` of NULL, stop
 * debugging.  May be called from `fn`, but for
 * G4_DEBUG_THREAD. */
enum g4_status g4_device_debug(struct g4_device *device, const struct g4_debug_setup *setup, g4_debug_fn *fn,
                               void *data);
/* From within `fn`: the event's thread.  Eight dwords of a register, NULL: there is none.  file: 1 GRF, 2 MRF. */
uint32_t *g4_debug_register(struct g4_device *device, uint32_t file, uint32_t reg);

struct g4_debug_state {
    uint32_t ip, grf_count; /* bytes from the kernel's first instruction */
    uint32_t dmask, amask, imask, lmask, cmask;
    uint32_t flags, cr0[3], sr0, notify[2];
    uint16_t a0[8];
    uint32_t if_depth, loop_depth;
    uint16_t if_stack[32], lmask_stack[32], cmask_stack[32];
    double acc_float[2][16];
    int64_t acc_integer[2][16];
};
bool g4_debug_look(const struct g4_device *device, struct g4_debug_state *state);
/* Registers and masks that a thread may have of its own. */
void g4_debug_set_flags(struct g4_device *device, uint32_t flags);
void g4_debug_set_control(struct g4_device *device, uint32_t index, uint32_t value);
/* The code of kernels was changed in memory: it is read anew from here on. */
void g4_debug_code_changed(struct g4_device *device);
/* Threads number from 0 again. */
void g4_debug_restart(struct g4_device *device);
/* A thread that waits for attention goes on. */
void g4_debug_clear_attention(struct g4_device *device);
/* Media threads that wait for the host: bit euid * threads per EU + tid; `data`: cr0.0 bit 2 of them. */
uint64_t g4_device_attention(const struct g4_device *device, uint64_t *data);
void g4_device_clear_attention(struct g4_device *device, uint64_t threads);

/* The first bad message that a shared function got (spec/60 9.3). */
struct g4_error_record {
    bool valid;
    uint32_t unit; /* enum g4_unit of the thread */
    uint32_t euid, tid;
    uint32_t descriptor;
    uint32_t header[2]; /* dwords 6 and 7 */
    uint32_t cause;     /* bit number in the function's error code */
    uint32_t address;   /* of the instruction */
};
struct g4_error_record g4_device_error(const struct g4_device *device, uint32_t function);

/* ---- the media pipeline: native/media/ ---- */

/* Run one MEDIA_OBJECT, MEDIA_OBJECT_EX or MEDIA_OBJECT_PRT of `dwords` dwords with the header, which lies at
 * `address`. Its threads may still be on their way when it returns. */
enum g4_status g4_device_media(struct g4_device *device, const uint32_t *command, uint32_t dwords, uint32_t address,
                               struct g4_fault *fault);
/* Let threads go on.  `finish`: until all have ended; G4_HANG when they wait for each other. */
enum g4_status g4_device_media_run(struct g4_device *device, bool finish, struct g4_fault *fault);
/* Forget all threads. */
void g4_device_media_reset(struct g4_device *device);

struct g4_media_counts {
    uint64_t objects, macroblocks; /* of VLD slices */
    uint64_t roots, children;      /* threads */
    uint64_t ns;                   /* wall time in these calls */
    uint64_t thread_ns;            /* of that, while threads ran */
};
void g4_device_media_counts(const struct g4_device *device, struct g4_media_counts *counts);

/* The states of the surfaces that media blocks were written to since the last call, at most `room`. */
uint32_t g4_device_media_targets(struct g4_device *device, uint32_t (*states)[6], uint32_t room);

/* The registers a thread started with. */
struct g4_media_payload {
    uint32_t descriptor, kernel; /* graphics addresses */
    uint32_t mode;               /* of VFE, when it made the thread; of a child: 0 */
    uint32_t child;
    uint32_t first;     /* the register after R0 and the constants */
    uint32_t registers; /* with R0 */
    uint32_t data[128][8];
};
/* Remember the next `room` payloads, 0: no more. */
enum g4_status g4_device_media_watch(struct g4_device *device, uint32_t room);
/* How many threads started since; the first `room` can be looked at. */
uint32_t g4_device_media_watched(const struct g4_device *device);
const struct g4_media_payload *g4_device_media_payload(const struct g4_device *device, uint32_t index);

/* ---- strips & fans and the windower on a bench: native/harness/setup.c ---- */

/* State blocks as their own dwords. */
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
    uint32_t vertex[3]; /* which of the given vertices are V0, V1, V2 */
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
 * `coverage`; both may be NULL.  Returns how many pixels were lit. */
uint64_t g4_bench_raster(const struct g4_bench *bench, uint32_t width, uint32_t height, uint32_t repeat, uint8_t *hits,
                         uint8_t *coverage);
/* The depth offset of a triangle with these slopes and vertex depths. */
float g4_bench_depth_offset(const struct g4_bench *bench, float cx, float cy, const float *z);
/* The next thread of an object with `subspans` left, or of a contiguous block with one or both halves lit: its pixels
 * (8, 16, 32, 64), and in bits 11:8 the kernel's entry point. */
uint32_t g4_bench_dispatch(const struct g4_bench *bench, uint32_t subspans);
uint32_t g4_bench_dispatch_contiguous(const struct g4_bench *bench, bool both_halves);

/* ---- surfaces, for pictures: native/core/surface.h ---- */

/* Where level `level`, slice `slice` of a surface starts, in texels from its base; false outside of the surface.
 * `state` is a SURFACE_STATE of six dwords. */
bool g4_surface_place(const uint32_t *state, uint32_t gen, uint32_t level, uint32_t slice, uint32_t place[2]);

/* ---- the blitter: native/blt.h ---- */

/* One rectangle of the 2D engine with everything that decides about its pixels (spec/05 3.13 to 3.16). */
struct g4_blt {
    uint32_t bytes;         /* of a pixel: 1, 2, 4 */
    bool is_565;            /* at two bytes: how a colour compare takes the pixel apart */
    uint32_t rop;           /* truth table, bit index 4 P + 2 S + D */
    uint32_t write_mask;    /* bits of a pixel that are written */
    int32_t x1, y1, x2, y2; /* x2, y2 exclusive */
    bool clip;
    int32_t clip_x1, clip_y1, clip_x2, clip_y2;

    uint32_t destination;
    int32_t destination_pitch; /* bytes */
    bool destination_tiled;    /* X */

    uint32_t source_kind; /* enum g4_blt_source */
    uint32_t source;      /* of a colour source, or of mono bits without `bits` */
    int32_t source_pitch;
    bool source_tiled;
    int32_t source_x, source_y;
    bool right_to_left;  /* SRC_COPY_BLT's direction bit */
    const uint8_t *bits; /* immediate mono data */
    size_t bits_size;
    uint32_t bits_start; /* bit of the first pixel of each row */
    uint32_t bits_row;   /* bits from row to row */
    uint32_t foreground, background;
    bool source_transparent;

    uint32_t pattern_kind; /* enum g4_blt_pattern */
    uint32_t pattern[64];  /* 8x8 pixels, or 0 and 1 when mono */
    uint32_t pattern_foreground, pattern_background;
    bool pattern_transparent;
    uint32_t seed_x, seed_y;

    uint32_t range_mode; /* colour compare: 0 off, 1 source in range is skipped, 2 destination in range is written */
    uint32_t range_low, range_high;
};

enum g4_status g4_blt(struct g4_port *port, const struct g4_blt *blt);
/* How many pixels it visits. */
uint64_t g4_blt_pixels(const struct g4_blt *blt);
uint32_t g4_rop3(uint32_t rop, uint32_t pattern, uint32_t source, uint32_t destination);

/* ---- the live device: native/core/live.c ---- */

/* A whole file of another process, shared and writable; NULL with errno set. */
void *g4_file_map(int descriptor, size_t size);
void g4_file_unmap(void *host, size_t size);
/* Whether any page of the address space is one of these. */
bool g4_mem_uses(const struct g4_mem *mem, const void *host, size_t size);
/* 128 bits a page of what the pages hold, two numbers each; pages that are not there hash like pages of zeros. */
void g4_mem_hash(struct g4_mem *mem, uint32_t page, uint32_t count, uint64_t *hashes);
/* Which pages the device wrote since a mark: one byte each, 0 or 1. */
void g4_mem_written_since(const struct g4_mem *mem, uint32_t page, uint32_t count, uint32_t mark, uint8_t *written);

/* ---- a look into the front end: native/harness/front_end.c ---- */

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

/* Run the front end of a 3DPRIMITIVE alone; `count` is how many objects there are, of which at most `room` are stored.
 */
enum g4_status g4_device_objects(struct g4_device *device, const uint32_t *primitive, struct g4_object_view *objects,
                                 uint32_t room, uint32_t *count, struct g4_fault *fault);

#endif
