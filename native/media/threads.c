/*
 * Threads of the media pipeline: registers, turns and ends.  Roots with the same descriptor run as a gang, all
 * others alone (G45 PRM vol. 2, 10.5).
 */
#include <stdlib.h>

#include "core/clock.h"
#include "core/hooks.h"
#include "eu/kernel.h"
#include "eu/run.h"
#include "geometry/payload.h"
#include "hw_messages.h"
#include "media/media.h"

enum {
    TURN = 20000,  /* instructions of a gang until the next gang's turn */
    GRF_UNIT = 16, /* registers are allocated in units of 16 */
};

static uint32_t thread_slots(const struct g4_media *media) {
    const struct g4_hooks *const hooks = g4_media_context(media)->hooks;
    const uint32_t most =
        hooks ? hooks->thread_capacity(hooks, G4_UNIT_TS) : g4_chip_threads(g4_media_context(media)->model->chip);
    return most < G4_MEDIA_THREADS ? most : G4_MEDIA_THREADS;
}

uint32_t g4_media_slots_free(const struct g4_media *media) {
    return thread_slots(media) - media->live_threads;
}

/* ---- where threads are ---- */

static bool find_thread(struct g4_gang *gang, uint32_t euid, uint32_t tid, struct g4_gang **recipient, int *thread) {
    const struct g4_media *const media = gang->owner.data;
    for (uint32_t u = 0; u < media->units; u++) {
        struct g4_gang *const other = media->unit[media->order[u]].gang;
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if ((other->live >> t & 1) && g4_thread_state_euid(&other->sr0[t]) == euid &&
                g4_thread_state_tid(&other->sr0[t]) == tid) {
                *recipient = other;
                *thread = t;
                return true;
            }
        }
    }
    return false;
}

/* ---- groups ---- */

/* A thread has reached the barrier of its group.  The last one opens it for all. */
static bool arrive(struct g4_gang *gang, int t, const uint32_t *header) {
    const struct g4_media_thread *const thread = gang->unit_data[t];
    struct g4_media *const media = thread->media;
    (void)header;

    if (thread->group >= G4_MEDIA_GROUPS || !media->group[thread->group].barrier_threads) {
        return false;
    }
    struct g4_media_group *const group = &media->group[thread->group];
    if (++group->arrived < group->barrier_threads) {
        return true;
    }
    group->arrived = 0;
    for (uint32_t u = 0; u < media->units; u++) {
        const struct g4_media_unit *const unit = &media->unit[media->order[u]];
        for (int i = 0; i < G4_GANG_THREADS; i++) {
            if (unit->thread[i].kind == G4_MEDIA_ROOT && unit->thread[i].group == thread->group) {
                unit->gang->notify[i][0] += unit->gang->live >> i & 1;
                unit->gang->waiting &= (uint8_t) ~(1u << i);
            }
        }
    }
    return true;
}

static void share_memory(const struct g4_media *media, const struct g4_media_unit *unit, uint32_t slot) {
    const bool shares = slot < G4_MEDIA_GROUPS;
    unit->gang->shared_memory = shares ? media->group[slot].shared : NULL;
    unit->gang->shared_memory_bytes = shares ? media->group[slot].shared_bytes : 0;
}

/* ---- start ---- */

static struct g4_media_unit *unused_unit(struct g4_media *media) {
    for (int u = 0; u < G4_MEDIA_THREADS; u++) {
        struct g4_media_unit *const unit = &media->unit[u];
        bool used = false;
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            used |= unit->thread[t].kind != G4_MEDIA_UNUSED;
        }
        if (used) {
            continue;
        }
        if (!unit->gang) {
            unit->gang = aligned_alloc(64, (sizeof *unit->gang + 63) & ~(size_t)63);
            if (!unit->gang) {
                return NULL;
            }
            memset(unit->gang, 0, sizeof *unit->gang);
        }
        media->order[media->units++] = (uint8_t)u;
        return unit;
    }
    return NULL;
}

static void read_descriptor(struct g4_media *media, g4_address address, struct g4_media_descriptor *descriptor) {
    const struct g4_context *const ctx = g4_media_context(media);
    ctx->model->media->load_descriptor(ctx, media->port, address, descriptor);
}

/* The dispatch without binding table and samplers, which roots and children receive in different ways. */
static struct g4_dispatch dispatch_of(const struct g4_media *media, const struct g4_media_descriptor *descriptor) {
    const struct g4_vfe *const vfe = &media->vfe;
    const g4_address mask = media->port->mem->address_mask;
    const uint32_t registers = (descriptor->registers + GRF_UNIT - 1) / GRF_UNIT * GRF_UNIT;

