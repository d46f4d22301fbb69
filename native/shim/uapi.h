/* Numbers and layouts of the kernel's DRM and i915 interfaces (include/uapi/drm/drm.h, i915_drm.h). */
#ifndef SHIM_UAPI_H
#define SHIM_UAPI_H
#include <stdint.h>

enum {
    DRM_MAJOR = 226,
    DRM_MINOR_CARD = 0,
    DRM_MINOR_RENDER = 128,
    DRM_IOCTL_TYPE = 'd',
    DMA_BUF_IOCTL_TYPE = 'b',
    SYNC_FILE_IOCTL_TYPE = '>',
};

/* The fields of an ioctl request (_IOC). */
enum {
    REQUEST_WRITE = 1, /* the kernel reads the argument */
    REQUEST_READ = 2,  /* the kernel writes the argument */
};
static inline uint32_t request_number(unsigned long request) {
    return (uint32_t)request & 0xff;
}
static inline uint32_t request_type(unsigned long request) {
    return (uint32_t)(request >> 8) & 0xff;
}
static inline uint32_t request_size(unsigned long request) {
    return (uint32_t)(request >> 16) & 0x3fff;
}
static inline uint32_t request_direction(unsigned long request) {
    return (uint32_t)(request >> 30) & 3;
}

enum drm_number {
    DRM_VERSION = 0x00,
    DRM_GET_UNIQUE = 0x01,
    DRM_GET_MAGIC = 0x02,
    DRM_GET_CLIENT = 0x05,
    DRM_GET_STATS = 0x06,
    DRM_SET_VERSION = 0x07,
    DRM_GEM_CLOSE = 0x09,
    DRM_GEM_FLINK = 0x0a,
    DRM_GEM_OPEN = 0x0b,
    DRM_GET_CAP = 0x0c,
    DRM_AUTH_MAGIC = 0x11,
    DRM_SET_MASTER = 0x1e,
    DRM_DROP_MASTER = 0x1f,
    DRM_PRIME_HANDLE_TO_FD = 0x2d,
    DRM_PRIME_FD_TO_HANDLE = 0x2e,
    DRM_SYNCOBJ_CREATE = 0xbf,
    DRM_SYNCOBJ_DESTROY = 0xc0,
    DRM_SYNCOBJ_HANDLE_TO_FD = 0xc1,
    DRM_SYNCOBJ_FD_TO_HANDLE = 0xc2,
    DRM_SYNCOBJ_WAIT = 0xc3,
    DRM_SYNCOBJ_RESET = 0xc4,
    DRM_SYNCOBJ_SIGNAL = 0xc5,
    DRM_SYNCOBJ_TIMELINE_WAIT = 0xca,
    DRM_SYNCOBJ_QUERY = 0xcb,
    DRM_SYNCOBJ_TRANSFER = 0xcc,
    DRM_SYNCOBJ_TIMELINE_SIGNAL = 0xcd,

    I915_GETPARAM = 0x46,
    I915_SETPARAM = 0x47,
    I915_EXECBUFFER = 0x54,
    I915_PIN = 0x55,
    I915_UNPIN = 0x56,
    I915_GEM_BUSY = 0x57,
    I915_GEM_THROTTLE = 0x58,
    I915_GEM_CREATE = 0x5b,
    I915_GEM_PREAD = 0x5c,
    I915_GEM_PWRITE = 0x5d,
    I915_GEM_MMAP = 0x5e,
    I915_GEM_SET_DOMAIN = 0x5f,
    I915_GEM_SW_FINISH = 0x60,
    I915_GEM_SET_TILING = 0x61,
    I915_GEM_GET_TILING = 0x62,
    I915_GEM_GET_APERTURE = 0x63,
    I915_GEM_MMAP_GTT = 0x64, /* also MMAP_OFFSET, whose argument is longer */
    I915_GEM_MADVISE = 0x66,
    I915_GEM_EXECBUFFER2 = 0x69,
    I915_GEM_WAIT = 0x6c,
    I915_CONTEXT_CREATE = 0x6d,
    I915_CONTEXT_DESTROY = 0x6e,
    I915_GEM_SET_CACHING = 0x6f,
    I915_GEM_GET_CACHING = 0x70,
    I915_REG_READ = 0x71,
    I915_GET_RESET_STATS = 0x72,
    I915_GEM_USERPTR = 0x73,
    I915_CONTEXT_GETPARAM = 0x74,
    I915_CONTEXT_SETPARAM = 0x75,
    I915_PERF_OPEN = 0x76,
    I915_PERF_ADD_CONFIG = 0x77,
    I915_PERF_REMOVE_CONFIG = 0x78,
    I915_QUERY = 0x79,
    I915_VM_CREATE = 0x7a,
    I915_VM_DESTROY = 0x7b,
    I915_GEM_CREATE_EXT = 0x7c,
};

