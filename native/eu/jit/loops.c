/*
 * Loops and branches as machine code (translator.h): a region, from DO to its WHILE or from IF to its ENDIF.
 *
 * Both threads of a pair go together; the masks say which lanes still take part, and the code leaves a loop or passes
 * over a branch when there are none.  So the masks at the end are those of the beginning, the stacks are as they were,
 * and nothing but registers and flags has changed.  They are stored after the end, but for rows that are never read:
 * those are written where they lie, and who runs the region puts them back when it fails.  Threads are counted at the
 * beginning of each block (r9, from block to block), since a thread without lanes would have jumped.  To make that so,
 * a branch has a break only as its last instruction and directly in the loop, and a region no cont and no instruction
 * that ignores masks.
 */
#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/jit/loops.h"

#if G4_HAVE_X86_VARIANTS

/* ---- is it one? ---- */

/* How many ops there are from DO or IF to the matching end; 0: none within reach. */
static uint32_t flow_length(const struct g4_op *ops, uint32_t left) {
    int depth = 0;
    for (uint32_t i = 0; i < left && i < MAX_OPS; i++) {
        depth += g4_op_opens(&ops[i]) - g4_op_closes(&ops[i]);
        if (depth == 0 && is_flow(&ops[i])) {
            return i + 1;
        }
    }
    return 0;
}

static bool uses_one_flag(struct loop *r, const struct g4_op *op) {
    if (op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE) {
        return true;
    }
    if (r->flag < 0) {
        r->flag = op->flag;
    }
    return r->flag == op->flag;
}

static bool is_simple_flow(const struct g4_op *op) {
    return (op->exec_size == 8 || op->exec_size == 16) && op->half == 0 && op->predicate <= G4_PRED_NORMAL &&
           !op->nomask && !op->breakpoint && !op->undefined;
}

static bool can_lower_all(struct loop *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        const struct g4_op *const op = &r->ops[i];
        if (!uses_one_flag(r, op) || !(is_flow(op) ? is_simple_flow(op) : g4_can_lower_in_loop(r->t, op))) {
            return false;
        }
    }
    return true;
}

/* ---- blocks ---- */

/* r9: the threads with lanes in either mask. */
static void count_threads(struct loop *r, unsigned low, unsigned high) {
    struct g4_code *const code = &r->t->code;
    emit_masks(code, G4_K_OR, K_TEMP, low, high);
    emit_reg_from_mask(code, X86_RAX, K_TEMP);
    emit_alu(code, X86_XOR, X86_R9, X86_R9);
    emit_alu8_imm(code, X86_CMP, X86_RAX, 1); /* borrows if the byte is 0: then sbb adds 0, else 1 */
    emit_alu_imm(code, X86_SBB, X86_R9, -1);
    emit_alu8_imm(code, X86_CMP, X86_AH, 1);
    emit_alu_imm(code, X86_SBB, X86_R9, -1);
}

/* A new block, to which the threads in r9 come. */
static bool begin_block(struct loop *r) {
    if (r->basic_block_count == G4_LOOP_BLOCKS) {
        return false;
    }
    const size_t count = offsetof(struct g4_loop_scratch, counts) + sizeof(uint32_t) * r->basic_block_count++;
    emit_alu_to_memory(&r->t->code, X86_ADD, g4_rm_at(X86_RSI, count), X86_R9);
    return true;
}

/* One to which those come that have lanes in these masks. */
static bool begin_block_of(struct loop *r, unsigned low, unsigned high) {
    count_threads(r, low, high);
    return begin_block(r);
}

static bool begin_block_of_exec(struct loop *r) {
    return begin_block_of(r, K_EXEC_0, K_EXEC_1);
}

static void count_op(struct loop *r, const struct g4_op *op) {
    g4_block_cost_add(&r->basic_blocks[r->basic_block_count - 1], op);
}

/* ---- masks ---- */

/* What a frame began with. */
static struct g4_rm saved(int depth, int half) {
    return g4_rm_at(X86_RSI,
                    offsetof(struct g4_loop_scratch, masks) + (2 * (size_t)depth + (size_t)half) * sizeof(uint16_t));
}

static void save(struct loop *r, int depth, unsigned low, unsigned high) {
    emit_mask_store(&r->t->code, low, saved(depth, 0));
    emit_mask_store(&r->t->code, high, saved(depth, 1));
}

static void restore(struct loop *r, int depth, unsigned low, unsigned high) {
    emit_mask_load(&r->t->code, low, saved(depth, 0));
    emit_mask_load(&r->t->code, high, saved(depth, 1));
}

