/* Whether a memory has refused a page: what was written then depends on the order of writes. */
#ifndef FUZZ_FULL_H
#define FUZZ_FULL_H

#include "core/memory.h"

enum {
    PAGES_OF_TABLES = 64, /* that a page may need */
};

static inline bool may_be_full(const struct g4_mem *mem) {
    return g4_mem_pages_left(mem) < PAGES_OF_TABLES;
}

#endif
