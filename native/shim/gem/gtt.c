#include "shim/gem/gtt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t lowest_address = 0x100000; /* never 0, which clients take for an invalid address */

struct vma *vma_create(struct drm_file *file, struct gem_object *object) {
    struct vma *const vma = calloc(1, sizeof *vma);
    if (!vma) {
        return NULL;
    }
    *vma = (struct vma){.file = file, .object = object, .next_of_object = object->vmas, .next = file->vmas};
    object->vmas = vma;
    if (file->vmas) {
        file->vmas->previous = vma;
    }
    file->vmas = vma;
    return vma;
}

void vma_destroy(struct vma *vma) {
    const bool own_memory = vma->bound && vma->file_number != 0;
    gtt_unbind(vma);
    if (own_memory) {
        (void)gtt_flush(vma->file); /* frees the memfd in the server now */
    }
    for (struct vma **link = &vma->object->vmas; *link; link = &(*link)->next_of_object) {
        if (*link == vma) {
            *link = vma->next_of_object;
            break;
        }
    }
    if (vma->previous) {
        vma->previous->next = vma->next;
    } else {
        vma->file->vmas = vma->next;
    }
    if (vma->next) {
        vma->next->previous = vma->previous;
    }
    free(vma);
}

static bool add_change(struct drm_file *file, const struct g4_live_range *range) {
    if (file->change_count == file->change_capacity) {
        const uint32_t capacity = file->change_capacity ? file->change_capacity * 2 : 64;
        struct g4_live_range *const larger = realloc(file->changes, capacity * sizeof *larger);
        if (!larger) {
            return false;
        }
        file->changes = larger;
        file->change_capacity = capacity;
    }
    file->changes[file->change_count++] = *range;
    return true;
}

static int add_binding(struct vma *vma) {
    struct drm_file *const file = vma->file;
    const struct gem_object *const object = vma->object;
    vma->file_number = connection_add_file(&file->connection, object->memfd);
    if (vma->file_number == UINT32_MAX) {
        return file->connection.dead ? EIO : ENOMEM;
    }
    const struct g4_live_range range = {
        .address = vma->address, .file = vma->file_number, .offset = object->offset, .size = object->size};
    return add_change(file, &range) ? 0 : ENOMEM;
}

void vma_rebind(struct vma *vma) {
    if (vma->bound) {
        connection_release_file(&vma->file->connection, vma->file_number);
        if (add_binding(vma)) {
            gtt_unbind(vma);
        }
    }
}

void gtt_unbind(struct vma *vma) {
    if (!vma->bound) {
        return;
    }
    struct drm_file *const file = vma->file;
    const struct g4_live_range range = {.address = vma->address, .file = G4_LIVE_UNBOUND, .size = vma->object->size};
    (void)add_change(file, &range);
    connection_release_file(&file->connection, vma->file_number);
    ranges_give(&file->addresses, vma->address, vma->reserved);
    vma->bound = false;
}

void gtt_unbind_all(struct drm_file *file) {
    for (struct vma *vma = file->vmas; vma; vma = vma->next) {
        gtt_unbind(vma);
    }
}

static bool overlaps(const struct vma *vma, uint64_t start, uint64_t size) {
    return vma->bound && vma->address < start + size && start < vma->address + vma->reserved;
}

/* Bind at addresses that were taken. */
static int bind_at(struct vma *vma, uint64_t address, uint64_t size) {
    vma->bound = true;
    vma->address = address;
    vma->reserved = size;
    const int error = add_binding(vma);
    if (error) {
        gtt_unbind(vma);
    }
    return error;
}

static int bind_pinned(struct vma *vma, uint64_t address, uint64_t size, uint64_t stamp) {
    struct drm_file *const file = vma->file;
    for (struct vma *other = file->vmas, *next; other; other = next) {
        next = other->next;
        if (other != vma && overlaps(other, address, size)) {
            if (other->stamp == stamp) {
                return ENOSPC;
            }
            gtt_unbind(other);
        }
    }
    return ranges_take_at(&file->addresses, address, size) ? bind_at(vma, address, size) : ENOSPC;
}

