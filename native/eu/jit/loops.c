/*
 * Translates a loop, from DO to its WHILE, or a branch, from IF to its ENDIF, with everything inside.
 *
 * Both threads of a pair run together.  Masks say which lanes still take part; the code leaves a loop or skips a branch
 * if none do.  At the end the masks are those of the start, the mask stacks are unchanged, and only registers and flags
 * have new values.  They are stored at the end, except for rows that are never read: these are written in place, and
 * the caller restores them on failure.
 *
 * Threads are counted at the start of each basic block (R9 has their number), because a thread without lanes would have
 * jumped.  For the counts to be right, a branch may have a break only as its last instruction and directly inside of a
 * loop, and there may be no cont and no instruction that ignores masks.
 */
#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/jit/loops.h"

#if G4_HAVE_X86_VARIANTS

/* ---- can this code be translated as a loop? ---- */

/* The number of ops from DO or IF to the matching end; 0: there is none within MAX_OPS. */
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

static bool uses_one_flag(struct loop *loop, const struct g4_op *op) {
    if (op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE) {
        return true;
    }
    if (loop->flag < 0) {
        loop->flag = op->flag;
    }
    return loop->flag == op->flag;
}

static bool is_simple_flow(const struct g4_op *op) {
    return (op->exec_size == 8 || op->exec_size == 16) && op->half == 0 && op->predicate <= G4_PRED_NORMAL &&
           !op->nomask && !op->breakpoint && !op->undefined;
}

static bool can_lower_all(struct loop *loop) {
    for (uint32_t i = 0; i < loop->count; i++) {
        const struct g4_op *const op = &loop->ops[i];
        if (!uses_one_flag(loop, op) || !(is_flow(op) ? is_simple_flow(op) : g4_can_lower_in_loop(loop->t, op))) {
            return false;
        }
    }
    return true;
}

/* ---- blocks ---- */

/* Emit r9 = the number of threads with lanes in either mask. */
static void count_threads(struct loop *loop, unsigned low, unsigned high) {
    struct g4_code *const code = &loop->t->code;
    emit_masks(code, G4_K_OR, K_TEMP, low, high);
    emit_reg_from_mask(code, X86_RAX, K_TEMP);
    emit_alu(code, X86_XOR, X86_R9, X86_R9);
    emit_alu8_imm(code, X86_CMP, X86_RAX, 1); /* borrows if the byte is 0; then sbb adds 0, else 1 */
    emit_alu_imm(code, X86_SBB, X86_R9, -1);
    emit_alu8_imm(code, X86_CMP, X86_AH, 1);
    emit_alu_imm(code, X86_SBB, X86_R9, -1);
}

/* Begin a basic block that the number of threads in r9 executes; false: there are too many blocks. */
static bool begin_block(struct loop *loop) {
    if (loop->basic_block_count == G4_LOOP_BLOCKS) {
        return false;
    }
    const size_t count = offsetof(struct g4_loop_scratch, counts) + sizeof(uint32_t) * loop->basic_block_count++;
    emit_alu_to_memory(&loop->t->code, X86_ADD, g4_rm_at(X86_RSI, count), X86_R9);
    return true;
}

/* Begin a basic block that threads with lanes in these masks execute. */
static bool begin_block_of(struct loop *loop, unsigned low, unsigned high) {
    count_threads(loop, low, high);
    return begin_block(loop);
}

static bool begin_block_of_exec(struct loop *loop) {
    return begin_block_of(loop, K_EXEC_0, K_EXEC_1);
}

static void count_op(struct loop *loop, const struct g4_op *op) {
    g4_block_cost_add(&loop->basic_blocks[loop->basic_block_count - 1], op);
}

/* ---- masks ---- */

/* The saved mask of a half at the start of a frame. */
static struct g4_rm saved(int depth, int half) {
    return g4_rm_at(X86_RSI,
                    offsetof(struct g4_loop_scratch, masks) + (2 * (size_t)depth + (size_t)half) * sizeof(uint16_t));
}

static void save(struct loop *loop, int depth, unsigned low, unsigned high) {
    emit_mask_store(&loop->t->code, low, saved(depth, 0));
    emit_mask_store(&loop->t->code, high, saved(depth, 1));
}

static void restore(struct loop *loop, int depth, unsigned low, unsigned high) {
    emit_mask_load(&loop->t->code, low, saved(depth, 0));
    emit_mask_load(&loop->t->code, high, saved(depth, 1));
}

