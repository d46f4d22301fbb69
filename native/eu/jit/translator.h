/*
 * The state of a translation, shared by the files of the JIT.
 *
 * A row is the eight channels of two threads in one register of the gang: sixteen lanes.  Rows that instructions use
 * are kept in vector registers (vreg) and stored at the end if they were written.  Every operation is masked by the
 * enabled lanes of its instruction, so disabled lanes neither change nor fail.
 */
#ifndef G4_EU_JIT_TRANSLATOR_H
#define G4_EU_JIT_TRANSLATOR_H

#include "eu/fast/fast.h"
#include "eu/jit/jit.h"
#include "eu/jit/x86_emit.h"
#include "hw_messages.h"

enum {
    ROWS = G4_GRF_COUNT + G4_MRF_COUNT, /* of the gang: first the GRF, then the MRF */
    ROW_BYTES = 2 * G4_REGISTER_BYTES,  /* of a pair of threads */
};

/* Registers with one use in blocks and loops. */
enum {
    /* vector registers that live within an instruction */
    TEMP_A = 24,
    TEMP_B,
    TEMP_RESULT,
    TEMP_0,
    TEMP_1,
    TEMP_2,
    TEMP_3,
    ZERO, /* always 0 */

    /* masks */
    K_FAILED = 0, /* lanes for which the handlers must execute the block */
    K_EXEC_0 = 1, /* enabled lanes of the first half */
    K_EXEC_1 = 2,
    K_LANES = 4, /* lanes of an instruction, if they are none of the above */
    K_BITS = 5,  /* a result */
    K_TEMP = 6,
};

/* Registers of a basic block. */
enum {
    BLOCK_VREGS = 23, /* 0 to 22: allocated to rows, elements and sums */
    MAGNITUDE = 23,   /* the largest magnitude of all results */
    K_GROUP = 3,      /* lanes of all threads of the group */
    K_HIGH = 7,       /* lanes of the second thread, in arithmetic in doubles */
};

/* Registers of a loop. */
enum {
    LOOP_VREGS = 24, /* 0 to 23: allocated to rows and elements */
    K_FLAG_0 = 3,    /* the flags of the first half */
    K_FLAG_1 = 7,    /* the flags of the second half */
};

enum content {
    HOLDS_NOTHING,
    HOLDS_ROW,
    HOLDS_ELEMENT, /* one dword of each thread, in all lanes of the thread */
    HOLDS_SUM,     /* eight channels of an accumulator, of the first or the second thread */
};

struct vreg {
    uint8_t content;
    uint8_t row, element; /* HOLDS_SUM: accumulator and thread */
    bool dirty;
    uint8_t finite; /* bit k: no NaN and no infinity in the lanes of mask k */
    uint32_t used;  /* time of the last use */
};

struct vreg_state {
    struct vreg vregs[LOOP_VREGS];
    uint32_t now;
    bool out_of_vregs;
    bool checks_failed, checks_magnitude;
    uint8_t top;    /* one more than the highest register that messages read */
    bool ieee_only; /* ALT mode would give other results */
};

struct translator {
    uint32_t gen;
    struct g4_code code;
    struct g4_code constants;
    bool loop;                    /* translating a loop: vector registers are allocated beforehand */
    uint8_t spilled[ROWS];        /* loops: index + 1 of the row in g4_loop_scratch.rows */
    uint8_t spilled_finite[ROWS]; /* as vreg.finite */
    struct vreg_state s;
};

/* ---- single instructions (lower.c) ---- */

enum {
    ALL_FINITE = 0xff, /* in all lanes */
};

/* Translate an instruction; false: it cannot be translated, and the caller has to remove its code. */
bool g4_lower_op(struct translator *t, const struct g4_op *op);

/* Whether an instruction without control flow may be part of a loop; g4_lower_op may still fail. */
bool g4_can_lower_in_loop(const struct translator *t, const struct g4_op *op);

/* The rows that an instruction reads and writes, once per part. */
struct g4_op_rows {
    struct {
        uint8_t row, element;
        uint8_t half; /* half of the masks */
        bool single;  /* only one element */
        bool floats;  /* must be finite */
    } in[8];
    struct {
        uint8_t row;
        uint8_t half;
        bool whole;     /* in all enabled lanes of the half */
        bool number;    /* the result is never NaN */
        int16_t copies; /* row whose bits are copied, or -1 */
    } out[4];
    int ins, outs;
};

void g4_op_rows_of(const struct g4_op *op, struct g4_op_rows *rows);

/* Sixteen doubles. */
struct vreg_pair {
    unsigned low, high; /* vector registers of the first and the second thread */
};

/* Instructions with files of their own: lower_double.c, lower_math.c. */
bool g4_lower_double(struct translator *t, const struct g4_op *op, unsigned index);
bool g4_lower_math(struct translator *t, const struct g4_op *op);

/* Whether a message to the math unit can be translated, and its rows. */
bool g4_is_lowered_math(const struct translator *t, const struct g4_op *op, struct g4_extended_math_message *message);
unsigned g4_math_payload(const struct g4_op *op, int pass);
unsigned g4_math_source(const struct g4_op *op, int pass);
unsigned g4_math_destination(const struct g4_op *op, int pass);

static inline struct g4_rm g4_row_in_memory(unsigned row, unsigned byte) {
    return g4_rm_at(X86_RDI, row * sizeof(union g4_reg) + byte);
}

/* Channels 0 to 7 of an accumulator. */
static inline struct g4_rm g4_sum_in_memory(unsigned acc, unsigned thread) {
    return g4_rm_at(X86_R11, offsetof(struct g4_gang, acc) + acc * sizeof(union g4_acc) +
                                 thread * sizeof(((union g4_acc *)0)->f[0]));
}

/* ---- loops (loops.c) ---- */

/* Whether an instruction begins (ends) a loop or branch. */
static inline bool g4_op_opens(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW &&
           (op->opcode == G4_OPCODE_DO || op->opcode == G4_OPCODE_IF || op->opcode == G4_OPCODE_IFF);
}

static inline bool g4_op_closes(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW && (op->opcode == G4_OPCODE_WHILE || op->opcode == G4_OPCODE_ENDIF);
}

/* Translate the loop or branch that begins at an op, and describe it in `block`; false: not possible. */
bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block);

/* ---- blocks (blocks.c) ---- */

/* The offset of a constant, which is added unless it exists. */
size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size);

/* Add an op to the statistics of a block. */
void g4_block_cost_add(struct g4_block_cost *block, const struct g4_op *op);

#endif
