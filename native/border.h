/* The border between the C core and Python: everything that cffi reads, and nothing else.
 *
 * native/build.py gives this very text to cffi, without the lines that start with '#'.  So: declarations only, no
 * macros, no inline functions.  The rest of the core includes it as an ordinary header.
 */
#ifndef G4_BORDER_H
#define G4_BORDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum g4_status {
    G4_OK,
    G4_FAULT,     /* a memory access that stops a strict device; the port's log says which */
    G4_BAD_VALUE, /* an argument or a field that can not be used */
    G4_NO_MEMORY, /* the host's memory or the limit given to g4_mem_create is used up */
};

/* Who accesses memory. */
enum g4_unit {
    G4_UNIT_CPU,
    G4_UNIT_CS,
    G4_UNIT_VF,
    G4_UNIT_VS,
    G4_UNIT_GS,
    G4_UNIT_CLIP,
    G4_UNIT_SF,
    G4_UNIT_WM,
    G4_UNIT_CC,
    G4_UNIT_VFE,
    G4_UNIT_TS,
    G4_UNIT_EU,
    G4_UNIT_SAMPLER,
    G4_UNIT_DATA_PORT,
    G4_UNIT_BLT,
    G4_UNIT_APERTURE,
};

/* ---- vector variants: native/variant.h ---- */

enum g4_variant {
    G4_VARIANT_PLAIN,
    G4_VARIANT_AVX2,
    G4_VARIANT_AVX512,
    G4_VARIANT_COUNT,
};

enum g4_variant g4_variant_best(void);
enum g4_variant g4_variant_current(void);
enum g4_status g4_set_variant(enum g4_variant variant);

/* ---- memory: native/memory.h ---- */

enum g4_fault_kind {
    G4_FAULT_UNMAPPED_READ,   /* no valid page table entry: reads as 0 */
    G4_FAULT_UNMAPPED_WRITE,  /* no valid page table entry: dropped */
    G4_FAULT_READ_ONLY_WRITE, /* dropped */
    G4_FAULT_NO_MEMORY_WRITE, /* no host page left: dropped */
    G4_FAULT_UNWRITTEN_READ,  /* a page that nothing ever wrote: reads as 0, never stops the device */
    G4_FAULT_KINDS,
};

struct g4_fault {
    uint32_t unit;    /* enum g4_unit */
    uint32_t address; /* graphics address of the first byte that failed */
    uint32_t what;    /* enum g4_fault_kind */
    uint32_t value;   /* the page table entry */
};

/* What went wrong: how often and what first, by kind.  One count is one access to one page. */
struct g4_fault_log {
    uint64_t count[G4_FAULT_KINDS];
    struct g4_fault first[G4_FAULT_KINDS];
};

enum g4_page_flags {
    G4_PAGE_PRESENT = 1,       /* the page table entry is valid; without page table: something wrote the page */
    G4_PAGE_EXTERNAL = 2,      /* memory of somebody else */
    G4_PAGE_WRITTEN = 4,       /* has contents */
    G4_PAGE_READ_ONLY = 8,     /* writes of the device are dropped */
    G4_PAGE_MISSED_READ = 16,  /* was read while unmapped or unwritten */
    G4_PAGE_MISSED_WRITE = 32, /* a write was dropped */
};

struct g4_mem;

/* A unit's port to memory.  One per worker thread: its log and status belong to that thread alone. */
struct g4_port {
    struct g4_mem *mem;
    uint32_t unit;   /* enum g4_unit */
    bool strict;     /* faults set `status` */
    bool quiet;      /* a look from outside: marks nothing in the page table */
    uint32_t status; /* enum g4_status, sticky */
    struct g4_fault_log log;
};

struct g4_mem *g4_mem_create(uint32_t gtt_entries, uint32_t max_pages, bool strict_pte);
void g4_mem_destroy(struct g4_mem *mem);
enum g4_status g4_mem_clear(struct g4_mem *mem);
uint32_t g4_mem_owned_pages(const struct g4_mem *mem);

enum g4_status g4_mem_set_gtt(struct g4_mem *mem, uint32_t first, const uint32_t *entries, uint32_t count);
uint32_t g4_mem_gtt_entry(const struct g4_mem *mem, uint32_t index);
uint64_t g4_mem_physical(const struct g4_mem *mem, uint32_t address);
enum g4_status g4_mem_map_external(struct g4_mem *mem, uint32_t address, void *host, size_t size, bool read_only);
enum g4_status g4_mem_unmap_external(struct g4_mem *mem, uint32_t address, size_t size);

