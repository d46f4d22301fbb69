/* Memory shared with the server: the arena, which holds most buffers, and a memfd of its own for each shared buffer. */
#ifndef SHIM_MEMFD_H
#define SHIM_MEMFD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/ranges.h"

struct memfd {
    struct memfd *next;
    unsigned refs;
    int fd;
    bool shared_out; /* inherited from the parent process, or one buffer's own: memfd_alloc() and memfd_free() do not
                        apply */
    uint64_t size;
    uint64_t open; /* bytes from the start that are accessible */
    uint8_t *map;  /* the whole file */
    dev_t device;
    uint64_t inode;
    struct ranges free;
};

/* The arena of this process, created by the first call.  NULL: no memory. */
struct memfd *memfd_arena(void);
/* The memfd for CPU views (cpu_view.h), created by the first call.  NULL: no memory. */
struct memfd *memfd_views(void);
/* A new memfd of `size` bytes; NULL with errno. */
struct memfd *memfd_new(uint64_t size);
/* The size of the shared buffer of this or another process behind a descriptor; 0 if it is none. */
uint64_t memfd_buffer_size(int fd);
/* The memfd behind a descriptor, with a reference.  A known one is found again; a new one must be sealed against
 * shrinking, and the descriptor is duplicated. */
struct memfd *memfd_of_descriptor(int fd, uint64_t size);
/* The known memfd behind a descriptor, without a reference, or NULL. */
struct memfd *memfd_find(int fd);

struct memfd *memfd_get(struct memfd *memfd);
void memfd_put(struct memfd *memfd);

/* Allocate zeroed pages; their offset, or RANGES_NONE when the memfd is full. */
uint64_t memfd_alloc(struct memfd *memfd, uint64_t size);
/* The pages may be kept for a later allocation. */
void memfd_free(struct memfd *memfd, uint64_t offset, uint64_t size);
/* Free all pages that are kept. */
void memfd_release_kept(void);

/* In the child of a fork: all memfds are shared with the parent now. */
void memfd_after_fork(void);

#endif
