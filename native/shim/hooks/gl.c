/* Entry points for the library for OpenGL (native/gl). */
#include "shim/base/lock.h"
#include "shim/base/real.h"
#include "shim/hooks/start.h"
#include "shim/submit/notes.h"

HOOK void gen4emu_shim_set_notes(notes_source *source);
HOOK void gen4emu_shim_set_notes(notes_source *source) {
    if (shim_active()) {
        shim_lock();
        notes_set_source(source);
        shim_unlock();
    }
}
