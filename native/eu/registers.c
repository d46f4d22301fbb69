/*
 * Access to registers as instructions address them: regions, indirect addresses, architecture registers, flags.
 */
#include <string.h>

#include "eu/fast/fast.h"
#include "eu/run.h"

/* The low five bits of an indirect address: the carry out of them is lost. */
static unsigned low_bits(unsigned address, int addr_imm) {
    return (address & 31) + ((unsigned)addr_imm & 31);
}

unsigned g4_indirect_byte(const struct g4_gang *gang, int thread, unsigned addr_sub, int addr_imm) {
    const unsigned address = gang->a0[thread][addr_sub];
    const int reg = (int)(address >> 5) + (addr_imm >> 5);
    return (unsigned)reg * G4_REGISTER_BYTES + (low_bits(address, addr_imm) & 31);
}

unsigned g4_indirect_base(struct g4_run *run, int thread, unsigned addr_sub, int addr_imm) {
    const unsigned address = run->gang->a0[thread][addr_sub];
    if (low_bits(address, addr_imm) > 31) { /* compilers avoid this case */
        g4_run_report(run, G4_EVENT_INDIRECT_CARRY, address);
    }
    return g4_indirect_byte(run->gang, thread, addr_sub, addr_imm);
}

enum {
    HALF = 8 /* words of a0: all before Gen8 */
};

/* Vectors of 16 bytes, which every host compares at once. */
typedef uint16_t address_half __attribute__((vector_size(2 * HALF)));

/* Whether no address in a half of a0 carries, and all are within the registers of the threads, up to byte `most`. */
static inline bool half_in_range(const struct g4_run *run, const struct g4_fast_address *operand, unsigned half,
                                 int least, int most) {
    const address_half low = (address_half){0} + 31, highest_low = low - (uint16_t)(operand->imm & 31);
    const address_half start = (address_half){0} + (uint16_t)least, span = (address_half){0} + (uint16_t)(most - least);
    address_half used, good = ~(address_half){0};
    uint64_t parts[2];

    memcpy(&used, &operand->used[HALF * half], sizeof used);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        address_half address;
        memcpy(&address, &run->gang->a0[t][HALF * half], sizeof address);
        if (run->threads >> t & 1) {
            good &= (address_half)((address & low) <= highest_low) & (address_half)(address - start <= span);
        }
    }
    used &= ~good;
    memcpy(parts, &used, sizeof parts);
    return (parts[0] | parts[1]) == 0;
}

/* Out of line, for Gen8 and later only. */
static __attribute__((noinline)) bool upper_half_in_range(const struct g4_run *run,
                                                          const struct g4_fast_address *operand, int least, int most) {
    return half_in_range(run, operand, 1, least, most);
}

static bool in_range(const struct g4_run *run, const struct g4_fast_address *operand, bool has_two_halves) {
    const int least = operand->imm < 0 ? -operand->imm : 0;
    const int most = (int)(g4_owned(run->gang) * G4_REGISTER_BYTES) - operand->extent - operand->imm;
    return most >= least && half_in_range(run, operand, 0, least, most) &&
           (!has_two_halves || upper_half_in_range(run, operand, least, most));
}

/* Runs the fast handler if all addresses are in range; otherwise the general handler, which counts events by channel.
 */
void g4_indirect(struct g4_run *run, const struct g4_op *op) {
    for (unsigned i = 0; i < op->addresses; i++) {
        if (!in_range(run, &op->address[i], op->address_mask >= HALF)) {
            g4_general(run, op);
            return;
        }
    }
    run->tables[op->ordinary >> 8]->handler[op->ordinary & 0xff](run, op);
}

/* An element of 1, 2 or 4 bytes. */
static inline uint32_t load(const uint8_t *bytes, unsigned size) {
    uint32_t dword;
    uint16_t word;
    switch (size) {
    case 1:
        return *bytes;
    case 2:
        memcpy(&word, bytes, sizeof word);
        return word;
    default:
        memcpy(&dword, bytes, sizeof dword);
        return dword;
    }
}

