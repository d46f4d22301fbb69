/*
 * Flow control: masks, their stacks, jumps.  Instructions work on all threads of the group at once; only
 * stacks and jumps are handled thread by thread.
 */
#include "eu/run.h"

/* ---- stacks ---- */

enum {
    HARDWARE_DEPTH = 16
};

static void push(struct g4_run *run, struct g4_mask_stack *stack, int t, unsigned mask) {
    if (stack->depth >= HARDWARE_DEPTH && !g4_exception_take(run, t, G4_EXCEPTION_MASK_STACK)) {
        g4_run_report(run, G4_EVENT_MASK_STACK, stack->depth);
    }
    if (stack->depth < G4_MASK_STACK_DEPTH) {
        stack->entry[stack->depth++] = (uint16_t)mask;
    }
}

/* Pop n entries.  Returns the last one popped, or `mask` if n is 0 or the stack is empty. */
static unsigned pop(struct g4_run *run, struct g4_mask_stack *stack, int t, unsigned n, unsigned mask) {
    for (; n > 0; n--) {
        if (stack->depth == 0) {
            if (!g4_exception_take(run, t, G4_EXCEPTION_MASK_STACK)) {
                g4_run_report(run, G4_EVENT_MASK_STACK, 0);
            }
            break;
        }
        mask = stack->entry[--stack->depth];
    }
    return mask;
}

static void pop_if(struct g4_run *run, int t, unsigned n) {
    struct g4_gang *const gang = run->gang;
    g4_set_mask16(gang->imask, t, pop(run, &gang->if_stack[t], t, n, g4_mask16(gang->imask, t)));
}

static void push_if(struct g4_run *run, int t) {
    push(run, &run->gang->if_stack[t], t, g4_mask16(run->gang->imask, t));
}

static void pop_loop(struct g4_run *run, int t) {
    struct g4_gang *const gang = run->gang;
    g4_set_mask16(gang->lmask, t, pop(run, &gang->loop_stack[0][t], t, 1, g4_mask16(gang->lmask, t)));
    g4_set_mask16(gang->cmask, t, pop(run, &gang->loop_stack[1][t], t, 1, g4_mask16(gang->cmask, t)));
}

/* ---- masks of the group ---- */

struct pair {
    g4_lanes half[2];
};

static struct pair enabled(const struct g4_run *run) {
    return (struct pair){{run->exec[0], run->exec[1]}};
}

/* The predicate of channels below the execution size; 0 above. */
static struct pair predicate(const struct g4_run *run, const struct g4_op *op) {
    struct pair p;
    for (int h = 0; h < 2; h++) {
        p.half[h] = g4_predicate(run->gang, op, h) & run->group;
    }
    if (op->exec_size <= 8) {
        p.half[0] &= op->size_lanes;
        p.half[1] = 0;
    }
    for (unsigned left = run->threads & run->single; left; left &= left - 1) {
        /* single program flow: channel 0 decides for all */
        const int t = __builtin_ctz(left);
        g4_set_mask16((g4_lanes *)p.half, t, p.half[0] >> (8 * t) & 1 ? 0xffff : 0);
    }
    return p;
}

/* Threads of the group without a channel in both halves. */
static uint8_t none(const struct g4_run *run, g4_lanes low, g4_lanes high) {
    return run->threads & (uint8_t)~g4_threads_any(low | high);
}

/* ---- instructions ---- */

static void flow_if(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct pair p = predicate(run, op);
    const uint8_t dead = none(run, run->exec[0] & p.half[0], run->exec[1] & p.half[1]);
    const bool pushes_always = op->opcode == G4_OPCODE_IF;

    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        if (pushes_always || !(dead >> t & 1)) {
            push_if(run, t);
        }
    }
    const g4_lanes keep = pushes_always ? G4_EVERY_LANE : ~g4_lanes_of(dead);
    for (int h = 0; h < 2; h++) {
        gang->imask[h] &= p.half[h] | ~(run->group & keep);
    }
    g4_run_jump(run, dead, op->target);
}

static void flow_else(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;

    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        const struct g4_mask_stack *const stack = &gang->if_stack[t];
        const unsigned top = stack->depth ? stack->entry[stack->depth - 1] : 0xffffu;
        if (stack->depth == 0) {
            g4_run_report(run, G4_EVENT_MASK_STACK, 0);
        }
        g4_set_mask16(gang->imask, t, top & ~g4_mask16(gang->imask, t));
    }
    g4_run_masks(run);
    const uint8_t dead = none(run, run->exec[0], run->exec[1]);
    for (unsigned left = dead; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        pop_if(run, t, op->pop);
    }
    g4_run_jump(run, dead, op->target);
}

static void flow_endif(struct g4_run *run) {
    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        pop_if(run, t, 1);
    }
}

static void flow_do(struct g4_run *run) {
    struct g4_gang *const gang = run->gang;

    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        push(run, &gang->loop_stack[0][t], t, g4_mask16(gang->lmask, t));
        push(run, &gang->loop_stack[1][t], t, g4_mask16(gang->cmask, t));
    }
    for (int h = 0; h < 2; h++) {
        gang->lmask[h] &= (gang->imask[h] & gang->cmask[h]) | ~run->group;
        gang->cmask[h] |= run->group;
    }
}

