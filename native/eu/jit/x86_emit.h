/*
 * Encodes x86-64 machine code.  No other file knows its bytes.
 *
 * Operands are register numbers; `rm`, the operand that may be in memory, has a type of its own.
 */
#ifndef G4_EU_JIT_X86_EMIT_H
#define G4_EU_JIT_X86_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "eu/jit/x86_target.h"

/* Machine code, or its constants, while they are written. */
struct g4_code {
    uint8_t *bytes;
    size_t size, capacity;
    bool failed; /* no memory: the bytes are incomplete */
};

struct x86_rm {
    uint8_t reg;    /* vector register, or base */
    bool memory;    /* [base + offset] */
    bool broadcast; /* one element of it for all lanes */
    int32_t offset;
};

static inline struct x86_rm x86_rm_reg(unsigned reg) {
    return (struct x86_rm){.reg = (uint8_t)reg};
}

static inline struct x86_rm x86_rm_at(enum x86_reg base, size_t offset) {
    return (struct x86_rm){.reg = (uint8_t)base, .memory = true, .offset = (int32_t)offset};
}

static inline struct x86_rm x86_rm_all(enum x86_reg base, size_t offset) {
    return (struct x86_rm){.reg = (uint8_t)base, .memory = true, .broadcast = true, .offset = (int32_t)offset};
}

static inline void emit_byte(struct g4_code *code, unsigned byte) {
    if (code->size == code->capacity) {
        const size_t capacity = code->capacity ? 2 * code->capacity : 4096;
        uint8_t *const more = realloc(code->bytes, capacity);
        if (!more) {
            code->failed = true;
            return;
        }
        code->bytes = more;
        code->capacity = capacity;
    }
    code->bytes[code->size++] = (uint8_t)byte;
}

static inline void emit_dword(struct g4_code *code, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        emit_byte(code, value >> (8 * i) & 0xff);
    }
}

static inline void emit_rm(struct g4_code *code, unsigned reg, struct x86_rm rm) {
    if (rm.memory) {
        emit_byte(code, 0x80 | (reg & 7) << 3 | (rm.reg & 7));
        emit_dword(code, (uint32_t)rm.offset);
    } else {
        emit_byte(code, 0xc0 | (reg & 7) << 3 | (rm.reg & 7));
    }
}

/* ---- vector registers ---- */

/* An instruction of 512 bits.  `mask` 0: all lanes. */
static inline void emit_evex(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second, struct x86_rm rm,
                             unsigned mask, unsigned zero) {
    const unsigned x = rm.memory ? 1 : ~(unsigned)rm.reg >> 4 & 1;
    const unsigned b = ~(unsigned)rm.reg >> 3 & 1;

    emit_byte(code, 0x62);
    emit_byte(code, (~reg >> 3 & 1) << 7 | x << 6 | b << 5 | (~reg >> 4 & 1) << 4 | (unsigned)form >> 16);
    emit_byte(code, ((unsigned)form >> 8 & 1) << 7 | (~second & 15) << 3 | 4 | ((unsigned)form >> 12 & 3));
    emit_byte(code, zero << 7 | 2 << 5 | (rm.broadcast ? 1u : 0u) << 4 | (~second >> 4 & 1) << 3 | mask);
    emit_byte(code, (unsigned)form & 0xff);
    emit_rm(code, reg, rm);
}

static inline void emit_evex_imm(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second,
                                 struct x86_rm rm, unsigned mask, unsigned zero, unsigned immediate) {
    emit_evex(code, form, reg, second, rm, mask, zero);
    emit_byte(code, immediate);
}

/* An instruction of 256 bits. */
static inline void emit_vex(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second, struct x86_rm rm) {
    emit_byte(code, 0xc4);
    emit_byte(code, (~reg >> 3 & 1) << 7 | 1 << 6 | (~(unsigned)rm.reg >> 3 & 1) << 5 | (unsigned)form >> 16);
    emit_byte(code, ((unsigned)form >> 8 & 1) << 7 | (~second & 15) << 3 | 4 | ((unsigned)form >> 12 & 3));
    emit_byte(code, (unsigned)form & 0xff);
    emit_rm(code, reg, rm);
}

static inline void emit_vex_imm(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second,
                                struct x86_rm rm, unsigned immediate) {
    emit_vex(code, form, reg, second, rm);
    emit_byte(code, immediate);
}

/* A blend by a mask in a register. */
static inline void emit_vex_blend(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second,
                                  struct x86_rm rm, unsigned mask) {
    emit_vex_imm(code, form, reg, second, rm, mask << 4);
}

