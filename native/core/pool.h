/*
 * A pool of threads that work through numbered jobs.  The caller is worker 0 and works too; with one worker no thread
 * exists.  Jobs start in any order.
 */
#ifndef G4_POOL_H
#define G4_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct g4_pool;

typedef void g4_job_fn(void *data, uint32_t worker, uint32_t job);

/* NULL if the host has no memory or threads. */
struct g4_pool *g4_pool_new(uint32_t workers);
void g4_pool_free(struct g4_pool *pool);
uint32_t g4_pool_workers(const struct g4_pool *pool);
/* Run jobs 0..count-1; returns when all are done.  If `worth` (ns) is not 0, the caller starts alone, and lets the
 * other threads take part only if the remaining jobs seem to take longer than that.  With `awake`, they take part at
 * once if none of them sleeps. */
void g4_pool_run(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count, uint32_t worth, bool awake);
/* Two threads take the jobs of a share from both ends, so those in its middle are the last ones.  Shares follow each
 * other; a share ends before job g4_pool_share_end(). */
uint32_t g4_pool_shares(const struct g4_pool *pool);
uint32_t g4_pool_share_end(const struct g4_pool *pool, uint32_t count, uint32_t share);
/* Let the caller, a thread of the emulator, run on another processor, because it shares its own one with a thread that
 * it works for. */
void g4_pool_move_caller(struct g4_pool *pool);
/* Say whether another round follows soon: threads that are awake wait for it without sleeping. */
void g4_pool_announce(struct g4_pool *pool, bool more);
/* Run jobs 0..count-1 on the caller, in this order. */
void g4_pool_run_in_order(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count);
/* How many jobs of the round that runs, or ran last, have started, or are the next ones of a thread, of `count`.  For
 * any thread. */
uint32_t g4_pool_started(struct g4_pool *pool, uint32_t *count);

#endif
