#define _GNU_SOURCE
#include "shim/gem/cpu_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/base/real.h"
#include "shim/base/user.h"
#include "shim/gem/cpu_view.h"

#ifndef MAP_32BIT
#define MAP_32BIT 0 /* x86 only */
#endif

struct cpu_map {
    uintptr_t start, end;
    struct gem_object *object;
    uint64_t offset; /* in the object */
    int protection;
    bool gtt, shared;
    bool guarded; /* the shim owns the `guard_size` bytes after it */
};

/* Scratch memory after a mapping through the aperture: crocus writes small levels of volume textures beyond the end of
 * the buffer, which on a real machine overwrites what lies there.  The guard belongs to the mapping, because tiling and
 * views may change while the mapping stays. */
static const size_t guard_size = 64 << 10;

static struct cpu_map *maps;
static size_t map_count, map_capacity;
static uintptr_t lowest = UINTPTR_MAX, highest; /* of all mappings; read without the lock */

uint64_t cpu_map_offset(const struct gem_object *object, bool gtt) {
    return (uint64_t)object->slot << MAP_SLOT_SHIFT | (uint64_t)gtt << MAP_GTT_SHIFT;
}

bool cpu_map_may_contain(const void *address, size_t length) {
    const uintptr_t start = (uintptr_t)address;
    return start < __atomic_load_n(&highest, __ATOMIC_RELAXED) &&
           start + length > __atomic_load_n(&lowest, __ATOMIC_RELAXED);
}

static void set_bounds(void) {
    __atomic_store_n(&lowest, map_count ? maps[0].start : UINTPTR_MAX, __ATOMIC_RELAXED);
    const struct cpu_map *const last = map_count ? &maps[map_count - 1] : NULL;
    __atomic_store_n(&highest, last ? last->end + (last->guarded ? guard_size : 0) : 0, __ATOMIC_RELAXED);
}

