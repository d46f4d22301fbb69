/*
 * The state of a translation from decoded instructions to the intermediate form (ir.h).
 *
 * A row is the eight channels of the threads of a unit in one register of the gang.  Rows become values when they are
 * read first.  How a row that is written gets back to memory depends on what the handlers need if the block fails:
 * enum row_home.
 */
#ifndef G4_EU_JIT_TRANSLATOR_H
#define G4_EU_JIT_TRANSLATOR_H

#include "eu/fast/fast.h"
#include "eu/jit/emit.h"
#include "eu/jit/jit.h"
#include "eu/jit/liveness.h"
#include "hw_messages.h"

enum {
    ROWS = G4_GRF_COUNT + G4_MRF_COUNT, /* of the gang: first the GRF, then the MRF */
};

/* The lanes that an instruction may use before predication.  Each set of bits of them is a byte. */
enum lanes {
    LANES_EXEC_0 = 1 << 0, /* enabled in the first half */
    LANES_EXEC_1 = 1 << 1,
    LANES_GROUP = 1 << 2,  /* all lanes of the threads of the group */
    LANES_EXEC_2 = 1 << 3, /* enabled in channels 16 to 23 */
    LANES_EXEC_3 = 1 << 4,
    LANES_ALL = 0xff,
};

enum row_home {
    /* The handlers would write the same lanes before they read them: stored after the last write. */
    ROW_EARLY,
    /* Stored when the block has succeeded. */
    ROW_LATE,
    /* Of a loop: joined with its old lanes in a variable, where control flow joins and the row may be read again. */
    ROW_VARIABLE,
    /* Of a loop, never read: stored by each write, and restored by the caller on failure. */
    ROW_DIRECT,
};

/* Half of a row as words, in the low halves of the lanes of the eight channels that have written them. */
struct row_words {
    ir_operand value; /* IR_NONE: not known */
    uint8_t lanes;    /* enum lanes in which it is */
};

struct row_state {
    ir_operand value;    /* of the last write or load; IR_NONE: only in memory or in the variable */
    ir_operand variable; /* ROW_VARIABLE */
    uint8_t home;
    uint8_t valid;       /* enum lanes in which the value is that of the row */
    uint8_t numbers;     /* enum lanes without special values */
    uint8_t checked;     /* dwords of each thread that an instruction checks, since the last write */
    uint32_t check;      /* its index */
    bool pending;        /* the value is not in memory or in the variable */
    bool written;        /* by the loop */
    uint32_t last_write; /* number of the instruction */
    struct row_words words[2];
};

/* Sixteen doubles. */
struct wide {
    ir_operand half[2];
};

/* An element of a row as doubles. */
struct wide_element {
    ir_operand half[2]; /* in all lanes of a half; or rows of doubles, of each thread */
    bool in_row;
    uint8_t dword;
};

/* A row as rows of doubles, of each thread. */
struct widened_row {
    uint8_t row;
    ir_operand thread[2];
};

/* A vector as doubles; of a basic block. */
struct widened_value {
    ir_operand value;
    struct wide wide;
};

/* One dword of each thread, in all lanes of the thread. */
struct element_state {
    ir_operand value;
    uint8_t row, dword;
    uint8_t numbers;
    bool is_constant;
    uint32_t bits; /* of a constant */
};

/* The lanes of a mask that write, of those instructions that write the same channels. */
struct writing_lanes {
    ir_operand mask, lanes;
    uint8_t channels; /* as bits */
};

/* Eight channels of a flag register. */
struct flag_state {
    ir_operand value;    /* IR_NONE: only in memory */
    ir_operand variable; /* of a loop */
    bool pending;        /* the value is not in the variable; it is right in the enabled lanes */
    bool dirty;
};

enum {
    ELEMENTS = 64,
    WIDENED = 32,
    WIDENED_ROWS = 12,
    WRITING_LANES = 8,
    FLAGS = 4, /* f0.0, f0.1, f1.0, f1.1 */
};

struct translator {
    uint32_t gen;
    const struct backend *usual_backend;
    const struct backend *waiting_backend; /* of loops that wait (ir_waits()); NULL: the usual one */
    const struct backend *backend;         /* of the block */
    uint32_t fpenv;
    bool own_floats; /* threads may keep denormals */
    struct ir ir;
    struct g4_code code;
    struct g4_code constants;
    struct emitter emitter;
    const struct g4_live *live; /* before each op of the kernel; NULL: everything is */
    const struct g4_kernel *kernel;
    const uint8_t *begins; /* by op of the kernel: loops that begin there without an instruction of their own */

