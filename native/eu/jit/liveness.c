/*
 * Which rows and flags may be read again.
 *
 * The analysis follows single channels: a channel that an instruction does not enable is somewhere else in the program,
 * so a write of all enabled channels hides what was there for every channel that comes by.  It does not hide a row from
 * instructions in which a channel reads others' lanes (scalars, permutations, payloads): the other channel may wait
 * since before the write.  Such a row is live wherever the program can come to the instruction.  Nor does it hide what
 * an instruction without a mask, or one that does not write in place, may have written for a channel that waits: such
 * rows are never hidden.
 *
 * A lane of a row belongs to one channel of each half, so rows are analysed in each half.  Compilers use a row in both
 * halves for values that have nothing to do with each other.  Such a row is always live, unless no value of it is live
 * where a channel may wait for others, and no value of one half is live where the other half writes: then no channel
 * can lose a value.
 *
 * A flag register is live if its flags of any half are.
 *
 * A register of the MRF is live until the implied move of a message writes it as a whole, in all executing threads.  If
 * such a register is not read again, the move matters only in the lanes of the message.
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
    struct g4_row_set in_one_half; /* always live if they are used in both */
    struct g4_row_set foreign;     /* an instruction may write lanes of channels that it does not enable */
    bool unknown;                  /* any row may be read or written anywhere */
};

/* A message to the math unit whose channels compute with operands of their own. */
static bool is_math_message(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_SEND && !op->grf_payload && op->src[1].kind == G4_KIND_IMM &&
           g4_message_descriptor_shared_function(op->descriptor) == G4_SHARED_FUNCTION_EXTENDED_MATH &&
           g4_message_descriptor_response_length(op->descriptor) == 1 &&
           !g4_extended_math_message_scalar(op->descriptor);
}

/* Whether it reads only the lanes that it computes with.  `mrf` is live after it. */
static bool computes_by_lane(const struct g4_op *op, uint16_t mrf) {
    return is_math_message(op) && op->whole_move && op->half + op->passes <= 2 && !(mrf & g4_mrf_moved(op));
}

/* Whether in[s] of an instruction says what it reads, and is loaded in a certain way. */
static bool is_loaded_as(const struct g4_op *op, unsigned s, enum g4_fast_load load) {
    return g4_has_lanes(op) && (op->handler >> 8 != G4_TABLE_DOUBLE || g4_has_three_sources(op)) &&
           op->in[s].load == load;
}

/* Whether lanes of a source read only themselves, in the half of their part. */
static bool reads_by_lane(const struct g4_op *op, unsigned s, uint16_t mrf) {
    return computes_by_lane(op, mrf) ||
           (is_loaded_as(op, s, G4_LOAD_PACKED) && !op->nomask && op->half + op->parts <= 2);
}

static int parts_of(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_SEND ? op->passes : op->parts;
}

static unsigned row_by_lane(const struct g4_op *op, unsigned s, int part) {
    const unsigned row = op->opcode == G4_OPCODE_SEND ? g4_math_source(op, part) : op->in[s].reg[part];
    return row & (G4_GRF_COUNT - 1);
}

static unsigned sources_of(const struct g4_op *op) {
    return op->grf_payload ? 0 : op->opcode == G4_OPCODE_SEND ? 1 : g4_opcode_info[op->opcode].sources;
}

static void add_rows(struct g4_row_set *to, const struct g4_row_set *from) {
    to->bits[0] |= from->bits[0];
    to->bits[1] |= from->bits[1];
}

/* Add the rows of which channels may read others' lanes.  Handlers may exchange sources: in[s] need not be src[s]. */
static void add_read_across(const struct g4_op *op, uint16_t mrf, struct g4_row_set *rows) {
    bool all = op->grf_payload;
    for (unsigned s = 0; s < sources_of(op); s++) {
        const bool is_scalar = is_loaded_as(op, s, G4_LOAD_SCALAR);
        all = all || !(reads_by_lane(op, s, mrf) || is_scalar || is_loaded_as(op, s, G4_LOAD_IMM));
        for (int part = 0; is_scalar && part < op->parts; part++) {
            g4_row_set_add(rows, op->in[s].reg[part]);
        }
    }
    if (all) {
        const struct g4_row_set read = g4_rows_read(op);
        add_rows(rows, &read);
    }
}

