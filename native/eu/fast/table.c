/*
 * Which fast handler executes an instruction: a table, and the matcher that searches it.
 *
 * An instruction gets a fast handler only if it then gives the bits of the general handler.  The rows of an opcode are
 * tried in order and the first one that fits decides; a row with a reason instead of a handler keeps the general one.
 */
#include "eu/fast/fast.h"
#include "eu/fast/prepare.h"

/* ---- facts about an instruction ---- */

enum fact {
    TO_FLOAT = 1 << 0,    /* the destination has type F */
    ACCUMULATES = 1 << 1, /* the implicit accumulator write is read later */
    ROUNDS = 1 << 2,      /* condition modifier .r */
    READS_UD = 1 << 3,    /* any source has type UD */
    UD_0 = 1 << 4,        /* src0 has type UD */
    NARROW = 1 << 5,      /* all sources are words or bytes */
    DWORDS = 1 << 6,      /* both sources are dwords */
    UW_TWICE = 1 << 7,    /* both sources have type UW */
    COPY_0 = 1 << 8,      /* src0 could be stored as it is: the type of dst, no modifier, no saturation */
    COPY_1 = 1 << 9,      /* so could src1 */
    COPY_BOTH = COPY_0 | COPY_1,
    TUPLES = 1 << 10,      /* a multiple of four channels */
    PLANE = 1 << 11,       /* src0 of line and pln is one float of each thread */
    COORDINATES = 1 << 12, /* src1 of pln is two whole registers of floats */
    IN_PLACE = 1 << 13,    /* floats without |x|, read and stored in place, one of them in lanes; no flags */
    NEGATES_0 = 1 << 14,   /* - on the source in lanes (the first one, if both are) */
    NEGATES_1 = 1 << 15,   /* - on the other source */
    NEGATES_BOTH = NEGATES_0 | NEGATES_1,
    UNSIGNED_CLAMP = 1 << 16, /* saturates to UD */
    CONVERTS_FIRST = 1 << 17, /* quirk: cmp_converts_to_destination_type */
    WHOLE = 1 << 18,          /* all bits of two dwords are multiplied */
};

/* The part of a handler's number that follows from the shapes of operands, in the order of fast.h. */
enum by_shape {
    ANY_SHAPE,
    BY_SRC0,   /* P S I */
    BY_BOTH,   /* PP PS PI SP SS SI; an immediate src0 is spread to lanes */
    BY_SECOND, /* PP PS PI, after exchanging the sources if src0 has no lanes */
};

/* Accepts the destination, saturation and condition modifier of an instruction, and prepares the conversion of the
 * result. */
typedef bool result_fn(struct g4_op *op, const struct g4_quirks *quirks);

struct rule {
    uint8_t opcode;
    bool floats;       /* the arithmetic is in floats, else in integers */
    uint32_t when;     /* facts that must all be true */
    uint32_t unless;   /* facts that must all be false */
    result_fn *result; /* NULL in rows without a handler */
    enum by_shape shapes;
    uint16_t handler;   /* of the first shape */
    const char *reason; /* instead of a handler: why there is none */
};

enum operand_shape {
    SHAPE_P,
    SHAPE_S,
    SHAPE_I
};

static enum operand_shape shape_of(const struct g4_fast_src *in) {
    if (in->load == G4_LOAD_IMM) {
        for (int c = 1; c < 16; c++) {
            if (in->imm[c] != in->imm[0]) {
                return SHAPE_P;
            }
        }
        return SHAPE_I;
    }
    return in->load == G4_LOAD_SCALAR && in->convert == G4_CONVERT_NONE ? SHAPE_S : SHAPE_P;
}

/* ---- results ---- */

static bool is_float_condition(const struct g4_op *op) {
    return op->cond <= G4_COND_LE; /* none, or a comparison with zero */
}

/* A float: stored as it is, or converted to an integer. */
static bool float_value(struct g4_op *op, const struct g4_quirks *quirks) {
    static const uint8_t to[8] = {
        [G4_TYPE_UD] = G4_CONVERT_TO_UD, [G4_TYPE_D] = G4_CONVERT_TO_D,   [G4_TYPE_UW] = G4_CONVERT_TO_UW,
        [G4_TYPE_W] = G4_CONVERT_TO_W,   [G4_TYPE_UB] = G4_CONVERT_TO_UB, [G4_TYPE_B] = G4_CONVERT_TO_B,
    };
    (void)quirks;
    if (!is_float_condition(op) || (op->dst.type != G4_TYPE_F && op->saturate)) {
        return false;
    }
    if (op->dst.type != G4_TYPE_F && op->out.store != G4_STORE_NULL) {
        op->out.convert = to[op->dst.type & 7];
    }
    return true;
}

/* Whether a condition can test results in lanes of 32 bits, although the result may have lost bits. */
static bool tests_stored_dword(const struct g4_op *op) {
    return op->dst.type == G4_TYPE_D || (op->dst.type == G4_TYPE_UD && op->cond <= G4_COND_NZ);
}