    /* of the block */
    bool loop;                 /* a loop or branch: variables are loaded at its start */
    bool failed;               /* an instruction cannot be translated where it is */
    bool raises;               /* exceptions say whether a result has overflowed, or is NaN */
    bool ieee_only;            /* ALT mode would give other results */
    bool flushes;              /* threads that keep denormals would get other results */
    bool wide_only;            /* uses masks of channels 16 to 31 */
    uint8_t top;               /* one more than the highest register that messages read */
    const struct g4_op *ops;   /* of a loop */
    uint32_t first;            /* op of the kernel */
    uint32_t at;               /* number of the instruction */
    uint32_t end;              /* number of the instruction at which control flow may join */
    uint32_t exit;             /* if that is a break: the instruction at which the lanes that leave continue; else 0 */
    ir_operand exec[4], group; /* by eight channels */
    ir_operand largest;        /* the largest magnitude of all checked values */
    bool checks;               /* there are any */
    struct flag_state flags[FLAGS][2];
    struct {
        ir_operand half[2];
        bool dirty;
        bool numbers; /* without special values in the threads of the group */
    } sums[2];
    struct row_state rows[ROWS];
    struct element_state elements[ELEMENTS];
    uint32_t element_count;
    struct widened_value widened[WIDENED];
    uint32_t widened_count;
    struct widened_row widened_rows[WIDENED_ROWS];
    uint32_t widened_row_count;
    struct writing_lanes writing[WRITING_LANES]; /* of a basic block */
    uint32_t writing_count;
};

/* ---- rows, masks, flags (rows.c) ---- */

/* Forget the state of the last block. */
void g4_translator_clear(struct translator *t);

/* The value of a row, right in the given lanes. */
ir_operand g4_row(struct translator *t, unsigned number, enum lanes lanes);
/* Of a loop: load a row to a variable. */
void g4_load_variable(struct translator *t, unsigned number);
/* Of a loop: control flow may join here, at instruction `end`, and masks may change.  Flags that only this instruction
 * reads keep their values. */
void g4_join_values(struct translator *t);
/* Of a loop, after the instruction: those values are no longer known, unless it was a break. */
void g4_drop_flags(struct translator *t);
/* Whether a row may be read after the instructions before t->end. */
bool g4_row_is_live(const struct translator *t, unsigned number);
/* Whether it has to be in its variable there. */
bool g4_row_is_joined(const struct translator *t, unsigned number);
/* The offset of a row in the gang. */
uint32_t g4_row_at(unsigned number);
/* An element of a row. */
ir_operand g4_element(struct translator *t, unsigned number, unsigned dword);
/* An element of a row as doubles; of a basic block. */
struct wide_element g4_wide_element(struct translator *t, unsigned number, unsigned dword);
/* A value as doubles. */
struct wide g4_widened(struct translator *t, ir_operand value);
/* Elements of a row are written: those whose bits are set in `dwords`. */
void g4_forget_elements(struct translator *t, unsigned number, unsigned dwords);
/* An element of a row has a known value from now on. */
void g4_know_element(struct translator *t, unsigned number, unsigned dword, uint32_t bits);
/* Where the lanes of an element without special values are recorded; NULL: they are not. */
uint8_t *g4_element_numbers(struct translator *t, unsigned number, unsigned dword);
/* The known value of an element; NULL: none. */
const struct element_state *g4_known_element(const struct translator *t, unsigned number, unsigned dword);
/* Write a row in the lanes of a mask; `whole`: the mask is that of `lanes`.  The caller forgets elements. */
void g4_write_row(struct translator *t, unsigned number, enum lanes lanes, ir_operand mask, bool whole,
                  ir_operand value, uint8_t numbers);
/* Store rows, sums and flags whose values are not in memory, after the block has succeeded. */
void g4_store_late(struct translator *t);
/* Whether that stores anything for a basic block. */
bool g4_stores_late(const struct translator *t);

/* The enabled lanes of eight channels: the first, second, third or fourth. */
ir_operand g4_exec(struct translator *t, unsigned eight);
ir_operand g4_flag(struct translator *t, unsigned flag, unsigned half);
/* Set flags to `bits` in the lanes of a mask. */
void g4_set_flag(struct translator *t, unsigned flag, unsigned half, ir_operand bits, ir_operand mask);
/* The lanes of all threads of the group. */
ir_operand g4_group(struct translator *t);
/* The lanes of all threads of the group, or in a loop of those that execute the instruction. */
ir_operand g4_whole_threads(struct translator *t);
/* Special values: NaN, and in ALT mode infinities.  In IEEE mode, the host computes with infinities as the EU does, and
 * raises `invalid` where the result is NaN.  Sums, products and conversions of other operands are only special if they
 * raise `invalid` or `overflow`, so operands are checked; `numbers` say which of them need no check. */
void g4_begin_checks(struct translator *t);
/* Note that a lane may have a special value. */
void g4_check_number(struct translator *t, ir_operand value, ir_operand mask);
/* Fail if one of these dwords of a row is special in any thread of the group.  One instruction checks all dwords of a
 * row.  False: this is a loop, or the value of the row is not right in all lanes. */
