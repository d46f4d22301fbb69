/*
 * Operands of the fast handlers: loads lanes from registers, stores lanes to registers and flags.
 */
#ifndef G4_EU_FAST_OPERANDS_H
#define G4_EU_FAST_OPERANDS_H

#include "eu/fast/fast.h"
#include "eu/vec.h"

/* Expands define(..., a, b) for each pair of operand shapes. */
#define G4_FAST_EACH_SHAPE(define, ...)                                                                                \
    define(__VA_ARGS__, P, P) define(__VA_ARGS__, P, S) define(__VA_ARGS__, P, I) define(__VA_ARGS__, S, P)            \
        define(__VA_ARGS__, S, S) define(__VA_ARGS__, S, I)

/* ---- lanes ---- */

G4_INLINE int part_half(const struct g4_op *op, int part) {
    return op->half + part;
}

/* The enabled lanes of a part.  `gate`: the predicate disables lanes, as in all instructions but sel. */
G4_INLINE g4_lanes part_lanes(const struct g4_run *run, const struct g4_op *op, int part, bool gate) {
    const int half = part_half(op, part);
    const g4_lanes exec = (op->nomask ? run->group : run->exec[half]) & op->written;
    return gate ? exec & g4_predicate(run->gang, op, half) : exec;
}

/* Let the general handler execute a part, of which nothing has been stored. */
__attribute__((unused)) G4_COLD void general_part(struct g4_run *run, const struct g4_op *op, int part) {
    if (op->passes == 2) {
        g4_general_pass(run, op, part, UINT32_MAX);
    } else {
        g4_general_pass(run, op, 0, 0xffu << (8 * part));
    }
}

/* ---- loads ---- */

static void load_permuted(const uint8_t *reg, const int32_t *idx, union g4_vals *out) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
#if G4_VARIANT_LEVEL >= 1
        const __m256i from = _mm256_loadu_si256((const __m256i *)(const void *)(reg + 32 * t));
        const __m256i to = _mm256_permutevar8x32_epi32(from, _mm256_loadu_si256((const __m256i *)(const void *)idx));
        _mm256_store_si256((__m256i *)(void *)&out->d[8 * t], to);
#else
        const int32_t *const from = (const int32_t *)(const void *)(reg + 32 * t);
        for (int c = 0; c < 8; c++) {
            out->d[8 * t + c] = from[idx[c] & 7];
        }
#endif
    }
}

static void load_words(const uint8_t *bytes, bool is_signed, union g4_vals *out) {
#if G4_VARIANT_LEVEL >= 1
    for (int i = 0; i < G4_VN; i++) {
        out->v[i] = is_signed ? v_load_words(bytes, i) : v_load_words(bytes, i) & 0xffff;
    }
#else
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        uint16_t words[8];
        memcpy(words, bytes + 32 * t, sizeof words);
        for (int c = 0; c < 8; c++) {
            out->d[8 * t + c] = is_signed ? (int16_t)words[c] : words[c];
        }
    }
#endif
}

/* Words and bytes: the dwords they are in, shifted to the top and back with the right sign. */
static void load_narrow(const uint8_t *reg, const struct g4_fast_src *src, int part, union g4_vals *out) {
    const int32_t *const left = &src->left[8 * part];
    const int right = 32 - 8 * src->size;

    load_permuted(reg, &src->idx[8 * part], out);
    if (src->is_signed) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            for (int c = 0; c < 8; c++) {
                out->d[8 * t + c] = (int32_t)(out->ud[8 * t + c] << left[c]) >> right;
            }
        }
    } else {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            for (int c = 0; c < 8; c++) {
                out->ud[8 * t + c] = out->ud[8 * t + c] << left[c] >> right;
            }
        }
    }
}

/* Contiguous dwords at an address: where they start, and how many bytes are in that register and in the next one. */
struct row {
    uint8_t *first;
    unsigned first_bytes, second_bytes;
    unsigned base; /* byte of the register file */
};

/* The address must be in range and its low bits must not carry (G4_HANDLER_INDIRECT). */
G4_INLINE struct row indirect_row(struct g4_gang *gang, int thread, unsigned addr_sub, int addr_imm, unsigned bytes) {
    const unsigned base = (unsigned)(gang->a0[thread][addr_sub] + addr_imm) % (G4_GRF_COUNT * G4_REGISTER_BYTES);
    const unsigned to_end = G4_REGISTER_BYTES - base % G4_REGISTER_BYTES;
    const unsigned first_bytes = bytes < to_end ? bytes : to_end;

    return (struct row){
        .first = &gang->grf[base / G4_REGISTER_BYTES].ub[thread][base % G4_REGISTER_BYTES],
        .first_bytes = first_bytes,
        .second_bytes = bytes - first_bytes,
        .base = base,
    };
}