/* The lanes of a half that pass the predicate; with eight channels none of the second half does (spec/40 9.2). */
static void passing_lanes(struct loop *r, const struct g4_op *op, int half, unsigned to) {
    struct g4_code *const code = &r->t->code;
    const unsigned exec = K_EXEC_0 + (unsigned)half;
    if (half == 1 && op->exec_size <= 8) {
        emit_masks(code, G4_K_XOR, to, to, to);
    } else if (op->predicate != G4_PRED_NONE) {
        emit_masks(code, op->predicate_inverse ? G4_K_ANDN : G4_K_AND, to, half ? K_FLAG_1 : K_FLAG_0, exec);
    } else if (to != exec) {
        emit_masks(code, G4_K_OR, to, exec, exec);
    }
}

static void keep_passing_lanes(struct loop *r, const struct g4_op *op) {
    passing_lanes(r, op, 0, K_EXEC_0);
    passing_lanes(r, op, 1, K_EXEC_1);
}

/* Jump if neither mask has a lane. */
static size_t jump_if_none_of(struct loop *r, unsigned low, unsigned high) {
    emit_kortest(&r->t->code, low, high);
    return emit_jump(&r->t->code, X86_JZ);
}

static size_t jump_if_none(struct loop *r) {
    return jump_if_none_of(r, K_EXEC_0, K_EXEC_1);
}

/* ---- flow ---- */

static struct frame *innermost(struct loop *r) {
    return &r->frame[r->depth - 1];
}

static bool push_frame(struct loop *r, uint32_t at) {
    if (r->depth == G4_LOOP_DEPTH) {
        return false;
    }
    r->frame[r->depth] = (struct frame){.begin = at, .end = at + flow_length(r->ops + at, r->count - at) - 1};
    save(r, r->depth++, K_EXEC_0, K_EXEC_1);
    return r->frame[r->depth - 1].end > at;
}

static void pop_frame(struct loop *r) {
    const struct frame *const frame = innermost(r);
    for (int i = 0; i < frame->exit_count; i++) {
        patch_jump(&r->t->code, frame->exits[i]);
    }
    restore(r, --r->depth, K_EXEC_0, K_EXEC_1);
}

static bool add_exit(struct frame *frame, size_t jump) {
    if (frame->exit_count == MAX_EXITS) {
        return false;
    }
    frame->exits[frame->exit_count++] = jump;
    return true;
}

static uint32_t ip_after(const struct loop *r, uint32_t at) {
    return r->ops[at].next;
}

static bool flow_do(struct loop *r, uint32_t at) {
    count_op(r, &r->ops[at]);
    if (!push_frame(r, at) || r->ops[innermost(r)->end].opcode != G4_OPCODE_WHILE) {
        return false;
    }
    innermost(r)->top = r->t->code.size;
    return begin_block(r);
}

static bool flow_while(struct loop *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const frame = innermost(r);

    if (r->ops[frame->begin].opcode != G4_OPCODE_DO || op->target != ip_after(r, frame->begin) ||
        r->failure_count == MAX_EXITS) {
        return false;
    }
    count_op(r, op);
    keep_passing_lanes(r, op);
    if (!add_exit(frame, jump_if_none(r))) {
        return false;
    }
    count_threads(r, K_EXEC_0, K_EXEC_1);
    emit_inc(code, X86_R11);
    emit_alu_imm(code, X86_CMP, X86_R11, G4_LOOP_TURNS);
    emit_jump_to(code, X86_JNA, frame->top);
    r->failures[r->failure_count++] = emit_jump(code, X86_JMP);
    pop_frame(r);
    return begin_block_of_exec(r);
}

/* Dead threads pass over the ENDIF, having popped, or stop at it. */
static bool else_passes_over(const struct loop *r, const struct frame *frame) {
    return r->ops[frame->other].pop == 1 && r->ops[frame->other].target == ip_after(r, frame->end);
}

static bool else_stops_at(const struct loop *r, const struct frame *frame) {
    return r->ops[frame->other].pop == 0 && r->ops[frame->other].target == r->ops[frame->end].ip;
}

/* Threads without lanes execute the ENDIF, too. */
static bool dead_threads_end(const struct loop *r, const struct frame *branch) {
    return branch->other ? else_stops_at(r, branch) : r->ops[branch->begin].opcode == G4_OPCODE_IF;
}

/* At the end of a branch that lies directly in a loop: all lanes of the branch leave the loop.  What is saved of the
 * branch's beginning are the lanes that stay, and threads that have some go on to the branch's end. */
