/* The table of ioctls.
 *
 * Layers of the shim; an include may only point to the left:
 * uapi.h, kms/kms_uapi.h, protocol.h < base < device < gem < submit < kms < ioctls.c, driver.c < hooks
 * Lower layers reach higher ones through struct drm_driver (driver.c).  base wraps libc and the kernel; device has open
 * files, their connections and memory; hooks are the functions that programs call.
 */
#define _GNU_SOURCE
#include "shim/ioctls.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/base/user.h"
#include "shim/device/chips.h"
#include "shim/gem/gem_ioctls.h"
#include "shim/gem/gem_object.h"
#include "shim/kms/display.h"
#include "shim/submit/contexts.h"
#include "shim/submit/execbuffer.h"
#include "shim/submit/sync_file.h"
#include "shim/submit/syncobjs.h"
#include "shim/uapi.h"

typedef int handler(struct drm_file *file, void *argument, uint32_t size);

/* --- ioctls of the open file --- */

static int nothing(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)argument;
    (void)size;
    return 0;
}

static int no_device(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)argument;
    (void)size;
    return ENODEV;
}

static int invalid(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)argument;
    (void)size;
    return EINVAL;
}

/* Empty before SET_VERSION: libdrm takes a file with a bus id for one in use. */
static int get_unique(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    static const char bus[] = "pci:0000:00:02.0";
    struct drm_unique *const unique = argument;
    const size_t length = file->has_name ? sizeof bus - 1 : 0;
    const bool fits = unique->length >= length;
    unique->length = length;
    return !fits || user_write(unique->text, bus, length) ? 0 : EFAULT;
}

static int get_magic(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const uint32_t magic = (uint32_t)file->id;
    memcpy(argument, &magic, sizeof magic);
    return 0;
}

static int get_client(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    struct drm_client *const client = argument;
    if (client->index != 0) {
        return EINVAL;
    }
    *client = (struct drm_client){.authenticated = 1, .pid = (uint64_t)getpid(), .uid = getuid()};
    return 0;
}

static int get_stats(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    memset(argument, 0, size);
    return 0;
}

static int set_version(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    file->has_name = true;
    *(struct drm_set_version *)argument = (struct drm_set_version){1, 4, 1, 6};
    return 0;
}

/* --- the table --- */

enum {
    MAX_ARGUMENT = 512
};

