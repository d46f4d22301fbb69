/*
 * The state and the commands of the media pipeline without their encoding: a loader of the model unpacks them.
 */
#ifndef G4_MEDIA_STATE_H
#define G4_MEDIA_STATE_H

#include "core/context.h"

/* A picture of MPEG-2, for VLD mode (VLD_STATE). */
struct g4_mpeg2_picture {
    uint32_t f_code[2][2]; /* [forward, backward][horizontal, vertical] */
    uint32_t coding_type;  /* enum g4_picture_coding_type; 0: reserved */
    uint32_t structure;    /* enum g4_picture_structure; 0: reserved */
    uint32_t intra_dc_precision;
    uint32_t quantizer_scale_type;
    uint32_t scan_order; /* enum g4_inverse_scan_type */
    bool top_field_first;
    bool frame_prediction_frame_dct;
    bool concealment_motion_vectors;
    bool intra_vlc_format;
};

/* Where the parts of the indirect data of an AVC macroblock go (VFE_STATE_EX). */
struct g4_avc_payload {
    uint32_t sub_fields; /* enum g4_indirect_sub_field_present */
    uint32_t weights_row, residual_row;
    bool residual_offset_fixed;
    uint32_t residual_offset; /* in dwords */
};

enum {
    G4_MEDIA_DEPENDENCIES = 8, /* of a thread */
};

/* A position, or a distance between two. */
struct g4_media_position {
    int32_t x, y;
};

/* The state of VFE, read at the first object after MEDIA_STATE_POINTERS. */
struct g4_vfe {
    uint32_t mode;           /* enum g4_vfe_mode */
    g4_address scratch_base; /* from the general state base */
    uint32_t scratch_bytes;
    uint32_t scratch_size; /* as the state has it, for the payload */
    uint32_t max_threads;  /* root threads */
    uint32_t urb_entries;
    uint32_t urb_entry_units; /* of what handles count in */
    g4_address general_state_base, surface_state_base;
    g4_address dynamic_state_base, instruction_base; /* Gen4: the general state base */
    g4_address indirect_object_base;
    uint32_t indirect_object_bound; /* 0: none */
    g4_address descriptor_base;
    uint32_t counter_control; /* enum g4_debug_counter_control */
    uint32_t object_id;       /* starts the debug counter in modes whose objects have none */
    bool children_present;    /* threads of all objects may spawn children */
    bool gateways_open;       /* of all threads, and without keys */
    bool extended;            /* the extended state of the mode is present */
    uint8_t remap[16];        /* interface descriptor numbers */
    struct g4_mpeg2_picture picture;
    struct g4_avc_payload avc;

    /* Scoreboard, from Gen9 on: a thread waits for those at these distances. */
    uint32_t dependencies; /* bit i: distance[i] counts */
    struct g4_media_position distance[G4_MEDIA_DEPENDENCIES];
};

enum g4_media_object_kind {
    G4_MEDIA_OBJECT,
    G4_MEDIA_OBJECT_EX,
    G4_MEDIA_OBJECT_PRT,
    G4_MEDIA_OBJECT_WALKER,
};

/* The loops of a walker whose passes are groups of threads.  A pass includes those of the loops before it. */
enum g4_group_loop {
    G4_GROUP_LOOP_NONE,
    G4_GROUP_LOOP_COLORS,
    G4_GROUP_LOOP_LOCAL_INNER,
    G4_GROUP_LOOP_LOCAL_MIDDLE,
    G4_GROUP_LOOP_LOCAL_OUTER,
    G4_GROUP_LOOP_GLOBAL_INNER,
};

/* The nested loops of MEDIA_OBJECT_WALKER.  Blocks of `block` positions cover a picture of `picture` positions; the
 * global loops go from block to block, the local ones over a block. */
struct g4_media_walk {
    struct g4_media_position picture, global_start, global_outer, global_inner;
    struct g4_media_position block, local_start, local_outer, local_middle, local_inner;
    uint32_t global_steps, local_steps, middle_steps; /* of the outer loops and of the middle one */
    uint32_t colors;                                  /* threads for each position */
    enum g4_group_loop group_loop;
};

/* The contents of any of the object commands. */
struct g4_media_command {
    enum g4_media_object_kind kind;
    uint32_t object_id;
    uint32_t descriptor_offset;
    bool retain, synchronized, fence;
    bool children;         /* threads of this object may spawn children */
    bool waits;            /* for the threads of all earlier objects */
    uint32_t dependencies; /* bit i: waits for the thread at distance[i] of VFE, too */
    bool grouped;          /* the thread belongs to the group with the number `group` */
    bool ends_group;       /* and is the last one */
    uint32_t group;
    uint32_t indirect_length, indirect_start;
    const uint32_t *words; /* inline data */
    uint32_t count;
    struct g4_media_position place; /* scoreboard */
    uint32_t color;
    struct g4_media_walk walk; /* of a walker */
};

/* ---- inline data of one macroblock or slice; blocks are Y0 to Y3, Cb, Cr ---- */

enum {
    G4_MEDIA_BLOCKS = 6,
};

/* A slice of MPEG-2, for VLD mode. */
struct g4_vld_slice {
    uint32_t x, y;        /* of its first macroblock */
    uint32_t macroblocks; /* skipped ones included */
    uint32_t first_bit;   /* of its first macroblock */
    uint32_t quantizer_scale_code;
};

