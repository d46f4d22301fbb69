/* Start of the process, the lock, forks (start.h). */
#define _GNU_SOURCE
#include "start.h"

#include <pthread.h>
#include <time.h>

#include "files.h"
#include "paths.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool active;
static bool started;

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
}

static void begin(void) {
    path_start();
    if (path_live) {
        new_condition();
        pthread_atfork(shim_lock, shim_unlock, after_fork);
        __atomic_store_n(&active, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

bool shim_active(void) {
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
        pthread_once(&once, begin);
    }
    return __atomic_load_n(&active, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void start(void) {
    (void)shim_active();
}

void shim_lock(void) {
    pthread_mutex_lock(&lock);
}

void shim_unlock(void) {
    pthread_mutex_unlock(&lock);
}

void shim_pause(int64_t deadline) {
    if (deadline == INT64_MAX) {
        pthread_cond_wait(&changed, &lock);
        return;
    }
    const struct timespec time = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    pthread_cond_timedwait(&changed, &lock, &time);
}

void shim_announce(void) {
    pthread_cond_broadcast(&changed);
}

int64_t shim_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
