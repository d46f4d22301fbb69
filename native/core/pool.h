/*
 * A pool of threads that work through numbered jobs.  The caller is worker 0 and works too; with one worker no thread
 * exists.  Jobs start in order, so a job may rely on lower-numbered ones having started, not on their end.
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
/* Run jobs 0..count-1; returns when all are done.  `brief`: they may take less time than to wake a thread, so the
 * caller starts alone, or with threads that still wait actively after the last call. */
void g4_pool_run(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count, bool brief);

#endif
