#define _GNU_SOURCE
#include "shim/hooks/start.h"

#include <pthread.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/device/connection.h"
#include "shim/driver.h"
#include "shim/hooks/redirect.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool active;
static bool started;

/* The child of a fork has one thread and a copy of everything. */
static void after_fork(void) {
    lock_after_fork();
    driver_after_fork();
    shim_unlock();
}

static void begin(void) {
    path_start();
    if (path_live) {
        lock_init();
        connection_set_directory(path_directory());
        driver_start();
        pthread_atfork(shim_lock, shim_unlock, after_fork);
        __atomic_store_n(&active, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

bool shim_active(void) {
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
        if (!environ) {
            return false; /* sanitizers open files before libc has an environment */
        }
        pthread_once(&once, begin);
    }
    return __atomic_load_n(&active, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void start(void) {
    (void)shim_active();
}