/* The bytes of the next register. */
G4_INLINE uint8_t *second_row(struct g4_gang *gang, int thread, const struct row *row) {
    return gang->grf[(row->base / G4_REGISTER_BYTES + 1) % G4_GRF_COUNT].ub[thread];
}

/* Copies of the usual lengths are inlined. */
G4_INLINE void move_row(uint8_t *to, const uint8_t *from, unsigned bytes) {
    switch (bytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    case 32:
        memcpy(to, from, 32);
        break;
    default:
        memcpy(to, from, bytes);
        break;
    }
}

static void load_indirect(struct g4_run *run, const struct g4_op *op, const struct g4_src *src, int part,
                          union g4_vals *out) {
    const unsigned addr_sub = (src->addr_sub + (unsigned)(op->passes == 2 ? part : 0)) & op->address_mask;
    const unsigned count = op->count;
    const unsigned dwords = g4_src_scalar(src) ? 1 : count;
    const unsigned threads = run->threads;
    const int addr_imm = src->addr_imm;
    struct g4_gang *const gang = run->gang;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        uint8_t *const to = (uint8_t *)&out->d[8 * t];
        if (!(threads >> t & 1)) {
            continue;
        }
        const struct row row = indirect_row(gang, t, addr_sub, addr_imm, 4 * dwords);
        move_row(to, row.first, row.first_bytes);
        if (row.second_bytes) {
            memcpy(to + row.first_bytes, second_row(gang, t, &row), row.second_bytes);
        }
        for (unsigned c = 1; c < count && dwords == 1; c++) {
            out->d[8 * t + c] = out->d[8 * t];
        }
    }
}

/* Only one lane of a thread is used, but hosts do not forward short stores to the load of a vector. */
static void load_address(const struct g4_gang *gang, const struct g4_fast_src *src, union g4_vals *out) {
    const unsigned n = src->sub[0] / 2u & 7;
    for (int i = 0; i < G4_VN; i++) {
        out->v[i] = v_splat_threads(gang->a0[G4_V_THREAD(i)][n], gang->a0[G4_V_LAST_THREAD(i)][n]);
    }
}

static void load_gathered(const uint8_t *gang, const struct g4_fast_src *src, int part, int count, union g4_vals *out) {
    for (int c = 0; c < count; c++) {
        const uint8_t *const from = gang + src->off[8 * part + c];
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            int32_t value;
            int16_t word;
            switch (src->size) {
            case 4:
                memcpy(&value, from + 32 * t, 4);
                break;
            case 2:
                memcpy(&word, from + 32 * t, 2);
                value = src->is_signed ? word : (uint16_t)word;
                break;
            default:
                value = src->is_signed ? (int8_t)from[32 * t] : from[32 * t];
                break;
            }
            out->d[8 * t + c] = value;
        }
    }
}

static void load_read(struct g4_run *run, const struct g4_op *op, const struct g4_src *src, int part,
                      union g4_vals *out) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            g4_read_raw(run, src, op->passes == 2 ? part : 0, t, op->count, &out->ud[8 * t]);
        }
    }
}

G4_INLINE vf v_from_ud(vi x) {
    /* exact in double precision, then rounded once */
    const vd wide = __builtin_convertvector(x ^ (int32_t)0x80000000, vd) + 0x1p31;
    return v_narrow(wide);
}

static void load_convert(const struct g4_fast_src *src, union g4_vals *vals) {
    const vi invert = v_splat(src->invert);
    const vi minus = v_splat(src->minus);
    for (int i = 0; i < G4_VN; i++) {
        const vi x = (vi)((vu)(vals->v[i] ^ invert) - (vu)minus);
        vals->v[i] = (vi)(src->convert == G4_CONVERT_UD_TO_FLOAT ? v_from_ud(x) : v_to_float(x));
    }
}