/* An element that straddles two registers, or lies beyond those that the thread owns. */
static __attribute__((noinline)) uint32_t straddling_element(struct g4_run *run, int thread, unsigned byte,
                                                             unsigned size) {
    uint8_t bytes[4] = {0};
    for (unsigned i = 0; i < size; i++) {
        const uint8_t *const place = g4_grf_byte(run->gang, thread, byte + i);
        if (!place) {
            g4_run_report(run, G4_EVENT_GRF_RANGE, (byte + i) / 32);
            break;
        }
        bytes[i] = *place;
    }
    return load(bytes, size);
}

/* An element of the register file. */
static inline uint32_t grf_element(struct g4_run *run, int thread, unsigned byte, unsigned size) {
    const uint8_t *const first = g4_grf_byte(run->gang, thread, byte);
    return first && byte % 32 + size <= 32 ? load(first, size) : straddling_element(run, thread, byte, size);
}

static uint32_t extend(uint32_t value, unsigned type) {
    switch (type) {
    case G4_TYPE_W:
        return (uint32_t)(int16_t)value;
    case G4_TYPE_B:
        return (uint32_t)(int8_t)value;
    default:
        return value;
    }
}

/* The first byte of an operand with one address.  On Gen4 each pass has an address register of its own. */
static unsigned indirect_start(struct g4_run *run, const struct g4_src *src, int pass, int thread) {
    const unsigned own = src->flat ? 0 : (unsigned)pass;
    return g4_indirect_base(run, thread, (src->addr_sub + own) & run->op->address_mask, src->addr_imm) +
           (src->flat && pass ? src->pass_bytes : 0u);
}

/* `rows`: of a pass. */
static unsigned indexed_row(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned row,
                            unsigned rows) {
    const unsigned own = pass ? g4_second_pass_addresses(src, rows) : 0;
    return g4_indirect_base(run, thread, (src->addr_sub + row + own) & run->op->address_mask, src->addr_imm);
}

static uint64_t grf_element64(struct g4_run *run, int thread, unsigned low, unsigned high) {
    return grf_element(run, thread, low, 4) | (uint64_t)grf_element(run, thread, high, 4) << 32;
}

void g4_read_raw64(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned channels,
                   uint64_t *raw) {
    unsigned base = src->base + (pass ? src->pass_bytes : 0u);

    if (src->kind == G4_KIND_INDIRECT) {
        base = indirect_start(run, src, pass, thread);
    }
    for (unsigned c = 0; c < channels; c++) {
        switch (src->kind) {
        case G4_KIND_IMM:
            raw[c] = src->imm[2 * c & 7] | (uint64_t)src->imm[(2 * c & 7) + 1] << 32;
            break;
        case G4_KIND_INDEXED:
            if (c % src->width == 0) {
                base = indexed_row(run, src, pass, thread, c / src->width, channels / src->width);
            }
            raw[c] = grf_element64(run, thread, base + c % src->width * src->hstride * 8u,
                                   base + c % src->width * src->hstride * 8u + 4);
            break;
        case G4_KIND_GRF:
        case G4_KIND_INDIRECT:
            if (src->align16) { /* rows of two doubles, whose halves the swizzle selects */
                const unsigned row = base + (src->vstride ? c / 2 * 16 : 0);
                raw[c] = grf_element64(run, thread, row + 4u * src->swizzle[2 * (c & 1)],
                                       row + 4u * src->swizzle[2 * (c & 1) + 1]);
            } else {
                const unsigned at = base + g4_region_offset(src, c);
                raw[c] = grf_element64(run, thread, at, at + 4);
            }
            break;
        default:
            raw[c] = 0;
            break;
        }
    }
}

/* The lower halves of elements of 64 bits, which kernels may give where the hardware wants a dword. */
static void read_low_halves(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned channels,
                            uint32_t *raw) {
    uint64_t whole[8];

    g4_read_raw64(run, src, pass, thread, channels, whole);
    for (unsigned c = 0; c < channels; c++) {
        raw[c] = (uint32_t)whole[c];
    }
}

