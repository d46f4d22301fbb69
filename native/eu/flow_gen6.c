/*
 * Flow control of Gen6 and later: every channel has an instruction pointer of its own.  A thread executes at the
 * pointer of its enabled channels (gang->amask); the other dispatched channels are parked at an address, where they
 * join again when the thread comes there.  There are no mask stacks.
 */
#include "eu/fast/fast.h"
#include "eu/run.h"

/* The bit of an address in gang->parked_hint.  Most instructions at which channels could join have none that wait,
 * which the hint shows at once. */
static uint64_t hint_of(uint32_t ip) {
    return UINT64_C(1) << (ip >> 3 & 63);
}

/* Let the channels of a thread that wait at `ip` join. */
static void join(struct g4_gang *gang, int t, uint32_t ip) {
    if (!(gang->parked_hint[t] & hint_of(ip))) {
        return;
    }
    const uint32_t on = g4_mask32(gang->amask, t);
    const uint32_t off = g4_mask32(gang->dmask, t) & ~on;
    uint32_t waiting = 0;

    for (uint32_t left = off; left; left &= left - 1) {
        const int c = __builtin_ctz(left);
        waiting |= (gang->parked_at[t][c] == ip ? UINT32_C(1) : 0) << c;
    }
    if (waiting) {
        g4_set_mask32(gang->amask, t, on | waiting);
    }
    if (waiting == off) {
        gang->parked_hint[t] = 0;
    }
}

/* The threads of the group that have channels that wait. */
static uint8_t waiting_threads(const struct g4_run *run) {
    const struct g4_gang *const gang = run->gang;
    g4_lanes waiting = 0;
    for (int part = 0; part < G4_GANG_CHANNELS / 8; part++) {
        waiting |= gang->dmask[part] & ~gang->amask[part];
    }
    return run->threads & g4_threads_any(waiting);
}

void g4_flow_join(struct g4_run *run, uint32_t ip) {
    for (unsigned left = waiting_threads(run); left; left &= left - 1) {
        join(run->gang, __builtin_ctz(left), ip);
    }
    g4_run_masks(run);
}

void g4_join(struct g4_run *run, const struct g4_op *op) {
    g4_flow_join(run, op->ip);
    run->tables[op->joined >> 8]->handler[op->joined & 0xff](run, op);
}

static void park(struct g4_gang *gang, int t, uint32_t channels, uint32_t ip) {
    for (uint32_t left = channels; left; left &= left - 1) {
        gang->parked_at[t][__builtin_ctz(left)] = ip;
    }
    gang->parked_hint[t] |= channels ? hint_of(ip) : 0;
    g4_set_mask32(gang->amask, t, g4_mask32(gang->amask, t) & ~channels);
}

/* The channels of a thread that a branch works on: those enabled of its group.  *taken: those whose predicate is true.
 * In single program flow channel 0 of the group decides for all. */
static uint32_t active(const struct g4_run *run, const struct g4_op *op, int t, uint32_t *taken) {
    const bool wide = run->gang->wide;
    const unsigned all = wide ? 32 : 16;
    const unsigned first = wide ? op->group : op->first_channel[0];
    const uint32_t in_group = op->exec_size >= all ? UINT32_MAX : ((UINT32_C(1) << op->exec_size) - 1) << first;
    const uint32_t on = g4_mask32(run->gang->amask, t) & in_group;
    uint32_t predicate = 0;

    if (wide) {
        predicate = g4_predicate_channels(run, op, t);
    } else {
        for (int h = 0; h < 2; h++) {
            predicate |= g4_thread_lanes(g4_predicate(run->gang, op, h), t) << (8 * h);
        }
    }
    if (run->single >> t & 1) {
        predicate = predicate >> first & 1 ? UINT32_MAX : 0;
    }
    *taken = on & predicate;
    return on;
}

/* Whether a thread has channels that continue at the next instruction; they join. */
static bool goes_on(const struct g4_run *run, int t) {
    join(run->gang, t, run->next);
    return g4_mask32(run->gang->amask, t) != 0;
}

/* In single program flow nothing waits: if channel 0 is for it, a break, cont or halt takes the thread to its second
 * target. */
static bool leaves_alone(struct g4_run *run, const struct g4_op *op, int t) {
    uint32_t taken;

    if (!(run->single >> t & 1) ||
        (op->opcode != G4_OPCODE_BREAK && op->opcode != G4_OPCODE_CONT && op->opcode != G4_OPCODE_HALT)) {
        return false;
    }
    (void)active(run, op, t, &taken);
    if (taken) {
        g4_run_jump_one(run, t, op->uip);
    }
    join(run->gang, t, taken ? op->uip : run->next);
    return true;
}

/* A branch that parks channels.  Returns whether the thread jumps to the first target, because no channel is left. */
static bool branch(struct g4_run *run, const struct g4_op *op, int t) {
    struct g4_gang *const gang = run->gang;
    uint32_t taken;
    const uint32_t on = active(run, op, t, &taken);

    switch (op->opcode) {
    case G4_OPCODE_IF:
        park(gang, t, on & ~taken, op->target);
        break;
    case G4_OPCODE_ELSE:
        park(gang, t, on, op->target);
        break;
    case G4_OPCODE_BREAK:
    case G4_OPCODE_CONT:
    case G4_OPCODE_HALT:
    case G4_OPCODE_BRC:
        park(gang, t, taken, op->uip);
        break;
    case G4_OPCODE_BRD:
        park(gang, t, taken, op->target);
        break;
    case G4_OPCODE_GOTO:
        park(gang, t, on & ~taken, op->uip);
        break;
    default: /* endif, join */
        break;
    }
    return !goes_on(run, t);
}

