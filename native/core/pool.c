#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/processors.h"

enum {
    G4_POOL_MAX = 64,
    ALONE_NS = 15000,         /* about the time to wake a thread */
    FINISH_NS = 30000,        /* for which the caller spins until threads have finished a round */
    SPINS = 32,               /* between two reads of the clock */
    MOST_AT_ONCE = 8,         /* jobs that a thread takes at once */
    SMALL_DRAWS_NS = 15000,   /* to spin for the next round: small draws follow each other within some microseconds */
    SMALL_FRAMES_NS = 200000, /* the same if the last round came soon, as those of small frames do */
    ANNOUNCED_NS = 300000,    /* the same if the next round is announced: its objects are being set up */
    SOON_NS = 300000,         /* the longest gap between rounds that is worth spinning for, with the time to wake */
};

struct g4_pool_thread {
    struct g4_pool *pool;
    uint32_t index;
    pthread_t thread;
    uint64_t moved; /* g4_leave_processor() */
};

/* The jobs of two threads: one takes them from the front, the other one from the back.  Results of a job
 * stay in the caches of one processor if the next round has the same jobs: moving a page of pixels between processors
 * takes longer than filling it. */
struct g4_pool_share {
    /* Jobs taken from the front, and from the back in the upper half; in the end, their sum may exceed the number of
     * jobs.  A single number, because each access by another processor moves the cache line. */
    _Alignas(64) _Atomic uint64_t taken;
    _Alignas(64) uint32_t first;
    _Atomic uint32_t count;
};

/* A round is one call of g4_pool_run.  Threads join it while it is open, and it ends when it is closed and the last one
 * has left.  Every thread announces itself in `busy` or `sleeping` before it looks at `open`, and the caller writes
 * `open` before it looks at those, so neither can miss the other. */
struct g4_pool {
    uint32_t workers;
    uint32_t started;      /* threads, one less than workers */
    _Atomic uint64_t open; /* the number of the round that threads may join; 0: none */
    _Atomic uint32_t busy; /* threads that work, or are about to find that the round is closed */
    uint32_t shares;
    _Atomic uint32_t in_order; /* jobs of the round; 0: it is shared */
    _Atomic uint32_t started_in_order;
    _Atomic uint32_t sleeping;
    _Atomic bool announced; /* another round */
    _Atomic bool caller_sleeps;
    _Atomic bool stop;
    uint64_t rounds;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    g4_job_fn *fn;
    void *data;
    uint64_t caller_moved;
    struct g4_pool_thread thread[G4_POOL_MAX];
    /* The processors on which workers last looked for a round, or worker 0, the caller, began one; below 0: of threads
     * that sleep.  They seldom change. */
    _Alignas(64) _Atomic int16_t processor[G4_POOL_MAX];
    struct g4_pool_share share[G4_POOL_MAX / 2];
};

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

uint32_t g4_pool_share_end(const struct g4_pool *pool, uint32_t count, uint32_t share) {
    return (uint32_t)((uint64_t)count * (share + 1) / pool->shares);
}

uint32_t g4_pool_shares(const struct g4_pool *pool) {
    return pool->shares;
}

/* Divide the jobs among the threads. */
static void share_out(struct g4_pool *pool, uint32_t count) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < pool->shares; i++) {
        struct g4_pool_share *const share = &pool->share[i];
        const uint32_t end = g4_pool_share_end(pool, count, i);
        share->first = first;
        atomic_store_explicit(&share->count, end - first, memory_order_relaxed);
        atomic_store_explicit(&share->taken, 0, memory_order_relaxed);
        first = end;
    }
}

/* The jobs of a share that are not among those taken. */
static uint32_t left_of(uint64_t taken, uint32_t count) {
    const uint64_t both = (uint32_t)taken + (taken >> 32);
    return both < count ? count - (uint32_t)both : 0;
}

/* Adjacent jobs that a thread has taken. */
struct jobs {
    uint32_t first, count;
    uint32_t left; /* for others and for later */
};

