/* Start of the process, the lock, forks (start.h). */
#define _GNU_SOURCE
#include "shim/hooks/start.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "shim/device/drm_file.h"
#include "shim/hooks/redirect.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool active;
static bool started;
static sigset_t delayed; /* signals that wait while a thread has the lock */
static __thread sigset_t before __attribute__((tls_model("initial-exec")));
static const int64_t slice = 50000000; /* ns; how long they wait at most while a thread sleeps */

static void new_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The child of a fork is alone with a copy of everything: its locks are made anew. */
static void after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    new_condition();
    file_after_fork();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void choose_signals(void) {
    static const int immediate[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&delayed);
    for (size_t i = 0; i < sizeof immediate / sizeof immediate[0]; i++) {
        sigdelset(&delayed, immediate[i]);
    }
}

static void begin(void) {
    path_start();
    if (path_live) {
        new_condition();
        choose_signals();
        pthread_atfork(shim_lock, shim_unlock, after_fork);
        __atomic_store_n(&active, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

bool shim_active(void) {
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
        if (!environ) {
            return false; /* sanitizers open files before libc itself is ready; nothing can be decided yet */
        }
        pthread_once(&once, begin);
    }
    return __atomic_load_n(&active, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void start(void) {
    (void)shim_active();
}

/* A signal handler may well use the device: it must not find the lock taken by the thread that it interrupts. */
void shim_lock(void) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, &delayed, &mask);
    pthread_mutex_lock(&lock);
    before = mask;
}

void shim_unlock(void) {
    const sigset_t mask = before;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void shim_pause(int64_t deadline) {
    const int64_t soon = shim_now() + slice;
    const int64_t end = soon < deadline ? soon : deadline;
    const struct timespec time = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    pthread_cond_timedwait(&changed, &lock, &time);
    shim_unlock(); /* for signals */
    shim_lock();
}

void shim_announce(void) {
    pthread_cond_broadcast(&changed);
}

int64_t shim_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
