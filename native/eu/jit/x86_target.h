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
    X86_RBX = 3,
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

/* MXCSR */
enum {
    X86_MXCSR_INVALID = 1 << 0,
    X86_MXCSR_OVERFLOW = 1 << 3,
    X86_MXCSR_ROUNDING = 3 << 13, /* a field: 0 is to nearest */
};

/* Vector instructions: opcode map, mandatory prefix (none, 66, F3, F2), the W bit, opcode.  Most have an EVEX form, of
 * 512 bits, and a VEX form, of 256 bits. */
#define X86_FORM(map, prefix, w, opcode) ((unsigned)(map) << 16 | (unsigned)(prefix) << 12 | (w) << 8 | (opcode))

enum x86_form {
    /* both */
    X86_LOAD = X86_FORM(1, 0, 0, 0x10),  /* movups */
    X86_STORE = X86_FORM(1, 0, 0, 0x11), /* with the register first */
    X86_BROADCAST = X86_FORM(2, 1, 0, 0x18),
    X86_ADDPS = X86_FORM(1, 0, 0, 0x58),
    X86_MULPS = X86_FORM(1, 0, 0, 0x59),
    X86_SUBPS = X86_FORM(1, 0, 0, 0x5c),
    X86_MINPS = X86_FORM(1, 0, 0, 0x5d),
    X86_DIVPS = X86_FORM(1, 0, 0, 0x5e),
    X86_MAXPS = X86_FORM(1, 0, 0, 0x5f),
    X86_MULADD_231 = X86_FORM(2, 1, 0, 0xb8), /* dst = second * third + dst */
    X86_MULADD_213 = X86_FORM(2, 1, 0, 0xa8), /* dst = second * dst + third */
    X86_SUBMUL_231 = X86_FORM(2, 1, 0, 0xbc), /* dst = dst - second * third */
    X86_MULADDPD_231 = X86_FORM(2, 1, 1, 0xb8),
    X86_MULADDPD_213 = X86_FORM(2, 1, 1, 0xa8),
    X86_SQRTPS = X86_FORM(1, 0, 0, 0x51),
    X86_SQRTPD = X86_FORM(1, 1, 1, 0x51),
    X86_ADDPD = X86_FORM(1, 1, 1, 0x58),
    X86_MULPD = X86_FORM(1, 1, 1, 0x59),
    X86_DIVPD = X86_FORM(1, 1, 1, 0x5e),
    X86_ROUND = X86_FORM(3, 1, 0, 0x08),  /* roundps, vrndscaleps; immediate: X86_ROUND_* */
    X86_WIDEN = X86_FORM(1, 0, 0, 0x5a),  /* cvtps2pd */
    X86_NARROW = X86_FORM(1, 1, 1, 0x5a), /* cvtpd2ps */
    X86_PERMUTE_PD = X86_FORM(3, 1, 1, 0x01),
    X86_FROM_D = X86_FORM(1, 0, 0, 0x5b),
    X86_TO_D = X86_FORM(1, 2, 0, 0x5b), /* toward zero */
    X86_PAND = X86_FORM(1, 1, 0, 0xdb),
    X86_POR = X86_FORM(1, 1, 0, 0xeb),
    X86_PXOR = X86_FORM(1, 1, 0, 0xef),
    X86_PADD = X86_FORM(1, 1, 0, 0xfe),
    X86_PSUB = X86_FORM(1, 1, 0, 0xfa),
    X86_PMUL = X86_FORM(2, 1, 0, 0x40),
    X86_PMAX = X86_FORM(2, 1, 0, 0x3d), /* of signed numbers */
    X86_PSHL = X86_FORM(2, 1, 0, 0x47),
    X86_PSHR = X86_FORM(2, 1, 0, 0x45),
    X86_PASR = X86_FORM(2, 1, 0, 0x46),
    X86_SHIFT = X86_FORM(1, 1, 0, 0x72),      /* by an immediate; the first operand says which way */
    X86_PERMUTE = X86_FORM(2, 1, 0, 0x36),    /* vpermd: indices before the source */
    X86_PERMUTE_PS = X86_FORM(3, 1, 0, 0x04), /* vpermilps */
    X86_COMPARE_PS = X86_FORM(1, 0, 0, 0xc2), /* immediate: a predicate; EVEX: into a mask */

