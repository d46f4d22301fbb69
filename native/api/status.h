/*
 * How calls, memory accesses and messages fail: statuses and events (core/report.h).
 */
#ifndef G4_API_STATUS_H
#define G4_API_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "enums.h"

/* A graphics address: 32 bits, from Gen8 on 48 bits.  Sums may exceed that; memory ignores the bits above. */
typedef uint64_t g4_address;

struct g4_event_count {
    uint64_t count;
    g4_address address; /* graphics address of the first instruction or command that did it */
    uint32_t value;
};

/* The first bad message that a shared function received. */
struct g4_error_record {
    bool valid;
    uint32_t unit; /* enum g4_unit of the thread */
    uint32_t euid, tid;
    uint32_t descriptor;
    uint32_t header[2]; /* dwords 6 and 7 */
    uint32_t cause;     /* bit number in the function's error code */
    g4_address address; /* of the instruction */
};

#endif
