/* The host pages that a device owns: a sparse table over 36-bit physical addresses.  Used by memory.c and
 * memory_image.c only. */
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

/* NULL if the page is not allocated.  Thread safe. */
uint8_t *g4_physical_find(const struct g4_mem_physical *physical, uint32_t page);

/* The page, allocated and zeroed if necessary; NULL if memory or the limit is exhausted.  Thread safe. */
uint8_t *g4_physical_make(struct g4_mem_physical *physical, uint32_t page);

/* The numbers of the allocated pages, in order, at most `capacity`.  Returns how many. */
uint32_t g4_physical_list(const struct g4_mem_physical *physical, uint32_t *pages, uint32_t capacity);

uint32_t g4_physical_limit(const struct g4_mem_physical *physical);
uint32_t g4_physical_count(const struct g4_mem_physical *physical);

#endif
