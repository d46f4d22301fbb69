/* Memory of the program in GEM objects (USERPTR).
 *
 * A kernel pins the pages where they are.  Here, the server must see them.  A memfd of the program is shared with the
 * server as it is, sealed against shrinking.  The contents of private memory move to a memfd, which is mapped in their
 * place; when the last object is gone, the memory becomes private again.
 */
#ifndef SHIM_USER_PAGES_H
#define SHIM_USER_PAGES_H
#include <stdint.h>

#include "shim/device/memfd.h"

struct user_pages;

/* The pages of a range of whole pages, with a reference, and its offset in their memfd; objects of the same range, or
 * of a part of one, share pages.  0, ENOMEM, or EFAULT: a part of the range is not mapped, or not writable; it is
 * shared, but not by one memfd that the program has open and that may be sealed; or it holds the stack of this call. */
int user_pages_get(uint64_t address, uint64_t size, struct user_pages **pages, uint64_t *offset);
void user_pages_put(struct user_pages *pages);
struct memfd *user_pages_memfd(const struct user_pages *pages);

#endif