static const struct entry {
    handler *handle;
    bool render; /* allowed on the render node */
} table[256] = {
    [DRM_VERSION] = {chip_version, true},
    [DRM_GET_UNIQUE] = {get_unique, false},
    [DRM_GET_MAGIC] = {get_magic, false},
    [DRM_AUTH_MAGIC] = {nothing, false},
    [DRM_GET_CLIENT] = {get_client, false},
    [DRM_GET_STATS] = {get_stats, false},
    [DRM_SET_VERSION] = {set_version, false},
    [DRM_SET_MASTER] = {nothing, false},
    [DRM_DROP_MASTER] = {nothing, false},
    [DRM_GEM_CLOSE] = {gem_close, true},
    [DRM_GEM_FLINK] = {gem_flink, false},
    [DRM_GEM_OPEN] = {gem_open, false},
    [DRM_GET_CAP] = {chip_get_cap, true},
    [DRM_PRIME_HANDLE_TO_FD] = {gem_to_fd, true},
    [DRM_PRIME_FD_TO_HANDLE] = {gem_from_fd, true},
    [DRM_SYNCOBJ_CREATE] = {syncobj_create, true},
    [DRM_SYNCOBJ_DESTROY] = {syncobj_destroy, true},
    [DRM_SYNCOBJ_HANDLE_TO_FD] = {syncobj_to_fd, true},
    [DRM_SYNCOBJ_FD_TO_HANDLE] = {syncobj_from_fd, true},
    [DRM_SYNCOBJ_WAIT] = {syncobj_wait, true},
    [DRM_SYNCOBJ_RESET] = {syncobj_reset, true},
    [DRM_SYNCOBJ_SIGNAL] = {syncobj_signal, true},
    [DRM_SYNCOBJ_TIMELINE_WAIT] = {syncobj_timeline_wait, true},
    [DRM_SYNCOBJ_QUERY] = {syncobj_query, true},
    [DRM_SYNCOBJ_TRANSFER] = {syncobj_transfer, true},
    [DRM_SYNCOBJ_TIMELINE_SIGNAL] = {syncobj_timeline_signal, true},

    [KMS_SET_CLIENT_CAP] = {kms_set_client_cap, false},
    [KMS_WAIT_VBLANK] = {kms_wait_vblank, false},
    [KMS_GET_SEQUENCE] = {kms_get_sequence, false},
    [KMS_QUEUE_SEQUENCE] = {kms_queue_sequence, false},
    [KMS_GET_PIPE] = {kms_get_pipe, false},
    [KMS_GET_RESOURCES] = {kms_get_resources, false},
    [KMS_GET_CRTC] = {kms_get_crtc, false},
    [KMS_SET_CRTC] = {kms_set_crtc, false},
    [KMS_CURSOR] = {kms_cursor, false},
    [KMS_CURSOR2] = {kms_cursor, false},
    [KMS_GET_GAMMA] = {kms_get_gamma, false},
    [KMS_SET_GAMMA] = {kms_set_gamma, false},
    [KMS_GET_ENCODER] = {kms_get_encoder, false},
    [KMS_GET_CONNECTOR] = {kms_get_connector, false},
    [KMS_GET_PROPERTY] = {kms_get_property, false},
    [KMS_SET_PROPERTY] = {kms_set_property, false},
    [KMS_GET_BLOB] = {kms_get_blob, false},
    [KMS_GET_FB] = {kms_get_fb, false},
    [KMS_GET_FB2] = {kms_get_fb2, false},
    [KMS_ADD_FB] = {kms_add_fb, false},
    [KMS_ADD_FB2] = {kms_add_fb2, false},
    [KMS_REMOVE_FB] = {kms_remove_fb, false},
    [KMS_PAGE_FLIP] = {kms_page_flip, false},
    [KMS_DIRTY_FB] = {kms_dirty_fb, false},
    [KMS_CREATE_DUMB] = {kms_create_dumb, false},
    [KMS_MAP_DUMB] = {kms_map_dumb, false},
    [KMS_DESTROY_DUMB] = {kms_destroy_dumb, false},
    [KMS_GET_PLANES] = {kms_get_planes, false},
    [KMS_GET_PLANE] = {kms_get_plane, false},
    [KMS_SET_PLANE] = {kms_set_plane, false},
    [KMS_OBJECT_GET_PROPERTIES] = {kms_object_get_properties, false},
    [KMS_OBJECT_SET_PROPERTY] = {kms_object_set_property, false},
    [KMS_ATOMIC] = {kms_atomic, false},
    [KMS_CREATE_BLOB] = {kms_create_blob, false},
    [KMS_DESTROY_BLOB] = {kms_destroy_blob, false},
    [KMS_CREATE_LEASE] = {invalid, false},
    [KMS_LIST_LESSEES] = {invalid, false},
    [KMS_GET_LEASE] = {invalid, false},
    [KMS_REVOKE_LEASE] = {invalid, false},

    [0x40] = {nothing, false}, /* 0x40 to 0x53: ioctls of user mode setting, which the kernel accepts and ignores */
    [0x41] = {nothing, false},
    [0x42] = {nothing, false},
    [0x43] = {nothing, false},
    [0x44] = {nothing, false},
    [0x45] = {nothing, false},
    [I915_GETPARAM] = {chip_get_param, true},
    [I915_SETPARAM] = {nothing, false},
    [0x48] = {nothing, false},
    [0x49] = {nothing, false},
    [0x4a] = {nothing, false},
    [0x4b] = {nothing, false},
    [0x4c] = {nothing, false},
    [0x4d] = {nothing, false},
    [0x4e] = {nothing, false},
    [0x4f] = {nothing, false},
    [0x50] = {nothing, false},
    [0x51] = {nothing, false},
    [0x52] = {nothing, false},
    [0x53] = {nothing, false},
    [I915_EXECBUFFER] = {invalid, false},
    [I915_PIN] = {no_device, false},
    [I915_UNPIN] = {no_device, false},
    [I915_GEM_BUSY] = {gem_busy, true},
    [I915_GEM_THROTTLE] = {gem_throttle, true},
    [I915_GEM_CREATE] = {gem_create, true},
    [I915_GEM_CREATE_EXT] = {gem_create_ext, true},
    [I915_GEM_PREAD] = {gem_pread, true},
    [I915_GEM_PWRITE] = {gem_pwrite, true},
    [I915_GEM_MMAP] = {gem_mmap, true},
    [I915_GEM_SET_DOMAIN] = {gem_set_domain, true},
    [I915_GEM_SW_FINISH] = {gem_sw_finish, true},
    [I915_GEM_SET_TILING] = {gem_set_tiling, true},
    [I915_GEM_GET_TILING] = {gem_get_tiling, true},
    [I915_GEM_GET_APERTURE] = {gem_aperture, true},
    [I915_GEM_MMAP_GTT] = {gem_mmap_offset, true},
    [I915_GEM_MADVISE] = {gem_madvise, true},
    [I915_GEM_EXECBUFFER2] = {execbuffer_ioctl, true},
    [I915_GEM_WAIT] = {gem_wait, true},
    [I915_CONTEXT_CREATE] = {context_create, true},
    [I915_CONTEXT_DESTROY] = {context_destroy, true},
    [I915_GEM_SET_CACHING] = {gem_set_caching, true},
    [I915_GEM_GET_CACHING] = {gem_get_caching, true},
    [I915_REG_READ] = {chip_read_register, true},
    [I915_GET_RESET_STATS] = {context_reset_stats, true},
    [I915_GEM_USERPTR] = {gem_userptr, true},
    [I915_CONTEXT_GETPARAM] = {context_get_param, true},
    [I915_CONTEXT_SETPARAM] = {context_set_param, true},
    [I915_PERF_OPEN] = {no_device, true},
    [I915_PERF_ADD_CONFIG] = {no_device, true},
    [I915_PERF_REMOVE_CONFIG] = {no_device, true},
    [I915_QUERY] = {chip_query, true},
    [I915_VM_CREATE] = {no_device, true},
    [I915_VM_DESTROY] = {no_device, true},
};

