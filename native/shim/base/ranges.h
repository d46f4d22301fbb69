/* Allocator for ranges of numbers: offsets in a memfd, or graphics addresses. */
#ifndef SHIM_RANGES_H
#define SHIM_RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end;
};

/* The free ranges, sorted; no two are adjacent. */
struct ranges {
    struct range *free;
    size_t count, capacity;
};

#define RANGES_NONE UINT64_MAX

bool ranges_init(struct ranges *ranges, uint64_t start, uint64_t end);
void ranges_destroy(struct ranges *ranges);
/* Allocate the lowest fit at or above `minimum`; RANGES_NONE if there is none.  `alignment` is a power of two. */
uint64_t ranges_take(struct ranges *ranges, uint64_t size, uint64_t alignment, uint64_t minimum);
/* Allocate exactly this range; false if a part of it is in use. */
bool ranges_take_at(struct ranges *ranges, uint64_t start, uint64_t size);
void ranges_give(struct ranges *ranges, uint64_t start, uint64_t size);

#endif
