/*
 * Divides kernels into blocks and translates basic blocks (jit.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/jit/translator.h"

#if G4_HAVE_X86_VARIANTS

enum {
    MIN_OPS = 1, /* of a block that is worth a call */
};

/* ---- constants ---- */

size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size) {
    while (constants->size % size && !constants->failed) {
        emit_byte(constants, 0);
    }
    for (size_t at = 0; at + size <= constants->size; at += size) {
        if (memcmp(constants->bytes + at, bytes, size) == 0) {
            return at;
        }
    }
    const size_t at = constants->size;
    for (size_t i = 0; i < size; i++) {
        emit_byte(constants, ((const uint8_t *)bytes)[i]);
    }
    return at;
}

/* ---- basic blocks ---- */

void g4_block_cost_add(struct g4_block_cost *block, const struct g4_op *op) {
    block->count++;
    block->channels += op->exec_size;
    block->messages += op->opcode == G4_OPCODE_SEND ? op->passes : 0;
}

struct pair_loop {
    size_t top;
    size_t no_lanes; /* jump if no thread of a pair is in the group */
};

/* The code loops over the pairs of threads.  R8 has the bit of the current pair, R9 the bits of failed pairs, R11
 * points to the accumulators of the pair. */
static void begin(struct translator *t, struct pair_loop *loop) {
    struct g4_code *const code = &t->code;

    memset(&t->s, 0, sizeof t->s);
    t->loop = false;
    emit_mov_imm(code, X86_R8, 1);
    emit_alu(code, X86_XOR, X86_R9, X86_R9);
    emit_mov64(code, X86_R11, X86_RDI);
    emit_evex(code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    loop->top = code->size;
    emit_mask_load(code, K_GROUP, g4_rm_at(X86_RSI, 2 * sizeof(g4_lanes)));
    emit_kortest(code, K_GROUP, K_GROUP);
    loop->no_lanes = emit_jump(code, X86_JZ);
    emit_mask_load(code, K_EXEC_0, g4_rm_at(X86_RSI, 0));
    emit_mask_load(code, K_EXEC_1, g4_rm_at(X86_RSI, sizeof(g4_lanes)));
    emit_masks(code, G4_K_XOR, K_FAILED, K_FAILED, K_FAILED);
    emit_evex(code, G4_X_XOR, MAGNITUDE, MAGNITUDE, g4_rm_reg(MAGNITUDE), 0, G4_MERGE);
}

/* Store the results of the pair, and continue with the next one or return. */
static void finish(struct translator *t, const struct pair_loop *loop) {
    struct g4_code *const code = &t->code;
    const bool checks = t->s.checks_failed || t->s.checks_magnitude;
    size_t jump = 0;

    if (t->s.checks_magnitude) {
        const uint32_t limit = 0x7f7fffff;
        emit_evex_imm(code, G4_X_CMPUD, K_BITS, MAGNITUDE,
                      g4_rm_all(X86_RCX, g4_constant(&t->constants, &limit, sizeof limit)), 0, G4_MERGE,
                      5 /* not less */);
        emit_masks(code, G4_K_OR, K_FAILED, K_FAILED, K_BITS);
    }
    if (checks) {
        emit_kortest(code, K_FAILED, K_FAILED);
        jump = emit_jump(code, X86_JNZ);
    }
    for (unsigned i = 0; i < BLOCK_VREGS; i++) {
        const struct vreg *const h = &t->s.vregs[i];
        if (h->dirty) {
            emit_evex(code, G4_X_STORE, i, 0,
                      h->content == HOLDS_SUM ? g4_sum_in_memory(h->row, h->element) : g4_row_in_memory(h->row, 0), 0,
                      G4_MERGE);
        }
    }
    const size_t next_pair = code->size;
    patch_jump(code, loop->no_lanes);
    emit_alu64_imm(code, X86_ADD, X86_RDI, ROW_BYTES);
    emit_alu64_imm(code, X86_ADD, X86_R11, 2 * sizeof(((union g4_acc *)0)->f[0]));
    emit_alu64_imm(code, X86_ADD, X86_RSI, 2);
    emit_alu64_imm(code, X86_ADD, X86_RDX, 2);
    emit_alu(code, X86_ADD, X86_R8, X86_R8);
    emit_alu_imm(code, X86_CMP, X86_R8, 1 << G4_GANG_THREADS / 2);
    emit_jump_to(code, X86_JB, loop->top);
    emit_alu(code, X86_MOV, X86_RAX, X86_R9);
    emit_vzeroupper(code);
    emit_ret(code);
    if (checks) {
        patch_jump(code, jump);
        emit_alu(code, X86_OR, X86_R9, X86_R8);
        emit_jump_to(code, X86_JMP, next_pair);
    }
}

/* Translate as many ops as possible; returns their number.  0: none, and no code is emitted. */
static uint32_t translate_from(struct translator *t, const struct g4_op *ops, uint32_t left, const bool *is_target) {
    const size_t start = t->code.size;
    uint32_t count = 0;
    uint32_t ops_lowered = 0;
    struct pair_loop loop;

    begin(t, &loop);
    while (count < left && (count == 0 || !is_target[count])) {
        const struct vreg_state before = t->s;
        const size_t size = t->code.size;
        if (!g4_lower_op(t, &ops[count]) || t->s.out_of_vregs) {
            t->s = before;
            t->code.size = size;
            break;
        }
        ops_lowered += ops[count].handler != G4_HANDLER_NOP;
        count++;
    }
    if (ops_lowered < MIN_OPS) {
        t->code.size = start;
        return 0;
    }
    finish(t, &loop);
    return count;
}

/* Mark the ops that instructions jump to. */
static void mark_targets(const struct g4_kernel *kernel, bool *is_target) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        uint32_t target = 0;
        if (g4_op_branches(op)) {
            target = op->target;
        } else if (!g4_op_writes_ip(op) || !g4_op_ip_target(op, &target)) {
            continue;
        }
        const uint32_t at = target - kernel->base;
        if (at < kernel->bytes && kernel->index[at >> 3] != G4_KERNEL_NONE) {
            is_target[kernel->index[at >> 3]] = true;
        }
    }
}

