/* Hooks of functions that take a descriptor or an address: ioctl, close, dup, mmap, syscall. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/descriptors.h"
#include "shim/base/lock.h"
#include "shim/base/real.h"
#include "shim/base/user.h"
#include "shim/device/drm_file.h"
#include "shim/device/memfd.h"
#include "shim/gem/cpu_map.h"
#include "shim/hooks/start.h"
#include "shim/ioctls.h"

HOOK int ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    int result;
    if (shim_active() && ioctl_dispatch(fd, request, argument, &result)) {
        return result;
    }
    return REAL(ioctl)(fd, request, argument);
}

/* --- closing --- */

static void sweep(void) {
    const int error = errno;
    shim_lock();
    drm_file_sweep();
    shim_unlock();
    errno = error;
}

HOOK int close(int fd) {
    if (!shim_active()) {
        return REAL(close)(fd);
    }
    if (descriptor_is_hidden(fd)) {
        errno = EBADF;
        return -1;
    }
    const bool ours = drm_file_loses_descriptor(fd);
    const int result = REAL(close)(fd);
    if (ours) {
        sweep();
    }
    return result;
}

/* Close the ranges between the hidden descriptors. */
HOOK int close_range(unsigned first, unsigned last, int flags) {
    if (!shim_active()) {
        return REAL(close_range)(first, last, flags);
    }
    if (first > last) {
        errno = EINVAL;
        return -1;
    }
    drm_file_forget_descriptor();
    for (int ours; (ours = descriptor_next(first, last)) >= 0;) {
        const unsigned at = (unsigned)ours;
        if (at > first && REAL(close_range)(first, at - 1, flags)) {
            return -1;
        }
        if (at == last) {
            sweep();
            return 0;
        }
        first = at + 1;
    }
    const int result = REAL(close_range)(first, last, flags);
    sweep();
    return result;
}

HOOK void closefrom(int lowest) {
    if (!shim_active()) {
        REAL(closefrom)(lowest);
        return;
    }
    drm_file_forget_descriptor();
    unsigned first = lowest < 0 ? 0 : (unsigned)lowest;
    for (int ours; (ours = descriptor_next(first, UINT32_MAX)) >= 0;) {
        const unsigned at = (unsigned)ours;
        if (at > first) {
            (void)REAL(close_range)(first, at - 1, 0);
        }
        first = at + 1;
    }
    REAL(closefrom)((int)first);
    sweep();
}

/* Hidden descriptors do not exist for the program, so it can neither duplicate nor replace them. */
static bool may_not_dup(int from, int to) {
    const bool hidden = shim_active() && (descriptor_is_hidden(from) || descriptor_is_hidden(to));
    if (hidden) {
        errno = EBADF;
    }
    return hidden;
}

HOOK int dup2(int from, int to) {
    if (may_not_dup(from, to)) {
        return -1;
    }
    const bool ours = shim_active() && from != to && drm_file_loses_descriptor(to);
    const int result = REAL(dup2)(from, to);
    if (ours) {
        sweep();
    }
    return result;
}

HOOK int dup3(int from, int to, int flags) {
    if (may_not_dup(from, to)) {
        return -1;
    }
    const bool ours = shim_active() && from != to && drm_file_loses_descriptor(to);
    const int result = REAL(dup3)(from, to, flags);
    if (ours) {
        sweep();
    }
    return result;
}

/* --- mappings --- */

/* The fake offsets of objects are larger than any file. */
static bool could_be_buffer(int fd, off64_t offset) {
    return fd >= 0 && (uint64_t)offset >> MAP_SLOT_SHIFT && drm_file_ever_opened();
}

/* Whether a range is not inside the shared buffer behind a descriptor, although a mapping of its file may be. */
static bool is_beyond_buffer(int fd, uint64_t offset, uint64_t length) {
    const uint64_t size = fd >= 0 && drm_file_ever_opened() ? memfd_buffer_size(fd) : 0;
    return size && (offset > size || length > size - offset);
}

