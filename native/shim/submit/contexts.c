#include "shim/submit/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/base/handle_table.h"
#include "shim/base/lock.h"
#include "shim/base/user.h"
#include "shim/device/chips.h"
#include "shim/uapi.h"

enum param {
    PARAM_GTT_SIZE = 3,
    PARAM_NO_ERROR_CAPTURE,
    PARAM_BANNABLE,
    PARAM_PRIORITY,
    PARAM_SSEU,
    PARAM_RECOVERABLE,
    PARAM_VM,
    PARAM_ENGINES,
    PARAM_PERSISTENCE,
};
enum {
    PRIORITY_LIMIT = 1023
};
static const int64_t hangs_in_a_row = 120000000000; /* ns; three hangs within this time ban a context */

static struct context *create(uint32_t number) {
    struct context *const context = calloc(1, sizeof *context);
    if (context) {
        *context = (struct context){.number = number,
                                    .hung_at = {INT64_MIN / 2, INT64_MIN / 2},
                                    .recoverable = true,
                                    .bannable = true,
                                    .persistence = 1};
    }
    return context;
}

bool context_open(struct drm_file *file) {
    file->default_context = create(0);
    return file->default_context != NULL;
}

struct context *context_lookup(const struct drm_file *file, uint32_t number) {
    return number ? handle_lookup(&file->contexts, number) : file->default_context;
}

void context_free_all(struct drm_file *file) {
    for (uint32_t i = 1; i < file->contexts.capacity; i++) {
        free(file->contexts.items[i]);
    }
    free(file->contexts.items);
    free(file->default_context);
}

static bool announce(struct drm_file *file, uint32_t number, bool alive) {
    struct g4_live_context packet = {.header = {.type = G4_LIVE_CONTEXT}, .context = number, .alive = alive};
    return connection_send(&file->connection, &packet, sizeof packet, -1);
}

bool context_announce_all(struct drm_file *file) {
    for (uint32_t i = 1; i < file->contexts.capacity; i++) {
        if (file->contexts.items[i] && !announce(file, i, true)) {
            return false;
        }
    }
    return true;
}

/* Bans as the kernel does: at the first hang if the client disabled recovery, else at the third within two minutes. */
void context_result(void *owner, uint32_t number, uint32_t status) {
    struct context *const context = context_lookup(owner, number);
    if (!context) {
        return;
    }
    if (status == G4_LIVE_REFUSED) {
        context->banned = true;
        return;
    }
    const int64_t now = shim_now();
    context->hangs++;
    if (!context->recoverable || (context->bannable && now - context->hung_at[0] < hangs_in_a_row)) {
        context->banned = true;
    }
    context->hung_at[0] = context->hung_at[1];
    context->hung_at[1] = now;
}

/* An engine map: EXECBUFFER2's ring is an index into it from then on. */
static int set_engines(const struct drm_file *file, struct context *context, const struct i915_context_param *param) {
    struct {
        uint16_t class, instance;
    } engines[CONTEXT_MAX_ENGINES];
    uint64_t extensions = 0;
    if (param->size == 0) {
        context->has_map = false;
        return 0;
    }
    const uint32_t count = (param->size - (uint32_t)sizeof extensions) / (uint32_t)sizeof engines[0];
    if (param->size < sizeof extensions || (param->size - sizeof extensions) % sizeof engines[0] ||
        count > CONTEXT_MAX_ENGINES) {
        return EINVAL;
    }
    if (!user_read(&extensions, param->value, sizeof extensions) ||
        !user_read(engines, param->value + sizeof extensions, count * sizeof engines[0])) {
        return EFAULT;
    }
    if (extensions) {
        return EINVAL; /* virtual and bonded engines */
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool is_hole = engines[i].class == UINT16_MAX && engines[i].instance == UINT16_MAX;
        const int engine = chip_engine_of_class(file, engines[i].class, engines[i].instance);
        if (engine < 0 && !is_hole) {
            return ENOENT;
        }
        context->map[i] = (int8_t)engine;
    }
    context->map_count = count;
    context->has_map = true;
    return 0;
}

int context_engine(const struct drm_file *file, const struct context *context, uint64_t flags) {
    static const enum g4_live_engine rings[] = {G4_LIVE_RENDER, G4_LIVE_RENDER, G4_LIVE_VIDEO, G4_LIVE_BLITTER,
                                                G4_LIVE_VIDEO_ENHANCE};
    const uint64_t ring = flags & EXEC_RING_MASK;
    if (context->has_map) {
        return ring < context->map_count ? context->map[ring] : -1;
    }
    if (ring >= sizeof rings / sizeof rings[0] || !chip_has_engine(file, rings[ring])) {
        return -1;
    }
    return (int)rings[ring];
}

uint32_t context_slot(const struct drm_file *file, const struct i915_execbuffer2 *exec) {
    const struct context *const context = context_lookup(file, (uint32_t)exec->context);
    return context && context->has_map ? (uint32_t)(exec->flags & EXEC_RING_MASK) : 0;
}

