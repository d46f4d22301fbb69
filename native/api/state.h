/*
 * The state of one hardware context.
 */
#ifndef G4_API_STATE_H
#define G4_API_STATE_H

#include "api/status.h"

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
    uint32_t curbe_rows;     /* 256-bit rows that are valid, 0: no constants */
    uint32_t curbe[512 * 2]; /* 8 dwords a row */

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
    uint32_t chroma_key[4][2]; /* low, high */
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
};

#endif