/* An integer whose 32 bits are its true value: flags, saturation and conversion may look at all of them. */
static bool exact_value(struct g4_op *op, const struct g4_quirks *quirks) {
    static const uint8_t clamp[8] = {
        [G4_TYPE_UD] = G4_CONVERT_CLAMP_UD, [G4_TYPE_UW] = G4_CONVERT_CLAMP_UW, [G4_TYPE_W] = G4_CONVERT_CLAMP_W,
        [G4_TYPE_UB] = G4_CONVERT_CLAMP_UB, [G4_TYPE_B] = G4_CONVERT_CLAMP_B,
    };
    if (!is_float_condition(op) || (op->saturate && (op->dst.type == G4_TYPE_F || op->cond != G4_COND_NONE))) {
        return false;
    }
    if (quirks->conditions_test_stored_integers && op->cond != G4_COND_NONE && op->dst.type != G4_TYPE_F &&
        !tests_stored_dword(op)) {
        return false;
    }
    if (op->dst.type == G4_TYPE_F) {
        op->out.convert = G4_CONVERT_TO_FLOAT;
    } else if (op->saturate) {
        op->out.convert = clamp[op->dst.type & 7];
    }
    return true;
}

/* An integer of which only the low 32 bits are right. */
static bool low_bits(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    return op->cond == G4_COND_NONE && !op->saturate && op->dst.type != G4_TYPE_F;
}

/* Low bits that at most are compared with zero for equality. */
static bool low_bits_zero(struct g4_op *op, const struct g4_quirks *quirks) {
    const bool narrow = op->dst.size < 4 && quirks->conditions_test_stored_integers;
    return op->cond <= G4_COND_NZ && !op->saturate && op->dst.type != G4_TYPE_F &&
           !(narrow && op->cond != G4_COND_NONE);
}

/* Dwords, or without a condition anything that is compared with zero for equality. */
static bool dword_zero(struct g4_op *op, const struct g4_quirks *quirks) {
    return low_bits_zero(op, quirks) && (op->cond == G4_COND_NONE || op->dst.size == 4);
}

/* Low bits whose order is that of signed dwords. */
static bool dword_order(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    return is_float_condition(op) && !op->saturate && op->dst.type == G4_TYPE_D;
}

/* Low bits that a condition, if there is one, tests as they are stored. */
static bool stored_dword(struct g4_op *op, const struct g4_quirks *quirks) {
    return quirks->conditions_test_stored_integers && is_float_condition(op) && !op->saturate && tests_stored_dword(op);
}

/* Bits that are compared with zero as the destination stores them. */
static bool logic_bits(struct g4_op *op, const struct g4_quirks *quirks) {
    const bool equality = op->cond == G4_COND_Z || op->cond == G4_COND_NZ;
    const bool is_signed = op->dst.type == G4_TYPE_D || op->dst.type == G4_TYPE_F;
    (void)quirks;
    if (op->saturate || (op->dst.type == G4_TYPE_F && op->out.store != G4_STORE_NULL)) {
        return false;
    }
    return op->cond == G4_COND_NONE || (op->dst.size == 4 && is_float_condition(op) && (equality || is_signed));
}

/* An unsigned integer that becomes a float. */
static bool ud_as_float(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    op->out.convert = G4_CONVERT_UD_TO_FLOAT;
    return op->cond == G4_COND_NONE && !op->saturate;
}

static bool anything(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)op;
    (void)quirks;
    return true;
}

static bool unconditional(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    return op->cond == G4_COND_NONE;
}

/* Whether the operand needs no conversion: math does none (docs/decisions.md 237), the handlers of floats would. */
static bool is_math_operand(const struct g4_src *src) {
    return src->type == G4_TYPE_F || src->kind == G4_KIND_NULL;
}

/* Of floats, and not a quotient and a remainder in two registers. */
static bool one_float_result(struct g4_op *op, const struct g4_quirks *quirks) {
    return op->function != G4_MATH_FUNCTION_INT_DIV_BOTH && is_math_operand(&op->src[0]) &&
           is_math_operand(&op->src[1]) && unconditional(op, quirks);
}

static bool float_selected(struct g4_op *op, const struct g4_quirks *quirks) {
    return op->cond == G4_COND_NONE && float_value(op, quirks);
}

/* The truth of a comparison. */
static bool truth(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    return is_float_condition(op) && op->cond != G4_COND_NONE;
}

static bool is_ud(const struct g4_src *src) {
    return src->type == G4_TYPE_UD;
}

static bool is_never_negative(const struct g4_src *src) {
    if (src->negate || src->abs) {
        return false;
    }
    if (src->kind != G4_KIND_IMM) {
        return src->type == G4_TYPE_UW || src->type == G4_TYPE_UB;
    }
    for (int c = 0; c < 8; c++) {
        if (src->imm[c] >> 31) {
            return false;
        }
    }
    return true;
}

/* A UD that is not an immediate below 2^31: as a signed dword it would be another number. */
static bool is_large_ud(const struct g4_src *src) {
    return is_ud(src) && !(src->kind == G4_KIND_IMM && is_never_negative(src));
}

