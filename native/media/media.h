/*
 * The media pipeline: VFE makes root threads from MEDIA_OBJECTs, the thread spawner (TS) queues and starts them,
 * threads run interleaved (G45 PRM vol. 2, 10).  A device has one; the state of a hardware context is in struct
 * g4_state.
 */
#ifndef G4_MEDIA_MEDIA_H
#define G4_MEDIA_MEDIA_H

#include "api/media.h"
#include "core/report.h"
#include "eu/worker.h"
#include "media/state.h"
#include "media/vld.h"

enum {
    G4_MEDIA_ROWS = G4_GRF_COUNT, /* the most rows of a thread */
    G4_MEDIA_ROOTS = 64,          /* the most URB entries of VFE */
    G4_MEDIA_CHILDREN = 8,        /* depth of the child queue */
    G4_MEDIA_THREADS = 50,        /* at a time: all of the largest Gen4.5 chip, fewer than later ones have */
    G4_MEDIA_FFTIDS = 64,
    G4_MEDIA_GROUPS = 16, /* barriers of a subslice */
    G4_MEDIA_SHARED_BYTES = 1 << 16,
    G4_MEDIA_NO_GROUP = G4_MEDIA_GROUPS,
    G4_MEDIA_URB_ROWS = 2048, /* the most of any part */
};

/* A root thread in the queue from VFE to TS. */
struct g4_media_root {
    uint32_t mode; /* enum g4_vfe_mode at its creation */
    g4_address descriptor;
    uint32_t thread_count; /* value of the debug counter */
    uint32_t entry;        /* of the URB */
    bool synchronized;     /* synchronized root thread */
    bool fence;            /* parent root thread with a fence (PRT_Fence) */
    bool keeps_entry;      /* until it is dereferenced, for children */
    struct g4_media_position place;
    uint32_t color;
    uint32_t dependencies; /* bit i: on the thread at distance[i] of VFE */
    uint32_t group;        /* slot of its group, or G4_MEDIA_NO_GROUP */
    uint32_t rows;
    uint32_t data[G4_MEDIA_ROWS][8]; /* registers after the constants */
};

/* Threads with a common barrier and local memory; objects with the same number follow each other. */
struct g4_media_group {
    bool used;
    bool complete;    /* no more threads join it */
    uint32_t number;  /* of its objects */
    uint32_t threads; /* that wait in the queue or run */
    uint32_t arrived; /* messages at the barrier since it opened last */
    uint32_t barrier_threads;
    uint32_t shared_bytes;
    uint8_t *shared; /* G4_MEDIA_SHARED_BYTES, kept for the next group; NULL before the first one that needs it */
};

/* A macroblock of VC1-IT that waits for its right-hand neighbour. */
struct g4_media_vc1 {
    bool held;
    bool synchronized;
    uint32_t x, y;
    g4_address descriptor;
    uint32_t thread_count;
    uint32_t coded;     /* bit 0: Y0 */
    uint32_t words[16]; /* inline data, two registers */
    int16_t block[6][64];
};

/* A spawn request of a thread. */
struct g4_media_spawn {
    bool root; /* true: releases a synchronized root thread, false: starts a child */
    g4_address descriptor;
    uint32_t row;    /* URB row of 256 bits */
    uint32_t length; /* rows */
};

struct g4_media;

struct g4_media_thread {
    struct g4_media *media;
    enum {
        G4_MEDIA_UNUSED,
        G4_MEDIA_ROOT,
        G4_MEDIA_CHILD
    } kind;
    uint32_t fftid; /* of roots; also the scratch slot */
    struct g4_media_position place;
    uint32_t color;
    uint32_t group;   /* slot, or G4_MEDIA_NO_GROUP */
    uint32_t slot;    /* position in the execution units */
    bool keeps_entry; /* the URB entry is used until a message dereferences it */
    bool has_ended;   /* has notified TS of its end */
    bool stalled;     /* its spawn message waits because the queue is full */
    struct g4_media_spawn pending;
};

