/* The mappings of buffers, sorted by address (maps.h). */
#define _GNU_SOURCE
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "real.h"
#include "user.h"
#include "views.h"

struct map {
    uintptr_t start, end;
    struct object *object;
    uint64_t offset; /* in the object */
    int protection;
    bool gtt, shared;
};

static struct map *maps;
static size_t map_count, map_capacity;
static uintptr_t lowest = UINTPTR_MAX, highest; /* of all; read without the lock */

uint64_t map_offset(const struct object *object, bool gtt) {
    return (uint64_t)object->slot << MAP_SLOT_SHIFT | (uint64_t)gtt << MAP_GTT_SHIFT;
}

bool map_could_be(const void *address, size_t length) {
    const uintptr_t start = (uintptr_t)address;
    return start < __atomic_load_n(&highest, __ATOMIC_RELAXED) &&
           start + length > __atomic_load_n(&lowest, __ATOMIC_RELAXED);
}

static void set_bounds(void) {
    __atomic_store_n(&lowest, map_count ? maps[0].start : UINTPTR_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&highest, map_count ? maps[map_count - 1].end : 0, __ATOMIC_RELAXED);
}

/* The first map that ends after an address. */
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

/* Room for two more: a map that loses its middle becomes two. */
static bool reserve(void) {
    if (map_count + 2 <= map_capacity) {
        return true;
    }
    const size_t capacity = map_capacity ? map_capacity * 2 : 64;
    struct map *const larger = realloc(maps, capacity * sizeof *larger);
    if (!larger) {
        return false;
    }
    maps = larger;
    map_capacity = capacity;
    return true;
}

static void insert(size_t at, struct map map) {
    memmove(&maps[at + 1], &maps[at], (map_count - at) * sizeof maps[0]);
    maps[at] = map;
    map_count++;
    object_keep(map.object);
    map.object->mappings++;
    map.object->gtt_mappings += map.gtt;
    if (map.gtt) {
        const bool known = map.object->gtt_mappings == 1 && map.shared;
        map.object->gtt_address = known ? map.start : 0;
        map.object->gtt_offset = map.offset;
        map.object->gtt_length = map.end - map.start;
    }
}

static void erase(size_t at) {
    struct object *const object = maps[at].object;
    object->gtt_mappings -= maps[at].gtt;
    object->gtt_address = maps[at].gtt ? 0 : object->gtt_address;
    map_count--;
    memmove(&maps[at], &maps[at + 1], (map_count - at) * sizeof maps[0]);
    object->mappings--;
    if (object->view && object->gtt_mappings == 0) {
        view_destroy(object);
    }
    object_drop(object);
}

/* What is really mapped there: the buffer, or its linear view. */
static void *place(struct object *object, bool gtt, uint64_t offset, void *address, size_t length, int protection,
                   int flags) {
    if (gtt && object->tiling) {
        const struct store *const views = view_store(object);
        if (!views) {
            errno = ENOMEM;
            return MAP_FAILED;
        }
        void *const room = address ? NULL : view_room(object, length);
        return REAL(mmap)(room ? room : address, length, protection, room ? flags | MAP_FIXED : flags, views->fd,
                          (off_t)(view_offset(object) + offset));
    }
    return REAL(mmap)(address, length, protection, flags, object->store->fd, (off_t)(object->offset + offset));
}

static struct place *place_in(const struct file *file, const struct object *object) {
    for (struct place *place = object->places; place; place = place->next_of_object) {
        if (place->file == file && place->handles) {
            return place;
        }
    }
    return NULL;
}

void *map_create(struct file *file, void *address, size_t length, int protection, int flags, uint64_t offset) {
    struct object *const object = object_of_slot((uint32_t)(offset >> MAP_SLOT_SHIFT));
    const bool gtt = offset >> MAP_GTT_SHIFT & 1;
    const uint64_t inside = offset & (((uint64_t)1 << MAP_GTT_SHIFT) - 1);
    if (offset >> MAP_SLOT_SHIFT > UINT32_MAX || !object) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (!place_in(file, object)) {
        errno = EACCES;
        return MAP_FAILED;
    }
    const uint64_t pages = ((uint64_t)length + 4095) & ~(uint64_t)4095;
    if (length == 0 || inside & 4095 || pages < length || inside > object->size || pages > object->size - inside) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    object_keep(object);
    if (gtt && object->tiling) {
        (void)object_wait(object, false, INT64_MAX); /* the view is made from what the GPU has written, said or not */
        view_settle(object);
    } else if (object->view) {
        view_pick_up(object);
    }
    void *result = MAP_FAILED;
    if (!reserve()) {
        errno = ENOMEM;
    } else {
        result = place(object, gtt, inside, address, length, protection, flags);
    }
    if (result != MAP_FAILED) {
        const uintptr_t start = (uintptr_t)result;
        map_forget(result, pages);
        if (reserve()) {
            insert(find(start),
                   (struct map){start, start + pages, object, inside, protection, gtt, flags & MAP_SHARED});
        }
        set_bounds();
    }
    const int error = errno;
    object_drop(object);
    errno = error;
    return result;
}

void map_forget(void *address, size_t length) {
    const uintptr_t start = (uintptr_t)address;
    const uintptr_t end = start + ((length + 4095) & ~(size_t)4095);
    for (size_t at = find(start); at < map_count && maps[at].start < end;) {
        struct map *const map = &maps[at];
        if (map->gtt && map->object->view) {
            view_pick_up(map->object);
        }
        if (map->gtt) {
            map->object->gtt_address = 0; /* it is about to change */
        }
        if (map->start < start && map->end > end) {
            struct map above = *map;
            above.start = end;
            above.offset += end - map->start;
            map->end = start;
            if (reserve()) {
                insert(at + 1, above);
            }
            break;
        }
        if (map->start < start) {
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

bool map_resize(void *address, size_t old_length, size_t length, int flags, void *wanted, void **result) {
    const uintptr_t start = (uintptr_t)address;
    const size_t at = find(start);
    if (at == map_count || maps[at].start > start) {
        return false;
    }
    struct map map = maps[at];
    if (length > old_length || start + old_length > map.end) {
        errno = EFAULT; /* the kernel does not let device mappings grow */
        *result = MAP_FAILED;
        return true;
    }
    *result = REAL(mremap)(address, old_length, length, flags, wanted);
    if (*result != MAP_FAILED) {
        object_keep(map.object);
        map.offset += start - map.start;
        map_forget(address, old_length);
        map.start = (uintptr_t)*result;
        map.end = map.start + ((length + 4095) & ~(size_t)4095);
        map_forget(*result, length);
        if (reserve()) {
            insert(find(map.start), map);
        }
        set_bounds();
        object_drop(map.object);
    }
    return true;
}

void map_replace(struct object *object) {
    for (size_t i = 0; object->mappings && i < map_count; i++) {
        const struct map map = maps[i];
        if (map.object == object) {
            (void)place(object, map.gtt, map.offset, user_pointer(map.start), map.end - map.start, map.protection,
                        MAP_SHARED | MAP_FIXED);
        }
    }
}
