/*
 * The debugger (native/debugger).
 */
#ifndef G4_API_DEBUGGER_H
#define G4_API_DEBUGGER_H

#include "api/device.h"

enum {
    G4_DEBUG_TRAPS = 64,
    G4_DEBUG_BREAKPOINTS = 64,
    G4_DEBUG_INPUTS = 8,      /* vertices of an object, or of a thread */
    G4_DEBUG_NONE = 0xffffff, /* no trap or breakpoint; an unknown number of 24 bits */
    G4_DEBUG_RANGE = 65536,   /* bytes in all watched ranges together */
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
    bool halt;      /* the thread takes an external halt and enters its system routine */
    bool unflagged; /* does not flag the thread */
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
    uint32_t gang; /* threads that run in lockstep, 1 to 8; 0: as without a debugger */

    bool messages, messages_flagged; /* report messages; only those of flagged threads */
    uint32_t message_units;          /* bit n: threads of enum g4_unit n */
    bool watch_pixel;                /* report objects and fragments of pixel x, y */
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
    g4_address kernel, general_state_base, surface_state_base, binding_table;
    uint32_t euid, tid, fftid;
    uint32_t object;    /* SF, WM: as in R0.7; else G4_DEBUG_NONE */
    uint32_t in_object; /* WM: index among the threads of the object */
    uint32_t subspans;  /* WM: lit subspans; x, y: their upper left pixels */
    uint16_t x[16], y[16];
    uint32_t vertices; /* other units: indices into the origins of the event */
    uint32_t vertex[G4_DEBUG_INPUTS];
    bool flagged;
};

/* The origin of a vertex. */
struct g4_debug_origin {
    uint32_t unit;   /* enum g4_unit: VF, GS or CLIP */
    uint32_t thread; /* number of the GS or CLIP thread; of the VS thread, or G4_DEBUG_NONE */
    uint32_t output; /* index among the vertices of the thread; VF: the sequence number */
    uint32_t index, id, instance, primitive_id; /* VF: as fetched */
    uint32_t inputs;                            /* GS and CLIP: the vertices of the thread's object */
    uint32_t input[G4_DEBUG_INPUTS];
};

struct g4_debug_fragment {
    uint32_t fate; /* enum g4_debug_fate */
    uint32_t object;
    bool back_facing;
    bool has_thread; /* the thread of the event is that of the fragment */
    float z;         /* source depth of the test */
    bool tested;     /* depth_* are valid */
    uint32_t depth_format;
    uint32_t depth_before[2], depth_after[2]; /* raw */
    uint32_t target;                          /* binding table index */
    uint32_t slice;                           /* render target array index of the message */
    g4_address base;                          /* of the surface */
    uint32_t bytes;                           /* of a pixel */
    float color[4];                           /* as sent by the shader; integers for integer targets */
    uint8_t before[16], after[16];
    bool blends;                               /* writes depend on the old pixel */
    uint32_t color_file[4];                    /* enum g4_operand_file: where the message has the color; NONE: a copy */
    uint32_t color_register[4], color_element; /* registers, and the dword in them */
};

struct g4_debug_event {
    uint32_t kind;       /* enum g4_debug_kind */
    uint32_t which;      /* trap or breakpoint, or G4_DEBUG_NONE */
    bool stepped;        /* the event ends a step */
    uint32_t occurrence; /* G4_TRAP_PIXEL: how often its 2x2 block was dispatched */
    g4_address address;  /* of the instruction */
    uint64_t value;
    struct g4_debug_thread thread;
    bool counted;      /* all instructions of the thread were observed: */
    uint64_t executed; /* so many */
    /* vertices of the current range, indexed by the `vertex` members of threads and objects */
    const struct g4_debug_origin *origin;
    uint32_t origins;

    /* messages */
    uint32_t sfid, descriptor, emask, mrf, dst;
    bool end, has_dst, bad;
    bool grf_payload; /* `mrf` is the number of a GRF */

