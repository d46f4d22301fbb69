/* The contents of memory as a whole, for checkpoints: physical pages, the page table, and pages that were missed. */
#include "api/checkpoint.h"
#include "core/far_pages.h"
#include "core/physical.h"

enum {
    MISSED = G4_PAGE_MISSED_READ | G4_PAGE_MISSED_WRITE
};

uint32_t g4_mem_list_pages(const struct g4_mem *mem, uint64_t *pages, uint32_t capacity) {
    return g4_physical_list(mem->physical, pages, capacity);
}

void g4_mem_copy_pages(const struct g4_mem *mem, const uint64_t *pages, uint32_t count, uint8_t *bytes) {
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *const host = g4_physical_find(mem->physical, pages[i]);
        memcpy(bytes + (size_t)i * G4_PAGE_SIZE, host ? host : g4_zero_page, G4_PAGE_SIZE);
    }
}

enum g4_status g4_mem_write_pages(struct g4_mem *mem, const uint64_t *pages, uint32_t count,
                                  const uint8_t *const *bytes) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t physical = pages[i] << G4_PAGE_SHIFT;
        const enum g4_status status = g4_mem_write_physical(mem, physical, bytes[i], G4_PAGE_SIZE);
        if (status != G4_OK) {
            return status;
        }
    }
    return G4_OK;
}

const uint32_t *g4_mem_gtt(const struct g4_mem *mem) {
    return mem->gtt;
}

uint32_t g4_mem_list_missed(const struct g4_mem *mem, uint64_t *pages, uint8_t *flags, uint32_t capacity) {
    const uint64_t end = (mem->address_mask >> G4_PAGE_SHIFT) + 1;
    uint32_t count = 0;

    for (uint64_t page = 0; page < end; page++) {
        if (page >= G4_NEAR_PAGES && (page = g4_far_page_next(mem->far, page, end)) == end) {
            break;
        }
        const struct g4_page *const entry = g4_mem_page(mem, page << G4_PAGE_SHIFT);
        const unsigned missed = atomic_load_explicit(&entry->flags, memory_order_relaxed) & MISSED;
        if (missed) {
            if (count < capacity) {
                pages[count] = page;
                flags[count] = (uint8_t)missed;
            }
            count++;
        }
    }
    return count;
}

void g4_mem_set_missed(struct g4_mem *mem, uint64_t page, uint8_t flags) {
    const bool exists = page <= mem->address_mask >> G4_PAGE_SHIFT;
    struct g4_page *const entry = exists ? g4_mem_make_page(mem, page) : NULL;
    if (entry) {
        atomic_fetch_or_explicit(&entry->flags, flags & MISSED, memory_order_relaxed);
    }
}
