/*
 * Executable memory for translated kernels, and entry into them.  Memory is never writable and executable at once.
 */
#define _DEFAULT_SOURCE
#include "eu/jit/jit.h"

#include <stdlib.h>
#include <string.h>

#include "core/variant.h"
#include "eu/fast/fast.h"
#include "eu/jit/x86_emit.h"

#if G4_HAVE_X86_VARIANTS
#include <sys/mman.h>
#endif

void g4_translation_free(struct g4_translation *translation) {
    if (!translation) {
        return;
    }
#if G4_HAVE_X86_VARIANTS
    if (translation->code) {
        (void)munmap(translation->code, translation->code_bytes);
    }
#endif
    for (uint32_t i = 0; i < translation->count; i++) {
        free(translation->blocks[i].basic_blocks);
        free(translation->blocks[i].stored_rows);
    }
    free(translation->constants);
    free(translation->blocks);
    free(translation);
}

size_t g4_translation_memory(const struct g4_translation *translation) {
    if (!translation) {
        return 0;
    }
    size_t memory = sizeof *translation + translation->code_bytes + translation->constants_bytes +
                    translation->capacity * sizeof *translation->blocks;
    for (uint32_t i = 0; i < translation->count; i++) {
        const struct g4_jit_block *const block = &translation->blocks[i];
        memory += block->basic_block_count * sizeof *block->basic_blocks + block->stored_row_count;
    }
    return memory;
}

bool g4_may_run_translated(const struct g4_eu *eu, const struct g4_gang *gang, const struct g4_kernel *kernel) {
    const struct g4_translation *const translation = kernel->translation;
    const bool all_rows = gang->dispatch->exceptions || gang->dispatch->observed;
    return translation && translation->variant == g4_variant_current() && !(translation->drops_rows && all_rows) &&
           !eu->ctx->options.round_to_nearest && !eu->hooks; /* hooks would miss math messages */
}

#if G4_HAVE_X86_VARIANTS

enum {
    THREAD_LANES = 8,
    CONSTANTS_ALIGNMENT = 64,
    DEEP = 8, /* depth of a mask stack from which on the pushes of a loop could overflow it */
};

static void write_constants(uint8_t *to, const struct g4_code *constants, g4_fpenv fpenv, unsigned mode) {
    static const uint32_t limits[] = {[G4_IEEE] = 0x7f800000, [G4_ALT] = 0x7f7fffff, [G4_KEEPS_DENORMALS] = 0x7f800000};
    const g4_fpenv own = mode == G4_KEEPS_DENORMALS ? g4_fpenv_of_control(0, true) : fpenv;
    memcpy(to, constants->bytes, constants->size);
    memcpy(to + G4_JIT_FPENV, &own, sizeof own);
    for (size_t at = G4_JIT_LIMIT; at < G4_JIT_LIMIT_BYTES; at += sizeof *limits) {
        memcpy(to + at, &limits[mode], sizeof limits[mode]);
    }
}

bool g4_translation_seal(struct g4_translation *translation, const struct g4_code *code,
                         const struct g4_code *constants) {
    const size_t whole = (constants->size + CONSTANTS_ALIGNMENT - 1) & ~(size_t)(CONSTANTS_ALIGNMENT - 1);
    void *const pages = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        return false;
    }
    translation->code = pages;
    translation->code_bytes = code->size;
    memcpy(pages, code->bytes, code->size);
    translation->constants = aligned_alloc(CONSTANTS_ALIGNMENT, G4_FLOAT_MODES * whole);
    if (!translation->constants) {
        return false;
    }
    translation->constants_bytes = G4_FLOAT_MODES * whole;
    for (unsigned mode = 0; mode < G4_FLOAT_MODES; mode++) {
        write_constants((uint8_t *)translation->constants + mode * whole, constants, translation->fpenv, mode);
    }
    if (mprotect(pages, code->size, PROT_READ | PROT_EXEC) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < translation->count; i++) {
        struct g4_jit_block *const block = &translation->blocks[i];
        uint8_t *const start = (uint8_t *)translation->code + block->start;
        memcpy(&block->code, &start, sizeof start); /* ISO C has no cast from an object to a function pointer */
        for (unsigned mode = 0; mode < G4_FLOAT_MODES; mode++) {
            block->constants[mode] = (const uint8_t *)translation->constants + mode * whole;
        }
    }
    return true;
}

enum {
    FAILURE_COST = 16, /* added by a failure; a success subtracts 1 */
    MAX_FAILURE_SCORE = 4096,
};

