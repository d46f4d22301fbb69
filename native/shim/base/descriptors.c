#define _GNU_SOURCE
#include "shim/base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/real.h"

enum {
    LIMIT = 1 << 16
};
static uint8_t hidden[LIMIT / 8];
static int hidden_end; /* all hidden descriptors are below this number */

static void mark(int fd, bool set) {
    if (fd < 0 || fd >= LIMIT) {
        return;
    }
    const uint8_t bit = (uint8_t)(1u << (fd & 7));
    if (set) {
        __atomic_or_fetch(&hidden[fd >> 3], bit, __ATOMIC_RELAXED);
        if (fd >= __atomic_load_n(&hidden_end, __ATOMIC_RELAXED)) {
            __atomic_store_n(&hidden_end, fd + 1, __ATOMIC_RELAXED);
        }
    } else {
        __atomic_and_fetch(&hidden[fd >> 3], (uint8_t)~bit, __ATOMIC_RELAXED);
    }
}

static int high_number(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 8192) {
        return 4096;
    }
    return (int)(limit.rlim_cur / 4 * 3);
}

int descriptor_hide(int fd) {
    if (fd < 0) {
        return fd;
    }
    const int high = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, high_number());
    if (high >= 0) {
        REAL(close)(fd);
        fd = high;
    }
    mark(fd, true);
    return fd;
}

void descriptor_close(int fd) {
    if (fd >= 0) {
        mark(fd, false);
        REAL(close)(fd);
    }
}

bool descriptor_is_hidden(int fd) {
    return fd >= 0 && fd < __atomic_load_n(&hidden_end, __ATOMIC_RELAXED) &&
           (__atomic_load_n(&hidden[fd >> 3], __ATOMIC_RELAXED) >> (fd & 7) & 1);
}

int descriptor_next(unsigned first, unsigned last) {
    const unsigned end = (unsigned)__atomic_load_n(&hidden_end, __ATOMIC_RELAXED);
    for (unsigned fd = first; fd < end && fd <= last; fd++) {
        if (descriptor_is_hidden((int)fd)) {
            return (int)fd;
        }
    }
    return -1;
}

/* Ancillary data with one descriptor, aligned as sendmsg() requires. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

long descriptor_send(int socket, const void *data, unsigned long size, int passed) {
    struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    union control control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &passed, sizeof passed);
    }
    long sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

long descriptor_receive(int socket, void *data, unsigned long size, int *passed, int flags) {
    struct iovec part = {.iov_base = data, .iov_len = size};
    union control control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    *passed = -1;
    long got;
    do {
        got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return got;
    }
    const struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(passed, CMSG_DATA(header), sizeof *passed);
    }
    return got;
}
