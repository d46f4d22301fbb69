/* Memory for the device server: files of other processes, and the pages that changed between submissions. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "api/live.h"
#include "core/far_pages.h"

void *g4_file_map(int descriptor, size_t size) {
    void *const host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return host == MAP_FAILED ? NULL : host;
}

void g4_file_unmap(void *host, size_t size) {
    (void)munmap(host, size);
}

bool g4_mem_uses(const struct g4_mem *mem, const void *host, size_t size) {
    const uintptr_t start = (uintptr_t)host;
    const uint64_t end = mem->far ? (mem->address_mask >> G4_PAGE_SHIFT) + 1 : mem->gtt_entries;
    for (uint64_t page = 0; page < end; page++) {
        if (page >= G4_NEAR_PAGES && (page = g4_far_page_next(mem->far, page, end)) == end) {
            break;
        }
        const struct g4_page *const entry = g4_mem_page(mem, page << G4_PAGE_SHIFT);
        const uintptr_t at = (uintptr_t)atomic_load_explicit(&entry->host, memory_order_relaxed);
        if (at - start < size) {
            return true;
        }
    }
    return false;
}

/* --- hashes: four independent chains of folded products, so that they run at the speed of the memory --- */

enum {
    CHAINS = 4,
    WORDS = G4_PAGE_SIZE / sizeof(uint64_t)
};

static const uint64_t salt[CHAINS] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};

static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 product;
    const product p = (product)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static void hash_page(const uint8_t *bytes, uint64_t hash[2]) {
    uint64_t chain[CHAINS], sum[CHAINS] = {0};
    memcpy(chain, salt, sizeof chain);
    for (size_t at = 0; at < WORDS; at += 2 * CHAINS) {
        uint64_t word[2 * CHAINS];
        memcpy(word, bytes + at * sizeof *word, sizeof word);
        for (int c = 0; c < CHAINS; c++) {
            /* a sum beside the product: a factor of 0 must not lose what came before */
            sum[c] = (sum[c] << 7 | sum[c] >> 57) + (word[2 * c] ^ (word[2 * c + 1] << 32 | word[2 * c + 1] >> 32));
            chain[c] = fold(word[2 * c] ^ salt[c], word[2 * c + 1] ^ chain[c]) + salt[(c + 1) % CHAINS];
        }
    }
    hash[0] = fold(chain[0] ^ sum[1], chain[1] ^ salt[2]) ^ fold(chain[2] ^ sum[3], chain[3] ^ salt[0]);
    hash[1] = fold(chain[1] ^ sum[0], chain[2] ^ salt[3]) ^ fold(chain[3] ^ sum[2], chain[0] ^ salt[1]);
}

static bool has_page(const struct g4_mem *mem, uint64_t page) {
    return page <= mem->address_mask >> G4_PAGE_SHIFT;
}

void g4_mem_hash(struct g4_mem *mem, uint64_t page, uint32_t count, uint64_t *hashes) {
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *const host = has_page(mem, page + i) ? g4_mem_ptr(mem, (page + i) << G4_PAGE_SHIFT) : NULL;
        hash_page(host ? host : g4_zero_page, hashes + 2 * (size_t)i);
    }
}

void g4_hash_pages(const uint8_t *host, size_t count, uint64_t *hashes) {
    for (size_t i = 0; i < count; i++) {
        hash_page(host + i * G4_PAGE_SIZE, hashes + 2 * i);
    }
}

void g4_mem_written_since(const struct g4_mem *mem, const uint64_t *pages, uint32_t count, uint32_t mark,
                          uint8_t *written) {
    for (uint32_t i = 0; i < count; i++) {
        const struct g4_page *const entry =
            has_page(mem, pages[i]) ? g4_mem_page(mem, pages[i] << G4_PAGE_SHIFT) : NULL;
        written[i] =
            mark == UINT32_MAX || (entry && atomic_load_explicit(&entry->generation, memory_order_relaxed) > mark);
    }
}