/* Take up to `most` jobs of a share; a count of 0: none is left. */
static struct jobs take(struct g4_pool_share *share, bool from_front, uint32_t most) {
    const uint32_t count = atomic_load_explicit(&share->count, memory_order_relaxed);
    const uint64_t added = from_front ? most : (uint64_t)most << 32;
    const uint64_t before = atomic_fetch_add_explicit(&share->taken, added, memory_order_relaxed);
    const uint32_t left = left_of(before, count);
    const uint32_t mine = left < most ? left : most;
    const uint32_t at = from_front ? (uint32_t)before : count - (uint32_t)(before >> 32) - mine;
    return (struct jobs){share->first + at, mine, left - mine};
}

/* The number of jobs that have not been taken. */
static uint32_t jobs_left(struct g4_pool *pool) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < pool->shares; i++) {
        left += left_of(atomic_load_explicit(&pool->share[i].taken, memory_order_relaxed),
                        atomic_load_explicit(&pool->share[i].count, memory_order_relaxed));
    }
    return left;
}

/* Jobs to take at once when so many are left: fewer and fewer, so that all threads end at about the same time. */
static uint32_t jobs_at_once(uint32_t left) {
    const uint32_t part = left / 16;
    return part < 1 ? 1 : part > MOST_AT_ONCE ? MOST_AT_ONCE : part;
}

/* Run jobs, those of this thread's share first, until none is left. */
static void work_through(struct g4_pool *pool, uint32_t worker) {
    for (uint32_t i = 0; i < pool->shares; i++) {
        struct g4_pool_share *const share = &pool->share[(worker / 2 + i) % pool->shares];
        const bool from_front = worker % 2 == 0;
        struct jobs jobs = {.left = atomic_load_explicit(&share->count, memory_order_relaxed)};
        while (jobs.left && (jobs = take(share, from_front, jobs_at_once(jobs.left))).count) {
            for (uint32_t j = 0; j < jobs.count; j++) {
                pool->fn(pool->data, worker, jobs.first + (from_front ? j : jobs.count - 1 - j));
            }
        }
    }
}

/* ---- threads ---- */

static bool is_new(struct g4_pool *pool, uint64_t seen) {
    const uint64_t open = atomic_load(&pool->open);
    return (open != 0 && open != seen) || atomic_load(&pool->stop);
}

/* Note the processor of the calling thread. */
static void note_processor(struct g4_pool *pool, uint32_t worker, int processor) {
    if (atomic_load_explicit(&pool->processor[worker], memory_order_relaxed) != processor) {
        atomic_store_explicit(&pool->processor[worker], (int16_t)processor, memory_order_relaxed);
    }
}

/* Let the calling thread leave its processor, for one without another worker, if there is one. */
static void leave_processor(struct g4_pool *pool, uint32_t worker, uint64_t *moved) {
    int16_t taken[G4_POOL_MAX];
    for (uint32_t i = 0; i <= pool->started; i++) {
        taken[i] = (int16_t)atomic_load_explicit(&pool->processor[i], memory_order_relaxed);
    }
    g4_leave_processor(moved, taken, pool->started + 1);
    note_processor(pool, worker, g4_processor());
}

/* Leave the processor of the caller, which cannot work while this thread does. */
static void avoid_caller(struct g4_pool_thread *self) {
    struct g4_pool *const pool = self->pool;
    const int here = g4_processor();
    note_processor(pool, self->index, here);
    if (here == atomic_load_explicit(&pool->processor[0], memory_order_relaxed)) {
        leave_processor(pool, self->index, &self->moved);
    }
}

/* Spin until a round begins; false if none has begun within `ns`, or longer if one is announced. */
static bool spin(struct g4_pool_thread *self, uint64_t seen, uint64_t ns) {
    struct g4_pool *const pool = self->pool;
    const uint64_t start = g4_now_ns();
    uint64_t limit;
    do {
        for (int i = 0; i < SPINS; i++) {
            if (is_new(pool, seen)) {
                return true;
            }
            pause_briefly();
        }
        avoid_caller(self);
        (void)sched_yield(); /* on a busy machine, other threads come first */
        limit = atomic_load_explicit(&pool->announced, memory_order_relaxed) ? ANNOUNCED_NS : ns;
    } while (g4_now_ns() - start < limit);
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
    uint64_t patience = 0; /* ns to spin: small frames are only expected after a round that came soon */

    for (;;) {
        const uint64_t start = g4_now_ns();
        if (!spin(self, seen, patience)) {
            note_processor(pool, self->index, -1);
            sleep_until_new(pool, seen);
            avoid_caller(self);
        }
        patience = g4_now_ns() - start < SOON_NS ? SMALL_FRAMES_NS : SMALL_DRAWS_NS;
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        atomic_fetch_add(&pool->busy, 1);
        const uint64_t open = atomic_load(&pool->open);
        if (open != 0 && open != seen) {
            seen = open;
            work_through(pool, self->index);
        }
        leave(pool);
    }
}

