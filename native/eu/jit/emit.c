/*
 * Emits control flow, and drives the back ends (emit.h).
 */
#include "eu/jit/emit.h"

#include <string.h>

#include "eu/gang.h"

size_t g4_constant(struct g4_code *constants, const void *bytes, size_t size) {
    while (constants->size % size && !constants->failed) {
        emit_byte(constants, 0);
    }
    for (size_t at = G4_JIT_FIXED_BYTES; at + size <= constants->size; at += size) {
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

/* ---- jumps ---- */

static bool jump_to_label(struct emitter *e, enum x86_jump jump, uint32_t label) {
    if (e->jump_count == MAX_JUMPS) {
        return false;
    }
    e->jumps[e->jump_count].jump = emit_jump(e->code, jump);
    e->jumps[e->jump_count++].label = label;
    return true;
}

static void patch_jumps(struct emitter *e) {
    for (uint32_t i = 0; i < e->jump_count; i++) {
        patch_jump_to(e->code, e->jumps[i].jump, e->labels[e->jumps[i].label]);
    }
}

enum {
    BELOW_STACK = -8, /* offset from rsp: in the red zone of the calling convention */
};

static void test_exceptions(struct emitter *e) {
    emit_stmxcsr_stack(e->code, BELOW_STACK);
    emit_test_stack(e->code, BELOW_STACK, X86_MXCSR_INVALID | X86_MXCSR_OVERFLOW);
}

/* Jump unless all threads of the unit have slopes of zero and the same constant, which is neither -0 nor denormal: the
 * sum of the products and a constant -0 depends on their signs.  A sum of -0 and +0 is +0 in all modes of rounding that
 * machine code has. */
static bool jump_if_sloped(struct emitter *e, size_t plane, uint32_t label) {
    enum {
        CONSTANT = 12, /* offset; the slopes are the first two dwords */
    };
    struct g4_code *const code = e->code;
    const unsigned threads = e->backend->threads;
    bool done = true;
    for (unsigned t = 0; t < threads; t++) {
        emit_alu_from_memory(code, t ? X86_OR : X86_MOV, true, X86_RAX,
                             x86_rm_at(ROWS_REG, plane + t * (size_t)G4_REGISTER_BYTES));
    }
    emit_mov64_imm(code, TEMP_REG, 0x7fffffff7fffffff);
    emit_test64(code, X86_RAX, TEMP_REG);
    done &= jump_to_label(e, X86_JNZ, label);
    emit_alu_from_memory(code, X86_MOV, false, X86_RAX, x86_rm_at(ROWS_REG, plane + CONSTANT));
    for (unsigned t = 1; t < threads; t++) {
        emit_alu_from_memory(code, X86_CMP, false, X86_RAX,
                             x86_rm_at(ROWS_REG, plane + CONSTANT + t * (size_t)G4_REGISTER_BYTES));
        done &= jump_to_label(e, X86_JNZ, label);
    }
    emit_test_imm(code, X86_RAX, 0x7f800000);
    const size_t normal = emit_jump(code, X86_JNZ);
    emit_test_imm(code, X86_RAX, UINT32_MAX);
    done &= jump_to_label(e, X86_JNZ, label);
    patch_jump(code, normal);
    return done;
}

/* ---- units ---- */

/* A loop over the units of the gang. */
static void begin_units(struct emitter *e) {
    struct g4_code *const code = e->code;
    if (e->sums) {
        emit_push(code, SUMS_REG);
        emit_lea(code, SUMS_REG, x86_rm_at(GANG_REG, offsetof(struct g4_gang, acc)));
    }
    emit_mov_imm(code, TURN_REG, 1);
    emit_alu(code, X86_XOR, COUNTER_REG, COUNTER_REG);
    e->units_top = code->size;
    e->backend->test_group(e);
    e->no_threads = emit_jump(code, X86_JZ);
}

static void next_unit(struct emitter *e, bool tests_exceptions) {
    struct g4_code *const code = e->code;
    const int32_t threads = (int32_t)e->backend->threads;
    patch_jump(code, e->no_threads);
    emit_alu64_imm(code, X86_ADD, ROWS_REG, threads * (int32_t)G4_REGISTER_BYTES);
    emit_alu64_imm(code, X86_ADD, EXEC_REG, threads);
    emit_alu64_imm(code, X86_ADD, GANG_REG, threads);
    if (e->sums) {
        emit_alu64_imm(code, X86_ADD, SUMS_REG, threads * (int32_t)sizeof(((union g4_acc *)0)->f[0]));
    }
    emit_alu(code, X86_ADD, TURN_REG, TURN_REG);
    emit_alu_imm(code, X86_CMP, TURN_REG, 1 << G4_GANG_THREADS / threads);
    emit_jump_to(code, X86_JB, e->units_top);
    if (tests_exceptions) {
        test_exceptions(e);
        const size_t succeeded = emit_jump(code, X86_JZ);
        emit_ldmxcsr(code, x86_rm_at(CONSTANTS_REG, G4_JIT_FPENV));
        emit_mov_imm(code, COUNTER_REG, (1 << G4_GANG_THREADS / threads) - 1);
        patch_jump(code, succeeded);
    }
    emit_alu(code, X86_MOV, X86_RAX, COUNTER_REG);
    if (e->sums) {
        emit_pop(code, SUMS_REG);
    }
    emit_vzeroupper(code);
    emit_ret(code);
}

/* Note the failure of a unit, and clear exceptions that it has raised, unless they are tested for all units together.
 */
static bool fail_unit(struct emitter *e, uint32_t next, bool keeps_exceptions) {
    if (!keeps_exceptions) {
        emit_ldmxcsr(e->code, x86_rm_at(CONSTANTS_REG, G4_JIT_FPENV));
    }
    emit_alu(e->code, X86_OR, COUNTER_REG, TURN_REG);
    return jump_to_label(e, X86_JMP, next);
}

/* ---- all operations ---- */

static void add_count(struct emitter *e, struct x86_rm count) {
    if (e->backend->threads > 1) {
        emit_alu_to_memory(e->code, X86_ADD, count, COUNTER_REG);
    } else {
        emit_inc_memory(e->code, count);
    }
}

static bool emit_flow(struct emitter *e, const struct ir_instruction *ins) {
    struct g4_code *const code = e->code;
    switch (ins->op) {
    case IR_LABEL:
        e->labels[ins->at] = code->size;
        return true;
    case IR_JUMP:
        return jump_to_label(e, X86_JMP, ins->at);
    case IR_JUMP_IF_NONE:
        e->backend->test_masks(e, ins->a, ins->b);
        return jump_to_label(e, X86_JZ, ins->at);
    case IR_JUMP_IF_ANY:
        e->backend->test_masks(e, ins->a, ins->a);
        return jump_to_label(e, X86_JNZ, ins->at);
    case IR_JUMP_IF_RAISED:
        test_exceptions(e);
        return jump_to_label(e, X86_JNZ, ins->at);
    case IR_JUMP_IF_SLOPED:
        return jump_if_sloped(e, ins->at, ins->imm);
    case IR_BEGIN_TURNS:
        emit_alu(code, X86_XOR, TURN_REG, TURN_REG);
        return true;
    case IR_TURN:
        emit_inc(code, TURN_REG);
        emit_alu_imm(code, X86_CMP, TURN_REG, G4_LOOP_TURNS);
        return jump_to_label(e, X86_JNA, ins->at);
    case IR_COUNT_THREADS:
        if (e->backend->threads > 1) { /* the only thread of a unit has lanes: else it would have jumped */
            e->backend->count_threads(e, ins->a, ins->b);
        }
        return true;
    case IR_ADD_COUNT:
        add_count(e, x86_rm_at(SCRATCH_REG, offsetof(struct g4_jit_scratch, counts) + sizeof(uint32_t) * ins->at));
        return true;
    case IR_BEGIN_UNITS:
        begin_units(e);
        return true;
    case IR_NEXT_UNIT:
        next_unit(e, ins->imm);
        return true;
    case IR_FAIL_UNIT:
        return fail_unit(e, ins->at, ins->imm);
    default: /* IR_RETURN */
        emit_return(code, ins->at);
        return true;
    }
}

/* Emit a run of operations (ir.h) for each thread, or for all threads of the unit. */
static void emit_run(struct emitter *e, uint32_t begin, uint32_t end) {
    const uint32_t times = e->backend->registers.by_thread ? e->backend->threads : 1;
    for (e->thread = 0; e->thread < times; e->thread++) {
        for (uint32_t i = begin; i < end; i++) {
            if (e->ir->instructions[i].op != IR_NOTHING) {
                e->backend->emit(e, &e->ir->instructions[i]);
            }
        }
    }
    e->thread = 0;
}

bool g4_emit(struct emitter *e, struct ir *ir) {
    e->ir = ir;
    e->jump_count = 0;
    e->sums = false;
    if (ir->failed) {
        return false;
    }
    ir_remove_unused(ir);
    if (!ir_allocate(ir, &e->backend->registers)) {
        return false;
    }
    for (uint32_t i = 0; i < ir->count; i++) {
        e->sums |= ir->instructions[i].op == IR_LOAD_SUM || ir->instructions[i].op == IR_STORE_SUM;
    }
    for (uint32_t begin = 0, end = 0; begin < ir->count; begin = end) {
        end = ir_run_end(ir, begin);
        if (!ir_is_flow(ir->instructions[begin].op)) {
            emit_run(e, begin, end);
        } else if (!emit_flow(e, &ir->instructions[begin])) {
            return false;
        }
    }
    patch_jumps(e);
    return true;
}
