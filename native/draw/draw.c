/*
 * One 3DPRIMITIVE from vertices to pixels, in two phases that alternate: ranges of the input become set-up objects
 * (parallel over ranges), then the objects are binned and the screen tiles drawn (parallel over tiles).  Both are
 * consumed in order, so the picture and all counts are the same for any number of workers.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "color/hiz_buffer.h"
#include "core/clock.h"
#include "core/hooks.h"
#include "core/util.h"
#include "draw/device.h"
#include "draw/memory_use.h"
#include "eu/counters.h"
#include "geometry/mesh.h"
#include "geometry/payload.h"
#include "geometry/setup.h"
#include "geometry/setup_kernel.h"
#include "raster/windower.h"
#include "sampler/message.h"

enum {
    RANGES_PER_BATCH = 256,      /* chunks between two tile phases; plan.c bounds their objects */
    OBJECTS_PER_BATCH = 4096,    /* of draws that wait: more leave the caches before their tiles are drawn */
    GRID = 16384 / G4_TILE_SIZE, /* drawing rectangles end at 16383, before Gen7 at 8191 */
    BRIEF_OBJECTS = 1024,        /* fewer are set up in less time than it takes to wake a thread */
    BRIEF_TILES = 4,             /* as BRIEF_OBJECTS: no more tiles, with at most BRIEF_SETUPS objects */
    BRIEF_SETUPS = 64,
    WORTH_WAKING = 100000,   /* ns of remaining work for which threads are woken */
    SMALL_STATES = 8,        /* with this many states of waiting draws, of few tiles each, WORTH_FETCHING applies */
    WORTH_FETCHING = 300000, /* as WORTH_WAKING, for draws whose state other threads must fetch into their caches */
    MOST_WRITES = 64,        /* that wait */
    PREPARED_DRAWS = 16,     /* allocated before the first one */
    PREPARED_ROWS = 32,      /* of tiles, as PREPARED_DRAWS */
    FIRST_BINNED = 1 << 12,  /* entries of the list of all bins, of 9 bytes each: room at first */
    MOST_BINNED = 1 << 23,   /* and at most */
};

_Static_assert(GRID *GRID <= MOST_BINNED, "an object fits");

/* Where a set-up object is. */
struct object_position {
    uint32_t chunk, setup;
};

/* Of a tile, while objects are binned. */
struct bin {
    uint32_t count; /* objects that may touch it */
    uint32_t next;  /* place of the next one in the list */
    uint32_t last;  /* one more than the last draw that touches the tile */
};

/* A tile with objects: those that may touch it, in order, are `count` in the list from `first` on. */
struct used_tile {
    uint32_t index; /* in the grid */
    uint32_t first, count;
};

/* What a worker needs while it draws tiles of draws with the same state. */
struct pixel_state {
    _Alignas(64) struct g4_wm *wm; /* each worker has cache lines of its own */
    void *cc;
    bool begun;
    /* If draws share the state: this worker's copy, and the draw whose inputs it has.  The first worker has no copy. */
    struct g4_draw_state *state;
    const struct pending_draw *entered;
};

/* The state of a draw that was loaded, and of those that follow it: no command in between has written memory, or
 * changed more than their inputs. */
struct shared_state {
    struct pending_draw *leader; /* the draw that was loaded */
    uint32_t followers;
    bool faulty;  /* loading it has read missing memory, which is reported for each draw: none follows */
    bool reports; /* the state is bad, which is reported for each of the draws */
    struct g4_draw_state state;
    struct pixel_state pixels[]; /* by worker */
};

/* The part of a draw's state that others with the same state have of their own.  What tools alone read of constants,
 * their addresses, is not part of it: with tools, draws never wait. */
struct draw_inputs {
    struct g4_primitive primitive;
    struct g4_index_buffer index_buffer;
    struct g4_vertex_buffer vertex_buffer[G4_VERTEX_BUFFERS]; /* the first `vertex_buffers` are used */
    uint32_t vertex_buffers;
    struct g4_curbe curbe;
    struct {
        const uint32_t (*row)[8];
        uint32_t rows;
    } constants[G4_STAGES];
};

/* What a worker knows of a draw. */
struct draw_progress {
    _Alignas(64) uint64_t budget; /* instructions that it may still execute for the draw */
    struct g4_wm_fills fills;     /* if it shares its state */
};

/* A draw that runs, or waits for others with the same targets. */
struct pending_draw {
    struct shared_state *shared;
    struct draw_inputs inputs; /* once the draw waits */
    uint32_t curbe[G4_CURBE_ROWS][8];
    struct g4_memory_use use;                           /* of a follower, what it reads beyond what its leader does */
    uint64_t vertices, primitives;                      /* of its ranges in the batch */
    uint32_t tiles;                                     /* that its objects may touch */
    uint32_t constants[G4_STAGES][G4_CONSTANT_ROWS][8]; /* push constants, of which those that are used are written */
    struct draw_progress progress[];                    /* by worker */
};

/* A write of a command between draws that wait. */
struct pending_write {
    g4_address address;
    uint32_t words[2];
    uint32_t preceding; /* draws of the batch before it */
};

struct g4_draw_frame {
    struct g4_arena *arena; /* of the order of tiles */
    struct bin *grid;       /* GRID x GRID, empty between draws */
    struct used_tile *used; /* in the order they were first touched */
    uint32_t used_count;
    /* The list: the objects of each bin, and their draws.  It is dense, as are the used tiles, because all processors
     * read them, and a cache line that another one has written takes as long as a hundred instructions. */
    const struct g4_setup **binned;
    uint8_t *binned_draw;
    uint32_t binned_capacity;

    struct g4_plan plan; /* of the last draw */
    struct g4_plan_cursor cursor;
    enum g4_status plan_status;

    /* The draws of the batch, and their ranges in the same order. */
    struct pending_draw *draw[G4_WAITING_DRAWS];
    uint32_t waiting; /* draws */
    struct shared_state *state[G4_WAITING_STATES];
    uint32_t states; /* of draws that wait */
    uint32_t ranges, objects;
    struct g4_range range[RANGES_PER_BATCH];
    uint8_t draw_of[RANGES_PER_BATCH];
    struct g4_chunk chunk[RANGES_PER_BATCH];
    uint32_t first_number[RANGES_PER_BATCH]; /* of each chunk's first object */
    enum g4_status range_status[RANGES_PER_BATCH];

    struct pending_write write[MOST_WRITES];
    uint32_t writes;
    struct g4_written_pages *written; /* by the waiting draws; filled when there are two or more */
    bool written_known;               /* `written` is filled */
    struct g4_report_log unheard;     /* of preparations that are repeated */
};

/* A batch while it runs. */
struct batch {
    struct g4_device *device;
    struct g4_draw_frame *frame;
    _Atomic uint32_t failed;              /* of the first draw that failed: its number << 8 | enum g4_status; 0: none */
    uint64_t streamed;                    /* objects so far, with stream output that is not in order */
    bool ranges_in_order, tiles_in_order; /* their kernels have effects that depend on it */
    struct g4_streamed in_order;
};

struct g4_draw_frame *g4_draw_frame_new(void) {
    struct g4_draw_frame *const frame = calloc(1, sizeof *frame);
    if (!frame) {
        return NULL;
    }
    frame->arena = g4_arena_new();
    frame->grid = calloc((size_t)GRID * GRID, sizeof *frame->grid);
    frame->used = malloc((size_t)GRID * GRID * sizeof *frame->used);
    frame->plan.range = malloc(RANGES_PER_BATCH * sizeof *frame->plan.range);
    frame->plan.capacity = RANGES_PER_BATCH;
    frame->written = g4_written_pages_new();
    if (!frame->arena || !frame->grid || !frame->used || !frame->plan.range || !frame->written) {
        g4_draw_frame_free(frame, 0);
        return NULL;
    }
    return frame;
}

void g4_draw_frame_free(struct g4_draw_frame *frame, uint32_t workers) {
    if (!frame) {
        return;
    }
    for (uint32_t d = 0; d < G4_WAITING_DRAWS && frame->draw[d]; d++) {
        free(frame->draw[d]);
    }
    for (uint32_t s = 0; s < G4_WAITING_STATES && frame->state[s]; s++) {
        for (uint32_t i = 0; i < workers; i++) {
            free(frame->state[s]->pixels[i].wm);
            free(frame->state[s]->pixels[i].cc);
            free(frame->state[s]->pixels[i].state);
        }
        free(frame->state[s]);
    }
    g4_written_pages_free(frame->written);
    g4_arena_free(frame->arena);
    free(frame->binned);
    free(frame->binned_draw);
    free(frame->grid);
    free(frame->used);
    free(frame->plan.range);
    free(frame);
}

