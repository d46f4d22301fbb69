#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum {
    ARENA_BLOCK = 1 << 20,
    ARENA_ALIGN = 64
};

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

struct g4_arena {
    struct arena_block *first;
    struct arena_block *current;
    size_t used; /* of the current block */
};

struct g4_arena *g4_arena_new(void) {
    return calloc(1, sizeof(struct g4_arena));
}

void g4_arena_free(struct g4_arena *arena) {
    if (!arena) {
        return;
    }
    struct arena_block *block = arena->first;
    while (block) {
        struct arena_block *const next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

void g4_arena_reset(struct g4_arena *arena) {
    arena->current = arena->first;
    arena->used = 0;
}

static struct arena_block *arena_grow(struct g4_arena *arena, size_t size) {
    const size_t data = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    const size_t whole = (sizeof(struct arena_block) + data + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_block *const block = aligned_alloc(ARENA_ALIGN, whole);
    if (!block) {
        return NULL;
    }
    block->size = data;
    if (arena->current) {
        block->next = arena->current->next;
        arena->current->next = block;
    } else {
        block->next = arena->first;
        arena->first = block;
    }
    return block;
}

void *g4_arena_alloc(struct g4_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (!arena->current || arena->used + size > arena->current->size) {
        struct arena_block *block = arena->current ? arena->current->next : NULL;
        if (!block || block->size < size) {
            block = arena_grow(arena, size);
            if (!block) {
                return NULL;
            }
        }
        arena->current = block;
        arena->used = 0;
    }
    void *const data = arena->current->data + arena->used;
    arena->used += size;
    return data;
}