/* The lanes of a half that pass the predicate.  With eight channels, none of the second half does. */
static void passing_lanes(struct loop *loop, const struct g4_op *op, int half, unsigned to) {
    struct g4_code *const code = &loop->t->code;
    const unsigned exec = K_EXEC_0 + (unsigned)half;
    if (half == 1 && op->exec_size <= 8) {
        emit_masks(code, G4_K_XOR, to, to, to);
    } else if (op->predicate != G4_PRED_NONE) {
        emit_masks(code, op->predicate_inverse ? G4_K_ANDN : G4_K_AND, to, half ? K_FLAG_1 : K_FLAG_0, exec);
    } else if (to != exec) {
        emit_masks(code, G4_K_OR, to, exec, exec);
    }
}

static void keep_passing_lanes(struct loop *loop, const struct g4_op *op) {
    passing_lanes(loop, op, 0, K_EXEC_0);
    passing_lanes(loop, op, 1, K_EXEC_1);
}

/* Emit a jump that is taken if neither mask has a lane. */
static size_t jump_if_none_of(struct loop *loop, unsigned low, unsigned high) {
    emit_kortest(&loop->t->code, low, high);
    return emit_jump(&loop->t->code, X86_JZ);
}

static size_t jump_if_none(struct loop *loop) {
    return jump_if_none_of(loop, K_EXEC_0, K_EXEC_1);
}

/* ---- flow ---- */

static struct frame *innermost(struct loop *loop) {
    return &loop->frame[loop->depth - 1];
}

static bool push_frame(struct loop *loop, uint32_t at) {
    if (loop->depth == G4_LOOP_DEPTH) {
        return false;
    }
    loop->frame[loop->depth] =
        (struct frame){.begin = at, .end = at + flow_length(loop->ops + at, loop->count - at) - 1};
    save(loop, loop->depth++, K_EXEC_0, K_EXEC_1);
    return loop->frame[loop->depth - 1].end > at;
}

static void pop_frame(struct loop *loop) {
    const struct frame *const frame = innermost(loop);
    for (int i = 0; i < frame->exit_count; i++) {
        patch_jump(&loop->t->code, frame->exits[i]);
    }
    restore(loop, --loop->depth, K_EXEC_0, K_EXEC_1);
}

static bool add_exit(struct frame *frame, size_t jump) {
    if (frame->exit_count == MAX_EXITS) {
        return false;
    }
    frame->exits[frame->exit_count++] = jump;
    return true;
}

static uint32_t ip_after(const struct loop *loop, uint32_t at) {
    return loop->ops[at].next;
}

static bool flow_do(struct loop *loop, uint32_t at) {
    count_op(loop, &loop->ops[at]);
    if (!push_frame(loop, at) || loop->ops[innermost(loop)->end].opcode != G4_OPCODE_WHILE) {
        return false;
    }
    innermost(loop)->top = loop->t->code.size;
    return begin_block(loop);
}

static bool flow_while(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    struct g4_code *const code = &loop->t->code;
    struct frame *const frame = innermost(loop);

    if (loop->ops[frame->begin].opcode != G4_OPCODE_DO || op->target != ip_after(loop, frame->begin) ||
        loop->failure_count == MAX_EXITS) {
        return false;
    }
    count_op(loop, op);
    keep_passing_lanes(loop, op);
    if (!add_exit(frame, jump_if_none(loop))) {
        return false;
    }
    count_threads(loop, K_EXEC_0, K_EXEC_1);
    emit_inc(code, X86_R11);
    emit_alu_imm(code, X86_CMP, X86_R11, G4_LOOP_TURNS);
    emit_jump_to(code, X86_JNA, frame->top);
    loop->failures[loop->failure_count++] = emit_jump(code, X86_JMP);
    pop_frame(loop);
    return begin_block_of_exec(loop);
}

/* Threads without lanes jump past the ENDIF and pop the mask stack. */
static bool else_passes_over(const struct loop *loop, const struct frame *frame) {
    return loop->ops[frame->other].pop == 1 && loop->ops[frame->other].target == ip_after(loop, frame->end);
}

/* Threads without lanes jump to the ENDIF. */
static bool else_stops_at(const struct loop *loop, const struct frame *frame) {
    return loop->ops[frame->other].pop == 0 && loop->ops[frame->other].target == loop->ops[frame->end].ip;
}

/* Threads without lanes execute the ENDIF. */
static bool dead_threads_end(const struct loop *loop, const struct frame *branch) {
    return branch->other ? else_stops_at(loop, branch) : loop->ops[branch->begin].opcode == G4_OPCODE_IF;
}

/* A break at the end of a branch that is directly inside of a loop: all lanes of the branch leave the loop.  The lanes
 * that stay replace the saved masks of the branch; their threads continue at its end. */
