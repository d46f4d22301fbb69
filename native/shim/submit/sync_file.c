#define _GNU_SOURCE
#include "shim/submit/sync_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/descriptors.h"
#include "shim/base/lock.h"
#include "shim/base/named_socket.h"
#include "shim/base/real.h"
#include "shim/base/user.h"
#include "shim/uapi.h"

static const char kind[] = "sync";

/* The submission that a sync file stands for. */
struct origin {
    struct origin *next;
    uint64_t inode;
    uint64_t file; /* id of the open file */
    uint64_t sequence;
};
static struct origin *origins;

/* NULL if the submission has ended. */
static struct drm_file *pending_file(const struct origin *origin) {
    struct drm_file *const file = drm_file_of_id(origin->file);
    return file && !connection_is_done(&file->connection, origin->sequence) ? file : NULL;
}

static void forget_ended(void) {
    for (struct origin **link = &origins; *link;) {
        struct origin *const origin = *link;
        if (pending_file(origin)) {
            link = &origin->next;
        } else {
            *link = origin->next;
            free(origin);
        }
    }
}

static bool has_ended(int fd) {
    struct pollfd state = {.fd = fd, .events = POLLIN};
    return poll(&state, 1, 0) == 1;
}

int sync_file_new(void) {
    return named_socket_new(kind, true);
}

int sync_file_after_submissions(struct drm_file *file) {
    struct g4_live_header packet = {.type = G4_LIVE_FENCE};
    struct stat64 status;
    int ends[2];
    forget_ended();
    struct origin *const origin = malloc(sizeof *origin);
    if (!origin || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        free(origin);
        return -1;
    }
    if (REAL(fstat64)(ends[0], &status) || !named_socket_bind(ends[0], kind)) {
        free(origin);
        REAL(close)(ends[0]);
        REAL(close)(ends[1]);
        return -1;
    }
    *origin = (struct origin){
        .next = origins, .inode = status.st_ino, .file = file->id, .sequence = file->connection.submitted};
    origins = origin;
    (void)connection_send(&file->connection, &packet, sizeof packet, ends[1]); /* fails: the other end is gone, too */
    REAL(close)(ends[1]);
    return ends[0];
}

struct drm_file *sync_file_origin(int fd, uint64_t *sequence) {
    struct stat64 status;
    if (!named_socket_is(fd, kind) || REAL(fstat64)(fd, &status)) {
        return NULL;
    }
    for (const struct origin *origin = origins; origin; origin = origin->next) {
        if (origin->inode == status.st_ino) {
            *sequence = origin->sequence;
            return pending_file(origin);
        }
    }
    return NULL;
}

int sync_file_wait_before(int fd, const struct drm_file *file) {
    uint64_t sequence;
    if (!named_socket_is(fd, kind)) {
        return EINVAL;
    }
    if (has_ended(fd) || (file && sync_file_origin(fd, &sequence) == file)) {
        return 0;
    }
    /* The program may close its descriptor meanwhile. */
    const int own = descriptor_hide(REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 3));
    if (own < 0) {
        return errno;
    }
    struct pollfd state = {.fd = own, .events = POLLIN};
    shim_unlock();
    (void)poll(&state, 1, -1);
    shim_lock();
    descriptor_close(own);
    return EAGAIN;
}

int sync_file_wait(int fd) {
    struct pollfd state = {.fd = fd, .events = POLLIN};
    if (!named_socket_is(fd, kind)) {
        return EINVAL;
    }
    while (poll(&state, 1, -1) < 0 && errno == EINTR) {
    }
    return 0;
}

/* A sync file that is signalled when both are.  Of two submissions of a connection, the later one decides. */
static int merged(int first, int second) {
    uint64_t sequences[2] = {0, 0};
    const struct drm_file *const file = sync_file_origin(first, &sequences[0]);
    const bool same = file && sync_file_origin(second, &sequences[1]) == file;
    const bool first_decides = same ? sequences[0] >= sequences[1] : has_ended(second);
    if (!same && !first_decides && !has_ended(first)) {
        (void)sync_file_wait(first);
    }
    return REAL(fcntl)(first_decides ? first : second, F_DUPFD_CLOEXEC, 0);
}

static int merge(int fd, void *argument) {
    struct sync_merge request;
    if (!user_read(&request, (uintptr_t)argument, sizeof request)) {
        return EFAULT;
    }
    if (request.flags || request.pad) {
        return EINVAL;
    }
    if (!named_socket_is(request.second, kind)) {
        return ENOENT;
    }
    request.fence = merged(fd, request.second);
    if (request.fence < 0) {
        return errno;
    }
    return user_write((uintptr_t)argument, &request, sizeof request) ? 0 : EFAULT;
}

static int get_info(int fd, void *argument) {
    struct sync_info request;
    if (!user_read(&request, (uintptr_t)argument, sizeof request)) {
        return EFAULT;
    }
    if (request.flags || request.pad || (request.count && !request.fences)) {
        return EINVAL;
    }
    const bool ended = has_ended(fd);
    if (request.count) {
        struct sync_fence_info fence = {.status = ended, .timestamp = ended ? (uint64_t)shim_now() : 0};
        (void)snprintf(fence.timeline, sizeof fence.timeline, "gen4emu");
        (void)snprintf(fence.driver, sizeof fence.driver, "i915");
        if (!user_write(request.fences, &fence, sizeof fence)) {
            return EFAULT;
        }
    }
    (void)snprintf(request.name, sizeof request.name, "gen4emu");
    request.status = ended;
    request.count = 1;
    return user_write((uintptr_t)argument, &request, sizeof request) ? 0 : EFAULT;
}

bool sync_file_ioctl(int fd, unsigned long request, void *argument, int *error) {
    const uint32_t number = request_number(request);
    if ((number != SYNC_FILE_MERGE && number != SYNC_FILE_INFO) || !named_socket_is(fd, kind)) {
        return false;
    }
    *error = number == SYNC_FILE_MERGE ? merge(fd, argument) : get_info(fd, argument);
    return true;
}
