/*
 * Executions and enabled channels of each instruction, by kernel.
 *
 * Each worker counts a draw for itself; the device adds the counts of all workers up by the code of the kernels, so
 * that they depend neither on the number of workers nor on addresses.
 */
#ifndef G4_LINE_COUNTS_H
#define G4_LINE_COUNTS_H

#include "api/counters.h"
#include "eu/eu.h"
#include "eu/gang.h"

struct g4_line_counts {
    struct g4_kernel_count *kernel; /* in the order of first use */
    uint32_t kernels, capacity;
    uint32_t current;                 /* the kernel that runs; UINT32_MAX: no memory is left for its counts */
    uint32_t thread[G4_GANG_THREADS]; /* instructions of the threads of the gang that ran last */
    size_t bytes;                     /* allocated for kernels */
    uint64_t lost;                    /* executions of kernels without memory */
};

/* NULL without memory. */
struct g4_line_counts *g4_line_counts_new(void);
void g4_line_counts_free(struct g4_line_counts *counts);
/* Add the counts of a worker to those of the device, and clear them. */
void g4_line_counts_merge(struct g4_line_counts *into, struct g4_line_counts *from);

/* Run a gang with fast handlers but without machine code, and count each instruction. */
enum g4_status g4_line_counts_run(struct g4_line_counts *counts, struct g4_eu *eu, struct g4_gang *gang,
                                  const struct g4_kernel *kernel);
/* Count an instruction of the group that runs, before it executes. */
struct g4_run;
struct g4_op;
void g4_line_counts_add(struct g4_line_counts *counts, const struct g4_run *run, const struct g4_op *op);

/* The channels of an instruction whose results are floats; the instruction may change the flags that enable them. */
struct g4_float_channels {
    uint8_t threads;
    bool predicated;
    uint32_t enabled[G4_GANG_THREADS][2]; /* by thread and pass, if it is predicated */
};
void g4_line_counts_find_floats(struct g4_float_channels *floats, const struct g4_run *run, const struct g4_op *op);
/* Count results that are not finite, after the instruction. */
void g4_line_counts_add_results(struct g4_line_counts *counts, const struct g4_run *run, const struct g4_op *op,
                                const struct g4_float_channels *floats);

#endif