uint32_t g4_mem_page_flags(struct g4_mem *mem, uint32_t page);
uint32_t g4_mem_find_page(struct g4_mem *mem, uint32_t page, uint32_t end, uint32_t mask, uint32_t flags, bool equal);
uint32_t g4_mem_mark(struct g4_mem *mem);
bool g4_mem_changed_since(const struct g4_mem *mem, uint32_t address, size_t size, uint32_t mark);

void g4_port_init(struct g4_port *port, struct g4_mem *mem, enum g4_unit unit, bool strict);
void g4_port_merge(struct g4_port *into, const struct g4_port *from);
bool g4_mem_peek(struct g4_mem *mem, uint32_t address, void *data, size_t size);
enum g4_status g4_mem_read(struct g4_port *port, uint32_t address, void *data, size_t size);
enum g4_status g4_mem_write(struct g4_port *port, uint32_t address, const void *data, size_t size);
enum g4_status g4_mem_poke(struct g4_mem *mem, uint32_t address, const void *data, size_t size, struct g4_fault *fault);
enum g4_status g4_mem_read_physical(struct g4_mem *mem, uint64_t physical, void *data, size_t size);
enum g4_status g4_mem_write_physical(struct g4_mem *mem, uint64_t physical, const void *data, size_t size);

/* ---- tiling: native/tiling.h ---- */

enum g4_tiling {
    G4_TILING_LINEAR,
    G4_TILING_X,
    G4_TILING_Y,
    G4_TILING_W,
};

/* A tile in bytes across and rows down. */
enum g4_tile_dimensions {
    G4_TILE_X_WIDTH = 512,
    G4_TILE_X_HEIGHT = 8,
    G4_TILE_Y_WIDTH = 128,
    G4_TILE_Y_HEIGHT = 32,
    G4_TILE_W_WIDTH = 64,
    G4_TILE_W_HEIGHT = 64,
};

/* What is XORed into address bit 6, numbered as Linux reports it (spec/05 3.11). */
enum g4_swizzle {
    G4_SWIZZLE_NONE,
    G4_SWIZZLE_9,
    G4_SWIZZLE_9_10,
    G4_SWIZZLE_9_11,
    G4_SWIZZLE_9_10_11,
    G4_SWIZZLE_UNKNOWN,
    G4_SWIZZLE_9_17,
    G4_SWIZZLE_9_10_17,
    G4_SWIZZLE_COUNT,
};

struct g4_surface_layout {
    uint32_t base;
    uint32_t pitch_bytes;
    uint32_t width_bytes;
    uint32_t height_rows;
    uint32_t tiling;  /* enum g4_tiling */
    uint32_t swizzle; /* enum g4_swizzle; linear surfaces have none */
};

/* Coordinates in bytes and rows; what lies outside of the surface is clipped away. */
struct g4_rectangle {
    int32_t x_bytes;
    int32_t y;
    uint32_t width_bytes;
    uint32_t height;
};

uint64_t g4_tiling_offset(uint32_t tiling, uint32_t pitch_bytes, uint32_t x_bytes, uint32_t y);
enum g4_status g4_tiling_coordinates(uint32_t tiling, uint32_t pitch_bytes, uint64_t offset, uint64_t *x_bytes,
                                     uint64_t *y);
uint64_t g4_swizzle_address(uint32_t swizzle, uint64_t address, uint64_t physical);
enum g4_status g4_layout_check(const struct g4_surface_layout *layout);
enum g4_status g4_surface_read(struct g4_port *port, const struct g4_surface_layout *layout,
                               const struct g4_rectangle *rectangle, void *pixels, size_t size, size_t pitch_bytes);
enum g4_status g4_surface_write(struct g4_port *port, const struct g4_surface_layout *layout,
                                const struct g4_rectangle *rectangle, const void *pixels, size_t size,
                                size_t pitch_bytes);

/* ---- the CPU's aperture: native/aperture.c ---- */

/* A tiled region of the aperture, as a fence register describes it; `last` is the address of its last byte. */
struct g4_aperture_fence {
    uint32_t start;
    uint32_t last;
    uint32_t pitch_bytes;
    uint32_t tiling; /* G4_TILING_X or G4_TILING_Y */
    bool valid;
};

/* What the CPU's aperture looks through. */
struct g4_aperture {
    struct g4_aperture_fence fences[16];
    uint32_t swizzle_x; /* enum g4_swizzle, for X tiled regions */
    uint32_t swizzle_y;
};

int g4_aperture_find_fence(const struct g4_aperture *aperture, uint32_t address);
enum g4_status g4_aperture_read(struct g4_port *port, const struct g4_aperture *aperture, uint32_t address, void *data,
                                size_t size);
enum g4_status g4_aperture_write(struct g4_port *port, const struct g4_aperture *aperture, uint32_t address,
                                 const void *data, size_t size);

#endif