/* The place for draw number d of a batch, made on first use; NULL: no memory. */
static struct pending_draw *place_of(struct g4_device *device, uint32_t d) {
    struct pending_draw **const draw = &device->frame->draw[d];
    if (!*draw) {
        *draw =
            aligned_alloc(_Alignof(struct pending_draw), sizeof **draw + device->workers * sizeof(*draw)->progress[0]);
        if (*draw) {
            memset(*draw, 0,
                   offsetof(struct pending_draw, constants)); /* the system need not provide pages for these */
        }
    }
    return *draw;
}

/* State number n of a batch, as place_of(). */
static struct shared_state *state_at(struct g4_device *device, uint32_t n) {
    struct shared_state **const shared = &device->frame->state[n];
    if (!*shared) {
        *shared = g4_new_cleared(sizeof **shared + device->workers * sizeof(*shared)->pixels[0]);
    }
    return *shared;
}

static void begin_progress(const struct g4_device *device, struct pending_draw *draw) {
    for (uint32_t i = 0; i < device->workers; i++) {
        draw->progress[i].budget = g4_watchdog(&device->ctx.options);
        draw->progress[i].fills = (struct g4_wm_fills){0};
    }
}

/* Give a draw the next state, which no other one has. */
static void lead(struct g4_device *device, struct pending_draw *draw) {
    struct shared_state *const shared = device->frame->state[device->frame->states];

    shared->leader = draw;
    shared->followers = 0;
    shared->faulty = shared->reports = false;
    for (uint32_t i = 0; i < device->workers; i++) {
        shared->pixels[i].begun = false;
        shared->pixels[i].entered = NULL;
    }
    draw->shared = shared;
    device->draw_state = &shared->state;
    begin_progress(device, draw);
}

/* The place for the next draw.  There is a state for it, too.  NULL: no memory. */
static struct pending_draw *next_draw(struct g4_device *device) {
    struct pending_draw *const draw = place_of(device, device->frame->waiting);
    return draw && state_at(device, device->frame->states) ? draw : NULL;
}

bool g4_draw_frame_begin(struct g4_device *device) {
    struct pending_draw *const draw = next_draw(device);
    if (draw) {
        lead(device, draw);
    }
    return draw != NULL;
}

/* Make the draw in this place and this state the first ones, when none waits any more. */
static void make_first(struct g4_draw_frame *frame, uint32_t place, uint32_t state) {
    struct pending_draw *const draw = frame->draw[0];
    struct shared_state *const shared = frame->state[0];
    frame->draw[0] = frame->draw[place];
    frame->draw[place] = draw;
    frame->state[0] = frame->state[state];
    frame->state[state] = shared;
}

/* ---- the draw that a worker is busy with ---- */

static void get_inputs(struct draw_inputs *inputs, const struct g4_draw_state *state) {
    inputs->primitive = state->primitive;
    inputs->index_buffer = state->index_buffer;
    inputs->curbe = state->curbe;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        inputs->constants[stage].row = state->stage[stage].constants;
        inputs->constants[stage].rows = state->stage[stage].constant_rows;
    }
    inputs->vertex_buffers = 0;
    for (uint32_t i = 0; i < state->vertex_elements; i++) {
        const uint32_t buffer = state->vertex_element[i].buffer;
        if (buffer < G4_VERTEX_BUFFERS && buffer >= inputs->vertex_buffers) {
            inputs->vertex_buffers = buffer + 1;
        }
    }
    memcpy(inputs->vertex_buffer, state->vertex_buffer, inputs->vertex_buffers * sizeof *inputs->vertex_buffer);
}

static void set_inputs(struct g4_draw_state *state, const struct draw_inputs *inputs) {
    state->primitive = inputs->primitive;
    state->index_buffer = inputs->index_buffer;
    state->curbe = inputs->curbe;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        state->stage[stage].constants = inputs->constants[stage].row;
        state->stage[stage].constant_rows = inputs->constants[stage].rows;
    }
    memcpy(state->vertex_buffer, inputs->vertex_buffer, inputs->vertex_buffers * sizeof *inputs->vertex_buffer);
}

/* Switch a worker to a draw; returns its state. */
static const struct g4_draw_state *enter_draw(struct g4_worker *worker, const struct pending_draw *draw) {
    struct shared_state *const shared = draw->shared;
    struct pixel_state *const pixels = &shared->pixels[worker->index];
    struct g4_draw_state *const state = shared->followers && worker->index ? pixels->state : &shared->state;

    worker->wm = pixels->wm;
    worker->eu.cc = pixels->cc;
    worker->eu.instruction_budget = draw->progress[worker->index].budget;
    if (shared->followers && pixels->entered != draw) {
        set_inputs(state, &draw->inputs);
        pixels->entered = draw;
    }
    return state;
}

static void leave_draw(const struct g4_worker *worker, struct pending_draw *draw) {
    draw->progress[worker->index].budget = worker->eu.instruction_budget;
}

/* Prepare a worker for the tiles of a draw and of those that share its state; it stays with the draw. */
static enum g4_status begin_pixels(struct g4_worker *worker, const struct pending_draw *draw) {
    struct pixel_state *const pixels = &draw->shared->pixels[worker->index];
    const enum g4_status status = g4_wm_begin(worker, enter_draw(worker, draw));
    pixels->wm = worker->wm;
    pixels->cc = worker->eu.cc;
    pixels->begun = status == G4_OK;
    return status;
}

static enum g4_status draw_tile(struct g4_worker *worker, struct pending_draw *draw, const struct g4_tile *tile) {
    struct g4_wm_fills *const fills = draw->shared->followers ? &draw->progress[worker->index].fills : NULL;
    const struct g4_draw_state *const state = enter_draw(worker, draw);
    enum g4_status status = draw->shared->pixels[worker->index].begun ? G4_OK : begin_pixels(worker, draw);

    if (status == G4_OK && fills) {
        g4_wm_set_fills(worker->wm, fills);
    }
    if (status == G4_OK) {
        status = g4_wm_tile(worker, state, tile);
    }
    if (status == G4_OK && fills) {
        g4_wm_get_fills(worker->wm, fills);
    }
    leave_draw(worker, draw);
    return status;
}

static bool allocate_pixels(struct g4_device *device, struct shared_state *shared) {
    bool made = true;
    for (uint32_t i = 0; i < device->workers && made; i++) {
        struct g4_worker *const worker = device->worker[i];
        struct pixel_state *const pixels = &shared->pixels[i];
        worker->wm = pixels->wm;
        worker->eu.cc = pixels->cc;
        made = g4_wm_allocate(worker);
        pixels->wm = worker->wm;
        pixels->cc = worker->eu.cc;
    }
    return made;
}

/* ---- phase 1: geometry ---- */

static struct g4_touched_tiles tiles_of(const struct g4_setup *setup) {
    const int32_t limit = GRID * G4_TILE_SIZE - 1;
    const int32_t x_min = setup->x_min < 0 ? 0 : setup->x_min;
    const int32_t y_min = setup->y_min < 0 ? 0 : setup->y_min;
    const int32_t x_max = setup->x_max > limit ? limit : setup->x_max;
    const int32_t y_max = setup->y_max > limit ? limit : setup->y_max;

    if (x_min > x_max || y_min > y_max) {
        return (struct g4_touched_tiles){.x_min = 1};
    }
    return (struct g4_touched_tiles){
        .x_min = (uint16_t)(x_min / G4_TILE_SIZE),
        .y_min = (uint16_t)(y_min / G4_TILE_SIZE),
        .x_max = (uint16_t)(x_max / G4_TILE_SIZE),
        .y_max = (uint16_t)(y_max / G4_TILE_SIZE),
    };
}

static enum g4_status find_tiles(struct g4_chunk *chunk) {
    chunk->tiles = g4_arena_alloc(chunk->batch_arena, chunk->setups * sizeof *chunk->tiles + 1);
    if (!chunk->tiles) {
        return G4_NO_MEMORY;
    }
    for (uint32_t i = 0; i < chunk->setups; i++) {
        chunk->tiles[i] = tiles_of(&chunk->setup[i]);
    }
    return G4_OK;
}

