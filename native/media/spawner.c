/*
 * The thread spawner's queues: root threads from VFE, children from messages, and their order (G45 PRM vol. 2,
 * 10.5).
 */
#include <stdlib.h>

#include "media/media.h"

enum {
    QUIET_ROUNDS = 64 /* turns for polling threads while the end of all threads is not required */
};

static uint32_t entry_count(const struct g4_media *media) {
    const uint32_t count = media->vfe.urb_entries;
    return count < 1 ? 1 : count < G4_MEDIA_ROOTS ? count : G4_MEDIA_ROOTS;
}

static struct g4_media_root *first_root(struct g4_media *media) {
    return &media->root[media->roots_first];
}

static struct g4_media_spawn *first_child(struct g4_media *media) {
    return &media->child[media->children_first];
}

static void pop_roots(struct g4_media *media, uint32_t count) {
    media->roots_first = (media->roots_first + count) % G4_MEDIA_ROOTS;
    media->roots -= count;
}

static void pop_child(struct g4_media *media) {
    media->children_first = (media->children_first + 1) % G4_MEDIA_CHILDREN;
    media->children--;
}

static void push_child(struct g4_media *media, const struct g4_media_spawn *spawn) {
    media->child[(media->children_first + media->children++) % G4_MEDIA_CHILDREN] = *spawn;
}

/* Moves messages that found the queue full into it, in the order of their threads. */
static void unstall(struct g4_media *media) {
    for (uint32_t u = 0; u < media->units; u++) {
        struct g4_media_unit *const unit = &media->unit[media->order[u]];
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            struct g4_media_thread *const thread = &unit->thread[t];
            if (thread->stalled && media->children < G4_MEDIA_CHILDREN) {
                push_child(media, &thread->pending);
                thread->stalled = false;
                unit->gang->stalled &= (uint8_t) ~(1u << t);
            }
        }
    }
}

/* ---- starting threads ---- */

/* The number of roots that may start now. */
static uint32_t root_capacity(const struct g4_media *media) {
    const uint32_t most = media->vfe.max_threads;
    const uint32_t limit = most < G4_MEDIA_FFTIDS ? most : G4_MEDIA_FFTIDS;
    const uint32_t capacity = media->live_roots < limit ? limit - media->live_roots : 0;
    const uint32_t slots = g4_media_slots_free(media);
    return capacity < slots ? capacity : slots;
}

/* ---- scoreboard (docs/decisions.md 192) ---- */

/* Whether a root waits for the end of a thread with this place and color. */
static bool is_blocked_by(const struct g4_media *media, const struct g4_media_root *root,
                          struct g4_media_position place, uint32_t color) {
    for (uint32_t i = 0; i < G4_MEDIA_DEPENDENCIES; i++) {
        const struct g4_media_position distance = media->vfe.distance[i];
        if ((root->dependencies >> i & 1) && root->color == color && root->place.x + distance.x == place.x &&
            root->place.y + distance.y == place.y) {
            return true;
        }
    }
    return false;
}

