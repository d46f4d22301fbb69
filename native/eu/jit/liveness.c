/*
 * Which rows may be read again.
 *
 * The analysis follows single channels: a channel that an instruction does not enable is somewhere else in the program,
 * so a write of all enabled channels hides what was there for every channel that comes by.  Rows of which a channel may
 * read others' lanes (scalars, permutations, payloads) are not analysed; they are always live.
 *
 * A lane of a row belongs to one channel of each half, so rows are analysed in each half.  Compilers use a row in both
 * halves for values that have nothing to do with each other.  Such a row is always live, too, unless no value of it
 * is live where a channel may wait for others, and no value of one half is live where the other half writes: then no
 * channel can lose a value.
 *
 * In kernels without control flow, where channels never wait, the rows that a later instruction reads are live.
 */
#include "eu/jit/liveness.h"

#include <stdlib.h>
#include <string.h>

#include "eu/jit/operands.h"

#include "core/variant.h"

#if G4_HAVE_X86_VARIANTS

/* The halves of the masks under which lanes of a row are used, and what else is known while rows are collected. */
struct row_facts {
    uint8_t halves[G4_GRF_COUNT];
    struct g4_row_set always;
    struct g4_row_set in_one_half; /* always live if they are used in both */
    bool unknown;                  /* any row may be read anywhere */
};

/* Mark the direct sources of an instruction.  Handlers may exchange them: in[s] need not be src[s]. */
static void mark_regions(struct row_facts *facts, const struct g4_op *op, unsigned sources) {
    for (unsigned s = 0; s < sources; s++) {
        if (op->src[s].kind == G4_KIND_GRF) {
            g4_row_set_add_region(&facts->always, op, &op->src[s]);
        }
    }
}

/* Whether lanes of a source read only themselves, in the half of their part. */
static bool reads_by_lane(const struct g4_op *op, unsigned s) {
    return g4_has_lanes(op) && op->in[s].load == G4_LOAD_PACKED && !op->nomask && op->half + op->parts <= 2 &&
           (op->handler >> 8 != G4_TABLE_DOUBLE || g4_has_three_sources(op));
}

static void mark_payload(struct row_facts *facts, const struct g4_op *op) {
    for (unsigned i = 0; i < op->payload_length; i++) {
        g4_row_set_add(&facts->always, (op->mrf + i) & (G4_GRF_COUNT - 1));
    }
    for (unsigned i = 0; i < op->second_length; i++) {
        g4_row_set_add(&facts->always, (op->second_payload + i) & (G4_GRF_COUNT - 1));
    }
}

static void collect(struct row_facts *facts, const struct g4_op *op) {
    const unsigned sources = op->opcode == G4_OPCODE_SEND ? 1 : g4_opcode_info[op->opcode].sources;
    if (op->grf_payload) {
        mark_payload(facts, op);
        return;
    }
    for (unsigned s = 0; s < sources; s++) {
        facts->unknown |= op->src[s].kind == G4_KIND_INDIRECT || op->src[s].kind == G4_KIND_INDEXED;
        if (!reads_by_lane(op, s)) {
            mark_regions(facts, op, sources);
            continue;
        }
        for (int part = 0; part < op->parts; part++) {
            facts->halves[op->in[s].reg[part] & (G4_GRF_COUNT - 1)] |= (uint8_t)(1u << half_of(op, part));
        }
    }
}

/* Kernels whose channels may continue anywhere, whose masks change other than by flow instructions, or that have more
 * than two halves. */