    /* objects */
    uint32_t object, topology;
    uint32_t corners, corner[3]; /* origins of the vertices */
    float position[3][4];        /* of the vertices at SF */
    bool back_facing;
    int32_t x_min, y_min, x_max, y_max;

    struct g4_debug_fragment fragment;

    /* NaNs, infinities and denormals: `value` is the address of the instruction, `address` that of the next one */
    uint32_t channel, result_type; /* enum g4_type */
    bool has_result;               /* false: it is not in a register that the instruction names */
    uint64_t result;
    uint32_t denormal;  /* the operand that is one; 3: the result */
    bool has_source[3]; /* of the channel, before the instruction and its modifiers */
    uint32_t source_type[3];
    uint64_t source[3];
};

typedef uint32_t g4_debug_fn(void *data, const struct g4_debug_event *event);

/* Attach the debugger, or change its setup: `fn` receives the events that `setup` selects.  Draws then run on the
 * calling thread alone.  A `setup` of NULL detaches.  May be called from `fn`, except for G4_DEBUG_THREAD events. */
enum g4_status g4_device_debug(struct g4_device *device, const struct g4_debug_setup *setup, g4_debug_fn *fn,
                               void *data);
/* Only inside `fn`: eight dwords of a register of the event's thread; NULL if it does not exist.  file: 1 GRF, 2 MRF.
 */
uint32_t *g4_debug_register(struct g4_device *device, uint32_t file, uint32_t reg);

struct g4_debug_state {
    uint32_t ip, grf_count; /* bytes from the kernel's first instruction */
    uint32_t dmask, amask, imask, lmask, cmask;
    uint32_t flags, cr0[3], sr0, notify[2];
    uint16_t a0[16]; /* before Gen8 eight */
    uint32_t if_depth, loop_depth;
    uint16_t if_stack[32], lmask_stack[32], cmask_stack[32];
    double acc_float[2][16];
    int64_t acc_integer[2][16];
};
/* Only inside `fn`: read the event's thread; false if the event has none. */
bool g4_debug_read_thread(const struct g4_device *device, struct g4_debug_state *state);
/* Only inside `fn`: change the event's thread. */
void g4_debug_set_flags(struct g4_device *device, uint32_t flags);
void g4_debug_set_control(struct g4_device *device, uint32_t index, uint32_t value);
/* Call after the code of kernels was changed in memory: instructions are decoded again from here on. */
void g4_debug_code_changed(struct g4_device *device);

/* The next numbers of threads. */
struct g4_debug_counts {
    uint64_t serial;
    uint32_t number[16]; /* by enum g4_unit */
    uint32_t occurrences[G4_DEBUG_TRAPS];
    uint32_t sequence;
};
/* Before a draw: the number from which its threads are counted.  False if no debugger is attached. */
bool g4_debug_get_counts(const struct g4_device *device, struct g4_debug_counts *counts);
bool g4_debug_set_counts(struct g4_device *device, const struct g4_debug_counts *counts);
/* Before a draw: report a step before the instruction that follows `executed` instructions of the thread with this
 * serial number, which is flagged if `flagged`.  False if no debugger is attached. */
bool g4_debug_stop_at(struct g4_device *device, uint64_t serial, uint64_t executed, bool flagged);

/* Only inside `fn`, for events between two instructions: prepare to go back to the instruction that follows `executed`
 * instructions of the thread.  When `fn` returns G4_DEBUG_BACK the thread is executed again, after its first `from`
 * instructions, and a step is reported there.  False: only execution of the draw leads there, because the thread has
 * written to memory since, or is not alone in its gang. */
bool g4_debug_go_back(struct g4_device *device, uint64_t executed, uint64_t *from);

/* ---- origins of values ---- */

enum {
    G4_DEBUG_CHANNELS = 32,
    G4_DEBUG_TEXELS = 1024,
    G4_DEBUG_ATTRIBUTES = 32,
    G4_DEBUG_CONSTANT_BUFFERS = 4,
};

