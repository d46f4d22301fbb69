#define _GNU_SOURCE
#include "shim/gem/gem_ioctls.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/base/user.h"
#include "shim/device/chips.h"
#include "shim/gem/cpu_map.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gem_object.h"
#include "shim/gem/user_pages.h"
#include "shim/uapi.h"

enum caching {
    NOT_CACHED,
    CACHED,
    CACHED_FOR_DISPLAY
};

static struct gem_object *object_of(const struct drm_file *file, uint32_t handle) {
    const struct vma *const vma = vma_lookup(file, handle);
    return vma ? vma->object : NULL;
}

static int64_t deadline_of(int64_t timeout) {
    const int64_t now = shim_now();
    return timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
}

/* --- creating and closing --- */

static int create(struct drm_file *file, uint64_t *size, uint32_t *handle) {
    if (*size == 0 || *size > UINT64_MAX - 4095) { /* 0 once it is rounded up, too */
        return EINVAL;
    }
    const uint64_t pages = (*size + 4095) & ~(uint64_t)4095;
    struct gem_object *const object = pages >> MAP_GTT_SHIFT ? NULL : gem_object_new(pages);
    if (!object) {
        return pages >> MAP_GTT_SHIFT ? E2BIG : ENOMEM;
    }
    *handle = gem_handle_create(file, object, false);
    *size = pages;
    gem_object_put(object);
    return *handle ? 0 : ENOMEM;
}

int gem_create(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_create *const request = argument;
    return create(file, &request->size, &request->handle);
}

/* The extension that lists where an object may be: only system memory exists, region 0 of class 0. */
static int check_regions(uint64_t address, bool *given) {
    struct i915_create_regions list;
    struct i915_region region;
    if (!user_read(&list, address, sizeof list)) {
        return EFAULT;
    }
    if (list.pad || list.count != 1 || *given) {
        return EINVAL;
    }
    if (!user_read(&region, list.regions, sizeof region)) {
        return EFAULT;
    }
    *given = true;
    return region.class || region.instance ? EINVAL : 0;
}

/* A list ends with its second link, because no extension may be given twice. */
static int check_extensions(uint64_t address) {
    enum {
        REGIONS = 0,
        PROTECTED = 1
    };
    struct i915_extension extension;
    bool regions_given = false;
    while (address) {
        if (!user_read(&extension, address, sizeof extension)) {
            return EFAULT;
        }
        if (extension.flags || extension.name > PROTECTED) {
            return EINVAL;
        }
        const int error = extension.name == REGIONS ? check_regions(address, &regions_given) : ENODEV;
        if (error) {
            return error;
        }
        address = extension.next;
    }
    return 0;
}

/* The only flag asks for memory that the CPU can reach, if an object may be in another region as well. */
int gem_create_ext(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_create_ext *const request = argument;
    const int error = request->flags ? EINVAL : check_extensions(request->extensions);
    return error ? error : create(file, &request->size, &request->handle);
}

int gem_userptr(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    enum {
        READ_ONLY = 1,
        PROBE = 2, /* the range must be mapped, which it must be here in any case */
    };
    static const uint32_t unsynchronized = 0x80000000u;
    struct i915_userptr *const request = argument;
    struct user_pages *pages;
    uint64_t offset;
    if (!chip_has_user_pages(file)) {
        return ENODEV;
    }
    if (request->flags & ~(READ_ONLY | PROBE | unsynchronized)) {
        return EINVAL;
    }
    if (request->size >> MAP_GTT_SHIFT) {
        return E2BIG;
    }
    if (request->size == 0 || (request->address | request->size) & 4095) {
        return EINVAL;
    }
    if (request->flags & (READ_ONLY | unsynchronized)) {
        return ENODEV;
    }
    gem_object_reap(); /* gives back the pages of objects that are closed */
    const int error = user_pages_get(request->address, request->size, &pages, &offset);
    if (error) {
        return error;
    }
    struct gem_object *const object = gem_object_of_user(pages, offset, request->size);
    if (!object) {
        user_pages_put(pages);
        return ENOMEM;
    }
    object->caching = CACHED;
    request->handle = gem_handle_create(file, object, false);
    gem_object_put(object);
    return request->handle ? 0 : ENOMEM;
}