    return (struct g4_dispatch){
        .unit = G4_UNIT_TS,
        .kernel_address = (vfe->instruction_base + descriptor->kernel) & mask,
        .general_state_base = vfe->general_state_base,
        .dynamic_state_base = vfe->dynamic_state_base,
        .instruction_base = vfe->instruction_base,
        .surface_state_base = vfe->surface_state_base,
        .scratch_base = (vfe->general_state_base + vfe->scratch_base) & mask,
        .scratch_bytes = vfe->scratch_bytes,
        .scratch_size = (uint8_t)vfe->scratch_size,
        .grf_count = registers,
        .rounding_mode = descriptor->rounding_mode,
        .alternate_fp = descriptor->alternate_fp,
        .single_program_flow = descriptor->single_program_flow,
        .exceptions = descriptor->exceptions,
    };
}

/* Sets up threads 0 to count - 1 with empty registers. */
static void begin(struct g4_media *media, struct g4_media_unit *unit, uint32_t count, int kind) {
    struct g4_gang *const gang = unit->gang;

    g4_gang_start(gang, &unit->dispatch, (int)count);
    gang->owner = (struct g4_gang_owner){
        .spawner_event = g4_ts_message, .find_thread = find_thread, .barrier = arrive, .data = media};
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t slot = g4_first_free(media->slots_used, thread_slots(media));
        media->slots_used |= UINT64_C(1) << slot;
        media->live_threads++;
        unit->thread[t] = (struct g4_media_thread){.media = media, .slot = slot, .group = G4_MEDIA_NO_GROUP};
        unit->thread[t].kind = kind;
        const struct g4_hooks *const hooks = g4_media_context(media)->hooks;
        gang->sr0[t] = hooks ? hooks->thread_place(hooks, G4_UNIT_TS, slot)
                             : g4_thread_identity_of_slot(g4_media_context(media), slot);
        gang->unit_data[t] = &unit->thread[t];
        gang->urb[t] = media->urb;
        gang->urb_rows[t] = g4_media_urb_rows(media);
        gang->gateway[t] = (struct g4_gateway){
            .open = media->vfe.gateways_open, .any_key = true, .registers = (uint8_t)unit->dispatch.grf_count};
        g4_gang_set_dmask(gang, (int)t, 0xffff);
    }
}

/* Writes one register of the payload; registers beyond the limit are reported. */
static void put_row(const struct g4_media *media, const struct g4_media_unit *unit, uint32_t t, uint32_t reg,
                    const uint32_t *row) {
    if (reg < unit->dispatch.grf_count && reg < G4_GRF_COUNT) {
        memcpy(unit->gang->grf[reg].ud[t], row, 32);
    } else {
        g4_report(media->log, G4_EVENT_GRF_RANGE, unit->dispatch.kernel_address, reg);
    }
}

static uint32_t put_urb(const struct g4_media *media, const struct g4_media_unit *unit, uint32_t t, uint32_t reg,
                        uint32_t row, uint32_t length) {
    static const uint32_t nothing[8];
    for (uint32_t i = 0; i < length; i++) {
        const bool inside = row + i < g4_media_urb_rows(media);
        if (!inside) {
            g4_report(media->log, G4_EVENT_URB_RANGE, unit->dispatch.kernel_address, row + i);
        }
        put_row(media, unit, t, reg++, inside ? media->urb[row + i] : nothing);
    }
    return reg;
}

/* Records a payload for g4_device_media_watch(). */
static void watch(struct g4_media *media, const struct g4_media_unit *unit, uint32_t t, uint32_t mode,
                  g4_address descriptor, uint32_t first, uint32_t end) {
    if (media->watched_count < media->watched_capacity) {
        struct g4_media_payload *const seen = &media->watched[media->watched_count];
        end = end < G4_GRF_COUNT ? end : G4_GRF_COUNT;
        *seen = (struct g4_media_payload){.descriptor = descriptor,
                                          .kernel = unit->dispatch.kernel_address,
                                          .mode = mode,
                                          .child = unit->thread[t].kind == G4_MEDIA_CHILD,
                                          .first = first,
                                          .registers = end};
        for (uint32_t r = 0; r < end; r++) {
            memcpy(seen->data[r], unit->gang->grf[r].ud[t], sizeof seen->data[r]);
        }
    }
    media->watched_count += media->watched_capacity > 0;
}

