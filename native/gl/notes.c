#define _GNU_SOURCE
#include "gl/notes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gl/real.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *waiting;
static size_t used, capacity;
static size_t taken; /* bytes that are sent already */
static uint32_t lost;
static uint32_t threads;
static __thread uint32_t own_number; /* from 1; 0: no number yet */

static uint16_t thread_number(void) {
    if (!own_number) {
        own_number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    }
    return (uint16_t)(own_number - 1);
}

static bool make_room(size_t size) {
    if (size > GL_NOTE_MAX_WAITING - used) {
        return false;
    }
    if (used + size > capacity) {
        const size_t larger = 2 * (used + size);
        uint8_t *const grown = realloc(waiting, larger);
        if (!grown) {
            return false;
        }
        waiting = grown;
        capacity = larger;
    }
    return true;
}

static void append(const void *data, size_t size) {
    if (size) {
        memcpy(waiting + used, data, size);
        used += size;
    }
}

static void begin(enum gl_note_kind kind, const uint32_t *words, size_t count, size_t length) {
    const struct gl_note header = {(uint16_t)kind, thread_number(), (uint32_t)(count * sizeof *words + length)};
    append(&header, sizeof header);
    append(words, count * sizeof *words);
}

/* Make room for a note, and say before it how many are missing.  The caller holds the lock. */
static bool admit(size_t size) {
    const size_t report = sizeof(struct gl_note) + sizeof lost;
    if (!make_room(report + size)) {
        lost += lost < UINT32_MAX;
        return false;
    }
    if (lost) {
        begin(GL_NOTE_LOST, &lost, 1, 0);
        lost = 0;
    }
    return true;
}

static size_t at_most(size_t length, size_t limit) {
    return length < limit ? length : limit;
}

void note_pieces(enum gl_note_kind kind, const uint32_t *words, size_t count, int pieces, const char *const *texts,
                 const int *lengths) {
    const size_t limit = kind == GL_NOTE_SOURCE ? GL_NOTE_MAX_TEXT : GL_NOTE_MAX_NAME;
    size_t total = 0;
    for (int i = 0; i < pieces && total < limit; i++) {
        if (texts[i]) {
            total += lengths && lengths[i] >= 0 ? at_most((size_t)lengths[i], limit) : strnlen(texts[i], limit);
        }
    }
    total = at_most(total, limit);
    pthread_mutex_lock(&lock);
    if (admit(sizeof(struct gl_note) + count * sizeof *words + total)) {
        begin(kind, words, count, total);
        for (int i = 0; total > 0; i++) {
            if (texts[i]) {
                const size_t length =
                    lengths && lengths[i] >= 0 ? at_most((size_t)lengths[i], total) : strnlen(texts[i], total);
                append(texts[i], length);
                total -= length;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

void note(enum gl_note_kind kind, const uint32_t *words, size_t count, const char *text, size_t length) {
    const int size = (int)at_most(length, GL_NOTE_MAX_TEXT);
    note_pieces(kind, words, count, text ? 1 : 0, &text, &size);
}

/* Called by the shim before it sends a batch, until it returns 0. */
static size_t take(void *buffer, size_t size) {
    pthread_mutex_lock(&lock);
    const size_t part = at_most(used - taken, size);
    if (part) {
        memcpy(buffer, waiting + taken, part);
        taken += part;
    } else {
        used = taken = 0;
    }
    pthread_mutex_unlock(&lock);
    return part;
}

/* In the child of a fork, another thread may have held the lock: initialize it. */
static void after_fork(void) {
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    waiting = NULL;
    used = capacity = taken = 0;
}

__attribute__((constructor)) static void start(void) {
    void (*set_notes)(size_t(*)(void *, size_t)) = NULL;
    *(void **)&set_notes = real_symbol(RTLD_DEFAULT, "gen4emu_shim_set_notes");
    if (set_notes) {
        (void)pthread_atfork(NULL, NULL, after_fork);
        set_notes(take);
    }
}
