/* exercise: a 64-bit or 32-bit program that uses the device without any library.
 *
 * Prints "ok" or the first failure.  Frees everything, so that a leak checker reports leaks of the shim only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/kms/kms_uapi.h"
#include "shim/uapi.h"

#define CALL(fd, number, argument)                                                                                     \
    ioctl(fd,                                                                                                          \
          (unsigned long)(_IOC_READ | _IOC_WRITE) << _IOC_DIRSHIFT | DRM_IOCTL_TYPE << _IOC_TYPESHIFT | (number) |     \
              (unsigned long)sizeof *(argument) << _IOC_SIZESHIFT,                                                     \
          argument)
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "exercise: line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum {
    STORE = 0x10400002, /* MI_STORE_DATA_IMM, graphics address */
    END = 0x05000000,   /* MI_BATCH_BUFFER_END */
    TILED_BYTES = 64 << 10,
    PITCH = 512, /* a row of one X tile */
};

static uint32_t create(int fd, uint64_t size) {
    struct i915_create request = {.size = size};
    CHECK(CALL(fd, I915_GEM_CREATE, &request) == 0);
    return request.handle;
}

static void destroy(int fd, uint32_t handle) {
    struct drm_gem_close request = {.handle = handle};
    CHECK(CALL(fd, DRM_GEM_CLOSE, &request) == 0);
}

static uint32_t *map_linear(int fd, uint32_t handle, uint64_t size) {
    struct i915_mmap_gtt request = {.handle = handle};
    CHECK(CALL(fd, I915_GEM_MMAP_GTT, &request) == 0);
    void *const address = mmap64(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off64_t)request.offset);
    CHECK(address != MAP_FAILED);
    return address;
}

static void copy(int fd, uint32_t number, uint32_t handle, uint64_t offset, void *data, uint64_t size) {
    struct i915_access request = {.handle = handle, .offset = offset, .size = size, .data = (uintptr_t)data};
    CHECK(CALL(fd, number, &request) == 0);
}

static void say_what_it_is(int fd) {
    char name[8] = {0};
    struct drm_version version = {.name_length = sizeof name, .name = (uintptr_t)name};
    CHECK(CALL(fd, DRM_VERSION, &version) == 0);
    CHECK(strcmp(name, "i915") == 0 && version.major == 1 && version.name_length == 4);
    int chip = 0;
    struct i915_getparam param = {.param = 4, .value = (uintptr_t)&chip};
    CHECK(CALL(fd, I915_GETPARAM, &param) == 0);
    CHECK(chip == 0x2e22);
    struct stat64 status;
    CHECK(fstat64(fd, &status) == 0);
    CHECK(S_ISCHR(status.st_mode) && major(status.st_rdev) == DRM_MAJOR);
}

/* Run a batch in the first buffer that stores a number in the second, with a fence, and wait for it. */
static void run_batch(int fd, uint32_t context, uint32_t target, uint32_t offset, uint32_t value) {
    const uint32_t batch = create(fd, 4096);
    uint32_t commands[] = {STORE, 0, 0, value, END, 0};
    copy(fd, I915_GEM_PWRITE, batch, 0, commands, sizeof commands);
    struct i915_relocation relocation = {.target = 1, .delta = offset, .offset = 8, .presumed = UINT64_MAX};
    struct i915_exec_object objects[] = {
        {.handle = batch, .relocation_count = 1, .relocations = (uintptr_t)&relocation},
        {.handle = target, .flags = EXEC_OBJECT_WRITE},
    };
    struct drm_syncobj_create syncobj = {0};
    CHECK(CALL(fd, DRM_SYNCOBJ_CREATE, &syncobj) == 0);
    struct i915_exec_fence fence = {.handle = syncobj.handle, .flags = EXEC_FENCE_SIGNAL};
    struct i915_execbuffer2 exec = {
        .objects = (uintptr_t)objects,
        .count = 2,
        .length = sizeof commands,
        .cliprect_count = 1,
        .cliprects = (uintptr_t)&fence,
        .flags = EXEC_HANDLE_LUT | EXEC_BATCH_FIRST | EXEC_FENCE_ARRAY,
        .context = context,
    };
    CHECK(CALL(fd, I915_GEM_EXECBUFFER2, &exec) == 0);
    CHECK(objects[1].offset != 0 && relocation.presumed == objects[1].offset);
    struct drm_syncobj_wait wait = {.handles = (uintptr_t)&syncobj.handle, .timeout = INT64_MAX, .count = 1};
    CHECK(CALL(fd, DRM_SYNCOBJ_WAIT, &wait) == 0);
    struct drm_syncobj_destroy gone = {.handle = syncobj.handle};
    CHECK(CALL(fd, DRM_SYNCOBJ_DESTROY, &gone) == 0);
    destroy(fd, batch);
}

