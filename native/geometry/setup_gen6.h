/*
 * Strips and Fans from Gen6 on.
 */
#ifndef G4_SETUP_GEN6_H
#define G4_SETUP_GEN6_H

#include "geometry/assemble.h"

g4_setup_fn g4_setup_run_gen6;

#endif
