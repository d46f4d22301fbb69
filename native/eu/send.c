/*
 * send: does the implied move, finds the enabled channels, and calls the shared function once for all threads with the
 * same descriptor.
 */
#include <string.h>

#include "eu/fpenv.h"
#include "eu/message.h"
#include "eu/run.h"
#include "hw_messages.h"
#include "messages_gen7.h"

enum {
    /* shared functions that messages may end a thread with */
    MAY_END_THREAD = 1 << G4_SHARED_FUNCTION_NULL | 1 << G4_SHARED_FUNCTION_MESSAGE_GATEWAY |
                     1 << G4_SHARED_FUNCTION_DATA_PORT_WRITE | 1 << G4_SHARED_FUNCTION_URB |
                     1 << G4_SHARED_FUNCTION_THREAD_SPAWNER,
};

/* A float that a source modifier turns into an arithmetic value: denormals are flushed, infinities clamped in ALT mode,
 * and NaN has one pattern. */
static uint32_t moved_float(uint32_t bits, const struct g4_src *src, bool alternate) {
    bits = (bits & (src->abs ? 0x7fffffff : 0xffffffff)) ^ (src->negate ? 0x80000000 : 0);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude < 0x00800000) {
        return bits & 0x80000000;
    }
    if (magnitude > 0x7f800000) {
        return 0x7fc00000;
    }
    return magnitude == 0x7f800000 && alternate ? bits - 1 : bits;
}

static uint32_t moved_integer(uint32_t value, const struct g4_src *src) {
    const bool is_signed = src->type == G4_TYPE_D || src->type == G4_TYPE_W || src->type == G4_TYPE_B;
    value = src->abs && is_signed && value >> 31 ? 0u - value : value;
    return src->negate ? 0u - value : value;
}

/* Copies one whole register, whatever the execution size.  Bits are unchanged unless there is a source modifier. */
static void implied_move(struct g4_run *run, const struct g4_op *op, int pass) {
    const struct g4_src *const src = &op->src[0];
    union g4_reg *const mrf = &run->gang->mrf[(op->mrf + pass) & (G4_MRF_COUNT - 1)];
    const unsigned count = G4_REGISTER_BYTES / src->size;
    const unsigned whole = (src->base + (pass ? src->pass_bytes : 0u)) / G4_REGISTER_BYTES;
    uint32_t raw[G4_REGISTER_BYTES];

    if (op->whole_move && whole < g4_owned(run->gang)) {
        const union g4_reg *const from = &run->gang->grf[whole];
        if (run->threads == (1u << G4_GANG_THREADS) - 1) {
            memcpy(mrf, from, sizeof *mrf);
            return;
        }
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if (run->threads >> t & 1) {
                memcpy(mrf->ub[t], from->ub[t], G4_REGISTER_BYTES);
            }
        }
        return;
    }
    if (op->dword_move && op->move_top <= g4_owned(run->gang)) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            const uint8_t *const from = run->gang->grf[0].bytes + (size_t)t * G4_REGISTER_BYTES;
            for (unsigned c = 0; c < 8 && (run->threads >> t & 1); c++) {
                memcpy(&mrf->ud[t][c], from + op->in[0].off[c], sizeof(uint32_t));
            }
        }
        return;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const bool alternate = run->gang->cr0[t][0] & G4_CR0_ALTERNATE;
        if (!(run->threads >> t & 1)) {
            continue;
        }
        g4_read_raw(run, src, pass, t, count, raw);
        for (unsigned c = 0; c < count; c++) {
            uint32_t value = raw[c];
            if (src->abs || src->negate) {
                value = src->type == G4_TYPE_F ? moved_float(value, src, alternate) : moved_integer(value, src);
            }
            memcpy(&mrf->ub[t][c * src->size], &value, src->size);
        }
    }
}

/* The enabled channels of a half. */
static g4_lanes enabled(const struct g4_run *run, const struct g4_op *op, int half) {
    /* Vertex shaders write single components to scratch, so the enables of the message include the channel enables. */
    const g4_lanes written = UINT64_C(0x1111111111111111) * op->dst.writemask;
    return (op->nomask ? run->group : run->exec[half]) & g4_predicate(run->gang, op, half) & op->size_lanes &
           run->group & written;
}

/* Those of `threads` that have the same descriptor as the first of them. */
static uint8_t same_descriptor(const struct g4_run *run, const struct g4_op *op, uint8_t threads,
                               uint32_t *descriptor) {
    uint8_t same = 0;
    if (op->src[1].kind == G4_KIND_IMM) {
        *descriptor = op->descriptor;
        return threads;
    }
    for (int t = __builtin_ctz(threads); t < G4_GANG_THREADS; t++) {
        const uint32_t own = g4_descriptor_of(run->gang, op, t);
        if (same == 0) {
            *descriptor = own;
        }
        if ((threads >> t & 1) && own == *descriptor) {
            same |= (uint8_t)(1u << t);
        }
    }
    return same;
}

