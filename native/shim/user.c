/* Copies from and to the program's memory by the kernel, which checks the addresses (user.h). */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where the system call is forbidden we have to trust the program. */
static bool is_forbidden(void) {
    return errno == EPERM || errno == ENOSYS;
}

bool user_read(void *to, uint64_t address, size_t size) {
    if (size == 0) {
        return true;
    }
    struct iovec here = {to, size};
    struct iovec there = {user_pointer(address), size};
    if (address && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size) {
        return true;
    }
    if (address && is_forbidden()) {
        memcpy(to, there.iov_base, size);
        return true;
    }
    return false;
}

bool user_write(uint64_t address, const void *from, size_t size) {
    if (size == 0) {
        return true;
    }
    struct iovec here = {(void *)from, size};
    struct iovec there = {user_pointer(address), size};
    if (address && process_vm_writev(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size) {
        return true;
    }
    if (address && is_forbidden()) {
        memcpy(there.iov_base, from, size);
        return true;
    }
    return false;
}
