/*
 * Kernels as machine code of the host: straight runs of instructions, translated when the kernel is decoded.
 *
 * A stretch is instructions in a row that neither jump nor send nor are jumped to.  Its code does for two threads at a
 * time what the fast handlers do for eight with each instruction in turn: the same operations in the same order on the
 * same lanes, but with registers that stay in the host's.  Nothing is stored before the end, or it is put back; when a
 * result might be one that rounding toward zero alone does not give (NaN, infinity, overflow), the handlers do the work
 * from the beginning.  Only on hosts with AVX-512, and where it changes nothing: not for general handlers only, not
 * while debugging, in ALT mode not with roots of -0.
 */
#ifndef G4_EU_JIT_H
#define G4_EU_JIT_H

#include "eu/kernel.h"
#include "eu/run.h"

/* The code of a stretch does all pairs of threads, that of a region one.  A pair has 64 bytes of each register; what it
 * is given is the first byte of its own in register 0, its word of the first mask in struct g4_run, the gang at the
 * same distance, the kernel's constants, and the room of a region.  Returns a bit for each pair for which the handlers
 * have to do it. */
struct g4_loop_scratch;
typedef uint32_t g4_jit_fn(void *rows, const void *masks, void *flags, const void *constants,
                           struct g4_loop_scratch *room);

enum {
    G4_SFID_MATH = 1,               /* the shared function whose messages are translated (spec/60 2.1) */
    G4_FAILURE_FLAGS = 0x01 | 0x08, /* of the host: an operation without a meaning, overflow */
    G4_LOOP_BLOCKS = 32,
    G4_LOOP_DEPTH = 6,        /* of loops and branches in each other */
    G4_LOOP_TURNS = 65536,    /* of its loops, after which the handlers take over */
    G4_LOOP_SPILLS = 64,      /* rows that find no vector register */
    G4_LOOP_STORED_ROWS = 32, /* rows that it writes but never reads */
};

/* What the code of a region needs of its own: at first threads counted by block, the masks that loops and branches
 * began with, rows. */
struct g4_loop_scratch {
    uint32_t counts[G4_LOOP_BLOCKS];
    uint16_t masks[G4_LOOP_DEPTH][2];
    _Alignas(64) uint8_t rows[G4_LOOP_SPILLS][64];
};

/* Instructions of a region that the same threads execute. */
struct g4_block_cost {
    uint32_t count, channels, messages; /* of one thread; messages to the math unit */
};

struct g4_jit_block {
    g4_jit_fn *code;
    const void *constants;
    size_t start;   /* of the code, in all of it */
    uint32_t count; /* of ops, the first of which points here */
    uint32_t last_ip;
    uint32_t top;               /* registers that a thread must own for its messages */
    bool ieee_only;             /* not for ALT mode */
    uint64_t fuel;              /* a thread needs at most */
    struct g4_block_cost total; /* without flow: all of it */
    const struct g4_op *loop;   /* its first op; NULL: there is no flow in it */
    uint32_t basic_block_count;
    struct g4_block_cost *basic_blocks;
    uint8_t *stored_rows; /* rows, as they lie in the gang, that its code writes before the end */
    uint32_t stored_row_count;
    uint32_t failure_score; /* grows when the handlers had to take over; given up when it is too much */
};

struct g4_translation {
    void *code; /* pages of their own */
    size_t code_bytes;
    void *constants;
    size_t constants_bytes;
    struct g4_jit_block *blocks; /* a region's ops may have stretches of their own */
    uint32_t count;
    uint32_t room; /* stretches that there is memory for */
};

struct g4_code;

/* Make code of its bytes; false: the host does not let us. */
bool g4_translation_seal(struct g4_translation *translation, const struct g4_code *code,
                         const struct g4_code *constants);

/* Translate what can be; nothing when the host cannot run it, or there is no memory. */
void g4_translate(struct g4_kernel *kernel, uint32_t gen);
void g4_translation_free(struct g4_translation *translation);
/* The bytes that a translation holds; 0 without one. */
size_t g4_translation_memory(const struct g4_translation *translation);

/* Whether threads may go through translated code. */
bool g4_may_run_translated(const struct g4_eu *eu);

/* Run what starts at an op for the group, if that may be: then true, and the group stands behind it, or has been split
 * in those that do and those for which the handlers have to do it. */
bool g4_jit_run(struct g4_run *run, const struct g4_op *first, uint64_t fuel);

#endif
