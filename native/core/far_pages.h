/* The table entries of far pages: a sparse tree over the addresses from 4 GiB to 2^48.  Used by memory.c,
 * memory_image.c and live_memory.c only. */
#ifndef G4_FAR_PAGES_H
#define G4_FAR_PAGES_H
#include "core/memory.h"

struct g4_mem_physical;

struct g4_far_pages *g4_far_pages_create(void);
void g4_far_pages_destroy(struct g4_far_pages *far);
/* Returns an array of G4_FAR_WINDOWS, valid as long as the pages.  NULL has no far pages. */
const struct g4_far_window *g4_far_pages_windows(const struct g4_far_pages *far);

/* The entry of a page; NULL: it has none yet.  Thread safe. */
struct g4_page *g4_far_page_find(const struct g4_far_pages *far, uint64_t page);
/* The entry of a page, created if necessary and counted by `physical`; NULL if memory or the limit is exhausted.
 * Thread safe. */
struct g4_page *g4_far_page_make(struct g4_far_pages *far, struct g4_mem_physical *physical, uint64_t page);
/* The first page from `page` on that may have an entry; `end` if none below that has. */
uint64_t g4_far_page_next(const struct g4_far_pages *far, uint64_t page, uint64_t end);

#endif