HOOK void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    if (!shim_active()) {
        return REAL(mmap64)(address, length, protection, flags, fd, offset);
    }
    if (could_be_buffer(fd, offset)) {
        shim_lock();
        struct drm_file *const file = drm_file_of_descriptor(fd);
        void *result = MAP_FAILED;
        if (file) {
            result = cpu_map_create(file, address, length, protection, flags, (uint64_t)offset);
            const int error = errno;
            drm_file_put(file);
            errno = error;
        }
        shim_unlock();
        if (file) {
            return result;
        }
    }
    if (is_beyond_buffer(fd, (uint64_t)offset, length)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (flags & MAP_FIXED && cpu_map_may_contain(address, length)) {
        shim_lock();
        cpu_map_forget(address, length);
        shim_unlock();
    }
    void *const result = REAL(mmap64)(address, length, protection, flags, fd, offset);
    if (result == MAP_FAILED && errno == ENODEV && drm_file_is_descriptor(fd)) {
        errno = EINVAL; /* the device's error for an unknown offset */
    }
    return result;
}

HOOK void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap64(address, length, protection, flags, fd, offset);
}

HOOK int munmap(void *address, size_t length) {
    if (shim_active() && cpu_map_may_contain(address, length)) {
        shim_lock();
        cpu_map_forget(address, length);
        shim_unlock();
    }
    return REAL(munmap)(address, length);
}

HOOK void *mremap(void *address, size_t old_length, size_t length, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *const wanted = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (shim_active() && cpu_map_may_contain(address, old_length)) {
        void *result;
        shim_lock();
        const bool ours = cpu_map_resize(address, old_length, length, flags, wanted, &result);
        shim_unlock();
        if (ours) {
            return result;
        }
    }
    return REAL(mremap)(address, old_length, length, flags, wanted);
}

/* --- the size of a buffer --- */

/* A dma-buf answers a seek to its end or its start with its size or 0, and has no other positions. */
HOOK off64_t lseek64(int fd, off64_t offset, int whence) {
    const uint64_t size = shim_active() && drm_file_ever_opened() ? memfd_buffer_size(fd) : 0;
    if (size == 0) {
        return REAL(lseek64)(fd, offset, whence);
    }
    if (offset || (whence != SEEK_SET && whence != SEEK_END)) {
        errno = EINVAL;
        return -1;
    }
    return whence == SEEK_END ? (off64_t)size : 0;
}

HOOK off_t lseek(int fd, off_t offset, int whence) {
    const off64_t result = lseek64(fd, offset, whence);
    if (result != (off_t)result) {
        errno = EOVERFLOW;
        return -1;
    }
    return (off_t)result;
}

/* --- programs that use syscall() --- */

HOOK long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (shim_active()) {
        switch (number) {
        case SYS_ioctl:
            return ioctl((int)a[0], (unsigned long)a[1], user_pointer((uint64_t)a[2]));
        case SYS_openat:
            return openat((int)a[0], user_pointer((uint64_t)a[1]), (int)a[2], (mode_t)a[3]);
#ifdef SYS_open
        case SYS_open:
            return open(user_pointer((uint64_t)a[0]), (int)a[1], (mode_t)a[2]);
#endif
        case SYS_close:
            return close((int)a[0]);
#ifdef SYS_mmap2
        case SYS_mmap2: /* in 32 bits, SYS_mmap takes a pointer to a struct */
            return (long)mmap64(user_pointer((uint64_t)a[0]), (size_t)a[1], (int)a[2], (int)a[3], (int)a[4],
                                (off64_t)(unsigned long)a[5] * 4096);
#else
        case SYS_mmap:
            return (long)mmap(user_pointer((uint64_t)a[0]), (size_t)a[1], (int)a[2], (int)a[3], (int)a[4], (off_t)a[5]);
#endif
        case SYS_munmap:
            return munmap(user_pointer((uint64_t)a[0]), (size_t)a[1]);
        default:
            break;
        }
    }
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
