/* The contents of memory as a whole, for checkpoints: physical pages, the page table, and pages that were missed. */
#include "api/checkpoint.h"
#include "core/memory.h"
#include "core/physical.h"

enum {
    MISSED = G4_PAGE_MISSED_READ | G4_PAGE_MISSED_WRITE
};

uint32_t g4_mem_list_pages(const struct g4_mem *mem, uint32_t *pages, uint32_t capacity) {
    return g4_physical_list(mem->physical, pages, capacity);
}

void g4_mem_copy_pages(const struct g4_mem *mem, const uint32_t *pages, uint32_t count, uint8_t *bytes) {
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *const host = g4_physical_find(mem->physical, pages[i]);
        memcpy(bytes + (size_t)i * G4_PAGE_SIZE, host ? host : g4_zero_page, G4_PAGE_SIZE);
    }
}

enum g4_status g4_mem_write_pages(struct g4_mem *mem, const uint32_t *pages, uint32_t count,
                                  const uint8_t *const *bytes) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t physical = (uint64_t)pages[i] << G4_PAGE_SHIFT;
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

uint32_t g4_mem_list_missed(const struct g4_mem *mem, uint32_t *pages, uint8_t *flags, uint32_t capacity) {
    uint32_t count = 0;

    for (uint32_t page = 0; page < G4_PAGE_COUNT; page++) {
        const unsigned missed = atomic_load_explicit(&mem->pages[page].flags, memory_order_relaxed) & MISSED;
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

void g4_mem_set_missed(struct g4_mem *mem, uint32_t page, uint8_t flags) {
    if (page < G4_PAGE_COUNT) {
        atomic_fetch_or_explicit(&mem->pages[page].flags, flags & MISSED, memory_order_relaxed);
    }
}
