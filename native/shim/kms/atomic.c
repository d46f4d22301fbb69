/* Atomic mode setting: sets many properties at once, or none.
 *
 * Offered with GEN4EMU_ATOMIC=1 only: kernels offer it for these GPUs only with i915.nuclear_pageflip.
 */
#include <errno.h>

#include "shim/base/lock.h"
#include "shim/base/user.h"
#include "shim/kms/display.h"
#include "shim/submit/sync_file.h"

/* The requested state of the display. */
struct atomic_state {
    struct plane primary, cursor;
    uint64_t connector_crtc;
    bool active;
    bool enabled; /* a mode is set */
    struct kms_mode mode;
    uint64_t out_fence; /* address for the descriptor; 0: none requested */
    bool touches_crtc, touches_primary;
};

static uint64_t get(const struct plane *plane, enum display_property property) {
    return plane->value[property - PROPERTY_CRTC_ID];
}

static void put(struct plane *plane, enum display_property property, uint64_t value) {
    plane->value[property - PROPERTY_CRTC_ID] = value;
}

struct plane display_primary(const struct display *display) {
    struct plane plane = {{0}};
    if (!display->active || !display->fb) {
        return plane;
    }
    put(&plane, PROPERTY_CRTC_ID, DISPLAY_CRTC);
    put(&plane, PROPERTY_FB_ID, display->fb);
    put(&plane, PROPERTY_SRC_X, (uint64_t)display->x << 16);
    put(&plane, PROPERTY_SRC_Y, (uint64_t)display->y << 16);
    put(&plane, PROPERTY_SRC_W, (uint64_t)display->current.hdisplay << 16);
    put(&plane, PROPERTY_SRC_H, (uint64_t)display->current.vdisplay << 16);
    put(&plane, PROPERTY_CRTC_W, display->current.hdisplay);
    put(&plane, PROPERTY_CRTC_H, display->current.vdisplay);
    return plane;
}

/* --- requested state --- */

static int set_plane(const struct display *display, struct plane *plane, uint32_t property, uint64_t value) {
    if (property == PROPERTY_IN_FENCE_FD) {
        return value == UINT64_MAX ? 0 : sync_file_wait((int)(int64_t)value);
    }
    if (property < PROPERTY_CRTC_ID || property > PROPERTY_CRTC_H) {
        return EINVAL; /* immutable */
    }
    const bool bad_crtc = property == PROPERTY_CRTC_ID && value && value != DISPLAY_CRTC;
    const bool bad_fb =
        property == PROPERTY_FB_ID && value && (value > UINT32_MAX || !framebuffer_lookup(display, (uint32_t)value));
    if (bad_crtc || bad_fb) {
        return EINVAL;
    }
    put(plane, property, value);
    return 0;
}

static int set_crtc(const struct display *display, struct atomic_state *state, uint32_t property, uint64_t value) {
    if (property == PROPERTY_OUT_FENCE_PTR) {
        state->out_fence = value;
        return 0;
    }
    if (property == PROPERTY_ACTIVE) {
        state->active = value;
        return value > 1 ? EINVAL : 0;
    }
    state->enabled = value != 0;
    if (value == 0) {
        return 0;
    }
    const struct kms_mode *const mode = property_mode(display, value);
    if (!mode || mode->hdisplay == 0 || mode->vdisplay == 0) {
        return EINVAL;
    }
    state->mode = *mode;
    return 0;
}

static int set(const struct display *display, struct atomic_state *state, uint32_t object, uint32_t property,
               uint64_t value) {
    switch (object) {
    case DISPLAY_PRIMARY:
        state->touches_primary = true;
        return set_plane(display, &state->primary, property, value);
    case DISPLAY_CURSOR:
        return set_plane(display, &state->cursor, property, value);
    case DISPLAY_CRTC:
        state->touches_crtc = true;
        return set_crtc(display, state, property, value);
    default:
        if (property != PROPERTY_CRTC_ID || (value && value != DISPLAY_CRTC)) {
            return EINVAL;
        }
        state->connector_crtc = value;
        return 0;
    }
}

static bool has_property(const struct display *display, uint32_t object, uint32_t property) {
    uint32_t numbers[DISPLAY_MAX_PROPERTIES];
    uint64_t values[DISPLAY_MAX_PROPERTIES];
    uint32_t count = 0;
    if (properties_of(display, object, numbers, values, &count)) {
        return false;
    }
    while (count && numbers[count - 1] != property) {
        count--;
    }
    return count != 0;
}

/* Read the program's four arrays: objects, property counts, properties and values. */
static int read_all(const struct display *display, const struct kms_atomic *request, struct atomic_state *state) {
    uint64_t done = 0;
    for (uint64_t i = 0; i < request->count; i++) {
        uint32_t object, count;
        if (!user_read(&object, request->objects + i * sizeof object, sizeof object) ||
            !user_read(&count, request->counts + i * sizeof count, sizeof count)) {
            return EFAULT;
        }
        for (uint32_t j = 0; j < count; j++, done++) {
            uint32_t property;
            uint64_t value;
            if (!user_read(&property, request->properties + done * sizeof property, sizeof property) ||
                !user_read(&value, request->values + done * sizeof value, sizeof value)) {
                return EFAULT;
            }
            if (!has_property(display, object, property)) {
                return ENOENT;
            }
            const int error = set(display, state, object, property, value);
            if (error) {
                return error;
            }
        }
    }
    return 0;
}

