/*
 * Results of instructions that are NaN or infinite.
 */
#ifndef G4_NOT_FINITE_H
#define G4_NOT_FINITE_H

#include <stdbool.h>
#include <stdint.h>

#include "eu/gang.h"
#include "eu/op.h"

/* Whether an instruction stores floats in registers that it names: results of comparisons are bits, also with a float
 * as their type, and messages other than math have responses of any type. */
bool g4_computes_float(const struct g4_op *op);
/* The byte of the register file where channel c of a pass has its result. */
unsigned g4_float_place(const struct g4_op *op, int pass, unsigned c);
/* The result of channel c of a pass, after the instruction.  False: the thread does not own the register. */
bool g4_float_result(struct g4_gang *gang, const struct g4_op *op, int t, int pass, unsigned c, uint64_t *bits);

static inline bool g4_is_finite(uint64_t bits, unsigned type) {
    return type == G4_TYPE_DF ? (bits & UINT64_C(0x7ff0000000000000)) != UINT64_C(0x7ff0000000000000)
                              : (bits & 0x7f800000u) != 0x7f800000u;
}

/* Of a value that is not finite. */
static inline bool g4_is_infinite(uint64_t bits, unsigned type) {
    return (bits & (type == G4_TYPE_DF ? UINT64_C(0x000fffffffffffff) : 0x007fffffu)) == 0;
}

#endif