/* `uintptr_t`: 4 bytes in the shim for 32-bit programs. */
struct drm_version {
    int32_t major, minor, patch;
    uintptr_t name_length, name;
    uintptr_t date_length, date;
    uintptr_t text_length, text;
};
struct drm_unique {
    uintptr_t length, text;
};
struct drm_client {
    int32_t index, authenticated;
    uintptr_t pid, uid, magic, iocs;
};
struct drm_set_version {
    int32_t interface_major, interface_minor, driver_major, driver_minor;
};
struct drm_gem_close {
    uint32_t handle, pad;
};
struct drm_gem_flink {
    uint32_t handle, name;
};
struct drm_gem_open {
    uint32_t name, handle;
    uint64_t size;
};
struct drm_capability {
    uint64_t capability, value;
};
struct drm_prime {
    uint32_t handle, flags;
    int32_t fd;
};
struct drm_syncobj_create {
    uint32_t handle, flags;
};
struct drm_syncobj_destroy {
    uint32_t handle, pad;
};
struct drm_syncobj_fd {
    uint32_t handle, flags;
    int32_t fd;
    uint32_t pad;
};
struct drm_syncobj_wait {
    uint64_t handles;
    int64_t timeout;
    uint32_t count, flags, first_signaled, pad;
};
struct drm_syncobj_timeline_wait {
    uint64_t handles, points;
    int64_t timeout;
    uint32_t count, flags, first_signaled, pad;
};
struct drm_syncobj_array {
    uint64_t handles;
    uint32_t count, pad;
};
struct drm_syncobj_timeline_array {
    uint64_t handles, points;
    uint32_t count, flags;
};
struct drm_syncobj_transfer {
    uint32_t source, destination;
    uint64_t source_point, destination_point;
    uint32_t flags, pad;
};
enum {
    SYNCOBJ_CREATE_SIGNALED = 1,
    SYNCOBJ_FD_SYNC_FILE = 1,
    SYNCOBJ_WAIT_ALL = 1,
    SYNCOBJ_WAIT_FOR_SUBMIT = 2,
    SYNCOBJ_WAIT_AVAILABLE = 4,
    SYNCOBJ_QUERY_LAST_SUBMITTED = 1,
};

struct i915_getparam {
    int32_t param;
    uintptr_t value;
};
struct i915_busy {
    uint32_t handle, busy;
};
struct i915_create {
    uint64_t size;
    uint32_t handle, pad;
};
struct i915_create_ext {
    uint64_t size;
    uint32_t handle, flags;
    uint64_t extensions;
};
struct i915_access { /* PREAD, PWRITE */
    uint32_t handle, pad;
    uint64_t offset, size, data;
};
struct i915_mmap {
    uint32_t handle, pad;
    uint64_t offset, size, address, flags;
};
struct i915_mmap_gtt {
    uint32_t handle, pad;
    uint64_t offset;
};
struct i915_mmap_offset {
    uint32_t handle, pad;
    uint64_t offset, flags, extensions;
};
struct i915_set_domain {
    uint32_t handle, read, write;
};
struct i915_set_tiling {
    uint32_t handle, mode, stride, swizzle;
};
struct i915_get_tiling {
    uint32_t handle, mode, swizzle, physical_swizzle;
};
struct i915_aperture {
    uint64_t size, available;
};
struct i915_madvise {
    uint32_t handle, advice, retained;
};
struct i915_wait {
    uint32_t handle, flags;
    int64_t timeout;
};
struct i915_userptr {
    uint64_t address, size;
    uint32_t flags, handle;
};
struct i915_caching {
    uint32_t handle, caching;
};
struct i915_context_create {
    uint32_t context, flags;
    uint64_t extensions;
};
struct i915_context_destroy {
    uint32_t context, pad;
};
struct i915_context_param {
    uint32_t context, size;
    uint64_t param, value;
};
struct i915_reset_stats {
    uint32_t context, flags, resets, active, pending, pad;
};
struct i915_reg_read {
    uint64_t offset, value;
};
struct i915_query {
    uint32_t count, flags;
    uint64_t items;
};
struct i915_query_item {
    uint64_t id;
    int32_t length;
    uint32_t flags;
    uint64_t data;
};
struct i915_extension {
    uint64_t next;
    uint32_t name, flags, reserved[4];
};
struct i915_create_regions {
    struct i915_extension base;
    uint32_t pad, count;
    uint64_t regions;
};
struct i915_region {
    uint16_t class, instance;
};
struct i915_execbuffer2 {
    uint64_t objects;
    uint32_t count, start, length, dr1, dr4, cliprect_count;
    uint64_t cliprects, flags, context, fences;
};
struct i915_exec_object {
    uint32_t handle, relocation_count;
    uint64_t relocations, alignment, offset, flags, pad_to_size, reserved;
};
struct i915_relocation {
    uint32_t target, delta;
    uint64_t offset, presumed;
    uint32_t read, write;
};
struct i915_exec_fence {
    uint32_t handle, flags;
};

