/*
 * Fast handlers: the forms of instructions that compilers emit, for all threads of a gang at once.
 *
 * Names end with the shapes of the operands: P lanes in memory (a whole register in place, or gathered elements), S one
 * dword of each thread, I an immediate, Q four channels of each thread, L such channels of 64-bit integers.
 */
#ifndef G4_EU_FAST_H
#define G4_EU_FAST_H

#include "eu/run.h"

enum g4_fast_load {
    G4_LOAD_PACKED, /* a whole register, in place */
    G4_LOAD_SCALAR, /* one dword of each thread */
    G4_LOAD_IMM,
    G4_LOAD_PERMUTE,  /* any dwords of one register */
    G4_LOAD_NARROW,   /* any words or bytes of one register */
    G4_LOAD_WORDS,    /* eight contiguous words */
    G4_LOAD_GATHER,   /* any elements of direct regions */
    G4_LOAD_A0,       /* one address register */
    G4_LOAD_INDIRECT, /* contiguous dwords at an address */
    G4_LOAD_READ,     /* read by the general handler */
};

enum g4_fast_store {
    G4_STORE_NULL,
    G4_STORE_PACKED,   /* a whole register, in place */
    G4_STORE_SCATTER4, /* direct destinations, by element size */
    G4_STORE_SCATTER2,
    G4_STORE_SCATTER1,
    G4_STORE_WORDS,    /* eight contiguous words */
    G4_STORE_A0,       /* one address register */
    G4_STORE_INDIRECT, /* contiguous dwords at an address */
    G4_STORE_WRITE,    /* written by the general handler */
};

enum g4_fast_convert {
    G4_CONVERT_NONE,
    G4_CONVERT_TO_FLOAT,
    G4_CONVERT_UD_TO_FLOAT,
    G4_CONVERT_TO_UD, /* floats to integers, clamped */
    G4_CONVERT_TO_D,
    G4_CONVERT_TO_UW,
    G4_CONVERT_TO_W,
    G4_CONVERT_TO_UB,
    G4_CONVERT_TO_B,
    G4_CONVERT_CLAMP_UD, /* dwords to narrower integers, clamped */
    G4_CONVERT_CLAMP_UW,
    G4_CONVERT_CLAMP_W,
    G4_CONVERT_CLAMP_UB,
    G4_CONVERT_CLAMP_B,
};

/* The six handlers of an operation with two operands. */
#define G4_FAST_SHAPES(X, name) X(name##_PP) X(name##_PS) X(name##_PI) X(name##_SP) X(name##_SS) X(name##_SI)

/* The three handlers of an operation on floats in place, without modifiers. */
#define G4_FAST_DIRECT(X, name) X(name##_DIRECT_PP) X(name##_DIRECT_PS) X(name##_DIRECT_PI)

#define G4_FAST_FLOAT(X)                                                                                               \
    G4_FAST_SHAPES(X, ADDF)                                                                                            \
    G4_FAST_SHAPES(X, MULF)                                                                                            \
    G4_FAST_SHAPES(X, CMPF)                                                                                            \
    G4_FAST_DIRECT(X, ADDF)                                                                                            \
    G4_FAST_DIRECT(X, SUBF)                                                                                            \
    G4_FAST_DIRECT(X, RSUBF)                                                                                           \
    G4_FAST_DIRECT(X, MULF)                                                                                            \
    G4_FAST_DIRECT(X, MULNF)                                                                                           \
    X(CMPN_P)                                                                                                          \
    X(MOVF_P)                                                                                                          \
    X(SELF_P)                                                                                                          \
    X(SELCF_COPY)                                                                                                      \
    X(SELCF_P)                                                                                                         \
    X(SELF_MIXED)                                                                                                      \
    X(SELCF_MIXED)                                                                                                     \
    X(FRACTION_P)                                                                                                      \
    X(ROUND_EVEN_P)                                                                                                    \
    X(TRUNCATE_P)                                                                                                      \
    X(MATH_P)                                                                                                          \
    X(FRC_P)                                                                                                           \
    X(RNDD_P)                                                                                                          \
    X(RNDU_P) X(RNDE_R) X(RNDZ_R)

