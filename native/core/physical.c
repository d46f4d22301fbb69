/* Host pages by physical page number: three levels of table, pages cut from chunks.
 *
 * Lookups take no lock.  An allocated page does not move until all are freed.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "core/physical.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/memory.h"

enum {
    LEVEL_BITS = 12,
    LEVEL = 1 << LEVEL_BITS, /* entries of a table */
    /* A texture in one piece of host memory is looked up without finding the page of each texel; drivers write its
     * pages one after the other, so chunks are larger than most textures.  Only pages that are used take memory. */
    CHUNK_PAGES = 1 << 14,
    SMALL_CHUNK_PAGES = 1 << 8, /* if the address space of the process is limited */
};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
bool g4_physical_guards;
#endif

_Static_assert(G4_PHYSICAL_BITS == 12 + 3 * LEVEL_BITS, "three levels");

struct leaf {
    _Atomic(uint8_t *) pages[LEVEL];
};

struct branch {
    _Atomic(struct leaf *) leaves[LEVEL];
};

struct chunk {
    struct chunk *next;
    uint8_t *bytes;
    uint32_t pages;
};

struct g4_mem_physical {
    _Atomic(struct branch *) branches[LEVEL];
    pthread_mutex_t making;
    struct chunk *chunks; /* the newest first; its first pages are allocated */
    uint32_t left;        /* pages of the newest chunk */
    uint32_t max_pages;
    bool guards; /* see g4_physical_guards */
    atomic_uint count;
    atomic_size_t charged; /* bytes */
};

/* From one page of a chunk to the next. */
static size_t page_distance(const struct g4_mem_physical *physical) {
    return physical->guards ? 2 * G4_PAGE_SIZE : G4_PAGE_SIZE;
}

static uint32_t entry_of(uint64_t page, uint32_t level) {
    return page >> (level * LEVEL_BITS) & (LEVEL - 1);
}

static bool exists(uint64_t page) {
    return page >> (3 * LEVEL_BITS) == 0;
}

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
    physical->guards = G4_PHYSICAL_GUARDS;
    return physical;
}

void g4_physical_destroy(struct g4_mem_physical *physical) {
    if (!physical) {
        return;
    }
    for (struct chunk *chunk = physical->chunks; chunk;) {
        struct chunk *const next = chunk->next;
        munmap(chunk->bytes, chunk->pages * page_distance(physical));
        free(chunk);
        chunk = next;
    }
    for (uint32_t b = 0; b < LEVEL; b++) {
        struct branch *const branch = atomic_load_explicit(&physical->branches[b], memory_order_relaxed);
        for (uint32_t i = 0; branch && i < LEVEL; i++) {
            free(atomic_load_explicit(&branch->leaves[i], memory_order_relaxed));
        }
        free(branch);
    }
    pthread_mutex_destroy(&physical->making);
    free(physical);
}

uint8_t *g4_physical_find(const struct g4_mem_physical *physical, uint64_t page) {
    if (!exists(page)) {
        return NULL;
    }
    const struct branch *const branch =
        atomic_load_explicit(&physical->branches[entry_of(page, 2)], memory_order_acquire);
    const struct leaf *const leaf =
        branch ? atomic_load_explicit(&branch->leaves[entry_of(page, 1)], memory_order_acquire) : NULL;
    return leaf ? atomic_load_explicit(&leaf->pages[entry_of(page, 0)], memory_order_acquire) : NULL;
}

bool g4_physical_charge(struct g4_mem_physical *physical, size_t bytes) {
    const size_t limit = (size_t)physical->max_pages * G4_PAGE_SIZE;
    const size_t pages = (size_t)g4_physical_count(physical) * G4_PAGE_SIZE;
    if (atomic_fetch_add_explicit(&physical->charged, bytes, memory_order_relaxed) + bytes + pages <= limit) {
        return true;
    }
    atomic_fetch_sub_explicit(&physical->charged, bytes, memory_order_relaxed);
    return false;
}

/* Chunks come from mmap: zeroed, and resident only where used.  Pages are cut one after the other, so large pages of
 * the host, which it provides faster than small ones, are soon used as a whole. */
