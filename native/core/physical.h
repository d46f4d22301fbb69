/* The host pages that a device owns: a sparse table over 36-bit physical addresses.  Only memory.c talks to it. */
#ifndef G4_PHYSICAL_H
#define G4_PHYSICAL_H
#include "api/status.h"

enum {
    G4_PHYSICAL_BITS = 36,
    G4_PHYSICAL_PAGES = 1 << (G4_PHYSICAL_BITS - 12),
};

struct g4_mem_physical;

struct g4_mem_physical *g4_physical_create(uint32_t max_pages);
void g4_physical_destroy(struct g4_mem_physical *physical);

/* NULL when the page was never made.  Any thread may ask, at any time. */
uint8_t *g4_physical_find(const struct g4_mem_physical *physical, uint32_t page);

/* Makes the page, zeroed, if it is not there; NULL when memory or the limit is used up.  Any thread, any time. */
uint8_t *g4_physical_make(struct g4_mem_physical *physical, uint32_t page);

uint32_t g4_physical_limit(const struct g4_mem_physical *physical);
uint32_t g4_physical_count(const struct g4_mem_physical *physical);

#endif
