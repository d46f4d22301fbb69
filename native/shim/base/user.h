/* Memory of the program that may not be there: EFAULT instead of a crash (spec/80 3.3, D16). */
#ifndef SHIM_USER_H
#define SHIM_USER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The interface has addresses as numbers. */
static inline void *user_pointer(uint64_t address) {
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* False where the program has no such memory. */
bool user_read(void *to, uint64_t address, size_t size);
bool user_write(uint64_t address, const void *from, size_t size);

#endif
