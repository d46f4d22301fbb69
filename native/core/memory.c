/* Memory: the page table, and accesses that cross pages or meet one that is not there (memory.h). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "core/memory.h"
#include "hw_enums.h"
#include "hw_state.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "core/far_pages.h"
#include "core/physical.h"

const uint8_t g4_zero_page[G4_PAGE_SIZE] __attribute__((aligned(64)));

static const size_t pages_size = G4_NEAR_PAGES * sizeof(struct g4_page);
static const size_t gtt_size = G4_NEAR_PAGES * sizeof(uint32_t);

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The bytes of an access within the page of its first byte. */
static size_t in_page(uint64_t address, size_t size) {
    return least(size, G4_PAGE_SIZE - (size_t)(address & G4_PAGE_OFFSET));
}

/* --- page table entries --- */

static struct g4_gtt_entry unpack_entry(uint32_t dword) {
    struct g4_gtt_entry entry;
    g4_gtt_entry_unpack(&dword, G4_GEN_ALL4, &entry);
    return entry;
}

/* The flags of a page that follow from its entry alone. */
static uint32_t entry_flags(const struct g4_mem *mem, uint64_t page) {
    return mem->strict_pte && page < mem->gtt_entries && unpack_entry(mem->gtt[page]).valid ? G4_PAGE_PRESENT : 0;
}

/* The page of an address, which wraps. */
static uint64_t page_of(const struct g4_mem *mem, g4_address address) {
    return (address & mem->address_mask) >> G4_PAGE_SHIFT;
}

/* The physical page behind a graphics page.  Entries of reserved types are valid: captures contain many. */
static bool translate(const struct g4_mem *mem, uint64_t page, uint64_t *physical_page) {
    const bool has_entry = page < mem->gtt_entries;
    if (!mem->strict_pte && (has_entry || mem->far)) {
        *physical_page = page;
        return true;
    }
    if (!has_entry) {
        return false;
    }
    const struct g4_gtt_entry entry = unpack_entry(mem->gtt[page]);
    *physical_page = ((uint64_t)entry.physical_address_high << 32 | entry.physical_address_low) >> G4_PAGE_SHIFT;
    return entry.valid;
}

/* --- creation --- */

