/* Memory before it is needed. */
#define _DEFAULT_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "api/live.h"
#include "core/memory.h"

enum {
    BLOCK = 64 << 10, /* of memory for the heap: small enough to be taken from it, not from the system */
    MOST_BLOCKS = 64,
    /* The limits that glibc approaches by itself as large blocks are freed, unless one of them is set. */
    LARGEST_IN_HEAP = 32 << 20, /* what is larger has a mapping of its own */
    MOST_KEPT = 64 << 20,       /* free memory at the end of the heap, before a part goes back to the system */
};

/* From Linux 5.14 on; without it, each page faults when it is used. */
#ifdef MADV_POPULATE_WRITE
enum {
    TO_WRITE = MADV_POPULATE_WRITE,
    TO_READ = MADV_POPULATE_READ
};

static void populate(const char *start, size_t size, int how) {
    const size_t before = -(uintptr_t)start & G4_PAGE_OFFSET;
    if (before < size) {
        (void)madvise((void *)(start + before), (size - before) & ~(size_t)G4_PAGE_OFFSET, how);
    }
}
#else
enum {
    TO_WRITE,
    TO_READ
};

static void populate(const char *start, size_t size, int how) {
    (void)start;
    (void)size;
    (void)how;
}
#endif

void g4_provide(void *start, size_t size) {
    populate(start, size, TO_WRITE);
}

void g4_code_provide(void) {
    /* The linker defines both in each library: its first byte, and the end of its code. */
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char etext[] __attribute__((visibility("hidden")));
    populate(__ehdr_start, (size_t)(etext - __ehdr_start), TO_READ);
}

void g4_heap_keep(void) {
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
    (void)mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP);
#endif
}

void g4_heap_provide(size_t bytes) {
    void *block[MOST_BLOCKS];
    const size_t wanted = bytes / BLOCK < MOST_BLOCKS ? bytes / BLOCK : MOST_BLOCKS;
    size_t count = 0;
    while (count < wanted && (block[count] = malloc(BLOCK))) {
        g4_provide(block[count++], BLOCK);
    }
    while (count) {
        free(block[--count]);
    }
}
