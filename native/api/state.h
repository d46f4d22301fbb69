/*
 * The state of one hardware context.
 */
#ifndef G4_API_STATE_H
#define G4_API_STATE_H

#include "api/status.h"

enum {
    G4_CURBE_ROWS = 64, /* of constants, on the parts whose draws have them: 32 units of 64 bytes */
};

/* The commands of Gen7's pipelines, whole, with their headers; members have the commands' names.  Their pointers are
 * offsets, which the core adds to the bases when a draw needs them (docs/decisions.md 85). */
struct g4_gen7_state {
    uint32_t dynamic_state_base, instruction_base;
    uint32_t constants_absolute; /* INSTPM: constant buffer 0 has an address instead of an offset */

    uint32_t vertex_buffer[33][4]; /* by index */
    uint32_t vertex_element[34][2];
    uint32_t vertex_elements;
    uint32_t vf[2];

    uint32_t urb_vs[2], urb_hs[2], urb_ds[2], urb_gs[2];
    uint32_t constant_vs[7], constant_hs[7], constant_ds[7], constant_gs[7], constant_ps[7]; /* inputs of draws */
    uint32_t binding_table_pointers_vs[2], binding_table_pointers_hs[2], binding_table_pointers_ds[2],
        binding_table_pointers_gs[2], binding_table_pointers_ps[2];
    uint32_t sampler_state_pointers_vs[2], sampler_state_pointers_hs[2], sampler_state_pointers_ds[2],
        sampler_state_pointers_gs[2], sampler_state_pointers_ps[2];
    uint32_t vs[6], hs[7], te[4], ds[6], gs[7];

    uint32_t streamout[3];
    uint32_t so_decl_list[3 + 2 * 128];
    uint32_t so_buffer[4][4];
    uint32_t so_write_offset[4]; /* registers: bytes from the start of each buffer */
    uint64_t so_num_prims_written[4], so_prim_storage_needed[4];

    uint32_t clip[4], sf[7], sbe[14], wm[3], ps[8];
    uint32_t multisample[4], sample_mask[2];
    uint32_t viewport_state_pointers_sf_clip[2], viewport_state_pointers_cc[2], scissor_state_pointers[2];
    uint32_t blend_state_pointers[2], depth_stencil_state_pointers[2], cc_state_pointers[2];
    uint32_t depth_buffer[7], stencil_buffer[3], hier_depth_buffer[3], clear_params[3];

    uint32_t media_vfe_state[8];
    uint32_t media_descriptors, media_descriptor_address; /* their number, and where they were read */
    uint32_t media_descriptor[64][8];

    uint32_t draw_parameter[5]; /* registers: 3DPRIM_START_VERTEX to 3DPRIM_BASE_VERTEX */
};

/* The state of Gen9's resource streamer between its commands.  Stages are in the order of the binding table commands:
 * VS, HS, DS, GS, PS; sets of DX9 constants are those of VS and PS. */
struct g4_resource_streamer {
    uint32_t on;                    /* it parses the batch */
    uint32_t binding_table[5][256]; /* entries as in memory */
    uint32_t gather[5][130];        /* 3DSTATE_GATHER_CONSTANT_*, whole; 0: none */
    uint32_t gather_pool_alloc[4], dx9_constant_buffer_pool_alloc[4];
    struct {
        uint32_t valid[10]; /* bits of local constants: 8 dwords for floats, one for integers, one for booleans */
        struct {
            uint32_t f[256][4], i[32][4], b[16];
        } local, global_;
    } dx9[2];
};

/* The commands of Gen9's pipelines, as those of Gen7: whole, with their headers and the commands' names.  Constants are
 * pending until the binding table pointer of their stage follows. */
struct g4_gen9_state {
    uint64_t general_state_base, surface_state_base, dynamic_state_base, indirect_object_base, instruction_base,
        bindless_surface_state_base;
    uint32_t bindless_surface_state_size; /* in surface states */
    uint32_t constants_relative;          /* constant buffer 0 has an offset from the dynamic state base */

    uint32_t vertex_buffer[33][4]; /* by index */
    uint32_t vertex_element[34][2];
    uint32_t vertex_elements;
    uint32_t vf_instancing[34][2]; /* by element; without the header */
    uint32_t index_buffer[5];
    uint32_t vf[2], vf_sgvs[2], vf_topology[2], vf_component_packing[5];

