/*
 * Sources and results of single instructions, in the intermediate form.
 */
#ifndef G4_EU_JIT_OPERANDS_H
#define G4_EU_JIT_OPERANDS_H

#include "eu/jit/translator.h"

enum {
    ALL_DWORDS = 0xff, /* of a row and thread, as bits */
};

/* ---- constants ---- */

/* One dword for all lanes. */
ir_operand g4_uniform(struct translator *t, uint32_t value);
/* A dword by channel; `step` is added in the second thread. */
ir_operand g4_by_channel(struct translator *t, const int32_t channel[8], int32_t step);

static inline bool g4_has_three_sources(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MAD || op->opcode == G4_OPCODE_LRP;
}

/* ---- lanes ---- */

static inline unsigned half_of(const struct g4_op *op, int part) {
    return (unsigned)(op->half + part);
}

/* The number of the part among parts of eight channels. */
static inline unsigned eight_of(const struct g4_op *op, int part) {
    return (half_of(op, part) & 1) + (op->upper ? 2 : 0);
}

/* The channels that an instruction writes, by lane of two threads. */
static inline unsigned pattern(const struct g4_op *op) {
    return (unsigned)(op->written & 0xffff);
}

/* The lanes that an instruction may use before predication. */
static inline enum lanes widest(const struct g4_op *op, int part) {
    static const uint8_t lanes[] = {LANES_EXEC_0, LANES_EXEC_1, LANES_EXEC_2, LANES_EXEC_3};
    return op->nomask ? LANES_GROUP : (enum lanes)lanes[eight_of(op, part)];
}

/* A mask of the enabled lanes of a part; `gate`: that pass the predicate. */
ir_operand g4_op_lanes(struct translator *t, const struct g4_op *op, int part, bool gate);

/* ---- sources ---- */

bool g4_can_load(const struct g4_fast_src *in);
/* Modifiers of integers: a negation, or the bias of unsigned comparisons. */
bool g4_is_negated(const struct g4_fast_src *in);
bool g4_is_biased(const struct g4_fast_src *in);
static inline bool g4_is_finite(uint32_t bits) {
    return (bits & 0x7fffffff) < 0x7f800000;
}
bool g4_is_finite_immediate(const struct g4_fast_src *in);

/* The elements of a part without modifiers. */
ir_operand g4_raw_source(struct translator *t, const struct g4_op *op, int s, int part);
/* Where the lanes of a source without special values are recorded; NULL: they are not. */
uint8_t *g4_source_numbers(struct translator *t, const struct g4_op *op, int s, int part);
/* A source of integer arithmetic, without the bias. */
ir_operand g4_int_source(struct translator *t, const struct g4_op *op, int s, int part);
/* A source of integer arithmetic, or its value if it is an immediate. */
ir_operand g4_int_operand(struct translator *t, const struct g4_op *op, int s, int part);
ir_operand g4_negated(struct translator *t, const struct g4_fast_src *in, ir_operand value);
/* A source of float arithmetic; `check`: fail if it is special. */
ir_operand g4_float_source(struct translator *t, const struct g4_op *op, int s, int part, bool check);
ir_operand g4_float_operand(struct translator *t, const struct g4_op *op, int s, int part, bool check);

/* Whether a source of a part, where it is used, is known not to be special. */
bool g4_is_known_number(struct translator *t, const struct g4_op *op, int s, int part);
/* Whether all sources of a part are known not to be. */
bool g4_are_numbers(struct translator *t, const struct g4_op *op, int part);

/* Permute the dwords of each thread. */
ir_operand g4_permuted(struct translator *t, ir_operand from, const int32_t dword[8]);

/* ---- results ---- */

bool g4_can_store(const struct g4_op *op);
unsigned g4_row_of(const struct g4_op *op, int part);
/* The lanes of that row that a part may change.  Words, and dwords that are not stored from the start of a register,
 * change lanes other than those that execute. */
enum lanes g4_written_lanes(const struct g4_op *op, int part);
/* Whether an instruction writes all of its lanes before predication. */
bool g4_writes_row(const struct g4_op *op);

/* Shift lanes up within their threads, and the mask with them. */
ir_operand g4_shifted(struct translator *t, ir_operand value, unsigned shift);
ir_operand g4_shifted_mask(struct translator *t, ir_operand mask, unsigned shift);

/* a op b, finished as a float result. */
void g4_float_binary(struct translator *t, const struct g4_op *op, int part, enum ir_op operation, ir_operand a,
                     ir_operand b);
/* a * b + c, finished likewise. */
void g4_float_ternary(struct translator *t, const struct g4_op *op, int part, ir_operand a, ir_operand b, ir_operand c);
/* a op b, finished as an integer result. */
void g4_int_binary(struct translator *t, const struct g4_op *op, int part, enum ir_op operation, ir_operand a,
                   ir_operand b);
/* Finish a float result: saturation, flags, conversion, store.  `mask` is that of the lanes that are computed. */
void g4_finish_float(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand value);
void g4_finish_int(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand value,
                   uint8_t numbers);
/* Finish a comparison. */
void g4_finish_truth(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand bits);
ir_operand g4_compare(struct translator *t, enum ir_op op, unsigned condition, ir_operand a, ir_operand b,
                      ir_operand mask);
/* The condition of a modifier. */
enum ir_condition g4_condition(unsigned cond);

#endif