/* The truth of a comparison of integers: of dwords, signed or, with a bias of 2^31 on both sides, unsigned. */
static bool integer_truth(struct g4_op *op, const struct g4_quirks *quirks) {
    const struct g4_src *const a = &op->src[0];
    const struct g4_src *const b = &op->src[1];
    bool as_unsigned = false;

    if (!truth(op, quirks)) {
        return false;
    }
    if (quirks->cmp_converts_to_destination_type) { /* both become what the destination is */
        as_unsigned = op->dst.type == G4_TYPE_UD;
        if (!as_unsigned && op->dst.type != G4_TYPE_D &&
            (op->dst.type != a->type || op->dst.type != b->type || a->negate || b->negate)) {
            return false;
        }
    } else if (is_ud(a) || is_ud(b)) {
        as_unsigned = (is_ud(a) || is_never_negative(a)) && (is_ud(b) || is_never_negative(b));
        if (!as_unsigned && (is_large_ud(a) || is_large_ud(b))) {
            return false;
        }
    }
    if (as_unsigned) {
        if (op->in[0].invert || op->in[1].invert) { /* negated */
            return false;
        }
        op->in[0].invert = op->in[1].invert = INT32_MIN;
    }
    return true;
}

/* A float that a condition selects, the values being in lanes. */
static bool float_chosen(struct g4_op *op, const struct g4_quirks *quirks) {
    return truth(op, quirks) && float_value(op, quirks);
}

/* An integer that a condition selects, of numbers that compare as dwords, signed or unsigned. */
static bool integer_chosen(struct g4_op *op, const struct g4_quirks *quirks) {
    const struct g4_src *const a = &op->src[0];
    const struct g4_src *const b = &op->src[1];
    const bool large = is_large_ud(a) || is_large_ud(b);
    const bool as_unsigned = large && (is_ud(a) || is_never_negative(a)) && (is_ud(b) || is_never_negative(b));

    if (!truth(op, quirks) || op->saturate || op->dst.type == G4_TYPE_F || large != as_unsigned ||
        (large && (op->in[0].invert || op->in[1].invert))) {
        return false;
    }
    op->function = as_unsigned;
    return true;
}

/* One result of a division. */
static bool quotient(struct g4_op *op, const struct g4_quirks *quirks) {
    (void)quirks;
    return (op->function == G4_MATH_FUNCTION_INT_DIV_QUOTIENT || op->function == G4_MATH_FUNCTION_INT_DIV_REMAINDER) &&
           (op->dst.kind == G4_KIND_GRF || op->dst.kind == G4_KIND_NULL) &&
           (op->dst.type == G4_TYPE_D || op->dst.type == G4_TYPE_UD) && op->cond == G4_COND_NONE && !op->saturate;
}

