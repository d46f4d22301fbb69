/*
 * The message gateway of Gen7, SFID 3: the barrier of a group of threads, and the messages of media threads to each
 * other (IVB PRM vol. 4 part 2, "Message Gateway"; docs/decisions.md 121).
 */
#include "core/report.h"
#include "functions/gateway.h"
#include "functions/table.h"
#include "messages_gen7.h"

static void load_open(uint32_t gen, const uint32_t *payload, struct g4_gateway_open *open) {
    struct gen7_gateway_open_payload in;

    gen7_gateway_open_payload_unpack(payload, gen, &in);
    *open = (struct g4_gateway_open){.key = in.key, .register_base = in.register_base, .size = in.gateway_size};
}

static void load_forward(uint32_t gen, const uint32_t *payload, struct g4_gateway_forward *message) {
    struct gen7_gateway_forward_payload in;

    gen7_gateway_forward_payload_unpack(payload, gen, &in);
    *message = (struct g4_gateway_forward){
        .euid = in.euid, .tid = in.tid, .key = in.key, .offset = in.offset, .length = in.length};
}

static enum g4_status barrier(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
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

enum g4_status g4_message_gateway_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    static const struct g4_gateway_loader loader = {load_open, load_forward};
    struct gen7_gateway_message message;

    gen7_gateway_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    struct g4_gateway_request request = {.notify = message.notify & 1, .acknowledge = message.acknowledge};
    switch (message.gateway_function) {
    case GEN7_GATEWAY_FUNCTION_GEN6_BARRIER_MSG:
        if (gang->owner.barrier) {
            return barrier(eu, gang, send);
        }
        request.kind = G4_GATEWAY_UNKNOWN;
        break;
    case GEN7_GATEWAY_FUNCTION_GEN6_OPEN_GATEWAY:
        request.kind = G4_GATEWAY_OPEN;
        break;
    case GEN7_GATEWAY_FUNCTION_GEN6_CLOSE_GATEWAY:
        request.kind = G4_GATEWAY_CLOSE;
        break;
    case GEN7_GATEWAY_FUNCTION_GEN6_FORWARD_MSG:
        request.kind = G4_GATEWAY_FORWARD;
        break;
    case GEN7_GATEWAY_FUNCTION_GEN6_GET_TIMESTAMP:
        request.kind = G4_GATEWAY_TIME_STAMP;
        break;
    default: /* the payloads of others are not public */
        request.kind = G4_GATEWAY_UNKNOWN;
        break;
    }
    if (request.kind == G4_GATEWAY_UNKNOWN || !gang->owner.find_thread) { /* only media threads have such messages */
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    return g4_gateway_serve(eu, gang, send, &request, &loader);
}
