/*
 * One 3DPRIMITIVE from vertices to pixels, in two phases that alternate: ranges of the input become set-up objects
 * (parallel over ranges), then the objects are binned and the screen tiles drawn (parallel over tiles).  Both are
 * consumed in order, so the picture and all counts are the same for any number of workers.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "color/hiz_buffer.h"
#include "core/clock.h"
#include "core/hooks.h"
#include "draw/device.h"
#include "eu/counters.h"
#include "geometry/mesh.h"
#include "geometry/setup.h"
#include "geometry/setup_kernel.h"
#include "raster/windower.h"
#include "sampler/message.h"

enum {
    RANGES_PER_BATCH = 256,      /* chunks between two tile phases; plan.c bounds their objects */
    GRID = 16384 / G4_TILE_SIZE, /* drawing rectangles end at 16383, before Gen7 at 8191 */
    BRIEF_TILES = 4,             /* fewer tiles and objects may take less time than to wake a thread */
    BRIEF_SETUPS = 64,
};

/* The set-up objects that may touch one tile, in order. */
struct bin {
    uint32_t count;
    const struct g4_setup **setup;
};

struct g4_draw_frame {
    struct g4_arena *arena; /* of the bins' lists */
    struct bin *grid;       /* GRID x GRID, empty between draws */
    uint32_t *used;         /* tiles with objects, in the order they were first touched */
    uint32_t used_count;
    struct g4_plan plan;
    struct g4_chunk chunk[RANGES_PER_BATCH];
    uint32_t first_number[RANGES_PER_BATCH]; /* of each chunk's first object */
    enum g4_status range_status[RANGES_PER_BATCH];
};

struct draw {
    struct g4_device *device;
    struct g4_draw_frame *frame;
    _Atomic uint32_t failed;              /* enum g4_status of some job */
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
    if (!frame->arena || !frame->grid || !frame->used || !frame->plan.range) {
        g4_draw_frame_free(frame);
        return NULL;
    }
    return frame;
}

void g4_draw_frame_free(struct g4_draw_frame *frame) {
    if (!frame) {
        return;
    }
    g4_arena_free(frame->arena);
    free(frame->grid);
    free(frame->used);
    free(frame->plan.range);
    free(frame);
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

    g4_sf_frame_begin(&frame, &device->draw_state);
    g4_mesh_add_clipped(device->mesh, &frame, chunk);
}

static void run_range(void *data, uint32_t worker_index, uint32_t job) {
    struct draw *const draw = data;
    struct g4_worker *const worker = draw->device->worker[worker_index];
    struct g4_chunk *const chunk = &draw->frame->chunk[job];

    g4_arena_reset(worker->range_arena);
    chunk->range_arena = worker->range_arena;
    chunk->batch_arena = worker->batch_arena;
    chunk->index = (uint16_t)job;
    chunk->objects = 0;
    chunk->setups = 0;
    chunk->mesh = draw->device->mesh;
    if (chunk->mesh) {
        g4_mesh_begin_range(chunk->mesh);
    }
    if (worker->eu.hooks) {
        worker->eu.hooks->range_started(worker->eu.hooks);
    }
    enum g4_status status = g4_geometry_run(worker, &draw->device->draw_state, &draw->frame->plan.range[job], chunk);
    if (status == G4_OK) {
        status = draw->device->ctx.model->run_setup(worker, &draw->device->draw_state, chunk);
    }
    if (status == G4_OK) {
        status = find_tiles(chunk);
    }
    if (status == G4_OK && chunk->mesh) {
        record_clipped(draw->device, chunk);
    }
    if (worker->eu.hooks) {
        worker->eu.hooks->range_ended(worker->eu.hooks, chunk->objects);
    }
    draw->frame->range_status[job] = status;
}

/* ---- binning ---- */

/* Add the objects to the bins they touch; unless `fill`, only count them. */
static void bin_chunk(struct g4_draw_frame *frame, const struct g4_chunk *chunk, bool fill) {
    for (uint32_t i = 0; i < chunk->setups; i++) {
        const struct g4_touched_tiles box = chunk->tiles[i];
        for (uint32_t ty = box.y_min; ty <= box.y_max; ty++) {
            for (uint32_t tx = box.x_min; tx <= box.x_max; tx++) {
                struct bin *const bin = &frame->grid[ty * GRID + tx];
                if (fill) {
                    bin->setup[bin->count] = &chunk->setup[i];
                } else if (bin->count == 0) {
                    frame->used[frame->used_count++] = ty * GRID + tx;
                }
                bin->count++;
            }
        }
    }
}