static bool map_chunk(struct chunk *chunk, uint32_t pages, size_t distance) {
    void *const bytes =
        mmap(NULL, pages * distance, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *chunk = (struct chunk){.bytes = bytes, .pages = pages};
    if (bytes == MAP_FAILED) {
        return false;
    }
    (void)madvise(bytes, pages * distance, MADV_HUGEPAGE);
    return true;
}

/* The next page of the newest chunk, or of a new one. */
static uint8_t *cut_page(struct g4_mem_physical *physical) {
    const size_t distance = page_distance(physical);
    if (physical->left == 0) {
        struct chunk *const chunk = malloc(sizeof *chunk);
        if (!chunk || (!map_chunk(chunk, CHUNK_PAGES, distance) && !map_chunk(chunk, SMALL_CHUNK_PAGES, distance))) {
            free(chunk);
            return NULL;
        }
        chunk->next = physical->chunks;
        physical->chunks = chunk;
        physical->left = chunk->pages;
    }
    const struct chunk *const newest = physical->chunks;
    uint8_t *const page = newest->bytes + (newest->pages - physical->left) * distance;
    if (physical->guards && mprotect(page + G4_PAGE_SIZE, G4_PAGE_SIZE, PROT_NONE) != 0) {
        return NULL;
    }
    physical->left--;
    atomic_fetch_add_explicit(&physical->count, 1, memory_order_relaxed);
    return page;
}

/* A zeroed table.  Those of the first 36 bits are so few that they do not count towards the limit. */
static void *new_table(struct g4_mem_physical *physical, uint64_t page, size_t bytes) {
    return entry_of(page, 2) == 0 || g4_physical_charge(physical, bytes) ? calloc(1, bytes) : NULL;
}

static struct branch *make_branch(struct g4_mem_physical *physical, uint64_t page) {
    _Atomic(struct branch *) *const slot = &physical->branches[entry_of(page, 2)];
    struct branch *branch = atomic_load_explicit(slot, memory_order_relaxed);
    if (!branch && (branch = new_table(physical, page, sizeof *branch))) {
        atomic_store_explicit(slot, branch, memory_order_release);
    }
    return branch;
}

static struct leaf *make_leaf(struct g4_mem_physical *physical, uint64_t page) {
    struct branch *const branch = make_branch(physical, page);
    if (!branch) {
        return NULL;
    }
    _Atomic(struct leaf *) *const slot = &branch->leaves[entry_of(page, 1)];
    struct leaf *leaf = atomic_load_explicit(slot, memory_order_relaxed);
    if (!leaf && (leaf = new_table(physical, page, sizeof *leaf))) {
        atomic_store_explicit(slot, leaf, memory_order_release);
    }
    return leaf;
}

static uint8_t *make_locked(struct g4_mem_physical *physical, uint64_t page) {
    uint8_t *bytes = g4_physical_find(physical, page);
    if (bytes || g4_physical_left(physical) == 0) {
        return bytes;
    }
    struct leaf *const leaf = make_leaf(physical, page);
    bytes = leaf ? cut_page(physical) : NULL;
    if (bytes) {
        atomic_store_explicit(&leaf->pages[entry_of(page, 0)], bytes, memory_order_release);
    }
    return bytes;
}

uint8_t *g4_physical_make(struct g4_mem_physical *physical, uint64_t page) {
    if (!exists(page)) {
        return NULL;
    }
    pthread_mutex_lock(&physical->making);
    uint8_t *const bytes = make_locked(physical, page);
    pthread_mutex_unlock(&physical->making);
    return bytes;
}

uint32_t g4_physical_list(const struct g4_mem_physical *physical, uint64_t *pages, uint32_t capacity) {
    const uint32_t owned = g4_physical_count(physical);
    const uint32_t most = owned < capacity ? owned : capacity;
    uint32_t count = 0;
    for (uint64_t b = 0; b < LEVEL && count < most; b++) {
        const struct branch *const branch = atomic_load_explicit(&physical->branches[b], memory_order_acquire);
        for (uint64_t i = 0; branch && i < LEVEL && count < most; i++) {
            const struct leaf *const leaf = atomic_load_explicit(&branch->leaves[i], memory_order_acquire);
            for (uint64_t at = 0; leaf && at < LEVEL && count < most; at++) {
                if (atomic_load_explicit(&leaf->pages[at], memory_order_acquire)) {
                    pages[count++] = (b << LEVEL_BITS | i) << LEVEL_BITS | at;
                }
            }
        }
    }
    return count;
}

uint32_t g4_physical_count(const struct g4_mem_physical *physical) {
    return atomic_load_explicit(&physical->count, memory_order_relaxed);
}

uint32_t g4_physical_left(const struct g4_mem_physical *physical) {
    const size_t charged = atomic_load_explicit(&physical->charged, memory_order_relaxed);
    const size_t used = g4_physical_count(physical) + charged / G4_PAGE_SIZE;
    return used < physical->max_pages ? physical->max_pages - (uint32_t)used : 0;
}

uint32_t g4_physical_limit(const struct g4_mem_physical *physical) {
    return physical->max_pages;
}
