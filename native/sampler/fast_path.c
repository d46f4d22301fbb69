#include "sampler/fast_path.h"
#include "core/util.h"

#include "core/variant.h"

G4_VARIANT_DECLARE(struct g4_bilinear_ops, g4_bilinear_ops);
G4_VARIANT_DECLARE(struct g4_format_ops, g4_format_ops);
static const struct g4_bilinear_ops *const byte_variants[] = G4_VARIANT_TABLE(g4_bilinear_ops);
static const struct g4_format_ops *const format_variants[] = G4_VARIANT_TABLE(g4_format_ops);

g4_bilinear_fn *g4_lookup_function(const struct g4_texture *texture, bool linear) {
    const struct g4_bilinear_ops *const bytes = byte_variants[g4_variant_current()];
    const struct g4_format_ops *const formats = format_variants[g4_variant_current()];
    switch (texture->direct) {
    case G4_DIRECT_BYTES:
        return linear ? bytes->run : bytes->nearest;
    case G4_DIRECT_WORDS:
        return linear ? formats->words : formats->words_nearest;
    case G4_DIRECT_BLOCKS:
        return linear ? formats->blocks : formats->blocks_nearest;
    default:
        return NULL;
    }
}

uint32_t g4_lookup_output(const struct g4_texture *texture, uint32_t component) {
    return texture->direct == G4_DIRECT_BYTES ? texture->component[component].shift / 8 : component;
}

bool g4_lookup_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                     const struct g4_axis axis[2], struct g4_texel_reader *reader, uint32_t lookups) {
    const struct g4_level *const image = &texture->level[level];
    *job = (struct g4_bilinear){
        .texture = texture,
        .reader = reader,
        .axis = {axis[0], axis[1]},
        .column = image->x + texture->x_offset,
        .row = image->y + texture->y_offset,
        .base = texture->surface.base,
        .pitch = texture->surface.pitch,
        .tiling = texture->surface.tiling,
        .contiguous_base = g4_texture_contiguous_base(texture, level, reader->port->mem, lookups),
        .port = reader->port,
    };
    return job->contiguous_base || (texture->direct == G4_DIRECT_BYTES && texture->bits == 32);
}

/* True if the min and mag filters agree and the texture supports them. */
static bool one_filter(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    const uint8_t filter = sampler->filter[0];
    return filter == sampler->filter[1] && memcmp(sampler->round[0], sampler->round[1], 2) == 0 &&
           (filter == G4_MAP_FILTER_NEAREST || (filter == G4_MAP_FILTER_LINEAR && texture->can_filter));
}

bool g4_fast_path_suits(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    return texture->direct && texture->can_sample && !texture->null && one_filter(texture, sampler) &&
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
static bool begin_level(const struct g4_fast_path *q, uint32_t level, bool all, struct g4_texel_reader *reader,
                        struct g4_bilinear *job) {
    const struct g4_texture *const texture = q->lookups.texture;
    const uint32_t number = level > texture->max_level ? texture->max_level : level;
    const struct g4_axis axis[2] = {axis_of(q, 0, texture->level[number].width),
                                    axis_of(q, 1, texture->level[number].height)};
    return g4_lookup_begin(job, texture, number, axis, reader, G4_SAMPLE_LANES) && (job->contiguous_base || all);
}

static void merge(uint32_t *row, const float *value, g4_lanes lanes) {
    if (lanes == ~(g4_lanes)0) {
        memcpy(row, value, G4_BATCH * sizeof *row);
        return;
    }
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

static bool is_straight(const struct g4_fast_path *q, uint32_t half, bool mixed) {
    return !mixed && q->lookups.active[half] == ~(g4_lanes)0;
}

/* Chooses where the components of texels go: directly to the first channel of the response that has them, if all lanes
 * are on and there is nothing to mix. */
static void find_outputs(const struct g4_fast_path *q, uint32_t half, struct g4_fast_path_work *work, bool mixed,
                         struct g4_bilinear jobs[2]) {
    const struct g4_texture *const texture = q->lookups.texture;
    const bool straight = is_straight(q, half, mixed);
    memset(jobs[0].out, 0, sizeof jobs[0].out);
    memset(jobs[1].out, 0, sizeof jobs[1].out);
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        if (row && texture->source[channel] < G4_SOURCE_ZERO) {
            const uint32_t at = g4_lookup_output(texture, texture->source[channel]);
            if (!jobs[0].out[at]) {
                jobs[0].out[at] = straight ? (float *)row : work->texel[0][at];
                jobs[1].out[at] = work->texel[1][at];
            }
        }
    }
}

/* Copies components that several channels share, as in L8. */
static void share_outputs(const struct g4_fast_path *q, uint32_t half, const struct g4_bilinear *job) {
    const struct g4_texture *const texture = q->lookups.texture;
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        if (row && texture->source[channel] < G4_SOURCE_ZERO) {
            const float *const from = job->out[g4_lookup_output(texture, texture->source[channel])];
            if (from != (const float *)row) {
                memcpy(row, from, G4_BATCH * sizeof *row);
            }
        }
    }
}

static void finish(const struct g4_fast_path *q, uint32_t half, struct g4_fast_path_work *work, bool mixed,
                   const struct g4_sampler_ops *ops) {
    const struct g4_texture *const texture = q->lookups.texture;
    uint32_t done = 0; /* several channels may share a component */
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = q->row[half][channel];
        if (!row || texture->source[channel] >= G4_SOURCE_ZERO) {
            continue;
        }
        const uint32_t at = g4_lookup_output(texture, texture->source[channel]);
        float *const value = work->texel[0][at];
        if (mixed && !(done >> at & 1)) {
            ops->between(value, work->texel[1][at], work->beta, G4_BATCH, value);
            done |= 1u << at;
        }
        merge(row, value, q->lookups.active[half]);
    }
}

bool g4_fast_path_run(const struct g4_fast_path *fast, struct g4_fast_path_work *work, const struct g4_sampler_ops *ops,
                      struct g4_texel_reader *reader) {
    const bool linear = fast->lookups.sampler->filter[0] == G4_MAP_FILTER_LINEAR;
    g4_bilinear_fn *const run = g4_lookup_function(fast->lookups.texture, linear);
    const g4_lanes *const active = fast->lookups.active;
    const bool all = active[0] == ~(g4_lanes)0 && active[1] == ~(g4_lanes)0;
    struct g4_bilinear jobs[2];
    int32_t beta[G4_SUBSPANS];
    uint32_t level;
    bool mixed;

    if (!run || !(active[0] | active[1]) ||
        !fast->lookups.texture->lod_rules->common(&fast->lookups, ops, &level, beta, &mixed) ||
        !begin_level(fast, level, all, reader, &jobs[0]) ||
        (mixed && !(begin_level(fast, level + 1, false, reader, &jobs[1]) && jobs[0].contiguous_base))) {
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
        if (is_straight(fast, half, mixed)) {
            share_outputs(fast, half, &jobs[0]);
        } else {
            finish(fast, half, work, mixed, ops);
        }
        set_constants(fast, half);
    }
    return true;
}
