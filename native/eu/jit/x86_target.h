/*
 * The part of x86-64 that translated kernels use: registers, opcodes, conditions.  x86_emit.h encodes it.
 */
#ifndef G4_EU_JIT_X86_TARGET_H
#define G4_EU_JIT_X86_TARGET_H

/* General registers.  Instructions of eight bits use RAX as AL and R10 as R10B; AH is bits 15:8 of RAX. */
enum x86_reg {
    X86_RAX = 0,
    X86_AH = 4,
    X86_RCX = 1,
    X86_RDX = 2,
    X86_RSP = 4,
    X86_RSI = 6,
    X86_RDI = 7,
    X86_R8 = 8,
    X86_R9 = 9,
    X86_R10 = 10,
    X86_R11 = 11,
};

/* Instructions `op dst, src`, by the opcode of the form for eight bits with a register as the source.  Bits 5:3 are the
 * opcode extension of the form with an immediate. */
enum x86_alu {
    X86_ADD = 0x00,
    X86_OR = 0x08,
    X86_SBB = 0x18,
    X86_AND = 0x20,
    X86_XOR = 0x30,
    X86_CMP = 0x38,
    X86_MOV = 0x88, /* no form with an immediate */
};

/* Jumps with a distance of 32 bits. */
enum x86_jump {
    X86_JMP = 0xe9,
    X86_JB = 0x82,
    X86_JZ = 0x84,
    X86_JNZ = 0x85,
    X86_JNA = 0x86,
};

/* MXCSR exception flags */
enum {
    X86_MXCSR_INVALID = 1 << 0,
    X86_MXCSR_OVERFLOW = 1 << 3,
};

/* EVEX instructions: opcode map, mandatory prefix (none, 66, F3, F2), the W bit, opcode. */
#define G4_FORM(map, prefix, w, opcode) ((unsigned)(map) << 16 | (unsigned)(prefix) << 12 | (w) << 8 | (opcode))

enum g4_form {
    G4_X_LOAD = G4_FORM(1, 0, 0, 0x10),       /* vmovups */
    G4_X_STORE = G4_FORM(1, 0, 0, 0x11),      /* with the register first */
    G4_X_MOVE = G4_FORM(1, 1, 0, 0x6f),       /* vmovdqa32 */
    G4_X_MOVE_PD = G4_FORM(1, 1, 1, 0x28),    /* vmovapd */
    G4_X_MOVE_WORDS = G4_FORM(1, 3, 1, 0x6f), /* vmovdqu16 */
    G4_X_TO_WORDS = G4_FORM(2, 2, 0, 0x33),   /* vpmovdw: source first */
    G4_X_BROADCAST = G4_FORM(2, 1, 0, 0x18),
    G4_X_ADDPS = G4_FORM(1, 0, 0, 0x58),
    G4_X_MULPS = G4_FORM(1, 0, 0, 0x59),
    G4_X_SUBPS = G4_FORM(1, 0, 0, 0x5c),
    G4_X_MINPS = G4_FORM(1, 0, 0, 0x5d),
    G4_X_MAXPS = G4_FORM(1, 0, 0, 0x5f),
    G4_X_DIVPS = G4_FORM(1, 0, 0, 0x5e),
    G4_X_SQRTPS = G4_FORM(1, 0, 0, 0x51),
    G4_X_DIVPD = G4_FORM(1, 1, 1, 0x5e),
    G4_X_SQRTPD = G4_FORM(1, 1, 1, 0x51),
    G4_X_CLASS = G4_FORM(3, 1, 0, 0x66), /* vfpclassps, into a mask */
    G4_X_RANGE = G4_FORM(3, 1, 0, 0x50), /* vrangeps */
    G4_X_ADDPD = G4_FORM(1, 1, 1, 0x58),
    G4_X_MULPD = G4_FORM(1, 1, 1, 0x59),
    G4_X_RNDSCALE = G4_FORM(3, 1, 0, 0x08),  /* immediate: G4_ROUND_* */
    G4_X_WIDEN = G4_FORM(1, 0, 0, 0x5a),     /* vcvtps2pd */
    G4_X_NARROW = G4_FORM(1, 1, 1, 0x5a),    /* vcvtpd2ps */
    G4_X_HIGH_HALF = G4_FORM(3, 1, 1, 0x1b), /* vextractf64x4: source first, immediate 1 */
    G4_X_JOIN = G4_FORM(3, 1, 1, 0x1a),      /* vinsertf64x4, immediate 1 */
    G4_X_PERMUTE_PD = G4_FORM(3, 1, 1, 0x01),
    G4_X_FROM_D = G4_FORM(1, 0, 0, 0x5b),
    G4_X_FROM_UD = G4_FORM(1, 3, 0, 0x7a),
    G4_X_TO_D = G4_FORM(1, 2, 0, 0x5b), /* toward zero */
    G4_X_AND = G4_FORM(1, 1, 0, 0xdb),
    G4_X_OR = G4_FORM(1, 1, 0, 0xeb),
    G4_X_XOR = G4_FORM(1, 1, 0, 0xef),
    G4_X_ADD = G4_FORM(1, 1, 0, 0xfe),
    G4_X_SUB = G4_FORM(1, 1, 0, 0xfa),
    G4_X_MUL = G4_FORM(2, 1, 0, 0x40),
    G4_X_SHL = G4_FORM(2, 1, 0, 0x47),
    G4_X_SHR = G4_FORM(2, 1, 0, 0x45),
    G4_X_ASR = G4_FORM(2, 1, 0, 0x46),
    G4_X_SHIFT = G4_FORM(1, 1, 0, 0x72),       /* by an immediate; the first operand says which way */
    G4_X_BLEND = G4_FORM(2, 1, 0, 0x64),       /* vpblendmd: where the mask is set, the last operand */
    G4_X_PERMUTE = G4_FORM(2, 1, 0, 0x36),     /* vpermd: indices before the source */
    G4_X_PERMUTE_PS = G4_FORM(3, 1, 0, 0x04),  /* vpermilps */
    G4_X_SHUFFLE_128 = G4_FORM(3, 1, 0, 0x23), /* vshuff32x4 */
    G4_X_FROM_MASK = G4_FORM(2, 2, 0, 0x38),   /* vpmovm2d */
    G4_X_CMPPS = G4_FORM(1, 0, 0, 0xc2),       /* into a mask, immediate: G4_FLOAT_* */
    G4_X_CMPD = G4_FORM(3, 1, 0, 0x1f),        /* immediate: G4_INT_* */
    G4_X_CMPUD = G4_FORM(3, 1, 0, 0x1e),
};

enum {
    G4_ROUND_DOWN = 9,
    G4_ROUND_UP = 10,
    G4_RANGE_LARGEST = 0x0b, /* the larger magnitude */
    G4_SHIFT_SHR = 2,        /* first operand of G4_X_SHIFT */
    G4_SHIFT_ASR = 4,
};

/* Masks: VEX forms with a map of 1. */
enum g4_mask_form {
    G4_K_AND = 0x41,  /* k0..k2 */
    G4_K_ANDN = 0x42, /* not the first, and the second */
    G4_K_OR = 0x45,
    G4_K_XOR = 0x47,
};

enum {
    G4_MERGE = 0, /* lanes that the mask leaves out keep their value */
    G4_ZERO = 1,  /* they become zero */
};

#endif
