/*
 * The shared functions of Gen9 by number.
 */
#include "eu/message.h"
#include "functions/dataport_gen7.h"
#include "functions/table.h"
#include "sampler/message.h"

static enum g4_status no_function(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    g4_message_report(eu, gang, send, G4_EVENT_BAD_SFID);
    return G4_OK;
}

g4_message_fn *const g4_message_functions_gen9[G4_FUNCTIONS] = {
    [0] = g4_message_null,
    [1] = no_function,
    [2] = g4_message_sampler_gen7,
    [3] = g4_message_gateway_gen7,
    [4] = g4_message_sampler_cache_gen7,
    [5] = g4_message_render_cache_gen9,
    [6] = g4_message_urb_gen9,
    [7] = g4_message_spawner_gen7,
    [8] = no_function,
    [9] = g4_message_constant_cache_gen7,
    [10] = g4_message_data_cache_gen7,
    [11] = g4_message_interpolator_gen7,
    [12] = g4_message_data_cache1_gen9,
    [13 ... G4_FUNCTIONS - 1] = no_function,
};
