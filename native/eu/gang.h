/*
 * A gang: up to eight hardware threads of one kernel that run in lockstep, and the messages they send.
 *
 * Registers are stored as [register][thread][dword], so a packed SIMD8 operand of the whole gang is 256 contiguous
 * bytes.  A lane mask is one 64-bit word: byte t holds channels 0 to 7 (or 8 to 15, and so on) of thread t.
 */
#ifndef G4_EU_GANG_H
#define G4_EU_GANG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context.h"
#include "core/dispatch.h"

enum {
    G4_GANG_THREADS = 8,
    G4_ADDRESSES = 16,        /* words of a0; before Gen8 eight */
    G4_GANG_CHANNELS = 32,    /* of a thread at most; more than 16 only from Gen7 on */
    G4_MASK_STACK_DEPTH = 32, /* the hardware has 16; deeper pushes work and are reported */
};

typedef uint64_t g4_lanes;

/* One 256-bit register of every thread of the gang. */
union g4_reg {
    uint32_t ud[G4_GANG_THREADS][8];
    int32_t d[G4_GANG_THREADS][8];
    float f[G4_GANG_THREADS][8];
    uint16_t uw[G4_GANG_THREADS][16];
    int16_t w[G4_GANG_THREADS][16];
    uint8_t ub[G4_GANG_THREADS][32];
    int8_t b[G4_GANG_THREADS][32];
    _Alignas(64) uint8_t bytes[G4_GANG_THREADS * 32];
};

/* The accumulator has more bits than a register: floats are kept as double, integers as 64 bits. */
union g4_acc {
    double f[G4_GANG_THREADS][16];
    int64_t i[G4_GANG_THREADS][16];
};

struct g4_mask_stack {
    uint16_t entry[G4_MASK_STACK_DEPTH];
    uint16_t depth;
};

struct g4_gang;
struct g4_send;

/* Callbacks of the unit that dispatched the threads. */
struct g4_gang_owner {
    /* A URB_WRITE of thread t, after its data is stored; `header` is M0 (8 dwords).  Returns the new handle if the
     * descriptor has Allocate set, otherwise the value is ignored.  From Gen7 on only messages with Complete or EOT.
     * May be NULL. */
    uint32_t (*urb_event)(struct g4_gang *gang, int thread, uint32_t descriptor, const uint32_t *header);
    /* A message of thread t to the thread spawner: spawn a thread or dereference a URB handle. */
    void (*spawner_event)(struct g4_gang *gang, int thread, const struct g4_send *send, const uint32_t *header);
    /* Find the thread that a gateway message addresses by EU and thread ID; false: there is none.  NULL: only threads
     * of the same gang can be addressed, by the IDs in their sr0.0. */
    bool (*find_thread)(struct g4_gang *gang, uint32_t euid, uint32_t tid, struct g4_gang **recipient, int *thread);
    /* Thread t has reached the barrier of its group (Gen7).  When all have, the owner notifies n0.0 of each; false: the
     * thread has no group.  May be NULL. */
    bool (*barrier)(struct g4_gang *gang, int thread, const uint32_t *header);
    /* Answer a message to the pixel interpolator.  NULL: these threads have no pixels. */
    void (*interpolate)(struct g4_gang *gang, const struct g4_send *send);
    void *data;
};

/* The registers that a thread has opened for gateway messages of others. */
struct g4_gateway {
    bool open;
    bool any_key; /* every message has the right one */
    uint16_t key;
    uint8_t register_base;
    uint8_t registers;
};

/* The pixels of a gang of two whole rows of subspans of a tile, all lit: thread t has those of an 8x2 block, at
 * x + 8 * (t % 4), y + 2 * (t / 4). */
struct g4_whole_rows {
    bool in_header; /* these are the gang's pixels, as the header of its last message says */
    uint16_t x, y;
};

struct g4_gang {
    union g4_reg grf[G4_GRF_COUNT];
    union g4_reg mrf[G4_MRF_COUNT];
    union g4_acc acc[2];

    g4_lanes flag[4][2];         /* f0.0, f0.1, f1.0, f1.1; channels 0..7, 8..15 */
    g4_lanes dmask[4], amask[4]; /* channels 0..7, 8..15, and of wide threads 16..23, 24..31 */
    g4_lanes imask[2], lmask[2], cmask[2];
    struct g4_mask_stack if_stack[G4_GANG_THREADS];
    struct g4_mask_stack loop_stack[2][G4_GANG_THREADS]; /* LMask, CMask */
    /* Gen6 and later: where the channels that are dispatched but not in amask continue; other entries mean nothing. */
    uint32_t parked_at[G4_GANG_THREADS][G4_GANG_CHANNELS];
    uint64_t parked_hint[G4_GANG_THREADS]; /* the bits of these addresses (flow_gen6.c), and perhaps others */
    uint16_t a0[G4_GANG_THREADS][G4_ADDRESSES];
    uint32_t ip[G4_GANG_THREADS]; /* byte offset from the kernel's first instruction; may leave the kernel */
    uint32_t cr0[G4_GANG_THREADS][3];
    uint32_t sr0[G4_GANG_THREADS]; /* sr0.0: see g4_thread_identity */
    uint32_t notify[G4_GANG_THREADS][2];
    struct g4_gateway gateway[G4_GANG_THREADS];

