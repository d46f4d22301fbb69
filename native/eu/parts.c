/*
 * Parts of kernels: code in other buffers that threads reach by writing addresses to ip (spec/40 9.3).  It is decoded
 * when the first thread arrives, with instruction pointers of the kernel that it now belongs to.
 */
#include <stdlib.h>

#include "eu/kernel.h"

const struct g4_op *g4_kernel_find_part(const struct g4_kernel *kernel, uint32_t ip) {
    for (uint32_t i = 0; i < kernel->parts->count; i++) {
        const struct g4_op *const op = g4_kernel_find(kernel->parts->part[i], ip);
        if (op) {
            return op;
        }
    }
    return NULL;
}

bool g4_kernel_extend(struct g4_kernel_cache *cache, const struct g4_kernel *kernel, const struct g4_context *ctx,
                      uint32_t ip, unsigned registers) {
    struct g4_kernel_parts *const parts = kernel->parts;

    if (!parts || parts->count == G4_KERNEL_PARTS || !g4_mem_ptr(ctx->mem, kernel->address + ip)) {
        return false;
    }
    struct g4_kernel *const part = g4_kernel_decode(ctx, kernel->address + ip, ip);
    if (!part || part->grf_top > registers) { /* fast handlers do not look at what a thread owns */
        g4_kernel_free(part);
        return false;
    }
    parts->part[parts->count++] = part;
    g4_kernel_cache_grow(cache, part->memory);
    return true;
}

size_t g4_kernel_drop_stale_parts(const struct g4_kernel *kernel, struct g4_port *port) {
    struct g4_kernel_parts *const parts = kernel->parts;
    uint32_t kept = 0;
    size_t freed = 0;

    for (uint32_t i = 0; i < parts->count; i++) {
        if (g4_kernel_same_content(parts->part[i], port)) {
            parts->part[kept++] = parts->part[i];
        } else {
            freed += parts->part[i]->memory;
            g4_kernel_free(parts->part[i]);
        }
    }
    parts->count = kept;
    return freed;
}
