#define _GNU_SOURCE
#include "shim/base/real.h"

#include <dlfcn.h>

void *real_next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}
