/*
 * The URB messages of Gen7 and Gen7.5 (IVB PRM vol. 4 part 2, "Unified Return Buffer").  An entry consists of slots of
 * 128 bits.  HWord messages count in rows, which are two slots; OWord messages move one slot of each entry.
 * Interleaved, the low and the high half of each register belong to two entries.
 */
#include <string.h>

#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"
#include "messages_gen7.h"

enum {
    SLOT_DWORDS = 4
};

struct slot_access {
    struct g4_eu *eu;
    struct g4_gang *gang;
    int thread;
    uint32_t handle[2], slot[2]; /* entry, and first slot in it, of either half */
    unsigned enable[2];          /* bit d: dword d of the half is written, or returned */
};

/* Slot `number` of an entry; NULL beyond the thread's window, which is reported: hardware would hit a neighbor. */
static uint32_t *slot_of(const struct slot_access *a, unsigned half, uint64_t number, enum g4_event beyond) {
    const uint64_t slot = 2u * (uint64_t)a->handle[half] + a->slot[half] + number;
    if (slot / 2 < a->gang->urb_rows[a->thread]) {
        return a->gang->urb[a->thread][slot / 2] + SLOT_DWORDS * (slot & 1);
    }
    g4_report(a->eu->log, beyond, g4_gang_address(a->gang, a->thread), (uint32_t)(slot / 2));
    return NULL;
}

static void write_slot(const struct slot_access *a, unsigned half, uint64_t number, const uint32_t *data,
                       unsigned enable) {
    uint32_t *const slot = enable ? slot_of(a, half, number, G4_EVENT_URB_RANGE) : NULL;
    if (slot && enable == 15) {
        memcpy(slot, data, SLOT_DWORDS * sizeof *slot);
        return;
    }
    for (unsigned d = 0; slot && d < SLOT_DWORDS; d++) {
        if (enable >> d & 1) {
            slot[d] = data[d];
        }
    }
}

static void write_registers(const struct slot_access *a, const struct g4_send *send,
                            const struct gen7_urb_message *message) {
    const bool oword = message->urb_opcode == GEN7_URB_OPCODE_GEN7_WRITE_OWORD;
    const uint32_t registers = oword ? 1 : send->mlen - 1u;

    for (uint32_t k = 0; k < registers; k++) {
        const uint32_t *const data = g4_payload(a->gang, send, k + 1, a->thread);
        if (message->interleave) {
            write_slot(a, 0, k, data, a->enable[0]);
            write_slot(a, 1, k, data + SLOT_DWORDS, a->enable[1]);
        } else {
            write_slot(a, 0, 2 * k, data, a->enable[0]);
            if (!oword) {
                write_slot(a, 0, 2 * k + 1, data + SLOT_DWORDS, a->enable[1]);
            }
        }
    }
}

/* Other dwords of the response keep their values. */
static void read_slot(const struct slot_access *a, unsigned half, uint64_t number, uint32_t *to, unsigned enable) {
    const uint32_t *const slot = enable ? slot_of(a, half, number, G4_EVENT_URB_READ_RANGE) : NULL;
    for (unsigned d = 0; d < SLOT_DWORDS; d++) {
        if (enable >> d & 1) {
            to[d] = slot ? slot[d] : 0;
        }
    }
}

static void read_registers(const struct slot_access *a, const struct g4_send *send,
                           const struct gen7_urb_message *message) {
    const bool oword = message->urb_opcode == GEN7_URB_OPCODE_GEN7_READ_OWORD;

    for (uint32_t k = 0; k < send->rlen; k++) {
        uint32_t *const to = g4_response(a->gang, send, k, a->thread);
        if (!to) {
            continue;
        }
        if (message->interleave) {
            read_slot(a, 0, k, to, a->enable[0]);
            read_slot(a, 1, k, to + SLOT_DWORDS, a->enable[1]);
        } else {
            read_slot(a, 0, 2 * k, to, a->enable[0]);
            if (!oword) {
                read_slot(a, 0, 2 * k + 1, to + SLOT_DWORDS, a->enable[1]);
            }
        }
    }
}

static struct slot_access access_of(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread,
                                    const struct gen7_urb_message *message) {
    const bool oword = message->urb_opcode == GEN7_URB_OPCODE_GEN7_WRITE_OWORD ||
                       message->urb_opcode == GEN7_URB_OPCODE_GEN7_READ_OWORD;
    const uint32_t unit = oword ? 1 : 2; /* slots */
    const unsigned lanes = g4_thread_lanes(send->emask[0], thread);
    struct gen7_urb_write_message_header header;

    gen7_urb_write_message_header_unpack(g4_payload(gang, send, 0, thread), eu->ctx->gen, &header);
    const unsigned enable = lanes & header.channel_mask;
    struct slot_access a = {
        .eu = eu,
        .gang = gang,
        .thread = thread,
        .handle = {header.urb_return_handle_0, header.urb_return_handle_1},
        .slot = {unit * message->offset, unit * message->offset},
        .enable = {enable & 15, enable >> 4 & 15},
    };
    if (message->per_slot_offset) {
        a.slot[0] += unit * header.slot_0_offset;
        a.slot[1] += unit * header.slot_1_offset;
    }
    return a;
}

static bool is_read(const struct gen7_urb_message *message) {
    return message->urb_opcode == GEN7_URB_OPCODE_GEN7_READ_HWORD ||
           message->urb_opcode == GEN7_URB_OPCODE_GEN7_READ_OWORD;
}

enum g4_status g4_message_urb_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct gen7_urb_message message;

    gen7_urb_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    if (message.urb_opcode > GEN7_URB_OPCODE_GEN7_READ_OWORD) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    const uint32_t mlen = send->mlen ? send->mlen : 1; /* of any length, but with a header */
    if (!g4_message_lengths(eu, gang, send, mlen, send->rlen)) {
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        const struct slot_access a = access_of(eu, gang, send, t, &message);
        if (is_read(&message)) {
            read_registers(&a, send, &message);
        } else if (mlen > 1) {
            write_registers(&a, send, &message);
        }
        if (gang->owner.urb_event && (message.complete || send->eot)) {
            gang->owner.urb_event(gang, t, send->descriptor, g4_payload(gang, send, 0, t));
        }
    }
    return G4_OK;
}
