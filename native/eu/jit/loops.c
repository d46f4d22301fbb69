/*
 * Translates a loop, from DO to its WHILE, or a branch, from IF to its ENDIF, with everything inside.
 *
 * The threads of a unit run together.  Masks say which lanes still take part; the code leaves a loop or skips a branch
 * if none do.  At the end the masks are those of the start, the mask stacks are unchanged, and only registers and flags
 * have new values.  They are stored at the end, except for rows that are never read: these are written in place, and
 * the caller restores them on failure.
 *
 * Threads are counted at the start of each basic block, because a thread without lanes would have jumped.  A CONT
 * prevents translation, and so do instructions that ignore masks, except moves of immediates to single elements.  With
 * mask stacks, a branch may have a break only as its last instruction and directly inside of a loop, for the counts to
 * be right.
 */
#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/jit/loops.h"

#if G4_HAVE_X86_VARIANTS

/* ---- can this code be translated as a loop? ---- */

/* The op that ends the loop or branch that begins at an op; of the loops that begin there without an instruction of
 * their own, the one that has `inside` - 1 others in it.  0: there is none within MAX_OPS. */
static uint32_t end_of(const struct translator *t, const struct g4_op *ops, uint32_t count, uint32_t at,
                       unsigned inside) {
    int depth = (int)inside;
    for (uint32_t i = at; i < count && i < at + MAX_OPS; i++) {
        depth += i > at ? t->begins[t->first + i] : 0;
        depth += g4_op_opens(&ops[i]) - g4_op_closes(&ops[i]);
        if (depth == 0 && is_flow(&ops[i])) {
            return i;
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
        const bool can_lower =
            is_flow(op) ? is_simple_flow(op) : g4_is_constant_element(op) || g4_can_lower_in_loop(loop->t, op);
        if (!uses_one_flag(loop, op) || !can_lower) {
            return false;
        }
    }
    return true;
}

/* Whether channels may wait inside, although their thread comes from outside: branches elsewhere have targets in it. */
static bool is_entered_elsewhere(const struct loop *loop) {
    const struct g4_kernel *const kernel = loop->t->kernel;
    const struct g4_op *const last = &loop->ops[loop->count - 1];
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        if (!op->channel_pointers || (op >= loop->ops && op <= last)) {
            continue;
        }
        const uint32_t targets[] = {op->target, op->uip, op->next};
        for (unsigned n = 0; n < sizeof targets / sizeof *targets; n++) {
            if (targets[n] > loop->ops->ip && targets[n] <= last->ip) {
                return true;
            }
        }
    }
    return kernel->leaves && last->channel_pointers;
}

/* ---- blocks ---- */

static void add(struct loop *loop, struct ir_instruction instruction) {
    ir_add(&loop->t->ir, instruction);
}

/* Count the threads with lanes in either mask. */
static void count_threads(struct loop *loop, ir_operand low, ir_operand high) {
    add(loop, (struct ir_instruction){.op = IR_COUNT_THREADS, .a = low, .b = high});
}

/* Begin a basic block that the counted threads execute; false: there are too many blocks. */
static bool begin_block(struct loop *loop) {
    if (loop->basic_block_count == G4_LOOP_BLOCKS) {
        return false;
    }
    add(loop, (struct ir_instruction){.op = IR_ADD_COUNT, .at = loop->basic_block_count++});
    return true;
}

/* Begin a basic block that threads with lanes in these masks execute. */
static bool begin_block_of(struct loop *loop, ir_operand low, ir_operand high) {
    count_threads(loop, low, high);
    return begin_block(loop);
}

static ir_operand exec(const struct loop *loop, unsigned half) {
    return loop->t->exec[half];
}

static bool begin_block_of_exec(struct loop *loop) {
    return begin_block_of(loop, exec(loop, 0), exec(loop, 1));
}

static void count_op(struct loop *loop, const struct g4_op *op) {
    g4_block_cost_add(&loop->basic_blocks[loop->basic_block_count - 1], op);
}

/* ---- masks ---- */

static void set_mask(struct loop *loop, ir_operand to, enum ir_op op, ir_operand a, ir_operand b) {
    add(loop, (struct ir_instruction){.op = (uint8_t)op, .dst = to, .a = a, .b = b});
}

static void clear_mask(struct loop *loop, ir_operand to) {
    add(loop, (struct ir_instruction){.op = IR_MASK_CONSTANT, .dst = to});
}

