#include "eu/message.h"

#include "core/report.h"
#include "hw_messages.h"

enum {
    RECORD_UNITS = 16, /* that the fields of an error record can tell apart */
    RECORD_THREADS = 8
};

enum {
    NO_CAUSE = 15
};

/* The bit of an event in the error code of the unit (965 PRM vol. 4, 3.3.11, 3.4.2, 3.4.6 and 3.4.7). */
static uint32_t cause_of(uint32_t function, enum g4_event event) {
    static const uint8_t data_port[G4_EVENTS] = {
        [G4_EVENT_BAD_RESPONSE] = 13, [G4_EVENT_BAD_FORMAT] = 12, [G4_EVENT_BAD_LENGTH] = 8,
        [G4_EVENT_BAD_MESSAGE] = 6,   [G4_EVENT_BAD_SURFACE] = 5, [G4_EVENT_EOT_WRONG_UNIT] = 1,
    };
    switch (function) {
    case G4_SHARED_FUNCTION_EXTENDED_MATH:
        return event == G4_EVENT_BAD_MESSAGE ? 1 : event == G4_EVENT_EOT_WRONG_UNIT ? 2 : 0;
    case G4_SHARED_FUNCTION_SAMPLER:
        return event == G4_EVENT_EOT_WRONG_UNIT ? 2 : event == G4_EVENT_BAD_MESSAGE ? 1 : 0;
    case G4_SHARED_FUNCTION_DATA_PORT_READ:
    case G4_SHARED_FUNCTION_DATA_PORT_WRITE:
        return data_port[event];
    case G4_SHARED_FUNCTION_URB:
        return event == G4_EVENT_BAD_SFID ? 4 : 0;
    case G4_SHARED_FUNCTION_THREAD_SPAWNER:
        return event == G4_EVENT_BAD_LENGTH ? 1 : 0;
    default:
        return NO_CAUSE;
    }
}

void g4_message_error(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int t,
                      enum g4_event event, uint32_t value) {
    const g4_address address = g4_gang_address(gang, t);
    /* the URB decodes undefined functions (965 PRM vol. 4, 3.7.1.1) */
    const uint32_t function = event == G4_EVENT_BAD_SFID ? (uint32_t)G4_SHARED_FUNCTION_URB : send->sfid;
    const uint32_t *const header = g4_payload(gang, send, 0, t);
    const bool placed =
        gang->dispatch->unit == G4_UNIT_TS || eu->hooks; /* the position is meaningless for other units */
    const struct g4_error_record record = {
        .unit = gang->dispatch->unit,
        .euid = placed ? g4_thread_state_euid(&gang->sr0[t]) % RECORD_UNITS : 0,
        .tid = placed ? g4_thread_state_tid(&gang->sr0[t]) % RECORD_THREADS : 0,
        .descriptor = send->descriptor,
        .header = {header[6], header[7]},
        .cause = cause_of(function, event),
        .address = address,
    };
    g4_report(eu->log, event, address, value);
    if (g4_report_is_bad_message(event)) {
        g4_report_error(eu->log, function, &record);
    }
}

void g4_message_report(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, enum g4_event event) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            g4_message_error(eu, gang, send, t, event, send->descriptor);
        }
    }
}

bool g4_message_lengths(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, unsigned mlen,
                        unsigned rlen) {
    if (send->mlen != mlen) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_LENGTH);
    }
    if (send->rlen != rlen) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_RESPONSE);
    }
    return send->mlen >= mlen;
}