/* An instruction on registers that rounds to nearest, whatever MXCSR says. */
static inline void emit_evex_nearest(struct g4_code *code, enum x86_form form, unsigned reg, unsigned second,
                                     unsigned rm, unsigned mask, unsigned zero) {
    const size_t start = code->size;
    emit_evex(code, form, reg, second, x86_rm_reg(rm), mask, zero);
    if (!code->failed) {
        code->bytes[start + 3] = (uint8_t)((code->bytes[start + 3] & ~(3u << 5)) | 1u << 4);
    }
}

/* ---- mask registers ---- */

/* to = a form b, of sixteen bits */
static inline void emit_masks(struct g4_code *code, enum x86_mask_form form, unsigned to, unsigned a, unsigned b) {
    emit_byte(code, 0xc5);
    emit_byte(code, 0x80 | (~a & 15) << 3 | 4);
    emit_byte(code, form);
    emit_rm(code, to, x86_rm_reg(b));
}

/* A VEX instruction on sixteen bits of a mask. */
static inline void emit_kmask_op(struct g4_code *code, unsigned opcode, unsigned reg, struct x86_rm rm) {
    if (rm.memory && rm.reg >= 8) {
        emit_byte(code, 0xc4);
        emit_byte(code, 0xc1);
        emit_byte(code, 0x78);
    } else {
        emit_byte(code, 0xc5);
        emit_byte(code, 0xf8);
    }
    emit_byte(code, opcode);
    emit_rm(code, reg, rm);
}

/* kmovw to, [from] */
static inline void emit_mask_load(struct g4_code *code, unsigned to, struct x86_rm from) {
    emit_kmask_op(code, 0x90, to, from);
}

/* kmovw [to], from */
static inline void emit_mask_store(struct g4_code *code, unsigned from, struct x86_rm to) {
    emit_kmask_op(code, 0x91, from, to);
}

/* kmovw to, from: a mask from a general register */
static inline void emit_mask_from_reg(struct g4_code *code, unsigned to, enum x86_reg from) {
    emit_kmask_op(code, 0x92, to, x86_rm_reg(from));
}

/* kmovw to, from: a general register from a mask */
static inline void emit_reg_from_mask(struct g4_code *code, enum x86_reg to, unsigned from) {
    emit_kmask_op(code, 0x93, to, x86_rm_reg(from));
}

/* kmovw to, from */
static inline void emit_mask_move(struct g4_code *code, unsigned to, unsigned from) {
    emit_kmask_op(code, 0x90, to, x86_rm_reg(from));
}

/* kortestw a, b: the zero flag is set if no bit of either mask is */
static inline void emit_kortest(struct g4_code *code, unsigned a, unsigned b) {
    emit_kmask_op(code, 0x98, a, x86_rm_reg(b));
}

static inline void emit_mask_shift(struct g4_code *code, unsigned opcode, unsigned to, unsigned from, unsigned bits) {
    emit_byte(code, 0xc4);
    emit_byte(code, 0xe3);
    emit_byte(code, 0xf9);
    emit_byte(code, opcode);
    emit_rm(code, to, x86_rm_reg(from));
    emit_byte(code, bits);
}

/* kshiftlw to, from, bits */
static inline void emit_mask_shift_left(struct g4_code *code, unsigned to, unsigned from, unsigned bits) {
    emit_mask_shift(code, 0x32, to, from, bits);
}

/* kshiftrw to, from, 8: the lanes of the second thread */
static inline void emit_mask_high(struct g4_code *code, unsigned to, unsigned from) {
    emit_mask_shift(code, 0x30, to, from, 8);
}

/* ---- general registers ---- */

/* The prefix of 64-bit operands and of registers from R8 on; none if they are not needed. */
static inline void emit_rex(struct g4_code *code, bool wide, unsigned reg, unsigned rm) {
    const unsigned rex = (wide ? 8u : 0u) | (reg >> 3 & 1) << 2 | (rm >> 3 & 1);
    if (rex) {
        emit_byte(code, 0x40 | rex);
    }
}

/* op dst, src: of 32 bits */
static inline void emit_alu(struct g4_code *code, enum x86_alu op, enum x86_reg dst, enum x86_reg src) {
    emit_rex(code, false, src, dst);
    emit_byte(code, op | 1);
    emit_rm(code, src, x86_rm_reg(dst));
}

/* op dst, src: of 8 bits */
static inline void emit_alu8(struct g4_code *code, enum x86_alu op, enum x86_reg dst, enum x86_reg src) {
    emit_rex(code, false, src, dst);
    emit_byte(code, op);
    emit_rm(code, src, x86_rm_reg(dst));
}

/* op [dst], src: of 32 bits */
static inline void emit_alu_to_memory(struct g4_code *code, enum x86_alu op, struct x86_rm dst, enum x86_reg src) {
    emit_rex(code, false, src, dst.reg);
    emit_byte(code, op | 1);
    emit_rm(code, src, dst);
}

