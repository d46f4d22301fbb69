#include "sampler/fast_path.h"
#include "core/util.h"

#include "core/variant.h"

G4_VARIANT_DECLARE(struct g4_bilinear_ops, g4_bilinear_ops);
static const struct g4_bilinear_ops *const variants[] = G4_VARIANT_TABLE(g4_bilinear_ops);

const struct g4_bilinear_ops *g4_bilinear_of_variant(void) {
    return variants[g4_variant_current()];
}

void g4_bilinear_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                       const struct g4_axis axis[2], struct g4_port *port, uint32_t lookups) {
    const struct g4_level *const image = &texture->level[level];
    *job = (struct g4_bilinear){
        .axis = {axis[0], axis[1]},
        .column = image->x + texture->x_offset,
        .row = image->y + texture->y_offset,
        .base = texture->surface.base,
        .pitch = texture->surface.pitch,
        .tiling = texture->surface.tiling,
        .contiguous_base = g4_texture_contiguous_base(texture, level, port->mem, lookups),
        .port = port,
    };
}

/* True if the min and mag filters agree and the texture supports them. */
static bool one_filter(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    const uint8_t filter = sampler->filter[0];
    return filter == sampler->filter[1] && memcmp(sampler->round[0], sampler->round[1], 2) == 0 &&
           (filter == G4_MAP_FILTER_NEAREST || (filter == G4_MAP_FILTER_LINEAR && texture->can_filter));
}

bool g4_fast_path_suits(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    return texture->bytes && texture->can_sample && !texture->null && one_filter(texture, sampler) &&
           !sampler->border_mode && !sampler->disable && !sampler->keyed && !sampler->unnormalized &&
           sampler->mip_filter != 2 && texture->surface.data_return_format != G4_DATA_RETURN_FORMAT_S1_14;
}

static struct g4_axis axis_of(const struct g4_fast_path *q, int dimension, uint32_t size) {
    const struct g4_texture_sampler *const sampler = q->lookups.sampler;
    const uint8_t mode = sampler->mode[dimension];
    return (struct g4_axis){
        .size = size,
        .mode = mode == G4_TEXTURE_COORDINATE_MODE_CUBE ? (uint8_t)G4_TEXTURE_COORDINATE_MODE_CLAMP : mode,
        .linear = sampler->filter[0] == G4_MAP_FILTER_LINEAR,
        .round = sampler->round[0][dimension],
        .offset = q->offset[dimension],
    };
}

/* If memory is contiguous, lanes that are off or not mixed may be read, too.  False: the level cannot use the fast
 * path. */
static bool begin_level(const struct g4_fast_path *q, uint32_t level, bool all, struct g4_port *port,
                        struct g4_bilinear *job) {
    const struct g4_texture *const texture = q->lookups.texture;
    const uint32_t number = level > texture->max_level ? texture->max_level : level;
    const struct g4_axis axis[2] = {axis_of(q, 0, texture->level[number].width),
                                    axis_of(q, 1, texture->level[number].height)};
    g4_bilinear_begin(job, texture, number, axis, port, G4_SAMPLE_LANES);
    return job->contiguous_base || all;
}

static void merge(uint32_t *row, const float *value, g4_lanes lanes) {
    for (uint32_t i = 0; i < G4_BATCH; i++) {
        row[i] = lanes >> i & 1 ? g4_hw_bits(value[i]) : row[i];
    }
}

static void set_constants(const struct g4_fast_path *q, uint32_t half) {
    const struct g4_texture *const texture = q->lookups.texture;
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        const uint32_t value = texture->source[channel] == G4_SOURCE_ONE ? texture->one : 0;
        if (row && texture->source[channel] >= G4_SOURCE_ZERO) {
            for (uint32_t i = 0; i < G4_BATCH; i++) {
                row[i] = q->lookups.active[half] >> i & 1 ? value : row[i];
            }
        }
    }
}

/* Chooses where the bytes of texels go: directly to the response if all lanes are on and there is nothing to mix. */
static void find_outputs(const struct g4_fast_path *q, uint32_t half, struct g4_fast_path_work *work, bool mixed,
                         struct g4_bilinear jobs[2]) {
    const struct g4_texture *const texture = q->lookups.texture;
    const bool straight = !mixed && q->lookups.active[half] == ~(g4_lanes)0;
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        if (row && texture->source[channel] < G4_SOURCE_ZERO) {
            const uint32_t byte = texture->component[texture->source[channel]].shift / 8;
            jobs[0].out[byte] = straight ? (float *)row : work->texel[0][byte];
            jobs[1].out[byte] = work->texel[1][byte];
        }
    }
}

static void finish(const struct g4_fast_path *q, uint32_t half, struct g4_fast_path_work *work, bool mixed,
                   const struct g4_sampler_ops *ops) {
    const struct g4_texture *const texture = q->lookups.texture;
    const g4_lanes active = q->lookups.active[half];
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        if (!row || texture->source[channel] >= G4_SOURCE_ZERO) {
            continue;
        }
        const uint32_t byte = texture->component[texture->source[channel]].shift / 8;
        float *const value = work->texel[0][byte];
        if (mixed) {
            float *const to = active == ~(g4_lanes)0 ? (float *)row : value;
            ops->between(value, work->texel[1][byte], work->beta, G4_BATCH, to);
        }
        if (active != ~(g4_lanes)0) {
            merge(row, value, active);
        }
    }
}

bool g4_fast_path_run(const struct g4_fast_path *fast, struct g4_fast_path_work *work, const struct g4_sampler_ops *ops,
                      struct g4_port *port) {
    const struct g4_bilinear_ops *const bilinear = g4_bilinear_of_variant();
    const bool linear = fast->lookups.sampler->filter[0] == G4_MAP_FILTER_LINEAR;
    g4_bilinear_fn *const run = linear ? bilinear->run : bilinear->nearest;
    const g4_lanes *const active = fast->lookups.active;
    const bool all = active[0] == ~(g4_lanes)0 && active[1] == ~(g4_lanes)0;
    struct g4_bilinear jobs[2];
    int32_t beta[G4_SUBSPANS];
    uint32_t level;
    bool mixed;

    if (!run || !(active[0] | active[1]) ||
        !fast->lookups.texture->lod_rules->common(&fast->lookups, ops, &level, beta, &mixed) ||
        !begin_level(fast, level, all, port, &jobs[0]) ||
        (mixed && !(begin_level(fast, level + 1, false, port, &jobs[1]) && jobs[0].contiguous_base))) {
        return false;
    }
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        const float *const u = fast->lookups.u.half[half];
        const float *const v = fast->lookups.v.half[half];
        if (!active[half]) {
            continue;
        }
        find_outputs(fast, half, work, mixed, jobs);
        run(&jobs[0], u, v, G4_BATCH);
        if (mixed) {
            run(&jobs[1], u, v, G4_BATCH);
            for (uint32_t i = 0; i < G4_BATCH; i++) {
                work->beta[i] = beta[half * (G4_SUBSPANS / 2) + i / 4];
            }
        }
        if (mixed || active[half] != ~(g4_lanes)0) {
            finish(fast, half, work, mixed, ops);
        }
        set_constants(fast, half);
    }
    return true;
}
