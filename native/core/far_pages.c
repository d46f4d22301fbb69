/* Far pages (far_pages.h): three levels of table.  Tables stay until all are freed. */
#include "core/far_pages.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/physical.h"

enum {
    LEVEL_BITS = 12,
    LEVEL = 1 << LEVEL_BITS,
};

_Static_assert((int)G4_FAR_LEAF == (int)LEVEL, "a leaf is a table");

struct far_leaf {
    struct g4_page pages[LEVEL];
};

struct far_branch {
    _Atomic(struct far_leaf *) leaves[LEVEL];
};

struct g4_far_pages {
    _Atomic(struct far_branch *) branches[LEVEL];
    struct g4_far_window windows[G4_FAR_WINDOWS];
    pthread_mutex_t making;
};

static uint32_t entry_of(uint64_t page, uint32_t level) {
    return page >> (level * LEVEL_BITS) & (LEVEL - 1);
}

struct g4_far_pages *g4_far_pages_create(void) {
    struct g4_far_pages *const far = calloc(1, sizeof *far);
    if (far && pthread_mutex_init(&far->making, NULL) != 0) {
        free(far);
        return NULL;
    }
    return far;
}

void g4_far_pages_destroy(struct g4_far_pages *far) {
    if (!far) {
        return;
    }
    for (uint32_t b = 0; b < LEVEL; b++) {
        struct far_branch *const branch = atomic_load_explicit(&far->branches[b], memory_order_relaxed);
        for (uint32_t i = 0; branch && i < LEVEL; i++) {
            free(atomic_load_explicit(&branch->leaves[i], memory_order_relaxed));
        }
        free(branch);
    }
    pthread_mutex_destroy(&far->making);
    free(far);
}

const struct g4_far_window *g4_far_pages_windows(const struct g4_far_pages *far) {
    static const struct g4_far_window none[G4_FAR_WINDOWS];
    return far ? far->windows : none;
}

static struct far_branch *branch_of(const struct g4_far_pages *far, uint64_t page) {
    return atomic_load_explicit(&far->branches[entry_of(page, 2)], memory_order_acquire);
}

static struct far_leaf *leaf_of(const struct far_branch *branch, uint64_t page) {
    return branch ? atomic_load_explicit(&branch->leaves[entry_of(page, 1)], memory_order_acquire) : NULL;
}

struct g4_page *g4_far_page_find(const struct g4_far_pages *far, uint64_t page) {
    struct far_leaf *const leaf = leaf_of(branch_of(far, page), page);
    return leaf ? &leaf->pages[entry_of(page, 0)] : NULL;
}

static void *new_table(struct g4_mem_physical *physical, size_t bytes) {
    return g4_physical_charge(physical, bytes) ? calloc(1, bytes) : NULL;
}

/* Gives a new leaf its window, if the window is free. */
static void claim_window(struct g4_far_pages *far, struct far_leaf *leaf, uint64_t number) {
    struct g4_far_window *const window = &far->windows[number % G4_FAR_WINDOWS];
    if (atomic_load_explicit(&window->number, memory_order_relaxed) == 0) {
        atomic_store_explicit(&window->pages, leaf->pages, memory_order_relaxed);
        atomic_store_explicit(&window->number, number, memory_order_release);
    }
}

static struct far_leaf *make_leaf(struct g4_far_pages *far, struct g4_mem_physical *physical, uint64_t page) {
    struct far_branch *branch = branch_of(far, page);
    if (!branch && (branch = new_table(physical, sizeof *branch))) {
        atomic_store_explicit(&far->branches[entry_of(page, 2)], branch, memory_order_release);
    }
    struct far_leaf *leaf = leaf_of(branch, page);
    if (branch && !leaf && (leaf = new_table(physical, sizeof *leaf))) {
        atomic_store_explicit(&branch->leaves[entry_of(page, 1)], leaf, memory_order_release);
        claim_window(far, leaf, page / G4_FAR_LEAF);
    }
    return leaf;
}

struct g4_page *g4_far_page_make(struct g4_far_pages *far, struct g4_mem_physical *physical, uint64_t page) {
    struct g4_page *const found = g4_far_page_find(far, page);
    if (found) {
        return found;
    }
    pthread_mutex_lock(&far->making);
    struct far_leaf *const leaf = make_leaf(far, physical, page);
    pthread_mutex_unlock(&far->making);
    return leaf ? &leaf->pages[entry_of(page, 0)] : NULL;
}

uint64_t g4_far_page_next(const struct g4_far_pages *far, uint64_t page, uint64_t end) {
    while (page < end) {
        const struct far_branch *const branch = branch_of(far, page);
        if (leaf_of(branch, page)) {
            return page;
        }
        const uint64_t skipped = branch ? LEVEL : (uint64_t)LEVEL * LEVEL;
        page = (page & ~(skipped - 1)) + skipped;
    }
    return end;
}
