/*
 * Divides kernels into blocks and translates basic blocks (jit.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/jit/translator.h"

#if G4_HAVE_X86_VARIANTS

enum {
    MAX_BLOCK_OPS = 256
};

/* ---- basic blocks ---- */

void g4_block_cost_add(struct g4_block_cost *block, const struct g4_op *op) {
    block->count++;
    block->channels += op->exec_size;
    block->messages += op->opcode == G4_OPCODE_SEND ? op->passes : 0;
}

bool g4_emit_block(struct translator *t) {
    const size_t start = t->code.size;
    struct emitter *const e = &t->emitter;
    e->backend = t->backend;
    e->code = &t->code;
    e->constants = &t->constants;
    e->fpenv = t->fpenv;
    if (!g4_emit(e, &t->ir)) {
        t->code.size = start;
        return false;
    }
    return true;
}

/* The use that a block makes of a row before its end. */
struct row_use {
    uint8_t covered; /* enum lanes in which it has been written as a whole */
    uint8_t kinds;   /* enum lanes of all writes */
    bool across;     /* lanes have read others */
    bool late;       /* the handlers may need its contents before the block */
};

static void record_use(struct row_use *uses, struct row_state *states, const struct g4_op_rows *rows, uint32_t at) {
    for (int i = 0; i < rows->ins; i++) {
        struct row_use *const use = &uses[rows->in[i].row];
        const unsigned lanes = rows->in[i].lanes;
        use->across |= lanes == 0;
        use->late |= lanes ? !(use->covered & (lanes | LANES_GROUP)) : !use->covered;
    }
    for (int i = 0; i < rows->outs; i++) {
        struct row_use *const use = &uses[rows->out[i].row];
        const unsigned lanes = rows->out[i].lanes;
        use->late |= rows->out[i].gated && !(use->covered & (lanes | LANES_GROUP));
        use->kinds |= (uint8_t)lanes;
        use->covered |= rows->out[i].whole ? (uint8_t)lanes : 0;
        states[rows->out[i].row].last_write = at;
    }
}

/* Find the rows that may be stored before it is known whether the block succeeds.  The handlers execute a block that
 * fails from its start, and write the same lanes again before they read them. */
static void find_homes(struct translator *t, const struct g4_op *ops, uint32_t count) {
    struct row_use uses[ROWS] = {{0}};
    struct g4_op_rows rows;

    for (uint32_t i = 0; i < count; i++) {
        g4_op_rows_of(&ops[i], &rows);
        record_use(uses, t->rows, &rows, i);
    }
    for (unsigned row = 0; row < ROWS; row++) {
        const bool one_kind = (uses[row].kinds & (uses[row].kinds - 1)) == 0;
        const bool late = uses[row].late || (uses[row].across && !one_kind);
        t->rows[row].home = uses[row].kinds && late ? ROW_LATE : ROW_EARLY;
    }
}

/* Translate ops until one cannot be; returns their number. */
static uint32_t lower_ops(struct translator *t, const struct g4_op *ops, uint32_t left, const bool *is_target) {
    uint32_t count = 0;
    while (count < left && (count == 0 || !is_target[count])) {
        t->at = count;
        if (!g4_lower_op(t, &ops[count])) {
            break;
        }
        count++;
    }
    return count;
}

static bool has_work(const struct g4_op *ops, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].handler != G4_HANDLER_NOP) {
            return true;
        }
    }
    return false;
}

/* Store the results of a unit if it has succeeded, and continue with the next one.  If nothing is stored then, all
 * units may fail together, and exceptions are tested once, behind the last one: reading them waits for all arithmetic.
 */
static void finish(struct translator *t) {
    const uint32_t next = ir_label(&t->ir);
    const uint32_t failure = ir_label(&t->ir);
    const bool together = t->raises && !g4_stores_late(t);
    const bool alone = t->raises && !together;
    g4_jump_if_special(t, IR_NONE, failure);
    if (alone) {
        ir_add(&t->ir, (struct ir_instruction){.op = IR_JUMP_IF_RAISED, .at = failure});
    }
    g4_store_late(t);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LABEL, .at = next});
    ir_add(&t->ir, (struct ir_instruction){.op = IR_NEXT_UNIT, .imm = together});
    if (t->largest != IR_NONE || alone) {
        ir_add(&t->ir, (struct ir_instruction){.op = IR_LABEL, .at = failure});
        ir_add(&t->ir, (struct ir_instruction){.op = IR_FAIL_UNIT, .imm = together, .at = next});
    }
}