/* Load a source that is not a whole register in place. */
static __attribute__((noinline)) const void *load_other(struct g4_run *run, const struct g4_op *op, int s, int part,
                                                        union g4_vals *out) {
    const struct g4_fast_src *const src = &op->in[s];
    const uint8_t *const bytes = run->gang->grf[src->reg[part] & (G4_GRF_COUNT - 1)].bytes;

    switch (src->load) {
    case G4_LOAD_PACKED:
        memcpy(out, bytes, sizeof *out);
        break;
    case G4_LOAD_SCALAR:
        for (int i = 0; i < G4_VN; i++) {
            out->v[i] = v_load_scalar(bytes + src->sub[part], i);
        }
        break;
    case G4_LOAD_IMM:
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            memcpy(&out->d[8 * t], &src->imm[8 * part], 32);
        }
        break;
    case G4_LOAD_PERMUTE:
        load_permuted(bytes, &src->idx[8 * part], out);
        break;
    case G4_LOAD_NARROW:
        load_narrow(bytes, src, part, out);
        break;
    case G4_LOAD_A0:
        load_address(run->gang, src, out);
        break;
    case G4_LOAD_INDIRECT:
        load_indirect(run, op, &op->src[s], part, out);
        break;
    case G4_LOAD_WORDS:
        load_words(bytes + src->sub[part], src->is_signed, out);
        break;
    case G4_LOAD_GATHER:
        load_gathered((const uint8_t *)run->gang, src, part, op->count, out);
        break;
    default:
        load_read(run, op, &op->src[s], part, out);
        break;
    }
    if (src->convert != G4_CONVERT_NONE) {
        load_convert(src, out);
    }
    return out;
}

G4_INLINE const void *lanes_P(struct g4_run *run, const struct g4_op *op, int s, int part, union g4_vals *scratch) {
    const struct g4_fast_src *const src = &op->in[s];
    if (src->load == G4_LOAD_PACKED && src->convert == G4_CONVERT_NONE) {
        return run->gang->grf[src->reg[part] & (G4_GRF_COUNT - 1)].bytes;
    }
    return load_other(run, op, s, part, scratch);
}

G4_INLINE const void *lanes_S(struct g4_run *run, const struct g4_op *op, int s, int part, union g4_vals *scratch) {
    const struct g4_fast_src *const src = &op->in[s];
    (void)scratch;
    return run->gang->grf[src->reg[part] & (G4_GRF_COUNT - 1)].bytes + src->sub[part];
}

G4_INLINE const void *lanes_I(struct g4_run *run, const struct g4_op *op, int s, int part, union g4_vals *scratch) {
    (void)run;
    (void)part;
    (void)scratch;
    return &op->in[s].imm[0];
}

G4_INLINE vi load_P(const void *from, int i) {
    return v_load(from, i);
}

G4_INLINE vi load_S(const void *from, int i) {
    return v_load_scalar(from, i);
}

G4_INLINE vi load_I(const void *from, int i) {
    (void)i;
    return v_splat(*(const int32_t *)from);
}

/* ---- stores ---- */

G4_INLINE vi v_clamp(vi x, int32_t least, int32_t most) {
    const vi low = v_splat(least);
    const vi high = v_splat(most);
    x = v_select(x < low, low, x);
    return v_select(x > high, high, x);
}

/* Rounds toward zero and clamps; NaN becomes 0. */
G4_INLINE vi v_float_to_range(vf x, int32_t least, int32_t most) {
    const vf low = (vf){0} + (float)least;
    const vf high = (vf){0} + (float)most;
    const vi inside = (x > low) & (x < high);
    vi out = v_to_int((vf)((vi)x & inside)) & inside;
    out |= v_splat(least) & (x <= low);
    return out | (v_splat(most) & (x >= high));
}

G4_INLINE vi v_float_to_d(vf x) {
    const vf limit = (vf){0} + 0x1p31f;
    const vi inside = (x > -limit) & (x < limit);
    vi out = v_to_int((vf)((vi)x & inside)) & inside;
    out |= v_splat(INT32_MIN) & (x <= -limit);
    return out | (v_splat(INT32_MAX) & (x >= limit));
}

G4_INLINE vi v_float_to_ud(vf x) {
    const vf half = (vf){0} + 0x1p31f;
    const vf whole = (vf){0} + 0x1p32f;
    const vi low = (x > 0) & (x < half);
    const vi high = (x >= half) & (x < whole);
    vi out = v_to_int((vf)((vi)x & low)) & low;
    out |= (v_to_int((vf)((vi)(x - half) & high)) ^ INT32_MIN) & high;
    return out | (x >= whole);
}