    uint32_t urb_vs[2], urb_hs[2], urb_ds[2], urb_gs[2];
    /* From here to pending_ps, all are inputs of draws (is_input() in draw/streamer.c). */
    uint32_t constant_vs[11], constant_hs[11], constant_ds[11], constant_gs[11], constant_ps[11];
    uint32_t pending_vs[11], pending_hs[11], pending_ds[11], pending_gs[11], pending_ps[11];
    uint32_t binding_table_pointers_vs[2], binding_table_pointers_hs[2], binding_table_pointers_ds[2],
        binding_table_pointers_gs[2], binding_table_pointers_ps[2];
    uint32_t sampler_state_pointers_vs[2], sampler_state_pointers_hs[2], sampler_state_pointers_ds[2],
        sampler_state_pointers_gs[2], sampler_state_pointers_ps[2];
    uint32_t binding_table_pool_alloc[4];
    uint32_t vs[9], hs[9], te[4], ds[11], gs[10];

    uint32_t streamout[5];
    uint32_t so_decl_list[3 + 2 * 128];
    uint32_t so_buffer[4][7]; /* by index; without the header */

    uint32_t clip[4], sf[4], raster[5], sbe[6], sbe_swiz[11], wm[2], wm_depth_stencil[4], wm_hz_op[5], wm_chromakey[2];
    uint32_t ps[12], ps_extra[2], ps_blend[2];
    uint32_t multisample[2], sample_mask[2], sample_pattern[9];
    uint32_t viewport_state_pointers_sf_clip[2], viewport_state_pointers_cc[2], scissor_state_pointers[2];
    uint32_t blend_state_pointers[2], cc_state_pointers[2];
    uint32_t depth_buffer[8], stencil_buffer[5], hier_depth_buffer[5], clear_params[3];

    uint32_t media_vfe_state[9];
    uint32_t media_descriptors; /* their number */
    uint64_t media_descriptor_address;
    uint32_t media_descriptor[64][8];

    struct g4_resource_streamer streamer;
};

/* The state that commands set, per hardware context (docs/decisions.md 19).  Pointers are resolved graphics addresses:
 * base + offset at the time of the command.  Commands without pointers are kept whole, with their header, and
 * unpacked once per draw (draw/load_gen4.c).  Python fills it.  Plain data, so saving a context is a copy. */
struct g4_state {
    uint32_t general_state_base, surface_state_base, indirect_object_base;
    uint32_t general_state_bound, indirect_object_bound; /* 0: none */
    uint32_t system_instruction_pointer;
    uint32_t media_selected;

    uint32_t urb_fence[6]; /* VS, GS, CLIP, SF, VFE, CS: end rows of 512 bits */
    uint32_t cs_urb_entries, cs_urb_entry_units;
    /* From here to curbe, and from vertex_buffer to vertex_buffer_valid, all are inputs of draws. */
    uint32_t curbe_address;   /* where CONSTANT_BUFFER has copied them from */
    uint32_t curbe_rows;      /* 256-bit rows that are valid, 0: no constants */
    uint32_t curbe[2048 * 8]; /* 8 dwords a row; Gen4 has 64 rows, from Gen7 on media threads have up to 2048 */

    uint32_t vs_state, gs_state, clip_state, sf_state, wm_state, cc_state;
    uint32_t gs_enable, clip_enable;
    uint32_t binding_table[5]; /* VS, GS, CLIP, SF, PS */

    uint32_t vertex_buffer[17][4]; /* by index; [0] is the command's dword 0 */
    uint32_t vertex_buffer_valid;  /* bit i */
    uint32_t vertex_element[18][2];
    uint32_t vertex_elements;
    uint32_t index_buffer[3];

    uint32_t drawing_rectangle[4];
    uint32_t constant_color[5];
    uint32_t depth_buffer[6];
    uint32_t chroma_key[4][2];    /* low, high */
    uint32_t mono_filter_size[2]; /* width and height, for samplers that have none */
    uint32_t sampler_palette[256];
    uint32_t sampler_palette1[256];
    uint32_t poly_stipple_offset[2];
    uint32_t poly_stipple[33];
    uint32_t line_stipple[3];
    uint32_t line_stipple_position; /* continues from line to line */
    uint32_t depth_offset_clamp[2];
    uint32_t aa_line[3];
    uint32_t svb_index[4][4];
    uint32_t vf_statistics;

    uint32_t vfe_state, vfe_extended_state;           /* VLD_STATE or VFE_STATE_EX */
    uint32_t vfe_extended;                            /* vfe_extended_state is valid */
    uint32_t media_pointers_new;                      /* VFE reads its state at the next object */
    uint32_t vfe_latched[3], vfe_extended_latched[8]; /* the state that VFE has read */
    uint32_t media_counter_set;                       /* the debug counter was initialized */
    uint32_t media_retains, media_retained[8];        /* indirect data for the next object */
    uint64_t counter[G4_COUNTERS];

    struct g4_gen7_state gen7;
    struct g4_gen9_state gen9;
};

#endif