void g4_read_raw(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned channels, uint32_t *raw) {
    uint8_t image[2 * 32] = {0};
    unsigned base = src->base + (pass ? src->pass_bytes : 0u);

    if (src->size > sizeof *raw) {
        read_low_halves(run, src, pass, thread, channels, raw);
        return;
    }
    switch (src->kind) {
    case G4_KIND_IMM:
        for (unsigned c = 0; c < channels; c++) {
            raw[c] = src->imm[(c + (pass ? src->pass_bytes : 0u)) & 7];
        }
        return;
    case G4_KIND_ARF:
        g4_arf_read(run, thread, src->reg, image);
        for (unsigned c = 0; c < channels; c++) {
            const unsigned at = base + g4_region_offset(src, c);
            raw[c] = at < 32 ? extend(load(image + at, src->size), src->type) : 0;
        }
        return;
    case G4_KIND_INDIRECT:
        base = indirect_start(run, src, pass, thread);
        break;
    case G4_KIND_INDEXED:
        for (unsigned c = 0; c < channels; c++) {
            if (c % src->width == 0) {
                base = indexed_row(run, src, pass, thread, c / src->width, channels / src->width);
            }
            raw[c] = extend(grf_element(run, thread, base + c % src->width * src->hstride * src->size, src->size),
                            src->type);
        }
        return;
    case G4_KIND_GRF:
        break;
    default:
        memset(raw, 0, channels * sizeof *raw);
        return;
    }
    for (unsigned c = 0; c < channels; c++) {
        raw[c] = extend(grf_element(run, thread, base + g4_region_offset(src, c), src->size), src->type);
    }
}

static void put16(uint8_t *image, unsigned word, unsigned value) {
    const uint16_t low = (uint16_t)value;
    memcpy(image + 2 * word, &low, sizeof low);
}

static void put32(uint8_t *image, unsigned dword, uint32_t value) {
    memcpy(image + 4 * dword, &value, sizeof value);
}

/* A clock that is the same in every run (docs/decisions.md 93).  The instructions of the current stretch are not
 * counted yet, of which each read is one at least. */
static void read_clock(struct g4_run *run, uint8_t image[32]) {
    const uint64_t counted = run->eu->past_instructions + run->eu->instructions;

    run->clock_reads = run->clock_base == counted ? run->clock_reads + 1 : 1;
    run->clock_base = counted;
    put32(image, 0, (uint32_t)(counted + run->clock_reads));
    put32(image, 1, (uint32_t)((counted + run->clock_reads) >> 32));
}

/* Registers that Gen6 has changed or added; false: those of Gen4 are valid. */
static bool read_later(struct g4_run *run, int t, unsigned reg, uint8_t image[32]) {
    const struct g4_gang *const gang = run->gang;
    const uint32_t dispatched = g4_mask32(gang->dmask, t);

    switch (reg) {
    case G4_ARF_F << 4 | 1:
        put32(image, 0, (uint32_t)(g4_flags_of(gang, t) >> 32));
        return true;
    case G4_ARF_MASK << 4: /* ce0: channels that are not dispatched count as enabled (94) */
        put32(image, 0,
              run->op->nomask && !run->eu->ctx->model->quirks.reads_enables_always
                  ? UINT32_MAX
                  : g4_mask32(gang->amask, t) | ~dispatched);
        return true;
    case G4_ARF_SR << 4: /* both the dispatch mask and the vector mask */
        put32(image, 0, gang->sr0[t]);
        put32(image, 2, dispatched);
        put32(image, 3, dispatched);
        return true;
    case G4_ARF_N << 4:
        put32(image, 0, gang->notify[t][0]);
        put32(image, 1, gang->notify[t][1]);
        return true;
    case G4_ARF_TM << 4:
        read_clock(run, image);
        return true;
    case G4_ARF_MS << 4:
    case G4_ARF_MS << 4 | 1:
    case G4_ARF_MSD << 4:
    case G4_ARF_N << 4 | 1:
        return true;
    default:
        return false;
    }
}

