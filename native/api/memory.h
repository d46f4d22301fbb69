/*
 * The graphics address space of a device (core/memory.h).
 */
#ifndef G4_API_MEMORY_H
#define G4_API_MEMORY_H

#include <stddef.h>

#include "api/status.h"

struct g4_fault {
    uint32_t unit;      /* enum g4_unit */
    uint32_t what;      /* enum g4_fault_kind */
    g4_address address; /* graphics address of the first byte that failed */
    uint32_t value;     /* the page table entry */
};

/* Failed accesses by kind: their number and the first.  One count is one access to one page. */
struct g4_fault_log {
    uint64_t count[G4_FAULT_KINDS];
    struct g4_fault first[G4_FAULT_KINDS];
};

struct g4_mem;

struct g4_touched_pages; /* core/memory.h */

/* A unit's port to memory.  One per worker thread: its log and status belong to that thread alone. */
struct g4_port {
    struct g4_mem *mem;
    uint32_t unit;   /* enum g4_unit */
    bool strict;     /* faults set `status` */
    bool quiet;      /* host-side access: does not mark pages as missed */
    bool lowest;     /* log the lowest address, not the first: the order of a worker's jobs is not determined */
    uint32_t status; /* enum g4_status, sticky */
    struct g4_fault_log log;
    struct g4_touched_pages *touched; /* lists the pages that g4_mem_read reads; NULL: no list */
};

/* `address_bits` 32: addresses wrap at 4 GiB, and pages from `gtt_entries` on do not exist.  Up to 48: all pages exist.
 */
struct g4_mem *g4_mem_create(uint32_t gtt_entries, uint32_t address_bits, uint32_t max_pages, bool strict_pte);
void g4_mem_destroy(struct g4_mem *mem);
enum g4_status g4_mem_clear(struct g4_mem *mem);
uint32_t g4_mem_owned_pages(const struct g4_mem *mem);
/* The pages up to the limit; a page far from others takes several, for tables. */
uint32_t g4_mem_pages_left(const struct g4_mem *mem);

/* Let a graphics page be a physical page, or with `physical` UINT64_MAX again what it is without (page tables of
 * contexts). */
enum g4_status g4_mem_map_physical(struct g4_mem *mem, uint64_t page, uint64_t physical);
enum g4_status g4_mem_set_gtt(struct g4_mem *mem, uint32_t first, const uint32_t *entries, uint32_t count);
uint32_t g4_mem_gtt_entry(const struct g4_mem *mem, uint32_t index);
uint64_t g4_mem_physical(const struct g4_mem *mem, g4_address address);
enum g4_status g4_mem_map_external(struct g4_mem *mem, g4_address address, void *host, size_t size, bool read_only);
enum g4_status g4_mem_unmap_external(struct g4_mem *mem, g4_address address, size_t size);

uint32_t g4_mem_page_flags(struct g4_mem *mem, uint64_t page);
uint64_t g4_mem_find_page(struct g4_mem *mem, uint64_t page, uint64_t end, uint32_t mask, uint32_t flags, bool equal);
uint32_t g4_mem_mark(struct g4_mem *mem);
bool g4_mem_changed_since(const struct g4_mem *mem, g4_address address, size_t size, uint32_t mark);

void g4_port_init(struct g4_port *port, struct g4_mem *mem, enum g4_unit unit, bool strict);
void g4_port_merge(struct g4_port *into, const struct g4_port *from);
bool g4_mem_peek(struct g4_mem *mem, g4_address address, void *data, size_t size);
enum g4_status g4_mem_read(struct g4_port *port, g4_address address, void *data, size_t size);
enum g4_status g4_mem_write(struct g4_port *port, g4_address address, const void *data, size_t size);
enum g4_status g4_mem_poke(struct g4_mem *mem, g4_address address, const void *data, size_t size,
                           struct g4_fault *fault);
enum g4_status g4_mem_read_physical(struct g4_mem *mem, uint64_t physical, void *data, size_t size);
/* Whether g4_mem_read_physical() would return these bytes. */
bool g4_mem_holds_physical(const struct g4_mem *mem, uint64_t physical, const void *data, size_t size);
enum g4_status g4_mem_write_physical(struct g4_mem *mem, uint64_t physical, const void *data, size_t size);

#endif
