/* The parts of the core that Python does not see: the inline accesses of memory.h, threads that share a memory, and the
 * pool of workers.
 *
 * A program of its own: prints the name of the first check that fails and exits with 1.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/pool.h"
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

int main(void) {
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