static void save(struct loop *loop, struct frame *frame) {
    for (unsigned half = 0; half < 2; half++) {
        frame->masks[half] = ir_variable(&loop->t->ir, IR_MASK);
        set_mask(loop, frame->masks[half], IR_MASK_MOVE, exec(loop, half), IR_NONE);
    }
}

static void restore(struct loop *loop, const struct frame *frame) {
    for (unsigned half = 0; half < 2; half++) {
        set_mask(loop, exec(loop, half), IR_MASK_MOVE, frame->masks[half], IR_NONE);
    }
}

/* The lanes of a half that pass the predicate.  With eight channels, none of the second half does. */
static void passing_lanes(struct loop *loop, const struct g4_op *op, unsigned half, ir_operand to) {
    if (half == 1 && op->exec_size <= 8) {
        clear_mask(loop, to);
    } else if (op->predicate != G4_PRED_NONE) {
        set_mask(loop, to, op->predicate_inverse ? IR_MASK_AND_NOT : IR_MASK_AND, g4_flag(loop->t, op->flag, half),
                 exec(loop, half));
    } else if (to != exec(loop, half)) {
        set_mask(loop, to, IR_MASK_MOVE, exec(loop, half), IR_NONE);
    }
}

static void keep_passing_lanes(struct loop *loop, const struct g4_op *op) {
    passing_lanes(loop, op, 0, exec(loop, 0));
    passing_lanes(loop, op, 1, exec(loop, 1));
}

/* Jump if neither mask has a lane. */
static void jump_if_none_of(struct loop *loop, ir_operand low, ir_operand high, uint32_t label) {
    add(loop, (struct ir_instruction){.op = IR_JUMP_IF_NONE, .a = low, .b = high, .at = label});
}

static void jump_if_none(struct loop *loop, uint32_t label) {
    jump_if_none_of(loop, exec(loop, 0), exec(loop, 1), label);
}

static void put_label(struct loop *loop, uint32_t label) {
    add(loop, (struct ir_instruction){.op = IR_LABEL, .at = label});
}

/* ---- flow ---- */

static struct frame *innermost(struct loop *loop) {
    return &loop->frame[loop->depth - 1];
}

/* Begin a loop or branch; `inside` is as of end_of. */
static bool push_frame(struct loop *loop, uint32_t at, unsigned inside) {
    if (loop->depth == G4_LOOP_DEPTH) {
        return false;
    }
    struct frame *const frame = &loop->frame[loop->depth++];
    *frame = (struct frame){.begin = at,
                            .end = end_of(loop->t, loop->ops, loop->count, at, inside),
                            .exit = ir_label(&loop->t->ir),
                            .weight = loop->t->ir.weight,
                            .is_loop = inside > 0 || loop->ops[at].opcode == G4_OPCODE_DO,
                            .known_elements = loop->t->element_count};
    save(loop, frame);
    return frame->end > at;
}

static void pop_frame(struct loop *loop) {
    const struct frame *const frame = innermost(loop);
    put_label(loop, frame->exit);
    restore(loop, frame);
    loop->t->element_count = frame->known_elements;
    loop->depth--;
}

static uint32_t ip_after(const struct loop *loop, uint32_t at) {
    return loop->ops[at].next;
}

enum {
    EXPECTED_TURNS = 8,
    MAX_WEIGHT = 4096,
};

/* Begin a loop; `inside` is as of end_of. */
static bool begin_loop(struct loop *loop, uint32_t at, unsigned inside) {
    struct ir *const ir = &loop->t->ir;
    if (!push_frame(loop, at, inside) || loop->ops[innermost(loop)->end].opcode != G4_OPCODE_WHILE) {
        return false;
    }
    innermost(loop)->block = loop->basic_block_count;
    innermost(loop)->first = ir->count;
    innermost(loop)->top = ir_label(ir);
    put_label(loop, innermost(loop)->top);
    ir->weight *= ir->weight < MAX_WEIGHT ? EXPECTED_TURNS : 1;
    return begin_block(loop);
}

static bool flow_do(struct loop *loop, uint32_t at) {
    count_op(loop, &loop->ops[at]);
    return begin_loop(loop, at, 0);
}

