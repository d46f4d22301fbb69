/* Files of memory: the arena, where most buffers live, and files of single buffers that are shared (spec/80 3.7). */
#ifndef SHIM_STORE_H
#define SHIM_STORE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/ranges.h"

struct memfd {
    struct memfd *next;
    unsigned refs;
    int fd;
    bool shared_out; /* inherited from the parent process, or one buffer's own: nothing is allocated or freed here */
    uint64_t size;
    uint64_t open; /* so much from the start is accessible */
    uint8_t *map;  /* all of it */
    dev_t device;
    uint64_t inode;
    struct ranges free;
};

/* The arena of this process; made when it is first asked for.  NULL: no memory. */
struct memfd *memfd_arena(void);
/* The same for what only the program sees: the linear views of tiled buffers. */
struct memfd *memfd_views(void);
/* A file of `size` bytes of its own. */
struct memfd *memfd_new(uint64_t size);
/* The store behind a descriptor of somebody else, which is duplicated; one that is known is given again. */
struct memfd *memfd_of_descriptor(int fd, uint64_t size);
/* As above, but NULL when it is not known. */
struct memfd *memfd_find(int fd);

struct memfd *memfd_get(struct memfd *memfd);
void memfd_put(struct memfd *memfd);

/* Whole pages, zeroed; RANGES_NONE when full. */
uint64_t memfd_alloc(struct memfd *memfd, uint64_t size);
void memfd_free(struct memfd *memfd, uint64_t offset, uint64_t size);

/* In the child: what exists belongs to the parent, too. */
void memfd_after_fork(void);

#endif
