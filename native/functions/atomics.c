#include "functions/atomics.h"

#include "messages_gen7.h"

static uint32_t result_of(uint32_t operation, uint32_t old, uint32_t a, uint32_t b) {
    switch (operation) {
    case GEN7_ATOMIC_OPERATION_AND:
        return old & a;
    case GEN7_ATOMIC_OPERATION_OR:
        return old | a;
    case GEN7_ATOMIC_OPERATION_XOR:
        return old ^ a;
    case GEN7_ATOMIC_OPERATION_MOV:
        return a;
    case GEN7_ATOMIC_OPERATION_INC:
        return old + 1;
    case GEN7_ATOMIC_OPERATION_DEC:
    case GEN7_ATOMIC_OPERATION_PREDEC:
        return old - 1;
    case GEN7_ATOMIC_OPERATION_ADD:
        return old + a;
    case GEN7_ATOMIC_OPERATION_SUB:
        return old - a;
    case GEN7_ATOMIC_OPERATION_REVSUB:
        return a - old;
    case GEN7_ATOMIC_OPERATION_IMAX:
        return (int32_t)old > (int32_t)a ? old : a;
    case GEN7_ATOMIC_OPERATION_IMIN:
        return (int32_t)old < (int32_t)a ? old : a;
    case GEN7_ATOMIC_OPERATION_UMAX:
        return old > a ? old : a;
    case GEN7_ATOMIC_OPERATION_UMIN:
        return old < a ? old : a;
    case GEN7_ATOMIC_OPERATION_CMPWR: /* the first source is compared, the second written */
        return old == a ? b : old;
    default:
        return old;
    }
}

uint32_t g4_atomic(struct g4_port *port, g4_address address, uint32_t operation, uint32_t source0, uint32_t source1) {
    uint8_t *const place = g4_mem_write_ptr(port, address & ~(g4_address)3);
    return place ? g4_atomic_at(place, operation, source0, source1) : 0;
}

uint32_t g4_atomic_at(uint8_t *place, uint32_t operation, uint32_t source0, uint32_t source1) {
    uint32_t *const dword = (uint32_t *)(void *)place;
    uint32_t old = __atomic_load_n(dword, __ATOMIC_RELAXED);
    uint32_t new = result_of(operation, old, source0, source1);
    while (!__atomic_compare_exchange_n(dword, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        new = result_of(operation, old, source0, source1);
    }
    return operation == GEN7_ATOMIC_OPERATION_PREDEC ? new : old;
}
