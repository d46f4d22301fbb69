#include "eu/pixel_maps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    MAX_SIZE = 16384,                             /* pixels of a window, across and down */
    COLUMNS = MAX_SIZE / G4_PIXEL_MAP_TILE,       /* of tiles */
    MAX_TILES = 8192,                             /* 8 million pixels, 300 MB */
    AREA = G4_PIXEL_MAP_TILE * G4_PIXEL_MAP_TILE, /* pixels of a tile */
};

struct g4_pixel_maps {
    pthread_mutex_t lock; /* of the members up to `slot` */
    uint32_t tiles;
    struct g4_pixel_map_tile tile[MAX_TILES];
    atomic_bool lost;
    _Atomic(uint32_t *) slot[COLUMNS * COLUMNS]; /* the counts of each tile; NULL if it has none */
};

struct g4_pixel_maps *g4_pixel_maps_new(void) {
    struct g4_pixel_maps *const maps = calloc(1, sizeof *maps);
    if (maps && pthread_mutex_init(&maps->lock, NULL) != 0) {
        free(maps);
        return NULL;
    }
    return maps;
}

void g4_pixel_maps_clear(struct g4_pixel_maps *maps) {
    for (uint32_t i = 0; i < maps->tiles; i++) {
        const struct g4_pixel_map_tile *const tile = &maps->tile[i];
        const uint32_t at = tile->y / G4_PIXEL_MAP_TILE * COLUMNS + tile->x / G4_PIXEL_MAP_TILE;
        free(atomic_exchange_explicit(&maps->slot[at], NULL, memory_order_relaxed));
    }
    maps->tiles = 0;
    atomic_store_explicit(&maps->lost, false, memory_order_relaxed);
}

void g4_pixel_maps_free(struct g4_pixel_maps *maps) {
    if (maps) {
        g4_pixel_maps_clear(maps);
        pthread_mutex_destroy(&maps->lock);
        free(maps);
    }
}

/* Add the tile with pixel x, y; NULL if there are too many. */
static uint32_t *add_tile(struct g4_pixel_maps *maps, uint32_t x, uint32_t y) {
    _Atomic(uint32_t *) *const slot = &maps->slot[y / G4_PIXEL_MAP_TILE * COLUMNS + x / G4_PIXEL_MAP_TILE];

    if (atomic_load_explicit(&maps->lost, memory_order_relaxed)) {
        return NULL;
    }
    pthread_mutex_lock(&maps->lock);
    uint32_t *counts = atomic_load_explicit(slot, memory_order_relaxed); /* another worker may have been faster */
    if (!counts) {
        counts = maps->tiles < MAX_TILES ? calloc((size_t)G4_PIXEL_MAPS * AREA, sizeof *counts) : NULL;
        if (counts) {
            maps->tile[maps->tiles++] = (struct g4_pixel_map_tile){
                .x = x / G4_PIXEL_MAP_TILE * G4_PIXEL_MAP_TILE,
                .y = y / G4_PIXEL_MAP_TILE * G4_PIXEL_MAP_TILE,
                .counts = counts,
            };
            atomic_store_explicit(slot, counts, memory_order_release);
        } else {
            atomic_store_explicit(&maps->lost, true, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&maps->lock);
    return counts;
}

void g4_pixel_maps_add(struct g4_pixel_maps *maps, enum g4_counted_pixels map, uint32_t x, uint32_t y, uint32_t pixels,
                       uint32_t count) {
    for (uint32_t left = pixels & 15; left; left &= left - 1) {
        const uint32_t p = (uint32_t)__builtin_ctz(left);
        const uint32_t px = x + (p & 1);
        const uint32_t py = y + (p >> 1);
        if (px >= MAX_SIZE || py >= MAX_SIZE) {
            continue;
        }
        uint32_t *const known = atomic_load_explicit(
            &maps->slot[py / G4_PIXEL_MAP_TILE * COLUMNS + px / G4_PIXEL_MAP_TILE], memory_order_acquire);
        uint32_t *const counts = known ? known : add_tile(maps, px, py);
        if (counts) {
            const uint32_t at = py % G4_PIXEL_MAP_TILE * G4_PIXEL_MAP_TILE + px % G4_PIXEL_MAP_TILE;
            /* A kernel may write pixels of tiles that other workers draw. */
            __atomic_fetch_add(&counts[(uint32_t)map * AREA + at], count, __ATOMIC_RELAXED);
        }
    }
}

bool g4_pixel_maps_tiles(const struct g4_pixel_maps *maps, const struct g4_pixel_map_tile **tiles, uint32_t *count) {
    *tiles = maps->tile;
    *count = maps->tiles;
    return !atomic_load_explicit(&maps->lost, memory_order_relaxed);
}
