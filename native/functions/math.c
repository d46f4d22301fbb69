/*
 * The extended math function, SFID 1: operands from the MRF, results to the channels that an ordinary instruction
 * would write (965 PRM vol. 4, 6).
 */
#include <string.h>

#include "eu/math_ops.h"
#include "eu/message.h"
#include "eu/run.h"
#include "functions/table.h"
#include "hw_messages.h"

/* Registers of the message and of the response by function; mlen 0: reserved. */
static const struct {
    uint8_t mlen, rlen;
    bool integer;
} shapes[16] = {
    [G4_MATH_FUNCTION_INV] = {1, 1, false},
    [G4_MATH_FUNCTION_LOG] = {1, 1, false},
    [G4_MATH_FUNCTION_EXP] = {1, 1, false},
    [G4_MATH_FUNCTION_SQRT] = {1, 1, false},
    [G4_MATH_FUNCTION_RSQ] = {1, 1, false},
    [G4_MATH_FUNCTION_SIN] = {1, 1, false},
    [G4_MATH_FUNCTION_COS] = {1, 1, false},
    [G4_MATH_FUNCTION_SINCOS] = {1, 2, false},
    [G4_MATH_FUNCTION_POW] = {2, 1, false},
    [G4_MATH_FUNCTION_INT_DIV_BOTH] = {2, 2, true},
    [G4_MATH_FUNCTION_INT_DIV_QUOTIENT] = {2, 1, true},
    [G4_MATH_FUNCTION_INT_DIV_REMAINDER] = {2, 1, true},
};

static void load(const struct g4_gang *gang, const struct g4_send *send, unsigned k, bool scalar, uint32_t *out) {
    memcpy(out, gang->mrf[(send->mrf + k) & (G4_MRF_COUNT - 1)].ud, G4_MATH_LANES * sizeof *out);
    if (scalar) { /* channels 0 and 4 are the operands of their groups of four */
        for (int i = 0; i < G4_MATH_LANES; i++) {
            out[i] = out[i & ~3];
        }
    }
}

/* Channel c of a result goes to byte subreg + 4 * stride * c of the destination, which may extend into the next
 * register. */
static void store(struct g4_gang *gang, const struct g4_send *send, unsigned k, const uint32_t *out) {
    if (send->dst_subreg == 0 && send->dst_stride == 1 && send->dst + k < G4_GRF_COUNT) {
        if (send->emask[0] == ~(g4_lanes)0) {
            memcpy(gang->grf[send->dst + k].ud, out, sizeof gang->grf[0].ud);
            return;
        }
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            uint32_t *const row = gang->grf[send->dst + k].ud[t];
            const unsigned lanes = g4_thread_lanes(send->emask[0], t);
            if (lanes == 0xff) {
                memcpy(row, out + (size_t)8 * t, sizeof gang->grf[0].ud[0]);
            } else if (lanes) {
                for (int c = 0; c < 8; c++) {
                    row[c] = lanes >> c & 1 ? out[8 * t + c] : row[c];
                }
            }
        }
        return;
    }
    for (unsigned i = 0; i < G4_MATH_LANES; i++) {
        const unsigned dword = send->dst_subreg / 4u + send->dst_stride * (i & 7);
        const unsigned reg = send->dst + k + dword / 8;
        if ((send->emask[0] >> i & 1) && reg < G4_GRF_COUNT) {
            gang->grf[reg].ud[i / 8][dword % 8] = out[i];
        }
    }
}

/* Threads in ALT mode now: a kernel may change the mode. */
static unsigned alternate_threads(const struct g4_gang *gang) {
    unsigned threads = 0;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        threads |= (gang->cr0[t][0] & G4_CR0_ALTERNATE ? 1u : 0u) << t;
    }
    return threads;
}

enum g4_status g4_message_math(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_extended_math_message message;
    struct g4_math_operands o;

    g4_extended_math_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    const uint32_t op = message.math_function;
    if (shapes[op].mlen == 0) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    if (!g4_message_lengths(eu, gang, send, shapes[op].mlen, shapes[op].rlen)) {
        return G4_OK;
    }
    load(gang, send, 0, message.scalar, o.x);
    if (shapes[op].mlen > 1) {
        load(gang, send, 1, false, o.y); /* the second operand is never broadcast (docs/decisions.md 22) */
    }
    if (shapes[op].integer) {
        g4_math_integer(op, message.signed_integer, &o);
    } else {
        g4_math_float(op, alternate_threads(gang), message.saturate, send->emask[0], &o);
    }
    for (unsigned k = 0; send->has_dst && k < send->rlen && k < shapes[op].rlen; k++) {
        store(gang, send, k, o.out[k]);
    }
    return G4_OK;
}
