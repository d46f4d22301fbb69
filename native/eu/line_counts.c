#include "eu/line_counts.h"

#include <stdlib.h>
#include <string.h>

#include "eu/kernel.h"
#include "eu/not_finite.h"
#include "eu/run.h"

enum {
    MAX_BYTES = 32 << 20, /* of all kernels: some hundreds of the longest, many thousands of usual ones */
    SLOT_BYTES = 8,       /* of a compacted instruction */
};

/* ---- kernels ---- */

static bool is_same(const struct g4_kernel_count *entry, const uint8_t *code, uint32_t bytes) {
    return entry->bytes == bytes && memcmp(entry->code, code, bytes) == 0;
}

/* The kernel with this code, added if need be; UINT32_MAX without memory. */
static uint32_t find(struct g4_line_counts *counts, const uint8_t *code, uint32_t bytes) {
    for (uint32_t i = 0; i < counts->kernels; i++) {
        const uint32_t at = (counts->current < counts->kernels ? counts->current + i : i) % counts->kernels;
        if (is_same(&counts->kernel[at], code, bytes)) {
            return at;
        }
    }
    const size_t slots = bytes / SLOT_BYTES + 1;
    const size_t size = bytes + slots * sizeof(struct g4_line_count);
    if (size > MAX_BYTES - counts->bytes) {
        return UINT32_MAX;
    }
    if (counts->kernels == counts->capacity) {
        const uint32_t capacity = counts->capacity ? 2 * counts->capacity : 8;
        struct g4_kernel_count *const more = realloc(counts->kernel, capacity * sizeof *more);
        if (!more) {
            return UINT32_MAX;
        }
        counts->kernel = more;
        counts->capacity = capacity;
    }
    uint8_t *const copy = malloc(bytes ? bytes : 1);
    struct g4_line_count *const line = calloc(slots, sizeof *line);
    if (!copy || !line) {
        free(copy);
        free(line);
        return UINT32_MAX;
    }
    memcpy(copy, code, bytes);
    counts->bytes += size;
    counts->kernel[counts->kernels] = (struct g4_kernel_count){.bytes = bytes, .code = copy, .line = line};
    return counts->kernels++;
}

/* ---- one instruction ---- */

static unsigned enabled_lanes(g4_lanes lanes) {
    return (unsigned)__builtin_popcountll(lanes);
}

static unsigned channels_of(const struct g4_run *run, const struct g4_op *op) {
    const bool decides = g4_op_branches(op) || op->opcode == G4_OPCODE_SEL; /* the predicate disables no channel */
    unsigned channels = 0;

    if (op->predicate == G4_PRED_NONE || decides) {
        if (op->nomask) {
            return op->exec_size * (unsigned)__builtin_popcount(run->threads);
        }
        if (op->exec_size == 16 && (op->first_channel[0] & 15) == 0) {
            return enabled_lanes(run->exec[0]) + enabled_lanes(run->exec[1]);
        }
        if (op->exec_size == 8 && (op->first_channel[0] & 7) == 0) {
            return enabled_lanes(run->exec[op->first_channel[0] >> 3 & 1]);
        }
    }
    for (int pass = 0; pass < op->passes; pass++) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if (run->threads >> t & 1) {
                channels += (unsigned)__builtin_popcount(g4_enabled_channels(run, op, pass, t, !decides));
            }
        }
    }
    return channels;
}

void g4_line_counts_add(struct g4_line_counts *counts, const struct g4_run *run, const struct g4_op *op) {
    const unsigned executions = (unsigned)__builtin_popcount(run->threads);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        counts->thread[t] += run->threads >> t & 1;
    }
    if (counts->current == UINT32_MAX) {
        counts->lost += executions;
        return;
    }
    struct g4_kernel_count *const kernel = &counts->kernel[counts->current];
    if (op->ip >= kernel->bytes) {
        kernel->elsewhere += executions;
        return;
    }
    struct g4_line_count *const line = &kernel->line[op->ip / SLOT_BYTES];
    line->executions += executions;
    line->channels += channels_of(run, op);
}

void g4_line_counts_find_floats(struct g4_float_channels *floats, const struct g4_run *run, const struct g4_op *op) {
    floats->threads = g4_computes_float(op) ? (uint8_t)run->threads : 0;
    floats->predicated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
    for (int t = 0; t < G4_GANG_THREADS && floats->threads && floats->predicated; t++) {
        for (int pass = 0; pass < op->passes && (floats->threads >> t & 1); pass++) {
            floats->enabled[t][pass] = g4_enabled_channels(run, op, pass, t, true);
        }
    }
}