static enum g4_status allocate_bins(struct g4_draw_frame *frame) {
    for (uint32_t i = 0; i < frame->used_count; i++) {
        struct bin *const bin = &frame->grid[frame->used[i]];
        bin->setup = g4_arena_alloc(frame->arena, bin->count * sizeof(const struct g4_setup *));
        if (!bin->setup) {
            return G4_NO_MEMORY;
        }
        bin->count = 0;
    }
    return G4_OK;
}

static enum g4_status bin_chunks(struct g4_draw_frame *frame, uint32_t chunks) {
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t c = 0; c < chunks; c++) {
            bin_chunk(frame, &frame->chunk[c], fill);
        }
        if (!fill && allocate_bins(frame) != G4_OK) {
            return G4_NO_MEMORY;
        }
    }
    return G4_OK;
}

static void clear_bins(struct g4_draw_frame *frame) {
    for (uint32_t i = 0; i < frame->used_count; i++) {
        memset(&frame->grid[frame->used[i]], 0, sizeof frame->grid[0]);
    }
    frame->used_count = 0;
    g4_arena_reset(frame->arena);
}

/* ---- phase 2: tiles ---- */

static void run_tile(void *data, uint32_t worker_index, uint32_t job) {
    struct draw *const draw = data;
    const uint32_t index = draw->frame->used[job];
    const struct bin *const bin = &draw->frame->grid[index];
    const struct g4_tile tile = {
        .x = (int32_t)(index % GRID) * G4_TILE_SIZE,
        .y = (int32_t)(index / GRID) * G4_TILE_SIZE,
        .setup = bin->setup,
        .setups = bin->count,
        .first_number = draw->frame->first_number,
    };
    const enum g4_status status = g4_wm_tile(draw->device->worker[worker_index], &draw->device->draw_state, &tile);
    if (status != G4_OK) {
        atomic_store_explicit(&draw->failed, status, memory_order_relaxed);
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
static void run_jobs(struct draw *draw, g4_job_fn *fn, uint32_t count, bool brief, bool in_order) {
    if (!draw->device->ctx.hooks && !in_order) {
        g4_pool_run(draw->device->pool, fn, draw, count, brief);
        return;
    }
    for (uint32_t job = 0; job < count; job++) {
        fn(draw, 0, job);
    }
}

/* A tile takes eight gangs, of eight threads of 16 pixels, if it is full. */
static void expect_pixels(const struct draw *draw, uint32_t tiles) {
    enum {
        GANGS = G4_TILE_SIZE * G4_TILE_SIZE / (8 * 16)
    };
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        g4_kernel_expect(draw->device->draw_state.wm_kernel[i], &draw->device->ctx, tiles * GANGS);
    }
}

static void expect_vertices(const struct draw *draw, const struct g4_plan *plan) {
    enum {
        VERTICES = 8 * 2, /* of a gang */
        OBJECTS = 8
    };
    const struct g4_kernel *const *const kernel = draw->device->draw_state.kernel;
    g4_kernel_expect(kernel[G4_STAGE_VS], &draw->device->ctx, (uint32_t)(plan->vertices / VERTICES));
    g4_kernel_expect(kernel[G4_STAGE_SF], &draw->device->ctx, (uint32_t)(plan->primitives / OBJECTS));
}

static enum g4_status draw_tiles(struct draw *draw, uint32_t chunks) {
    struct g4_device *const device = draw->device;
    struct g4_draw_frame *const frame = draw->frame;
    const bool watched = device->ctx.hooks || device->first_object > 0 || device->last_object < G4_OBJECT_NUMBERS;
    enum g4_status status = G4_OK;
    uint32_t setups = 0;

    for (uint32_t c = 0; c < chunks && status == G4_OK; c++) {
        struct g4_chunk *const chunk = &frame->chunk[c];
        status = frame->range_status[c];
        frame->first_number[c] = device->next_object;
        if (status == G4_OK && watched) {
            number_objects(device, frame, chunk);
        }
        setups += chunk->setups;
        device->next_object = (device->next_object + chunk->objects) & G4_OBJECT_NUMBERS;
        g4_sf_count_stipple(device->ctx.state, &device->draw_state, chunk);
        device->counts.objects += chunk->objects;
    }
    device->counts.setups += setups;
    if (device->counters) {
        device->counters->sum.set_up += setups;
    }
    if (status == G4_OK) {
        status = bin_chunks(frame, chunks);
    }
    if (status == G4_OK) {
        const bool brief = frame->used_count <= BRIEF_TILES && setups <= BRIEF_SETUPS;
        device->counts.tiles += frame->used_count;
        expect_pixels(draw, frame->used_count);
        run_jobs(draw, run_tile, frame->used_count, brief, draw->tiles_in_order);
        status = (enum g4_status)atomic_load(&draw->failed);
    }
    clear_bins(frame);
    return status;
}

/* ---- the draw ---- */

void g4_device_begin_workers(struct g4_device *device) {
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_worker *const worker = device->worker[i];
        memset(worker->counter, 0, sizeof worker->counter);
        g4_surface_cache_reset(worker->surfaces);
        g4_sampler_cache_reset(worker->eu.samplers);
        worker->eu.instruction_budget = g4_watchdog(&device->ctx.options);
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
    const struct g4_index_buffer *const buffer = &device->draw_state.index_buffer;

    device->counters->sum.vertices += plan->vertices;
    device->counters->sum.primitives += plan->primitives;
    if (device->draw_state.primitive.indexed) {
        g4_count_bytes(device->counters, G4_ROLE_INDEX_BUFFER, buffer->address, plan->vertices * buffer->index_bytes,
                       0);
    }
}

/* Number the objects of ranges for stream output, which writes object n of a draw at a place that n decides. */
static void number_streamed(struct draw *draw, struct g4_plan *plan) {
    const bool in_order = draw->device->draw_state.stream_output.in_order;

    for (uint32_t i = 0; i < plan->count; i++) {
        plan->range[i].streamed = in_order ? &draw->in_order : NULL;
        plan->range[i].preceding = draw->streamed;
        draw->streamed += plan->range[i].objects;
    }
}

/* The counts of stream output of a draw whose ranges ran in any order. */
static struct g4_streamed sum_streamed(const struct draw *draw) {
    const struct g4_stream_output *const output = &draw->device->draw_state.stream_output;
    const uint64_t written = draw->streamed < output->capacity ? draw->streamed : output->capacity;
    struct g4_streamed sum = {.written[0] = written, .needed[0] = draw->streamed};

    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        if (output->stream[0].buffers >> b & 1) {
            sum.bytes[b] = (uint32_t)written * output->vertices * output->buffer[b].pitch_bytes;
        }
    }
    return sum;
}

