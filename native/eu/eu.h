/*
 * The execution units: kernels are decoded once and cached by content; gangs of threads run until they end.
 *
 * Kernels come first in this file, then the interpreter of a worker, then starting and running gangs.
 */
#ifndef G4_EU_EU_H
#define G4_EU_EU_H

#include "eu/gang.h"

struct g4_row_set;
struct g4_kernel;       /* a decoded kernel */
struct g4_kernel_cache; /* kernels by content; shared by workers, filled between parallel phases */

struct g4_kernel_cache *g4_kernel_cache_new(void);
void g4_kernel_cache_free(struct g4_kernel_cache *cache);
/* The kernels of so many draws that wait stay, besides those of the draw that is loaded next. */
void g4_kernel_cache_keep(struct g4_kernel_cache *cache, uint32_t draws);
/* Whether the cache would free kernels if none had to stay. */
bool g4_kernel_cache_is_full(const struct g4_kernel_cache *cache);

/* The kernel that starts at a graphics address, decoded if the cache does not have its bytes.  Owned by the cache and
 * valid until another draw is loaded that does not wait (g4_kernel_cache_keep), or the media command ends.  Not thread
 * safe: call before the workers start.  Returns NULL and sets the fault if the first instruction cannot be read or
 * memory is short. */
const struct g4_kernel *g4_kernel_get(struct g4_kernel_cache *cache, const struct g4_context *ctx, g4_address address,
                                      struct g4_fault *fault);
/* As g4_kernel_get(), but a new kernel is only decoded, which takes half the time.  For kernels that few draws run. */
const struct g4_kernel *g4_kernel_get_unready(struct g4_kernel_cache *cache, const struct g4_context *ctx,
                                              g4_address address, struct g4_fault *fault);
/* Prepare such a kernel to run, before its first thread starts.  Any worker may call it; the first call does the work.
 */
void g4_kernel_make_ready(const struct g4_kernel *kernel, const struct g4_context *ctx);

/* About so many gangs will run the kernel: translate it to machine code if that pays.  Not thread safe, as above. NULL:
 * there is no kernel. */
void g4_kernel_expect(const struct g4_kernel *kernel, const struct g4_context *ctx, uint32_t gangs);

/* Bit n is set if the kernel sends to shared function n; all bits are if a descriptor comes from a register. */
uint32_t g4_kernel_functions(const struct g4_kernel *kernel);
/* Its messages may write to memory other than render targets. */
bool g4_kernel_writes_memory(const struct g4_kernel *kernel);
/* It may read the clock, which counts the instructions of a worker. */
bool g4_kernel_reads_clock(const struct g4_kernel *kernel);

/* It has no loop, cannot leave its code and has nothing at which a thread stops: threads end after as many instructions
 * as it has. */
bool g4_kernel_surely_ends(const struct g4_kernel *kernel);
uint32_t g4_kernel_instructions(const struct g4_kernel *kernel);

/* A message that a kernel sends. */
struct g4_sent {
    uint32_t function, descriptor;
    bool writes_target; /* a render target write */
};
/* Find the messages of the kernel, each once; returns their number.  UINT32_MAX: a function or descriptor comes from a
 * register, or there are many. */
uint32_t g4_kernel_messages(const struct g4_kernel *kernel, const struct g4_sent **sent);

/* Find the binding table entries that the kernel's render target writes name; returns their number. */
uint32_t g4_kernel_targets(const struct g4_kernel *kernel, const uint8_t **entries);

/* Addresses of SURFACE_STATEs that were written to, each once, in the order of first use. */
struct g4_written {
    uint32_t count;
    g4_address surface[32]; /* further ones are dropped */
};

