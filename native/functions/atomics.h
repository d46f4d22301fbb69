/*
 * Atomic operations on memory, of untyped and typed surfaces (IVB PRM vol. 4 part 1, atomic operations).
 */
#ifndef G4_ATOMICS_H
#define G4_ATOMICS_H

#include "core/memory.h"

enum {
    G4_ATOMIC_FLOAT = 0x100
}; /* with a number of enum gen9_float_atomic_operation */

/* Change the dword at an address, and return its old value; predecrement: the new one.  Threads of other workers may
 * access the dword at the same time. */
uint32_t g4_atomic(struct g4_port *port, g4_address address, uint32_t operation, uint32_t source0, uint32_t source1);
/* As g4_atomic, on a dword at a host address, which is a multiple of four. */
uint32_t g4_atomic_at(uint8_t *place, uint32_t operation, uint32_t source0, uint32_t source1);
/* As g4_atomic, on a qword; operations on integers. */
uint64_t g4_atomic_64(struct g4_port *port, g4_address address, uint32_t operation, uint64_t source0, uint64_t source1);

#endif
