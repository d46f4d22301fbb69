#include "shim/submit/notes.h"

static notes_source *take;

void notes_set_source(notes_source *source) {
    take = source;
}

bool notes_send(struct connection *connection) {
    static _Alignas(8) uint8_t packet[G4_LIVE_MAX_PACKET];
    struct g4_live_gl *const head = (struct g4_live_gl *)packet;
    for (size_t size = 1; take && size;) {
        size = take(packet + sizeof *head, sizeof packet - sizeof *head);
        *head = (struct g4_live_gl){.header = {.type = G4_LIVE_GL}, .count = (uint32_t)size};
        if (size && !connection_send(connection, packet, sizeof *head + size, -1)) {
            return false;
        }
    }
    return true;
}