/* The enabled channels of a pass, counted from its first one. */
static uint32_t enabled_in(const struct g4_float_channels *floats, const struct g4_run *run, const struct g4_op *op,
                           int t, int pass) {
    if (floats->predicated) {
        return floats->enabled[t][pass];
    }
    if (op->exec_size > 16) {
        return g4_enabled_channels(run, op, pass, t, false);
    }
    const uint32_t mask = op->nomask ? UINT16_MAX : g4_mask16(run->exec, t);
    const uint32_t at = op->first_channel[pass] & 15;
    return (mask >> at | mask << (16 - at)) & ((1u << op->channels) - 1);
}

static bool all_finite(const uint32_t *bits, uint32_t count) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    }
    return !found;
}

/* The register that holds all results of a pass; NULL if there is no such register, or they are not floats of 32 bits.
 */
static const union g4_reg *results_of(const struct g4_gang *gang, const struct g4_op *op, int pass) {
    const unsigned at = g4_float_place(op, pass, 0);
    const unsigned last = g4_float_place(op, pass, op->channels - 1u) + op->dst.size - 1;
    const unsigned reg = at / G4_REGISTER_BYTES;

    if (op->dst.type != G4_TYPE_F || reg != last / G4_REGISTER_BYTES) {
        return NULL;
    }
    if (op->dst.kind == G4_KIND_MRF) {
        return reg < G4_MRF_COUNT ? &gang->mrf[reg] : NULL;
    }
    return reg < g4_owned(gang) ? &gang->grf[reg] : NULL;
}

void g4_line_counts_add_results(struct g4_line_counts *counts, const struct g4_run *run, const struct g4_op *op,
                                const struct g4_float_channels *floats) {
    struct g4_kernel_count *const kernel = counts->current == UINT32_MAX ? NULL : &counts->kernel[counts->current];
    if (!kernel || op->ip >= kernel->bytes) {
        return;
    }
    struct g4_line_count *const line = &kernel->line[op->ip / SLOT_BYTES];
    for (int pass = 0; pass < op->passes; pass++) {
        const union g4_reg *const whole = results_of(run->gang, op, pass);
        if (whole && all_finite(whole->ud[0], G4_GANG_THREADS * 8)) {
            continue; /* in all threads, the usual case */
        }
        for (unsigned threads = floats->threads; threads; threads &= threads - 1) {
            const int t = __builtin_ctz(threads);
            if (whole && all_finite(whole->ud[t], 8)) {
                continue;
            }
            for (uint32_t left = enabled_in(floats, run, op, t, pass); left; left &= left - 1) {
                const unsigned c = (unsigned)__builtin_ctz(left);
                uint64_t bits;
                if (c < op->channels && (op->dst.writemask >> (c & 3) & 1) &&
                    g4_float_result(run->gang, op, t, pass, c, &bits) && !g4_is_finite(bits, op->dst.type)) {
                    line->nans += !g4_is_infinite(bits, op->dst.type);
                    line->infinities += g4_is_infinite(bits, op->dst.type);
                }
            }
        }
    }
}

enum g4_status g4_line_counts_run(struct g4_line_counts *counts, struct g4_eu *eu, struct g4_gang *gang,
                                  const struct g4_kernel *kernel) {
    counts->current = find(counts, kernel->content, kernel->bytes);
    memset(counts->thread, 0, sizeof counts->thread);
    return g4_gang_run_counting(eu, gang, kernel);
}

/* ---- sums ---- */

static void clear(struct g4_line_counts *counts) {
    for (uint32_t i = 0; i < counts->kernels; i++) {
        free(counts->kernel[i].code);
        free(counts->kernel[i].line);
    }
    counts->kernels = counts->current = 0;
    counts->bytes = 0;
    counts->lost = 0;
}

void g4_line_counts_merge(struct g4_line_counts *into, struct g4_line_counts *from) {
    for (uint32_t i = 0; i < from->kernels; i++) {
        const struct g4_kernel_count *const added = &from->kernel[i];
        const uint32_t slots = added->bytes / SLOT_BYTES;
        const uint32_t at = find(into, added->code, added->bytes);
        if (at == UINT32_MAX) {
            into->lost += added->elsewhere;
            for (uint32_t slot = 0; slot < slots; slot++) {
                into->lost += added->line[slot].executions;
            }
            continue;
        }
        struct g4_kernel_count *const sum = &into->kernel[at];
        sum->elsewhere += added->elsewhere;
        for (uint32_t slot = 0; slot < slots; slot++) {
            sum->line[slot].executions += added->line[slot].executions;
            sum->line[slot].channels += added->line[slot].channels;
            sum->line[slot].nans += added->line[slot].nans;
            sum->line[slot].infinities += added->line[slot].infinities;
        }
    }
    into->lost += from->lost;
    clear(from);
}

struct g4_line_counts *g4_line_counts_new(void) {
    return calloc(1, sizeof(struct g4_line_counts));
}

void g4_line_counts_free(struct g4_line_counts *counts) {
    if (counts) {
        clear(counts);
        free(counts->kernel);
        free(counts);
    }
}