enum {
    EXEC_RING_MASK = 0x3f,
    EXEC_CONSTANTS_MASK = 3 << 6,
    EXEC_GEN7_SOL_RESET = 1 << 8,
    EXEC_SECURE = 1 << 9,
    EXEC_NO_RELOC = 1 << 11,
    EXEC_HANDLE_LUT = 1 << 12,
    EXEC_BSD_SELECT_MASK = 3 << 13,
    EXEC_RESOURCE_STREAMER = 1 << 15,
    EXEC_FENCE_IN = 1 << 16,
    EXEC_FENCE_OUT = 1 << 17,
    EXEC_BATCH_FIRST = 1 << 18,
    EXEC_FENCE_ARRAY = 1 << 19,
    EXEC_FENCE_SUBMIT = 1 << 20,
    EXEC_USE_EXTENSIONS = 1 << 21,
    EXEC_KNOWN_FLAGS = (1 << 22) - 1,

    EXEC_OBJECT_WRITE = 1 << 2,
    EXEC_OBJECT_48_BITS = 1 << 3,
    EXEC_OBJECT_PINNED = 1 << 4,
    EXEC_OBJECT_PAD_TO_SIZE = 1 << 5,
    EXEC_OBJECT_CAPTURE = 1 << 7,
    EXEC_OBJECT_KNOWN_FLAGS = (1 << 8) - 1,

    EXEC_FENCE_WAIT = 1,
    EXEC_FENCE_SIGNAL = 2,

    EXEC_EXTENSION_TIMELINE_FENCES = 0,

    DOMAIN_CPU = 0x01,
    DOMAIN_GTT = 0x40,
    DOMAIN_WC = 0x80,
    DOMAINS_OF_THE_GPU = 0x3e,
    DOMAINS_OF_THE_CPU = DOMAIN_CPU | DOMAIN_GTT | DOMAIN_WC,

    CONTEXT_CREATE_USE_EXTENSIONS = 1,
    CONTEXT_CREATE_SINGLE_TIMELINE = 2,
    CONTEXT_EXTENSION_SETPARAM = 0,
};

struct i915_timeline_fences {
    struct i915_extension base;
    uint64_t count, handles, values;
};

/* Sync files (type '>') and dma-bufs (type 'b'): include/uapi/linux/sync_file.h, dma-buf.h. */
enum {
    SYNC_FILE_MERGE = 3,
    SYNC_FILE_INFO = 4,
    DMA_BUF_SYNC = 0,
    DMA_BUF_SYNC_READ_WRITE = 3,
    DMA_BUF_SYNC_END = 4,
};
struct sync_merge {
    char name[32];
    int32_t second, fence;
    uint32_t flags, pad;
};
struct sync_info {
    char name[32];
    int32_t status;
    uint32_t flags, count, pad;
    uint64_t fences;
};
struct sync_fence_info {
    char timeline[32], driver[32];
    int32_t status;
    uint32_t flags;
    uint64_t timestamp;
};
#endif
