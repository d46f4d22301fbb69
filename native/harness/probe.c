/*
 * One gang: registers in, a kernel or a message, registers out.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "eu/jit/jit.h"
#include "eu/worker.h"
#include "functions/table.h"
#include "harness/probe.h"
#include "hw_messages.h"
#include "messages_gen7.h"
#include "sampler/message.h"

enum {
    PROBE_URB_ROWS = 512,
    PROBE_HEARD = 64,
    SHARED_FUNCTIONS = 8, /* numbers above have no function */
};

enum g4_status g4_harness_use_variant(enum g4_variant variant) {
    return g4_set_variant(variant);
}

struct g4_probe {
    struct g4_context ctx;
    struct g4_state state;
    struct g4_kernel_cache *kernels;
    struct g4_worker *worker;
    struct g4_dispatch dispatch;
    uint32_t threads;
    struct g4_fault fault;
    uint32_t urb[G4_GANG_THREADS][PROBE_URB_ROWS][8];
    uint32_t handle; /* for threads that allocate one */
    uint32_t heard_count;
    struct g4_probe_heard heard[PROBE_HEARD];
};

struct g4_probe *g4_probe_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options) {
    struct g4_probe *const probe = calloc(1, sizeof *probe);
    if (!probe) {
        return NULL;
    }
    probe->ctx.mem = mem;
    probe->ctx.model = g4_model_of(gen);
    probe->ctx.gen = probe->ctx.model->layout_gen;
    probe->ctx.options = *options;
    probe->ctx.state = &probe->state;
    probe->ctx.keeps_registers = true;
    probe->ctx.options.translate_at_once = true;
    probe->kernels = g4_kernel_cache_new();
    probe->worker = probe->kernels ? g4_worker_new(&probe->ctx, probe->kernels, 0) : NULL;
    if (!probe->worker) {
        g4_probe_free(probe);
        return NULL;
    }
    return probe;
}

void g4_probe_free(struct g4_probe *probe) {
    if (!probe) {
        return;
    }
    g4_worker_free(probe->worker);
    g4_kernel_cache_free(probe->kernels);
    free(probe);
}

void g4_probe_keep_registers(struct g4_probe *probe, bool keep) {
    probe->ctx.keeps_registers = keep;
}

void g4_probe_add_parts(struct g4_probe *probe, bool add) {
    probe->worker->eu.alone = add;
}

struct g4_state *g4_probe_state(struct g4_probe *probe) {
    return &probe->state;
}

enum g4_status g4_probe_start(struct g4_probe *probe, const struct g4_probe_setup *setup, const uint32_t *dmask) {
    struct g4_gang *const gang = probe->worker->gang;

    if (setup->threads < 1 || setup->threads > G4_GANG_THREADS || setup->urb_rows > PROBE_URB_ROWS) {
        return G4_BAD_VALUE;
    }
    probe->dispatch = (struct g4_dispatch){
        .unit = (enum g4_unit)setup->unit,
        .kernel_address = setup->kernel_address,
        .general_state_base = setup->general_state_base,
        .dynamic_state_base = setup->general_state_base,
        .instruction_base = setup->general_state_base,
        .surface_state_base = setup->surface_state_base,
        .binding_table = setup->binding_table,
        .sampler_state = setup->sampler_state,
        .scratch_base = setup->scratch_base,
        .scratch_bytes = setup->scratch_bytes,
        .grf_count = setup->grf_count,
        .alternate_fp = setup->alternate_fp != 0,
        .single_program_flow = setup->single_program_flow != 0,
        .rounding_mode = (uint8_t)(setup->rounding_mode & 3),
        .retains_denormals = setup->retains_denormals != 0,
        .exceptions = (uint8_t)setup->exceptions,
    };
    probe->threads = setup->threads;
    probe->heard_count = 0;
    memset(probe->urb, 0, sizeof probe->urb);
    g4_surface_cache_reset(probe->worker->surfaces);
    g4_sampler_cache_reset(probe->worker->eu.samplers);
    g4_gang_start(gang, &probe->dispatch, (int)setup->threads);
    gang->owner = (struct g4_gang_owner){0};
    for (uint32_t t = 0; t < setup->threads; t++) {
        if (setup->wide) {
            g4_gang_set_wide_dmask(gang, (int)t, dmask[t]);
        } else {
            g4_gang_set_dmask(gang, (int)t, (uint16_t)dmask[t]);
        }
        gang->slot[t] = t;
        gang->urb[t] = probe->urb[t];
        gang->urb_rows[t] = setup->urb_rows;
    }
    return G4_OK;
}