static bool is_analysable(const struct g4_kernel *kernel) {
    bool jumps = false;
    bool nests = false;
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool writes = op->dst.kind == G4_KIND_ARF && !g4_op_branches(op) && op->opcode != G4_OPCODE_SEND;
        const unsigned arf = writes ? op->dst.reg >> 4 : (unsigned)G4_ARF_NULL;
        const bool leaves = op->opcode == G4_OPCODE_HALT || op->opcode == G4_OPCODE_CONT;
        if (op->breakpoint || op->undefined || op->upper || g4_op_writes_ip(op) || (leaves && !op->channel_pointers) ||
            op->opcode == G4_OPCODE_CALL || op->opcode == G4_OPCODE_RET || op->handler == G4_HANDLER_MASK_STACK ||
            op->handler == G4_HANDLER_WAIT || (arf != G4_ARF_NULL && arf != G4_ARF_A && arf != G4_ARF_F)) {
            return false;
        }
        jumps |= op->opcode == G4_OPCODE_JMPI;
        nests |= g4_op_opens(op);
    }
    return !kernel->leaves && !kernel->start.stacks && !(jumps && nests);
}

/* Live rows by half. */
struct live_rows {
    struct g4_row_set half[2];
};

static struct live_rows live_at(const struct g4_kernel *kernel, const struct live_rows *live, uint32_t ip) {
    static const struct live_rows all = {{{{UINT64_MAX, UINT64_MAX}}, {{UINT64_MAX, UINT64_MAX}}}};
    const struct g4_op *const op = g4_kernel_find_own(kernel, ip);
    return op ? live[op - kernel->ops] : all;
}

static void add_rows(struct g4_row_set *to, const struct g4_row_set *from) {
    to->bits[0] |= from->bits[0];
    to->bits[1] |= from->bits[1];
}

static void join(struct live_rows *to, struct live_rows from) {
    add_rows(&to->half[0], &from.half[0]);
    add_rows(&to->half[1], &from.half[1]);
}

/* The end of the loop around an instruction; NULL: there is none. */
static const struct g4_op *end_of_loop(const struct g4_kernel *kernel, uint32_t at) {
    int depth = 0;
    for (uint32_t i = at + 1; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        if (op->opcode == G4_OPCODE_DO) {
            depth++;
        } else if (op->opcode == G4_OPCODE_WHILE && depth-- == 0) {
            return op;
        }
    }
    return NULL;
}

/* Rows that may be read after op i, by a channel that has executed it. */
static struct live_rows live_after(const struct g4_kernel *kernel, const struct live_rows *live, uint32_t i) {
    const struct g4_op *const op = &kernel->ops[i];
    struct live_rows after = {.half = {{{0, 0}}}};

    if (g4_op_ends_thread(op)) {
        return after;
    }
    after = live_at(kernel, live, op->next);
    if (!g4_op_branches(op)) {
        return after;
    }
    join(&after, live_at(kernel, live, op->target));
    if (op->channel_pointers) { /* where channels may wait */
        join(&after, live_at(kernel, live, op->uip));
        return after;
    }
    const struct g4_op *const target = g4_kernel_find_own(kernel, op->target);
    if (target && target->opcode == G4_OPCODE_ELSE) { /* the channels of its other side continue */
        join(&after, live_at(kernel, live, target->next));
    }
    if (op->opcode == G4_OPCODE_BREAK) {
        const struct g4_op *const end = end_of_loop(kernel, i);
        join(&after, live_at(kernel, live, end ? end->next : UINT32_MAX));
    }
    return after;
}

static void read_rows(const struct g4_op *op, struct live_rows *live) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    for (unsigned s = 0; s < sources && op->opcode != G4_OPCODE_SEND; s++) {
        for (int part = 0; reads_by_lane(op, s) && part < op->parts; part++) {
            g4_row_set_add(&live->half[half_of(op, part)], op->in[s].reg[part]);
        }
    }
}

static void hide_rows(const struct g4_op *op, struct live_rows *live) {
    const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
    if (!g4_has_lanes(op) || !g4_writes_row(op) || gated) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        for (unsigned half = 0; half < 2; half++) {
            if (op->nomask || half == half_of(op, part)) {
                g4_row_set_remove(&live->half[half], g4_row_of(op, part));
            }
        }
    }
}