/* Add what a draw has written to the registers of stream output, and store offsets where buffers keep them. */
static void count_streamed(const struct draw *draw) {
    const struct g4_stream_output *const output = &draw->device->draw_state.stream_output;
    struct g4_gen7_state *const state = &draw->device->ctx.state->gen7;
    const struct g4_streamed sum = output->in_order ? draw->in_order : sum_streamed(draw);

    for (uint32_t b = 0; b < G4_STREAM_BUFFERS; b++) {
        const g4_address stored = output->buffer[b].offset_address;
        state->so_write_offset[b] += sum.bytes[b];
        if (stored) {
            g4_mem_write32(&draw->device->port, stored, state->so_write_offset[b]);
        }
    }
    for (uint32_t s = 0; s < G4_STREAMS && output->statistics; s++) {
        state->so_num_prims_written[s] += sum.written[s];
        state->so_prim_storage_needed[s] += sum.needed[s];
    }
}

/* Kernels that write to memory other than render targets run in order on one worker (docs/decisions.md 106), and so do
 * ranges that decide where the next one's objects are streamed, and those that are recorded.  If one reads the clock,
 * all do. */
static void find_order(struct draw *draw) {
    const struct g4_draw_state *const state = &draw->device->draw_state;
    bool reads_clock = false;

    draw->ranges_in_order = state->stream_output.in_order;
    for (int stage = 0; stage < G4_STAGES; stage++) {
        const struct g4_kernel *const kernel = state->kernel[stage];
        draw->ranges_in_order |= kernel && g4_kernel_writes_memory(kernel);
        reads_clock |= kernel && g4_kernel_reads_clock(kernel);
    }
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        const struct g4_kernel *const kernel = state->wm_kernel[i];
        draw->tiles_in_order |= kernel && g4_kernel_writes_memory(kernel);
        reads_clock |= kernel && g4_kernel_reads_clock(kernel);
    }
    draw->ranges_in_order |= reads_clock || draw->device->mesh;
    draw->tiles_in_order |= reads_clock;
}

