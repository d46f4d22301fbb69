/*
 * The debugger (965 PRM vol. 4, chapter 3): what it keeps, and the hooks it implements (core/hooks.h).  It exists only
 * while a client debugs.
 */
#ifndef G4_DEBUGGER_DEBUG_H
#define G4_DEBUGGER_DEBUG_H

#include "api/debugger.h"
#include "color/state.h"
#include "core/hooks.h"
#include "core/report.h"
#include "draw/device.h"
#include "eu/run.h"
#include "geometry/stage.h"
#include "raster/windower.h"

enum {
    G4_DEBUG_GANGS = 64, /* gangs with live threads at the same time: media has 50 */
    G4_DEBUG_EARLY = 8,  /* fragments between their early test and their shader */
    G4_DEBUG_STAGES = 16,
};

/* The threads of a gang as the debugger knows them. */
struct g4_debug_gang {
    const struct g4_gang *gang;
    struct g4_debug_thread thread[G4_GANG_THREADS];
    uint32_t in_flight[G4_GANG_THREADS][G4_GRF_COUNT / 32]; /* registers that no response comes to */
    bool counted;                                           /* `executed` is valid */
    uint64_t executed[G4_GANG_THREADS];                     /* instructions */
    bool not_finite[G4_GANG_THREADS];                       /* has stopped at its first NaN or infinity, */
    bool denormal[G4_GANG_THREADS];                         /* and at its first denormal */
};

/* The origin of the vertex in a URB entry. */
struct g4_debug_slot {
    const void *rows;
    uint32_t origin; /* + 1; 0: free */
};

/* The depth test of a fragment before its shader. */
struct g4_debug_early {
    bool valid;
    uint32_t object;
    float z;
    uint32_t before[2], after[2];
};

/* A render target write, and the watched pixel in it. */
struct g4_debug_pixel {
    struct g4_pixel_message message; /* its header is valid only while the message runs */
    int index;                       /* of the pixel in the message; -1: not there */
    uint32_t depth[2];
    float color[4];
    uint32_t file[4], reg[4]; /* that have the color */
    uint8_t before[G4_PIXEL_BYTES];
};

/* The operands of an instruction before it is executed, by thread, pass, source and channel. */
struct g4_debug_operands {
    uint8_t not_finite, denormals; /* bit t: those of thread t, which stops at such numbers */
    uint32_t enabled[G4_GANG_THREADS][2];
    bool known[G4_GANG_THREADS][2][3];
    uint64_t bits[G4_GANG_THREADS][2][3][G4_PASS_CHANNELS];
};

/* A moment of a thread that is alone in its gang.  Its instructions since then affect only the thread itself. */
struct g4_debug_saved {
    uint64_t serial; /* of the thread; 0: no such moment */
    const struct g4_gang *gang;
    int t;
    uint64_t executed; /* instructions of the thread */
    uint32_t grf[G4_GRF_COUNT][8], mrf[G4_MRF_COUNT][8];
    uint64_t acc[2][16];
    uint8_t rest[sizeof(struct g4_gang) - offsetof(struct g4_gang, flag)];
    uint32_t in_flight[G4_GRF_COUNT / 32];
    bool not_finite, denormal;
    /* of the worker */
    uint64_t instruction_budget, instructions, channel_ops, messages[G4_FUNCTIONS];
    struct g4_report_log log;
    struct g4_fault_log faults;
};

struct g4_debug {
    struct g4_hooks hooks; /* the first member: hooks are called with its address */
    struct g4_device *device;
    struct g4_debug_setup setup;
    g4_debug_fn *fn;
    void *data;
    struct g4_port quiet_port; /* reads for the debugger alone; faults on this port are discarded */
    bool abandoned, code_changed;
    uint32_t generation;   /* counts changes of the setup */
    bool see_instructions; /* every instruction has to be checked */
    bool see_results;      /* their results, too */
    struct g4_debug_operands operands;
    uint64_t bad_messages; /* of the worker's log, so far */

    uint64_t serial;
    uint32_t number[G4_DEBUG_STAGES];     /* threads so far, by unit */
    uint32_t occurrences[G4_DEBUG_TRAPS]; /* of pixel traps */
    uint32_t objects;                     /* number of the range's first object, while SF works on it */
    uint32_t sequence;                    /* of the draw's first vertex */
    uint32_t draw_vertices;
    uint64_t stepping, finishing; /* serial of the thread; 0: none */
    bool before_first;            /* the step starts between two instructions, or before the first one */
    uint64_t goal, goal_executed; /* stop in the thread with this serial (0: none) after so many instructions */
    bool goal_flagged;
    bool may_go_back; /* g4_debug_go_back has prepared it, for the event that is being reported */
    bool goes_back;   /* the gang is to run again from `saved` */
    struct g4_debug_saved saved;
    bool has_effect;          /* the instruction that is executed */
    uint64_t channel_ops;     /* of the worker, with the instructions that the run has not added yet */
    uint32_t *object_threads; /* WM threads of the draw's objects */
    uint32_t first_object, object_count, object_capacity;

    struct g4_debug_gang gang[G4_DEBUG_GANGS];
    struct g4_debug_gang *current;
    /* the thread of the event that is being reported */
    struct g4_gang *seen;
    int seen_thread;
    uint32_t seen_ip;
    struct g4_run *seen_run;

