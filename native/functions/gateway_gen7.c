/*
 * The message gateway of Gen7, SFID 3: the barrier of a group of threads (IVB PRM vol. 4 part 2, "Message Gateway").
 * The other messages are of media kernels, and not in the public manuals.
 */
#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"
#include "messages_gen7.h"

enum g4_status g4_message_gateway_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct gen7_gateway_message message;

    gen7_gateway_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    if (message.gateway_function != GEN7_GATEWAY_FUNCTION_GEN6_BARRIER_MSG || !gang->owner.barrier) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    if (!g4_message_lengths(eu, gang, send, 1, 0)) {
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if ((send->threads >> t & 1) && !gang->owner.barrier(gang, t, g4_payload(gang, send, 0, t))) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_MESSAGE, send->descriptor);
        }
    }
    return G4_OK;
}
