/*
 * The URB messages of Gen8 and Gen9 that have a handle in each channel (SKL PRM vol. 7, "Unified Return Buffer").
 *
 * An entry consists of dwords; offsets count slots of four.  Payload: eight handles, then eight offsets if the message
 * has them, then eight masks if it has those, then up to eight registers of data: register k is dword k of each
 * channel.
 */
#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"
#include "messages_gen9.h"

enum {
    CHANNELS = 8,
    SLOT_DWORDS = 4,
    MOST_DATA = 8, /* registers */
};

struct urb_access {
    struct g4_eu *eu;
    struct g4_gang *gang;
    int thread;
    uint32_t start[CHANNELS];  /* first dword in the window of the thread's entries */
    uint32_t enable[CHANNELS]; /* bit k: dword k is moved */
};

static struct urb_access access_of(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread,
                                   const struct gen9_urb_message *message) {
    const unsigned lanes = g4_thread_lanes(send->emask[0], thread);
    const uint32_t *const handle = g4_payload(gang, send, 0, thread);
    const uint32_t *const offset = g4_payload(gang, send, 1, thread);
    const uint32_t *const mask = g4_payload(gang, send, message->per_slot_offset ? 2 : 1, thread);
    struct urb_access a = {.eu = eu, .gang = gang, .thread = thread};

    for (uint32_t c = 0; c < CHANNELS; c++) {
        const uint32_t more = message->per_slot_offset ? gen9_urb_simd8_offset_offset(&offset[c]) : 0;
        const uint32_t all = (1u << MOST_DATA) - 1;
        const uint32_t some = message->channel_mask_present ? gen9_urb_simd8_channel_mask_channel_mask(&mask[c]) : all;
        a.start[c] = CHANNELS * gen9_urb_simd8_handle_urb_handle(&handle[c]) + SLOT_DWORDS * (message->offset + more);
        a.enable[c] = lanes >> c & 1 ? some : 0;
    }
    return a;
}

/* Dword k of a channel; NULL beyond the thread's window, which is reported: hardware would hit a neighbor. */
static uint32_t *dword_of(const struct urb_access *a, uint32_t channel, uint32_t k, enum g4_event beyond) {
    const uint32_t at = a->start[channel] + k;
    if (at / 8 < a->gang->urb_rows[a->thread]) {
        return &a->gang->urb[a->thread][at / 8][at % 8];
    }
    g4_report(a->eu->log, beyond, g4_gang_address(a->gang, a->thread), at / 8);
    return NULL;
}

static void write(const struct urb_access *a, const struct g4_send *send, uint32_t first) {
    const uint32_t registers = send->mlen - first < MOST_DATA ? send->mlen - first : MOST_DATA;

    for (uint32_t k = 0; k < registers; k++) {
        const uint32_t *const data = g4_payload(a->gang, send, first + k, a->thread);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            uint32_t *const to = a->enable[c] >> k & 1 ? dword_of(a, c, k, G4_EVENT_URB_RANGE) : NULL;
            if (to) {
                *to = data[c];
            }
        }
    }
}

/* Channels that are not enabled keep their values. */
static void read(const struct urb_access *a, const struct g4_send *send) {
    for (uint32_t k = 0; k < send->rlen && k < MOST_DATA; k++) {
        uint32_t *const to = g4_response(a->gang, send, k, a->thread);
        for (uint32_t c = 0; to && c < CHANNELS; c++) {
            if (a->enable[c] >> k & 1) {
                const uint32_t *const from = dword_of(a, c, k, G4_EVENT_URB_READ_RANGE);
                to[c] = from ? *from : 0;
            }
        }
    }
}

enum g4_status g4_message_urb_gen9(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct gen9_urb_message message;

    gen9_urb_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    const bool writes = message.urb_opcode == GEN9_URB_OPCODE_GEN7_SIMD8_WRITE;
    if (!writes && message.urb_opcode != GEN9_URB_OPCODE_GEN7_SIMD8_READ) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    const uint32_t first = 1u + message.per_slot_offset + message.channel_mask_present;
    const uint32_t mlen = writes && send->mlen > first ? send->mlen : first;
    if (!g4_message_lengths(eu, gang, send, mlen, writes ? 0 : send->rlen)) {
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        const struct urb_access a = access_of(eu, gang, send, t, &message);
        if (writes) {
            write(&a, send, first);
        } else {
            read(&a, send);
        }
        if (gang->owner.urb_event && send->eot) {
            gang->owner.urb_event(gang, t, send->descriptor, g4_payload(gang, send, 0, t));
        }
    }
    return G4_OK;
}