/* Index of the first mapping that ends after `address`. */
static size_t find(uintptr_t address) {
    size_t low = 0;
    size_t high = map_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (maps[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Reserve space for two more mappings: one that loses its middle becomes two. */
static bool reserve(void) {
    if (map_count + 2 <= map_capacity) {
        return true;
    }
    const size_t capacity = map_capacity ? map_capacity * 2 : 64;
    struct cpu_map *const larger = realloc(maps, capacity * sizeof *larger);
    if (!larger) {
        return false;
    }
    maps = larger;
    map_capacity = capacity;
    return true;
}

static void insert(size_t at, struct cpu_map map) {
    memmove(&maps[at + 1], &maps[at], (map_count - at) * sizeof maps[0]);
    maps[at] = map;
    map_count++;
    gem_object_get(map.object);
    map.object->mappings++;
    map.object->gtt_mappings += map.gtt;
    if (map.gtt) {
        const bool known = map.object->gtt_mappings == 1 && map.shared;
        map.object->gtt_address = known ? map.start : 0;
        map.object->gtt_offset = map.offset;
        map.object->gtt_length = map.end - map.start;
    }
}

static void drop_guard(struct cpu_map *map) {
    if (map->guarded) {
        REAL(munmap)(user_pointer(map->end), guard_size);
        map->guarded = false;
    }
}

static void drop_unused_view(struct gem_object *object) {
    if (object->gtt_mappings == 0 && object->view_users == 0) {
        cpu_view_destroy(object);
    }
}

/* Between hold() and release() the object and its view stay alive, even while none of its mappings is in the table. */
static void hold(struct gem_object *object) {
    gem_object_get(object);
    object->view_users++;
}

static void release(struct gem_object *object) {
    const int error = errno;
    object->view_users--;
    drop_unused_view(object);
    gem_object_put(object);
    errno = error;
}

static void erase(size_t at) {
    struct gem_object *const object = maps[at].object;
    drop_guard(&maps[at]);
    object->gtt_mappings -= maps[at].gtt;
    object->gtt_address = maps[at].gtt ? 0 : object->gtt_address;
    map_count--;
    memmove(&maps[at], &maps[at + 1], (map_count - at) * sizeof maps[0]);
    object->mappings--;
    drop_unused_view(object);
    gem_object_put(object);
}

/* Map the object's memory, or its CPU view. */
static void *mmap_object(struct gem_object *object, bool gtt, uint64_t offset, void *address, size_t length,
                         int protection, int flags) {
    if (gtt && object->tiling) {
        const struct memfd *const views = cpu_view_memfd(object);
        if (!views) {
            errno = ENOMEM;
            return MAP_FAILED;
        }
        return REAL(mmap)(address, length, protection, flags, views->fd, (off_t)(cpu_view_offset(object) + offset));
    }
    return REAL(mmap)(address, length, protection, flags, object->memfd->fd, (off_t)(object->offset + offset));
}

/* mmap_object() through the aperture, with a guard after it; `length` is whole pages. */
static void *mmap_guarded(struct gem_object *object, uint64_t offset, void *address, size_t length, int protection,
                          int flags) {
    const size_t all = length + guard_size;
    void *const space = REAL(mmap)(address, all, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (flags & MAP_32BIT), -1, 0);
    if (space == MAP_FAILED) {
        return MAP_FAILED;
    }
    void *const result = mmap_object(object, true, offset, space, length, protection, flags | MAP_FIXED);
    if (result == MAP_FAILED) {
        const int error = errno;
        REAL(munmap)(space, all);
        errno = error;
    }
    return result;
}

static struct vma *find_vma(const struct drm_file *file, const struct gem_object *object) {
    for (struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        if (vma->file == file && vma->handles) {
            return vma;
        }
    }
    return NULL;
}

void *cpu_map_create(struct drm_file *file, void *address, size_t length, int protection, int flags, uint64_t offset) {
    struct gem_object *const object = gem_object_of_slot((uint32_t)(offset >> MAP_SLOT_SHIFT));
    const bool gtt = offset >> MAP_GTT_SHIFT & 1;
    const uint64_t inside = offset & (((uint64_t)1 << MAP_GTT_SHIFT) - 1);
    if (offset >> MAP_SLOT_SHIFT > UINT32_MAX || !object) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (!find_vma(file, object)) {
        errno = EACCES;
        return MAP_FAILED;
    }
    const uint64_t pages = ((uint64_t)length + 4095) & ~(uint64_t)4095;
    if (length == 0 || inside & 4095 || pages < length || inside > object->size || pages > object->size - inside) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    hold(object);
    if (gtt && object->tiling) {
        (void)gem_object_wait(
            object, false,
            INT64_MAX); /* the view must contain everything that the GPU writes, flagged as written or not */
        cpu_view_sync(object);
    } else if (object->view) {
        cpu_view_write_back(object);
    }
    const bool guarded = gtt && !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
    void *result = MAP_FAILED;
    if (flags & MAP_FIXED) {
        cpu_map_forget(
            address, length); /* before mapping: unmapping an old guard later would remove a part of the new mapping */
    }
    if (!reserve()) {
        errno = ENOMEM;
    } else if (guarded) {
        result = mmap_guarded(object, inside, address, (size_t)pages, protection, flags);
    } else {
        result = mmap_object(object, gtt, inside, address, length, protection, flags);
    }
    if (result != MAP_FAILED) {
        const uintptr_t start = (uintptr_t)result;
        cpu_map_forget(result, pages);
        if (reserve()) {
            insert(find(start), (struct cpu_map){start, start + pages, object, inside, protection, gtt,
                                                 flags & MAP_SHARED, guarded});
        }
        set_bounds();
    }
    release(object);
    return result;
}

void cpu_map_forget(void *address, size_t length) {
    const uintptr_t start = (uintptr_t)address;
    const uintptr_t end = start + ((length + 4095) & ~(size_t)4095);
    size_t at = find(start);
    if (at && maps[at - 1].guarded && maps[at - 1].end < end && maps[at - 1].end + guard_size > start) {
        maps[at - 1].guarded = false; /* the caller is replacing it */
    }
    while (at < map_count && maps[at].start < end) {
        struct cpu_map *const map = &maps[at];
        if (map->gtt && map->object->view) {
            cpu_view_write_back(map->object);
        }
        if (map->gtt) {
            map->object->gtt_address = 0; /* the mapping is about to change */
        }
        if (map->start < start && map->end > end) {
            struct cpu_map above = *map;
            above.start = end;
            above.offset += end - map->start;
            map->end = start;
            map->guarded = false; /* it is after the upper part */
            if (reserve()) {
                insert(at + 1, above);
            }
            break;
        }
        if (map->start < start) {
            drop_guard(map);
            map->end = start;
            at++;
        } else if (map->end > end) {
            map->offset += end - map->start;
            map->start = end;
            at++;
        } else {
            erase(at);
        }
    }
    set_bounds();
}

bool cpu_map_resize(void *address, size_t old_length, size_t length, int flags, void *wanted, void **result) {
    const uintptr_t start = (uintptr_t)address;
    const size_t at = find(start);
    if (at == map_count || maps[at].start > start) {
        return false;
    }
    struct cpu_map map = maps[at];
    if (length > old_length || start + old_length > map.end) {
        errno = EFAULT; /* as the kernel: VM_DONTEXPAND mappings do not grow */
        *result = MAP_FAILED;
        return true;
    }
    hold(map.object);
    if (flags & MREMAP_FIXED) {
        cpu_map_forget(wanted, length);
    }
    *result = REAL(mremap)(address, old_length, length, flags, wanted);
    if (*result != MAP_FAILED) {
        map.offset += start - map.start;
        map.guarded = false;
        cpu_map_forget(address, old_length);
        map.start = (uintptr_t)*result;
        map.end = map.start + ((length + 4095) & ~(size_t)4095);
        cpu_map_forget(*result, length);
        if (reserve()) {
            insert(find(map.start), map);
        }
        set_bounds();
    }
    release(map.object);
    return true;
}

bool cpu_map_replace(struct gem_object *object) {
    for (size_t i = 0; object->mappings && i < map_count; i++) {
        const struct cpu_map map = maps[i];
        if (map.object == object &&
            mmap_object(object, map.gtt, map.offset, user_pointer(map.start), map.end - map.start, map.protection,
                        (map.shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED) == MAP_FAILED) {
            return false;
        }
    }
    return true;
}

int cpu_map_set_tiling(struct gem_object *object, uint32_t tiling, uint32_t pitch) {
    const uint32_t old_tiling = object->tiling, old_pitch = object->pitch;
    (void)gem_object_wait(object, false, INT64_MAX);
    cpu_view_write_back(object);
    struct cpu_view *const old = cpu_view_detach(object);
    object->tiling = tiling;
    object->pitch = pitch;
    if (cpu_map_replace(object)) {
        cpu_view_free(object, old);
        return 0;
    }
    struct cpu_view *const unfinished = cpu_view_detach(object);
    object->tiling = old_tiling;
    object->pitch = old_pitch;
    object->view = old;
    if (cpu_map_replace(object)) {
        cpu_view_free(object, unfinished);
    } /* else leak it: a mapping may still show its memory */
    return ENOMEM;
}
