/* Host pages by physical page number: two levels of table, pages cut from chunks of 1 MiB.
 *
 * Lookups take no lock.  An allocated page does not move until all are freed.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "core/physical.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/memory.h"

enum {
    LEAF_BITS = 12,
    LEAF_PAGES = 1 << LEAF_BITS,
    LEAVES = G4_PHYSICAL_PAGES / LEAF_PAGES,
    CHUNK_PAGES = 256,
};

struct leaf {
    _Atomic(uint8_t *) pages[LEAF_PAGES];
};

struct chunk {
    struct chunk *next;
    uint8_t *bytes;
};

struct g4_mem_physical {
    _Atomic(struct leaf *) leaves[LEAVES];
    pthread_mutex_t making;
    struct chunk *chunks; /* the newest first; its first `used` pages are allocated */
    uint32_t used;
    uint32_t max_pages;
    atomic_uint count;
};

struct g4_mem_physical *g4_physical_create(uint32_t max_pages) {
    struct g4_mem_physical *const physical = calloc(1, sizeof *physical);
    if (!physical) {
        return NULL;
    }
    if (pthread_mutex_init(&physical->making, NULL) != 0) {
        free(physical);
        return NULL;
    }
    physical->max_pages = max_pages;
    physical->used = CHUNK_PAGES;
    return physical;
}

void g4_physical_destroy(struct g4_mem_physical *physical) {
    if (!physical) {
        return;
    }
    for (struct chunk *chunk = physical->chunks; chunk;) {
        struct chunk *const next = chunk->next;
        munmap(chunk->bytes, (size_t)CHUNK_PAGES * G4_PAGE_SIZE);
        free(chunk);
        chunk = next;
    }
    for (size_t i = 0; i < LEAVES; i++) {
        free(atomic_load_explicit(&physical->leaves[i], memory_order_relaxed));
    }
    pthread_mutex_destroy(&physical->making);
    free(physical);
}

uint8_t *g4_physical_find(const struct g4_mem_physical *physical, uint32_t page) {
    if (page >= G4_PHYSICAL_PAGES) {
        return NULL;
    }
    struct leaf *const leaf = atomic_load_explicit(&physical->leaves[page >> LEAF_BITS], memory_order_acquire);
    return leaf ? atomic_load_explicit(&leaf->pages[page % LEAF_PAGES], memory_order_acquire) : NULL;
}

/* The next page of the newest chunk, or of a new one.  Chunks come from mmap: zeroed, and resident only where used. */
static uint8_t *cut_page(struct g4_mem_physical *physical) {
    if (physical->used == CHUNK_PAGES) {
        struct chunk *const chunk = malloc(sizeof *chunk);
        if (!chunk) {
            return NULL;
        }
        void *const bytes =
            mmap(NULL, (size_t)CHUNK_PAGES * G4_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED) {
            free(chunk);
            return NULL;
        }
        chunk->bytes = bytes;
        chunk->next = physical->chunks;
        physical->chunks = chunk;
        physical->used = 0;
    }
    atomic_fetch_add_explicit(&physical->count, 1, memory_order_relaxed);
    return physical->chunks->bytes + (size_t)physical->used++ * G4_PAGE_SIZE;
}

static uint8_t *make_locked(struct g4_mem_physical *physical, uint32_t page) {
    _Atomic(struct leaf *) *const slot = &physical->leaves[page >> LEAF_BITS];
    struct leaf *leaf = atomic_load_explicit(slot, memory_order_relaxed);
    uint8_t *bytes = leaf ? atomic_load_explicit(&leaf->pages[page % LEAF_PAGES], memory_order_relaxed) : NULL;
    if (bytes || g4_physical_count(physical) >= physical->max_pages) {
        return bytes;
    }
    if (!leaf) {
        leaf = calloc(1, sizeof *leaf);
        if (!leaf) {
            return NULL;
        }
        atomic_store_explicit(slot, leaf, memory_order_release);
    }
    bytes = cut_page(physical);
    atomic_store_explicit(&leaf->pages[page % LEAF_PAGES], bytes, memory_order_release);
    return bytes;
}

uint8_t *g4_physical_make(struct g4_mem_physical *physical, uint32_t page) {
    if (page >= G4_PHYSICAL_PAGES) {
        return NULL;
    }
    pthread_mutex_lock(&physical->making);
    uint8_t *const bytes = make_locked(physical, page);
    pthread_mutex_unlock(&physical->making);
    return bytes;
}

uint32_t g4_physical_list(const struct g4_mem_physical *physical, uint32_t *pages, uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < LEAVES; i++) {
        struct leaf *const leaf = atomic_load_explicit(&physical->leaves[i], memory_order_acquire);
        for (uint32_t at = 0; leaf && at < LEAF_PAGES && count < capacity; at++) {
            if (atomic_load_explicit(&leaf->pages[at], memory_order_acquire)) {
                pages[count++] = i * LEAF_PAGES + at;
            }
        }
    }
    return count;
}

uint32_t g4_physical_count(const struct g4_mem_physical *physical) {
    return atomic_load_explicit(&physical->count, memory_order_relaxed);
}

uint32_t g4_physical_limit(const struct g4_mem_physical *physical) {
    return physical->max_pages;
}
