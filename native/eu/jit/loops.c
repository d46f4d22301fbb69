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
static uint32_t length(const struct g4_op *ops, uint32_t left) {
    int depth = 0;
    for (uint32_t i = 0; i < left && i < MOST_OPS; i++) {
        depth += g4_op_opens(&ops[i]) - g4_op_closes(&ops[i]);
        if (depth == 0 && is_flow(&ops[i])) {
            return i + 1;
        }
    }
    return 0;
}

static bool one_flag(struct region *r, const struct g4_op *op) {
    if (op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE) {
        return true;
    }
    if (r->flag < 0) {
        r->flag = op->flag;
    }
    return r->flag == op->flag;
}

static bool plain_flow(const struct g4_op *op) {
    return (op->exec_size == 8 || op->exec_size == 16) && op->half == 0 && op->predicate <= G4_PRED_NORMAL &&
           !op->nomask && !op->breakpoint && !op->undefined;
}

static bool fits(struct region *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        const struct g4_op *const op = &r->ops[i];
        if (!one_flag(r, op) || !(is_flow(op) ? plain_flow(op) : g4_may_be_in_region(r->t, op))) {
            return false;
        }
    }
    return true;
}

/* ---- blocks ---- */

/* r9: the threads with lanes in either mask. */
static void count_threads(struct region *r, unsigned low, unsigned high) {
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
static bool begin_block(struct region *r) {
    if (r->blocks == G4_REGION_BLOCKS) {
        return false;
    }
    const size_t count = offsetof(struct g4_region_room, counts) + sizeof(uint32_t) * r->blocks++;
    emit_alu_to_memory(&r->t->code, X86_ADD, g4_rm_at(X86_RSI, count), X86_R9);
    return true;
}

/* One to which those come that have lanes in these masks. */
static bool begin_block_of(struct region *r, unsigned low, unsigned high) {
    count_threads(r, low, high);
    return begin_block(r);
}

static bool begin_ordinary_block(struct region *r) {
    return begin_block_of(r, K_EXEC_0, K_EXEC_1);
}

static void count_op(struct region *r, const struct g4_op *op) {
    g4_block_add(&r->block[r->blocks - 1], op);
}

/* ---- masks ---- */

/* What a frame began with. */
static struct g4_rm saved(int depth, int half) {
    return g4_rm_at(X86_RSI,
                    offsetof(struct g4_region_room, masks) + (2 * (size_t)depth + (size_t)half) * sizeof(uint16_t));
}

static void save(struct region *r, int depth, unsigned low, unsigned high) {
    emit_mask_store(&r->t->code, low, saved(depth, 0));
    emit_mask_store(&r->t->code, high, saved(depth, 1));
}

static void restore(struct region *r, int depth, unsigned low, unsigned high) {
    emit_mask_load(&r->t->code, low, saved(depth, 0));
    emit_mask_load(&r->t->code, high, saved(depth, 1));
}

/* The lanes of a half that pass the predicate; with eight channels none of the second half does (spec/40 9.2). */
static void passing_lanes(struct region *r, const struct g4_op *op, int half, unsigned to) {
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

static void keep_passing_lanes(struct region *r, const struct g4_op *op) {
    passing_lanes(r, op, 0, K_EXEC_0);
    passing_lanes(r, op, 1, K_EXEC_1);
}

/* Jump if neither mask has a lane. */
static size_t jump_if_none_of(struct region *r, unsigned low, unsigned high) {
    emit_kortest(&r->t->code, low, high);
    return emit_jump(&r->t->code, X86_JZ);
}

static size_t jump_if_none(struct region *r) {
    return jump_if_none_of(r, K_EXEC_0, K_EXEC_1);
}

/* ---- flow ---- */

static struct frame *innermost(struct region *r) {
    return &r->frame[r->depth - 1];
}

static bool push_frame(struct region *r, uint32_t at) {
    if (r->depth == G4_REGION_DEPTH) {
        return false;
    }
    r->frame[r->depth] = (struct frame){.begin = at, .end = at + length(r->ops + at, r->count - at) - 1};
    save(r, r->depth++, K_EXEC_0, K_EXEC_1);
    return r->frame[r->depth - 1].end > at;
}

static void pop_frame(struct region *r) {
    const struct frame *const frame = innermost(r);
    for (int i = 0; i < frame->exit_count; i++) {
        patch_jump(&r->t->code, frame->exits[i]);
    }
    restore(r, --r->depth, K_EXEC_0, K_EXEC_1);
}

static bool add_exit(struct frame *frame, size_t jump) {
    if (frame->exit_count == MOST_EXITS) {
        return false;
    }
    frame->exits[frame->exit_count++] = jump;
    return true;
}

static uint32_t ip_behind(const struct region *r, uint32_t at) {
    return r->ops[at].next;
}

static bool flow_do(struct region *r, uint32_t at) {
    count_op(r, &r->ops[at]);
    if (!push_frame(r, at) || r->ops[innermost(r)->end].opcode != G4_OPCODE_WHILE) {
        return false;
    }
    innermost(r)->top = r->t->code.size;
    return begin_block(r);
}

static bool flow_while(struct region *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const frame = innermost(r);

    if (r->ops[frame->begin].opcode != G4_OPCODE_DO || op->target != ip_behind(r, frame->begin) ||
        r->failure_count == MOST_EXITS) {
        return false;
    }
    count_op(r, op);
    keep_passing_lanes(r, op);
    if (!add_exit(frame, jump_if_none(r))) {
        return false;
    }
    count_threads(r, K_EXEC_0, K_EXEC_1);
    emit_inc(code, X86_R11);
    emit_alu_imm(code, X86_CMP, X86_R11, G4_REGION_TURNS);
    emit_jump_to(code, X86_JNA, frame->top);
    r->failures[r->failure_count++] = emit_jump(code, X86_JMP);
    pop_frame(r);
    return begin_ordinary_block(r);
}

/* Dead threads pass over the ENDIF, having popped, or stop at it. */
static bool else_passes_over(const struct region *r, const struct frame *frame) {
    return r->ops[frame->other].pop == 1 && r->ops[frame->other].target == ip_behind(r, frame->end);
}

static bool else_stops_at(const struct region *r, const struct frame *frame) {
    return r->ops[frame->other].pop == 0 && r->ops[frame->other].target == r->ops[frame->end].ip;
}

/* Threads without lanes execute the ENDIF, too. */
static bool everybody_ends(const struct region *r, const struct frame *branch) {
    return branch->other ? else_stops_at(r, branch) : r->ops[branch->begin].opcode == G4_OPCODE_IF;
}

/* At the end of a branch that lies directly in a loop: all lanes of the branch leave the loop.  What is saved of the
 * branch's beginning are the lanes that stay, and threads that have some go on to the branch's end. */
static bool break_from_branch(struct region *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const branch = innermost(r);
    struct frame *const loop = r->depth > 1 ? branch - 1 : NULL;

    if (!loop || r->ops[loop->begin].opcode != G4_OPCODE_DO || op->pop != 1 || op->predicate != G4_PRED_NONE ||
        op->target != ip_behind(r, loop->end) || (at + 1 != branch->end && at + 1 != branch->other)) {
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
    if (!add_exit(loop, jump_if_none_of(r, K_LANES, K_LANES))) {
        return false;
    }
    if (at + 1 == branch->end && !everybody_ends(r, branch)) { /* those of the branch that stay come to its end */
        whole_threads(r->t);
        emit_masks(code, G4_K_AND, K_LANES, K_LANES, K_TEMP);
        return begin_block_of(r, K_LANES, K_LANES);
    }
    return true;
}

static bool flow_break(struct region *r, uint32_t at) {
    const struct g4_op *const op = &r->ops[at];
    struct g4_code *const code = &r->t->code;
    struct frame *const frame = innermost(r);

    if (r->ops[frame->begin].opcode != G4_OPCODE_DO) {
        return break_from_branch(r, at);
    }
    if (op->pop != 0 || op->target != ip_behind(r, frame->end)) {
        return false;
    }
    count_op(r, op);
    passing_lanes(r, op, 0, K_LANES);
    passing_lanes(r, op, 1, K_BITS);
    const size_t nobody = jump_if_none_of(r, K_LANES, K_BITS); /* as most of the time: nothing depends on it then */
    emit_masks(code, G4_K_ANDN, K_EXEC_0, K_LANES, K_EXEC_0);
    emit_masks(code, G4_K_ANDN, K_EXEC_1, K_BITS, K_EXEC_1);
    if (!add_exit(frame, jump_if_none(r))) {
        return false;
    }
    count_threads(r, K_EXEC_0, K_EXEC_1);
    patch_jump(code, nobody);
    return begin_block(r);
}

static bool flow_if(struct region *r, uint32_t at) {
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
                                : iff        ? ip_behind(r, frame->end)
                                             : r->ops[frame->end].ip;
    if (op->target != dead_go_to || (iff && frame->other) || r->ops[frame->end].opcode != G4_OPCODE_ENDIF) {
        return false;
    }
    keep_passing_lanes(r, op);
    frame->to_other = jump_if_none(r);
    return begin_ordinary_block(r);
}

static bool flow_else(struct region *r, uint32_t at) {
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
    return add_exit(frame, jump_if_none(r)) && begin_ordinary_block(r);
}

static bool flow_endif(struct region *r, uint32_t at) {
    struct frame *const frame = innermost(r);
    const struct g4_op *const begin = &r->ops[frame->begin];

    if (!is_if(begin)) {
        return false;
    }
    const bool all = everybody_ends(r, frame);
    if (!all) {
        count_op(r, &r->ops[at]);
    }
    if (!frame->other) {
        patch_jump(&r->t->code, frame->to_other);
    }
    pop_frame(r);
    if (!begin_ordinary_block(r)) {
        return false;
    }
    if (all) {
        count_op(r, &r->ops[at]);
    }
    return true;
}

static bool flow(struct region *r, uint32_t at) {
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

static void enter(struct region *r) {
    struct g4_code *const code = &r->t->code;

    emit_mask_load(code, K_EXEC_0, g4_rm_at(X86_RSI, 0));
    emit_mask_load(code, K_EXEC_1, g4_rm_at(X86_RSI, sizeof(g4_lanes)));
    emit_alu(code, X86_XOR, X86_R11, X86_R11);
    emit_mov64(code, X86_RSI, X86_R8);
    emit_masks(code, G4_K_XOR, K_DOUBT, K_DOUBT, K_DOUBT);
    emit_evex(code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    if (r->flag >= 0) {
        emit_mask_load(code, K_FLAG_0, flag_in_memory((unsigned)r->flag, 0));
        emit_mask_load(code, K_FLAG_1, flag_in_memory((unsigned)r->flag, 1));
    }
    g4_region_load(r);
}

enum {
    BELOW_STACK = -8, /* from rsp: the red zone of the calling convention */
};

static void leave(struct region *r) {
    struct g4_code *const code = &r->t->code;

    emit_kortest(code, K_DOUBT, K_DOUBT);
    const size_t doubtful = emit_jump(code, X86_JNZ);
    emit_stmxcsr_stack(code, BELOW_STACK);
    emit_test_stack(code, BELOW_STACK, G4_DOUBTFUL_FLAGS);
    const size_t not_plain = emit_jump(code, X86_JNZ);
    g4_region_store(r);
    if (r->flag >= 0) {
        emit_mask_store(code, K_FLAG_0, flag_in_memory((unsigned)r->flag, 0));
        emit_mask_store(code, K_FLAG_1, flag_in_memory((unsigned)r->flag, 1));
    }
    emit_return(code, 0);
    patch_jump(code, doubtful);
    patch_jump(code, not_plain);
    for (int i = 0; i < r->failure_count; i++) {
        patch_jump(code, r->failures[i]);
    }
    emit_return(code, 1);
}

bool g4_translate_region(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_stretch *stretch) {
    struct region region = {.t = t, .ops = ops, .count = length(ops, left), .flag = -1};
    struct region *const r = &region;
    uint8_t unheld[ROWS];

    if (r->count == 0 || !fits(r)) {
        return false;
    }
    t->region = true;
    if (!g4_region_registers(r)) {
        return false;
    }
    enter(r);
    if (!begin_ordinary_block(r)) {
        return false;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (is_flow(&ops[i])) {
            if (!flow(r, i)) {
                return false;
            }
        } else {
            count_op(r, &ops[i]);
            if (!g4_translate_op(t, &ops[i])) {
                return false;
            }
        }
    }
    leave(r);
    const uint32_t unheld_count = g4_region_unheld(r, unheld);
    if (unheld_count > G4_REGION_UNHELD) {
        return false;
    }
    *stretch = (struct g4_stretch){.count = r->count,
                                   .last_ip = ops[r->count - 1].ip,
                                   .fuel = (uint64_t)r->count * (G4_REGION_TURNS + 2),
                                   .region = ops,
                                   .top = t->s.top,
                                   .ieee_only = t->s.ieee_only,
                                   .blocks = r->blocks,
                                   .block = malloc(r->blocks * sizeof *r->block),
                                   .unheld = malloc(unheld_count + 1),
                                   .unheld_count = unheld_count};
    if (!stretch->block || !stretch->unheld) {
        free(stretch->block);
        free(stretch->unheld);
        *stretch = (struct g4_stretch){0};
        return false;
    }
    memcpy(stretch->block, r->block, r->blocks * sizeof *r->block);
    memcpy(stretch->unheld, unheld, unheld_count);
    return true;
}

#endif
