#define _GNU_SOURCE
#include "shim/submit/sync_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/lock.h"
#include "shim/base/named_socket.h"
#include "shim/base/user.h"
#include "shim/uapi.h"

static const char kind[] = "sync";

int sync_file_new(void) {
    return named_socket_new(kind, true);
}

int sync_file_wait(int fd) {
    return named_socket_is(fd, kind) ? 0 : EINVAL;
}

static int merge(void *argument) {
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
    request.fence = sync_file_new();
    if (request.fence < 0) {
        return errno;
    }
    return user_write((uintptr_t)argument, &request, sizeof request) ? 0 : EFAULT;
}

static int get_info(void *argument) {
    struct sync_info request;
    if (!user_read(&request, (uintptr_t)argument, sizeof request)) {
        return EFAULT;
    }
    if (request.flags || request.pad || (request.count && !request.fences)) {
        return EINVAL;
    }
    if (request.count) {
        struct sync_fence_info fence = {.status = 1, .timestamp = (uint64_t)shim_now()};
        (void)snprintf(fence.timeline, sizeof fence.timeline, "gen4emu");
        (void)snprintf(fence.driver, sizeof fence.driver, "i915");
        if (!user_write(request.fences, &fence, sizeof fence)) {
            return EFAULT;
        }
    }
    (void)snprintf(request.name, sizeof request.name, "gen4emu");
    request.status = 1;
    request.count = 1;
    return user_write((uintptr_t)argument, &request, sizeof request) ? 0 : EFAULT;
}

bool sync_file_ioctl(int fd, unsigned long request, void *argument, int *error) {
    const uint32_t number = request_number(request);
    if ((number != SYNC_FILE_MERGE && number != SYNC_FILE_INFO) || !named_socket_is(fd, kind)) {
        return false;
    }
    *error = number == SYNC_FILE_MERGE ? merge(argument) : get_info(argument);
    return true;
}