static bool break_from_branch(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    struct g4_code *const code = &loop->t->code;
    struct frame *const branch = innermost(loop);
    struct frame *const outer = loop->depth > 1 ? branch - 1 : NULL;

    if (!outer || loop->ops[outer->begin].opcode != G4_OPCODE_DO || op->pop != 1 || op->predicate != G4_PRED_NONE ||
        op->target != ip_after(loop, outer->end) || (at + 1 != branch->end && at + 1 != branch->other)) {
        return false;
    }
    count_op(loop, op);
    restore(loop, loop->depth - 1, K_LANES, K_BITS);
    emit_masks(code, G4_K_ANDN, K_LANES, K_EXEC_0, K_LANES);
    if (op->exec_size > 8) {
        emit_masks(code, G4_K_ANDN, K_BITS, K_EXEC_1, K_BITS);
    }
    save(loop, loop->depth - 1, K_LANES, K_BITS);
    emit_masks(code, G4_K_OR, K_LANES, K_LANES, K_BITS);
    if (!add_exit(outer, jump_if_none_of(loop, K_LANES, K_LANES))) {
        return false;
    }
    if (at + 1 == branch->end &&
        !dead_threads_end(loop, branch)) { /* threads with lanes that stay reach the end of the branch */
        whole_threads(loop->t);
        emit_masks(code, G4_K_AND, K_LANES, K_LANES, K_TEMP);
        return begin_block_of(loop, K_LANES, K_LANES);
    }
    return true;
}

static bool flow_break(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    struct g4_code *const code = &loop->t->code;
    struct frame *const frame = innermost(loop);

    if (loop->ops[frame->begin].opcode != G4_OPCODE_DO) {
        return break_from_branch(loop, at);
    }
    if (op->pop != 0 || op->target != ip_after(loop, frame->end)) {
        return false;
    }
    count_op(loop, op);
    passing_lanes(loop, op, 0, K_LANES);
    passing_lanes(loop, op, 1, K_BITS);
    const size_t no_lanes =
        jump_if_none_of(loop, K_LANES, K_BITS); /* the common case, without a dependency on the masks */
    emit_masks(code, G4_K_ANDN, K_EXEC_0, K_LANES, K_EXEC_0);
    emit_masks(code, G4_K_ANDN, K_EXEC_1, K_BITS, K_EXEC_1);
    if (!add_exit(frame, jump_if_none(loop))) {
        return false;
    }
    count_threads(loop, K_EXEC_0, K_EXEC_1);
    patch_jump(code, no_lanes);
    return begin_block(loop);
}

static bool flow_if(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];

    count_op(loop, op);
    if (!push_frame(loop, at)) {
        return false;
    }
    struct frame *const frame = innermost(loop);
    int depth = 0;
    for (uint32_t i = at + 1; i < frame->end; i++) {
        const struct g4_op *const inner = &loop->ops[i];
        depth += g4_op_opens(inner) - g4_op_closes(inner);
        if (is_flow(inner) && inner->opcode == G4_OPCODE_ELSE && depth == 0) {
            if (frame->other) {
                return false;
            }
            frame->other = i;
        }
    }
    const bool iff = op->opcode == G4_OPCODE_IFF;
    const uint32_t dead_go_to = frame->other ? loop->ops[frame->other].ip
                                : iff        ? ip_after(loop, frame->end)
                                             : loop->ops[frame->end].ip;
    if (op->target != dead_go_to || (iff && frame->other) || loop->ops[frame->end].opcode != G4_OPCODE_ENDIF) {
        return false;
    }
    keep_passing_lanes(loop, op);
    frame->to_other = jump_if_none(loop);
    return begin_block_of_exec(loop);
}

static bool flow_else(struct loop *loop, uint32_t at) {
    struct g4_code *const code = &loop->t->code;
    struct frame *const frame = innermost(loop);

    if (!is_if(&loop->ops[frame->begin]) || frame->other != at ||
        !(else_passes_over(loop, frame) || else_stops_at(loop, frame))) {
        return false;
    }
    patch_jump(code, frame->to_other);
    restore(loop, loop->depth - 1, K_LANES, K_BITS);
    if (!begin_block_of(loop, K_LANES, K_BITS)) {
        return false;
    }
    count_op(loop, &loop->ops[at]);
    emit_masks(code, G4_K_ANDN, K_EXEC_0, K_EXEC_0, K_LANES);
    emit_masks(code, G4_K_ANDN, K_EXEC_1, K_EXEC_1, K_BITS);
    return add_exit(frame, jump_if_none(loop)) && begin_block_of_exec(loop);
}

static bool flow_endif(struct loop *loop, uint32_t at) {
    struct frame *const frame = innermost(loop);
    const struct g4_op *const begin = &loop->ops[frame->begin];

    if (!is_if(begin)) {
        return false;
    }
    const bool all = dead_threads_end(loop, frame);
    if (!all) {
        count_op(loop, &loop->ops[at]);
    }
    if (!frame->other) {
        patch_jump(&loop->t->code, frame->to_other);
    }
    pop_frame(loop);
    if (!begin_block_of_exec(loop)) {
        return false;
    }
    if (all) {
        count_op(loop, &loop->ops[at]);
    }
    return true;
}

