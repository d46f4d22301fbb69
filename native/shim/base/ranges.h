/* Which parts of a span of addresses are free: for memory files and for graphics addresses alike. */
#ifndef SHIM_RANGES_H
#define SHIM_RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end;
};

/* Sorted, apart from each other. */
struct ranges {
    struct range *free;
    size_t count, capacity;
};

#define RANGES_NONE UINT64_MAX

bool ranges_init(struct ranges *ranges, uint64_t start, uint64_t end);
void ranges_destroy(struct ranges *ranges);
/* The lowest fit at or above `minimum`, or RANGES_NONE.  `alignment` is a power of two. */
uint64_t ranges_take(struct ranges *ranges, uint64_t size, uint64_t alignment, uint64_t minimum);
/* Exactly there; false where some of it is taken. */
bool ranges_take_at(struct ranges *ranges, uint64_t start, uint64_t size);
void ranges_give(struct ranges *ranges, uint64_t start, uint64_t size);

#endif