/* Let the handlers execute ops for some lanes of the group. */
static void interpret(struct g4_run *run, const struct g4_op *first, uint32_t count, g4_lanes lanes) {
    const g4_lanes group = run->group;
    const g4_lanes exec[2] = {run->exec[0], run->exec[1]};
    const g4_lanes upper[2] = {run->upper[0], run->upper[1]};
    const uint8_t threads = run->threads;

    run->group &= lanes;
    run->exec[0] &= lanes;
    run->exec[1] &= lanes;
    run->upper[0] &= lanes;
    run->upper[1] &= lanes;
    run->threads = g4_threads_any(run->group);
    for (const struct g4_op *op = first; op < first + count; op++) {
        run->op = op;
        run->next = op->next;
        run->tables[op->handler >> 8]->handler[op->handler & 0xff](run, op);
    }
    run->group = group;
    run->exec[0] = exec[0];
    run->exec[1] = exec[1];
    run->upper[0] = upper[0];
    run->upper[1] = upper[1];
    run->threads = threads;
}

/* Other workers do the same concurrently.  Lost updates do not matter. */
static void update_failure_score(struct g4_jit_block *block, bool failed) {
    const uint32_t before = __atomic_load_n(&block->failure_score, __ATOMIC_RELAXED);
    if (failed) {
        __atomic_store_n(&block->failure_score, before + FAILURE_COST, __ATOMIC_RELAXED);
    } else if (before) {
        __atomic_store_n(&block->failure_score, before - 1, __ATOMIC_RELAXED);
    }
}

static g4_lanes unit_lanes(const struct g4_jit_block *block, unsigned unit) {
    const unsigned bits = THREAD_LANES * block->threads;
    return ((UINT64_C(1) << bits) - 1) << (bits * unit);
}

static uint32_t call_code(const struct g4_run *run, const struct g4_jit_block *block, unsigned unit,
                          struct g4_jit_scratch *scratch) {
    struct g4_gang *const gang = run->gang;
    const unsigned thread = unit * block->threads;
    const unsigned mode = run->keeps_denormals ? G4_KEEPS_DENORMALS : run->alternate ? G4_ALT : G4_IEEE;
    return block->code(gang->grf[0].ud[thread], (const uint8_t *)run->exec + thread, (uint8_t *)gang + thread,
                       block->constants[mode], scratch);
}

/* Machine code finds overflows by the exception flags. */
static void clear_exceptions(const struct g4_run *run) {
    if (run->may_have_raised && g4_fpenv_get() & (X86_MXCSR_INVALID | X86_MXCSR_OVERFLOW)) {
        g4_fpenv_set(run->inside);
    }
}

static void run_straight(struct g4_run *run, const struct g4_op *first, struct g4_jit_block *block) {
    struct g4_jit_scratch scratch;
    g4_lanes failed = 0;

    clear_exceptions(run);
    const uint32_t units = call_code(run, block, 0, &scratch);
    for (unsigned unit = 0; units >> unit; unit++) {
        failed |= units >> unit & 1 ? unit_lanes(block, unit) : 0;
    }
    if (failed) {
        interpret(run, first, block->count, failed);
    }
    run->may_have_raised = failed || !block->raises;
    update_failure_score(block, failed != 0);
    /* the handlers have counted the messages of failed threads */
    const uint8_t done = run->threads & (uint8_t)~g4_threads_any(failed);
    run->eu->messages[G4_SHARED_FUNCTION_EXTENDED_MATH] += (uint64_t)block->total.messages * g4_thread_count(done);
}

/* Check the preconditions of a loop.  A loop does not push masks, so no system routine may look at the stacks. */
static bool can_enter(const struct g4_run *run, const struct g4_jit_block *block) {
    const struct g4_gang *const gang = run->gang;
    if (run->failed_loop == block || run->single || gang->dispatch->exceptions ||
        g4_threads_any(run->exec[0] | run->exec[1]) != run->threads) {
        return false;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if ((run->threads >> t & 1) &&
            (gang->if_stack[t].depth | gang->loop_stack[0][t].depth | gang->loop_stack[1][t].depth) >= DEEP) {
            return false;
        }
    }
    return true;
}

static void count_blocks(struct g4_run *run, const struct g4_jit_block *block, const uint32_t *counts) {
    struct g4_eu *const eu = run->eu;
    uint64_t instructions = 0;
    for (uint32_t b = 0; b < block->basic_block_count; b++) {
        const struct g4_block_cost *const basic = &block->basic_blocks[b];
        instructions += (uint64_t)counts[b] * basic->count;
        eu->channel_ops += (uint64_t)counts[b] * basic->channels;
        eu->messages[G4_SHARED_FUNCTION_EXTENDED_MATH] += (uint64_t)counts[b] * basic->messages;
    }
    eu->instructions += instructions;
    eu->instruction_budget -= instructions < eu->instruction_budget ? instructions : eu->instruction_budget;
}

