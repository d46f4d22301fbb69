/*
 * Facts about the code of a kernel, without running it.
 */
#ifndef G4_API_KERNEL_H
#define G4_API_KERNEL_H

#include "api/memory.h"

enum {
    G4_LIVE_NONE = 0xff /* no decoded instruction starts there */
};

/* The number of registers that may be read again before each instruction of the kernel at an address: live[n] for the
 * one at byte offset 8 * n, for n < slots; else G4_LIVE_NONE.  Registers that are read as scalars, with strides,
 * or as payloads count everywhere.  False: unknown, because channels may continue anywhere or read any register; or
 * no memory. */
bool g4_kernel_live_registers(struct g4_mem *mem, uint32_t gen, g4_address address, uint8_t *live, uint32_t slots);

#endif
