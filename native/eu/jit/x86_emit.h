/*
 * Writing x86-64 machine code: the few AVX-512 instructions that translated kernels are made of (translate.c).
 *
 * A form says all that makes an instruction but for its operands.  Operands are numbers of registers; `rm`, the one
 * that may lie in memory, has a kind of its own.
 */
#ifndef G4_EU_EVEX_H
#define G4_EU_EVEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Machine code as it grows. */
struct g4_code {
    uint8_t *bytes;
    size_t size, room;
    bool failed; /* no memory: what is there is of no use */
};

/* Integer registers that serve as bases. */
enum g4_base {
    G4_BASE_RCX = 1,
    G4_BASE_RDX = 2,
    G4_BASE_RSI = 6,
    G4_BASE_RDI = 7,
    G4_BASE_R11 = 11,
};

struct g4_rm {
    uint8_t reg;    /* vector register, or base */
    bool memory;    /* [base + offset] */
    bool broadcast; /* one element of it for all lanes */
    int32_t offset;
};

static inline struct g4_rm g4_rm_reg(unsigned reg) {
    return (struct g4_rm){.reg = (uint8_t)reg};
}

static inline struct g4_rm g4_rm_at(enum g4_base base, size_t offset) {
    return (struct g4_rm){.reg = (uint8_t)base, .memory = true, .offset = (int32_t)offset};
}

static inline struct g4_rm g4_rm_all(enum g4_base base, size_t offset) {
    return (struct g4_rm){.reg = (uint8_t)base, .memory = true, .broadcast = true, .offset = (int32_t)offset};
}

/* Opcode map, mandatory prefix (none, 66, F3, F2), the W bit, opcode. */
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

static inline void g4_put(struct g4_code *code, unsigned byte) {
    if (code->size == code->room) {
        const size_t room = code->room ? 2 * code->room : 4096;
        uint8_t *const more = realloc(code->bytes, room);
        if (!more) {
            code->failed = true;
            return;
        }
        code->bytes = more;
        code->room = room;
    }
    code->bytes[code->size++] = (uint8_t)byte;
}

static inline void g4_put32(struct g4_code *code, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        g4_put(code, value >> (8 * i) & 0xff);
    }
}

static inline void g4_put_rm(struct g4_code *code, unsigned reg, struct g4_rm rm) {
    if (rm.memory) {
        g4_put(code, 0x80 | (reg & 7) << 3 | (rm.reg & 7));
        g4_put32(code, (uint32_t)rm.offset);
    } else {
        g4_put(code, 0xc0 | (reg & 7) << 3 | (rm.reg & 7));
    }
}

enum {
    G4_MERGE = 0, /* lanes that the mask leaves out keep what they had */
    G4_ZERO = 1,
};

/* 512 bits.  `mask` 0: all lanes. */
static inline void g4_evex(struct g4_code *code, enum g4_form form, unsigned reg, unsigned second, struct g4_rm rm,
                           unsigned mask, unsigned zero) {
    const unsigned x = rm.memory ? 1 : ~(unsigned)rm.reg >> 4 & 1;
    const unsigned b = ~(unsigned)rm.reg >> 3 & 1;

    g4_put(code, 0x62);
    g4_put(code, (~reg >> 3 & 1) << 7 | x << 6 | b << 5 | (~reg >> 4 & 1) << 4 | (unsigned)form >> 16);
    g4_put(code, ((unsigned)form >> 8 & 1) << 7 | (~second & 15) << 3 | 4 | ((unsigned)form >> 12 & 3));
    g4_put(code, zero << 7 | 2 << 5 | (rm.broadcast ? 1u : 0u) << 4 | (~second >> 4 & 1) << 3 | mask);
    g4_put(code, (unsigned)form & 0xff);
    g4_put_rm(code, reg, rm);
}

static inline void g4_evex_imm(struct g4_code *code, enum g4_form form, unsigned reg, unsigned second, struct g4_rm rm,
                               unsigned mask, unsigned zero, unsigned immediate) {
    g4_evex(code, form, reg, second, rm, mask, zero);
    g4_put(code, immediate);
}

/* Of registers, rounded to the nearest. */
static inline void g4_evex_nearest(struct g4_code *code, enum g4_form form, unsigned reg, unsigned second, unsigned rm,
                                   unsigned mask, unsigned zero) {
    const size_t start = code->size;
    g4_evex(code, form, reg, second, g4_rm_reg(rm), mask, zero);
    if (!code->failed) {
        code->bytes[start + 3] = (uint8_t)((code->bytes[start + 3] & ~(3u << 5)) | 1u << 4);
    }
}

/* to = a form b, of sixteen bits */
static inline void g4_masks(struct g4_code *code, enum g4_mask_form form, unsigned to, unsigned a, unsigned b) {
    g4_put(code, 0xc5);
    g4_put(code, 0x80 | (~a & 15) << 3 | 4);
    g4_put(code, form);
    g4_put_rm(code, to, g4_rm_reg(b));
}

static inline void g4_mask_load(struct g4_code *code, unsigned to, struct g4_rm from) {
    g4_put(code, 0xc5);
    g4_put(code, 0xf8);
    g4_put(code, 0x90);
    g4_put_rm(code, to, from);
}

static inline void g4_mask_store(struct g4_code *code, unsigned from, struct g4_rm to) {
    g4_put(code, 0xc5);
    g4_put(code, 0xf8);
    g4_put(code, 0x91);
    g4_put_rm(code, from, to);
}

/* Sixteen bits known now; eax is lost. */
static inline void g4_mask_constant(struct g4_code *code, unsigned to, unsigned bits) {
    g4_put(code, 0xb8);
    g4_put32(code, bits);
    g4_put(code, 0xc5);
    g4_put(code, 0xf8);
    g4_put(code, 0x92);
    g4_put(code, 0xc0 | to << 3);
}

/* to: the sixteen bits of `from`, in order, where `places` has ones; eax and r10 are lost. */
static inline void g4_mask_deposit(struct g4_code *code, unsigned to, unsigned from, uint32_t places) {
    /* kmovw eax, from; mov r10d, places; pdep eax, eax, r10d; kmovd to, eax */
    g4_put(code, 0xc5);
    g4_put(code, 0xf8);
    g4_put(code, 0x93);
    g4_put(code, 0xc0 | from);
    g4_put(code, 0x41);
    g4_put(code, 0xba);
    g4_put32(code, places);
    g4_put(code, 0xc4);
    g4_put(code, 0xc2);
    g4_put(code, 0x7b);
    g4_put(code, 0xf5);
    g4_put(code, 0xc2);
    g4_put(code, 0xc5);
    g4_put(code, 0xfb);
    g4_put(code, 0x92);
    g4_put(code, 0xc0 | to << 3);
}

static inline void g4_mask_shift(struct g4_code *code, unsigned opcode, unsigned to, unsigned from, unsigned bits) {
    g4_put(code, 0xc4);
    g4_put(code, 0xe3);
    g4_put(code, 0xf9);
    g4_put(code, opcode);
    g4_put(code, 0xc0 | to << 3 | from);
    g4_put(code, bits);
}

/* to = from << bits */
static inline void g4_mask_shift_left(struct g4_code *code, unsigned to, unsigned from, unsigned bits) {
    g4_mask_shift(code, 0x32, to, from, bits);
}

/* to = from >> 8 */
static inline void g4_mask_high(struct g4_code *code, unsigned to, unsigned from) {
    g4_mask_shift(code, 0x30, to, from, 8);
}

#endif
