/*
 * Translated kernels at rest and at work: their memory, which is never writable and executable at a time, and the run
 * of a stretch.
 */
#define _DEFAULT_SOURCE
#include "eu/jit/blocks.h"

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
        free(translation->stretches[i].block);
        free(translation->stretches[i].unheld);
    }
    free(translation->constants);
    free(translation->stretches);
    free(translation);
}

size_t g4_translation_memory(const struct g4_translation *translation) {
    if (!translation) {
        return 0;
    }
    size_t memory = sizeof *translation + translation->code_bytes + translation->constants_bytes +
                    translation->room * sizeof *translation->stretches;
    for (uint32_t i = 0; i < translation->count; i++) {
        const struct g4_stretch *const stretch = &translation->stretches[i];
        memory += stretch->blocks * sizeof *stretch->block + stretch->unheld_count;
    }
    return memory;
}

bool g4_may_run_translated(const struct g4_eu *eu) {
    return g4_variant_current() == G4_VARIANT_AVX512 && !eu->ctx->options.round_to_nearest &&
           !eu->hooks; /* translated code sends no math messages, which a hook would have to see */
}

#if G4_HAVE_X86_VARIANTS

enum {
    PAIRS = G4_GANG_THREADS / 2,
    PAIR_LANES = 16,
    DEEP = 8, /* a mask stack with room for what regions push (G4_REGION_DEPTH) */
};

bool g4_translation_seal(struct g4_translation *translation, const struct g4_code *code,
                         const struct g4_code *constants) {
    void *const pages = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        return false;
    }
    translation->code = pages;
    translation->code_bytes = code->size;
    memcpy(pages, code->bytes, code->size);
    if (constants->size) {
        translation->constants = malloc(constants->size);
        if (!translation->constants) {
            return false;
        }
        translation->constants_bytes = constants->size;
        memcpy(translation->constants, constants->bytes, constants->size);
    }
    if (mprotect(pages, code->size, PROT_READ | PROT_EXEC) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < translation->count; i++) {
        struct g4_stretch *const stretch = &translation->stretches[i];
        uint8_t *const start = (uint8_t *)translation->code + stretch->start;
        memcpy(&stretch->code, &start, sizeof start); /* of data no function can be made by a cast */
        stretch->constants = translation->constants;
    }
    return true;
}

enum {
    TROUBLE = 16, /* of one failure; a success takes 1 away */
    TOO_MUCH_TROUBLE = 4096,
};

/* The handlers, for some threads of the group. */
static void interpret(struct g4_run *run, const struct g4_op *first, uint32_t count, g4_lanes lanes) {
    const g4_lanes group = run->group;
    const g4_lanes exec[2] = {run->exec[0], run->exec[1]};
    const uint8_t threads = run->threads;

    run->group &= lanes;
    run->exec[0] &= lanes;
    run->exec[1] &= lanes;
    run->threads = g4_threads_any(run->group);
    for (const struct g4_op *op = first; op < first + count; op++) {
        run->op = op;
        run->next = op->next;
        run->tables[op->handler >> 8]->handler[op->handler & 0xff](run, op);
    }
    run->group = group;
    run->exec[0] = exec[0];
    run->exec[1] = exec[1];
    run->threads = threads;
}

/* Other workers do the same at the same time; it matters to nobody which of them is heard. */
static void note_trouble(struct g4_stretch *stretch, bool failed) {
    const uint32_t before = __atomic_load_n(&stretch->trouble, __ATOMIC_RELAXED);
    if (failed) {
        __atomic_store_n(&stretch->trouble, before + TROUBLE, __ATOMIC_RELAXED);
    } else if (before) {
        __atomic_store_n(&stretch->trouble, before - 1, __ATOMIC_RELAXED);
    }
}

static g4_lanes pair_lanes(int pair) {
    return (g4_lanes)0xffff << (PAIR_LANES * pair);
}

static uint32_t call(const struct g4_run *run, const struct g4_stretch *stretch, int pair,
                     struct g4_region_room *room) {
    struct g4_gang *const gang = run->gang;
    return stretch->code(gang->grf[0].ud[2 * pair], (const uint8_t *)run->exec + 2 * pair, (uint8_t *)gang + 2 * pair,
                         stretch->constants, room);
}

static void run_straight(struct g4_run *run, const struct g4_op *first, struct g4_stretch *stretch) {
    struct g4_gang *const gang = run->gang;
    g4_lanes flags[2][2];
    g4_lanes failed = 0;

    memcpy(flags, gang->flag, sizeof flags);
    const uint32_t pairs = call(run, stretch, 0, NULL);
    for (int pair = 0; pairs && pair < PAIRS; pair++) {
        failed |= pairs >> pair & 1 ? pair_lanes(pair) : 0;
    }
    if (failed) {
        for (int f = 0; f < 2; f++) {
            for (int h = 0; h < 2; h++) {
                gang->flag[f][h] = (gang->flag[f][h] & ~failed) | (flags[f][h] & failed);
            }
        }
        interpret(run, first, stretch->count, failed);
    }
    note_trouble(stretch, failed != 0);
    /* the handlers have counted their own */
    const uint8_t done = run->threads & (uint8_t)~g4_threads_any(failed);
    run->eu->messages[G4_SFID_MATH] += (uint64_t)stretch->all.messages * (unsigned)__builtin_popcount(done);
}