static int set(const struct drm_file *file, struct context *context, const struct i915_context_param *param) {
    if (param->size != 0 && param->param != PARAM_ENGINES && param->param != PARAM_SSEU) {
        return EINVAL;
    }
    switch (param->param) {
    case PARAM_NO_ERROR_CAPTURE:
        context->no_error_capture = param->value != 0;
        return 0;
    case PARAM_BANNABLE:
        if (!param->value && geteuid() != 0) {
            return EPERM;
        }
        context->bannable = param->value != 0;
        return 0;
    case PARAM_PRIORITY: {
        const int64_t priority = (int64_t)param->value;
        if (!chip_has_priorities(file)) {
            return ENODEV;
        }
        if (priority > PRIORITY_LIMIT || priority < -PRIORITY_LIMIT) {
            return EINVAL;
        }
        if (priority > 0 && geteuid() != 0) {
            return EPERM;
        }
        context->priority = (int32_t)priority;
        return 0;
    }
    case PARAM_RECOVERABLE:
        context->recoverable = param->value != 0;
        return 0;
    case PARAM_PERSISTENCE:
        if (!param->value && context->persistence && !chip_can_preempt(file)) {
            return ENODEV; /* a context that does not persist is ended by preemption */
        }
        context->persistence = param->value != 0;
        return 0;
    case PARAM_ENGINES:
        return set_engines(file, context, param);
    case PARAM_SSEU:
    case PARAM_VM:
        return ENODEV;
    default:
        return EINVAL;
    }
}

/* The extensions of CONTEXT_CREATE: a chain of parameters for the new context. */
static int apply_extensions(const struct drm_file *file, struct context *context, uint64_t address) {
    struct {
        struct i915_extension base;
        struct i915_context_param param;
    } extension;
    for (int links = 0; address; links++) {
        if (links == 64) {
            return E2BIG;
        }
        if (!user_read(&extension.base, address, sizeof extension.base)) {
            return EFAULT;
        }
        if (extension.base.name != CONTEXT_EXTENSION_SETPARAM || extension.base.flags) {
            return EINVAL;
        }
        if (!user_read(&extension, address, sizeof extension)) {
            return EFAULT;
        }
        if (extension.param.context) {
            return EINVAL; /* must be 0: the new context has no number yet */
        }
        const int error = set(file, context, &extension.param);
        if (error) {
            return error;
        }
        address = extension.base.next;
    }
    return 0;
}

int context_create(struct drm_file *file, void *argument, uint32_t size) {
    struct i915_context_create *const request = argument;
    const bool extended = size >= sizeof *request;
    if (extended && request->flags & ~(uint32_t)(CONTEXT_CREATE_USE_EXTENSIONS | CONTEXT_CREATE_SINGLE_TIMELINE)) {
        return EINVAL;
    }
    const int error = drm_file_connect(file);
    if (error) {
        return error;
    }
    struct context *const context = create(0);
    if (!context) {
        return ENOMEM;
    }
    const int refused = extended && request->flags & CONTEXT_CREATE_USE_EXTENSIONS
                            ? apply_extensions(file, context, request->extensions)
                            : 0;
    const uint32_t number = refused ? 0 : handle_add(&file->contexts, context);
    if (number >= G4_LIVE_MAX_CONTEXTS) {
        (void)handle_remove(&file->contexts, number);
    }
    if (!number || number >= G4_LIVE_MAX_CONTEXTS) {
        free(context);
        return refused ? refused : ENOMEM;
    }
    context->number = number;
    request->context = number;
    return announce(file, number, true) ? 0 : EIO;
}

int context_destroy(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_context_destroy *const destroy = argument;
    if (destroy->pad) {
        return EINVAL;
    }
    struct context *const context = handle_remove(&file->contexts, destroy->context);
    if (!context) {
        return ENOENT;
    }
    free(context);
    (void)announce(file, destroy->context, false);
    return 0;
}

int context_get_param(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_context_param *const param = argument;
    const struct context *const context = context_lookup(file, param->context);
    if (!context) {
        return ENOENT;
    }
    switch (param->param) {
    case PARAM_GTT_SIZE:
        param->value = chip_gtt_size(file);
        break;
    case PARAM_NO_ERROR_CAPTURE:
        param->value = context->no_error_capture;
        break;
    case PARAM_BANNABLE:
        param->value = context->bannable;
        break;
    case PARAM_PRIORITY:
        param->value = (uint64_t)(int64_t)context->priority;
        break;
    case PARAM_RECOVERABLE:
        param->value = context->recoverable;
        break;
    case PARAM_PERSISTENCE:
        param->value = context->persistence;
        break;
    case PARAM_SSEU:
    case PARAM_VM:
        return ENODEV;
    default:
        return EINVAL;
    }
    param->size = 0;
    return 0;
}

int context_set_param(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_context_param *const param = argument;
    struct context *const context = context_lookup(file, param->context);
    return context ? set(file, context, param) : ENOENT;
}

int context_reset_stats(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_reset_stats *const stats = argument;
    if (stats->flags || stats->pad) {
        return EINVAL;
    }
    connection_receive(&file->connection);
    const struct context *const context = context_lookup(file, stats->context);
    if (!context) {
        return ENOENT;
    }
    stats->resets = 0;
    stats->active = context->hangs;
    stats->pending = 0;
    return 0;
}