G4_INLINE vi v_convert(vi x, unsigned convert) {
    switch (convert) {
    case G4_CONVERT_TO_FLOAT:
        return (vi)v_to_float(x);
    case G4_CONVERT_UD_TO_FLOAT:
        return (vi)v_from_ud(x);
    case G4_CONVERT_TO_UD:
        return v_float_to_ud((vf)x);
    case G4_CONVERT_TO_D:
        return v_float_to_d((vf)x);
    case G4_CONVERT_TO_UW:
        return v_float_to_range((vf)x, 0, UINT16_MAX);
    case G4_CONVERT_TO_W:
        return v_float_to_range((vf)x, INT16_MIN, INT16_MAX);
    case G4_CONVERT_TO_UB:
        return v_float_to_range((vf)x, 0, UINT8_MAX);
    case G4_CONVERT_TO_B:
        return v_float_to_range((vf)x, INT8_MIN, INT8_MAX);
    case G4_CONVERT_CLAMP_UD:
        return v_clamp(x, 0, INT32_MAX);
    case G4_CONVERT_CLAMP_UW:
        return v_clamp(x, 0, UINT16_MAX);
    case G4_CONVERT_CLAMP_W:
        return v_clamp(x, INT16_MIN, INT16_MAX);
    case G4_CONVERT_CLAMP_UB:
        return v_clamp(x, 0, UINT8_MAX);
    case G4_CONVERT_CLAMP_B:
        return v_clamp(x, INT8_MIN, INT8_MAX);
    default:
        return x;
    }
}

/* Lanes in ascending order, because channels may share an element.  `size` is constant where this is inlined. */
G4_INLINE void scatter(uint8_t *gang, const uint16_t *off, g4_lanes lanes, const union g4_vals *vals, size_t size) {
    if (lanes == G4_EVERY_LANE) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            for (int c = 0; c < 8; c++) {
                memcpy(gang + off[c] + 32 * t, &vals->ud[8 * t + c], size);
            }
        }
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(lanes);
        memcpy(gang + off[lane & 7] + 32 * (lane >> 3), &vals->ud[lane], size);
    }
}

static void store_scattered(uint8_t *gang, const struct g4_op *op, int part, g4_lanes lanes,
                            const union g4_vals *vals) {
    const uint16_t *const off = &op->out.off[8 * part];
    switch (op->dst.size) {
    case 4:
        scatter(gang, off, lanes, vals, 4);
        break;
    case 2:
        scatter(gang, off, lanes, vals, 2);
        break;
    default:
        scatter(gang, off, lanes, vals, 1);
        break;
    }
}

/* Of the channels of a thread. */
typedef uint32_t eight_dwords __attribute__((vector_size(32)));
typedef uint16_t eight_words __attribute__((vector_size(16)));

static void store_words(struct g4_gang *gang, const struct g4_op *op, int part, g4_lanes lanes,
                        const union g4_vals *vals) {
    uint8_t *const to = (uint8_t *)gang + op->out.off[8 * part];
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const unsigned enabled = g4_thread_lanes(lanes, t);
        eight_dwords dwords;
        memcpy(&dwords, &vals->ud[8 * t], sizeof dwords);
        const eight_words words = __builtin_convertvector(dwords, eight_words);
        if (enabled == 0xff) {
            memcpy(to + 32 * t, &words, sizeof words);
            continue;
        }
        for (int c = 0; c < 8; c++) {
            if (enabled >> c & 1) {
                memcpy(to + 32 * t + 2 * c, (const uint8_t *)&words + 2 * c, 2);
            }
        }
    }
}

static void store_written(struct g4_run *run, const struct g4_op *op, int part, int t, unsigned enabled,
                          const union g4_vals *vals) {
    uint32_t bits[G4_PASS_CHANNELS] = {0}; /* channels from 8 on are not enabled */
    memcpy(bits, &vals->ud[8 * t], 8 * sizeof *bits);
    g4_general_store(run, op, op->passes == 2 ? part : 0, t, bits, enabled);
}