static void collect_writes(struct row_facts *facts, const struct g4_op *op) {
    if (!g4_has_lanes(op) || !g4_writes_row(op)) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned row = g4_row_of(op, part);
        if (row >= G4_GRF_COUNT) {
            continue;
        }
        facts->halves[row] |= (uint8_t)(op->nomask ? 0 : 1u << half_of(op, part));
        /* lanes of both halves, or of doubles */
        if (op->nomask || (op->handler >> 8 == G4_TABLE_DOUBLE && !g4_has_three_sources(op))) {
            g4_row_set_add(&facts->in_one_half, row);
        }
    }
}

/* The rows of one half that are live after the other was written. */
static void find_clashes(const struct g4_op *op, const struct live_rows *after, struct g4_row_set *clashes) {
    if (!g4_has_lanes(op) || !g4_writes_row(op)) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned row = g4_row_of(op, part);
        if (row < G4_GRF_COUNT && g4_row_set_has(&after->half[half_of(op, part) == 0], row)) {
            g4_row_set_add(clashes, row);
        }
    }
}

/* The rows that must not be used in both halves. */
static struct g4_row_set not_shared(const struct g4_kernel *kernel, const struct live_rows *live,
                                    const struct row_facts *facts) {
    struct g4_row_set rows = facts->in_one_half;
    add_rows(&rows, &live[0].half[0]);
    add_rows(&rows, &live[0].half[1]);
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct live_rows after = live_after(kernel, live, i);
        find_clashes(&kernel->ops[i], &after, &rows);
        if (g4_op_branches(&kernel->ops[i])) { /* where its channels may wait */
            add_rows(&rows, &after.half[0]);
            add_rows(&rows, &after.half[1]);
        }
    }
    return rows;
}

static bool spread(const struct g4_kernel *kernel, struct live_rows *live) {
    bool changed = false;
    for (uint32_t i = kernel->count; i-- > 0;) {
        struct live_rows before = live_after(kernel, live, i);
        hide_rows(&kernel->ops[i], &before);
        read_rows(&kernel->ops[i], &before);
        changed |= memcmp(&before, &live[i], sizeof before) != 0;
        live[i] = before;
    }
    return changed;
}

/* The rows that may be read from each op on. */
static struct g4_row_set *read_later(const struct g4_kernel *kernel) {
    struct g4_row_set *const rows = calloc(kernel->count + 1, sizeof *rows);
    for (uint32_t i = kernel->count; rows && i-- > 0;) {
        rows[i] = g4_rows_read(&kernel->ops[i]);
        add_rows(&rows[i], &rows[i + 1]);
    }
    return rows;
}

struct g4_row_set *g4_row_liveness(const struct g4_kernel *kernel) {
    struct row_facts facts = {.unknown = false};

    if (kernel->base || !is_analysable(kernel)) {
        return NULL;
    }
    if (kernel->start.straight) {
        return read_later(kernel);
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        collect(&facts, &kernel->ops[i]);
        collect_writes(&facts, &kernel->ops[i]);
    }
    struct live_rows *const live = facts.unknown ? NULL : calloc(kernel->count + 1, sizeof *live);
    struct g4_row_set *const rows = live ? calloc(kernel->count + 1, sizeof *rows) : NULL;
    if (!rows) {
        free(live);
        return NULL;
    }
    while (spread(kernel, live)) {
        /* sets only grow, so this terminates */
    }
    const struct g4_row_set alone = not_shared(kernel, live, &facts);
    for (unsigned row = 0; row < G4_GRF_COUNT; row++) {
        const bool shared = facts.halves[row] & (facts.halves[row] - 1);
        if (shared && (facts.halves[row] != 3 || g4_row_set_has(&alone, row))) {
            g4_row_set_add(&facts.always, row);
        }
    }
    for (uint32_t i = 0; i <= kernel->count; i++) {
        rows[i] = facts.always;
        add_rows(&rows[i], &live[i].half[0]);
        add_rows(&rows[i], &live[i].half[1]);
    }
    free(live);
    return rows;
}

#endif