/* op dst, [src]: of 32 bits, or of 64 if `wide` */
static inline void emit_alu_from_memory(struct g4_code *code, enum x86_alu op, bool wide, enum x86_reg dst,
                                        struct x86_rm src) {
    emit_rex(code, wide, dst, src.reg);
    emit_byte(code, op | 3);
    emit_rm(code, dst, src);
}

/* mov [dst], src: of 8 bits; AL */
static inline void emit_store8(struct g4_code *code, struct x86_rm dst, enum x86_reg src) {
    emit_rex(code, false, src, dst.reg);
    emit_byte(code, X86_MOV);
    emit_rm(code, src, dst);
}

/* inc [dst]: of 32 bits */
static inline void emit_inc_memory(struct g4_code *code, struct x86_rm dst) {
    emit_rex(code, false, 0, dst.reg);
    emit_byte(code, 0xff);
    emit_rm(code, 0, dst);
}

/* cmp [dst], value: of 8 bits */
static inline void emit_compare8_memory(struct g4_code *code, struct x86_rm dst, uint8_t value) {
    emit_rex(code, false, 0, dst.reg);
    emit_byte(code, 0x80);
    emit_rm(code, X86_CMP >> 3, dst);
    emit_byte(code, value);
}

/* lea dst, [src + offset]: of 64 bits */
static inline void emit_lea(struct g4_code *code, enum x86_reg dst, struct x86_rm src) {
    emit_rex(code, true, dst, src.reg);
    emit_byte(code, 0x8d);
    emit_rm(code, dst, src);
}

/* Of the registers below R8. */
static inline void emit_push(struct g4_code *code, enum x86_reg reg) {
    emit_byte(code, 0x50 | reg);
}

static inline void emit_pop(struct g4_code *code, enum x86_reg reg) {
    emit_byte(code, 0x58 | reg);
}

static inline void emit_alu_immediate(struct g4_code *code, enum x86_alu op, bool wide, enum x86_reg dst,
                                      int32_t value) {
    const bool is_short = value >= INT8_MIN && value <= INT8_MAX;
    emit_rex(code, wide, 0, dst);
    if (dst == X86_RAX && !is_short) {
        emit_byte(code, op | 5);
    } else {
        emit_byte(code, is_short ? 0x83 : 0x81);
        emit_rm(code, op >> 3, x86_rm_reg(dst));
    }
    if (is_short) {
        emit_byte(code, (uint8_t)value);
    } else {
        emit_dword(code, (uint32_t)value);
    }
}

/* op dst, value: of 32 bits */
static inline void emit_alu_imm(struct g4_code *code, enum x86_alu op, enum x86_reg dst, int32_t value) {
    emit_alu_immediate(code, op, false, dst, value);
}

/* op dst, value: of 64 bits */
static inline void emit_alu64_imm(struct g4_code *code, enum x86_alu op, enum x86_reg dst, int32_t value) {
    emit_alu_immediate(code, op, true, dst, value);
}

/* op dst, value: of 8 bits; AL or AH */
static inline void emit_alu8_imm(struct g4_code *code, enum x86_alu op, enum x86_reg dst, uint8_t value) {
    if (dst == X86_RAX) {
        emit_byte(code, op | 4);
    } else {
        emit_byte(code, 0x80);
        emit_rm(code, op >> 3, x86_rm_reg(dst));
    }
    emit_byte(code, value);
}

/* mov dst, value: of 32 bits */
static inline void emit_mov_imm(struct g4_code *code, enum x86_reg dst, uint32_t value) {
    emit_rex(code, false, 0, dst);
    emit_byte(code, 0xb8 | (dst & 7));
    emit_dword(code, value);
}

/* mov dst, value: of 64 bits */
static inline void emit_mov64_imm(struct g4_code *code, enum x86_reg dst, uint64_t value) {
    emit_rex(code, true, 0, dst);
    emit_byte(code, 0xb8 | (dst & 7));
    emit_dword(code, (uint32_t)value);
    emit_dword(code, (uint32_t)(value >> 32));
}

/* test a, b: of 64 bits */
static inline void emit_test64(struct g4_code *code, enum x86_reg a, enum x86_reg b) {
    emit_rex(code, true, b, a);
    emit_byte(code, 0x85);
    emit_rm(code, b, x86_rm_reg(a));
}

/* test dst, value: of 32 bits */
static inline void emit_test_imm(struct g4_code *code, enum x86_reg dst, uint32_t value) {
    emit_rex(code, false, 0, dst);
    emit_byte(code, 0xf7);
    emit_rm(code, 0, x86_rm_reg(dst));
    emit_dword(code, value);
}

