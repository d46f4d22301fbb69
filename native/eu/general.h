/*
 * Between the parts of the general handler: what one pass of one thread works on.
 */
#ifndef G4_EU_GENERAL_H
#define G4_EU_GENERAL_H

#include <math.h>

#include "eu/run.h"

/* A channel's value: `f` when the arithmetic is floating point, else `i`; `raw` has the bits a source had. */
struct g4_value {
    double f;
    int64_t i;
    uint32_t raw;
};

struct g4_operands {
    struct g4_value a[G4_PASS_CHANNELS], b[G4_PASS_CHANNELS];
    struct g4_value v[G4_PASS_CHANNELS]; /* pln: the second coordinate */
    double plane[4];                     /* line, pln: the 16-byte group of src0 */
    struct g4_value result[G4_PASS_CHANNELS];
    bool raw[G4_PASS_CHANNELS]; /* store the source's bits as they are */
};

struct g4_pass {
    struct g4_run *run;
    int thread;
    int index; /* 1: second pass of a compressed instruction */
    unsigned channels;
    unsigned first_flag; /* of the 32 flag bits, channel 0's */
    uint32_t enabled;    /* channels that are stored and set flags */
    uint32_t predicate;
    int acc;
    bool alternate;
};

/* Compute result[] of all channels from a, b and the accumulator (compute.c). */
void g4_compute(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o);
/* A product of two dwords, of which the accumulator gets another one than a register. */
bool g4_is_partial_product(const struct g4_op *op);
int64_t g4_partial_product(int64_t a, int64_t b);
void g4_move_indexed(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o);

/* The low bits of a value, as its type has them. */
static inline int64_t g4_truncate(int64_t value, unsigned type) {
    switch (type) {
    case G4_TYPE_D:
        return (int32_t)value;
    case G4_TYPE_UW:
        return (uint16_t)value;
    case G4_TYPE_W:
        return (int16_t)value;
    case G4_TYPE_UB:
        return (uint8_t)value;
    case G4_TYPE_B:
        return (int8_t)value;
    default:
        return (uint32_t)value;
    }
}

#endif
