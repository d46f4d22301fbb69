/* The parts of the core that Python does not see: the inline accesses of memory.h, threads that share a memory, and the
 * pool of workers.
 *
 * A program of its own: prints the name of the first check that fails and exits with 1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/pool.h"
#include "core/processors.h"
#include "core/tiling.h"
#include "core/variant.h"

enum {
    THREADS = 4,
    SHARED_PAGES = 512,
};

static void check(bool good, const char *what) {
    if (!good) {
        printf("%s\n", what);
        exit(1);
    }
}

static struct g4_port port_of(struct g4_mem *mem, bool strict) {
    struct g4_port port;
    g4_port_init(&port, mem, G4_UNIT_EU, strict);
    return port;
}

static void dwords(void) {
    struct g4_mem *const mem = g4_mem_create(16, 32, 16, false);
    struct g4_port port = port_of(mem, false);
    g4_mem_write32(&port, 0x1FFC, 0x11223344);
    g4_mem_write32(&port, 0x2FFE, 0xAABBCCDD);
    check(g4_mem_read32(&port, 0x1FFC) == 0x11223344, "dword at the end of a page");
    check(g4_mem_read32(&port, 0x2FFE) == 0xAABBCCDD, "dword across pages");
    check(g4_mem_read32(&port, 0x1FFE) == 0x00001122, "dword into a page that another write made");
    check(port.log.count[G4_FAULT_UNWRITTEN_READ] == 0, "no report so far");
    check(g4_mem_read32(&port, 0x5000) == 0, "unwritten memory reads as 0");
    check(port.log.count[G4_FAULT_UNWRITTEN_READ] == 1, "unwritten memory is reported");
    check(g4_mem_ptr(mem, 0x5000) == NULL, "a page that is not there has no pointer");
    check(g4_mem_read_ptr(&port, 0x5010) == g4_zero_page + 0x10, "a page that is not there reads the zero page");
    check(g4_mem_write_ptr(&port, 0x10000) == NULL, "no pointer beyond the page table");
    g4_mem_write32(&port, 0xFFFE, 0x55667788);
    check(g4_mem_read32(&port, 0xFFFC) == 0x77880000, "the half of a dword that is inside is written");
    check(port.log.count[G4_FAULT_UNMAPPED_WRITE] == 2, "writes beyond the page table are reported");
    check(port.log.first[G4_FAULT_UNMAPPED_WRITE].address == 0x10000, "the first one is kept");
    check(port.status == G4_OK, "a lenient port goes on");
    g4_mem_destroy(mem);
}

static void strict(void) {
    struct g4_mem *const mem = g4_mem_create(16, 32, 16, true);
    struct g4_port port = port_of(mem, true);
    const uint32_t entry = 0x7001;
    check(g4_mem_set_gtt(mem, 2, &entry, 1) == G4_OK, "entry is taken");
    check(g4_mem_read32(&port, 0x2000) == 0 && port.status == G4_OK, "unwritten memory does not stop a strict port");
    g4_mem_write32(&port, 0x2000, 5);
    check(g4_mem_read32(&port, 0x2000) == 5 && port.status == G4_OK, "mapped memory works");
    check(g4_mem_read32(&port, 0x3000) == 0 && port.status == G4_FAULT, "unmapped memory stops a strict port");
    check(port.log.first[G4_FAULT_UNMAPPED_READ].unit == G4_UNIT_EU, "the unit is named");
    struct g4_port all = port_of(mem, true);
    g4_port_merge(&all, &port);
    g4_port_merge(&all, &port);
    check(all.status == G4_FAULT && all.log.count[G4_FAULT_UNMAPPED_READ] == 2, "logs add up");
    check(g4_mem_set_gtt(mem, 16, &entry, 1) == G4_BAD_VALUE, "entry beyond the table is refused");
    check(g4_mem_set_gtt(mem, 1, &entry, UINT32_MAX) == G4_BAD_VALUE, "overflowing count is refused");
    g4_mem_destroy(mem);
}

static void wrap(void) {
    struct g4_mem *const mem = g4_mem_create(G4_NEAR_PAGES, 32, 16, false);
    struct g4_port port = port_of(mem, false);
    g4_mem_write32(&port, 0xFFFFFFFE, 0xAABBCCDD);
    check(g4_mem_read32(&port, 0) == 0xAABB, "addresses wrap at 4 GiB");
    g4_mem_destroy(mem);
}

struct worker {
    struct g4_mem *mem;
    uint32_t number;
    pthread_t thread;
};

/* Every thread makes the same pages at the same time and writes its own dword into each. */
static void *work(void *argument) {
    const struct worker *const worker = argument;
    struct g4_port port = port_of(worker->mem, false);
    for (uint32_t page = 0; page < SHARED_PAGES; page++) {
        g4_mem_write32(&port, page * G4_PAGE_SIZE + worker->number * 4, page ^ worker->number << 16);
    }
    return NULL;
}

