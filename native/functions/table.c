#include "functions/table.h"

#include "eu/message.h"
#include "sampler/message.h"

static enum g4_status no_function(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    g4_message_report(eu, gang, send, G4_EVENT_BAD_SFID);
    return G4_OK;
}

g4_message_fn *const g4_message_functions[G4_FUNCTIONS] = {
    [0] = g4_message_null,    [1] = g4_message_math,          [2] = g4_message_sampler,
    [3] = g4_message_gateway, [4] = g4_message_dataport_read, [5] = g4_message_dataport_write,
    [6] = g4_message_urb,     [7] = g4_message_spawner,       [8 ... G4_FUNCTIONS - 1] = no_function,
};