void g4_arf_read(struct g4_run *run, int t, unsigned reg, uint8_t image[32]) {
    const struct g4_gang *const gang = run->gang;
    const struct g4_dispatch *const dispatch = gang->dispatch;

    memset(image, 0, 32);
    if (run->eu->ctx->model->quirks.has_channel_pointers && read_later(run, t, reg, image)) {
        return;
    }
    switch (reg) {
    case G4_ARF_A << 4:
        memcpy(image, gang->a0[t], sizeof gang->a0[t]);
        break;
    case G4_ARF_F << 4:
        put32(image, 0, (uint32_t)g4_flags_of(gang, t));
        break;
    case G4_ARF_MASK << 4:
        put16(image, 0, g4_mask16(gang->amask, t));
        put16(image, 1, g4_mask16(gang->imask, t));
        put16(image, 2, g4_mask16(gang->lmask, t));
        put16(image, 3, g4_mask16(gang->cmask, t));
        break;
    case G4_ARF_MS << 4:
        memcpy(image, gang->if_stack[t].entry, 32);
        break;
    case G4_ARF_MS << 4 | 1:
        memcpy(image, gang->loop_stack[0][t].entry, 32);
        break;
    case G4_ARF_MSD << 4:
        put16(image, 0, gang->if_stack[t].depth);
        put16(image, 1, gang->loop_stack[0][t].depth);
        break;
    case G4_ARF_SR << 4:
        put32(image, 0, gang->sr0[t]);
        put32(image, 1, g4_mask16(gang->dmask, t));
        break;
    case G4_ARF_CR << 4:
        memcpy(image, gang->cr0[t], sizeof gang->cr0[t]);
        break;
    case G4_ARF_N << 4:
    case G4_ARF_N << 4 | 1:
        put32(image, 0, gang->notify[t][reg & 1]);
        break;
    case G4_ARF_IP << 4: /* the address of this instruction, relative to the instruction base */
        put32(image, 0, (uint32_t)(dispatch->kernel_address - dispatch->instruction_base) + run->op->ip);
        break;
    default:
        break;
    }
}

static unsigned get16(const uint8_t *image, unsigned word) {
    return (unsigned)image[2 * word] | (unsigned)image[2 * word + 1] << 8;
}

static uint16_t depth_of(unsigned value) {
    return (uint16_t)(value < G4_MASK_STACK_DEPTH ? value : G4_MASK_STACK_DEPTH);
}

static void write_control(struct g4_run *run, int t, const uint8_t image[32]) {
    uint32_t *const cr0 = run->gang->cr0[t];
    const uint32_t before = cr0[0];
    const uint32_t software = 1u << (G4_CR0_STATUS_SHIFT + G4_EXCEPTION_SOFTWARE);
    const uint32_t raised = load(image + 4, 4) & ~cr0[1] & software;

    memcpy(cr0, image, sizeof run->gang->cr0[t]);
    g4_run_control(run);
    if ((before & ~cr0[0]) & G4_CR0_MASTER) { /* return from the system routine */
        g4_run_jump_one(
            run, t, cr0[2] - (uint32_t)(run->gang->dispatch->kernel_address - run->gang->dispatch->instruction_base));
    } else if (raised) {
        (void)g4_exception_take(run, t, G4_EXCEPTION_SOFTWARE);
    }
}

/* The counterpart of read_later. */
static bool write_later(struct g4_run *run, int t, unsigned reg, const uint8_t image[32]) {
    struct g4_gang *const gang = run->gang;

    switch (reg) {
    case G4_ARF_A << 4: /* all bits of an address are kept */
        memcpy(gang->a0[t], image, (run->op->address_mask + 1u) * sizeof gang->a0[t][0]);
        return true;
    case G4_ARF_F << 4 | 1:
        g4_set_flags_of(gang, t, (g4_flags_of(gang, t) & UINT32_MAX) | (uint64_t)load(image, 4) << 32);
        return true;
    case G4_ARF_N << 4:
        gang->notify[t][0] = load(image, 4);
        gang->notify[t][1] = load(image + 4, 4);
        return true;
    case G4_ARF_MASK << 4: /* read-only */
    case G4_ARF_MS << 4:
    case G4_ARF_MS << 4 | 1:
    case G4_ARF_MSD << 4:
    case G4_ARF_N << 4 | 1:
        return true;
    default:
        return false;
    }
}