static void threads(void) {
    struct g4_mem *const mem = g4_mem_create(G4_NEAR_PAGES, 32, SHARED_PAGES, false);
    struct worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.mem = mem, .number = i};
        check(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "thread starts");
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    struct g4_port port = port_of(mem, false);
    for (uint32_t i = 0; i < SHARED_PAGES * THREADS; i++) {
        const uint32_t page = i / THREADS;
        const uint32_t number = i % THREADS;
        check(g4_mem_read32(&port, page * G4_PAGE_SIZE + number * 4) == (page ^ number << 16), "no write got lost");
    }
    check(g4_mem_owned_pages(mem) == SHARED_PAGES, "each page was made once");
    g4_mem_destroy(mem);
}

static void hostile_arguments(void) {
    check(g4_mem_create(G4_NEAR_PAGES + 1, 32, 1, false) == NULL, "no table larger than the address space");
    g4_mem_destroy(NULL);
    struct g4_mem *const mem = g4_mem_create(16, 32, 16, false);
    struct g4_port port = port_of(mem, false);
    uint8_t pixels[64] = {0};
    const struct g4_surface_layout layout = {.pitch_bytes = 128, .width_bytes = 128, .height_rows = 8};
    struct g4_surface_layout bad = layout;
    bad.tiling = 4;
    const struct g4_rectangle small = {0, 0, 16, 4};
    const struct g4_rectangle tall = {0, 0, 16, UINT32_MAX};
    check(g4_surface_read(&port, &bad, &small, pixels, 64, 16) == G4_BAD_VALUE, "no fifth tiling");
    bad.tiling = G4_TILING_X;
    check(g4_surface_read(&port, &bad, &small, pixels, 64, 16) == G4_BAD_VALUE, "no narrow pitch");
    bad = layout;
    bad.swizzle = G4_SWIZZLE_COUNT;
    check(g4_surface_read(&port, &bad, &small, pixels, 64, 16) == G4_BAD_VALUE, "no ninth swizzle");
    check(g4_surface_read(&port, &layout, &small, pixels, 63, 16) == G4_BAD_VALUE, "no pixels beyond the buffer");
    check(g4_surface_read(&port, &layout, &small, pixels, 64, 15) == G4_BAD_VALUE, "no overlapping rows");
    check(g4_surface_read(&port, &layout, &tall, pixels, 64, SIZE_MAX / 2) == G4_BAD_VALUE, "no overflowing size");
    check(g4_surface_write(&port, &layout, &tall, pixels, 64, 16) == G4_BAD_VALUE, "no source beyond the buffer");
    check(g4_surface_read(&port, &layout, &small, pixels, 64, 16) == G4_OK, "the good one is good");
    uint64_t x = 0;
    uint64_t y = 0;
    check(g4_tiling_coordinates(G4_TILING_X, 0, 5, &x, &y) == G4_BAD_VALUE, "no division by a pitch of 0");
    check(g4_set_variant(G4_VARIANT_COUNT) == G4_BAD_VALUE, "no unknown variant");
    g4_mem_destroy(mem);
}

/* ---- the pool ---- */

enum {
    MOST_JOBS = 300
};

struct jobs {
    struct g4_pool *pool;
    uint32_t count;
    _Atomic uint32_t runs[MOST_JOBS];
    _Atomic uint32_t wrong; /* counts of jobs that have started */
    uint32_t worker[MOST_JOBS];
};

static void note_job(void *data, uint32_t worker, uint32_t job) {
    struct jobs *const jobs = data;
    uint32_t count;
    const uint32_t started = g4_pool_started(jobs->pool, &count);
    atomic_fetch_add(&jobs->wrong, started == 0 || started > count || count != jobs->count);
    atomic_fetch_add(&jobs->runs[job], 1);
    jobs->worker[job] = worker;
}

static void pool(void) {
    for (uint32_t workers = 1; workers <= 7; workers++) {
        struct g4_pool *const pool = g4_pool_new(workers);
        for (uint32_t count = 0; count <= MOST_JOBS; count += count < 10 ? 1 : 29) {
            struct jobs jobs = {.pool = pool, .count = count};
            g4_pool_run(pool, note_job, &jobs, count, count % 2 ? 0 : 1000, count % 4 == 2);
            bool good = true;
            uint32_t jobs_of_round;
            check(count == 0 || (g4_pool_started(pool, &jobs_of_round) == count && jobs_of_round == count),
                  "all jobs of a round have started at its end");
            check(jobs.wrong == 0, "a job that runs has started");
            for (uint32_t job = 0; job < MOST_JOBS; job++) {
                good = good && jobs.runs[job] == (job < count);
            }
            check(good, "each job runs once");
            for (uint32_t job = 1; job < count && workers == 2; job++) {
                good = good && jobs.worker[job - 1] <= jobs.worker[job];
            }
            check(good, "of two workers, one starts at the front and the other one at the back");
        }
        g4_pool_free(pool);
    }
}