static void flow_break(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct pair p = predicate(run, op);

    for (int h = 0; h < 2; h++) {
        gang->lmask[h] &= ~(run->exec[h] & p.half[h]);
    }
    const uint8_t done = none(run, gang->amask[0] & gang->lmask[0], gang->amask[1] & gang->lmask[1]);
    for (unsigned left = done; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        pop_if(run, t, op->pop);
        pop_loop(run, t);
    }
    g4_run_jump(run, done, op->target);
}

static void flow_cont(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct pair p = predicate(run, op);

    for (int h = 0; h < 2; h++) {
        gang->cmask[h] &= ~(run->exec[h] & p.half[h]);
    }
    const uint8_t done =
        none(run, gang->amask[0] & gang->lmask[0] & gang->cmask[0], gang->amask[1] & gang->lmask[1] & gang->cmask[1]);
    for (unsigned left = done; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        pop_if(run, t, op->pop);
    }
    g4_run_jump(run, done, op->target);
}

static void flow_while(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct pair p = predicate(run, op);

    for (int h = 0; h < 2; h++) {
        gang->cmask[h] |= run->group;
    }
    g4_run_masks(run);
    const struct pair e = enabled(run);
    for (int h = 0; h < 2; h++) {
        gang->lmask[h] &= ~(e.half[h] & ~p.half[h]);
    }
    g4_run_masks(run);
    const uint8_t done = none(run, run->exec[0], run->exec[1]);
    for (unsigned left = done; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        pop_loop(run, t);
    }
    g4_run_jump(run, run->threads & (uint8_t)~done, op->target);
}

static void flow_halt(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct pair p = predicate(run, op);

    for (int h = 0; h < 2; h++) {
        gang->amask[h] &= ~(run->exec[h] & p.half[h]);
    }
    g4_run_jump(run, none(run, gang->amask[0], gang->amask[1]), op->target);
}

/* Channel 0 decides, if it is enabled. */
static void flow_jmpi(struct g4_run *run, const struct g4_op *op) {
    const g4_lanes first = g4_predicate(run->gang, op, 0) & (op->nomask ? run->group : run->exec[0]) & G4_FIRST_LANES;
    const uint8_t jumps = g4_threads_any(first);

    if (op->src[1].kind == G4_KIND_IMM) {
        g4_run_jump(run, jumps, op->target);
        return;
    }
    for (unsigned left = jumps; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        uint32_t index;
        g4_read_raw(run, &op->src[1], 0, t, 1, &index);
        index = op->src[1].negate ? 0u - index : index;
        g4_run_jump_one(run, t, op->target + index * 16);
    }
}

void g4_flow(struct g4_run *run, const struct g4_op *op) {
    switch (op->opcode) {
    case G4_OPCODE_IF:
    case G4_OPCODE_IFF:
        flow_if(run, op);
        break;
    case G4_OPCODE_ELSE:
        flow_else(run, op);
        break;
    case G4_OPCODE_ENDIF:
        flow_endif(run);
        break;
    case G4_OPCODE_DO:
        flow_do(run);
        break;
    case G4_OPCODE_WHILE:
        flow_while(run, op);
        break;
    case G4_OPCODE_BREAK:
        flow_break(run, op);
        break;
    case G4_OPCODE_CONT:
        flow_cont(run, op);
        break;
    case G4_OPCODE_HALT:
        flow_halt(run, op);
        break;
    default:
        flow_jmpi(run, op);
        return; /* no masks */
    }
    g4_run_masks(run);
}

/* ---- push and pop ---- */

static bool first_channel(const struct g4_run *run, const struct g4_op *op, int t) {
    const g4_lanes on = g4_predicate(run->gang, op, 0) & (op->nomask ? run->group : run->exec[0]);
    return on >> (8 * t) & 1;
}

/* The stack of word n of mask0: 1 IMask, 2 LMask, 3 CMask.  AMask (0) has none. */
static struct g4_mask_stack *stack_of(struct g4_gang *gang, int t, unsigned word, g4_lanes **mask) {
    switch (word) {
    case 1:
        *mask = gang->imask;
        return &gang->if_stack[t];
    case 2:
        *mask = gang->lmask;
        return &gang->loop_stack[0][t];
    default:
        *mask = gang->cmask;
        return &gang->loop_stack[1][t];
    }
}

void g4_mask_stack_op(struct g4_run *run, const struct g4_op *op) {
    const unsigned word = op->dst.base / 2u;
    if (op->dst.kind != G4_KIND_ARF || op->dst.reg >> 4 != G4_ARF_MASK || word < 1 || word > 3) {
        return;
    }
    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        if (!first_channel(run, op, t)) {
            continue;
        }
        g4_lanes *mask = 0;
        struct g4_mask_stack *const stack = stack_of(run->gang, t, word, &mask);
        uint32_t value[2];
        g4_read_raw(run, &op->src[0], 0, t, 1, &value[0]);
        g4_read_raw(run, &op->src[1], 0, t, 1, &value[1]);
        if (op->opcode == G4_OPCODE_PUSH) {
            push(run, stack, t, g4_mask16(mask, t));
            g4_set_mask16(mask, t, value[0] & 0xffff);
        } else {
            const unsigned n = value[1] < G4_MASK_STACK_DEPTH ? value[1] : G4_MASK_STACK_DEPTH;
            g4_set_mask16(mask, t, pop(run, stack, t, n, g4_mask16(mask, t)));
        }
    }
    g4_run_masks(run);
}