/* --- check --- */

/* A plane has both a framebuffer and a CRTC, or neither, and shows a part of the framebuffer unscaled. */
static int check_plane(const struct display *display, const struct atomic_state *state, const struct plane *plane) {
    const uint64_t fb = get(plane, PROPERTY_FB_ID);
    if (!fb != !get(plane, PROPERTY_CRTC_ID)) {
        return EINVAL;
    }
    if (!fb) {
        return 0;
    }
    const struct framebuffer *const framebuffer = framebuffer_lookup(display, (uint32_t)fb);
    if (!framebuffer || !state->enabled) {
        return EINVAL;
    }
    const uint64_t x = get(plane, PROPERTY_SRC_X), width = get(plane, PROPERTY_SRC_W);
    const uint64_t y = get(plane, PROPERTY_SRC_Y), height = get(plane, PROPERTY_SRC_H);
    if (x > UINT32_MAX || y > UINT32_MAX || width > UINT32_MAX || height > UINT32_MAX) {
        return EINVAL;
    }
    if (x + width > (uint64_t)framebuffer->width << 16 || y + height > (uint64_t)framebuffer->height << 16) {
        return ENOSPC;
    }
    return width == get(plane, PROPERTY_CRTC_W) << 16 && height == get(plane, PROPERTY_CRTC_H) << 16 ? 0 : ERANGE;
}

/* On these chips, the primary plane must cover the whole screen. */
static bool fills_screen(const struct atomic_state *state) {
    const struct plane *const plane = &state->primary;
    return !get(plane, PROPERTY_FB_ID) ||
           (get(plane, PROPERTY_CRTC_X) == 0 && get(plane, PROPERTY_CRTC_Y) == 0 &&
            get(plane, PROPERTY_CRTC_W) == state->mode.hdisplay && get(plane, PROPERTY_CRTC_H) == state->mode.vdisplay);
}

static bool same_timing(const struct kms_mode *a, const struct kms_mode *b) {
    return a->clock == b->clock && a->hdisplay == b->hdisplay && a->htotal == b->htotal && a->vdisplay == b->vdisplay &&
           a->vtotal == b->vtotal;
}

static int check(const struct display *display, const struct kms_atomic *request, const struct atomic_state *state) {
    const bool was_active = display->active && !display->dark;
    if (state->enabled != !!state->connector_crtc || (state->active && !state->enabled)) {
        return EINVAL;
    }
    int error = check_plane(display, state, &state->primary);
    error = error ? error : check_plane(display, state, &state->cursor);
    if (error || !fills_screen(state)) {
        return error ? error : EINVAL;
    }
    const bool sets_mode = state->enabled != display->active || state->active != was_active ||
                           (state->enabled && !same_timing(&state->mode, &display->current));
    if (sets_mode && !(request->flags & KMS_ATOMIC_ALLOW_MODESET)) {
        return EINVAL;
    }
    const bool touches = state->touches_crtc || state->touches_primary;
    const bool reports = request->flags & KMS_FLIP_EVENT || state->out_fence;
    return reports && (!touches || (!was_active && !state->active)) ? EINVAL : 0;
}

/* --- commit --- */

static int commit(struct drm_file *file, const struct kms_atomic *request, const struct atomic_state *state) {
    struct display *const display = file->display;
    const uint32_t fb = (uint32_t)get(&state->primary, PROPERTY_FB_ID);
    const bool shows = state->active && fb && (state->touches_primary || state->touches_crtc);
    if (display_is_flipping(file)) {
        return EBUSY;
    }
    int error = shows ? display_show(file, fb) : 0;
    if (error) {
        return error;
    }
    const int fence = state->out_fence ? sync_file_new() : -1;
    if (state->out_fence && (fence < 0 || !user_write(state->out_fence, &fence, sizeof fence))) {
        error = fence < 0 ? EMFILE : EFAULT;
    }
    display->active = state->enabled;
    display->dark = !state->active;
    display->current = state->mode;
    display->fb = fb;
    display->x = (uint32_t)(get(&state->primary, PROPERTY_SRC_X) >> 16);
    display->y = (uint32_t)(get(&state->primary, PROPERTY_SRC_Y) >> 16);
    display->cursor = state->cursor;
    if (shows) {
        display->last_sequence = display_sequence(display) + 1;
        display->flip_until = shim_now() + display_frame;
    }
    if (!error && request->flags & KMS_FLIP_EVENT) {
        error = display_flip_event(file, request->user);
    }
    return error;
}

int kms_atomic(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_atomic *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || !display->offers_atomic) {
        return display ? EOPNOTSUPP : ENOMEM;
    }
    const bool tests = request->flags & KMS_ATOMIC_TEST_ONLY;
    if (!display->atomic || request->flags & ~(uint32_t)KMS_ATOMIC_KNOWN_FLAGS || request->reserved ||
        request->flags & KMS_ATOMIC_ASYNC || (tests && request->flags & KMS_FLIP_EVENT)) {
        return EINVAL;
    }
    struct atomic_state state = {.primary = display_primary(display),
                                 .cursor = display->cursor,
                                 .connector_crtc = display->active ? DISPLAY_CRTC : 0,
                                 .active = display->active && !display->dark,
                                 .enabled = display->active,
                                 .mode = display->current};
    int error = read_all(display, request, &state);
    error = error ? error : check(display, request, &state);
    return error || tests ? error : commit(file, request, &state);
}
