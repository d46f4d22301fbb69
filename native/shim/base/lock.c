#define _GNU_SOURCE
#include "shim/base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static sigset_t delayed;         /* signals that are blocked while a thread holds the lock */
static atomic_bool has_handlers; /* of such signals */
static __thread struct {
    bool holds, blocks; /* the lock; signals */
    sigset_t before;    /* those that it blocked before, if it blocks signals now */
} own __attribute__((tls_model("initial-exec")));
static const int64_t slice = 50000000; /* ns; the longest that a sleeping thread delays signals */

static void new_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void choose_signals(void) {
    static const int immediate[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&delayed);
    for (size_t i = 0; i < sizeof immediate / sizeof immediate[0]; i++) {
        sigdelset(&delayed, immediate[i]);
    }
}

void lock_init(void) {
    new_condition();
    choose_signals();
}

void lock_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    new_condition();
    pthread_mutex_lock(&lock); /* `own` is the forking thread's: shim_unlock() restores its signals */
}

/* A signal handler may use the device: it must not find the lock held by the thread that it interrupts. */
static void lock_without_signals(void) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, &delayed, &mask);
    pthread_mutex_lock(&lock);
    own.before = mask;
    own.holds = own.blocks = true;
}

void shim_lock(void) {
    if (atomic_load(&has_handlers)) {
        lock_without_signals();
        return;
    }
    pthread_mutex_lock(&lock);
    own.holds = true;
    if (atomic_load(&has_handlers)) { /* since this thread has asked */
        shim_unlock();
        lock_without_signals();
    }
}

void shim_unlock(void) {
    const bool blocks = own.blocks;
    const sigset_t mask = own.before;
    own.holds = own.blocks = false;
    pthread_mutex_unlock(&lock);
    if (blocks) {
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
}

void lock_expect_handler(int signal) {
    if (sigismember(&delayed, signal) != 1 || atomic_exchange(&has_handlers, true) || own.holds) {
        return;
    }
    lock_without_signals(); /* no other thread holds the lock and blocks no signals, now and later */
    shim_unlock();
}

void shim_pause(int64_t deadline) {
    const int64_t soon = shim_now() + slice;
    const int64_t end = soon < deadline ? soon : deadline;
    const struct timespec time = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    pthread_cond_timedwait(&changed, &lock, &time);
    shim_unlock(); /* deliver pending signals */
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