/* Translate as many ops as possible; returns their number.  0: none, and no code is emitted. */
static uint32_t translate_from(struct translator *t, const struct g4_op *ops, uint32_t left, const bool *is_target) {
    g4_translator_clear(t);
    uint32_t count = lower_ops(t, ops, left < MAX_BLOCK_OPS ? left : MAX_BLOCK_OPS, is_target);
    for (; has_work(ops, count); count /= 2) { /* until the values fit in memory */
        g4_translator_clear(t);
        find_homes(t, ops, count);
        ir_add(&t->ir, (struct ir_instruction){.op = IR_BEGIN_UNITS});
        t->end = count;
        (void)lower_ops(t, ops, count, is_target);
        finish(t);
        ir_remove_blends(&t->ir);
        if (g4_emit_block(t)) {
            return count;
        }
    }
    return 0;
}

/* Mark the ops that instructions jump to. */
static void mark(const struct g4_kernel *kernel, bool *is_target, uint32_t ip) {
    const struct g4_op *const op = g4_kernel_find_own(kernel, ip);
    if (op) {
        is_target[op - kernel->ops] = true;
    }
}

static void mark_targets(const struct g4_kernel *kernel, bool *is_target) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        uint32_t target = 0;
        if (g4_op_branches(op)) {
            mark(kernel, is_target, op->target);
            mark(kernel, is_target, op->channel_pointers ? op->uip : op->target);
        } else if (g4_op_writes_ip(op) && g4_op_ip_target(op, &target)) {
            mark(kernel, is_target, target);
        }
    }
}

/* Count the loops that begin at each op without an instruction of their own: a `while` jumps back to it. */
static void find_loops(const struct g4_kernel *kernel, uint8_t *begins) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool loops = op->channel_pointers && op->opcode == G4_OPCODE_WHILE && op->target <= op->ip;
        const struct g4_op *const first = loops ? g4_kernel_find_own(kernel, op->target) : NULL;
        if (first && begins[first - kernel->ops] < UINT8_MAX) {
            begins[first - kernel->ops]++;
        }
    }
}

static void describe(const struct translator *t, struct g4_jit_block *block, const struct g4_op *ops, uint32_t count,
                     size_t start) {
    *block = (struct g4_jit_block){.threads = t->backend->threads,
                                   .start = start,
                                   .count = count,
                                   .last_ip = ops[count - 1].ip,
                                   .fuel = count,
                                   .top = t->top,
                                   .ieee_only = t->ieee_only,
                                   .flushes = t->flushes,
                                   .raises = t->raises,
                                   .wide_only = t->wide_only};
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

        t->first = i;
        if ((g4_op_opens(op) || t->begins[i]) && !kernel->start.stacks &&
            g4_lower_loop(t, op, kernel->count - i, block)) {
            block->start = start;
            op->block = block;
            translation->count++;
        } else {
            t->code.size = start;
            t->backend = t->usual_backend;
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

void g4_translate(struct g4_kernel *kernel, const struct g4_context *ctx) {
    const enum g4_variant variant = g4_variant_current();
    if (variant != G4_VARIANT_AVX512 && variant != G4_VARIANT_AVX2) {
        return;
    }
    struct g4_translation *const translation = calloc(1, sizeof *translation);
    bool *const is_target = calloc(kernel->count + 1, sizeof *is_target);
    uint8_t *const begins = calloc(kernel->count + 1, sizeof *begins);
    struct translator *const t = calloc(1, sizeof *t);

    if (!translation || !is_target || !begins || !t ||
        !(translation->blocks = calloc(kernel->count + 1, sizeof *translation->blocks))) {
        free(is_target);
        free(begins);
        free(t);
        g4_translation_free(translation);
        return;
    }
    /* rows that are not read again need not be stored, unless something else reads registers of ended threads */
    struct g4_live *const live = ctx->keeps_registers ? NULL : g4_liveness(kernel);
    t->gen = ctx->gen;
    t->live = live;
    t->usual_backend = variant == G4_VARIANT_AVX512 ? &g4_backend_avx512 : &g4_backend_avx2;
    t->waiting_backend = variant == G4_VARIANT_AVX512 ? NULL : &g4_backend_avx2_waiting;
    t->kernel = kernel;
    t->begins = begins;
    t->fpenv = translation->fpenv = g4_fpenv_of(ctx);
    t->own_floats = g4_kernel_writes_control(kernel);
    for (int i = 0; i < G4_JIT_FIXED_BYTES; i++) { /* filled in when the code is complete */
        emit_byte(&t->constants, 0);
    }
    translation->variant = variant;
    translation->drops_rows = live != NULL;
    translation->capacity = kernel->count + 1;
    mark_targets(kernel, is_target);
    find_loops(kernel, begins);
    translate_all(t, kernel, translation, is_target);
    if (!t->code.failed && !t->constants.failed && translation->count &&
        g4_translation_seal(translation, &t->code, &t->constants)) {
        kernel->translation = translation;
    } else {
        for (uint32_t i = 0; i < kernel->count; i++) {
            kernel->ops[i].block = NULL;
        }
        g4_translation_free(translation);
    }
    free(is_target);
    free(begins);
    free(live);
    free(t->code.bytes);
    free(t->constants.bytes);
    ir_free(&t->ir);
    free(t);
}

#endif