static void record_clipped(const struct g4_device *device, const struct g4_chunk *chunk) {
    struct g4_sf_frame frame;

    g4_sf_frame_begin(&frame, device->draw_state);
    g4_mesh_add_clipped(device->mesh, &frame, chunk);
}

static void run_range(void *data, uint32_t worker_index, uint32_t job) {
    struct batch *const batch = data;
    struct g4_device *const device = batch->device;
    struct g4_worker *const worker = device->worker[worker_index];
    struct g4_chunk *const chunk = &batch->frame->chunk[job];
    struct pending_draw *const draw = batch->frame->draw[batch->frame->draw_of[job]];

    g4_arena_reset(worker->range_arena);
    chunk->range_arena = worker->range_arena;
    chunk->batch_arena = worker->batch_arena;
    chunk->index = (uint16_t)job;
    chunk->objects = 0;
    chunk->setups = 0;
    chunk->mesh = device->mesh;
    if (chunk->mesh) {
        g4_mesh_begin_range(chunk->mesh);
    }
    if (worker->eu.hooks) {
        worker->eu.hooks->range_started(worker->eu.hooks);
    }
    const struct g4_draw_state *const state = enter_draw(worker, draw);
    enum g4_status status = g4_geometry_run(worker, state, &batch->frame->range[job], chunk);
    if (status == G4_OK) {
        status = device->ctx.model->run_setup(worker, state, chunk);
    }
    leave_draw(worker, draw);
    if (status == G4_OK) {
        status = find_tiles(chunk);
    }
    if (status == G4_OK && chunk->mesh) {
        record_clipped(device, chunk);
    }
    if (worker->eu.hooks) {
        worker->eu.hooks->range_ended(worker->eu.hooks, chunk->objects);
    }
    batch->frame->range_status[job] = status;
}

/* ---- binning ---- */

static uint32_t tiles_in(struct g4_touched_tiles box) {
    return (box.x_max - box.x_min + 1u) * (box.y_max - box.y_min + 1u);
}

/* Count the objects of a chunk from `first` on in the bins they touch, until `left` entries are used up.  Returns the
 * first object that did not fit. */
static uint32_t count_chunk(struct g4_draw_frame *frame, const struct g4_chunk *chunk, uint32_t first, uint32_t d,
                            uint32_t *left) {
    for (uint32_t i = first; i < chunk->setups; i++) {
        const struct g4_touched_tiles box = chunk->tiles[i];
        const uint32_t tiles = tiles_in(box);
        if (tiles > *left) {
            return i;
        }
        *left -= tiles;
        for (uint32_t ty = box.y_min; ty <= box.y_max; ty++) {
            for (uint32_t tx = box.x_min; tx <= box.x_max; tx++) {
                struct bin *const bin = &frame->grid[ty * GRID + tx];
                if (bin->count == 0) {
                    frame->used[frame->used_count++].index = ty * GRID + tx;
                }
                if (bin->last != d + 1) {
                    bin->last = d + 1;
                    frame->draw[d]->tiles++;
                }
                bin->count++;
            }
        }
    }
    return chunk->setups;
}

static void fill_chunk(struct g4_draw_frame *frame, const struct g4_chunk *chunk, uint32_t first, uint32_t end,
                       uint32_t d) {
    for (uint32_t i = first; i < end; i++) {
        const struct g4_touched_tiles box = chunk->tiles[i];
        for (uint32_t ty = box.y_min; ty <= box.y_max; ty++) {
            for (uint32_t tx = box.x_min; tx <= box.x_max; tx++) {
                struct bin *const bin = &frame->grid[ty * GRID + tx];
                const uint32_t at = bin->next++;
                frame->binned_draw[at] = (uint8_t)d;
                frame->binned[at] = &chunk->setup[i];
            }
        }
    }
}

/* Make the list long enough for so many objects; false: no memory. */
static bool reserve_list(struct g4_draw_frame *frame, uint32_t count) {
    uint32_t capacity = frame->binned_capacity ? frame->binned_capacity : FIRST_BINNED;
    while (capacity < count) {
        capacity *= 2;
    }
    if (capacity == frame->binned_capacity) {
        return true;
    }
    const struct g4_setup **const objects = realloc(frame->binned, capacity * sizeof(const struct g4_setup *));
    frame->binned = objects ? objects : frame->binned;
    uint8_t *const draws = realloc(frame->binned_draw, capacity);
    frame->binned_draw = draws ? draws : frame->binned_draw;
    frame->binned_capacity = objects && draws ? capacity : frame->binned_capacity;
    return objects && draws;
}

static enum g4_status allocate_bins(struct g4_draw_frame *frame) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < frame->used_count; i++) {
        struct used_tile *const tile = &frame->used[i];
        struct bin *const bin = &frame->grid[tile->index];
        tile->first = bin->next = count;
        tile->count = bin->count;
        count += bin->count;
    }
    return reserve_list(frame, count) ? G4_OK : G4_NO_MEMORY;
}

/* Count objects from `at` on until the bins are full.  Returns the first that did not fit. */
static struct object_position count_objects_of_bins(struct g4_draw_frame *frame, uint32_t chunks,
                                                    struct object_position at) {
    uint32_t left = MOST_BINNED;

    while (at.chunk < chunks) {
        const struct g4_chunk *const chunk = &frame->chunk[at.chunk];
        at.setup = count_chunk(frame, chunk, at.setup, frame->draw_of[at.chunk], &left);
        if (at.setup < chunk->setups) {
            break;
        }
        at = (struct object_position){.chunk = at.chunk + 1};
    }
    return at;
}

/* Bin objects from `*next` on until the bins are full; then `*next` is the first object that is left. */
static enum g4_status bin_objects(struct g4_draw_frame *frame, uint32_t chunks, struct object_position *next) {
    const struct object_position from = *next;
    *next = count_objects_of_bins(frame, chunks, from);
    if (allocate_bins(frame) != G4_OK) {
        return G4_NO_MEMORY;
    }
    for (uint32_t c = from.chunk; c <= next->chunk && c < chunks; c++) {
        fill_chunk(frame, &frame->chunk[c], c == from.chunk ? from.setup : 0,
                   c == next->chunk ? next->setup : frame->chunk[c].setups, frame->draw_of[c]);
    }
    return G4_OK;
}

/* Empty the bins.  With objects of the batch left, they still know the last draw that has touched each tile. */
static void clear_bins(struct g4_draw_frame *frame, bool objects_left) {
    for (uint32_t i = 0; i < frame->used_count; i++) {
        struct bin *const bin = &frame->grid[frame->used[i].index];
        *bin = (struct bin){.last = objects_left ? bin->last : 0};
    }
    frame->used_count = 0;
    g4_arena_reset(frame->arena);
}

/* ---- phase 2: tiles ---- */

