/*
 * From the intermediate form to machine code: what the back ends have in common.
 *
 * The code of a basic block executes all units of a gang, the code of a loop or branch one unit.
 */
#ifndef G4_EU_JIT_EMIT_H
#define G4_EU_JIT_EMIT_H

#include "eu/jit/ir.h"
#include "eu/jit/jit.h"
#include "eu/jit/x86_emit.h"

/* General registers.  The first five are the arguments of g4_jit_fn. */
#define ROWS_REG      X86_RDI /* first row of the unit */
#define EXEC_REG      X86_RSI /* masks of the unit in g4_run */
#define GANG_REG      X86_RDX /* offset as the masks of the unit are */
#define CONSTANTS_REG X86_RCX
#define SCRATCH_REG   X86_R8 /* struct g4_jit_scratch */
#define COUNTER_REG   X86_R9 /* executing threads; in a basic block, bits of failed units */
#define TEMP_REG      X86_R10
#define TURN_REG      X86_R11 /* executed iterations; in a basic block, the bit of the unit */
#define SUMS_REG      X86_RBX /* accumulators of the unit, if the block uses them */

struct emitter;

struct backend {
    const char *name;
    unsigned threads; /* of a unit */
    bool merges;      /* operations can keep lanes of their destination at no cost */
    bool has_words;   /* IR_WORDS */
    bool roots_raise; /* exceptions; else roots raise none */
    struct ir_registers registers;
    /* Emit an operation that is not control flow. */
    void (*emit)(struct emitter *e, const struct ir_instruction *ins);
    /* Set the zero flag if neither mask has a lane. */
    void (*test_masks)(struct emitter *e, ir_operand a, ir_operand b);
    /* Set the zero flag if no thread of the unit is in the group. */
    void (*test_group)(struct emitter *e);
    /* COUNTER_REG = the number of threads with lanes in either mask; NULL: a unit is one thread. */
    void (*count_threads)(struct emitter *e, ir_operand a, ir_operand b);
};

extern const struct backend g4_backend_avx512;
extern const struct backend g4_backend_avx2;
extern const struct backend g4_backend_avx2_waiting; /* of loops that wait (ir_waits()) */

enum {
    MAX_JUMPS = 1024
};

struct emitter {
    const struct backend *backend;
    const struct ir *ir;
    struct g4_code *code;
    struct g4_code *constants;
    uint32_t fpenv;  /* MXCSR of the kernel, without exceptions */
    bool sums;       /* the block uses accumulators */
    uint32_t thread; /* of the unit, for which a back end emits, if it does so for one after the other */
    size_t labels[IR_MAX_LABELS];
    struct {
        size_t jump;
        uint32_t label;
    } jumps[MAX_JUMPS];
    uint32_t jump_count;
    size_t units_top, no_threads;
};

/* The offset of a constant in `constants`, which is added unless it exists.  The first ones are the limits of numbers
 * (jit.h). */
size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size);

/* Allocate registers and emit the code; false: too large. */
bool g4_emit(struct emitter *e, struct ir *ir);

/* ---- operands, for the back ends ---- */

static inline struct x86_rm slot_in_memory(const struct emitter *e, const struct ir_value *value) {
    return x86_rm_at(SCRATCH_REG, offsetof(struct g4_jit_scratch, rows) + value->place * (size_t)G4_JIT_SLOT_BYTES +
                                      e->thread * G4_REGISTER_BYTES);
}

static inline unsigned register_of(const struct emitter *e, const struct ir_value *value) {
    return e->thread ? value->second : value->place;
}

static inline const struct ir_value *value_of(const struct emitter *e, ir_operand operand) {
    return &e->ir->values[operand];
}

/* The register of a value that is assigned: its own, or `temp` if it is in memory. */
static inline unsigned target_of(const struct emitter *e, ir_operand operand, unsigned temp) {
    const struct ir_value *const value = value_of(e, operand);
    return value->in_memory ? temp : register_of(e, value);
}

/* The immediate of X86_ROUND. */
static inline int x86_rounding(unsigned rounding) {
    static const uint8_t immediate[] = {[IR_ROUND_DOWN] = X86_ROUND_DOWN,
                                        [IR_ROUND_UP] = X86_ROUND_UP,
                                        [IR_ROUND_NEAREST] = X86_ROUND_NEAREST,
                                        [IR_ROUND_ZERO] = X86_ROUND_ZERO};
    return immediate[rounding];
}

/* The instruction of an operation with an element of a row of doubles. */
static inline enum x86_form element_form(unsigned op) {
    return op == IR_ADDPD_ELEMENT ? X86_ADDPD : op == IR_MULPD_ELEMENT ? X86_MULPD : X86_MULADDPD_231;
}

/* Whether MXCSR rounds to nearest while the code runs. */
static inline bool rounds_to_nearest(const struct emitter *e) {
    return (e->fpenv & X86_MXCSR_ROUNDING) == 0;
}

/* The operation with its operands in the order in which the second one may be in memory. */
static inline struct ir_instruction in_register_first(const struct emitter *e, const struct ir_instruction *ins) {
    struct ir_instruction ordered = *ins;
    if (ir_is_commutative(ins->op) && ir_is_value(ins->b) && value_of(e, ins->a)->in_memory) {
        ordered.a = ins->b;
        ordered.b = ins->a;
    }
    return ordered;
}

#endif
