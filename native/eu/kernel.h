/*
 * A kernel decoded once (eu.h: struct g4_kernel).
 */
#ifndef G4_EU_KERNEL_H
#define G4_EU_KERNEL_H

#include "eu/eu.h"
#include "eu/op.h"
#include "eu/row_set.h"

enum {
/* of code decoded from the first instruction on; fuzzing inputs have no more */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    G4_KERNEL_MAX_BYTES = 1 << 10,
#else
    G4_KERNEL_MAX_BYTES = 1 << 16,
#endif
    G4_KERNEL_NONE = 0xffffffff,
    G4_KERNEL_NOWHERE = 1, /* the address after code that is not decoded: odd, so that no instruction has it */
    G4_KERNEL_PARTS = 8,
    G4_KERNEL_MESSAGES = 24, /* of different messages that are listed */
    /* After so many gangs, translation takes less time than the interpreter has taken by then. */
    G4_KERNEL_WORTH = 32,
    G4_KERNEL_LOOP_WORTH = 4,
};

struct g4_kernel;

/* Code that threads have reached, but that does not follow the first instruction. */
struct g4_kernel_parts {
    uint32_t gangs; /* that the interpreter has run, up to G4_KERNEL_WORTH */
    uint32_t count;
    uint32_t refused; /* parts that need registers which threads do not own; to find that out takes long, too */
    struct g4_kernel *part[G4_KERNEL_PARTS];
};

/* A pixel shader that gives every pixel of an object the same color (uniform.c). */
struct g4_uniform_color {
    uint32_t pixels;      /* of a thread: 8 or 16; 0: the color is not uniform */
    uint32_t target;      /* binding table entry of the render target */
    uint32_t from, to;    /* of the registers that are read besides the header: the first, and one more than the last */
    uint32_t channel_ops; /* of a thread */
};

/* The registers that a kernel may read before it writes them, which must be zero at its start, and what it changes
 * (start_state.c). */
struct g4_start_state {
    struct g4_row_set grf;
    struct g4_row_set grf_if_full; /* enough if all channels of all threads of the gang are enabled */
    uint16_t mrf;                  /* bit n: register n of the MRF */
    uint16_t mrf_if_full;
    bool acc;    /* may read accumulators */
    bool stacks; /* may read mask stacks other than by flow instructions */

    bool straight; /* threads execute all instructions once, in order, in all channels that are dispatched */
    /* A straight kernel that changes nothing but registers, flags and addresses (g4_gang_start_again). */
    bool can_start_again;
    struct g4_row_set stale, stale_if_full; /* the registers of grf and grf_if_full that it may have changed */
    bool keeps_header; /* it can start again, and the header of its last message is R0 and R1 as dispatched */
};

struct g4_kernel {
    g4_address address;
    uint32_t base;                 /* of a part: byte offset of its first instruction from the kernel's */
    struct g4_kernel_parts *parts; /* NULL in a part */
    uint32_t bytes;                /* covered by the ops */
    uint32_t count;                /* of ops, sorted by ip; ops[count] marks the end */
    uint32_t *index;               /* index of the op at byte offset 8 * n, or G4_KERNEL_NONE */
    struct g4_op *ops;
    struct g4_op *halves; /* of ops with G4_HANDLER_HALVES */
    uint32_t half_count;  /* that there is room for */
    uint32_t grf_top;     /* one more than the highest register of direct operands */
    uint32_t functions;   /* bit n: sends to shared function n */
    bool leaves;          /* may jump to code outside the ops */
    bool loops;           /* has a backward branch */
    bool ready;           /* atomic: g4_kernel_make_ready() has prepared it to run */
    bool tried;           /* g4_translate was called */
    bool writes_memory;   /* its messages may write to memory other than render targets */
    bool reads_clock;     /* may read tm0 */
    bool surely_ends;     /* g4_kernel_surely_ends() */
    struct g4_sent sent[G4_KERNEL_MESSAGES];
    uint32_t sents; /* UINT32_MAX: not all are known */
    struct g4_start_state start;
    struct g4_uniform_color flat;
    struct g4_translation *translation; /* NULL: everything is interpreted */
    uint8_t *targets;                   /* binding table entries of render target writes, each once, in code order */
    uint32_t target_count;
    uint8_t *content; /* the bytes of the instructions */
    size_t memory;    /* bytes allocated for the kernel, without its parts */
    uint64_t last_use;
    struct g4_kernel *chain; /* next in the bucket of the cache */
};