/* Lanes that pass the predicate execute the loop again; the others continue after it. */
static bool end_loop(struct loop *loop, const struct g4_op *op) {
    struct ir *const ir = &loop->t->ir;
    const struct frame *const frame = innermost(loop);

    if (op->predicate != G4_PRED_NONE || op->exec_size <= 8) { /* else the counted threads continue */
        keep_passing_lanes(loop, op);
        jump_if_none(loop, frame->exit);
        count_threads(loop, exec(loop, 0), exec(loop, 1));
    }
    add(loop, (struct ir_instruction){.op = IR_TURN, .at = frame->top});
    add(loop, (struct ir_instruction){.op = IR_JUMP, .at = loop->failure});
    ir_end_loop(ir, frame->first);
    ir->weight = frame->weight;
    pop_frame(loop);
    return begin_block_of_exec(loop);
}

static bool flow_while(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    const struct frame *const frame = innermost(loop);

    if (loop->ops[frame->begin].opcode != G4_OPCODE_DO || op->target != ip_after(loop, frame->begin)) {
        return false;
    }
    count_op(loop, op);
    return end_loop(loop, op);
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
    struct frame *const branch = innermost(loop);
    const struct frame *const outer = loop->depth > 1 ? branch - 1 : NULL;

    if (!outer || loop->ops[outer->begin].opcode != G4_OPCODE_DO || op->pop != 1 || op->predicate != G4_PRED_NONE ||
        op->target != ip_after(loop, outer->end) || (at + 1 != branch->end && at + 1 != branch->other)) {
        return false;
    }
    count_op(loop, op);
    for (unsigned half = 0; half < 2 && half < op->exec_size / 8u; half++) {
        set_mask(loop, branch->masks[half], IR_MASK_AND_NOT, exec(loop, half), branch->masks[half]);
    }
    jump_if_none_of(loop, branch->masks[0], branch->masks[1], outer->exit);
    if (at + 1 == branch->end &&
        !dead_threads_end(loop, branch)) { /* threads with lanes that stay reach the end of the branch */
        ir_operand stay = mask_of(loop->t, IR_MASK_OR, branch->masks[0], branch->masks[1]);
        const ir_operand threads = g4_whole_threads(loop->t);
        if (threads != IR_NONE) {
            stay = mask_of(loop->t, IR_MASK_AND, stay, threads);
        }
        return begin_block_of(loop, stay, stay);
    }
    return true;
}

static bool flow_break(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    const struct frame *const frame = innermost(loop);

    if (loop->ops[frame->begin].opcode != G4_OPCODE_DO) {
        return break_from_branch(loop, at);
    }
    if (op->pop != 0 || op->target != ip_after(loop, frame->end)) {
        return false;
    }
    count_op(loop, op);
    const ir_operand leave[2] = {ir_value(&loop->t->ir, IR_MASK), ir_value(&loop->t->ir, IR_MASK)};
    const uint32_t stay = ir_label(&loop->t->ir);
    passing_lanes(loop, op, 0, leave[0]);
    passing_lanes(loop, op, 1, leave[1]);
    jump_if_none_of(loop, leave[0], leave[1], stay); /* the common case, without a dependency on the masks */
    set_mask(loop, exec(loop, 0), IR_MASK_AND_NOT, leave[0], exec(loop, 0));
    set_mask(loop, exec(loop, 1), IR_MASK_AND_NOT, leave[1], exec(loop, 1));
    jump_if_none(loop, frame->exit);
    count_threads(loop, exec(loop, 0), exec(loop, 1));
    put_label(loop, stay);
    return begin_block(loop);
}

/* Find the ELSE of a branch; false: there are several. */
static bool find_other_side(const struct loop *loop, struct frame *frame) {
    int depth = 0;
    for (uint32_t i = frame->begin + 1; i < frame->end; i++) {
        const struct g4_op *const inner = &loop->ops[i];
        depth += (int)begins_at(loop, i) + g4_op_opens(inner) - g4_op_closes(inner);
        if (is_flow(inner) && inner->opcode == G4_OPCODE_ELSE && depth == 0) {
            if (frame->other) {
                return false;
            }
            frame->other = i;
        }
    }
    return true;
}