static void fail(struct batch *batch, uint32_t d, enum g4_status status) {
    const uint32_t failed = d << 8 | (uint32_t)status;
    uint32_t before = atomic_load_explicit(&batch->failed, memory_order_relaxed);
    while ((before == 0 || failed < before) &&
           !atomic_compare_exchange_weak_explicit(&batch->failed, &before, failed, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* All objects of a tile: those of one draw after those of another. */
static void run_tile(void *data, uint32_t worker_index, uint32_t job) {
    struct batch *const batch = data;
    struct g4_worker *const worker = batch->device->worker[worker_index];
    const struct used_tile used = batch->frame->used[job];
    struct g4_tile tile = {
        .x = (int32_t)(used.index % GRID) * G4_TILE_SIZE,
        .y = (int32_t)(used.index / GRID) * G4_TILE_SIZE,
        .first_number = batch->frame->first_number,
    };

    const uint8_t *const draws = &batch->frame->binned_draw[used.first];
    const uint8_t *const end = draws + used.count;
    for (uint32_t i = 0; i < used.count; i += tile.setups) {
        const uint32_t d = draws[i];
        const uint8_t *same = &draws[i];
        while (same < end && *same == d) {
            same++;
        }
        tile.setup = &batch->frame->binned[used.first + i];
        tile.setups = (uint32_t)(same - &draws[i]);
        const enum g4_status status = draw_tile(worker, batch->frame->draw[d], &tile);
        if (status != G4_OK) {
            fail(batch, d, status);
            return;
        }
    }
}

/* With hooks or an object range active: assign final object numbers, and drop objects outside the range. */
static void number_objects(const struct g4_device *device, struct g4_draw_frame *frame, struct g4_chunk *chunk) {
    for (uint32_t i = 0; i < chunk->setups; i++) {
        struct g4_setup *const setup = &chunk->setup[i];
        setup->primitive = (device->next_object + setup->primitive) & G4_OBJECT_NUMBERS;
        if (setup->primitive < device->first_object || setup->primitive > device->last_object) {
            chunk->tiles[i] = (struct g4_touched_tiles){.x_min = 1};
        }
    }
    frame->first_number[chunk->index] = 0;
}

/* Run jobs 0..count-1 on all workers; with hooks or `in_order` on the calling thread, one after the other. */
static void run_jobs(struct batch *batch, g4_job_fn *fn, uint32_t count, uint32_t worth, bool in_order) {
    const bool awake = worth < WORTH_FETCHING; /* of small draws, threads that are awake would fetch the state */
    if (!batch->device->ctx.hooks && !in_order) {
        g4_pool_run(batch->device->pool, fn, batch, count, worth, awake);
    } else {
        g4_pool_run_in_order(batch->device->pool, fn, batch, count);
    }
}

/* A tile takes eight gangs, of eight threads of 16 pixels, if it is full. */
static void expect_pixels(const struct g4_device *device, const struct pending_draw *draw) {
    enum {
        GANGS = G4_TILE_SIZE * G4_TILE_SIZE / (8 * 16)
    };
    const struct shared_state *const shared = draw->shared;
    if (shared->pixels[0].begun && g4_wm_mostly_fills(shared->pixels[0].wm)) {
        return;
    }
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        g4_kernel_expect(shared->state.wm_kernel[i], &device->ctx, draw->tiles * GANGS);
    }
}

static void expect_vertices(const struct g4_device *device, const struct pending_draw *draw) {
    enum {
        VERTICES = 8 * 2, /* of a gang */
        OBJECTS = 8
    };
    const struct g4_kernel *const *const kernel = draw->shared->state.kernel;
    g4_kernel_expect(kernel[G4_STAGE_VS], &device->ctx, (uint32_t)(draw->vertices / VERTICES));
    g4_kernel_expect(kernel[G4_STAGE_SF], &device->ctx, (uint32_t)(draw->primitives / OBJECTS));
}

/* Number and count the objects of the batch's chunks, up to a range that failed.  Returns the chunks of the draws
 * before that. */
static uint32_t count_objects(struct batch *batch, uint32_t *setups) {
    struct g4_device *const device = batch->device;
    struct g4_draw_frame *const frame = batch->frame;
    const bool watched = device->ctx.hooks || device->first_object > 0 || device->last_object < G4_OBJECT_NUMBERS;
    uint32_t complete = 0; /* chunks of the draws before that of chunk c */
    uint32_t counted = 0;

    for (uint32_t c = 0; c < frame->ranges; c++) {
        struct g4_chunk *const chunk = &frame->chunk[c];
        const enum g4_status status = frame->range_status[c];
        const uint32_t d = frame->draw_of[c];
        if (c == 0 || d != frame->draw_of[c - 1]) {
            complete = c;
            *setups = counted;
        }
        frame->first_number[c] = device->next_object;
        if (status == G4_OK && watched) {
            number_objects(device, frame, chunk);
        }
        counted += chunk->setups;
        device->next_object = (device->next_object + chunk->objects) & G4_OBJECT_NUMBERS;
        g4_sf_count_stipple(device->ctx.state, &frame->draw[d]->shared->state, chunk);
        device->counts.objects += chunk->objects;
        if (status != G4_OK) {
            device->counts.setups += counted;
            if (device->counters) {
                device->counters->sum.set_up += counted;
            }
            fail(batch, d, status);
            return complete;
        }
    }
    *setups = counted;
    device->counts.setups += counted;
    if (device->counters) {
        device->counters->sum.set_up += counted;
    }
    return frame->ranges;
}

/* Move tiles with few objects into the middle of these tiles, where workers begin them last: so all end at about the
 * same time.  The others keep their order, and with it, from frame to frame, their worker. */
static void begin_light_tiles_last(struct used_tile *used, uint32_t first, uint32_t end, struct used_tile *light) {
    uint64_t objects = 0;
    uint32_t lights = 0;
    uint32_t next = first;

    for (uint32_t i = first; i < end; i++) {
        objects += used[i].count;
    }
    for (uint32_t i = first; i < end; i++) {
        if (2 * (uint64_t)used[i].count * (end - first) <= objects) {
            light[lights++] = used[i];
        } else {
            used[next++] = used[i];
        }
    }
    const uint32_t later = (next - first) / 2;
    struct used_tile *const middle = &used[next - later];
    memmove(middle + lights, middle, later * sizeof *used);
    memcpy(middle, light, lights * sizeof *used);
}

static void order_tiles(const struct g4_device *device, struct g4_draw_frame *frame) {
    struct used_tile *const space = g4_arena_alloc(frame->arena, frame->used_count * sizeof *space);
    uint32_t first = 0;
    for (uint32_t share = 0; space && share < g4_pool_shares(device->pool); share++) {
        const uint32_t end = g4_pool_share_end(device->pool, frame->used_count, share);
        begin_light_tiles_last(frame->used, first, end, space);
        first = end;
    }
}

/* Draw the binned objects; `setups` is the number of all objects of the batch. */
static void draw_bins(struct batch *batch, uint32_t setups) {
    struct g4_device *const device = batch->device;
    struct g4_draw_frame *const frame = batch->frame;
    uint32_t tiles = 0;

    for (uint32_t d = 0; d < frame->waiting; d++) {
        tiles += frame->draw[d]->tiles;
        expect_pixels(device, frame->draw[d]);
        frame->draw[d]->tiles = 0;
    }
    device->counts.tiles += tiles;
    const bool small = frame->states >= SMALL_STATES && tiles < BRIEF_TILES * frame->waiting;
    const bool brief = frame->used_count <= BRIEF_TILES && setups <= BRIEF_SETUPS;
    const uint32_t worth = small ? WORTH_FETCHING : brief ? WORTH_WAKING : 0;
    if (device->workers > 1 && !worth && !batch->tiles_in_order && !device->ctx.hooks) {
        order_tiles(device, frame);
    }
    atomic_store_explicit(&device->step, G4_DRAW_STEP_TILES, memory_order_relaxed);
    run_jobs(batch, run_tile, frame->used_count, worth, batch->tiles_in_order);
}

static void draw_tiles(struct batch *batch) {
    struct g4_draw_frame *const frame = batch->frame;
    bool in_parts = false; /* objects were left when the bins were full */
    uint32_t setups = 0;
    const uint32_t chunks = count_objects(batch, &setups);

    for (struct object_position next = {0}; next.chunk < chunks;) {
        const uint32_t first_draw = frame->draw_of[next.chunk];
        const uint32_t failed = atomic_load_explicit(&batch->failed, memory_order_relaxed);
        if (bin_objects(frame, chunks, &next) != G4_OK) {
            fail(batch, first_draw, G4_NO_MEMORY);
        } else if (frame->used_count) {
            draw_bins(batch, setups);
        }
        in_parts = in_parts || next.chunk < chunks;
        if (atomic_load_explicit(&batch->failed, memory_order_relaxed) != failed) {
            next.chunk = chunks; /* later objects are not drawn */
        }
        clear_bins(frame, in_parts);
    }
    if (in_parts) {
        memset(frame->grid, 0, (size_t)GRID * GRID * sizeof *frame->grid);
    }
}

/* ---- the draw ---- */

void g4_device_begin_workers(struct g4_device *device) {
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_worker *const worker = device->worker[i];
        memset(worker->counter, 0, sizeof worker->counter);
        g4_surface_cache_reset(worker->surfaces);
        g4_sampler_cache_reset(worker->eu.samplers);
        worker->eu.instruction_budget = g4_watchdog(&device->ctx.options); /* of dispatches; draws have their own */
        worker->eu.ps_depth_count = 0;
        worker->eu.ps_invocations = 0;
        if (worker->eu.counters) {
            g4_counters_begin(worker->eu.counters);
        }
        memset(&worker->eu.fault, 0, sizeof worker->eu.fault);
    }
}

void g4_device_set_clocks(struct g4_device *device) {
    for (uint32_t i = 0; i < device->workers; i++) {
        device->worker[i]->eu.past_instructions = device->counts.instructions;
    }
}

void g4_device_collect(struct g4_device *device) {
    struct g4_port faults;
    g4_port_init(&faults, device->ctx.mem, G4_UNIT_EU, false);
    faults.lowest = true;
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_worker *const worker = device->worker[i];
        device->counts.instructions += worker->eu.instructions;
        device->counts.channel_ops += worker->eu.channel_ops;
        for (int m = 0; m < 16; m++) {
            device->counts.messages[m] += worker->eu.messages[m];
        }
        worker->eu.instructions = 0;
        worker->eu.channel_ops = 0;
        memset(worker->eu.messages, 0, sizeof worker->eu.messages);
        if (device->counters) {
            g4_counters_merge(device->counters, worker->eu.counters);
        }
        g4_report_merge(&device->log, worker->eu.log);
        g4_report_clear(worker->eu.log);
        g4_port_merge(&faults, &worker->port);
        memset(&worker->port.log, 0, sizeof worker->port.log);
    }
    g4_device_set_clocks(device);
    g4_port_merge(&device->port, &faults);
}