/* Everything a region takes for granted.  A system routine may look at what was pushed and popped, which a region does
 * not do. */
static bool may_enter(const struct g4_run *run, const struct g4_stretch *stretch) {
    const struct g4_gang *const gang = run->gang;
    if (run->refused == stretch || run->single || gang->dispatch->exceptions ||
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

static void count_blocks(struct g4_run *run, const struct g4_stretch *stretch, const uint32_t *counts) {
    struct g4_eu *const eu = run->eu;
    uint64_t instructions = 0;
    for (uint32_t b = 0; b < stretch->blocks; b++) {
        const struct g4_block *const block = &stretch->block[b];
        instructions += (uint64_t)counts[b] * block->count;
        eu->channel_ops += (uint64_t)counts[b] * block->channels;
        eu->messages[G4_SFID_MATH] += (uint64_t)counts[b] * block->messages;
    }
    eu->instructions += instructions;
    eu->instruction_budget -= instructions < eu->instruction_budget ? instructions : eu->instruction_budget;
}

/* Those that have done it go on behind the region, the others stay at its beginning. */
static void part_ways(struct g4_run *run, const struct g4_op *first, const struct g4_stretch *stretch,
                      g4_lanes failed) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            run->gang->ip[t] = failed >> (8 * t) & 1 ? first->ip : first[stretch->count].ip;
        }
    }
    run->split = true;
}

/* What the code of a region writes where it lies: to be put back if it has gone a way that the handlers would not. */
struct unheld {
    uint8_t row[G4_REGION_UNHELD][PAIR_LANES * sizeof(uint32_t)];
};

static size_t row_offset(const struct g4_stretch *stretch, uint32_t i, int pair) {
    return stretch->unheld[i] * sizeof(union g4_reg) + (size_t)pair * PAIR_LANES * sizeof(uint32_t);
}

static void keep(const struct g4_gang *gang, const struct g4_stretch *stretch, int pair, struct unheld *before) {
    for (uint32_t i = 0; i < stretch->unheld_count; i++) {
        memcpy(before->row[i], (const uint8_t *)gang + row_offset(stretch, i, pair), sizeof before->row[i]);
    }
}

static void put_back(struct g4_gang *gang, const struct g4_stretch *stretch, int pair, const struct unheld *before) {
    for (uint32_t i = 0; i < stretch->unheld_count; i++) {
        memcpy((uint8_t *)gang + row_offset(stretch, i, pair), before->row[i], sizeof before->row[i]);
    }
}

static bool run_region(struct g4_run *run, const struct g4_op *first, struct g4_stretch *stretch) {
    struct unheld before;
    g4_lanes failed = 0;

    if (!may_enter(run, stretch)) {
        return false;
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        struct g4_region_room room;
        if (!(run->group & pair_lanes(pair))) {
            continue;
        }
        memset(room.counts, 0, stretch->blocks * sizeof *room.counts);
        if (g4_fpenv_get() & G4_DOUBTFUL_FLAGS) {
            g4_fpenv_set(g4_fpenv_eu(run->eu->ctx->options.round_to_nearest));
        }
        keep(run->gang, stretch, pair, &before);
        if (call(run, stretch, pair, &room)) {
            put_back(run->gang, stretch, pair, &before);
            failed |= pair_lanes(pair) & run->group;
        } else {
            count_blocks(run, stretch, room.counts);
        }
    }
    note_trouble(stretch, failed != 0);
    if (failed) {
        run->refused = stretch;
    }
    if (failed == run->group) {
        return false;
    }
    if (failed) {
        part_ways(run, first, stretch, failed);
    }
    return true;
}

bool g4_run_stretch(struct g4_run *run, const struct g4_op *first, uint64_t fuel) {
    struct g4_stretch *const stretch = first->stretch;

    if (stretch->fuel > fuel || stretch->top > g4_owned(run->gang) || (stretch->ieee_only && run->alternate) ||
        __atomic_load_n(&stretch->trouble, __ATOMIC_RELAXED) > TOO_MUCH_TROUBLE) {
        return false;
    }
    if (stretch->region) {
        return run_region(run, first, stretch);
    }
    run_straight(run, first, stretch);
    return true;
}

#else

void g4_translate(struct g4_kernel *kernel, uint32_t gen) {
    (void)kernel;
    (void)gen;
}

bool g4_run_stretch(struct g4_run *run, const struct g4_op *first, uint64_t fuel) {
    (void)run;
    (void)first;
    (void)fuel;
    return false;
}

#endif