#define G4_FAST_INT(X)                                                                                                 \
    G4_FAST_SHAPES(X, ADD)                                                                                             \
    G4_FAST_SHAPES(X, MUL)                                                                                             \
    G4_FAST_SHAPES(X, AND)                                                                                             \
    G4_FAST_SHAPES(X, OR)                                                                                              \
    G4_FAST_SHAPES(X, XOR)                                                                                             \
    G4_FAST_SHAPES(X, SHL)                                                                                             \
    G4_FAST_SHAPES(X, SHR)                                                                                             \
    G4_FAST_SHAPES(X, ASR)                                                                                             \
    G4_FAST_SHAPES(X, SEL)                                                                                             \
    G4_FAST_SHAPES(X, CMP)                                                                                             \
    X(MOV_P)                                                                                                           \
    X(MOV_S)                                                                                                           \
    X(MOV_I)                                                                                                           \
    X(NOT_P)                                                                                                           \
    X(AVG_P)                                                                                                           \
    X(ADDW_P)                                                                                                          \
    X(MULD_P)                                                                                                          \
    X(DIVIDE_P)                                                                                                        \
    X(SELC_P)                                                                                                          \
    X(IPADD)

#define G4_FAST_DOUBLE(X)                                                                                              \
    X(PLN)                                                                                                             \
    X(LINE)                                                                                                            \
    X(MAC_P)                                                                                                           \
    X(MAD_P)                                                                                                           \
    X(LRP_P)                                                                                                           \
    X(ADDA_P)                                                                                                          \
    X(MULA_P)                                                                                                          \
    X(DP4_P)                                                                                                           \
    X(DPH_P)                                                                                                           \
    X(DP3_P)                                                                                                           \
    X(DP2_P)

#define G4_FAST_QUAD(X)                                                                                                \
    X(ADD_Q)                                                                                                           \
    X(MUL_Q)                                                                                                           \
    X(MAD_Q)                                                                                                           \
    X(MOV_Q)                                                                                                           \
    X(COPY_64)                                                                                                         \
    X(COPY_32)                                                                                                         \
    X(CMP_Q)                                                                                                           \
    X(SEL_Q)                                                                                                           \
    X(MOV_L)                                                                                                           \
    X(NOT_L)                                                                                                           \
    X(ADD_L)                                                                                                           \
    X(MUL_L)                                                                                                           \
    X(AND_L)                                                                                                           \
    X(OR_L)                                                                                                            \
    X(XOR_L)                                                                                                           \
    X(SHL_L)                                                                                                           \
    X(SHR_L)                                                                                                           \
    X(ASR_L)                                                                                                           \
    X(CMP_L)                                                                                                           \
    X(SEL_L)

#define G4_FAST_ENUM(name) G4_FAST_##name,
enum g4_fast_float {
    G4_FAST_FLOAT(G4_FAST_ENUM) G4_FAST_FLOATS
};
enum g4_fast_int {
    G4_FAST_INT(G4_FAST_ENUM) G4_FAST_INTS
};
enum g4_fast_double {
    G4_FAST_DOUBLE(G4_FAST_ENUM) G4_FAST_DOUBLES
};
enum g4_fast_quad {
    G4_FAST_QUAD(G4_FAST_ENUM) G4_FAST_QUADS
};

enum {
    G4_FAST_ROOM = 128
}; /* capacity of a table of handlers */

/* Tables of handlers; g4_op.handler is table * 256 + index. */
enum g4_table {
    G4_TABLE_COMMON, /* enum g4_handler */
    G4_TABLE_FLOAT,
    G4_TABLE_INT,
    G4_TABLE_DOUBLE,
    G4_TABLE_QUAD, /* four channels of each thread (quad.c) */
    G4_TABLES,
};

struct g4_fast_handlers {
    g4_handler_fn *handler[G4_FAST_ROOM];
};

/* Whether a handler works on registers of lanes, and op->in and op->out describe them. */
static inline bool g4_has_lanes(const struct g4_op *op) {
    const unsigned table = op->handler >> 8;
    return table != G4_TABLE_COMMON && table != G4_TABLE_QUAD;
}

/* Choose the handler of a decoded instruction, and prepare its operands for it (table.c).  Returns NULL, or why the
 * general handler stays. */
const char *g4_fast_select(struct g4_op *op, const struct g4_quirks *quirks);

#endif
