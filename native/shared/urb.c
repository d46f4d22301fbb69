/*
 * URB_WRITE (spec/60 5): rows into the window of the sending thread, then the owner hears of Complete and Allocate.
 */
#include <string.h>

#include "../eu/eu.h"
#include "../report.h"

enum {
    SWIZZLE_NONE,
    SWIZZLE_INTERLEAVE,
    SWIZZLE_TRANSPOSE
};

enum {
    URB_COMPLETE = 1 << 15,
    URB_ALLOCATE = 1 << 13,
};

struct urb_write {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    uint32_t offset; /* rows, relative to the entry */
    uint32_t data;   /* registers behind the header */
};

/* Row `row` of the thread's window, NULL beyond it (which is reported: hardware would hit a neighbour). */
static uint32_t *window_row(const struct urb_write *w, uint64_t row) {
    if (row < w->gang->urb_rows[w->thread]) {
        return w->gang->urb[w->thread][row];
    }
    g4_report(w->eu->log, G4_EVENT_URB_RANGE, g4_gang_address(w->gang, w->thread), (uint32_t)row);
    return NULL;
}

static void write_plain(const struct urb_write *w, uint32_t handle) {
    for (uint32_t k = 0; k < w->data; k++) {
        uint32_t *const row = window_row(w, 2u * handle + w->offset + k);
        if (row) {
            memcpy(row, g4_payload(w->gang, w->send, k + 1, w->thread), 32);
        }
    }
}

/* Registers 2j and 2j+1 are the halves of row j; the low four dwords belong to handle 0, the high four to handle 1. */
static void write_interleaved(const struct urb_write *w, const uint32_t handle[2]) {
    const unsigned enable = g4_thread_lanes(w->send->emask[0], w->thread);
    for (uint32_t k = 0; k < w->data; k++) {
        const uint32_t *const data = g4_payload(w->gang, w->send, k + 1, w->thread);
        for (unsigned vertex = 0; vertex < 2; vertex++) {
            const unsigned lanes = enable >> (4 * vertex) & 15;
            uint32_t *const row = lanes ? window_row(w, 2u * handle[vertex] + w->offset + k / 2) : NULL;
            for (unsigned d = 0; row && d < 4; d++) {
                if (lanes >> d & 1) {
                    row[4 * (k & 1) + d] = data[4 * vertex + d];
                }
            }
        }
    }
}

/* Groups of three registers Cx, Cy, C0 of eight attributes become four attribute-major rows. */
static void write_transposed(const struct urb_write *w, uint32_t handle) {
    for (uint32_t g = 0; g < w->data / 3; g++) {
        const uint32_t *const cx = g4_payload(w->gang, w->send, 3 * g + 1, w->thread);
        const uint32_t *const cy = g4_payload(w->gang, w->send, 3 * g + 2, w->thread);
        const uint32_t *const c0 = g4_payload(w->gang, w->send, 3 * g + 3, w->thread);
        for (unsigned j = 0; j < 4; j++) {
            uint32_t *const row = window_row(w, 2u * handle + w->offset + 4 * g + j);
            for (unsigned half = 0; row && half < 2; half++) {
                const unsigned a = 2 * j + half;
                const uint32_t quad[4] = {cx[a], cy[a], 0, c0[a]};
                memcpy(row + 4 * half, quad, sizeof quad);
            }
        }
    }
}

static void tell_owner(const struct urb_write *w, const uint32_t *header) {
    struct g4_gang *const gang = w->gang;
    const uint32_t descriptor = w->send->descriptor;
    uint32_t allocated = 0;

    if ((descriptor & URB_ALLOCATE) && w->send->eot) {
        g4_report(w->eu->log, G4_EVENT_URB_PROTOCOL, g4_gang_address(gang, w->thread), descriptor);
    }
    if (gang->owner.urb_event && (descriptor & (URB_COMPLETE | URB_ALLOCATE))) {
        /* The response may overwrite the register that the header was built in, never the MRF: a plain read is fine. */
        allocated = gang->owner.urb_event(gang, w->thread, descriptor, header);
    }
    uint32_t *const response = g4_response(gang, w->send, 0, w->thread);
    if (response && (descriptor & URB_ALLOCATE)) {
        memset(response, 0, 32);
        response[0] = allocated;
    }
}

enum g4_status g4_message_urb(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t swizzle = send->descriptor >> 10 & 3;
    const bool bad = (send->descriptor & 15) != 0 || swizzle == 3 || send->mlen == 0;

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        struct urb_write w = {eu, gang, send, t, send->descriptor >> 4 & 63, send->mlen ? send->mlen - 1u : 0};
        if (bad) {
            g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, t), send->descriptor);
            continue;
        }
        const uint32_t *const header = g4_payload(gang, send, 0, t);
        const uint32_t handle[2] = {header[0] & 0xffff, header[1] & 0xffff};
        if (swizzle == SWIZZLE_NONE) {
            write_plain(&w, handle[0]);
        } else if (swizzle == SWIZZLE_INTERLEAVE) {
            write_interleaved(&w, handle);
        } else {
            if (w.data % 3 != 0) {
                g4_report(eu->log, G4_EVENT_BAD_LENGTH, g4_gang_address(gang, t), send->descriptor);
            }
            write_transposed(&w, handle[0]);
        }
        tell_owner(&w, header);
    }
    return G4_OK;
}