/* Channels that wait after a loop or branch join those of the threads that have executed it. */
static void join_after(struct g4_run *run, const struct g4_op *last, g4_lanes failed) {
    const uint8_t threads = run->threads;
    if (last->channel_pointers) {
        run->threads = threads & (uint8_t)~g4_threads_any(failed);
        g4_flow_join(run, last->next);
        run->threads = threads;
    }
}

/* Threads that have executed the loop continue after it, the others stay at its start. */
static void split_group(struct g4_run *run, const struct g4_op *first, const struct g4_jit_block *block,
                        g4_lanes failed) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            run->gang->ip[t] = failed >> (8 * t) & 1 ? first->ip : first[block->count].ip;
        }
    }
    run->split = true;
}

/* The old contents of rows that the code of a loop writes in place, to restore them on failure. */
struct stored_rows {
    uint8_t row[G4_LOOP_STORED_ROWS][G4_JIT_SLOT_BYTES];
};

static size_t row_offset(const struct g4_jit_block *block, uint32_t i, unsigned unit) {
    return block->stored_rows[i] * sizeof(union g4_reg) + (size_t)unit * block->threads * G4_REGISTER_BYTES;
}

static void save_rows(const struct g4_gang *gang, const struct g4_jit_block *block, unsigned unit,
                      struct stored_rows *before) {
    for (uint32_t i = 0; i < block->stored_row_count; i++) {
        memcpy(before->row[i], (const uint8_t *)gang + row_offset(block, i, unit), block->threads * G4_REGISTER_BYTES);
    }
}

static void restore_rows(struct g4_gang *gang, const struct g4_jit_block *block, unsigned unit,
                         const struct stored_rows *before) {
    for (uint32_t i = 0; i < block->stored_row_count; i++) {
        memcpy((uint8_t *)gang + row_offset(block, i, unit), before->row[i], block->threads * G4_REGISTER_BYTES);
    }
}

static bool run_region(struct g4_run *run, const struct g4_op *first, struct g4_jit_block *block) {
    struct stored_rows before;
    struct g4_jit_scratch scratch;
    g4_lanes failed = 0;

    if (!can_enter(run, block)) {
        return false;
    }
    for (unsigned unit = 0; unit < G4_GANG_THREADS / block->threads; unit++) {
        const g4_lanes lanes = unit_lanes(block, unit) & run->group;
        if (!lanes) {
            continue;
        }
        memset(scratch.counts, 0, block->basic_block_count * sizeof *scratch.counts);
        clear_exceptions(run);
        save_rows(run->gang, block, unit, &before);
        run->may_have_raised = call_code(run, block, unit, &scratch) != 0;
        if (run->may_have_raised) {
            restore_rows(run->gang, block, unit, &before);
            failed |= lanes;
        } else {
            count_blocks(run, block, scratch.counts);
        }
    }
    update_failure_score(block, failed != 0);
    if (failed) {
        run->failed_loop = block;
    }
    if (failed == run->group) {
        return false;
    }
    join_after(run, &first[block->count - 1], failed);
    if (failed) {
        split_group(run, first, block, failed);
    }
    return true;
}

bool g4_jit_run(struct g4_run *run, const struct g4_op *first, uint64_t fuel) {
    struct g4_jit_block *const block = first->block;

    if ((run->gang->wide ? block->loop != NULL : block->wide_only) || (block->flushes && run->keeps_denormals)) {
        return false;
    }
    if (block->fuel > fuel || block->top > g4_owned(run->gang) || (block->ieee_only && run->alternate) ||
        __atomic_load_n(&block->failure_score, __ATOMIC_RELAXED) > MAX_FAILURE_SCORE) {
        return false;
    }
    if (first->joins) {
        g4_flow_join(run, first->ip);
    }
    if (block->loop) {
        return run_region(run, first, block);
    }
    run_straight(run, first, block);
    return true;
}

#else

void g4_translate(struct g4_kernel *kernel, const struct g4_context *ctx) {
    (void)kernel;
    (void)ctx;
}

bool g4_jit_run(struct g4_run *run, const struct g4_op *first, uint64_t fuel) {
    (void)run;
    (void)first;
    (void)fuel;
    return false;
}

#endif