    /* vertices of the range that geometry works on */
    struct g4_debug_origin *origin;
    uint32_t origins, origin_capacity;
    struct g4_debug_slot *slot;
    uint32_t slots; /* a power of two */

    /* the watched pixel */
    float covered_z; /* in the object that the windower works on */
    uint32_t covered_depth[2];
    struct g4_debug_early early[G4_DEBUG_EARLY];
    uint32_t early_next;
    struct g4_debug_pixel pixel;
    uint8_t *range_copy; /* watched ranges before a message */

    /* texels of one channel of the next message of a thread */
    uint64_t texels_of; /* serial of the thread; 0: none */
    uint32_t texel_channel;
    uint32_t texels;
    struct g4_debug_texel *texel; /* G4_DEBUG_TEXELS, allocated with the first log */
};

static inline struct g4_debug *g4_debug_of(struct g4_hooks *hooks) {
    return (struct g4_debug *)hooks;
}

/* ---- events (events.c) ---- */

/* Report an event; false: the draw is to end. */
bool g4_debug_report(struct g4_debug *debug, struct g4_debug_event *event);
/* Report an event of thread t, which is at `ip`. */
bool g4_debug_report_thread(struct g4_debug *debug, struct g4_gang *gang, int t, uint32_t ip, struct g4_run *run,
                            struct g4_debug_event *event);
struct g4_debug_gang *g4_debug_gang_of(struct g4_debug *debug, const struct g4_gang *gang);

static inline bool g4_debug_unit_in(uint32_t units, uint32_t unit) {
    return units >> unit & 1;
}

/* The vertex in a URB entry of this range; G4_DEBUG_NONE: not known. */
uint32_t g4_debug_find_vertex(const struct g4_debug *debug, const void *rows);
/* Registers of a thread that an instruction accesses and that are in flight; -1: none. */
int g4_debug_touches_in_flight(const struct g4_debug_gang *known, int t, const struct g4_op *op);

/* ---- hooks ---- */

/* threads.c */
void g4_debug_draw_started(struct g4_hooks *hooks);
void g4_debug_draw_ended(struct g4_hooks *hooks);
void g4_debug_range_ended(struct g4_hooks *hooks, uint32_t objects);
bool g4_debug_object_set_up(struct g4_hooks *hooks, const struct g4_setup *setup,
                            const struct g4_vertex *const corner[3], uint32_t corners);
uint32_t g4_debug_gang_limit(const struct g4_hooks *hooks, uint32_t unit, uint32_t max_threads);
uint32_t g4_debug_thread_capacity(const struct g4_hooks *hooks, uint32_t unit);
uint32_t g4_debug_thread_place(const struct g4_hooks *hooks, uint32_t unit, uint32_t n);
enum g4_status g4_debug_threads_started(struct g4_hooks *hooks, struct g4_gang *gang,
                                        const struct g4_thread_start *start, int count);

/* origins.c */
void g4_debug_range_started(struct g4_hooks *hooks);
bool g4_debug_vertex_fetched(struct g4_hooks *hooks, const struct g4_fetched_vertex *vertex);
void g4_debug_vertex_emitted(struct g4_hooks *hooks, const struct g4_gang *gang, int t, uint32_t output,
                             const void *rows);

/* instructions.c, messages.c */
enum g4_status g4_debug_run_gang(struct g4_hooks *hooks, struct g4_eu *eu, struct g4_gang *gang,
                                 const struct g4_kernel *kernel);
/* special_numbers.c: before an instruction, and after it.  False: thread t has computed neither a NaN nor an infinity,
 * neither read nor computed a denormal, or has been reported for one before. */
void g4_debug_copy_operands(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op);
bool g4_debug_find_not_finite(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                              struct g4_debug_event *event);
bool g4_debug_find_denormal(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                            struct g4_debug_event *event);
bool g4_debug_exception(struct g4_hooks *hooks, struct g4_run *run, int thread, uint32_t which);
extern g4_message_fn *const g4_debug_functions[G4_FUNCTIONS];

/* going_back.c: save the thread of a gang that starts, if it can be executed again. */
void g4_debug_save_start(struct g4_debug *debug, const struct g4_eu *eu, const struct g4_gang *gang,
                         const struct g4_kernel *kernel);
/* Save it after a message with an effect. */
void g4_debug_save_after(struct g4_debug *debug, const struct g4_run *run);
/* Bring gang and worker back to the saved moment. */
void g4_debug_go_to_saved(struct g4_debug *debug, struct g4_eu *eu, struct g4_gang *gang);

/* provenance.c: before a message, if the thread's texels are wanted. */
void g4_debug_log_message(struct g4_debug *debug, struct g4_eu *eu, const struct g4_gang *gang,
                          const struct g4_send *send);

/* fragments.c */
void g4_debug_pixel_covered(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool lit,
                            float z);
void g4_debug_pixel_tested(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool passed,
                           bool threads);
void g4_debug_pixel_message(struct g4_hooks *hooks, const struct g4_pixel_message *message);
int g4_debug_pixels_started(struct g4_hooks *hooks, const struct g4_pixels *pixels);
void g4_debug_pixels_ended(struct g4_hooks *hooks, const struct g4_pixels *pixels, uint32_t tested, uint32_t passed,
                           uint32_t colored, float z);

#endif