static enum g4_status run_draw(struct draw *draw) {
    struct g4_device *const device = draw->device;
    struct g4_plan *const plan = &draw->frame->plan;
    struct g4_plan_cursor cursor = {0};

    for (uint32_t i = 0; i < device->workers; i++) {
        const enum g4_status status = g4_wm_begin(device->worker[i], &device->draw_state);
        if (status != G4_OK) {
            return status;
        }
    }
    while (!cursor.done) {
        enum g4_status status =
            g4_draw_plan(&device->ctx, &device->draw_state, &device->port, &device->log, &cursor, plan);
        if (status != G4_OK) {
            return status;
        }
        if (device->draw_state.vertex_statistics) {
            device->ctx.state->counter[G4_COUNTER_IA_VERTICES] += plan->vertices;
            device->ctx.state->counter[G4_COUNTER_IA_PRIMITIVES] += plan->primitives;
        }
        device->counts.vertices += plan->vertices;
        if (device->counters) {
            count_plan(device, plan);
        }
        if (device->draw_state.stream_output.enable) {
            number_streamed(draw, plan);
        }
        expect_vertices(draw, plan);
        const uint64_t start = g4_now_ns();
        for (uint32_t i = 0; i < device->workers; i++) {
            g4_arena_reset(device->worker[i]->batch_arena);
            g4_wm_begin_batch(device->worker[i]->wm);
        }
        run_jobs(draw, run_range, plan->count, false, draw->ranges_in_order);
        const uint64_t middle = g4_now_ns();
        status = draw_tiles(draw, plan->count);
        device->counts.geometry_ns += middle - start;
        device->counts.raster_ns += g4_now_ns() - middle;
        if (status != G4_OK) {
            return status;
        }
    }
    return G4_OK;
}

enum g4_status g4_load_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault) {
    const struct g4_draw_loader loader = {.ctx = &device->ctx,
                                          .port = &device->port,
                                          .quiet_port = &device->quiet_port,
                                          .kernels = device->kernels,
                                          .constants = device->constants};

    return device->ctx.model->load_draw(&loader, primitive, &device->draw_state, fault);
}

enum g4_status g4_device_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault) {
    struct draw draw = {.device = device, .frame = device->frame};

    memset(fault, 0, sizeof *fault);
    enum g4_status status = g4_load_draw(device, primitive, fault);
    if (status != G4_OK) {
        return status;
    }
    g4_device_begin_workers(device);
    if (device->mesh) {
        g4_mesh_begin_draw(device->mesh);
    }
    find_order(&draw);
    if (device->ctx.hooks) {
        device->ctx.hooks->draw_started(device->ctx.hooks);
    }
    status = run_draw(&draw);
    if (device->draw_state.stream_output.enable) {
        count_streamed(&draw);
    }
    if (device->ctx.hooks) {
        device->ctx.hooks->draw_ended(device->ctx.hooks);
    }
    g4_device_collect_statistics(device);
    g4_device_collect(device);
    if (device->ctx.hiz_watch) {
        g4_hiz_watch_collect(device->ctx.hiz_watch, &device->log);
    }
    if (status == G4_OK && device->counters && device->counters->no_memory) {
        status = G4_NO_MEMORY;
    }
    device->counts.draws++;
    g4_device_find_fault(device, status, fault);
    return status;
}

/* ---- targets of the last draw ---- */

uint32_t g4_device_targets(struct g4_device *device, uint32_t (*states)[G4_SURFACE_STATE_DWORDS], uint32_t capacity) {
    const struct g4_draw_state *const draw = &device->draw_state;
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
    const struct g4_depth_buffer *const buffer = &device->draw_state.depth_buffer;

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