    bool wide;                      /* the threads have 32 channels */
    uint8_t live;                   /* bit t: thread t has not ended */
    uint8_t waiting;                /* bit t: thread t sits in a wait (media) */
    uint8_t waiting_for_host;       /* bit t: the wait of thread t is for n1, which the host notifies */
    uint8_t stalled;                /* bit t: thread t must not run until its owner clears the bit (media) */
    uint32_t slot[G4_GANG_THREADS]; /* FFTID: which scratch slot the thread owns */

    /* The URB rows that thread t may access: handle h starts at row 2 * h, from Gen7 on at row h.  Each thread has its
     * own window, so handles are unique only within a thread. */
    uint32_t (*urb[G4_GANG_THREADS])[8];
    uint32_t urb_rows[G4_GANG_THREADS];

    /* The shared local memory of the group whose threads these are; NULL: they have none. */
    uint8_t *shared_memory;
    uint32_t shared_memory_bytes;

    const struct g4_dispatch *dispatch;
    struct g4_gang_owner owner;
    struct g4_whole_rows rows;        /* of pixel threads before Gen7 */
    const void *holder;               /* the unit whose payload the registers hold; NULL after a start */
    void *unit_data[G4_GANG_THREADS]; /* the owner's record of thread t, e.g. the pixel block for WM threads */
};

/* A `send` of those threads of a group that have the same descriptor.  The payload is in the MRF, after the implied
 * move, or from Gen7 on in the GRF.  SecHalf is already shifted down: emask[0] holds channels 0 to 7 of the message. */
struct g4_send {
    uint32_t descriptor;
    uint8_t sfid, mlen, rlen;
    bool eot;
    bool grf_payload; /* the payload is in the GRF, else in the MRF */
    uint8_t mrf;      /* its first register */
    bool split;       /* the payload continues at `second`, after `first_length` registers */
    uint8_t second, first_length;
    uint8_t threads;   /* bit t: thread t sends */
    g4_lanes emask[2]; /* channel enables: masks, predicate, ExecSize, in Align16 ChanEn */
    /* The destination of the response.  Functions that write whole registers use dst; math also uses the region. */
    bool has_dst;       /* false: null or ARF destination, or rlen 0 */
    uint8_t dst;        /* GRF number */
    uint8_t dst_subreg; /* bytes */
    uint8_t dst_stride; /* elements: 1, 2, 4 */
    uint8_t exec_size;
};

/* The threads that wait for the host (965 PRM vol. 4, 3.5). */
static inline uint8_t g4_gang_waits_for_host(const struct g4_gang *gang) {
    return gang->live & gang->waiting & gang->waiting_for_host;
}

enum {
    G4_FUNCTIONS = 16 /* numbers of shared functions */
};

extern const union g4_reg g4_zero_register;

/* Payload register k of all threads; zeros beyond the payload: what a kernel has left there is nothing that it reads,
 * and need not be there (start_state.c, docs/decisions.md 231). */
static inline const union g4_reg *g4_payload_register(const struct g4_gang *gang, const struct g4_send *send,
                                                      unsigned k) {
    if (__builtin_expect(k >= send->mlen, 0)) {
        return &g4_zero_register;
    }
    if (__builtin_expect(send->split && k >= send->first_length, 0)) {
        return &gang->grf[(send->second + k - send->first_length) & (G4_GRF_COUNT - 1)];
    }
    return send->grf_payload ? &gang->grf[(send->mrf + k) & (G4_GRF_COUNT - 1)]
                             : &gang->mrf[(send->mrf + k) & (G4_MRF_COUNT - 1)];
}

/* Payload register k of thread t, as eight dwords. */
static inline const uint32_t *g4_payload(const struct g4_gang *gang, const struct g4_send *send, unsigned k, int t) {
    return g4_payload_register(gang, send, k)->ud[t];
}

/* Register k of the response to thread t; NULL past the end of the register file or without a destination. */
static inline uint32_t *g4_response(struct g4_gang *gang, const struct g4_send *send, unsigned k, int t) {
    unsigned reg = send->dst + k;
    return send->has_dst && k < send->rlen && reg < G4_GRF_COUNT ? gang->grf[reg].ud[t] : 0;
}

static inline unsigned g4_thread_lanes(g4_lanes lanes, int t) {
    return (unsigned)(lanes >> (8 * t)) & 0xffu;
}

/* sr0.0 of a thread of an execution unit. */
uint32_t g4_thread_identity(uint32_t gen, uint32_t unit, uint32_t thread);
/* sr0.0 of thread number `slot` of those that are assigned to the execution units in turn. */
uint32_t g4_thread_identity_of_slot(const struct g4_context *ctx, uint32_t slot);

#endif