/* imul dst, src, value: of 32 bits */
static inline void emit_imul_imm(struct g4_code *code, enum x86_reg dst, enum x86_reg src, uint32_t value) {
    emit_rex(code, false, dst, src);
    emit_byte(code, 0x69);
    emit_rm(code, dst, x86_rm_reg(src));
    emit_dword(code, value);
}

/* not dst: of 32 bits */
static inline void emit_not(struct g4_code *code, enum x86_reg dst) {
    emit_rex(code, false, 0, dst);
    emit_byte(code, 0xf7);
    emit_rm(code, 2, x86_rm_reg(dst));
}

/* inc dst: of 32 bits */
static inline void emit_inc(struct g4_code *code, enum x86_reg dst) {
    emit_rex(code, false, 0, dst);
    emit_byte(code, 0xff);
    emit_rm(code, 0, x86_rm_reg(dst));
}

/* pdep eax, eax, r10d */
static inline void emit_pdep_eax_r10d(struct g4_code *code) {
    emit_byte(code, 0xc4);
    emit_byte(code, 0xc2);
    emit_byte(code, 0x7b);
    emit_byte(code, 0xf5);
    emit_byte(code, 0xc2);
}

/* An operand [rsp + offset] with an offset of eight bits. */
static inline void emit_stack_operand(struct g4_code *code, unsigned reg, int8_t offset) {
    emit_byte(code, 0x44 | reg << 3);
    emit_byte(code, 0x24);
    emit_byte(code, (uint8_t)offset);
}

/* stmxcsr [rsp + offset] */
static inline void emit_stmxcsr_stack(struct g4_code *code, int8_t offset) {
    emit_byte(code, 0x0f);
    emit_byte(code, 0xae);
    emit_stack_operand(code, 3, offset);
}

/* ldmxcsr [src] */
static inline void emit_ldmxcsr(struct g4_code *code, struct x86_rm src) {
    emit_rex(code, false, 0, src.reg);
    emit_byte(code, 0x0f);
    emit_byte(code, 0xae);
    emit_rm(code, 2, src);
}

/* test byte [rsp + offset], bits */
static inline void emit_test_stack(struct g4_code *code, int8_t offset, uint8_t bits) {
    emit_byte(code, 0xf6);
    emit_stack_operand(code, 0, offset);
    emit_byte(code, bits);
}

static inline void emit_vzeroupper(struct g4_code *code) {
    emit_byte(code, 0xc5);
    emit_byte(code, 0xf8);
    emit_byte(code, 0x77);
}

static inline void emit_ret(struct g4_code *code) {
    emit_byte(code, 0xc3);
}

/* Return a value that is known now. */
static inline void emit_return(struct g4_code *code, uint32_t value) {
    emit_mov_imm(code, X86_RAX, value);
    emit_vzeroupper(code);
    emit_ret(code);
}

/* ---- masks from general registers ---- */

/* A mask of sixteen bits that are known now; eax is lost. */
static inline void emit_mask_constant(struct g4_code *code, unsigned to, uint32_t bits) {
    emit_mov_imm(code, X86_RAX, bits);
    emit_mask_from_reg(code, to, X86_RAX);
}

/* to: the sixteen bits of `from`, in order, where `places` has ones; eax and r10 are lost. */
static inline void emit_mask_deposit(struct g4_code *code, unsigned to, unsigned from, uint32_t places) {
    emit_reg_from_mask(code, X86_RAX, from);
    emit_mov_imm(code, X86_R10, places);
    emit_pdep_eax_r10d(code);
    emit_byte(code, 0xc5); /* kmovd to, eax */
    emit_byte(code, 0xfb);
    emit_byte(code, 0x92);
    emit_rm(code, to, x86_rm_reg(X86_RAX));
}

/* ---- jumps ---- */

/* Emit a forward jump and return its patch location. */
static inline size_t emit_jump(struct g4_code *code, enum x86_jump jump) {
    if (jump != X86_JMP) {
        emit_byte(code, 0x0f);
    }
    emit_byte(code, jump);
    emit_dword(code, 0);
    return code->size;
}

static inline void patch_jump_to(struct g4_code *code, size_t jump, size_t target) {
    const uint32_t distance = (uint32_t)(target - jump);
    if (!code->failed) {
        memcpy(code->bytes + jump - sizeof distance, &distance, sizeof distance);
    }
}

/* Let a jump go to the current position. */
static inline void patch_jump(struct g4_code *code, size_t jump) {
    patch_jump_to(code, jump, code->size);
}

/* Emit a jump to a position that is known. */
static inline void emit_jump_to(struct g4_code *code, enum x86_jump jump, size_t target) {
    patch_jump_to(code, emit_jump(code, jump), target);
}

#endif