static void root_header(const struct g4_media *media, const struct g4_media_descriptor *descriptor,
                        const struct g4_media_root *root, uint32_t fftid, uint32_t r0[8]) {
    const struct g4_context *const ctx = g4_media_context(media);
    const struct g4_vfe *const vfe = &media->vfe;
    const bool vld = vfe->mode == G4_VFE_MODE_VLD;
    const struct g4_media_header header = {
        .urb_handle = vld ? 0 : root->entry * vfe->urb_entry_units,
        .descriptor = descriptor->identity,
        .sampler_state = vld ? 0 : descriptor->sampler_state,
        .scratch_size = vfe->scratch_size,
        .binding_table = descriptor->binding_table,
        .scratch_space = (uint32_t)vfe->scratch_base + fftid * vfe->scratch_bytes,
        .fftid = fftid,
        .thread_count = root->thread_count,
        .place = root->place,
        .color = root->color,
        .group = root->group < G4_MEDIA_GROUPS ? media->group[root->group].number : 0,
        .group_slot = root->group % G4_MEDIA_GROUPS,
    };
    ctx->model->media->pack_header(ctx, &header, r0);
}

static void start_root(struct g4_media *media, struct g4_media_unit *unit, uint32_t t,
                       const struct g4_media_descriptor *descriptor, const struct g4_media_root *root, uint32_t reg,
                       const struct g4_media_spawn *release) {
    const uint32_t fftid = g4_first_free(media->fftids_used, G4_MEDIA_FFTIDS);
    uint32_t r0[8];

    media->fftids_used |= UINT64_C(1) << (fftid % G4_MEDIA_FFTIDS);
    media->live_roots++;
    unit->thread[t].fftid = fftid;
    unit->thread[t].place = root->place;
    unit->thread[t].color = root->color;
    unit->thread[t].group = root->group;
    unit->gang->slot[t] = fftid;
    root_header(media, descriptor, root, fftid, r0);
    put_row(media, unit, t, 0, r0);
    const uint32_t first = reg;
    if (release) {
        reg = put_urb(media, unit, t, reg, release->row, release->length);
    }
    for (uint32_t r = 0; r < root->rows; r++) {
        put_row(media, unit, t, reg++, root->data[r]);
    }
    watch(media, unit, t, root->mode, root->descriptor, first, reg);
    unit->thread[t].keeps_entry = root->keeps_entry;
    if (!root->keeps_entry) {
        media->entries_used &= ~(UINT64_C(1) << root->entry);
    }
    media->counts.roots++;
}

static enum g4_status notify_start(const struct g4_media *media, const struct g4_media_unit *unit, int count) {
    struct g4_hooks *const hooks = g4_media_context(media)->hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    if (!hooks) {
        return G4_OK;
    }
    memset(start, 0, sizeof start);
    return hooks->threads_started(hooks, unit->gang, start, count);
}

/* ---- attention (965 PRM vol. 4, 3.5) ---- */

uint64_t g4_media_attention(const struct g4_media *media, uint64_t clear, uint64_t *data) {
    const uint32_t per_unit = media->ctx->model->chip->threads_per_unit;
    uint64_t waiting = 0;

    *data = 0;
    for (uint32_t u = 0; u < media->units; u++) {
        const struct g4_media_unit *const unit = &media->unit[media->order[u]];
        struct g4_gang *const gang = unit->gang;
        const uint8_t hosts = g4_gang_waits_for_host(gang);
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            const uint32_t *const identity = &gang->sr0[t];
            const uint32_t place = g4_thread_state_euid(identity) * per_unit + g4_thread_state_tid(identity);
            const uint64_t bit = UINT64_C(1) << (place & 63);
            if (!(hosts >> t & 1)) {
                continue;
            }
            if (clear & bit) {
                gang->notify[t][1] = 1;
                gang->waiting &= (uint8_t) ~(1u << t);
            }
            waiting |= bit;
            *data |= gang->cr0[t][0] & G4_CR0_SINGLE_FLOW ? bit : 0;
        }
    }
    return waiting;
}

static struct g4_curbe curbe_of(const struct g4_media *media) {
    const struct g4_state *const state = g4_media_context(media)->state;
    return (struct g4_curbe){.row = state->curbe, .rows = state->curbe_rows};
}

enum g4_status g4_media_start_roots(struct g4_media *media, const struct g4_media_root *const *root, uint32_t count,
                                    const struct g4_media_spawn *release) {
    struct g4_media_unit *const unit = unused_unit(media);
    struct g4_media_descriptor descriptor;

    if (!unit) {
        return G4_NO_MEMORY;
    }
    read_descriptor(media, root[0]->descriptor, &descriptor);
    unit->dispatch = dispatch_of(media, &descriptor);
    unit->dispatch.sampler_state = unit->dispatch.dynamic_state_base + descriptor.sampler_state;
    unit->dispatch.binding_table = unit->dispatch.surface_state_base + descriptor.binding_table;
    begin(media, unit, count, G4_MEDIA_ROOT);
    share_memory(media, unit, root[0]->group);
    const struct g4_curbe curbe = curbe_of(media);
    const uint32_t reg = g4_payload_constants(unit->gang, (int)count, &curbe, descriptor.constants_offset,
                                              descriptor.constants_length, 1);
    for (uint32_t t = 0; t < count; t++) {
        start_root(media, unit, t, &descriptor, root[t], reg, release);
    }
    return notify_start(media, unit, (int)count);
}

