#include "eu/counters.h"

#include <stdlib.h>
#include <string.h>

#include "eu/line_counts.h"

/* ---- surfaces ---- */

static struct g4_surface_counters *find(struct g4_counters *counters, uint32_t role, g4_address address) {
    const uint32_t recent = counters->recent[role];
    struct g4_surface_counters *const surface = counters->surface;

    if (recent < counters->surfaces && surface[recent].role == role && surface[recent].address == address) {
        return &surface[recent];
    }
    for (uint32_t i = 0; i < counters->surfaces; i++) {
        if (surface[i].role == role && surface[i].address == address) {
            counters->recent[role] = i;
            return &surface[i];
        }
    }
    return NULL;
}

static struct g4_surface_counters *add(struct g4_counters *counters, uint32_t role, g4_address address) {
    if (counters->surfaces == counters->capacity) {
        const uint32_t capacity = counters->capacity ? 2 * counters->capacity : 32;
        struct g4_surface_counters *const more = realloc(counters->surface, capacity * sizeof *more);
        if (!more) {
            counters->no_memory = true;
            return &counters->spill;
        }
        counters->surface = more;
        counters->capacity = capacity;
    }
    counters->recent[role] = counters->surfaces;
    struct g4_surface_counters *const surface = &counters->surface[counters->surfaces++];
    *surface = (struct g4_surface_counters){.role = role, .address = address};
    return surface;
}

void g4_count_bytes(struct g4_counters *counters, enum g4_surface_role role, g4_address address, uint64_t read,
                    uint64_t written) {
    if (read | written) {
        struct g4_surface_counters *const known = find(counters, role, address);
        struct g4_surface_counters *const surface = known ? known : add(counters, role, address);
        surface->read_bytes += read;
        surface->written_bytes += written;
    }
}

/* ---- threads ---- */

static enum g4_counted_stage stage_of(enum g4_unit unit) {
    switch (unit) {
    case G4_UNIT_VS:
        return G4_COUNTED_VS;
    case G4_UNIT_HS:
        return G4_COUNTED_HS;
    case G4_UNIT_DS:
        return G4_COUNTED_DS;
    case G4_UNIT_GS:
        return G4_COUNTED_GS;
    case G4_UNIT_CLIP:
        return G4_COUNTED_CLIP;
    case G4_UNIT_SF:
        return G4_COUNTED_SF;
    case G4_UNIT_WM:
        return G4_COUNTED_WM;
    default:
        return G4_COUNTED_MEDIA;
    }
}

enum g4_status g4_counted_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    struct g4_stage_counters *const stage = &eu->counters->sum.stage[stage_of(gang->dispatch->unit)];
    const uint64_t instructions = eu->instructions;
    const uint64_t channel_ops = eu->channel_ops;
    uint64_t messages[G4_FUNCTIONS];

    memcpy(messages, eu->messages, sizeof messages);
    if (gang->dispatch->unit !=
        G4_UNIT_TS) { /* media threads run in turns; the media pipeline counts them when they start */
        stage->threads += (unsigned)__builtin_popcount(gang->live);
    }
    struct g4_line_counts *const lines = eu->counters->lines;
    const enum g4_status status =
        lines && !eu->hooks ? g4_line_counts_run(lines, eu, gang, kernel) : g4_gang_run_uncounted(eu, gang, kernel);
    stage->instructions += eu->instructions - instructions;
    stage->channel_ops += eu->channel_ops - channel_ops;
    for (int f = 0; f < G4_FUNCTIONS; f++) {
        stage->messages[f] += eu->messages[f] - messages[f];
    }
    return status;
}

/* ---- sums ---- */

enum {
    SUMS = offsetof(struct g4_draw_counters, surfaces) / sizeof(uint64_t), /* number of members that are plain sums */
};

void g4_counters_begin(struct g4_counters *counters) {
    g4_surface_cache_reset(counters->cache);
}

void g4_counters_clear(struct g4_counters *counters) {
    memset(&counters->sum, 0, sizeof counters->sum);
    memset(&counters->spill, 0, sizeof counters->spill);
    memset(counters->recent, 0, sizeof counters->recent);
    counters->surfaces = 0;
    counters->no_memory = false;
}

void g4_counters_merge(struct g4_counters *into, struct g4_counters *from) {
    uint64_t *const to = (uint64_t *)&into->sum;
    const uint64_t *const added = (const uint64_t *)&from->sum;

    for (size_t i = 0; i < SUMS; i++) {
        to[i] += added[i];
    }
    for (uint32_t i = 0; i < from->surfaces; i++) {
        const struct g4_surface_counters *const s = &from->surface[i];
        g4_count_bytes(into, (enum g4_surface_role)s->role, s->address, s->read_bytes, s->written_bytes);
    }
    into->no_memory |= from->no_memory;
    if (into->lines) {
        g4_line_counts_merge(into->lines, from->lines);
    }
    g4_counters_clear(from);
}

/* ---- lifetime ---- */

void g4_counters_free(struct g4_counters *counters) {
    if (counters) {
        g4_surface_cache_free(counters->cache);
        g4_line_counts_free(counters->lines);
        free(counters->surface);
        free(counters);
    }
}

struct g4_counters *g4_counters_new(struct g4_mem *mem) {
    struct g4_counters *const counters = calloc(1, sizeof *counters);
    if (!counters) {
        return NULL;
    }
    counters->cache = g4_surface_cache_new();
    if (!counters->cache) {
        g4_counters_free(counters);
        return NULL;
    }
    g4_port_init(&counters->look, mem, G4_UNIT_CPU, false);
    counters->look.quiet = true;
    return counters;
}