    /* EVEX */
    X86_MOVE_512 = X86_FORM(1, 1, 0, 0x6f),       /* vmovdqa32 */
    X86_MOVE_PD_512 = X86_FORM(1, 1, 1, 0x28),    /* vmovapd */
    X86_MOVE_WORDS_512 = X86_FORM(1, 3, 1, 0x6f), /* vmovdqu16 */
    X86_TO_WORDS_512 = X86_FORM(2, 2, 0, 0x33),   /* vpmovdw: source first */
    X86_HIGH_512 = X86_FORM(3, 1, 1, 0x1b),       /* vextractf64x4: source first, immediate 1 */
    X86_JOIN_512 = X86_FORM(3, 1, 1, 0x1a),       /* vinsertf64x4, immediate 1 */
    X86_FROM_UD_512 = X86_FORM(1, 3, 0, 0x7a),
    X86_PERMUTE_WORDS_512 = X86_FORM(2, 1, 1, 0x8d), /* vpermw: indices before the source */
    X86_BLEND_512 = X86_FORM(2, 1, 0, 0x64),         /* vpblendmd: where the mask is set, the last operand */
    X86_SHUFFLE_512 = X86_FORM(3, 1, 0, 0x23),       /* vshuff32x4 */
    X86_FROM_MASK_512 = X86_FORM(2, 2, 0, 0x38),     /* vpmovm2d */
    X86_COMPARE_D_512 = X86_FORM(3, 1, 0, 0x1f),     /* immediate: a predicate */
    X86_COMPARE_UD_512 = X86_FORM(3, 1, 0, 0x1e),

    /* VEX */
    X86_AND_NOT_256 = X86_FORM(1, 1, 0, 0xdf), /* not the first, and the second */
    X86_BROADCAST_PD_256 = X86_FORM(2, 1, 0, 0x19),
    X86_BROADCAST_D_256 = X86_FORM(2, 1, 0, 0x58),
    X86_BLEND_256 = X86_FORM(3, 1, 0, 0x4a),      /* vblendvps: where the mask is set, the last operand */
    X86_BLEND_HALF_256 = X86_FORM(3, 1, 0, 0x02), /* vpblendd: where the immediate is set, the last operand */
    X86_BLEND_BYTES_256 = X86_FORM(3, 1, 0, 0x4c),
    X86_EQUAL_D_256 = X86_FORM(1, 1, 0, 0x76),
    X86_GREATER_D_256 = X86_FORM(1, 1, 0, 0x66),
    X86_SIGNS_256 = X86_FORM(1, 0, 0, 0x50),      /* vmovmskps, into a general register */
    X86_TEST_256 = X86_FORM(2, 1, 0, 0x0e),       /* vtestps: the zero flag is set if no sign bit is set in both */
    X86_HIGH_256 = X86_FORM(3, 1, 0, 0x19),       /* vextractf128: source first, immediate 1 */
    X86_JOIN_256 = X86_FORM(3, 1, 0, 0x18),       /* vinsertf128, immediate 1 */
    X86_HALVES_256 = X86_FORM(3, 1, 0, 0x06),     /* vperm2f128 */
    X86_PERMUTE_64_256 = X86_FORM(3, 1, 1, 0x00), /* vpermq */
    X86_SHUFFLE_BYTES_256 = X86_FORM(2, 1, 0, 0x00),
    X86_PACK_256 = X86_FORM(1, 1, 0, 0x6b),     /* vpackssdw */
    X86_ADD_64_256 = X86_FORM(1, 1, 0, 0xd4),   /* vpaddq */
    X86_SHIFT_64_256 = X86_FORM(1, 1, 0, 0x73), /* as X86_SHIFT */
    X86_EQUAL_64_256 = X86_FORM(2, 1, 0, 0x29),
};

/* Immediates. */
enum {
    X86_GREATER = 0x1e, /* of X86_COMPARE_PS; NaN raises nothing */
    X86_ROUND_NEAREST = 8,
    X86_ROUND_DOWN = 9,
    X86_ROUND_UP = 10,
    X86_ROUND_ZERO = 11,
    X86_SHIFT_SHR = 2, /* first operand of X86_SHIFT */
    X86_SHIFT_ASR = 4,
    X86_SHIFT_SHL = 6,
};

/* Masks: VEX forms with a map of 1. */
enum x86_mask_form {
    X86_K_AND = 0x41,  /* k0..k2 */
    X86_K_ANDN = 0x42, /* not the first, and the second */
    X86_K_OR = 0x45,
};

enum {
    X86_MERGE = 0, /* lanes that the mask leaves out keep their value */
    X86_ZERO = 1,  /* they become zero */
};

#endif
