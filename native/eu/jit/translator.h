/*
 * Inside the translation of kernels (translate.h): what its files share.
 *
 * Sixteen lanes are two threads with eight channels each: one row of a register in the gang.  A row that is touched is
 * kept in a vector register, and stored at the end if it was written.  Every operation runs under the mask of the lanes
 * that its instruction enables, as the stores of the handlers do, so that lanes that are off neither change nor raise
 * doubts.
 */
#ifndef G4_EU_JIT_TRANSLATOR_H
#define G4_EU_JIT_TRANSLATOR_H

#include "eu/fast/fast.h"
#include "eu/jit/jit.h"
#include "eu/jit/x86_emit.h"

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
    ZERO, /* all bits */

    /* masks */
    K_FAILED = 0, /* lanes for which the handlers have to do the work */
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
    HOLDS_ELEMENT, /* one dword of each thread, for all of its lanes */
    HOLDS_SUM,     /* eight channels of an accumulator, of the first or the second thread */
};

struct vreg {
    uint8_t content;
    uint8_t row, element; /* of a sum: which accumulator, which thread */
    bool dirty;
    uint8_t finite; /* bit k: neither NaN nor infinity in the lanes of mask k */
    uint32_t used;  /* when */
};

struct vreg_state {
    struct vreg vregs[LOOP_VREGS];
    uint32_t now;
    bool out_of_vregs;
    bool checks_failed, checks_magnitude;
    uint8_t top;    /* more registers than any message reads */
    bool ieee_only; /* ALT mode would give something else */
};

struct translator {
    uint32_t gen;
    struct g4_code code;
    struct g4_code constants;
    bool loop;                    /* with flow inside: who holds what is settled beforehand (region.c) */
    uint8_t spilled[ROWS];        /* of a region: rows in its room, by place + 1 */
    uint8_t spilled_finite[ROWS]; /* as in struct holder */
    struct vreg_state s;
};

/* ---- one instruction (translate_ops.c) ---- */

enum {
    ALL_FINITE = 0xff, /* in any lane */
};

/* Translate an instruction; false: it cannot be, and what has been written has to be taken back. */
bool g4_lower_op(struct translator *t, const struct g4_op *op);

/* Whether an instruction that is no flow may be part of a region; g4_translate_op may still say no. */
bool g4_can_lower_in_loop(const struct translator *t, const struct g4_op *op);

/* Rows that an instruction touches, each named once for each part. */
struct g4_op_rows {
    struct {
        uint8_t row, element;
        uint8_t half; /* of the masks: in its lanes */
        bool single;  /* only this element of it */
        bool floats;  /* must be a number */
    } in[8];
    struct {
        uint8_t row;
        uint8_t half;
        bool whole;     /* in all lanes of the half that are on */
        bool number;    /* never NaN */
        int16_t copies; /* the row whose bits it gets, or -1 */
    } out[4];
    int ins, outs;
};

void g4_op_rows_of(const struct g4_op *op, struct g4_op_rows *rows);

/* Sixteen doubles. */
struct vreg_pair {
    unsigned low, high; /* vector registers, of a thread each */
};

/* Its kinds that have files of their own. */
bool g4_lower_double(struct translator *t, const struct g4_op *op, unsigned index);
bool g4_lower_math(struct translator *t, const struct g4_op *op);

/* A message of a kind that is worth it: a register of floats in, one out; and the rows it has to do with. */
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

/* ---- flow (region.c) ---- */

/* A loop or branch begins, or ends. */
static inline bool g4_op_opens(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW &&
           (op->opcode == G4_OPCODE_DO || op->opcode == G4_OPCODE_IF || op->opcode == G4_OPCODE_IFF);
}

static inline bool g4_op_closes(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW && (op->opcode == G4_OPCODE_WHILE || op->opcode == G4_OPCODE_ENDIF);
}

/* Translate the loop or branch that begins at an op, whole, and fill in the stretch; false: it cannot be. */
bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block);

/* ---- what surrounds them (translate.c) ---- */

/* The place of a constant. */
size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size);

/* An op is executed along with the others of a block. */
void g4_block_cost_add(struct g4_block_cost *block, const struct g4_op *op);

#endif
