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

g4_bilinear_add_fn *g4_lookup_add_function(const struct g4_texture *texture) {
    const struct g4_format_ops *const formats = format_variants[g4_variant_current()];
    if (!texture->finite || texture->direct == G4_DIRECT_NONE) {
        return NULL;
    }
    return texture->direct == G4_DIRECT_BLOCKS ? formats->add_blocks : formats->add_words;
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

/* All coordinates are normalized, or all count texels. */
static bool counts_alike(const struct g4_texture_sampler *sampler) {
    return !sampler->unnormalized || (g4_counts_texels(sampler, 0) && g4_counts_texels(sampler, 1));
}

static bool suits(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    return texture->direct && !texture->cube && texture->can_sample && !texture->null && one_filter(texture, sampler) &&
           !sampler->border_mode && !sampler->disable && !sampler->keyed && sampler->reduction == G4_REDUCTION_MEAN &&
           counts_alike(sampler) && sampler->mip_filter != 2 && !g4_texture_is_beyond_levels(texture) &&
           texture->surface.data_return_format != G4_DATA_RETURN_FORMAT_S1_14;
}

/* ---- what lookups have in common ---- */

/* Chooses the output of each channel. */
static void map_outputs(struct g4_lookup_plan *plan) {
    const struct g4_texture *const texture = plan->texture;
    uint32_t seen = 0;
    for (int channel = 0; channel < 4; channel++) {
        if (texture->source[channel] >= G4_SOURCE_ZERO) {
            plan->output[channel] = G4_OUTPUT_CONSTANT;
            plan->constants = true;
            continue;
        }
        const uint32_t at = g4_lookup_output(texture, texture->source[channel]);
        plan->output[channel] = (uint8_t)at;
        plan->shares = plan->shares || (seen >> at & 1);
        seen |= 1u << at;
    }
}

bool g4_lookup_plan_begin(struct g4_lookup_plan *plan, const struct g4_texture *texture,
                          const struct g4_texture_sampler *sampler, const int32_t offset[2], bool min_lod_erratum,
                          const struct g4_sampler_ops *ops, struct g4_texel_reader *reader) {
    *plan = (struct g4_lookup_plan){
        .texture = texture,
        .sampler = sampler,
        .ops = ops,
        .reader = reader,
        .offset = {offset[0], offset[1]},
        .min_lod_erratum = min_lod_erratum,
        .job_level = {G4_TEXTURE_LEVELS, G4_TEXTURE_LEVELS},
    };
    if (!suits(texture, sampler)) {
        return false;
    }
    plan->lookup = g4_lookup_function(texture, sampler->filter[0] == G4_MAP_FILTER_LINEAR);
    if (!plan->lookup) {
        return false;
    }
    plan->has_one_level = texture->lod_rules->only_level(texture, sampler, &plan->level);
    map_outputs(plan);
    return true;
}

static struct g4_axis axis_of(const struct g4_lookup_plan *plan, int dimension, uint32_t size) {
    const struct g4_texture_sampler *const sampler = plan->sampler;
    const uint8_t mode = sampler->mode[dimension];
    return (struct g4_axis){
        .size = size,
        .scale = g4_texel_scale(sampler, dimension, size),
        .mode = mode == G4_TEXTURE_COORDINATE_MODE_CUBE ? (uint8_t)G4_TEXTURE_COORDINATE_MODE_CLAMP : mode,
        .linear = sampler->filter[0] == G4_MAP_FILTER_LINEAR,
        .round = sampler->round[0][dimension],
        .shifted = plan->offset[dimension] != 0,
        .offset = plan->offset[dimension],
    };
}

/* The job of a level.  If memory is contiguous, lanes that are off or not mixed may be read, too.  NULL: the level
 * cannot use the fast path. */
static struct g4_bilinear *job_of(struct g4_lookup_plan *plan, uint32_t level, bool all) {
    const struct g4_texture *const texture = plan->texture;
    const uint32_t slot = level & 1;
    struct g4_bilinear *const job = &plan->job[slot];

    if (plan->job_level[slot] != level) {
        const uint32_t number = level > texture->max_level ? texture->max_level : level;
        const struct g4_axis axis[2] = {axis_of(plan, 0, texture->level[number].width),
                                        axis_of(plan, 1, texture->level[number].height)};
        plan->job_level[slot] = G4_TEXTURE_LEVELS;
        if (!g4_lookup_begin(job, texture, number, axis, plan->reader, G4_SAMPLE_LANES)) {
            return NULL;
        }
        plan->job_level[slot] = job->contiguous_base ? level : G4_TEXTURE_LEVELS;
    }
    return job->contiguous_base || all ? job : NULL;
}

/* ---- where colors go ---- */

static void write_constants(const struct g4_lookup_plan *plan, const struct g4_lookups *lookups, uint32_t half) {
    const struct g4_texture *const texture = plan->texture;
    for (int channel = 0; plan->constants && channel < 4; channel++) {
        uint32_t *const row = lookups->row[half][channel];
        if (row && plan->output[channel] == G4_OUTPUT_CONSTANT) {
            plan->ops->fill(texture->source[channel] == G4_SOURCE_ONE ? texture->one : 0, lookups->active[half], row);
        }
    }
}

/* Looks up directly into the first channel of the response that has each output: all lanes are on, and there is nothing
 * to mix. */
static void run_straight(const struct g4_lookup_plan *plan, const struct g4_lookups *lookups, uint32_t half,
                         struct g4_bilinear *job) {
    uint32_t *const *const row = lookups->row[half];

    memset(job->out, 0, sizeof job->out);
    for (int channel = 0; channel < 4; channel++) {
        const uint8_t at = plan->output[channel];
        if (row[channel] && at != G4_OUTPUT_CONSTANT && !(plan->shares && job->out[at])) {
            job->out[at] = (float *)row[channel];
        }
    }
    plan->lookup(job, lookups->u.half[half], lookups->v.half[half], G4_BATCH);
    for (int channel = 0; plan->shares && channel < 4; channel++) { /* as in L8 */
        const uint8_t at = plan->output[channel];
        if (row[channel] && at != G4_OUTPUT_CONSTANT && job->out[at] != (float *)row[channel]) {
            memcpy(row[channel], job->out[at], G4_BATCH * sizeof *row[channel]);
        }
    }
}

/* `beta`: the weights of the second level; NULL: there is none. */
static void run_merged(const struct g4_lookup_plan *plan, const struct g4_lookups *lookups, uint32_t half,
                       struct g4_bilinear *const jobs[2], const int32_t *beta, struct g4_fast_path_work *work) {
    uint32_t wanted = 0;

    for (int channel = 0; channel < 4; channel++) {
        const bool is_output = lookups->row[half][channel] && plan->output[channel] != G4_OUTPUT_CONSTANT;
        wanted |= is_output ? 1u << plan->output[channel] : 0;
    }
    for (int level = 0; level < (beta ? 2 : 1); level++) {
        for (uint32_t at = 0; at < G4_BYTES; at++) {
            jobs[level]->out[at] = wanted >> at & 1 ? work->texel[level][at] : NULL;
        }
        plan->lookup(jobs[level], lookups->u.half[half], lookups->v.half[half], G4_BATCH);
    }
    if (beta) {
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            work->beta[i] = beta[half * (G4_SUBSPANS / 2) + i / 4];
        }
        for (uint32_t at = 0; at < G4_BYTES; at++) {
            float *const value = work->texel[0][at];
            if (wanted >> at & 1) {
                plan->ops->between(value, work->texel[1][at], work->beta, G4_BATCH, value);
            }
        }
    }
    for (int channel = 0; channel < 4; channel++) {
        uint32_t *const row = lookups->row[half][channel];
        if (row && plan->output[channel] != G4_OUTPUT_CONSTANT) {
            plan->ops->merge((const uint32_t *)work->texel[0][plan->output[channel]], lookups->active[half], row);
        }
    }
}