static bool break_from_branch(struct loop *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const branch = innermost(r);
    struct frame *const outer = r->depth > 1 ? branch - 1 : NULL;

    if (!outer || r->ops[outer->begin].opcode != G4_OPCODE_DO || op->pop != 1 || op->predicate != G4_PRED_NONE ||
        op->target != ip_after(r, outer->end) || (at + 1 != branch->end && at + 1 != branch->other)) {
        return false;
    }
    count_op(r, op);
    restore(r, r->depth - 1, K_LANES, K_BITS);
    emit_masks(code, G4_K_ANDN, K_LANES, K_EXEC_0, K_LANES);
    if (op->exec_size > 8) {
        emit_masks(code, G4_K_ANDN, K_BITS, K_EXEC_1, K_BITS);
    }
    save(r, r->depth - 1, K_LANES, K_BITS);
    emit_masks(code, G4_K_OR, K_LANES, K_LANES, K_BITS);
    if (!add_exit(outer, jump_if_none_of(r, K_LANES, K_LANES))) {
        return false;
    }
    if (at + 1 == branch->end && !dead_threads_end(r, branch)) { /* those of the branch that stay come to its end */
        whole_threads(r->t);
        emit_masks(code, G4_K_AND, K_LANES, K_LANES, K_TEMP);
        return begin_block_of(r, K_LANES, K_LANES);
    }
    return true;
}

static bool flow_break(struct loop *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const frame = innermost(r);

    if (r->ops[frame->begin].opcode != G4_OPCODE_DO) {
        return break_from_branch(r, at);
    }
    if (op->pop != 0 || op->target != ip_after(r, frame->end)) {
        return false;
    }
    count_op(r, op);
    passing_lanes(r, op, 0, K_LANES);
    passing_lanes(r, op, 1, K_BITS);
    const size_t no_lanes = jump_if_none_of(r, K_LANES, K_BITS); /* as most of the time: nothing depends on it then */
    emit_masks(code, G4_K_ANDN, K_EXEC_0, K_LANES, K_EXEC_0);
    emit_masks(code, G4_K_ANDN, K_EXEC_1, K_BITS, K_EXEC_1);
    if (!add_exit(frame, jump_if_none(r))) {
        return false;
    }
    count_threads(r, K_EXEC_0, K_EXEC_1);
    patch_jump(code, no_lanes);
    return begin_block(r);
}

static bool flow_if(struct loop *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];

    count_op(r, op);
    if (!push_frame(r, at)) {
        return false;
    }
    struct frame *const frame = innermost(r);
    int depth = 0;
    for (uint32_t i = at + 1; i < frame->end; i++) {
        const struct g4_op *const inner = &r->ops[i];
        depth += g4_op_opens(inner) - g4_op_closes(inner);
        if (is_flow(inner) && inner->opcode == G4_OPCODE_ELSE && depth == 0) {
            if (frame->other) {
                return false;
            }
            frame->other = i;
        }
    }
    const bool iff = op->opcode == G4_OPCODE_IFF;
    const uint32_t dead_go_to = frame->other ? r->ops[frame->other].ip
                                : iff        ? ip_after(r, frame->end)
                                             : r->ops[frame->end].ip;
    if (op->target != dead_go_to || (iff && frame->other) || r->ops[frame->end].opcode != G4_OPCODE_ENDIF) {
        return false;
    }
    keep_passing_lanes(r, op);
    frame->to_other = jump_if_none(r);
    return begin_block_of_exec(r);
}

static bool flow_else(struct loop *r, uint32_t at) {
    struct g4_code *const code = &r->t->code;
    struct frame *const frame = innermost(r);

    if (!is_if(&r->ops[frame->begin]) || frame->other != at ||
        !(else_passes_over(r, frame) || else_stops_at(r, frame))) {
        return false;
    }
    patch_jump(code, frame->to_other);
    restore(r, r->depth - 1, K_LANES, K_BITS);
    if (!begin_block_of(r, K_LANES, K_BITS)) {
        return false;
    }
    count_op(r, &r->ops[at]);
    emit_masks(code, G4_K_ANDN, K_EXEC_0, K_EXEC_0, K_LANES);
    emit_masks(code, G4_K_ANDN, K_EXEC_1, K_EXEC_1, K_BITS);
    return add_exit(frame, jump_if_none(r)) && begin_block_of_exec(r);
}

static bool flow_endif(struct loop *r, uint32_t at) {
    struct frame *const frame = innermost(r);
    const struct g4_op *const begin = &r->ops[frame->begin];

    if (!is_if(begin)) {
        return false;
    }
    const bool all = dead_threads_end(r, frame);
    if (!all) {
        count_op(r, &r->ops[at]);
    }
    if (!frame->other) {
        patch_jump(&r->t->code, frame->to_other);
    }
    pop_frame(r);
    if (!begin_block_of_exec(r)) {
        return false;
    }
    if (all) {
        count_op(r, &r->ops[at]);
    }
    return true;
}