static void store_indirect(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes,
                           const union g4_vals *vals) {
    const unsigned all = (1u << op->count) - 1;
    const unsigned addr_sub = (op->dst.addr_sub + (unsigned)(op->passes == 2 ? part : 0)) & op->address_mask;
    const unsigned bytes = 4u * op->count;
    const int addr_imm = op->dst.addr_imm;
    struct g4_gang *const gang = run->gang;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const unsigned enabled = g4_thread_lanes(lanes, t);
        if (enabled == all) {
            const struct row row = indirect_row(gang, t, addr_sub, addr_imm, bytes);
            const uint8_t *const from = (const uint8_t *)&vals->ud[8 * t];
            move_row(row.first, from, row.first_bytes);
            if (row.second_bytes) {
                memcpy(second_row(gang, t, &row), from + row.first_bytes, row.second_bytes);
            }
        } else if (enabled) {
            store_written(run, op, part, t, enabled, vals);
        }
    }
}

static __attribute__((noinline)) void store_other(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes,
                                                  union g4_vals *vals) {
    struct g4_gang *const gang = run->gang;

    if (op->out.convert != G4_CONVERT_NONE) {
        for (int i = 0; i < G4_VN; i++) {
            vals->v[i] = v_convert(vals->v[i], op->out.convert);
        }
    }
    switch (op->out.store) {
    case G4_STORE_NULL:
        break;
    case G4_STORE_PACKED: {
        uint8_t *const to = (uint8_t *)gang + op->out.off[8 * part];
        for (int i = 0; i < G4_VN; i++) {
            v_store_lanes(to, i, vals->v[i], lanes);
        }
        break;
    }
    case G4_STORE_A0: {
        const unsigned n = op->dst.base / 2u & 7;
        const unsigned kept = n < 2 ? 0xffff : 0xfff;
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if (lanes >> (8 * t) & 1) {
                gang->a0[t][n] = (uint16_t)(vals->ud[8 * t] & kept);
            }
        }
        break;
    }
    case G4_STORE_WORDS:
        store_words(gang, op, part, lanes, vals);
        break;
    case G4_STORE_INDIRECT:
        store_indirect(run, op, part, lanes, vals);
        break;
    case G4_STORE_WRITE:
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if (g4_thread_lanes(lanes, t)) {
                store_written(run, op, part, t, g4_thread_lanes(lanes, t), vals);
            }
        }
        break;
    default:
        store_scattered((uint8_t *)gang, op, part, lanes, vals);
        break;
    }
}

/* Store to a whole register. */
G4_INLINE void store_packed(uint8_t *to, g4_lanes lanes, const vi r[G4_VN]) {
    if (lanes == G4_EVERY_LANE) {
        for (int i = 0; i < G4_VN; i++) {
            v_store(to, i, r[i]);
        }
    } else {
        for (int i = 0; i < G4_VN; i++) {
            v_store_lanes(to, i, r[i], lanes);
        }
    }
}

G4_INLINE void store_part(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, const vi r[G4_VN]) {
    if (op->out.store == G4_STORE_PACKED && op->out.convert == G4_CONVERT_NONE) {
        store_packed((uint8_t *)run->gang + op->out.off[8 * part], lanes, r);
        return;
    }
    if (op->out.store != G4_STORE_NULL) {
        union g4_vals vals;
        for (int i = 0; i < G4_VN; i++) {
            vals.v[i] = r[i];
        }
        store_other(run, op, part, lanes, &vals);
    }
}

G4_INLINE void set_part_flags(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, g4_lanes bits) {
    g4_lanes *const flag = &run->gang->flag[op->flag][part_half(op, part)];
    *flag = (*flag & ~lanes) | (bits & lanes);
}

#define G4_CONDITION_LOOP(test)                                                                                        \
    for (int i = 0; i < G4_VN; i++) {                                                                                  \
        bits |= v_bits((vi)(test), i);                                                                                 \
    }                                                                                                                  \
    break

/* Set the bits of lanes with `x cond y`; x and y are expressions in the vector index i. */
#define G4_CONDITION(bits, cond, x, y)                                                                                 \
    switch (cond) {                                                                                                    \
    case G4_COND_Z:                                                                                                    \
        G4_CONDITION_LOOP((x) == (y));                                                                                 \
    case G4_COND_NZ:                                                                                                   \
        G4_CONDITION_LOOP((x) != (y));                                                                                 \
    case G4_COND_G:                                                                                                    \
        G4_CONDITION_LOOP((x) > (y));                                                                                  \
    case G4_COND_GE:                                                                                                   \
        G4_CONDITION_LOOP((x) >= (y));                                                                                 \
    case G4_COND_L:                                                                                                    \
        G4_CONDITION_LOOP((x) < (y));                                                                                  \
    default:                                                                                                           \
        G4_CONDITION_LOOP((x) <= (y));                                                                                 \
    }

#endif
