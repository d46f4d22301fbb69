/* Access to the program's memory by addresses that may be invalid: EFAULT instead of a crash, as in the kernel.
 *
 * process_vm_readv() and process_vm_writev() check the addresses. */
#ifndef SHIM_USER_H
#define SHIM_USER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ioctl arguments hold addresses as integers. */
static inline void *user_pointer(uint64_t address) {
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): the kernel interface has integers */
}

/* False if a part of the range is not mapped. */
bool user_read(void *to, uint64_t address, size_t size);
bool user_write(uint64_t address, const void *from, size_t size);

#endif
