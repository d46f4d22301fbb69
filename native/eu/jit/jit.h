/*
 * Translates kernels to machine code of the host, and runs it (when: kernel.c).
 *
 * A block is a sequence of instructions that neither jump nor send nor are jump targets (a basic block; messages to the
 * math unit may be part of it), or a whole loop or branch.  The code of a block executes a unit of threads at a time:
 * two, or with AVX2 one unless a loop waits for results.  It does the operations of the fast handlers on the same lanes
 * in the same order, but keeps registers of the gang in vector registers.  If a result may be NaN or overflowed, or
 * infinite in ALT mode, which the host alone does not get right, the handlers execute the whole block: the contents of
 * rows that they could see are stored at the end, or restored.
 *
 * Kernels with channel pointers have no instruction at the start of a loop.  A loop or branch that is executed as a
 * whole leaves no channel waiting inside; those that wait behind it join when it has been executed.
 *
 * Only on hosts with AVX2 and FMA.  Not used if only the general handler may run, while a debugger is attached, or in
 * ALT mode for square roots of -0.
 */
#ifndef G4_EU_JIT_H
#define G4_EU_JIT_H

#include "api/variant.h"
#include "eu/kernel.h"
#include "eu/run.h"

struct g4_jit_scratch;

/* The code of a block.  A basic block executes all units of threads, a loop one unit.  `rows` is the row of the first
 * unit in R0, `masks` the mask of that unit in g4_run.exec, `gang` the gang, offset as the mask of that unit is in
 * each word.  Returns a bit for each unit for which the handlers must execute the block. */
typedef uint32_t g4_jit_fn(void *rows, const void *masks, void *gang, const void *constants,
                           struct g4_jit_scratch *scratch);

enum {
    G4_LOOP_BLOCKS = 32,
    G4_LOOP_DEPTH = 6,        /* nested loops and branches */
    G4_LOOP_STORED_ROWS = 32, /* rows that are written but never read */
    G4_JIT_SLOTS = 64,        /* values without a register */
    G4_JIT_SLOT_BYTES = 64,
    /* iterations of a loop after which the handlers take over; budgets of instructions are small under a fuzzer */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    G4_LOOP_TURNS = 64,
#else
    G4_LOOP_TURNS = 65536,
#endif
};

/* Scratch memory of machine code: executed threads per basic block of a loop, values without a register. */
struct g4_jit_scratch {
    uint32_t counts[G4_LOOP_BLOCKS];
    _Alignas(64) uint8_t rows[G4_JIT_SLOTS][G4_JIT_SLOT_BYTES];
};

/* The statistics of a basic block. */
struct g4_block_cost {
    uint32_t count, channels, messages; /* per thread; messages to the math unit */
};

enum {
    G4_IEEE,
    G4_ALT,
    G4_KEEPS_DENORMALS, /* IEEE mode */
    G4_FLOAT_MODES,

    /* The first constants: in all lanes, the bits of the largest magnitude that machine code computes with; then the
     * MXCSR of the mode, without exceptions. */
    G4_JIT_LIMIT = 0,
    G4_JIT_LIMIT_BYTES = 64,
    G4_JIT_FPENV = G4_JIT_LIMIT_BYTES,
    G4_JIT_FIXED_BYTES = 128,
};

struct g4_jit_block {
    g4_jit_fn *code;
    const void *constants[G4_FLOAT_MODES];
    unsigned threads; /* of a unit */
    size_t start;     /* offset of its code in the code of the kernel */
    uint32_t count;   /* of ops; the first one points to the block */
    uint32_t last_ip;
    uint32_t top;               /* one more than the highest register that messages read: threads must own them */
    bool ieee_only;             /* not for threads in ALT mode */
    bool flushes;               /* not for threads that keep denormals: the host flushes operands of extended math */
    bool raises;                /* the code of a basic block fails if an exception is raised */
    bool wide_only;             /* for threads of 32 channels: uses the masks of channels 16 to 31 */
    uint64_t fuel;              /* maximum number of instructions of a thread */
    struct g4_block_cost total; /* of a basic block */
    const struct g4_op *loop;   /* first op of a loop or branch; NULL: a basic block */
    uint32_t basic_block_count;
    struct g4_block_cost *basic_blocks;
    uint8_t *stored_rows; /* rows that the code of a loop writes in place before the end */
    uint32_t stored_row_count;
    uint32_t failure_score; /* grows with each failure; beyond a maximum the block is always interpreted */
};

struct g4_translation {
    enum g4_variant variant; /* the handlers' that the code replaces */
    uint32_t fpenv;          /* MXCSR, without exceptions, of threads that flush denormals */
    bool drops_rows;         /* rows that no instruction reads again may have any value */
    void *code;              /* in pages of its own */
    size_t code_bytes;
    void *constants;
    size_t constants_bytes;
    struct g4_jit_block *blocks; /* ops inside of a loop may start blocks, too */
    uint32_t count;
    uint32_t capacity; /* of blocks */
};

struct g4_code;

/* Copy the code to executable memory; false: the host does not allow it. */
bool g4_translation_seal(struct g4_translation *translation, const struct g4_code *code,
                         const struct g4_code *constants);

/* Translate the blocks of a kernel.  Does nothing if the host has no AVX2 or no memory. */
void g4_translate(struct g4_kernel *kernel, const struct g4_context *ctx);
void g4_translation_free(struct g4_translation *translation);
/* The memory of a translation in bytes; 0 for NULL. */
size_t g4_translation_memory(const struct g4_translation *translation);

/* Whether machine code of the kernel may run. */
bool g4_may_run_translated(const struct g4_eu *eu, const struct g4_gang *gang, const struct g4_kernel *kernel);

/* Run the block that starts at an op for the group.  False: it may not run now, and nothing has changed.  True: the
 * group has executed it, or is split into threads that have and threads that are still at its start. */
bool g4_jit_run(struct g4_run *run, const struct g4_op *first, uint64_t fuel);

#endif