static bool flow_if(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];

    count_op(loop, op);
    if (!push_frame(loop, at, 0) || !find_other_side(loop, innermost(loop))) {
        return false;
    }
    struct frame *const frame = innermost(loop);
    const bool iff = op->opcode == G4_OPCODE_IFF;
    const uint32_t dead_go_to = frame->other ? loop->ops[frame->other].ip
                                : iff        ? ip_after(loop, frame->end)
                                             : loop->ops[frame->end].ip;
    if (op->target != dead_go_to || (iff && frame->other) || loop->ops[frame->end].opcode != G4_OPCODE_ENDIF) {
        return false;
    }
    keep_passing_lanes(loop, op);
    frame->to_other = ir_label(&loop->t->ir);
    jump_if_none(loop, frame->to_other);
    return begin_block_of_exec(loop);
}

static bool flow_else(struct loop *loop, uint32_t at) {
    const struct frame *const frame = innermost(loop);

    if (!is_if(&loop->ops[frame->begin]) || frame->other != at ||
        !(else_passes_over(loop, frame) || else_stops_at(loop, frame))) {
        return false;
    }
    put_label(loop, frame->to_other);
    if (!begin_block_of(loop, frame->masks[0], frame->masks[1])) {
        return false;
    }
    count_op(loop, &loop->ops[at]);
    set_mask(loop, exec(loop, 0), IR_MASK_AND_NOT, exec(loop, 0), frame->masks[0]);
    set_mask(loop, exec(loop, 1), IR_MASK_AND_NOT, exec(loop, 1), frame->masks[1]);
    jump_if_none(loop, frame->exit);
    return begin_block_of_exec(loop);
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
        put_label(loop, frame->to_other);
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

/* ---- flow with channel pointers ----
 *
 * Lanes that leave a loop wait behind it until all have left.  A thread without lanes jumps to the next end of a loop
 * or of a side of a branch, and executes the instruction there.  So all threads that begin a turn of a loop execute its
 * `while`, all that begin a side of a branch the `else` after it, and all that execute an `if` its `endif`.
 */

/* Add an op to the statistics of an earlier block, whose threads all execute it. */
static void count_op_in(struct loop *loop, uint32_t block, const struct g4_op *op) {
    g4_block_cost_add(&loop->basic_blocks[block], op);
}

static bool is_before_other_side(const struct frame *frame, uint32_t at) {
    return frame->other && at < frame->other;
}

/* The op that ends a loop, or the side of a branch that an op is on. */
static const struct g4_op *end_around(const struct loop *loop, const struct frame *frame, uint32_t at) {
    return &loop->ops[is_before_other_side(frame, at) ? frame->other : frame->end];
}

/* Jump there if no lane is left. */
static void jump_to_end_if_none(struct loop *loop, const struct frame *frame, uint32_t at) {
    jump_if_none(loop, is_before_other_side(frame, at) ? frame->to_other : frame->exit);
}

static unsigned halves_of(const struct g4_op *op) {
    return op->exec_size > 8 ? 2 : 1;
}

static bool pointer_while(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    const struct frame *const frame = innermost(loop);

    if (!frame->is_loop || frame->end != at || op->target != loop->ops[frame->begin].ip) {
        return false;
    }
    count_op_in(loop, frame->block, op);
    return end_loop(loop, op);
}

static bool pointer_break(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    const struct frame *const inner = innermost(loop);
    struct frame *around = &loop->frame[loop->depth - 1];
    const uint32_t stay = ir_label(&loop->t->ir);
    ir_operand leave[2] = {IR_NONE, IR_NONE};

    while (around > loop->frame && !around->is_loop) {
        around--;
    }
    if (!around->is_loop || op->uip != ip_after(loop, around->end) || op->target != end_around(loop, inner, at)->ip) {
        return false;
    }
    count_op(loop, op);
    for (unsigned half = 0; half < halves_of(op); half++) {
        leave[half] = ir_value(&loop->t->ir, IR_MASK);
        passing_lanes(loop, op, half, leave[half]);
    }
    jump_if_none_of(loop, leave[0], leave[halves_of(op) - 1], stay);
    for (unsigned half = 0; half < halves_of(op); half++) {
        set_mask(loop, exec(loop, half), IR_MASK_AND_NOT, leave[half], exec(loop, half));
        for (struct frame *frame = around + 1; frame < loop->frame + loop->depth; frame++) {
            set_mask(loop, frame->masks[half], IR_MASK_AND_NOT, leave[half], frame->masks[half]);
            frame->is_left = true;
        }
    }
    jump_to_end_if_none(loop, inner, at);
    count_threads(loop, exec(loop, 0), exec(loop, 1));
    put_label(loop, stay);
    return begin_block(loop);
}

static bool pointer_if(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];

    count_op(loop, op);
    const uint32_t block = loop->basic_block_count - 1;
    if (!push_frame(loop, at, 0) || !find_other_side(loop, innermost(loop))) {
        return false;
    }
    struct frame *const frame = innermost(loop);
    const struct g4_op *const end = &loop->ops[frame->end];
    const struct g4_op *const other = frame->other ? &loop->ops[frame->other] : NULL;
    if (end->opcode != G4_OPCODE_ENDIF || op->target != (other ? other->next : end->ip) ||
        (other && (other->target != end->ip || other->exec_size != op->exec_size))) {
        return false;
    }
    count_op_in(loop, block, end);
    for (unsigned half = 0; half < halves_of(op); half++) {
        if (other) {
            frame->others[half] = ir_variable(&loop->t->ir, IR_MASK);
        }
        passing_lanes(loop, op, half, exec(loop, half));
        if (other) {
            set_mask(loop, frame->others[half], IR_MASK_AND_NOT, exec(loop, half), frame->masks[half]);
        }
    }
    frame->to_other = ir_label(&loop->t->ir);
    jump_if_none(loop, other ? frame->to_other : frame->exit);
    if (!begin_block_of_exec(loop)) {
        return false;
    }
    if (other) {
        count_op_in(loop, loop->basic_block_count - 1, other);
    }
    return true;
}