/* ---- the table ---- */
/* FAST: the handler `name` of a table, if the result is accepted.  GENERAL: none, and why. */
#define FAST(opcode, domain, when, unless, result, shapes, table, name)                                                \
    {G4_OPCODE_##opcode, domain, when, unless, result, shapes, G4_TABLE_##table << 8 | G4_FAST_##name, NULL},
#define GENERAL(opcode, domain, when, reason) {G4_OPCODE_##opcode, domain, when, 0, NULL, ANY_SHAPE, 0, reason},

#define F true
#define I false

#define FLOAT_FLAGS "the condition or saturation is not one of floats stored as floats"
#define TRUE_VALUE  "lanes have the low bits only: flags, saturation or conversion would see another value"
#define ACC         "the accumulator takes a result that lanes do not have, or "

/* clang-format off */
static const struct rule rules[] = {
    /*   opcode, domain, all of,             none of,                result,         shapes,    handler */
    FAST(MOV,  F, TO_FLOAT | COPY_0,      0,                      unconditional,  BY_SRC0,   INT,    MOV_P)
    GENERAL(MOV, F, COPY_0, "the bits are copied, but a condition tests the flushed float")
    FAST(MOV,  F, 0,                      0,                      float_value,    ANY_SHAPE, FLOAT,  MOVF_P)
    GENERAL(MOV, F, 0, FLOAT_FLAGS)
    FAST(MOV,  I, UD_0,                   0,                      low_bits_zero,  BY_SRC0,   INT,    MOV_P)
    FAST(MOV,  I, UD_0 | TO_FLOAT,        0,                      ud_as_float,    BY_SRC0,   INT,    MOV_P)
    GENERAL(MOV, I, UD_0, "lanes are signed: flags and saturation would see negative numbers from 2^31 on")
    FAST(MOV,  I, 0,                      0,                      exact_value,    BY_SRC0,   INT,    MOV_P)
    GENERAL(MOV, I, 0, TRUE_VALUE)

    FAST(SEL,  F, TO_FLOAT | COPY_BOTH,   0,                      unconditional,  BY_BOTH,   INT,    SEL_PP)
    FAST(SEL,  F, TO_FLOAT | COPY_BOTH,   0,                      truth,          ANY_SHAPE, FLOAT,  SELCF_COPY)
    FAST(SEL,  F, 0,                      COPY_0 | COPY_1,        float_chosen,   ANY_SHAPE, FLOAT,  SELCF_P)
    FAST(SEL,  F, 0,                      COPY_0 | COPY_1,        float_selected, ANY_SHAPE, FLOAT,  SELF_P)
    FAST(SEL,  F, TO_FLOAT,               0,                      float_chosen,   ANY_SHAPE, FLOAT,  SELCF_MIXED)
    FAST(SEL,  F, TO_FLOAT,               0,                      float_selected, ANY_SHAPE, FLOAT,  SELF_MIXED)
    GENERAL(SEL, F, 0, "one source is copied as an integer, or the condition or saturation is not one of floats")
    FAST(SEL,  I, 0,                      0,                      low_bits,       BY_BOTH,   INT,    SEL_PP)
    FAST(SEL,  I, 0,                      0,                      integer_chosen, ANY_SHAPE, INT,    SELC_P)
    GENERAL(SEL, I, 0, "a condition selects, or the result is saturated or converted")

    FAST(ADD,  F, ACCUMULATES,            0,                      float_value,    ANY_SHAPE, DOUBLE, ADDA_P)
    GENERAL(ADD, F, ACCUMULATES, FLOAT_FLAGS)
    FAST(ADD,  F, IN_PLACE,               NEGATES_0 | NEGATES_1,  float_value,    BY_SECOND, FLOAT,  ADDF_DIRECT_PP)
    FAST(ADD,  F, IN_PLACE | NEGATES_0,   NEGATES_1,              float_value,    BY_SECOND, FLOAT,  RSUBF_DIRECT_PP)
    FAST(ADD,  F, IN_PLACE | NEGATES_1,   NEGATES_0,              float_value,    BY_SECOND, FLOAT,  SUBF_DIRECT_PP)
    FAST(ADD,  F, 0,                      0,                      float_value,    BY_BOTH,   FLOAT,  ADDF_PP)
    GENERAL(ADD, F, 0, FLOAT_FLAGS)
    FAST(ADD,  I, 0,                      ACCUMULATES,            low_bits,       BY_BOTH,   INT,    ADD_PP)
    FAST(ADD,  I, 0,                      ACCUMULATES,            stored_dword,   BY_BOTH,   INT,    ADD_PP)
    FAST(ADD,  I, NARROW,                 ACCUMULATES,            exact_value,    BY_BOTH,   INT,    ADD_PP)
    FAST(ADD,  I, 0, ACCUMULATES | READS_UD | TO_FLOAT | UNSIGNED_CLAMP,
         exact_value, ANY_SHAPE, INT, ADDW_P)
    GENERAL(ADD, I, 0, ACC TRUE_VALUE)

    FAST(MUL,  F, ACCUMULATES,            0,                      float_value,    ANY_SHAPE, DOUBLE, MULA_P)
    GENERAL(MUL, F, ACCUMULATES, FLOAT_FLAGS)
    FAST(MUL,  F, IN_PLACE,               NEGATES_0 | NEGATES_1,  float_value,    BY_SECOND, FLOAT,  MULF_DIRECT_PP)
    FAST(MUL,  F, IN_PLACE | NEGATES_BOTH,0,                      float_value,    BY_SECOND, FLOAT,  MULF_DIRECT_PP)
    FAST(MUL,  F, IN_PLACE,               0,                      float_value,    BY_SECOND, FLOAT,  MULNF_DIRECT_PP)
    FAST(MUL,  F, 0,                      0,                      float_value,    BY_BOTH,   FLOAT,  MULF_PP)
    GENERAL(MUL, F, 0, FLOAT_FLAGS)
    FAST(MUL,  I, WHOLE,                  ACCUMULATES,            low_bits,       BY_BOTH,   INT,    MUL_PP)
    GENERAL(MUL, I, WHOLE, ACC TRUE_VALUE)
    FAST(MUL,  I, DWORDS,                 ACCUMULATES,            low_bits,       ANY_SHAPE, INT,    MULD_P)
    FAST(MUL,  I, 0,                      ACCUMULATES | DWORDS,   low_bits,       BY_BOTH,   INT,    MUL_PP)
    FAST(MUL,  I, NARROW,                 ACCUMULATES | UW_TWICE, exact_value,    BY_BOTH,   INT,    MUL_PP)
    GENERAL(MUL, I, 0, ACC TRUE_VALUE)

    FAST(FRC,  F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  FRC_P)
    FAST(RNDD, F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  RNDD_P)
    FAST(RNDU, F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  RNDU_P)
    FAST(RNDE, F, ROUNDS | TO_FLOAT,      ACCUMULATES,            anything,       ANY_SHAPE, FLOAT,  RNDE_R)
    FAST(RNDE, F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  RNDD_P)
    FAST(RNDZ, F, ROUNDS | TO_FLOAT,      ACCUMULATES,            anything,       ANY_SHAPE, FLOAT,  RNDZ_R)
    FAST(RNDZ, F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  RNDD_P)
    GENERAL(FRC,  F, 0, ACC FLOAT_FLAGS)
    GENERAL(RNDD, F, 0, ACC FLOAT_FLAGS)
    GENERAL(RNDU, F, 0, ACC FLOAT_FLAGS)
    GENERAL(RNDE, F, 0, ACC FLOAT_FLAGS)
    GENERAL(RNDZ, F, 0, ACC FLOAT_FLAGS)
    FAST(FRACTION, F, 0,                  ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  FRACTION_P)
    FAST(ROUND_EVEN, F, 0,                ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  ROUND_EVEN_P)
    FAST(TRUNCATE, F, 0,                  ACCUMULATES,            float_value,    ANY_SHAPE, FLOAT,  TRUNCATE_P)
    GENERAL(FRACTION, F, 0, ACC FLOAT_FLAGS)
    GENERAL(ROUND_EVEN, F, 0, ACC FLOAT_FLAGS)
    GENERAL(TRUNCATE, F, 0, ACC FLOAT_FLAGS)

    FAST(MATH, F, TO_FLOAT,               0,                      one_float_result,     ANY_SHAPE, FLOAT,  MATH_P)
    GENERAL(MATH, F, 0, "the result or an operand is not a float, or there are two results")
    FAST(MATH, I, DWORDS,                 ACCUMULATES,            quotient,       ANY_SHAPE, INT,    DIVIDE_P)
    GENERAL(MATH, I, 0, "not a division of dwords that stores one result as it is")
    FAST(MAD,  F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, MAD_P)
    FAST(LRP,  F, 0,                      ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, LRP_P)
    GENERAL(MAD, F, 0, ACC FLOAT_FLAGS)
    GENERAL(MAD, I, 0, "no compiler uses it")
    GENERAL(LRP, F, 0, ACC FLOAT_FLAGS)

    FAST(MAC,  F, 0,                      0,                      float_value,    ANY_SHAPE, DOUBLE, MAC_P)
    GENERAL(MAC, F, 0, FLOAT_FLAGS)
    GENERAL(MAC, I, 0, "integers accumulate in 64 bits")
    FAST(LINE, F, PLANE,                  0,                      float_value,    ANY_SHAPE, DOUBLE, LINE)
    GENERAL(LINE, F, 0, "src0 is not one float of each thread, or " FLOAT_FLAGS)
    FAST(PLN,  F, PLANE | COORDINATES,    0,                      float_value,    ANY_SHAPE, DOUBLE, PLN)
    GENERAL(PLN, F, 0, "src0 is not one float of each thread, src1 is not two registers of floats, or " FLOAT_FLAGS)
    FAST(DP4,  F, TUPLES,                 ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, DP4_P)
    FAST(DPH,  F, TUPLES,                 ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, DPH_P)
    FAST(DP3,  F, TUPLES,                 ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, DP3_P)
    FAST(DP2,  F, TUPLES,                 ACCUMULATES,            float_value,    ANY_SHAPE, DOUBLE, DP2_P)
    GENERAL(DP4, F, 0, "the last group of four channels is not whole, " ACC FLOAT_FLAGS)
    GENERAL(DPH, F, 0, "the last group of four channels is not whole, " ACC FLOAT_FLAGS)
    GENERAL(DP3, F, 0, "the last group of four channels is not whole, " ACC FLOAT_FLAGS)
    GENERAL(DP2, F, 0, "the last group of four channels is not whole, " ACC FLOAT_FLAGS)

    FAST(CMP,  F, TO_FLOAT,               0,                      truth,          BY_BOTH,   FLOAT,  CMPF_PP)
    FAST(CMP,  F, 0,                      CONVERTS_FIRST,         truth,          BY_BOTH,   FLOAT,  CMPF_PP)
    GENERAL(CMP, F, 0, "both sides become integers first, or the condition is no order")
    FAST(CMPN, F, TO_FLOAT,               0,                      truth,          ANY_SHAPE, FLOAT,  CMPN_P)
    FAST(CMPN, F, 0,                      CONVERTS_FIRST,         truth,          ANY_SHAPE, FLOAT,  CMPN_P)
    GENERAL(CMPN, F, 0, "both sides become integers first, or the condition is no order")
    FAST(CMP,  I, 0,                      0,                      integer_truth,  BY_BOTH,   INT,    CMP_PP)
    FAST(CMPN, I, 0,                      0,                      integer_truth,  BY_BOTH,   INT,    CMP_PP)
    GENERAL(CMP,  I, 0, "no 32 bits hold both sides, or the condition is no order")
    GENERAL(CMPN, I, 0, "no 32 bits hold both sides, or the condition is no order")

    FAST(NOT,  I, 0,                      0,                      logic_bits,     ANY_SHAPE, INT,    NOT_P)
    FAST(AND,  I, 0,                      0,                      logic_bits,     BY_BOTH,   INT,    AND_PP)
    FAST(OR,   I, 0,                      0,                      logic_bits,     BY_BOTH,   INT,    OR_PP)
    FAST(XOR,  I, 0,                      0,                      logic_bits,     BY_BOTH,   INT,    XOR_PP)
    GENERAL(NOT, I, 0, TRUE_VALUE)
    GENERAL(AND, I, 0, TRUE_VALUE)
    GENERAL(OR,  I, 0, TRUE_VALUE)
    GENERAL(XOR, I, 0, TRUE_VALUE)

    FAST(SHL,  I, 0,                      0,                      dword_zero,     BY_BOTH,   INT,    SHL_PP)
    FAST(SHL,  I, 0,                      0,                      dword_order,    BY_BOTH,   INT,    SHL_PP)
    FAST(SHR,  I, UD_0,                   0,                      dword_zero,     BY_BOTH,   INT,    SHR_PP)
    FAST(SHR,  I, 0,                      UD_0,                   exact_value,    BY_BOTH,   INT,    ASR_PP)
    FAST(ASR,  I, UD_0,                   0,                      dword_zero,     BY_BOTH,   INT,    SHR_PP)
    FAST(ASR,  I, 0,                      UD_0,                   exact_value,    BY_BOTH,   INT,    ASR_PP)
    GENERAL(SHL, I, 0, TRUE_VALUE)
    GENERAL(SHR, I, 0, TRUE_VALUE)
    GENERAL(ASR, I, 0, TRUE_VALUE)

    FAST(AVG,  I, 0,                      ACCUMULATES | READS_UD, exact_value,    ANY_SHAPE, INT,    AVG_P)
    GENERAL(AVG, I, 0, ACC TRUE_VALUE)
};
/* clang-format on */

#undef F
#undef I

/* ---- four channels of each thread ---- */

/* A pass covers four channels that do not begin a register of lanes, or an instruction of eight takes two passes. */
static bool needs_quads(const struct g4_op *op) {
    return (op->first_channel[0] & 7) != 0 || (op->passes == 2 && op->exec_size == 2 * G4_QUAD_CHANNELS);
}

/* The handler of quad.c for an instruction, whatever its operands are; -1: none has it. */
static int quad_handler(const struct g4_op *op) {
    const bool to_double = op->dst.type == G4_TYPE_DF;
    const bool copies = op->cond == G4_COND_NONE && !op->saturate && !op->src[0].abs && !op->src[0].negate;
    const bool doubles = op->exec_type == G4_EXEC_DF;

    switch (op->opcode) {
    case G4_OPCODE_DIM:
        return copies && to_double ? G4_FAST_COPY_64 : -1;
    case G4_OPCODE_MOV:
        if (!doubles && !to_double) { /* others have handlers on registers of lanes */
            const bool same = op->src[0].type == op->dst.type ||
                              (op->exec_type == G4_EXEC_D && (op->dst.type == G4_TYPE_D || op->dst.type == G4_TYPE_UD));
            return copies && same && op->dst.size == 4 && needs_quads(op) ? G4_FAST_COPY_32 : -1;
        }
        if (doubles && to_double && !op->saturate && !op->src[0].abs && !op->src[0].negate) {
            return copies ? G4_FAST_COPY_64 : -1; /* the bits are copied, but a condition tests the flushed double */
        }
        return to_double || op->cond == G4_COND_NONE ? G4_FAST_MOV_Q : -1;
    case G4_OPCODE_SEL:
        return to_double && op->src[0].type == G4_TYPE_DF && op->src[1].type == G4_TYPE_DF ? G4_FAST_SEL_Q : -1;
    case G4_OPCODE_CMP:
        return doubles && op->cond != G4_COND_NONE ? G4_FAST_CMP_Q : -1;
    case G4_OPCODE_ADD:
        return doubles && to_double ? G4_FAST_ADD_Q : -1;
    case G4_OPCODE_MUL:
        return doubles && to_double ? G4_FAST_MUL_Q : -1;
    case G4_OPCODE_MAD:
        return doubles && to_double ? G4_FAST_MAD_Q : -1;
    default:
        return -1;
    }
}

static bool is_dword_or_long(uint8_t type) {
    return type == G4_TYPE_D || type == G4_TYPE_UD || type == G4_TYPE_Q || type == G4_TYPE_UQ;
}

/* Whether the sources have an order in 64 bits, signed or both unsigned. */
static bool are_comparable(const struct g4_op *op) {
    const bool first = op->src[0].type == G4_TYPE_UQ;
    return first == (op->src[1].type == G4_TYPE_UQ) && op->cond != G4_COND_NONE;
}

/* The same for integers of 64 bits: sources, or a destination, whose elements have as many. */
static int long_handler(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const bool plain = op->cond == G4_COND_NONE;
    bool has_long = op->dst.size == 8;

    if (op->saturate || !is_dword_or_long(op->dst.type)) {
        return -1;
    }
    for (unsigned s = 0; s < sources; s++) {
        const uint8_t type = op->src[s].type;
        has_long |= op->src[s].size == 8;
        if (!is_dword_or_long(type) && type != G4_TYPE_W && type != G4_TYPE_UW) {
            return -1;
        }
    }
    if (!has_long) {
        return -1;
    }
    switch (op->opcode) {
    case G4_OPCODE_MOV:
        return plain ? G4_FAST_MOV_L : -1;
    case G4_OPCODE_NOT:
        return plain ? G4_FAST_NOT_L : -1;
    case G4_OPCODE_ADD:
        return plain ? G4_FAST_ADD_L : -1;
    case G4_OPCODE_MUL:
        return plain && (op->whole_product || op->exec_type == G4_EXEC_Q) ? G4_FAST_MUL_L : -1;
    case G4_OPCODE_AND:
        return plain ? G4_FAST_AND_L : -1;
    case G4_OPCODE_OR:
        return plain ? G4_FAST_OR_L : -1;
    case G4_OPCODE_XOR:
        return plain ? G4_FAST_XOR_L : -1;
    case G4_OPCODE_SHL:
        return plain ? G4_FAST_SHL_L : -1;
    case G4_OPCODE_SHR: /* fills signed types with the sign (docs/decisions.md 30) */
    case G4_OPCODE_ASR:
        return !plain ? -1 : op->src[0].type == G4_TYPE_UQ ? G4_FAST_SHR_L : G4_FAST_ASR_L;
    case G4_OPCODE_CMP:
        return are_comparable(op) ? G4_FAST_CMP_L : -1;
    case G4_OPCODE_SEL:
        return plain || are_comparable(op) ? G4_FAST_SEL_L : -1;
    default:
        return -1;
    }
}

static bool has_type(const struct g4_op *op, uint8_t type) {
    bool has = op->dst.type == type;
    for (unsigned s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        has |= op->src[s].type == type;
    }
    return has;
}

/* Why an instruction without a form in lanes has no fast handler. */
static const char *why_no_lanes(const struct g4_op *op) {
    if (has_type(op, G4_TYPE_HF)) {
        return "half floats have no fast handler";
    }
    return has_type(op, G4_TYPE_Q) || has_type(op, G4_TYPE_UQ)
               ? "this form of 64-bit integers has no fast handler"
               : "steps of exact divisions and roots have no fast handler";
}

static bool select_quad(struct g4_op *op, const struct g4_quirks *quirks) {
    const int longs = long_handler(op);
    const int handler = longs >= 0 ? longs : op->no_lanes ? -1 : quad_handler(op);

    if (handler < 0 || op->undefined || op->acc_write || !is_float_condition(op) ||
        quirks->cmp_converts_to_destination_type || !g4_fast_prepare_quad(op)) {
        return false;
    }
    op->handler = (uint16_t)(G4_TABLE_QUAD << 8 | handler);
    return true;
}

/* ---- the matcher ---- */

static uint32_t fact(bool is_true, enum fact which) {
    return is_true ? (uint32_t)which : 0;
}

/* A source could be copied: nothing changes its bits. */
static bool is_copy(const struct g4_op *op, const struct g4_src *src) {
    return !op->saturate && src->type == op->dst.type && !src->abs && !src->negate;
}

static bool reads_ud(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    for (unsigned s = 0; s < sources; s++) {
        if (is_ud(&op->src[s])) {
            return true;
        }
    }
    return false;
}

/* A float in lanes, a scalar or an immediate, at most negated. */
static bool is_in_place(const struct g4_src *src, const struct g4_fast_src *in) {
    return (in->load == G4_LOAD_PACKED || shape_of(in) != SHAPE_P) && in->convert == G4_CONVERT_NONE &&
           in->keep == 0xffffffff && (src->type == G4_TYPE_F || in->load == G4_LOAD_IMM);
}

static uint32_t in_place_facts(const struct g4_op *op) {
    const unsigned lanes = shape_of(&op->in[0]) == SHAPE_P ? 0 : 1;
    const bool in_place = shape_of(&op->in[lanes]) == SHAPE_P && is_in_place(&op->src[0], &op->in[0]) &&
                          is_in_place(&op->src[1], &op->in[1]) && op->dst.type == G4_TYPE_F && !op->saturate &&
                          op->cond == G4_COND_NONE && op->out.store == G4_STORE_PACKED;
    return fact(in_place, IN_PLACE) | fact(op->in[lanes].flip, NEGATES_0) | fact(op->in[1 - lanes].flip, NEGATES_1);
}

static uint32_t plane_facts(const struct g4_op *op) {
    const struct g4_fast_src *const in = op->in;
    const bool plane =
        in[0].load == G4_LOAD_SCALAR && op->src[0].type == G4_TYPE_F && !op->src[0].align16 && !g4_op_is_word16(op);
    const bool coordinates =
        in[1].load == G4_LOAD_PACKED && op->src[1].type == G4_TYPE_F && in[1].reg[op->parts - 1] + 1u < G4_GRF_COUNT;
    return fact(plane, PLANE) | fact(coordinates, COORDINATES);
}

static uint32_t facts_of(const struct g4_op *op, const struct g4_quirks *quirks) {
    const struct g4_src *const a = &op->src[0];
    const struct g4_src *const b = &op->src[1];
    return fact(op->dst.type == G4_TYPE_F, TO_FLOAT) | fact(op->acc_write, ACCUMULATES) |
           fact(op->cond == G4_COND_R, ROUNDS) | fact(reads_ud(op), READS_UD) | fact(is_ud(a), UD_0) |
           fact(a->size <= 2 && b->size <= 2, NARROW) | fact(a->size == 4 && b->size == 4, DWORDS) |
           fact(a->type == G4_TYPE_UW && b->type == G4_TYPE_UW, UW_TWICE) | fact(is_copy(op, a), COPY_0) |
           fact(is_copy(op, b), COPY_1) | fact(op->count % 4 == 0, TUPLES) |
           fact(op->saturate && op->dst.type == G4_TYPE_UD, UNSIGNED_CLAMP) |
           fact(quirks->cmp_converts_to_destination_type, CONVERTS_FIRST) | fact(op->whole_product, WHOLE) |
           plane_facts(op) | in_place_facts(op);
}

static void use(struct g4_op *op, const struct rule *rule) {
    unsigned shape = 0;

    switch (rule->shapes) {
    case ANY_SHAPE:
        break;
    case BY_SRC0:
        shape = shape_of(&op->in[0]);
        break;
    case BY_BOTH:
        shape = (shape_of(&op->in[0]) == SHAPE_S ? 3 : 0) + (unsigned)shape_of(&op->in[1]);
        break;
    case BY_SECOND:
        if (shape_of(&op->in[0]) != SHAPE_P) {
            const struct g4_fast_src first = op->in[0];
            op->in[0] = op->in[1];
            op->in[1] = first;
        }
        shape = shape_of(&op->in[1]);
        break;
    }
    op->handler = (uint16_t)(rule->handler + shape);
}

static bool is_ip(uint8_t kind, uint8_t reg) {
    return kind == G4_KIND_ARF && reg >> 4 == G4_ARF_IP;
}

/* Forms of operands that no fast handler has, with a reason; NULL: none of them. */
static const char *unusual_form(const struct g4_op *op) {
    if (op->exec_type == G4_EXEC_DF || op->dst.size > 4) {
        return "lanes have 32 bits, and four channels of doubles have no handler for this form";
    }
    if (op->passes == 2 && op->exec_size != 16) {
        return "compressed, but not of sixteen channels";
    }
    if (op->first_channel[0] & 7 || (op->half && op->exec_size > 8)) {
        return "the first channel is not that of a register of lanes";
    }
    if (op->channels > 16 || (op->sechalf && op->exec_size > 8)) {
        return "more channels than two registers of lanes hold";
    }
    if (g4_op_is_word16(op) && op->predicate >= G4_PRED_ANY16H && op->cond != G4_COND_NONE) {
        return "the flags of the first half, when they are written, decide about the second";
    }
    if (op->undefined || g4_opcode_info[op->opcode].sources == 0) {
        return "nothing is computed";
    }
    if (op->dst.kind == G4_KIND_ACC || g4_op_reads_acc(op) != (op->opcode == G4_OPCODE_MAC)) {
        return "an accumulator operand has more bits than lanes";
    }
    if (g4_op_is_word16(op) && (op->acc_write || op->opcode == G4_OPCODE_MAC)) {
        return "sixteen channels of one pass share an accumulator";
    }
    if (is_ip(op->dst.kind, op->dst.reg)) {
        return "threads may jump to different places";
    }
    return NULL;
}

/* add ip ip imm, the jump that Gen4 compilers emit for loops. */
static bool is_ip_add(const struct g4_op *op) {
    const struct g4_src *const ip = &op->src[0];
    const struct g4_src *const imm = &op->src[1];
    return op->opcode == G4_OPCODE_ADD && is_ip(op->dst.kind, op->dst.reg) && is_ip(ip->kind, ip->reg) &&
           imm->kind == G4_KIND_IMM && op->exec_size == 1 && op->cond == G4_COND_NONE && !op->saturate &&
           !op->acc_write && !ip->negate && !ip->abs && op->dst.size == 4 && ip->size == 4 && imm->size == 4 &&
           imm->type != G4_TYPE_F && op->dst.type != G4_TYPE_F && ip->type != G4_TYPE_F && !op->dst.base && !ip->base;
}

/* Find the first row that fits; returns its reason. */
static const char *match(struct g4_op *op, const struct g4_quirks *quirks, bool floats) {
    const uint32_t facts = facts_of(op, quirks);

    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *const rule = &rules[i];
        if (rule->opcode != op->opcode || rule->floats != floats || (facts & rule->when) != rule->when ||
            (facts & rule->unless) || (rule->result && !rule->result(op, quirks))) {
            continue;
        }
        if (!rule->reason) {
            use(op, rule);
        }
        return rule->reason;
    }
    return "no fast handler has this opcode";
}

