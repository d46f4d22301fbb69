#include "message.h"

#include "../report.h"

void g4_message_report(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, enum g4_event event) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            g4_report(eu->log, event, g4_gang_address(gang, t), send->descriptor);
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