uint32_t *g4_probe_register(struct g4_probe *probe, uint32_t file, uint32_t reg, uint32_t thread) {
    struct g4_gang *const gang = probe->worker->gang;
    if (thread >= G4_GANG_THREADS) {
        return NULL;
    }
    if (file == 1 && reg < G4_GRF_COUNT) {
        return gang->grf[reg].ud[thread];
    }
    if (file == 2 && reg < G4_MRF_COUNT) {
        return gang->mrf[reg].ud[thread];
    }
    return NULL;
}

uint32_t *g4_probe_urb_row(struct g4_probe *probe, uint32_t thread, uint32_t row) {
    return thread < G4_GANG_THREADS && row < PROBE_URB_ROWS ? probe->urb[thread][row] : NULL;
}

uint32_t g4_probe_flags(struct g4_probe *probe, uint32_t thread) {
    const struct g4_gang *const gang = probe->worker->gang;
    uint32_t flags = 0;
    for (int f = 0; f < 2; f++) {
        for (int half = 0; half < 2; half++) {
            flags |= g4_thread_lanes(gang->flag[f][half], (int)(thread & 7)) << (16 * f + 8 * half);
        }
    }
    return flags;
}

void g4_probe_set_flags(struct g4_probe *probe, uint32_t thread, uint32_t flags) {
    struct g4_gang *const gang = probe->worker->gang;
    const unsigned shift = 8 * (thread & 7);
    for (int f = 0; f < 2; f++) {
        for (int half = 0; half < 2; half++) {
            g4_lanes *const lanes = &gang->flag[f][half];
            const g4_lanes bits = flags >> (16 * f + 8 * half) & 0xff;
            *lanes = (*lanes & ~((g4_lanes)0xff << shift)) | bits << shift;
        }
    }
}

enum g4_status g4_probe_run(struct g4_probe *probe, bool general_only) {
    struct g4_eu *const eu = &probe->worker->eu;
    const uint64_t watchdog = probe->ctx.options.watchdog ? probe->ctx.options.watchdog : 100;
    const struct g4_kernel *const kernel =
        g4_kernel_get(probe->kernels, &probe->ctx, probe->dispatch.kernel_address, &probe->fault);

    if (!kernel) {
        return G4_FAULT;
    }
    eu->instruction_budget = watchdog * G4_WATCHDOG_UNIT;
    return general_only ? g4_gang_run_general(eu, probe->worker->gang, kernel)
                        : g4_gang_run(eu, probe->worker->gang, kernel);
}

int64_t g4_probe_failures(struct g4_probe *probe) {
    const struct g4_kernel *const kernel =
        g4_kernel_get(probe->kernels, &probe->ctx, probe->dispatch.kernel_address, &probe->fault);
    int64_t sum = 0;

    if (!kernel || !kernel->translation) {
        return -1;
    }
    for (uint32_t i = 0; i < kernel->translation->count; i++) {
        sum += kernel->translation->blocks[i].failure_score;
    }
    return sum;
}

enum g4_status g4_probe_send_from(struct g4_probe *probe, uint32_t threads, uint32_t descriptor, uint32_t mrf,
                                  uint32_t dst_grf, uint32_t exec_size, const uint16_t *emask) {
    struct g4_send send = {
        .descriptor = descriptor,
        .sfid = (uint8_t)g4_message_descriptor_shared_function(descriptor),
        .mlen = (uint8_t)g4_message_descriptor_message_length(descriptor),
        .rlen = (uint8_t)g4_message_descriptor_response_length(descriptor),
        .eot = g4_message_descriptor_end_of_thread(descriptor),
        .mrf = mrf & (G4_MRF_COUNT - 1),
        .threads = (uint8_t)(threads & ((1u << probe->threads) - 1)),
        .has_dst = dst_grf < G4_GRF_COUNT && g4_message_descriptor_response_length(descriptor),
        .dst = (uint8_t)(dst_grf & (G4_GRF_COUNT - 1)),
        .dst_stride = 1,
        .exec_size = (uint8_t)exec_size,
    };
    if (send.sfid >= SHARED_FUNCTIONS) {
        return G4_BAD_VALUE;
    }
    g4_message_fn *const function = probe->ctx.model->functions[send.sfid];
    for (uint32_t t = 0; t < probe->threads; t++) {
        if (!(send.threads >> t & 1)) {
            continue;
        }
        send.emask[0] |= (g4_lanes)(emask[t] & 0xff) << (8 * t);
        send.emask[1] |= (g4_lanes)(emask[t] >> 8) << (8 * t);
    }
    return function(&probe->worker->eu, probe->worker->gang, &send);
}

