/*
 * The device: everything but memory that lives longer than a draw.
 */
#ifndef G4_DEVICE_H
#define G4_DEVICE_H

#include <stdatomic.h>

#include "api/media.h"
#include "core/draw_state.h"
#include "core/pool.h"
#include "core/report.h"
#include "eu/worker.h"
#include "geometry/assemble.h"

struct g4_draw_frame; /* draw.c: draws that wait, bins, chunks and arenas, reused by each draw */

struct g4_mesh;  /* geometry/mesh.h */
struct g4_media; /* media/media.h */
struct g4_group; /* compute/group.h */

struct g4_device {
    struct g4_context ctx;
    struct g4_pool *pool;
    struct g4_worker **worker; /* one for each thread of the pool */
    uint32_t workers;
    struct g4_kernel_cache *kernels;
    struct g4_draw_state *draw_state; /* of the last draw; in the frame */
    struct g4_draw_frame *frame;
    struct g4_media *media;
    struct g4_group *group;    /* NULL until the first dispatch */
    struct g4_port port;       /* reads of the device outside of workers */
    struct g4_port quiet_port; /* speculative reads; faults on it are discarded */
    struct g4_report_log log;  /* of all workers, merged after each draw */
    struct g4_device_counts counts;
    struct g4_counters *counters;        /* of all workers, merged after each draw; NULL unless counting */
    struct g4_mesh *mesh;                /* of the last draw; NULL unless it is recorded */
    struct g4_media_counts media_before; /* when the counters were cleared */
    struct g4_hiz_counts hiz_before;     /* when the device was restored; those since are with the workers */
    uint32_t next_object;                /* 24 bits: the number of the next object that is set up, for R0.7 */
    uint32_t first_object, last_object;  /* those that are drawn */

    /* Progress of the current draw or dispatch, for g4_device_progress(). */
    _Atomic uint32_t step; /* enum g4_draw_step */
    _Atomic uint32_t groups_begun, groups;
};

struct g4_draw_frame *g4_draw_frame_new(void);
void g4_draw_frame_free(struct g4_draw_frame *frame, uint32_t workers);
/* Make room for a first draw, when there are workers. */
bool g4_draw_frame_begin(struct g4_device *device);

/* Execute a 3DPRIMITIVE as g4_device_draw(), or keep it until the next call of g4_device_finish_draws() or of this
 * function.  `same_state`: if the draw before still waits, no command has changed more than vertex and index buffers
 * and constants since, and none has written memory.  `finished` grows with each draw that has ended; if the status is
 * not G4_OK, it is that of the draw after those. */
enum g4_status g4_device_draw_later(struct g4_device *device, const uint32_t *primitive, bool same_state,
                                    uint32_t *finished, struct g4_fault *fault);
/* End the draws that wait. */
enum g4_status g4_device_finish_draws(struct g4_device *device, uint32_t *finished, struct g4_fault *fault);
/* Write two dwords after the draws that wait, when they end.  False: nothing was done; write them when no draw waits.
 */
bool g4_device_write_later(struct g4_device *device, g4_address address, const uint32_t words[2]);
/* Whether draws wait that write these bytes, or may do so. */
bool g4_device_waits_for(struct g4_device *device, g4_address address, uint64_t bytes);

/* ---- counters.c ---- */

/* Free the counters of the device and its workers. */
void g4_device_free_counters(struct g4_device *device);

/* Call after hooks or counters were attached or removed: selects the shared functions of the workers. */
void g4_device_observe(struct g4_device *device);
/* Attach hooks to the device and all its workers; NULL removes them. */
void g4_device_attach(struct g4_device *device, struct g4_hooks *hooks);

/* Prepare all workers for a draw or a dispatch; add their statistics to the state; find the fault of the first worker
 * that has one, if the status is an error. */
void g4_device_begin_workers(struct g4_device *device);
void g4_device_collect_statistics(struct g4_device *device);
void g4_device_find_fault(const struct g4_device *device, enum g4_status status, struct g4_fault *fault);

/* Merge the counts, reports and faults of all workers into the device. */
void g4_device_collect(struct g4_device *device);
/* Continue the clocks of all workers from the instructions that the device has executed. */
void g4_device_set_clocks(struct g4_device *device);

/* Fill *device->draw_state for a 3DPRIMITIVE. */
enum g4_status g4_load_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault);

#endif