/* ---- all of it ---- */

static bool find_level(const struct g4_lookup_plan *plan, const struct g4_lookups *lookups, uint32_t *level,
                       int32_t beta[G4_SUBSPANS], bool *mixed) {
    const struct g4_common_level in = {
        .texture = plan->texture,
        .sampler = plan->sampler,
        .active = {lookups->active[0], lookups->active[1]},
        .u = lookups->u,
        .v = lookups->v,
        .min_lod_erratum = plan->min_lod_erratum,
    };
    return plan->texture->lod_rules->common(&in, plan->ops, level, beta, mixed);
}

bool g4_lookup_plan_run(struct g4_lookup_plan *plan, const struct g4_lookups *lookups, struct g4_fast_path_work *work) {
    const g4_lanes *const active = lookups->active;
    const bool all = active[0] == ~(g4_lanes)0 && active[1] == ~(g4_lanes)0;
    struct g4_bilinear *jobs[2] = {NULL, NULL};
    int32_t beta[G4_SUBSPANS];
    uint32_t level = plan->level;
    bool mixed = false;

    if (!(active[0] | active[1]) || (!plan->has_one_level && !find_level(plan, lookups, &level, beta, &mixed))) {
        return false;
    }
    jobs[0] = job_of(plan, level, all && !mixed);
    jobs[1] = mixed ? job_of(plan, level + 1, false) : NULL;
    if (!jobs[0] || (mixed && !jobs[1])) {
        return false;
    }
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        if (!active[half]) {
            continue;
        }
        if (!mixed && active[half] == ~(g4_lanes)0) {
            run_straight(plan, lookups, half, jobs[0]);
        } else {
            run_merged(plan, lookups, half, jobs, mixed ? beta : NULL, work);
        }
        write_constants(plan, lookups, half);
    }
    return true;
}
