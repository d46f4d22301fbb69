/*
 * The execution units: kernels decoded once per content, gangs run until their threads end.
 */
#ifndef G4_EU_EU_H
#define G4_EU_EU_H

#include "eu/gang.h"

struct g4_kernel;       /* predecoded micro-ops of one kernel */
struct g4_kernel_cache; /* content -> kernel; shared by workers, filled between parallel phases */

struct g4_kernel_cache *g4_kernel_cache_new(void);
void g4_kernel_cache_free(struct g4_kernel_cache *cache);

/* The kernel that starts at a graphics address, decoded on first sight of its bytes.  Not thread safe: call before the
 * workers start.  NULL with a fault when the first instruction cannot be read. */
const struct g4_kernel *g4_kernel_get(struct g4_kernel_cache *cache, const struct g4_context *ctx, uint32_t address,
                                      struct g4_fault *fault);

/* Bit n: the kernel sends to shared function n (all bits when a descriptor comes from a register). */
uint32_t g4_kernel_functions(const struct g4_kernel *kernel);

/* The binding table entries that the kernel's render target writes name; returns how many. */
uint32_t g4_kernel_targets(const struct g4_kernel *kernel, const uint8_t **entries);

/* Addresses of SURFACE_STATEs, each once, in order of first use. */
struct g4_written {
    uint32_t count;
    uint32_t surface[32]; /* more are forgotten */
};

/* Interpreter state of one worker.  No locks, nothing shared that is written. */
struct g4_eu {
    const struct g4_context *ctx;
    struct g4_kernel_cache *kernels;
    struct g4_sampler_cache *samplers; /* unpacked surfaces and samplers of this worker */
    struct g4_surface_cache *surfaces; /* unpacked surfaces of the data port and colour calculator */
    struct g4_worker *worker;          /* whose interpreter this is; its port is what messages use */
    void *cc;                          /* colour calculator state of the draw */
    g4_message_fn *const *functions;   /* the shared functions, by number; set by the owner */
    struct g4_hooks *hooks;            /* NULL unless an observer is attached */
    struct g4_counters *counters;      /* NULL: nothing is counted but the sums below (counters.h) */
    bool observed;                     /* there is one of the two */
    struct g4_written *written;        /* what media block writes went to; NULL: nobody asks */

    bool alone;                  /* no other worker runs: kernels may be decoded on the way */
    uint64_t turn;               /* instructions of a gang after which it is left for later; 0: never */
    uint64_t instruction_budget; /* watchdog: threads still alive when it is used up hang (DESIGN rule 3) */
    uint64_t instructions;       /* executed, one per thread */
    uint64_t past_instructions;  /* of earlier draws and media commands */
    uint64_t channel_ops;        /* executed channels */
    uint64_t messages[16];
    uint64_t ps_depth_count; /* statistics gathered by this worker, summed in order afterwards */
    uint64_t ps_invocations;

    struct g4_report_log *log;
    struct g4_fault fault; /* what made a thread stop for good; `what` is an enum g4_event */
};

/* Every way a kernel or message departs from the rules goes to g4_report(eu->log, ...), with the graphics address of
 * the instruction that did it. */

/* The graphics address of the instruction a thread executes (for reports). */
static inline uint32_t g4_gang_address(const struct g4_gang *gang, int thread) {
    return gang->dispatch->kernel_address + gang->ip[thread];
}

/* Zero registers and masks of threads 0..count-1, set ip, cr0 and masks from the dispatch (spec/40 2.2, spec/60 2.2).
 */
void g4_gang_start(struct g4_gang *gang, const struct g4_dispatch *dispatch, int count);
/* The same for a run of `kernel`: what it cannot read is left as it is. */
void g4_gang_start_for(struct g4_gang *gang, const struct g4_dispatch *dispatch, const struct g4_kernel *kernel,
                       int count);
void g4_gang_set_dmask(struct g4_gang *gang, int thread, uint16_t mask);

/* Run until every thread has ended or waits.  G4_HANG when the budget is used up or a thread cannot go on. */
enum g4_status g4_gang_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* The same without counting. */
enum g4_status g4_gang_run_uncounted(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* Run without hooks even if an observer is attached. */
enum g4_status g4_gang_run_unobserved(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* The same through the general handler only, for the comparison of fast and general handlers (EU-79). */
enum g4_status g4_gang_run_general(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

#endif