static void *zeroed_table(size_t size, void *in_place_of) {
    const int fixed = in_place_of ? MAP_FIXED : 0;
    void *const table = mmap(in_place_of, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

struct g4_mem *g4_mem_create(uint32_t gtt_entries, uint32_t address_bits, uint32_t max_pages, bool strict_pte) {
    const bool valid = gtt_entries <= G4_NEAR_PAGES && address_bits >= 32 && address_bits <= G4_PHYSICAL_BITS;
    struct g4_mem *const mem = valid ? calloc(1, sizeof *mem) : NULL;
    if (!mem) {
        return NULL;
    }
    mem->address_mask = (UINT64_C(1) << address_bits) - 1;
    mem->gtt_entries = gtt_entries;
    mem->strict_pte = strict_pte;
    mem->epoch = 1;
    mem->pages = zeroed_table(pages_size, NULL);
    mem->gtt = zeroed_table(gtt_size, NULL);
    mem->physical = g4_physical_create(max_pages);
    mem->far = address_bits > 32 ? g4_far_pages_create() : NULL;
    mem->windows = g4_far_pages_windows(mem->far);
    if (!mem->pages || !mem->gtt || !mem->physical || (address_bits > 32 && !mem->far)) {
        g4_mem_destroy(mem);
        return NULL;
    }
    return mem;
}

void g4_mem_destroy(struct g4_mem *mem) {
    if (!mem) {
        return;
    }
    g4_physical_destroy(mem->physical);
    g4_far_pages_destroy(mem->far);
    if (mem->gtt) {
        munmap(mem->gtt, gtt_size);
    }
    if (mem->pages) {
        munmap(mem->pages, pages_size);
    }
    free(mem);
}

enum g4_status g4_mem_clear(struct g4_mem *mem) {
    struct g4_mem_physical *const fresh = g4_physical_create(g4_physical_limit(mem->physical));
    struct g4_far_pages *const far = mem->far ? g4_far_pages_create() : NULL;
    if (!fresh || (mem->far && !far) || !zeroed_table(pages_size, mem->pages) || !zeroed_table(gtt_size, mem->gtt)) {
        g4_physical_destroy(fresh);
        g4_far_pages_destroy(far);
        return G4_NO_MEMORY;
    }
    g4_physical_destroy(mem->physical);
    g4_far_pages_destroy(mem->far);
    mem->physical = fresh;
    mem->far = far;
    mem->windows = g4_far_pages_windows(far);
    mem->cleared_at = mem->epoch;
    return G4_OK;
}

uint32_t g4_mem_owned_pages(const struct g4_mem *mem) {
    return g4_physical_count(mem->physical);
}

uint32_t g4_mem_pages_left(const struct g4_mem *mem) {
    return g4_physical_left(mem->physical);
}

/* --- the map --- */

static void add_flags(struct g4_page *page, enum g4_page_flags flags) {
    atomic_fetch_or_explicit(&page->flags, (unsigned char)flags, memory_order_relaxed);
}

static uint32_t flags_of(const struct g4_page *page) {
    return atomic_load_explicit(&page->flags, memory_order_relaxed);
}

struct g4_page *g4_mem_make_page(const struct g4_mem *mem, uint64_t page) {
    return page < G4_NEAR_PAGES ? &mem->pages[page] : g4_far_page_make(mem->far, mem->physical, page);
}

struct g4_page *g4_mem_far_page(const struct g4_mem *mem, g4_address address) {
    static struct g4_page empty;
    const uint64_t page = page_of(mem, address);
    if (page < G4_NEAR_PAGES) {
        return &mem->pages[page];
    }
    struct g4_page *const found = g4_far_page_find(mem->far, page);
    return found ? found : &empty;
}

static void replace_page(const struct g4_mem *mem, struct g4_page *page, uint8_t *host, uint32_t flags) {
    const uint32_t history = flags_of(page) & (G4_PAGE_MISSED_READ | G4_PAGE_MISSED_WRITE);
    atomic_store_explicit(&page->flags, (unsigned char)(flags | history), memory_order_relaxed);
    atomic_store_explicit(&page->generation, mem->epoch, memory_order_relaxed);
    atomic_store_explicit(&page->host, host, memory_order_release);
}

/* Threads that wire one page at the same time all write the same values. */
static void wire(struct g4_page *page, uint8_t *host) {
    add_flags(page, G4_PAGE_PRESENT | G4_PAGE_WRITTEN);
    atomic_store_explicit(&page->host, host, memory_order_release);
}

uint8_t *g4_mem_resolve(struct g4_mem *mem, g4_address address) {
    const uint64_t number = page_of(mem, address);
    uint8_t *host = atomic_load_explicit(&g4_mem_page(mem, address)->host, memory_order_acquire);
    uint64_t physical_page = 0;
    if (!host && translate(mem, number, &physical_page)) {
        host = g4_physical_find(mem->physical, physical_page);
        struct g4_page *const page = host ? g4_mem_make_page(mem, number) : NULL;
        if (page) {
            wire(page, host);
        }
    }
    return host ? host + (address & G4_PAGE_OFFSET) : NULL;
}

enum g4_status g4_mem_set_gtt(struct g4_mem *mem, uint32_t first, const uint32_t *entries, uint32_t count) {
    if (first > mem->gtt_entries || count > mem->gtt_entries - first) {
        return G4_BAD_VALUE;
    }
    for (uint32_t i = 0; i < count; i++) {
        mem->gtt[first + i] = entries[i];
        struct g4_page *const page = &mem->pages[first + i];
        if (mem->strict_pte && !(flags_of(page) & G4_PAGE_EXTERNAL)) {
            replace_page(mem, page, NULL, entry_flags(mem, first + i));
        }
    }
    return G4_OK;
}

enum g4_status g4_mem_map_physical(struct g4_mem *mem, uint64_t page, uint64_t physical) {
    const bool maps = physical != UINT64_MAX;
    if (page > mem->address_mask >> G4_PAGE_SHIFT || (maps && physical >> (G4_PHYSICAL_BITS - G4_PAGE_SHIFT))) {
        return G4_BAD_VALUE;
    }
    struct g4_page *const entry = g4_mem_make_page(mem, page);
    uint8_t *const host = entry && maps ? g4_physical_make(mem->physical, physical) : NULL;
    if (!entry || (maps && !host)) {
        return G4_NO_MEMORY;
    }
    replace_page(mem, entry, host, maps ? G4_PAGE_PRESENT | G4_PAGE_WRITTEN : entry_flags(mem, page));
    return G4_OK;
}

uint32_t g4_mem_gtt_entry(const struct g4_mem *mem, uint32_t index) {
    return index < mem->gtt_entries ? mem->gtt[index] : 0;
}

uint64_t g4_mem_physical(const struct g4_mem *mem, g4_address address) {
    uint64_t page = page_of(mem, address);
    (void)translate(mem, page, &page); /* without a translation the page is its own */
    return page << G4_PAGE_SHIFT | (address & G4_PAGE_OFFSET);
}

static bool whole_pages(const struct g4_mem *mem, g4_address address, size_t size) {
    const g4_address end = mem->far ? mem->address_mask + 1 : (uint64_t)mem->gtt_entries << G4_PAGE_SHIFT;
    const uint64_t largest = UINT64_C(1) << 36; /* each page takes memory for its entry, and time */
    return ((address | size) & G4_PAGE_OFFSET) == 0 && address <= end && size <= end - address && size <= largest;
}

enum g4_status g4_mem_map_external(struct g4_mem *mem, g4_address address, void *host, size_t size, bool read_only) {
    if (!whole_pages(mem, address, size) || (uintptr_t)host % G4_HOST_ALIGNMENT != 0) {
        return G4_BAD_VALUE;
    }
    const uint32_t flags =
        G4_PAGE_PRESENT | G4_PAGE_EXTERNAL | G4_PAGE_WRITTEN | (read_only ? (uint32_t)G4_PAGE_READ_ONLY : 0);
    for (size_t offset = 0; offset < size; offset += G4_PAGE_SIZE) {
        if (!g4_mem_make_page(mem, (address + offset) >> G4_PAGE_SHIFT)) {
            return G4_NO_MEMORY; /* before any page is mapped */
        }
    }
    for (size_t offset = 0; offset < size; offset += G4_PAGE_SIZE) {
        replace_page(mem, g4_mem_page(mem, address + offset), (uint8_t *)host + offset, flags);
    }
    return G4_OK;
}

enum g4_status g4_mem_unmap_external(struct g4_mem *mem, g4_address address, size_t size) {
    if (!whole_pages(mem, address, size)) {
        return G4_BAD_VALUE;
    }
    for (size_t offset = 0; offset < size; offset += G4_PAGE_SIZE) {
        struct g4_page *const page = g4_mem_page(mem, address + offset);
        if (flags_of(page) & G4_PAGE_EXTERNAL) {
            replace_page(mem, page, NULL, entry_flags(mem, (address + offset) >> G4_PAGE_SHIFT));
        }
    }
    return G4_OK;
}

/* --- inspection of the map --- */

uint32_t g4_mem_page_flags(struct g4_mem *mem, uint64_t page) {
    const g4_address address = page << G4_PAGE_SHIFT;
    if (page > mem->address_mask >> G4_PAGE_SHIFT) {
        return 0;
    }
    (void)g4_mem_resolve(mem, address); /* for its flags: a physical write may have made the page */
    return flags_of(g4_mem_page(mem, address));
}

uint64_t g4_mem_find_page(struct g4_mem *mem, uint64_t page, uint64_t end, uint32_t mask, uint32_t flags, bool equal) {
    while (page < end && ((g4_mem_page_flags(mem, page) & mask) == flags) != equal) {
        page++;
        if (page >= G4_NEAR_PAGES && mem->far && (flags == 0) != equal) {
            page = g4_far_page_next(mem->far, page, end); /* far pages without an entry have no flags */
        }
    }
    return page;
}

uint32_t g4_mem_mark(struct g4_mem *mem) {
    const uint32_t mark = mem->epoch;
    mem->epoch += mark != UINT32_MAX; /* at the last epoch everything counts as changed */
    return mark;
}

bool g4_mem_changed_since(const struct g4_mem *mem, g4_address address, size_t size, uint32_t mark) {
    if (mem->strict_pte || mem->cleared_at > mark || mark == UINT32_MAX) {
        return true; /* strict_pte: the page may have been written under another address */
    }
    for (size_t offset = 0; offset < size; offset += in_page(address + offset, size - offset)) {
        const struct g4_page *const page = g4_mem_page(mem, address + offset);
        if (atomic_load_explicit(&page->generation, memory_order_relaxed) > mark || flags_of(page) & G4_PAGE_EXTERNAL) {
            return true;
        }
    }
    return false;
}

/* --- ports --- */

void g4_port_init(struct g4_port *port, struct g4_mem *mem, enum g4_unit unit, bool strict) {
    *port = (struct g4_port){.mem = mem, .unit = unit, .strict = strict};
}

void g4_port_merge(struct g4_port *into, const struct g4_port *from) {
    for (int kind = 0; kind < G4_FAULT_KINDS; kind++) {
        const struct g4_fault *const first = &from->log.first[kind];
        const bool lower = into->lowest && from->log.count[kind] && first->address < into->log.first[kind].address;
        if (into->log.count[kind] == 0 || lower) {
            into->log.first[kind] = *first;
        }
        into->log.count[kind] += from->log.count[kind];
    }
    if (into->status == G4_OK) {
        into->status = from->status;
    }
}

static uint32_t gtt_entry_of(const struct g4_mem *mem, g4_address address) {
    const uint64_t page = page_of(mem, address);
    return page < mem->gtt_entries ? mem->gtt[page] : 0;
}

static void report(struct g4_port *port, enum g4_fault_kind kind, g4_address sum) {
    const g4_address address = sum & port->mem->address_mask;
    const bool reading = kind == G4_FAULT_UNMAPPED_READ || kind == G4_FAULT_UNWRITTEN_READ;
    if (port->log.count[kind]++ == 0 || (port->lowest && address < port->log.first[kind].address)) {
        port->log.first[kind] = (struct g4_fault){
            .unit = port->unit,
            .what = kind,
            .address = address,
            .value = gtt_entry_of(port->mem, address),
        };
    }
    struct g4_page *const page = port->quiet ? NULL : g4_mem_make_page(port->mem, page_of(port->mem, address));
    if (page) {
        add_flags(page, reading ? G4_PAGE_MISSED_READ : G4_PAGE_MISSED_WRITE);
    }
    if (port->strict && kind != G4_FAULT_UNWRITTEN_READ) {
        port->status = G4_FAULT;
    }
}

void g4_mem_missed_read(struct g4_port *port, g4_address address) {
    uint64_t physical_page = 0;
    const bool exists = translate(port->mem, page_of(port->mem, address), &physical_page);
    report(port, exists ? G4_FAULT_UNWRITTEN_READ : G4_FAULT_UNMAPPED_READ, address);
}

/* The host byte of an address to write, its page allocated if necessary; or the fault. */
static uint8_t *writable(struct g4_mem *mem, g4_address address, enum g4_fault_kind *why) {
    const uint64_t number = page_of(mem, address);
    struct g4_page *page = g4_mem_page(mem, address);
    if (flags_of(page) & G4_PAGE_READ_ONLY) {
        *why = G4_FAULT_READ_ONLY_WRITE;
        return NULL;
    }
    uint8_t *host = atomic_load_explicit(&page->host, memory_order_acquire);
    if (!host) {
        uint64_t physical_page = 0;
        if (!translate(mem, number, &physical_page)) {
            *why = G4_FAULT_UNMAPPED_WRITE;
            return NULL;
        }
        page = g4_mem_make_page(mem, number);
        host = page ? g4_physical_make(mem->physical, physical_page) : NULL;
        if (!host) {
            *why = G4_FAULT_NO_MEMORY_WRITE;
            return NULL;
        }
        wire(page, host);
    }
    atomic_store_explicit(&page->generation, mem->epoch, memory_order_relaxed);
    return host + (address & G4_PAGE_OFFSET);
}

bool g4_mem_may_write(struct g4_mem *mem, g4_address address) {
    const struct g4_page *const page = g4_mem_page(mem, address);
    uint64_t physical_page = 0;
    return !(flags_of(page) & G4_PAGE_READ_ONLY) && (atomic_load_explicit(&page->host, memory_order_acquire) ||
                                                     translate(mem, page_of(mem, address), &physical_page));
}

uint8_t *g4_mem_write_ptr_slow(struct g4_port *port, g4_address address) {
    enum g4_fault_kind why = G4_FAULT_UNMAPPED_WRITE;
    uint8_t *const host = writable(port->mem, address, &why);
    if (!host) {
        report(port, why, address);
    }
    return host;
}

/* --- accesses of any length; addresses wrap as the address adders do --- */

/* Reads all bytes, or returns false without a report. */
bool g4_mem_peek(struct g4_mem *mem, g4_address address, void *data, size_t size) {
    uint8_t *to = data;
    while (size) {
        const size_t part = in_page(address, size);
        const uint8_t *const host = g4_mem_ptr(mem, address);
        if (!host) {
            return false;
        }
        memcpy(to, host, part);
        to += part;
        address += part;
        size -= part;
    }
    return true;
}

void g4_mem_touch(const struct g4_port *port, g4_address address, size_t size) {
    struct g4_touched_pages *const touched = port->touched;
    while (touched && size) {
        const size_t part = in_page(address, size);
        const uint64_t page = page_of(port->mem, address);
        uint32_t i = 0;
        while (i < touched->count && touched->page[i] != page) {
            i++;
        }
        touched->full = touched->full || i == G4_TOUCHED_PAGES;
        if (i == touched->count && i < G4_TOUCHED_PAGES) {
            touched->page[touched->count++] = page;
        }
        address += part;
        size -= part;
    }
}

enum g4_status g4_mem_read(struct g4_port *port, g4_address address, void *data, size_t size) {
    uint8_t *to = data;
    if (__builtin_expect(port->touched != NULL, 0)) {
        g4_mem_touch(port, address, size);
    }
    while (size) {
        const size_t part = in_page(address, size);
        memcpy(to, g4_mem_read_ptr(port, address), part);
        to += part;
        address += part;
        size -= part;
    }
    return (enum g4_status)port->status;
}

enum g4_status g4_mem_write(struct g4_port *port, g4_address address, const void *data, size_t size) {
    const uint8_t *from = data;
    while (size) {
        const size_t part = in_page(address, size);
        uint8_t *const host = g4_mem_write_ptr(port, address);
        if (host) {
            memcpy(host, from, part);
        }
        from += part;
        address += part;
        size -= part;
    }
    return (enum g4_status)port->status;
}

enum g4_status g4_mem_poke(struct g4_mem *mem, g4_address address, const void *data, size_t size,
                           struct g4_fault *fault) {
    const uint8_t *from = data;
    while (size) {
        const size_t part = in_page(address, size);
        enum g4_fault_kind why = G4_FAULT_UNMAPPED_WRITE;
        uint8_t *const host = writable(mem, address, &why);
        if (!host) {
            *fault = (struct g4_fault){G4_UNIT_CPU, why, address & mem->address_mask, gtt_entry_of(mem, address)};
            return G4_FAULT;
        }
        memcpy(host, from, part);
        from += part;
        address += part;
        size -= part;
    }
    return G4_OK;
}

/* --- physical addresses --- */

static bool is_physical(uint64_t physical, size_t size) {
    const uint64_t end = (uint64_t)1 << G4_PHYSICAL_BITS;
    return physical <= end && size <= end - physical;
}

enum g4_status g4_mem_read_physical(struct g4_mem *mem, uint64_t physical, void *data, size_t size) {
    if (!is_physical(physical, size)) {
        return G4_BAD_VALUE;
    }
    uint8_t *to = data;
    while (size) {
        const size_t part = in_page(physical, size);
        const uint8_t *const host = g4_physical_find(mem->physical, physical >> G4_PAGE_SHIFT);
        memcpy(to, (host ? host : g4_zero_page) + (physical & G4_PAGE_OFFSET), part);
        to += part;
        physical += part;
        size -= part;
    }
    return G4_OK;
}

bool g4_mem_holds_physical(const struct g4_mem *mem, uint64_t physical, const void *data, size_t size) {
    const uint8_t *expected = data;
    bool same = is_physical(physical, size);
    while (size && same) {
        const size_t part = in_page(physical, size);
        const uint8_t *const host = g4_physical_find(mem->physical, physical >> G4_PAGE_SHIFT);
        same = memcmp(expected, (host ? host : g4_zero_page) + (physical & G4_PAGE_OFFSET), part) == 0;
        expected += part;
        physical += part;
        size -= part;
    }
    return same;
}

enum g4_status g4_mem_write_physical(struct g4_mem *mem, uint64_t physical, const void *data, size_t size) {
    if (!is_physical(physical, size)) {
        return G4_BAD_VALUE;
    }
    const uint8_t *from = data;
    while (size) {
        const size_t part = in_page(physical, size);
        const uint64_t page = physical >> G4_PAGE_SHIFT;
        uint8_t *const host = g4_physical_make(mem->physical, page);
        if (!host) {
            return G4_NO_MEMORY;
        }
        memcpy(host + (physical & G4_PAGE_OFFSET), from, part);
        uint64_t itself = 0;
        struct g4_page *const entry =
            !mem->strict_pte && translate(mem, page, &itself) ? g4_mem_make_page(mem, page) : NULL;
        if (entry) {
            atomic_store_explicit(&entry->generation, mem->epoch, memory_order_relaxed);
        }
        from += part;
        physical += part;
        size -= part;
    }
    return G4_OK;
}
