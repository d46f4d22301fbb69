/*
 * Which implicit accumulator writes can be read (spec/40 5): nearly every instruction writes the accumulator, hardly
 * any reads it.  Backward over the kernel, slot by slot, until nothing changes.  Implicit writes are not masked, so
 * that one hides all that were made before to the same slots.
 */
#include "eu/kernel.h"

/* Slots of acc0 in the low half, of acc1 in the high half. */
typedef uint32_t slots;

#define ALL_SLOTS UINT32_MAX

static slots slots_of(unsigned acc, unsigned channels) {
    return (channels < 16 ? (1u << channels) - 1 : 0xffffu) << (16 * (acc & 1));
}

/* The implicit accumulator of the passes; an operand that names one decides for all (spec/40 5). */
static slots implicit_slots(const struct g4_op *op) {
    slots found = 0;
    for (unsigned pass = 0; pass < op->passes; pass++) {
        found |= slots_of(op->sechalf ? 1 : pass, op->channels);
    }
    return found;
}

static bool names_accumulator(const struct g4_op *op) {
    return op->src[0].kind == G4_KIND_ACC || op->src[1].kind == G4_KIND_ACC || op->dst.kind == G4_KIND_ACC;
}

static slots reads(const struct g4_op *op) {
    if (!g4_op_reads_acc(op)) {
        return 0;
    }
    return names_accumulator(op) ? ALL_SLOTS : implicit_slots(op);
}

static slots hides(const struct g4_op *op) {
    const bool writes = (g4_opcode_info[op->opcode].flags & G4_OPF_ACC_WRITE) && !op->undefined;
    return writes && !names_accumulator(op) ? implicit_slots(op) : 0;
}

static slots live_at(const struct g4_kernel *kernel, const slots *live, uint32_t ip) {
    const struct g4_op *const op = g4_kernel_find(kernel, ip);
    return op ? live[op - kernel->ops] : ALL_SLOTS;
}

/* What may be read after op i. */
static slots live_after(const struct g4_kernel *kernel, const slots *live, uint32_t i) {
    const struct g4_op *const op = &kernel->ops[i];
    uint32_t target = 0;

    if (op->opcode == G4_OPCODE_ILLEGAL || g4_op_ends_thread(op)) {
        return 0;
    }
    if (op->breakpoint) {
        return ALL_SLOTS;
    }
    slots after = live_at(kernel, live, op->next);
    if (g4_op_branches(op)) {
        const bool computed = op->opcode == G4_OPCODE_JMPI && op->src[1].kind != G4_KIND_IMM;
        after |= computed ? ALL_SLOTS : live_at(kernel, live, op->target);
    } else if (g4_op_writes_ip(op)) {
        after |= g4_op_ip_target(op, &target) ? live_at(kernel, live, target) : ALL_SLOTS;
    }
    return after;
}

/* cr0 can switch implicit writes off: then nothing can be told. */
static bool writes_control(const struct g4_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_dst *const dst = &kernel->ops[i].dst;
        if (dst->kind == G4_KIND_ARF && dst->reg >> 4 == G4_ARF_CR) {
            return true;
        }
    }
    return false;
}

static bool spread(const struct g4_kernel *kernel, slots *live) {
    bool changed = false;
    for (uint32_t i = kernel->count; i-- > 0;) {
        const struct g4_op *const op = &kernel->ops[i];
        const slots before = reads(op) | (live_after(kernel, live, i) & ~hides(op));
        changed |= before != live[i];
        live[i] = before;
    }
    return changed;
}

void g4_liveness(struct g4_kernel *kernel, uint32_t *live) {
    if (writes_control(kernel)) {
        return;
    }
    while (spread(kernel, live)) {
        /* sets only grow: it ends */
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        struct g4_op *const op = &kernel->ops[i];
        const slots written = names_accumulator(op) ? ALL_SLOTS : implicit_slots(op);
        if ((live_after(kernel, live, i) & written) == 0) {
            op->acc_write = false;
        }
    }
}
