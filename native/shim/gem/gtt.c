/* Graphics addresses (gtt.h). */
#include "shim/gem/gtt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t lowest_address = 0x100000; /* never 0, which clients take for "nowhere" */

struct place *place_create(struct file *file, struct object *object) {
    struct place *const place = calloc(1, sizeof *place);
    if (!place) {
        return NULL;
    }
    *place = (struct place){.file = file, .object = object, .next_of_object = object->places, .next = file->places};
    object->places = place;
    if (file->places) {
        file->places->previous = place;
    }
    file->places = place;
    return place;
}

void place_destroy(struct place *place) {
    const bool own_memory = place->bound && place->file_number != 0;
    gtt_unbind(place);
    if (own_memory) {
        (void)gtt_flush(place->file); /* so that the memory goes now */
    }
    for (struct place **link = &place->object->places; *link; link = &(*link)->next_of_object) {
        if (*link == place) {
            *link = place->next_of_object;
            break;
        }
    }
    if (place->previous) {
        place->previous->next = place->next;
    } else {
        place->file->places = place->next;
    }
    if (place->next) {
        place->next->previous = place->previous;
    }
    free(place);
}

static bool note_change(struct file *file, const struct g4_live_range *range) {
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

static int tell_bound(struct place *place) {
    struct file *const file = place->file;
    const struct object *const object = place->object;
    place->file_number = link_file(&file->link, object->store);
    if (place->file_number == UINT32_MAX) {
        return file->link.dead ? EIO : ENOMEM;
    }
    const struct g4_live_range range = {
        .address = place->address, .file = place->file_number, .offset = object->offset, .size = object->size};
    return note_change(file, &range) ? 0 : ENOMEM;
}

void place_move(struct place *place) {
    if (place->bound) {
        link_file_unused(&place->file->link, place->file_number);
        if (tell_bound(place)) {
            gtt_unbind(place);
        }
    }
}

void gtt_unbind(struct place *place) {
    if (!place->bound) {
        return;
    }
    struct file *const file = place->file;
    const struct g4_live_range range = {
        .address = place->address, .file = G4_LIVE_UNBOUND, .size = place->object->size};
    (void)note_change(file, &range);
    link_file_unused(&file->link, place->file_number);
    ranges_give(&file->addresses, place->address, place->object->size);
    place->bound = false;
}

void gtt_unbind_all(struct file *file) {
    for (struct place *place = file->places; place; place = place->next) {
        gtt_unbind(place);
    }
}

static bool overlaps(const struct place *place, uint64_t start, uint64_t size) {
    return place->bound && place->address < start + size && start < place->address + place->object->size;
}

static int bind_at(struct place *place, uint64_t address) {
    place->bound = true;
    place->address = (uint32_t)address;
    const int error = tell_bound(place);
    if (error) {
        gtt_unbind(place);
    }
    return error;
}

static int bind_pinned(struct place *place, uint64_t address, uint64_t stamp) {
    struct file *const file = place->file;
    const uint64_t size = place->object->size;
    for (struct place *other = file->places, *next; other; other = next) {
        next = other->next;
        if (other != place && overlaps(other, address, size)) {
            if (other->stamp == stamp) {
                return ENOSPC;
            }
            gtt_unbind(other);
        }
    }
    return ranges_take_at(&file->addresses, address, size) ? bind_at(place, address) : ENOSPC;
}

/* The bound place that nobody has used for the longest time. */
static struct place *oldest(const struct file *file, uint64_t stamp) {
    struct place *found = NULL;
    for (struct place *place = file->places; place; place = place->next) {
        if (place->bound && place->stamp != stamp && (!found || place->stamp < found->stamp)) {
            found = place;
        }
    }
    return found;
}

int gtt_bind(struct place *place, const struct gtt_request *request, uint64_t stamp) {
    struct file *const file = place->file;
    const uint64_t alignment = request->alignment > 4096 ? request->alignment : 4096;
    if (request->pinned) {
        if (place->bound && place->address == request->address) {
            return 0;
        }
        gtt_unbind(place);
        return bind_pinned(place, request->address, stamp);
    }
    const uint64_t minimum = request->minimum > lowest_address ? request->minimum : lowest_address;
    if (place->bound && place->address >= request->minimum && (place->address & (alignment - 1)) == 0) {
        return 0;
    }
    gtt_unbind(place);
    const uint64_t size = place->object->size;
    for (;;) {
        const uint64_t address = ranges_take(&file->addresses, size, alignment, minimum);
        if (address != RANGES_NONE) {
            return bind_at(place, address);
        }
        struct place *const victim = oldest(file, stamp);
        if (!victim) {
            return ENOSPC;
        }
        gtt_unbind(victim);
    }
}

bool gtt_flush(struct file *file) {
    enum {
        MOST = (G4_LIVE_MAX_PACKET - sizeof(struct g4_live_bind)) / sizeof(struct g4_live_range)
    };
    static _Alignas(8) uint8_t packet[G4_LIVE_MAX_PACKET];
    struct g4_live_bind *const bind = (struct g4_live_bind *)packet;
    for (uint32_t done = 0; done < file->change_count;) {
        const uint32_t left = file->change_count - done;
        const uint32_t count = left < MOST ? left : MOST;
        *bind = (struct g4_live_bind){.header = {.type = G4_LIVE_BIND}, .count = count};
        memcpy(packet + sizeof *bind, file->changes + done, count * sizeof(struct g4_live_range));
        if (!link_send(&file->link, packet, sizeof *bind + count * sizeof(struct g4_live_range), -1)) {
            file->change_count = 0;
            return false;
        }
        done += count;
    }
    file->change_count = 0;
    link_forget_unused(&file->link);
    return true;
}

void gtt_forget(struct file *file) {
    for (struct place *place = file->places; place; place = place->next) {
        if (place->bound) {
            ranges_give(&file->addresses, place->address, place->object->size);
            place->bound = false;
        }
        place->last_use = 0;
        place->last_write = 0;
    }
    file->change_count = 0;
}