void g4_device_collect_statistics(struct g4_device *device) {
    struct g4_state *const state = device->ctx.state;
    const uint32_t invocation = device->ctx.model->quirks.counts_pixels_fourfold ? 4 : 1;
    for (uint32_t i = 0; i < device->workers; i++) {
        const struct g4_worker *const worker = device->worker[i];
        for (int c = 0; c < G4_COUNTERS; c++) {
            state->counter[c] += worker->counter[c];
        }
        state->counter[G4_COUNTER_PS_DEPTH] += worker->eu.ps_depth_count;
        state->counter[G4_COUNTER_PS_INVOCATIONS] += invocation * worker->eu.ps_invocations;
    }
}

void g4_device_find_fault(const struct g4_device *device, enum g4_status status, struct g4_fault *fault) {
    for (uint32_t i = 0; i < device->workers && status != G4_OK; i++) {
        if (device->worker[i]->eu.fault.unit) {
            *fault = device->worker[i]->eu.fault;
            return;
        }
    }
}

/* Count the vertices of the command, and the bytes of their indices. */
static void count_plan(struct g4_device *device, const struct g4_plan *plan) {
    const struct g4_index_buffer *const buffer = &device->draw_state->index_buffer;

    device->counters->sum.vertices += plan->vertices;
    device->counters->sum.primitives += plan->primitives;
    if (device->draw_state->primitive.indexed) {
        g4_count_bytes(device->counters, G4_ROLE_INDEX_BUFFER, buffer->address, plan->vertices * buffer->index_bytes,
                       0);
    }
}

/* Number the objects of ranges for stream output, which writes object n of a draw at a place that n decides. */
static void number_streamed(struct batch *batch) {
    struct g4_draw_frame *const frame = batch->frame;
    const bool in_order = frame->draw[0]->shared->state.stream_output.in_order;

    for (uint32_t i = 0; i < frame->ranges; i++) {
        frame->range[i].streamed = in_order ? &batch->in_order : NULL;
        frame->range[i].preceding = batch->streamed;
        batch->streamed += frame->range[i].objects;
    }
}

/* The counts of stream output of a draw whose ranges ran in any order. */
static struct g4_streamed sum_streamed(const struct batch *batch) {
    const struct g4_stream_output *const output = &batch->frame->draw[0]->shared->state.stream_output;
    const uint64_t written = batch->streamed < output->capacity ? batch->streamed : output->capacity;
    struct g4_streamed sum = {.written[0] = written, .needed[0] = batch->streamed};

    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        if (output->stream[0].buffers >> b & 1) {
            sum.bytes[b] = (uint32_t)written * output->vertices * output->buffer[b].pitch_bytes;
        }
    }
    return sum;
}

/* Add what a draw has written to the registers of stream output, and store offsets where buffers keep them. */
static void count_streamed(const struct batch *batch) {
    const struct g4_stream_output *const output = &batch->frame->draw[0]->shared->state.stream_output;
    struct g4_gen7_state *const state = &batch->device->ctx.state->gen7;
    const struct g4_streamed sum = output->in_order ? batch->in_order : sum_streamed(batch);

    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        const g4_address stored = output->buffer[b].offset_address;
        state->so_write_offset[b] += sum.bytes[b];
        if (stored) {
            g4_mem_write32(&batch->device->port, stored, state->so_write_offset[b]);
        }
    }
    for (uint32_t s = 0; s < G4_STREAMS && output->statistics; s++) {
        state->so_num_prims_written[s] += sum.written[s];
        state->so_prim_storage_needed[s] += sum.needed[s];
    }
}

/* Kernels that write to memory other than render targets run in order on one worker (docs/decisions.md 106), and so do
 * ranges that decide where the next one's objects are streamed, those that are recorded, and those whose threads have
 * less scratch space than workers need.  If one reads the clock, all do. */
static void find_order(struct batch *batch) {
    const struct g4_draw_state *const state = &batch->frame->draw[0]->shared->state;
    bool reads_clock = false;

    batch->ranges_in_order = state->stream_output.in_order;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        const struct g4_kernel *const kernel = state->kernel[stage];
        const uint32_t together = stage == G4_STAGE_HS ? state->tessellation.hull_instances : 1;
        batch->ranges_in_order |= kernel && (g4_kernel_writes_memory(kernel) ||
                                             g4_threads_share_scratch(&batch->device->ctx, kernel,
                                                                      state->stage[stage].max_threads, together));
        reads_clock |= kernel && g4_kernel_reads_clock(kernel);
    }
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        const struct g4_kernel *const kernel = state->wm_kernel[i];
        batch->tiles_in_order |=
            kernel && (g4_kernel_writes_memory(kernel) ||
                       g4_threads_share_scratch(&batch->device->ctx, kernel, state->stage[G4_STAGE_WM].max_threads, 1));
        reads_clock |= kernel && g4_kernel_reads_clock(kernel);
    }
    batch->ranges_in_order |= reads_clock || batch->device->mesh;
    batch->tiles_in_order |= reads_clock;
}

static bool is_ordered(const struct batch *batch) {
    return batch->ranges_in_order || batch->tiles_in_order;
}

/* ---- one batch of ranges ---- */

/* Find the next ranges of the last draw. */
static void plan_ranges(struct g4_device *device, const struct pending_draw *draw) {
    struct g4_draw_frame *const frame = device->frame;
    frame->plan_status =
        g4_draw_plan(&device->ctx, &draw->shared->state, &device->port, &device->log, &frame->cursor, &frame->plan);
}

/* Find the first ranges of the last draw. */
static void plan_draw(struct g4_device *device, const struct pending_draw *draw) {
    memset(&device->frame->cursor, 0, sizeof device->frame->cursor);
    plan_ranges(device, draw);
}

/* Append the planned ranges to those of the batch, as its draw number d. */
static void append_ranges(struct g4_draw_frame *frame, uint32_t d) {
    const struct g4_plan *const plan = &frame->plan;
    struct pending_draw *const draw = frame->draw[d];

    memcpy(&frame->range[frame->ranges], plan->range, plan->count * sizeof *plan->range);
    memset(&frame->draw_of[frame->ranges], (int)d, plan->count);
    frame->ranges += plan->count;
    draw->vertices = plan->vertices;
    draw->primitives = plan->primitives;
    draw->tiles = 0;
}

static void count_vertices(struct g4_device *device, const struct pending_draw *draw) {
    if (draw->shared->state.vertex_statistics) {
        device->ctx.state->counter[G4_COUNTER_IA_VERTICES] += draw->vertices;
        device->ctx.state->counter[G4_COUNTER_IA_PRIMITIVES] += draw->primitives;
    }
    device->counts.vertices += draw->vertices;
}

/* Set up the objects of all ranges, and draw their tiles.  batch->failed tells the first draw that fails. */
static void run_ranges(struct batch *batch) {
    struct g4_device *const device = batch->device;
    struct g4_draw_frame *const frame = batch->frame;
    const uint64_t start = g4_now_ns();
    const bool small = frame->states >= SMALL_STATES;
    /* 0 objects: the draw is large, and continues. */
    const bool brief = frame->objects > 0 && frame->objects < BRIEF_OBJECTS;
    const uint32_t worth = !brief ? 0 : small ? WORTH_FETCHING : WORTH_WAKING;

    for (uint32_t i = 0; i < device->workers; i++) {
        g4_arena_reset(device->worker[i]->batch_arena);
    }
    atomic_store_explicit(&device->step, G4_DRAW_STEP_OBJECTS, memory_order_relaxed);
    g4_pool_announce(device->pool, true); /* the tiles of these ranges */
    run_jobs(batch, run_range, frame->ranges, worth, batch->ranges_in_order);
    const uint64_t middle = g4_now_ns();
    draw_tiles(batch);
    g4_pool_announce(device->pool, false);
    atomic_store_explicit(&device->step, G4_DRAW_STEP_NONE, memory_order_relaxed);
    device->counts.geometry_ns += middle - start;
    device->counts.raster_ns += g4_now_ns() - middle;
    frame->ranges = frame->objects = 0;
}

