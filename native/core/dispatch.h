/*
 * The facts of a thread's dispatch that its instructions and messages depend on.
 */
#ifndef G4_DISPATCH_H
#define G4_DISPATCH_H

#include "api/status.h"

/* Common to all threads of a gang, constant while they run. */
struct g4_dispatch {
    enum g4_unit unit;
    g4_address kernel_address; /* graphics address of the first instruction */
    /* Addresses that threads see are relative to these.  Before Gen6 the first three are the same. */
    g4_address general_state_base; /* scratch, stateless accesses */
    g4_address dynamic_state_base; /* samplers and their border colors */
    g4_address instruction_base;   /* ip */
    g4_address surface_state_base;
    g4_address binding_table; /* graphics address */
    g4_address sampler_state; /* graphics address of the unit's first SAMPLER_STATE */
    g4_address scratch_base;  /* graphics address of slot 0 */
    uint32_t scratch_bytes;   /* per thread */
    uint8_t scratch_size;     /* the field of the state, which payloads repeat: 2^n KB */
    uint32_t grf_count;       /* registers the thread owns */
    uint8_t alternate_fp;     /* 1: alternate floating point mode */
    uint8_t single_program_flow;
    uint8_t rounding_mode;  /* of cr0 at the start: 0 nearest, 1 up, 2 down, 3 toward zero; from Gen6 on */
    bool retains_denormals; /* of floats: cr0.0 bit 7 at the start; from Gen6 on */
    uint8_t exceptions;     /* enabled exceptions: cr0.1 bits 15:11 >> 11 */
    bool observed;          /* a debugger may read registers that the kernel never touches */
};

/* The `exceptions` of an interface descriptor. */
static inline uint8_t g4_exceptions(bool mask_stack, bool illegal_opcode, bool software) {
    return (uint8_t)(mask_stack | illegal_opcode << 1 | software << 2);
}

/* The scratch space of a thread, from its field of MEDIA_VFE_STATE: n of 2^n times 2 KB if `power`, else bytes. */
static inline uint32_t g4_scratch_bytes(uint32_t field, bool power) {
    return power ? 2048u << field : field;
}

/* The number for that size in payloads. */
static inline uint8_t g4_scratch_size(uint32_t field, bool power) {
    return (uint8_t)(power ? field : field / 1024 - 1);
}

#endif