/* Whether running threads hold a root back.  Roots start in order, so threads after it do not count. */
static bool is_blocked(const struct g4_media *media, const struct g4_media_root *root) {
    for (uint32_t u = 0; root->dependencies && u < media->units; u++) {
        const struct g4_media_unit *const unit = &media->unit[media->order[u]];
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            const struct g4_media_thread *const thread = &unit->thread[t];
            if (thread->kind == G4_MEDIA_ROOT && is_blocked_by(media, root, thread->place, thread->color)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a root waits for one of `count` roots before it, from the head of the queue on. */
static bool is_blocked_by_roots(const struct g4_media *media, const struct g4_media_root *root, uint32_t count) {
    for (uint32_t i = 0; root->dependencies && i < count; i++) {
        const struct g4_media_root *const before = &media->root[(media->roots_first + i) % G4_MEDIA_ROOTS];
        if (is_blocked_by(media, root, before->place, before->color)) {
            return true;
        }
    }
    return false;
}

/* The number of roots at the head of the queue that can start together. */
static uint32_t count_similar_roots(const struct g4_media *media) {
    const struct g4_media_root *const first = &media->root[media->roots_first];
    const uint32_t capacity = root_capacity(media);
    uint32_t most = media->roots < G4_GANG_THREADS ? media->roots : G4_GANG_THREADS;
    uint32_t count = 1;

    most = most < capacity ? most : capacity;
    while (count < most && !first->fence) {
        const struct g4_media_root *const next = &media->root[(media->roots_first + count) % G4_MEDIA_ROOTS];
        if (next->descriptor != first->descriptor || next->synchronized || next->fence || next->group != first->group ||
            is_blocked(media, next) || is_blocked_by_roots(media, next, count)) {
            break;
        }
        count++;
    }
    return count;
}

static enum g4_status start_roots(struct g4_media *media, bool *progress) {
    const struct g4_media_root *group[G4_GANG_THREADS];
    const uint32_t count = count_similar_roots(media);

    for (uint32_t i = 0; i < count; i++) {
        group[i] = &media->root[(media->roots_first + i) % G4_MEDIA_ROOTS];
    }
    media->fenced = group[0]->fence;
    const enum g4_status status = g4_media_start_roots(media, group, count, NULL);
    pop_roots(media, count);
    *progress = true;
    return status;
}

/* Starts a synchronized root thread with the message that releases it, both at the heads of their queues. */
static enum g4_status start_pair(struct g4_media *media, bool *progress) {
    const struct g4_media_root *const root = first_root(media);
    const struct g4_media_spawn release = *first_child(media);

    pop_child(media);
    media->fenced = root->fence;
    const enum g4_status status = g4_media_start_roots(media, &root, 1, &release);
    pop_roots(media, 1);
    *progress = true;
    return status;
}

/* Starts threads, children before roots. */
static enum g4_status dispatch(struct g4_media *media, bool *progress) {
    enum g4_status status = G4_OK;

    while (status == G4_OK) {
        unstall(media);
        const bool child = media->children > 0 && !first_child(media)->root;
        const bool release = media->children > 0 && first_child(media)->root;
        const bool root =
            media->roots > 0 && !media->fenced && root_capacity(media) > 0 && !is_blocked(media, first_root(media));
        if (child && g4_media_slots_free(media) > 0) {
            const struct g4_media_spawn spawn = *first_child(media);
            pop_child(media);
            *progress = true;
            status = g4_media_start_child(media, &spawn);
        } else if (root && !first_root(media)->synchronized) {
            status = start_roots(media, progress);
        } else if (root && release) {
            status = start_pair(media, progress);
        } else {
            break;
        }
    }
    return status;
}

static enum g4_status round_of(struct g4_media *media, bool *progress) {
    *progress = false;
    enum g4_status status = dispatch(media, progress);
    if (status == G4_OK) {
        status = g4_media_turn(media, progress);
    }
    return status;
}

/* Reports a hang: all threads wait, and no event is left that could wake them. */
static enum g4_status deadlock(struct g4_media *media) {
    struct g4_fault *const fault = media->fault;

    *fault = (struct g4_fault){
        .unit = G4_UNIT_TS, .address = media->command, .what = G4_EVENT_DEADLOCK, .value = media->live_threads};
    if (media->units) {
        const struct g4_media_unit *const unit = &media->unit[media->order[0]];
        const int first = unit->gang->live ? __builtin_ctz(unit->gang->live) : 0;
        fault->address = g4_gang_address(unit->gang, first);
    } else if (media->roots) {
        fault->address = first_root(media)->descriptor;
    }
    g4_report(media->log, G4_EVENT_DEADLOCK, fault->address, fault->value);
    return G4_HANG;
}

enum g4_status g4_ts_run(struct g4_media *media, bool finish) {
    bool progress = true;
    enum g4_status status = G4_OK;

    for (uint32_t rounds = 0; status == G4_OK && progress; rounds++) {
        if (!finish && media->roots + media->children == 0 && rounds >= QUIET_ROUNDS) {
            return G4_OK;
        }
        status = round_of(media, &progress);
    }
    if (status == G4_OK && finish) {
        if (media->live_threads + media->roots + media->children > 0) {
            status = deadlock(media);
        } else {
            g4_ts_complete_groups(media);
        }
    }
    return status;
}

/* ---- groups ---- */

static void release_if_done(struct g4_media_group *group) {
    group->used = !group->complete || group->threads > 0;
}

void g4_ts_complete_groups(struct g4_media *media) {
    for (uint32_t g = 0; g < G4_MEDIA_GROUPS; g++) {
        struct g4_media_group *const group = &media->group[g];
        if (group->used) {
            group->complete = true;
            release_if_done(group);
        }
    }
}

void g4_ts_leave_group(struct g4_media *media, uint32_t slot) {
    if (slot < G4_MEDIA_GROUPS) {
        media->group[slot].threads--;
        release_if_done(&media->group[slot]);
    }
}

static enum g4_status begin_group(struct g4_media *media, struct g4_media_group *group,
                                  const struct g4_media_command *command) {
    struct g4_media_descriptor descriptor;
    uint8_t *const shared = group->shared;

    media->ctx->model->media->load_descriptor(media->ctx, media->port,
                                              g4_vfe_descriptor(media, command->descriptor_offset), &descriptor);
    *group = (struct g4_media_group){
        .used = true,
        .number = command->group,
        .barrier_threads = descriptor.barrier_threads,
        .shared_bytes = descriptor.shared_bytes,
        .shared = shared                    ? shared
                  : descriptor.shared_bytes ? malloc(G4_MEDIA_SHARED_BYTES)
                                            : NULL,
    };
    if (group->shared_bytes && !group->shared) {
        group->used = false;
        return G4_NO_MEMORY;
    }
    if (group->shared_bytes) {
        memset(group->shared, 0, group->shared_bytes); /* docs/decisions.md 105 */
    }
    return G4_OK;
}

uint32_t g4_ts_join_group(struct g4_media *media, const struct g4_media_command *command, enum g4_status *status) {
    uint32_t slot = G4_MEDIA_NO_GROUP;

    *status = G4_OK;
    for (uint32_t g = 0; command->grouped && g < G4_MEDIA_GROUPS; g++) {
        struct g4_media_group *const group = &media->group[g];
        if (group->used && !group->complete && group->number == command->group) {
            slot = g;
        } else if (group->used && !group->complete) { /* another number begins */
            group->complete = true;
            release_if_done(group);
        }
    }
    while (command->grouped && *status == G4_OK && slot == G4_MEDIA_NO_GROUP) {
        for (uint32_t g = G4_MEDIA_GROUPS; g-- > 0;) {
            slot = media->group[g].used ? slot : g;
        }
        if (slot != G4_MEDIA_NO_GROUP) {
            *status = begin_group(media, &media->group[slot], command);
        } else {
            bool progress;
            *status = round_of(media, &progress);
            *status = *status == G4_OK && !progress ? deadlock(media) : *status;
        }
    }
    if (*status == G4_OK && slot != G4_MEDIA_NO_GROUP) {
        media->group[slot].threads++;
        media->group[slot].complete |= command->ends_group;
    }
    return slot;
}

/* ---- for VFE ---- */

struct g4_media_root *g4_ts_take(struct g4_media *media, enum g4_status *status) {
    *status = G4_OK;
    for (;;) {
        const uint32_t entry = g4_first_free(media->entries_used, entry_count(media));
        if (media->roots < G4_MEDIA_ROOTS && entry < entry_count(media)) {
            struct g4_media_root *const root = &media->root[(media->roots_first + media->roots) % G4_MEDIA_ROOTS];
            root->entry = entry;
            root->mode = media->vfe.mode;
            root->keeps_entry = media->vfe.children_present;
            return root;
        }
        bool progress;
        *status = round_of(media, &progress);
        if (*status == G4_OK && !progress) {
            *status = deadlock(media);
        }
        if (*status != G4_OK) {
            return NULL;
        }
    }
}

/* Writes the entry to the URB, because parents may pass it to children. */
static void write_entry(struct g4_media *media, const struct g4_media_root *root) {
    const uint32_t shift = g4_media_context(media)->model->media->handle_shift;
    const uint32_t first = root->entry * media->vfe.urb_entry_units << shift;
    for (uint32_t r = 0; r < root->rows && first + r < g4_media_urb_rows(media); r++) {
        memcpy(media->urb[first + r], root->data[r], sizeof root->data[r]);
    }
}

void g4_ts_put(struct g4_media *media) {
    const struct g4_media_root *const root = &media->root[(media->roots_first + media->roots) % G4_MEDIA_ROOTS];

    media->entries_used |= UINT64_C(1) << root->entry;
    if (root->keeps_entry) {
        write_entry(media, root);
    }
    media->roots++;
}

void g4_ts_clear(struct g4_media *media) {
    for (uint32_t u = 0; u < media->units; u++) {
        struct g4_media_unit *const unit = &media->unit[media->order[u]];
        memset(unit->thread, 0, sizeof unit->thread);
    }
    media->entries_used = media->fftids_used = media->slots_used = 0;
    media->roots = media->children = media->units = 0;
    media->live_roots = media->live_threads = 0;
    media->fenced = false;
    media->vc1.held = false;
    for (uint32_t g = 0; g < G4_MEDIA_GROUPS; g++) {
        media->group[g].used = false;
    }
}

/* ---- messages ---- */

static void dereference(const struct g4_media_thread *thread, const struct g4_gang *gang, int t, uint32_t handle) {
    struct g4_media *const media = thread->media;
    const uint32_t units = media->vfe.urb_entry_units ? media->vfe.urb_entry_units : 1;
    const uint32_t entry = handle / units;

    if (!thread->keeps_entry) {
        return; /* it was released when the thread started */
    }
    if (handle % units || entry >= G4_MEDIA_ROOTS || !(media->entries_used >> entry & 1)) {
        g4_report(media->log, G4_EVENT_URB_PROTOCOL, g4_gang_address(gang, t), handle);
        return;
    }
    media->entries_used &= ~(UINT64_C(1) << entry);
}

static void spawn(struct g4_media_thread *thread, struct g4_gang *gang, int t,
                  const struct g4_spawner_message *message) {
    struct g4_media *const media = thread->media;
    const struct g4_media_spawn request = {
        .root = message->kind == G4_SPAWNER_RELEASE_ROOT,
        .descriptor = message->descriptor_is_number ? g4_vfe_descriptor(media, (uint32_t)message->descriptor)
                                                    : message->descriptor,
        .row = message->row,
        .length = message->length,
    };
    media->fenced = false;
    if (media->children < G4_MEDIA_CHILDREN) {
        push_child(media, &request);
        return;
    }
    thread->pending = request;
    thread->stalled = true;
    gang->stalled |= (uint8_t)(1u << t);
}

void g4_ts_message(struct g4_gang *gang, int t, const struct g4_send *send, const uint32_t *header) {
    struct g4_media_thread *const thread = gang->unit_data[t];
    const struct g4_context *const ctx = g4_media_context(thread->media);
    struct g4_spawner_message message;

    ctx->model->media->load_message(ctx, send->descriptor, header, &message);
    if (message.kind != G4_SPAWNER_END) {
        if (send->eot) { /* spawns nothing, and TS does not learn of the end */
            g4_report(thread->media->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, t), send->descriptor);
            return;
        }
        spawn(thread, gang, t, &message);
        return;
    }
    if (message.dereferences) {
        dereference(thread, gang, t, message.handle);
    }
    thread->has_ended |= send->eot;
}