static enum g4_status status_of(const struct batch *batch) {
    return (enum g4_status)(atomic_load(&batch->failed) & 0xff);
}

/* Add what workers have counted in a batch. */
static void collect(struct g4_device *device) {
    g4_device_collect_statistics(device);
    g4_device_collect(device);
}

/* ---- a draw by itself ---- */

static enum g4_status run_plans(struct batch *batch) {
    struct g4_device *const device = batch->device;
    struct g4_draw_frame *const frame = batch->frame;
    struct pending_draw *const draw = frame->draw[0];

    for (uint32_t i = 0; i < device->workers; i++) {
        const enum g4_status status = begin_pixels(device->worker[i], draw);
        if (status != G4_OK) {
            return status;
        }
    }
    while (frame->plan_status == G4_OK) {
        append_ranges(frame, 0);
        count_vertices(device, draw);
        if (device->counters) {
            count_plan(device, &frame->plan);
        }
        if (draw->shared->state.stream_output.enable) {
            number_streamed(batch);
        }
        expect_vertices(device, draw);
        for (uint32_t i = 0; i < device->workers; i++) {
            g4_wm_begin_batch(draw->shared->pixels[i].wm);
        }
        run_ranges(batch);
        const enum g4_status status = status_of(batch);
        if (status != G4_OK || frame->cursor.done) {
            return status;
        }
        plan_ranges(device, draw);
    }
    return frame->plan_status;
}

/* Run the draw in place 0, which is loaded.  `planned`: the first of its ranges are, too. */
static enum g4_status run_alone(struct g4_device *device, bool planned, struct g4_fault *fault) {
    struct batch batch = {.device = device, .frame = device->frame};
    const struct g4_draw_state *const state = &device->frame->draw[0]->shared->state;

    device->frame->waiting = 1;
    g4_device_begin_workers(device);
    if (device->mesh) {
        g4_mesh_begin_draw(device->mesh);
    }
    find_order(&batch);
    if (device->ctx.hooks) {
        device->ctx.hooks->draw_started(device->ctx.hooks);
    }
    if (!planned) {
        plan_draw(device, device->frame->draw[0]);
    }
    enum g4_status status = run_plans(&batch);
    if (state->stream_output.enable) {
        count_streamed(&batch);
    }
    if (device->ctx.hooks) {
        device->ctx.hooks->draw_ended(device->ctx.hooks);
    }
    collect(device);
    if (device->ctx.hiz_watch) {
        g4_hiz_watch_collect(device->ctx.hiz_watch, &device->log);
    }
    if (status == G4_OK && device->counters && device->counters->no_memory) {
        status = G4_NO_MEMORY;
    }
    device->frame->waiting = 0;
    device->counts.draws++;
    g4_device_find_fault(device, status, fault);
    return status;
}

static struct g4_draw_loader loader_of(const struct g4_device *device, struct pending_draw *draw, struct g4_port *port,
                                       struct g4_port *quiet_port) {
    return (struct g4_draw_loader){.ctx = &device->ctx,
                                   .port = port,
                                   .quiet_port = quiet_port,
                                   .kernels = device->kernels,
                                   .constants = draw->constants};
}

static enum g4_status load_draw(struct g4_device *device, struct pending_draw *draw, const uint32_t *primitive,
                                struct g4_port *port, struct g4_port *quiet_port, struct g4_fault *fault) {
    lead(device, draw);
    const struct g4_draw_loader loader = loader_of(device, draw, port, quiet_port);
    return device->ctx.model->load_draw(&loader, primitive, &draw->shared->state, fault);
}

enum g4_status g4_load_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault) {
    struct pending_draw *const draw = next_draw(device);
    return draw ? load_draw(device, draw, primitive, &device->port, &device->quiet_port, fault) : G4_NO_MEMORY;
}

enum g4_status g4_device_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault) {
    memset(fault, 0, sizeof *fault);
    const enum g4_status status = g4_load_draw(device, primitive, fault);
    return status == G4_OK ? run_alone(device, false, fault) : status;
}

/* ---- draws that wait ----
 *
 * A draw waits for others with the same targets if nothing that comes before its pixels are drawn can see the
 * difference: it reads no memory that a waiting draw writes, all memory is there, and its threads are sure to end. Then
 * their ranges are set up together, and each tile is visited once for all of them.  See memory_use.h; the caller ends
 * the wait before anything else reads or writes memory, registers or counters.
 *
 * Most draws of programs differ from the one before in vertices and constants alone.  They are not loaded: they follow
 * it, and have inputs of their own.  With one worker only these wait, as visiting tiles together gains it nothing.
 */

/* Whether draws may wait: observers see them one after another. */
static bool may_wait(const struct g4_device *device) {
    const struct g4_options *const options = &device->ctx.options;
    return !device->ctx.hooks && !device->counters && !device->mesh && !device->ctx.hiz_watch &&
           device->first_object == 0 && device->last_object >= G4_OBJECT_NUMBERS && !options->draws_apart &&
           !options->watchdog && options->hierarchical_depth == G4_HIERARCHICAL_DEPTH_MODE_OFF;
}

void g4_device_prepare(struct g4_device *device) {
    const uint32_t draws = may_wait(device) && device->workers > 1 ? PREPARED_DRAWS : 1;
    bool made = true;
    g4_written_pages_prepare(device->frame->written);
    for (size_t row = 0; row < PREPARED_ROWS; row++) {
        device->frame->grid[row * GRID] = (struct bin){0}; /* it is 0 already: writing it provides its page */
    }
    for (uint32_t d = 0; d < draws && made; d++) {
        struct shared_state *const shared = state_at(device, d);
        made = place_of(device, d) && shared && allocate_pixels(device, shared);
    }
    for (uint32_t i = 0; i < device->workers; i++) {
        g4_sampler_cache_prepare(device->worker[i]->eu.samplers);
    }
}

/* Clip kernels loop over vertices, and few draws run them.  If one hangs, no draw after it has pixels, but their
 * vertices may be counted. */
static bool surely_ends(const struct g4_draw_state *state) {
    bool ends = true;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        const struct g4_kernel *const kernel = stage == G4_STAGE_CLIP ? NULL : state->kernel[stage];
        ends = ends && (!kernel || g4_kernel_surely_ends(kernel));
    }
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        ends = ends && (!state->wm_kernel[i] || g4_kernel_surely_ends(state->wm_kernel[i]));
    }
    return ends;
}

/* Find the memory of a draw.  Nothing is reported: it is prepared again before it runs. */
static void find_memory_use(struct g4_device *device, struct pending_draw *draw) {
    struct g4_worker *const worker = device->worker[0];
    struct g4_report_log *const log = worker->eu.log;
    const struct g4_fault_log faults = worker->port.log;

    worker->eu.log = &device->frame->unheard;
    memset(&worker->port.log, 0, sizeof worker->port.log);
    g4_surface_cache_reset(worker->surfaces);
    const enum g4_status status = begin_pixels(worker, draw);
    worker->eu.log = log;
    const bool faulty = g4_port_has_faults(&worker->port);
    worker->port.log = faults;
    draw->shared->pixels[0].begun = false;
    draw->use.known = false;
    if (status == G4_OK && !faulty) {
        g4_memory_use_find(&draw->use, worker, &draw->shared->state);
    }
}

/* Whether other draws may join the one that waits alone. */
static bool is_open(struct g4_device *device) {
    struct g4_draw_frame *const frame = device->frame;
    struct pending_draw *const first = frame->draw[0];

    if (!frame->written_known) {
        bool grown;
        frame->written_known = true;
        g4_written_pages_clear(frame->written);
        find_memory_use(device, first);
        first->use.known = first->use.known &&
                           g4_written_pages_add(frame->written, device->ctx.mem, &first->use, &grown) &&
                           g4_written_pages_are_unread(frame->written, device->ctx.mem, &first->use);
    }
    return first->use.known;
}

