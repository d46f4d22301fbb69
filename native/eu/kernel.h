/*
 * A kernel decoded once (eu.h: struct g4_kernel).
 */
#ifndef G4_EU_KERNEL_H
#define G4_EU_KERNEL_H

#include "eu/eu.h"
#include "eu/op.h"

enum {
    G4_KERNEL_MAX_BYTES = 1 << 16, /* of the walk from the first instruction */
    G4_KERNEL_NONE = 0xffffffff,
    G4_KERNEL_PARTS = 8,
};

struct g4_kernel;

/* Code that threads were found to run, but the walk from the first instruction did not see. */
struct g4_kernel_parts {
    uint32_t count;
    struct g4_kernel *part[G4_KERNEL_PARTS];
};

/* Pixel shaders whose colour is the same for every pixel of an object (flat.c). */
struct g4_flat {
    uint32_t pixels;      /* of a thread: 8 or 16; 0: it is not that simple */
    uint32_t target;      /* binding table entry that is written */
    uint32_t from;        /* no register below is read, but R0 and R1 for the message's header */
    uint32_t channel_ops; /* of a thread */
};

struct g4_kernel {
    uint32_t address;
    uint32_t base;                 /* of a part: its first instruction, in bytes from the kernel's */
    struct g4_kernel_parts *parts; /* NULL in a part */
    uint32_t bytes;                /* covered by the ops */
    uint32_t count;                /* of ops, in order of their ip; ops[count] is where the walk ended */
    uint32_t *index;               /* byte / 8 -> op, or G4_KERNEL_NONE */
    struct g4_op *ops;
    uint32_t grf_top;   /* registers that direct operands reach */
    uint32_t functions; /* bit n: sends to shared function n */
    bool leaves;        /* may run code outside the ops */
    uint32_t read_top;  /* registers that it may read, */
    bool reads_acc;     /* and whether it may read accumulators */
    bool reads_stacks;  /* or mask stacks other than by pushing and popping */
    struct g4_flat flat;
    struct g4_translation *translation; /* NULL: everything is interpreted */
    uint8_t *targets; /* binding table entries of its render target writes, in order of the code, each once */
    uint32_t target_count;
    uint8_t *content; /* the bytes it was decoded from */
    size_t memory;    /* bytes that the kernel holds, without its parts */
    uint64_t last_use;
    struct g4_kernel *chain; /* the next of the cache's bucket */
};

const struct g4_op *g4_kernel_find_part(const struct g4_kernel *kernel, uint32_t ip);

/* The op at a byte offset, or NULL: not decoded, or the middle of an instruction. */
static inline const struct g4_op *g4_kernel_find(const struct g4_kernel *kernel, uint32_t ip) {
    const uint32_t at = ip - kernel->base;
    if (at < kernel->bytes && kernel->index[at >> 3] != G4_KERNEL_NONE) {
        return &kernel->ops[kernel->index[at >> 3]];
    }
    return kernel->parts && kernel->parts->count ? g4_kernel_find_part(kernel, ip) : 0;
}

/* Take the instructions from an address on apart.  NULL: no memory. */
struct g4_kernel *g4_kernel_decode(const struct g4_context *ctx, uint32_t address, uint32_t base);
void g4_kernel_free(struct g4_kernel *kernel);
bool g4_kernel_same_content(const struct g4_kernel *kernel, struct g4_port *port);

/* Decode code at `ip`, outside of what is known, as a part of a kernel in the cache; false: not possible.  Only for a
 * worker that runs alone.  `registers` is what the threads own. */
bool g4_kernel_extend(struct g4_kernel_cache *cache, const struct g4_kernel *kernel, const struct g4_context *ctx,
                      uint32_t ip, unsigned registers);
/* Forget parts whose memory has changed, and return the bytes they held.  Nothing may run. */
size_t g4_kernel_drop_stale_parts(const struct g4_kernel *kernel, struct g4_port *port);

/* Count bytes that a kernel in the cache has come to hold, and evict kernels while the cache is over its limits.  The
 * kernels of the running draw or media command stay: they were looked up last. */
void g4_kernel_cache_grow(struct g4_kernel_cache *cache, size_t bytes);

/* The instruction at an address in its full form, and how many bytes it takes there. */
void g4_kernel_fetch(struct g4_port *port, uint32_t address, uint32_t words[4], uint32_t *length);

/* Drop implicit accumulator writes that nothing reads.  `live` is zeroed room for one word of each op. */
void g4_liveness(struct g4_kernel *kernel, uint32_t *live);

void g4_flat_find(const struct g4_kernel *kernel, struct g4_flat *flat);

/* Whether an op is a flow instruction; whether it writes ip otherwise, and where to, if that can be told. */
bool g4_op_branches(const struct g4_op *op);
bool g4_op_writes_ip(const struct g4_op *op);
bool g4_op_ip_target(const struct g4_op *op, uint32_t *target);
bool g4_op_ends_thread(const struct g4_op *op);

#endif
