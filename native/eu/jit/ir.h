/*
 * The intermediate form between decoded instructions and machine code.
 *
 * An operation works on values: vectors of 32-bit lanes, and masks with one bit for each lane.  A vector holds the
 * eight channels of each thread of a unit; how many threads that is, one or two, is known to the back end.  Doubles
 * take two values, the low and the high half of the lanes.  A value may be assigned more than once.
 *
 * lower*.c and loops.c write the form, allocate.c assigns host registers to values, emit_*.c are the back ends.
 */
#ifndef G4_EU_JIT_IR_H
#define G4_EU_JIT_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value, a constant, or nothing. */
typedef uint16_t ir_operand;

enum {
    IR_NONE = 0, /* as a mask: all lanes */
    IR_IS_CONSTANT = 0x8000,
    IR_LANES = 16, /* maximum of a unit */
};

enum ir_op {
    IR_MOVE,     /* dst = a */
    IR_CONSTANT, /* dst = b */

    /* memory */
    IR_LOAD,         /* dst = the row at `at` */
    IR_STORE,        /* the row at `at` = a, in the lanes of the mask */
    IR_LOAD_ELEMENT, /* dst = the dword at `at` of each thread, in all of its lanes */
    IR_WIDEN_ROW,    /* dst = eight doubles in memory: the dwords of thread imm of the unit in the row at `at` */
    IR_LOAD_SUM,     /* dst = half imm of accumulator `at` */
    IR_STORE_SUM,

    /* floats: dst = a op b */
    IR_ADDPS,
    IR_SUBPS,
    IR_MULPS,
    IR_MINPS,
    IR_MAXPS,
    IR_MULADD, /* dst = a * b + c, rounded once */
    IR_ROUND,  /* imm: enum ir_round */
    IR_FROM_D,
    IR_FROM_UD,
    IR_TO_D, /* toward zero; raises `invalid` out of range */

    /* integers and bits */
    IR_AND,
    IR_OR,
    IR_XOR,
    IR_ADD,
    IR_SUB,
    IR_MUL,
    IR_SHL,
    IR_SHR,
    IR_ASR,
    IR_SHR_BY, /* by imm */
    IR_ASR_BY,
    IR_LARGEST, /* dst = the larger of dst and a & b, which has no sign, in the lanes of the mask */

    /* lanes */
    IR_BLEND,       /* dst = mask ? b : a */
    IR_PERMUTE,     /* dword b[c] of each thread in lane c */
    IR_WORDS,       /* in lane c, two words of each thread: b[c] has their numbers.  Only if the back end can */
    IR_SPREAD,      /* dword imm of each thread in all of its lanes */
    IR_FOUR,        /* channels 0 and 4 in their groups of four */
    IR_STORE_WORDS, /* the low words of a to half imm of the row dst, in the lanes of the mask */

    /* doubles; imm: half */
    IR_WIDEN,  /* dst = half of a */
    IR_NARROW, /* dst = halves a and b */
    IR_ADDPD,
    IR_MULPD,
    IR_MULADDPD, /* dst = a * b + c, rounded once */
    /* with element imm of b, which is an IR_WIDEN_ROW */
    IR_ADDPD_ELEMENT,
    IR_MULPD_ELEMENT,
    IR_MULADDPD_ELEMENT, /* c is dst */
    IR_FOUR_PD,          /* element imm of each group of four */
    IR_MOVE_SUM,         /* dst = a in the lanes of the mask; imm: half */

    /* rounded to nearest, whatever the mode is */
    IR_INVERSE,
    IR_ROOT,
    IR_INVERSE_ROOT,