/* The fields that the descriptors of all functions have in common; Gen7 names function and end of thread in the
 * instruction. */
static void unpack_descriptor(const struct g4_op *op, struct g4_send *send) {
    if (op->grf_payload) {
        send->sfid = op->function;
        send->mlen = (uint8_t)gen7_message_descriptor_message_length(send->descriptor);
        send->rlen = (uint8_t)gen7_message_descriptor_response_length(send->descriptor);
        send->eot = op->eot;
        send->split = op->second_length > 0;
        send->first_length = send->mlen;
        send->second = op->second_payload;
    } else {
        send->sfid = (uint8_t)g4_message_descriptor_shared_function(send->descriptor);
        send->mlen = (uint8_t)g4_message_descriptor_message_length(send->descriptor);
        send->rlen = (uint8_t)g4_message_descriptor_response_length(send->descriptor);
        send->eot = g4_message_descriptor_end_of_thread(send->descriptor) && op->src[1].kind == G4_KIND_IMM;
    }
}

unsigned g4_second_length(const struct g4_gang *gang, const struct g4_op *op, int thread) {
    return op->length_in_register ? gang->a0[thread][op->length_address & 6] >> 6 & 15 : op->second_length;
}

static void deliver(struct g4_run *run, const struct g4_op *op, struct g4_send *send, g4_lanes low, g4_lanes high) {
    struct g4_gang *const gang = run->gang;
    const g4_lanes lanes = g4_lanes_of(send->threads);

    send->emask[0] = low & lanes;
    send->emask[1] = high & lanes;
    unpack_descriptor(op, send);
    if (send->split) {
        send->mlen = (uint8_t)(send->mlen + g4_second_length(gang, op, __builtin_ctz(send->threads)));
    }
    send->has_dst = send->rlen > 0 && op->dst.kind == G4_KIND_GRF;
    if (!op->grf_payload && g4_message_descriptor_end_of_thread(send->descriptor) && !send->eot) {
        g4_message_report(run->eu, gang, send, G4_EVENT_EOT_IGNORED);
    }
    if (send->eot && !(MAY_END_THREAD >> send->sfid & 1)) {
        g4_message_report(run->eu, gang, send, G4_EVENT_EOT_WRONG_UNIT);
    }
    g4_floats_leave(run);
    const enum g4_status status = run->eu->functions[send->sfid](run->eu, gang, send);
    run->eu->messages[send->sfid] += g4_thread_count(send->threads);
    if (status != G4_OK && run->status == G4_OK) {
        run->status = status;
    }
}

static void send_pass(struct g4_run *run, const struct g4_op *op, int pass) {
    const bool shifted = op->half || pass; /* channels 8 to 15 are delivered as 0 to 7 */
    const g4_lanes low = enabled(run, op, shifted ? 1 : 0);
    const g4_lanes high = op->channels > 8 ? enabled(run, op, 1) : 0;
    uint8_t left = run->threads;

    if (op->src[0].kind != G4_KIND_NULL && !op->grf_payload) {
        g4_floats_enter(run);
        implied_move(run, op, pass);
    }
    while (left) {
        struct g4_send send = {
            .grf_payload = op->grf_payload,
            .mrf = (uint8_t)((op->mrf + pass) & (op->grf_payload ? G4_GRF_COUNT - 1 : G4_MRF_COUNT - 1)),
            .dst = (uint8_t)((op->dst.base / G4_REGISTER_BYTES + (unsigned)pass) & (G4_GRF_COUNT - 1)),
            .dst_subreg = (uint8_t)(op->dst.base % G4_REGISTER_BYTES),
            .dst_stride = op->dst.hstride,
            .exec_size = op->channels,
        };
        send.threads = same_descriptor(run, op, left, &send.descriptor);
        deliver(run, op, &send, low, high);
        left &= (uint8_t)~send.threads;
        if ((run->gang->stalled & send.threads) && !run->split) {
            g4_run_place(run, run->next);
            run->split = true;
        }
        if (send.eot && pass == op->passes - 1) {
            run->gang->live &= (uint8_t)~send.threads;
            if (!run->split) {
                g4_run_place(run, run->next);
                run->split = true;
            }
        }
    }
}

void g4_send_message(struct g4_run *run, const struct g4_op *op) {
    g4_run_place(run, op->ip); /* the address in reports */
    for (int pass = 0; pass < op->passes && run->status == G4_OK; pass++) {
        send_pass(run, op, pass);
    }
    if (run->status != G4_OK && !run->split) {
        run->split = true; /* leave the loop; the ip of the threads is that of the message */
    }
    if (!run->split) {
        g4_floats_enter(run);
    }
}