static bool flow(struct loop *r, uint32_t at) {
    const unsigned opcode = r->ops[at].opcode;
    if (r->depth == 0 && at != 0) {
        return false;
    }
    switch (opcode) {
    case G4_OPCODE_DO:
        return flow_do(r, at);
    case G4_OPCODE_WHILE:
        return flow_while(r, at);
    case G4_OPCODE_BREAK:
        return flow_break(r, at);
    case G4_OPCODE_IF:
    case G4_OPCODE_IFF:
        return flow_if(r, at);
    case G4_OPCODE_ELSE:
        return flow_else(r, at);
    case G4_OPCODE_ENDIF:
        return flow_endif(r, at);
    default:
        return false;
    }
}

/* ---- the whole ---- */

static void enter(struct loop *r) {
    struct g4_code *const code = &r->t->code;

    emit_mask_load(code, K_EXEC_0, g4_rm_at(X86_RSI, 0));
    emit_mask_load(code, K_EXEC_1, g4_rm_at(X86_RSI, sizeof(g4_lanes)));
    emit_alu(code, X86_XOR, X86_R11, X86_R11);
    emit_mov64(code, X86_RSI, X86_R8);
    emit_masks(code, G4_K_XOR, K_FAILED, K_FAILED, K_FAILED);
    emit_evex(code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    if (r->flag >= 0) {
        emit_mask_load(code, K_FLAG_0, flag_in_memory((unsigned)r->flag, 0));
        emit_mask_load(code, K_FLAG_1, flag_in_memory((unsigned)r->flag, 1));
    }
    g4_loop_load(r);
}

enum {
    BELOW_STACK = -8, /* from rsp: the red zone of the calling convention */
};

static void leave(struct loop *r) {
    struct g4_code *const code = &r->t->code;

    emit_kortest(code, K_FAILED, K_FAILED);
    const size_t lanes_failed = emit_jump(code, X86_JNZ);
    emit_stmxcsr_stack(code, BELOW_STACK);
    emit_test_stack(code, BELOW_STACK, G4_FAILURE_FLAGS);
    const size_t flags_raised = emit_jump(code, X86_JNZ);
    g4_loop_store(r);
    if (r->flag >= 0) {
        emit_mask_store(code, K_FLAG_0, flag_in_memory((unsigned)r->flag, 0));
        emit_mask_store(code, K_FLAG_1, flag_in_memory((unsigned)r->flag, 1));
    }
    emit_return(code, 0);
    patch_jump(code, lanes_failed);
    patch_jump(code, flags_raised);
    for (int i = 0; i < r->failure_count; i++) {
        patch_jump(code, r->failures[i]);
    }
    emit_return(code, 1);
}

bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block) {
    struct loop loop = {.t = t, .ops = ops, .count = flow_length(ops, left), .flag = -1};
    struct loop *const r = &loop;
    uint8_t stored_rows[ROWS];

    if (r->count == 0 || !can_lower_all(r)) {
        return false;
    }
    t->loop = true;
    if (!g4_loop_allocate(r)) {
        return false;
    }
    enter(r);
    if (!begin_block_of_exec(r)) {
        return false;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (is_flow(&ops[i])) {
            if (!flow(r, i)) {
                return false;
            }
        } else {
            count_op(r, &ops[i]);
            if (!g4_lower_op(t, &ops[i])) {
                return false;
            }
        }
    }
    leave(r);
    const uint32_t stored_row_count = g4_loop_stored_rows(r, stored_rows);
    if (stored_row_count > G4_LOOP_STORED_ROWS) {
        return false;
    }
    *block = (struct g4_jit_block){.count = r->count,
                                   .last_ip = ops[r->count - 1].ip,
                                   .fuel = (uint64_t)r->count * (G4_LOOP_TURNS + 2),
                                   .loop = ops,
                                   .top = t->s.top,
                                   .ieee_only = t->s.ieee_only,
                                   .basic_block_count = r->basic_block_count,
                                   .basic_blocks = malloc(r->basic_block_count * sizeof *r->basic_blocks),
                                   .stored_rows = malloc(stored_row_count + 1),
                                   .stored_row_count = stored_row_count};
    if (!block->basic_blocks || !block->stored_rows) {
        free(block->basic_blocks);
        free(block->stored_rows);
        *block = (struct g4_jit_block){0};
        return false;
    }
    memcpy(block->basic_blocks, r->basic_blocks, r->basic_block_count * sizeof *r->basic_blocks);
    memcpy(block->stored_rows, stored_rows, stored_row_count);
    return true;
}

#endif