    /* masks */
    IR_COMPARE_F, /* dst = a imm b: enum ir_condition */
    IR_COMPARE_D,
    IR_COMPARE_UD,
    IR_MASK_ROW,   /* dst = all bits in the lanes of mask a, else 0 */
    IR_LOAD_EXEC,  /* dst = half imm of the enabled lanes */
    IR_LOAD_GROUP, /* dst = lanes of all threads of the group */
    IR_LOAD_FLAG,  /* dst = flags at `at` */
    IR_STORE_FLAG,
    IR_MASK_CONSTANT, /* dst = bits `at` in each thread */
    IR_MASK_MOVE,
    IR_MASK_AND,
    IR_MASK_AND_NOT, /* b without a */
    IR_MASK_OR,
    IR_MASK_BLEND,   /* dst = mask ? b : a; b has no lanes outside of the mask */
    IR_MASK_UP,      /* lane c moves to lane c + imm of its thread */
    IR_MASK_FIRST,   /* all lanes of the threads whose lane 0 is in a */
    IR_MASK_THREAD,  /* all lanes of the threads that have a lane in a */
    IR_MASK_SPECIAL, /* the lanes whose magnitude a is that of a NaN, or in ALT mode of an infinity */

    /* control flow */
    IR_LABEL,          /* label `at` */
    IR_JUMP,           /* to label `at` */
    IR_JUMP_IF_NONE,   /* neither mask a nor b has a lane */
    IR_JUMP_IF_ANY,    /* mask a has a lane */
    IR_JUMP_IF_RAISED, /* `invalid` or `overflow` is raised */
    IR_JUMP_IF_SLOPED, /* to label imm, unless the plane equation at `at` is its constant where coordinates are finite
                        */
    IR_BEGIN_TURNS,    /* of the loops of a region */
    IR_TURN,           /* to label `at`, unless this was the last permitted iteration */
    IR_COUNT_THREADS,  /* the counter = the number of threads with lanes in a or b */
    IR_ADD_COUNT,      /* count `at` of the scratch memory += the counter */
    IR_BEGIN_UNITS,    /* of a basic block: what follows executes one unit */
    IR_NEXT_UNIT,      /* or return the bits of failed units; imm: all have failed if an exception is raised */
    IR_FAIL_UNIT,      /* continue at label `at`; imm: exceptions stay raised */
    IR_RETURN,         /* `at` */
    IR_NOTHING,        /* was removed */
    IR_OPS,
};

enum ir_round {
    IR_ROUND_DOWN,
    IR_ROUND_UP,
    IR_ROUND_NEAREST,
    IR_ROUND_ZERO,
};

enum ir_condition {
    IR_EQUAL,
    IR_NOT_EQUAL,
    IR_GREATER,
    IR_GREATER_EQUAL,
    IR_LESS,
    IR_LESS_EQUAL,
};

/* An operation.  Lanes outside of the mask are undefined in dst, or unchanged if `keep` is set.  The back end
 * suppresses exceptions in these lanes if it can. */
struct ir_instruction {
    uint8_t op;
    uint8_t imm;
    bool keep;
    ir_operand dst, a, b, c, mask;
    uint32_t at;
};

enum ir_class {
    IR_VECTOR,
    IR_MASK
};

/* A value, and where it is. */
struct ir_value {
    uint8_t class; /* enum ir_class */
    bool used;
    bool variable;     /* assigned more than once */
    bool flushed;      /* a float that is only denormal if the host keeps denormals */
    uint32_t reads;    /* by other operations than those that assign it */
    bool carried;      /* from one turn of a loop to the next */
    uint8_t lanes;     /* that are read, or that a mask can have (lanes.c) */
    bool loaded;       /* a mask that has all of these lanes */
    uint32_t assigned; /* index of the last instruction that assigns it (lanes.c) */
    uint16_t same;     /* the value that stands for this one; IR_NONE: itself */
    bool crosses;      /* used in several runs (ir_run_end()) */
    bool is_row;       /* eight doubles, always in memory */
    bool in_memory;    /* spilled */
    uint8_t place;     /* register, or slot in memory */
    uint8_t second;    /* register of the second thread, if operations are emitted by thread */
    uint32_t weight;   /* uses, each multiplied by the turns its loop is expected to make */
    uint32_t from, to; /* live range: twice the index of an instruction, plus 1 for what it writes */
};

