/* The memory of a device as its units see it: 4 KiB pages of a graphics address space of 32 or, from Gen8 on, 48 bits.
 *
 * One table entry per page points to the page in the host.  The entries of the first 4 GiB are an array; those of the
 * pages beyond, far pages, are in a sparse tree.  Pages of the device are allocated when they are first
 * written; external pages are mapped (g4_mem_map_external).  An entry without host page is resolved through the page
 * table:
 *   - strict_pte: the entries given to g4_mem_set_gtt, 36-bit physical addresses; invalid entries fault;
 *   - otherwise every page below gtt_entries exists and is its own physical page.  Captures need this, because their
 *     page tables are incomplete.
 * Several threads may read and write at the same time, each through its own port, under the rules for threads of one
 * program.  Changing the map (gtt, external, clear, poke) while others access memory is not allowed.
 */
#ifndef G4_MEMORY_H
#define G4_MEMORY_H
#include <stdatomic.h>
#include <string.h>

#include "api/memory.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "guest memory is little endian and read in place: this host must be, too"
#endif

enum {
    G4_PAGE_OFFSET = G4_PAGE_SIZE - 1,
    G4_NEAR_PAGES = 1 << 20, /* of the first 4 GiB */
    G4_HOST_ALIGNMENT = 64,  /* every host page starts at a multiple of this */
};

struct g4_page {
    _Atomic(uint8_t *) host; /* NULL: absent, or not yet resolved */
    _Atomic uint32_t generation;
    atomic_uchar flags; /* enum g4_page_flags */
};

enum {
    G4_TOUCHED_PAGES = 64,
};

/* Numbers of pages that were read through a port, each once. */
struct g4_touched_pages {
    uint32_t count;
    bool full; /* there were more */
    uint64_t page[G4_TOUCHED_PAGES];
};

struct g4_mem_physical;

struct g4_far_pages;

enum {
    G4_FAR_LEAF = 1 << 12,   /* entries of far pages that are allocated together */
    G4_FAR_WINDOWS = 1 << 8, /* leaves that are found without walking the tree: 4 GiB if consecutive */
};

/* A leaf of the tree of far pages.  The first of the leaves that share a window keeps it as long as the tree exists. */
struct g4_far_window {
    _Atomic uint64_t number;         /* number of the first page / G4_FAR_LEAF; 0, which near pages have: free */
    _Atomic(struct g4_page *) pages; /* valid where `number` is */
};

struct g4_mem {
    struct g4_page *pages; /* G4_NEAR_PAGES of them: any 32-bit address has one */
    struct g4_far_pages *far;
    const struct g4_far_window *windows; /* of `far`; all free if there are no far pages */
    g4_address address_mask;             /* the significant bits of an address */
    uint32_t *gtt;
    uint32_t gtt_entries;
    bool strict_pte;
    uint32_t epoch;      /* stored in `generation` by a write */
    uint32_t cleared_at; /* the epoch of the last g4_mem_clear */
    struct g4_mem_physical *physical;
};

extern const uint8_t g4_zero_page[G4_PAGE_SIZE];

/* Add the pages of an access to the list of a port that has one. */
void g4_mem_touch(const struct g4_port *port, g4_address address, size_t size);

uint8_t *g4_mem_resolve(struct g4_mem *mem, g4_address address);
uint8_t *g4_mem_write_ptr_slow(struct g4_port *port, g4_address address);
/* Whether the page of an address takes writes; nothing is reported, or allocated. */
bool g4_mem_may_write(struct g4_mem *mem, g4_address address);
void g4_mem_missed_read(struct g4_port *port, g4_address address);
/* The entry for an address above 4 GiB, which wraps if the address space ends there.  An entry that does not exist yet
 * is empty and must not be changed. */
struct g4_page *g4_mem_far_page(const struct g4_mem *mem, g4_address address);
/* The entry of a page by number, created if it is far; NULL if memory or the limit is exhausted. */
struct g4_page *g4_mem_make_page(const struct g4_mem *mem, uint64_t page);

/* Whether an access of the port has failed. */
static inline bool g4_port_has_faults(const struct g4_port *port) {
    bool found = false;
    for (int kind = 0; kind < G4_FAULT_KINDS; kind++) {
        found = found || port->log.count[kind];
    }
    return found;
}

/* The table entry for an address.  Never NULL. */
static inline struct g4_page *g4_mem_page(const struct g4_mem *mem, g4_address address) {
    const uint64_t page = address >> G4_PAGE_SHIFT;
    if (__builtin_expect(page < G4_NEAR_PAGES, 1)) {
        return &mem->pages[page];
    }
    const struct g4_far_window *const window = &mem->windows[page / G4_FAR_LEAF % G4_FAR_WINDOWS];
    if (__builtin_expect(atomic_load_explicit(&window->number, memory_order_acquire) == page / G4_FAR_LEAF, 1)) {
        return atomic_load_explicit(&window->pages, memory_order_relaxed) + page % G4_FAR_LEAF;
    }
    return g4_mem_far_page(mem, address);
}

/* The host byte of an address, valid up to the end of its page; NULL if there is no page.  Reports nothing. */
static inline uint8_t *g4_mem_ptr(struct g4_mem *mem, g4_address address) {
    uint8_t *const host = atomic_load_explicit(&g4_mem_page(mem, address)->host, memory_order_acquire);
    return __builtin_expect(host != NULL, 1) ? host + (address & G4_PAGE_OFFSET) : g4_mem_resolve(mem, address);
}

/* The host byte of an address to read.  A missing page is reported and reads as zeros.  Never NULL. */
static inline const uint8_t *g4_mem_read_ptr(struct g4_port *port, g4_address address) {
    const uint8_t *const host = g4_mem_ptr(port->mem, address);
    if (__builtin_expect(host != NULL, 1)) {
        return host;
    }
    g4_mem_missed_read(port, address);
    return g4_zero_page + (address & G4_PAGE_OFFSET);
}

/* The host byte of an address to write; NULL if the write is dropped, which is reported. */
static inline uint8_t *g4_mem_write_ptr(struct g4_port *port, g4_address address) {
    struct g4_page *const page = g4_mem_page(port->mem, address);
    uint8_t *const host = atomic_load_explicit(&page->host, memory_order_acquire);
    const unsigned flags = atomic_load_explicit(&page->flags, memory_order_relaxed);
    if (__builtin_expect(host != NULL && !(flags & G4_PAGE_READ_ONLY), 1)) {
        atomic_store_explicit(&page->generation, port->mem->epoch, memory_order_relaxed);
        return host + (address & G4_PAGE_OFFSET);
    }
    return g4_mem_write_ptr_slow(port, address);
}

static inline uint32_t g4_mem_read32(struct g4_port *port, g4_address address) {
    uint32_t value = 0;
    if (__builtin_expect((address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - sizeof value, 1)) {
        memcpy(&value, g4_mem_read_ptr(port, address), sizeof value);
    } else {
        (void)g4_mem_read(port, address, &value, sizeof value); /* the port records a fault */
    }
    return value;
}

static inline void g4_mem_write32(struct g4_port *port, g4_address address, uint32_t value) {
    if (__builtin_expect((address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - sizeof value, 1)) {
        uint8_t *const host = g4_mem_write_ptr(port, address);
        if (host) {
            memcpy(host, &value, sizeof value);
        }
    } else {
        (void)g4_mem_write(port, address, &value, sizeof value);
    }
}

#endif
