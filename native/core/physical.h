/* The host pages that a device owns: a sparse table over 48-bit physical addresses.  Used by memory.c, far_pages.c and
 * memory_image.c only. */
#ifndef G4_PHYSICAL_H
#define G4_PHYSICAL_H
#include <stddef.h>

#include "api/status.h"

enum {
    G4_PHYSICAL_BITS = 48,
};

struct g4_mem_physical;

/* Whether new memories have a page that cannot be accessed after each of their pages: in the fuzzer's build only. */
extern bool g4_physical_guards;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define G4_PHYSICAL_GUARDS g4_physical_guards
#else
#define G4_PHYSICAL_GUARDS false
#endif

struct g4_mem_physical *g4_physical_create(uint32_t max_pages);
void g4_physical_destroy(struct g4_mem_physical *physical);

/* NULL if the page is not allocated.  Thread safe. */
uint8_t *g4_physical_find(const struct g4_mem_physical *physical, uint64_t page);

/* The page, allocated and zeroed if necessary; NULL if memory or the limit is exhausted.  Thread safe. */
uint8_t *g4_physical_make(struct g4_mem_physical *physical, uint64_t page);

/* Counts memory for tables towards the limit; false if that is exhausted.  Thread safe. */
bool g4_physical_charge(struct g4_mem_physical *physical, size_t bytes);

/* The numbers of the allocated pages, in order, at most `capacity`.  Returns how many. */
uint32_t g4_physical_list(const struct g4_mem_physical *physical, uint64_t *pages, uint32_t capacity);

uint32_t g4_physical_limit(const struct g4_mem_physical *physical);
uint32_t g4_physical_count(const struct g4_mem_physical *physical);
/* The pages up to the limit, of which tables take some. */
uint32_t g4_physical_left(const struct g4_mem_physical *physical);

#endif
