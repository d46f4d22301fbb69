/*
 * The thread spawner of Ivy Bridge and Haswell, with which media and GPGPU threads end (IVB PRM vol. 4 part 2).
 */
#include "eu/message.h"
#include "functions/table.h"

/* The owner of media threads is notified; other threads only end, which follows from the instruction. */
enum g4_status g4_message_spawner_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    if (!g4_message_lengths(eu, gang, send, 1, 0)) {
        return G4_OK;
    }
    for (int t = 0; gang->owner.spawner_event && t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            gang->owner.spawner_event(gang, t, send, g4_payload(gang, send, 0, t));
        }
    }
    return G4_OK;
}
