/*
 * The shared functions by number, and those that need only a few lines.
 */
#include "functions/table.h"
#include "hw_messages.h"

#include "eu/message.h"
#include "sampler/message.h"

/* The null function takes any message and drops it: threads end with it. */
enum g4_status g4_message_null(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    (void)eu;
    (void)gang;
    (void)send;
    return G4_OK;
}

/* The thread spawner ends threads and starts others (G45 PRM vol. 2, 10.8).  The owner of the gang keeps the queues;
 * here the message is only checked. */
static enum g4_status spawner(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_thread_spawner_message message;

    g4_thread_spawner_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    if (!g4_message_lengths(eu, gang, send, 1, 0)) {
        return G4_OK;
    }
    /* A thread cannot end by spawning (G45 PRM vol. 2, 10.8.2.1), and only media threads have a spawner. */
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

enum g4_status g4_message_unassigned(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    g4_message_report(eu, gang, send, G4_EVENT_BAD_SFID);
    return G4_OK;
}

g4_message_fn *const g4_message_functions[G4_FUNCTIONS] = {
    [G4_SHARED_FUNCTION_NULL] = g4_message_null,
    [G4_SHARED_FUNCTION_EXTENDED_MATH] = g4_message_math,
    [G4_SHARED_FUNCTION_SAMPLER] = g4_message_sampler,
    [G4_SHARED_FUNCTION_MESSAGE_GATEWAY] = g4_message_gateway,
    [G4_SHARED_FUNCTION_DATA_PORT_READ] = g4_message_dataport_read,
    [G4_SHARED_FUNCTION_DATA_PORT_WRITE] = g4_message_dataport_write,
    [G4_SHARED_FUNCTION_URB] = g4_message_urb,
    [G4_SHARED_FUNCTION_THREAD_SPAWNER] = spawner,
    [G4_SHARED_FUNCTION_THREAD_SPAWNER + 1 ... G4_FUNCTIONS - 1] = g4_message_unassigned,
};

const uint32_t g4_scratch_functions_gen4 =
    1u << G4_SHARED_FUNCTION_DATA_PORT_READ | 1u << G4_SHARED_FUNCTION_DATA_PORT_WRITE;