static void nothing(void *data, uint32_t worker, uint32_t job) {
    (void)data;
    (void)worker;
    (void)job;
}

/* In some of so many rounds, the system takes the processor away before the first job. */
static void brief_rounds(void) {
    struct g4_pool *const pool = g4_pool_new(2);
    for (uint32_t round = 0; round < 500000; round++) {
        g4_pool_run(pool, nothing, NULL, 40, 1, false);
    }
    g4_pool_free(pool);
}

static void note_worker(void *data, uint32_t worker, uint32_t job) {
    _Atomic uint32_t *const others = data;
    const struct timespec job_time = {.tv_nsec = 1000};
    (void)job;
    nanosleep(&job_time, NULL);
    atomic_fetch_add(others, worker != 0);
}

/* Rounds that are not worth waking threads for.  Those that have just worked are awake, most of the time. */
static void rounds_of_threads_that_are_awake(void) {
    struct g4_pool *const pool = g4_pool_new(2);
    _Atomic uint32_t ignored = 0;
    _Atomic uint32_t alone = 0;
    _Atomic uint32_t together = 0;
    uint32_t rounds = 0;
    /* On a busy machine, no thread may be awake for long. */
    for (; rounds < 50 || (rounds < 5000 && !together); rounds++) {
        g4_pool_run(pool, note_worker, &ignored, 4, 0, false);
        g4_pool_run(pool, note_worker, &alone, 4, UINT32_MAX, false);
        g4_pool_run(pool, note_worker, &ignored, 4, 0, false);
        g4_pool_run(pool, note_worker, &together, 4, UINT32_MAX, true);
    }
    /* Now and then, the system takes the processor away before the first job. */
    check(alone < rounds, "the caller works alone if less is left than is worth waking threads for");
    check(together > 0, "threads that are awake take part");
    g4_pool_free(pool);
}

/* ---- processors ---- */

static _Atomic uint32_t affinity_changes;

/* In place of the one of libc: counts. */
int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set) {
    atomic_fetch_add(&affinity_changes, 1);
    return (int)syscall(SYS_sched_setaffinity, thread, size, set);
}

static cpu_set_t affinity(void) {
    cpu_set_t allowed;
    check(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "affinity");
    return allowed;
}

static cpu_set_t only(size_t processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return one;
}

/* Let a thread, 0: the calling one, use these processors. */
static void allow(pid_t thread, cpu_set_t processors) {
    check(sched_setaffinity(thread, sizeof processors, &processors) == 0, "affinity");
}

static void moves(void) {
    const cpu_set_t before = affinity();
    bool moved = false;

    for (int tries = 0; tries < 100 && !moved; tries++) { /* the system may move it back */
        const int here = g4_processor();
        uint64_t last = 0;
        g4_leave_processor(&last, NULL, 0);
        moved = g4_processor() != here;
        check(last != 0, "the time of the move");
    }
    const cpu_set_t after = affinity();
    check(moved || CPU_COUNT(&before) == 1, "a thread leaves its processor");
    check(CPU_EQUAL(&before, &after), "the affinity is the same after a move");

    uint64_t last = 1;
    g4_leave_processor(&last, NULL, 0);
    const uint64_t first = last;
    g4_leave_processor(&last, NULL, 0);
    check(first != 1 && last == first, "moves do not follow each other at once");
}

static void single_processor(void) {
    const cpu_set_t before = affinity();
    const cpu_set_t one = only((size_t)g4_processor());
    uint64_t last = 0;

    allow(0, one);
    g4_leave_processor(&last, NULL, 0);
    const cpu_set_t after = affinity();
    check(CPU_EQUAL(&one, &after), "a thread stays on the only processor that it may use");
    allow(0, before);
}