/* A buffer with two X tiles in a row: compare the aperture with the tiled memory. */
static void use_tiled_memory(int fd) {
    const uint32_t handle = create(fd, TILED_BYTES);
    struct i915_set_tiling tiling = {.handle = handle, .mode = 1, .stride = 2 * PITCH};
    CHECK(CALL(fd, I915_GEM_SET_TILING, &tiling) == 0);
    uint32_t *const linear = map_linear(fd, handle, TILED_BYTES);
    linear[(13 * 2 * PITCH + 700) / 4] = 0x12345678; /* column 700 of row 13 is byte 0x3abc */
    struct i915_context_create context = {0};
    CHECK(CALL(fd, I915_CONTEXT_CREATE, &context) == 0);
    CHECK(context.context);
    run_batch(fd, context.context, handle, 0x1000, 0x9abcdef0); /* the second tile: column 512 of row 0 */
    CHECK(linear[512 / 4] == 0x9abcdef0);
    uint32_t raw = 0;
    copy(fd, I915_GEM_PREAD, handle, 0x3abc, &raw, sizeof raw);
    CHECK(raw == 0x12345678);
    struct i915_context_destroy end = {.context = context.context};
    CHECK(CALL(fd, I915_CONTEXT_DESTROY, &end) == 0);
    destroy(fd, handle);
    CHECK(munmap(linear, TILED_BYTES) == 0); /* a map outlives its handle */
}

static void share(int fd) {
    const uint32_t handle = create(fd, 5000);
    uint32_t value = 0x600d;
    copy(fd, I915_GEM_PWRITE, handle, 4096, &value, sizeof value);
    struct drm_prime prime = {.handle = handle, .flags = O_CLOEXEC | O_RDWR};
    CHECK(CALL(fd, DRM_PRIME_HANDLE_TO_FD, &prime) == 0);
    CHECK(lseek64(prime.fd, 0, SEEK_END) == 8192);
    const int other = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    CHECK(other >= 0);
    struct drm_prime found = {.fd = prime.fd};
    CHECK(CALL(other, DRM_PRIME_FD_TO_HANDLE, &found) == 0);
    run_batch(other, 0, found.handle, 4100, 0xcafe);
    uint32_t pair[2] = {0};
    copy(fd, I915_GEM_PREAD, handle, 4096, pair, sizeof pair);
    CHECK(pair[0] == 0x600d && pair[1] == 0xcafe);
    destroy(other, found.handle);
    CHECK(close(other) == 0);
    CHECK(close(prime.fd) == 0);
    destroy(fd, handle);
}

