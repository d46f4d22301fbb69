/*
 * The shared functions by number (SFID), as struct g4_eu takes them.
 */
#ifndef G4_FUNCTIONS_TABLE_H
#define G4_FUNCTIONS_TABLE_H

#include "eu/gang.h"

g4_message_fn g4_message_null, g4_message_math, g4_message_gateway, g4_message_dataport_read, g4_message_dataport_write,
    g4_message_urb;
g4_message_fn g4_message_urb_gen7, g4_message_gateway_gen7, g4_message_spawner_gen7, g4_message_interpolator_gen7;
g4_message_fn g4_message_urb_gen9;

g4_message_fn g4_message_unassigned; /* of numbers without a function: reports an event */

extern g4_message_fn *const g4_message_functions[G4_FUNCTIONS];
extern g4_message_fn *const g4_message_functions_gen7[G4_FUNCTIONS], *const g4_message_functions_gen75[G4_FUNCTIONS];
extern g4_message_fn *const g4_message_functions_gen9[G4_FUNCTIONS];

/* Those through which threads reach scratch space, as bits by number. */
extern const uint32_t g4_scratch_functions_gen4, g4_scratch_functions_gen7, g4_scratch_functions_gen75;

#endif
