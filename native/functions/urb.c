/*
 * URB_WRITE (965 PRM vol. 4, 8.4): writes rows to the window of the sending thread, then notifies the owner of
 * Complete and Allocate.
 */
#include <string.h>

#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"
#include "hw_messages.h"

struct urb_write {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    uint32_t offset; /* rows, relative to the entry */
    uint32_t data;   /* registers after the header */
};

/* Row `row` of the thread's window; NULL beyond it, which is reported: hardware would hit a neighbor. */
static uint32_t *window_row(const struct urb_write *w, uint64_t row) {
    if (row < w->gang->urb_rows[w->thread]) {
        return w->gang->urb[w->thread][row];
    }
    g4_report(w->eu->log, G4_EVENT_URB_RANGE, g4_gang_address(w->gang, w->thread), (uint32_t)row);
    return NULL;
}

static void write_unswizzled(const struct urb_write *w, uint32_t handle) {
    for (uint32_t k = 0; k < w->data; k++) {
        uint32_t *const row = window_row(w, 2u * handle + w->offset + k);
        if (row) {
            memcpy(row, g4_payload(w->gang, w->send, k + 1, w->thread), 32);
        }
    }
}

/* The first row of a write to a handle; NULL if some row of it is beyond the thread's window. */
static uint32_t *rows_in_window(const struct urb_write *w, uint32_t handle) {
    const uint64_t first = 2u * (uint64_t)handle + w->offset;
    const uint64_t rows = (w->data + 1) / 2;
    return first + rows <= w->gang->urb_rows[w->thread] ? w->gang->urb[w->thread][first] : NULL;
}

/* write_interleaved() of all dwords, if no row is beyond the window, as vertex shaders do.  False: nothing was done. */
static bool write_whole_interleaved(const struct urb_write *w, const uint32_t handle[2]) {
    enum {
        HALF = 4, /* dwords */
    };
    uint32_t *const low = rows_in_window(w, handle[0]);
    uint32_t *const high = rows_in_window(w, handle[1]);
    if (!low || !high || g4_thread_lanes(w->send->emask[0], w->thread) != 0xff) {
        return false;
    }
    for (uint32_t k = 0; k < w->data; k++) {
        const uint32_t *const data = g4_payload(w->gang, w->send, k + 1, w->thread);
        memcpy(low + (size_t)HALF * k, data, HALF * sizeof *data);
        memcpy(high + (size_t)HALF * k, data + HALF, HALF * sizeof *data);
    }
    return true;
}

/* Registers 2j and 2j+1 are the halves of row j; the low four dwords belong to handle 0, the high four to handle 1. */
static void write_interleaved(const struct urb_write *w, const uint32_t handle[2]) {
    const unsigned enable = g4_thread_lanes(w->send->emask[0], w->thread);
    if (write_whole_interleaved(w, handle)) {
        return;
    }
    for (uint32_t k = 0; k < w->data; k++) {
        const uint32_t *const data = g4_payload(w->gang, w->send, k + 1, w->thread);
        for (unsigned vertex = 0; vertex < 2; vertex++) {
            const unsigned lanes = enable >> (4 * vertex) & 15;
            uint32_t *const row = lanes ? window_row(w, 2u * handle[vertex] + w->offset + k / 2) : NULL;
            if (row && lanes == 15) {
                memcpy(row + 4 * (k & 1), data + 4 * vertex, 16);
                continue;
            }
            for (unsigned d = 0; row && d < 4; d++) {
                if (lanes >> d & 1) {
                    row[4 * (k & 1) + d] = data[4 * vertex + d];
                }
            }
        }
    }
}

typedef uint32_t quad __attribute__((vector_size(16)));

