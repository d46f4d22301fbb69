/*
 * The thread spawner's messages, SFID 7: threads end, and ask for others to be started (spec/70 2.12).  Who owns the
 * threads keeps the queues; here is only what a message may be.
 */
#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"

enum g4_status g4_message_spawner(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_thread_spawner_message message;

    g4_thread_spawner_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    if (!g4_message_lengths(eu, gang, send, 1, 0)) {
        return G4_OK;
    }
    /* A thread cannot end by spawning (G45v2 10.8.2.1), and only media threads have a spawner. */
    if ((message.opcode == G4_THREAD_SPAWNER_OPCODE_SPAWN_THREAD && send->eot) || !gang->owner.spawner_event) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            gang->owner.spawner_event(gang, t, send, g4_payload(gang, send, 0, t));
        }
    }
    return G4_OK;
}
