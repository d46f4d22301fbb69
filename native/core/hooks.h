/*
 * Hooks: the places where units notify or consult an observer, such as the debugger.
 *
 * Without an observer the pointer to this struct is NULL in struct g4_context and struct g4_eu, and a unit tests that
 * one pointer per gang, object, message, range or draw; nothing else is spent.  With an observer every function is set,
 * and all work of the device runs on the calling thread, so hooks need no locks.
 *
 * A function takes the struct itself first.  If it returns a status other than G4_OK, or false, the unit abandons the
 * draw and returns that status, or G4_STOPPED.  Pointers handed in are valid only during the call.
 */
#ifndef G4_HOOKS_H
#define G4_HOOKS_H

#include "api/status.h"

struct g4_eu;
struct g4_gang;
struct g4_kernel;
struct g4_pixels;
struct g4_run;
struct g4_send;
struct g4_setup;
struct g4_target;
struct g4_vertex;
struct g4_worker;

enum {
    G4_THREAD_VERTICES = 8,  /* one in each channel */
    G4_THREAD_SUBSPANS = 16, /* contiguous dispatch of 64 pixels */
};

/* The work of a thread that a unit dispatches.  Members that do not apply to the unit are zero. */
struct g4_thread_start {
    const struct g4_setup *setup;         /* SF, WM: the object */
    uint32_t vertices;                    /* VS, GS, CLIP, SF */
    const void *rows[G4_THREAD_VERTICES]; /* URB entries of the vertices, which identify them within a range */
    const struct g4_vertex *corner[3];    /* SF: the vertices in the order of the payload */
    uint32_t subspans;                    /* WM: subspans with lit pixels */
    uint16_t x[G4_THREAD_SUBSPANS], y[G4_THREAD_SUBSPANS]; /* their upper left pixels */
};

/* A vertex that VF has written to the URB. */
struct g4_fetched_vertex {
    const void *rows;  /* its URB entry */
    uint32_t sequence; /* position in the draw, over all instances */
    uint32_t index, id, instance, primitive_id;
    bool shaded; /* a vertex shader thread will work on it */
};

/* A render target write of one thread. */
struct g4_pixel_message {
    struct g4_gang *gang;
    int thread;
    bool last; /* the message ends its pixels */
    struct g4_target *target;
    uint32_t slice;      /* render target array index */
    uint16_t x[4], y[4]; /* upper left pixels of the subspans of the thread */
    uint32_t live;       /* bit 4 * s + p: pixel p of subspan s is in the message */
    uint32_t type;       /* message type of the descriptor */
    bool tests_late;     /* depth and stencil are tested now, not before the shader */
    bool back_facing;
};

struct g4_hooks {
    /* Settings that units read. */
    bool single_subspan; /* dispatch one subspan a thread unless a later pixel of it could be lost */
    bool watch_pixel;    /* call the hooks of pixels for pixel x, y */
    uint32_t x, y;
    /* The shared functions that `send` calls while an observer is attached, by number. */
    enum g4_status (*const *functions)(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send);

    /* ---- the device ---- */

    /* The device is about to be freed: release everything, this struct included. */
    void (*free)(struct g4_hooks *hooks);
    /* Object numbers start from 0 again. */
    void (*numbers_restarted)(struct g4_hooks *hooks);
    /* The state of a 3DPRIMITIVE is loaded, and nothing has run yet. */
    void (*draw_started)(struct g4_hooks *hooks);
    void (*draw_ended)(struct g4_hooks *hooks);
    /* Geometry starts on a range of a draw: the URB entries of the range before are gone. */
    void (*range_started)(struct g4_hooks *hooks);
    /* SF has seen all objects of a range. */
    void (*range_ended)(struct g4_hooks *hooks, uint32_t objects);
    /* From Gen6 on, where no thread does it: an object is set up whose attributes are those of these vertices. */
    bool (*object_set_up)(struct g4_hooks *hooks, const struct g4_setup *setup, const struct g4_vertex *const corner[3],
                          uint32_t corners);
    /* A media command starts, or its threads continue. */
    void (*media_started)(struct g4_hooks *hooks);

    /* ---- threads ---- */

    /* The number of threads of a gang, at most `max_threads` and at least 1. */
    uint32_t (*gang_limit)(const struct g4_hooks *hooks, uint32_t unit, uint32_t max_threads);
    /* The number of threads that the unit may have at the same time. */
    uint32_t (*thread_capacity)(const struct g4_hooks *hooks, uint32_t unit);
    /* sr0.0 of the unit's thread number n. */
    uint32_t (*thread_place)(const struct g4_hooks *hooks, uint32_t unit, uint32_t n);
    /* Threads 0..count-1 of a gang have their payload and have executed nothing.  May change their registers. */
    enum g4_status (*threads_started)(struct g4_hooks *hooks, struct g4_gang *gang, const struct g4_thread_start *start,
                                      int count);

    /* ---- vertices ---- */

    bool (*vertex_fetched)(struct g4_hooks *hooks, const struct g4_fetched_vertex *vertex);
    /* Thread t of a GS or CLIP gang has written its vertex number `output`. */
    void (*vertex_emitted)(struct g4_hooks *hooks, const struct g4_gang *gang, int t, uint32_t output,
                           const void *rows);

    /* ---- the execution units ---- */

    /* Runs a gang in place of g4_gang_run_unobserved, with the same result. */
    enum g4_status (*run_gang)(struct g4_hooks *hooks, struct g4_eu *eu, struct g4_gang *gang,
                               const struct g4_kernel *kernel);
    /* A thread has met an exception that it enables.  True: ignore it and continue; else it is taken. */
    bool (*exception)(struct g4_hooks *hooks, struct g4_run *run, int thread, uint32_t which);

    /* ---- the watched pixel ---- */

    /* Before early tests: an object covers the watched pixel.  `lit` is false if the stipple hides it. */
    void (*pixel_covered)(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool lit,
                          float z);
    /* After early tests of a lit pixel.  `threads`: a pixel shader runs if it passed. */
    void (*pixel_tested)(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool passed,
                         bool threads);
    /* A render target write starts. */
    void (*pixel_message)(struct g4_hooks *hooks, const struct g4_pixel_message *message);
    /* Some pixels of that message, before any test.  Returns the number of the watched one, -1 if it is not among
     * them. */
    int (*pixels_started)(struct g4_hooks *hooks, const struct g4_pixels *pixels);
    /* After the tests of these pixels.  Masks: `tested` passed the alpha test or a message before did, `passed` then
     * passed depth and stencil, `colored` were written.  `z` is the source depth of the watched pixel, 0 without. */
    void (*pixels_ended)(struct g4_hooks *hooks, const struct g4_pixels *pixels, uint32_t tested, uint32_t passed,
                         uint32_t colored, float z);
};

/* The number of the watched pixel in the subspan at x, y, or -1. */
static inline int g4_hooks_watched(const struct g4_hooks *hooks, uint32_t x, uint32_t y) {
    const uint32_t dx = hooks->x - x;
    const uint32_t dy = hooks->y - y;
    return hooks->watch_pixel && dx < 2 && dy < 2 ? (int)(dy * 2 + dx) : -1;
}

#endif
