/*
 * Replaces libva-x11.so.2: the three functions with which the VA driver accesses the buffer of an X drawable.  The
 * driver loads the library by name, and finds this one already loaded.
 */
#include "window.h"

#include <va/va_backend.h>
#include <va/va_dricommon.h>

struct window the_window;
static struct dri_drawable drawable;
static union dri_buffer buffer;

struct dri_drawable *va_dri_get_drawable(VADriverContextP context, XID id) {
    (void)context;
    drawable = (struct dri_drawable){.x_drawable = id,
                                     .is_window = 1,
                                     .x = the_window.x,
                                     .y = the_window.y,
                                     .width = the_window.width,
                                     .height = the_window.height};
    return &drawable;
}

union dri_buffer *va_dri_get_rendering_buffer(VADriverContextP context, struct dri_drawable *of) {
    (void)context;
    (void)of;
    buffer.dri2.name = the_window.name;
    buffer.dri2.pitch = the_window.pitch;
    buffer.dri2.cpp = 4;
    return &buffer;
}

void va_dri_swap_buffer(VADriverContextP context, struct dri_drawable *of) {
    (void)context;
    (void)of;
    the_window.swaps++;
}