static void show_a_picture(int fd) {
    struct kms_create_dumb dumb = {.width = 1024, .height = 768, .bpp = 32};
    CHECK(CALL(fd, KMS_CREATE_DUMB, &dumb) == 0);
    struct kms_map_dumb map = {.handle = dumb.handle};
    CHECK(CALL(fd, KMS_MAP_DUMB, &map) == 0);
    void *const pixels = mmap64(NULL, (size_t)dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off64_t)map.offset);
    CHECK(pixels != MAP_FAILED);
    memset(pixels, 0x55, (size_t)dumb.size);
    struct kms_fb2 fb = {.width = dumb.width, .height = dumb.height, .format = 0x34325258, .handles = {dumb.handle}};
    fb.pitches[0] = dumb.pitch;
    fb.flags = KMS_FB_MODIFIERS;
    CHECK(CALL(fd, KMS_ADD_FB2, &fb) == 0);
    uint32_t connector = 0, crtc = 0;
    struct kms_resources resources = {.crtcs = (uintptr_t)&crtc, .connectors = (uintptr_t)&connector};
    resources.crtc_count = resources.connector_count = 1;
    CHECK(CALL(fd, KMS_GET_RESOURCES, &resources) == 0);
    struct kms_mode modes[16];
    struct kms_connector answer = {.connector = connector, .modes = (uintptr_t)modes, .mode_count = 16};
    CHECK(CALL(fd, KMS_GET_CONNECTOR, &answer) == 0);
    CHECK(answer.mode_count == 13 && modes[0].hdisplay == 1024 && modes[0].vdisplay == 768);
    struct kms_crtc set = {.connectors = (uintptr_t)&connector, .connector_count = 1, .crtc = crtc, .fb = fb.fb};
    set.mode_valid = 1;
    set.mode = modes[0];
    CHECK(CALL(fd, KMS_SET_CRTC, &set) == 0);
    struct kms_flip flip = {.crtc = crtc, .fb = fb.fb, .flags = KMS_FLIP_EVENT, .user = 77};
    CHECK(CALL(fd, KMS_PAGE_FLIP, &flip) == 0);
    struct kms_event event;
    CHECK(read(fd, &event, sizeof event) == sizeof event);
    CHECK(event.type == KMS_EVENT_FLIP && event.user == 77);
    union kms_vblank vblank = {.request = {.type = KMS_VBLANK_RELATIVE}};
    CHECK(CALL(fd, KMS_WAIT_VBLANK, &vblank) == 0);
    CHECK(vblank.reply.seconds > 0);
    CHECK(CALL(fd, KMS_REMOVE_FB, &fb.fb) == 0);
    CHECK(munmap(pixels, (size_t)dumb.size) == 0);
    destroy(fd, dumb.handle);
}

/* A child shares the parent's buffers. */
static void fork_with_a_map(int fd) {
    const uint32_t handle = create(fd, 4096);
    volatile uint32_t *const memory = map_linear(fd, handle, 4096);
    const pid_t child = fork();
    if (child == 0) {
        memory[0] = 0xc41d;
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(memory[0] == 0xc41d);
    CHECK(munmap((void *)memory, 4096) == 0);
    destroy(fd, handle);
}

static void *use_from_a_thread(void *argument) {
    const int fd = *(const int *)argument;
    for (int i = 0; i < 20; i++) {
        const uint32_t handle = create(fd, 4096);
        run_batch(fd, 0, handle, 0, (uint32_t)i);
        uint32_t value = UINT32_MAX;
        copy(fd, I915_GEM_PREAD, handle, 0, &value, sizeof value);
        CHECK(value == (uint32_t)i);
        destroy(fd, handle);
    }
    return NULL;
}

static void use_from_threads(int fd) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, use_from_a_thread, &fd) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void make_mistakes(int fd) {
    struct i915_execbuffer2 exec = {.count = 1};
    CHECK(CALL(fd, I915_GEM_EXECBUFFER2, &exec) == -1 && errno == EFAULT);
    struct i915_access access = {.handle = create(fd, 4096), .size = 4096, .data = 4096};
    CHECK(CALL(fd, I915_GEM_PREAD, &access) == -1 && errno == EFAULT);
    access.size = 4097;
    CHECK(CALL(fd, I915_GEM_PREAD, &access) == -1 && errno == EINVAL);
    destroy(fd, access.handle);
    CHECK(CALL(fd, DRM_GEM_CLOSE, &(struct drm_gem_close){.handle = 12345}) == -1 && errno == EINVAL);
    CHECK(mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off64_t)1 << 42) == MAP_FAILED && errno == EINVAL);
}

int main(void) {
    for (int round = 0; round < 2; round++) { /* the second run fails if the first leaves anything behind */
        const int fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
        CHECK(fd >= 0);
        const int same = fcntl(fd, F_DUPFD_CLOEXEC, 20);
        CHECK(same >= 20);
        say_what_it_is(fd);
        use_tiled_memory(same);
        share(fd);
        show_a_picture(fd);
        fork_with_a_map(fd);
        use_from_threads(same);
        make_mistakes(fd);
        CHECK(close(same) == 0);
        CHECK(close(fd) == 0);
    }
    puts("ok");
    return 0;
}
