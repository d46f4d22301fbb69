#include "functions/atomics.h"

#include <math.h>
#include <string.h>

#include "messages_gen7.h"
#include "messages_gen9.h"

/* The new value of `bits` bits. */
static uint64_t integer_result(uint32_t operation, uint64_t old, uint64_t a, uint64_t b, uint32_t bits) {
    const int64_t signed_old = (int64_t)(old << (64 - bits)); /* the upper bits decide */
    const int64_t signed_a = (int64_t)(a << (64 - bits));
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
        return signed_old > signed_a ? old : a;
    case GEN7_ATOMIC_OPERATION_IMIN:
        return signed_old < signed_a ? old : a;
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

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_signaling_nan(uint32_t bits) {
    return (bits & 0x7fc00000) == 0x7f800000 && (bits & 0x3fffff) != 0;
}

/* Whether a of two operands is the larger one.  A signaling NaN wins over all, a number over a quiet NaN; of zeros the
 * positive one is larger. */
static bool is_larger(uint32_t a, uint32_t b, bool negated) {
    const float x = negated ? -as_float(a) : as_float(a);
    const float y = negated ? -as_float(b) : as_float(b);
    if (is_signaling_nan(a) || is_signaling_nan(b)) {
        return is_signaling_nan(a);
    }
    return isnan(y) || x > y || (x == y && !signbit(x));
}

static uint32_t float_result(uint32_t operation, uint32_t old, uint32_t a, uint32_t b) {
    switch (operation) {
    case GEN9_FLOAT_ATOMIC_OPERATION_FMAX:
        return is_larger(old, a, false) ? old : a;
    case GEN9_FLOAT_ATOMIC_OPERATION_FMIN:
        return is_larger(old, a, true) ? old : a;
    case GEN9_FLOAT_ATOMIC_OPERATION_FCMPWR:
        return as_float(old) == as_float(a) ? b : old;
    default:
        return old;
    }
}

static uint32_t result_of(uint32_t operation, uint32_t old, uint32_t a, uint32_t b) {
    return operation & G4_ATOMIC_FLOAT ? float_result(operation & ~(uint32_t)G4_ATOMIC_FLOAT, old, a, b)
                                       : (uint32_t)integer_result(operation, old, a, b, 32);
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

uint64_t g4_atomic_64(struct g4_port *port, g4_address address, uint32_t operation, uint64_t source0,
                      uint64_t source1) {
    uint64_t *const qword = (uint64_t *)(void *)g4_mem_write_ptr(port, address & ~(g4_address)7);
    if (!qword) {
        return 0;
    }
    uint64_t old = __atomic_load_n(qword, __ATOMIC_RELAXED);
    uint64_t new = integer_result(operation, old, source0, source1, 64);
    while (!__atomic_compare_exchange_n(qword, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        new = integer_result(operation, old, source0, source1, 64);
    }
    return operation == GEN7_ATOMIC_OPERATION_PREDEC ? new : old;
}