bool g4_check_elements(struct translator *t, unsigned number, unsigned dwords);
/* Jump if one of the lanes that were checked, and are in the mask, has a special value. */
void g4_jump_if_special(struct translator *t, ir_operand mask, uint32_t label);

/* ---- single instructions (lower.c) ---- */

/* Translate an instruction; false: it cannot be translated, and the caller has to drop the block. */
bool g4_lower_op(struct translator *t, const struct g4_op *op);

/* Whether an instruction without control flow may be part of a loop; g4_lower_op may still fail. */
bool g4_can_lower_in_loop(const struct translator *t, const struct g4_op *op);

/* The rows that an instruction reads and writes, once per part. */
struct g4_op_rows {
    struct {
        uint8_t row, element;
        uint8_t half;  /* half of the masks */
        uint8_t lanes; /* enum lanes that read only themselves; 0: a lane reads others */
        bool single;   /* only one element */
        bool floats;   /* must not be special */
    } in[8];
    struct {
        uint8_t row;
        uint8_t half;
        uint8_t lanes;  /* enum lanes */
        bool whole;     /* in all of these lanes */
        bool gated;     /* by flags */
        bool number;    /* the result is never NaN */
        int16_t copies; /* row whose bits are copied, or -1 */
    } out[4];
    int ins, outs;
};

void g4_op_rows_of(const struct g4_op *op, struct g4_op_rows *rows);

/* A move of one immediate to one dword of each thread, whatever channels are enabled. */
bool g4_is_constant_element(const struct g4_op *op);

/* Instructions with files of their own: lower_double.c, lower_math.c. */
bool g4_lower_double(struct translator *t, const struct g4_op *op, unsigned index);
bool g4_lower_math(struct translator *t, const struct g4_op *op);
/* The opcode `math`. */
bool g4_lower_math_opcode(struct translator *t, const struct g4_op *op);

/* Whether a message to the math unit can be translated, and its rows. */
bool g4_is_lowered_math(const struct translator *t, const struct g4_op *op, struct g4_extended_math_message *message);
unsigned g4_math_payload(const struct g4_op *op, int pass);
unsigned g4_math_source(const struct g4_op *op, int pass);
unsigned g4_math_destination(const struct g4_op *op, int pass);

/* ---- loops (loops.c) ---- */

static inline bool g4_op_is_flow(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW || op->handler == G4_HANDLER_FLOW_GEN6;
}

/* Whether an instruction begins (ends) a loop or branch. */
static inline bool g4_op_opens(const struct g4_op *op) {
    return g4_op_is_flow(op) &&
           (op->opcode == G4_OPCODE_DO || op->opcode == G4_OPCODE_IF || op->opcode == G4_OPCODE_IFF);
}

static inline bool g4_op_closes(const struct g4_op *op) {
    return g4_op_is_flow(op) && (op->opcode == G4_OPCODE_WHILE || op->opcode == G4_OPCODE_ENDIF);
}

/* Translate the loop or branch that begins at an op, and describe it in `block`; false: not possible. */
bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block);

/* ---- blocks (blocks.c) ---- */

/* Emit the machine code of the intermediate form; false: not possible, and no code is emitted. */
bool g4_emit_block(struct translator *t);

/* Add an op to the statistics of a block. */
void g4_block_cost_add(struct g4_block_cost *block, const struct g4_op *op);

/* ---- the intermediate form in short ---- */

static inline ir_operand vector_of(struct translator *t, enum ir_op op, ir_operand a, ir_operand b, ir_operand mask) {
    const ir_operand dst = ir_value(&t->ir, IR_VECTOR);
    ir_add(&t->ir, (struct ir_instruction){.op = (uint8_t)op, .dst = dst, .a = a, .b = b, .mask = mask});
    return dst;
}

static inline ir_operand vector_imm(struct translator *t, enum ir_op op, ir_operand a, ir_operand mask, unsigned imm) {
    const ir_operand dst = ir_value(&t->ir, IR_VECTOR);
    ir_add(&t->ir, (struct ir_instruction){.op = (uint8_t)op, .imm = (uint8_t)imm, .dst = dst, .a = a, .mask = mask});
    return dst;
}

static inline ir_operand mask_of(struct translator *t, enum ir_op op, ir_operand a, ir_operand b) {
    const ir_operand dst = ir_value(&t->ir, IR_MASK);
    ir_add(&t->ir, (struct ir_instruction){.op = (uint8_t)op, .dst = dst, .a = a, .b = b});
    return dst;
}

static inline ir_operand mask_constant(struct translator *t, unsigned bits) {
    const ir_operand dst = ir_value(&t->ir, IR_MASK);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_MASK_CONSTANT, .dst = dst, .at = bits});
    return dst;
}

#endif