/* Threads of one kernel that were started together. */
struct g4_media_unit {
    struct g4_gang *gang;
    struct g4_dispatch dispatch;
    struct g4_media_thread thread[G4_GANG_THREADS];
};

struct g4_media {
    const struct g4_context *ctx;
    struct g4_port *port; /* for everything that threads do not read themselves */
    struct g4_kernel_cache *kernels;
    struct g4_worker *worker; /* runs all threads */
    struct g4_report_log *log;
    g4_address command; /* that runs, for reports */

    struct g4_vfe vfe;
    uint32_t debug_counter;
    uint32_t indirect_length;
    uint8_t *indirect; /* data of the current object, followed by zeros */
    struct g4_media_vc1 vc1;

    uint32_t urb[G4_MEDIA_URB_ROWS][8];
    uint64_t entries_used;

    /* The members below belong to the thread spawner. */
    struct g4_media_root root[G4_MEDIA_ROOTS]; /* a ring */
    uint32_t roots_first, roots;
    struct g4_media_spawn child[G4_MEDIA_CHILDREN]; /* a ring */
    uint32_t children_first, children;
    bool fenced; /* no root starts before a spawn message */
    uint64_t fftids_used, slots_used;
    uint32_t live_roots, live_threads;
    struct g4_media_group group[G4_MEDIA_GROUPS];

    struct g4_media_unit unit[G4_MEDIA_THREADS];
    uint8_t order[G4_MEDIA_THREADS]; /* units with threads, oldest first */
    uint32_t units;
    struct g4_fault *fault; /* fault of the current call */

    struct g4_vld_tables tables;
    struct g4_media_payload *watched;
    uint32_t watched_capacity, watched_count;
    struct g4_media_counts counts;
    struct g4_written written;
};

/* Everything that is passed must live as long as the media pipeline.  NULL without memory. */
struct g4_media *g4_media_new(const struct g4_context *ctx, struct g4_port *port, struct g4_kernel_cache *kernels,
                              struct g4_worker *worker);
void g4_media_free(struct g4_media *media);

/* The functions of api/media.h; draw/media.c calls them and then collects counts and reports. */
enum g4_status g4_media_object(struct g4_media *media, const uint32_t *command, uint32_t dwords, g4_address address,
                               struct g4_fault *fault);
enum g4_status g4_media_run(struct g4_media *media, bool finish, struct g4_fault *fault);
uint32_t g4_media_targets(struct g4_media *media, uint32_t (*states)[G4_SURFACE_STATE_DWORDS], uint32_t capacity);
enum g4_status g4_media_watch(struct g4_media *media, uint32_t capacity);
const struct g4_media_payload *g4_media_payload(const struct g4_media *media, uint32_t index);
/* The threads that wait for the host.  Those in `clear` receive the notification that they wait for. */
uint64_t g4_media_attention(const struct g4_media *media, uint64_t clear, uint64_t *data);

static inline const struct g4_context *g4_media_context(const struct g4_media *media) {
    return media->ctx;
}

static inline uint32_t g4_media_urb_rows(const struct g4_media *media) {
    const uint32_t rows = media->ctx->model->media->urb_rows;
    return rows ? rows : G4_MEDIA_URB_ROWS;
}

/* Reports a field of the state, or of a command, that is not usable. */
static inline void g4_media_bad(const struct g4_media *media, uint32_t value) {
    g4_report(media->log, G4_EVENT_BAD_STATE, media->command, value);
}

static inline uint32_t g4_media_dword(const struct g4_media *media, uint32_t index) {
    uint32_t value = 0;
    if (index < G4_INDIRECT_DATA_BYTES / 4) { /* zeros follow the data */
        memcpy(&value, media->indirect + 4 * (size_t)index, sizeof value);
    }
    return value;
}

/* ---- VFE: vfe.c ---- */

