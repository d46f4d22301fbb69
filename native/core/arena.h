/*
 * An arena: a bump allocator that is emptied as a whole.  Its blocks stay allocated for the next use.
 */
#ifndef G4_ARENA_H
#define G4_ARENA_H

#include <stddef.h>

struct g4_arena;

struct g4_arena *g4_arena_new(void);
void g4_arena_free(struct g4_arena *arena);
/* Free everything allocated from the arena. */
void g4_arena_reset(struct g4_arena *arena);
/* 64-byte aligned, not zeroed; NULL if the host has no memory. */
void *g4_arena_alloc(struct g4_arena *arena, size_t size);

#endif