int gem_close(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_gem_close *const request = argument;
    return gem_handle_delete(file, request->handle) ? 0 : EINVAL;
}

/* --- contents --- */

/* Start of PREAD and PWRITE: returns the object with a reference after the GPU is done with it (`writing`: with writing
 * it).  NULL with an error, which is 0 if the size is 0. */
static struct gem_object *start_access(struct drm_file *file, const struct i915_access *request, bool writing,
                                       int *error) {
    struct gem_object *const object = object_of(file, request->handle);

    if (!object) {
        *error = ENOENT;
        return NULL;
    }
    const bool inside = request->offset <= object->size && request->size <= object->size - request->offset;
    *error = request->size == 0 || inside ? 0 : EINVAL;
    if (request->size == 0 || !inside) {
        return NULL;
    }
    if (object->user) {
        *error = EINVAL;
        return NULL;
    }
    gem_object_get(object);
    (void)gem_object_wait(object, writing, INT64_MAX);
    cpu_view_write_back(object);
    return object;
}

int gem_pread(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_access *const request = argument;
    int error;
    struct gem_object *const object = start_access(file, request, true, &error);
    if (!object) {
        return error;
    }
    const bool fine = user_write(request->data, gem_object_memory(object) + request->offset, request->size);
    gem_object_put(object);
    return fine ? 0 : EFAULT;
}

int gem_pwrite(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_access *const request = argument;
    int error;
    struct gem_object *const object = start_access(file, request, false, &error);
    if (!object) {
        return error;
    }
    const bool fine = user_read(gem_object_memory(object) + request->offset, request->data, request->size);
    cpu_view_refresh(object);
    gem_object_put(object);
    return fine ? 0 : EFAULT;
}

/* --- mappings --- */

int gem_mmap(struct drm_file *file, void *argument, uint32_t size) {
    enum {
        WRITE_COMBINING = 1
    };
    struct i915_mmap *const request = argument;
    const bool has_flags = size >= sizeof *request;
    if (has_flags && request->flags & ~(uint64_t)WRITE_COMBINING) {
        return EINVAL;
    }
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    if (object->user) {
        return ENXIO;
    }
    if (request->offset > object->size || request->size > object->size - request->offset || request->size == 0) {
        return EINVAL;
    }
    const uint64_t offset = cpu_map_offset(object, false) + request->offset;
    void *const address = cpu_map_create(file, NULL, request->size, PROT_READ | PROT_WRITE, MAP_SHARED, offset);
    if (address == MAP_FAILED) {
        return errno;
    }
    request->address = (uintptr_t)address;
    return 0;
}

int gem_mmap_offset(struct drm_file *file, void *argument, uint32_t size) {
    enum {
        GTT,
        WC,
        WB,
        UC,
        FIXED
    };
    struct i915_mmap_offset *const request = argument;
    const struct gem_object *const object = object_of(file, request->handle);
    if (size <= sizeof(struct i915_mmap_gtt)) {
        if (!object || object->user) {
            return object ? ENODEV : ENOENT;
        }
        request->offset = cpu_map_offset(object, true);
        return 0;
    }
    struct i915_extension extension;
    if (request->extensions && !user_read(&extension, request->extensions, sizeof extension)) {
        return EFAULT;
    }
    if (request->extensions || request->flags >= FIXED) { /* no extension exists */
        return EINVAL;
    }
    if (!object || object->user) {
        return object ? ENODEV : ENOENT;
    }
    request->offset = cpu_map_offset(object, request->flags == GTT);
    return 0;
}

int gem_set_domain(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_set_domain *const request = argument;
    if ((request->read | request->write) & ~(uint32_t)DOMAINS_OF_THE_CPU) {
        return EINVAL;
    }
    if (request->write && request->write != request->read) {
        return EINVAL;
    }
    if (request->read == 0) {
        return 0;
    }
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    gem_object_get(object);
    (void)gem_object_wait(object, request->write == 0, INT64_MAX);
    cpu_view_write_back(object);
    cpu_view_refresh(object);
    gem_object_put(object);
    return 0;
}

int gem_sw_finish(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const uint32_t *const handle = argument;
    return object_of(file, *handle) ? 0 : ENOENT;
}