const struct g4_op *g4_kernel_find_part(const struct g4_kernel *kernel, uint32_t ip);

/* The kernel's own op at a byte offset; NULL if no instruction starts there. */
static inline const struct g4_op *g4_kernel_find_own(const struct g4_kernel *kernel, uint32_t ip) {
    const uint32_t at = ip - kernel->base;
    const bool starts = at < kernel->bytes && kernel->index[at >> 3] != G4_KERNEL_NONE;
    return starts ? &kernel->ops[kernel->index[at >> 3]] : 0;
}

/* The op at a byte offset, of the kernel or of a part; NULL if no instruction starts there. */
static inline const struct g4_op *g4_kernel_find(const struct g4_kernel *kernel, uint32_t ip) {
    const struct g4_op *const own = g4_kernel_find_own(kernel, ip);
    return own || !kernel->parts || !kernel->parts->count ? own : g4_kernel_find_part(kernel, ip);
}

/* Decode the instructions from an address on; NULL: no memory. */
struct g4_kernel *g4_kernel_decode(const struct g4_context *ctx, g4_address address, uint32_t base);
void g4_kernel_free(struct g4_kernel *kernel);
/* The registers of the GRF that an instruction may read. */
struct g4_row_set g4_rows_read(const struct g4_op *op);
/* Add all registers of the GRF that an instruction may write; false: they are not known. */
bool g4_add_rows_written(const struct g4_op *op, struct g4_row_set *rows);
/* The registers of the MRF, as bits, that a message may read after its implied move has written the first ones, and
 * those that the move writes as a whole. */
uint16_t g4_mrf_read(const struct g4_op *op);
uint16_t g4_mrf_moved(const struct g4_op *op);
/* Whether an instruction copies R1 to a register of the MRF, unchanged, for all channels. */
bool g4_op_copies_header(const struct g4_op *op, uint32_t mrf);
/* Fill `start`.  The fast handlers must have been selected. */
void g4_find_start_state(struct g4_kernel *kernel);

/* Decode the code at `ip` as a part of a kernel in the cache; false: not possible.  Only for a worker that runs alone.
 * `registers` is the number of registers that the threads own. */
bool g4_kernel_extend(struct g4_kernel_cache *cache, const struct g4_kernel *kernel, const struct g4_context *ctx,
                      uint32_t ip, unsigned registers);
/* Free parts whose code has changed, and return the bytes they held.  No thread may run. */
size_t g4_kernel_drop_stale_parts(const struct g4_kernel *kernel, struct g4_port *port);

/* Read the instruction at an address in its full form, and its length in memory. */
void g4_kernel_fetch(const struct g4_model *model, struct g4_port *port, g4_address address, uint32_t words[4],
                     uint32_t *length);

/* Complete the targets of a decoded branch at an address: past the instruction at the second target of `break`. */
void g4_kernel_finish_branch(const struct g4_model *model, struct g4_port *port, struct g4_op *op, g4_address address);

void g4_uniform_color_find(const struct g4_kernel *kernel, struct g4_uniform_color *flat);

/* Whether an instruction writes cr0, so that threads may choose another float mode. */
bool g4_kernel_writes_control(const struct g4_kernel *kernel);

/* Whether an op is a flow instruction, or writes ip as its destination; the target of such a write, if it is constant.
 */
bool g4_op_branches(const struct g4_op *op);
bool g4_op_writes_ip(const struct g4_op *op);
bool g4_op_ip_target(const struct g4_op *op, uint32_t *target);
/* Let instructions of 32 channels run as two of sixteen where that is the same (halves.c).  For instructions without a
 * fast handler, when g4_fast_select has seen them all. */
void g4_kernel_find_halves(struct g4_kernel *kernel, const struct g4_quirks *quirks);

/* Let an instruction for channels 16 to 31 run with G4_HANDLER_UPPER. */
void g4_op_use_upper(struct g4_op *op);
bool g4_op_ends_thread(const struct g4_op *op);

#endif