const char *g4_fast_select(struct g4_op *op, const struct g4_quirks *quirks) {
    /* before a comparison with a float destination both sides become floats, if the quirk says so */
    const bool floats = op->exec_type == G4_EXEC_F ||
                        (g4_op_compares(op) && op->dst.type == G4_TYPE_F && quirks->cmp_converts_to_destination_type);

    op->parts = op->channels > 8 ? 2 : op->passes;
    op->count = op->channels < 8 ? op->channels : 8;
    op->written = op->size_lanes & (UINT64_C(0x1111111111111111) * op->dst.writemask);
    if (op->opcode == G4_OPCODE_SEND && !op->grf_payload) {
        g4_fast_prepare_send(op);
    }
    if (op->handler != G4_HANDLER_GENERAL) {
        return NULL;
    }
    if (g4_is_dot_integer(op)) {
        op->handler = G4_HANDLER_DOT_INTEGER;
        return NULL;
    }
    if (g4_fast_prepare_dwords(op)) {
        op->handler = G4_HANDLER_DWORDS;
        return NULL;
    }
    if (is_ip_add(op)) {
        (void)g4_fast_prepare_immediate(&op->src[1], false, &op->in[1]);
        op->handler = G4_TABLE_INT << 8 | G4_FAST_IPADD;
        return NULL;
    }
    if (select_quad(op, quirks)) {
        return NULL;
    }
    if (op->no_lanes) {
        return why_no_lanes(op);
    }
    const char *const form = unusual_form(op);
    if (form) {
        return form;
    }
    if (!g4_fast_prepare_destination(op)) {
        return "elements of the destination cross registers, or overlap sources of the second half";
    }
    if (!g4_fast_prepare_sources(op, floats)) {
        return "a source crosses registers, or its modifiers or conversion have no exact form in lanes";
    }
    const char *const reason = match(op, quirks, floats);
    if (!reason) {
        g4_fast_prepare_addresses(op);
    }
    return reason;
}
