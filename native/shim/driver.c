#include "shim/driver.h"

#include "shim/device/drm_file.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gem_object.h"
#include "shim/gem/gtt.h"
#include "shim/kms/display.h"
#include "shim/submit/contexts.h"
#include "shim/submit/syncobjs.h"

static void release(struct drm_file *file) {
    display_free(file);
    gem_handle_delete_all(file);
    context_free_all(file);
    syncobj_free_all(file);
}

static const struct drm_driver driver = {
    .open = context_open,
    .connected = context_announce_all,
    .release = release,
    .forked = gtt_forget,
    .result = context_result,
};

void driver_start(void) {
    drm_file_set_driver(&driver);
}

void driver_after_fork(void) {
    drm_file_after_fork();
    cpu_view_after_fork();
}
