#include "core/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"

enum {
    G4_POOL_MAX = 64,
    ALONE_NS = 15000, /* about the time to wake a thread */
};

struct g4_pool_thread {
    struct g4_pool *pool;
    uint32_t index;
    pthread_t thread;
};

struct g4_pool {
    uint32_t workers;
    uint32_t started; /* threads, one less than workers */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    uint64_t round; /* counts calls to work */
    bool open;      /* threads may join this round; one that wakes later finds it closed and does not delay it */
    uint32_t busy;  /* threads that joined and are not done */
    bool stop;
    g4_job_fn *fn;
    void *data;
    uint32_t count;
    _Atomic uint32_t next;
    struct g4_pool_thread thread[G4_POOL_MAX];
};

static void work_through(struct g4_pool *pool, uint32_t worker) {
    for (;;) {
        const uint32_t job = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (job >= pool->count) {
            return;
        }
        pool->fn(pool->data, worker, job);
    }
}

static void *thread_main(void *argument) {
    struct g4_pool_thread *const self = argument;
    struct g4_pool *const pool = self->pool;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->stop) {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
        if (pool->stop) {
            break;
        }
        seen = pool->round;
        if (!pool->open) {
            continue;
        }
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        work_through(pool, self->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct g4_pool *g4_pool_new(uint32_t workers) {
    struct g4_pool *const pool = calloc(1, sizeof *pool);
    if (!pool) {
        return NULL;
    }
    pool->workers = workers < 1 ? 1 : workers > G4_POOL_MAX ? G4_POOL_MAX : workers;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (uint32_t i = 1; i < pool->workers; i++) {
        struct g4_pool_thread *const t = &pool->thread[i];
        t->pool = pool;
        t->index = i;
        if (pthread_create(&t->thread, NULL, thread_main, t) != 0) {
            g4_pool_free(pool);
            return NULL;
        }
        pool->started++;
    }
    return pool;
}

void g4_pool_free(struct g4_pool *pool) {
    if (!pool) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 1; i <= pool->started; i++) {
        pthread_join(pool->thread[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

uint32_t g4_pool_workers(const struct g4_pool *pool) {
    return pool->workers;
}

/* Run jobs on the calling thread while others may join. */
static void run_together(struct g4_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->open = true;
    pool->round++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);

    work_through(pool, 0);

    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->busy) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

void g4_pool_run(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count, bool brief) {
    const bool alone = pool->workers == 1 || count <= 1;
    const uint64_t end = brief ? g4_now_ns() + ALONE_NS : 0;
    uint32_t job = 0;

    while (job < count && (alone || (brief && g4_now_ns() < end))) {
        fn(data, 0, job++);
    }
    if (job == count) {
        return;
    }
    pool->fn = fn; /* no thread reads these while the round is closed */
    pool->data = data;
    pool->count = count;
    atomic_store_explicit(&pool->next, job, memory_order_relaxed);
    run_together(pool);
}
