/*
 * Units that are still to come.  Every definition is weak: the unit's own replaces it, and this file goes when none is
 * left.
 */
#include <stdlib.h>
#include <string.h>

#include "ff/wm.h"
#include "report.h"

#define WEAK __attribute__((weak))

static enum g4_status unmodelled(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send) {
    g4_report(eu->log, G4_EVENT_UNMODELLED, g4_gang_address(gang, 0), send->descriptor);
    return G4_OK;
}

#define MESSAGE(name)                                                                                                  \
    WEAK enum g4_status name(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {                     \
        return unmodelled(eu, gang, send);                                                                             \
    }

MESSAGE(g4_message_null)
MESSAGE(g4_message_math)
MESSAGE(g4_message_gateway)
MESSAGE(g4_message_dataport_read)
MESSAGE(g4_message_dataport_write)
MESSAGE(g4_message_urb)
MESSAGE(g4_message_spawner)

/* fixed functions */