enum g4_status g4_probe_send_gen7(struct g4_probe *probe, uint32_t sfid, uint32_t descriptor, uint32_t src_grf,
                                  uint32_t dst_grf, uint32_t exec_size, const uint16_t *emask) {
    struct g4_send send = {
        .descriptor = descriptor,
        .sfid = (uint8_t)sfid,
        .mlen = (uint8_t)gen7_message_descriptor_message_length(descriptor),
        .rlen = (uint8_t)gen7_message_descriptor_response_length(descriptor),
        .grf_payload = true,
        .mrf = src_grf & (G4_GRF_COUNT - 1),
        .threads = (uint8_t)((1u << probe->threads) - 1),
        .has_dst = dst_grf < G4_GRF_COUNT && gen7_message_descriptor_response_length(descriptor),
        .dst = (uint8_t)(dst_grf & (G4_GRF_COUNT - 1)),
        .dst_stride = 1,
        .exec_size = (uint8_t)exec_size,
    };
    if (sfid >= G4_FUNCTIONS) {
        return G4_BAD_VALUE;
    }
    for (uint32_t t = 0; t < probe->threads; t++) {
        send.emask[0] |= (g4_lanes)(emask[t] & 0xff) << (8 * t);
        send.emask[1] |= (g4_lanes)(emask[t] >> 8) << (8 * t);
    }
    return probe->ctx.model->functions[sfid](&probe->worker->eu, probe->worker->gang, &send);
}

enum g4_status g4_probe_send(struct g4_probe *probe, uint32_t descriptor, uint32_t mrf, uint32_t dst_grf,
                             uint32_t exec_size, const uint16_t *emask) {
    return g4_probe_send_from(probe, 0xff, descriptor, mrf, dst_grf, exec_size, emask);
}

enum g4_status g4_probe_repeat(struct g4_probe *probe, uint32_t times, uint32_t descriptor, uint32_t mrf,
                               uint32_t dst_grf, const uint16_t *emask) {
    enum g4_status status = G4_OK;
    for (uint32_t i = 0; i < times && status == G4_OK; i++) {
        status = g4_probe_send(probe, descriptor, mrf, dst_grf, 16, emask);
    }
    return status;
}

static void hear(struct g4_gang *gang, int thread, uint32_t descriptor, const uint32_t *header) {
    struct g4_probe *const probe = gang->owner.data;
    if (probe->heard_count < PROBE_HEARD) {
        struct g4_probe_heard *const heard = &probe->heard[probe->heard_count];
        heard->thread = (uint32_t)thread;
        heard->descriptor = descriptor;
        memcpy(heard->header, header, sizeof heard->header);
    }
    probe->heard_count++;
}

static uint32_t hear_urb(struct g4_gang *gang, int thread, uint32_t descriptor, const uint32_t *header) {
    hear(gang, thread, descriptor, header);
    return ((struct g4_probe *)gang->owner.data)->handle;
}

static void hear_spawner(struct g4_gang *gang, int thread, const struct g4_send *send, const uint32_t *header) {
    hear(gang, thread, send->descriptor, header);
}

void g4_probe_listen(struct g4_probe *probe, uint32_t handle) {
    probe->handle = handle;
    probe->worker->gang->owner =
        (struct g4_gang_owner){.urb_event = hear_urb, .spawner_event = hear_spawner, .data = probe};
}

uint32_t g4_probe_heard_count(const struct g4_probe *probe) {
    return probe->heard_count;
}

struct g4_probe_heard g4_probe_heard(const struct g4_probe *probe, uint32_t index) {
    const struct g4_probe_heard none = {0};
    return index < probe->heard_count && index < PROBE_HEARD ? probe->heard[index] : none;
}

uint64_t g4_probe_instructions(const struct g4_probe *probe) {
    return probe->worker->eu.instructions;
}

uint64_t g4_probe_channel_ops(const struct g4_probe *probe) {
    return probe->worker->eu.channel_ops;
}

uint64_t g4_probe_messages(const struct g4_probe *probe, uint32_t sfid) {
    return sfid < G4_FUNCTIONS ? probe->worker->eu.messages[sfid] : 0;
}

struct g4_event_count g4_probe_event(const struct g4_probe *probe, enum g4_event event) {
    const struct g4_event_count none = {0};
    return (unsigned)event < G4_EVENTS ? probe->worker->eu.log->event[event] : none;
}

struct g4_worker *g4_probe_worker(struct g4_probe *probe) {
    return probe->worker;
}

const struct g4_dispatch *g4_probe_dispatch(const struct g4_probe *probe) {
    return &probe->dispatch;
}
