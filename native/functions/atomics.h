/*
 * Atomic operations on memory, of untyped and typed surfaces (IVB PRM vol. 4 part 1, atomic operations).
 */
#ifndef G4_ATOMICS_H
#define G4_ATOMICS_H

#include "core/memory.h"

/* Change the dword at an address, and return its old value; predecrement: the new one.  Threads of other workers may
 * access the dword at the same time. */
uint32_t g4_atomic(struct g4_port *port, g4_address address, uint32_t operation, uint32_t source0, uint32_t source1);
/* The same for a dword at a host address, which is a multiple of four. */
uint32_t g4_atomic_at(uint8_t *place, uint32_t operation, uint32_t source0, uint32_t source1);

#endif
