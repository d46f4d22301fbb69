#include "shim/base/handle_table.h"

#include <stddef.h>
#include <stdlib.h>

uint32_t handle_add(struct handle_table *handles, void *item) {
    uint32_t handle = handles->lowest ? handles->lowest : 1;
    while (handle < handles->capacity && handles->items[handle]) {
        handle++;
    }
    if (handle >= handles->capacity) {
        const uint32_t capacity = handles->capacity ? handles->capacity * 2 : 64;
        void **const items = realloc(handles->items, capacity * sizeof *items);
        if (!items) {
            return 0;
        }
        for (uint32_t i = handles->capacity; i < capacity; i++) {
            items[i] = NULL;
        }
        handles->items = items;
        handles->capacity = capacity;
    }
    handles->items[handle] = item;
    handles->lowest = handle + 1;
    return handle;
}

void *handle_lookup(const struct handle_table *handles, uint32_t handle) {
    return handle < handles->capacity ? handles->items[handle] : NULL;
}

void *handle_remove(struct handle_table *handles, uint32_t handle) {
    void *const item = handle_lookup(handles, handle);
    if (item) {
        handles->items[handle] = NULL;
        if (handle < handles->lowest) {
            handles->lowest = handle;
        }
    }
    return item;
}
