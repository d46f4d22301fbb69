#include "shim/base/ranges.h"

#include <stdlib.h>
#include <string.h>

/* Reserve space for one more range.  Done ahead of time, so that ranges_give() does not fail. */
static bool grow(struct ranges *ranges) {
    if (ranges->count + 2 <= ranges->capacity) {
        return true;
    }
    const size_t capacity = ranges->capacity ? ranges->capacity * 2 : 16;
    struct range *const larger = realloc(ranges->free, capacity * sizeof *larger);
    if (!larger) {
        return false;
    }
    ranges->free = larger;
    ranges->capacity = capacity;
    return true;
}

bool ranges_init(struct ranges *ranges, uint64_t start, uint64_t end) {
    *ranges = (struct ranges){0};
    if (!grow(ranges)) {
        return false;
    }
    ranges->free[ranges->count++] = (struct range){start, end};
    return true;
}

void ranges_destroy(struct ranges *ranges) {
    free(ranges->free);
    *ranges = (struct ranges){0};
}

/* Index of the first free range that ends after `address`. */
static size_t find(const struct ranges *ranges, uint64_t address) {
    size_t low = 0;
    size_t high = ranges->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (ranges->free[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void erase(struct ranges *ranges, size_t at) {
    ranges->count--;
    memmove(&ranges->free[at], &ranges->free[at + 1], (ranges->count - at) * sizeof ranges->free[0]);
}

static void insert(struct ranges *ranges, size_t at, struct range range) {
    memmove(&ranges->free[at + 1], &ranges->free[at], (ranges->count - at) * sizeof ranges->free[0]);
    ranges->free[at] = range;
    ranges->count++;
}

static bool cut(struct ranges *ranges, size_t at, uint64_t start, uint64_t end) {
    struct range *const span = &ranges->free[at];
    if (span->start == start && span->end == end) {
        erase(ranges, at);
    } else if (span->start == start) {
        span->start = end;
    } else if (span->end == end) {
        span->end = start;
    } else {
        if (!grow(ranges)) {
            return false;
        }
        const struct range above = {end, ranges->free[at].end};
        ranges->free[at].end = start;
        insert(ranges, at + 1, above);
    }
    return true;
}

uint64_t ranges_take(struct ranges *ranges, uint64_t size, uint64_t alignment, uint64_t minimum) {
    if (!grow(ranges)) {
        return RANGES_NONE;
    }
    for (size_t i = find(ranges, minimum); i < ranges->count; i++) {
        const struct range span = ranges->free[i];
        const uint64_t low = span.start > minimum ? span.start : minimum;
        const uint64_t start = (low + alignment - 1) & ~(alignment - 1);
        if (start >= low && start < span.end && span.end - start >= size) {
            return cut(ranges, i, start, start + size) ? start : RANGES_NONE;
        }
    }
    return RANGES_NONE;
}

bool ranges_take_at(struct ranges *ranges, uint64_t start, uint64_t size) {
    if (!grow(ranges)) {
        return false;
    }
    const size_t at = find(ranges, start);
    if (at == ranges->count || ranges->free[at].start > start || ranges->free[at].end - start < size) {
        return false;
    }
    return cut(ranges, at, start, start + size);
}

void ranges_give(struct ranges *ranges, uint64_t start, uint64_t size) {
    const uint64_t end = start + size;
    const size_t at = find(ranges, start);
    const bool joins_below = at > 0 && ranges->free[at - 1].end == start;
    const bool joins_above = at < ranges->count && ranges->free[at].start == end;
    if (joins_below && joins_above) {
        ranges->free[at - 1].end = ranges->free[at].end;
        erase(ranges, at);
    } else if (joins_below) {
        ranges->free[at - 1].end = end;
    } else if (joins_above) {
        ranges->free[at].start = start;
    } else if (grow(ranges)) {
        insert(ranges, at, (struct range){start, end});
    }
}