bool g4_device_write_later(struct g4_device *device, g4_address address, const uint32_t words[2]) {
    struct g4_draw_frame *const frame = device->frame;
    const size_t bytes = sizeof frame->write[0].words;

    if (frame->waiting == 0 || frame->writes == MOST_WRITES || (address & G4_PAGE_OFFSET) > G4_PAGE_SIZE - bytes ||
        !is_open(device) || !g4_written_pages_add_write(frame->written, device->ctx.mem, address)) {
        return false;
    }
    struct pending_write *const write = &frame->write[frame->writes++];
    write->address = address;
    memcpy(write->words, words, bytes);
    write->preceding = frame->waiting;
    return true;
}

/* Write what was to be written before draw number `draws` of the batch, or after all. */
static void finish_writes(struct g4_device *device, uint32_t draws) {
    struct g4_draw_frame *const frame = device->frame;
    for (uint32_t i = 0; i < frame->writes && frame->write[i].preceding <= draws; i++) {
        (void)g4_mem_write(&device->port, frame->write[i].address, frame->write[i].words, sizeof frame->write[i].words);
    }
    frame->writes = 0;
}

/* Give each worker but the first a copy of a shared state, for the inputs of the draw that it is busy with. */
static bool copy_state(struct g4_device *device, struct shared_state *shared) {
    for (uint32_t i = 1; i < device->workers; i++) {
        struct pixel_state *const pixels = &shared->pixels[i];
        pixels->state = pixels->state ? pixels->state : g4_new_cleared(sizeof *pixels->state);
        if (!pixels->state) {
            return false;
        }
        *pixels->state = shared->state;
    }
    return true;
}

/* Prepare the first worker for draws that share a state, and note whether it reports bad state. */
static enum g4_status begin_shared(struct g4_device *device, const struct pending_draw *leader) {
    struct g4_worker *const worker = device->worker[0];
    struct g4_report_log *const log = worker->eu.log;
    struct g4_report_log own;

    if (!copy_state(device, leader->shared)) {
        return G4_NO_MEMORY;
    }
    g4_report_clear(&own);
    worker->eu.log = &own;
    const enum g4_status status = begin_pixels(worker, leader);
    worker->eu.log = log;
    for (int event = 0; event < G4_EVENTS; event++) {
        leader->shared->reports = leader->shared->reports || own.event[event].count;
    }
    g4_report_merge(log, &own);
    return status;
}

/* Prepare the first worker for a draw, unless that is done for its leader, and there is nothing to report for each; or
 * all workers, if this is the only draw.  Else they begin a state at its first tile. */
static enum g4_status begin_waiting(struct g4_device *device, const struct pending_draw *draw) {
    const uint32_t workers = device->frame->waiting == 1 ? device->workers : 1;
    enum g4_status status = G4_OK;

    if (draw->shared->leader != draw && !draw->shared->reports) {
        return G4_OK;
    }
    if (draw->shared->leader == draw && draw->shared->followers) {
        return begin_shared(device, draw);
    }
    for (uint32_t i = 0; i < workers && status == G4_OK; i++) {
        status = begin_pixels(device->worker[i], draw);
    }
    return status;
}

enum g4_status g4_device_finish_draws(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    struct g4_draw_frame *const frame = device->frame;
    struct batch batch = {.device = device, .frame = frame};
    const uint32_t draws = frame->waiting;

    if (draws == 0) {
        return G4_OK;
    }
    g4_device_begin_workers(device);
    for (uint32_t d = 0; d < draws; d++) {
        const enum g4_status status = begin_waiting(device, frame->draw[d]);
        if (status != G4_OK) {
            fail(&batch, 0, status); /* none will be drawn */
        }
        expect_vertices(device, frame->draw[d]);
        count_vertices(device, frame->draw[d]);
    }
    if (status_of(&batch) == G4_OK) {
        run_ranges(&batch);
    }
    collect(device);
    const enum g4_status status = status_of(&batch);
    const uint32_t good = status == G4_OK ? draws : atomic_load(&batch.failed) >> 8;
    finish_writes(device, good);
    enter_draw(device->worker[0], frame->draw[draws - 1]); /* the inputs in its state are those of the last draw */
    frame->waiting = frame->states = frame->ranges = frame->objects = 0;
    g4_kernel_cache_keep(device->kernels, 0);
    device->counts.draws += good + (status != G4_OK);
    device->counts.joined += draws - 1;
    *finished += good;
    g4_device_find_fault(device, status, fault);
    return status;
}

/* Let the draw in place `waiting` be the first of a batch, after those before it were drawn. */
static enum g4_status start_batch(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    const uint32_t place = device->frame->waiting;
    const uint32_t state = device->frame->states;
    const enum g4_status status = g4_device_finish_draws(device, finished, fault);
    make_first(device->frame, place, state);
    return status;
}

/* Keep the draw in place `waiting`, which is planned. */
static enum g4_status keep_draw(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    struct g4_draw_frame *const frame = device->frame;
    struct pending_draw *const draw = frame->draw[frame->waiting];
    struct g4_draw_state *const state = &draw->shared->state;

    if (state->curbe.row) {
        memcpy(draw->curbe, state->curbe.row, (size_t)state->curbe.rows * sizeof draw->curbe[0]);
        state->curbe.row = draw->curbe[0];
    }
    get_inputs(&draw->inputs, state);
    append_ranges(frame, frame->waiting);
    frame->objects += (uint32_t)frame->plan.primitives;
    frame->waiting++;
    frame->states += draw->shared->leader == draw;
    const bool last = frame->waiting == G4_WAITING_DRAWS || frame->states == G4_WAITING_STATES ||
                      g4_kernel_cache_is_full(device->kernels) || !surely_ends(state);
    return last ? g4_device_finish_draws(device, finished, fault) : G4_OK;
}

/* Whether the draw in place 0 may wait for others, before its memory is known. */
static bool may_be_first(struct g4_device *device) {
    struct batch batch = {.device = device, .frame = device->frame};
    const struct g4_draw_state *const state = &device->frame->draw[0]->shared->state;

    find_order(&batch);
    return !is_ordered(&batch) && !state->stream_output.enable && !state->windower.line_stipple &&
           state->curbe.rows <= G4_CURBE_ROWS;
}

/* Keep the draw in place 0, which is planned, or run it if it has more ranges; no other waits. */
static enum g4_status take_planned(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    struct g4_draw_frame *const frame = device->frame;

    frame->written_known = false;
    if (frame->plan_status == G4_OK && frame->cursor.done) {
        return keep_draw(device, finished, fault);
    }
    const enum g4_status status = run_alone(device, true, fault);
    *finished += status == G4_OK;
    return status;
}

/* Continue with the draw in place 0, which is loaded; no other waits. */
static enum g4_status take_first(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    struct g4_draw_frame *const frame = device->frame;

    if (may_be_first(device)) {
        plan_draw(device, frame->draw[0]);
        return take_planned(device, finished, fault);
    }
    const enum g4_status status = run_alone(device, false, fault);
    *finished += status == G4_OK;
    return status;
}

/* Start a batch with the draw in place `waiting`, which is loaded and planned. */
static enum g4_status start_planned(struct g4_device *device, uint32_t *finished, struct g4_fault *fault) {
    const enum g4_status status = start_batch(device, finished, fault);
    return status == G4_OK ? take_planned(device, finished, fault) : status;
}

/* Let two ports list the pages of the draw's state. */
static void list_pages(const struct g4_device *device, struct pending_draw *draw, struct g4_port *port,
                       struct g4_port *quiet_port) {
    g4_port_init(port, device->ctx.mem, G4_UNIT_CS, false);
    g4_port_init(quiet_port, device->ctx.mem, G4_UNIT_CS, false);
    quiet_port->quiet = true;
    port->touched = quiet_port->touched = &draw->use.state;
    draw->use.state.count = 0;
    draw->use.state.full = false;
}

/* Load a draw, and list the pages that this reads.  Faults stay in the port's log. */
static enum g4_status load_and_list(struct g4_device *device, struct pending_draw *draw, const uint32_t *primitive,
                                    struct g4_port *port, struct g4_fault *fault) {
    struct g4_port quiet_port;

    list_pages(device, draw, port, &quiet_port);
    return load_draw(device, draw, primitive, port, &quiet_port, fault);
}

/* Add the targets of waiting draw number `waiting` to those that are written.  False: the draws before write other
 * images, or one of the draws reads a target. */