static quad load_quad(const uint32_t *from) {
    quad v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Attributes 0 to 3 or 4 to 7 of registers Cx, Cy, C0 as two rows of two attributes each, in the order Cx, Cy, 0, C0.
 */
static void write_attributes(const uint32_t *x, const uint32_t *y, const uint32_t *c, uint32_t *const rows[2]) {
    const quad zero = {0};
    const quad cx = load_quad(x);
    const quad cy = load_quad(y);
    const quad c0 = load_quad(c);
    const quad xy[2] = {__builtin_shufflevector(cx, cy, 0, 4, 1, 5), __builtin_shufflevector(cx, cy, 2, 6, 3, 7)};
    const quad zc[2] = {__builtin_shufflevector(zero, c0, 0, 4, 1, 5), __builtin_shufflevector(zero, c0, 2, 6, 3, 7)};
    for (unsigned half = 0; half < 2; half++) {
        const quad even = __builtin_shufflevector(xy[half], zc[half], 0, 1, 4, 5);
        const quad odd = __builtin_shufflevector(xy[half], zc[half], 2, 3, 6, 7);
        if (rows[half]) {
            memcpy(rows[half], &even, sizeof even);
            memcpy(rows[half] + 4, &odd, sizeof odd);
        }
    }
}

/* Groups of three registers Cx, Cy, C0 of eight attributes become four rows. */
static void write_transposed(const struct urb_write *w, uint32_t handle) {
    enum {
        REGISTERS = 3, /* of a group */
        ROWS = 4,
    };
    const uint64_t first = 2u * (uint64_t)handle + w->offset;
    const uint32_t groups = w->data / REGISTERS;
    const bool is_inside = first + (uint64_t)ROWS * groups <= w->gang->urb_rows[w->thread];
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t *const cx = g4_payload(w->gang, w->send, REGISTERS * g + 1, w->thread);
        const uint32_t *const cy = g4_payload(w->gang, w->send, REGISTERS * g + 2, w->thread);
        const uint32_t *const c0 = g4_payload(w->gang, w->send, REGISTERS * g + 3, w->thread);
        for (unsigned j = 0; j < ROWS; j += 2) {
            const uint64_t row = first + (uint64_t)ROWS * g + j;
            uint32_t *const low = is_inside ? w->gang->urb[w->thread][row] : window_row(w, row);
            uint32_t *const high = is_inside ? w->gang->urb[w->thread][row + 1] : window_row(w, row + 1);
            write_attributes(cx + 2 * j, cy + 2 * j, c0 + 2 * j, (uint32_t *const[2]){low, high});
        }
    }
}

/* Checks the use of handles: threads of GS and CLIP may allocate handles and release them unused; a thread that ends
 * must not allocate. */
static bool protocol_kept(const struct g4_gang *gang, const struct g4_urb_message *message, bool eot) {
    const enum g4_unit unit = gang->dispatch->unit;
    const bool owns_handles = unit == G4_UNIT_GS || unit == G4_UNIT_CLIP;
    const bool unused = message->complete && !message->used;
    return !(message->allocate && eot) && (owns_handles || !(message->allocate || unused));
}

static void notify_owner(const struct urb_write *w, const struct g4_urb_message *message, const uint32_t *header) {
    struct g4_gang *const gang = w->gang;
    uint32_t allocated = 0;

    if (gang->owner.urb_event && (message->complete || message->allocate)) {
        allocated = gang->owner.urb_event(gang, w->thread, w->send->descriptor, header);
    }
    /* The response may go to the register that the header was built in, such as R0 of CLIP threads. */
    uint32_t *const response = message->allocate ? g4_response(gang, w->send, 0, w->thread) : NULL;
    if (response) {
        memset(response, 0, 32);
        response[0] = allocated;
    }
}

static void write_rows(const struct urb_write *w, uint32_t swizzle, const uint32_t *header) {
    const uint32_t handle[2] = {g4_urb_write_message_header_urb_return_handle_0(header),
                                g4_urb_write_message_header_urb_return_handle_1(header)};
    switch (swizzle) {
    case G4_URB_SWIZZLE_INTERLEAVED:
        write_interleaved(w, handle);
        break;
    case G4_URB_SWIZZLE_TRANSPOSE:
        write_transposed(w, handle[0]);
        break;
    default:
        write_unswizzled(w, handle[0]);
        break;
    }
}

enum g4_status g4_message_urb(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_urb_message message;

    g4_urb_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    if (message.urb_opcode != G4_URB_OPCODE_URB_WRITE || message.swizzle_control > G4_URB_SWIZZLE_TRANSPOSE) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    const uint32_t mlen = send->mlen ? send->mlen : 1; /* of any length, but with a header */
    if (!g4_message_lengths(eu, gang, send, mlen, message.allocate ? 1 : 0)) {
        return G4_OK;
    }
    if (message.swizzle_control == G4_URB_SWIZZLE_TRANSPOSE && ((mlen - 1) % 3 != 0 || message.offset % 2 != 0)) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_LENGTH);
    }
    if (!protocol_kept(gang, &message, send->eot)) {
        g4_message_report(eu, gang, send, G4_EVENT_URB_PROTOCOL);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            const struct urb_write w = {eu, gang, send, t, message.offset, mlen - 1};
            const uint32_t *const header = g4_payload(gang, send, 0, t);
            write_rows(&w, message.swizzle_control, header);
            notify_owner(&w, &message, header);
        }
    }
    return G4_OK;
}