/* The interpreter of one worker.  Only this worker writes to it, so it has no locks. */
struct g4_eu {
    const struct g4_context *ctx;
    struct g4_kernel_cache *kernels;
    struct g4_sampler_cache *samplers; /* unpacked surfaces and samplers of this worker */
    struct g4_surface_cache *surfaces; /* unpacked surfaces of the data port and the color calculator */
    struct g4_worker *worker;          /* the owner of the interpreter; messages use its port */
    void *cc;                          /* color calculator state of the draw */
    g4_message_fn *const *functions;   /* shared functions, by number; set by the owner */
    struct g4_hooks *hooks;            /* NULL unless an observer is attached */
    struct g4_counters *counters;      /* NULL unless exact counters are on (counters.h) */
    bool observed;                     /* an observer is attached or exact counters are on */
    struct g4_written *written;        /* records targets of media block writes; may be NULL */

    bool alone;                  /* no other worker runs, so kernels may be decoded during the run */
    uint64_t turn;               /* instructions after which a run returns, so that other gangs can run; 0: no limit */
    uint64_t instruction_budget; /* watchdog: threads that are alive when it reaches 0 count as hung */
    uint64_t instructions;       /* executed instructions, one for each thread */
    uint64_t past_instructions;  /* executed by earlier draws and media commands */
    uint64_t channel_ops;        /* executed instructions times their execution sizes */
    uint64_t messages[16];       /* sent, by shared function */
    uint64_t ps_depth_count;     /* statistics of this worker; the device adds them up in worker order */
    uint64_t ps_invocations;

    struct g4_report_log *log;
    struct g4_fault fault; /* the reason for G4_HANG; `what` is an enum g4_event */
};

/* The graphics address of the instruction that a thread executes, for reports.  Every violation of a rule by a kernel
 * or message is reported to eu->log with this address. */
static inline g4_address g4_gang_address(const struct g4_gang *gang, int thread) {
    return gang->dispatch->kernel_address + gang->ip[thread];
}

/* Start threads 0 to count - 1: clear registers and set ip, cr0 and masks from the dispatch. */
void g4_gang_start(struct g4_gang *gang, const struct g4_dispatch *dispatch, int count);
/* Start threads that run `kernel`.  Faster than g4_gang_start: registers that the kernel writes before it reads them,
 * or never reads, keep their old contents.  `is_full`: G4_GANG_THREADS threads start, whose dispatch masks will have
 * all channels. */
void g4_gang_start_for(struct g4_gang *gang, const struct g4_dispatch *dispatch, const struct g4_kernel *kernel,
                       int count, bool is_full);
/* Start the first `count` threads of a gang again that has just run `kernel` (start.can_start_again): they keep their
 * registers, but for those in `cleared`. */
void g4_gang_start_again(struct g4_gang *gang, const struct g4_kernel *kernel, int count, bool is_full,
                         const struct g4_row_set *cleared);
/* Set the dispatch mask of a started thread. */
void g4_gang_set_dmask(struct g4_gang *gang, int thread, uint16_t mask);
/* Set the dispatch mask of a started thread of 32 channels; the other threads of the gang must have as many. */
void g4_gang_set_wide_dmask(struct g4_gang *gang, int thread, uint32_t mask);
/* Set the dispatch masks of all threads: channels 0 to 7, channels 8 to 15. */
void g4_gang_set_all_dmasks(struct g4_gang *gang, const g4_lanes lanes[2]);

/* Run until every thread has ended, waits or is stalled, or eu->turn is over.  Returns G4_HANG if the instruction
 * budget is used up or a thread has stopped with an error. */
enum g4_status g4_gang_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* Run gangs of one kernel, one after another, while nothing observes them.  The first one is started; before each of
 * the others, `next` starts the gang again with the same dispatch. */
typedef void g4_next_gang_fn(void *data, uint32_t number);
enum g4_status g4_gang_run_series(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                                  uint32_t count, g4_next_gang_fn *next, void *data);

/* Run without updating exact counters. */
enum g4_status g4_gang_run_uncounted(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* Run without exact counters and hooks, even if an observer is attached. */
enum g4_status g4_gang_run_unobserved(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* Run with the general handler only.  Tests compare it with the fast handlers. */
enum g4_status g4_gang_run_general(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

#endif