static bool add_targets(struct g4_device *device) {
    struct g4_draw_frame *const frame = device->frame;
    struct g4_mem *const mem = device->ctx.mem;
    bool grown;
    bool unread = g4_written_pages_add(frame->written, mem, &frame->draw[frame->waiting]->use, &grown);

    for (uint32_t d = grown ? 0 : frame->waiting; d <= frame->waiting && unread; d++) {
        unread = g4_written_pages_are_unread(frame->written, mem, &frame->draw[d]->use);
    }
    return unread;
}

/* Whether the loaded draw in place `waiting` can be drawn together with those before it. */
static bool can_join(struct g4_device *device) {
    struct g4_draw_frame *const frame = device->frame;
    struct pending_draw *const draw = frame->draw[frame->waiting];
    const struct shared_state *const before = frame->draw[frame->waiting - 1]->shared;
    const struct g4_draw_state *const state = &draw->shared->state;
    const bool written = frame->writes && frame->write[frame->writes - 1].preceding == frame->waiting; /* since then */

    /* Most draws differ from the one before in vertices and constants. */
    if (!written && g4_memory_use_is_like(state, &before->state)) {
        g4_memory_use_follow(&draw->use, &before->leader->use, state);
    } else {
        find_memory_use(device, draw);
    }
    return draw->use.known && state->curbe.rows <= G4_CURBE_ROWS && add_targets(device);
}

/* Whether the planned draw fits into the batch, with all its ranges. */
static bool fits(const struct g4_draw_frame *frame) {
    return frame->plan_status == G4_OK && frame->cursor.done && frame->ranges + frame->plan.count <= RANGES_PER_BATCH &&
           frame->objects + frame->plan.primitives <= OBJECTS_PER_BATCH;
}

/* Give the state back the inputs of its leader. */
static void restore_inputs(struct shared_state *shared) {
    set_inputs(&shared->state, &shared->leader->inputs);
    shared->pixels[0].entered = shared->leader;
}

/* Whether inputs of other draws fit into what was loaded and begun for a draw with these. */
static bool are_alike(const struct draw_inputs *inputs, const struct g4_draw_state *state) {
    bool alike = inputs->primitive.topology == state->primitive.topology;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        alike = alike && inputs->constants[stage].rows == state->stage[stage].constant_rows;
    }
    return alike;
}

/* Let the draw in place `waiting` follow the one before, from which only commands that set inputs separate it.  False:
 * it must be loaded. */
static bool follow(struct g4_device *device, struct pending_draw *draw, const uint32_t *primitive) {
    struct g4_draw_frame *const frame = device->frame;
    struct shared_state *const shared = frame->draw[frame->waiting - 1]->shared;
    struct g4_draw_state *const state = &shared->state;
    struct g4_port port;
    struct g4_port quiet_port;

    if (shared->faulty || state->primitive.has_corners) { /* corners of a rectangle are part of the state */
        return false;
    }
    list_pages(device, draw, &port, &quiet_port);
    const struct g4_draw_loader loader = loader_of(device, draw, &port, &quiet_port);
    device->ctx.model->load_inputs(&loader, primitive, state);
    g4_memory_use_of_vertices(&draw->use, state);
    if (!are_alike(&shared->leader->inputs, state) || state->primitive.indirect || state->curbe.rows > G4_CURBE_ROWS ||
        g4_port_has_faults(&port) || !draw->use.known ||
        !g4_written_pages_are_unread(frame->written, device->ctx.mem, &draw->use)) {
        restore_inputs(shared);
        return false;
    }
    begin_progress(device, draw);
    draw->shared = shared;
    device->draw_state = state;
    shared->followers++;
    shared->pixels[0].entered = draw;
    return true;
}

/* Give a draw that follows, and is planned, a state of its own, as if it had been loaded. */
static void stop_following(struct g4_device *device, struct pending_draw *draw) {
    struct shared_state *const shared = draw->shared;

    lead(device, draw);
    draw->shared->state = shared->state;
    draw->use.state = shared->leader->use.state;
    shared->followers--;
    restore_inputs(shared);
}

enum g4_status g4_device_draw_later(struct g4_device *device, const uint32_t *primitive, bool same_state,
                                    uint32_t *finished, struct g4_fault *fault) {
    struct g4_draw_frame *const frame = device->frame;
    struct g4_mem *const mem = device->ctx.mem;
    enum g4_status status = G4_OK;

    memset(fault, 0, sizeof *fault);
    const bool joins = same_state || device->workers > 1; /* those that wait, if it can */
    if (!may_wait(device) || (frame->waiting && (!joins || !is_open(device)))) {
        status = g4_device_finish_draws(device, finished, fault);
    }
    if (status != G4_OK) {
        return status;
    }
    if (!may_wait(device)) {
        status = g4_device_draw(device, primitive, fault);
        *finished += status == G4_OK;
        return status;
    }
    struct pending_draw *const draw = next_draw(device);
    if (!draw) {
        status = g4_device_finish_draws(device, finished, fault);
        return status == G4_OK ? G4_NO_MEMORY : status;
    }
    if (same_state && frame->waiting && follow(device, draw, primitive)) {
        plan_draw(device, draw);
        if (fits(frame)) {
            return keep_draw(device, finished, fault);
        }
        stop_following(device, draw);
        return start_planned(device, finished, fault);
    }
    struct g4_port port;
    struct g4_fault own = {0};
    g4_kernel_cache_keep(device->kernels, frame->states);
    enum g4_status loaded = load_and_list(device, draw, primitive, &port, &own);
    if (frame->waiting && !g4_written_pages_keep_state(frame->written, mem, &draw->use.state)) {
        status = start_batch(device, finished, fault);
        if (status != G4_OK) {
            return status;
        }
        loaded = load_and_list(device, draw, primitive, &port, &own);
    }
    if (frame->waiting == 0 || loaded != G4_OK || g4_port_has_faults(&port) || !can_join(device)) {
        status = start_batch(device, finished, fault);
        if (status == G4_OK) {
            draw->shared->faulty = g4_port_has_faults(&port);
            g4_port_merge(&device->port, &port);
            *fault = own;
            status = loaded;
        }
        return status == G4_OK ? take_first(device, finished, fault) : status;
    }
    plan_draw(device, draw);
    return fits(frame) ? keep_draw(device, finished, fault) : start_planned(device, finished, fault);
}

bool g4_device_waits_for(struct g4_device *device, g4_address address, uint64_t bytes) {
    return device->frame->waiting &&
           (!is_open(device) || !g4_written_pages_miss(device->frame->written, device->ctx.mem, address, bytes));
}

/* ---- targets of the last draw ---- */

uint32_t g4_device_targets(struct g4_device *device, uint32_t (*states)[G4_SURFACE_STATE_DWORDS], uint32_t capacity) {
    const struct g4_draw_state *const draw = device->draw_state;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    const struct g4_kernel *kernel = NULL;
    const uint8_t *entries;
    struct g4_port port;

    for (uint32_t i = 0; i < G4_WM_ENTRIES && !kernel; i++) {
        kernel = draw->wm_kernel[i];
    }
    if (!kernel) {
        return 0;
    }
    g4_port_init(&port, device->ctx.mem, G4_UNIT_CPU, false); /* missing memory reads as 0, unreported */
    const uint32_t named = g4_kernel_targets(kernel, &entries);
    const uint32_t count = named < capacity ? named : capacity;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = g4_mem_read32(&port, dispatch->binding_table + 4u * entries[i]);
        const uint32_t offset = device->ctx.model->surfaces->state_offset(entry);
        (void)g4_mem_read(&port, dispatch->surface_state_base + offset, states[i],
                          device->ctx.model->chip->surface_state_dwords * sizeof states[i][0]);
    }
    return count;
}

void g4_device_depth_target(const struct g4_device *device, struct g4_depth_target *target) {
    const struct g4_depth_buffer *const buffer = &device->draw_state->depth_buffer;

    *target = (struct g4_depth_target){
        .type = buffer->type,
        .format = buffer->format,
        .address = buffer->address,
        .pitch_bytes = buffer->pitch_bytes,
        .width = buffer->width,
        .height = buffer->height,
        .tiling = !buffer->tiled        ? G4_TILING_LINEAR
                  : buffer->tile_walk_x ? G4_TILING_X
                                        : G4_TILING_Y,
        .level = buffer->level,
        .slice = buffer->minimum_array_element,
    };
}