static void collect_reads(struct row_facts *facts, const struct g4_op *op, uint16_t mrf) {
    for (unsigned s = 0; s < sources_of(op); s++) {
        facts->unknown |= op->src[s].kind == G4_KIND_INDIRECT || op->src[s].kind == G4_KIND_INDEXED;
        for (int part = 0; reads_by_lane(op, s, mrf) && part < parts_of(op); part++) {
            facts->halves[row_by_lane(op, s, part)] |= (uint8_t)(1u << half_of(op, part));
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

enum {
    ALL_FLAGS = 0xf
};

/* Live rows by half, and those that may be read across lanes; in the same way flags; registers of the MRF. */
struct live_rows {
    struct g4_row_set half[2], across;
    uint8_t flags[2], flags_across;
    uint16_t mrf;
};

static void join(struct live_rows *to, const struct live_rows *from) {
    add_rows(&to->half[0], &from->half[0]);
    add_rows(&to->half[1], &from->half[1]);
    add_rows(&to->across, &from->across);
    to->flags[0] |= from->flags[0];
    to->flags[1] |= from->flags[1];
    to->flags_across |= from->flags_across;
    to->mrf |= from->mrf;
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

enum {
    MAX_SUCCESSORS = 4,
    ANYWHERE = -1,
};

static int64_t index_of(const struct g4_kernel *kernel, uint32_t ip) {
    const struct g4_op *const op = g4_kernel_find_own(kernel, ip);
    return op ? op - kernel->ops : ANYWHERE;
}

/* The ops that a channel may execute after op i, and its thread if no channel is left; returns their number. */
static unsigned successors(const struct g4_kernel *kernel, uint32_t i, int64_t to[MAX_SUCCESSORS]) {
    const struct g4_op *const op = &kernel->ops[i];
    unsigned count = 0;

    if (g4_op_ends_thread(op)) {
        return 0;
    }
    to[count++] = index_of(kernel, op->next);
    if (!g4_op_branches(op)) {
        return count;
    }
    to[count++] = index_of(kernel, op->target);
    if (op->channel_pointers) { /* where channels may wait */
        to[count++] = index_of(kernel, op->uip);
        return count;
    }
    const struct g4_op *const target = g4_kernel_find_own(kernel, op->target);
    if (target && target->opcode == G4_OPCODE_ELSE) { /* the channels of its other side continue */
        to[count++] = index_of(kernel, target->next);
    }
    if (op->opcode == G4_OPCODE_BREAK) {
        const struct g4_op *const end = end_of_loop(kernel, i);
        to[count++] = end ? index_of(kernel, end->next) : ANYWHERE;
    }
    return count;
}

/* What is live after op i, for a channel that has executed it. */
static struct live_rows live_after(const struct g4_kernel *kernel, const struct live_rows *live, uint32_t i) {
    static const struct live_rows all = {.half = {{{UINT64_MAX, UINT64_MAX}}, {{UINT64_MAX, UINT64_MAX}}},
                                         .across = {{UINT64_MAX, UINT64_MAX}},
                                         .flags = {ALL_FLAGS, ALL_FLAGS},
                                         .flags_across = ALL_FLAGS,
                                         .mrf = UINT16_MAX};
    struct live_rows after = {.flags_across = 0};
    int64_t to[MAX_SUCCESSORS];
    const unsigned count = successors(kernel, i, to);
    for (unsigned n = 0; n < count; n++) {
        join(&after, to[n] == ANYWHERE ? &all : &live[to[n]]);
    }
    return after;
}

/* One pass backward over the kernel, for the MRF; false: nothing has changed. */
static bool spread_mrf(const struct g4_kernel *kernel, struct live_rows *live) {
    bool changed = false;
    for (uint32_t i = kernel->count; i-- > 0;) {
        const struct g4_op *const op = &kernel->ops[i];
        const uint16_t after = live_after(kernel, live, i).mrf;
        const uint16_t before = (uint16_t)((after & ~g4_mrf_moved(op)) | g4_mrf_read(op));
        changed |= before != live[i].mrf;
        live[i].mrf = before;
    }
    return changed;
}

static void read_rows(const struct g4_op *op, uint16_t mrf, struct live_rows *live) {
    for (unsigned s = 0; s < sources_of(op); s++) {
        for (int part = 0; reads_by_lane(op, s, mrf) && part < parts_of(op); part++) {
            g4_row_set_add(&live->half[half_of(op, part)], row_by_lane(op, s, part));
        }
    }
    add_read_across(op, mrf, &live->across);
}

static void read_flags(const struct g4_op *op, struct live_rows *live) {
    for (unsigned s = 0; s < sources_of(op); s++) {
        if (op->src[s].kind == G4_KIND_ARF && op->src[s].reg >> 4 == G4_ARF_F) {
            live->flags_across = ALL_FLAGS;
        }
    }
    if (op->predicate == G4_PRED_NONE) {
        return;
    }
    if (op->predicate != G4_PRED_NORMAL || op->align16 || op->nomask || op->exec_size < 8 || op->exec_size > 16) {
        live->flags_across = ALL_FLAGS;
    }
    live->flags[0] |= (uint8_t)(1u << op->flag);
    live->flags[1] |= (uint8_t)(1u << op->flag);
}

static void hide_flags(const struct g4_op *op, struct live_rows *live) {
    if (op->cond == G4_COND_NONE || op->opcode == G4_OPCODE_SEL || op->predicate != G4_PRED_NONE || !g4_has_lanes(op) ||
        pattern(op) != 0xffff) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        live->flags[half_of(op, part) & 1] &= (uint8_t) ~(1u << op->flag);
    }
}

static void hide_rows(const struct g4_op *op, const struct g4_row_set *foreign, struct live_rows *live) {
    const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
    if (!g4_has_lanes(op) || !g4_writes_row(op) || gated) {
        return;
    }
    for (int part = 0; part < op->parts && half_of(op, part) < 2; part++) {
        if (!g4_row_set_has(foreign, g4_row_of(op, part))) {
            g4_row_set_remove(&live->half[half_of(op, part)], g4_row_of(op, part));
        }
    }
}

/* Whether an instruction writes only lanes of channels that it enables, in place. */
static bool writes_own_lanes(const struct g4_op *op) {
    const bool by_math = is_math_message(op) && op->dst.hstride == 1 && op->dst.base % G4_REGISTER_BYTES == 0;
    return by_math || (g4_has_lanes(op) && g4_writes_row(op) && !op->nomask);
}

static void collect_writes(struct row_facts *facts, const struct g4_op *op) {
    if (!writes_own_lanes(op) && !g4_add_rows_written(op, &facts->foreign)) {
        facts->unknown = true;
    }
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

static bool is_same(const struct live_rows *a, const struct live_rows *b) {
    return memcmp(a->half, b->half, sizeof a->half) == 0 && memcmp(&a->across, &b->across, sizeof a->across) == 0 &&
           memcmp(a->flags, b->flags, sizeof a->flags) == 0 && a->flags_across == b->flags_across;
}

/* The same for rows and flags; the MRF is known. */
static bool spread(const struct g4_kernel *kernel, const struct g4_row_set *foreign, struct live_rows *live) {
    bool changed = false;
    for (uint32_t i = kernel->count; i-- > 0;) {
        struct live_rows before = live_after(kernel, live, i);
        const uint16_t mrf = before.mrf; /* after the op */
        hide_rows(&kernel->ops[i], foreign, &before);
        hide_flags(&kernel->ops[i], &before);
        read_rows(&kernel->ops[i], mrf, &before);
        read_flags(&kernel->ops[i], &before);
        before.mrf = live[i].mrf;
        changed |= !is_same(&before, &live[i]);
        live[i] = before;
    }
    return changed;
}

/* In kernels without control flow. */
static void find_read_later(const struct g4_kernel *kernel, struct g4_live *found) {
    found[kernel->count] = (struct g4_live){.mrf = UINT16_MAX, .flags = ALL_FLAGS, .flags_across = ALL_FLAGS};
    for (uint32_t i = kernel->count; i-- > 0;) {
        const struct g4_op *const op = &kernel->ops[i];
        const struct g4_row_set read = g4_rows_read(op);
        found[i] = found[i + 1];
        found[i].flags_after = ALL_FLAGS;
        found[i].mrf = (uint16_t)((found[i].mrf & ~g4_mrf_moved(op)) | g4_mrf_read(op));
        add_rows(&found[i].rows, &read);
        found[i].rows_across = found[i].rows;
    }
}

/* The rows that are always live because both halves use them. */
static struct g4_row_set used_in_both(const struct g4_kernel *kernel, const struct live_rows *live,
                                      const struct row_facts *facts) {
    const struct g4_row_set alone = not_shared(kernel, live, facts);
    struct g4_row_set rows = {{0, 0}};
    for (unsigned row = 0; row < G4_GRF_COUNT; row++) {
        const bool shared = facts->halves[row] & (facts->halves[row] - 1);
        if (shared && (facts->halves[row] != 3 || g4_row_set_has(&alone, row))) {
            g4_row_set_add(&rows, row);
        }
    }
    return rows;
}

static void find_live(const struct g4_kernel *kernel, const struct live_rows *live, const struct g4_row_set *always,
                      struct g4_live *found) {
    for (uint32_t i = 0; i <= kernel->count; i++) {
        found[i] = (struct g4_live){.rows = *always,
                                    .rows_across = live[i].across,
                                    .mrf = live[i].mrf,
                                    .flags = live[i].flags[0] | live[i].flags[1] | live[i].flags_across,
                                    .flags_across = live[i].flags_across};
        add_rows(&found[i].rows, &live[i].half[0]);
        add_rows(&found[i].rows, &live[i].half[1]);
        add_rows(&found[i].rows, &live[i].across);
        if (i < kernel->count) {
            const struct live_rows after = live_after(kernel, live, i);
            found[i].flags_after = after.flags[0] | after.flags[1] | after.flags_across;
        }
    }
}

/* With control flow; false: not known. */
static bool analyse(const struct g4_kernel *kernel, struct live_rows *live, struct g4_live *found) {
    struct row_facts facts = {.unknown = false};

    while (spread_mrf(kernel, live)) {
        /* sets only grow, so this terminates */
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        collect_reads(&facts, &kernel->ops[i], live_after(kernel, live, i).mrf);
        collect_writes(&facts, &kernel->ops[i]);
    }
    if (facts.unknown) {
        return false;
    }
    while (spread(kernel, &facts.foreign, live)) {
        /* so does this */
    }
    const struct g4_row_set always = used_in_both(kernel, live, &facts);
    find_live(kernel, live, &always, found);
    return true;
}

struct g4_live *g4_liveness(const struct g4_kernel *kernel) {
    if (kernel->base || !is_analysable(kernel)) {
        return NULL;
    }
    struct g4_live *found = calloc(kernel->count + 1, sizeof *found);
    if (found && kernel->start.straight) {
        find_read_later(kernel, found);
        return found;
    }
    struct live_rows *const live = calloc(kernel->count + 1, sizeof *live);
    if (!found || !live || !analyse(kernel, live, found)) {
        free(found);
        found = NULL;
    }
    free(live);
    return found;
}

#endif