void g4_arf_write(struct g4_run *run, int t, unsigned reg, const uint8_t image[32], uint32_t written) {
    struct g4_gang *const gang = run->gang;
    uint8_t now[32];

    g4_arf_read(run, t, reg, now);
    for (unsigned i = 0; i < 32; i++) {
        now[i] = written >> i & 1 ? image[i] : now[i];
    }
    if (run->eu->ctx->model->quirks.has_channel_pointers && write_later(run, t, reg, now)) {
        return;
    }
    switch (reg) {
    case G4_ARF_A << 4:
        memcpy(gang->a0[t], now, 8 * sizeof gang->a0[t][0]);
        for (int i = 2; i < 8; i++) {
            gang->a0[t][i] &= 0xfff;
        }
        break;
    case G4_ARF_F << 4:
        g4_set_flags_of(gang, t, (g4_flags_of(gang, t) & ~(uint64_t)UINT32_MAX) | load(now, 4));
        break;
    case G4_ARF_MASK << 4:
        g4_set_mask16(gang->amask, t, get16(now, 0));
        g4_set_mask16(gang->imask, t, get16(now, 1));
        g4_set_mask16(gang->lmask, t, get16(now, 2));
        g4_set_mask16(gang->cmask, t, get16(now, 3));
        g4_run_masks(run);
        break;
    case G4_ARF_MS << 4:
        memcpy(gang->if_stack[t].entry, now, 32);
        break;
    case G4_ARF_MS << 4 | 1:
        memcpy(gang->loop_stack[0][t].entry, now, 32);
        break;
    case G4_ARF_MSD << 4:
        gang->if_stack[t].depth = depth_of(get16(now, 0));
        gang->loop_stack[0][t].depth = gang->loop_stack[1][t].depth = depth_of(get16(now, 1));
        break;
    case G4_ARF_CR << 4:
        write_control(run, t, now);
        break;
    case G4_ARF_N << 4:
    case G4_ARF_N << 4 | 1:
        gang->notify[t][reg & 1] = load(now, 4);
        break;
    case G4_ARF_IP << 4:
        if (written & 0xf) {
            g4_run_jump_one(
                run, t, load(now, 4) - (uint32_t)(gang->dispatch->kernel_address - gang->dispatch->instruction_base));
        }
        break;
    default: /* read-only or undefined */
        break;
    }
}

/* ---- predicates ---- */

#define NIBBLES UINT64_C(0x1111111111111111)
#define PAIRS   UINT64_C(0x5555555555555555)

/* Sets all lanes of each group of n in which any lane is set. */
static g4_lanes any_of(g4_lanes x, unsigned n) {
    switch (n) {
    case 2:
        x = (x | x >> 1) & PAIRS;
        return x | x << 1;
    case 4:
        x |= x >> 1;
        return ((x | x >> 2) & NIBBLES) * 15;
    default:
        return g4_lanes_of(g4_threads_any(x));
    }
}

static g4_lanes any_over(const struct g4_gang *gang, unsigned flag, int half, unsigned n, bool all) {
    const g4_lanes invert = all ? G4_EVERY_LANE : 0;
    g4_lanes x = gang->flag[flag][half] ^ invert;
    if (n >= 16) {
        x |= gang->flag[flag][half ^ 1] ^ invert;
    }
    if (n >= 32) {
        x |= (gang->flag[flag ^ 1][0] ^ invert) | (gang->flag[flag ^ 1][1] ^ invert);
    }
    return any_of(x, n) ^ invert;
}

g4_lanes g4_predicate_combined(const struct g4_gang *gang, const struct g4_op *op, int half) {
    const unsigned p = op->predicate;
    const unsigned one = op->pair_shift == 16 ? 0 : op->flag & 1; /* f0.0 with f0.1; Gen7: f0.n with f1.n */
    const unsigned other = one + op->pair_shift / 16u;

    if (op->align16 && p >= G4_PRED16_X && p <= G4_PRED16_W) {
        return (gang->flag[op->flag][half] >> (p - G4_PRED16_X) & NIBBLES) * 15;
    }
    switch (p) {
    case G4_PRED_ANYV:
        return gang->flag[one][half] | gang->flag[other][half];
    case G4_PRED_ALLV:
        return gang->flag[one][half] & gang->flag[other][half];
    default:
        return any_over(gang, op->flag, half, 2u << ((p - G4_PRED_ANY2H) / 2), (p - G4_PRED_ANY2H) & 1);
    }
}