struct ir_constant {
    int32_t lane[IR_LANES];
    bool uniform;
};

/* The instructions [begin, end) jump back to `begin`. */
struct ir_loop {
    uint32_t begin, end;
};

enum {
    IR_MAX_LOOPS = 64,
    IR_MAX_LABELS = 256,
    IR_MAX_INSTRUCTIONS = 1 << 15,
};

struct ir {
    struct ir_instruction *instructions;
    uint32_t count, instruction_capacity;
    struct ir_value *values; /* 0 is unused */
    uint32_t value_count, value_capacity;
    struct ir_constant *constants;
    uint32_t constant_count, constant_capacity;
    struct ir_loop loops[IR_MAX_LOOPS];
    uint32_t loop_count, label_count;
    uint32_t weight; /* of the instructions that are added */
    bool failed;     /* no memory, or too large */
};

/* Begin an empty piece of code; memory is kept. */
void ir_clear(struct ir *ir);
void ir_free(struct ir *ir);
void ir_add(struct ir *ir, struct ir_instruction instruction);
ir_operand ir_value(struct ir *ir, enum ir_class class);
ir_operand ir_variable(struct ir *ir, enum ir_class class);
/* The result of an IR_WIDEN_ROW. */
ir_operand ir_row(struct ir *ir);
ir_operand ir_constant(struct ir *ir, const struct ir_constant *constant);
uint32_t ir_label(struct ir *ir);
/* The instructions from an index on form a loop. */
void ir_end_loop(struct ir *ir, uint32_t begin);

static inline bool ir_is_constant(ir_operand operand) {
    return operand & IR_IS_CONSTANT;
}

static inline bool ir_is_value(ir_operand operand) {
    return operand != IR_NONE && !ir_is_constant(operand);
}

static inline bool ir_is_variable(const struct ir *ir, ir_operand value) {
    return !ir->failed && ir->values[value].variable;
}

/* Of a basic block: remove blends with lanes that are not read, and copies. */
void ir_remove_blends(struct ir *ir);

/* Whether the turns of a loop wait longer for results of the turn before than their operations take. */
bool ir_waits(const struct ir *ir);

/* Remove operations whose results are not used. */
void ir_remove_unused(struct ir *ir);

static inline bool ir_is_flow(enum ir_op op) {
    return op >= IR_LABEL && op != IR_NOTHING;
}

static inline bool ir_is_flushed(const struct ir *ir, ir_operand operand) {
    return !ir->failed && ir_is_value(operand) && ir->values[operand].flushed;
}

static inline bool ir_is_commutative(enum ir_op op) {
    return op == IR_ADDPS || op == IR_MULPS || op == IR_AND || op == IR_OR || op == IR_XOR || op == IR_ADD ||
           op == IR_MUL || op == IR_ADDPD || op == IR_MULPD || op == IR_MASK_AND || op == IR_MASK_OR;
}

/*
 * A back end whose registers hold one thread emits a run of operations for the first thread of a unit, then for the
 * second one.  A value that is only used in one run can have the same register in both threads.
 */

/* The end of the run that begins at an instruction. */
uint32_t ir_run_end(const struct ir *ir, uint32_t begin);

/* How many registers of a class may hold values. */
struct ir_registers {
    uint8_t vectors, masks;
    uint8_t first_mask;  /* number of the first mask register */
    uint8_t short_lived; /* vector registers that no carried value gets */
    bool shared;         /* masks are held in vector registers */
    bool by_thread;      /* a register holds one of two threads */
    uint8_t slots;       /* in memory */
};

/* Assign registers and memory to values; false: there are too many. */
bool ir_allocate(struct ir *ir, const struct ir_registers *registers);

#endif