/* An operand: byte offsets in its file by channel, passes one after the other. */
struct g4_debug_operand {
    uint32_t file; /* enum g4_operand_file */
    uint32_t type; /* enum g4_type */
    uint32_t size; /* bytes */
    int32_t at[G4_DEBUG_CHANNELS];
    uint64_t value[G4_DEBUG_CHANNELS]; /* of immediates */
};

/* The instruction that an event's thread is about to execute. */
struct g4_debug_instruction {
    uint32_t opcode;
    uint32_t channels; /* of all passes */
    uint32_t per_pass;
    uint32_t enabled;                 /* by channel, with the predicate */
    uint32_t first_channel[2];        /* by pass: the channel of the thread that its first one is */
    uint32_t flag[G4_DEBUG_CHANNELS]; /* by channel: the number of its flag, from f0.0 on */
    bool predicated, writes_flags;
    bool reads_accumulator, writes_accumulator; /* implicitly */
    uint32_t accumulator[2];                    /* by pass */
    uint32_t sources;
    struct g4_debug_operand source[3], destination;
    /* messages */
    bool is_message, end;
    bool grf_payload; /* the payload begins with GRF `payload`, else with that MRF */
    uint32_t sfid, descriptor, payload, payload_length;
    uint32_t second_payload, second_length; /* of a split send: where the payload continues, and its registers there */
};

/* Only inside `fn`, for events of instructions; false for others. */
bool g4_debug_read_instruction(const struct g4_device *device, struct g4_debug_instruction *instruction);

/* Where the payload of a thread has constants and URB entries.  A row is a register. */
struct g4_debug_payload {
    uint32_t constant_register, constant_rows;
    uint32_t constant_offset; /* Gen4: the first row of the CURBE */
    uint64_t constant_address[G4_DEBUG_CONSTANT_BUFFERS];
    uint32_t constant_buffer_rows[G4_DEBUG_CONSTANT_BUFFERS]; /* from Gen6 on */
    uint32_t input_register, input_rows, input_offset;        /* of each entry */
    bool pairs;                                               /* VS: two entries share registers, four dwords each */
    bool is_setup;   /* WM: the entry has coefficients of an object's attributes */
    bool transposed; /* and SF wrote it with one coefficient of eight attributes a row */
    /* from Gen6 on: where vertices have the attributes of the object, in slots of four dwords */
    uint32_t attributes;
    uint32_t attribute_slot[G4_DEBUG_ATTRIBUTES];
    uint32_t attribute_replaced[G4_DEBUG_ATTRIBUTES]; /* bit c: component c is a constant */
    bool attribute_flat[G4_DEBUG_ATTRIBUTES];
};

/* Only inside `fn`, for events of threads of VS, SF and WM; false for others. */
bool g4_debug_read_payload(const struct g4_device *device, struct g4_debug_payload *payload);

/* The memory that a dword of a vertex's URB entry is fetched from. */
struct g4_debug_vertex_source {
    uint32_t element, buffer, component;
    g4_address address;
    uint32_t bytes; /* of the element; 0: nothing is read */
    uint32_t control;
};

/* Only inside `fn`: in the draw that runs; false if no element stores that dword. */
bool g4_debug_read_vertex_source(const struct g4_device *device, const struct g4_debug_origin *vertex, uint32_t dword,
                                 struct g4_debug_vertex_source *source);

/* A texel that a sampler message reads; of compressed surfaces its block. */
struct g4_debug_texel {
    g4_address address;
    uint32_t bytes, x, y, level;
    float weight; /* in the mean of the filter, within the level */
};

/* Only inside `fn`, before a message: log the texels that it reads for one channel. */
void g4_debug_log_texels(struct g4_device *device, uint32_t channel);
/* The texels of the last message that was logged, at most G4_DEBUG_TEXELS; returns their number. */
uint32_t g4_debug_read_texels(const struct g4_device *device, struct g4_debug_texel *texels);

/* Let a thread that waits for attention continue. */
void g4_debug_clear_attention(struct g4_device *device);

#endif