/* The least recently used bound VMA, except those of submission `stamp`. */
static struct vma *oldest(const struct drm_file *file, uint64_t stamp) {
    struct vma *found = NULL;
    for (struct vma *vma = file->vmas; vma; vma = vma->next) {
        if (vma->bound && vma->stamp != stamp && (!found || vma->stamp < found->stamp)) {
            found = vma;
        }
    }
    return found;
}

/* Whether an address is within the request's bounds. */
static bool fits(const struct gtt_request *request, uint64_t address, uint64_t size, uint64_t alignment) {
    const uint64_t limit = request->limit ? request->limit : UINT64_MAX;
    return address >= request->minimum && (address & (alignment - 1)) == 0 && size <= limit && address <= limit - size;
}

int gtt_bind(struct vma *vma, const struct gtt_request *request, uint64_t stamp) {
    struct drm_file *const file = vma->file;
    const uint64_t alignment = request->alignment > 4096 ? request->alignment : 4096;
    const uint64_t size = request->size > vma->object->size ? request->size : vma->object->size;
    const bool large_enough = vma->bound && vma->reserved >= size;
    if (request->pinned) {
        if (large_enough && vma->address == request->address) {
            return 0;
        }
        gtt_unbind(vma);
        return bind_pinned(vma, request->address, size, stamp);
    }
    if (large_enough && fits(request, vma->address, size, alignment)) {
        return 0;
    }
    gtt_unbind(vma);
    if (request->address && fits(request, request->address, size, alignment) &&
        ranges_take_at(&file->addresses, request->address, size)) {
        return bind_at(vma, request->address, size);
    }
    const uint64_t minimum = request->minimum > lowest_address ? request->minimum : lowest_address;
    for (;;) {
        const uint64_t address = ranges_take(&file->addresses, size, alignment, minimum);
        if (address != RANGES_NONE && fits(request, address, size, alignment)) {
            return bind_at(vma, address, size);
        }
        if (address != RANGES_NONE) {
            ranges_give(&file->addresses, address, size);
        }
        struct vma *const victim = oldest(file, stamp);
        if (!victim) {
            return ENOSPC;
        }
        gtt_unbind(victim);
    }
}

bool gtt_flush(struct drm_file *file) {
    enum {
        MAX_ITEMS = (G4_LIVE_MAX_PACKET - sizeof(struct g4_live_bind)) / sizeof(struct g4_live_range)
    };
    static _Alignas(8) uint8_t packet[G4_LIVE_MAX_PACKET];
    struct g4_live_bind *const bind = (struct g4_live_bind *)packet;
    for (uint32_t done = 0; done < file->change_count;) {
        const uint32_t left = file->change_count - done;
        const uint32_t count = left < MAX_ITEMS ? left : MAX_ITEMS;
        *bind = (struct g4_live_bind){.header = {.type = G4_LIVE_BIND}, .count = count};
        memcpy(packet + sizeof *bind, file->changes + done, count * sizeof(struct g4_live_range));
        if (!connection_send(&file->connection, packet, sizeof *bind + count * sizeof(struct g4_live_range), -1)) {
            file->change_count = 0;
            return false;
        }
        done += count;
    }
    file->change_count = 0;
    connection_drop_unused_files(&file->connection);
    return true;
}

void gtt_forget(struct drm_file *file) {
    for (struct vma *vma = file->vmas; vma; vma = vma->next) {
        if (vma->bound) {
            ranges_give(&file->addresses, vma->address, vma->reserved);
            vma->bound = false;
        }
        vma->last_use = 0;
        vma->last_write = 0;
        memset(vma->used_by, 0, sizeof vma->used_by);
    }
    file->change_count = 0;
}