/* --- tiling --- */

int gem_set_tiling(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_set_tiling *const request = argument;
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    const uint32_t stride = request->mode ? request->stride : 0;
    const bool changes = object->tiling != request->mode || object->pitch != stride;
    int error = 0;
    if (object->user) {
        error = ENXIO;
    } else if (request->mode && !chip_can_tile(file, request->mode, stride)) {
        error = EINVAL;
    } else if (changes && object->scanouts) {
        error = EBUSY;
    } else if (changes) {
        gem_object_get(object);
        error = cpu_map_set_tiling(object, request->mode, stride);
        if (!error) {
            prime_announce_tiling(file, object);
        }
        gem_object_put(object);
    }
    /* Report the present tiling even on failure: clients rely on it. */
    request->mode = object->tiling;
    request->stride = object->pitch;
    request->swizzle = 0;
    return error;
}

int gem_get_tiling(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_get_tiling *const request = argument;
    const struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    request->mode = object->tiling;
    request->swizzle = 0;
    request->physical_swizzle = 0;
    return 0;
}

/* --- hints --- */

int gem_set_caching(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_caching *const request = argument;
    if (request->caching > CACHED_FOR_DISPLAY) {
        return EINVAL;
    }
    if (request->caching == CACHED && !chip_can_snoop(file)) {
        return ENODEV;
    }
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    if (object->user && request->caching == CACHED) {
        return 0;
    }
    if (object->imported || object->user) {
        return ENXIO;
    }
    object->caching = request->caching == CACHED ? CACHED : NOT_CACHED;
    return 0;
}

int gem_get_caching(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_caching *const request = argument;
    const struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    request->caching = object->caching;
    return 0;
}

int gem_madvise(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    enum {
        WILLNEED,
        DONTNEED
    };
    struct i915_madvise *const request = argument;
    if (request->advice > DONTNEED) {
        return EINVAL;
    }
    if (!object_of(file, request->handle)) {
        return ENOENT;
    }
    request->retained = 1; /* memory is never purged */
    return 0;
}

int gem_aperture(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_aperture *const request = argument;
    static const uint64_t largest_ggtt = (uint64_t)1 << 32;
    request->size = chip_gtt_size(file) < largest_ggtt ? chip_gtt_size(file) : largest_ggtt;
    request->available = request->size;
    return 0;
}

/* --- waiting --- */

/* The answer of BUSY: in bits 15 to 0, 1 + the class of the engine that writes the object last, or 0; from bit 16 on, a
 * bit for each class that reads or writes it. */
static uint32_t busy_engines(const struct gem_object *object) {
    uint32_t readers = 0, writer = 0;
    for (const struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        const struct connection *const connection = &vma->file->connection;
        for (int engine = 0; engine < G4_LIVE_ENGINES; engine++) {
            if (!connection_is_done(connection, vma->used_by[engine])) {
                readers |= 1U << chip_class_of_engine((enum g4_live_engine)engine);
            }
        }
        if (!connection_is_done(connection, vma->last_write)) {
            writer = 1U + chip_class_of_engine(vma->writer);
        }
    }
    return readers << 16 | writer;
}

int gem_busy(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_busy *const request = argument;
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    for (const struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        connection_receive(&vma->file->connection);
    }
    request->busy = busy_engines(object);
    if (!request->busy) {
        cpu_view_sync(object);
    }
    return 0;
}

int gem_wait(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_wait *const request = argument;
    if (request->flags) {
        return EINVAL;
    }
    struct gem_object *const object = object_of(file, request->handle);
    if (!object) {
        return ENOENT;
    }
    const int64_t start = shim_now();
    gem_object_get(object);
    const int late = gem_object_wait(object, false, deadline_of(request->timeout));
    if (!late) {
        cpu_view_sync(object);
    }
    gem_object_put(object);
    if (request->timeout > 0) {
        const int64_t spent = shim_now() - start;
        request->timeout = late || spent >= request->timeout ? 0 : request->timeout - spent;
    }
    return late;
}

int gem_throttle(struct drm_file *file, void *argument, uint32_t size) {
    (void)argument;
    (void)size;
    connection_receive(&file->connection);
    return file->connection.dead ? EIO : 0;
}
