/* Tables of handles. */
#ifndef SHIM_HANDLE_TABLE_H
#define SHIM_HANDLE_TABLE_H
#include <stdint.h>

/* Handles start at 1; the lowest free one is used first. */
struct handle_table {
    void **items;
    uint32_t capacity, lowest;
};

/* A handle for `item`; 0: no memory. */
uint32_t handle_add(struct handle_table *handles, void *item);
/* These return NULL if the handle is unused. */
void *handle_lookup(const struct handle_table *handles, uint32_t handle);
void *handle_remove(struct handle_table *handles, uint32_t handle);

#endif
