/*
 * How many registers a kernel needs at each of its instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "api/kernel.h"
#include "core/context.h"
#include "core/variant.h"
#include "eu/jit/liveness.h"
#include "eu/run.h"

#if G4_HAVE_X86_VARIANTS

static uint8_t count_rows(const struct g4_row_set *set) {
    return (uint8_t)(__builtin_popcountll(set->bits[0]) + __builtin_popcountll(set->bits[1]));
}

bool g4_kernel_live_registers(struct g4_mem *mem, uint32_t gen, g4_address address, uint8_t *live, uint32_t slots) {
    const struct g4_context ctx = {.mem = mem, .model = g4_model_of(gen)};
    struct g4_kernel *const kernel = ctx.model ? g4_kernel_decode(&ctx, address, 0) : NULL;
    struct g4_row_set *rows = NULL;

    memset(live, G4_LIVE_NONE, slots);
    if (kernel) {
        for (uint32_t i = 0; i < kernel->count; i++) { /* the analysis looks at the handlers below joins */
            struct g4_op *const op = &kernel->ops[i];
            op->handler = op->handler == G4_HANDLER_JOIN ? op->joined : op->handler;
        }
        rows = g4_row_liveness(kernel);
    }
    for (uint32_t i = 0; rows && i < kernel->count && kernel->ops[i].ip / 8 < slots; i++) {
        live[kernel->ops[i].ip / 8] = count_rows(&rows[i]);
    }
    const bool known = rows != NULL;
    free(rows);
    g4_kernel_free(kernel);
    return known;
}

#else

bool g4_kernel_live_registers(struct g4_mem *mem, uint32_t gen, g4_address address, uint8_t *live, uint32_t slots) {
    (void)mem;
    (void)gen;
    (void)address;
    memset(live, G4_LIVE_NONE, slots);
    return false;
}

#endif
