/* Packets of other processes for the device server, and the shared memory that saves some of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/live.h"
#include "core/clock.h"
#include "core/processors.h"

enum {
    DESCRIPTORS = 4,
    POLLS = 4, /* of the socket between two reads of the clock */
};

/* ---- receiving ---- */

static void take_descriptors(struct msghdr *message, struct g4_packet *packet) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof descriptor, sizeof descriptor);
            if (packet->descriptors++ == 0) {
                packet->descriptor = descriptor;
            } else {
                (void)close(descriptor);
            }
        }
    }
    if (packet->descriptors > 1) {
        (void)close(packet->descriptor);
        packet->descriptor = -1;
    }
}

static void receive(int socket, void *buffer, size_t size, int flags, struct g4_packet *packet) {
    union {
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};

    *packet = (struct g4_packet){.descriptor = -1};
    do {
        packet->size = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    } while (packet->size < 0 && errno == EINTR);
    if (packet->size < 0) {
        packet->size = -errno;
    } else {
        take_descriptors(&message, packet);
        packet->truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    }
}

static bool has_arrived(const struct g4_packet *packet) {
    return packet->size != -EAGAIN && packet->size != -EWOULDBLOCK;
}

uint64_t g4_packet_receive(int socket, void *buffer, size_t size, uint64_t patience, struct g4_packet *packet) {
    const uint64_t start = g4_now_ns();

    receive(socket, buffer, size, MSG_DONTWAIT, packet);
    while (!has_arrived(packet) && g4_now_ns() - start < patience) {
        for (int i = 0; i < POLLS && !has_arrived(packet); i++) {
            receive(socket, buffer, size, MSG_DONTWAIT, packet);
        }
        (void)(has_arrived(packet) || sched_yield()); /* on a busy machine, other threads come first */
    }
    if (!has_arrived(packet)) {
        receive(socket, buffer, size, 0, packet);
    }
    return g4_now_ns() - start;
}

/* ---- progress ---- */

uint32_t g4_live_completed(uint32_t *completed, const uint32_t *sleeping, const uint32_t *processor,
                           uint64_t sequence) {
    __atomic_store_n(completed, (uint32_t)sequence, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(sleeping, __ATOMIC_SEQ_CST)) {
        return G4_LIVE_SLEEPS;
    }
    const uint32_t here = (uint32_t)g4_processor() + 1;
    return here && __atomic_load_n(processor, __ATOMIC_RELAXED) == here ? G4_LIVE_SHARES_PROCESSOR : G4_LIVE_POLLS;
}

void g4_live_failed(uint32_t *failed) {
    (void)__atomic_fetch_add(failed, 1, __ATOMIC_SEQ_CST);
}
