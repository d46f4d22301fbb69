/*
 * Inside the translation of kernels (translate.h): what its files share.
 *
 * Sixteen lanes are two threads with eight channels each: one row of a register in the gang.  A row that is touched is
 * kept in a vector register, and stored at the end if it was written.  Every operation runs under the mask of the lanes
 * that its instruction enables, as the stores of the handlers do, so that lanes that are off neither change nor raise
 * doubts.
 */
#ifndef G4_EU_TRANSLATOR_H
#define G4_EU_TRANSLATOR_H

#include "eu/fast/fast.h"
#include "eu/jit/blocks.h"
#include "eu/jit/x86_emit.h"

enum {
    ROWS = G4_GRF_COUNT + G4_MRF_COUNT, /* as they lie in the gang, by the size of a register */
    ROW_BYTES = 2 * G4_REGISTER_BYTES,

    /* vector registers */
    CACHED = 23,  /* the first ones hold rows and single elements, */
    LARGEST = 23, /* this the largest magnitude of all results in a stretch, */
    TEMP_A,       /* these live within an instruction */
    TEMP_B,
    TEMP_RESULT,
    TEMP_0,
    TEMP_1,
    TEMP_2,
    TEMP_3,
    ZERO,
    HELD_IN_REGION = CACHED + 1, /* a region has no use for LARGEST */

    /* masks */
    K_DOUBT = 0, /* lanes of which nothing is known any more */
    K_EXEC_0 = 1,
    K_EXEC_1 = 2,
    K_GROUP = 3,  /* in a stretch; */
    K_FLAG_0 = 3, /* in a region: the flags of the first half */
    K_LANES = 4,  /* of an instruction, if they are none of these */
    K_BITS,       /* a result */
    K_TEMP,
    K_HIGH,       /* in a stretch: of the second thread; */
    K_FLAG_1 = 7, /* in a region: the flags of the second half */
};

enum what {
    HOLDS_NOTHING,
    HOLDS_ROW,
    HOLDS_ELEMENT, /* one dword of each thread, for all of its lanes */
    HOLDS_SUM,     /* eight channels of an accumulator, of the first or the second thread */
};

struct holder {
    uint8_t what;
    uint8_t row, element; /* of a sum: which accumulator, which thread */
    bool dirty;
    uint8_t numbers; /* bit k: neither NaN nor infinity in the lanes of mask k */
    uint32_t used;   /* when */
};

struct state {
    struct holder held[HELD_IN_REGION];
    uint32_t now;
    bool out_of_registers;
    bool checks_doubt, checks_largest;
    uint8_t top;    /* more registers than any message reads */
    bool ieee_only; /* ALT mode would give something else */
};

struct translator {
    uint32_t gen;
    struct g4_code code;
    struct g4_code constants;
    bool region;                   /* with flow inside: who holds what is settled beforehand (region.c) */
    uint8_t spilled[ROWS];         /* of a region: rows in its room, by place + 1 */
    uint8_t spilled_numbers[ROWS]; /* as in struct holder */
    struct state s;
};

/* ---- one instruction (translate_ops.c) ---- */

enum {
    ALL_NUMBERS = 0xff, /* in any lane */
};

/* Translate an instruction; false: it cannot be, and what has been written has to be taken back. */
bool g4_translate_op(struct translator *t, const struct g4_op *op);

/* Whether an instruction that is no flow may be part of a region; g4_translate_op may still say no. */
bool g4_may_be_in_region(const struct translator *t, const struct g4_op *op);

/* Rows that an instruction touches, each named once for each part. */
struct g4_touched {
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

void g4_translate_touched(const struct g4_op *op, struct g4_touched *touched);

/* Sixteen doubles. */
struct wide {
    unsigned low, high; /* vector registers, of a thread each */
};

/* Its kinds that have files of their own. */
bool g4_translate_double(struct translator *t, const struct g4_op *op, unsigned index);
bool g4_translate_math(struct translator *t, const struct g4_op *op);

/* A message of a kind that is worth it: a register of floats in, one out; and the rows it has to do with. */
bool g4_is_plain_math(const struct translator *t, const struct g4_op *op, struct g4_extended_math_message *message);
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
bool g4_translate_region(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_stretch *stretch);

/* ---- what surrounds them (translate.c) ---- */

/* The place of a constant. */
size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size);

/* An op is executed along with the others of a block. */
void g4_block_add(struct g4_block *block, const struct g4_op *op);

#endif