static bool flow(struct loop *loop, uint32_t at) {
    const unsigned opcode = loop->ops[at].opcode;
    if (loop->depth == 0 && at != 0) {
        return false;
    }
    switch (opcode) {
    case G4_OPCODE_DO:
        return flow_do(loop, at);
    case G4_OPCODE_WHILE:
        return flow_while(loop, at);
    case G4_OPCODE_BREAK:
        return flow_break(loop, at);
    case G4_OPCODE_IF:
    case G4_OPCODE_IFF:
        return flow_if(loop, at);
    case G4_OPCODE_ELSE:
        return flow_else(loop, at);
    case G4_OPCODE_ENDIF:
        return flow_endif(loop, at);
    default:
        return false;
    }
}

/* ---- entry and exit ---- */

static void enter(struct loop *loop) {
    struct g4_code *const code = &loop->t->code;

    emit_mask_load(code, K_EXEC_0, g4_rm_at(X86_RSI, 0));
    emit_mask_load(code, K_EXEC_1, g4_rm_at(X86_RSI, sizeof(g4_lanes)));
    emit_alu(code, X86_XOR, X86_R11, X86_R11);
    emit_mov64(code, X86_RSI, X86_R8);
    emit_masks(code, G4_K_XOR, K_FAILED, K_FAILED, K_FAILED);
    emit_evex(code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    if (loop->flag >= 0) {
        emit_mask_load(code, K_FLAG_0, flag_in_memory((unsigned)loop->flag, 0));
        emit_mask_load(code, K_FLAG_1, flag_in_memory((unsigned)loop->flag, 1));
    }
    g4_loop_load(loop);
}

enum {
    BELOW_STACK = -8, /* offset from rsp: in the red zone of the calling convention */
};

static void leave(struct loop *loop) {
    struct g4_code *const code = &loop->t->code;

    emit_kortest(code, K_FAILED, K_FAILED);
    const size_t lanes_failed = emit_jump(code, X86_JNZ);
    emit_stmxcsr_stack(code, BELOW_STACK);
    emit_test_stack(code, BELOW_STACK, X86_MXCSR_INVALID | X86_MXCSR_OVERFLOW);
    const size_t flags_raised = emit_jump(code, X86_JNZ);
    g4_loop_store(loop);
    if (loop->flag >= 0) {
        emit_mask_store(code, K_FLAG_0, flag_in_memory((unsigned)loop->flag, 0));
        emit_mask_store(code, K_FLAG_1, flag_in_memory((unsigned)loop->flag, 1));
    }
    emit_return(code, 0);
    patch_jump(code, lanes_failed);
    patch_jump(code, flags_raised);
    for (int i = 0; i < loop->failure_count; i++) {
        patch_jump(code, loop->failures[i]);
    }
    emit_return(code, 1);
}

bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block) {
    struct loop state = {.t = t, .ops = ops, .count = flow_length(ops, left), .flag = -1};
    struct loop *const loop = &state;
    uint8_t stored_rows[ROWS];

    if (loop->count == 0 || !can_lower_all(loop)) {
        return false;
    }
    t->loop = true;
    if (!g4_loop_allocate(loop)) {
        return false;
    }
    enter(loop);
    if (!begin_block_of_exec(loop)) {
        return false;
    }
    for (uint32_t i = 0; i < loop->count; i++) {
        if (is_flow(&ops[i])) {
            if (!flow(loop, i)) {
                return false;
            }
        } else {
            count_op(loop, &ops[i]);
            if (!g4_lower_op(t, &ops[i])) {
                return false;
            }
        }
    }
    leave(loop);
    const uint32_t stored_row_count = g4_loop_stored_rows(loop, stored_rows);
    if (stored_row_count > G4_LOOP_STORED_ROWS) {
        return false;
    }
    *block = (struct g4_jit_block){.count = loop->count,
                                   .last_ip = ops[loop->count - 1].ip,
                                   .fuel = (uint64_t)loop->count * (G4_LOOP_TURNS + 2),
                                   .loop = ops,
                                   .top = t->s.top,
                                   .ieee_only = t->s.ieee_only,
                                   .basic_block_count = loop->basic_block_count,
                                   .basic_blocks = malloc(loop->basic_block_count * sizeof *loop->basic_blocks),
                                   .stored_rows = malloc(stored_row_count + 1),
                                   .stored_row_count = stored_row_count};
    if (!block->basic_blocks || !block->stored_rows) {
        free(block->basic_blocks);
        free(block->stored_rows);
        *block = (struct g4_jit_block){0};
        return false;
    }
    memcpy(block->basic_blocks, loop->basic_blocks, loop->basic_block_count * sizeof *loop->basic_blocks);
    memcpy(block->stored_rows, stored_rows, stored_row_count);
    return true;
}

#endif
