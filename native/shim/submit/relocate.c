/* Relocations: write the addresses of buffers into buffers that refer to them. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/user.h"
#include "shim/device/chips.h"
#include "shim/submit/execbuffer.h"

enum {
    CHUNK = 64,
    MAX_RELOCATIONS = INT32_MAX / (int)sizeof(struct i915_relocation)
};

static struct vma *target_of(const struct submission *submission, uint32_t target) {
    if (submission->exec->flags & EXEC_HANDLE_LUT) {
        return target < submission->exec->count ? submission->vmas[target] : NULL;
    }
    struct vma *const vma = vma_lookup(submission->file, target);
    return vma && vma->stamp == submission->stamp ? vma : NULL;
}

/* Apply one relocation; `changed` is set if its presumed offset was wrong. */
static int relocate_one(struct submission *submission, struct gem_object *object, struct i915_relocation *relocation,
                        bool *changed) {
    const struct vma *const target = target_of(submission, relocation->target);
    if (!target) {
        return ENOENT;
    }
    if (relocation->write & (relocation->write - 1) ||
        (relocation->write | relocation->read) & ~(uint32_t)DOMAINS_OF_THE_GPU) {
        return EINVAL;
    }
    if (relocation->write) {
        submission->written[target->index] = true;
    }
    const bool wide = chip_is_wide(submission->file);
    const uint64_t address = chip_address_to_client(submission->file, target->address);
    if (relocation->presumed == address) {
        return 0;
    }
    if (relocation->offset & 3 || relocation->offset > object->size - (wide ? 8 : 4)) {
        return EINVAL;
    }
    if (gem_object_is_busy(object, false)) {
        gem_object_get(object);
        (void)gem_object_wait(object, false, INT64_MAX);
        gem_object_put(object);
        return EAGAIN;
    }
    /* The kernel takes the delta as signed: an address before the buffer, of 32 bits or of 48. */
    const uint64_t value =
        chip_address_to_client(submission->file, target->address + (uint64_t)(int64_t)(int32_t)relocation->delta);
    memcpy(gem_object_memory(object) + relocation->offset, &value, wide ? 8 : 4);
    relocation->presumed = address;
    *changed = true;
    return 0;
}

static int relocate_chunk(struct submission *submission, struct gem_object *object, uint64_t address, uint32_t count) {
    struct i915_relocation chunk[CHUNK];
    if (!user_read(chunk, address, count * sizeof chunk[0])) {
        return EFAULT;
    }
    uint32_t first = count;
    uint32_t last = 0;
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++) {
        bool changed = false;
        error = relocate_one(submission, object, &chunk[i], &changed);
        if (changed) {
            first = first < i ? first : i;
            last = i + 1;
        }
    }
    if (first < last) {
        /* If the client keeps them in read-only memory, they are applied again next time. */
        (void)user_write(address + first * sizeof chunk[0], &chunk[first], (last - first) * sizeof chunk[0]);
    }
    return error;
}

/* True if the client has written all addresses itself (I915_EXEC_NO_RELOC), and none has changed since. */
static bool is_relocated_by_client(const struct submission *submission) {
    bool done = submission->exec->flags & EXEC_NO_RELOC;
    for (uint32_t i = 0; i < submission->exec->count && done; i++) {
        done = submission->objects[i].offset == submission->vmas[i]->address;
    }
    return done;
}

int relocate(struct submission *submission) {
    if (is_relocated_by_client(submission)) {
        return 0;
    }
    for (uint32_t i = 0; i < submission->exec->count; i++) {
        const struct i915_exec_object *const entry = &submission->objects[i];
        if (entry->relocation_count > MAX_RELOCATIONS) {
            return EINVAL;
        }
        for (uint32_t done = 0; done < entry->relocation_count; done += CHUNK) {
            const uint32_t left = entry->relocation_count - done;
            const int error =
                relocate_chunk(submission, submission->vmas[i]->object,
                               entry->relocations + done * sizeof(struct i915_relocation), left < CHUNK ? left : CHUNK);
            if (error) {
                return error;
            }
        }
    }
    return 0;
}
