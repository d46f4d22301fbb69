/*
 * A sampler message that is being executed: what the decoders of all generations share.
 */
#ifndef G4_SAMPLER_CALL_H
#define G4_SAMPLER_CALL_H

#include "eu/counters.h"
#include "eu/message.h"
#include "sampler/fast_path.h"
#include "sampler/load.h"
#include "sampler/message.h"
#include "sampler/sample.h"

enum {
    G4_TEXTURE_SLOTS = 64,
    G4_SAMPLER_SLOTS = 32,
    G4_PLANNED_SLOTS = 16,
    G4_NO_REGISTER = 0xff,
    G4_SAMPLER_PARAMETERS_4X2 = 12, /* the most parameters of a SIMD4x2 message */
};

struct g4_texture_slot {
    uint32_t epoch; /* a slot of another epoch is empty */
    g4_address surface_state_base, binding_table;
    uint32_t index;
    struct g4_texture texture;
    struct g4_contiguous_level contiguous[G4_TEXTURE_LEVELS];
};

struct g4_sampler_slot {
    uint32_t epoch;
    g4_address address, state_base;
    struct g4_texture_sampler sampler;
};

/* A sample message on the fast path, recognized by descriptor, header and state. */
struct g4_planned_message {
    uint64_t plan_epoch; /* of g4_sampler_cache; a plan of another epoch is void */
    uint32_t descriptor, mlen, rlen;
    g4_address binding_table, surface_state_base, dynamic_state_base, sampler_state; /* of g4_dispatch */
    uint32_t header[2];                                                              /* its dwords 2 and 3 */
    uint8_t u, v;                     /* first registers of the payload */
    uint8_t row[G4_SAMPLE_HALVES][4]; /* registers of the response; G4_NO_REGISTER: none */
    bool simd16;
    struct g4_lookup_plan plan;
};

struct g4_sampler_cache {
    uint32_t epoch;
    uint64_t plan_epoch; /* counts the textures and samplers that were unpacked */
    struct g4_planned_message planned[G4_PLANNED_SLOTS];
    struct g4_texture_slot texture[G4_TEXTURE_SLOTS];
    struct g4_sampler_slot sampler[G4_SAMPLER_SLOTS];
    struct g4_texture keyed; /* of the current message, if a chroma key replaces texels */
    struct g4_texel_reader reader;
    struct g4_sample_work work;
    float parameter[G4_SAMPLER_PARAMETERS_4X2][G4_BATCH]; /* of SIMD4x2 messages; sample s of thread t: 8t + 4s */
    uint32_t result[4][G4_SAMPLE_LANES];                  /* R, G, B, A */
    float unnormalized[3][G4_SAMPLE_LANES];               /* coordinates that became normalized */
    struct g4_load_work loading;
    struct g4_fast_path_work fast;
};

struct g4_sampler_call {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    struct g4_sampler_cache *cache;
    const struct g4_sampler_shape *message;
    const struct g4_texture *texture;
    uint32_t binding_table_index;
    unsigned data;                /* the payload register of the first parameter */
    bool removes_masked_channels; /* from responses of SIMD8, as always from those of SIMD16 */
    bool writes_channels;         /* of SIMD4x2 responses only those that are enabled */

    /* The members below describe threads with equal headers. */
    uint32_t threads;
    g4_address sampler_state; /* address of the SAMPLER_STATE */
    g4_address state_base;    /* border colors are relative to it */
    int32_t offset[3];        /* of texels in U, V, R */
    bool force_lod_to_zero;
    uint32_t channel_mask; /* bit 0: R is not returned, ... */
    g4_lanes active[G4_SAMPLE_HALVES];
};

void g4_sampler_report(const struct g4_sampler_call *c, enum g4_event event, uint32_t value);
/* The texture of the call's binding table index. */
const struct g4_texture *g4_sampler_find_texture(const struct g4_sampler_call *c, uint32_t index);
const struct g4_texture_sampler *g4_sampler_find_sampler(const struct g4_sampler_call *c);

/* Gather the parameters of SIMD4x2 messages, which lie side by side in half a register. */
void g4_sampler_spread_4x2(const struct g4_sampler_call *c);
/* A parameter of all lanes; 0 if the message does not have it. */
struct g4_parameter g4_sampler_parameter(const struct g4_sampler_call *c, enum g4_sampler_parameter name);
static inline bool g4_sampler_has(const struct g4_sampler_call *c, enum g4_sampler_parameter name) {
    return c->message->slot[name] != G4_SAMPLER_NO_PARAMETER;
}

/* Find the active lanes of the call's threads, and report a response of another length than the message has. */
void g4_sampler_begin(struct g4_sampler_call *c);
/* Return result[] in the channels that are not masked. */
void g4_sampler_write_back(const struct g4_sampler_call *c);
void g4_sampler_write_zeros(const struct g4_sampler_call *c);

/* Writes the pixels that the chroma key did not kill, to the register after the colors.  Erratum of Gen4: pixels that
 * are not enabled count as killed. */
void g4_sampler_write_kill_mask(const struct g4_sampler_call *c, g4_lanes killed);
/* Report a message that does not exist, and write zeros to its response. */
void g4_sampler_refuse_message(const struct g4_sampler_call *c);

void g4_sampler_load(const struct g4_sampler_call *c);
/* The request of a message with a filter, which g4_sample() executes. */
struct g4_request g4_sampler_request(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler);
/* The texture of a message whose chroma key replaces texels. */
const struct g4_texture *g4_sampler_keyed_texture(const struct g4_sampler_call *c,
                                                  const struct g4_texture_sampler *sampler);
/* Take the results of g4_sample() to result[], by output channel. */
void g4_sampler_map_channels(const struct g4_sampler_call *c);
/* False: nothing was done.  The next message like this one is recognized by g4_sampler_run_planned(). */
bool g4_sampler_sample_fast(const struct g4_sampler_call *c, const struct g4_texture_sampler *sampler);
/* Executes a message that all its threads send with the header of an earlier one.  False: nothing was done. */
bool g4_sampler_run_planned(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, bool has_header);
const struct g4_sampler_ops *g4_sampler_ops_of_variant(void);
void g4_sampler_count(const struct g4_sampler_call *c);

#endif