/* All other processors but one are taken: a thread moves to that one, and if it is taken as well, to any of them. */
static void taken_processors(void) {
    const cpu_set_t allowed = affinity();
    for (int free = -1; free < CPU_SETSIZE; free++) {
        int16_t taken[CPU_SETSIZE];
        uint32_t count = 0;
        if (free >= 0 && !CPU_ISSET((size_t)free, &allowed)) {
            continue;
        }
        for (int i = 0; i < CPU_SETSIZE; i++) {
            taken[count] = (int16_t)i;
            count += i != free;
        }
        for (int tries = 0; tries < 100; tries++) { /* the system may move it, too */
            const int here = g4_processor();
            uint64_t last = 0;
            g4_leave_processor(&last, taken, count);
            const int now = g4_processor();
            if (CPU_COUNT(&allowed) == 1 || (now != here && (free < 0 || free == here || now == free))) {
                break;
            }
            check(tries < 99, "a thread moves to a processor that is not taken");
        }
    }
}

static void count_job(void *data, uint32_t worker, uint32_t job) {
    (void)worker;
    (void)job;
    atomic_fetch_add((_Atomic uint32_t *)data, 1);
}

static void caller_that_moves(void) {
    const cpu_set_t before = affinity();
    struct g4_pool *const pool = g4_pool_new(2);

    for (uint32_t round = 0; round < 1000; round++) {
        _Atomic uint32_t jobs = 0;
        g4_pool_move_caller(pool);
        g4_pool_run(pool, count_job, &jobs, 40, 0, false);
        check(jobs == 40, "the jobs of a round whose caller has moved");
    }
    g4_pool_free(pool);
    const cpu_set_t after = affinity();
    check(CPU_EQUAL(&before, &after), "the affinity of a caller that has moved");
}

/* ---- a worker on the processor of the caller ---- */

struct shared_processor {
    int processor;
    _Atomic uint32_t elsewhere; /* jobs of the worker that ran on another one */
    _Atomic bool stop;
};

static void note_processor_of_job(void *data, uint32_t worker, uint32_t job) {
    struct shared_processor *const shared = data;
    const struct timespec job_time = {.tv_nsec = 1000};
    (void)job;
    nanosleep(&job_time, NULL); /* or the caller would do them all */
    atomic_fetch_add(&shared->elsewhere, worker != 0 && g4_processor() != shared->processor);
}

/* Keeps its processor busy, so that the system has no reason to move a thread there. */
static void *occupy(void *data) {
    struct shared_processor *const shared = data;
    while (!atomic_load(&shared->stop)) {
    }
    return NULL;
}

/* The only thread of the process besides the calling one. */
static pid_t other_thread(void) {
    DIR *const tasks = opendir("/proc/self/task");
    pid_t found = 0;
    check(tasks != NULL, "threads of the process");
    for (const struct dirent *task; (task = readdir(tasks));) {
        const pid_t thread = (pid_t)strtol(task->d_name, NULL, 10);
        found = thread > 0 && thread != getpid() ? thread : found;
    }
    closedir(tasks);
    check(found != 0, "another thread of the process");
    return found;
}

/* Whether the worker moves away from the processor of the caller, and works elsewhere. */
static bool worker_moves(struct g4_pool *pool, struct shared_processor *shared) {
    const uint32_t changes = affinity_changes;
    shared->elsewhere = 0;
    for (uint32_t round = 0; round < 200 && !(affinity_changes > changes && shared->elsewhere); round++) {
        g4_pool_run(pool, note_processor_of_job, shared, 4, 0, false);
    }
    return affinity_changes > changes && shared->elsewhere;
}

static void worker_beside_the_caller(void) {
    const cpu_set_t before = affinity();
    struct shared_processor shared = {.processor = g4_processor()};
    const cpu_set_t here = only((size_t)shared.processor);
    pthread_t busy[8];
    size_t count = 0;
    bool moves = false;

    if (CPU_COUNT(&before) < 2 || CPU_COUNT(&before) > 8) {
        return;
    }
    struct g4_pool *const pool = g4_pool_new(2);
    const pid_t worker = other_thread();
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &before) && (int)i != shared.processor) {
            allow(0, only(i)); /* the thread inherits it */
            check(pthread_create(&busy[count++], NULL, occupy, &shared) == 0, "a thread");
        }
    }
    allow(0, here);
    for (int tries = 0; tries < 50 && !moves; tries++) { /* the system may move it before it does so itself */
        allow(worker, here);
        allow(worker, before);
        moves = worker_moves(pool, &shared);
    }
    check(moves, "a worker leaves the processor of the caller");
    atomic_store(&shared.stop, true);
    for (size_t i = 0; i < count; i++) {
        pthread_join(busy[i], NULL);
    }
    g4_pool_free(pool);
    allow(0, before);
}

int main(void) {
    worker_beside_the_caller();
    moves();
    taken_processors();
    single_processor();
    caller_that_moves();
    pool();
    brief_rounds();
    rounds_of_threads_that_are_awake();
    dwords();
    strict();
    wrap();
    threads();
    hostile_arguments();
    return 0;
}
