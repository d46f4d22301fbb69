/*
 * Memory and an EU, as the targets of single kernels and messages have two of them to compare.
 */
#ifndef FUZZ_MACHINE_H
#define FUZZ_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/checkpoint.h"
#include "api/harness.h"
#include "core/memory.h"

enum {
    GTT_ENTRIES = 1 << 20,
    THREADS = 8,
    REGISTERS = 128,
    MESSAGE_REGISTERS = 16,
    FIRST_FAR_PART = 512, /* SKL: addresses have 48 bits */
    GRF = 1,
    MRF = 2,
};

struct machine {
    struct g4_mem *mem;
    struct g4_probe *probe; /* NULL: create_machine() has not been called */
    uint32_t mark;          /* when memory was loaded; 0: never */
};

static inline _Noreturn void fail(const char *message, uint32_t number) {
    (void)fprintf(stderr, "the machines differ: %s %u\n", message, number);
    abort();
}

static inline void create_machine(struct machine *machine, uint32_t part, uint32_t most_pages) {
    const struct g4_options options = {.watchdog = 1, .workers = 1};
    machine->mem = g4_mem_create(GTT_ENTRIES, part >= FIRST_FAR_PART ? 48 : 32, most_pages, false);
    machine->probe = machine->mem ? g4_probe_new(machine->mem, part, &options) : NULL;
    if (!machine->probe) {
        (void)fprintf(stderr, "out of memory\n");
        exit(1);
    }
}

static inline void drop_machine(struct machine *machine) {
    g4_probe_free(machine->probe);
    g4_mem_destroy(machine->mem);
    memset(machine, 0, sizeof *machine);
}

/* Random numbers; the seed is not 0. */
static inline uint32_t next_random(uint32_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Both machines have the same rows of a register file. */
static inline void compare_registers(const struct machine machine[2], uint32_t file, uint32_t count, uint32_t thread) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *const left = g4_probe_register(machine[0].probe, file, i, thread);
        const uint32_t *const right = g4_probe_register(machine[1].probe, file, i, thread);
        if (memcmp(left, right, 32) != 0) {
            for (uint32_t dword = 0; dword < 8; dword++) {
                (void)fprintf(stderr, "thread %u, dword %u: 0x%08x, 0x%08x\n", thread, dword, left[dword],
                              right[dword]);
            }
            fail(file == GRF ? "GRF" : "MRF", i);
        }
    }
}

#endif