/* Log each number once. */
static void log_unknown(struct drm_file *file, uint32_t number) {
    static bool logged[256];
    if (!logged[number]) {
        logged[number] = true;
        connection_log(&file->connection, "unknown ioctl 0x%02x", number);
    }
}

/* True for ioctls that only the driver in use calls.  Other drivers probe the device, too: they read parameters, and
 * set the tiling of a buffer to find out whether memory is swizzled. */
static bool is_work(uint32_t number) {
    switch (number) {
    case I915_GEM_PREAD:
    case I915_GEM_PWRITE:
    case I915_GEM_MMAP:
    case I915_GEM_MMAP_GTT:
    case I915_GEM_EXECBUFFER2:
        return true;
    default:
        return false;
    }
}

static int run(struct drm_file *file, unsigned long request, void *argument) {
    const uint32_t number = request_number(request);
    const struct entry *const entry = &table[number];
    if (!entry->handle) {
        log_unknown(file, number);
        return EINVAL;
    }
    if (file->minor == DRM_MINOR_RENDER && !entry->render) {
        return EACCES;
    }
    _Alignas(8) uint8_t copy[MAX_ARGUMENT] = {0};
    const uint32_t whole = request_size(request);
    const uint32_t size = whole < MAX_ARGUMENT ? whole : MAX_ARGUMENT;
    if (request_direction(request) & REQUEST_WRITE && !user_read(copy, (uintptr_t)argument, size)) {
        return EFAULT;
    }
    if (!file->connection.used && is_work(number)) {
        connection_send_used(&file->connection);
    }
    const int error = entry->handle(file, copy, size);
    /* Copy out even on failure, as the kernel does: SET_TILING reports the present tiling then. */
    if (request_direction(request) & REQUEST_READ && !user_write((uintptr_t)argument, copy, size)) {
        return EFAULT;
    }
    return error;
}

/* DMA_BUF_IOCTL_SYNC needs no action: contents are always up to date.  False: the descriptor is not one
 * of our buffers. */
static bool dma_buf_ioctl(int fd, unsigned long request, const void *argument, int *error) {
    uint64_t flags;

    if (request_number(request) != DMA_BUF_SYNC || !drm_file_ever_opened() || !memfd_find(fd)) {
        return false;
    }
    if (!user_read(&flags, (uintptr_t)argument, sizeof flags)) {
        *error = EFAULT;
    } else if (flags & ~(uint64_t)(DMA_BUF_SYNC_READ_WRITE | DMA_BUF_SYNC_END) || !(flags & DMA_BUF_SYNC_READ_WRITE)) {
        *error = EINVAL;
    }
    return true;
}

bool ioctl_dispatch(int fd, unsigned long request, void *argument, int *result) {
    const uint32_t type = request_type(request);
    if (type != DRM_IOCTL_TYPE && type != DMA_BUF_IOCTL_TYPE && type != SYNC_FILE_IOCTL_TYPE) {
        return false;
    }
    const int before = errno;
    int error = 0;
    bool ours = false;
    shim_lock();
    struct drm_file *const file = type == DRM_IOCTL_TYPE ? drm_file_of_descriptor(fd) : NULL;
    if (file) {
        ours = true;
        /* The answers depend on the chip, which only the server knows. */
        const int unconnected = file->connection.welcome.chip.pci_id ? 0 : drm_file_connect(file);
        error = unconnected ? unconnected : run(file, request, argument);
        drm_file_put(file);
    } else if (type == SYNC_FILE_IOCTL_TYPE) {
        ours = sync_file_ioctl(fd, request, argument, &error);
    } else {
        ours = dma_buf_ioctl(fd, request, argument, &error);
    }
    shim_unlock();
    errno = error ? error : before;
    *result = error ? -1 : 0;
    return ours;
}