/* Returns the value of the debug counter for the next thread. */
uint32_t g4_vfe_count(struct g4_media *media, const struct g4_media_command *command);
/* Returns the graphics address of an object's descriptor. */
static inline g4_address g4_vfe_descriptor(const struct g4_media *media, uint32_t number) {
    const g4_address offset = (g4_address)g4_media_context(media)->model->media->descriptor_bytes * number;
    return (media->vfe.descriptor_base + offset) & media->port->mem->address_mask;
}

enum g4_status g4_vfe_generic(struct g4_media *media, const struct g4_media_command *command);
/* Starts a thread for each position of a walker. */
enum g4_status g4_vfe_walk(struct g4_media *media, const struct g4_media_command *command);
enum g4_status g4_vfe_is(struct g4_media *media, const struct g4_media_command *command);
enum g4_status g4_vfe_vld(struct g4_media *media, const struct g4_media_command *command);
enum g4_status g4_vfe_avc(struct g4_media *media, const struct g4_media_command *command);
enum g4_status g4_vfe_vc1(struct g4_media *media, const struct g4_media_command *command);
/* Completes the macroblock of VC1-IT that is held back, because none follows. */
enum g4_status g4_vfe_release_held(struct g4_media *media);

/* Begins a root thread with only its descriptor and count set; it is not queued yet.  NULL: see the status. */
struct g4_media_root *g4_vfe_new_root(struct g4_media *media, const struct g4_media_command *command,
                                      uint32_t descriptor, enum g4_status *status);
/* Copies words to rows from `row` on and pads the last one with zeros.  Returns the next row. */
uint32_t g4_vfe_fill(struct g4_media *media, struct g4_media_root *root, uint32_t row, const void *data, size_t size);

/* ---- TS: spawner.c ---- */

/* Returns the next free root of the queue, with an URB entry; waits for both.  It may be filled and abandoned until
 * g4_ts_put() queues it.  NULL: see the status. */
struct g4_media_root *g4_ts_take(struct g4_media *media, enum g4_status *status);
/* Queues the root that g4_ts_take() returned. */
void g4_ts_put(struct g4_media *media);
/* Runs threads until none can continue.  `finish`: until all have ended; a deadlock is a hang. */
enum g4_status g4_ts_run(struct g4_media *media, bool finish);
/* Drops all threads. */
void g4_ts_clear(struct g4_media *media);
/* Returns the slot of the group that the thread of a command joins: one that is open, or a new one, for which it waits.
 * G4_MEDIA_NO_GROUP without one, or see the status. */
uint32_t g4_ts_join_group(struct g4_media *media, const struct g4_media_command *command, enum g4_status *status);
/* No more threads join the groups that are open. */
void g4_ts_complete_groups(struct g4_media *media);
/* A thread of a group has ended. */
void g4_ts_leave_group(struct g4_media *media, uint32_t slot);
/* Handles a spawner message of thread t. */
void g4_ts_message(struct g4_gang *gang, int t, const struct g4_send *send, const uint32_t *header);

/* ---- threads: threads.c ---- */

/* Starts roots, one or several with the same descriptor, or a child. */
enum g4_status g4_media_start_roots(struct g4_media *media, const struct g4_media_root *const *root, uint32_t count,
                                    const struct g4_media_spawn *release);
enum g4_status g4_media_start_child(struct g4_media *media, const struct g4_media_spawn *spawn);
/* Gives every runnable thread a turn; *progress: at least one ran. */
enum g4_status g4_media_turn(struct g4_media *media, bool *progress);
uint32_t g4_media_slots_free(const struct g4_media *media);

/* The lowest clear bit below `count`, else `count`. */
static inline uint32_t g4_first_free(uint64_t used, uint32_t count) {
    const uint32_t first = ~used ? (uint32_t)__builtin_ctzll(~used) : 64;
    return first < count ? first : count;
}

#endif
