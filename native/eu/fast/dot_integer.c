/*
 * Dot products of words with dwords in two passes of eight channels.  They are three quarters of the instructions of an
 * inverse transform of MPEG-2.  The handler has no vector variants.
 */
#include <string.h>

#include "eu/fast/fast.h"
#include "eu/run.h"

enum {
    ROW_BYTES = 16, /* channels of a dot product */
    TUPLE = 4,
};

bool g4_is_dot_integer(const struct g4_op *op) {
    const struct g4_src *const words = &op->src[0], *const dwords = &op->src[1];
    const bool shape = op->opcode == G4_OPCODE_DP4 && !op->undefined && op->passes == 2 && op->channels == 8 &&
                       !op->align16 && !op->sechalf && op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE &&
                       !op->saturate && !op->acc_write;
    const bool first = words->kind == G4_KIND_INDIRECT && words->type == G4_TYPE_W && words->vstride == 8 &&
                       words->width == 8 && words->hstride == 1 && !words->abs && !words->negate;
    const bool second = dwords->kind == G4_KIND_GRF && dwords->type == G4_TYPE_D && dwords->vstride == 8 &&
                        dwords->width == 8 && dwords->hstride == 1 && !dwords->abs && !dwords->negate &&
                        dwords->base % G4_REGISTER_BYTES == 0 && dwords->pass_bytes == G4_REGISTER_BYTES;
    return shape && first && second && op->dst.kind == G4_KIND_GRF && op->dst.size == 4 && op->dst.type != G4_TYPE_F &&
           op->dst.hstride == 1 && op->dst.base % G4_REGISTER_BYTES == 0 && op->dst.pass_bytes == G4_REGISTER_BYTES;
}

/* Find the words of every thread for both passes; false: only the general handler can read some of them. */
static bool find_words(struct g4_run *run, const struct g4_op *op, const int16_t *words[2][G4_GANG_THREADS]) {
    const struct g4_gang *const gang = run->gang;
    const unsigned end = g4_owned(gang) * G4_REGISTER_BYTES;

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (int pass = 0; pass < 2 && (run->threads >> t & 1); pass++) {
            const unsigned address = gang->a0[t][(op->src[0].addr_sub + (unsigned)pass) & op->address_mask];
            const unsigned byte = address % G4_REGISTER_BYTES;
            const unsigned start = address + (unsigned)op->src[0].addr_imm;
            if (op->src[0].addr_imm != 0 || byte % 2 || byte + ROW_BYTES > G4_REGISTER_BYTES || start >= end) {
                return false;
            }
            words[pass][t] = &gang->grf[start / G4_REGISTER_BYTES].w[t][byte / 2];
        }
    }
    return true;
}

void g4_dot_integer(struct g4_run *run, const struct g4_op *op) {
    const int16_t *words[2][G4_GANG_THREADS];
    const unsigned first = op->src[1].base / G4_REGISTER_BYTES, into = op->dst.base / G4_REGISTER_BYTES;

    if (!find_words(run, op, words) || first + 2 > g4_owned(run->gang) || into + 2 > g4_owned(run->gang)) {
        g4_general(run, op);
        return;
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        const g4_lanes lanes = op->nomask ? run->group : run->exec[pass];
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            uint32_t sum[2] = {0};
            if (!(run->threads >> t & 1)) {
                continue;
            }
            const uint32_t *const dwords = run->gang->grf[first + pass].ud[t];
            for (unsigned c = 0; c < 8; c++) {
                sum[c / TUPLE] += (uint32_t)words[pass][t][c] * dwords[c];
            }
            uint32_t *const out = run->gang->grf[into + pass].ud[t];
            for (unsigned c = 0; c < 8; c++) {
                if (lanes >> (8 * t + (int)c) & 1) {
                    out[c] = sum[c / TUPLE];
                }
            }
        }
    }
}