/* The parent wrote R0, tables included; constants go between R0 and the rest. */
enum g4_status g4_media_start_child(struct g4_media *media, const struct g4_media_spawn *spawn) {
    struct g4_media_unit *const unit = unused_unit(media);
    struct g4_media_descriptor descriptor;
    struct g4_media_header header;

    if (!unit) {
        return G4_NO_MEMORY;
    }
    read_descriptor(media, spawn->descriptor, &descriptor);
    unit->dispatch = dispatch_of(media, &descriptor);
    begin(media, unit, 1, G4_MEDIA_CHILD);
    share_memory(media, unit, G4_MEDIA_NO_GROUP);
    unit->thread[0].keeps_entry = true;
    (void)put_urb(media, unit, 0, 0, spawn->row, 1);
    media->ctx->model->media->load_header(media->ctx, unit->gang->grf[0].ud[0], &header);
    unit->dispatch.sampler_state = unit->dispatch.dynamic_state_base + header.sampler_state;
    unit->dispatch.binding_table = unit->dispatch.surface_state_base + header.binding_table;
    unit->gang->slot[0] = header.fftid;
    const struct g4_curbe curbe = curbe_of(media);
    const uint32_t reg =
        g4_payload_constants(unit->gang, 1, &curbe, descriptor.constants_offset, descriptor.constants_length, 1);
    const uint32_t end = put_urb(media, unit, 0, reg, spawn->row + 1, spawn->length);
    watch(media, unit, 0, G4_VFE_MODE_GENERIC, spawn->descriptor, reg, end);
    media->counts.children++;
    return notify_start(media, unit, 1);
}

/* ---- turns ---- */

static void end_thread(struct g4_media *media, const struct g4_media_unit *unit, int t) {
    struct g4_media_thread thread = unit->thread[t];

    media->slots_used &= ~(UINT64_C(1) << thread.slot);
    media->live_threads--;
    unit->gang->gateway[t].open = false;
    if (thread.kind == G4_MEDIA_CHILD) {
        return;
    }
    g4_ts_leave_group(media, thread.group);
    if (!thread.has_ended) { /* TS does not learn of the end: the thread's resources are lost */
        g4_report(media->log, G4_EVENT_THREAD_LEAK, unit->dispatch.kernel_address, thread.fftid);
        return;
    }
    media->fftids_used &= ~(UINT64_C(1) << (thread.fftid % G4_MEDIA_FFTIDS));
    media->live_roots--;
}

/* Removes threads that have ended.  False: others are left. */
static bool retire(struct g4_media *media, struct g4_media_unit *unit) {
    bool empty = true;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (unit->thread[t].kind == G4_MEDIA_UNUSED) {
            continue;
        }
        if (unit->gang->live >> t & 1) {
            empty = false;
        } else {
            end_thread(media, unit, t);
            unit->thread[t] = (struct g4_media_thread){0};
        }
    }
    return empty;
}

static enum g4_status run_unit(struct g4_media *media, const struct g4_media_unit *unit) {
    struct g4_eu *const eu = &media->worker->eu;
    const struct g4_context *const ctx = g4_media_context(media);
    const struct g4_kernel *const kernel =
        g4_kernel_get(media->kernels, ctx, unit->dispatch.kernel_address, media->fault);

    if (!kernel) {
        return G4_FAULT;
    }
    eu->turn = TURN;
    const enum g4_status status = g4_gang_run(eu, unit->gang, kernel);
    eu->turn = 0;
    if (status != G4_OK) {
        *media->fault = eu->fault;
    }
    return status;
}

enum g4_status g4_media_turn(struct g4_media *media, bool *progress) {
    const uint64_t start = g4_now_ns();
    uint32_t kept = 0;
    enum g4_status status = G4_OK;

    for (uint32_t u = 0; u < media->units; u++) {
        const uint8_t index = media->order[u];
        struct g4_media_unit *const unit = &media->unit[index];
        const struct g4_gang *const gang = unit->gang;
        if (status == G4_OK && (gang->live & (uint8_t) ~(gang->waiting | gang->stalled))) {
            *progress = true;
            status = run_unit(media, unit);
        }
        if (!retire(media, unit)) {
            media->order[kept++] = index;
        }
    }
    media->units = kept;
    media->counts.thread_ns += g4_now_ns() - start;
    return status;
}
