#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"

enum {
    G4_POOL_MAX = 64,
    ALONE_NS = 15000, /* about the time to wake a thread */
    SPIN_NS = 30000,  /* at most, for the next round: small draws follow each other within some microseconds */
    SPINS = 32,       /* between two looks at the clock */
};

struct g4_pool_thread {
    struct g4_pool *pool;
    uint32_t index;
    pthread_t thread;
};

/* A round is one call of g4_pool_run.  Threads join it while it is open, and it ends when it is closed and the last one
 * has left.  Every thread announces itself in `busy` or `sleeping` before it looks at `open`, and the caller writes
 * `open` before it looks at those, so neither can miss the other. */
struct g4_pool {
    uint32_t workers;
    uint32_t started;      /* threads, one less than workers */
    _Atomic uint64_t open; /* the number of the round that threads may join; 0: none */
    _Atomic uint32_t busy; /* threads that work, or are about to find that the round is closed */
    _Atomic uint32_t next; /* job */
    _Atomic uint32_t sleeping;
    _Atomic bool caller_sleeps;
    _Atomic bool stop;
    uint64_t rounds;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    g4_job_fn *fn;
    void *data;
    uint32_t count;
    struct g4_pool_thread thread[G4_POOL_MAX];
};

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Run jobs until none is left, or until `end`, a time of g4_now_ns(); 0: no end. */
static void work_through(struct g4_pool *pool, uint32_t worker, uint64_t end) {
    while (!end || g4_now_ns() < end) {
        const uint32_t job = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (job >= pool->count) {
            return;
        }
        pool->fn(pool->data, worker, job);
    }
}

/* ---- threads ---- */

static bool is_new(struct g4_pool *pool, uint64_t seen) {
    const uint64_t open = atomic_load(&pool->open);
    return (open != 0 && open != seen) || atomic_load(&pool->stop);
}

/* Wait actively; false: for `ns` in vain. */
static bool spin(struct g4_pool *pool, uint64_t seen, uint64_t ns) {
    const uint64_t end = g4_now_ns() + ns;
    do {
        for (int i = 0; i < SPINS; i++) {
            if (is_new(pool, seen)) {
                return true;
            }
            pause_briefly();
        }
        (void)sched_yield(); /* on a busy machine, other threads come first */
    } while (g4_now_ns() < end);
    return false;
}

static void sleep_until_new(struct g4_pool *pool, uint64_t seen) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleeping, 1);
    while (!is_new(pool, seen)) {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void leave(struct g4_pool *pool) {
    if (atomic_fetch_sub(&pool->busy, 1) == 1 && atomic_load(&pool->caller_sleeps)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void *thread_main(void *argument) {
    struct g4_pool_thread *const self = argument;
    struct g4_pool *const pool = self->pool;
    uint64_t seen = 0;
    uint64_t patience = 0; /* grows when waiting actively pays off */

    for (;;) {
        if (patience && spin(pool, seen, patience)) {
            patience = SPIN_NS;
        } else {
            sleep_until_new(pool, seen);
            patience = SPIN_NS / 2;
        }
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        atomic_fetch_add(&pool->busy, 1);
        const uint64_t open = atomic_load(&pool->open);
        if (open != 0 && open != seen) {
            seen = open;
            work_through(pool, self->index, 0);
        }
        leave(pool);
    }
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
    atomic_store(&pool->stop, true);
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

/* ---- the caller ---- */

static void wake(struct g4_pool *pool) {
    if (atomic_load(&pool->sleeping)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Wait until no thread works any more: most end within microseconds of each other. */
static void wait_for_threads(struct g4_pool *pool) {
    const uint64_t end = g4_now_ns() + SPIN_NS;
    while (atomic_load(&pool->busy)) {
        if (g4_now_ns() < end) {
            (void)sched_yield();
            continue;
        }
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->caller_sleeps, true);
        while (atomic_load(&pool->busy)) {
            pthread_cond_wait(&pool->done, &pool->lock);
        }
        atomic_store(&pool->caller_sleeps, false);
        pthread_mutex_unlock(&pool->lock);
    }
}

void g4_pool_run(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count, bool brief) {
    if (pool->workers == 1 || count <= 1) {
        for (uint32_t job = 0; job < count; job++) {
            fn(data, 0, job);
        }
        return;
    }
    pool->fn = fn; /* no thread reads these while the round is closed */
    pool->data = data;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->open, ++pool->rounds);
    if (brief) {
        work_through(pool, 0, g4_now_ns() + ALONE_NS);
    }
    if (atomic_load_explicit(&pool->next, memory_order_relaxed) < count) {
        wake(pool);
        work_through(pool, 0, 0);
    }
    atomic_store(&pool->open, 0);
    wait_for_threads(pool);
}