/* AVC.  MC mode uses only `intra`, `type` and `vectors`. */
struct g4_avc_macroblock {
    bool intra, transform_8x8;
    uint32_t type;
    uint32_t vectors;                     /* enum g4_avc_motion_vector_size */
    bool has_dc_y, has_dc_cb, has_dc_cr;  /* DC blocks are coded */
    uint32_t coded_y, coded_cb, coded_cr; /* a bit for each 4x4 block, the first one topmost */
    uint32_t qp_y, qp_cb, qp_cr;
    uint32_t scale_y, scale_cb, scale_cr;
};

/* VC-1, IT mode. */
struct g4_vc1_macroblock {
    uint32_t x, y;
    bool coded[G4_MEDIA_BLOCKS];
    uint32_t subblocks[G4_MEDIA_BLOCKS];    /* bit i: sub-block i is coded */
    uint32_t partitioning[G4_MEDIA_BLOCKS]; /* 8x8, 8x4, 4x8, 4x4 */
    bool overlap;
    bool smooth_left[G4_MEDIA_BLOCKS]; /* the left edge of a block */
};

/* ---- interface descriptors ---- */

/* An interface descriptor: the kernel of a thread and what it starts with. */
struct g4_media_descriptor {
    g4_address kernel; /* from the instruction base */
    uint32_t identity; /* what the payload says: its offset from the general state base, from Gen7 on its number */
    uint32_t registers;
    uint32_t constants_offset, constants_length; /* in rows of 256 bits */
    uint32_t sampler_state;                      /* from the dynamic state base */
    uint32_t binding_table;                      /* from the surface state base */
    uint8_t rounding_mode;
    bool alternate_fp;
    bool single_program_flow;
    uint8_t exceptions;       /* bit 0: mask stack, 1: illegal opcode, 2: software */
    uint32_t shared_bytes;    /* local memory that the threads of a group share */
    uint32_t barrier_threads; /* whose messages open the barrier of a group; 0: it has none */
};

/* ---- payloads and messages ---- */

/* The first register of a thread. */
struct g4_media_header {
    uint32_t urb_handle;
    uint32_t descriptor;    /* from the general state base, from Gen7 on its number */
    uint32_t sampler_state; /* from the dynamic state base */
    uint32_t binding_table; /* from the surface state base */
    uint32_t scratch_space; /* from the general state base */
    uint32_t scratch_size;  /* as the state of VFE has it */
    uint32_t fftid, thread_count;
    struct g4_media_position place; /* of the scoreboard; from Gen7 on */
    uint32_t color;
    uint32_t group, group_slot; /* its number, and that of its barrier and memory; from Gen9 on */
};

/* A message to the thread spawner. */
struct g4_spawner_message {
    enum {
        G4_SPAWNER_END, /* the thread ends */
        G4_SPAWNER_SPAWN_CHILD,
        G4_SPAWNER_RELEASE_ROOT, /* a synchronized one */
    } kind;
    bool dereferences; /* the URB handle */
    uint32_t handle;
    g4_address descriptor; /* of the new thread: graphics address, or number */
    bool descriptor_is_number;
    uint32_t row, length;
};

/* Unpacks for one family. */
struct g4_media_loader {
    /* From the dwords that the context latched at MEDIA_STATE_POINTERS, or from MEDIA_VFE_STATE. */
    void (*load_vfe)(const struct g4_context *ctx, struct g4_vfe *vfe);
    void (*load_object)(const struct g4_context *ctx, const uint32_t *words, uint32_t dwords,
                        struct g4_media_command *command);
    uint32_t descriptor_bytes;
    uint32_t urb_rows;     /* of 256 bits: of the URB of media threads; 0: G4_MEDIA_URB_ROWS */
    uint32_t handle_shift; /* URB handle h starts at row h << handle_shift */
    /* The descriptor at a graphics address.  Missing memory reads as 0 and is in the port's log. */
    void (*load_descriptor)(const struct g4_context *ctx, struct g4_port *port, g4_address address,
                            struct g4_media_descriptor *descriptor);
    void (*pack_header)(const struct g4_context *ctx, const struct g4_media_header *header, uint32_t r0[8]);
    void (*load_header)(const struct g4_context *ctx, const uint32_t r0[8], struct g4_media_header *header);
    void (*load_message)(const struct g4_context *ctx, uint32_t descriptor, const uint32_t *header,
                         struct g4_spawner_message *message);

    /* Inline data: the unit has checked that it is long enough.  From Gen6 on there is no such mode. */
    void (*load_vld_slice)(const struct g4_context *ctx, const uint32_t *words, struct g4_vld_slice *slice);
    void (*load_is_coded)(const struct g4_context *ctx, const uint32_t *words, bool coded[G4_MEDIA_BLOCKS]);
    void (*load_avc)(const struct g4_context *ctx, const uint32_t *words, struct g4_avc_macroblock *macroblock);
    void (*load_avc_mc_coded)(const struct g4_context *ctx, const uint32_t *words, bool coded[G4_MEDIA_BLOCKS]);
    void (*load_vc1)(const struct g4_context *ctx, const uint32_t *words, struct g4_vc1_macroblock *macroblock);
};

/* load_media_gen4.c and its like */
extern const struct g4_media_loader g4_media_loader_gen4, g4_media_loader_gen7, g4_media_loader_gen9;

#endif
