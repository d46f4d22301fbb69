#define _GNU_SOURCE
#include "shim/base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/base/real.h"

/* The stack of this thread.  Everything between the current frame and `high` is mapped, so it is copied without a
 * system call; most arguments of ioctls are there. */
static __thread struct { uintptr_t low, high; } stack __attribute__((tls_model("initial-exec")));

static void find_stack(void) {
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    stack.low = stack.high = 1; /* unknown; do not try again */
    if (pthread_getattr_np(pthread_self(), &attributes)) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        stack.low = (uintptr_t)low;
        stack.high = stack.low + size;
    }
    pthread_attr_destroy(&attributes);
}

static bool is_on_stack(uint64_t address, size_t size) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (stack.high == 0) {
        find_stack();
    }
    return stack.low <= here && here <= address && address <= stack.high && size <= stack.high - address;
}

/* If a sandbox forbids the system call, the address is trusted. */
static bool is_forbidden(void) {
    return errno == EPERM || errno == ENOSYS;
}

/* The kernel reads memory that a program has mapped only for writing, as x86 can, but process_vm_readv() does not.
 * write() does, so such memory goes through a pipe. */
static bool read_through_pipe(uint8_t *to, uint64_t address, size_t size) {
    enum {
        PIECE = 4096 /* fits into an empty pipe */
    };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        return false;
    }
    bool fine = true;
    for (size_t done = 0; done < size && fine; done += PIECE) {
        const size_t piece = size - done < PIECE ? size - done : PIECE;
        fine = write(ends[1], user_pointer(address + done), piece) == (ssize_t)piece &&
               read(ends[0], to + done, piece) == (ssize_t)piece;
    }
    REAL(close)(ends[0]);
    REAL(close)(ends[1]);
    return fine;
}

bool user_read(void *to, uint64_t address, size_t size) {
    if (size == 0) {
        return true;
    }
    if (is_on_stack(address, size)) {
        memcpy(to, user_pointer(address), size);
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
    return address && read_through_pipe(to, address, size);
}

bool user_write(uint64_t address, const void *from, size_t size) {
    if (size == 0) {
        return true;
    }
    if (is_on_stack(address, size)) {
        memcpy(user_pointer(address), from, size);
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
