/*
 * The facts of a thread's dispatch that its instructions and messages depend on.
 */
#ifndef G4_DISPATCH_H
#define G4_DISPATCH_H

#include "api/status.h"

/* Common to all threads of a gang, constant while they run. */
struct g4_dispatch {
    enum g4_unit unit;
    uint32_t kernel_address;     /* graphics address of the first instruction */
    uint32_t general_state_base; /* ip is relative to it */
    uint32_t surface_state_base;
    uint32_t binding_table; /* graphics address */
    uint32_t sampler_state; /* graphics address of the unit's first SAMPLER_STATE */
    uint32_t scratch_base;  /* graphics address of slot 0 */
    uint32_t scratch_bytes; /* per thread */
    uint8_t scratch_size;   /* the field of the state, which payloads repeat: 2^n KB */
    uint32_t grf_count;     /* registers the thread owns */
    uint8_t alternate_fp;   /* 1: alternate floating point mode */
    uint8_t single_program_flow;
    uint8_t exceptions; /* enabled exceptions: cr0.1 bits 15:11 >> 11 */
    bool observed;      /* a debugger may read registers that the kernel never touches */
};

#endif