static bool pointer_else(struct loop *loop, uint32_t at) {
    const struct frame *const frame = innermost(loop);

    if (frame->is_loop || frame->other != at) {
        return false;
    }
    put_label(loop, frame->to_other);
    for (unsigned half = 0; half < halves_of(&loop->ops[at]); half++) {
        set_mask(loop, exec(loop, half), IR_MASK_MOVE, frame->others[half], IR_NONE);
    }
    loop->t->element_count = frame->known_elements;
    jump_if_none(loop, frame->exit);
    return begin_block_of_exec(loop);
}

static bool pointer_endif(struct loop *loop, uint32_t at) {
    const struct frame branch = *innermost(loop);

    if (branch.is_loop || branch.end != at) {
        return false;
    }
    pop_frame(loop);
    if (branch.is_left) {
        if (loop->ops[at].target != end_around(loop, innermost(loop), at)->ip) {
            return false;
        }
        jump_to_end_if_none(loop, innermost(loop), at);
    }
    return begin_block_of_exec(loop);
}

static bool flow_pointers(struct loop *loop, uint32_t at) {
    switch (loop->ops[at].opcode) {
    case G4_OPCODE_WHILE:
        return pointer_while(loop, at);
    case G4_OPCODE_BREAK:
        return pointer_break(loop, at);
    case G4_OPCODE_IF:
        return pointer_if(loop, at);
    case G4_OPCODE_ELSE:
        return pointer_else(loop, at);
    case G4_OPCODE_ENDIF:
        return pointer_endif(loop, at);
    default:
        return false;
    }
}

/* Begin the loops at an op that have no instruction of their own. */
static bool begin_loops(struct loop *loop, uint32_t at) {
    for (unsigned inside = begins_at(loop, at); inside > 0; inside--) {
        if (!begin_loop(loop, at, inside)) {
            return false;
        }
    }
    return true;
}

