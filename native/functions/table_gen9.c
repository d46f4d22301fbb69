/*
 * The shared functions of Gen9 by number.
 */
#include "eu/message.h"
#include "functions/dataport_gen7.h"
#include "functions/table.h"
#include "messages_gen7.h"
#include "sampler/message.h"

#define SFID(NAME) GEN7_SHARED_FUNCTION_GEN6_##NAME /* they have not changed */

g4_message_fn *const g4_message_functions_gen9[G4_FUNCTIONS] = {
    [SFID(NULL)] = g4_message_null,
    [SFID(NULL) + 1] = g4_message_unassigned,
    [SFID(SAMPLER)] = g4_message_sampler_gen7,
    [SFID(MESSAGE_GATEWAY)] = g4_message_gateway_gen7,
    [SFID(SAMPLER_CACHE_DATA_PORT)] = g4_message_sampler_cache_gen7,
    [SFID(RENDER_CACHE_DATA_PORT)] = g4_message_render_cache_gen9,
    [SFID(URB)] = g4_message_urb_gen9,
    [SFID(THREAD_SPAWNER)] = g4_message_spawner_gen7,
    [SFID(VIDEO_MOTION_ESTIMATION)] = g4_message_unassigned,
    [SFID(CONSTANT_CACHE_DATA_PORT)] = g4_message_constant_cache_gen7,
    [SFID(DATA_CACHE_DATA_PORT)] = g4_message_data_cache_gen7,
    [SFID(PIXEL_INTERPOLATOR)] = g4_message_interpolator_gen7,
    [SFID(DATA_CACHE_DATA_PORT_1)] = g4_message_data_cache1_gen9,
    [SFID(CHECK_AND_REFINEMENT)... G4_FUNCTIONS - 1] = g4_message_unassigned,
};