static void describe(const struct translator *t, struct g4_jit_block *block, const struct g4_op *ops, uint32_t count,
                     size_t start) {
    *block = (struct g4_jit_block){.start = start,
                                   .count = count,
                                   .last_ip = ops[count - 1].ip,
                                   .fuel = count,
                                   .top = t->s.top,
                                   .ieee_only = t->s.ieee_only};
    for (uint32_t i = 0; i < count; i++) {
        g4_block_cost_add(&block->total, &ops[i]);
    }
}

static void translate_all(struct translator *t, struct g4_kernel *kernel, struct g4_translation *translation,
                          const bool *is_target) {
    for (uint32_t i = 0; i < kernel->count;) {
        struct g4_op *const op = &kernel->ops[i];
        struct g4_jit_block *const block = &translation->blocks[translation->count];
        const size_t start = t->code.size;
        uint32_t count = 1;

        if (g4_op_opens(op) && !kernel->reads_stacks) {
            if (g4_lower_loop(t, op, kernel->count - i, block)) {
                block->start = start;
                op->block = block;
                translation->count++;
            } else {
                t->code.size = start;
            }
        } else {
            const uint32_t own = translate_from(t, op, kernel->count - i, is_target + i);
            if (own) {
                describe(t, block, op, own, start);
                op->block = block;
                translation->count++;
                count = own;
            }
        }
        i += count;
    }
}

void g4_translate(struct g4_kernel *kernel, uint32_t gen) {
    if (g4_variant_best() != G4_VARIANT_AVX512) {
        return;
    }
    struct g4_translation *const translation = calloc(1, sizeof *translation);
    bool *const is_target = calloc(kernel->count + 1, sizeof *is_target);
    struct translator t = {.gen = gen};

    if (!translation || !is_target || !(translation->blocks = calloc(kernel->count + 1, sizeof *translation->blocks))) {
        free(is_target);
        g4_translation_free(translation);
        return;
    }
    translation->capacity = kernel->count + 1;
    mark_targets(kernel, is_target);
    translate_all(&t, kernel, translation, is_target);
    if (!t.code.failed && !t.constants.failed && translation->count &&
        g4_translation_seal(translation, &t.code, &t.constants)) {
        kernel->translation = translation;
    } else {
        for (uint32_t i = 0; i < kernel->count; i++) {
            kernel->ops[i].block = NULL;
        }
        g4_translation_free(translation);
    }
    free(is_target);
    free(t.code.bytes);
    free(t.constants.bytes);
}

#endif