struct g4_pool *g4_pool_new(uint32_t workers) {
    struct g4_pool *const pool = aligned_alloc(_Alignof(struct g4_pool), sizeof *pool);
    if (!pool) {
        return NULL;
    }
    memset(pool, 0, sizeof *pool);
    pool->workers = workers < 1 ? 1 : workers > G4_POOL_MAX ? G4_POOL_MAX : workers;
    pool->shares = (pool->workers + 1) / 2;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (uint32_t i = 0; i < G4_POOL_MAX; i++) {
        atomic_init(&pool->processor[i], -1);
    }
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

/* Wait until no thread is at work: most finish within microseconds of each other. */
static void wait_for_threads(struct g4_pool *pool) {
    const uint64_t end = g4_now_ns() + FINISH_NS;
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

/* Begin a round on the caller alone.  Returns true if the caller has finished it: too little was left to share. */
static bool works_alone(struct g4_pool *pool, uint32_t count, uint32_t worth) {
    const uint64_t start = g4_now_ns();
    uint64_t ns = 0;
    for (uint32_t i = 0; i < pool->shares && ns < ALONE_NS; i++) {
        struct jobs job;
        while (ns < ALONE_NS && (job = take(&pool->share[i], true, 1)).count) {
            pool->fn(pool->data, 0, job.first);
            ns = g4_now_ns() - start;
        }
    }
    const uint32_t left = jobs_left(pool);
    const uint32_t done = count - left; /* 0 if the system has taken the processor away */
    if (left && (done == 0 || ns / done * left > worth)) {
        return false;
    }
    work_through(pool, 0);
    return true;
}

void g4_pool_run(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count, uint32_t worth, bool awake) {
    if (pool->workers == 1 || count <= 1) {
        g4_pool_run_in_order(pool, fn, data, count);
        return;
    }
    atomic_store_explicit(&pool->in_order, 0, memory_order_relaxed);
    pool->fn = fn; /* no thread reads these while the round is closed */
    pool->data = data;
    share_out(pool, count);
    const bool at_once = !worth || (awake && !atomic_load(&pool->sleeping));
    if (!at_once && works_alone(pool, count, worth)) {
        return;
    }
    note_processor(pool, 0, g4_processor());
    atomic_store(&pool->open, ++pool->rounds);
    wake(pool);
    work_through(pool, 0);
    atomic_store(&pool->open, 0);
    wait_for_threads(pool);
}

void g4_pool_move_caller(struct g4_pool *pool) {
    leave_processor(pool, 0, &pool->caller_moved);
}

void g4_pool_announce(struct g4_pool *pool, bool more) {
    atomic_store_explicit(&pool->announced, more, memory_order_relaxed);
}

void g4_pool_run_in_order(struct g4_pool *pool, g4_job_fn *fn, void *data, uint32_t count) {
    atomic_store_explicit(&pool->started_in_order, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->in_order, count, memory_order_relaxed);
    for (uint32_t job = 0; job < count; job++) {
        atomic_store_explicit(&pool->started_in_order, job + 1, memory_order_relaxed);
        fn(data, 0, job);
    }
}

uint32_t g4_pool_started(struct g4_pool *pool, uint32_t *count) {
    *count = atomic_load_explicit(&pool->in_order, memory_order_relaxed);
    if (*count) {
        const uint32_t started = atomic_load_explicit(&pool->started_in_order, memory_order_relaxed);
        return started < *count ? started : *count;
    }
    for (uint32_t i = 0; i < pool->shares; i++) {
        *count += atomic_load_explicit(&pool->share[i].count, memory_order_relaxed);
    }
    const uint32_t left = jobs_left(pool);
    return *count - (left < *count ? left : *count);
}