/* The loop continues while any channel does; the others wait after it. */
static bool loop(struct g4_run *run, const struct g4_op *op, int t) {
    uint32_t taken;

    (void)active(run, op, t, &taken);
    if (taken == 0) {
        (void)goes_on(run, t);
        return false;
    }
    park(run->gang, t, g4_mask32(run->gang->amask, t) & ~taken, run->next);
    return true;
}

/* A `goto` with branch control: channels whose predicate is true jump to the second target, such as the start of a
 * loop, and the others wait at the first one.  Without it, channels whose predicate is false jump (docs/decisions.md
 * 227).
 */
static bool go_back(struct g4_run *run, const struct g4_op *op, int t) {
    uint32_t taken;
    const uint32_t on = active(run, op, t, &taken);

    park(run->gang, t, on & ~taken, op->target);
    if (taken == 0) {
        return !goes_on(run, t);
    }
    park(run->gang, t, g4_mask32(run->gang->amask, t) & ~taken, run->next);
    g4_run_jump_one(run, t, op->uip);
    join(run->gang, t, op->uip);
    return false;
}

/* Channel 0 decides for the thread, if it is enabled; all enabled channels move along. */
static void jump(struct g4_run *run, const struct g4_op *op) {
    const g4_lanes first = g4_predicate(run->gang, op, 0) & (op->nomask ? run->group : run->exec[0]) & G4_FIRST_LANES;
    const uint8_t jumps = g4_threads_any(first);
    uint32_t targets[G4_GANG_THREADS];

    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        targets[t] = run->next;
        if (jumps >> t & 1) {
            targets[t] = op->target;
            if (op->src[1].kind != G4_KIND_IMM) {
                uint32_t index;
                g4_read_raw(run, &op->src[1], 0, t, 1, &index);
                targets[t] += (op->src[1].negate ? 0u - index : index) * op->jump_unit;
            }
        }
        join(run->gang, t, targets[t]);
    }
    for (unsigned left = jumps & run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        g4_run_jump_one(run, t, targets[t]);
    }
}

/* The difference between ip, as kernels see it, and an offset in the kernel. */
static uint32_t kernel_start(const struct g4_run *run) {
    return (uint32_t)(run->gang->dispatch->kernel_address - run->gang->dispatch->instruction_base);
}

/* The channels of the group go to the subroutine, the others wait after the call.  The destination receives the return
 * address and the channels.  An execution size of 2 refers to these two dwords, and all channels are called:
 * subroutines of the VA driver's kernels for Haswell compute with 16. */
static void call(struct g4_run *run, const struct g4_op *op, int t) {
    uint32_t taken;
    const uint32_t group = active(run, op, t, &taken);
    const uint32_t on = op->exec_size == 2 ? g4_mask32(run->gang->amask, t) : group;
    const uint32_t saved[2] = {run->next + kernel_start(run), on};

    if (op->dst.kind == G4_KIND_GRF) {
        for (unsigned i = 0; i < 2; i++) {
            uint8_t *const place = g4_grf_byte(run->gang, t, (op->dst.base & ~3u) + 4 * i);
            for (unsigned b = 0; place && b < 4; b++) {
                place[b] = (uint8_t)(saved[i] >> (8 * b));
            }
        }
    }
    park(run->gang, t, g4_mask32(run->gang->amask, t) & ~on, run->next);
    g4_run_jump_one(run, t, op->target);
    join(run->gang, t, op->target);
}

static void return_from(struct g4_run *run, const struct g4_op *op, int t) {
    struct g4_src saved = op->src[0];
    uint32_t value[2];

    saved.align16 = false;
    saved.vstride = saved.width = 2;
    saved.hstride = 1;
    g4_read_raw(run, &saved, 0, t, 2, value);
    const uint32_t target = (value[0] - kernel_start(run)) & ~7u;
    park(run->gang, t, g4_mask32(run->gang->amask, t) & ~value[1], run->next);
    g4_run_jump_one(run, t, target);
    join(run->gang, t, target);
}

void g4_flow_gen6(struct g4_run *run, const struct g4_op *op) {
    uint8_t jumps = 0;

    g4_flow_join(run, op->ip);
    if (op->opcode == G4_OPCODE_JMPI) {
        jump(run, op);
        g4_run_masks(run);
        return;
    }
    for (unsigned left = run->threads; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        bool jumps_here = false;
        if (op->opcode == G4_OPCODE_WHILE) {
            jumps_here = loop(run, op, t);
        } else if (op->opcode == G4_OPCODE_GOTO && op->branch_control) {
            jumps_here = go_back(run, op, t);
        } else if (op->opcode == G4_OPCODE_CALL) {
            call(run, op, t);
        } else if (op->opcode == G4_OPCODE_RET) {
            return_from(run, op, t);
        } else if (!leaves_alone(run, op, t)) {
            jumps_here = branch(run, op, t);
        }
        if (jumps_here) {
            join(run->gang, t, op->target);
            jumps |= (uint8_t)(1u << t);
        }
    }
    g4_run_jump(run, jumps, op->target);
    g4_run_masks(run);
}