static bool flow(struct loop *loop, uint32_t at) {
    const unsigned opcode = loop->ops[at].opcode;
    if (loop->depth == 0 && at != 0) {
        return false;
    }
    if (loop->ops[at].channel_pointers) {
        return flow_pointers(loop, at);
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
    struct translator *const t = loop->t;

    add(loop, (struct ir_instruction){.op = IR_BEGIN_TURNS});
    for (unsigned half = 0; half < 2; half++) {
        t->exec[half] = ir_variable(&t->ir, IR_MASK);
        add(loop, (struct ir_instruction){.op = IR_LOAD_EXEC, .imm = (uint8_t)half, .dst = t->exec[half]});
        if (loop->flag >= 0) {
            (void)g4_flag(t, (unsigned)loop->flag, half);
        }
    }
    g4_begin_checks(t);
    g4_loop_load(loop);
    g4_begin_checks(t);
}

static void leave(struct loop *loop) {
    struct translator *const t = loop->t;

    g4_jump_if_special(t, IR_NONE, loop->failure);
    add(loop, (struct ir_instruction){.op = IR_JUMP_IF_RAISED, .at = loop->failure});
    g4_store_late(t);
    g4_loop_store_constants(loop);
    add(loop, (struct ir_instruction){.op = IR_RETURN, .at = 0});
    put_label(loop, loop->failure);
    add(loop, (struct ir_instruction){.op = IR_RETURN, .at = 1});
}

/* The flow instruction at or after an op. */
static uint32_t next_flow(const struct loop *loop, uint32_t at) {
    while (at < loop->count && !is_flow(&loop->ops[at])) {
        at++;
        if (at < loop->count && begins_at(loop, at)) {
            break;
        }
    }
    return at;
}

/* Where the lanes continue that leave a loop at an op; 0: none do. */
static uint32_t exit_of(const struct loop *loop, uint32_t at) {
    if (at == loop->count || !is_flow(&loop->ops[at]) || loop->ops[at].opcode != G4_OPCODE_BREAK) {
        return 0;
    }
    const struct frame *frame = &loop->frame[loop->depth - 1];
    while (frame > loop->frame && !frame->is_loop) {
        frame--;
    }
    return frame->end + 1;
}

static bool lower_at(struct loop *loop, uint32_t at) {
    struct translator *const t = loop->t;
    const struct g4_op *const op = &loop->ops[at];

    if (begins_at(loop, at)) {
        t->at = t->end = at;
        t->exit = 0;
        g4_join_values(t);
        g4_drop_flags(t);
        if (!begin_loops(loop, at)) {
            return false;
        }
    }
    t->at = at;
    t->end = next_flow(loop, at);
    t->exit = exit_of(loop, t->end);
    if (is_flow(op)) {
        g4_join_values(t);
        const bool done = flow(loop, at);
        g4_drop_flags(t);
        return done;
    }
    count_op(loop, op);
    return g4_is_constant_element(op) ? g4_loop_write_constant(loop, at) : g4_lower_op(t, op);
}

/* Translate to the intermediate form for a back end. */
static bool lower_for(struct loop *loop, const struct backend *backend) {
    struct translator *const t = loop->t;

    t->backend = backend;
    g4_translator_clear(t);
    t->loop = true;
    t->ops = loop->ops;
    loop->failure = ir_label(&t->ir);
    if (!g4_loop_record(loop)) {
        return false;
    }
    enter(loop);
    if (!begin_block_of_exec(loop)) {
        return false;
    }
    for (uint32_t i = 0; i < loop->count; i++) {
        if (!lower_at(loop, i)) {
            return false;
        }
    }
    if (loop->depth != 0) {
        return false;
    }
    t->end = loop->count;
    t->exit = 0;
    leave(loop);
    return true;
}

/* Describe the emitted loop; false: no memory, or too many rows. */
static bool describe(const struct loop *loop, struct g4_jit_block *block) {
    const struct translator *const t = loop->t;
    uint8_t stored_rows[ROWS];
    const uint32_t stored_row_count = g4_loop_stored_rows(loop, stored_rows);
    if (stored_row_count > G4_LOOP_STORED_ROWS) {
        return false;
    }
    *block = (struct g4_jit_block){.threads = t->backend->threads,
                                   .count = loop->count,
                                   .last_ip = loop->ops[loop->count - 1].ip,
                                   .fuel = (uint64_t)loop->count * (G4_LOOP_TURNS + 2),
                                   .loop = loop->ops,
                                   .top = t->top,
                                   .ieee_only = t->ieee_only,
                                   .flushes = t->flushes,
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

bool g4_lower_loop(struct translator *t, const struct g4_op *ops, uint32_t left, struct g4_jit_block *block) {
    struct loop state = {.t = t, .ops = ops, .count = end_of(t, ops, left, 0, t->begins[t->first]) + 1, .flag = -1};
    struct loop *const loop = &state;

    if (loop->count == 1 || !can_lower_all(loop) || is_entered_elsewhere(loop)) {
        return false;
    }
    const struct loop start = state;
    if (!lower_for(loop, t->usual_backend)) {
        return false;
    }
    if (t->waiting_backend && ir_waits(&t->ir)) {
        state = start;
        if (lower_for(loop, t->waiting_backend) && g4_emit_block(t)) {
            return describe(loop, block);
        }
        state = start; /* the values of two threads have no room */
        if (!lower_for(loop, t->usual_backend)) {
            return false;
        }
    }
    return g4_emit_block(t) && describe(loop, block);
}

#endif
